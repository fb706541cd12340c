"""What a comparison was asked for, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace._numbers import check_seed, check_whole
from cospace.comparison.ceilings import has_ceiling
from cospace.comparison.search import CORRECTIONS
from cospace.errors import InputError, RowMismatchError, UnknownNameError
from cospace.measures import CATALOGUE, DEFAULT, Measure
from cospace.measures.confound import BEYOND, beyond
from cospace.measures.inside import INSIDE_GROUPS, inside_groups
from cospace.space import Space

__all__ = [
    "INTERVALS",
    "check_options",
    "check_parts",
    "groups_of",
    "measures_of",
    "named_spaces",
]

INTERVALS = ("rows", "groups", "folds")
"""What intervals draw again, or leave out."""


def named_spaces(spaces: Sequence[Space] | Mapping[str, npt.ArrayLike]) -> list[Space]:
    """Two or more spaces of different names."""
    if isinstance(spaces, Space | str) or not isinstance(spaces, Iterable):
        given = "one Space" if isinstance(spaces, Space) else f"a {type(spaces).__name__}"
        raise InputError(
            f"spaces is {given}; a list of Spaces, or a dictionary of names and arrays, is expected."
        )
    if isinstance(spaces, Mapping):
        found = [Space(rows, name=name) for name, rows in spaces.items()]
    else:
        found = list(spaces)
        bare = next((s for s in found if not isinstance(s, Space)), None)
        if bare is not None:
            raise InputError(
                f"Arrays need names: compare({{'a': x, 'b': y}}), or Spaces; a {type(bare).__name__} was given."
            )
    if len(found) < 2:
        raise InputError(
            f"{len(found)} {'space was' if found else 'spaces were'} given; a comparison needs at least 2."
        )
    names = [space.name for space in found]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"Two spaces are called {again!r}: give each its own name.")
    return found


def measures_of(
    measures: Sequence[str | Measure] | str | Measure | None,
    spaces: Sequence[Space],
    confounds: Sequence[str] | str,
    texts: Mapping[str, str] | None,
) -> list[Measure]:
    """Measures by name or as they are, those for these rows' groups, and RSA beyond confounds."""
    if isinstance(measures, np.ndarray):
        raise InputError("Arrays need names: compare({'a': x, 'b': y}).")
    if measures is None:
        measures = DEFAULT
    elif isinstance(measures, str | Measure):
        measures = [measures]
    known = {measure.name: measure for measure in CATALOGUE}
    chosen = []
    for wanted in _listed("measures", measures, "names or Measures"):
        if isinstance(wanted, Measure):
            if wanted.groups is not None and len(wanted.groups) != spaces[0].n:
                raise InputError(
                    f"{wanted.name} has the groups of {len(wanted.groups)} rows, and {spaces[0].n} rows are "
                    "compared: make it for these."
                )
            chosen.append(wanted)
        elif not isinstance(wanted, str):
            raise InputError(_no_measure(wanted, (*known, *INSIDE_GROUPS)))
        elif wanted == BEYOND:
            raise InputError(
                f"{BEYOND} must be told beyond what: leave it out of the measures and ask for beyond=['length'] "
                "('length', 'words', 'group'; on the command line: --beyond length)."
            )
        elif wanted in INSIDE_GROUPS:
            chosen.append(inside_groups(wanted, groups_of(spaces, wanted)))
        elif wanted in known:
            chosen.append(known[wanted])
        else:
            raise UnknownNameError.among(wanted, (*known, *INSIDE_GROUPS), "measure")
    if not chosen:
        raise InputError("No measure was named: name at least one, or leave measures= out.")
    if isinstance(confounds, str):
        confounds = [confounds]
    confounds = _listed("beyond", confounds, "'length', 'words' or 'group'")
    odd: Any = next((name for name in confounds if not isinstance(name, str)), None)
    if odd is not None:
        raise InputError(f"beyond holds {odd!r}; names are expected: 'length', 'words' or 'group'.")
    given: Any = texts
    if given is not None and not isinstance(given, Mapping):
        raise InputError(
            f"texts is a {type(given).__name__}; a dictionary of ids and their texts is expected."
        )
    if confounds:
        groups = groups_of(spaces, "Likeness beyond group") if "group" in confounds else None
        needed = set(confounds) & {"length", "words"}
        told = None if texts is None or not needed else _texts(spaces[0], texts)
        chosen.append(beyond(confounds, texts=told, groups=groups))
    names = [m.name for m in chosen]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"The measure {again!r} is named twice: name each once.")
    return chosen


