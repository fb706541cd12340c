"""Everything that can be asked of tokens, in one result."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.errors import AcquisitionError, InputError, UnknownNameError
from cospace.report import write_report
from cospace.tokens import (
    GeometryOptions,
    TokenGeometry,
    TokenOptions,
    compare,
    measure_geometry,
    read_embeddings,
    read_reference,
    read_vocabulary,
)
from cospace.tokens.geometry import _common

QUICK = TokenOptions(sample=100, dimension_tokens=20, dimension_k=(5,), k=4)
WORDS = ["the", "river", "froze", "before", "geese", "had", "left", "door", "colour", "é"]


@pytest.fixture
def files(tmp_path):
    """A graph of the words of the tiny vocabularies, a text, and a list of verifications."""
    joined = [(a, b) for i, a in enumerate(WORDS) for b in WORDS[: i + 1]]
    lines = [f"/a\t/r/IsA\t/c/en/{a}\t/c/en/{b}\t{{}}\n" for a, b in joined]
    (tmp_path / "graph").write_text("".join(lines))
    texts = ["the river froze before the geese had left", "a door the colour had left the river"]
    text = "".join(f"{line} {'é ' * i}\n" for i in range(6) for line in texts)
    (tmp_path / "winter.txt").write_text(text)
    (tmp_path / "list").write_text('{"i": 40, "max_prob": 0.2}\n{"i": 41, "max_prob": 0.001}\n')
    return tmp_path


def _numbers_in(data, below=()):
    """Paths of all numbers in the figures of a result."""
    if isinstance(data, dict | list):
        inner = data.items() if isinstance(data, dict) else enumerate(data)
        free = ("settings", "provenance", "schema")
        return [at for k, v in inner if k not in free for at in _numbers_in(v, (*below, k))]
    return [below] if isinstance(data, int | float) and not isinstance(data, bool) else []


def _refuses_every_number_that_is_text(path):
    """Fault: an edited file that loads, and breaks what prints it."""
    data = json.loads(path.read_text())
    # Of a list one entry will do.
    paths = {tuple("*" if isinstance(k, int) else k for k in at): at for at in _numbers_in(data)}
    assert len(paths) > 80
    for at in paths.values():
        *way, last = at
        inner = data
        for step in way:
            inner = inner[step]
        value, inner[last] = inner[last], str(inner[last])
        path.write_text(json.dumps(data))
        with pytest.raises(InputError, match=r"is no whole token geometry .*save it again\.$"):
            TokenGeometry.load(path)
        inner[last] = value


def _lists_in(data, below=()):
    """Paths of all lists in a result."""
    if not isinstance(data, dict | list):
        return []
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    here = [below] if isinstance(data, list) else []
    return here + [at for k, v in inner for at in _lists_in(v, (*below, k))]


def _is_refused_or_makes_a_page(path, page):
    """Fault: a traceback out of the page of an edited file, or a page of figures that cannot be."""
    data = json.loads(path.read_text())
    refused = []
    for *way, last in _lists_in(data):
        inner = data
        for step in way:
            inner = inner[step]
        for other in ([], inner[last] + inner[last][:1]):
            value, inner[last] = inner[last], other
            path.write_text(json.dumps(data))
            try:
                write_report(TokenGeometry.load(path), page)
            except InputError as error:
                refused.append((last, "it was changed or cut" in str(error)))
            inner[last] = value
    assert all(told for _, told in refused)
    lists = {"comparisons", "overall", "histogram", "apart_a", "values_a", "ids_b"}
    assert lists <= {last for last, _ in refused}
    one = data["comparisons"][0]
    for figure, name, value in (
        (one["overall"][0], "pearson", 7.5),
        (one["overall"][0], "pearson", 10**400),
        (one["overall"][0], "spearman_low", -2.0),
        (one["overall"][0], "p_at_most", 1.5),
        (one["local"][0], "apart_share", -3.0),
        (one["local"][0], "mean", 1.5),
        (one["local"][0], "tokens", 7),
    ):
        kept, figure[name] = figure[name], value
        path.write_text(json.dumps(data))
        with pytest.raises(InputError, match=r"is no whole token geometry .*save it again\.$"):
            TokenGeometry.load(path)
        figure[name] = kept


def test_all_of_it_survives_a_file(runnable, files):
    steps = []
    winter = str(files / "winter.txt")
    found = measure_geometry(
        [str(runnable("llama", seed)) for seed in (0, 1)],
        options=QUICK,
        extra=GeometryOptions(
            coherence=str(files / "graph"),
            coherence_tokens=10,
            frequency=winter,
            undertrained=True,
            verify=2,
            depths=(0.0, 1.0),
            contexts=("alone", "text"),
            text=winter,
            hidden_tokens=5,
            occurrences=3,
        ),
        references={"llama (2)": read_reference(files / "list")},
        folder=files / "kept",
        progress=lambda *told: steps.append(told[0]),
    )
    assert found.models == ("llama", "llama (2)")
    assert [(one.a.name, one.b.name) for one in found.comparisons] == [("llama", "llama (2)")]
    assert [one.model for one in found.coherence] == ["llama", "llama (2)"]
    assert found.coherence[0].frequency == "winter"
    assert len(found.hidden.figures) == 4
    assert all(len(ids) == 5 for ids in found.hidden.ids.values())
    one, other = found.undertrained
    assert {r.reference for r in one.recoveries} == {"indicator", "prompted"}
    assert {r.reference for r in other.recoveries} > {"tested", "verified"}
    assert one.candidates["apart"] == found.comparisons[0].local[0].apart_a
    assert len(one.verification.tokens) <= 6
    assert "repeating tokens, llama (2)" in steps
    assert "tokens in texts, llama (2)" in steps
    kinds = {row["figure"] for row in found.records()}
    assert {"cosines, pearson", "cosines of tokens in texts, spearman"} <= kinds
    assert len({tuple(row) for row in found.records()}) == 1
    found = found.with_provenance(command="cospace tokens")
    found.save(files / "out.json")
    assert TokenGeometry.load(files / "out.json") == found
    _refuses_every_number_that_is_text(files / "out.json")
    found.save(files / "out.json")
    _is_refused_or_makes_a_page(files / "out.json", files / "page.html")


def test_a_comparison_is_a_geometry(runnable):
    pair = compare(*(str(runnable("llama", seed)) for seed in (0, 1)), options=QUICK)
    made = TokenGeometry.of(pair)
    assert (made.comparisons, made.models) == ((pair,), ("llama", "llama"))
    assert made.records() == pair.records()


def test_tokens_that_all_models_have(runnable, families, checkpoint, plain):
    folders = [str(runnable("llama")), str(runnable("bert"))]
    piece = families["sentencepiece"]()
    rows = piece.get_vocab_size()
    folders.append(checkpoint("sp", piece, np.eye(rows, 4) + 1))
    read = [read_embeddings(folder, progress=False) for folder in folders]
    vocabularies = [read_vocabulary(one.weights.folder, one.input.shape[0]) for one in read]
    ids = _common(vocabularies)
    texts = [[v.text(int(i)) for i in own] for v, own in zip(vocabularies, ids, strict=True)]
    plainly = [[text.strip() for text in own] for own in texts]
    assert plainly[0] == plainly[1] == plainly[2]
    assert set(WORDS) <= set(plainly[0])


def test_tokens_that_were_not_compared_are_told(runnable):
    models = [str(runnable("llama", seed)) for seed in (0, 1)]
    options = TokenOptions(sample=50, dimension_tokens=0, k=4, tokens=30)
    found = measure_geometry(models, options=options, extra=GeometryOptions(undertrained=True))
    used = found.undertrained[0].tokens
    assert found.warnings[0].startswith(f"Of the {used} used tokens of llama 30 were compared,")


def test_states_that_point_one_way_are_told(runnable, monkeypatch):
    from cospace.models.occurrences import TokenStates

    real = TokenStates.alone

    def offset(self, ids, sites, done=None):
        return {site: rows + 50 for site, rows in real(self, ids, sites, done).items()}

    monkeypatch.setattr(TokenStates, "alone", offset)
    models = [str(runnable("llama", seed)) for seed in (0, 1)]
    extra = GeometryOptions(depths=(0.5, 1.0), hidden_tokens=20)
    options = TokenOptions(sample=50, dimension_tokens=0, tokens=0)
    warnings = measure_geometry(models, options=options, extra=extra).warnings
    assert [w.partition(":")[0] for w in warnings] == [
        "llama, tokens alone",
        "llama (2), tokens alone",
    ]
    assert "nearly one way at block.1, final_norm (mean cosine above 0.9)" in warnings[0]


def test_one_model_is_enough_for_what_is_its_own(checkpoint, plain):
    x = np.random.default_rng(0).normal(size=(60, 4))
    folder = checkpoint("alone", plain(50), x)
    found = measure_geometry([folder], extra=GeometryOptions(undertrained=True))
    assert (found.comparisons, found.undertrained[0].unused) == ((), 10)
    none = checkpoint("none", plain(60), x)
    found = measure_geometry([none], extra=GeometryOptions(undertrained=True))
    assert found.undertrained == ()
    assert found.warnings[0].startswith("none is tied and has no reserved rows")


def test_what_is_refused(runnable):
    llama, bert = str(runnable("llama")), str(runnable("bert"))
    little = GeometryOptions(undertrained=True)
    with pytest.raises(InputError, match="Two models or more are compared, and none was named"):
        measure_geometry([])
    with pytest.raises(InputError, match="States at depths are compared between two models"):
        measure_geometry([llama], extra=GeometryOptions(undertrained=True, depths=(0,)))
    with pytest.raises(InputError, match="verification are of undertrained tokens, which were"):
        measure_geometry([llama, llama], extra=GeometryOptions(verify=3))
    with pytest.raises(UnknownNameError, match="'lama' is not a model that is compared"):
        measure_geometry([llama], extra=little, unused={"lama": [1]})
    with pytest.raises(
        AcquisitionError,
        match="has no head that gives the next token, as encoders",
    ):
        measure_geometry([bert], extra=GeometryOptions(undertrained=True, verify=1))
    for asked, text in (
        ({"coherence_tokens": 9}, "coherence_tokens is 9; 10 or more is expected."),
        ({"verify": -1}, "verify is -1; 0 or more is expected."),
        ({"hidden_tokens": 3}, "hidden_tokens is 3; 4 or more is expected."),
        ({"occurrences": 0}, "occurrences is 0; 1 or more is expected."),
        ({"depths": (0,), "contexts": ("x",)}, "context is 'x'; 'alone', 'text' or both"),
        ({"depths": (2.0,)}, r"A relative depth lies in \[0, 1\], got 2.0"),
    ):
        with pytest.raises(InputError, match=text):
            GeometryOptions(**asked)
    with pytest.raises(InputError, match="This is no token geometry that this version wrote"):
        TokenGeometry.from_dict({"hidden": None})
