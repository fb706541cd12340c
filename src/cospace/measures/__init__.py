"""The catalogue of measures: plain functions, and a frozen record of claims for each.

Every name of the catalogue is a function here too: ``measures.rsa_cosine(x, y)``.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from cospace.measures.base import TRANSFORMS, Measure, Summary, find
from cospace.measures.canonical import mean_cca, predictive_r2, pwcca, r2_cca, svcca
from cospace.measures.catalogue import CATALOGUE, DEFAULT
from cospace.measures.description import (
    DESCRIPTIONS,
    Description,
    effective_rank,
    local_pca_dimension,
    participation_ratio,
    two_nn_dimension,
)
from cospace.measures.dissimilarity import dissimilarities, representational_similarity
from cospace.measures.held_out import heldout_r2
from cospace.measures.imbalance import information_imbalance
from cospace.measures.kernel import polynomial_cka, rbf_cka
from cospace.measures.neighborhood import cknna, cycle_knn, jaccard_knn, nearest_match
from cospace.measures.reconstruction import lle_similarity, lle_weights
from cospace.measures.relational import mutual_knn, rsa
from cospace.measures.relative import relative_similarity
from cospace.measures.ridge import gulp_distance, ridge_r2
from cospace.measures.second_order import (
    debiased_cka,
    linear_cka,
    procrustes_distance,
    procrustes_similarity,
)
from cospace.measures.shape import bures_distance, bures_similarity, shape_distance
from cospace.measures.transport import soft_matching_distance, soft_matching_similarity

__all__ = [
    "CATALOGUE",
    "DEFAULT",
    "DESCRIPTIONS",
    "TRANSFORMS",
    "Description",
    "Measure",
    "Summary",
    "bures_distance",
    "bures_similarity",
    "cknna",
    "cycle_knn",
    "debiased_cka",
    "dissimilarities",
    "effective_rank",
    "find",
    "gulp_distance",
    "heldout_r2",
    "information_imbalance",
    "jaccard_knn",
    "linear_cka",
    "lle_similarity",
    "lle_weights",
    "local_pca_dimension",
    "mean_cca",
    "mutual_knn",
    "nearest_match",
    "participation_ratio",
    "polynomial_cka",
    "predictive_r2",
    "procrustes_distance",
    "procrustes_similarity",
    "pwcca",
    "r2_cca",
    "rbf_cka",
    "relative_similarity",
    "representational_similarity",
    "ridge_r2",
    "rsa",
    "shape_distance",
    "soft_matching_distance",
    "soft_matching_similarity",
    "svcca",
    "two_nn_dimension",
]


def __getattr__(name: str) -> Callable[[Any, Any], float]:
    for measure in CATALOGUE:
        if measure.name == name:
            return measure.function
    near = get_close_matches(name, [*__all__, *(m.name for m in CATALOGUE)], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module 'cospace.measures' has no attribute {name!r}.{hint}")
