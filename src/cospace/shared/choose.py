"""Scaling, width and ridge by inner cross-validation: which retrieves best on unseen texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.maps.folds import fold_numbers
from cospace.shared.blocks import Blocks
from cospace.shared.methods import COARSE, METHODS, Alignment, Method, Pairwise, Training
from cospace.shared.retrieval import unit_rows
from cospace.shared.scaling import Floats, Scaling, Spectrum
from cospace.shared.training import kept_together

__all__ = ["SCALINGS", "Candidate", "Choice", "best_of", "choose", "fit_choice", "widths_for"]

SCALINGS: tuple[str, ...] = (
    "none",
    "standardize",
    "drop:1",
    "whiten:0.5",
    "standardize+whiten:0.5",
)
"""Scalings that ``auto`` tries."""

_SHARES = (1 / 10, 1 / 5, 1 / 3, 2 / 3)
_BEHIND = (0.10, 0.05)
"""After the first and after the second fold, what is farther behind the best is given up."""


@dataclass(frozen=True)
class Candidate:
    """One setting and how it did on inner folds."""

    method: str
    """Name of the method."""
    scaling: str
    """Scaling policy."""
    width: int
    """Most coordinates of a model."""
    ridge: float
    """Penalty, relative to the mean variance of encoded coordinates; 0 for none."""
    score: float
    """Mean top-1 over ordered pairs, on the rows of the folds that it was fitted without."""
    folds: int
    """Folds that it was tried on; fewer than all if it was given up as far behind."""


@dataclass(frozen=True)
class Choice:
    """Settings of one method, and why these."""

    method: str
    """Name of the method."""
    scaling: str
    """Scaling policy."""
    width: int
    """Most coordinates of a model."""
    ridge: float
    """Penalty; where every pair has its own, that of the best single one."""
    by_pair: Mapping[str, float] | None
    """Penalty of every ordered pair, ``"a -> b"``; None where all have one."""
    folds: int
    """Inner folds; 0 where nothing was left to choose."""
    n: int
    """Rows that the choice was made on."""
    candidates: tuple[Candidate, ...]
    """Every setting that was tried."""
    why: str
    """In one sentence, why this one."""

    @property
    def best(self) -> Candidate | None:
        """Candidate that was chosen; None where nothing was tried."""
        for one in self.candidates:
            if (one.method, one.scaling, one.width, one.ridge) == (
                self.method,
                self.scaling,
                self.width,
                self.ridge,
            ):
                return one
        return None


def widths_for(n: int) -> tuple[int, ...]:
    """Widths that ``auto`` tries for n rows: a 10th, a 5th, a 3rd and two thirds of them.

    Examples
    --------
    >>> widths_for(800)
    (80, 160, 266, 533)
    """
    return tuple(sorted({max(2, int(n * share)) for share in _SHARES}))


def choose(
    rows: Mapping[str, Floats],
    *,
    methods: Sequence[str],
    scalings: Sequence[str] = SCALINGS,
    widths: Sequence[int] | None = None,
    ridges: Sequence[float] | None = None,
    folds: int = 5,
    groups: tuple[str, ...] | None = None,
    rng: int = 0,
    done: Callable[[int, int], None] | None = None,
) -> dict[str, Choice]:
    """Choose settings of every method by same-text retrieval on inner folds.

    Every candidate is fitted without a fold, centring, scaling and reduction included, and the
    texts of the fold are searched across all ordered pairs. Candidates far behind the best of
    their method are given up after the first and the second fold.

    Parameters
    ----------
    rows
        Name -> rows of shape (n, d_m); row i is the same text.
    methods
        Names in :data:`METHODS`.
    scalings, widths, ridges
        What is tried; widths by default as :func:`widths_for`, ridges as the method says.
    folds
        Inner folds, 2 or more; row i is in fold i mod folds. Groups stay whole, where there are as
        many as folds, and texts whose rows repeat stay together.
    groups
        Group of every row.
    rng
        Seed of what methods draw.
    done
        Called as (fold, folds) after each.

    Returns
    -------
    dict
        Method -> :class:`Choice`. Ties go to the earlier scaling, the smaller width, the larger ridge.

    Raises
    ------
    UnknownNameError
        For another method.
    InputError
        For nothing to try, or folds that cannot be made.
    UndefinedMeasureError
        For rows that are all the same.
    """
    for name in methods:
        if name not in METHODS:
            raise UnknownNameError.among(name, METHODS, "method of a shared space")
    policies = [Scaling.read(text) for text in scalings]
    if not (methods and policies):
        raise InputError("No method or no scaling was given to choose from; give at least one.")
    n = len(next(iter(rows.values())))
    fold = fold_numbers(n, kept_together(rows, groups, folds), folds)
    sizes = widths_for(n - n // folds) if widths is None else tuple(sorted(set(widths)))
    most = max(table.shape[1] for table in rows.values())
    sizes = tuple(sorted({min(k, most) for k in sizes}))
    boards = {
        name: _Board(
            METHODS[name],
            [str(p) for p in policies],
            sizes,
            METHODS[name].ridges
            if ridges is None or len(METHODS[name].ridges) < 2
            else tuple(ridges),
        )
        for name in methods
    }
    for number in range(folds):
        _one_fold(rows, fold == number, policies, boards, rng)
        for board in boards.values():
            board.give_up(number)
        if done is not None:
            done(number + 1, folds)
    return {name: board.choice(tuple(rows), n, folds) for name, board in boards.items()}


def fit_choice(
    rows: Mapping[str, Floats], choice: Choice, *, rng: int = 0, tol: float = COARSE
) -> tuple[Blocks, Alignment]:
    """Fit a method with the settings of a choice on rows of the same texts."""
    blocks = Blocks.of_rows(rows, scaling=choice.scaling, width=choice.width)
    training = Training(blocks, [e(rows[e.name]) for e in blocks.encoders], rng, tol)
    method = METHODS[choice.method]
    if choice.by_pair is None:
        return blocks, method.fit(training, choice.ridge)
    names, maps = blocks.names, {}
    for ridge in sorted(set(choice.by_pair.values())):
        found = method.fit(training, ridge)
        if not isinstance(found, Pairwise):
            raise InputError(
                f"{choice.method} has one map a model; it takes one ridge for all pairs."
            )
        for (a, b), matrix in found.maps.items():
            if choice.by_pair[_arrow(names[a], names[b])] == ridge:
                maps[a, b] = matrix
    return blocks, Pairwise(maps)


def _arrow(source: str, target: str) -> str:
    return f"{source} -> {target}"


class _Board:
    """Scores of one method's candidates: pairs of models by folds, weighted by texts."""

    def __init__(
        self,
        method: Method,
        scalings: Sequence[str],
        widths: Sequence[int],
        ridges: Sequence[float],
    ) -> None:
        self.method = method
        keys = [(s, k, r) for s in scalings for k in widths for r in sorted(ridges, reverse=True)]
        self.keys = list(dict.fromkeys(keys))
        self.found: dict[tuple[str, int, float], Floats] = {}
        self.texts: dict[tuple[str, int, float], int] = {}
        self.folds = dict.fromkeys(self.keys, 0)
        self.alive = set(self.keys)

    def add(self, key: tuple[str, int, float], pairs: Floats, texts: int) -> None:
        self.found[key] = self.found.get(key, 0.0) + pairs * texts
        self.texts[key] = self.texts.get(key, 0) + texts
        self.folds[key] += 1

    def pairs(self, key: tuple[str, int, float]) -> Floats:
        return np.asarray(self.found[key] / self.texts[key])

    def score(self, key: tuple[str, int, float]) -> float:
        return float(np.mean(self.pairs(key)))

    def give_up(self, fold: int) -> None:
        if fold >= len(_BEHIND) or not self.alive:
            return
        best = max(self.score(key) for key in self.alive)
        self.alive = {key for key in self.alive if self.score(key) >= best - _BEHIND[fold]}

    def choice(self, names: tuple[str, ...], n: int, folds: int) -> Choice:
        alive = [key for key in self.keys if key in self.alive and self.folds[key] == folds]
        if not alive:
            raise UndefinedMeasureError(
                f"No setting of {self.method.name} could be fitted on all {folds} inner folds of {n} rows: use more "
                "rows, a smaller width or ridge, or drop fewer directions."
            )
        by_pair: dict[str, float] | None = None
        best = max(alive, key=self.score)
        if self.method.by_pair:
            settings = dict.fromkeys((s, k) for s, k, _ in alive)
            tables = {
                one: np.array([self.pairs(key) for key in alive if key[:2] == one])
                for one in settings
            }
            chosen = max(settings, key=lambda one: float(np.mean(tables[one].max(axis=0))))
            ridges = [key[2] for key in alive if key[:2] == chosen]
            best = max((key for key in alive if key[:2] == chosen), key=self.score)
            ordered = [(a, b) for a in names for b in names if a != b]
            by_pair = {
                _arrow(a, b): ridges[int(at)]
                for (a, b), at in zip(ordered, tables[chosen].argmax(axis=0), strict=True)
            }
        tried = tuple(
            Candidate(self.method.name, *key, self.score(key), self.folds[key])
            for key in self.keys
            if key in self.found
        )
        return Choice(
            self.method.name,
            *best,
            by_pair,
            folds,
            n,
            tried,
            _why(self.score(best), best, tried, folds, n),
        )


