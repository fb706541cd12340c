"""Settings of a shared space: checked, and chosen where they are ``auto``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError, UnknownNameError
from cospace.shared.choose import SCALINGS, Choice, best_of, choose
from cospace.shared.scaling import Scaling
from cospace.shared.training import Texts

__all__ = ["check_settings", "given", "settle"]

_METHODS = ("auto", "gpa", "gcca")


def check_settings(params: Mapping[str, Any]) -> None:
    """Refuse parameters of a shared space that make no sense.

    Raises
    ------
    UnknownNameError
        For another method.
    InputError
        For everything else.
    """
    if not isinstance(params["method"], str) or params["method"] not in _METHODS:
        raise UnknownNameError.among(str(params["method"]), _METHODS, "method of SharedSpace")
    if params["missing"] not in ("refuse", "mask"):
        raise InputError(f"missing is {params['missing']!r}; 'refuse' or 'mask' is expected.")
    if not isinstance(params["scaling"], str):
        raise InputError(
            f"scaling is {params['scaling']!r}; 'auto' or a policy in words is expected."
        )
    if params["scaling"] != "auto":
        Scaling.read(params["scaling"])
    width, ridge, tol = params["width"], params["ridge"], params["tol"]
    if width != "auto" and not _within(width, Integral, 1):
        raise InputError(f"width is {width!r}; 'auto' or a whole number, 1 or more, is expected.")
    if ridge != "auto" and not _within(ridge, Real, 0.0):
        raise InputError(f"ridge is {ridge!r}; 'auto' or a number, 0 or more, is expected.")
    if not _within(tol, Real, 0.0) or tol == 0.0:
        raise InputError(f"tol is {tol!r}; a finite number above 0 is expected.")
    if not isinstance(params["scales"], bool | np.bool_):
        raise InputError(f"scales is {params['scales']!r}; True or False is expected.")
    check_whole(folds=params["folds"], sweeps=params["sweeps"])
    if params["folds"] < 2:
        raise InputError(f"{params['folds']} folds were asked for; at least 2 are needed.")
    if params["sweeps"] < 1:
        raise InputError(f"sweeps is {params['sweeps']}; a whole number, 1 or more, is expected.")
    check_seed(params["rng"])


def _within(value: Any, kind: type, least: float) -> bool:
    """Whether a value is a finite number of a kind, from ``least`` on."""
    return (
        isinstance(value, kind) and not isinstance(value, bool) and bool(least <= value < np.inf)  # type: ignore[operator]
    )


def settle(
    texts: Texts, params: Mapping[str, Any], done: Callable[[int, int], None] | None
) -> Choice:
    """Choose what is ``auto`` on the texts that all models have."""
    method, scaling, width, ridge = (params[k] for k in ("method", "scaling", "width", "ridge"))
    methods = ("gpa", "gcca") if method == "auto" else (method,)
    scalings = SCALINGS if scaling == "auto" else (scaling,)
    widths = None if width == "auto" else (int(width),)
    ridges = None if ridge == "auto" else (float(ridge),)
    if "auto" not in (method, scaling, width) and (method == "gpa" or ridges is not None):
        return given(method, scaling, int(width), 0.0 if method == "gpa" else float(ridge), texts.n)
    whole = texts.complete()
    found = choose(
        whole.rows,
        methods=methods,
        scalings=scalings,
        widths=widths,
        ridges=ridges,
        folds=params["folds"],
        groups=whole.groups,
        rng=params["rng"],
        done=done,
    )
    return _joined(list(found.values()))


def given(method: str, scaling: str, width: int, ridge: float, n: int) -> Choice:
    """Settings as they were given, with nothing chosen."""
    return Choice(
        method,
        str(Scaling.read(scaling)),
        width,
        ridge,
        None,
        0,
        n,
        (),
        "Every setting was given; nothing was chosen.",
    )


def _joined(choices: list[Choice]) -> Choice:
    """The better of several methods, with the candidates of all."""
    best = best_of(choices)
    tried = tuple(one for choice in choices for one in choice.candidates)
    others = [one for one in choices if one is not best]
    told = "".join(
        f" {one.method} reached {one.best.score:.3f} at best ({one.scaling}, width {one.width})."
        for one in others
        if one.best is not None
    )
    return Choice(
        best.method,
        best.scaling,
        best.width,
        best.ridge,
        best.by_pair,
        best.folds,
        best.n,
        tried,
        f"{best.method}: {best.why}{told}",
    )
