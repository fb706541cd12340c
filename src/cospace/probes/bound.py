"""From the intrinsic distance of two spaces to the extrinsic one: the bound, and its check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace._numbers import check_number
from cospace.errors import ContractError, InputError

__all__ = ["LIPSCHITZ", "BoundCheck", "check_bound", "extrinsic_bound", "logit_rounding"]

LIPSCHITZ = 0.5
"""Lipschitz constant of softmax in the Euclidean norm at inverse temperature 1."""

_RELATIVE = 1e-9
_ABSOLUTE = 1e-9


def extrinsic_bound(
    *, norm: float, distance: float, inverse_temperature: float = 1.0, constant: float = LIPSCHITZ
) -> float:
    """Most that the best imitation of a classifier can miss it by, given an affine map's error.

    ``constant * inverse_temperature * norm * distance``: softmax is 1/2-Lipschitz, so the
    classifier after the affine map misses the classifier by at most this, on the rows on which
    the map misses the target by at most ``distance``. In-sample, on the same rows, alone.

    Parameters
    ----------
    norm
        ``||psi_lin||_2`` of the classifier, on the coordinates in which ``distance`` is measured.
    distance
        Largest row error of the affine map, or the affine distance.
    inverse_temperature
        What logits are multiplied by before the softmax.
    constant
        The Lipschitz constant; 1/2, and no smaller one holds.

    Raises
    ------
    InputError
        For a norm, distance, temperature or constant that is negative or not finite.

    Examples
    --------
    >>> extrinsic_bound(norm=3.0, distance=0.1)
    0.15000000000000002
    """
    for name, value in (
        ("norm", norm),
        ("distance", distance),
        ("inverse_temperature", inverse_temperature),
        ("constant", constant),
    ):
        given: dict[str, Any] = {name: value}
        check_number(**given)
        if not (math.isfinite(value) and value >= 0.0):
            raise InputError(f"{name} is {value}; a finite number of at least 0 is needed.")
    return constant * inverse_temperature * norm * distance


@dataclass(frozen=True)
class BoundCheck:
    """An extrinsic distance beside the bound that the intrinsic distance puts on it."""

    value: float
    """The extrinsic distance: largest row error of the imitation's probabilities."""
    norm: float
    """``||psi_lin||_2`` of the classifier."""
    distance: float
    """Largest row error of the affine map on the same rows."""
    bound: float
    """What ``value`` may not exceed."""
    factor: float | None
    """``value / (inverse temperature * norm * distance)``: at most 1/2. None where the bound is 0."""
    holds: bool
    """Whether the value is within the bound, up to rounding."""
    rounding: float = 0.0
    """What float64 leaves unsure of the value; 1e-9 is allowed in any case."""

    def require(self) -> BoundCheck:
        """Return the check where it holds.

        Raises
        ------
        ContractError
            Where it does not: the composed classifier is a candidate of every imitation, so that
            is a fault of the program and never of the optimiser.
        """
        if self.holds:
            return self
        factor = "" if self.factor is None else f", a factor of {self.factor:.6g}"
        raise ContractError(
            f"The extrinsic distance {self.value:.6g} exceeds its bound {self.bound:.6g} (norm {self.norm:.6g}, affine "
            f"error {self.distance:.6g}{factor}): either the numbers are of different rows, or this is a fault of "
            "cospace; report it."
        )


def check_bound(
    *,
    value: float,
    norm: float,
    distance: float,
    inverse_temperature: float = 1.0,
    constant: float = LIPSCHITZ,
    rounding: float = 0.0,
) -> BoundCheck:
    """Hold an extrinsic distance against its bound; see :func:`extrinsic_bound`.

    Parameters
    ----------
    value
        The extrinsic distance, in-sample on the rows of ``distance``.
    norm, distance, inverse_temperature, constant
        As for :func:`extrinsic_bound`.
    rounding
        What float64 leaves unsure of the value, beyond 1e-9: see :func:`logit_rounding`.

    Returns
    -------
    BoundCheck
        ``holds`` says whether it is kept, ``require()`` raises where it is not.

    Examples
    --------
    >>> check_bound(value=0.1, norm=3.0, distance=0.1).holds
    True
    >>> check_bound(value=0.2, norm=3.0, distance=0.1).holds
    False
    """
    bound = extrinsic_bound(
        norm=norm, distance=distance, inverse_temperature=inverse_temperature, constant=constant
    )
    reach = inverse_temperature * norm * distance
    return BoundCheck(
        value=value,
        norm=norm,
        distance=distance,
        bound=bound,
        factor=value / reach if reach > 0.0 else None,
        holds=bool(value <= bound * (1.0 + _RELATIVE) + _ABSOLUTE + rounding),
        rounding=rounding,
    )


def logit_rounding(norm: float, rows: npt.NDArray[np.float64]) -> float:
    """Most that rounding moves the logits of a classifier of ``norm`` on rows of shape (n, d).

    ``d eps norm max_i ||x_i||``: rows far from the origin cost digits that the affine map's error
    does not tell of.
    """
    longest = float(np.linalg.norm(rows, axis=1).max())
    return float(rows.shape[1] * np.finfo(np.float64).eps * norm * longest)
