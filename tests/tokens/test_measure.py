"""Two models compared from their files: constructed embeddings with known answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ortho_group

import cospace as cs
from cospace.errors import AcquisitionError, InputError, UndefinedMeasureError
from cospace.tokens import TokenComparison, TokenOptions, compare
from cospace.tokens.matching import match, match_rest
from cospace.tokens.vocabulary import read_vocabulary

SMALL = TokenOptions(sample=300, k=8, dimension_tokens=60, dimension_k=(20, 40))


def table(n=700, d=16, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * np.linspace(2, 0.2, d)).astype(np.float32)


@pytest.fixture
def copies(checkpoint, plain):
    """Two models: the second is the first rotated, rescaled, and with its tokens in another order."""
    x = table()
    turned = 5 * x.astype(np.float64) @ ortho_group.rvs(16, random_state=1)
    order = np.random.default_rng(2).permutation(700)
    content = plain(700)
    other = plain(700)
    other["model"]["vocab"] = {f"Ġt{i}": place for place, i in enumerate(order.tolist())}
    a = checkpoint("first", content, x)
    b = checkpoint("second", other, turned[order])
    return a, b, order


def test_a_rotated_and_rescaled_copy_is_one_everywhere(copies):
    a, b, order = copies
    found = compare(a, b, options=SMALL)
    (whole,) = found.overall
    assert (whole.tokens, whole.draws) == (300, 3)
    for value in (whole.pearson_low, whole.spearman_low):
        assert value == pytest.approx(1.0, abs=1e-9)
    (near,) = found.local
    assert near.mean == pytest.approx(1.0, abs=1e-6)
    assert near.histogram[-1] == near.tokens == 700
    assert (near.apart_share, near.known_a, near.known_b) == (0.0, 1.0, 1.0)
    assert len(found.dimensions) == 2
    for flat in found.dimensions:
        assert flat.values_a == flat.values_b
        assert flat.pearson == pytest.approx(1.0)
        np.testing.assert_array_equal(order[list(flat.ids_b)], flat.ids_a)
    assert not found.shared.same_ids
    assert found.shared.n == 700


def test_independent_models_give_their_null(checkpoint, plain):
    a = checkpoint("a", plain(700), table())
    b = checkpoint("b", plain(700), table(d=24, seed=9))
    found = compare(a, b, options=SMALL)
    (whole,), (near,) = found.overall, found.local
    assert abs(whole.pearson) < 4 * whole.null_sd
    assert abs(whole.spearman) < 4 * whole.null_sd
    assert near.mean == pytest.approx(near.chance_mean, abs=0.02)
    assert near.apart_share == pytest.approx(near.chance_apart, abs=0.06)
    assert len(near.apart_a) == round(near.apart_share * 700)
    assert near.apart_texts[0] == f" t{near.apart_a[0]}"
    for flat in found.dimensions:
        assert abs(flat.pearson) < 4 * flat.null_sd


def test_untied_models_are_compared_crosswise(checkpoint, plain):
    x, y = table(), table(seed=3)
    turned = ortho_group.rvs(16, random_state=4)
    a = checkpoint("a", plain(700), x, output=y)
    b = checkpoint("b", plain(700), (y @ turned).astype(np.float32))
    found = compare(a, b, options=SMALL)
    assert found.a.tying == "untied"
    assert found.b.tying == "tied"
    values = {(one.role_a, one.role_b): one.pearson for one in found.overall}
    assert set(values) == {("input", "input"), ("output", "input")}
    assert values["output", "input"] == pytest.approx(1.0, abs=1e-6)
    assert abs(values["input", "input"]) < 0.2
    assert [one.role_a for one in found.local] == ["input", "output"]
    assert found.local[1].mean == pytest.approx(1.0, abs=1e-3)
    assert any("b uses one matrix" in warning for warning in found.warnings)


def test_neighbours_are_searched_in_the_whole_vocabulary(checkpoint, plain):
    """Tokens that only one model has stand among the neighbours, and are met by nothing."""
    x = table()
    a = checkpoint("a", plain(700), x)
    b = checkpoint("b", plain(400), x[:400])
    found = compare(a, b, options=SMALL)
    (near,) = found.local
    assert (near.tokens, near.rows_a, near.rows_b) == (400, 700, 400)
    assert near.known_a == pytest.approx(4 / 7, abs=0.03)
    assert near.known_b == 1.0
    assert 0.2 < near.mean < 0.8


def test_reserved_rows_take_no_part_unless_asked(checkpoint, plain):
    """Fault: spare rows, wherever they stand, compared as if they were tokens."""
    content = plain(600)
    content["model"]["vocab"] = {
        (f"<|reserved_{i}|>" if 100 <= i < 150 else token): i
        for token, i in content["model"]["vocab"].items()
    }
    x = table()
    x[100:150] = x[5]  # inside
    x[600:] = x[6]  # beyond the tokenizer
    a, b = checkpoint("a", content, x), checkpoint("b", content, x)
    found = compare(a, b, options=SMALL)
    assert found.shared.n == 550
    assert found.a.classes == {"used": 550, "special": 0, "reserved": 150, "undecodable": 0}
    assert (found.a.nameless, found.local[0].rows_a) == (100, 550)
    every = compare(a, b, options=TokenOptions(sample=300, among="all", dimension_tokens=0))
    assert every.local[0].rows_a == 700
    assert every.local[0].known_a < 1
    assert every.dimensions == ()


def test_all_tokens_are_taken_where_draws_would_look_at_as_many():
    asked = TokenOptions()
    assert asked.sampled(60_000) == (60_000, 1)
    assert asked.sampled(60_001) == (20_000, 3)
    assert TokenOptions(draws=1).sampled(20_001) == (20_000, 1)
    assert TokenOptions(sample=500).sampled(501) == (500, 3)
    assert TokenOptions(sample=500).sampled(500) == (500, 1)


def test_samples_of_tokens_and_seeds(copies):
    a, b, _ = copies
    some = TokenOptions(sample=100, draws=2, tokens=50, k=5, dimension_tokens=0, rng=7)
    one, other = (compare(a, b, options=some).to_dict() for _ in range(2))
    assert one == other
    assert one["local"][0]["tokens"] == 50
    none = compare(a, b, options=TokenOptions(tokens=0, dimension_tokens=0))
    assert (none.local, none.dimensions) == ((), ())
    assert (none.overall[0].draws, none.overall[0].tokens) == (1, 700)


def test_kept_neighbours_change_nothing(copies, tmp_path):
    a, b, _ = copies
    told = []
    plainly = compare(a, b, options=SMALL).to_dict()
    folder = tmp_path / "kept"
    kept = [
        compare(a, b, options=SMALL, folder=folder, progress=lambda *step: told.append(step))
        for _ in range(2)
    ]
    assert kept[0].to_dict() == kept[1].to_dict() == plainly
    assert len(list(folder.glob("*/*.npy"))) == 4
    assert ("neighbours, second", 700, 700) in told


def test_a_model_against_itself_is_said_to_be_one(copies):
    a, _, _ = copies
    found = compare(a, a, options=SMALL)
    assert found.shared.same_ids
    assert any("same weights" in warning for warning in found.warnings)


def test_round_trip(copies, tmp_path):
    a, b, _ = copies
    found = compare(a, b, options=SMALL)
    found.save(tmp_path / "found.json")
    again = TokenComparison.load(tmp_path / "found.json")
    assert again.to_dict() == found.to_dict()
    assert again.local == found.local
    assert again.overall == found.overall
    assert again.with_provenance(command="x").provenance["command"] == "x"
    frame = again.to_frame()
    assert len(frame) == 2 + 2 + 4
    assert set(frame["figure"]) >= {"cosines, pearson", "weights, mean cosine"}
    data = json.loads((tmp_path / "found.json").read_text())
    data["local"][0]["more"] = 1
    with pytest.raises(InputError, match="not a token comparison that this version wrote"):
        TokenComparison.from_dict(data)


def test_it_is_public():
    assert cs.tokens.compare is compare


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sample": 3}, "sample is 3; 4 or more"),
        ({"draws": 0}, "draws is 0; 1 or more"),
        ({"k": 0}, "k is 0; 1 or more"),
        ({"rng": -1}, "rng is -1; 0 or more"),
        ({"tokens": -1}, "tokens is -1; 0 or more"),
        ({"reg": 0.0}, "reg is 0.0; a number above 0"),
        ({"share": 1.0}, "share is 1.0; a number between"),
        ({"metric": "l1"}, "metric is 'l1'; 'euclidean' or"),
        ({"among": "some"}, "among is 'some'; 'named' or"),
        ({"dimension_k": ()}, r"dimension_k is \[\]; numbers of 2 or more"),
        ({"dimension_k": (1, 5)}, r"dimension_k is \[1, 5\]; numbers of 2"),
    ],
)
def test_options_that_mean_nothing(options, text):
    with pytest.raises(InputError, match=text):
        TokenOptions(**options)


def test_models_that_cannot_be_compared(checkpoint, plain, tmp_path):
    few = checkpoint("few", plain(3), table(3))
    with pytest.raises(UndefinedMeasureError, match="few and few share 3 tokens: at least 4"):
        compare(few, few, options=SMALL)
    (tmp_path / "few" / "tokenizer.json").unlink()
    with pytest.raises(AcquisitionError, match=r"no tokenizer.json"):
        compare(few, few, options=SMALL)


@pytest.mark.weights
def test_real_encoders():
    """Two encoders of one vocabulary: alike far beyond chance, and far from the same."""
    options = TokenOptions(
        sample=1500, draws=2, tokens=300, dimension_tokens=60, dimension_k=(100,)
    )
    found = compare("minilm", "mpnet", options=options)
    (whole,), (near,), (flat,) = found.overall, found.local, found.dimensions
    assert (whole.tokens, near.tokens, near.rows_a) == (1500, 300, 29528)
    assert 0.3 < whole.pearson < 0.8
    assert whole.pearson > 20 * whole.null_sd
    assert 0.2 < near.mean < 0.6
    assert near.apart_share < 0.7 < 0.9 < near.chance_apart
    assert flat.spearman > 3 * flat.null_sd


@pytest.mark.parametrize("family", ["byte_level", "sentencepiece", "unigram", "wordpiece"])
def test_a_copy_is_one_whatever_its_rows_stand_for(family, families, checkpoint):
    """Signs, bytes that are no text and repeats are neighbours as well, and the same in a copy."""
    tokenizer = families[family]()
    x = table(tokenizer.get_vocab_size())
    a = checkpoint("a", tokenizer, x)
    b = checkpoint("b", tokenizer, 3 * x.astype(np.float64) @ ortho_group.rvs(16, random_state=1))
    options = TokenOptions(sample=8, draws=1, k=5, dimension_tokens=0)
    found = compare(a, b, options=options)
    (near,) = found.local
    assert near.rows_a > near.tokens, "no row but those compared: the test asks nothing"
    assert near.mean == pytest.approx(1.0, abs=1e-6)
    assert (near.apart_share, near.known_a, near.known_b) == (0.0, 1.0, 1.0)


def test_rows_of_other_tokenizers_are_the_same_by_bytes_and_by_name(families, checkpoint):
    def vocabulary(name):
        tokenizer = families[name]()
        n = tokenizer.get_vocab_size()
        return read_vocabulary(Path(checkpoint(name, tokenizer, table(n))), n)

    first, second = vocabulary("byte_level"), vocabulary("sentencepiece")
    matched = match(first, second)
    ids_a, ids_b = match_rest(first, second, matched)
    assert not set(ids_a) & set(matched.ids_a)
    assert not set(ids_b) & set(matched.ids_b)
    assert len(set(ids_b)) == len(ids_b) == 128
    for i, j in zip(ids_a, ids_b, strict=True):
        assert first.forms[i].text == second.forms[j].text
        assert len(first.forms[i].text) == 1
        assert first.forms[i].text[0] >= 0x80
    pad = vocabulary("unigram")
    ids_a, ids_b = match_rest(second, pad, match(second, pad))
    signs = [second.tokens[i] for i in ids_a]
    assert signs == [pad.tokens[j] for j in ids_b] == ["<pad>", "<unk>"]


def test_dead_rows_are_left_out_and_named(checkpoint, plain):
    """Fault: one row of zeros, of tens of thousands, stops the comparison, or counts as a cosine of 0."""
    x, y = table(), table(seed=1) + 0.5 * table()
    dead = [17, *range(300, 320)]
    x[dead] = 0.0
    a, b = checkpoint("dead", plain(700), x), checkpoint("alive", plain(700), y)
    found = compare(a, b, options=TokenOptions(sample=700, draws=1, k=5, dimension_tokens=0))
    assert found.shared.n == found.overall[0].tokens == found.local[0].tokens == 679
    assert [one for one in found.warnings if "zeros" in one] == [
        "dead has rows of zeros for tokens that are used; they point nowhere and are left out: "
        "17, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 310 and 9 more."
    ]
    left = np.setdiff1d(np.arange(700), dead)
    unit = [r[left] / np.linalg.norm(r[left].astype(float), axis=1)[:, None] for r in (x, y)]
    cosines = [(u @ u.T)[np.triu_indices(679, 1)] for u in unit]
    assert found.overall[0].pearson == pytest.approx(np.corrcoef(*cosines)[0, 1], abs=1e-12)
    same = compare(
        a, checkpoint("whole", plain(700), table()), options=TokenOptions(k=5, dimension_k=(20,))
    )
    assert same.local[0].mean == pytest.approx(1.0, abs=1e-12)
    assert same.local[0].rows_a == same.local[0].rows_b == 679
    assert same.dimensions[0].values_a == same.dimensions[0].values_b


def test_a_copy_with_repeated_rows_gives_1(checkpoint, plain):
    """Fault: of equally near rows those of the lower number, which are others in another order of tokens."""
    x = table()
    x[100:160] = x[99]
    x[300:320] = x[7]
    order = np.random.default_rng(3).permutation(700)
    other = plain(700)
    other["model"]["vocab"] = {f"Ġt{i}": place for place, i in enumerate(order.tolist())}
    placed = np.empty_like(x)
    placed[np.arange(700)] = 2 * x[order]
    a, b = checkpoint("one", plain(700), x), checkpoint("other", other, placed)
    found = compare(a, b, options=TokenOptions(k=8, dimension_k=(20,), dimension_tokens=200))
    assert found.local[0].mean == pytest.approx(1.0, abs=1e-12)
    assert found.local[0].apart_share == 0
    assert found.dimensions[0].values_a == found.dimensions[0].values_b
