"""Geometry of token embeddings: what two models share of it, globally and near every token."""

from cospace.models.embeddings import Embeddings, TokenMatrix, read_embeddings
from cospace.tokens.coherence import Coherence, coherence_scores, measure_coherence
from cospace.tokens.frequency import Frequencies, count_tokens
from cospace.tokens.graph import WordGraph, open_graph, read_conceptnet, read_wordnet
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
    ReferenceList,
    Undertrained,
    find_undertrained,
    read_reference,
    recovery,
)
from cospace.tokens.vocabulary import Vocabulary, read_vocabulary

__all__ = [
    "Coherence",
    "Correlation",
    "Cosines",
    "DimensionFigure",
    "Embeddings",
    "Frequencies",
    "GlobalFigure",
    "LocalFigure",
    "Matched",
    "NormalForm",
    "Recovery",
    "ReferenceList",
    "SharedTokens",
    "TokenComparison",
    "TokenMatrix",
    "TokenOptions",
    "TokenSide",
    "Undertrained",
    "Vocabulary",
    "WeightCosines",
    "WordGraph",
    "coherence_scores",
    "compare",
    "count_tokens",
    "dimension_correlation",
    "find_undertrained",
    "intrinsic_dimensions",
    "match",
    "measure_coherence",
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
    "spearman",
    "weight_cosines",
]
