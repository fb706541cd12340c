"""The search equals a comparison of all rows in double precision, whatever the rows."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

from cospace import _threads, search
from cospace.errors import InputError, UndefinedMeasureError
from cospace.search import TIE, Search

METRICS = ["cosine", "euclidean"]


def brute(x, k, metric):
    """Neighbours from all n^2 values in double precision; of ties the first."""
    x = np.asarray(x, dtype=np.float64)
    if metric == "cosine":
        z = x / np.linalg.norm(x, axis=1, keepdims=True)
        near, tie = z @ z.T, TIE
    else:
        z = x - x.mean(axis=0)
        z /= np.abs(z).max()
        square = np.sum(z * z, axis=1)
        near = 2 * (z @ z.T) - square - square[:, None]
        tie = None
    np.fill_diagonal(near, -np.inf)
    index = []
    for i, line in enumerate(near):
        last = np.sort(line)[-k]
        slack = TIE if tie is not None else TIE * (square[i] - last)
        above = np.flatnonzero(line > last + slack)
        tied = np.flatnonzero(np.abs(line - last) <= slack)
        index.append(np.sort(np.concatenate([above, tied[: k - len(above)]])))
    return np.asarray(index)


def rows(kind, n=1100, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 24))
    if kind == "power law":
        return x * np.arange(1, 25) ** -1.5
    if kind == "repeats":
        return x[rng.integers(0, n // 5, n)]
    if kind == "lattice":
        return rng.integers(-2, 3, (n, 4)) + np.array([0.0, 0.0, 0.0, 7.0])
    if kind == "tight clusters":
        return x[rng.integers(0, 20, n)] + 1e-4 * x
    if kind == "one tight cluster":
        return np.vstack([x[:1] + 1e-9 * x[: n - 300], x[-300:]])
    if kind == "offset":
        return 100 + 0.01 * x
    if kind == "large offset":
        return 1e4 + x
    if kind == "offset in float32":
        return (100 + 0.01 * x).astype(np.float32)
    if kind == "heavy tails":
        return x * np.exp(4 * rng.standard_cauchy((n, 1)).clip(-4, 4))
    if kind == "a far row":
        return np.vstack([x[1:], 1e7 * x[:1]])
    if kind == "tiny rows beside large ones":
        return np.vstack([x[:500], 1e-30 * x[500:]])
    if kind == "a rogue column":
        return np.hstack([x, 3000 + 50 * x[:, :1]])
    if kind == "narrow":
        return x[:, :2]
    if kind == "unit":
        return x / np.linalg.norm(x, axis=1, keepdims=True)
    return x


KINDS = [
    "plain",
    "power law",
    "repeats",
    "lattice",
    "tight clusters",
    "one tight cluster",
    "offset",
    "large offset",
    "offset in float32",
    "heavy tails",
    "a far row",
    "tiny rows beside large ones",
    "a rogue column",
    "narrow",
    "unit",
]


@pytest.mark.parametrize("k", [1, 10, 45])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_double_precision(kind, metric, k):
    x = rows(kind)
    made = getattr(Search, metric)(x, k)
    assert made.group
    np.testing.assert_array_equal(made.neighbors(k), brute(x, k, metric))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [513, 1000, 1025, 1537])
def test_any_number_of_rows(metric, n):
    x = rows("plain", n)
    np.testing.assert_array_equal(getattr(Search, metric)(x, 5).neighbors(5), brute(x, 5, metric))


@pytest.mark.parametrize("metric", METRICS)
def test_few_rows_are_all_compared(metric):
    x = rows("repeats", 60)
    made = getattr(Search, metric)(x, 7)
    assert not made.group
    np.testing.assert_array_equal(made.neighbors(7), brute(x, 7, metric))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["plain", "offset", "repeats"])
def test_float32_rows_are_searched_as_the_float64_rows_that_they_are(metric, kind):
    x = rows(kind).astype(np.float32)
    single = getattr(Search, metric)(x, 10)
    assert single.rows.dtype == np.float32
    wide = getattr(Search, metric)(x.astype(np.float64), 10)
    np.testing.assert_array_equal(single.neighbors(10), wide.neighbors(10))


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.longdouble])
def test_other_numbers(dtype):
    x = (8 * rows("plain", 600)).astype(dtype)
    np.testing.assert_array_equal(Search.cosine(x, 5).neighbors(5), brute(x, 5, "cosine"))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["plain", "heavy tails", "offset", "tiny rows beside large ones"])
def test_bounds_hold(kind, metric):
    """Products are no smaller than scores, nor larger by more than twice the rounding allowed."""
    x = rows(kind)
    made = getattr(Search, metric)(x, 10)
    z = made.unit(slice(0, made.n)).astype(np.longdouble)
    middle = np.median(made.unit(np.linspace(0, made.n - 1, 129).astype(int)), axis=0)
    z -= middle
    length = np.sqrt((z * z).sum(axis=1))
    score = (z @ z.T) - length[:, None] ** 2 / 2
    bound, best = made._products(np.arange(made.n), made._room(made.n))
    own = np.eye(made.n, dtype=bool)
    above = (bound[: made.n] - score)[~own]
    allowed = 2 * made.rounding * (np.outer(length, length) + length[:, None] ** 2 / 2) + 1e-35
    assert (above >= -1e-35).all()
    assert (above <= allowed[~own]).all()
    assert (bound[own.nonzero()] == -np.inf).all()
    assert best.max() == bound.max()


@pytest.fixture
def whole(monkeypatch):
    """How many rows were compared with all others in double precision."""
    seen = []
    among_all = Search._among_all

    def counted(self, query, k):
        seen.extend(query)
        return among_all(self, query, k)

    monkeypatch.setattr(Search, "_among_all", counted)
    return seen


@pytest.mark.parametrize(
    "kind", ["plain", "power law", "offset", "heavy tails", "repeats", "a rogue column"]
)
def test_most_rows_need_no_double_precision(whole, kind):
    Search.cosine(rows(kind), 10).neighbors(10)
    assert not whole


def test_rows_that_single_precision_cannot_tell_apart_are_compared_in_double(whole):
    x = rows("one tight cluster")
    Search.euclidean(x, 10).neighbors(10)
    assert set(range(800)) <= set(whole)  # and those to which the cluster is nearest
    assert len(whole) < 900


@pytest.mark.parametrize("metric", METRICS)
def test_blocks_of_any_size_on_any_number_of_cores(monkeypatch, metric):
    """Fault: neighbours that depend on the batch in which they were found."""
    made = getattr(Search, metric)(rows("tight clusters"), 10)
    expected = made.neighbors(10)
    for cores in (1, 3):
        monkeypatch.setattr(_threads, "free_cores", lambda cores=cores: cores)
        assert made.neighbors(10).tobytes() == expected.tobytes()
    for queries, keys in ((16, 64), (100, 1000), (2000, 16)):
        monkeypatch.setattr(search, "_QUERIES", queries)
        monkeypatch.setattr(search, "_KEYS", keys)
        cut = [made.of(np.arange(a, b), 10) for a, b in ((0, 7), (7, 512), (512, 1100))]
        np.testing.assert_array_equal(np.concatenate(cut), expected)
        anywhere = np.random.default_rng(0).permutation(1100)[:600]
        np.testing.assert_array_equal(made.of(anywhere, 10), expected[anywhere])


def test_progress_is_told_after_every_piece():
    seen = []
    made = Search.cosine(rows("plain"), 10)
    made.neighbors(10, lambda: seen.append(threading.get_ident()))
    assert seen == [threading.get_ident()] * -(-1100 // made.queries)


def test_memory_is_far_from_the_square_of_the_rows():
    n = 12_000
    x = np.random.default_rng(0).standard_normal((n, 4)).astype(np.float32)
    tracemalloc.start()
    made = Search.euclidean(x, 5)
    found = made.of(np.arange(1000), 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n
    assert found.shape == (1000, 5)


@pytest.mark.parametrize("metric", METRICS)
def test_refusals(metric):
    make = getattr(Search, metric)
    with pytest.raises(InputError, match=r"^0 neighbours were asked for; at least 1 is needed"):
        make(rows("plain", 30), 0)
    with pytest.raises(UndefinedMeasureError, match=r"^29 neighbours of 30 rows are all or nearly"):
        make(rows("plain", 30), 29)
    for n in (30, 700):
        with pytest.raises(UndefinedMeasureError, match=r"^All rows are equally near: there are"):
            make(np.eye(n), 3).refuse_alike()


def test_rows_without_a_direction_or_a_difference():
    x = rows("plain", 700)
    x[4] = 0.0
    with pytest.raises(UndefinedMeasureError, match=r"^Row 4 is zero: it has no direction"):
        Search.cosine(x, 3)
    for dtype in (np.float32, np.float64):
        with pytest.raises(UndefinedMeasureError, match=r"^All rows are the same: there is"):
            Search.euclidean(np.full((700, 3), 0.1, dtype=dtype), 3)


@pytest.mark.parametrize("metric", METRICS)
def test_one_row_that_differs_is_enough(metric):
    x = np.eye(700)
    x[650, 3] = 0.5
    assert getattr(Search, metric)(x, 3).refuse_alike() is None
