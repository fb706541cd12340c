"""The page of an affine-homotopy study, in the order of the paper: layers, targets, links, rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cospace.report.facts import embed, repeated
from cospace.report.homotopy_figures import (
    depths_of,
    extrinsic_map,
    intrinsic_map,
    truncation_map,
)
from cospace.report.homotopy_findings import findings
from cospace.report.homotopy_links import link_table, measure_title, scatters
from cospace.report.homotopy_prediction import Prediction, encoder_names, headline
from cospace.report.homotopy_tables import (
    agreement_table,
    bound_table,
    depth_table,
    encoder_table,
    mappability_tables,
    probe_table,
    rank_table,
    ranks_of_encoders,
    worst_texts,
)
from cospace.report.words import count, joined, p_text
from cospace.result import plain
from cospace.studies.affine_homotopy.result import AffineHomotopyStudy

__all__ = ["study_page"]

Section = dict[str, Any]
_EXTRINSIC = (
    "fixed",
    "fixed_held_out",
    "worst",
    "worst_certified",
    "bound",
    "accuracy_gap",
    "gulp",
)
"""What the data says of every pair and task."""
UNFOLDED = 2
"""Tasks whose sections are open; a click opens the others, and print has them all."""
MANY = 24
"""Rows beyond which a table of encoders waits for a click."""
_TOLD = ("source", "target", "depth", "normalised", "upper", "held_out")
"""What a tooltip says of a pair, before what it says of tasks."""


def study_page(result: AffineHomotopyStudy) -> dict[str, Any]:
    """Reduce a study to a page; README.md of this package lists its keys."""
    result = result.finite()
    sections = [
        *_layers(result),
        *_mappability(result),
        *_links(result),
        *_ranks(result),
        *_extrinsic(result),
        *_encoders(result),
        _how_to_read(result),
        repeated(
            {key: value for key, value in result.settings.items() if value is not None},
            result.provenance,
            len(result.intrinsic),
        ),
    ]
    return {
        "kind": result.kind,
        "title": f"{result.title[:120]} · cospace",
        "headline": headline(result),
        "lead": _lead(result),
        "findings": findings(result),
        "warnings": list(result.warnings),
        "sections": sections,
        "data": _data(result),
    }


def _lead(result: AffineHomotopyStudy) -> str:
    names, depths = encoder_names(result), depths_of(result)
    tasks = list(dict.fromkeys(p.task for p in result.extrinsic))
    pairs = count(len({(p.source, p.target) for p in result.intrinsic}), "ordered pair")
    parts = [
        f"{result.title.rstrip('.')}: {count(len(names), 'encoder')}, {pairs} at "
        f"{count(len(depths), 'relative depth')} ({joined([f'{d:g}' for d in depths])})"
    ]
    if tasks:
        parts.append(f"probes on {joined(tasks)}")
    return f"{', '.join(parts)}."


def _layers(result: AffineHomotopyStudy) -> list[Section]:
    if not result.intrinsic:
        return []
    blocks = [depth_table(result)]
    blocks += [intrinsic_map(result, depth) for depth in depths_of(result)]
    if any(pair.worst for pair in result.intrinsic):
        texts = {"kind": "details", "summary": "Texts that attain the distances", "blocks": []}
        blocks.append({**texts, "blocks": [worst_texts(result)]})
    return [
        {
            "id": "layers",
            "title": "Affine distance, layer by layer",
            "intro": "How far every encoder is from every other after the best affine map of one onto the other: "
            "the largest error over the texts. It has a direction.",
            "blocks": blocks,
        }
    ]


def _mappability(result: AffineHomotopyStudy) -> list[Section]:
    if not result.mappability:
        return []
    return [
        {
            "id": "targets",
            "title": "Who is easy to map onto",
            "intro": "Every encoder as a target. The paper found some of its encoders easy to map onto whatever the "
            "task, in early layers more than in late ones.",
            "blocks": mappability_tables(result)
            + ([agreement_table(result)] if result.agreements else []),
        }
    ]


def _links(result: AffineHomotopyStudy) -> list[Section]:
    places = {(p.depth, p.source, p.target): i for i, p in enumerate(result.intrinsic)}
    keys = dict.fromkeys((p.task, p.depth) for p in result.extrinsic)
    keys |= dict.fromkeys((link.task, link.depth) for link in result.links)
    tasks: dict[str, list[float]] = {}
    for task, depth in keys:
        tasks.setdefault(task, []).append(depth)
    sections: list[Section] = []
    for i, (task, depths) in enumerate(tasks.items()):
        blocks: list[dict[str, Any]] = []
        for depth in depths:
            cloud = scatters(result, task, depth, places)
            blocks += [cloud] if cloud else []
            if any((link.task, link.depth) == (task, depth) for link in result.links):
                blocks.append(link_table(result, task, depth))
            else:
                text = f"No correlation has a value on {task} at depth {depth:g}."
                blocks.append({"kind": "text", "text": text})
        sections.append(
            {
                "id": f"link-{i}",
                "title": f"Intrinsic against extrinsic: {task}",
                "intro": "Do encoders that are close up to an affine map imitate each other’s classifiers well?",
                "folded": i >= UNFOLDED,
                "blocks": blocks,
            }
        )
    return sections


def _ranks(result: AffineHomotopyStudy) -> list[Section]:
    blocks: list[dict[str, Any]] = []
    if result.ranks:
        blocks.append(rank_table(result))
    if any(encoder.ranks for encoder in result.encoders):
        table = ranks_of_encoders(result)
        blocks.append({"kind": "details", "summary": "Rank of every encoder", "blocks": [table]})
    if result.truncations:
        blocks.append(truncation_map(result))
    if not blocks:
        return []
    return [
        {
            "id": "rank",
            "title": "Rank",
            "intro": "A map cannot raise rank: onto an encoder of higher rank something is left over.",
            "blocks": blocks,
        }
    ]


def _extrinsic(result: AffineHomotopyStudy) -> list[Section]:
    blocks: list[dict[str, Any]] = []
    if result.tasks:
        summary = f"All {count(len(result.tasks), 'probe')} beside the majority class"
        blocks.append(_waiting(probe_table(result), len(result.tasks), summary))
    if result.extrinsic:
        blocks.append(bound_table(result))
    depths = depths_of(result)
    for task, depth in dict.fromkeys((p.task, p.depth) for p in result.extrinsic):
        at = depths.index(depth) if depth in depths else None
        found = extrinsic_map(result, task, depth, at)
        summary = f"{task} at depth {depth:g}: every pair"
        blocks.append({"kind": "details", "summary": summary, "blocks": [found]})
    if not blocks:
        return []
    return [
        {
            "id": "probes",
            "title": "Probes, and the bound",
            "intro": "How well the imitated probes do, and whether imitation keeps to what the affine distance "
            "promises.",
            "blocks": blocks,
        }
    ]


def _encoders(result: AffineHomotopyStudy) -> list[Section]:
    if not result.encoders:
        return []
    summary = f"All {count(len(encoder_names(result)), 'encoder')} at every depth"
    table = _waiting(encoder_table(result), len(result.encoders), summary)
    return [{"id": "encoders", "title": "Encoders", "blocks": [table]}]


def _waiting(table: dict[str, Any], rows: int, summary: str) -> dict[str, Any]:
    return table if rows <= MANY else {"kind": "details", "summary": summary, "blocks": [table]}


def _how_to_read(result: AffineHomotopyStudy) -> Section:
    items = [
        (
            "Affine distance",
            "Smallest largest error, over all texts, of an affine map of the source onto the target. Solved to a "
            "certified interval; shown is its upper end, which the map attains. Divided by the radius of the "
            "smallest ball around the target’s rows it lies between 0 (an exact map) and 1 (no better than a "
            "constant), so that targets of different size compare. "
            "Correlations are of the distance itself, as in the paper.",
        ),
        (
            "Direction",
            "From source to target. Mapping onto an encoder of lower rank can be free while the way back is not.",
        ),
        (
            "Held out",
            "Largest error of the same map on texts that it was not fitted on. Far above the distance: the map fits "
            "these texts rather than the encoders. A maximum over few texts rests on one of them.",
        ),
        (
            "Fixed classifier",
            "A logistic probe of the target is imitated by an affine map of the source into a softmax. The distance "
            "is the largest difference of the probabilities over the texts of the fit.",
        ),
        (
            "Worst case",
            "The same for the classifier, among those of limited norm, that was found to be imitated worst. The true "
            "worst case is at least as hard to imitate.",
        ),
        (
            "Bound",
            "A softmax changes by at most half of what its input does: the imitation error is at most half the norm "
            "of the classifier times the affine distance on the same rows.",
        ),
        (
            "Median onto a target",
            "Over all other encoders as sources. Place 1 has the smallest.",
        ),
        ("p", _p_words(result)),
        (
            "Interval",
            "95 %, by bootstrap. Over encoders: encoders are drawn again, and all their pairs with them; none for "
            "fewer than five. Over texts: texts are drawn again, the maps are not fitted again.",
        ),
        (
            "Paper’s",
            "Numbers printed in “On Affine Homotopy between Language Encoders” (NeurIPS 2024), of its own 27 "
            "encoders and texts. They stand beside ours; they are no reference that ours should meet.",
        ),
    ]
    others = dict.fromkeys(link.measure for link in result.links if link.measure != "affine")
    if others:
        names = joined([measure_title(name) for name in others])
        items.append(("Other measures", f"{names}: of the same rows, as distances."))
    blocks = [{"kind": "terms", "items": [list(item) for item in items]}]
    return {"id": "reading", "title": "How to read this", "blocks": blocks}


def _p_words(result: AffineHomotopyStudy) -> str:
    words = (
        "Share of relabellings of the encoders with at least this correlation, in one of the two tables of pairs; "
        "pairs that share an encoder are not independent, and a test that takes them to be gives far too small a p."
    )
    prediction = Prediction.of(result)
    if prediction.links:
        words += (
            f" With {count(len(encoder_names(result)), 'encoder')} the least possible p is "
            f"{p_text(prediction.smallest)}."
        )
    return words


def _data(result: AffineHomotopyStudy) -> dict[str, Any]:
    """Embed one record an ordered pair and depth, with what each task says of the pair there."""
    tasks = list(dict.fromkeys(p.task for p in result.extrinsic))
    found: Mapping[tuple[Any, ...], Any] = {
        (p.task, p.depth, p.source, p.target): p for p in result.extrinsic
    }
    records = []
    for record in result.records():
        for task in tasks:
            pair = found.get((task, record["depth"], record["source"], record["target"]))
            for name in _EXTRINSIC:
                record[f"{task}: {name}"] = getattr(pair, name, None)
        records.append(plain(record))
    names, depths = encoder_names(result), depths_of(result)
    data = embed(
        records,
        kind=result.kind,
        schema=result.schema,
        levels={"source": names, "target": names, "depth": depths},
    )
    return {
        **data,
        "key": ["depth", "source", "target"],
        "titles": [f"Depth {d:g}" for d in depths],
        "told": [
            *_TOLD,
            *(f"{task}: {name}" for task in tasks for name in ("fixed", "worst", "bound")),
        ],
    }
