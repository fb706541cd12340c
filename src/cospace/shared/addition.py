"""A model that joins a finished shared space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cospace._arrays import to_numpy
from cospace.errors import InputError, RowMismatchError
from cospace.maps.affine import AffineMap
from cospace.moments import Moments
from cospace.shared.choose import Choice
from cospace.shared.procrustes import polar
from cospace.shared.scaling import Encoder, Floats, Scaling, Spectrum
from cospace.space import Space

__all__ = ["Newcomer", "beside", "newcomer", "newcomer_of_moments"]


@dataclass(frozen=True, eq=False)
class Newcomer:
    """All that is needed of a new model's rows and of the consensus of the same texts."""

    encoder: Encoder
    """What is done to its rows."""
    n: int
    """Number of rows."""
    share: float
    """Share of the variance along one direction."""
    products: Floats
    """Centred sums of products of its rows, (d, d)."""
    across: Floats
    """Sums of products of its encoded rows with the consensus, (k_new, k)."""
    image: Floats
    """Mean of the consensus of these texts, (k,)."""

    @property
    def own(self) -> Floats:
        """Sums of products of its encoded rows."""
        return self.encoder.matrix.T @ self.products @ self.encoder.matrix

    def map(self, choice: Choice, values: Floats | None, unit: float) -> AffineMap:
        """Its map into the space.

        ``gpa``: the rotation nearest to the consensus, times its ``unit``. ``gcca`` (with the ``values`` of the
        variates): ``(Z^T Z + ridge)^-1 Z^T C / value``, which holds for every member.
        """
        if values is None:
            turn = unit * polar(self.across)
        else:
            own = self.own
            penalty = choice.ridge * np.trace(own) / len(own)
            found, axes = np.linalg.eigh(own + penalty * np.eye(len(own)))
            kept = found > 1e-12 * found[-1]
            turn = (axes[:, kept] / found[kept]) @ (axes[:, kept].T @ self.across) / values
        return AffineMap(
            np.ascontiguousarray(self.encoder.matrix @ turn), self.encoder.mean, self.image
        )


def newcomer(name: str, rows: Floats, consensus: Floats, choice: Choice) -> Newcomer:
    """Prepare a model from rows (n, d) and the consensus (n, k) of the same texts."""
    policy = Scaling.read(choice.scaling)
    encoder = Spectrum.of_rows(rows, name=name, standardize=policy.standardize).encoder(
        policy, choice.width
    )
    image, free = consensus.mean(axis=0), rows - encoder.mean
    return Newcomer(
        encoder,
        len(rows),
        Spectrum.of_rows(rows, name=name).share,
        free.T @ free,
        encoder(rows).T @ (consensus - image),
        image,
    )


def newcomer_of_moments(
    name: str, moments: Moments, choice: Choice, members: Mapping[str, AffineMap]
) -> Newcomer:
    """Prepare a model from moments that hold it beside members: their mean is the consensus.

    Raises
    ------
    InputError
        If they hold no member.
    """
    known = [one for one in members if one in moments.means]
    if not known:
        raise InputError(
            f"The moments of {name} hold no model of this space ({', '.join(members)}); accumulate them over rows of "
            "both."
        )
    policy = Scaling.read(choice.scaling)
    block = np.asarray(to_numpy(moments.block(name, name)), dtype=np.float64)
    mean = moments.means[name]
    encoder = Spectrum.of_moments(
        moments.n, mean, block, name=name, standardize=policy.standardize
    ).encoder(policy, choice.width)
    across = [
        encoder.matrix.T @ np.asarray(to_numpy(moments.block(name, one))) @ members[one].matrix
        for one in known
    ]
    images = [
        members[one].points(np.asarray(to_numpy(moments.means[one]))[None])[0] for one in known
    ]
    return Newcomer(
        encoder,
        moments.n,
        Spectrum.of_moments(moments.n, mean, block, name=name).share,
        block,
        np.mean(across, axis=0),
        np.mean(images, axis=0),
    )


def beside(
    name: str, rows: Any, ids: tuple[str, ...] | None, centroid: Floats | None
) -> tuple[Floats, Floats]:
    """Rows of a new model and the consensus of the same texts.

    Raises
    ------
    InputError
        Without a consensus.
    RowMismatchError
        For rows that are not texts of the fit.
    """
    if centroid is None:
        raise InputError(
            "This space was fitted from moments and kept no consensus: add a model with Moments that hold it beside a "
            "member."
        )
    space = rows if isinstance(rows, Space) else Space(rows, name=name)
    if (space.ids is None) != (ids is None):
        one, other = ("no ids", "ids") if space.ids is None else ("ids", "none")
        raise RowMismatchError(
            f"{name} has {one} and the rows of this space have {other}: give both, or neither."
        )
    if ids is None or space.ids is None:
        if space.n != len(centroid):
            raise RowMismatchError(
                f"{name} has {space.n} rows and the fit had {len(centroid)}: row i must be the same text."
            )
        return np.asarray(to_numpy(space.rows), dtype=np.float64), centroid
    there = set(space.ids)
    at = [i for i, one in enumerate(ids) if one in there]
    if len(at) < 2:
        raise RowMismatchError(
            f"{name} shares {len(at)} texts with the fit; at least 2 are needed: give rows of the same texts."
        )
    taken = space.take([ids[i] for i in at])
    return np.asarray(to_numpy(taken.rows), dtype=np.float64), centroid[at]
