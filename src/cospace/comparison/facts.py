"""What a comparison records of a space and of a measure, and what it warns of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse.linalg

from cospace._arrays import to_numpy
from cospace.comparison.plan import model_of
from cospace.comparison.result import MeasureFacts, SpaceFacts
from cospace.linalg import RTOL, centred, numerical_rank
from cospace.measures import Measure
from cospace.space import Space

__all__ = ["facts_of", "space_facts", "warnings_of"]

_LEADING = 0.5
_FEW = 128
"""Width up to which the whole spectrum costs nothing."""
_CERTAIN = 1e-3
"""Least eigenvalue, of columns at unit length, that single precision is certain of."""
_BIASED = (
    "linear_cka",
    "rbf_cka",
    "polynomial_cka",
    "procrustes_",
    "shape_angle",
    "partly_whitened_shape_angle",
    "bures_distance",
    "predictive_r2",
    "ridge_r2",
    "soft_matching_",
)
"""Beginnings of names of the measures that rise with the width where nothing is shared. The CCA
family does too, but is not run on more components than a tenth of the rows unless asked."""


def facts_of(measure: Measure) -> MeasureFacts:
    """Claims of a measure, as results hold them."""
    return MeasureFacts(
        name=measure.name,
        title=measure.title,
        kind=measure.kind,
        bounds=measure.bounds,
        identical=measure.identical,
        symmetric=measure.symmetric,
        invariant_to=tuple(sorted(measure.invariant_to)),
        summary=measure.summary,
        reference=measure.reference,
        untested=measure.untested,
    )


def space_facts(space: Space) -> SpaceFacts:
    """Rank, leading direction, repeats, fingerprint and provenance of a space."""
    rank, leading = _extent(to_numpy(centred(space.rows)))
    facts = dict(space.facts)
    return SpaceFacts(
        name=space.name,
        model=model_of(space),
        site=facts.pop("site", None),
        depth=facts.pop("depth", None),
        pooling=facts.pop("pooling", None),
        n=space.n,
        width=space.width,
        rank=rank,
        leading_share=leading,
        duplicates=space.duplicates(),
        fingerprint=space.fingerprint,
        steps=space.steps,
        facts=facts,
    )


def _extent(x: npt.NDArray[np.float64]) -> tuple[int, float]:
    """Rank of centred rows, and the leading direction's share of the variance.

    Where single precision proves that no direction is missing, it also gives the share, to 1e-5.
    """
    peak = float(np.abs(x).max())
    x = x / peak if peak else x
    leading = _leading_of_full(x)
    if leading is not None:
        return x.shape[1], leading
    s = _spectrum(x)
    variance = float(np.sum(s**2))
    return numerical_rank(s), float(s[0] ** 2) / variance if variance else 0.0


def _leading_of_full(x: npt.NDArray[np.float64]) -> float | None:
    """Share of the leading direction where all singular values are above the rank tolerance.

    With columns at unit length the Gram matrix of the columns is C, and that of the columns as they
    are has no eigenvalue below the least of C times the least square of a length. Rounding of C is
    far below ``_CERTAIN``; a Cholesky factor of C less that much says that its eigenvalues are
    above. None where this proves nothing.
    """
    n, width = x.shape
    if not _FEW < width < n:
        return None
    length = np.sqrt(np.einsum("ij,ij->j", x, x))
    total = float(length @ length)
    if not _CERTAIN * float(length.min()) ** 2 > RTOL**2 * total:
        return None
    unit = np.divide(x, length, out=np.empty(x.shape, np.float32), casting="same_kind")
    c = unit.T @ unit
    c[np.diag_indices(width)] -= 2 * _CERTAIN
    if scipy.linalg.lapack.spotrf(c)[1]:
        return None
    c[np.diag_indices(width)] += 2 * _CERTAIN
    c *= np.outer(length, length / total).astype(np.float32)
    start = np.sqrt(np.diagonal(c))
    try:
        found = scipy.sparse.linalg.eigsh(c, k=1, v0=start, return_eigenvectors=False)
    except scipy.sparse.linalg.ArpackError:
        return None
    return float(found[0])


def _spectrum(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Singular values, largest first, from the smaller of X X^T and X^T X.

    Squares hold singular values down to some 1e-7 of the largest, below the rank tolerance.
    """
    values = np.linalg.eigvalsh(x @ x.T if x.shape[0] < x.shape[1] else x.T @ x)
    return np.asarray(np.sqrt(np.clip(values[::-1], 0.0, None)))


def warnings_of(
    facts: Sequence[SpaceFacts], by: str, measures: Sequence[MeasureFacts]
) -> Iterable[str]:
    """What a reader must know before believing a number of these measures; one line each."""
    if by == "position":
        yield "Rows are matched by position: none of the arrays has ids, so nothing checks that row i is the same text."
    yield from _cut(facts)
    n = facts[0].n
    doubled = [f for f in facts if f.duplicates]
    if doubled:
        most = max(doubled, key=lambda f: f.duplicates)
        yield (
            f"{len(doubled)} of {len(facts)} spaces have repeated rows (most: {most.name}, {most.duplicates} of {n}); "
            "repeats make spaces look more alike."
        )
    ruled = [f for f in facts if f.leading_share > _LEADING and f.rank > 1]
    what = _weighing(measures)
    if ruled and what:
        most = max(ruled, key=lambda f: f.leading_share)
        yield (
            f"In {len(ruled)} of {len(facts)} spaces one direction holds more than half of the variance (most: "
            f"{most.name}, {most.leading_share:.1%}): it rules {what} there. Compare again after "
            "space.scale('standardize') or space.scale('drop:1') (on the command line: --scale)."
        )
    biased = [m.title for m in measures if m.name.startswith(_BIASED)]
    wide = [f for f in facts if n <= f.width]
    few = ""
    if wide:
        few = f"{n} rows are no more than the width of {len(wide)} of {len(facts)} spaces"
    elif n < 5 * max(f.width for f in facts):
        few = f"{n} rows are fewer than five times the greatest width"
    if few and biased:
        yield (
            f"{few}: {_listed(biased)} then {'makes' if len(biased) == 1 else 'make'} unrelated spaces look alike; "
            f"read {'it' if len(biased) == 1 else 'them'} beside the null."
        )


def _cut(facts: Sequence[SpaceFacts]) -> Iterable[str]:
    runs = {(f.model, f.facts.get("run")): f for f in facts if f.facts.get("truncated")}
    for f in runs.values():
        cut = int(f.facts["truncated"])
        of = f" of {f.n}" if cut <= f.n else ""
        yield (
            f"{cut}{of} texts {'was' if cut == 1 else 'were'} cut to what {f.model} reads: rows of such a text tell "
            "of its beginning only."
        )


def _weighing(measures: Sequence[MeasureFacts]) -> str:
    """Names for the measures that weigh directions by their variance; empty where none does."""
    weighing = [m.name for m in measures if "invertible" not in " ".join(m.invariant_to)]
    if not weighing:
        return ""
    families = {
        "CKA": any("cka" in name for name in weighing),
        "RSA": any(name.startswith("rsa_") for name in weighing),
        "Procrustes": any(name.startswith("procrustes_") for name in weighing),
    }
    named = [family for family, there in families.items() if there]
    return _listed(named) if named else "what weighs directions by their variance"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
