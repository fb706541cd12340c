from __future__ import annotations

import errno
import json
import os
import runpy
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import safetensors
from hypothesis import given
from hypothesis import strategies as st

from cospace.errors import StoreError, UnknownNameError
from cospace.extraction import extract
from cospace.models.base import Pooling, TokenPolicy, resolve_sites
from cospace.store import Store, files, manifest, open_store, open_writer, run_key, view

fake = runpy.run_path(str(Path(__file__).with_name("fake_extraction.py")))
FakeModel, corpus = fake["FakeModel"], fake["corpus"]


def fill(path, *models, texts=None, **options):
    options = {"rows_per_shard": 4, "progress": False, "pooling": ("mean", "max")} | options
    return extract(models or FakeModel(), texts or corpus(), store=path, **options)


@pytest.fixture
def path(tmp_path):
    fill(tmp_path / "store", FakeModel("a"), FakeModel("b", seed="b", blocks=2, width=3))
    return tmp_path / "store"


@pytest.fixture
def store(path):
    return open_store(path)


class TestReading:
    def test_runs_say_what_is_there(self, store):
        a, b = store.runs
        assert (a.facts, b.facts.blocks) == (FakeModel("a").facts, 2)
        assert a.policy == TokenPolicy()
        assert (a.corpus, a.fingerprint, a.rows) == ("small", corpus().fingerprint, 10)
        assert [site.name for site in b.sites] == ["embed", "block.0", "block.1", "final_norm"]
        assert b.poolings == ("mean", "max")
        assert a.shards == tuple(f"shard-0000{i}.safetensors" for i in range(3))
        assert a.complete
        assert (a.truncated, a.tokens) == (0, sum(len(t.split()) for t in corpus().texts))

    def test_spaces_come_in_order_with_their_names(self, store):
        names = [space.name for space in store.spaces(["b", "a"], [0.0, "last"], "max")]
        assert names == ["b:embed:max", "b:final_norm:max", "a:embed:max", "a:final_norm:max"]
        assert len(store.spaces()) == (5 + 4) * 2
        assert [s.name for s in store.spaces("b", "block.-1")] == [
            "b:block.1:mean",
            "b:block.1:max",
        ]

    def test_a_space_knows_where_it_comes_from(self, store):
        facts = store.space("b", "block.0", "max").facts
        assert (facts["model"], facts["site"], facts["depth"]) == ("b", "block.0", 0.5)
        assert (facts["pooling"], facts["quantisation"]) == ("max", "Q4, dequantised")
        assert facts["policy"] == {"special": False, "sink": True, "truncate": False}
        assert facts["corpus_fingerprint"] == corpus().fingerprint
        assert facts["run"] == store.runs[1].key
        json.dumps(dict(facts))

    def test_only_the_tensor_asked_for_is_read(self, store, monkeypatch):
        read = []
        whole = view.read_tensor
        monkeypatch.setattr(
            view, "read_tensor", lambda p, name: read.append(name) or whole(p, name)
        )
        store.space("a", "block.1")
        assert read == ["block.1/mean"] * 3

    def test_checksums_are_checked_once_a_view(self, store, monkeypatch):
        seen = []
        whole = files.sha256_of
        monkeypatch.setattr(files, "sha256_of", lambda path: seen.append(path) or whole(path))
        store.spaces("a")
        assert len(seen) == 3

    def test_a_corpus_without_groups(self, tmp_path):
        store = fill(tmp_path, texts=corpus(groups=None))
        assert store.space("fake").groups is None
        assert open_store(tmp_path).space("fake").groups is None

    def test_representations_fit_on_a_line(self, store):
        assert repr(store).startswith("Store(")
        assert repr(store).endswith(", a, b)")
        assert repr(store.runs[0]).startswith("Run('a', ")
        assert max(len(repr(store)), len(repr(store.runs[0]))) < 200

    def test_unknown_names(self, store):
        with pytest.raises(UnknownNameError, match=r"'c' is not a model in .*store\. Known: a, b"):
            store.space("c")
        with pytest.raises(UnknownNameError, match=r"'block\.7' is not a site of a"):
            store.space("a", "block.7")
        with pytest.raises(UnknownNameError, match="'men' is not a pooling"):
            store.space("a", pooling="men")

    def test_what_was_not_extracted(self, tmp_path):
        fill(tmp_path, sites="embed", pooling="mean")
        fill(tmp_path, sites="last", pooling="max")
        store = open_store(tmp_path)
        with pytest.raises(StoreError, match=r"has no block\.0, only embed, final_norm: extract"):
            store.space("fake", "block.0")
        with pytest.raises(StoreError, match="has no pooling last, only mean, max: extract it"):
            store.space("fake", "embed", "last")
        with pytest.raises(StoreError, match="has no embed/max: extract it into the same store"):
            store.spaces(sites=["embed"], pooling=["max"])
        assert len(store.spaces()) == 2

    def test_a_model_with_two_runs_is_asked_for_by_folder(self, tmp_path):
        fill(tmp_path)
        fill(tmp_path, policy=TokenPolicy(special=True))
        store = open_store(tmp_path)
        one, two = (run.folder for run in store.runs)
        with pytest.raises(StoreError, match=rf"has 2 runs of fake: say {one} or {two}\."):
            store.space("fake")
        names = {space.name for space in store.spaces(sites="last", pooling="mean")}
        assert names == {f"{one}:final_norm:mean", f"{two}:final_norm:mean"}
        assert store.space(two).facts["run"] == store.runs[1].key


