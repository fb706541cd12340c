"""Tables of an affine-homotopy study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from cospace.report.homotopy_figures import depths_of, radii
from cospace.report.homotopy_findings import (
    broken,
    largest_ratio,
    probe_reading,
    ratio_text,
    share_of_bound,
)
from cospace.report.homotopy_prediction import encoder_names, there
from cospace.report.words import EMPTY, count, joined, number, p_text, span
from cospace.studies.affine_homotopy.published import RANKS
from cospace.studies.affine_homotopy.result import AffineHomotopyStudy, Mappability

__all__ = [
    "agreement_table",
    "bound_table",
    "depth_table",
    "encoder_table",
    "mappability_tables",
    "probe_table",
    "rank_table",
    "ranks_of_encoders",
    "table",
    "worst_texts",
]

Table = dict[str, Any]
LISTED = 40
"""Most texts that are listed; the data has all."""


def depth_table(result: AffineHomotopyStudy) -> Table:
    """Distances of all ordered pairs, depth by depth."""
    radius = radii(result)
    rows = []
    for depth in depths_of(result):
        pairs = [p for p in result.intrinsic if p.depth == depth]
        values = [p.normalised for p in pairs if there(p.normalised)]
        unseen = [
            p.held_out / size
            for p in pairs
            if there(p.held_out) and (size := radius.get((p.target, depth)))
        ]
        gaps = [
            (p.upper - p.lower) / p.upper
            for p in pairs
            if there(p.upper) and there(p.lower) and p.upper
        ]
        apart, whole, most = largest_ratio(pairs)
        ratio: Any = EMPTY
        if most is not None:
            ways = f"{most[0].source} → {most[0].target}"
            ratio = {"text": ratio_text(*most), "note": f"{ways} and back"}
        rows.append(
            [
                {"text": f"{depth:g}", "note": count(len(pairs), "ordered pair"), "head": True},
                {"text": _median(values), "strong": True},
                f"{number(min(values, default=None))} to {number(max(values, default=None))}",
                _median(unseen),
                f"{apart:,} of {whole:,}",
                ratio,
                f"{number(100 * max(gaps), 2)} %" if gaps else EMPTY,
            ]
        )
    columns = (
        ("Median", "value", ""),
        ("Least to most", "rest", "from"),
        ("Median, held out", "rest", "held out"),
        ("Asymmetric", "rest", "asymmetric"),
        ("Largest ratio", "words", "ratio"),
        ("Widest interval", "rest", "interval"),
    )
    return table(
        "Affine distances divided by the target’s radius (0: an exact map; 1: no better than a constant). Held "
        "out: largest error on texts that the map was not fitted on. Asymmetric: pairs of encoders whose "
        "certified intervals of the two directions lie apart; ratio: the largest among them. Widest interval: "
        "upper less lower bound, in percent of the upper.",
        "Depth",
        columns,
        [(None, rows)],
    )


def mappability_tables(result: AffineHomotopyStudy) -> list[Table]:
    """Median distance to every encoder, by depth, and of imitating its probe, by task and depth."""
    ones = [m for m in result.mappability if m.kind == "affine"]
    told = (
        "Easiest first, by the last column. Median over the other encoders, first to third quartile, and place (1: "
        "easiest)."
    )
    tables = []
    if ones:
        columns = [(f"Depth {d:g}", ("affine", d)) for d in sorted({m.depth for m in ones})]
        caption = f"How easily the others are mapped onto each encoder: affine distance. {told}"
        tables.append(_targets(result, columns, caption))
    tasks = [m for m in result.mappability if m.kind != "affine"]
    for depth in sorted({m.depth for m in tasks}):
        kinds = dict.fromkeys(m.kind for m in tasks if m.depth == depth)
        columns = [(kind, (kind, depth)) for kind in kinds]
        caption = (
            f"How easily the others imitate each encoder’s probe at depth {depth:g}: largest difference of "
            f"probabilities, fixed classifier. {told}"
        )
        tables.append(_targets(result, columns, caption))
    return tables


def _targets(
    result: AffineHomotopyStudy, columns: Sequence[tuple[str, tuple[str, float]]], caption: str
) -> Table:
    found = {(m.kind, m.depth, m.target): m for m in result.mappability}
    last = columns[-1][1]

    def place(name: str) -> int:
        one = found.get((*last, name))
        return len(found) if one is None else one.place

    rows = [
        [
            {"text": name, "head": True},
            *(_quartiles(found.get((*key, name))) for _, key in columns),
        ]
        for name in sorted(encoder_names(result), key=place)
    ]
    head = [(label, "rest", label) for label, _ in columns]
    return table(caption, "Target", head, [(None, rows)], stacks=False)


def _quartiles(one: Mappability | None) -> Any:
    if one is None:
        return EMPTY
    note = f"{span(one.low, one.high, 2)}; place {one.place}"
    return {"text": number(one.median), "note": note, "strong": one.place == 1}


def agreement_table(result: AffineHomotopyStudy) -> Table:
    """How alike the orders of the encoders as targets are: every kind of distance and depth by every other."""
    several = len({one.first_depth for one in result.agreements}) > 1

    def label(kind: str, depth: float) -> str:
        if kind == "affine":
            return f"depth {depth:g}"
        return f"{kind}{f', depth {depth:g}' if several else ''}"

    found = {}
    for one in result.agreements:
        pair = (one.first, one.first_depth), (one.second, one.second_depth)
        found[pair] = found[pair[::-1]] = one
    keys = list(dict.fromkeys(key for pair in found for key in pair))
    rows = []
    for row in keys:
        cells: list[Any] = [{"text": label(*row), "head": True}]
        for column in keys:
            both = found.get((row, column))
            note = f"p {p_text(both.p)}" if both is not None and there(both.p) else ""
            cells.append({"text": number(both.value, 2), "note": note} if both else EMPTY)
        rows.append(cells)
    return table(
        "Spearman correlation of the median distances to the encoders: 1 where both put them in the same order. "
        "Depths: of the affine distance; tasks: of imitating the probe. p: one-sided, over permutations of "
        "encoders, not corrected.",
        "Order by",
        [(label(*key), "rest", label(*key)) for key in keys],
        [(None, rows)],
        stacks=False,
    )


def rank_table(result: AffineHomotopyStudy) -> Table:
    """Correlation of rank and median distance, by tolerance."""
    groups = []
    for depth in sorted({one.depth for one in result.ranks}):
        rows = [
            [
                {"text": one.tolerance, "head": True},
                {"text": number(one.value), "strong": True},
                p_text(one.p),
                f"{one.least:,} to {one.most:,}",
            ]
            for one in result.ranks
            if one.depth == depth
        ]
        groups.append((f"Depth {depth:g}", rows))
    theirs = joined([f"{value:g} on {task}" for task, value in RANKS.items()])
    return table(
        "Spearman correlation of an encoder’s numerical rank with the median affine distance onto it; positive: of "
        "higher rank, harder to map onto. Numerical rank: singular values of the centred rows above tolerance "
        "times the largest. p: one-sided, over permutations of encoders, not corrected. A dash: all encoders have "
        f"the same rank. The paper prints, of its own 27 encoders, at a tolerance that it does not tell: {theirs}.",
        "Tolerance",
        (("Spearman", "value", ""), ("p", "rest", "p"), ("Ranks", "rest", "ranks")),
        groups,
    )


def ranks_of_encoders(result: AffineHomotopyStudy) -> Table:
    """Numerical rank of every encoder at every tolerance."""
    tolerances = list(dict.fromkeys(key for e in result.encoders for key in e.ranks))
    groups = []
    for depth in sorted({e.depth for e in result.encoders}):
        rows = [
            [
                {"text": e.name, "note": f"width {e.width:,}", "head": True},
                *(f"{e.ranks[key]:,}" if key in e.ranks else EMPTY for key in tolerances),
            ]
            for e in result.encoders
            if e.depth == depth
        ]
        groups.append((f"Depth {depth:g}", rows))
    columns = [(key, "rest", key) for key in tolerances]
    caption = "Numerical rank of the centred rows, by tolerance."
    return table(caption, "Encoder", columns, groups, stacks=False)


def probe_table(result: AffineHomotopyStudy) -> Table:
    """Accuracy of every probe beside the most frequent class."""
    several = len({f.depth for f in result.tasks}) > 1
    groups: dict[str, list[list[Any]]] = {}
    for f in result.tasks:
        words, clear = probe_reading(f)
        depth = f", depth {f.depth:g}" if several else ""
        label = (
            f"{f.task}{depth}: {count(f.classes, 'class', 'classes')}, {f.train:,} texts of the fit, {f.test:,} "
            "held out"
        )
        groups.setdefault(label, []).append(
            [
                {"text": f.encoder, "head": True},
                {"text": number(f.accuracy), "strong": True},
                number(f.majority),
                f"{f.components:,}",
                {"text": words, "tone": "above" if clear else "warn"},
            ]
        )
    return table(
        "Held-out accuracy of the probes beside that of the most frequent class. Clearly above: by more than two "
        "standard errors. Extrinsic distances to a probe that has learnt nothing say little.",
        "Probe of",
        (
            ("Accuracy", "value", ""),
            ("Majority", "rest", "majority"),
            ("Components", "rest", "components"),
            ("Reading", "reading", ""),
        ),
        list(groups.items()),
    )


def bound_table(result: AffineHomotopyStudy) -> Table:
    """Extrinsic distances and their bound, by task and depth, with the pair that is nearest to it."""
    rows = []
    keys = dict.fromkeys((p.task, p.depth) for p in result.extrinsic)
    several = len({depth for _, depth in keys}) > 1
    for task, depth in keys:
        pairs = [p for p in result.extrinsic if (p.task, p.depth) == (task, depth)]
        shares = [(share_of_bound(p), p) for p in pairs]
        known = [(share, p) for share, p in shares if share is not None]
        most, at = max(known, key=lambda item: item[0]) if known else (None, None)
        wrong = sum(broken(p) for p in pairs)
        rows.append(
            [
                {"text": task, "note": f"depth {depth:g}" if several else "", "head": True},
                {"text": _median(p.fixed for p in pairs), "strong": True},
                {
                    "text": _median(p.worst for p in pairs),
                    "note": f"proven {_median(p.worst_certified for p in pairs)}",
                },
                _median(p.fixed_held_out for p in pairs),
                _median(p.bound for p in pairs),
                {
                    "text": number(most),
                    "note": f"{at.source} → {at.target}" if at is not None else "",
                },
                {"text": f"{wrong:,} of {len(pairs):,}", "tone": "warn" if wrong else "above"},
            ]
        )
    return table(
        "Medians over ordered pairs. Proven: what no imitation of that classifier can stay below. "
        "Bound: half the operator norm of the classifier times the affine distance on "
        "the rows of the fit; neither extrinsic distance can be larger. Largest share: the largest extrinsic "
        "distance divided by its bound. Beyond: pairs where it is exceeded, which would be a fault.",
        "Task",
        (
            ("Fixed", "value", ""),
            ("Worst case", "rest", "worst"),
            ("Fixed, held out", "rest", "held out"),
            ("Bound", "rest", "bound"),
            ("Largest share", "words", "largest share"),
            ("Beyond", "words", "beyond"),
        ),
        [(None, rows)],
    )


def encoder_table(result: AffineHomotopyStudy) -> Table:
    """Every encoder at every depth."""
    groups = []
    for depth in sorted({e.depth for e in result.encoders}):
        rows = [
            [
                {
                    "text": e.name,
                    "note": "" if e.reference == e.name else e.reference,
                    "head": True,
                },
                e.site,
                f"{e.width:,}",
                f"{e.rank:,}",
                number(e.radius),
            ]
            for e in result.encoders
            if e.depth == depth
        ]
        groups.append((f"Depth {depth:g}", rows))
    return table(
        "Rank: numerical rank of the centred rows at the tolerance of the distances. Radius: of the smallest ball "
        "around the rows, the unit of its column in the maps.",
        "Encoder",
        (
            ("Site", "words", "site"),
            ("Width", "rest", "width"),
            ("Rank", "rest", "rank"),
            ("Radius", "rest", "radius"),
        ),
        groups,
    )


def worst_texts(result: AffineHomotopyStudy) -> Table:
    """Texts that attain the distances most often."""
    listed = Counter(text for pair in result.intrinsic for text in pair.worst)
    first = Counter(pair.worst[0] for pair in result.intrinsic if pair.worst)
    order = sorted(listed, key=lambda text: (-first[text], -listed[text], text))
    rows = [
        [{"text": text, "head": True}, f"{first[text]:,}", f"{listed[text]:,}"]
        for text in order[:LISTED]
    ]
    rest = len(order) - len(rows)
    more = (
        f" {count(rest, 'text')} with fewer are left out; the data lists all, pair by pair."
        if rest
        else ""
    )
    return table(
        f"Ids of the texts with the largest error over {count(len(result.intrinsic), 'ordered pair')} at all "
        f"depths. Worst: pairs that it is the worst text of. Listed: pairs whose distance it attains with others."
        f"{more}",
        "Text",
        (("Worst", "rest", "worst in"), ("Listed", "rest", "listed in")),
        [(None, rows)],
    )


def _median(values: Iterable[float | None]) -> str:
    known = [value for value in values if there(value)]
    return number(median(known) if known else None)


def table(
    caption: str,
    head: str,
    columns: Iterable[tuple[str, str, str]],
    groups: Sequence[tuple[str | None, list[list[Any]]]],
    *,
    stacks: bool = True,
) -> Table:
    """Lay out a table; columns are label, part and the short label that a phone shows.

    The part is that of the style sheet, or ``words``: as ``rest``, but free to break lines.
    """
    cells: list[dict[str, str]] = [{"label": head}]
    for label, part, short in columns:
        column = {"label": label, "part": "rest" if part == "words" else part}
        if part not in ("reading", "words"):
            column["align"] = "num"
        if short:
            column["short"] = short
        cells.append(column)
    return {
        "kind": "table",
        "caption": caption,
        "columns": cells,
        "stacks": stacks,
        "groups": [{"label": label, "rows": rows} for label, rows in groups],
        "tall": sum(len(rows) for _, rows in groups) > LISTED,
    }
