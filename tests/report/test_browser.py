"""The report in headless Chromium: quiet, contained, and answering to a pointer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cospace.report import write_report

pytestmark = pytest.mark.browser
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
CASES = ("three_models", "two_arrays", "ten_arrays", "hostile")


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    example = load("example")
    return {name: write_report(getattr(example, name)(), folder / f"{name}.html") for name in CASES}


@pytest.fixture
def opened(browser: Any, reports: dict[str, Path]) -> Iterator[Callable[..., Any]]:
    """Open a report; at the end nothing may have been said or asked for."""
    said: list[str] = []
    contexts = []

    def open_page(name: str, size: str = "desktop", **options: Any) -> Any:
        width, height = SIZES[size]
        viewport = {"width": width, "height": height}
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        address = reports[name].as_uri()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append("dialog"))
        page.on("request", lambda asked: said.append(asked.url) if asked.url != address else None)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("name", CASES)
def test_quiet_and_no_wider_than_the_screen(
    opened: Callable[..., Any], name: str, size: str
) -> None:
    page = opened(name, size)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= SIZES[size][0]
    assert page.locator("h1").is_visible()


def at_cell(page: Any, row: int, column: int) -> tuple[float, float]:
    """Middle of a cell of the first map on the screen."""
    found: list[float] = page.evaluate(
        """([r, c]) => {
            const map = document.querySelector("svg.map");
            map.scrollIntoView({ block: "center", behavior: "instant" });
            const box = map.getBoundingClientRect();
            const unit = box.width / map.viewBox.baseVal.width;
            const half = Number(map.dataset.size) / 2;
            const x = Number(map.dataset.x.split(",")[c]);
            const y = Number(map.dataset.y.split(",")[r]);
            return [box.left + (x + half) * unit, box.top + (y + half) * unit];
        }""",
        [row, column],
    )
    return found[0], found[1]


def settle(page: Any) -> None:
    page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))")


@pytest.mark.parametrize("size", list(SIZES))
def test_pointer_tells_a_cell(opened: Callable[..., Any], size: str) -> None:
    page = opened("three_models", size)
    tip = page.locator("#tip")
    assert not tip.is_visible()
    x, y = at_cell(page, 1, 9)
    settle(page)
    page.mouse.move(x, y)
    told = tip.inner_text()
    for words in (
        "Linear CKA",
        "minilm:block.0",
        "mpnet:block.1",
        "(exact, over all permutations)",
        "effect",
        "(199 shuffles)",
        "p (search)",
        "0.005",
        "384 → 768",
    ):
        assert words in told
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= SIZES[size][0]
    x, y = at_cell(page, 3, 3)
    page.mouse.move(x, y)
    assert "a space against itself" in tip.inner_text()


def test_touch_and_keys_tell_a_cell(opened: Callable[..., Any]) -> None:
    page = opened("ten_arrays", "phone", has_touch=True)
    tip = page.locator("#tip")
    x, y = at_cell(page, 0, 1)
    settle(page)
    page.touchscreen.tap(x, y)
    assert "array-1" in tip.inner_text()
    page.locator("svg.map").first.focus()
    page.keyboard.press("ArrowRight")
    assert "array-2" in tip.inner_text()
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_empty_cell_tells_its_reason(opened: Callable[..., Any]) -> None:
    page = opened("three_models")
    page.locator("#measure-6 > details > summary").click()
    page.locator("#measure-6 .no-value, #measure-6 svg.map").first.focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    told = page.locator("#tip").inner_text()
    assert "exact by dimension alone" in told
    assert "held-out rows" in told


def test_toggle_shows_another_view(opened: Callable[..., Any]) -> None:
    page = opened("three_models", java_script_enabled=False)
    choice = page.locator("#measure-0 .choice")
    assert choice.locator('[data-view="null"]').is_visible()
    choice.get_by_text("Effect", exact=True).click()
    assert choice.locator('[data-view="effect"]').is_visible()
    assert not choice.locator('[data-view="null"]').is_visible()


def test_the_verdict_is_on_a_phone_s_screen(opened: Callable[..., Any]) -> None:
    page = opened("three_models", "phone")
    row = page.locator("#numbers tbody tr:not(.group)").first
    width = SIZES["phone"][0]
    for part in ("th", ".value", ".reading", ".ends", ".strip"):
        box = row.locator(part).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    boxes = [row.locator(part).bounding_box() for part in ("th", ".reading", ".ends")]
    assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
    assert row.evaluate("row => row.offsetHeight") < 170
    assert page.evaluate("document.documentElement.scrollHeight") < 20_000


def test_what_is_wider_than_the_phone_says_so(opened: Callable[..., Any]) -> None:
    page = opened("three_models", "phone")
    box = page.locator("#measure-0 .map-box").first
    hint = box.locator("xpath=following-sibling::p[1]")
    box.scroll_into_view_if_needed()
    settle(page)
    assert hint.inner_text() == "Scroll sideways for the rest →"
    box.evaluate("box => { box.scrollLeft = 9999; }")
    settle(page)
    assert not hint.is_visible()
    wide = opened("three_models")
    settle(wide)
    assert not wide.locator("#measure-0 .hint").first.is_visible()


def test_a_link_and_print_unfold_a_measure(opened: Callable[..., Any]) -> None:
    page = opened("three_models")
    fold = page.locator("#measure-3 > details")
    figure = fold.locator("svg.map").first
    assert not figure.is_visible()
    page.locator("nav a[href='#measure-3']").click()
    assert figure.is_visible()
    quiet = opened("three_models", java_script_enabled=False)
    quiet.emulate_media(media="print")
    assert quiet.locator("#measure-5 svg.map").first.bounding_box()["height"] > 100


def test_curve_point_tells_its_cell(opened: Callable[..., Any]) -> None:
    page = opened("three_models")
    page.locator("#measure-0 .panel .dot").first.hover()
    assert "95 % interval" in page.locator("#tip").inner_text()


def test_records_can_be_saved(opened: Callable[..., Any], tmp_path: Path) -> None:
    page = opened("ten_arrays")
    with page.expect_download() as waiting:
        page.get_by_text("Download as CSV").click()
    target = tmp_path / "cells.csv"
    waiting.value.save_as(target)
    lines = target.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("measure,source,target,value")
    assert len(lines) == 1 + 3 * 90
    assert lines[1].startswith("linear_cka,array-0,array-1,0.68")


def test_hostile_names_stay_text_in_the_tooltip(opened: Callable[..., Any]) -> None:
    page = opened("hostile")
    assert page.locator("script").count() == 2
    assert page.locator("b").count() == 0
