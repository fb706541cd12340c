"""Tokens that have hardly been trained: candidates by two methods, against a reference list."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UndefinedMeasureError
from cospace.models.embeddings import Embeddings, TokenMatrix
from cospace.result import Result, checked
from cospace.tokens.reference import VERIFIED, ReferenceList
from cospace.tokens.verify import Verification, repeat_probabilities
from cospace.tokens.vocabulary import Vocabulary, read_vocabulary

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = [
    "Indicators",
    "Recovery",
    "Undertrained",
    "find_undertrained",
    "indicators_of",
    "recovery",
    "verified",
]

PERCENT = 2.0
"""Share of the used tokens that are candidates by an indicator."""
_ROWS = 8192
"""Rows that are held in double precision."""
_NEVER = frozenset(bytes([byte]) for byte in (0xC0, 0xC1, *range(0xF5, 0x100)))
"""Bytes that stand in no UTF-8 text."""

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
    """Which list: ``tested`` (whatever was looked at) or ``verified`` of a published list,
    ``prompted`` (verified by prompting here), or another method."""
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
    tokens: int
    """Tokens out of which both are taken: all used ones, or for ``prompted`` those that were tested."""


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
    indicator: str | None
    """The indicator; None where there is none."""
    unused: int
    """Rows taken as unused."""
    candidates: Mapping[str, tuple[int, ...]]
    """Rows of the candidates by method: ``indicator``, and ``apart``, or what was given in its place."""
    recoveries: tuple[Recovery, ...]
    """Each method against each list, and the methods against each other."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the reference lists that are no used tokens, by list."""
    verification: Verification | None = None
    """What prompting said of some of the candidates, and of some other tokens."""
    reason: str | None = None
    """Why there is no indicator."""

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
            values["recoveries"] = [checked(Recovery, one) for one in data["recoveries"]]
            if data["verification"] is not None:
                values["verification"] = Verification.from_dict(data["verification"])
            made: Self = checked(cls, values)
            return made
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
        Rows known to be unused; by default the reserved ones, or where there are none those of the
        bytes that stand in no UTF-8 text.

    Raises
    ------
    UndefinedMeasureError
        For a tied model without unused rows, or whose unused rows have the mean 0.
    InputError
        For an unused row that does not exist.
    """
    rows = embeddings.input.shape[0]
    chosen = np.unique(np.asarray(_unused(vocabulary) if unused is None else list(unused)))
    chosen = chosen.astype(np.int64)
    if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < rows:
        raise InputError(
            f"Unused row {int(chosen[-1] if chosen[0] >= 0 else chosen[0])} does not exist: rows are 0 to {rows - 1}."
        )
    if embeddings.tying != "tied":
        return Indicators("input norm", _each(embeddings.input, _norms), {}, chosen)
    if not len(chosen):
        raise UndefinedMeasureError(
            f"{embeddings.name} is tied and has no reserved rows, nor bytes that no text holds: name some rows that "
            "are known to be unused (unused=, or --unused MODEL=3-16)."
        )
    matrix = embeddings.matrix("output")
    sums = np.zeros(matrix.shape[1])
    for part in _parts(matrix):
        sums += part.sum(axis=0)
    centre = sums / rows
    mean = matrix.rows(chosen).astype(np.float64).mean(axis=0)
    variants = {
        "distance to unused, centred": _each(
            matrix, lambda part: _cosine_distance(part - centre, mean - centre)
        ),
        "distance to unused, Euclidean": _each(matrix, lambda part: _norms(part - mean)),
    }
    values = _each(matrix, lambda part: _cosine_distance(part, mean))
    return Indicators("distance to unused", values, variants, chosen)


def _parts(matrix: TokenMatrix) -> Iterator[Floats]:
    """Rows in double precision, some at a time."""
    for start in range(0, matrix.shape[0], _ROWS):
        yield matrix.rows(slice(start, start + _ROWS)).astype(np.float64)


def _each(matrix: TokenMatrix, read: Callable[[Floats], Floats]) -> Floats:
    return np.concatenate([read(part) for part in _parts(matrix)])


def _norms(part: Floats) -> Floats:
    return np.asarray(np.linalg.norm(part, axis=1))


def _unused(vocabulary: Vocabulary) -> Index:
    reserved = vocabulary.ids("reserved")
    if len(reserved):
        return reserved
    forms = enumerate(vocabulary.forms)
    return np.asarray([i for i, form in forms if form and form.text in _NEVER], dtype=np.int64)


def find_undertrained(
    embeddings: Embeddings,
    *,
    apart: Iterable[int] | Mapping[str, Iterable[int]] | None = None,
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
        Rows that share no neighbour with another model, as `LocalFigure.apart_a` has them; with
        several models, by a name of the method.
    reference
        What others found, see ``read_reference``. Its tokens that are not used tokens here are
        left out, and counted.
    unused
        Rows known to be unused; by default as ``indicators_of`` takes them.
    percent
        Share of used tokens, in percent, that are candidates by the indicator.

    Raises
    ------
    InputError
        For a percentage that is not between 0 and 100, or a row that does not exist.
    UndefinedMeasureError
        For a tied model without unused rows, unless there are tokens ``apart``.
    """
    if not 0 < percent < 100:
        raise InputError(f"percent is {percent}; a number between 0 and 100 is expected.")
    rows = embeddings.input.shape[0]
    vocabulary = read_vocabulary(embeddings.weights.folder, rows)
    used = vocabulary.ids("used")
    others: dict[str, Iterable[int]] = {}
    if apart is not None:
        others.update(apart if isinstance(apart, Mapping) else {"apart": apart})
    candidates: dict[str, Index] = {}
    found, reason = None, None
    try:
        found = indicators_of(embeddings, vocabulary, unused)
        least = np.percentile(found.values[used], percent)
        candidates["indicator"] = used[found.values[used] <= least]
    except UndefinedMeasureError as error:
        if not others:
            raise
        reason = str(error)
    candidates |= {name: _among(ids, used, rows) for name, ids in others.items()}
    left_out: dict[str, int] = {}
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
    scores += [
        recovery(candidates[one], candidates[other], len(used), method=one, reference=other)
        for other, one in combinations(candidates, 2)
    ]
    return Undertrained(
        model=embeddings.name,
        tying=embeddings.tying,
        tokens=len(used),
        indicator=None if found is None else found.name,
        unused=0 if found is None else len(found.unused),
        candidates={name: tuple(map(int, ids)) for name, ids in candidates.items()},
        recoveries=tuple(scores),
        left_out=left_out,
        reason=reason,
    )


