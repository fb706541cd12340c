"""What a router may look at: columns that are fitted on training rows, whatever they are of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cospace._arrays import to_numpy
from cospace.errors import InputError, UnknownNameError
from cospace.linalg import mean_row
from cospace.probes.axes import Axes, default_width
from cospace.routing.folds import Places
from cospace.routing.pool import Floats, Pool
from cospace.shared import SharedSpace
from cospace.space import Space

__all__ = [
    "BLOCKS",
    "CONTROLS",
    "NEIGHBOURS",
    "Columns",
    "FeatureSet",
    "Features",
    "check_names",
    "feature_sets",
]

BLOCKS: Mapping[str, str] = {
    "coordinates": "leading principal coordinates of the prompt in each space",
    "consensus": "leading principal coordinates of the prompt's consensus in the shared space",
    "dispersion": "distance of each model's view of the prompt from the consensus",
    "neighbours": "share of the nearest training prompts that each model has right",
    "group": "category of the prompt",
    "length": "length of the prompt",
    "confidence": "mean log probability of each model's own answer",
}
"""Block of columns -> what it holds."""
CONTROLS = ("group", "length")
"""Blocks that say nothing that one would call a signal."""
NEEDS_ANSWERS = ("confidence",)
"""Blocks that cost running the models, which a router is there to save."""
NEIGHBOURS = 10
"""Nearest training prompts whose correctness is a feature."""


@dataclass(frozen=True)
class FeatureSet:
    """Blocks that a router is given together."""

    name: str
    """Its name: the blocks, or ``prompt`` for all that the prompt's activations give."""
    blocks: tuple[str, ...]
    """The blocks."""

    @property
    def needs_answers(self) -> bool:
        """Whether the models have to be run first."""
        return any(block in NEEDS_ANSWERS for block in self.blocks)

    @property
    def control(self) -> bool:
        """Whether it holds nothing but controls."""
        return all(block in CONTROLS for block in self.blocks)


def feature_sets(pool: Pool, spaces: int, asked: Sequence[str] = ()) -> tuple[FeatureSet, ...]:
    """Sets that are tried, the main one first.

    Parameters
    ----------
    pool
        What is known of the items.
    spaces
        Number of spaces of the prompts.
    asked
        Sets by name, such as ``prompt`` or ``group+length``, the main one first; by default all
        that can be made.

    Raises
    ------
    UnknownNameError
        For an unknown block.
    InputError
        For a block that cannot be made of what was given, or none.
    """
    here = [name for name in ("consensus", "dispersion") if spaces > 1]
    here += ["coordinates"] if spaces == 1 else []
    here += ["neighbours"] if spaces else []
    prompt = tuple(here)
    known = {
        "group": pool.groups is not None and len(set(pool.groups)) > 1,
        "length": pool.lengths is not None and len(set(pool.lengths.tolist())) > 1,
        "confidence": pool.confidence is not None,
    }
    here += ["coordinates"] if spaces > 1 else []
    here += [name for name, given in known.items() if given]
    if not here:
        raise InputError(
            "Nothing is known of the items but their ids: give activations of the prompts, or groups, lengths or "
            "confidence."
        )
    if asked:
        check_names(asked)
        return tuple(_asked(name, prompt, here) for name in dict.fromkeys(asked))
    controls = tuple(name for name in CONTROLS if known[name])
    found: list[FeatureSet] = []
    if prompt:
        found.append(FeatureSet("prompt", prompt))
        found += [FeatureSet(name, (name,)) for name in prompt]
    found += [FeatureSet(name, (name,)) for name in controls]
    if len(controls) > 1:
        found.append(FeatureSet("+".join(controls), controls))
    if prompt and controls:
        found.append(FeatureSet("+".join(("prompt", *controls)), (*prompt, *controls)))
    if known["confidence"]:
        found.append(FeatureSet("confidence", ("confidence",)))
    return tuple(found)


