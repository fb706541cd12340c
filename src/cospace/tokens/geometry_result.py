"""Everything that was found of the token embeddings of some models, in one result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from cospace.errors import ContradictionError, InputError
from cospace.result import Result, checked, plain
from cospace.tokens.coherence import Coherence
from cospace.tokens.hidden import Hidden
from cospace.tokens.result import TokenComparison
from cospace.tokens.undertrained import Undertrained
from cospace.whole import check_pairs

__all__ = ["TokenGeometry"]

_CONTEXT = {"alone": "of tokens alone", "text": "of tokens in texts"}


@dataclass(frozen=True)
class TokenGeometry(Result):
    """Geometry of the tokens of one model or more. Read it, save it; it computes nothing."""

    kind: ClassVar[str] = "token geometry"

    models: tuple[str, ...]
    """Their names."""
    comparisons: tuple[TokenComparison, ...]
    """Embeddings of every two of them."""
    hidden: Hidden | None = None
    """Their states at relative depths."""
    coherence: tuple[Coherence, ...] = ()
    """Neighbours that mean something to each other, a model each."""
    undertrained: tuple[Undertrained, ...] = ()
    """Candidates for undertrained tokens, a model each."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Options."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number; those of comparisons stand there."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Versions, command."""

    @classmethod
    def of(cls, comparison: TokenComparison) -> TokenGeometry:
        """The geometry that one comparison is."""
        return cls(
            (comparison.a.name, comparison.b.name),
            (comparison,),
            settings=comparison.settings,
            provenance=comparison.provenance,
        )

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a figure, as of a comparison; hidden layers have their context and sites."""
        rows = [row for one in self.comparisons for row in one.records()]
        for one in self.hidden.figures if self.hidden is not None else ():
            at = {"a": one.a, "b": one.b, "role_a": one.site_a, "role_b": one.site_b}
            for name in ("pearson", "spearman"):
                figure = f"cosines {_CONTEXT[one.context]}, {name}"
                row: dict[str, Any] = {**at, "tokens": one.tokens, "figure": figure, "k": None}
                row |= {"value": getattr(one, name), "chance": 0.0, "chance_sd": one.null_sd}
                rows.append(row)
        return rows

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``.

        Raises
        ------
        InputError
            For another dictionary.
        """
        try:
            hidden = None
            if data["hidden"] is not None:
                hidden = Hidden.from_dict(data["hidden"])
            values: dict[str, Any] = {
                "hidden": hidden,
                "comparisons": [*map(TokenComparison.from_dict, data["comparisons"])],
                "coherence": [*map(Coherence.from_dict, data["coherence"])],
                "undertrained": [*map(Undertrained.from_dict, data["undertrained"])],
            }
            for name in ("models", "settings", "warnings", "provenance"):
                values[name] = data[name]
            made: Self = checked(cls, values)
            made._check()
            return made
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"This is no token geometry that this version wrote: {error}."
            ) from None

    def _check(self) -> None:
        """Refuse parts that do not go together."""
        pairs = [(one.a.name, one.b.name) for one in self.comparisons]
        check_pairs(pairs, self.models, "comparisons", ordered=False)
        if self.hidden is not None:
            for at in {(one.context, one.depth) for one in self.hidden.figures}:
                here = [f for f in self.hidden.figures if (f.context, f.depth) == at]
                check_pairs([(f.a, f.b) for f in here], self.models, "hidden", ordered=False)
            if not self.hidden.figures:
                raise ContradictionError("hidden: no figure is there")

    def with_provenance(self, **facts: Any) -> TokenGeometry:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})
