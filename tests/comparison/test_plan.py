"""Which pairs, on what route, and what does not fit into memory."""

from __future__ import annotations

import tracemalloc
from types import MappingProxyType

import numpy as np
import pytest

import cospace.comparison.plan as plan_module
from cospace.comparison import budget, compare
from cospace.comparison.plan import (
    Plan,
    matched_pairs,
    ordered_pairs,
    plan_measure,
)
from cospace.errors import UndefinedMeasureError
from cospace.measures import CATALOGUE, find
from cospace.space import Space

ROWS = np.random.default_rng(0).standard_normal((12, 3))


def site(model, name, depth, pooling="mean"):
    facts = {"model": model, "site": name, "depth": depth, "pooling": pooling}
    return Space(ROWS, name=f"{model}:{name}:{pooling}", facts=facts)


def model(name, blocks, *, norm=True, pooling="mean"):
    sites = [site(name, "embed", 0.0, pooling)]
    sites += [site(name, f"block.{i}", (i + 1) / blocks, pooling) for i in range(blocks)]
    return sites + ([site(name, "final_norm", 1.0, pooling)] if norm else [])


def names(pairs, spaces):
    return [(spaces[i].name, spaces[j].name) for i, j in pairs]


def one_way(spaces):
    """Site names of the pairs from the first model to the second."""
    first = spaces[0].facts["model"]
    return [
        (spaces[i].facts["site"], spaces[j].facts["site"])
        for i, j in matched_pairs(spaces)
        if spaces[i].facts["model"] == first
    ]


def test_all_ordered_pairs():
    assert ordered_pairs([site("m", str(i), 0.0) for i in range(3)]) == (
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 2),
        (2, 0),
        (2, 1),
    )


def test_sites_meet_at_five_depths_and_final_norm_ends_the_last_block():
    assert one_way(model("a", 6, norm=False) + model("b", 12)) == [
        ("embed", "embed"),
        ("block.1", "block.2"),  # 0.25 lies between 1/6 and 2/6: the later; 3/12
        ("block.2", "block.5"),
        ("block.4", "block.8"),  # 0.75 lies between 4/6 and 5/6: the later
        ("block.5", "final_norm"),
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_the_rule_does_not_depend_on_the_order_of_the_sites(turned):
    a, b = model("a", 6), model("b", 30)
    found = one_way((a[::-1] + b[::-1]) if turned else (a + b))
    assert found == [
        ("embed", "embed"),
        ("block.1", "block.7"),  # 0.25 lies between 7/30 and 8/30
        ("block.2", "block.14"),
        ("block.4", "block.22"),  # 0.75 lies between 22/30 and 23/30
        ("final_norm", "final_norm"),
    ]


def test_both_orders_of_every_pair_are_there_once():
    spaces = model("a", 3) + model("b", 4) + model("c", 1)
    pairs = matched_pairs(spaces)
    assert len(set(pairs)) == len(pairs)
    assert {(j, i) for i, j in pairs} == set(pairs)
    assert all(spaces[i].facts["model"] != spaces[j].facts["model"] for i, j in pairs)


def test_single_sites_meet_all():
    spaces = [site(name, "block.0", 0.3) for name in "abc"]
    assert matched_pairs(spaces) == ordered_pairs(spaces)


def test_a_bare_array_meets_a_model_at_its_five_depths():
    spaces = [Space(ROWS, name="mine"), *model("b", 8)]
    found = {spaces[j].facts["site"] for i, j in matched_pairs(spaces) if i == 0}
    assert found == {"embed", "block.1", "block.3", "block.5", "final_norm"}


def test_poolings_meet_their_like():
    spaces = [s for p in ("mean", "last") for m in "ab" for s in model(m, 4, pooling=p)]
    for i, j in matched_pairs(spaces):
        assert spaces[i].facts["pooling"] == spaces[j].facts["pooling"]


def test_models_that_share_no_pooling_meet_all_the_same():
    spaces = model("a", 4, pooling="mean") + model("b", 4, pooling="last")
    assert len(matched_pairs(spaces)) == 10


def test_sites_of_one_model_meet_each_other():
    spaces = model("a", 8)
    sites = {spaces[i].facts["site"] for pair in matched_pairs(spaces) for i in pair}
    assert sites == {"embed", "block.1", "block.3", "block.5", "final_norm"}
    assert len(matched_pairs(spaces)) == 5 * 4


def test_two_forms_of_one_site_meet():
    spaces = [site("a", "block.1", 0.5), Space(ROWS, name="again", facts={"model": "a"})]
    assert matched_pairs(spaces) == ordered_pairs(spaces)
    assert compare(spaces, ["procrustes_similarity"], permutations=0).cells[0].value > 0.999


def planned(name, n, width, *, count=2):
    class Sketch:
        """As much of a space as a plan looks at."""

        def __init__(self, at):
            self.n, self.width, self.name, self.facts = n, width, str(at), {}

    spaces = [Sketch(at) for at in range(count)]
    options = {"pairs": "auto", "reduced": None, "draws": 199, "samples": 200}
    return plan_measure(find(name, CATALOGUE), spaces, **options)


def test_decomposing_measures_take_all_pairs_when_asked():
    spaces = model("a", 4) + model("b", 4)
    measure = find("procrustes_similarity", CATALOGUE)
    every = plan_measure(measure, spaces, pairs="all", reduced=None, draws=0, samples=0)
    some = plan_measure(measure, spaces, pairs="auto", reduced=None, draws=0, samples=0)
    assert (len(every.pairs), len(some.pairs)) == (12 * 11, 10)
    assert every == Plan(measure, every.pairs, None, stacked=False)


def test_cka_of_many_rows_goes_through_coordinates():
    assert planned("debiased_cka", 480, 768, count=52).stacked
    assert planned("debiased_cka", 100, 4).stacked  # cheap, and there is an interval
    assert not planned("debiased_cka", 5_000, 64).stacked


def memory(monkeypatch, size, cores=1):
    monkeypatch.setattr(plan_module, "free_bytes", lambda: int(size))
    monkeypatch.setattr(budget, "free_cores", lambda: cores)


@pytest.mark.parametrize("name", ["rsa_spearman", "rsa_cosine", "rbf_cka"])
def test_relations_that_do_not_fit_are_refused_before_they_are_made(monkeypatch, name):
    memory(monkeypatch, 2e9, cores=2)
    plan = planned(name, 20_000, 64)
    assert not plan.stacked
    assert plan.refused == (
        "Relating each of 20000 rows to each, 2 spaces need 46.5 GB of memory; 2.0 GB are free. "
        "Compare about 3600 rows, or fewer spaces at once; or take rsa_pearson or debiased_cka, which "
        "keep rows alone: 135 MB."
    )
    assert planned(name, 3_600, 64).refused is None
    assert planned(name, 3_800, 64).refused is not None


def test_cka_and_neighbours_that_do_not_fit_go_pair_by_pair(monkeypatch):
    memory(monkeypatch, 1e9)
    for name in ("debiased_cka", "linear_cka", "mutual_knn"):
        plan = planned(name, 20_000, 64)
        assert (plan.stacked, plan.refused) == (False, None)


def test_a_refusal_is_an_error_when_named_and_a_reason_by_default(monkeypatch):
    memory(monkeypatch, 500_000)
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal((300, 4)) for name in "ab"}
    with pytest.raises(
        UndefinedMeasureError,
        match=r"^rsa_spearman of a and b: Relating each of 300 rows to each, 2 spaces need 5.5 MB",
    ):
        compare(arrays, ["rsa_spearman"])
    result = compare(arrays, permutations=3)
    empty = [cell for cell in result.cells if cell.value is None]
    assert {cell.measure for cell in empty} == {"rsa_spearman"}
    assert empty[0].reason.startswith("Relating each of 300 rows to each")
    assert result.settings["routes"]["rsa_spearman"] == "refused"
    assert result.settings["routes"]["mutual_knn"] == "pairwise"


