"""Geometry of token embeddings: what two models share of it, globally and near every token."""

from cospace.models.embeddings import Embeddings, TokenMatrix, read_embeddings
from cospace.tokens.coherence import Coherence, coherence_scores, measure_coherence
from cospace.tokens.frequency import Frequencies, count_tokens
from cospace.tokens.geometry import GeometryOptions, measure_geometry
from cospace.tokens.geometry_result import TokenGeometry
from cospace.tokens.graph import WordGraph, open_graph, read_conceptnet, read_wordnet
from cospace.tokens.hidden import Hidden, HiddenFigure, compare_hidden
from cospace.tokens.local import (
    WeightCosines,
    dimension_correlation,
    intrinsic_dimensions,
    weight_cosines,
)
from cospace.tokens.matching import Matched, match
from cospace.tokens.measure import compare
from cospace.tokens.neighbors import neighbors_of
from cospace.tokens.normal import NormalForm, normal_form
from cospace.tokens.options import TokenOptions
from cospace.tokens.reference import ReferenceList, read_reference
from cospace.tokens.result import (
    DimensionFigure,
    GlobalFigure,
    LocalFigure,
    SharedTokens,
    TokenComparison,
    TokenSide,
)
from cospace.tokens.similarity import Correlation, Cosines, pearson, spearman
from cospace.tokens.undertrained import (
    Recovery,
    Undertrained,
    find_undertrained,
    recovery,
    verified,
)
from cospace.tokens.verify import Repeated, Verification, repeat_probabilities
from cospace.tokens.vocabulary import Vocabulary, read_vocabulary

__all__ = [
    "Coherence",
    "Correlation",
    "Cosines",
    "DimensionFigure",
    "Embeddings",
    "Frequencies",
    "GeometryOptions",
    "GlobalFigure",
    "Hidden",
    "HiddenFigure",
    "LocalFigure",
    "Matched",
    "NormalForm",
    "Recovery",
    "ReferenceList",
    "Repeated",
    "SharedTokens",
    "TokenComparison",
    "TokenGeometry",
    "TokenMatrix",
    "TokenOptions",
    "TokenSide",
    "Undertrained",
    "Verification",
    "Vocabulary",
    "WeightCosines",
    "WordGraph",
    "coherence_scores",
    "compare",
    "compare_hidden",
    "count_tokens",
    "dimension_correlation",
    "find_undertrained",
    "intrinsic_dimensions",
    "match",
    "measure_coherence",
    "measure_geometry",
    "neighbors_of",
    "normal_form",
    "open_graph",
    "pearson",
    "read_conceptnet",
    "read_embeddings",
    "read_reference",
    "read_vocabulary",
    "read_wordnet",
    "recovery",
    "repeat_probabilities",
    "spearman",
    "verified",
    "weight_cosines",
]