def _listed(name: str, given: Any, what: str) -> list[Any]:
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {given!r}; {what}, one or a list of them, are expected.")
    return list(given)


def _no_measure(given: object, known: Iterable[str]) -> str:
    """Say of a function what to name instead, and of another thing that it is no measure."""
    name = getattr(given, "__name__", None)
    if not callable(given) or name is None:
        return f"measures holds {given!r}; names of the catalogue, or Measures, are expected."
    if name in known:
        return f'measures holds the function {name}; name it: "{name}".'
    return (
        f"measures holds the function {name}; a name of the catalogue is expected, or a Measure that holds your "
        "function and its claims."
    )


def check_options(
    correct: str, intervals: str, reduced: int | None, rng: int, permutations: int
) -> None:
    """Refuse options out of their range."""
    words: tuple[tuple[str, Any, tuple[str, ...], str], ...] = (
        ("correct", correct, CORRECTIONS, "correction"),
        ("intervals", intervals, INTERVALS, "kind of interval"),
    )
    for name, word, known, what in words:
        if not isinstance(word, str):
            wanted = ", ".join(map(repr, known))
            raise InputError(f"{name} is {word!r}; one of {wanted} is expected.")
        if word not in known:
            raise UnknownNameError.among(word, known, what)
    check_whole(permutations=permutations)
    check_whole(reduced=reduced, or_none=True)
    if permutations < 0:
        raise InputError(f"{permutations} permutations were asked for; 0 or more are expected.")
    if reduced is not None and reduced < 1:
        raise InputError(f"reduced is {reduced}; 1 or more principal components are expected.")
    check_seed(rng)


def check_parts(
    measures: Sequence[Measure],
    intervals: str,
    *,
    ceiling: bool,
    reduced: int | None,
    permute_fits: bool,
) -> None:
    """Refuse what has no part in any of the measures."""
    if permute_fits and not any(m.decomposes for m in measures):
        raise InputError(
            "permute_fits (--permute-fits) is for measures that decompose or fit every pair, such as "
            "procrustes_similarity and heldout_r2, and none was asked for: name one, or leave it out."
        )
    if intervals == "folds" and not any(m.folds for m in measures):
        able = ", ".join(m.name for m in CATALOGUE if m.folds)
        raise InputError(
            f"Intervals over folds are for {able}, and none of these was asked for: name one, or leave "
            "intervals= out."
        )
    if not ceiling:
        return
    if reduced is not None:
        raise InputError(
            "A noise ceiling splits coordinates that could be exchanged, and principal components cannot: leave "
            "reduced= or ceiling= out."
        )
    if not any(map(has_ceiling, measures)):
        raise InputError(
            "A noise ceiling is for similarities that are 0 by chance, such as debiased_cka and rsa_spearman, and "
            "none was asked for: name one, or leave ceiling= out."
        )


def groups_of(spaces: Sequence[Space], what: str) -> tuple[str, ...]:
    """Groups that the spaces agree on, which ``what`` needs."""
    grouped = [space for space in spaces if space.groups is not None]
    if not grouped:
        raise InputError(f"{what} needs groups: give the texts a group column.")
    first, groups = grouped[0], grouped[0].groups or ()
    for space in grouped:
        if space.groups != groups:
            raise InputError(
                f"{first.name} and {space.name} put the same texts into different groups: give both the same."
            )
    return groups


def _texts(space: Space, texts: Mapping[str, str]) -> list[str]:
    """The text of every row."""
    if space.ids is None:
        raise RowMismatchError(
            f"{space.name} has no ids, so that nothing says which text belongs to which row: give the arrays "
            "the ids of the texts."
        )
    missing = [i for i in space.ids if i not in texts]
    if missing:
        raise RowMismatchError(
            f"{len(missing)} of the {space.n} ids have no text ({missing[0]!r} is one): give the texts that the "
            "rows were made of, with their ids."
        )
    return [texts[i] for i in space.ids]