def test_small_sizes_are_given_in_bytes(monkeypatch):
    memory(monkeypatch, 900)
    assert planned("rsa_pearson", 340, 4).refused == (
        "Relating each of 340 rows to each, 2 spaces need 1.3 MB of memory; 900 bytes are free. "
        "Compare fewer spaces."
    )


def test_many_rows_go_by_pairs_in_less_memory_than_their_square():
    rng = np.random.default_rng(0)
    n = 6_000
    latent = rng.standard_normal((n, 8))
    arrays = {
        name: latent @ rng.standard_normal((8, 16)) + rng.standard_normal((n, 16)) for name in "ab"
    }
    tracemalloc.start()
    result = compare(arrays, ["linear_cka", "debiased_cka"], permutations=9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(result.settings["routes"].values()) == {"pairwise"}
    assert peak < n * n  # bytes: an eighth of one Gram matrix
    for cell in result.cells:
        assert cell.value == pytest.approx(
            find(cell.measure, CATALOGUE)(arrays["a"], arrays["b"]), abs=1e-12
        )
        assert cell.p == 0.1


def test_inner_products_of_rows_are_streamed_where_relations_do_not_fit(monkeypatch):
    memory(monkeypatch, 2e9, cores=2)
    plan = planned("rsa_pearson", 20_000, 64)
    assert (plan.stacked, plan.streamed, plan.refused) == (True, True, None)


@pytest.mark.parametrize("name", ["rsa_spearman", "rbf_cka"])
def test_symmetric_relations_that_fit_in_single_precision_alone_are_kept_so(monkeypatch, name):
    memory(monkeypatch, 6e9)
    plan = planned(name, 2_000, 64, count=325)
    assert (plan.stacked, plan.streamed, plan.refused) == (True, True, None)
    memory(monkeypatch, 2e9)
    assert planned(name, 2_000, 64, count=325).refused is not None


def test_a_large_grid_without_shuffles_is_streamed():
    class Sketch:
        n, width, name, facts = 2_000, 768, "s", MappingProxyType({})

    for name in ("linear_cka", "debiased_cka", "rsa_pearson", "rsa_spearman"):
        measure = find(name, CATALOGUE)
        options = {"pairs": "auto", "reduced": None, "draws": 0, "samples": 0}
        assert plan_measure(measure, [Sketch()] * 325, **options).streamed
        assert not plan_measure(measure, [Sketch()] * 2, **options).streamed
        sampled = options | {"samples": 200}  # entries that are not kept have no intervals
        assert not plan_measure(measure, [Sketch()] * 10, **sampled).streamed


def test_a_grid_that_fits_no_number_of_rows_is_told_so(monkeypatch):
    memory(monkeypatch, 30e6)
    refused = planned("rsa_spearman", 1_000, 4, count=400).refused
    assert "30 MB are free. Compare fewer spaces" in refused
