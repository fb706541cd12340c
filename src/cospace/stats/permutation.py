"""Permutation nulls: which shuffles, and what a value means beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError

__all__ = ["TIE", "TIE_SINGLE", "Null", "Permutations"]

Floats = npt.NDArray[np.float64]

TIE = 1e-9
"""Values that differ by no more than this share of their size are ties."""

TIE_SINGLE = 2e-6
"""The same for values of size 1 that were summed in single precision."""


@dataclass(frozen=True)
class Permutations:
    """Shuffles of the rows of one side.

    The null: the target's rows are exchangeable with respect to the source's (inside each group,
    where groups are given). If all arrangements are no more than ``draws`` + 1, they are
    enumerated and p-values are exact.
    """

    orders: tuple[npt.NDArray[np.int64], ...]
    """Row orders; the identity is among them only when exact."""
    exact: bool
    """Whether ``orders`` are all arrangements."""

    @classmethod
    def of(
        cls,
        n: int,
        draws: int,
        *,
        rng: np.random.Generator,
        groups: Sequence[str] | None = None,
    ) -> Permutations:
        """Draw ``draws`` shuffles of ``n`` rows, or list all where they are fewer.

        Raises
        ------
        InputError
            For a negative number of draws, or groups that leave nothing to shuffle.

        Examples
        --------
        >>> shuffles = Permutations.of(3, 199, rng=np.random.default_rng(0))
        >>> len(shuffles.orders), shuffles.exact
        (6, True)
        """
        if draws < 0:
            raise InputError(f"{draws} permutations were asked for; 0 or more are expected.")
        blocks = _blocks(n, groups)
        if all(len(block) == 1 for block in blocks):
            raise InputError("Every group has one row: there is nothing to shuffle inside groups.")
        if draws == 0:
            return cls((), exact=False)
        arrangements = math.prod(math.factorial(min(len(block), 20)) for block in blocks)
        if arrangements <= draws + 1:
            return cls(tuple(_all(n, blocks)), exact=True)
        return cls(tuple(_shuffled(n, blocks, rng) for _ in range(draws)), exact=False)

    def __len__(self) -> int:
        return len(self.orders)

    def p(
        self,
        value: float,
        draws: Floats,
        kind: Literal["similarity", "distance", "divergence"],
        *,
        single: bool = False,
    ) -> float:
        """Share of arrangements at least as alike as ``value``, which counts as one itself.

        (1 + count) / (1 + draws) for sampled shuffles; count / all where all are enumerated (the
        identity is among them). Never 0. Ties count.

        Parameters
        ----------
        value
            The measure on the rows as they are.
        draws
            The measure over the shuffles, in the order of ``orders``.
        kind
            Which end means alike.
        single
            Whether the draws were summed in single precision, so that ties are held less exactly.

        Examples
        --------
        >>> shuffles = Permutations.of(9, 4, rng=np.random.default_rng(0))
        >>> shuffles.p(0.5, np.array([0.1, 0.2, 0.5, 0.9]), "similarity")
        0.6
        >>> shuffles.p(0.5, np.array([0.1, 0.2, 0.5, 0.9]), "distance")
        0.8
        """
        size = max(abs(value), float(np.abs(draws).max()))
        slack = TIE_SINGLE * max(1.0, size) if single else TIE * size
        alike = draws >= value - slack if kind == "similarity" else draws <= value + slack
        count = int(np.count_nonzero(alike))
        return max(count, 1) / len(draws) if self.exact else (1 + count) / (1 + len(draws))


@dataclass(frozen=True)
class Null:
    """A measure over shuffles."""

    draws: Floats
    """Values, shape (number of shuffles,); at least one."""

    @property
    def mean(self) -> float:
        """Level by chance."""
        return float(self.draws.mean())

    @property
    def sd(self) -> float:
        """Spread by chance."""
        return float(self.draws.std())


def _blocks(n: int, groups: Sequence[str] | None) -> list[npt.NDArray[np.int64]]:
    if groups is None:
        return [np.arange(n)]
    names = np.asarray(groups)
    return [np.flatnonzero(names == name) for name in np.unique(names)]


def _shuffled(
    n: int, blocks: list[npt.NDArray[np.int64]], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    order = np.arange(n)
    for block in blocks:
        order[block] = rng.permutation(block)
    return order


def _all(n: int, blocks: list[npt.NDArray[np.int64]]) -> Iterator[npt.NDArray[np.int64]]:
    for choice in product(*(permutations(block) for block in blocks)):
        order = np.arange(n)
        for block, arranged in zip(blocks, choice, strict=True):
            order[block] = arranged
        yield order
