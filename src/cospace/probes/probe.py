"""A linear probe: labels from rows, its penalty chosen on the training rows, scored on unseen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from cospace._numbers import check_number, check_seed, check_whole
from cospace.errors import InputError
from cospace.probes.axes import Axes, Standardise, default_width
from cospace.probes.classifier import Classifier, Matrix
from cospace.probes.labels import (
    Labels,
    Split,
    as_space,
    check_classes,
    labels_of,
    numbers_of,
)
from cospace.probes.logistic import fit_logistic, log_loss
from cospace.probes.penalty import FOLDS, RIDGES, RidgePoint, choose_ridge, inner_folds
from cospace.result import Result
from cospace.space import Space

__all__ = ["Probe", "Scores", "axes_of", "fit_probe", "scores", "split_positions"]


@dataclass(frozen=True)
class Scores:
    """How well predictions meet labels, beside what knows the labels' shares alone."""

    n: int
    """Number of rows."""
    accuracy: float
    """Share of rows whose likeliest class is their label."""
    log_loss: float
    """Mean of ``-log p(label)``, in nats."""
    majority: float
    """Accuracy of always saying the commonest class of the training rows."""
    prior_loss: float
    """Log loss of always giving the classes' shares among the training rows."""


@dataclass(frozen=True, eq=False)
class Probe(Result):
    """A multinomial logistic probe; raw rows in, probabilities out."""

    kind: ClassVar[str] = "probe"

    name: str
    """Name of the space that it reads."""
    classifier: Classifier
    """Weights on the raw coordinates of the space, axes and standardisation composed back."""
    norm: float
    """``||weight||_2`` on raw coordinates, what is common to all classes taken off."""
    ridge: float
    """Penalty: ``ridge/2 ||W||_F^2`` beside the mean cross-entropy, W on standardised coordinates."""
    tried: tuple[RidgePoint, ...]
    """What the inner folds said; empty where the penalty was given."""
    width: int
    """Number of principal components of the training rows that it reads."""
    share: float
    """Share of the variance of the training rows in them."""
    standardise: str
    """How they were divided: ``component`` or ``overall``."""
    train: Scores
    """On the rows of the fit: in-sample."""
    held_out: Scores | None
    """On rows that nothing was fitted on, where there are any."""
    converged: bool
    """Whether the optimiser reached a gradient below 1e-5."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary for the training rows, and one for the held-out rows if any."""
        return [
            {
                "space": self.name,
                "rows": rows,
                "n": scores.n,
                "classes": len(self.classifier.classes),
                "width": self.width,
                "ridge": self.ridge,
                "norm": self.norm,
                "accuracy": scores.accuracy,
                "majority": scores.majority,
                "log_loss": scores.log_loss,
                "prior_loss": scores.prior_loss,
            }
            for rows, scores in (("in-sample", self.train), ("held out", self.held_out))
            if scores is not None
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a probe from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["classifier"] = Classifier(**data["classifier"])
        values["tried"] = tuple(RidgePoint(**point) for point in data["tried"])
        values["train"] = Scores(**data["train"])
        values["held_out"] = None if data["held_out"] is None else Scores(**data["held_out"])
        values["warnings"] = tuple(data["warnings"])
        return cls(**values)


def fit_probe(
    rows: Any,
    labels: Labels,
    *,
    split: Split | None = None,
    width: int | None = None,
    ridge: float | None = None,
    standardise: Standardise = "component",
    rng: int = 0,
) -> Probe:
    """Fit a multinomial logistic probe, ``softmax(W z + b)``, z principal components of the rows.

    ``min_{W,b} mean_i -log p(label_i) + ridge/2 ||W||_F^2`` at inverse temperature 1. Axes, scale,
    penalty and weights come from the training rows alone. The penalty is the one of least log loss
    over 5 inner folds of them (whole groups where the space has groups), tried from the largest of
    :data:`RIDGES` down until two in a row make it no better.

    Equivalent to scikit-learn's ``LogisticRegression`` after ``PCA(whiten=True)``.

    Parameters
    ----------
    rows
        Space or array of shape (n, d).
    labels
        One name a row in the order of the rows, or id -> name.
    split
        Which ids are fitted and which are held out (row numbers as strings where rows have no
        ids); by default all rows are fitted and nothing is held out.
    width
        Number of principal components; by default a tenth of the training rows, at most their
        rank.
    ridge
        The penalty, above 0; by default chosen.
    standardise
        ``component`` (each component at variance 1) or ``overall`` (one scale, the geometry kept).
    rng
        Seed of the inner folds.

    Returns
    -------
    Probe
        Its ``norm`` is that on the raw coordinates of ``rows``. Cost n d min(n, d) for the axes
        and about 500 steps of 4 n width C.

    Raises
    ------
    InputError
        For one class, a class of fewer rows or groups than folds, fewer than 10 training rows, a
        width above the rank, a penalty that is not above 0.
    RowMismatchError
        For labels or a split that do not belong to the rows.

    Examples
    --------
    >>> x = [[float(i)] for i in range(-10, 10)]
    >>> probe = fit_probe(x, ["low"] * 10 + ["high"] * 10)
    >>> probe.train.accuracy, probe.classifier.predict([[-30.0], [30.0]])
    (1.0, ('low', 'high'))
    """
    check_number(ridge=ridge, or_none=True)
    check_whole(width=width, or_none=True)
    check_seed(rng)
    space = as_space(rows, "target")
    names = labels_of(space, labels)
    x = numbers_of(space)
    seen, unseen = split_positions(space, split)
    y = [names[i] for i in seen]
    classes = check_classes(y, FOLDS if ridge is None else 1, "training")
    foreign = sorted({names[i] for i in unseen} - set(classes))
    if foreign:
        raise InputError(
            f"Held-out rows have the class {foreign[0]!r}, which no training row has: a probe cannot know it; leave it "
            "out or split anew."
        )
    axes = axes_of(x[seen], width, standardise=standardise, name=space.name)
    design = axes.standardised(x[seen])
    wanted = _one_hot(y, classes)
    if ridge is None:
        groups = None if space.groups is None else [space.groups[i] for i in seen]
        folds = inner_folds(y, groups, rng=np.random.default_rng(rng))
        tried = choose_ridge(design, wanted, folds)
        ridge = min(tried, key=lambda point: point.loss).ridge
    elif not (np.isfinite(ridge) and ridge > 0.0):
        raise InputError(f"The ridge penalty is {ridge}; a number above 0 is needed.")
    else:
        tried = ()
    fit = fit_logistic(design, wanted, ridge)
    classifier = axes.raw(fit.weight, fit.offset, classes)
    warnings = []
    if not fit.converged:
        warnings.append(
            f"The optimiser stopped after {fit.iterations} steps at a gradient of {fit.slope:.1e}: a larger ridge "
            "helps."
        )
    if tried and ridge == RIDGES[-1]:
        warnings.append(
            f"The smallest penalty that is tried ({ridge:g}) was the best: the norm of the probe could grow further."
        )
    shares = wanted.mean(axis=0)
    return Probe(
        name=space.name,
        classifier=classifier,
        norm=classifier.norm,
        ridge=float(ridge),
        tried=tried,
        width=axes.width,
        share=axes.share,
        standardise=standardise,
        train=scores(classifier, x[seen], y, shares),
        held_out=scores(classifier, x[unseen], [names[i] for i in unseen], shares)
        if len(unseen)
        else None,
        converged=fit.converged,
        warnings=tuple(warnings),
    )


def scores(classifier: Classifier, x: Matrix, labels: Sequence[str], shares: Matrix) -> Scores:
    """Scores of ``classifier`` on rows with labels; ``shares`` of its classes where it was fitted."""
    truth = _one_hot(labels, classifier.classes)
    logits = classifier.logits(x)
    with np.errstate(divide="ignore"):
        prior = np.broadcast_to(np.log(shares), logits.shape)
    at = truth.argmax(axis=1)
    return Scores(
        n=len(labels),
        accuracy=float(np.mean(logits.argmax(axis=1) == at)),
        log_loss=log_loss(logits, truth),
        majority=float(np.mean(at == shares.argmax())),
        prior_loss=float(-np.mean(prior[np.arange(len(at)), at])),
    )


def axes_of(
    x: Matrix, width: int | None, *, standardise: Standardise = "component", name: str
) -> Axes:
    """Axes of training rows; by default as many as a tenth of the rows, at most their rank."""
    whole = default_width(len(x))
    if width is None:
        return Axes.fit(x, whole, standardise=standardise, name=name, at_most=True)
    return Axes.fit(x, width, standardise=standardise, name=name)


def split_positions(space: Space, split: Split | None) -> tuple[Any, Any]:
    """Row numbers that are fitted and that are held out; without a split all are fitted."""
    if split is None:
        return np.arange(space.n), np.arange(0)
    return split.positions(space)


def _one_hot(labels: Sequence[str], classes: Sequence[str]) -> Matrix:
    return np.asarray(np.array(labels)[:, None] == np.array(classes)[None, :], dtype=np.float64)
