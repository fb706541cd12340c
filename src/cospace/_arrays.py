"""Arrays by the array API standard; the only place that converts between array libraries."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device, is_array_api_obj

from cospace.errors import InputError

__all__ = ["Array", "as_rows", "double", "namespace", "rows_at", "to_numpy"]

Array: TypeAlias = Any
"""A numpy array, a torch tensor, or any array of the standard."""


SMALLEST, LARGEST = 1e-100, 1e100
"""Between these the largest entry of a table must lie, so that sums of squares stay in float64."""

_BLOCK = 1024
"""Rows that are looked at at once."""


def namespace(*arrays: Array) -> Any:
    """Return the one namespace of ``arrays``, or raise if they come from two libraries."""
    try:
        return array_namespace(*arrays)
    except TypeError:
        kinds = sorted({f"{type(a).__module__.split('.')[0]}.{type(a).__name__}" for a in arrays})
        raise InputError(
            f"Arrays of one library are needed in one call, got {' and '.join(kinds)}: convert one of them."
        ) from None


def double(x: Array) -> Array:
    """``x`` in float64, without a copy where it is float64 already.

    A device that lacks float64 hands the array over to the processor's memory first.
    """
    xp = namespace(x)
    if x.dtype == xp.float64:
        return x
    if getattr(getattr(x, "device", None), "type", "cpu") == "mps":
        x = x.cpu()
    return xp.astype(x, xp.float64)


def rows_at(x: Array, order: Any) -> Array:
    """Rows of ``x`` by number, in that order, on the device of ``x``."""
    xp = namespace(x)
    return xp.take(x, xp.asarray(order, device=device(x)), axis=0)


def to_numpy(x: Array) -> npt.NDArray[Any]:
    """``x`` as a numpy array; numbers that numpy lacks (bfloat16) become float32."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return np.asarray(x.float().numpy() if str(x.dtype) == "torch.bfloat16" else x.numpy())
    return np.asarray(x)


def as_rows(x: Any, *, name: str = "array", least: int = 2) -> Array:
    """Check that ``x`` is a table of finite real numbers, one row a text, and return it as an array.

    Parameters
    ----------
    x
        Array of shape (n, d), n >= ``least``, d >= 1; nested lists are read by numpy; whole
        numbers become float64.
    name
        What the message calls it.
    least
        Least number of rows.

    Raises
    ------
    InputError
        For another shape, complex, masked or non-numeric entries, NaN or infinite entries (the
        first row and column are named).
    """
    if not is_array_api_obj(x):
        try:
            x = np.asarray(x)
        except ValueError:
            raise InputError(f"{name} is not a table: its rows have unequal lengths.") from None
    if isinstance(x, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array: leave out what is masked, or fill it.")
    if isinstance(x, np.ndarray):
        x = np.asarray(x)  # np.matrix would multiply where arrays do not
    elif getattr(x, "requires_grad", False):
        x = x.detach()
    xp = namespace(x)
    if isinstance(x, np.ndarray) and x.dtype.kind not in "fiubc":
        raise InputError(f"{name} holds {x.dtype} entries; numbers are expected.")
    if xp.isdtype(x.dtype, "complex floating"):
        raise InputError(f"{name} is complex; real numbers are expected.")
    if x.ndim != 2:
        raise InputError(
            f"{name} has shape {tuple(x.shape)}; (rows, width) is expected, one row for each text."
        )
    n, width = x.shape
    if n < least or width < 1:
        raise InputError(
            f"{name} has {n} rows of width {width}; at least {least} of width 1 are needed."
        )
    if not xp.isdtype(x.dtype, "real floating"):
        return double(x)
    low, high = _range(x)
    if not (math.isfinite(low) and math.isfinite(high)):
        bad = ~to_numpy(xp.isfinite(x))
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"{name} has NaN or infinite entries in {int(bad.any(1).sum())} of {n} rows (first: row {row}, "
            f"column {column}): leave these rows out of every space, or mend them."
        )
    peak = max(-low, high)
    if peak and not SMALLEST <= peak <= LARGEST:
        raise InputError(
            f"{name} has entries up to {peak:.1e}: their squares leave the range of float64. Divide by {peak:.0e}; "
            "only Bures distance and the like depend on it."
        )
    return x


def _range(x: Array) -> tuple[float, float]:
    """Least and largest entry; NaN where there is one."""
    xp = namespace(x)
    # A block is read twice while it is in the cache; a device would only wait for the many answers.
    step = _BLOCK if isinstance(x, np.ndarray) else x.shape[0]
    ends = [
        (float(xp.min(x[start : start + step, :])), float(xp.max(x[start : start + step, :])))
        for start in range(0, x.shape[0], step)
    ]
    least, most = zip(*ends, strict=True)
    return float(np.min(least)), float(np.max(most))
