"""The catalogue of measures: plain functions, and a frozen record of claims for each."""

from cospace.measures.base import TRANSFORMS, Measure, Summary, find
from cospace.measures.catalogue import CATALOGUE, DEFAULT
from cospace.measures.held_out import heldout_r2
from cospace.measures.relational import mutual_knn, rsa
from cospace.measures.second_order import (
    debiased_cka,
    linear_cka,
    mean_cca,
    predictive_r2,
    procrustes_distance,
    procrustes_similarity,
    pwcca,
    r2_cca,
    svcca,
)

__all__ = [
    "CATALOGUE",
    "DEFAULT",
    "TRANSFORMS",
    "Measure",
    "Summary",
    "debiased_cka",
    "find",
    "heldout_r2",
    "linear_cka",
    "mean_cca",
    "mutual_knn",
    "predictive_r2",
    "procrustes_distance",
    "procrustes_similarity",
    "pwcca",
    "r2_cca",
    "rsa",
    "svcca",
]
