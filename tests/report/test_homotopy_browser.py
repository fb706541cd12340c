"""The page of an affine-homotopy study in headless Chromium, with hostile names and without."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from cospace.report.homotopy import study_page
from cospace.report.render import page_html

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    spec = spec_from_file_location("study_example", Path(__file__).with_name("study_example.py"))
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    folder = tmp_path_factory.mktemp("studies")
    studies = {
        "few": example.study(3, p=1 / 6),
        "paper": example.study(27, depths=(0.0, 1.0), tasks=tuple("abcdef")),
        "hostile": example.hostile(),
    }
    found = {}
    for name, study in studies.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(page_html(study_page(study)), encoding="utf-8")
    return found


@pytest.mark.parametrize("size", [(390, 844), (1280, 900)])
@pytest.mark.parametrize("name", ["few", "paper", "hostile"])
def test_quiet_no_wider_than_the_screen_and_answering(
    browser: Any, reports: dict[str, Path], name: str, size: tuple[int, int]
) -> None:
    said: list[str] = []
    address = reports[name].as_uri()
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append("dialog"))
    page.on("request", lambda asked: said.append(asked.url) if asked.url != address else None)
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    page.locator("svg.map").first.focus()
    page.keyboard.press("ArrowRight")
    tip = page.locator("#tip").inner_text()
    assert tip.startswith("Depth ")
    for words in ("source", "target", "normalised", "held_out"):
        assert words in tip
    page.keyboard.press("ArrowRight")
    choice = page.locator(".choice").first
    choice.get_by_text("Difference of directions").click()
    assert choice.locator('[data-view="asymmetry"]').is_visible()
    assert not choice.locator('[data-view="held-out"]').is_visible()
    if name != "paper":  # of 702 points the first may lie under others
        page.locator("svg.scatter .dot").last.hover()
        assert "bound" in page.locator("#tip").inner_text()
    assert page.locator("script").count() == 2
    assert page.locator("b").count() == 0
    page.close()
    assert said == []
