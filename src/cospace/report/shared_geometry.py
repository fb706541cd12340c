"""The page of a shared-geometry study: what the paper says beside ours, tokens, steering."""

from __future__ import annotations

from functools import partial
from typing import Any

from cospace.report.facts import embed, repeated
from cospace.report.steering import (
    steering_panel,
    steering_terms,
    transfer_blocks,
    transfer_finding,
)
from cospace.report.token_figures import likeness_map
from cospace.report.tokens import (
    geometry_findings,
    geometry_sections,
    how_to_read,
    models_section,
)
from cospace.report.words import count, joined, number, span
from cospace.studies.shared_geometry.result import (
    MATRICES,
    Claim,
    SharedGeometryStudy,
    Steered,
    role_of,
)

__all__ = ["geometry_study_page"]

Section = dict[str, Any]
_LEVELS = ("part", "a", "b", "role_a", "role_b", "figure", "behaviour", "map", "site", "condition")
_TOLD = ("behaviour", "map", "site", "condition", "coefficient", "value", "perplexity")
_TOPICS = {
    "cosines": "All pairs of tokens",
    "weights": "Near every token",
    "dimension": "Intrinsic dimension",
    "coherence": "Coherence",
    "undertrained": "Undertrained tokens",
    "steering": "Steering",
}


def geometry_study_page(result: SharedGeometryStudy) -> dict[str, Any]:
    """Reduce a study to a page; README.md of this package lists its keys."""
    result = type(result).from_dict(result.to_dict())  # numbers that are not finite become None
    geometry = result.geometry
    records = result.records()
    data = embed(
        records,
        kind=result.kind,
        schema=result.schema,
        levels={name: list(geometry.models) if name in ("a", "b") else [] for name in _LEVELS},
    )
    data["told"] = list(_TOLD)
    reading = how_to_read(geometry)
    if result.steering:
        reading["blocks"].append(
            {"kind": "terms", "items": steering_terms(result.steering[0].sweep)}
        )
    sections = [
        _paper(result.claims),
        *_matrices(result),
        *geometry_sections(geometry),
        *_steering(result, len(records)),
        *models_section(geometry),
        reading,
        repeated(result.settings, result.provenance, len(records)),
    ]
    return {
        "kind": "shared-geometry study",
        "title": f"{result.title[:120]} · cospace study",
        "headline": _headline(result),
        "lead": _lead(result),
        "findings": _findings(result),
        "warnings": list(result.all_warnings()),
        "sections": sections,
        "data": data,
    }


def _headline(result: SharedGeometryStudy) -> str:
    values = [figure.pearson for one in result.geometry.comparisons for figure in one.overall]
    ends = dict.fromkeys(number(x, 2) for x in (min(values), max(values)))
    return (
        f"Over {count(len(result.geometry.comparisons), 'pair')} of models the cosines of token pairs correlate at "
        f"{' to '.join(ends)}"
    )


def _lead(result: SharedGeometryStudy) -> str:
    text = (
        f"{joined(list(result.geometry.models))}: the figures of “Shared Global and Local Geometry of Language "
        "Model Embeddings” (COLM 2025), whose own values are marked as published."
    )
    if result.steering:
        names = list(dict.fromkeys(one.behaviour for one in result.steering))
        targets = list(dict.fromkeys(one.sweep.target for one in result.steering))
        text += f" Steering: {joined(names)} of {result.steering[0].sweep.source}, carried to {joined(targets)}."
    return text


def _findings(result: SharedGeometryStudy) -> list[dict[str, str]]:
    found = geometry_findings(result.geometry)
    for one in result.steering:
        for name in one.sweep.names:
            told = transfer_finding(one.sweep.transfer(name))
            found.append({**told, "text": f"{_titled(one)}. {told['text']}"})
    return found


def _titled(one: Steered) -> str:
    return f"{one.behaviour}, {one.sweep.source} to {one.sweep.target}"


def _paper(claims: tuple[Claim, ...]) -> Section:
    groups = []
    for topic, label in _TOPICS.items():
        figures = dict.fromkeys(one.figure for one in claims if one.topic == topic)
        rows = [_claim([one for one in claims if one.figure == figure]) for figure in figures]
        if rows:
            groups.append({"label": label, "rows": rows})
    table = {
        "kind": "table",
        "caption": "Published: by the paper, of its models; words where it tells no number. Ours: the least and the "
        "largest over the models of this study. The paper’s lists of undertrained tokens hold every token that was "
        "tested, verified or not.",
        "columns": [
            {"label": "Figure"},
            {"label": "Published"},
            {"label": "Ours", "align": "num"},
        ],
        "groups": groups,
        "loose": True,
    }
    return {
        "id": "paper",
        "title": "What the paper says, and ours",
        "intro": "Other models, other sizes: likeness of the two columns is a sign, no replication.",
        "blocks": [table],
    }


def _claim(same: list[Claim]) -> list[Any]:
    """One figure of ours, with all that the paper says of its kind."""
    one = same[0]
    ours = span(one.ours_low, one.ours_high)
    if one.ours_low is not None and one.ours_low == one.ours_high:
        ours = number(one.ours_low)
    return [
        {"text": one.figure, "head": True},
        "; ".join(map(_theirs, same)),
        {"text": ours, "note": one.ours_on},
    ]


def _theirs(one: Claim) -> str:
    words = [one.theirs] if one.theirs else []
    if one.theirs_value is not None:
        words.insert(0, number(one.theirs_value))
    return f"{', '.join(words)} ({one.theirs_on})"


def _matrices(result: SharedGeometryStudy) -> list[Section]:
    """One map of embeddings and one of unembeddings, where some model has two matrices."""
    geometry = result.geometry
    if len(geometry.models) < 3 or not result.untied:
        return []
    blocks: list[dict[str, Any]] = []
    for which in MATRICES:
        lower = [line[:i] for i, line in enumerate(result.matrix(which))]
        if any(value is not None for line in lower for value in line):
            blocks.append({"kind": "text", "text": f"{which.capitalize()}:"})
            blocks.append(likeness_map(geometry, partial(_role, which=which), f"Cosines, {which}"))
    return [
        {
            "id": "matrices",
            "title": "Embeddings and unembeddings",
            "intro": "As the paper draws them: of a tied model its one matrix stands in both.",
            "blocks": blocks,
        }
    ]


def _role(side: Any, which: Any) -> str | None:
    return role_of(side, which)


def _steering(result: SharedGeometryStudy, records: int) -> list[Section]:
    first = records - sum(len(one.sweep.records()) for one in result.steering)
    sections = []
    for i, one in enumerate(result.steering):
        sweep = one.sweep
        own = {
            "kind": "curves",
            "caption": f"The same questions to {sweep.source} itself, by its own vector: what there is to carry.",
            "panels": [
                steering_panel(
                    {"own vector": one.own},
                    title=f"{sweep.source}, {one.own.site}",
                    description=f"The score moves by {number(one.own.span)}.",
                )
            ],
        }
        sections.append(
            {
                "id": f"steering-{i + 1}",
                "title": f"Steering: {_titled(one)}",
                "intro": f"Score of {count(one.own.n, 'question')} at every coefficient, for the carried vector, its "
                "controls, and the model’s own. 0.5 is no preference.",
                "blocks": [own, *transfer_blocks(sweep, first=first)],
            }
        )
        first += len(sweep.records())
    return sections
