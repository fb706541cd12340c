"""Saved results of steering that were edited: one line that says so, or a page; never a traceback."""

from __future__ import annotations

import copy
import json

import pytest

from cospace.errors import CospaceError, InputError
from cospace.report import write_report
from cospace.steering import (
    Carried,
    ContinuationPoint,
    Continuations,
    CurvePoint,
    MapSummary,
    SteeringCurve,
    Transfer,
    TransferSweep,
)
from cospace.steering.transfer import CONDITIONS

VALUES = (None, [], -1, "x", 1e9, {}, True, float("nan"), float("inf"))
VECTOR = {"model": "small", "norm": 2.0, "warnings": ["one"], "provenance": {"positive": 64}}


def curve():
    single = ((0.25, 0.3, 0.2, 0.2, 0.3), (0.5,) * 5, (0.75, 0.7, 0.8, 0.8, 0.7))
    points = [
        CurvePoint(c, sum(each) / 5, 0.5, 20.0, each)
        for c, each in zip((-1.0, 0.0, 1.0), single, strict=True)
    ]
    return SteeringCurve(
        "small",
        "block.1",
        "probe",
        "spread",
        "letters",
        tuple(points),
        5,
        1,
        random=((0.5, 0.6), (0.4, 0.5)),
        settings={"positions": "all", "neutral": 2},
        provenance={"command": "cospace steer score", "vector": VECTOR},
    )


def written():
    def point(coefficient):
        ends = (None, None, None) if not coefficient else (0.02, 0.01, 0.03)
        told = (coefficient, 0.1, 0.05, 0.2, *ends, 0.25, 1, 7.5, 0.8, 20.0)
        return ContinuationPoint(*told, (0.1, None), ("one text", ""))

    return Continuations(
        "small",
        "block.1",
        "probe",
        "spread",
        "rude",
        0.0,
        (point(0.0), point(1.0)),
        2,
        20,
        1,
        "c" * 64,
        ("A", "B"),
        settings={"prompt_tokens": 3},
        provenance={"command": "cospace steer generate", "vector": VECTOR},
    )


def carried():
    one = Transfer(
        "small",
        "large",
        "block.1",
        "block.2",
        "ridge",
        0.4,
        12,
        ("fine",),
        tuple(Carried(name, 0.5, ("a",), curve()) for name in CONDITIONS),
        0,
        "activations",
    )
    sizes = (46, 12, 16, 12, 12, 90.0, 0.1, 0.4, 0.3, 0.9, 0.1)
    return TransferSweep(
        "small",
        "large",
        "block.1",
        {"method": "probe"},
        (MapSummary("activations", "block.2", "ridge", *sizes, ("a warning",)),),
        (one,),
        {"activations": "block.2", "native": "block.2"},
        7,
        True,
        settings={"seed": 0},
        provenance={"command": "cospace steer transfer"},
        warnings=("one",),
    )


def looked_at(path):
    """All but the inside of the curves of a transfer, which are read as other curves are."""
    return "curve" not in path or path.index("curve") >= len(path) - 2


