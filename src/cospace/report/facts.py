"""What was compared and how to repeat it: models, spaces, settings, provenance, all the records."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from cospace.comparison.result import Comparison, SpaceFacts
from cospace.report.words import count, number
from cospace.result import plain

__all__ = ["data_of", "embed", "models_section", "repeat_section", "repeated"]

DIGITS = 8
"""Significant digits of the embedded records."""
_MODEL_FACTS = (
    ("Reference", "reference"),
    ("Architecture", "architecture"),
    ("Blocks", "blocks"),
    ("Width", "width"),
    ("Final norm", "final_norm"),
    ("Parameters", "parameters"),
    ("Number type", "dtype"),
    ("Weights", "quantisation"),
    ("Source model", "source"),
    ("Licence", "licence"),
    ("Revision", "revision"),
    ("Weights hash", "weights_hash"),
    ("Tokenizer hash", "tokenizer_hash"),
    ("Configuration hash", "config_hash"),
)


def models_section(result: Comparison) -> list[dict[str, Any]]:
    """Facts of the models, where there are models, and of every space."""
    models: dict[str, SpaceFacts] = {}
    for space in result.spaces:
        models.setdefault(space.model, space)
    real = {name: s for name, s in models.items() if s.facts.get("architecture") is not None}
    blocks: list[dict[str, Any]] = []
    if real:
        blocks.append(_models(real))
    table = _spaces(result)
    if len(result.spaces) > 12:
        inner = [table]
        summary = f"All {count(len(result.spaces), 'space')}: width, rank, leading direction, hash"
        blocks.append({"kind": "details", "summary": summary, "blocks": inner})
    else:
        blocks.append(table)
    title = "Models" if real else "Spaces"
    return [{"id": "models", "title": title, "blocks": blocks}]


def repeat_section(result: Comparison) -> dict[str, Any]:
    """Show settings, the exact command, versions, manifests and the data."""
    return repeated(result.settings, result.provenance, len(result.cells))


def repeated(
    given: Mapping[str, Any], provenance: Mapping[str, Any], records: int
) -> dict[str, Any]:
    """Show settings and provenance of any result, and its ``records`` for download."""
    blocks: list[dict[str, Any]] = []
    rest = dict(provenance)
    command = rest.pop("command", None)
    if isinstance(command, list | tuple):
        command = shlex.join(map(str, command))
    if command:
        blocks.append({"kind": "pre", "label": "Command", "text": str(command)})
    nested = {k: v for k, v in given.items() if isinstance(v, Mapping)}
    settings = [[_title(k), _short(v)] for k, v in given.items() if k not in nested]
    versions = rest.get("versions")
    if isinstance(versions, Mapping):
        rest.pop("versions")
        shown = ", ".join(f"{name} {value}" for name, value in versions.items())
        settings.append(["Versions", shown])
    if settings:
        blocks.append({"kind": "facts", "items": settings})
    for key, value in {**nested, **rest}.items():
        text = json.dumps(plain(value), indent=1, ensure_ascii=False)
        blocks.append(
            {
                "kind": "details",
                "summary": _title(key),
                "blocks": [{"kind": "pre", "label": "", "text": text}],
            }
        )
    if not provenance:
        missing = "No command or manifest was recorded with this result."
        blocks.append({"kind": "text", "text": missing})
    blocks.append({"kind": "download", "rows": records, "digits": DIGITS})
    return {"id": "repeat", "title": "Repeat it, and the data", "blocks": blocks}


def data_of(result: Comparison) -> dict[str, Any]:
    """Embed the cells of a comparison, with what the tooltips say of the measures."""
    levels = {
        "measure": [m.name for m in result.measures],
        "source": [s.name for s in result.spaces],
        "target": [s.name for s in result.spaces],
        "reason": [],
        "note": [],
    }
    data = embed(result.records(), kind=result.kind, schema=result.schema, levels=levels)
    data["titles"] = [m.title for m in result.measures]
    data["kinds"] = [m.kind for m in result.measures]
    return data


def embed(
    records: Sequence[Mapping[str, Any]],
    *,
    kind: str,
    schema: int,
    levels: Mapping[str, Sequence[Any]],
) -> dict[str, Any]:
    """Turn records into rows of one layout; the values of ``levels`` stand once and are pointed at.

    Parameters
    ----------
    records
        Flat dictionaries with the same keys.
    kind, schema
        What the records are of.
    levels
        Columns of repeated values, each with the values whose place is fixed.
    """
    columns = list(records[0]) if records else []
    places = {column: {text: i for i, text in enumerate(given)} for column, given in levels.items()}
    rows = []
    for record in records:
        row = []
        for column in columns:
            value = record[column]
            if column in places and value is not None:
                value = places[column].setdefault(value, len(places[column]))
            row.append(_rounded(value))
        rows.append(row)
    return {
        "kind": kind,
        "schema": schema,
        "digits": DIGITS,
        "columns": columns,
        "levels": {column: list(texts) for column, texts in places.items()},
        "rows": rows,
    }


def _models(models: Mapping[str, SpaceFacts]) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for title, key in _MODEL_FACTS:
        values = [space.facts.get(key) for space in models.values()]
        if any(value is not None for value in values):
            rows.append([{"text": title, "head": True}, *(_fact(key, v) for v in values)])
    return {
        "kind": "table",
        "caption": "The models as they were run.",
        "columns": [{"label": ""}, *({"label": name} for name in models)],
        "groups": [{"label": None, "rows": rows}],
        "loose": True,
    }


def _fact(key: str, value: Any) -> Any:
    if value is None:
        return {"text": "as published" if key == "quantisation" else "–"}
    if key == "quantisation":
        note = "results are of these weights, not of the original checkpoint"
        return {"text": str(value), "note": note, "tone": "warn"}
    if key.endswith("_hash"):
        return {"text": str(value), "mono": True}
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key == "parameters" and isinstance(value, int):
        return f"{value / 1e6:,.1f} million"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _spaces(result: Comparison) -> dict[str, Any]:
    spaces = result.spaces
    placed = any(space.site is not None for space in spaces)
    names = ["Space", *(["Depth", "Pooling"] if placed else [])]
    figures = ["n", "Width", "Rank", "Leading share", "Duplicate rows"]
    rows: list[list[Any]] = []
    for s in spaces:
        place = [number(s.depth, 2), s.pooling or "–"] if placed else []
        share = f"{number(100 * s.leading_share, 1)} %"
        rows.append(
            [
                {"text": s.name, "note": ", ".join(s.steps), "head": True},
                *place,
                f"{s.n:,}",
                f"{s.width:,}",
                f"{s.rank:,}",
                {"text": share, "tone": "warn" if s.leading_share >= 0.9 else ""},
                {"text": f"{s.duplicates:,}", "tone": "warn" if s.duplicates else ""},
                {"text": s.fingerprint[:16], "mono": True},
            ]
        )
    return {
        "kind": "table",
        "caption": "Leading share: part of the variance on the leading principal direction. The "
        "fingerprint is the start of the SHA-256 of rows and ids.",
        "columns": [
            *({"label": name} for name in names),
            *({"label": name, "align": "num"} for name in figures),
            {"label": "Fingerprint"},
        ],
        "groups": [{"label": None, "rows": rows}],
    }


def _title(key: str) -> str:
    words = str(key).replace("_", " ")
    return words[:1].upper() + words[1:]


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, Sequence):
        return json.dumps(plain(value), ensure_ascii=False)
    return str(value)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value
