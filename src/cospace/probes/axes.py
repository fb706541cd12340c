"""Principal axes of the fitting rows: the stated coordinates in which probes are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from cospace.errors import InputError
from cospace.linalg import RTOL, mean_row, numerical_rank
from cospace.probes.classifier import Classifier, Matrix

__all__ = ["ROWS_A_COORDINATE", "Axes", "Standardise", "default_width"]

ROWS_A_COORDINATE = 10
"""By default at least so many fitting rows for every coordinate."""

Standardise: TypeAlias = Literal["component", "overall"]
"""``component``: every coordinate divided by its own standard deviation over the fitting rows.
``overall``: all of them divided by the root mean square of them all, which keeps the geometry."""


def default_width(n: int) -> int:
    """A tenth of the fitting rows, rounded down.

    Raises
    ------
    InputError
        For fewer than 10 rows.

    Examples
    --------
    >>> default_width(487)
    48
    """
    if n < ROWS_A_COORDINATE:
        raise InputError(
            f"{n} training rows were given; at least {ROWS_A_COORDINATE} are needed, "
            f"{ROWS_A_COORDINATE} for each coordinate of a probe: give more texts."
        )
    return n // ROWS_A_COORDINATE


@dataclass(frozen=True, eq=False)
class Axes:
    """Leading principal axes of some rows, and the coordinates of any rows on them."""

    mean: Matrix
    """Mean of the fitting rows, shape (d,)."""
    basis: Matrix
    """Orthonormal axes, largest variance first, shape (d, k)."""
    spread: Matrix
    """Standard deviation of the fitting rows on each axis, over n, shape (k,)."""
    rank: int
    """Numerical rank of the centred fitting rows."""
    share: float
    """Share of the variance of the fitting rows that the axes hold."""
    n: int
    """Number of fitting rows."""
    scale: Matrix
    """What each coordinate is divided by, shape (k,)."""

    @classmethod
    def fit(
        cls,
        rows: Matrix,
        width: int | None = None,
        *,
        standardise: Standardise = "component",
        name: str = "rows",
        at_most: bool = False,
        rtol: float = RTOL,
    ) -> Axes:
        """Axes of ``rows``, from the smaller of their covariance and their Gram matrix.

        Parameters
        ----------
        rows
            Shape (n, d).
        width
            Number of axes, at most the rank; by default the rank.
        standardise
            How coordinates are divided, see :data:`Standardise`.
        name
            What messages call the rows.
        at_most
            Whether fewer axes will do where the rank is below ``width``.
        rtol
            Rank tolerance, relative to the largest singular value.

        Raises
        ------
        InputError
            For rows that are all the same, a width outside 1 ... rank, or another way to
            standardise.

        Examples
        --------
        >>> import numpy as np
        >>> axes = Axes.fit(np.array([[2.0, 1.0], [-2.0, 1.0]]))
        >>> axes.rank, axes.spread.tolist(), abs(axes.standardised(np.array([[4.0, 1.0]]))).tolist()
        (1, [2.0], [[2.0]])
        """
        if standardise not in ("component", "overall"):
            raise InputError(
                f"standardise={standardise!r} is unknown: give 'component' or 'overall'."
            )
        n = len(rows)
        mean = mean_row(rows)
        x = rows - mean
        wide = x.shape[0] <= x.shape[1]
        values, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
        s = np.sqrt(np.clip(values[::-1], 0.0, None))
        rank = numerical_rank(s, rtol)
        if rank == 0:
            raise InputError(
                f"All {n} training rows of {name} are the same: there is nothing to tell apart."
            )
        if width is not None and at_most:
            width = min(width, rank)
        if width is not None and not 1 <= width <= rank:
            raise InputError(
                f"{name} has {n} training rows of rank {rank}; {width} principal components were asked for: give a "
                f"width between 1 and {rank}."
            )
        k = width or rank
        basis = vectors[:, ::-1][:, :k]
        if wide:
            basis = np.linalg.qr(x.T @ (basis / s[:k]))[0]
        spread = np.sqrt(np.mean((x @ basis) ** 2, axis=0))
        scale = spread if standardise == "component" else np.full(k, np.sqrt(np.mean(spread**2)))
        return cls(
            mean=mean,
            basis=basis,
            spread=spread,
            rank=rank,
            share=float(min(np.sum(s[:k] ** 2) / np.sum(s**2), 1.0)),
            n=n,
            scale=scale,
        )

    @property
    def width(self) -> int:
        """Number of axes, k."""
        return int(self.basis.shape[1])

    def coordinates(self, rows: Matrix) -> Matrix:
        """Coordinates of rows on the axes, not divided; shape (n, k)."""
        return np.asarray((rows - self.mean) @ self.basis)

    def standardised(self, rows: Matrix) -> Matrix:
        """Coordinates of rows on the axes, divided by ``scale``; shape (n, k)."""
        return np.asarray((rows - self.mean) @ (self.basis / self.scale))

    def raw(self, weight: Matrix, offset: Matrix, classes: tuple[str, ...]) -> Classifier:
        """The classifier of raw rows that a classifier of standardised coordinates amounts to."""
        own = weight - weight.mean(axis=0)
        linear = (own / self.scale) @ self.basis.T
        return Classifier(linear, offset - offset.mean() - linear @ self.mean, classes)

    def inside(self, classifier: Classifier) -> tuple[Matrix, Matrix]:
        """Weight and offset on standardised coordinates of a classifier of raw rows.

        Exact where the axes span the rows, else what of it lies on the axes.
        """
        weight = (classifier.weight @ self.basis) * self.scale
        return weight, classifier.weight @ self.mean + classifier.offset
