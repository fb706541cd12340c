"""A fitted linear map as a value: what it does, how it was fitted, how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from cospace._tensorfile import read_tensors, write_tensors
from cospace.errors import InputError
from cospace.maps.affine import AffineMap, Floats
from cospace.maps.held_out import HeldOut
from cospace.maps.solve import PenaltyPoint

__all__ = ["HeldOut", "LinearMap", "PenaltyPoint", "PulledBack"]

_ARRAYS = ("matrix", "center", "image")
_FACTS = (
    "method",
    "with_offset",
    "source",
    "target",
    "matched",
    "n",
    "rank",
    "source_rank",
    "condition",
    "rtol",
    "penalty",
    "r2",
    "shuffle",
    "warnings",
)


class PulledBack(NamedTuple):
    """A linear classifier of the target, as one of the source."""

    weight: Floats
    """Shape (p,) or (C, p), as it was given for the target."""
    offset: Floats
    """Shape () or (C,)."""


@dataclass(frozen=True, eq=False, repr=False)
class LinearMap:
    """A map ``y = (x - center) matrix + image`` from rows of a source to rows of a target.

    A text or a token is a point and is mapped with the offset; a steering vector is a direction
    and is mapped without it. Made by :func:`~cospace.maps.fit_map`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> from cospace.maps import fit_map
    >>> double = fit_map(source=x, target=2.0 * x + 5.0, method="affine", folds=2)
    >>> double.points([[10.0]]).round(9).tolist(), double.directions([[10.0]]).round(9).tolist()
    ([[25.0]], [[20.0]])
    """

    kind: ClassVar[str] = "linear_map"
    schema: ClassVar[int] = 1

    affine: AffineMap
    """The map itself."""
    method: str
    """``least_squares``, ``affine``, ``ridge``, ``orthogonal`` or ``low_rank``."""
    with_offset: bool
    """Whether an offset was fitted; without one the origin stays where it is."""
    source: str
    """Name of the space that it maps from."""
    target: str
    """Name of the space that it maps to."""
    matched: str
    """How rows were matched: ``ids`` or ``position``."""
    n: int
    """Number of rows of the fit."""
    rank: int
    """Rank of the linear part."""
    source_rank: int
    """Directions of the source above the rank tolerance, which the fit could use."""
    condition: float
    """Largest over smallest singular value of the source among them."""
    rtol: float
    """Rank tolerance, relative to the largest singular value."""
    penalty: float | None
    """Ridge penalty, relative to the largest squared singular value of the source."""
    tried: tuple[PenaltyPoint, ...]
    """Penalties and their R2 on inner folds; empty where none was chosen."""
    r2: float
    """Share of the target's variance explained on the rows of the fit: in-sample."""
    held_out: HeldOut | None
    """Scores on rows that were not fitted, None where they were not asked for or cannot be had."""
    shuffle: int | None = None
    """Seed with which the rows of the source were shuffled: then the map is a control."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Fingerprints and facts of the two spaces."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))

    def __repr__(self) -> str:
        unseen = "" if self.held_out is None else f", held-out R2 {self.held_out.r2:.3f}"
        return (
            f"LinearMap({self.source!r} -> {self.target!r}, {self.method}, "
            f"{self.width} -> {self.target_width}, rank {self.rank}{unseen})"
        )

    @property
    def matrix(self) -> Floats:
        """Linear part, shape (p, d)."""
        return self.affine.matrix

    @property
    def offset(self) -> Floats:
        """Where the origin goes, shape (d,)."""
        return self.affine.offset

    @property
    def width(self) -> int:
        """Coordinates of the source, p."""
        return int(self.affine.matrix.shape[0])

    @property
    def target_width(self) -> int:
        """Coordinates of the target, d."""
        return int(self.affine.matrix.shape[1])

    def points(self, x: Any) -> Floats:
        """Map points, shape (m, p) or (p,), with the offset.

        Raises
        ------
        InputError
            For rows that are no finite numbers, or of another width.
        """
        rows, single = _table(x)
        mapped = self.affine.points(rows)
        return np.asarray(mapped[0] if single else mapped)

    def directions(self, v: Any) -> Floats:
        """Map directions, shape (m, p) or (p,), without the offset.

        Raises
        ------
        InputError
            For rows that are no finite numbers, or of another width.
        """
        rows, single = _table(v)
        mapped = self.affine.directions(rows)
        return np.asarray(mapped[0] if single else mapped)

    def probe(self, w: Any, b: Any = 0.0) -> PulledBack:
        """Carry a linear classifier of the target back to the source.

        The classifier ``w . y + b`` reads the image of x: ``w . points(x) + b`` is
        ``(M w) . x + (b + w . offset)``.

        Parameters
        ----------
        w
            Weights on the target's coordinates, shape (d,), or (C, d) for C classes.
        b
            Offset, a number, or shape (C,).

        Raises
        ------
        InputError
            For shapes that do not fit the target, or entries that are not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from cospace.maps import fit_map
        >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
        >>> there = fit_map(source=x, target=2.0 * x + 5.0, method="affine", folds=2)
        >>> back = there.probe([1.0], -7.0)
        >>> back.weight.round(9).tolist(), round(float(back.offset), 9)
        ([2.0], -2.0)
        """
        weight, offset = np.asarray(w, dtype=np.float64), np.asarray(b, dtype=np.float64)
        many = weight.shape[:-1] if weight.ndim in (1, 2) else None
        if many is None or weight.shape[-1] != self.target_width or offset.shape not in ((), many):
            raise InputError(
                f"A classifier with weights of shape {weight.shape} and an offset of shape {offset.shape} was given; "
                f"({self.target_width},) with a number, or (classes, {self.target_width}) with (classes,), "
                "reads the target of this map."
            )
        if not (np.isfinite(weight).all() and np.isfinite(offset).all()):
            raise InputError("The classifier has weights that are NaN or infinite: fit it again.")
        pulled = weight @ self.affine.matrix.T
        shift = weight @ self.affine.image - pulled @ self.affine.center
        return PulledBack(np.asarray(pulled), np.asarray(offset + shift))

    def to_dict(self) -> dict[str, Any]:
        """All but the arrays, as plain values."""
        held_out = None if self.held_out is None else asdict(self.held_out)
        return {
            **{name: getattr(self, name) for name in _FACTS},
            "tried": [asdict(point) for point in self.tried],
            "held_out": held_out,
            "facts": dict(self.facts),
        }

    def save(self, path: str | Path) -> None:
        """Write one safetensors file whose header holds the rest as JSON.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        arrays = {name: getattr(self.affine, name) for name in _ARRAYS}
        write_tensors(path, arrays, self.to_dict(), kind=self.kind, schema=self.schema)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote.

        Raises
        ------
        InputError
            If the file cannot be read, or is no whole map.
        """
        arrays, facts = read_tensors(path, kind=cls.kind, schema=cls.schema)
        try:
            held_out = facts.pop("held_out")
            found = cls(
                affine=AffineMap(**{name: arrays[name] for name in _ARRAYS}),
                tried=tuple(PenaltyPoint(**point) for point in facts.pop("tried")),
                held_out=None if held_out is None else HeldOut(**_numbers(held_out)),
                warnings=tuple(facts.pop("warnings")),
                **facts,
            )
        except (KeyError, TypeError):
            raise InputError(
                f"{path} is no whole {cls.kind}: it was changed or cut since it was saved; save it again."
            ) from None
        shapes = (found.affine.matrix.shape, found.affine.center.shape, found.affine.image.shape)
        if shapes[0] != (*shapes[1], *shapes[2]):
            raise InputError(
                f"{path} holds a matrix of shape {shapes[0]} with a center {shapes[1]} and an image {shapes[2]}: they "
                "do not fit; save the map again."
            )
        return found


def _table(x: Any) -> tuple[Any, bool]:
    single = getattr(x, "ndim", None) == 1 or (
        not hasattr(x, "ndim") and len(x) > 0 and not hasattr(x[0], "__len__")
    )
    return (x[None, :] if hasattr(x, "ndim") else [x]) if single else x, single


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """A number that JSON did not hold is not defined."""
    return {key: float("nan") if value is None else value for key, value in values.items()}