def _why(
    score: float,
    best: tuple[str, int, float],
    tried: Sequence[Candidate],
    folds: int,
    n: int,
) -> str:
    told = f"top-1 {score:.3f} on {folds} inner folds of {n:,} texts"
    others = [one for one in tried if one.scaling != best[0]]
    if len(tried) < 2:
        return f"{told}; nothing else was tried."
    if not others:
        return f"{told}, the highest of {len(tried)} candidates."
    second = max(others, key=lambda one: one.score)
    given_up = ", given up early" if second.folds < folds else ""
    return (
        f"{told}, the highest of {len(tried)} candidates; the best with another scaling is {second.scaling} with "
        f"{second.score:.3f} on {second.folds}{given_up}."
    )


def _one_fold(
    rows: Mapping[str, Floats],
    out: npt.NDArray[np.bool_],
    policies: Sequence[Scaling],
    boards: Mapping[str, _Board],
    rng: int,
) -> None:
    seen = {name: table[~out] for name, table in rows.items()}
    spectra: dict[bool, list[Spectrum]] = {}
    for policy in policies:
        text = str(policy)
        wanted = {k for board in boards.values() for s, k, _ in board.alive if s == text}
        if not wanted:
            continue
        if policy.standardize not in spectra:
            spectra[policy.standardize] = [
                Spectrum.of_rows(table, name=name, standardize=policy.standardize)
                for name, table in seen.items()
            ]
        try:
            encoders = [s.encoder(policy, max(wanted)) for s in spectra[policy.standardize]]
        except UndefinedMeasureError:
            for board in boards.values():
                board.alive = {key for key in board.alive if key[0] != text}
            continue
        encoded = [e(seen[e.name]) for e in encoders]
        whole = Blocks.of_encoded(encoders, encoded)
        for width in sorted(wanted):
            blocks = whole.narrowed(width)
            training = Training(blocks, [e(seen[e.name]) for e in blocks.encoders], rng)
            unseen = [e(rows[e.name][out]) for e in blocks.encoders]
            for board in boards.values():
                for key in [k for k in board.keys if k[:2] == (text, width) and k in board.alive]:
                    found = board.method.fit(training, key[2])
                    board.add(key, _top1(found, unseen), int(out.sum()))


def _top1(alignment: Alignment, rows: Sequence[Floats]) -> Floats:
    """Top-1 of every ordered pair, ties at expectation."""
    many = range(len(rows))
    return np.array([_share(alignment, a, b, rows) for a in many for b in many if a != b])


def _share(alignment: Alignment, a: int, b: int, rows: Sequence[Floats]) -> float:
    queries = unit_rows(alignment.query(a, b, rows[a]))
    near = queries @ unit_rows(alignment.answer(a, b, rows[b])).T
    top = near >= near.max(axis=1, keepdims=True) - 1e-12
    return float(np.mean(np.diagonal(top) / top.sum(axis=1)))


def best_of(choices: Iterable[Choice]) -> Choice:
    """Return the choice whose inner score is highest; the first of equals."""
    return max(choices, key=lambda one: one.best.score if one.best is not None else 0.0)
