"""Independent pieces of work side by side: one thread a core, one BLAS thread each.

Matrices of a few hundred rows gain nothing from several BLAS threads and lose much on a busy
machine; pieces computed by one thread each also come out the same to the last bit whatever the
number of cores.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["each", "free_cores"]

Item = TypeVar("Item")
Made = TypeVar("Made")


_here = threading.local()


def free_cores() -> int:
    """Cores that this thread may use: those of the process, or its share among pieces of work."""
    share: int | None = getattr(_here, "share", None)
    if share is not None:
        return share
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(
    work: Callable[[Item], Made], items: Iterable[Item], done: Callable[[], None] | None = None
) -> list[Made]:
    """Apply ``work`` to every item, in the order of the items.

    Pieces that themselves cut their work into pieces share the cores that are left over.

    Parameters
    ----------
    work
        Called from several threads at once; most of its time is spent in numpy.
    items
        The pieces.
    done
        Called in the calling thread after each finished piece.

    Examples
    --------
    >>> each(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    items = list(items)
    made: list[Made] = []
    if getattr(_here, "share", None) == 1 or not items:
        for item in items:
            made.append(work(item))
            if done is not None:
                done()
        return made
    workers = min(free_cores(), len(items))
    share = max(1, free_cores() // workers)
    with (
        _blas().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(workers, initializer=_take, initargs=(share,)) as pool,
    ):
        try:
            for result in pool.map(work, items):
                made.append(result)
                if done is not None:
                    done()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return made


def _take(share: int) -> None:
    _here.share = share


@cache
def _blas() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds: once, after those of numpy and scipy are loaded.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
