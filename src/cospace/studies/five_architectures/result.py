"""The result of a five-architectures study: its parts, which are results of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from cospace.correspondence import Correspondence
from cospace.result import Result, plain
from cospace.routing import Routing
from cospace.shared.sweep import SharedSweep

__all__ = ["FiveArchitectures"]


@dataclass(frozen=True)
class FiveArchitectures(Result):
    """The whole study. Read it, draw it, save it; it computes nothing."""

    kind: ClassVar[str] = "five-architectures study"

    title: str
    """Title of the report."""
    models: tuple[str, ...]
    """The models, in order."""
    correspondence: Correspondence
    """Whether the models agree on who is near whom."""
    sweep: SharedSweep
    """Where a shared space wins, ties and loses, by pooling and depth."""
    routing: Routing | None
    """The judgement of a router; None where no decoders were named."""
    settings: Mapping[str, Any]
    """The study file."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Models, texts, versions."""

    def with_provenance(self, **facts: Any) -> FiveArchitectures:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a depth, pooling and set of texts: the shared spaces."""
        return self.sweep.records()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a study from ``to_dict``."""
        for key, kind in (("title", str), ("settings", Mapping), ("provenance", Mapping)):
            if not isinstance(data[key], kind):
                raise TypeError(f"{key} is {data[key]!r}")
        return cls(
            title=data["title"],
            models=tuple(map(str, data["models"])),
            correspondence=Correspondence.from_dict(data["correspondence"]),
            sweep=SharedSweep.from_dict(data["sweep"]),
            routing=None if data["routing"] is None else Routing.from_dict(data["routing"]),
            settings=data["settings"],
            provenance=data["provenance"],
        )
