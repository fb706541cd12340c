"""What is done to the rows of one model before it is aligned: centre, scale, reduce, size 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cospace._arrays import as_rows, double, to_numpy
from cospace._numbers import check_whole
from cospace.errors import InputError, UndefinedMeasureError
from cospace.linalg import RTOL, mean_row

__all__ = ["Encoder", "Floats", "Scaling", "Spectrum"]

Floats: TypeAlias = npt.NDArray[np.float64]

_CONSTANT = 1e-6
"""Rows that vary by less than this share of their size are the same but for rounding."""


@dataclass(frozen=True)
class Scaling:
    """A scaling policy: ``none``, or steps joined by ``+``.

    ``standardize`` divides every coordinate by its standard deviation; ``drop:k`` leaves out the k
    leading principal directions; ``whiten:a`` takes singular values s to s^(1 - a).

    Examples
    --------
    >>> Scaling.read("standardize+drop:1")
    Scaling(standardize=True, drop=1, whiten=0.0)
    >>> str(Scaling(whiten=0.5)), str(Scaling())
    ('whiten:0.5', 'none')
    """

    standardize: bool = False
    """Whether coordinates are divided by their standard deviation first."""
    drop: int = 0
    """How many leading principal directions are left out."""
    whiten: float = 0.0
    """0 leaves singular values as they are, 1 makes all of them equal."""

    @classmethod
    def read(cls, text: str) -> Scaling:
        """Read a policy as its text says.

        Raises
        ------
        InputError
            For a text that is no policy.
        """
        found: dict[str, Any] = {}
        for step in [] if text == "none" else str(text).split("+"):
            verb, _, amount = step.partition(":")
            if verb in found:
                raise InputError(f"{text!r} names {verb} twice; once is expected.")
            if step == "standardize":
                found[verb] = True
            elif verb == "drop" and amount.isdecimal() and int(amount) > 0:
                found[verb] = int(amount)
            elif verb == "whiten" and (share := _share(amount)) is not None:
                found[verb] = share
            else:
                raise InputError(
                    f"{text!r} is not a scaling: none, or standardize, drop:k with k > 0 and whiten:a with "
                    "0 < a <= 1, joined by +."
                )
        return cls(**found)

    def __str__(self) -> str:
        steps = ["standardize"] * self.standardize
        steps += [f"drop:{self.drop}"] * bool(self.drop)
        steps += [f"whiten:{self.whiten:g}"] * bool(self.whiten)
        return "+".join(steps) or "none"


def _share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value <= 1.0 else None


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Principal directions of one model's rows, about their mean."""

    name: str
    """What messages call the model."""
    n: int
    """Number of rows."""
    mean: Floats
    """Mean row, shape (d,)."""
    unit: Floats
    """What every coordinate is multiplied with, shape (d,): 1, or 1 over its standard deviation."""
    s: Floats
    """Singular values of the centred rows times ``unit``, above the rank tolerance, largest first."""
    axes: Floats
    """Their directions, shape (d, r); the largest entry of each is above 0."""
    share: float
    """Share of the variance that lies along the first direction."""

    @classmethod
    def of_rows(cls, rows: Any, *, name: str, standardize: bool = False) -> Spectrum:
        """Spectrum of rows of shape (n, d); cost n d min(n, d).

        Raises
        ------
        InputError
            For rows that are no table of finite numbers.
        UndefinedMeasureError
            For rows that are all the same.
        """
        x = np.asarray(to_numpy(double(as_rows(rows, name=name))))
        mean = mean_row(x)
        free = x - mean
        variance = np.einsum("ij,ij->j", free, free) / len(x)
        _refuse_constant(name, mean, variance)
        unit = _unit(variance) if standardize else np.ones(len(mean))
        free = free * unit
        if free.shape[0] >= free.shape[1]:
            s, axes = _principal(free.T @ free)
        else:
            s, left = _principal(free @ free.T)
            axes = free.T @ (left / s)
        return cls(name, len(x), mean, unit, s, _signed(axes), float(s[0] ** 2 / np.sum(s**2)))

    @classmethod
    def of_moments(
        cls, n: int, mean: Any, block: Any, *, name: str, standardize: bool = False
    ) -> Spectrum:
        """Spectrum of n rows from their mean and their centred sums of products; cost d^3.

        Raises
        ------
        UndefinedMeasureError
            For rows that are all the same.
        """
        center = np.asarray(to_numpy(mean), dtype=np.float64)
        products = np.asarray(to_numpy(block), dtype=np.float64)
        variance = np.diag(products) / n
        _refuse_constant(name, center, variance)
        unit = _unit(variance) if standardize else np.ones(len(center))
        s, axes = _principal(unit[:, None] * products * unit)
        return cls(name, n, center, unit, s, _signed(axes), float(s[0] ** 2 / np.sum(s**2)))

    def encoder(self, scaling: Scaling, width: int) -> Encoder:
        """Encoder onto at most ``width`` coordinates, of the rows that this spectrum is of.

        Raises
        ------
        InputError
            For a width that is no whole number above 0.
        UndefinedMeasureError
            When more directions are to be dropped than there are.
        """
        check_whole(width=width)
        if width < 1:
            raise InputError(f"width is {width}; a whole number, 1 or more, is expected.")
        kept = slice(scaling.drop, scaling.drop + width)
        s, axes = self.s[kept], self.axes[:, kept]
        if not len(s):
            raise UndefinedMeasureError(
                f"{self.name} has {len(self.s)} directions of variance, and drop:{scaling.drop} leaves none."
            )
        size = np.sqrt(np.sum(s ** (2.0 * (1.0 - scaling.whiten))))
        matrix = self.unit[:, None] * axes * (s**-scaling.whiten / size)
        return Encoder(self.name, self.mean, matrix)


