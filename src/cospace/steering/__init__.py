"""Steering vectors: build, apply, score, and carry them from one model to another."""

from cospace.steering.build import build
from cospace.steering.carry import MapPlan, carry
from cospace.steering.choose import build_chosen, unseen_items
from cospace.steering.curve import CurvePoint, SteeringCurve
from cospace.steering.direction import Direction, find_direction
from cospace.steering.fitting import activation_maps, embedding_map
from cospace.steering.generation import ContinuationPoint, Continuations, Scorer, continuations
from cospace.steering.items import (
    ChoiceItem,
    Contrast,
    packaged_behaviours,
    read_items,
    read_pairs,
    split_items,
)
from cospace.steering.lexicon import WordList, packaged_word_lists
from cospace.steering.perspective import Perspective
from cospace.steering.prompts import read_prompts
from cospace.steering.score import (
    ChoiceScores,
    choice_scores,
    perplexity,
    steering_curve,
    sweep,
)
from cospace.steering.transfer import (
    Carried,
    Transfer,
    evaluate_transfer,
    matching_site,
    transfer,
)
from cospace.steering.transfer_sweep import MapSummary, TransferSweep, sweep_transfer
from cospace.steering.vector import SteeringVector

__all__ = [
    "Carried",
    "ChoiceItem",
    "ChoiceScores",
    "ContinuationPoint",
    "Continuations",
    "Contrast",
    "CurvePoint",
    "Direction",
    "MapPlan",
    "MapSummary",
    "Perspective",
    "Scorer",
    "SteeringCurve",
    "SteeringVector",
    "Transfer",
    "TransferSweep",
    "WordList",
    "activation_maps",
    "build",
    "build_chosen",
    "carry",
    "choice_scores",
    "continuations",
    "embedding_map",
    "evaluate_transfer",
    "find_direction",
    "matching_site",
    "packaged_behaviours",
    "packaged_word_lists",
    "perplexity",
    "read_items",
    "read_pairs",
    "read_prompts",
    "split_items",
    "steering_curve",
    "sweep",
    "sweep_transfer",
    "transfer",
    "unseen_items",
]
