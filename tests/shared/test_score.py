"""Scores of a shared space: held out, beside chance, baselines and shuffled rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError, RowMismatchError, UnknownNameError
from cospace.shared import METHODS, RetrievalSet, SharedScore, score_shared


def split(spaces, n):
    fit = {k: v[:n] for k, v in spaces.items()}
    return fit, {k: v[n:] for k, v in spaces.items()}


@pytest.fixture(scope="module")
def scored(planted):
    """Planted structure, a same-text set and one of noisier answers, with texts."""
    spaces = planted(n=260, k=8, widths=[10, 12, 14], models=3, noise=0.35)
    fit, new = split(spaces, 180)
    rng = np.random.default_rng(5)
    answers = {k: v[:50] + 0.5 * rng.normal(size=v[:50].shape) for k, v in new.items()}
    sets = [
        RetrievalSet("new", new, texts=tuple(f"text {i}" for i in range(80))),
        RetrievalSet(
            "para",
            {k: v[:50] for k, v in new.items()},
            answers,
            texts=tuple(f"one {i}" for i in range(50)),
            answer_texts=tuple("something else" for _ in range(50)),
        ),
    ]
    return score_shared(
        fit, sets, scalings=("none", "standardize"), widths=(8,), folds=3, draws=400
    )


def test_every_method_has_held_out_numbers_beside_chance_and_control(scored):
    for name, method in METHODS.items():
        for label in ("new", "para"):
            found = scored.get(name, set=label)
            assert found.chance == pytest.approx(1 / 50)
            assert found.gallery == 50
            assert found.low <= found.value <= found.high
            if method.kind != "floor":
                assert found.value > 0.5
                mixed = scored.get(name, set=label, sample="shuffled, held out")
                assert mixed.value < 0.08
        assert scored.get(name, set="fit", sample="in-sample").gallery == 50
    # Principal axes of planted models agree up to sign, which is what raw coordinates live on.
    assert scored.get("raw", set="new").value < 0.5 * scored.get("gpa", set="new").value
    assert scored.get("random", set="new").value < 0.1


def test_galleries_are_equal_and_sets_keep_their_texts(scored):
    assert {one.gallery for one in scored.scores if one.among == "all"} == {50}
    assert {one.gallery for one in scored.scores if one.among != "all"} == {20}
    assert scored.get("gpa", set="new").n == 80
    assert [(s.name, s.n, s.paraphrases) for s in scored.sets] == [
        ("new", 80, False),
        ("para", 50, True),
    ]


def test_words_find_the_same_text_and_no_paraphrase(scored):
    assert scored.get("words", set="new").value > 0.95
    assert scored.get("words", set="para").value == pytest.approx(1 / 50, abs=1e-9)


def test_a_model_searched_by_itself_stands_beside_paraphrases(scored):
    within = scored.get("within", set="para")
    assert within.kind == "within"
    assert within.value > 0.5
    with pytest.raises(UnknownNameError):
        scored.get("within", set="new")


def test_shared_is_the_better_space_on_inner_folds(scored):
    inner = {one.method: one.best.score for one in scored.choices}
    assert scored.shared == max(("gpa", "gcca"), key=inner.__getitem__)
    for measure in ("top1", "margin"):
        one = scored.get("shared", set="new", measure=measure)
        other = scored.get(scored.shared, set="new", measure=measure)
        assert (one.value, one.low, one.high) == (other.value, other.low, other.high)


def test_contrasts_are_paired_and_agree_with_the_scores(scored):
    for one in scored.contrasts:
        first, second = (
            scored.get(m, set=one.set, measure=one.measure, among=one.among)
            for m in (one.first, one.second)
        )
        assert one.value == pytest.approx(first.value - second.value, abs=1e-12)
    same = next(c for c in scored.contrasts if c.second == scored.shared)
    assert (same.low, same.high, same.verdict) == (0.0, 0.0, "not told apart")
    floor = next(c for c in scored.contrasts if c.second == "random" and c.set == "new")
    assert floor.verdict == "better"


def test_pairs_average_to_the_score(scored):
    for measure in ("top1", "mrr", "csls", "margin"):
        pairs = [getattr(p, measure) for p in scored.pairs if (p.method, p.set) == ("gcca", "para")]
        assert len(pairs) == 6
        found = scored.get("gcca", set="para", measure=measure)
        assert np.mean(pairs) == pytest.approx(found.value, abs=1e-12)


def test_shuffled_rows_are_found_in_sample_and_not_held_out_and_the_reader_is_warned(planted):
    """Fault: an in-sample score taken for evidence. 132 texts, width 60: pairs are destroyed."""
    spaces = planted(n=165, k=70, widths=[80, 90, 100], models=3, noise=0.5)
    fit, new = split(spaces, 132)
    found = score_shared(
        fit,
        [RetrievalSet("new", new)],
        methods=("gpa", "procrustes"),
        scalings=("none",),
        widths=(60,),
        folds=2,
        draws=400,
    )
    for name in ("gpa", "procrustes"):
        inside = found.get(name, set="fit", sample="shuffled, in-sample")
        outside = found.get(name, set="new", sample="shuffled, held out")
        assert inside.value > 0.5
        assert outside.value < 0.06
        (told,) = [w for w in found.warnings if "of shuffled rows" in w]
        value = found.get(name, set="fit", sample="shuffled, in-sample").value
        assert f"{name} finds {value:.0%}" in told
        assert told.endswith("Only held-out numbers count.")


def test_a_direction_that_rules_is_told(planted):
    spaces = planted(n=120, models=2)
    spaces["m1"] = spaces["m1"] * np.array([1.0, 300.0, 1.0, 1.0, 1.0, 1.0])
    fit, new = split(spaces, 90)
    found = score_shared(
        fit, [RetrievalSet("new", new)], methods=("gpa",), scalings=("none",), folds=2, draws=100
    )
    assert found.leading[1].share > 0.99
    assert found.leading[1].width == 6
    assert any(w.startswith("m1: one direction holds") for w in found.warnings)
    assert found.matched == "position"


def test_a_result_comes_back_and_gives_a_table(scored, tmp_path):
    path = tmp_path / "score.json"
    scored.save(path)
    again = SharedScore.load(path)
    assert again.to_dict() == scored.to_dict()
    assert again.choices == scored.choices
    frame = scored.to_frame()
    assert len(frame) == len(scored.scores)
    assert {"method", "set", "sample", "measure", "value", "low", "high", "chance"} <= set(frame)
    assert scored.choice("ridge").by_pair is not None
    path.write_text(path.read_text().replace('"gallery"', '"galery"'))
    with pytest.raises(InputError, match="is no whole shared_score"):
        SharedScore.load(path)
    with pytest.raises(InputError, match="This is no whole shared_score: build it anew"):
        SharedScore.from_dict({})


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        ("leading", lambda t: t.clear(), "is none of"),
        ("leading", lambda t: t[0].update(model="x"), "m0 is none of x, m1"),
        ("pairs", lambda t: t.clear(), "is missing"),
        ("pairs", lambda t: t[0].update(set="x"), "pairs: x is none of"),
        ("scores", lambda t: t[0].update(kind="x"), "scores: x is none of shared, pairwise"),
        ("choices", lambda t: t[0].update(method="x"), "choices: x is none of"),
        ("choices", lambda t: t.append(t[0]), "is there 2 times"),
        (
            "choices",
            lambda t: next(c for c in t if c["by_pair"])["by_pair"].clear(),
            "choices, ridge: m0 -> m1 is none of",
        ),
    ],
)
def test_a_saved_one_that_contradicts_itself_is_refused(scored, tmp_path, table, change, told):
    scored.save(tmp_path / "score.json")
    data = json.loads((tmp_path / "score.json").read_text())
    change(data[table])
    (tmp_path / "score.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="is no whole shared_score") as refused:
        SharedScore.load(tmp_path / "score.json")
    assert told in str(refused.value)


def test_the_same_seed_gives_the_same_result(planted):
    fit, new = split(planted(n=90, models=3), 60)
    options = {"methods": ("gcca", "random"), "scalings": ("none",), "folds": 2, "draws": 50}
    one, other = (score_shared(fit, [RetrievalSet("new", new)], **options) for _ in range(2))
    assert one == other


def test_what_cannot_be_scored_is_refused(planted, scored):
    spaces = planted(n=60)
    fit, new = split(spaces, 40)
    one = RetrievalSet("new", new)
    with pytest.raises(InputError, match="No set of texts was given"):
        score_shared(fit, [])
    with pytest.raises(InputError, match="Two sets have one name"):
        score_shared(fit, [one, one])
    with pytest.raises(UnknownNameError, match="'pca' is not a method of a shared space"):
        score_shared(fit, [one], methods=["pca"])
    with pytest.raises(InputError, match="rng is 'x'"):
        score_shared(fit, [one], rng="x")
    for draws in (0, 10**9):
        with pytest.raises(InputError, match=f"draws is {draws}; a whole number from 1 to 100,000"):
            score_shared(fit, [one], draws=draws)
    with pytest.raises(InputError, match="A gallery of 1 of 20 texts"):
        score_shared(fit, [one], gallery=1, methods=["raw"], folds=2)
    ids = [f"t{i}" for i in range(60)]
    with_ids = {k: cs.Space(v[:40], ids=ids[:40]) for k, v in spaces.items()}
    both = {k: cs.Space(v[39:], ids=ids[39:]) for k, v in spaces.items()}
    with pytest.raises(RowMismatchError, match=r"1 texts of set 'new' are among those of the fit"):
        score_shared(with_ids, [RetrievalSet("new", both)])
    with pytest.raises(UnknownNameError, match="'top2' is not a measure of retrieval"):
        scored.get("gpa", set="new", measure="top2")
    with pytest.raises(UnknownNameError, match="is not a score of this result"):
        scored.get("gpa", set="old")
    with pytest.raises(UnknownNameError, match="'words' is not a method with a choice"):
        scored.choice("words")


def test_rows_of_the_fit_are_no_set_of_their_own():
    rng = np.random.default_rng(0)
    spaces = {name: rng.standard_normal((60, 8)) for name in "ab"}
    again = RetrievalSet("again", {name: rows[:20] for name, rows in spaces.items()})
    with pytest.raises(RowMismatchError, match="20 texts of set 'again' have the rows of texts"):
        score_shared(spaces, [again], methods=["ridge"], folds=2, draws=100)
