"""Relations whose entries are inner products of rows: CKA and RSA by Pearson.

They need no matrix of n^2 entries: a grid makes the entries tile by tile from the rows, uses
them for all spaces at once, and lets them go.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, double, to_numpy
from cospace.entries import Products
from cospace.errors import UndefinedMeasureError
from cospace.measures.pair import sized

__all__ = ["cka_products", "debiased_products", "rsa_products"]


def cka_products(rows: Array) -> Products:
    """Entries of the centred Gram matrix, whose relation gives ``linear_cka``."""
    return Products.of(_sized(rows), 0.0, diagonal=True)


def debiased_products(rows: Array) -> Products:
    """Entries of the U-centred Gram matrix, whose relation gives ``debiased_cka``.

    The rows of a centred Gram matrix sum to 0, so off the diagonal to minus the diagonal: the
    U-centring is known from the squared lengths of the rows, up to a level that is taken off.
    """
    x = _sized(rows)
    n = len(x)
    if n < 4:
        raise UndefinedMeasureError(f"Debiased HSIC needs at least 4 rows, got {n}.")
    square = np.einsum("ij,ij->i", x, x)
    return Products.of(x, square / (n - 2), diagonal=False)


def rsa_products(rows: Array) -> Products:
    """Correlations of rows less their mean: minus the relation that gives ``rsa`` by Pearson."""
    x = to_numpy(double(rows))
    n = len(x)
    if n < 3:
        raise UndefinedMeasureError(f"RSA needs at least 3 rows (3 dissimilarities), got {n}.")
    z = x - x.mean(axis=1, keepdims=True)
    size = np.linalg.norm(z, axis=1, keepdims=True)
    flat = size[:, 0] <= 1e-12 * np.linalg.norm(x, axis=1)
    if flat.any():
        raise UndefinedMeasureError(
            f"Row {int(np.flatnonzero(flat)[0])} has all coordinates equal: it has no correlation with others."
        )
    z /= size
    return Products.of(z, 0.0, diagonal=False)


def _sized(rows: Array) -> npt.NDArray[np.float64]:
    if len(rows) < 3:
        raise UndefinedMeasureError(
            f"{len(rows)} rows lie on a line in every space: at least 3 rows are needed."
        )
    x = to_numpy(sized(rows))
    x /= np.linalg.norm(x)
    return x
