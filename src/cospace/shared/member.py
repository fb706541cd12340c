"""What a fitted shared space says of its models and of the search for their maps."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Member", "Search"]


@dataclass(frozen=True)
class Member:
    """One model in a shared space."""

    name: str
    """Its name."""
    n: int
    """Rows that its map was fitted on."""
    width: int
    """Coordinates of its rows."""
    used: int
    """Coordinates after scaling and reduction."""
    leading_share: float
    """Share of the variance of its rows, as they are, along one direction."""
    leading_share_used: float
    """The same after scaling and reduction."""
    inverse_error: float
    """``||X - back(forward(X))||^2 / ||X - mean||^2`` on the rows of the fit: share of the variance
    that the way there and back loses, in-sample."""
    added: bool = False
    """Whether it was added to a finished space."""


@dataclass(frozen=True)
class Search:
    """How the maps were found."""

    objective: tuple[float, ...]
    """Of ``gpa``: share of the variance about the consensus after every sweep. Of ``gcca``: the
    share of every variate that lies in the mean over models."""
    residual: float | None
    """Stationarity residual of ``gpa``; None for ``gcca``, which is solved directly."""
    sweeps: int
    """Sweeps made; 0 for ``gcca``."""
    stopped: str
    """``stationary``, ``sweeps``, ``rounding``, or ``direct``."""
    scales: tuple[float, ...]
    """Isotropic scale of every model; 1 where none was asked for."""
    unit: float
    """What all shared coordinates are multiplied with: the mean square of a coordinate over texts,
    models and coordinates is 1."""