def verified(
    found: Undertrained,
    vocabulary: Vocabulary,
    decoder: Decoder,
    *,
    each: int = 20,
    rng: int = 0,
    done: Callable[[int, int], None] | None = None,
) -> Undertrained:
    """Verify candidates by prompting, and other tokens beside them.

    Of every method's candidates ``each`` are drawn, and as many used tokens that no method names.
    The methods, and the ``others``, are then scored out of those tested: precision is the share of a
    method's tested candidates that the model cannot repeat, lift is over the share in all tested.

    Parameters
    ----------
    found
        Candidates, of ``find_undertrained``.
    vocabulary, decoder
        Of the same model.
    each
        Tokens that are drawn of each.
    rng
        Seed.
    done
        Told how many prompts of how many are done.

    Raises
    ------
    InputError
        For fewer than 1 token of each.
    """
    if each < 1:
        raise InputError(
            f"{each} tokens of each method are to be verified; 1 or more are expected."
        )
    groups = {name: np.asarray(ids, dtype=np.int64) for name, ids in found.candidates.items()}
    named = np.concatenate(list(groups.values()))
    groups["others"] = np.setdiff1d(vocabulary.ids("used"), named)
    generator = np.random.default_rng([rng, 1 << 23])
    drawn = [generator.choice(ids, min(each, len(ids)), replace=False) for ids in groups.values()]
    tested = np.unique(np.concatenate(drawn)).astype(np.int64)
    probabilities = repeat_probabilities(decoder, tested, done=done)
    verification = Verification.of(
        tested,
        probabilities,
        texts=[vocabulary.text(int(i)) for i in tested],
        methods=[[n for n, ids in groups.items() if i in ids and n != "others"] for i in tested],
        threshold=VERIFIED,
    )
    listed = tested[probabilities.max(axis=1) < VERIFIED]
    scores = [
        recovery(
            np.intersect1d(ids, tested), listed, len(tested), method=name, reference="prompted"
        )
        for name, ids in groups.items()
    ]
    return replace(found, recoveries=(*found.recoveries, *scores), verification=verification)


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
        tokens=tokens,
    )


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
