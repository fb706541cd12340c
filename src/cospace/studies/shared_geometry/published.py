"""What the paper reports, to stand beside ours.

"Shared Global and Local Geometry of Language Model Embeddings", COLM 2025 (arXiv 2503.21073).
Where it tells no number, its words.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "Published"]


@dataclass(frozen=True)
class Published:
    """One statement of the paper."""

    topic: str
    """What it is of: ``cosines``, ``weights``, ``dimension``, ``coherence``, ``undertrained``,
    ``steering``."""
    figure: str
    """The figure of ours that it stands beside, a key of `cospace.studies.shared_geometry.claims`."""
    on: str
    """Its models."""
    words: str
    """What it says."""
    value: float | None = None
    """Its number, where it tells one."""


_LLAMA, _GPT2 = "Llama 3 8B", "GPT-2 medium"

PUBLISHED: tuple[Published, ...] = (
    Published("cosines", "embeddings", "most models of one family", "high"),
    Published("cosines", "embeddings", "Llama 3, base and instruct", "about 1"),
    Published("cosines", "embeddings", "Llama 3, untied", "low"),
    Published("cosines", "unembeddings", "Llama 3, untied", "high"),
    Published(
        "cosines", "unembeddings", "GPT-NeoX-20B and OLMo-7B: one tokenizer, other data", "", 0.32
    ),
    Published("weights", "mean cosine", "most tokens, within families", "high"),
    Published("dimension", "Spearman", "within GPT-2, within Llama 3", "high"),
    Published("dimension", "Spearman", "within Gemma 2", "low"),
    Published("coherence", "star", "GPT-2, Llama 3", "strongly negative"),
    Published("coherence", "star", "Gemma 2", "none"),
    Published("undertrained", "apart", _LLAMA, "13,967 tokens", 0.109),
    Published("undertrained", "apart", _GPT2, "3,581 tokens", 0.071),
    Published("undertrained", "recall", _LLAMA, "924 of 2,225 listed", 0.415),
    Published("undertrained", "recall", _GPT2, "106 of 967 listed", 0.110),
    Published("undertrained", "precision", _LLAMA, "924 of 13,967 candidates", 0.066),
    Published("undertrained", "precision", _GPT2, "106 of 3,581 candidates", 0.029),
    Published(
        "steering",
        "recovered",
        "Llama 3 1B and 3B to 8B; GPT-2",
        "like the model’s own in most cases, not in all",
    ),
)
"""In the order of the paper."""
