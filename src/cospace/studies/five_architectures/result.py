"""The result of a five-architectures study: its parts, which are results of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from cospace.correspondence import Correspondence
from cospace.errors import ContradictionError
from cospace.result import Result, plain
from cospace.routing import Routing
from cospace.shared.sweep import SharedSweep
from cospace.whole import check_names, check_once

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
        """Rebuild a study from ``to_dict``.

        Raises
        ------
        ContradictionError
            For parts that do not go together.
        """
        for key, kind in (("title", str), ("settings", Mapping), ("provenance", Mapping)):
            if not isinstance(data[key], kind):
                raise TypeError(f"{key} is {data[key]!r}")
        found = cls(
            title=data["title"],
            models=tuple(map(str, data["models"])),
            correspondence=Correspondence.from_dict(data["correspondence"]),
            sweep=SharedSweep.from_dict(data["sweep"]),
            routing=None if data["routing"] is None else Routing.from_dict(data["routing"]),
            settings=data["settings"],
            provenance=data["provenance"],
        )
        found._check()
        return found

    def _check(self) -> None:
        """Refuse parts that are of other models."""
        check_once(self.models, "models")
        for part, names in (
            ("correspondence", self.correspondence.models),
            ("sweep", self.sweep.models),
        ):
            if sorted(names) != sorted(self.models):
                raise ContradictionError(
                    f"{part} is of {', '.join(names)}, and the study of {', '.join(self.models)}"
                )
        if self.routing is not None:
            check_names(self.routing.models, self.models, "routing")
