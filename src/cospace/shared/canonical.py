"""Regularised generalized canonical correlation (MAXVAR) on cross-covariance blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from cospace.errors import InputError
from cospace.shared.blocks import Blocks
from cospace.shared.scaling import Floats

__all__ = ["Variates", "canonical_variates"]


@dataclass(frozen=True, eq=False)
class Variates:
    """Maps of all models onto shared variates."""

    maps: tuple[Floats, ...]
    """Map of every model from its encoded coordinates, weights included, shape (k_a, k)."""
    shift: Floats
    """Translation of every model, shape (M, k); 0 where no text is missing."""
    values: Floats
    """Share of each variate's (regularised) variance that lies in the mean over models, shape
    (k,), largest first: 1 where all models agree, 1/M where they have nothing in common."""
    weights: Floats
    """What each variate is multiplied with, shape (k,)."""
    ridge: float
    """Penalty, relative to the mean variance of a model's encoded coordinates."""


def canonical_variates(blocks: Blocks, *, width: int, ridge: float) -> Variates:
    """Directions of every model whose mean over models keeps most of their variance.

    ``max sum_ab v_a^T C_ab v_b`` subject to ``sum_a v_a^T (Z_a^T Z_a + ridge m_a I) v_a = 1``, m_a
    the mean of the diagonal of ``Z_a^T Z_a`` and C_ab with its weight 1/M: the leading
    eigenvectors of one symmetric matrix. Variates are multiplied with the mean correlation that
    their value stands for, ``max((M value - 1) / (M - 1), 0)``, so that what models do not share
    is not heard.

    Equivalent for 2 models and ridge 0 to canonical correlation analysis, value (1 + rho) / 2.

    Parameters
    ----------
    blocks
        Blocks of the models.
    width
        Number of variates.
    ridge
        Penalty, 0 or more.

    Returns
    -------
    Variates
        Cost K^3, K the sum of widths; the largest entry of all maps of a variate is above 0.

    Raises
    ------
    InputError
        For a ridge below 0, or more variates than all models have coordinates.

    References
    ----------
    Kettenring 1971 (MAXVAR); Carroll 1968.
    """
    if not ridge >= 0.0:
        raise InputError(f"ridge is {ridge}; a number, 0 or more, is expected.")
    if not 1 <= width <= len(blocks.whole):
        raise InputError(
            f"{width} variates were asked for; from 1 to {len(blocks.whole)} can be had of these models."
        )
    roots = []
    for gram in blocks.own:
        values, axes = np.linalg.eigh(gram)
        values = values + ridge * np.trace(gram) / len(gram)
        roots.append((axes / np.sqrt(np.maximum(values, 1e-12 * values[-1]))) @ axes.T)
    root = scipy.linalg.block_diag(*roots)
    inner = root @ blocks.whole @ root
    last = len(inner) - 1
    found, vectors = scipy.linalg.eigh(
        (inner + inner.T) / 2.0, subset_by_index=(last - width + 1, last), driver="evr"
    )
    values, stacked = found[::-1], root @ vectors[:, ::-1]
    many = len(blocks.own)
    weights = np.maximum((many * values - 1.0) / (many - 1.0), 0.0)
    stacked = stacked * weights
    peak = stacked[np.abs(stacked).argmax(axis=0), np.arange(width)]
    stacked *= np.where(peak < 0.0, -1.0, 1.0)
    return Variates(
        tuple(stacked[part] for part in blocks.parts),
        blocks.shift @ stacked,
        np.asarray(values),
        weights,
        ridge,
    )
