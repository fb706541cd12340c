"""What a part of a comparison needs: memory at its peak, and multiplications, before it starts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cospace._threads import free_cores
from cospace.measures import Measure
from cospace.space import Space
from cospace.summaries import Neighbors

__all__ = [
    "AHEAD",
    "BLOCK",
    "CELL",
    "LONG",
    "SHARE",
    "SPARE",
    "WIDEST",
    "WORKSPACE",
    "Estimate",
    "Size",
    "by_coordinates",
    "free_bytes",
    "pair_bytes",
    "pair_operations",
    "said",
    "stack_bytes",
    "stack_operations",
    "stream_bytes",
    "stream_operations",
    "symmetric",
]

BLOCK = 64 * 2**20
"""Bytes of entries that one thread of the streamed route holds."""
WIDEST = 256
"""Lines of the streamed route's largest tile: one space's entries stay in a core's cache."""
_GATHER = 20
"""Cost of a gathered entry, in multiplications of a matrix product."""
LONG = 1e11
"""Multiplications from which on a comparison is worth a word before it starts: about 5 s a core."""
SHARE = 0.8
"""Share of the free memory that a comparison may fill."""

SPARE = 10
"""One part in so many of the memory is what the allocator cannot use again."""
WORKSPACE = 24 * 2**20
"""Bytes that the linear algebra and the allocator of one thread hold beside arrays."""

_NEIGHBOURS = 10.0
CELL = 3_000
"""Bytes of one cell of the result while it is made."""
_RELATION = 56
"""Bytes for each of n^2 entries while a relation is made, with its order and its ranks."""
_ROWS = 48
"""Bytes for each of n d numbers while rows are centred, scaled and rounded."""
AHEAD = 16
"""Tiles of the streamed route whose products wait to be added."""
_SHUFFLES = 8
"""Shuffles of the stacked route in one piece of work."""


@dataclass(frozen=True)
class Size:
    """How large a grid of spaces is."""

    spaces: int
    """Number of spaces."""
    n: int
    """Rows."""
    width: int
    """Columns of the widest space, as it is compared."""

    @classmethod
    def of(cls, spaces: Sequence[Space], reduced: int | None = None) -> Size:
        """Size of ``spaces`` on so many principal components."""
        width = max(space.width for space in spaces)
        return cls(len(spaces), spaces[0].n, min(width, reduced or width))

    @property
    def entries(self) -> int:
        """Entries of a symmetric relation, with its diagonal."""
        return self.n * (self.n + 1) // 2

    @property
    def cells(self) -> int:
        """Bytes of all ordered pairs' cells."""
        return CELL * self.spaces * (self.spaces - 1)


@dataclass(frozen=True)
class Estimate:
    """What one measure's part of a comparison needs, beside the spaces themselves.

    Examples
    --------
    >>> print(Estimate("linear_cka", 52, 1326, 2.1e11, 310_000_000, 18_000_000_000))
    52 spaces, 1,326 pairs, linear_cka: 2.1e+11 multiplications, 310 MB of 18.0 GB free
    """

    measure: str
    """Name of the measure."""
    spaces: int
    """Number of spaces."""
    pairs: int
    """Pairs that are computed; two mirrored pairs of a symmetric measure count once."""
    operations: float | None
    """Multiplications, or steps as dear; None where the measure does not say its cost."""
    bytes: int
    """Memory at the peak, with the cells of the measures before it."""
    free: int
    """Memory that is free."""

    @property
    def long(self) -> bool:
        """Whether it takes so long that one wants to know beforehand."""
        return self.operations is not None and self.operations > LONG

    def __str__(self) -> str:
        """One line."""
        work = (
            "work unknown" if self.operations is None else f"{self.operations:.1e} multiplications"
        )
        return (
            f"{self.spaces} spaces, {self.pairs:,} {'pair' if self.pairs == 1 else 'pairs'}, {self.measure}: {work}, "
            f"{said(self.bytes)} of {said(self.free)} free"
        )


def symmetric(measure: Measure) -> bool:
    """Whether the measure is an inner product of symmetric relations."""
    return measure.relation is not None and measure.needs == "gram"


def by_coordinates(measure: Measure) -> bool:
    """Whether the plain function takes the cheaper of rows and coordinates, as CKA does."""
    return measure.needs == "gram" and measure.arrays == "any" and measure.score is None


def stack_operations(measure: Measure, size: Size, draws: int, samples: int) -> float:
    """Multiplications of the stacked route, with ``draws`` shuffles and ``samples`` of the bootstrap."""
    n, count = size.n, size.spaces
    entries = size.entries if symmetric(measure) else n * n
    making = count * (n * n * size.width + (n**3 / 6 if symmetric(measure) else 0))
    return making + entries * count * (count / 2 + (draws + samples) * (_GATHER + count))


def stream_operations(measure: Measure, size: Size) -> float:
    """Multiplications of the streamed route."""
    n, count, width = size.n, size.spaces, size.width
    across = n * n * count * count / 4
    if measure.products is None:
        return count * (n * n * width + n**3 / 6) + across
    return count * (n * n * width + n * width * min(n, width)) / 2 + across


def pair_operations(measure: Measure, size: Size, pairs: int, draws: int) -> float | None:
    """Multiplications of ``pairs`` by themselves, each ``draws`` times more; None where not said."""
    once, each_pair = _cost(measure.cost, size.n, size.width)
    if by_coordinates(measure):
        once, each_pair = 0.0, 3.0 * size.n * size.width * min(size.n, size.width)
    if once is None or each_pair is None:
        return None
    return size.spaces * once + pairs * (1 + draws) * each_pair