def paths(value, before=()):
    """Every place in nested values, itself left out."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inside:
        yield (*before, key)
        if isinstance(each, dict | list):
            yield from paths(each, (*before, key))


def changed(data, path, value):
    data = copy.deepcopy(data)
    held = data
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = value
    return data


def read(kind, data, folder):
    path = folder / "r.json"
    path.write_text(json.dumps(data))
    return kind.load(path)


@pytest.mark.parametrize("made", [curve, written, carried])
def test_an_edited_result_is_refused_in_one_line_or_has_a_page(made, tmp_path):
    whole = json.loads(json.dumps(made().to_dict()))
    refused = []
    for path in filter(looked_at, paths(whole)):
        for value in VALUES:
            try:
                found = read(type(made()), changed(whole, path, value), tmp_path)
                write_report(found, tmp_path / "r.html")
            except CospaceError as error:
                refused.append(str(error))
    assert len(refused) > 200
    assert not [each for each in refused if "\n" in each]
    assert all(each.startswith(str(tmp_path / "r.json")) for each in refused)
    assert read(type(made()), whole, tmp_path).to_dict() == made().to_dict()


CURVE = [
    (("points",), [], "points: there is none"),
    (("points", 0, "by_item"), [], r"0: by_item has 5 entries where 0 are expected"),
    (("points", 1, "by_item"), [0.5], r"0: by_item has 1 entries where 5 are expected"),
    (("points", 1, "by_item", 2), 1.5, r"0: by_item is 1.5, which is no probability"),
    (("points", 1, "score"), -1, "0: score is -1, which is no probability"),
    (("points", 1, "mass"), 2, "0: mass is 2, which is no probability"),
    (("points", 1, "coefficient"), -2, "the coefficients -1, -2, 1 do not ascend"),
    (("points", 1, "perplexity"), 0.5, "0: perplexity is 0.5; it is never below 1"),
    (("n",), 0, "n is 0; at least 1 is expected"),
    (("n",), 6, "by_item has 5 entries for 6 questions"),
    (("seen",), 6, "seen is 6 of 5 questions"),
    (("unit",), "x", "unit: x is none of vector, residual, spread"),
    (("answers",), "x", "answers: x is none of letters, texts"),
    (("random", 0, 1), 3, "random: score is 3, which is no probability"),
    (("random", 0), [0.5], "a value is of the wrong kind"),
    (("model",), None, "a value is of the wrong kind"),
]
WRITTEN = [
    (("points", 0, "texts", 0), None, "a value is of the wrong kind"),
    (("points", 0, "texts"), ["one"], "0: texts has 1 entries where 2 are expected"),
    (("points", 1, "by_prompt"), [None], "1: by_prompt has 1 entries where 2 are expected"),
    (("points", 0, "by_prompt"), [None], "1 scores for 2 prompts"),
    (("points", 0, "unscored"), 0, "0: 0 unscored, where 1 have no score"),
    (("points", 0, "score"), None, "0: the mean score and those of single prompts"),
    (("points", 0, "low"), None, "0: an interval has one end"),
    (("points", 0, "low"), 1e9, r"0: low 1e\+09 is above high 0.2"),
    (("points", 1, "change_high"), -1, "1: change_low 0.01 is above change_high -1"),
    (("points", 1, "change"), float("inf"), "1: a number that there cannot be"),
    (("points", 1, "above"), 2, "1: above is 2, which is no probability"),
    (("points", 1, "distinct"), -1, "1: distinct is -1, which is no probability"),
    (("prompts",), ["A"], "prompts has 1 entries where 2 are expected"),
    (("threshold",), float("nan"), "threshold is nan"),
    (("site",), None, "site and method: one of them is missing"),
    (("cut",), 3, "20 new tokens, and 3 of 2 prompts cut"),
]


FIRST = ("transfers", 0, "conditions", 0)
CARRIED = [
    (("transfers",), [], "maps and transfers: there is none"),
    ((*FIRST, "condition"), "x", "x is none of transferred, native, .*"),
    ((*FIRST, "condition"), "native", "activations at block.2: native is there 2 times"),
    ((*FIRST, "condition"), "random_map.1", "activations at block.2: transferred is missing"),
    ((*FIRST, "cosine"), 2, "activations at block.2, transferred: cosine is 2"),
    ((*FIRST, "curve", "points"), [], "points: there is none"),
    (
        (*FIRST, "curve", "points", 2, "coefficient"),
        5,
        "other coefficients or questions than the others",
    ),
    (("transfers", 0, "map_r2"), float("inf"), "map_r2 is inf"),
    (("transfers", 0, "map_name"), "x", "maps: activations is none of x"),
    (("chosen", "native"), "x", "chosen: x is none of block.2"),
    (("chosen",), {"x": "block.2"}, "chosen: x is none of activations, native"),
    (("vector",), {}, "vector: it lacks method"),
    (("maps", 0, "width"), 0, "activations: a size below 1, or a rank below 0"),
    (("maps", 0, "r2"), float("nan"), "activations: r2 is nan"),
    (("maps", 0, "retrieval"), 3, "activations: retrieval is 3, which is no probability"),
    (("maps", 0, "warnings"), "x", "a value is of the wrong kind"),
]


@pytest.mark.parametrize(
    ("made", "path", "value", "words"),
    [(curve, *each) for each in CURVE]
    + [(written, *each) for each in WRITTEN]
    + [(carried, *each) for each in CARRIED],
)
def test_what_does_not_go_together_is_said(made, path, value, words, tmp_path):
    whole = json.loads(json.dumps(made().to_dict()))
    with pytest.raises(InputError, match=rf"no whole {made().kind} \(.*{words}\): it was changed"):
        read(type(made()), changed(whole, path, value), tmp_path)
