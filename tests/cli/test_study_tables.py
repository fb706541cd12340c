"""A study on the terminal: its numbers, within 80 columns where lines do not wrap."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cospace.cli.study_tables import print_study
from cospace.studies.affine_homotopy.result import AffineHomotopyStudy


def load() -> Any:
    path = Path(__file__).parents[1] / "report" / "study_example.py"
    spec = spec_from_file_location("study_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load()


def printed(study: AffineHomotopyStudy, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_study(study)
    found = capsys.readouterr()
    assert found.err == ""
    return found.out.splitlines()


def test_pairs_distances_and_links_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    study = example.study(12, p=0.004)
    lines = printed(study, capsys)
    assert lines[0] == "Twelve seeds: 12 encoders, 132 ordered pairs"
    values = [x.normalised for x in study.intrinsic if x.depth == 0.5]
    row = next(line.split() for line in lines if line.startswith("  0.5"))
    assert row[:5] == [
        "0.5", "132", f"{np.median(values):.3f}", f"{min(values):.3f}", f"{max(values):.3f}",
    ]  # fmt: skip
    link = next(line.split() for line in lines if line.startswith("sentiment") and "worst" in line)
    assert " ".join(link) == "sentiment 1 worst 0.500 0.004 0.500 0.004 0.621"
    other = next(line.split() for line in lines if line.startswith("acceptability"))
    assert " ".join(other) == "acceptability 1 fixed 0.500 0.004 0.500 0.004 -"
    assert any(line.startswith("- The affine distance predicts") for line in lines)
    assert lines[-1] == "! The ensemble is small."


@pytest.mark.parametrize("count", [3, 27])
def test_tables_stay_within_80_columns(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = ("a task with a name that is much too long for a column", "b")
    lines = printed(example.study(count, tasks=tasks), capsys)
    end = lines.index("", lines.index("", 2) + 1)
    assert max(map(len, lines[:end])) <= 80
    assert any(line.startswith("a task with a nam…") for line in lines)


def test_a_study_without_links_or_held_out_texts(capsys: pytest.CaptureFixture[str]) -> None:
    study = example.study(3, published=False)
    bare = replace(
        study,
        links=(),
        intrinsic=tuple(replace(x, held_out=None) for x in study.intrinsic),
    )
    lines = printed(bare, capsys)
    assert not any(line.startswith("task") or "Spearman, Pearson" in line for line in lines)
    assert next(line.split() for line in lines if line.startswith("    0"))[5] == "-"
    assert any("no link has a value" in line for line in lines)


def test_a_wide_terminal_is_not_needed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, printed(example.study(12), capsys))) <= 80
