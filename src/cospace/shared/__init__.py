"""One shared space for many models: alignment, its baselines, and retrieval that tests it."""

from cospace.shared.choose import SCALINGS, Candidate, Choice
from cospace.shared.control import Control
from cospace.shared.member import Member, Search
from cospace.shared.methods import METHODS
from cospace.shared.result import Contrast, PairScore, Score, SharedScore
from cospace.shared.score import score_shared
from cospace.shared.sets import RetrievalSet, Split, split_texts
from cospace.shared.space import SharedSpace
from cospace.shared.sweep import Refusal, SharedSweep, SweepCell, summarise
from cospace.shared.view import SpaceView

__all__ = [
    "METHODS",
    "SCALINGS",
    "Candidate",
    "Choice",
    "Contrast",
    "Control",
    "Member",
    "PairScore",
    "Refusal",
    "RetrievalSet",
    "Score",
    "Search",
    "SharedScore",
    "SharedSpace",
    "SharedSweep",
    "SpaceView",
    "Split",
    "SweepCell",
    "score_shared",
    "split_texts",
    "summarise",
]