def check_names(asked: Sequence[str]) -> None:
    """Refuse sets of unknown blocks, before anything is known of the items.

    Raises
    ------
    UnknownNameError
        For a block that does not exist.
    """
    for name in asked:
        for part in name.split("+"):
            if part not in BLOCKS and part != "prompt":
                raise UnknownNameError.among(part, (*BLOCKS, "prompt"), "block of features")


def _asked(name: str, prompt: tuple[str, ...], here: Sequence[str]) -> FeatureSet:
    blocks: list[str] = []
    for part in name.split("+"):
        if part == "prompt":
            if not prompt:
                raise InputError(
                    "The features 'prompt' need activations of the prompts: give models, a store or arrays."
                )
            blocks += prompt
        elif part not in here:
            raise InputError(
                f"The features {part!r} cannot be made of what was given; these can: {', '.join(sorted(set(here)))}."
            )
        else:
            blocks.append(part)
    return FeatureSet(name, tuple(dict.fromkeys(blocks)))


@dataclass(frozen=True)
class Columns:
    """Columns of one set, what is fitted on the training rows of an outer fold in place."""

    fixed: Floats
    """Columns of all rows that know no correctness, shape (n, p)."""
    nearest: Floats | None
    """Unit rows among which neighbours are found, shape (n, k); None where they are no feature."""
    correct: Floats
    """Correctness, shape (n, m): only that of reference rows is read."""

    def design(self, train: Places, rows: Places) -> tuple[Floats, Floats]:
        """Standardised columns of training rows and of other rows.

        A row is never its own neighbour, and correctness is read of training rows alone.

        Parameters
        ----------
        train
            Rows whose correctness may be known.
        rows
            Other rows, none of them among ``train``.
        """
        seen, other = [self.fixed[train]], [self.fixed[rows]]
        if self.nearest is not None:
            known = self.correct[train]
            k = min(NEIGHBOURS, len(train) - 1)
            seen.append(_shares(self.nearest[train], self.nearest[train], known, k, own=True))
            other.append(_shares(self.nearest[rows], self.nearest[train], known, k, own=False))
        x, z = np.hstack(seen), np.hstack(other)
        mean, spread = x.mean(axis=0), x.std(axis=0)
        spread = np.where(spread > 1e-12 * np.maximum(np.abs(x).max(axis=0), 1.0), spread, np.inf)
        return (x - mean) / spread, (z - mean) / spread


def _shares(rows: Floats, among: Floats, known: Floats, k: int, *, own: bool) -> Floats:
    """Mean correctness over the k rows of largest cosine; its own row left out where it is there."""
    near = rows @ among.T
    if own:
        np.fill_diagonal(near, -np.inf)
    order = np.argsort(-near, axis=1, kind="stable")[:, :k]
    return np.asarray(known[order].mean(axis=1))


