"""How the report is to be read: what its columns and views mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cospace.comparison.result import Comparison
from cospace.report.pairs import CORRECTIONS
from cospace.report.verdicts import LEVEL
from cospace.report.words import joined

__all__ = ["how_to_read"]


def how_to_read(result: Comparison) -> dict[str, Any]:
    """Explain every column and view, in the words of this comparison."""
    tolerance = result.settings.get("rank_tolerance", result.settings.get("rtol"))
    at = f" (tolerance {tolerance:g})" if isinstance(tolerance, int | float) else ""
    items = [
        (
            "Value",
            "One measure on one ordered pair of spaces. Its direction is stated with the measure.",
        ),
        (
            "Null",
            "The same measure after the rows of the target have been shuffled, so that row i is no "
            "longer the same text: mean ± standard deviation. A value means something only as far as it "
            "leaves its null. Where it says “over all permutations” both are exact, in closed form; "
            "elsewhere they are over the shuffles drawn.",
        ),
        (
            "Effect",
            "(value − null) / (identical − null): 0 by chance, 1 for identical spaces, below 0 for "
            "less alike than chance. It takes off what a measure shows for unrelated rows; it does not "
            "make two measures comparable.",
        ),
        (
            "p",
            "(1 + shuffles at least as alike) / (1 + shuffles). With 199 shuffles the least possible "
            "p is 0.005. Without shuffles, where the null is exact, p is the tail of the Pearson type "
            "III distribution with the null's mean, spread and skewness (no less than the normal tail where "
            "the skewness is negative). Where single rows hold much of both spaces, or rows are fewer than "
            "12, these three do not give p, and shuffles must. A cell without p says why.",
        ),
        (
            "p (search)",
            "Corrected for having searched over sites, by the maximum statistic: every cell is put on "
            "the scale of its own null (own level and spread), and counted against the most surprising of all "
            "cells of the two models in each shuffle.",
        ),
        (
            "Reading",
            f"More alike than chance: p (search), or p where nothing was searched, is at most {LEVEL:g} after "
            "Holm's correction for the number of measures tested on the same two models; unrelated "
            "models are so called in at most 5 of 100 comparisons. It is not corrected for the number of "
            "pairs of models: correct='holm' or 'bh' do that beside it. Without p: whether the value lies "
            "more than 3 standard deviations beyond its null, and “not tested”. More alike than chance is "
            "not the same as much alike: look at the value and the effect.",
        ),
        ("Interval", _intervals(result)),
        *_asked_for(result),
        (
            "Held out, in-sample",
            "Held out: fitted and scored rows are disjoint. In-sample values of fitted measures rise "
            "with the width.",
        ),
        (
            "Reduced",
            "Compared on that many leading principal components instead of all coordinates, because "
            "the measure would be forced to its end by the number of coordinates alone.",
        ),
        ("Rank", f"Directions of the centred rows that are not numerically zero{at}."),
        (
            "Relative depth",
            "0 is the token embedding, 1 the end of the model; (i + 1) / L after block i of L.",
        ),
    ]
    return {
        "id": "reading",
        "title": "How to read this",
        "blocks": [{"kind": "terms", "items": [list(item) for item in items]}],
    }


def _intervals(result: Comparison) -> str:
    kinds = {cell.interval or "rows" for cell in result.cells if cell.low is not None}
    told = [
        words
        for kind, words in (
            ("rows", "by a bootstrap over rows"),
            ("groups", "by a bootstrap over whole groups of texts"),
            (
                "folds",
                "by a jackknife over folds of rows, about the value with its bias taken off, so that "
                "it need not hold the value itself",
            ),
        )
        if kind in kinds
    ]
    how = f"95 %, {joined(told, 'or')}" if told else "None here"
    return f"{how}. Measures for which none covers have none."


def _asked_for(result: Comparison) -> Iterator[tuple[str, str]]:
    if any(cell.ceiling is not None for cell in result.cells):
        yield (
            "Noise ceiling",
            "By split halves of the coordinates: the measure between random halves of a space's coordinates, "
            "brought to all coordinates by Spearman and Brown's formula; of a pair, the geometric mean. It is "
            "what another random sample of as many coordinates of the same kind is expected to reach. A value "
            "above it says that the two spaces share more than that: the same coordinates under fresh noise, for "
            "one, are more alike than other coordinates would be. It knows nothing of the choice of texts.",
        )
    by = CORRECTIONS.get(str(result.settings.get("correct")))
    if by is not None and result.pairs:
        yield (
            "p (pairs)",
            "The smallest p (search) of two models is a p of their being alike at no site; p (pairs) is that, "
            f"corrected over all pairs of models by {by}, for each measure by itself. It speaks of the two "
            "models, not of the pair of sites beside it.",
        )
