"""Labelled tasks: files, packaged sets, GLUE through a stand-in for the library that reads it."""

from __future__ import annotations

import builtins
import json
import sys
import types
from collections import Counter

import numpy as np
import pytest

import cospace as cs
from cospace.errors import AcquisitionError, InputError, MissingDependencyError
from cospace.probes import Split, Task, load_task
from cospace.probes.tasks import GLUE, SEPARATOR

PACKAGED = ("sentiment", "acceptability")


def write(path, rows):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def grouped(n=80, groups=16):
    return [
        {"id": f"i{i}", "text": f"text {i}", "label": "ab"[i % 2], "group": f"g{i % groups // 2}"}
        for i in range(n)
    ]


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_tasks_are_split_by_group(name):
    task = load_task(name)
    assert task.name == name
    assert len(task.classes) == 2
    train, test = set(task.split.train), set(task.split.test)
    assert not train & test
    assert train | test == set(task.corpus.ids)
    assert 0.1 < len(test) / len(task.corpus) < 0.4
    group = dict(zip(task.corpus.ids, task.corpus.groups, strict=True))
    assert not {group[i] for i in train} & {group[i] for i in test}
    assert task.facts["from"] == "packaged"


def test_the_same_seed_gives_the_same_split(tmp_path):
    path = write(tmp_path / "task.jsonl", grouped())
    assert load_task(path).split == load_task(path).split
    assert load_task(path).split != load_task(path, rng=1).split