@dataclass
class Features:
    """Everything that is known of the prompts, and what is fitted of it fold by fold.

    What needs no correctness (axes, the shared space) is fitted on the training rows of the outer
    fold and used by its inner folds too; what needs it (neighbours) anew for every inner fold.
    """

    pool: Pool
    """The items."""
    spaces: Mapping[str, Floats] = field(default_factory=dict)
    """Name of a space -> rows of the prompts, shape (n, d)."""
    shared: Callable[[], SharedSpace] = SharedSpace
    """Makes the shared space that is fitted; by default everything about it is chosen."""
    _fitted: dict[bytes, dict[str, Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        pool: Pool,
        spaces: Sequence[Space] = (),
        *,
        shared: Callable[[], SharedSpace] = SharedSpace,
    ) -> Features:
        """Take the rows of the pool's items out of spaces, by id.

        Raises
        ------
        InputError
            For spaces of one name, or one that lacks ids or an item.
        """
        rows: dict[str, Floats] = {}
        for space in spaces:
            if space.name in rows:
                raise InputError(f"Two spaces are called {space.name!r}: give each its own name.")
            if space.ids is None:
                if space.n != pool.n:
                    raise InputError(
                        f"{space.name} has {space.n} rows and no ids, and there are {pool.n} items: one row an item, "
                        "in their order, is expected."
                    )
                at = list(range(pool.n))
            else:
                places = {name: i for i, name in enumerate(space.ids)}
                absent = [name for name in pool.ids if name not in places]
                if absent:
                    raise InputError(
                        f"{space.name} lacks {len(absent)} of {pool.n} items, such as {absent[0]!r}: extract the same "
                        "prompts."
                    )
                at = [places[name] for name in pool.ids]
            rows[space.name] = np.asarray(to_numpy(space.rows), np.float64)[at]
        return cls(pool, rows, shared)

    def columns(self, wanted: FeatureSet, train: Places) -> Columns:
        """Columns of a set, fitted on the training rows of an outer fold."""
        made = self._fit(train)
        parts = [self._block(name, made, train) for name in wanted.blocks if name != "neighbours"]
        empty = np.empty((self.pool.n, 0))
        return Columns(
            fixed=np.hstack([empty, *parts]),
            nearest=self._nearest(made, train) if "neighbours" in wanted.blocks else None,
            correct=self.pool.correct.astype(np.float64),
        )

    def _fit(self, train: Places) -> dict[str, Any]:
        return self._fitted.setdefault(np.sort(train).tobytes(), {})

    def _block(self, name: str, made: dict[str, Any], train: Places) -> Floats:
        if name not in made:
            made[name] = getattr(self, f"_{name}")(made, train)
        return np.asarray(made[name])

    def _coordinates(self, made: dict[str, Any], train: Places) -> Floats:
        width = max(default_width(len(train)) // len(self.spaces), 1)
        return np.hstack([_leading(x, train, width, name) for name, x in self.spaces.items()])

    def _views(self, made: dict[str, Any], train: Places) -> Floats:
        """Coordinates of every model in a space that was fitted on training rows, (models, n, k)."""
        if "views" not in made:
            space = self.shared().fit({name: x[train] for name, x in self.spaces.items()})
            made["views"] = np.stack([space.transform(x, name) for name, x in self.spaces.items()])
        return np.asarray(made["views"])

    def _consensus(self, made: dict[str, Any], train: Places) -> Floats:
        consensus = self._views(made, train).mean(axis=0)
        return _leading(consensus, train, default_width(len(train)), "the consensus")

    def _dispersion(self, made: dict[str, Any], train: Places) -> Floats:
        views = self._views(made, train)
        apart = np.linalg.norm(views - views.mean(axis=0), axis=2).T
        return np.column_stack([apart, np.sqrt(np.mean(apart**2, axis=1))])

    def _nearest(self, made: dict[str, Any], train: Places) -> Floats:
        if "nearest" not in made:
            one = len(self.spaces) == 1
            rows = (
                next(iter(self.spaces.values())) if one else self._views(made, train).mean(axis=0)
            )
            centred = rows - mean_row(rows[train])
            size = np.linalg.norm(centred, axis=1, keepdims=True)
            made["nearest"] = centred / np.where(size > 0.0, size, 1.0)
        return np.asarray(made["nearest"])

    def _group(self, made: dict[str, Any], train: Places) -> Floats:
        groups = np.array(self.pool.groups)
        names = np.unique(groups[train])
        return np.asarray(groups[:, None] == names[None, :], np.float64)

    def _length(self, made: dict[str, Any], train: Places) -> Floats:
        lengths = np.asarray(self.pool.lengths)
        return np.asarray(np.sign(lengths) * np.log1p(np.abs(lengths)))[:, None]

    def _confidence(self, made: dict[str, Any], train: Places) -> Floats:
        values = np.asarray(self.pool.confidence)
        known = np.isfinite(values[train])
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, values[train], 0.0).sum(axis=0) / count
        return np.where(np.isfinite(values), values, mean)


def _leading(rows: Floats, train: Places, width: int, name: str) -> Floats:
    axes = Axes.fit(rows[train], width, name=name, at_most=True)
    return axes.standardised(rows)
