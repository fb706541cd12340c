"""A probe of the target carried to the source through a linear map, beside its controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError
from cospace.maps import LinearMap, fit_map
from cospace.maps.solve import Method
from cospace.probes.classifier import Classifier
from cospace.probes.labels import Labels, Split, as_space, labels_of, numbers_of, row_names
from cospace.probes.probe import Scores, fit_probe, scores, split_positions
from cospace.result import Result
from cospace.space import matched

__all__ = ["CarriedCondition", "CarriedProbe", "carry_probe"]


@dataclass(frozen=True)
class CarriedCondition:
    """One way to classify the held-out rows."""

    condition: str
    """``native``: the target's probe on the target. ``own``: a probe fitted on the source with the
    same labels. ``carried``: the target's probe on the source, through the map; the source's labels
    are not used. ``shuffled_rows``: the same through a map fitted on rows that do not belong
    together. ``random_map``: through a map of random numbers of the same size."""
    scores: Scores
    """On held-out rows."""
    agreement: float
    """Share of held-out rows on which it says what the native probe says."""


@dataclass(frozen=True)
class CarriedProbe(Result):
    """A probe of the target, read on the source."""

    kind: ClassVar[str] = "carried_probe"

    target: str
    """Name of the space that the probe was fitted on."""
    source: str
    """Name of the space that it is read on."""
    conditions: tuple[CarriedCondition, ...]
    """The carried probe, the native one, and all controls."""
    map_method: str
    """How the map was fitted."""
    map_rank: int
    """Its rank."""
    map_r2: float
    """Share of the target's variance that the map explains on the held-out rows."""
    settings: Mapping[str, Any]
    """Rows matched by ids or position, numbers of rows, seed."""

    def condition(self, name: str) -> CarriedCondition:
        """One condition by its name."""
        return next(each for each in self.conditions if each.condition == name)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a condition."""
        return [
            {
                "target": self.target,
                "source": self.source,
                "condition": each.condition,
                "n": each.scores.n,
                "accuracy": each.scores.accuracy,
                "majority": each.scores.majority,
                "log_loss": each.scores.log_loss,
                "agreement": each.agreement,
                "map_r2": self.map_r2,
            }
            for each in self.conditions
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["conditions"] = tuple(
            CarriedCondition(each["condition"], Scores(**each["scores"]), each["agreement"])
            for each in values["conditions"]
        )
        return cls(**values)


def carry_probe(
    *,
    target: Any,
    source: Any,
    labels: Labels,
    split: Split,
    method: Method = "ridge",
    width: int | None = None,
    rng: int = 0,
) -> CarriedProbe:
    """Fit a probe on the target, carry it to the source, and score it on unseen rows of the source.

    The classifier ``W y + c`` of the target becomes ``W f(x) + c`` of the source, f a map fitted
    on the training rows of both without their labels; the offset of f goes into that of the
    classifier (:meth:`~cospace.maps.LinearMap.probe`). Probe, map and controls are fitted on the
    training rows, and everything is scored on the held-out ones.

    Parameters
    ----------
    target, source
        Spaces, whose rows are matched by id, or arrays.
    labels
        One name a row of the target, or id -> name.
    split
        Which ids are fitted and which are held out.
    method
        How the map is fitted, see :func:`~cospace.maps.fit_map`.
    width
        Number of principal components that the probes read.
    rng
        Seed of inner folds and of the random controls.

    Raises
    ------
    InputError
        For labels, a split or options that cannot be used.
    RowMismatchError
        For rows that are not the same texts.
    UndefinedMeasureError
        For a map that its rows do not determine.
    """
    if method == "low_rank":
        raise InputError(
            "method='low_rank' needs a rank, which carry_probe does not take: fit it with fit_map, "
            "and use its probe()."
        )
    check_whole(width=width, or_none=True)
    check_seed(rng)
    aligned = matched([as_space(target, "target"), as_space(source, "source")])
    there, here = aligned.spaces
    names = labels_of(there, labels)
    y, x = numbers_of(there), numbers_of(here)
    seen, unseen = split_positions(there, split)
    native = fit_probe(there, names, split=split, width=width, rng=rng)
    own = fit_probe(here, names, split=split, width=width, rng=rng)
    real, shuffled = (
        fit_map(source=x[seen], target=y[seen], method=method, folds=0, shuffle=shuffle)
        for shuffle in (None, rng)
    )
    random = np.random.default_rng(rng).normal(size=real.matrix.shape)
    random *= np.linalg.norm(real.matrix) / np.linalg.norm(random)
    image = real.points(x[seen].mean(axis=0))
    carried = {
        "native": (native.classifier, y),
        "own": (own.classifier, x),
        "carried": (_through(native.classifier, real), x),
        "shuffled_rows": (_through(native.classifier, shuffled), x),
        "random_map": (
            native.classifier.after(random, image - x[seen].mean(axis=0) @ random),
            x,
        ),
    }
    truth = [names[i] for i in unseen]
    classes = native.classifier.classes
    shares = np.array([np.mean([names[i] == c for i in seen]) for c in classes])
    expected = np.array(native.classifier.predict(y[unseen]))
    mean = y[seen].mean(axis=0)
    lost = np.sum((y[unseen] - real.points(x[unseen])) ** 2)
    return CarriedProbe(
        target=there.name,
        source=here.name,
        conditions=tuple(
            CarriedCondition(
                name,
                scores(classifier, rows[unseen], truth, shares),
                float(np.mean(np.array(classifier.predict(rows[unseen])) == expected)),
            )
            for name, (classifier, rows) in carried.items()
        ),
        map_method=method,
        map_rank=real.rank,
        map_r2=float(1.0 - lost / np.sum((y[unseen] - mean) ** 2)),
        settings={
            "matched": aligned.by,
            "rows": len(row_names(there)),
            "fitted": len(seen),
            "held_out": len(unseen),
            "rng": rng,
        },
    )


def _through(classifier: Classifier, linear_map: LinearMap) -> Classifier:
    weight, offset = linear_map.probe(classifier.weight, classifier.offset)
    return Classifier(weight, offset, classifier.classes)
