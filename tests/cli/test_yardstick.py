"""What stands beside a value, as the command line is asked for it."""

from __future__ import annotations

import json

import numpy as np
import pytest


def stored(cli, model_folders, texts):
    path = texts(group=lambda i: f"g{i % 4}")
    done = cli("extract", *model_folders, "--store", "s", "--texts", path)
    assert done.code == 0, done.err
    return path


def named(tmp_path, n=60):
    """Three arrays with ids that share a signal, and their texts in groups of three."""
    rng = np.random.default_rng(0)
    z, ids = rng.normal(size=(n, 3)), [f"t{i}" for i in range(n)]
    for name in "abc":
        rows = z @ rng.normal(size=(3, 5)) + rng.normal(size=(n, 5))
        np.savez(tmp_path / f"{name}.npz", ids=np.array(ids), rows=rows)
    lines = [
        json.dumps({"id": name, "text": "word " * (1 + i % 7) + name, "group": f"g{i // 3}"})
        for i, name in enumerate(ids)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    return ["a.npz", "b.npz", "c.npz"]


def test_the_promised_command_calibrates_every_cell(cli, model_folders, texts):
    stored(cli, model_folders, texts)
    found = cli(
        *("compare", "s", "--grid", "--permutations", "99", "--correct", "max"),
        *("--measures", "linear_cka,debiased_cka,procrustes_similarity", "--permute-fits"),
        "--json",
    ).json
    records = found["records"]
    assert len(records) == 3 * 6 * 5
    for record in records:
        assert record["draws"] == 99
        assert 0.01 <= record["p"] <= record["p_search"] <= 1
        assert None not in (record["value"], record["null_mean"], record["null_sd"])
    assert found["settings"]["grid"] is True
    assert {pair["p_adjusted"] for pair in found["pairs"]} == {None}


def test_measures_that_decompose_run_everywhere_only_when_asked(cli, model_folders, texts):
    stored(cli, model_folders, texts)
    words = ("compare", "s", "--measures", "procrustes_similarity", "--json")
    few, every = (len(cli(*words, *more).json["records"]) for more in ((), ("--grid",)))
    assert few < every == 6 * 5


def test_pairs_of_models_are_a_table_of_their_own(cli, tmp_path):
    files = named(tmp_path)
    words = ("compare", *files, "--measures", "debiased_cka,linear_cka", "--correct")
    for word, name in (("holm", "Holm"), ("bh", "Benjamini and Hochberg")):
        found = cli(*words, word)
        assert found.code == 0, found.err
        head = f"Pairs: p corrected over the 3 of them by each measure ({name})"
        table = found.out.split(head)[1].split("\n\n")[1].splitlines()
        assert table[0].split() == ["measure", "p", "corrected"]
        assert [row.split()[0] for row in table[1:]] == ["debiased_cka"] * 3 + ["linear_cka"] * 3
        assert table[1].split()[1] == "0.005"
        assert float(table[1].split()[2]) == (0.015 if word == "holm" else 0.005)
        assert max(map(len, table)) <= 80
        assert len(cli(*words, word, "--json").json["pairs"]) == 6
    assert "corrected over the 3" not in cli(*words, "max").out


def test_pairs_of_models_name_their_sites(cli, model_folders, texts):
    stored(cli, model_folders, texts)
    found = cli("compare", "s", "--measures", "debiased_cka", "--correct", "holm").out
    assert "Pairs of models: p at any site, corrected over the 1 of them by each" in found
    row = found.split("\n\n")[-2].splitlines()[-1]
    assert row.startswith("debiased_cka")
    assert "first, second (" in row


def test_intervals_and_ceilings_are_columns_when_asked_for(cli, tmp_path):
    files = named(tmp_path)[:2]
    words = ("compare", *files, "--measures", "debiased_cka,linear_cka,mean_cca")
    plain = cli(*words).out
    assert "95 %" not in plain
    assert "ceiling" not in plain
    found = cli(*words, "--intervals", "folds", "--ceiling").out
    head, first, second, third = found.split("\n\n")[1].splitlines()
    assert head.split() == ["measure", "value", "95", "%", "ceiling", "chance", "p", "reading"]
    low, word, high, ceiling = first.split()[2:6]
    assert (word, float(low) < float(first.split()[1]) < float(high)) == ("to", True)
    assert 0 < float(ceiling) <= 1
    assert second.split()[3] == "to"
    assert second.split()[5] == "-"
    assert third.split()[2:4] == ["-", "-"]
    assert (
        "95 %: bootstrap over rows; jackknife over folds, about the value less its bias.\n" in found
    )
    assert "ceiling: what as many other coordinates of the same kind would reach (split" in found
    assert ("A value above it" in found) == (float(first.split()[1]) > float(ceiling))


def test_a_value_above_its_ceiling_is_told(cli, tmp_path):
    """The same coordinates under a little noise are more alike than other coordinates."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 8))
    for name in "ab":
        np.save(
            tmp_path / f"{name}.npy", np.c_[rows, rows[:, :3]] + 0.1 * rng.normal(size=(60, 11))
        )
    words = ("compare", "a.npy", "b.npy", "--measures", "debiased_cka", "--ceiling")
    found = cli(*words, "--report", "r.html").out
    assert "A value above it: the two share more than random coordinates would" in found
    assert "above its ceiling 0." in (tmp_path / "r.html").read_text()


def test_rows_not_drawn_again_without_shuffles_are_told(cli, arrays):
    arrays()
    words = ("compare", "a.npy", "b.npy", "--measures", "debiased_cka", "--permutations", "0")
    found = cli(*words, "--intervals", "rows").out
    assert "95 %: no interval: with 0 shuffles rows are not drawn again either. Shuffle" in found


def test_components_beyond_the_widths_are_not_shown(cli, arrays):
    arrays()
    words = ("compare", "a.npy", "b.npy", "--measures", "debiased_cka", "--reduced")
    assert "PCs)" not in cli(*words, 100).out
    assert "(3 PCs)" in cli(*words, 3).out


def test_confounds_of_arrays_are_in_the_texts_that_are_named(cli, tmp_path):
    files = named(tmp_path)[:2]
    words = ("compare", *files, "--measures", "rsa_spearman", "--beyond")
    found = cli(*words, "length,words", "--texts", "t.jsonl")
    assert found.code == 0, found.err
    assert "- in place of p: shuffled rows would not share the length and words of" in found.out
    assert found.out.splitlines()[4].endswith("not tested")
    assert [line.split()[0] for line in found.out.splitlines()[3:5]] == [
        "rsa_spearman",
        "partial_rsa",
    ]
    line = cli(*words, "length").mistake
    assert line.startswith("Likeness beyond length needs the texts, and vectors do not tell them")
    assert "(on the command line: --texts FILE)" in line
    assert cli(*words, "group").mistake.startswith("Likeness beyond group needs groups")


def test_confounds_of_a_store_and_of_models(cli, model_folders, texts):
    path = stored(cli, model_folders, texts)
    words = ("--measures", "rsa_spearman", "--beyond", "words,group", "--json")
    of_store = cli("compare", "s", *words, "--texts", path).json
    of_models = cli("compare", *model_folders, "--store", "s", *words, "--texts", path).json
    assert [m["title"] for m in of_store["measures"]][1] == "RSA beyond words and group"
    assert of_models["records"] == of_store["records"]


def test_measures_inside_groups(cli, model_folders, texts):
    stored(cli, model_folders, texts)
    found = cli("compare", "s", "--measures", "within_group_rsa", "--json").json
    assert {record["null_mean"] for record in found["records"]} == {0.0}
    assert None not in {record["p_search"] for record in found["records"]}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--correct hol", "'hol' is not a correction. Did you mean 'holm'?"),
        ("--intervals row", "'row' is not a kind of interval. Did you mean 'rows'?"),
        ("--intervals groups", "Drawing groups again needs groups"),
        ("--intervals folds --measures rsa_pearson", "Intervals over folds are for linear_cka"),
        ("--ceiling --measures linear_cka", "A noise ceiling is for similarities"),
        ("--beyond lenght", "'lenght' is not a confound. Did you mean 'length'?"),
        ("--measures partial_rsa", "leave it out of --measures and add --beyond length, words or"),
        (
            "--measures linear_cka --permute-fits",
            "permute_fits (--permute-fits) is for measures that",
        ),
        ("--beyond ,", "--beyond names nothing: name length, words or group"),
        ("--beyond words --texts t.jsonl", "a has no ids, so that nothing says which text"),
        ("--measures within_group_rsa", "within_group_rsa needs groups"),
        ("--measures within_group_rsaa", "Did you mean 'within_group_rsa'"),
        ("--drift --ceiling", "--ceiling has no part in --drift"),
    ],
)
def test_a_mistake_is_one_line(cli, arrays, tmp_path, words, says):
    arrays()
    (tmp_path / "t.jsonl").write_text('{"id": "t0", "text": "one"}\n')
    assert says in cli("compare", "a.npy", "b.npy", *words.split()).mistake


@pytest.mark.parametrize(
    "words",
    ["--within-groups", "--intervals groups", "--beyond group", "--measures within_group_knn"],
)
def test_texts_without_groups_are_told_before_a_model_is_read(cli, tmp_path, words):
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    line = cli("compare", "minilm", "mpnet", "--texts", "lines.txt", *words.split()).mistake
    assert line.startswith(f"{words} needs texts with groups, and lines.txt has none")
