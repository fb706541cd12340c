"""Tables of token geometry that are there to be read: coherent words, undertrained tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cospace.report.words import number, p_text
from cospace.tokens.coherence import Coherence, CoherentToken
from cospace.tokens.undertrained import Recovery, Undertrained
from cospace.tokens.verify import Verification

__all__ = ["coherence_blocks", "undertrained_blocks"]

_TONES = {"strong verified": "above", "weak verified": "above"}


def coherence_blocks(found: Sequence[Coherence]) -> dict[str, Any]:
    """Section of the coherence of all models."""
    rows = []
    for one in found:
        for name in ("star", "pair"):
            correlations = [
                getattr(one, f"{name}_{which}") for which in ("spearman", "partial", "both")
            ]
            rows.append(
                [
                    {"text": one.model, "note": f"{name}, {one.tokens:,} words", "head": True},
                    {
                        "text": number(getattr(one, name)),
                        "note": f"shuffled {number(getattr(one, f'null_{name}'))}",
                    },
                    *map(number, correlations),
                    p_text(getattr(one, f"{name}_p")),
                ]
            )
    first = found[0]
    counted = "" if first.frequency is None else f", counted in {first.frequency}"
    heads = ("Score", "With dimension", "Less length", "And frequency", "p")
    table = {
        "kind": "table",
        "caption": "Star: share of a word’s neighbours that an edge joins to it; pair: share of pairs of neighbours "
        f"that are joined. Beside them Spearman’s correlation with the dimension of {first.dimension_k} neighbours; "
        f"with the token’s length taken out of both; with its frequency{counted}, too. p: graphs whose words were "
        "exchanged.",
        "columns": [{"label": "Model"}, *({"label": head, "align": "num"} for head in heads)],
        "groups": [{"label": None, "rows": rows}],
    }
    blocks: list[dict[str, Any]] = [table]
    for i, one in enumerate(found):
        groups = [("Lowest dimension", one.lowest), ("Highest dimension", one.highest)]
        words = {
            "kind": "table",
            "caption": f"{one.model}: words of the lowest and the highest dimension, with their nearest neighbours.",
            "columns": [
                {"label": "Word"},
                *({"label": label, "align": "num"} for label in ("Dimension", "Star", "Pair")),
                {"label": "Neighbours, nearest first"},
            ],
            "groups": [{"label": label, "rows": list(map(_word, some))} for label, some in groups],
        }
        blocks.append(
            words
            if i == 0
            else {"kind": "details", "summary": f"Words of {one.model}", "blocks": [words]}
        )
    return {
        "id": "coherence",
        "title": "Do neighbours mean something to each other?",
        "intro": f"The {first.k} nearest neighbours of whole words, by the edges of {first.graph}.",
        "blocks": blocks,
    }


def _word(one: CoherentToken) -> list[Any]:
    near = ", ".join(text.strip() for text in one.neighbours)
    scores = (number(one.star, 2), number(one.pair, 2))
    return [{"text": one.text.strip(), "head": True}, str(one.dimension), *scores, near]


def undertrained_blocks(found: Sequence[Undertrained]) -> dict[str, Any]:
    """Section of the undertrained tokens of all models."""
    rows = []
    for one in found:
        for name, ids in one.candidates.items():
            share = f"{number(100 * len(ids) / one.tokens, 1)} %"
            what = one.indicator if name == "indicator" else "no shared neighbour"
            head = {"text": one.model, "note": one.tying, "head": True}
            rows.append(
                [
                    head,
                    {"text": name, "note": what or ""},
                    f"{len(ids):,}",
                    share,
                    f"{one.unused:,}",
                ]
            )
    blocks: list[dict[str, Any]] = [
        {
            "kind": "table",
            "caption": "Candidates by each method; share of the used tokens; rows taken as known to be unused.",
            "columns": [
                {"label": "Model"},
                {"label": "Method"},
                *({"label": x, "align": "num"} for x in ("Candidates", "Share", "Unused rows")),
            ],
            "groups": [{"label": None, "rows": rows}],
        }
    ]
    scored = [one for one in found if one.recoveries]
    if scored:
        heads = ("Candidates", "Listed", "Both", "Out of", "Precision", "Recall", "Lift", "p")
        blocks.append(
            {
                "kind": "table",
                "caption": "Precision: of the candidates; recall: of those listed; lift: precision over the share of "
                "the list in all tokens that both are taken out of. Lists: tested (all that others looked at), "
                "verified (below their threshold), prompted (verified here, out of the tokens tested here), or "
                "another method.",
                "columns": [
                    {"label": "Method"},
                    {"label": "List"},
                    *({"label": head, "align": "num"} for head in heads),
                ],
                "groups": [
                    {"label": one.model, "rows": list(map(_recovery, one.recoveries))}
                    for one in scored
                ],
            }
        )
    for one in found:
        if one.verification is not None:
            blocks.append(_verified(one.model, one.verification))
    return {
        "id": "undertrained",
        "title": "Tokens that have hardly been trained",
        "intro": "Being apart, or having a telling embedding, makes a candidate; only prompting verifies one.",
        "blocks": blocks,
    }


def _recovery(one: Recovery) -> list[Any]:
    counts = [f"{n:,}" for n in (one.candidates, one.listed, one.hits, one.tokens)]
    shares = [number(one.precision), number(one.recall), number(one.lift, 1)]
    p = p_text(one.p) if one.p else "< 1e-300"
    return [{"text": one.method, "head": True}, one.reference, *counts, *shares, p]


def _verified(model: str, found: Verification) -> dict[str, Any]:
    rows = [
        [
            {"text": repr(one.text), "note": f"row {one.id}", "head": True},
            ", ".join(one.methods) or "none",
            *(number(p, 4) for p in one.probabilities),
            {"text": one.verdict, "tone": _TONES.get(one.verdict, "chance")},
        ]
        for one in found.tokens
    ]
    prompts = "; ".join(f"{i}: {prompt!r}" for i, prompt in enumerate(found.prompts, 1))
    return {
        "kind": "table",
        "caption": f"{model} was asked to repeat tokens: largest probability among three greedy steps, for each "
        f"prompt ({prompts}). Verified: below {found.threshold} for all; strong below 0.001; rejects: above 0.1, "
        "strong above 0.9.",
        "columns": [
            {"label": "Token"},
            {"label": "Candidate of"},
            *({"label": f"Prompt {i + 1}", "align": "num"} for i in range(len(found.prompts))),
            {"label": "Verdict"},
        ],
        "groups": [{"label": None, "rows": rows}],
        "tall": len(rows) > 20,
    }
