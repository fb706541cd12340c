"""Tokens that have hardly been trained: candidates by two methods, against a reference list."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UndefinedMeasureError
from cospace.models.embeddings import Embeddings
from cospace.result import Result
from cospace.tokens.vocabulary import Vocabulary, read_vocabulary

__all__ = [
    "Indicators",
    "Recovery",
    "ReferenceList",
    "Undertrained",
    "find_undertrained",
    "indicators_of",
    "read_reference",
    "recovery",
]

PERCENT = 2.0
"""Share of the used tokens that are candidates by an indicator."""
VERIFIED = 0.01
"""Probability of being repeated below which a tested token is verified as undertrained."""

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Indicators:
    """One number for every row: the lower, the less trained."""

    name: str
    """The indicator that is used: ``input norm``, or ``distance to unused``."""
    values: Floats
    """Its values, shape (rows,)."""
    variants: Mapping[str, Floats]
    """The others, by name."""
    unused: Index
    """Rows known not to be used; none where none are needed."""


@dataclass(frozen=True)
class Recovery:
    """How well candidates recover a reference list."""

    method: str
    """How the candidates were found."""
    reference: str
    """Which list: ``tested`` (whatever was looked at), ``verified``, or another method."""
    candidates: int
    """Candidates."""
    listed: int
    """Tokens in the list: the denominator of recall."""
    hits: int
    """In both."""
    precision: float | None
    """Hits among candidates; None for no candidates."""
    recall: float | None
    """Hits among those listed; None for an empty list."""
    lift: float | None
    """Precision over the share of the list in all tokens: 1 by chance."""
    expected: float
    """Hits by chance."""
    p: float
    """Probability of as many hits or more by chance (hypergeometric)."""
    jaccard: float | None
    """Hits over those in either; None for two empty lists."""


@dataclass(frozen=True, eq=False)
class ReferenceList:
    """What others found by prompting."""

    tested: Index
    """Tokens that were tested, ascending."""
    verified: Index
    """Those repeated with a probability below the threshold."""
    threshold: float
    """The threshold."""


@dataclass(frozen=True)
class Undertrained(Result):
    """Candidates of one model by each method, and how they agree."""

    kind: ClassVar[str] = "undertrained tokens"

    model: str
    """Name of the model."""
    tying: str
    """``tied``, ``untied`` or ``input only``: it decides the indicator."""
    tokens: int
    """Used tokens, out of which candidates and lists are taken."""
    indicator: str
    """The indicator."""
    unused: int
    """Rows taken as unused."""
    candidates: Mapping[str, tuple[int, ...]]
    """Rows of the candidates by method: ``indicator``, and ``apart`` where given."""
    recoveries: tuple[Recovery, ...]
    """Each method against each list, and the methods against each other."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the reference lists that are no used tokens, by list."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a method and list."""
        return [{"model": self.model, **vars(one)} for one in self.recoveries]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``.

        Raises
        ------
        InputError
            For another dictionary.
        """
        try:
            values = {k: v for k, v in data.items() if k not in ("kind", "schema")}
            values["candidates"] = {k: tuple(v) for k, v in data["candidates"].items()}
            values["recoveries"] = tuple(Recovery(**one) for one in data["recoveries"])
            return cls(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"This is no list of undertrained tokens that this version wrote: {error}."
            ) from None


def indicators_of(
    embeddings: Embeddings, vocabulary: Vocabulary, unused: Collection[int] | None = None
) -> Indicators:
    """Indicators of little training, from the matrices alone.

    Untied models: the length of a token's input embedding, which weight decay shrinks where no
    gradient comes. Tied ones: the cosine distance of its output embedding to the mean of those
    known to be unused; variants: the same of centred rows, and the Euclidean distance.

    Parameters
    ----------
    embeddings, vocabulary
        Of one model.
    unused
        Rows known to be unused; by default the reserved ones.

    Raises
    ------
    UndefinedMeasureError
        For a tied model without unused rows, or whose unused rows have the mean 0.
    InputError
        For an unused row that does not exist.
    """
    rows = embeddings.input.shape[0]
    chosen = np.unique(np.asarray(vocabulary.ids("reserved") if unused is None else list(unused)))
    chosen = chosen.astype(np.int64)
    if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < rows:
        raise InputError(
            f"Unused row {int(chosen[-1] if chosen[0] >= 0 else chosen[0])} does not exist: rows are 0 to {rows - 1}."
        )
    if embeddings.tying != "tied":
        matrix = embeddings.input.rows().astype(np.float64)
        return Indicators("input norm", np.linalg.norm(matrix, axis=1), {}, chosen)
    if not len(chosen):
        raise UndefinedMeasureError(
            f"{embeddings.name} is tied and has no reserved rows: name some that are known to be unused (unused=)."
        )
    matrix = embeddings.matrix("output").rows().astype(np.float64)
    centre = matrix.mean(axis=0)
    mean = matrix[chosen].mean(axis=0)
    variants = {
        "distance to unused, centred": _cosine_distance(matrix - centre, mean - centre),
        "distance to unused, Euclidean": np.linalg.norm(matrix - mean, axis=1),
    }
    return Indicators("distance to unused", _cosine_distance(matrix, mean), variants, chosen)


