"""Contract tests: whether a measure keeps the claims of its record, for its author to run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array
from cospace.errors import ContractError, CospaceError
from cospace.measures import TRANSFORMS, Measure
from cospace.summaries import Order

__all__ = ["check_measure"]

Rows = npt.NDArray[Any]
Pair = tuple[Rows, Rows]
Side = Literal["source", "target"]

_EQUAL = 1e-8
"""What a claim may be off by."""
_CHANGED = 1e-6
"""What a witness against a claim that is not made must move."""
_SINGLE = 1e-5
"""What float32 input may be off by, relative to the value where that is above 1."""
_DRAWS = 5


def check_measure(measure: Measure, *, rng: int | np.random.Generator = 0) -> None:
    """Check that ``measure`` keeps its claims, on made-up rows.

    Checked: the words of the record; a value is a finite float and repeats, whatever the memory
    layout, and leaves its input alone; bounds and refusals, on degenerate rows too; the value of
    a space against itself; symmetry, or a witness against it; every one of ``TRANSFORMS`` on each
    side, both ways: what is claimed must hold, what is not claimed must visibly change; the
    common order of rows (except for held-out measures, whose folds follow it); summaries and
    relations, as they are and permuted, against the function; float32 against float64; and,
    where ``arrays`` is ``any``, torch and array-api-strict against numpy, as far as installed.

    Parameters
    ----------
    measure
        The record to check.
    rng
        Seed or generator of the made-up rows: pairs of 60 rows that share a signal, 4 to 9 wide.

    Raises
    ------
    ContractError
        For the first claim that is not kept; an ``AssertionError`` too. The message names it.

    Examples
    --------
    >>> from cospace.measures import CATALOGUE, find
    >>> check_measure(find("linear_cka", CATALOGUE))
    """
    bench = _Bench(measure, np.random.default_rng(rng))
    for check in (
        _words,
        _values,
        _layout,
        _bounds,
        _identical,
        _symmetry,
        _transforms,
        _row_order,
        _summaries,
        _relation,
        _single_precision,
        _libraries,
    ):
        check(bench)


@dataclass(frozen=True)
class _Bench:
    """A measure under test, and what draws rows for it."""

    measure: Measure
    rng: np.random.Generator

    def pair(self, n: int = 60, widths: tuple[int, int] = (6, 9)) -> Pair:
        """Rows of two spaces that share a signal of 4 dimensions; neither is centred."""
        shared = self.rng.normal(size=(n, 4)) * [3.0, 2.0, 1.0, 0.5]
        x, y = (
            shared @ self.rng.normal(size=(4, d))
            + 0.7 * self.rng.normal(size=(n, d))
            + self.rng.normal(size=d)
            for d in widths
        )
        return x, y

    def pairs(self) -> Iterator[Pair]:
        """Pairs to look for witnesses in: wider source, wider target, equal widths."""
        for i in range(_DRAWS):
            yield self.pair(widths=((6, 9), (8, 4), (5, 5))[i % 3])

    def value(self, x: Array, y: Array, claim: str) -> float:
        """Value on rows on which it must be defined."""
        return self.run(lambda: self.measure(x, y), claim)

    def run(self, compute: Callable[[], Any], claim: str) -> float:
        """Result of ``compute``, which must be a finite float."""
        try:
            value = compute()
        except Exception as error:
            self.fail(claim, f"raised {type(error).__name__}: {error}")
        return self.finite(value, claim)

    def finite(self, value: Any, claim: str) -> float:
        """``value`` if it is a finite Python float."""
        if type(value) is not float:
            self.fail(claim, f"the value is a {type(value).__name__}, not a float")
        if not math.isfinite(value):
            self.fail(claim, f"the value is {value}: a finite number or a CospaceError is expected")
        return float(value)

    def close(self, found: float, expected: float, claim: str, rtol: float = _EQUAL) -> None:
        """Check that two values agree."""
        if abs(found - expected) > rtol * max(1.0, abs(expected)):
            self.fail(claim, f"{found!r} is not {expected!r}")

    def fail(self, claim: str, found: str) -> NoReturn:
        """Raise for ``claim``."""
        raise ContractError(f"{self.measure.name} does not keep a claim. {claim}: {found}.")


# The checks --------------------------------------------------------------------------------------


def _words(bench: _Bench) -> None:
    m = bench.measure
    for name in ("name", "title", "reference", "cost"):
        if not getattr(m, name).strip():
            bench.fail(name, "it is empty")
    if not re.fullmatch(r"\S(?:(?![.!?]\s)[^\n])*[.!?]", m.summary):
        bench.fail("summary", f"one sentence is expected, got {m.summary!r}")
    known = {f"{side}{name}" for side in ("", "source: ", "target: ") for name in TRANSFORMS}
    for claim in sorted(m.invariant_to - known):
        bench.fail("invariant_to", f"{claim!r} is not one of TRANSFORMS")


def _values(bench: _Bench) -> None:
    x, y = bench.pair()
    first = bench.value(x.copy(), y.copy(), "finite float")
    if bench.value(x.copy(), y.copy(), "repeatable") != first:
        bench.fail("repeatable", "a second call gives another value")


def _layout(bench: _Bench) -> None:
    x, y = bench.pair()
    kept = x.copy(), y.copy()
    expected = bench.value(x, y, "input unchanged")
    for side, now, before in zip(("source", "target"), (x, y), kept, strict=True):
        if not np.array_equal(now, before):
            bench.fail("input unchanged", f"the {side} was changed")
    x, y = (np.asfortranarray(np.repeat(rows, 2, axis=0))[::2] for rows in kept)
    x.flags.writeable = y.flags.writeable = False
    bench.close(bench.value(x, y, "memory layout"), expected, "memory layout")


def _bounds(bench: _Bench) -> None:
    low, high = bench.measure.bounds
    for what, (x, y) in _odd_pairs(bench):
        claim = f"bounds, on {what}"
        try:
            value = bench.measure(x, y)
        except CospaceError:
            continue
        except Exception as error:
            bench.fail(claim, f"raised {type(error).__name__}, not a CospaceError: {error}")
        bench.finite(value, claim)
        if (low is not None and value < low - _EQUAL) or (
            high is not None and value > high + _EQUAL
        ):
            bench.fail(claim, f"{value!r} is outside [{low}, {high}]")


def _odd_pairs(bench: _Bench) -> Iterator[tuple[str, Pair]]:
    """Usual rows, and what goes wrong with rows."""
    rng = bench.rng
    for pair in bench.pairs():
        yield "usual rows", pair
    x, y = bench.pair()
    yield "independent rows", (x, rng.normal(size=y.shape))
    yield "the same rows", (x, x.copy())
    yield "opposite rows", (x, -x)
    yield "fewer rows than columns", (rng.normal(size=(20, 40)), rng.normal(size=(20, 30)))
    yield "repeated rows", (np.repeat(x[:30], 2, axis=0), np.repeat(y[:30], 2, axis=0))
    yield "a constant column", (np.column_stack([x, np.full(60, 0.1)]), y)
    yield "dependent columns", (np.column_stack([x, x @ rng.normal(size=(6, 5))]), y)
    yield "a huge offset", (x + 1e6, y)
    yield "tiny rows", (x * 1e-30, y)
    yield "huge rows", (x * 1e30, y)
    yield "single columns", (x[:, :1], y[:, :1])
    for n in (2, 3, 4, 5):
        yield f"{n} rows", (x[:n], y[:n])
    for what, odd in {
        "zeros": np.zeros((60, 6)),
        "the same row throughout": np.full((60, 6), 0.1),
        "one row unlike the rest": np.vstack([np.full((59, 6), 0.1), x[:1]]),
        "equally distant rows": np.eye(60),
    }.items():
        yield f"{what} as source", (odd, y)
        yield f"{what} as target", (y, odd)
        yield f"{what} on both sides", (odd, odd.copy())


def _identical(bench: _Bench) -> None:
    m = bench.measure
    x, y = bench.pair()
    own = [bench.value(rows, rows.copy(), "identical") for rows in (x, y)]
    if m.identical is not None:
        for value in own:
            bench.close(value, m.identical, "identical")
    far = bench.value(x, bench.rng.normal(size=y.shape), "kind")
    if not m.alike(own[0], far):
        bench.fail(
            "kind",
            f"independent rows give {far!r}, which for a {m.kind} is as alike as identical ones ({own[0]!r})",
        )


def _symmetry(bench: _Bench) -> None:
    gaps = [
        abs(bench.value(x, y, "symmetric") - bench.value(y, x, "symmetric"))
        for x, y in bench.pairs()
    ]
    if bench.measure.symmetric and max(gaps) > _EQUAL:
        bench.fail("symmetric", f"swapping source and target changes the value by {max(gaps):.2g}")
    if not bench.measure.symmetric and max(gaps) < _CHANGED:
        bench.fail("symmetric", "it is not claimed, yet swapping source and target changes nothing")


def _transforms(bench: _Bench) -> None:
    sides: tuple[Side, ...] = ("source", "target")
    for side in sides:
        for name in TRANSFORMS:
            claim = f"invariant_to, {name} of the {side}"
            gaps = []
            for x, y in bench.pairs():
                before = bench.value(x, y, claim)
                rows = {"source": x, "target": y}
                rows[side] = _transformed(name, rows[side], bench.rng)
                gaps.append(abs(bench.value(rows["source"], rows["target"], claim) - before))
            if bench.measure.invariant(name, side):
                if max(gaps) > _EQUAL:
                    bench.fail(claim, f"it is claimed, yet changes the value by {max(gaps):.2g}")
            elif max(gaps) < _CHANGED:
                bench.fail(claim, "it is not claimed, yet changes nothing")


def _transformed(name: str, rows: Rows, rng: np.random.Generator) -> Rows:
    d = rows.shape[1]
    if name == "translation":
        return rows + 3.0 * rng.normal(size=d)
    if name == "scaling":
        return rows * rng.uniform(2.0, 9.0)
    if name == "permutation":
        return rows[:, np.roll(np.arange(d), int(rng.integers(1, d)))]
    q, p = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    if name == "orthogonal":
        return np.asarray(rows @ q)
    return np.asarray(rows @ (q * np.logspace(-1, 1, d)) @ p)


def _row_order(bench: _Bench) -> None:
    if bench.measure.held_out:
        return
    x, y = bench.pair()
    order = bench.rng.permutation(len(x))
    expected = bench.value(x, y, "row order")
    bench.close(bench.value(x[order], y[order], "row order"), expected, "row order")


def _summaries(bench: _Bench) -> None:
    m = bench.measure
    x, y = bench.pair()
    order = bench.rng.permutation(len(x))
    expected = bench.value(x, y, "score")
    bench.close(bench.run(partial(_split, m, x, y), "score"), expected, "score")
    for side, permuted in (("source", (x[order], y)), ("target", (x, y[order]))):
        claim = f"permuted summary of the {side}"
        expected = bench.value(*permuted, claim)
        found = bench.run(partial(_split, m, x, y, **{side: order}), claim)
        bench.close(found, expected, claim)


def _split(
    m: Measure, x: Array, y: Array, source: Order | None = None, target: Order | None = None
) -> Any:
    """Value by way of summaries, put into another order where one is given."""
    a, b = m.summarise(x), m.summarise(y)
    a = a if source is None else a.permuted(source)
    b = b if target is None else b.permuted(target)
    return m.of(a, b)


def _relation(bench: _Bench) -> None:
    relation = bench.measure.relation
    if relation is None:
        return
    x, y = bench.pair()
    order = bench.rng.permutation(len(x))
    expected = bench.value(x, y, "relation")
    found = bench.run(lambda: relation(x).inner(relation(y)), "relation")
    bench.close(found, expected, "relation")
    expected = bench.value(x[order], y, "permuted relation")
    found = bench.run(lambda: relation(x).permuted(order).inner(relation(y)), "permuted relation")
    bench.close(found, expected, "permuted relation")


def _single_precision(bench: _Bench) -> None:
    x, y = bench.pair()
    expected = bench.value(x, y, "float32")
    x, y = x.astype(np.float32), y.astype(np.float32)
    bench.close(bench.value(x, y, "float32"), expected, "float32", rtol=_SINGLE)


def _libraries(bench: _Bench) -> None:
    if bench.measure.arrays == "numpy":
        return
    x, y = bench.pair()
    order = bench.rng.permutation(len(x))
    for name in ("torch", "array_api_strict"):
        try:
            library = import_module(name)
        except ImportError:
            continue
        for types in (("float64", "float64"), ("float32", "float32"), ("float32", "float64")):
            a, b = x.astype(types[0]), y.astype(types[1])
            claim = f"arrays, {name} {types[0]} against {types[1]}"
            expected = bench.value(a, b, claim)
            permuted = bench.value(a[order], b, claim)
            a, b = library.asarray(a), library.asarray(b)
            bench.close(bench.value(a, b, claim), expected, claim)
            found = bench.run(partial(_split, bench.measure, a, b, source=order), claim)
            bench.close(found, permuted, claim)
