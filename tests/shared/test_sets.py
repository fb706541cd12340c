"""Sets to retrieve from, and texts set aside."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError, RowMismatchError
from cospace.shared import RetrievalSet, split_texts
from cospace.shared.words import bag_of_words


@pytest.fixture
def pairs():
    return cs.Corpus(
        "pairs",
        ids=("a1", "b1", "b2", "a2"),
        texts=("It rains.", "He left.", "He went.", "Rain falls."),
        pairs=("a", "b", "b", "a"),
    )


def test_paraphrases_query_with_the_first_and_answer_with_the_second(pairs):
    rows = np.arange(8.0).reshape(4, 2)
    mixed = cs.Space(rows[[2, 0, 3, 1]], ids=[pairs.ids[i] for i in (2, 0, 3, 1)], name="m")
    found = RetrievalSet.paraphrases("p", {"m": mixed}, pairs)
    assert found.queries["m"].rows.tolist() == rows[[0, 1]].tolist()
    assert found.answers["m"].rows.tolist() == rows[[3, 2]].tolist()
    assert found.texts == ("It rains.", "He left.")
    assert found.answer_texts == ("Rain falls.", "He went.")


def test_sets_that_cannot_be_are_refused(pairs):
    x = np.ones((4, 2)) * np.arange(4.0)[:, None]
    space = cs.Space(x, ids=pairs.ids)
    bare = cs.Corpus("c", ids=pairs.ids, texts=pairs.texts)
    with pytest.raises(InputError, match="texts of p have no pairs"):
        RetrievalSet.paraphrases("p", {"m": space}, bare)
    three = cs.Corpus("c", ids=pairs.ids, texts=pairs.texts, pairs=("a", "b", "b", "b"))
    with pytest.raises(InputError, match="Pair 'a' of p has 1 texts; 2 are expected"):
        RetrievalSet.paraphrases("p", {"m": space}, three)
    with pytest.raises(InputError, match="Set 's' lacks b: give rows of every model"):
        RetrievalSet("s", {"a": x}).rows(("a", "b"))
    both = {"a": x, "b": x}
    with pytest.raises(RowMismatchError, match="Set 's' has 4 queries and 3 answers"):
        RetrievalSet("s", both, {"a": x[:3], "b": x[:3]}).rows(("a", "b"))
    with pytest.raises(InputError, match="Set 's' has 4 rows and 1 texts: one for each"):
        RetrievalSet("s", both, texts=("one",)).rows(("a", "b"))


def test_texts_are_set_aside_by_id_and_stay_together():
    ids = [f"t{i}" for i in range(40)]
    split = split_texts(ids, held_out=10, rng=3)
    assert len(split.held_out) == 10
    assert set(split.fit) | set(split.held_out) == set(ids)
    assert not set(split.fit) & set(split.held_out)
    assert split == split_texts(ids, held_out=0.25, rng=3)
    assert split != split_texts(ids, held_out=10, rng=4)
    names = [str(i // 2) for i in range(40)]
    split = split_texts(ids, held_out=9, together=names)
    assert len(split.held_out) == 10
    aside = {names[ids.index(i)] for i in split.held_out}
    assert not aside & {names[ids.index(i)] for i in split.fit}


@pytest.mark.parametrize("held_out", [0, 4, 9, -1])
def test_a_split_that_leaves_nothing_is_refused(held_out):
    with pytest.raises(InputError, match="at least 1 must be left on either side"):
        split_texts(["a", "b", "c", "d"], held_out=held_out)


def test_a_split_with_names_of_other_texts_is_refused():
    with pytest.raises(InputError, match="2 ids and 1 names of what stays together"):
        split_texts(["a", "b"], held_out=1, together=["x"])


def test_words_weigh_by_how_rare_they_are():
    queries, answers = bag_of_words(["the cat cat"], ["the dog"], known=["the end"])
    # Words in order: cat, dog, the. N = 2 (the end, the dog): df 0, 1, 2.
    wanted = [2 * (np.log(3 / 1) + 1), 0.0, np.log(3 / 3) + 1]
    assert queries[0] == pytest.approx(wanted)
    assert answers[0] == pytest.approx([0.0, np.log(3 / 2) + 1, 1.0])
    with pytest.raises(InputError, match="2 query texts and 1 answers were given"):
        bag_of_words(["a", "b"], ["c"])
