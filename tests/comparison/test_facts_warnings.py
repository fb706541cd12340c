"""Warnings of a comparison know which measures were run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cospace.comparison.facts import facts_of, warnings_of
from cospace.comparison.result import SpaceFacts
from cospace.measures import CATALOGUE, find


def space(name: str, **facts) -> SpaceFacts:
    plain = SpaceFacts(name, name, None, None, None, 21, 4, 4, 0.3, 0, "0")
    return replace(plain, **facts)


def warned(spaces, *names: str) -> list[str]:
    return list(warnings_of(spaces, "ids", [facts_of(find(name, CATALOGUE)) for name in names]))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("debiased_cka",), None),
        (("debiased_cka", "rsa_spearman", "mutual_knn", "mean_cca", "heldout_r2"), None),
        (
            ("debiased_cka", "procrustes_similarity"),
            "21 rows are no more than the width of 1 of 2 spaces: Procrustes similarity then makes "
            "unrelated spaces look alike; read it beside the null.",
        ),
        (
            ("linear_cka", "procrustes_similarity", "procrustes_distance"),
            "21 rows are no more than the width of 1 of 2 spaces: Linear CKA, Procrustes similarity "
            "and Procrustes distance then make unrelated spaces look alike; read them beside the null.",
        ),
    ],
)
def test_few_rows_are_warned_of_where_a_measure_rises_with_the_width(names, told) -> None:
    assert warned([space("a"), space("b", width=40)], *names) == ([told] if told else [])


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("mean_cca",), None),
        (("linear_cka", "mean_cca"), "it rules CKA there"),
        (("rsa_spearman", "procrustes_similarity", "cknna"), "it rules RSA and Procrustes there"),
        (("mutual_knn",), "it rules what weighs directions by their variance there"),
    ],
)
def test_a_leading_direction_is_warned_of_where_a_measure_weighs_it(names, told) -> None:
    found = warned([space("a"), space("b", leading_share=0.9)], *names)
    ruled = [text for text in found if "more than half of the variance (most: b, 90.0%)" in text]
    assert len(ruled) == (told is not None)
    assert all(told in text for text in ruled)


def test_texts_that_were_cut_are_told_once_a_run() -> None:
    cut = {"run": "r", "truncated": 1}
    several = [space(f"minilm:{i}", model="minilm", facts=cut) for i in range(3)]
    whole = space("mpnet", facts={"run": "s", "truncated": 0})
    assert warned([*several, whole], "debiased_cka") == [
        "1 of 21 texts was cut to what minilm reads: rows of such a text tell of its beginning only."
    ]
    many = space("mpnet", facts={"run": "s", "truncated": 30})
    assert warned([whole, many], "debiased_cka") == [
        "30 texts were cut to what mpnet reads: rows of such a text tell of its beginning only."
    ]
