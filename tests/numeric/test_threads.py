"""Pieces of work side by side: in order, told as they end, and never more threads than cores."""

from __future__ import annotations

import threading

import pytest

from cospace import _threads
from cospace._threads import each, free_cores


@pytest.fixture(params=[1, 2, 6])
def cores(request, monkeypatch):
    monkeypatch.setattr(_threads.os, "sched_getaffinity", lambda _: set(range(request.param)))
    return request.param


def test_in_the_order_of_the_items(cores):
    seen = []
    assert each(lambda i: i * i, iter(range(7)), lambda: seen.append(1)) == [
        0,
        1,
        4,
        9,
        16,
        25,
        36,
    ]
    assert len(seen) == 7
    assert each(abs, []) == []


def test_pieces_of_pieces_share_the_cores(cores):
    assert free_cores() == cores
    shares = each(lambda _: each(lambda _: free_cores(), range(3)), range(2))
    workers = min(cores, 2)
    left = max(1, cores // workers)
    within = min(left, 3)
    assert shares == [[max(1, left // within)] * 3] * 2
    assert free_cores() == cores


def test_no_more_threads_than_cores(cores):
    running, most, lock = 0, 0, threading.Lock()
    gate = threading.Event()

    def leaf(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(0.002)
        with lock:
            running -= 1

    each(lambda _: each(leaf, range(8)), range(4))
    assert most <= cores


def test_what_a_piece_of_a_piece_raises_is_raised(cores):
    def fail(i):
        raise ValueError(f"piece {i}")

    with pytest.raises(ValueError, match=r"^piece 0$"):
        each(lambda _: each(fail, range(3)), range(2))
