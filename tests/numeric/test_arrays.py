"""Reading arrays of any library, and converting them."""

from __future__ import annotations

from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
import torch

from cospace._arrays import as_rows, double, namespace, rows_at, to_numpy
from cospace.errors import InputError
from cospace.measures import CATALOGUE, linear_cka

ROWS = np.arange(12.0).reshape(4, 3) ** 1.5


@pytest.fixture(params=[np.asarray, torch.asarray, array_api_strict.asarray])
def library(request):
    return request.param


def test_an_array_stays_what_it_is(library):
    for dtype in (np.float64, np.float32):
        x = library(ROWS.astype(dtype))
        read = as_rows(x)
        assert type(read) is type(x)
        assert read.dtype == x.dtype
        np.testing.assert_array_equal(to_numpy(read), ROWS.astype(dtype))


def test_float64_is_not_copied(library):
    x = library(ROWS)
    assert double(x) is x
    assert to_numpy(double(library(ROWS.astype(np.float32)))).dtype == np.float64


def test_rows_by_number(library):
    taken = rows_at(library(ROWS), [2, 0])
    np.testing.assert_array_equal(to_numpy(taken), ROWS[[2, 0]])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64])
def test_whole_numbers_become_float64(dtype):
    x = np.array([[0, 1], [1, 1]], dtype=dtype)
    read = as_rows(x)
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read, x.astype(float))


def test_lists_and_tables_are_read():
    pandas = pytest.importorskip("pandas")
    expected = np.array([[1.0, 2.0], [3.0, 4.0]])
    for x in ([[1, 2], [3, 4]], ((1.0, 2.0), (3.0, 4.0)), pandas.DataFrame(expected)):
        read = as_rows(x)
        assert type(read) is np.ndarray
        np.testing.assert_array_equal(read, expected)


def test_a_matrix_becomes_an_array():
    """Fault: numpy's matrix class multiplies where arrays go entry by entry."""
    with pytest.warns(PendingDeprecationWarning):
        x = np.matrix(ROWS)
    assert type(as_rows(x)) is np.ndarray
    assert linear_cka(x, ROWS) == linear_cka(ROWS, ROWS)


def test_memory_maps_are_read_in_place(tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(as_rows(mapped), mapped)


def test_half_precision_is_read():
    """Fault: bfloat16 tensors cannot be made numpy arrays."""
    x = torch.asarray(ROWS).to(torch.bfloat16)
    assert to_numpy(x).dtype == np.float32
    np.testing.assert_allclose(to_numpy(x), ROWS, rtol=1e-2)
    for half in (x, torch.asarray(ROWS).half(), ROWS.astype(np.float16)):
        read = as_rows(half)
        assert read.dtype == half.dtype
        np.testing.assert_allclose(to_numpy(double(read)), ROWS, rtol=1e-2)


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_half_precision_is_summed_in_float64(measure):
    """Fault: float16 overflows in sums of squares and Gram matrices."""
    rng = np.random.default_rng(0)
    x = torch.asarray(3e4 * rng.uniform(-1, 1, size=(60, 5)))
    y = x @ torch.asarray(rng.normal(size=(5, 4)) / 9)
    for kind in (torch.float16, torch.bfloat16):
        a, b = x.to(kind), y.to(kind)
        assert measure(a, b) == pytest.approx(measure(a.double(), b.double()), abs=1e-12)


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_a_tensor_with_a_gradient_is_read(measure):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    tensor = torch.tensor(x, requires_grad=True)
    assert measure(tensor, tensor) == pytest.approx(measure(x, x), abs=1e-12)


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_every_measure_takes_arrays_of_every_library(measure, library):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 4))
    assert measure(library(x), library(y)) == pytest.approx(measure(x, y), abs=1e-12)


def test_what_a_device_lacks_is_summed_on_the_processor():
    class OnMps(torch.Tensor):
        device = SimpleNamespace(type="mps")

        def cpu(self):
            return self.as_subclass(torch.Tensor)

    x = torch.asarray(ROWS.astype(np.float32))
    handed_over = double(x.as_subclass(OnMps))
    assert type(handed_over) is torch.Tensor
    assert handed_over.dtype == torch.float64


def test_two_libraries_in_one_call_are_refused():
    with pytest.raises(InputError, match=r"got numpy\.ndarray and torch\.Tensor: convert one"):
        namespace(ROWS, torch.asarray(ROWS))
    with pytest.raises(InputError, match="Arrays of one library are needed in one call"):
        linear_cka(ROWS, torch.asarray(ROWS))


REFUSED = {
    "ragged": ([[1.0, 2.0], [3.0]], "x is not a table: its rows have unequal lengths"),
    "masked": (np.ma.masked_array(ROWS, ROWS > 3), "x is a masked array: leave out what is masked"),
    "words": ([["a", "b"], ["c", "d"]], "x holds <U1 entries; numbers are expected"),
    "objects": (None, "x holds object entries; numbers are expected"),
    "complex": (ROWS * 1j, "x is complex; real numbers are expected"),
    "complex tensor": (torch.asarray(ROWS * 1j), "x is complex; real numbers are expected"),
    "a vector": (
        ROWS[0],
        r"x has shape \(3,\); \(rows, width\) is expected, one row for each text",
    ),
    "a stack": (ROWS[None], r"x has shape \(1, 4, 3\); \(rows, width\) is expected"),
    "one row": (ROWS[:1], "x has 1 rows of width 3; at least 2 of width 1 are needed"),
    "no rows": (ROWS[:0], "x has 0 rows of width 3; at least 2 of width 1 are needed"),
    "no width": (ROWS[:, :0], "x has 4 rows of width 0; at least 2 of width 1 are needed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_a_table_of_numbers_is_refused(case):
    x, text = REFUSED[case]
    with pytest.raises(InputError, match=text):
        as_rows(x, name="x")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_with_its_place(library, bad):
    """Fault: NaN activations that surface as a NaN value somewhere else."""
    x = ROWS.copy()
    x[1, 2] = x[3, 1] = bad
    with pytest.raises(InputError, match=r"in 2 of 4 rows \(first: row 1, column 2\): leave these"):
        as_rows(library(x), name="x")