class TestOnDisk:
    def test_folder_and_files(self, path, store):
        a = path / f"a-{run_key(FakeModel().facts, TokenPolicy(), corpus().fingerprint)}"
        assert sorted(p.name for p in a.iterdir()) == ["manifest.json", "rows.parquet"] + [
            f"shard-0000{i}.safetensors" for i in range(3)
        ]
        assert sorted(p.name for p in path.iterdir()) == [run.folder for run in store.runs]

    def test_rows_table(self, tmp_path):
        texts = corpus(labels=tuple("0123456789"), pairs=tuple("aabbccddee"))
        store = fill(tmp_path, FakeModel(cut=("t1",)), texts=texts)
        table = pq.read_table(tmp_path / store.runs[0].folder / "rows.parquet").to_pydict()
        assert table["id"] == list(texts.ids)
        assert table["group"] == list(texts.groups)
        assert table["label"] == list(texts.labels)
        assert table["pair"] == list(texts.pairs)
        assert table["tokens"][:3] == [3, 4, 5]
        assert [i for i, cut in enumerate(table["truncated"]) if cut] == [1]
        assert all(len(one) == 64 for one in table["text_sha256"])

    def test_a_shard_is_plain_safetensors(self, path, store):
        first = path / store.runs[0].folder / "shard-00002.safetensors"
        with safetensors.safe_open(first, framework="numpy") as file:
            assert file.get_tensor("block.1/max").shape == (2, 5)
            assert file.get_tensor("tokens").tolist() == [5, 3 + 9 % 3]
            assert json.loads(file.metadata()["cospace"])["start"] == 8

    def test_the_manifest_holds_facts_and_nothing_of_the_day(self, path, store):
        for folder, plain in store.manifest.items():
            text = (path / folder / "manifest.json").read_text()
            assert json.loads(text) == plain
            assert plain["format"] == 2
            assert plain["model"]["quantisation"] == "Q4, dequantised"
            assert plain["corpus"] == {
                "name": "small",
                "fingerprint": corpus().fingerprint,
                "rows": 10,
            }
            assert str(path) not in text

    def test_names_that_cannot_be_folders(self, tmp_path):
        store = fill(tmp_path, FakeModel("../organisation/model 7b"))
        assert store.runs[0].folder.startswith("organisation-model-7b-")
        assert store.space("../organisation/model 7b").n == 10

    def test_a_key_depends_on_what_decides_the_rows_alone(self):
        facts, policy = FakeModel().facts, TokenPolicy()
        key = run_key(facts, policy, "f")
        assert key == run_key(replace(facts, name="n", reference="r", licence="l"), policy, "f")
        others = [
            run_key(replace(facts, **{field: "other"}), policy, "f")
            for field in (
                "weights_hash",
                "tokenizer_hash",
                "config_hash",
                "revision",
                "architecture",
                "dtype",
            )
        ]
        others += [run_key(facts, TokenPolicy(special=True), "f"), run_key(facts, policy, "g")]
        assert len({key, *others}) == 9


