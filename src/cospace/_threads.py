"""Independent pieces of work side by side: one thread a core, one BLAS thread each.

Matrices of a few hundred rows gain nothing from several BLAS threads and lose much on a busy
machine; pieces computed by one thread each also come out the same to the last bit whatever the
number of cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["each", "free_cores"]

Item = TypeVar("Item")
Made = TypeVar("Made")


def free_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(
    work: Callable[[Item], Made], items: Iterable[Item], done: Callable[[], None] | None = None
) -> list[Made]:
    """Apply ``work`` to every item, in the order of the items.

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
    made = []
    with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(free_cores()) as pool:
        try:
            for result in pool.map(work, items):
                made.append(result)
                if done is not None:
                    done()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return made


@cache
def _blas() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds: once, after those of numpy and scipy are loaded.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()
