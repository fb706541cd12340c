"""Headless Chromium for the pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest


def missing(what: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"{what}, which CI needs: tests/browser.py installs it")
    pytest.skip(what)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        missing("no Chromium")
    try:
        from playwright import sync_api as api
    except ImportError:
        missing("no playwright")
    quiet = ["background-networking", "component-update", "sync", "gpu"]
    with api.sync_playwright() as play:
        started = play.chromium.launch(
            executable_path=found,
            args=["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in quiet)],
        )
        yield started
        started.close()