@dataclass(frozen=True, eq=False)
class Encoder:
    """``x -> (x - mean) matrix``: centred, scaled, reduced; of Frobenius norm 1 on its own rows."""

    name: str
    """Name of the model."""
    mean: Floats
    """Mean row of the fit, shape (d,)."""
    matrix: Floats
    """Shape (d, k)."""

    @property
    def width(self) -> int:
        """Coordinates that it gives, k."""
        return int(self.matrix.shape[1])

    def __call__(self, rows: Any) -> Floats:
        """Coordinates of rows of shape (n, d), shape (n, k).

        Raises
        ------
        InputError
            For rows that are no finite numbers, or of another width.
        """
        x = np.asarray(to_numpy(double(as_rows(rows, name=self.name, least=1))))
        if x.shape[1] != len(self.mean):
            raise InputError(
                f"{self.name} was fitted on rows of width {len(self.mean)}; these have {x.shape[1]}: give rows of "
                "the same model at the same site."
            )
        found: Floats = (x - self.mean) @ self.matrix
        return found


def _refuse_constant(name: str, mean: Floats, variance: Floats) -> None:
    if np.sum(variance) <= _CONSTANT**2 * (np.sum(mean**2) + np.sum(variance)):
        raise UndefinedMeasureError(
            f"All rows of {name} are the same: they say nothing of their texts (the first token of a model that "
            "begins every text with the same one is such). Use another pooling or site."
        )


def _unit(variance: Floats) -> Floats:
    """1 over the standard deviation; 0 for a constant coordinate."""
    constant = variance <= (_CONSTANT**2) ** 2 * np.max(variance)
    return np.where(constant, 0.0, 1.0 / np.sqrt(np.where(constant, 1.0, variance)))


def _signed(axes: Floats) -> Floats:
    peak = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return axes * np.where(peak < 0.0, -1.0, 1.0)


def _principal(gram: Floats) -> tuple[Floats, Floats]:
    """Singular values above the rank tolerance and their vectors, from a matrix of products."""
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    # Products square the condition number: below the root of float64's resolution they hold noise.
    kept = values > max(RTOL**2, len(values) * np.finfo(float).eps) * values[0]
    return np.sqrt(values[kept]), vectors[:, kept]
