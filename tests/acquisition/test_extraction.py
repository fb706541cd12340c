from __future__ import annotations

import errno
import io
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cospace.errors import (
    ExtractionError,
    InputError,
    StoreError,
    TextTooLongError,
    UnknownNameError,
)
from cospace.extraction import ChecksTexts, TellsCircumstances, extract
from cospace.models.base import Pooled, TokenPolicy
from cospace.store import files, open_store

SCRIPT = Path(__file__).with_name("fake_extraction.py")
fake = runpy.run_path(str(SCRIPT))
FakeModel, corpus = fake["FakeModel"], fake["corpus"]


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def run(model, store, texts=None, **options):
    options = {"rows_per_shard": 4, "progress": False} | options
    return extract(model, texts or corpus(), store=store, **options)


def only_run(store):
    (folder,) = (path for path in Path(store).iterdir() if path.is_dir())
    return folder


def test_cut_texts_are_silent(tmp_path, capsys):
    model = FakeModel(cut=("t3", "t9"))
    model.max_tokens = 1512
    for _ in range(2):
        capsys.readouterr()
        run(model, tmp_path)
        told = "fake: 2 of 10 texts were cut to 1,512 tokens (first: t3)\n"
        assert capsys.readouterr() == ("", told)
    run(FakeModel("one", seed="1", cut=("t3",)), tmp_path)
    assert capsys.readouterr().err == "one: 1 of 10 texts was cut (first: t3)\n"
    run(FakeModel("none", seed="2"), tmp_path)
    assert capsys.readouterr().err == ""


class TestWhatIsThere:
    def test_rows_come_back_to_the_last_bit(self, tmp_path):
        model, texts = FakeModel(), corpus()
        store = run([model], tmp_path, sites=["embed", 0.5, "last"], pooling=["last", "mean"])
        for site in ("embed", "block.1", "final_norm"):
            for kind in ("mean", "last"):
                space = store.space("fake", site, kind)
                expected = np.stack([model.row(text, site, kind) for text in texts.texts])
                assert np.array_equal(space.rows, expected)
                assert space.rows.dtype == np.float32
                assert space.ids == texts.ids
                assert space.groups == texts.groups

    def test_texts_go_to_the_model_in_order_a_shard_at_a_time(self, tmp_path):
        model = FakeModel()
        run(model, tmp_path)
        assert model.calls == [
            ("t0", "t1", "t2", "t3"),
            ("t4", "t5", "t6", "t7"),
            ("t8", "t9"),
        ]

    def test_a_second_call_computes_nothing_and_changes_nothing(self, tmp_path):
        run(FakeModel(), tmp_path)
        before = contents(tmp_path)
        again = FakeModel()
        store = run(again, tmp_path)
        assert again.calls == []
        assert contents(tmp_path) == before
        assert store.runs[0].complete

    def test_only_missing_sites_and_poolings_are_computed(self, tmp_path):
        run(FakeModel(), tmp_path, sites=["embed", "block.0"])
        before = contents(tmp_path)
        asked = []

        class Watched(FakeModel):
            def activations(self, texts, **options):
                asked.append((options["sites"], options["poolings"]))
                return super().activations(texts, **options)

        store = run(Watched(), tmp_path, sites=["embed", "block.0", "block.1"])
        assert {site.name for sites, _ in asked for site in sites} == {"block.1"}
        after = contents(tmp_path)
        assert all(after[name] == data for name, data in before.items() if "manifest" not in name)
        assert [site.name for site in store.runs[0].sites] == ["embed", "block.0", "block.1"]
        run(Watched(), tmp_path, sites=["embed", "block.2"], pooling=["mean", "max"])
        everything = open_store(tmp_path).spaces()
        assert [space.name for space in everything] == [
            "fake:embed:mean",
            "fake:embed:max",
            "fake:block.0:mean",
            "fake:block.1:mean",
            "fake:block.2:mean",
            "fake:block.2:max",
        ]

    def test_another_policy_dtype_or_text_is_another_run(self, tmp_path):
        run(FakeModel(), tmp_path)
        run(FakeModel(), tmp_path, policy=TokenPolicy(sink=False))
        run(FakeModel(dtype="bfloat16"), tmp_path)
        run(FakeModel(), tmp_path, corpus(11))
        run(FakeModel(seed="other weights"), tmp_path)
        assert len(open_store(tmp_path).runs) == 5

    def test_names_groups_and_labels_are_those_of_the_last_call(self, tmp_path):
        run(FakeModel(), tmp_path)
        texts = corpus(groups=tuple("xyxyxyxyxy"), labels=tuple("0123456789"))
        model = FakeModel("renamed")
        store = run(model, tmp_path, texts)
        assert model.calls == []
        assert store.space("renamed").groups == texts.groups
        assert open_store(tmp_path).space("renamed").name == "renamed:final_norm"

    def test_the_view_shows_what_was_asked_for(self, tmp_path):
        run([FakeModel("a"), FakeModel("b", seed="b")], tmp_path, pooling=["mean", "max"])
        store = run([FakeModel("b", seed="b"), FakeModel("a")], tmp_path, sites=["last", 0.0])
        assert [space.name for space in store.spaces()] == [
            "b:embed",
            "b:final_norm",
            "a:embed",
            "a:final_norm",
        ]

    def test_circumstances_are_recorded_of_the_shards_they_concern(self, tmp_path):
        class Telling(FakeModel):
            @property
            def circumstances(self):
                return {"device": "cpu", "most_tokens": 512 if len(self.calls) < 3 else 256}

        assert isinstance(Telling(), TellsCircumstances)
        run(Telling(), tmp_path, batch_tokens=512)
        plain = json.loads((only_run(tmp_path) / "manifest.json").read_text())
        first, second = plain["circumstances"]
        assert first["batch_tokens"] == 512
        assert first["model"] == {"device": "cpu", "most_tokens": 512}
        assert second["model"] == {"device": "cpu", "most_tokens": 256}
        assert first["versions"]["numpy"] == np.__version__
        assert [shard["made"] for shard in plain["parts"][0]["shards"]] == [0, 0, 1]

    def test_truncated_texts_and_tokens_are_counted(self, tmp_path):
        model = FakeModel(cut=("t3", "t9"))
        store = run(model, tmp_path, policy=TokenPolicy(truncate=True))
        assert store.runs[0].truncated == 2
        assert store.runs[0].tokens == sum(len(text.split()) for text in corpus().texts)


