"""From a store of activations to spaces by pooling, model and relative depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cospace.errors import InputError, StoreError
from cospace.models.base import TokenPolicy
from cospace.space import Space
from cospace.store import Store
from cospace.store.view import Run

__all__ = ["Grid", "read_grid"]

Grid = Mapping[str, Mapping[str, Mapping[float, Space]]]
"""Pooling -> model -> relative depth -> space."""


def read_grid(
    store: Store,
    depths: Sequence[float],
    poolings: Sequence[str] | None = None,
    *,
    scale: str = "none",
) -> Grid:
    """Spaces of every pooling that all models of a store have, at relative depths.

    A model that was read under several token policies (without its first position, with special
    tokens) has as many poolings of each kind, and they are told apart: ``mean``, ``mean, no sink``.

    Parameters
    ----------
    store
        Activations.
    depths
        Relative depths in [0, 1].
    poolings
        Names as above; by default all that every model has.
    scale
        Of every space, as ``Space.scale`` takes it: where one direction rules a space, it rules
        CKA and RSA.

    Returns
    -------
    Mapping
        Pooling -> model -> depth -> space.

    Raises
    ------
    InputError
        For a depth out of [0, 1], fewer than two models, no pooling that all of them have, or a
        scaling that is none.
    StoreError
        Where the store lacks a depth, or is unfinished or damaged.
    """
    wrong = [depth for depth in depths if not 0.0 <= depth <= 1.0]
    if wrong or not depths:
        raise InputError(
            f"depths are {', '.join(f'{d:g}' for d in depths) or 'none'}: name relative depths from 0 to 1."
        )
    runs: dict[str, dict[str, tuple[Run, str]]] = {}
    for run in store.runs:
        for pooling in run.poolings:
            mine = runs.setdefault(f"{pooling.value}{_policy(run.policy)}", {})
            if run.facts.name in mine:
                raise StoreError(
                    f"{store.path} has two runs of {run.facts.name} that are pooled alike, {run.folder} and "
                    f"{mine[run.facts.name][0].folder}: extract one of them into a store of its own."
                )
            mine[run.facts.name] = run, pooling.value
    models = list(dict.fromkeys(run.facts.name for run in store.runs))
    if len(models) < 2:
        raise InputError(
            f"{store.path} holds {len(models)} model{'s' * (len(models) != 1)}: a correspondence needs "
            "two or more, extracted into one store."
        )
    shared = [name for name, mine in runs.items() if len(mine) == len(models)]
    chosen = list(poolings) if poolings is not None else shared
    for name in chosen:
        if name not in shared:
            there = (
                f"all models have {'; '.join(shared)}" if shared else "no pooling is shared by all"
            )
            raise InputError(
                f"Pooling {name!r} is not there for every model of {store.path}: {there}. Extract it "
                "for the others."
            )
    if not chosen:
        each = "; ".join(f"{name}: {', '.join(mine)}" for name, mine in runs.items())
        raise InputError(
            f"No pooling of {store.path} is there for every model ({each}): extract one for all."
        )
    return {
        name: {
            model: {
                depth: store.space(runs[name][model][0].folder, depth, runs[name][model][1]).scale(
                    scale
                )
                for depth in depths
            }
            for model in models
        }
        for name in chosen
    }


def _policy(policy: TokenPolicy) -> str:
    return f"{', special tokens' * policy.special}{', no sink' * (not policy.sink)}"
