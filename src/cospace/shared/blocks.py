"""Cross-covariance blocks of several models over the same texts: all that alignment needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace._arrays import to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.moments import Moments
from cospace.shared.scaling import Encoder, Floats, Scaling, Spectrum

__all__ = ["Blocks"]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks ``C_ab = sum_i w_i z_ai^T z_bi`` of encoded rows, one for each two of M models.

    ``w_i`` is 1 over the number of models that have text i. With maps R_a and the best
    translation of every model, the summed squared distance of all rows from their text's mean is
    ``sum_a ||Z_a R_a||^2 - sum_ab tr(R_a^T C_ab R_b)``, so that no row is needed once these are
    there. Where every model has every text, translations are 0 and C_ab is Z_a^T Z_b / M; where
    not, they are eliminated from the blocks exactly (``shift``).
    """

    encoders: tuple[Encoder, ...]
    """What was done to the rows of every model."""
    counts: tuple[int, ...]
    """Number of texts that every model has."""
    texts: int
    """Number of texts that at least one model has."""
    whole: Floats
    """All blocks in one symmetric matrix, shape (K, K), K the sum of the models' widths."""
    own: tuple[Floats, ...]
    """``Z_a^T Z_a`` of every model, unweighted, shape (k_a, k_a)."""
    shift: Floats
    """From stacked maps (K, k) to translations (M, k); zeros where nothing is missing."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(one.name for one in self.encoders)

    @property
    def widths(self) -> tuple[int, ...]:
        """Coordinates of every model."""
        return tuple(one.width for one in self.encoders)

    @property
    def parts(self) -> tuple[slice, ...]:
        """Where every model lies in ``whole``."""
        ends = np.cumsum(self.widths)
        return tuple(slice(int(e) - k, int(e)) for e, k in zip(ends, self.widths, strict=True))

    def cross(self, a: int, b: int) -> Floats:
        """``C_ab`` by the numbers of two models."""
        return self.whole[self.parts[a], self.parts[b]]

    @classmethod
    def of_rows(
        cls,
        rows: Mapping[str, Any],
        *,
        scaling: Scaling | str = "none",
        width: int,
        present: Mapping[str, npt.NDArray[np.bool_]] | None = None,
    ) -> Blocks:
        """Blocks of rows; row i is the same text in all models.

        Parameters
        ----------
        rows
            Name -> rows of shape (n, d_m), of the texts that the model has, in their order.
        scaling
            Policy, see :class:`Scaling`.
        width
            Most coordinates of a model; one of lower rank gets its rank.
        present
            Name -> which of all texts the model has, shape (N,); by default all.

        Raises
        ------
        InputError
            For fewer than 2 models, or rows of another number than the texts.
        UndefinedMeasureError
            For rows that are all the same, or models that share no text.
        """
        policy = Scaling.read(scaling) if isinstance(scaling, str) else scaling
        _at_least_two(rows)
        encoders = [
            Spectrum.of_rows(table, name=name, standardize=policy.standardize).encoder(
                policy, width
            )
            for name, table in rows.items()
        ]
        if present is not None:
            # Of size 1 are all texts: one that a model lacks takes its share of the size with it.
            encoders = [
                Encoder(
                    e.name,
                    e.mean,
                    e.matrix * float(np.sqrt(len(rows[e.name]) / len(present[e.name]))),
                )
                for e in encoders
            ]
        return cls.of_encoded(encoders, [e(rows[e.name]) for e in encoders], present=present)

    @classmethod
    def of_encoded(
        cls,
        encoders: Sequence[Encoder],
        rows: Sequence[Floats],
        *,
        present: Mapping[str, npt.NDArray[np.bool_]] | None = None,
    ) -> Blocks:
        """Blocks of rows that were encoded already; cost N K^2."""
        own = tuple(z.T @ z for z in rows)
        counts = tuple(map(len, rows))
        if present is None:
            if len(set(counts)) > 1:
                told = ", ".join(f"{e.name} {n}" for e, n in zip(encoders, counts, strict=True))
                raise InputError(
                    f"The models have different numbers of rows ({told}); row i must be the same text in all."
                )
            stacked = np.hstack(rows)
            whole = stacked.T @ stacked / len(rows)
            return cls(
                tuple(encoders), counts, counts[0], whole, own, np.zeros((len(rows), len(whole)))
            )
        masks = [np.asarray(present[e.name], dtype=bool) for e in encoders]
        for encoder, count, mask in zip(encoders, counts, masks, strict=True):
            if int(mask.sum()) != count or len(mask) != len(masks[0]):
                raise InputError(
                    f"{encoder.name} has {count} rows, and its mask tells of {int(mask.sum())} in {len(mask)} texts."
                )
        return _masked(tuple(encoders), rows, masks, own)

    @classmethod
    def of_moments(cls, moments: Moments, *, scaling: Scaling | str = "none", width: int) -> Blocks:
        """Blocks from joint moments, whatever the number of rows that they are of; cost K d (d + K).

        Raises
        ------
        InputError
            For fewer than 2 models.
        UnknownNameError
            For moments that lack the block of a pair.
        UndefinedMeasureError
            For rows that are all the same.
        """
        policy = Scaling.read(scaling) if isinstance(scaling, str) else scaling
        _at_least_two(moments.means)
        encoders = tuple(
            Spectrum.of_moments(
                moments.n,
                mean,
                moments.block(name, name),
                name=name,
                standardize=policy.standardize,
            ).encoder(policy, width)
            for name, mean in moments.means.items()
        )
        table = [
            [
                a.matrix.T @ np.asarray(to_numpy(moments.block(a.name, b.name))) @ b.matrix
                for b in encoders
            ]
            for a in encoders
        ]
        whole = np.block(table)
        count = len(encoders)
        return cls(
            encoders,
            (moments.n,) * count,
            moments.n,
            (whole + whole.T) / (2 * count),
            tuple(table[i][i] for i in range(count)),
            np.zeros((count, len(whole))),
        )

    def narrowed(self, width: int) -> Blocks:
        """The same with the first ``width`` coordinates of every model, of size 1 again."""
        kept, encoders, own = [], [], []
        factor = []
        for part, encoder, gram in zip(self.parts, self.encoders, self.own, strict=True):
            k = min(width, encoder.width)
            size = np.sqrt(np.trace(gram[:k, :k]))
            kept.append(np.arange(part.start, part.start + k))
            factor.append(np.full(k, 1.0 / size))
            encoders.append(Encoder(encoder.name, encoder.mean, encoder.matrix[:, :k] / size))
            own.append(gram[:k, :k] / size**2)
        at, by = np.concatenate(kept), np.concatenate(factor)
        whole = self.whole[np.ix_(at, at)] * by[:, None] * by
        return Blocks(
            tuple(encoders), self.counts, self.texts, whole, tuple(own), self.shift[:, at] * by
        )


def _at_least_two(models: Mapping[str, Any]) -> None:
    if len(models) < 2:
        raise InputError(
            f"{len(models)} model was given; a shared space is of at least 2: give rows of more models."
        )


def _masked(
    encoders: tuple[Encoder, ...],
    rows: Sequence[Floats],
    masks: list[npt.NDArray[np.bool_]],
    own: tuple[Floats, ...],
) -> Blocks:
    having = np.array(masks, dtype=np.float64)
    have = having.sum(axis=0)
    weight = np.where(have > 0, 1.0 / np.maximum(have, 1.0), 0.0)
    stacked = np.zeros((having.shape[1], sum(z.shape[1] for z in rows)))
    start = 0
    for z, mask in zip(rows, masks, strict=True):
        stacked[mask, start : start + z.shape[1]] = z
        start += z.shape[1]
    weighted = stacked * weight[:, None]
    # With translations T the loss is that of the blocks plus tr(T' A T) - 2 tr(T' H R).
    among = np.diag(having.sum(axis=1)) - (having * weight) @ having.T
    pull = having @ weighted
    values, vectors = np.linalg.eigh(among)
    free = values > 1e-9 * max(1.0, values[-1])
    if int(free.sum()) < len(masks) - 1:
        raise UndefinedMeasureError(
            "The models fall into parts that share no text: give texts that link all of them."
        )
    inverse = (vectors[:, free] / values[free]) @ vectors[:, free].T
    shift = inverse @ pull
    whole = stacked.T @ weighted + pull.T @ shift
    return Blocks(
        encoders,
        tuple(map(len, rows)),
        int(np.sum(have > 0)),
        (whole + whole.T) / 2.0,
        own,
        shift,
    )