def test_groups_stay_whole_and_classes_even(tmp_path):
    task = load_task(write(tmp_path / "task.jsonl", grouped()))
    number = {f"i{i}": i for i in range(80)}
    group = {name: i % 16 // 2 for name, i in number.items()}
    assert not {group[i] for i in task.split.train} & {group[i] for i in task.split.test}
    assert Counter(task.labels[i] for i in task.split.test) == {"a": 10, "b": 10}


def test_without_groups_every_class_is_split_to_the_row(tmp_path):
    rows = [{"text": f"text {i}", "label": "x" if i < 30 else "y"} for i in range(100)]
    task = load_task(write(tmp_path / "task.jsonl", rows), test=0.2)
    assert Counter(task.labels[i] for i in task.split.test) == {"x": 6, "y": 14}
    assert Counter(task.labels[i] for i in task.split.train) == {"x": 24, "y": 56}


def test_columns_are_named_and_labels_are_text(tmp_path):
    rows = [{"sentence": f"text {i}", "score": i % 2} for i in range(40)]
    task = load_task(write(tmp_path / "task.jsonl", rows), label="score", text="sentence")
    assert task.classes == ("0", "1")


def test_a_limit_holds_on_each_side(tmp_path):
    task = load_task(write(tmp_path / "task.jsonl", grouped(400)), limit=20)
    assert (len(task.split.train), len(task.split.test)) == (20, 20)
    assert len(task.corpus) == 40


def test_a_task_goes_through_a_probe(tmp_path):
    task = load_task(write(tmp_path / "task.jsonl", grouped()))
    rng = np.random.default_rng(0)
    rows = [[float(task.labels[i] == "a") + 0.1 * rng.standard_normal()] for i in task.corpus.ids]
    space = cs.Space(rows, ids=task.corpus.ids, groups=task.corpus.groups)
    probe = cs.probes.fit_probe(space, task.labels, split=task.split)
    assert probe.held_out.accuracy == 1.0
    assert probe.held_out.n == len(task.split.test)


class Table:
    """What ``datasets`` hands out, as far as it is used."""

    def __init__(self, columns, names):
        self._columns = columns
        self.features = {"label": types.SimpleNamespace(names=names)}

    def __getitem__(self, column):
        return iter(self._columns[column])


def stand_in(monkeypatch, *, broken=None, labels=(0, 1)):
    asked = []

    def load_dataset(path, name, *, split):
        asked.append((path, name, split))
        if broken is not None:
            raise broken
        n = 30 if split == "train" else 12
        columns = {
            column: [f"{column} {split} {i}" for i in range(n)] for column in GLUE[name].columns
        }
        columns["label"] = [labels[i % len(labels)] for i in range(n)]
        return Table(columns, ["no", "yes"])

    module = types.ModuleType("datasets")
    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return asked


@pytest.mark.parametrize("name", sorted(GLUE))
def test_glue_tasks_are_read_by_name(monkeypatch, name):
    asked = stand_in(monkeypatch)
    task = load_task(name)
    held_out = "validation_matched" if name == "mnli" else "validation"
    assert asked == [("nyu-mll/glue", name, "train"), ("nyu-mll/glue", name, held_out)]
    assert (len(task.split.train), len(task.split.test)) == (30, 12)
    assert task.split.test[0] == f"{name}-{held_out}-0"
    assert task.classes == ("no", "yes")
    columns = GLUE[name].columns
    assert task.corpus.texts[0] == SEPARATOR.join(f"{column} train 0" for column in columns)
    assert task.labels[f"{name}-train-1"] == "yes"
    assert task.facts["separator"] == SEPARATOR


def test_a_limit_draws_from_each_part_of_glue(monkeypatch):
    stand_in(monkeypatch)
    task = load_task("rte", limit=10, separator=" / ")
    assert (len(task.split.train), len(task.split.test)) == (10, 10)
    row = task.split.train[3].rpartition("-")[2]
    at = task.corpus.ids.index(task.split.train[3])
    assert task.corpus.texts[at] == f"sentence1 train {row} / sentence2 train {row}"
    assert load_task("rte", limit=10).split == task.split
    assert load_task("rte", limit=10, rng=1).split != task.split


def test_glue_without_the_library_is_told(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name == "datasets":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingDependencyError,
        match=r"The GLUE task sst2 needs datasets: pip install 'cospace\[tasks\]'",
    ):
        load_task("sst2")


def test_a_hub_out_of_reach_is_told_in_one_line(monkeypatch):
    stand_in(monkeypatch, broken=ConnectionError("Couldn't reach the Hub\nlong trace"))
    with pytest.raises(AcquisitionError) as told:
        load_task("cola")
    assert str(told.value) == (
        "The GLUE task cola cannot be fetched from the hub (Couldn't reach the Hub): fetch it where there is a "
        "network, or give a file with the columns text and label."
    )


def test_unlabelled_parts_of_glue_are_refused(monkeypatch):
    stand_in(monkeypatch, labels=(-1,))
    with pytest.raises(
        InputError, match=r"The part train of the GLUE task qqp has a label outside no, yes"
    ):
        load_task("qqp")


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_shares_outside_0_and_1_are_refused(share):
    with pytest.raises(
        InputError, match=r"A share of .* was to be held out; give one between 0 and 1"
    ):
        load_task("sentiment", test=share)


def test_small_limits_are_refused():
    with pytest.raises(
        InputError, match=r"A limit of 3 texts was asked for; at least 4 are needed"
    ):
        load_task("sentiment", limit=3)


def test_files_that_are_no_task_are_refused(tmp_path):
    bare = write(tmp_path / "bare.jsonl", [{"text": f"t {i}"} for i in range(9)])
    with pytest.raises(InputError, match=r"bare.jsonl has no labels: call their column 'label'"):
        load_task(bare)
    one = write(tmp_path / "one.jsonl", [{"text": f"t {i}", "label": "a"} for i in range(9)])
    with pytest.raises(InputError, match=r"The 9 labelled rows have one class \('a'\)"):
        load_task(one)
    few = [{"text": f"t {i}", "label": "ab"[i > 16]} for i in range(20)]
    with pytest.raises(
        InputError, match=r"Class 'b' has 3 of the 20 labelled rows; at least 4 are needed"
    ):
        load_task(write(tmp_path / "few.jsonl", few))
    with pytest.raises(InputError, match=r"'nowhere' is neither a file nor a packaged corpus"):
        load_task("nowhere")


def test_groups_too_large_to_hold_out_are_refused(tmp_path):
    path = write(tmp_path / "task.jsonl", grouped(40, 4))
    with pytest.raises(
        InputError,
        match=r"The 2 groups of .* are too large to hold out a share of 0.2 \(largest: 20 of 40 texts\)",
    ):
        load_task(path, test=0.2)


def test_groups_of_one_class_alone_are_refused(tmp_path):
    rows = [
        {
            "id": f"i{i}",
            "text": f"t {i}",
            "label": "ab"[i >= 20],
            "group": "ab"[i >= 20] + str(i >= 35),
        }
        for i in range(40)
    ]
    with pytest.raises(InputError, match=r"have one class|has no held-out text of the class"):
        load_task(write(tmp_path / "task.jsonl", rows), test=0.15)


def corpus(labels):
    names = tuple(f"i{k}" for k in range(len(labels or "xxxxxxxx")))
    return cs.Corpus("c", ids=names, texts=names, labels=None if labels is None else tuple(labels))


def test_tasks_check_their_split():
    ids = tuple(f"i{k}" for k in range(9))
    with pytest.raises(
        InputError, match=r"The split of task t names 1 ids that its corpus lacks \(first: 'zz'\)"
    ):
        Task("t", corpus("abababab"), Split((*ids[:4], "zz"), ids[4:8]))
    with pytest.raises(
        InputError, match=r"Class 'b' has 1 of the 4 held-out rows; at least 2 are needed"
    ):
        Task("t", corpus("ababaaba"), Split(ids[:4], ids[4:8]))
    with pytest.raises(InputError, match=r"Task t has no held-out text of the class 'c'"):
        Task("t", corpus("aabbccaabb"), Split(ids[:6], (*ids[6:], "i9")))
    with pytest.raises(
        InputError, match=r"The corpus of task t has no labels: call their column 'label'"
    ):
        Task("t", corpus(None), Split(ids[:4], ids[4:8]))
