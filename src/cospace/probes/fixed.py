"""Extrinsic distance for a fixed classifier: how well the source imitates the target's probe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError
from cospace.probes.bound import BoundCheck, check_bound, logit_rounding
from cospace.probes.classifier import Classifier, Matrix
from cospace.probes.divergence import DIAMETER, Divergence, attainable, divergence
from cospace.probes.imitation import Attempt, Source, constant_error, imitate, likeliest
from cospace.probes.labels import Labels, Split, as_space, labels_of, numbers_of, row_names
from cospace.probes.probe import Probe, fit_probe, split_positions
from cospace.result import Result
from cospace.space import matched

__all__ = ["AffineMap", "FixedClassifier", "affine_error", "fixed_classifier"]


class AffineMap(NamedTuple):
    """An affine map ``x matrix + offset`` from raw source rows to raw target rows."""

    matrix: Any
    """Shape (source width, target width)."""
    offset: Any
    """Shape (target width,)."""


def affine_error(affine: AffineMap, source: Matrix, target: Matrix) -> float:
    """Largest Euclidean row error of an affine map on raw rows.

    Raises
    ------
    InputError
        For a matrix or offset of another shape.

    Examples
    --------
    >>> import numpy as np
    >>> move = AffineMap(np.array([[2.0]]), np.array([1.0]))
    >>> affine_error(move, np.array([[0.0], [1.0]]), np.array([[1.0], [7.0]]))
    4.0
    """
    matrix = np.asarray(affine.matrix, dtype=np.float64)
    offset = np.asarray(affine.offset, dtype=np.float64)
    wanted = (source.shape[1], target.shape[1])
    if matrix.shape != wanted or offset.shape != wanted[1:]:
        raise InputError(
            f"The affine map has a matrix of shape {matrix.shape} and an offset of shape {offset.shape}; {wanted} and "
            f"{wanted[1:]} are expected, (source width, target width) of the same rows."
        )
    return float(np.linalg.norm(source @ matrix + offset - target, axis=1).max())


@dataclass(frozen=True, eq=False)
class FixedClassifier(Result):
    """A probe on the target, and its best imitation from the source."""

    kind: ClassVar[str] = "fixed_classifier"

    target: str
    """Name of the space whose probe is imitated."""
    source: str
    """Name of the space that imitates it."""
    probe: Probe
    """The probe on the target."""
    imitation: Classifier
    """Its imitation, on raw rows of the source."""
    in_sample: Divergence
    """On the rows of both fits. Its ``sup`` is the extrinsic distance: an upper bound of the infimum
    over imitations, for the problem is not convex."""
    held_out: Divergence | None
    """On rows that nothing was fitted on, where there are any."""
    soft_in_sample: Divergence
    """The same of the cross-entropy fit to the probe's probabilities: the best imitation over all
    texts together rather than on the worst one. Accuracy and means are best read here, for what
    makes the largest error small may make all others larger."""
    soft_held_out: Divergence | None
    """The same on rows that nothing was fitted on."""
    constant: float
    """The same distance in-sample for the best constant probabilities: what needs no source."""
    attainable: float
    """``sqrt(1 - 1/C)``: the most it can be."""
    diameter: float
    """``sqrt(2)``: the largest distance of two probability vectors."""
    origin: str
    """Which candidate the imitation is."""
    attempts: tuple[Attempt, ...]
    """All candidates with their distance in-sample."""
    check: BoundCheck | None
    """The distance in-sample beside its bound, where an affine map was given: the bound is
    ``norm / 2`` times the largest error of that map on the same rows."""
    settings: Mapping[str, Any]
    """Rows matched by ids or position, widths, seed."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""

    @property
    def value(self) -> float:
        """The extrinsic distance, ``in_sample.sup``."""
        return self.in_sample.sup

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary for the rows of the fit, and one for the held-out rows if any."""
        check = self.check
        return [
            {
                "target": self.target,
                "source": self.source,
                **each.record(),
                "constant": self.constant if each is self.in_sample else None,
                "attainable": self.attainable,
                "soft_sup": soft.sup,
                "soft_mean": soft.mean,
                "soft_disagreement": soft.disagreement,
                "soft_accuracy_gap": soft.accuracy_gap,
                "norm": self.probe.norm,
                "affine_error": check.distance if check and each is self.in_sample else None,
                "bound": check.bound if check and each is self.in_sample else None,
            }
            for each, soft in (
                (self.in_sample, self.soft_in_sample),
                (self.held_out, self.soft_held_out),
            )
            if each is not None and soft is not None
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["probe"] = Probe.from_dict(data["probe"])
        values["imitation"] = Classifier(**data["imitation"])
        for part in ("in_sample", "held_out", "soft_in_sample", "soft_held_out"):
            values[part] = None if data[part] is None else Divergence.from_dict(data[part])
        values["attempts"] = tuple(Attempt(**attempt) for attempt in data["attempts"])
        values["check"] = None if data["check"] is None else BoundCheck(**data["check"])
        values["warnings"] = tuple(data["warnings"])
        return cls(**values)


def fixed_classifier(
    *,
    target: Any,
    source: Any,
    labels: Labels,
    split: Split | None = None,
    affine: tuple[Any, Any] | None = None,
    probe: Probe | None = None,
    width: int | None = None,
    rng: int = 0,
) -> FixedClassifier:
    """How well affine-softmax classifiers of the source imitate one fixed classifier of the target.

    ``min_psi max_i ||softmax(psi'(h_i)) - softmax(psi(g_i))||_2``, h target rows, g source rows of
    the same texts, psi' the probe, psi affine in the source's principal components. Probe and
    imitation are fitted on the training rows alone.

    Parameters
    ----------
    target, source
        Spaces or arrays of shape (n, d) and (n, p); row i is the same text in both.
    labels
        One name a row of the target, or id -> name.
    split
        Which ids are fitted and which held out; by default all are fitted.
    affine
        ``(matrix, offset)`` of an affine map from raw source rows to raw target rows, shapes
        (p, d) and (d,): the probe after it is then among the candidates, so that the distance is
        at most ``norm / 2`` times the map's largest error on the same rows.
    probe
        A probe of the target fitted on the same split, to be used for many sources; by default
        one is fitted.
    width
        Principal components of the target that a new probe reads, and of the source that the
        imitation reads; by default a tenth of the training rows each, at most the rank.
    rng
        Seed of the probe's inner folds.

    Returns
    -------
    FixedClassifier
        ``in_sample.sup`` is the distance: 0 where the source holds the target affinely,
        ``constant`` where it tells nothing. Not symmetric. Cost of an imitation about 1,000 steps
        of 8 n width C.

    Raises
    ------
    InputError
        As :func:`fit_probe`; for a probe or an affine map that does not fit the rows.
    RowMismatchError
        For rows that are not the same texts, labels or a split that do not belong to them.
    ContractError
        Where the bound is exceeded: a fault of the program.

    Examples
    --------
    A target that is the source at twice its size is imitated to the last digits:

    >>> g = [[float(i)] for i in range(-10, 10)]
    >>> found = fixed_classifier(
    ...     target=[[2 * x] for (x,) in g], source=g, labels=["low"] * 10 + ["high"] * 10,
    ...     affine=([[2.0]], [0.0]),
    ... )
    >>> found.in_sample.sup < 1e-12, found.check.holds
    (True, True)
    """
    check_whole(width=width, or_none=True)
    check_seed(rng)
    aligned = matched([as_space(target, "target"), as_space(source, "source")])
    h_space, g_space = aligned.spaces
    names = labels_of(h_space, labels)
    own = fit_probe(h_space, names, split=split, width=width, rng=rng) if probe is None else probe
    h, g = numbers_of(h_space), numbers_of(g_space)
    seen, unseen = split_positions(h_space, split)
    classes = own.classifier.classes
    wanted = own.classifier.probabilities(h)
    prepared = Source.of(g[seen], width, name=g_space.name)
    composed, error, rounding = None, None, 0.0
    if affine is not None:
        move = AffineMap(*affine)
        error = affine_error(move, g[seen], h[seen])
        composed = own.classifier.after(move.matrix, move.offset)
        rounding = logit_rounding(own.norm, h[seen]) + logit_rounding(composed.norm, g[seen])
    found = imitate(
        prepared, wanted[seen], classes, logits=own.classifier.logits(h[seen]), composed=composed
    )
    ids = row_names(h_space)
    copied = found.classifier.probabilities(g)
    softly = likeliest(prepared, wanted[seen], classes).probabilities(g)

    def over(rows: Any, copy: Matrix, what: Any) -> Divergence:
        return divergence(
            wanted[rows],
            copy[rows],
            rows=what,
            ids=[ids[i] for i in rows],
            classes=classes,
            labels=[names[i] for i in rows],
        )

    in_sample = over(seen, copied, "in-sample")
    check = None
    if error is not None:
        check = check_bound(
            value=in_sample.sup,
            norm=own.norm,
            distance=error,
            rounding=rounding,
        ).require()
    return FixedClassifier(
        target=h_space.name,
        source=g_space.name,
        probe=own,
        imitation=found.classifier,
        in_sample=in_sample,
        held_out=over(unseen, copied, "held out") if len(unseen) else None,
        soft_in_sample=over(seen, softly, "in-sample"),
        soft_held_out=over(unseen, softly, "held out") if len(unseen) else None,
        constant=constant_error(wanted[seen]),
        attainable=attainable(len(classes)),
        diameter=DIAMETER,
        origin=found.origin,
        attempts=found.attempts,
        check=check,
        settings={
            "matched_by": aligned.by,
            "target_width": own.width,
            "source_width": prepared.axes.width,
            "source_share": prepared.axes.share,
            "rng": rng,
        },
        warnings=own.warnings,
    )
