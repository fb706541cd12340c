"""Who is right on what: the table of correctness that routers are fitted and judged on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cospace._textfile import load, parse
from cospace.corpus import Corpus
from cospace.errors import InputError
from cospace.routing.answers import Answer
from cospace.routing.grading import is_right

__all__ = ["LEAST", "Pool"]

Floats = npt.NDArray[np.float64]

LEAST = 40
"""Fewest items that are judged: of fewer, folds of folds are a handful."""
_COLUMNS = ("id", "model", "correct", "group", "length", "confidence", "cluster")
_TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".json")


@dataclass(frozen=True, eq=False)
class Pool:
    """Correctness of several models on the same items.

    Examples
    --------
    >>> right = np.arange(80).reshape(40, 2) % 3 == 0
    >>> pool = Pool(("a", "b"), tuple(map(str, range(40))), right)
    >>> pool.n, round(pool.disagreement, 3)
    (40, 0.675)
    """

    models: tuple[str, ...]
    """Names of the models, m of them."""
    ids: tuple[str, ...]
    """Ids of the items, n of them."""
    correct: npt.NDArray[np.bool_]
    """Whether each model is right, shape (n, m)."""
    groups: tuple[str, ...] | None = None
    """Category of every item."""
    lengths: Floats | None = None
    """Length of every prompt, shape (n,), in whatever unit."""
    confidence: Floats | None = None
    """Mean log probability of each model's answer, shape (n, m); NaN where there is none."""
    clusters: tuple[str, ...] | None = None
    """Items that stay in one fold together: copies, items of one template."""

    def __post_init__(self) -> None:
        if len(self.models) < 2 or len(set(self.models)) < len(self.models):
            raise InputError(
                f"The pool has the models {', '.join(self.models) or 'none'}; at least 2 different ones are expected, "
                "or there is nothing to choose."
            )
        if self.correct.shape != (len(self.ids), len(self.models)):
            raise InputError(
                f"Correctness has the shape {self.correct.shape}; {(len(self.ids), len(self.models))}, items and "
                "models, is expected."
            )
        if self.n < LEAST:
            raise InputError(
                f"{self.n} items were given; at least {LEAST} are needed to judge a router: give more."
            )

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.ids)

    @property
    def disagreement(self) -> float:
        """Share of the items on which not all models are right, nor all wrong."""
        return float(np.mean(self.correct.any(axis=1) & ~self.correct.all(axis=1)))

    @classmethod
    def of_answers(cls, corpus: Corpus, answers: Mapping[str, Sequence[Answer]]) -> Self:
        """Grade what models answered to the prompts of a corpus with labels.

        Parameters
        ----------
        corpus
            Prompts; the labels are accepted answers, ``" | "`` between them.
        answers
            Model -> its answers, one a prompt in the order of the corpus.

        Raises
        ------
        InputError
            For a corpus without labels.
        """
        if corpus.labels is None:
            raise InputError(
                f"The texts {corpus.name!r} have no labels, which are the accepted answers: give some."
            )
        right = [
            [is_right(each.completion, label) for each in row]
            for label, *row in zip(corpus.labels, *answers.values(), strict=True)
        ]
        costs = [[each.log_prob for each in row] for row in zip(*answers.values(), strict=True)]
        return cls(
            models=tuple(answers),
            ids=corpus.ids,
            correct=np.array(right, bool).reshape(len(corpus), -1),
            groups=corpus.groups,
            lengths=np.array([len(text) for text in corpus.texts], np.float64),
            confidence=np.array(costs, np.float64),
            clusters=_copies(corpus),
        )

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file of correctness: one record an item and model.

        CSV, TSV, JSON lines, Parquet, or a JSON list of objects, with ``id``, ``model``, ``correct``
        (true or false, 1 or 0, yes or no), and optionally ``group``, ``length``, ``confidence``
        (such as a mean log probability) and ``cluster``. Every model needs every item.

        Raises
        ------
        InputError
            If it cannot be read, lacks a column, or says two things of one item.
        """
        source = str(path)
        records = _records(Path(path))
        if not records:
            raise InputError(f"{source} holds no record: one an item and model is expected.")
        for column in _COLUMNS[:3]:
            if any(_absent(each.get(column)) for each in records):
                raise InputError(
                    f"{source} has a record without {column!r}: each needs id, model and correct."
                )
        kept = {c: any(not _absent(each.get(c)) for each in records) for c in _COLUMNS[3:]}
        for column, here in kept.items():
            if here and column != "confidence" and any(_absent(e.get(column)) for e in records):
                raise InputError(
                    f"{source} has a record without {column!r}, which others have: give it to all or none."
                )
        models = tuple(dict.fromkeys(str(each["model"]) for each in records))
        ids = tuple(dict.fromkeys(str(each["id"]) for each in records))
        table: dict[tuple[str, str], Mapping[str, Any]] = {}
        for each in records:
            key = (str(each["id"]), str(each["model"]))
            if key in table:
                raise InputError(f"{source} has item {key[0]} of model {key[1]} twice: keep one.")
            table[key] = each
        for name in ids:
            for model in models:
                if (name, model) not in table:
                    raise InputError(
                        f"{source} lacks item {name} of model {model}: every model needs every item."
                    )

        def of_item(column: str, read: Callable[[Any], Any]) -> list[Any] | None:
            if not kept[column]:
                return None
            values = []
            for name in ids:
                said = {read(table[name, model][column]) for model in models}
                if len(said) > 1:
                    raise InputError(
                        f"{source} gives item {name} {len(said)} values of {column!r}: it belongs to the item, so one "
                        "is expected."
                    )
                values.append(said.pop())
            return values

        def number(value: Any) -> float:
            return _number(value, source)

        groups, clusters = of_item("group", str), of_item("cluster", str)
        lengths = of_item("length", number)
        confidence = [
            [
                math.nan
                if _absent(table[i, m].get("confidence"))
                else number(table[i, m]["confidence"])
                for m in models
            ]
            for i in ids
        ]
        return cls(
            models=models,
            ids=ids,
            correct=np.array(
                [[_truth(table[i, m]["correct"], source) for m in models] for i in ids]
            ),
            groups=None if groups is None else tuple(groups),
            lengths=None if lengths is None else np.array(lengths, np.float64),
            confidence=np.array(confidence) if kept["confidence"] else None,
            clusters=None if clusters is None else tuple(clusters),
        )


def _copies(corpus: Corpus) -> tuple[str, ...] | None:
    """Equal prompts as clusters, where there are any."""
    copies = corpus.duplicates()
    if not copies:
        return None
    first = {name: ids[0] for ids in copies for name in ids}
    return tuple(first.get(name, name) for name in corpus.ids)


def _records(path: Path) -> list[Mapping[str, Any]]:
    suffix = path.suffix.lower()
    if suffix not in _TABLES:
        raise InputError(
            f"{path} is no table of correctness: {', '.join(_TABLES)} are read; convert it."
        )
    if suffix != ".json":
        data = load(path)
        return list(
            parse(data, suffix=suffix, source=str(path), text="text", wanted=_COLUMNS).values
        )
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise InputError(
            f"{path} is no JSON list of objects: one object an item and model is expected."
        )
    return values


def _absent(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _truth(value: Any, source: str) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    found = _TRUTH.get(str(value).strip().casefold())
    if isinstance(value, float) and value in (0.0, 1.0):
        found = bool(value)
    if found is None:
        raise InputError(
            f"{source}: correct is {str(value)!r}; true or false, 1 or 0, is expected."
        )
    return found


def _number(value: Any, source: str) -> float:
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{source} holds {str(value)!r} where a finite number is expected.")
    return found
