"""How two classifiers differ on the same texts: in probabilities, decisions and accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from cospace.probes.classifier import Matrix

__all__ = ["DIAMETER", "Divergence", "WorstRow", "attainable", "divergence"]

DIAMETER = float(np.sqrt(2.0))
"""Largest Euclidean distance of two probability vectors: nothing can exceed it."""

_WORST = 5


def attainable(classes: int) -> float:
    """Largest distance at which the best imitation can be: ``sqrt(1 - 1/C)``.

    Equal probabilities for all classes are an imitation, and no probability vector is further
    from them than a vertex.

    Examples
    --------
    >>> round(attainable(2) ** 2, 12)
    0.5
    """
    return float(np.sqrt(1.0 - 1.0 / classes))


@dataclass(frozen=True)
class WorstRow:
    """One text on which the two classifiers differ most."""

    id: str
    """Its id; the number of its row where there are no ids."""
    l2: float
    """Euclidean distance of the two probability vectors."""
    total_variation: float
    """Half the sum of the absolute differences."""
    target: str
    """The class that the target's classifier says."""
    imitation: str
    """The class that the imitation says."""
    label: str | None
    """The label, where labels were given."""


@dataclass(frozen=True)
class Divergence:
    """Difference of a classifier and its imitation over some texts."""

    rows: Literal["in-sample", "held out"]
    """Whether classifier and imitation were fitted on these rows."""
    n: int
    """Number of rows."""
    sup: float
    """Largest Euclidean distance of the probability vectors of a row; in [0, sqrt(2)]."""
    mean: float
    """Mean of it."""
    p95: float
    """Its 95th percentile."""
    p99: float
    """Its 99th percentile."""
    tv_sup: float
    """Largest total variation of a row; in [0, 1]."""
    tv_mean: float
    """Mean total variation."""
    disagreement: float
    """Share of rows on which the two say different classes."""
    accuracy_target: float | None
    """Accuracy of the target's classifier, where labels were given."""
    accuracy_imitation: float | None
    """Accuracy of the imitation."""
    accuracy_gap: float | None
    """The former less the latter."""
    worst: tuple[WorstRow, ...]
    """The five rows that differ most, largest first."""

    def record(self) -> dict[str, Any]:
        """The numbers as one flat dictionary."""
        return {name: value for name, value in vars(self).items() if name != "worst"}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from the dictionary of a result."""
        return cls(**{**data, "worst": tuple(WorstRow(**row) for row in data["worst"])})


def divergence(
    target: Matrix,
    imitation: Matrix,
    *,
    rows: Literal["in-sample", "held out"],
    ids: Sequence[str],
    classes: Sequence[str],
    labels: Sequence[str] | None = None,
) -> Divergence:
    """Compare the probabilities of a classifier and its imitation, both of shape (n, C).

    Examples
    --------
    >>> import numpy as np
    >>> found = divergence(
    ...     np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]]),
    ...     rows="in-sample", ids=("a", "b"), classes=("no", "yes"), labels=("no", "no"),
    ... )
    >>> round(found.sup**2, 12), found.tv_sup, found.disagreement, found.accuracy_gap
    (2.0, 1.0, 0.5, 0.5)
    >>> found.worst[0].id
    'a'
    """
    apart = np.abs(target - imitation)
    l2 = np.linalg.norm(apart, axis=1)
    variation = 0.5 * apart.sum(axis=1)
    names = np.asarray(classes)
    said, copied = names[target.argmax(axis=1)], names[imitation.argmax(axis=1)]
    right = wrong = None
    if labels is not None:
        truth = np.asarray(labels)
        right, wrong = float(np.mean(said == truth)), float(np.mean(copied == truth))
    order = np.argsort(-l2, kind="stable")[:_WORST]
    return Divergence(
        rows=rows,
        n=len(l2),
        sup=float(l2.max()),
        mean=float(l2.mean()),
        p95=float(np.percentile(l2, 95)),
        p99=float(np.percentile(l2, 99)),
        tv_sup=float(variation.max()),
        tv_mean=float(variation.mean()),
        disagreement=float(np.mean(said != copied)),
        accuracy_target=right,
        accuracy_imitation=wrong,
        accuracy_gap=None if right is None or wrong is None else right - wrong,
        worst=tuple(
            WorstRow(
                id=ids[i],
                l2=float(l2[i]),
                total_variation=float(variation[i]),
                target=str(said[i]),
                imitation=str(copied[i]),
                label=None if labels is None else labels[i],
            )
            for i in order
        ),
    )