def stack_bytes(measure: Measure, size: Size, draws: int = 0, samples: int = 0) -> int:
    """Memory that the stacked route needs at its peak, in bytes.

    Relations are made one a core, with their matrix, its order and its ranks, and kept in double
    precision: the upper triangle of what is symmetric and all of what is not. Shuffles take them
    as whole matrices in single precision besides, the bootstrap as they are. Of neighbours, all
    but a few entries are 0 and are not kept.
    """
    n, count = size.n, size.spaces
    cores = min(free_cores(), count)
    making = (_RELATION * n * n + _ROWS * n * size.width) * cores
    # Values of shuffles and samples: as they come, put together, and clipped.
    found = 24 * (draws + samples + 4) * count * count + size.cells
    if measure.needs == "neighbours":
        return max((16 + 40 * cores) * n * n, making) + found
    entries = size.entries if symmetric(measure) else n * n
    wide = count + 3
    shuffled = 4 * n * n * wide + cores * 16 * max(4 * n * wide, 1 << 16) if draws else 0
    shuffled += cores * _SHUFFLES * 8 * wide * wide if draws else 0
    sampled = 4 * entries * count + cores * 16 * n * n if samples else 0
    return 8 * entries * count + max(making, shuffled, sampled) + found


def stream_bytes(size: Size, *, by_rows: bool) -> int:
    """Memory that the streamed route needs at its peak, in bytes.

    Kept are, in single precision, the rows of what is an inner product of rows (``by_rows``) and
    the entries above the diagonal of what is not; tiles are made one a core.
    """
    n, count, width = size.n, size.spaces, size.width
    cores = free_cores()
    if by_rows:
        kept = 4 * n * (width + 2) + 48 * n
        making = _ROWS * n * width
        less = min(n, width)
        summing = max(4 * less * less, 8 * n * width + 8 * less * less)
    else:
        kept = 4 * size.entries + 16 * n
        making = _RELATION * n * n + _ROWS * n * width
        summing = 4 * n * n
    lines = min(n, WIDEST)
    tile = min(BLOCK, 4 * count * lines * lines) + 8 * lines * lines
    waiting = (AHEAD + 4 + cores) * (8 * count * count + 16 * count * lines) + 8 * count * n
    return (
        kept * count
        + max(cores * making, cores * tile + waiting, cores * summing + waiting)
        + size.cells
    )


def pair_bytes(measure: Measure, size: Size) -> int:
    """Memory of the route pair by pair, in bytes: summaries of all spaces, and what a pair needs."""
    n, width = size.n, size.width
    less = min(n, width)
    kept = {
        "neighbours": 160 * n,
        "factor": 8 * less * (n + width),
        "folds": 48 * less * (n + width),
    }.get(measure.needs, 8 * n * width)
    if measure.summarise != Neighbors.of and measure.needs in ("gram", "neighbours"):
        kept = kept if by_coordinates(measure) else 8 * n * n
    one = 24 * n * width + 64 * less * less
    return kept * size.spaces + free_cores() * one + size.cells


def free_bytes() -> int:
    """Memory that is free for use, in bytes: of the machine, or of the container if that is less."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    lines = _read("/proc/meminfo").splitlines()
    found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    most, used = _read("/sys/fs/cgroup/memory.max"), _read("/sys/fs/cgroup/memory.current")
    if most.strip().isdecimal() and used.strip().isdecimal():
        cached = [
            int(line.split()[1])
            for line in _read("/sys/fs/cgroup/memory.stat").splitlines()
            if line.startswith("inactive_file ")
        ]
        found.append(int(most) - int(used) + sum(cached))
    return max(min(found), 0)


def said(count: int) -> str:
    """A number of bytes, for people."""
    for unit, size, digits in (("GB", 1e9, 1), ("MB", 1e6, 0 if count >= 1e7 else 1)):
        if count >= size:
            return f"{count / size:.{digits}f} {unit}"
    return f"{count} bytes"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


def _cost(told: str, n: int, d: int) -> tuple[float | None, float | None]:
    """Steps once a space and once a pair, from the words of a measure."""
    found = re.fullmatch(r"(.+) a space, (.+) a pair", told)
    if found is None:
        return None, None
    return _steps(found[1], n, d), _steps(found[2], n, d)


def _steps(told: str, n: int, d: int) -> float | None:
    """Value of a sum of products such as ``n² (d + log n)``, with 10 neighbours for k; None if it is none.

    Examples
    --------
    >>> _steps("n d² + d³", 100, 10), _steps("n² (d + log n)", 8, 2)
    (11000.0, 320.0)
    """
    log = math.log2(max(n, 2))
    known = {"n": float(n), "d": float(d), "k": _NEIGHBOURS, "log n": log}
    total, factor, last = 0.0, 1.0, 1.0
    outside: list[tuple[float, float]] = []
    for word in re.findall(r"log n|[a-z]+|\d+|\S", told):
        if word == "+":
            total, factor = total + factor, 1.0
        elif word == "(":
            outside.append((total, factor))
            total, factor = 0.0, 1.0
        elif word == ")" and outside:
            inner = total + factor
            total, factor = outside.pop()
            factor *= inner
        elif word in ("²", "³"):
            factor *= last if word == "²" else last * last
        elif word in known or word.isdecimal():
            last = known[word] if word in known else float(word)
            factor *= last
        else:
            return None
    return None if outside else total + factor