class TestInterrupted:
    def test_killed_and_resumed_gives_the_same_bytes(self, tmp_path):
        environment = os.environ | {"OMP_NUM_THREADS": "1"}

        def start(store, log, hang_at):
            command = [sys.executable, str(SCRIPT), str(store), str(log), hang_at]
            return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)

        def shards(store):
            found = [json.loads(path.read_bytes()) for path in store.glob("one-*/manifest.json")]
            return sum(len(part["shards"]) for one in found for part in one["parts"])

        with start(tmp_path / "whole", tmp_path / "whole.log", "") as undisturbed:
            assert undisturbed.wait(60) == 0, undisturbed.stderr.read()
        with start(tmp_path / "killed", tmp_path / "first.log", "t17") as killed:
            deadline = time.monotonic() + 60
            while shards(tmp_path / "killed") < 4 and time.monotonic() < deadline:
                time.sleep(0.02)
            killed.send_signal(signal.SIGKILL)
            assert killed.wait(60) == -signal.SIGKILL
        half = open_store(tmp_path / "killed")
        assert half.runs[0].finished == 16
        (only_run(tmp_path / "killed") / ".shard-00004.safetensors.writing").write_bytes(b"half")
        with start(tmp_path / "killed", tmp_path / "second.log", "") as resumed:
            assert resumed.wait(60) == 0, resumed.stderr.read()
        assert contents(tmp_path / "killed") == contents(tmp_path / "whole")
        first = (tmp_path / "first.log").read_text().split()
        second = (tmp_path / "second.log").read_text().split()
        assert first + second == (tmp_path / "whole.log").read_text().split()

    def test_an_interrupt_says_what_is_kept(self, tmp_path):
        model = FakeModel(raise_at="t9", error=KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt, match=r"Stopped at fake, 8 of 10 texts: finished"):
            run(model, tmp_path)
        assert sorted(path.name for path in only_run(tmp_path).iterdir()) == [
            "manifest.json",
            "shard-00000.safetensors",
            "shard-00001.safetensors",
        ]
        again = FakeModel()
        run(again, tmp_path)
        assert again.calls == [("t8", "t9")]

    def test_what_was_stopped_can_go_on_with_less_asked(self, tmp_path):
        error = RuntimeError("out of memory")
        with pytest.raises(RuntimeError, match="out of memory"):
            run(FakeModel(raise_at="t5", error=error), tmp_path, sites=["embed", "last"])
        store = run(FakeModel(), tmp_path, sites="embed", rows_per_shard=7, batch_tokens=64)
        assert [space.name for space in store.spaces()] == ["fake:embed"]
        whole = open_store(tmp_path)
        assert len(whole.spaces()) == 2
        assert whole.runs[0].shards == tuple(f"shard-0000{i}.safetensors" for i in range(3))
        made = [
            shard["made"] for shard in whole.manifest[whole.runs[0].folder]["parts"][0]["shards"]
        ]
        assert made == [0, 1, 1]

    def test_an_unfinished_store_opens_and_says_how_far_it_is(self, tmp_path):
        with pytest.raises(RuntimeError, match="no"):
            run(FakeModel(raise_at="t5", error=RuntimeError("no")), tmp_path)
        store = open_store(tmp_path)
        assert (store.runs[0].finished, store.runs[0].complete) == (4, False)
        with pytest.raises(StoreError, match=r"final_norm/mean of 4 of 10 texts: run the same"):
            store.space("fake")

    def test_a_full_disk_loses_nothing(self, tmp_path, monkeypatch):
        written = []
        whole = files._write_through

        def full(path, data):
            written.append(path.name)
            if path.name.startswith(".shard-00002"):
                path.write_bytes(data[:10])
                raise OSError(errno.ENOSPC, "No space left on device")
            whole(path, data)

        monkeypatch.setattr(files, "_write_through", full)
        with pytest.raises(StoreError, match=r"shard-00002.* cannot be written: the disk is full"):
            run(FakeModel(), tmp_path)
        monkeypatch.undo()
        assert not list(tmp_path.rglob(".*"))
        again = FakeModel()
        run(again, tmp_path)
        assert again.calls == [("t8", "t9")]

    def test_a_real_full_disk(self, tmp_path):
        disk = tmp_path / "disk"
        disk.mkdir()
        mounted = shutil.which("mount") and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True
        )
        if not mounted or mounted.returncode:
            pytest.skip("a small disk can be mounted by root alone")
        try:
            model = FakeModel(width=2000, blocks=6)
            with pytest.raises(StoreError, match=r"needs 6\.4 MB and its disk has 1\.0 MB free"):
                run(model, disk, corpus(100))
            model.facts = replace(model.facts, width=1)  # a model that is wrong about itself
            model.row = lambda text, site, kind: np.zeros(2000, np.float32)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("cospace.extraction._SPARE", 0)
                with pytest.raises(StoreError, match="the disk is full"):
                    run(model, disk, corpus(100))
            assert not list(disk.rglob(".*"))
            assert 0 < open_store(disk).runs[0].finished < 100
            assert open_store(disk).verify() == []
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_no_room_is_found_before_the_start(self, tmp_path, monkeypatch):
        usage = type("Usage", (), {"free": 1000})
        monkeypatch.setattr("cospace.extraction.shutil.disk_usage", lambda path: usage)
        model = FakeModel()
        with pytest.raises(StoreError, match=r"needs 1\.1 kB and its disk has 1\.0 kB free: free"):
            run(model, tmp_path)
        assert model.calls == []
        assert contents(tmp_path) == {}


