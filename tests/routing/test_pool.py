"""Tables of correctness are read whole, or refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.corpus import Corpus
from cospace.errors import InputError
from cospace.routing import Answer, Pool

RECORDS = [
    {
        "id": f"q{i}",
        "model": model,
        "correct": (i + place) % 3 == 0,
        "group": "ab"[i % 2],
        "length": 10 + i,
        "confidence": -0.5 * i - place,
    }
    for i in range(40)
    for place, model in enumerate(("small", "large"))
]


def write(path, records):
    if path.suffix == ".json":
        path.write_text(json.dumps(records))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, records)))
    else:
        names = list(records[0])
        lines = [",".join(names), *(",".join(str(r[n]) for n in names) for r in records)]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.csv"])
def test_every_format_gives_the_same_pool(name, tmp_path):
    pool = Pool.read(write(tmp_path / name, RECORDS))
    assert pool.models == ("small", "large")
    assert pool.ids[:2] == ("q0", "q1")
    assert pool.correct[:4].tolist() == [
        [True, False],
        [False, False],
        [False, True],
        [True, False],
    ]
    assert pool.groups[:3] == ("a", "b", "a")
    assert pool.lengths[:2].tolist() == [10.0, 11.0]
    assert pool.confidence[1].tolist() == [-0.5, -1.5]
    assert pool.clusters is None
    assert pool.disagreement == pytest.approx(np.mean(np.arange(40) % 3 != 1))


@pytest.mark.parametrize("word", ["true", "1", "1.0", "YES"])
def test_words_for_right(word, tmp_path):
    records = [{"id": r["id"], "model": r["model"], "correct": "no"} for r in RECORDS]
    records[0]["correct"] = word
    if word == "1.0":
        records[0]["correct"] = 1.0
        records = [r | {"correct": 0 if r["correct"] == "no" else r["correct"]} for r in records]
        pool = Pool.read(write(tmp_path / "t.json", records))
    else:
        pool = Pool.read(write(tmp_path / "t.csv", records))
    assert pool.correct.sum() == 1
    assert pool.groups is None
    assert pool.confidence is None


def test_a_confidence_may_lack(tmp_path):
    records = [dict(r) for r in RECORDS]
    records[3]["confidence"] = None
    pool = Pool.read(write(tmp_path / "t.jsonl", records))
    assert np.isnan(pool.confidence[1, 1])
    assert np.isfinite(pool.confidence).sum() == 79


def without(i, column):
    return [{k: v for k, v in r.items() if (j, k) != (i, column)} for j, r in enumerate(RECORDS)]


def changed(i, **values):
    return [r | values if j == i else r for j, r in enumerate(RECORDS)]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "holds no record"),
        (without(3, "model"), "has a record without 'model': each needs id, model and correct"),
        (without(3, "group"), "has a record without 'group', which others have"),
        ([*RECORDS, RECORDS[0]], "has item q0 of model small twice: keep one"),
        (RECORDS[:-1], "lacks item q39 of model large: every model needs every item"),
        (changed(1, group="c"), "gives item q0 2 values of 'group': it belongs to the item"),
        (changed(1, correct="perhaps"), "correct is 'perhaps'; true or false, 1 or 0, is expected"),
        (changed(1, confidence="high"), "holds 'high' where a finite number is expected"),
        (changed(1, length=True), "holds 'True' where a finite number is expected"),
        (
            [r for r in RECORDS if r["model"] == "small"],
            "The pool has the models small; at least 2",
        ),
        (RECORDS[:60], "30 items were given; at least 40 are needed"),
        ({"id": 1}, "is no JSON list of objects"),
    ],
)
def test_mistakes_are_told_in_one_line(records, message, tmp_path):
    with pytest.raises(InputError) as error:
        Pool.read(write(tmp_path / "t.json", records))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"t\.xlsx is no table of correctness: \.csv, \.tsv"):
        Pool.read(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match=r"t\.json cannot be read: No such file"):
        Pool.read(tmp_path / "t.json")
    with pytest.raises(InputError, match=r"t\.csv cannot be read: No such file"):
        Pool.read(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"Correctness has the shape \(3, 2\); \(2, 2\)"):
        Pool(("a", "b"), ("x", "y"), np.zeros((3, 2), bool))


def test_answers_are_graded_against_the_labels():
    corpus = Corpus(
        "c",
        ids=tuple(map(str, range(40))),
        texts=("same", "same", *(f"text {i}" for i in range(38))),
        groups=("g",) * 40,
        labels=("12 | twelve",) * 40,
    )
    good = [Answer(str(i), " Twelve.", -0.5, 3) for i in range(40)]
    bad = [Answer(str(i), " 128", None, 3) for i in range(40)]
    pool = Pool.of_answers(corpus, {"good": good, "bad": bad})
    assert pool.correct.tolist() == [[True, False]] * 40
    assert pool.lengths[:3].tolist() == [4.0, 4.0, 6.0]
    assert np.isnan(pool.confidence[:, 1]).all()
    assert pool.clusters[:3] == ("0", "0", "2")
    with pytest.raises(InputError, match="'c' have no labels, which are the accepted answers"):
        Pool.of_answers(Corpus("c", ids=corpus.ids, texts=corpus.texts), {"good": good, "bad": bad})