class TestDamage:
    def test_a_whole_store_has_no_problems(self, store):
        assert store.verify() == []

    def test_opening_names_a_cut_shard(self, path, store):
        shard = path / store.runs[1].folder / "shard-00001.safetensors"
        shard.write_bytes(shard.read_bytes()[:50])
        told = (
            r"store is damaged, b-\w+: shard-00001.safetensors has 50 bytes instead of [\d,]+: run"
        )
        with pytest.raises(StoreError, match=told):
            open_store(path)
        assert open_store(path, check=False).space("a").n == 10
        for file in path.glob("a-*/shard-*"):
            file.unlink()
        with pytest.raises(StoreError, match=r"shard-00000.safetensors is missing \(and 3 more\)"):
            open_store(path)

    def test_a_changed_byte_is_found_when_it_is_read(self, path, store):
        shard = path / store.runs[0].folder / "shard-00000.safetensors"
        data = bytearray(shard.read_bytes())
        data[-1] ^= 1
        shard.write_bytes(data)
        assert isinstance(open_store(path), Store)
        told = "shard-00000.safetensors has another checksum than the one recorded"
        assert told in store.verify()[0]
        with pytest.raises(StoreError, match=told):
            store.space("a")

    def test_shards_of_another_shape_or_content(self, path, store):
        run = store.runs[0]
        folder = path / run.folder
        part = manifest.read_manifest(folder).parts[0]
        shard = part.shards[0]
        for arrays, told in [
            ({"embed/mean": np.zeros((3, 5))}, "holds 3 rows instead of 4"),
            ({"block.0/mean": np.zeros((4, 5))}, "does not hold embed/mean"),
        ]:
            data = files.shard_bytes(arrays, {})
            (folder / shard.file).write_bytes(data)
            sized = shard.model_copy(update={"size": len(data)})
            found = files.shard_problem(folder, part, sized, checksum=False)
            assert found == f"{shard.file} {told}"

    def test_a_table_of_texts_that_is_gone(self, path, store):
        (path / store.runs[0].folder / "rows.parquet").unlink()
        with pytest.raises(StoreError, match=r"a-\w+: rows.parquet is missing: run the same"):
            store.space("a")

    def test_a_shard_that_vanishes_while_it_is_read(self, tmp_path):
        with pytest.raises(StoreError, match=r"gone cannot be read .*: run the same extract again"):
            files.read_tensor(tmp_path / "gone", "embed/mean")

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ("{", "is not JSON: restore it, or delete the folder"),
            ("[]", r"is not a manifest \(the whole: .*\): restore it, or delete the folder"),
            ({"format": 3}, "has format 3, this version of cospace reads 2: update cospace"),
            ({"format": 1}, "has format 1, which does not tell tokenizers .* extract into another"),
            ({"parts": 3}, r"is not a manifest \(parts: Input should be a valid tuple\): restore"),
            ({"colour": "red"}, r"is not a manifest \(colour: Extra inputs"),
        ],
    )
    def test_a_manifest_that_is_not_one(self, path, store, change, told):
        file = path / store.runs[0].folder / "manifest.json"
        if isinstance(change, dict):
            change = json.dumps(json.loads(file.read_text()) | change)
        file.write_text(change)
        with pytest.raises(StoreError, match=told):
            open_store(path)
        with pytest.raises(StoreError, match=told):
            fill(path, FakeModel("a"))

    def test_a_manifest_that_cannot_be_read(self, tmp_path):
        (tmp_path / "manifest.json").mkdir()
        with pytest.raises(StoreError, match=r"manifest\.json cannot be read: Is a directory"):
            manifest.read_manifest(tmp_path)


class TestRefused:
    def test_no_store(self, tmp_path):
        with pytest.raises(StoreError, match="nowhere does not exist: name the folder"):
            open_store(tmp_path / "nowhere")
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError, match="file is a file: name the folder"):
            open_store(tmp_path / "file")
        with pytest.raises(StoreError, match="holds no run: name the folder"):
            open_store(tmp_path)

    def test_finishing_what_is_not_finished(self, tmp_path):
        model = FakeModel()
        with open_writer(tmp_path, model.facts, corpus(), TokenPolicy()) as writer:
            sites = resolve_sites("all", blocks=3, final_norm=True)
            work = writer.want(sites, [Pooling.MEAN], rows_per_shard=4)
            assert [(one.start, one.stop) for one in work] == [(0, 4), (4, 8), (8, 10)]
            with pytest.raises(StoreError, match="is not finished: extract again to go on"):
                writer.finish()

    @pytest.mark.parametrize(
        ("code", "told"),
        [
            (errno.ENOSPC, "the disk is full. Free some space and run the same again"),
            (errno.EROFS, "it may not be written. Change its permissions, or name another folder"),
            (errno.EIO, "Input/output error. Name another folder, or run the same again"),
        ],
    )
    def test_a_write_that_fails_leaves_the_old_file(self, tmp_path, monkeypatch, code, told):
        target = tmp_path / "file"
        files.write_file(target, b"old")

        def fail(handle):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(files.os, "fsync", fail)
        with pytest.raises(StoreError, match=told):
            files.write_file(target, b"new")
        assert target.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [target]

    def test_a_lock_that_cannot_be_made(self, tmp_path, monkeypatch):
        with (
            pytest.raises(StoreError, match="a file is where a folder should be"),
            files.locked(manifest_in_a_file(tmp_path), "It"),
        ):
            pass

        def fail(handle):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(files, "_hold", fail)
        with (
            pytest.raises(StoreError, match="lock cannot be written: No locks available"),
            files.locked(tmp_path / "lock", "It"),
        ):
            pass

    def test_a_lock_that_was_removed_meanwhile_is_made_again(self, tmp_path, monkeypatch):
        hold, times = files._hold, []

        def slow(handle):
            hold(handle)
            if not times:
                (tmp_path / "lock").unlink()
            times.append(handle)

        monkeypatch.setattr(files, "_hold", slow)
        with files.locked(tmp_path / "lock", "It"):
            assert (tmp_path / "lock").exists()
        assert len(times) == 2


def manifest_in_a_file(folder):
    (folder / "plain").write_text("")
    return folder / "plain" / "lock"


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 5))
def test_shards_cover_every_row_once(rows, per_shard, first):
    part = manifest.Part(tensors=("embed/mean",), first=first, rows_per_shard=per_shard)
    spans = part.spans(rows)
    assert [i for _, start, stop in spans for i in range(start, stop)] == list(range(rows))
    assert len({name for name, _, _ in spans}) == len(spans)
    assert part.missing(rows) == spans


def test_facts_survive_the_manifest(tmp_path):
    store = fill(tmp_path)
    (plain,) = store.manifest.values()
    assert plain["model"] == asdict(FakeModel().facts)
