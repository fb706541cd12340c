"""The page of a scored shared space: its headline follows the paired interval, its table has every control."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from cospace.report import write_report
from cospace.report.render import page_html
from cospace.report.shared_space import findings, score_page
from cospace.shared import RetrievalSet, SharedScore, score_shared
from cospace.space import Space

N = 260


def texts(seed=0):
    """Three models with a structure in common, one of them ruled by one direction, in six groups."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(N, 8))
    found = {}
    for name, d in (("a", 10), ("b</script>", 12), ("c", 14)):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:8]
        rows = latent @ turn + 0.4 * rng.normal(size=(N, d))
        if name == "c":
            rows[:, 0] += 60.0 * rng.normal(size=N)
        ids = tuple(f"t{i}" for i in range(N))
        groups = tuple("abcdef"[i % 6] for i in range(N))
        found[name] = Space(rows, ids=ids, name=name, groups=groups)
    return found


@pytest.fixture(scope="module")
def score():
    spaces = texts()
    ids = spaces["a"].ids
    fit = {k: s.take(ids[:180]) for k, s in spaces.items()}
    new = {k: s.take(ids[180:]) for k, s in spaces.items()}
    rng = np.random.default_rng(1)
    answers = {
        k: Space(
            s.rows + 0.3 * rng.normal(size=s.rows.shape), ids=tuple(f"p{i}" for i in range(80))
        )
        for k, s in new.items()
    }
    told = tuple(f"text {i} {'x' * (i % 13)}" for i in range(80))
    return score_shared(
        fit,
        [
            RetrievalSet("new", new, texts=told),
            RetrievalSet("paraphrase", new, answers, told, tuple("other" for _ in told)),
        ],
        methods=("gpa", "gcca", "ridge", "procrustes", "raw", "random"),
        scalings=("none", "drop:1"),
        widths=(8,),
        folds=2,
        draws=200,
    ).with_provenance(command="cospace space score s")


def table(page, words):
    return next(
        b
        for s in page["sections"]
        for b in s["blocks"]
        if b["kind"] == "table" and words in b["caption"]
    )


def flat(block):
    return {
        row[0]["text"]: [c["text"] if isinstance(c, dict) else c for c in row]
        for group in block["groups"]
        for row in group["rows"]
    }


def test_the_table_has_every_method_chance_and_control(score):
    page = score_page(score)
    rows = flat(table(page, "Held out unless marked"))
    assert {
        "shared",
        "gpa",
        "gcca",
        "ridge",
        "procrustes",
        "raw",
        "random",
        "words",
        "chance",
    } <= set(rows)
    main = score.get("shared", set="new")
    assert rows["shared"][1] == f"{main.value:.3f}"
    inside = score.get("shared", set="fit", sample="shuffled, in-sample")
    assert rows["shared"][8] == f"{inside.value:.3f}"
    assert rows["chance"][1] == f"{1 / 80:.3f}"
    assert rows["raw"][6] == "–"
    few = flat(table(page, "Top-1 in galleries of"))
    assert few["chance"][1:] == [f"{score.get('gpa', set='new', among='any').chance:.3f}"] * 3


@pytest.mark.parametrize(
    ("verdict", "word", "tone"),
    [
        ("better", "beats", "above"),
        ("worse", "loses to", "outside"),
        ("not told apart", "ties with", "chance"),
    ],
)
def test_the_headline_follows_the_paired_interval(score, verdict, word, tone):
    second = score.best_pairwise()
    changed = replace(
        score,
        contrasts=tuple(
            replace(c, verdict=verdict, value=-0.01) if c.second == second else c
            for c in score.contrasts
        ),
    )
    told = findings(changed)
    assert f" {word} the best pairwise maps ({second})" in told[0]["text"]
    assert "0.010 less (difference" in told[0]["text"]
    assert told[0]["tone"] == tone
    assert score_page(changed)["headline"] == told[0]["text"]


def test_where_neither_is_told_from_chance_no_side_is_said_to_win(score):
    second = score.best_pairwise()
    changed = replace(
        score,
        contrasts=tuple(
            replace(c, verdict="neither") if c.second == second else c for c in score.contrasts
        ),
    )
    told = findings(changed)[0]
    assert (
        f"neither one shared space ({score.shared}) nor the best pairwise maps ({second}) can be told from chance"
        in told["text"]
    )
    assert (told["tone"], "ties" in told["text"]) == ("chance", False)


def test_a_loss_to_maps_that_happened_to_do_best_is_told(score):
    """Fault: only the friendlier rival is shown."""
    second = score.best_pairwise()
    other = next(m for m in ("ridge", "procrustes") if m != second)
    changed = replace(
        score,
        scores=tuple(
            replace(s, value=0.999) if (s.method, s.set) == (other, "new") else s
            for s in score.scores
        ),
        contrasts=tuple(
            replace(c, verdict="worse") if c.second == other else c for c in score.contrasts
        ),
    )
    assert (
        f"It loses to {other}, which happened to do best on these texts"
        in findings(changed)[0]["text"]
    )


def test_controls_groups_words_and_the_leading_direction_are_told(score):
    told = " ".join(one["text"] for one in findings(score))
    assert "After a fit on shuffled rows, new texts are found with" in told
    assert "Words alone find new texts with" in told
    assert "Inside every model its own paraphrases are found with" in told
    assert "texts of the same group, new texts are found with" in told
    assert "texts nearest in length, new texts are found with" in told
    assert re.search(r"one direction holds up to 9\d\.\d% .*\(c\)", told)


def test_without_pairwise_maps_the_headline_says_so(score):
    kept = ("gpa", "gcca")
    only = replace(score, choices=tuple(c for c in score.choices if c.method in kept))
    assert "no pairwise maps were fitted beside it" in findings(only)[0]["text"]


def test_the_map_has_every_ordered_pair(score):
    page = score_page(score)
    block = next(b for b in page["sections"][0]["blocks"] if b["kind"] == "map")
    grid = block["views"][0]["grid"]
    one = next(p for p in score.pairs if (p.method, p.set) == (score.shared, "new"))
    names = [m.model for m in score.leading]
    assert grid[names.index(one.source)][names.index(one.target)] == one.top1
    assert [grid[i][i] for i in range(3)] == [None] * 3
    assert block["others"][0]["label"] == f"less that of {score.best_pairwise()}"


def test_the_page_is_the_same_of_a_saved_score_and_lets_no_name_out(score, tmp_path):
    score.save(tmp_path / "s.json")
    again = SharedScore.load(tmp_path / "s.json")
    assert again == score
    html = page_html(score_page(score))
    assert page_html(score_page(again)) == html
    assert "b</script>" not in html
    assert write_report(score, tmp_path / "s.html").read_text() == html
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    assert len(json.loads(data.group(1))["rows"]) == len(score.scores)
