"""A steering vector as a value: what it is, where it belongs, and what it was made from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from cospace._numbers import check_number
from cospace._tensorfile import read_tensors, write_tensors
from cospace.errors import InputError, UnknownNameError
from cospace.steering.reach import named_tokens

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["Floats", "SteeringVector", "Unit"]

Floats = npt.NDArray[np.float64]

Unit = Literal["vector", "residual", "spread"]

ADD = "add"
_FACTS = (
    "model",
    "weights_hash",
    "site",
    "blocks",
    "operation",
    "method",
    "token",
    "residual_norm",
    "spread",
    "warnings",
)


def _whole(facts: Mapping[str, Any]) -> bool:
    """Whether what a file says of a vector is of the right kinds."""
    sizes = ("residual_norm", "spread")
    words = [facts[name] for name in _FACTS if name not in ("blocks", "warnings", *sizes)]
    warnings = facts["warnings"]
    numbers = [facts[name] for name in sizes]
    return (
        all(isinstance(one, str) for one in words)
        and all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)
        and type(facts["blocks"]) is int
        and facts["blocks"] > 0
        and isinstance(warnings, list)
        and all(isinstance(one, str) for one in warnings)
    )


@dataclass(frozen=True, eq=False, repr=False)
class SteeringVector:
    """A direction at one site of one model, to be added to the states of its tokens.

    Raises
    ------
    InputError
        For a vector that is not one finite row, is zero, or an operation other than ``add``.
    """

    kind: ClassVar[str] = "steering_vector"
    schema: ClassVar[int] = 1

    vector: Floats
    """Shape (width,)."""
    model: str
    """Name of the model that it is for."""
    weights_hash: str
    """SHA-256 over the weights of that model."""
    site: str
    """Where it is added: ``block.i``, ``embed`` or ``final_norm``, as read and as written."""
    blocks: int
    """Number of blocks of the model."""
    method: str
    """How it was made: ``mean_difference``, ``trimmed_difference``, ``pca``, ``probe``, or a
    transfer."""
    token: str
    """The token whose states it was made from: ``letter``, ``last`` or ``mean``, over all tokens but
    the first, which is a decoder's attention sink."""
    residual_norm: float
    """Mean norm of the states that it was made from."""
    spread: float
    """Root mean squared distance of these states from their mean. Where a few huge, nearly constant
    coordinates rule the norm, this is the scale on which states differ."""
    operation: str = ADD
    """What is done with it: ``add``."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Number and fingerprint of the texts, cosine to the mean difference, map and source of a
    transfer, and the like."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing it."""

    def __post_init__(self) -> None:
        vector = np.array(self.vector, dtype=np.float64)
        vector.flags.writeable = False
        object.__setattr__(self, "vector", vector)
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))
        bad = int(vector.size - np.isfinite(vector).sum())
        if vector.ndim != 1 or bad or not vector.any():
            held = f", {bad} of its numbers NaN or infinite," if bad else ""
            held = held or (", all zero," if vector.size and not vector.any() else "")
            raise InputError(
                f"A steering vector of shape {vector.shape}{held} was given; one finite row that is not zero is "
                "expected."
            )
        if self.operation != ADD:
            raise InputError(
                f"The operation of this steering vector is {self.operation!r}; only {ADD!r} is known here, and adding "
                "a vector made for another operation steers wrongly."
            )
        for name, size in (("residual norm", self.residual_norm), ("spread", self.spread)):
            if not (math.isfinite(size) and size > 0.0):
                raise InputError(
                    f"The {name} of a steering vector is {size}; a number above 0 is expected."
                )

    def __repr__(self) -> str:
        return (
            f"SteeringVector({self.model!r}, {self.site}, {self.method}, width {self.width}, "
            f"norm {self.norm:.4g} = {self.norm / self.residual_norm:.3g} of the residual norm = "
            f"{self.norm / self.spread:.3g} of the spread)"
        )

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return int(self.vector.shape[0])

    @property
    def norm(self) -> float:
        """Euclidean norm."""
        return float(np.linalg.norm(self.vector))

    def unit(self, name: Unit) -> float:
        """Length that a coefficient of 1 stands for.

        Raises
        ------
        UnknownNameError
            For a unit other than ``vector``, ``residual`` or ``spread``.
        """
        sizes = {"vector": self.norm, "residual": self.residual_norm, "spread": self.spread}
        if name not in sizes:
            raise UnknownNameError.among(str(name), sizes, "unit of a coefficient")
        return sizes[name]

    @property
    def depth(self) -> float:
        """Relative depth of the site: 0 for ``embed``, (i + 1) / L for ``block.i``, 1 at the end."""
        if self.site == "embed":
            return 0.0
        if not self.site.startswith("block."):
            return 1.0
        return (int(self.site.removeprefix("block.")) + 1) / self.blocks

    def scaled(self, norm: float) -> SteeringVector:
        """The same direction at another norm.

        Examples
        --------
        >>> v = SteeringVector(np.array([3.0, 4.0]), "toy", "0", "block.1", 4, "pca", "last", 9.0, 2.0)
        >>> v.norm, v.unit("spread"), v.depth, v.scaled(10.0).vector.tolist()
        (5.0, 2.0, 0.5, [6.0, 8.0])
        """
        return replace(self, vector=self.vector * (norm / self.norm))

    def check(self, decoder: Decoder) -> None:
        """Refuse a model that the vector is not for.

        Raises
        ------
        InputError
            For other weights, another width, or another number of blocks.
        """
        facts = decoder.facts
        if facts.weights_hash != self.weights_hash:
            raise InputError(
                f"This vector is for {self.model} (weights {self.weights_hash[:12]}), and {facts.name} has weights "
                f"{facts.weights_hash[:12]}: build it on {facts.name}, or carry it over with steering.transfer."
            )
        if (facts.width, facts.blocks) != (self.width, self.blocks):
            raise InputError(
                f"This vector is of width {self.width} for {self.blocks} blocks, and {facts.name} has width "
                f"{facts.width} and {facts.blocks} blocks: build it on {facts.name}."
            )
        decoder.check_site(self.site)

    @contextmanager
    def applied(
        self,
        decoder: Decoder,
        coefficient: float = 1.0,
        *,
        unit: Unit = "vector",
        positions: Any = "all",
    ) -> Iterator[None]:
        """Add the vector to the states of ``decoder`` inside the block; nothing is left afterwards.

        ``h <- h + coefficient * unit * vector / |vector|``, once to each named token in each pass.

        Parameters
        ----------
        decoder
            The model that the vector is for.
        coefficient
            How much of it is added.
        unit
            What 1 stands for: the ``vector`` as it is, the mean norm of the states that it was
            made from (``residual``), or their ``spread`` about their mean.
        positions
            ``"all"`` tokens, a number, a list of them, or a slice; numbers below 0 count from the
            end of the prompt; padding is never changed.

        Raises
        ------
        InputError
            For another model, a coefficient that is no finite number, or positions that are none
            or name a token twice.
        """
        self.check(decoder)
        check_number(coefficient=coefficient)
        if not math.isfinite(coefficient):
            raise InputError(f"The coefficient is {coefficient}; a finite number is needed.")
        named_tokens(positions)
        size = coefficient * self.unit(unit) / self.norm
        with decoder.adding(self.site, size * self.vector, positions=positions):
            yield

    def to_dict(self) -> dict[str, Any]:
        """All but the numbers of the vector, as plain values."""
        return {
            **{name: getattr(self, name) for name in _FACTS},
            "norm": self.norm,
            "width": self.width,
            "depth": self.depth,
            "provenance": dict(self.provenance),
        }

    def save(self, path: str | Path) -> None:
        """Write one safetensors file whose header holds the rest as JSON.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        arrays = {"vector": self.vector}
        write_tensors(path, arrays, self.to_dict(), kind=self.kind, schema=self.schema)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote.

        Raises
        ------
        InputError
            If the file cannot be read, is no whole vector, or was made for another operation.
        """
        arrays, facts = read_tensors(path, kind=cls.kind, schema=cls.schema)
        try:
            norm = facts.pop("norm")
            values = {name: facts[name] for name in _FACTS}
            if not isinstance(facts["provenance"], Mapping) or not _whole(values):
                raise TypeError
            values["warnings"] = tuple(values["warnings"])
            width = facts["width"]
            found = cls(vector=arrays["vector"], provenance=facts["provenance"], **values)
            found.to_dict()
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{path} is no whole {cls.kind}: it was changed or cut since it was saved; save it again."
            ) from None
        if width != found.width:
            raise InputError(
                f"{path} states a width of {width} and holds a vector of width {found.width}: it was changed since "
                "it was saved; save it again."
            )
        if (
            isinstance(norm, str | list | dict)
            or norm is None
            or abs(found.norm - norm) > 1e-9 * found.norm
        ):
            raise InputError(
                f"{path} states a norm of {norm} and holds a vector of norm {found.norm:.6g}: it was changed since "
                "it was saved; save it again."
            )
        return found
