"""An affine map as a value: matrix and offset, for points and for directions."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from cospace._arrays import as_rows, double, to_numpy
from cospace.errors import InputError

__all__ = ["AffineMap", "Floats"]

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AffineMap:
    """``x -> image + (x - center) @ matrix``.

    Kept about a center, so that rows far from the origin lose no digits.

    Examples
    --------
    >>> swap = AffineMap(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2), np.array([5.0, 0.0]))
    >>> swap.points([[1.0, 2.0]]).tolist(), swap.directions([[1.0, 2.0]]).tolist()
    ([[7.0, 1.0]], [[2.0, 1.0]])
    """

    matrix: Floats
    """Linear part, shape (p, d), source coordinates by target coordinates."""
    center: Floats
    """A point of the source, shape (p,): its mean row."""
    image: Floats
    """Where the map takes it, shape (d,)."""

    @property
    def offset(self) -> Floats:
        """Where the origin goes, shape (d,)."""
        found: Floats = self.image - self.center @ self.matrix
        return found

    def points(self, x: Any) -> Floats:
        """Map points (rows of a space, shape (m, p)): with the offset.

        Raises
        ------
        InputError
            For rows that are no table of finite numbers, or of another width.
        """
        found: Floats = self.image + (self._rows(x, "points") - self.center) @ self.matrix
        return found

    def directions(self, v: Any) -> Floats:
        """Map directions (differences of points, steering vectors, shape (m, p)): without the offset.

        Raises
        ------
        InputError
            For rows that are no table of finite numbers, or of another width.
        """
        found: Floats = self._rows(v, "directions") @ self.matrix
        return found

    def _rows(self, x: Any, name: str) -> Floats:
        rows = np.asarray(to_numpy(double(as_rows(x, name=name, least=1))))
        if rows.shape[1] != len(self.center):
            raise InputError(
                f"{name} have width {rows.shape[1]}; this map takes rows of width {len(self.center)}, "
                "in the coordinates of its source."
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Shape and bytes of every array, as text; exact."""
        return {
            name: {
                "shape": list(array.shape),
                "float64": base64.b64encode(array.astype("<f8").tobytes()).decode(),
            }
            for name, array in (
                ("matrix", self.matrix),
                ("center", self.center),
                ("image", self.image),
            )
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a map from what ``to_dict`` gave."""
        return cls(
            **{
                name: np.frombuffer(base64.b64decode(entry["float64"]), "<f8")
                .astype(np.float64)
                .reshape(entry["shape"])
                for name, entry in data.items()
            }
        )
