"""One shared space for many models: alignment, its baselines, and retrieval that tests it."""

from cospace.shared.choose import Candidate, Choice
from cospace.shared.member import Member, Search
from cospace.shared.space import SharedSpace
from cospace.shared.view import SpaceView

__all__ = ["Candidate", "Choice", "Member", "Search", "SharedSpace", "SpaceView"]
