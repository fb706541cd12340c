"""Drift between two forms of one model: closed forms, planted changes, yardsticks, refusals."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cospace.drift import Drift, SiteDrift, measure_drift
from cospace.drift.result import FIGURES
from cospace.errors import InputError, MissingDependencyError, RowMismatchError, UnknownNameError
from cospace.measures import debiased_cka, heldout_r2, mutual_knn, procrustes_similarity
from cospace.space import Space

N, WIDTH = 120, 6


def rows(seed: int = 0, n: int = N, width: int = WIDTH) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, width))


def rotation(width: int = WIDTH) -> np.ndarray:
    return np.linalg.qr(rows(9, width, width))[0]


def form(*tables: np.ndarray, model: str = "m", **facts: object) -> list[Space]:
    """Spaces of one model at its sites."""
    last = max(len(tables) - 1, 1)
    return [
        Space(
            table,
            ids=tuple(f"t{i}" for i in range(len(table))),
            name=f"{model}:block.{at}",
            facts={"model": model, "site": f"block.{at}", "depth": at / last, **facts},
        )
        for at, table in enumerate(tables)
    ]


def only(a: np.ndarray, b: np.ndarray, **options: object) -> SiteDrift:
    result = measure_drift(form(a), form(b, model="q"), **options)  # type: ignore[arg-type]
    (site,) = result.sites
    return site


# closed forms


def test_nothing_changed() -> None:
    result = measure_drift(form(rows(), rows(1)), form(rows(), rows(1), model="q"))
    for site in result.sites:
        assert site.identical
        assert site.error.value == site.text_error.value == 0.0
        assert site.retention.value == 1.0
        assert site.residual.value == pytest.approx(0.0, abs=1e-12)
        assert site.r2_forward.value == pytest.approx(1.0, abs=1e-9)
        assert site.r2_back.value == pytest.approx(1.0, abs=1e-9)
        assert site.cka.value == pytest.approx(1.0, abs=1e-12)
        assert site.moved == ()
    assert result.moved == ()
    assert result.warnings == ("The two forms are identical, to the last bit, at all 2 sites.",)


def test_a_tenth_longer() -> None:
    site = only(rows(), 1.1 * rows())
    assert site.error.value == pytest.approx(0.1, abs=1e-12)
    assert site.error.low == pytest.approx(0.1, abs=1e-12)
    assert site.error.high == pytest.approx(0.1, abs=1e-12)
    assert site.text_error.value == pytest.approx(0.1, abs=1e-12)
    assert site.retention.value == 1.0
    assert site.residual.value == pytest.approx(0.0, abs=1e-9)
    assert site.r2_forward.value == pytest.approx(1.0, abs=1e-9)
    assert not site.identical


def test_rotated() -> None:
    a = rows()
    site = only(a, a @ rotation())
    expected = np.linalg.norm(a - a @ rotation()) / np.linalg.norm(a)
    assert site.error.value == pytest.approx(expected, abs=1e-12)
    assert site.error.value > 1.0
    assert site.residual.value == pytest.approx(0.0, abs=1e-9)
    assert site.retention.value == 1.0
    assert site.r2_forward.value == pytest.approx(1.0, abs=1e-9)
    assert site.r2_back.value == pytest.approx(1.0, abs=1e-9)
    assert site.cka.value == pytest.approx(1.0, abs=1e-9)


def test_noise_of_known_size() -> None:
    a, noise = rows(0, 2000, 8), rows(1, 2000, 8)
    site = only(a, a + 0.25 * noise)
    assert site.error.value == pytest.approx(0.25, abs=0.01)
    assert site.error.low < site.error.value < site.error.high
    assert site.text_error.low < site.text_error.value < site.text_error.high
    # Of unit variance 1 + s^2 after; a linear map recovers 1 / (1 + s^2) of it either way.
    assert site.r2_forward.value == pytest.approx(1 / (1 + 0.25**2), abs=0.01)
    assert site.r2_back.value == pytest.approx(1 / (1 + 0.25**2), abs=0.01)
    # The cosine of the two after rotation is 1 / sqrt(1 + s^2).
    assert site.residual.value == pytest.approx(np.sqrt(1 - 1 / (1 + 0.25**2)), abs=0.01)


def test_independent_rows_are_at_chance() -> None:
    site = only(rows(0, 600), rows(1, 600))
    for name in FIGURES:
        figure = getattr(site, name)
        assert figure.value == pytest.approx(figure.chance, abs=0.05), name
    assert site.retention.chance == 10 / 599
    assert site.cka.chance == 0.0
    assert site.error.chance == pytest.approx(np.sqrt(2), abs=0.05)


def test_every_value_is_that_of_its_measure() -> None:
    a, b = rows(), rows() @ np.diag([1.0, 2, 3, 1, 1, 1]) + 0.3 * rows(1)
    site = only(a, b, k=7)
    assert site.retention.value == pytest.approx(mutual_knn(a, b, k=7), abs=1e-12)
    assert site.cka.value == pytest.approx(debiased_cka(a, b), abs=1e-10)
    assert site.r2_forward.value == pytest.approx(heldout_r2(a, b), abs=1e-9)
    assert site.r2_back.value == pytest.approx(heldout_r2(b, a), abs=1e-9)
    assert site.r2_forward.unchanged == pytest.approx(heldout_r2(a, a), abs=1e-9)
    assert site.r2_back.unchanged == pytest.approx(heldout_r2(b, b), abs=1e-9)
    similarity = procrustes_similarity(a, b)
    assert site.residual.value == pytest.approx(np.sqrt(1 - similarity**2), abs=1e-9)


def test_error_by_chance_is_the_mean_over_all_orders() -> None:
    a, b = rows(0, 5, 3) + 1.0, rows(1, 5, 3) + 2.0
    squares = [
        np.linalg.norm(a - b[list(order)]) ** 2 for order in itertools.permutations(range(5))
    ]
    expected = np.sqrt(np.mean(squares)) / np.linalg.norm(a)
    assert only(a, b).error.chance == pytest.approx(expected, abs=1e-12)


def test_translation_is_an_error_but_no_residual() -> None:
    a = rows()
    site = only(a, a + 3.0)
    assert site.error.value == pytest.approx(3 * np.sqrt(N * WIDTH) / np.linalg.norm(a), abs=1e-12)
    assert site.residual.value == pytest.approx(0.0, abs=1e-9)


# other widths


def test_a_wider_form_that_holds_the_same() -> None:
    a = rows()
    b = np.hstack([2.0 * a @ rotation(), np.zeros((N, 3))])
    for first, second in ((a, b), (b, a)):
        site = only(first, second)
        assert site.error.value is None
        assert "differ: there are no common coordinates" in str(site.error.reason)
        assert site.text_error.reason == site.error.reason
        assert site.residual.value == pytest.approx(0.0, abs=1e-9)
        assert site.r2_forward.value == pytest.approx(1.0, abs=1e-9)
        assert site.retention.value == 1.0
        assert site.ranked_by == "residual"
        assert site.moved == () or site.moved[0].error < 1e-6


@pytest.mark.parametrize("width", [3, 9])
def test_residual_of_other_widths_is_that_of_procrustes(width: int) -> None:
    a = rows()
    b = a @ rows(3, WIDTH, width) + 0.2 * rows(4, N, width)
    site = only(a, b)
    similarity = procrustes_similarity(a, b)
    assert site.residual.value == pytest.approx(np.sqrt(1 - similarity**2), abs=1e-9)


def test_fewer_rows_than_coordinates() -> None:
    a = rows(0, 30, 50)
    result = measure_drift(form(a), form(a + 0.01 * rows(1, 30, 50), model="q"))
    (site,) = result.sites
    assert site.r2_forward.unchanged == pytest.approx(heldout_r2(a, a), abs=1e-9)
    assert site.r2_forward.unchanged < 0.8
    assert site.r2_forward.value == pytest.approx(site.r2_forward.unchanged, abs=0.05)
    text = " ".join(result.warnings)
    assert "30 texts are no more than the width at 1 of 1 sites" in text
    assert "too few to predict even the space before from itself (least: block.0, R² 0." in text


# texts


def test_the_planted_text_is_found_first() -> None:
    a = rows()
    b, c = a + 0.01 * rows(1), a + 0.02 * rows(2)
    b[17] = -b[17]
    c[17] = -c[17]
    b[3] += 0.5
    texts = {"t17": "the one that moved", "t3": "another"}
    result = measure_drift(form(a, a), form(b, c, model="q"), worst=3, texts=texts)
    assert [len(site.moved) for site in result.sites] == [3, 3]
    for moved in (result.moved, *(site.moved for site in result.sites)):
        assert (moved[0].id, moved[0].rank, moved[0].text) == ("t17", 1.0, "the one that moved")
        assert moved[0].error == pytest.approx(2.0, abs=0.1)
        assert moved[0].retention is not None
        assert moved[0].retention < 0.5
    assert (result.sites[0].moved[1].id, result.sites[0].moved[1].text) == ("t3", "another")
    assert result.moved[2].text is None


def test_the_planted_text_is_found_across_widths() -> None:
    a = rows()
    b = np.hstack([a @ rotation() + 0.01 * rows(1), 0.01 * rows(2)])
    b[40] *= -1
    site = only(a, b)
    assert site.ranked_by == "residual"
    assert site.moved[0].id == "t40"
    assert site.moved[0].error > 5 * site.moved[1].error


def test_ranks_are_averaged_over_sites() -> None:
    a = rows(0, 20, 4)
    b, c = a.copy(), a.copy()
    b[1], b[2] = 1.5 * a[1], 1.2 * a[2]
    c[2], c[3] = 9.0 * a[2], 5.0 * a[3]
    result = measure_drift(form(a, a), form(b, c, model="q"))
    assert [(m.id, m.rank) for m in result.moved] == [("t2", 1.5), ("t1", 6.25), ("t3", 6.75)]
    assert result.moved[0].error == pytest.approx((0.2 + 8.0) / 2)


def test_texts_without_ids_are_named_by_their_row() -> None:
    a, b = rows(), rows()
    b[5] += 1
    result = measure_drift([Space(a, name="a")], [Space(b, name="b")])
    assert [m.id for m in result.moved] == ["5"]
    assert (result.before, result.after, result.sites[0].site) == ("a", "b", "a")
    assert result.settings["matched_by"] == "position"
    assert result.warnings[0].startswith("Rows are matched by position")


# where a figure means nothing


def test_few_rows_leave_figures_empty_with_their_reason() -> None:
    site = only(rows(0, 3), rows(1, 3))
    assert site.error.value is not None
    assert site.residual.value is not None
    assert "at least 10 rows are needed" in str(site.r2_forward.reason)
    assert "take fewer neighbours, or 12 rows or more" in str(site.retention.reason)
    assert "needs at least 4 rows" in str(site.cka.reason)
    assert {m.retention for m in site.moved} == {None}


def test_a_zero_row() -> None:
    a = rows()
    a[4] = 0
    site = only(a, rows(1))
    assert site.error.value is not None
    assert "Row 4 before is zero" in str(site.text_error.reason)
    assert "Row 4 is zero" in str(site.retention.reason)
    assert site.ranked_by == "residual"


def test_rows_that_are_all_the_same() -> None:
    site = only(np.ones((N, 3)), np.ones((N, 3)))
    assert site.error.value == 0.0
    for name in ("residual", "r2_forward", "r2_back", "cka"):
        assert "All rows are the same" in str(getattr(site, name).reason)
    site = only(np.zeros((N, 3)), rows(0, N, 3))
    assert "All rows before are zero" in str(site.error.reason)
    assert site.ranked_by is None
    assert site.moved == ()


def test_a_text_at_the_centre_has_a_finite_residual() -> None:
    a = np.vstack([np.zeros((1, 2)), np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])])
    site = only(a, np.hstack([a, 0.1 * rows(0, 5, 1)]))
    assert all(np.isfinite(m.error) for m in site.moved)


def test_repeated_and_offset_rows_are_told() -> None:
    a = rows() + 50.0
    a[1] = a[0]
    b = a + 0.1 * rows(1)
    result = measure_drift(form(a), form(b, model="q"))
    text = " ".join(result.warnings)
    assert "1 of 2 spaces have repeated rows (most: m:block.0, 1 of 120)" in text
    assert "differ by less than half of their length (least: block.0)" in text


# sites


def test_sites_are_matched_by_name_and_pooling() -> None:
    first = form(rows(0), rows(1), pooling="mean") + form(rows(2), pooling="last")
    second = form(rows(2), model="q", pooling="last") + form(
        rows(0), rows(5), model="q", pooling="mean"
    )
    result = measure_drift(first, second)
    assert [(s.site, s.pooling, s.identical) for s in result.sites] == [
        ("block.0", "mean", True),
        ("block.1", "mean", False),
        ("block.0", "last", True),
    ]
    assert (result.before, result.after) == ("m", "q")
    assert result.settings["sites_matched_by"] == "site"
    assert "at 2 of 3 sites (block.0, block.0)" in " ".join(result.warnings)
    assert next(iter(result.provenance["fingerprints"])) == "block.0 (mean)"
    assert result.provenance["models"]["after"] == {"model": "q"}


def test_rows_are_matched_by_id() -> None:
    a = rows()
    (space,) = form(a)
    other = space.take(tuple(reversed(space.ids or ())))
    assert measure_drift([space], [other]).sites[0].identical


def test_arrays_are_matched_by_their_key() -> None:
    first = [Space(rows(i), name=f"a:{i}", facts={"key": str(i)}) for i in (0, 1)]
    second = [Space(rows(i), name=f"b:{i}", facts={"key": str(i)}) for i in (1, 0)]
    result = measure_drift(first, second)
    assert [(s.site, s.after, s.identical) for s in result.sites] == [
        ("0", "b:0", True),
        ("1", "b:1", True),
    ]


def test_bare_arrays_are_matched_by_position() -> None:
    first = [Space(rows(i), name=f"a{i}") for i in (0, 1)]
    result = measure_drift(first, first)
    assert "The 2 sites are matched by position" in " ".join(result.warnings)


def refused(before: Sequence[Space], after: Sequence[Space], **options: int) -> str:
    with pytest.raises(InputError) as caught:
        measure_drift(before, after, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_sites_are_named() -> None:
    both = form(*(rows(i, 20) for i in range(9)))
    assert refused(both[:1], both[1:2]) == (
        "Both forms need the same sites, but before has no block.1 and after has no block.0: name sites "
        "that both have."
    )
    assert "block.6 and 2 more: name sites" in refused(both, both[:1]).replace("block.5, ", "")
    pooled = form(rows(), pooling="mean"), form(rows(), pooling="last")
    assert "before has no block.0 (last)" in refused(*pooled)


def test_sites_that_are_there_twice() -> None:
    assert "There are two spaces after of block.0: give those of one model." in refused(
        form(rows()), form(rows()) + form(rows(1))
    )


def test_no_space_or_another_number_of_them() -> None:
    assert "There is no space before" in refused([], form(rows()))
    assert "There is no space after" in refused(form(rows()), [])
    bare = [Space(rows(i)) for i in range(3)]
    assert "There are 3 spaces before and 2 after, without sites" in refused(bare, bare[:2])


def test_options_that_make_no_sense() -> None:
    assert "k is 0 and worst is 10" in refused(form(rows()), form(rows()), k=0)
    assert "k is 10 and worst is -1" in refused(form(rows()), form(rows()), worst=-1)


def test_other_texts_are_refused() -> None:
    with pytest.raises(RowMismatchError, match=r"120 ids and m:block\.0 has 100, 100 of them"):
        measure_drift(form(rows()), form(rows(0, 100)))


# the result


def example() -> Drift:
    a = rows()
    return measure_drift(form(a, a), form(a + 0.1 * rows(1), np.hstack([a, a]), model="q"))


def test_the_same_seed_gives_the_same_result() -> None:
    assert example().to_dict() == example().to_dict()
    a, b = form(rows()), form(rows(1), model="q")
    first, second = (measure_drift(a, b, rng=seed).sites[0].r2_forward.chance for seed in (0, 1))
    assert first != second


def test_a_result_goes_to_a_file_and_back(tmp_path: Path) -> None:
    result = example().with_provenance(command="cospace compare m q --drift")
    result.save(tmp_path / "drift.json")
    again = Drift.load(tmp_path / "drift.json")
    assert again == result
    assert again.provenance["command"] == "cospace compare m q --drift"
    assert json.loads((tmp_path / "drift.json").read_text())["kind"] == "drift"


@pytest.mark.parametrize("spoil", ["before", "sites"])
def test_a_dictionary_that_is_no_drift(spoil: str) -> None:
    data = example().to_dict()
    if spoil == "before":
        del data["before"]
    else:
        del data["sites"][0]["cka"]
    with pytest.raises(InputError, match="not a drift that this version wrote"):
        Drift.from_dict(data)


def test_records_hold_one_flat_row_a_site() -> None:
    first, second = example().records()
    assert first["site"] == "block.0"
    assert first["retention_chance"] == 10 / 119
    assert first["reasons"] is None
    assert second["error"] is None
    assert second["error_chance"] is None
    assert second["reasons"].startswith("error: Widths 6 and 12 differ")
    assert first.keys() == second.keys()
    assert all(not isinstance(value, dict | list | tuple) for value in first.values())


def test_progress_counts_sites() -> None:
    seen: list[tuple[str, int, int]] = []
    a = rows(0, 20)
    measure_drift(form(a, a), form(a, a), progress=lambda *step: seen.append(step))
    assert seen == [("block.0", 0, 2), ("block.1", 1, 2), ("done", 2, 2)]


def test_plot_draws_curves_over_depth() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    result = example()
    axes = result.plot()
    assert axes.get_xlabel() == "relative depth"
    assert [line.get_label() for line in axes.lines[::2]] == [
        FIGURES[name] for name in ("error", "retention", "r2_forward", "cka")
    ]
    bare = measure_drift([Space(rows(), name="a")], [Space(rows(1), name="b")])
    other = plt.figure().add_subplot()
    assert bare.plot(("residual",), ax=other) is other
    assert [tick.get_text() for tick in other.get_xticklabels()] == ["a"]
    with pytest.raises(UnknownNameError, match="Did you mean 'retention'"):
        result.plot(("retentoin",))
    plt.close("all")


def test_plot_without_matplotlib_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match="A figure needs matplotlib"):
        example().plot()


# a real model


@pytest.mark.weights
def test_minilm_with_weights_rounded_to_eight_bits(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    from cospace.corpus import Corpus
    from cospace.extraction import extract
    from cospace.models.hf import load_model
    from cospace.models.weights import resolve_weights

    folder = tmp_path / "minilm-int8"
    shutil.copytree(resolve_weights("minilm").folder, folder)
    tensors = load_file(folder / "model.safetensors")
    for name, weight in tensors.items():
        if weight.ndim == 2 and weight.dtype.kind == "f":
            step = np.maximum(np.abs(weight).max(axis=1, keepdims=True), 1e-12) / 127
            tensors[name] = (np.round(weight / step) * step).astype(weight.dtype)
    (folder / "model.safetensors").unlink()
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    corpus = Corpus.packaged("plain").take(range(0, 480, 4))
    models = [load_model("minilm"), load_model(folder, name="minilm-int8")]
    sites = ["embed", "block.2", "last"]
    store = extract(
        models, corpus, sites=sites, pooling="mean", store=tmp_path / "store", progress=False
    )
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    result = measure_drift(store.spaces("minilm"), store.spaces("minilm-int8"), texts=texts)
    assert (result.before, result.after) == ("minilm", "minilm-int8")
    assert [site.site for site in result.sites] == ["embed", "block.2", "block.5"]
    for site in result.sites:
        assert not site.identical
        assert 0.01 < site.error.value < 0.06
        assert 0.002 < site.residual.value < 0.03
        assert 0.9 < site.retention.value < 1.0
        assert site.cka.value > 0.999
        assert site.r2_forward.value == pytest.approx(site.r2_forward.unchanged, abs=0.01)
    assert len(result.moved) == 10
    assert all(moved.text == texts[moved.id] for moved in result.moved)
