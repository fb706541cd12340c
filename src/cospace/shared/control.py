"""The control beside every fit: the same settings on rows that do not belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cospace.maps.folds import fold_numbers
from cospace.shared.choose import Choice, fit_choice
from cospace.shared.retrieval import retrieve
from cospace.shared.scaling import Floats
from cospace.shared.training import Texts, kept_together

__all__ = ["Control", "control_of"]


@dataclass(frozen=True)
class Control:
    """Top-1 over all ordered pairs of a fit without one fold, and of the same on shuffled rows.

    The shuffled fit knows the models and not which rows belong together: what it finds
    in-sample, there is not. Galleries are of one size throughout.
    """

    held_out: float
    """On the texts of the fold. The settings were chosen on these among others."""
    in_sample: float
    """On the texts of the fit."""
    shuffled_held_out: float
    """On the texts of the fold, after a fit on shuffled rows."""
    shuffled_in_sample: float
    """On the shuffled rows of that fit."""
    chance: float
    """Exact, 1 over the gallery."""
    gallery: int
    """Number of texts that are searched: those of the fold."""
    n: int
    """Rows of the fit without the fold."""

    @property
    def warning(self) -> str | None:
        """What a reader must know, if anything."""
        if self.shuffled_in_sample <= max(2.0 * self.chance, self.chance + 0.05):
            return None
        return (
            f"With shuffled rows the same fit finds {self.shuffled_in_sample:.0%} of its own texts (chance "
            f"{self.chance:.1%}) and {self.shuffled_held_out:.1%} of unseen ones: in-sample scores of this space mean "
            "nothing."
        )


def control_of(texts: Texts, choice: Choice, *, folds: int, rng: int) -> Control:
    """Control of a choice on the first of ``folds`` folds.

    Raises
    ------
    InputError, UndefinedMeasureError
        For rows that are too few for the folds, or say nothing without one.
    """
    whole = texts.complete()
    together = kept_together(whole.rows, whole.groups, folds)
    out = fold_numbers(whole.n, together, folds) == 0
    seen = {name: rows[~out] for name, rows in whole.rows.items()}
    unseen = {name: rows[out] for name, rows in whole.rows.items()}
    draw = np.random.default_rng(rng)
    mixed = {name: rows[draw.permutation(len(rows))] for name, rows in seen.items()}
    size = int(out.sum())
    held_out, in_sample = _top1(seen, (unseen, seen), choice, size, rng)
    without, within = _top1(mixed, (unseen, mixed), choice, size, rng)
    return Control(
        held_out, in_sample, without, within, 1.0 / size, size, len(next(iter(seen.values())))
    )


def _top1(
    fit: Mapping[str, Floats],
    sides: tuple[Mapping[str, Floats], ...],
    choice: Choice,
    gallery: int,
    rng: int,
) -> list[float]:
    blocks, found = fit_choice(fit, choice, rng=rng)
    many = range(len(blocks.encoders))
    values = []
    for rows in sides:
        z = [encoder(rows[encoder.name]) for encoder in blocks.encoders]
        size = min(gallery, len(z[0]))
        values.append(
            float(
                np.mean(
                    [
                        retrieve(
                            found.query(a, b, z[a]), found.answer(a, b, z[b]), gallery=size
                        ).top1
                        for a in many
                        for b in many
                        if a != b
                    ]
                )
            )
        )
    return values
