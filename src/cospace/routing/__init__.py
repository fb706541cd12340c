"""Which model should answer a prompt: real correctness, routers, and how they are judged."""

from cospace.routing.answers import Answer, answer_prompts
from cospace.routing.features import Features, FeatureSet
from cospace.routing.grading import is_right
from cospace.routing.judge import judge_routing
from cospace.routing.policies import PolicyScore, mcnemar
from cospace.routing.pool import Pool
from cospace.routing.result import Routing

__all__ = [
    "Answer",
    "FeatureSet",
    "Features",
    "PolicyScore",
    "Pool",
    "Routing",
    "answer_prompts",
    "is_right",
    "judge_routing",
    "mcnemar",
]
