"""One measure's part of a comparison: its plan, its shuffles, what is asked beside its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cospace.comparison.pairwise import Scored, steps
from cospace.comparison.plan import Pair, Plan
from cospace.stats import Permutations
from cospace.stats.closed_form import FEWEST

__all__ = ["Part", "Progress", "Ticker"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done, and steps in all."""

_FEW = 20


@dataclass(frozen=True)
class Part:
    """What is done for one measure."""

    plan: Plan
    """Pairs and route."""
    shuffles: Permutations
    """The shuffles asked for."""
    few: bool
    """Whether only 20 of them are drawn, for the mean alone."""
    free: bool
    """Whether the closed form over all permutations holds: not inside groups."""
    jackknife: bool
    """Whether intervals come from folds."""
    ceiling: bool
    """Whether noise ceilings are given."""

    @property
    def drawn(self) -> Permutations:
        """Shuffles that are drawn."""
        if not self.few:
            return self.shuffles
        return replace(self.shuffles, orders=self.shuffles.orders[:_FEW], exact=False)

    @property
    def note(self) -> str | None:
        """Why there is no p."""
        if self.plan.measure.untested is not None:
            return self.plan.measure.untested
        if not (self.few and len(self.shuffles)):
            return None
        return (
            "every shuffle would need its own fit or decomposition: mean of "
            f"{len(self.drawn)} shuffles only"
        )

    def told(self, rows: Mapping[Pair, Scored], n: int) -> dict[Pair, Scored]:
        """Say of every value without a null why it has none, where no shuffles were asked for."""
        if len(self.shuffles):
            return dict(rows)
        if not self.free:
            why = "there is no closed form inside groups"
        elif n < FEWEST:
            why = f"{n} rows are too few for the closed form, but all their orders can be listed"
        elif self.plan.measure.relation is not None and not self.plan.stacked:
            why = "made pair by pair this measure has no closed form"
        else:
            why = "this measure has no closed form"
        note = f"no shuffles were asked for, and {why}: shuffle (--permutations 199)"

        def bare(row: Scored) -> bool:
            nothing = row.null is None and row.exact is None and row.note is None
            return row.value is not None and nothing

        return {pair: replace(row, note=note) if bare(row) else row for pair, row in rows.items()}

    def steps(self, spaces: int, samples: int) -> int:
        """How often it reports progress where every pair has a value."""
        plan, draws = self.plan, len(self.drawn)
        found = spaces + draws + samples
        if not plan.stacked:
            found = 1 + steps(plan.measure, len(plan.pairs), draws)
        if self.jackknife:
            found += len(plan.pairs) // (2 if plan.measure.symmetric else 1)
        return found + (spaces if self.ceiling else 0)


class Ticker:
    """Counts steps for ``progress``, part by part."""

    def __init__(self, progress: Progress | None, spaces: int, steps: Sequence[int]) -> None:
        self.progress = progress
        self.steps = iter(steps)
        self.what = "ranks of the spaces"
        self.done = 0
        self.until = spaces
        self.total = spaces + sum(steps)

    def begin(self, what: str) -> None:
        """Go on to the next part."""
        self.what = what
        self.until = self.done + next(self.steps)

    def end(self) -> None:
        """Count the steps that the part did not need."""
        if self.done < self.until:
            self.done = self.until - 1
            self()

    def __call__(self) -> None:
        """Count one step."""
        self.done = min(self.done + 1, self.until)
        if self.progress is not None:
            self.progress(self.what, self.done, self.total)
