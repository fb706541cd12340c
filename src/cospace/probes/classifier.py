"""Affine-softmax classifiers: logits that are affine in the rows, probabilities from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError
from cospace.probes.labels import numbers_of

__all__ = ["Classifier", "Matrix", "operator_norm", "softmax"]

Matrix = npt.NDArray[np.float64]


def softmax(logits: Matrix) -> Matrix:
    """Probabilities of every row, ``exp(z_c) / sum_c exp(z_c)``, at inverse temperature 1.

    The map from logits to probabilities is 1/2-Lipschitz in the Euclidean norm: the largest
    eigenvalue of its derivative ``diag(p) - p p^T`` is at most 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.array([[0.0, np.log(3.0)]])).round(12).tolist()
    [[0.25, 0.75]]
    """
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def operator_norm(weight: Matrix) -> float:
    """Largest singular value of the linear part, what is common to all classes taken off.

    Logits that move together leave the probabilities as they are, so the mean over classes is
    no part of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> round(operator_norm(np.array([[2.0, 0.0], [0.0, 0.0]])) ** 2, 12)
    2.0
    """
    return float(np.linalg.norm(weight - weight.mean(axis=0), 2))


@dataclass(frozen=True, eq=False)
class Classifier:
    """Probabilities ``softmax(weight x + offset)`` of rows x; a value without its history.

    Parameters
    ----------
    weight
        Shape (C, d).
    offset
        Shape (C,).
    classes
        The C names, in the order of the rows of ``weight``.

    Raises
    ------
    InputError
        For fewer than 2 classes, shapes that do not fit, or entries that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> c = Classifier(np.array([[np.log(3.0)], [0.0]]), np.zeros(2), ("yes", "no"))
    >>> c.probabilities(np.array([[1.0], [0.0], [-1.0]])).round(12).tolist()
    [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]
    >>> c.predict(np.array([[1.0], [-1.0]]))
    ('yes', 'no')
    """

    weight: Matrix
    offset: Matrix
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        weight, offset = (np.asarray(part, dtype=np.float64) for part in (self.weight, self.offset))
        classes = tuple(map(str, self.classes))
        if len(classes) < 2 or len(set(classes)) < len(classes):
            raise InputError(
                f"A classifier of the classes {', '.join(classes) or 'none'} was given; at least two different ones "
                "are needed."
            )
        if weight.ndim != 2 or len(weight) != len(classes) or offset.shape != (len(classes),):
            raise InputError(
                f"A classifier of {len(classes)} classes has a weight of shape {weight.shape} and an offset of shape "
                f"{offset.shape}; ({len(classes)}, width) and ({len(classes)},) are expected."
            )
        if not (np.isfinite(weight).all() and np.isfinite(offset).all()):
            raise InputError("A classifier has weights that are NaN or infinite.")
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "classes", classes)

    @property
    def width(self) -> int:
        """Number of coordinates that it reads, d."""
        return int(self.weight.shape[1])

    @property
    def norm(self) -> float:
        """``||weight||_2``, what is common to all classes taken off."""
        return operator_norm(self.weight)

    def logits(self, rows: Any) -> Matrix:
        """``weight x + offset`` of rows of shape (n, d); shape (n, C)."""
        x = numbers_of(rows)
        if x.shape[1] != self.width:
            raise InputError(
                f"The rows have width {x.shape[1]} and the classifier reads {self.width} coordinates: give rows of the "
                "space that it was fitted on."
            )
        return np.asarray(x @ self.weight.T + self.offset)

    def probabilities(self, rows: Any) -> Matrix:
        """Probabilities of the classes, shape (n, C)."""
        return softmax(self.logits(rows))

    def predict(self, rows: Any) -> tuple[str, ...]:
        """The likeliest class of every row; of equally likely ones the first."""
        return tuple(self.classes[i] for i in self.logits(rows).argmax(axis=1))

    def after(self, matrix: Any, offset: Any) -> Classifier:
        """The classifier of x that reads the image ``x matrix + offset`` of an affine map.

        Parameters
        ----------
        matrix
            Shape (p, d).
        offset
            Shape (d,).

        Examples
        --------
        >>> import numpy as np
        >>> c = Classifier(np.array([[1.0], [0.0]]), np.zeros(2), ("yes", "no"))
        >>> there = c.after(np.array([[2.0], [5.0]]), np.array([3.0]))
        >>> there.weight.tolist(), there.offset.tolist()
        ([[2.0, 5.0], [0.0, 0.0]], [3.0, 0.0])
        """
        m, b = np.asarray(matrix, dtype=np.float64), np.asarray(offset, dtype=np.float64)
        if m.ndim != 2 or m.shape[1] != self.width or b.shape != (self.width,):
            raise InputError(
                f"An affine map with a matrix of shape {m.shape} and an offset of shape {b.shape} was given; "
                f"(source width, {self.width}) and ({self.width},) are expected."
            )
        return Classifier(self.weight @ m.T, self.weight @ b + self.offset, self.classes)

    def capped(self, cap: float) -> Classifier:
        """The nearest classifier with ``||weight||_2 <= cap``: larger singular values become ``cap``.

        Nearest in the Frobenius norm of the weight, what is common to all classes taken off.

        Examples
        --------
        >>> import numpy as np
        >>> c = Classifier(np.array([[3.0], [-3.0]]), np.zeros(2), ("a", "b"))
        >>> c.capped(1.0).norm, c.capped(9.0).weight.tolist()
        (1.0, [[3.0], [-3.0]])
        """
        own = self.weight - self.weight.mean(axis=0)
        u, s, vt = np.linalg.svd(own, full_matrices=False)
        if s[0] <= cap:
            return Classifier(own, self.offset, self.classes)
        return Classifier((u * np.minimum(s, cap)) @ vt, self.offset, self.classes)
