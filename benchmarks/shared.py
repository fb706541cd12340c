"""Generalized Procrustes from moments beside a plain one on rows: data, reference, page."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from cospace import Moments
from cospace.shared.blocks import Blocks
from cospace.shared.procrustes import Consensus, generalized_procrustes

MODELS = 5
TOL = 1e-7


def planted(
    rows: int, width: int, *, stretch: float = 1.0, noise: float = 1.0, rng: int = 0
) -> dict[str, np.ndarray]:
    """One latent structure that every model stretches, turns, and adds noise of its own to.

    Variances fall as 1/j. Every model stretches along axes of its own, by factors exp(stretch * g)
    with g normal: with 0 models differ by rotations and noise alone, and a few sweeps are enough.
    """
    draw = np.random.default_rng(rng)
    spread = 1.0 / np.sqrt(np.arange(1, width + 1))
    latent = draw.normal(size=(rows, width)) * spread

    def turn() -> np.ndarray:
        return np.linalg.qr(draw.normal(size=(width, width)))[0]

    found = {}
    for model in range(MODELS):
        axes = turn()
        seen = latent @ (axes * np.exp(stretch * draw.normal(size=width))) @ axes.T
        own = draw.normal(size=(rows, width)) * spread
        found[f"m{model}"] = (seen + noise * own) @ turn()
    return found


@dataclass(frozen=True)
class OnRows:
    """What the plain algorithm found."""

    loss: float
    """Share of the variance about the consensus."""
    sweeps: int
    """Sweeps made."""


def plain(tables: list[np.ndarray], *, tol: float = TOL, sweeps: int = 200) -> OnRows:
    """Align to the first, then every model to the mean of all, until the loss falls by less than tol."""
    total = sum(float(np.sum(t * t)) for t in tables)
    aligned = [tables[0]]
    for table in tables[1:]:
        u, _, vt = np.linalg.svd(table.T @ tables[0])
        aligned.append(table @ (u @ vt))
    before = np.inf
    for done in range(sweeps + 1):
        centre = sum(aligned) / len(aligned)
        loss = sum(float(np.sum((one - centre) ** 2)) for one in aligned)
        if before - loss <= tol * loss or done == sweeps:
            return OnRows(loss / total, done)
        before = loss
        for m, table in enumerate(tables):
            u, _, vt = np.linalg.svd(table.T @ centre)
            aligned[m] = table @ (u @ vt)
    raise AssertionError("the loop returns")


def from_moments(moments: Moments, width: int) -> Consensus:
    """Blocks and fit, from moments alone."""
    return generalized_procrustes(Blocks.of_moments(moments, width=width), tol=TOL)


@dataclass(frozen=True)
class Beside:
    """Both fits of one run."""

    ours: float
    """Seconds of the processor for our fit from moments."""
    theirs: float
    """Seconds of the processor for the plain fit on rows."""
    moments: float
    """Seconds of the processor to make the moments, once."""
    found: Consensus
    """Our fit."""
    reference: OnRows
    """The plain fit."""

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.theirs / self.ours


def measure(rows: int, width: int, *, stretch: float = 1.0) -> Beside:
    """Both fits on the same rows; the plain one gets centred rows of unit size."""
    spaces = planted(rows, width, stretch=stretch)
    start = time.process_time()
    moments = Moments.of(spaces)
    made = time.process_time()
    found = from_moments(moments, width)
    ours = time.process_time() - made
    tables = [x - x.mean(axis=0) for x in spaces.values()]
    tables = [t / np.linalg.norm(t) for t in tables]
    del spaces
    begun = time.process_time()
    reference = plain(tables)
    return Beside(ours, time.process_time() - begun, made - start, found, reference)


def page(run: Beside, rows: int, width: int) -> str:
    """One run in words and numbers."""
    found, reference = run.found, run.reference
    return f"""| {MODELS} models, width {width}, {rows:,} rows | sweeps | loss | stationarity residual | seconds a fit |
|---|---:|---:|---:|---:|
| cospace, from moments | {found.sweeps} | {found.loss:.9f} | {found.residual:.1e} ({found.stopped}) | {run.ours:.2f} |
| plain, on rows | {reference.sweeps} | {reference.loss:.9f} | not said | {run.theirs:.2f} |

Ratio {run.ratio:.0f}. Making the moments, once, takes {run.moments:.2f} seconds."""


if __name__ == "__main__":
    from threadpoolctl import threadpool_limits

    for amount in (0.0, 1.0):
        with threadpool_limits(1):
            print(
                f"stretch {amount:g}\n\n{page(measure(100_000, 200, stretch=amount), 100_000, 200)}\n"
            )
