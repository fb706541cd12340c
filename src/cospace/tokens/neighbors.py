"""Exact neighbours of some tokens among many, a block at a time; blocks can be kept and gone on from."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cospace._threads import each
from cospace.errors import InputError
from cospace.search import Search

__all__ = ["Metric", "by_distance", "neighbors_of", "prepare_search"]

Metric = Literal["euclidean", "cosine"]
Index = npt.NDArray[np.int64]

BLOCK = 4096
"""Tokens whose neighbours are searched, and kept, together."""
LAYOUT = 2
_PAIRS = 1 << 17
_CHECKSUM = hashlib.sha256().digest_size
"""Bytes of a checksum."""


def neighbors_of(
    rows: npt.NDArray[Any],
    places: Index,
    k: int,
    *,
    metric: Metric = "euclidean",
    folder: Path | None = None,
    key: Mapping[str, Any] | None = None,
    done: Callable[[int, int], None] | None = None,
    prepared: Callable[[], Search] | None = None,
) -> Index:
    """K nearest others of some rows among all, exactly; cost len(places) n d.

    Parameters
    ----------
    rows
        Shape (n, d): all rows among which neighbours are looked for.
    places
        Numbers of the rows whose neighbours are wanted, 0 to n - 1; none twice.
    k
        Number of neighbours. The row itself is left out by its number, so that repeats stay.
    metric
        ``euclidean`` of the centred rows, or ``cosine``.
    folder
        Where finished blocks are kept, and looked for.
    key
        What the rows are, in plain values; needed with ``folder``.
    done
        Told how many of the tokens are done, and how many there are.
    prepared
        Gives the search of these rows, for this many neighbours or more, where several ask for it;
        called only if some neighbours are not kept.

    Returns
    -------
    array
        Numbers of rows, shape (len(places), k), in no order that means anything.

    Raises
    ------
    InputError
        For k < 1, an unknown metric, no place, or one that is no row or stands twice, rows with numbers that
        are not finite, or a folder that cannot be written.
    UndefinedMeasureError
        For k >= n - 1, rows that are all the same, or (cosine) a row of zeros.
    """
    _check_metric(metric)
    places = _places(places, len(rows))
    kept = _Kept(folder, key or {}, places, k, metric, len(rows))
    starts = range(0, len(places), BLOCK)
    found = [kept.read(start) for start in starts]
    finished = sum(len(block) for block in found if block is not None)
    if done is not None:
        done(finished, len(places))
    if any(block is None for block in found):
        search = prepare_search(rows, k, metric=metric) if prepared is None else prepared()
        for i, start in enumerate(starts):
            if found[i] is not None:
                continue
            stop = min(start + BLOCK, len(places))
            block = search.of(places[start:stop], k)
            kept.write(start, block)
            found[i] = block
            finished += len(block)
            if done is not None:
                done(finished, len(places))
    return np.concatenate([block for block in found if block is not None])


def prepare_search(rows: npt.NDArray[Any], k: int, *, metric: Metric = "euclidean") -> Search:
    """Prepare for searches of the k nearest or fewer.

    Raises
    ------
    InputError, UndefinedMeasureError
        As ``neighbors_of``.
    """
    _check_metric(metric)
    _check_finite(rows)
    return (Search.cosine if metric == "cosine" else Search.euclidean)(rows, k)


def by_distance(
    rows: npt.NDArray[Any], places: Index, index: Index, *, metric: Metric = "euclidean"
) -> Index:
    """Put the neighbours of each row in order, nearest first; of equally near ones the lower number.

    Differences are taken in double precision, so that a common offset costs nothing.
    """
    made = np.empty_like(index)
    step = max(1, _PAIRS // (index.shape[1] * rows.shape[1]))

    def order(start: int) -> None:
        part = slice(start, start + step)
        near = np.sort(index[part], axis=1)
        own = rows[places[part]].astype(np.float64)[:, None]
        others = rows[near].astype(np.float64)
        if metric == "cosine":
            own /= np.linalg.norm(own, axis=2, keepdims=True)
            others /= np.linalg.norm(others, axis=2, keepdims=True)
        others -= own
        far = np.einsum("ijk,ijk->ij", others, others)
        made[part] = np.take_along_axis(near, np.argsort(far, axis=1, kind="stable"), axis=1)

    each(order, range(0, len(index), step))
    return made


def _check_metric(metric: str) -> None:
    if metric not in ("euclidean", "cosine"):
        raise InputError(f"{metric!r} is no metric of neighbours here: euclidean and cosine are.")


def _places(places: npt.ArrayLike, n: int) -> Index:
    made = np.asarray(places)
    if made.ndim != 1 or made.dtype.kind not in "iu" or not len(made):
        raise InputError(
            f"Places are an array of shape {made.shape} and type {made.dtype}; one or more row "
            "numbers are expected."
        )
    outside = (made < 0) | (made >= n)
    if outside.any():
        raise InputError(f"Place {made[outside][0]} is no row: rows are 0 to {n - 1}.")
    numbers, times = np.unique(made, return_counts=True)
    if len(numbers) < len(made):
        raise InputError(f"Place {numbers[times > 1][0]} stands twice: name each row once.")
    return made.astype(np.int64)


def _check_finite(rows: npt.NDArray[Any]) -> None:
    for start in range(0, len(rows), BLOCK):
        whole = np.isfinite(rows[start : start + BLOCK]).all(axis=1)
        if not whole.all():
            raise InputError(
                f"Row {start + int(np.argmin(whole))} holds a number that is not finite, so nothing is near or far "
                "from it: leave it out."
            )


class _Kept:
    """Blocks of one search on disk; without a folder there are none.

    A file is an array in NumPy's format, and after it a checksum of the array and of whose it is.
    Nothing short of a new search can tell whether a block without a checksum is right, so that one
    is made anew.
    """

    def __init__(
        self,
        folder: Path | None,
        key: Mapping[str, Any],
        places: Index,
        k: int,
        metric: Metric,
        n: int,
    ) -> None:
        self.places, self.k, self.n = places, k, n
        self.folder: Path | None = None
        if folder is None:
            return
        facts = {
            **key,
            "k": k,
            "metric": metric,
            "rows": n,
            "places": hashlib.sha256(np.ascontiguousarray(places, "<i8").tobytes()).hexdigest(),
            "block": BLOCK,
            "layout": LAYOUT,
        }
        text = json.dumps(facts, sort_keys=True)
        self.folder = folder / hashlib.sha256(text.encode()).hexdigest()[:24]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "search.json").write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"Neighbours cannot be kept in {folder} ({error.strerror}): name another folder."
            ) from None

    def read(self, start: int) -> Index | None:
        """A block that was kept; None where there is none, or no whole one."""
        if self.folder is None:
            return None
        expected = (min(BLOCK, len(self.places) - start), self.k)
        try:
            raw = (self.folder / _name(start)).read_bytes()
            content, checksum = raw[:-_CHECKSUM], raw[-_CHECKSUM:]
            if self._checksum(start, content) != checksum:
                return None
            block = np.load(io.BytesIO(content), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        whole = block.shape == expected and block.dtype == np.int32
        if not whole or block.min() < 0 or block.max() >= self.n:
            return None
        return np.asarray(block, dtype=np.int64)

    def _checksum(self, start: int, content: bytes) -> bytes:
        owner = "" if self.folder is None else self.folder.name
        return hashlib.sha256(f"{owner} {start} ".encode() + content).digest()

    def write(self, start: int, block: Index) -> None:
        """Keep a block; it is there whole or not at all."""
        if self.folder is None:
            return
        path = self.folder / _name(start)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            stream = io.BytesIO()
            np.save(stream, block.astype(np.int32), allow_pickle=False)
            content = stream.getvalue()
            draft.write_bytes(content + self._checksum(start, content))
            draft.replace(path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise InputError(
                f"Neighbours cannot be kept in {self.folder} ({error.strerror}): free some space, or "
                "name another folder."
            ) from None


def _name(start: int) -> str:
    return f"{start:08d}.npy"
