"""Ranks of the dissimilarities of many rows, exact, in little more memory than the ranks take.

A dissimilarity in [0, 2] is a whole number of 2^-52 to rounding. Its leading bits and the number of
its pair of rows fill one 64-bit key, so that one sort in place orders values and carries places along;
the few bits that do not fit are kept aside and looked at only where leading bits are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace.summaries import TIE

__all__ = ["Ranking", "upper"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

_BITS = 52
_CHUNK = 1 << 20
_BLOCK_BYTES = 1 << 25


def upper(z: Floats) -> Iterator[tuple[int, Floats]]:
    """Dissimilarity 1 - z_i . z_j of every pair i < j, a row i at a time, with the pair's number."""
    n = len(z)
    step = max(_BLOCK_BYTES // (8 * n), 1)
    for start in range(0, n, step):
        block = z[start : start + step] @ z[start:].T
        np.subtract(1.0, block, out=block)
        for row, values in enumerate(block):
            i = start + row
            yield i * n - i * (i + 1) // 2, values[row + 1 :]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Pairs of rows in the order of their dissimilarity."""

    keys: Keys
    """Leading bits of the value above the number of the pair, ascending, shape (m,)."""
    bits: int
    """Bits that the number of a pair takes."""
    tied: Numbers
    """Places in the order whose value is shared with another, to 1e-14."""
    shared: Numbers
    """Twice the average rank at each of these."""

    @classmethod
    def of(cls, z: Floats) -> Ranking | None:
        """Sort the dissimilarities of unit rows; None where all are equal, to 1e-14."""
        m = len(z) * (len(z) - 1) // 2
        bits = m.bit_length()
        spare = np.uint64(max(_BITS + 2 + bits - 64, 0))
        mask = np.uint64((1 << int(spare)) - 1)
        keys = np.empty(m, dtype=np.uint64)
        kind: type[np.unsignedinteger] = np.uint16 if spare <= 16 else np.uint32
        rest = np.empty(m, dtype=kind)
        number = np.uint64(bits)
        for at, values in upper(z):
            fixed = (np.clip(values, 0.0, 2.0) * 2.0**_BITS).astype(np.uint64)
            here = slice(at, at + len(values))
            rest[here] = fixed & mask
            fixed >>= spare
            fixed <<= number
            fixed |= np.arange(at, at + len(values), dtype=np.uint64)
            keys[here] = fixed
        keys.sort()
        made = cls(keys, bits, np.empty(0, np.int64), np.empty(0, np.int64))
        made._settle(rest)
        tied, shared = made._ties(rest, spare)
        if len(tied) == m and shared[0] == m + 1:
            return None
        return cls(keys, bits, tied, shared)

    def __len__(self) -> int:
        return len(self.keys)

    def pairs(self, places: slice | Numbers) -> Numbers:
        """Numbers of the pairs at ``places`` of the order."""
        low = self.keys[places] & np.uint64((1 << self.bits) - 1)
        return low.astype(np.int64)

    def _settle(self, rest: npt.NDArray[np.unsignedinteger]) -> None:
        """Order by the remaining bits where the leading ones are equal."""
        number = np.uint64(self.bits)
        equal = self._places(lambda a, b: a >> number == b >> number)
        if not len(equal):
            return
        places = np.unique(np.concatenate([equal - 1, equal]))
        keys = self.keys[places]
        order = np.lexsort((rest[self.pairs(places)], keys >> np.uint64(self.bits)))
        self.keys[places] = keys[order]

    def _places(self, alike: Callable[[Keys, Keys], npt.NDArray[np.bool_]]) -> Numbers:
        """Places that are ``alike`` to the one before."""
        found = [
            np.flatnonzero(alike(self.keys[i : j - 1], self.keys[i + 1 : j])) + i
            for i in range(0, len(self.keys) - 1, _CHUNK)
            for j in (min(i + _CHUNK + 1, len(self.keys)),)
        ]
        return np.concatenate(found) + 1 if found else np.empty(0, np.int64)

    def _ties(
        self, rest: npt.NDArray[np.unsignedinteger], spare: np.uint64
    ) -> tuple[Numbers, Numbers]:
        """Places that share their value, and twice their average rank (counted from 1)."""
        width = int(TIE * 2.0**_BITS)

        def near(a: Keys, b: Keys) -> npt.NDArray[np.bool_]:
            lead_a, lead_b = a >> np.uint64(self.bits), b >> np.uint64(self.bits)
            close = (lead_b - lead_a) << spare <= np.uint64(width + (1 << int(spare)))
            at = np.flatnonzero(close)
            mask = np.uint64((1 << self.bits) - 1)
            values = [
                (lead[at] << spare) + rest[(keys[at] & mask).astype(np.int64)]
                for lead, keys in ((lead_a, a), (lead_b, b))
            ]
            close[at] = values[1] - values[0] <= np.uint64(width)
            return close

        same = self._places(near)
        if not len(same):
            return same, same
        first = np.flatnonzero(np.diff(same, prepend=-2) != 1)
        size = np.diff(np.append(first, len(same))) + 1
        start = same[first] - 1
        places = np.repeat(start - np.concatenate([[0], np.cumsum(size)[:-1]]), size)
        places += np.arange(len(places))
        return places, np.repeat(2 * start + size + 1, size)

    def chunks(self) -> Iterator[tuple[Numbers, Floats]]:
        """Pairs and twice their average ranks less m + 1, which is twice the mean, by pieces."""
        m = len(self.keys)
        for start in range(0, m, _CHUNK):
            stop = min(start + _CHUNK, m)
            ranks = np.arange(2.0 * start + 1 - m, 2.0 * stop + 1 - m, 2.0)
            a, b = np.searchsorted(self.tied, (start, stop))
            ranks[self.tied[a:b] - start] = self.shared[a:b] - (m + 1.0)
            yield self.pairs(slice(start, stop)), ranks

    def spread(self) -> float:
        """Sum of the squares of the ranks of ``chunks``."""
        return float(sum(ranks @ ranks for _, ranks in self.chunks()))

    def ranks(self) -> npt.NDArray[np.signedinteger]:
        """Twice the average rank less m + 1, of every pair by its number."""
        m = len(self.keys)
        kind: type[np.signedinteger] = np.int32 if m < 1 << 30 else np.int64
        out = np.empty(m, dtype=kind)
        for pairs, ranks in self.chunks():
            out[pairs] = ranks
        return out