class TestDamage:
    @pytest.mark.parametrize(
        ("harm", "told"),
        [
            (lambda path: path.unlink(), "is missing"),
            (lambda path: path.write_bytes(path.read_bytes()[:-7]), r"has [\d,]+ bytes instead of"),
            (
                lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\x7f"),
                "has another checksum",
            ),
            (lambda path: path.write_bytes(b"\xff" * path.stat().st_size), "cannot be read"),
        ],
    )
    def test_a_damaged_shard_is_named_and_computed_again(self, tmp_path, capsys, harm, told):
        run(FakeModel(), tmp_path)
        before = contents(tmp_path)
        harm(only_run(tmp_path) / "shard-00001.safetensors")
        problems = open_store(tmp_path, check=False).verify()
        assert len(problems) == 1
        with pytest.raises(StoreError, match=rf"shard-00001\.safetensors {told}.*run the same"):
            open_store(tmp_path, check=False).space("fake")
        again = FakeModel()
        run(again, tmp_path)
        assert again.calls == [("t4", "t5", "t6", "t7")]
        assert contents(tmp_path) == before
        said = capsys.readouterr().err
        assert "shard-00001.safetensors" in said
        assert "It is computed again now." in said

    def test_a_damaged_shard_that_is_not_asked_for_is_taken_off(self, tmp_path, capsys):
        run(FakeModel(), tmp_path, sites="embed")
        run(FakeModel(), tmp_path, sites="last")
        (only_run(tmp_path) / "shard-00004.safetensors").unlink()
        run(FakeModel(), tmp_path, sites="embed")
        assert "It is computed again once it is asked for." in capsys.readouterr().err
        assert len(open_store(tmp_path).spaces(sites="embed")) == 1
        with pytest.raises(StoreError, match="6 of 10 texts"):
            open_store(tmp_path).space("fake", "last")

    def test_a_damaged_table_of_texts_is_written_again(self, tmp_path):
        run(FakeModel(), tmp_path)
        before = contents(tmp_path)
        (only_run(tmp_path) / "rows.parquet").write_bytes(b"")
        assert "rows.parquet has another checksum" in open_store(tmp_path).verify()[0]
        run(FakeModel(), tmp_path)
        assert contents(tmp_path) == before


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "error", "told"),
        [
            ({"model": []}, InputError, "No model was given: name at least one."),
            (
                {"model": [FakeModel(), FakeModel(seed="2")]},
                InputError,
                "Two models are called 'fake': give each a name",
            ),
            (
                {"model": [FakeModel("a"), FakeModel("b")]},
                InputError,
                "a and b are the same model .*: name it once",
            ),
            ({"pooling": "men"}, UnknownNameError, "'men' is not a pooling. Did you mean 'mean'"),
            ({"pooling": []}, InputError, "No pooling was asked for: name at least one of mean"),
            ({"sites": "block.9"}, UnknownNameError, "'block.9' is not a site of fake"),
            ({"batch_tokens": 0}, InputError, "batch_tokens is 0, expected at least 1"),
            ({"rows_per_shard": -1}, InputError, "rows_per_shard is -1, expected at least 1"),
        ],
    )
    def test_options_that_make_no_sense(self, tmp_path, options, error, told):
        options = {"model": FakeModel(), "store": tmp_path / "store"} | options
        with pytest.raises(error, match=told):
            run(**options)
        assert not (tmp_path / "store").exists()

    @pytest.mark.parametrize(
        ("spoil", "told"),
        [
            (lambda p: Pooled({}, p.tokens), "fake gave no rows at embed with pooling mean"),
            (
                lambda p: Pooled(p.rows, p.tokens[:-1]),
                r"counted tokens of shape \(3,\) for 4 texts",
            ),
            (
                lambda p: Pooled({k: v.astype(np.float16) for k, v in p.rows.items()}, p.tokens),
                r"gave float16 rows of shape \(4, 5\) at embed, expected float32 of shape \(4, w",
            ),
            (
                lambda p: Pooled({k: v * np.float32("nan") for k, v in p.rows.items()}, p.tokens),
                "gave NaN or infinity at embed, texts 1 to 4 of the corpus",
            ),
        ],
    )
    def test_rows_that_cannot_be_used(self, tmp_path, spoil, told):
        with pytest.raises(ExtractionError, match=told):
            run(FakeModel(spoil=spoil), tmp_path, sites="embed")

    def test_another_tokenizer_under_the_same_weights(self, tmp_path):
        run(FakeModel(), tmp_path, sites="embed")
        with pytest.raises(ExtractionError, match=r"reads 4 tokens in text 't0', but read 3 when"):
            run(FakeModel(extra=1), tmp_path, sites="last")

    def test_long_texts_are_refused_before_the_first_forward(self, tmp_path):
        class Short(FakeModel):
            def check_texts(self, texts, *, ids, policy):
                raise TextTooLongError(f"{ids[-1]} is too long")

        models = [FakeModel("long"), Short("short", seed="2")]
        assert isinstance(models[1], ChecksTexts)
        with pytest.raises(TextTooLongError, match="t9 is too long"):
            run(models, tmp_path)
        assert [model.calls for model in models] == [[], []]

    def test_a_file_where_the_folder_should_be(self, tmp_path):
        (tmp_path / "store").write_text("")
        for path in (tmp_path / "store", tmp_path / "store" / "below"):
            with pytest.raises(StoreError, match=r"a file is where a folder should be. Move it"):
                run(FakeModel(), path)

    def test_a_folder_that_may_not_be_written(self, tmp_path, monkeypatch):
        def forbidden(path, data):
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(files, "_write_through", forbidden)
        with pytest.raises(StoreError, match=r"it may not be written. Change its permissions"):
            run(FakeModel(), tmp_path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_without_the_right_to_write(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(StoreError, match=r"it may not be written. Change its permissions"):
            run(FakeModel(), tmp_path)

    def test_a_folder_that_root_cannot_make_either(self):
        with pytest.raises(StoreError, match=r"/proc/cospace cannot be written: .*another folder"):
            run(FakeModel(), "/proc/cospace")


class TestTwoAtOnce:
    def test_the_second_writer_is_told_who_is_first(self, tmp_path):
        told = []

        class Reentrant(FakeModel):
            def activations(self, texts, **options):
                try:
                    run(FakeModel(), tmp_path)
                except StoreError as error:
                    told.append(str(error))
                return super().activations(texts, **options)

        run(Reentrant(), tmp_path)
        assert len(told) == 3
        assert told[0] == (
            f"The run of fake in {tmp_path} is being written by process {os.getpid()}: "
            "wait until it has ended, or name another folder."
        )
        assert not list(tmp_path.glob(".lock*"))

    def test_other_runs_of_the_store_may_be_written_meanwhile(self, tmp_path):
        class Reentrant(FakeModel):
            def activations(self, texts, **options):
                run(FakeModel("other", seed="2"), tmp_path)
                return super().activations(texts, **options)

        run(Reentrant(), tmp_path)
        assert len(open_store(tmp_path).spaces(sites="last")) == 2

    def test_the_lock_of_a_dead_process_is_taken_over(self, tmp_path):
        run(FakeModel(), tmp_path)
        key = open_store(tmp_path).runs[0].key
        (tmp_path / f".lock-{key}").write_text("999999999")
        run(FakeModel(), tmp_path, sites="all")
        assert not list(tmp_path.glob(".lock*"))


class TestProgress:
    def test_lines_where_there_is_no_terminal(self, tmp_path, capsys):
        run([FakeModel("a"), FakeModel("b", seed="b")], tmp_path, progress=True)
        run(FakeModel("a"), tmp_path, progress=True)
        out, err = capsys.readouterr()
        assert out == ""
        lines = err.splitlines()
        assert lines[0] == "a: 10 texts to do, 1.1 kB to write"
        assert lines[1].startswith("a: 10 texts in ")
        assert lines[1].endswith(" texts/s")
        assert lines[4:] == ["a: everything is there already"]

    def test_nothing_when_it_is_off(self, tmp_path, capsys):
        run(FakeModel(), tmp_path)
        assert capsys.readouterr() == ("", "")

    def test_bars_on_a_terminal(self, tmp_path, monkeypatch):
        stream = io.StringIO()
        stream.isatty = lambda: True
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.delenv("NO_COLOR", raising=False)
        run([FakeModel("a"), FakeModel("b", seed="b")], tmp_path, progress=True)
        run([FakeModel("a"), FakeModel("c", seed="c")], tmp_path, progress=True)
        shown = stream.getvalue()
        assert "all models" in shown
        assert "20/20" in shown
        assert "texts/s" in shown
        assert "a: everything is there already" in shown