def find_undertrained(
    embeddings: Embeddings,
    *,
    apart: Iterable[int] | None = None,
    reference: ReferenceList | None = None,
    unused: Collection[int] | None = None,
    percent: float = PERCENT,
) -> Undertrained:
    """Candidates for undertrained tokens by each method, and how they agree with each other.

    Parameters
    ----------
    embeddings
        Of the model.
    apart
        Rows that share no neighbour with another model, as `LocalFigure.apart_a` has them.
    reference
        What others found, see ``read_reference``. Its tokens that are not used tokens here are
        left out, and counted.
    unused
        Rows known to be unused; by default the reserved ones.
    percent
        Share of used tokens, in percent, that are candidates by the indicator.

    Raises
    ------
    InputError
        For a percentage that is not between 0 and 100, or a row that does not exist.
    UndefinedMeasureError
        For a tied model without unused rows.
    """
    if not 0 < percent < 100:
        raise InputError(f"percent is {percent}; a number between 0 and 100 is expected.")
    rows = embeddings.input.shape[0]
    vocabulary = read_vocabulary(embeddings.weights.folder, rows)
    used = vocabulary.ids("used")
    found = indicators_of(embeddings, vocabulary, unused)
    least = np.percentile(found.values[used], percent)
    candidates = {"indicator": used[found.values[used] <= least]}
    left_out: dict[str, int] = {}
    if apart is not None:
        candidates["apart"] = _among(apart, used, rows)
    lists: dict[str, Index] = {}
    for name in ("tested", "verified") if reference is not None else ():
        every = getattr(reference, name)
        lists[name] = _among(every, used, rows)
        left_out[name] = len(every) - len(lists[name])
    scores = [
        recovery(ids, listed, len(used), method=method, reference=name)
        for method, ids in candidates.items()
        for name, listed in lists.items()
    ]
    if apart is not None:
        scores.append(
            recovery(
                candidates["apart"],
                candidates["indicator"],
                len(used),
                method="apart",
                reference="indicator",
            )
        )
    return Undertrained(
        model=embeddings.name,
        tying=embeddings.tying,
        tokens=len(used),
        indicator=found.name,
        unused=len(found.unused),
        candidates={name: tuple(map(int, ids)) for name, ids in candidates.items()},
        recoveries=tuple(scores),
        left_out=left_out,
    )


def recovery(
    candidates: npt.ArrayLike,
    listed: npt.ArrayLike,
    tokens: int,
    *,
    method: str = "candidates",
    reference: str = "list",
) -> Recovery:
    """Score candidates against a list, out of so many tokens.

    Parameters
    ----------
    candidates, listed
        Rows; repeats count once.
    tokens
        Number of tokens that both were taken from.
    method, reference
        Their names.

    Raises
    ------
    InputError
        For more candidates or more listed than tokens.

    Examples
    --------
    >>> found = recovery([1, 2, 3, 4], [4, 5], tokens=20)
    >>> found.precision, found.recall, found.lift
    (0.25, 0.5, 2.5)
    """
    one, other = np.unique(np.asarray(candidates)), np.unique(np.asarray(listed))
    if max(len(one), len(other)) > tokens:
        raise InputError(
            f"{max(len(one), len(other))} tokens are listed out of {tokens}: these cannot be all of them."
        )
    hits = len(np.intersect1d(one, other))
    precision = hits / len(one) if len(one) else None
    base = len(other) / tokens if tokens else 0.0
    from scipy.stats import hypergeom  # takes longer to load than everything else here

    union = len(one) + len(other) - hits
    return Recovery(
        method=method,
        reference=reference,
        candidates=len(one),
        listed=len(other),
        hits=hits,
        precision=precision,
        recall=hits / len(other) if len(other) else None,
        lift=precision / base if precision is not None and base else None,
        expected=len(one) * base,
        p=float(hypergeom.sf(hits - 1, tokens, len(other), len(one))),
        jaccard=hits / union if union else None,
    )


def read_reference(path: str | Path, *, threshold: float = VERIFIED) -> ReferenceList:
    """Read verifications in magikarp's format: JSON lines, compressed by gzip or not.

    Each line holds a token with its id ``i``; those that were tested have ``max_prob``, or
    ``verification`` with one ``max_prob`` a prompt, of which the largest counts.

    Raises
    ------
    InputError
        For a file that cannot be read, holds no token that was tested, or a threshold that is no
        probability.
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold is {threshold}; a probability above 0 is expected.")
    try:
        raw = Path(path).read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}).") from None
    probabilities: dict[int, float] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            token = json.loads(line)
            place = int(token["i"])
            tests = [float(one["max_prob"]) for one in token.get("verification") or ()]
            if tests or token.get("max_prob") is not None:
                probabilities[place] = max(tests) if tests else float(token["max_prob"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"Line {number} of {path} is no token with its id and probabilities ({error})."
            ) from None
    if not probabilities:
        raise InputError(
            f"{path} holds no token that was tested: a file of verifications is expected."
        )
    tested = np.asarray(sorted(probabilities), dtype=np.int64)
    low = [place for place in tested.tolist() if probabilities[place] < threshold]
    return ReferenceList(tested, np.asarray(low, dtype=np.int64), threshold)


def _among(ids: Iterable[int], used: Index, rows: int) -> Index:
    chosen = np.unique(np.asarray(list(ids), dtype=np.int64))
    if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < rows:
        wrong = int(chosen[-1] if chosen[0] >= 0 else chosen[0])
        raise InputError(f"Token {wrong} has no row: rows are 0 to {rows - 1}.")
    return np.intersect1d(chosen, used)


def _cosine_distance(matrix: Floats, to: Floats) -> Floats:
    size = math.sqrt(float(to @ to))
    if size == 0.0:
        raise UndefinedMeasureError(
            "The unused rows have the mean 0, which has no direction: name others (unused=)."
        )
    norms = np.linalg.norm(matrix, axis=1)
    inner = matrix @ to
    # A row of zeros has had no training at all.
    return np.asarray(
        1.0 - np.divide(inner, norms * size, out=np.ones_like(inner), where=norms > 0)
    )
