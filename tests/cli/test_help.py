"""Help, lists, and what they say to a program."""

from __future__ import annotations

import pytest

import cospace
from cospace.measures import CATALOGUE

COMMANDS = (
    "demo",
    "models",
    "corpus",
    "measures",
    "extract",
    "compare",
    "affine",
    "tokens",
    "report",
    "route",
)


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_is_short_and_lists_every_command(cli, words):
    found = cli(*words)
    assert (found.code, found.err) == (0, "")
    lines = found.out.splitlines()
    assert len(lines) < 30
    assert max(map(len, lines)) <= 80
    for command in COMMANDS:
        line = next(line for line in lines if line.startswith(f"  {command} "))
        assert not line.endswith("...")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_fits(cli, command):
    found = cli(command, "--help")
    assert (found.code, found.err) == (0, "")
    assert max(map(len, found.out.splitlines())) <= 88
    assert not set("│─╭┃\x1b<") & set(found.out)
    options = [line for line in found.out.splitlines() if line.startswith("  -")]
    assert options


def test_options_of_compare_are_grouped(cli):
    out = cli("compare", "--help").out
    titles = [line for line in out.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == [
        "Arguments:",
        "Options:",
        "What stands beside a value:",
        "One model in two forms:",
        "What comes out:",
        "How models are read:",
    ]


def test_the_version_is_printed(cli):
    assert cli("--version").out == f"cospace {cospace.__version__}\n"


def test_measures_are_listed_with_their_claims(cli):
    out = cli("measures").out
    for measure in CATALOGUE:
        assert f"\n{measure.name}" in f"\n{out}"
        assert measure.summary in out
    assert "there are also within_group_rsa and within_group_knn." in out
    listed = cli("measures", "--json").json
    assert [one["name"] for one in listed] == [measure.name for measure in CATALOGUE]
    assert all(one["reference"] for one in listed)


def test_models_are_listed_with_size_licence_and_state(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path))
    out = cli("models").out
    assert "minilm           84 MB   not fetched yet" in out
    assert "Q4, dequantised" in out
    assert "--accept gemma" in out
    listed = cli("models", "--json").json
    assert [one["name"] for one in listed] == ["minilm", "mpnet", "smollm2-135m", "gemma3-270m"]
    assert {one["cached"] for one in listed} == {False}
    assert all(one["bytes"] > 0 and one["licence"] for one in listed)
