"""The command line as a process of its own: interrupts, closed pipes, a hub that is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import cospace

PROGRAM = [sys.executable, "-m", "cospace"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}


def start(*words, cwd, **options):
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        cwd=cwd,
        env=ENVIRONMENT | options,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what it puts into the background deaf to interrupts; so might a runner us.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_an_interrupted_extraction_says_what_is_kept_and_goes_on(model_folders, texts, tmp_path):
    path = texts(1500)
    words = ("extract", model_folders[0], "--store", "s", "--texts", path, "--batch-tokens", 8)
    process = start(*words, cwd=tmp_path)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(shards(tmp_path)) < 2:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("cospace: Stopped at first, ")
    assert "finished shards are kept" in last
    run = cospace.open_store(tmp_path / "s").runs[0]
    before = {name: made for name, made in shards(tmp_path).items() if name in run.shards}
    assert len(before) >= 1
    again = start(*words[:-1], 4096, cwd=tmp_path)
    out, err = again.communicate(timeout=120)
    assert (again.returncode, out) == (0, "")
    assert f"first: {1500 - run.finished:,} texts to do" in err
    after = shards(tmp_path)
    assert len(after) == 12
    assert {name: after[name] for name in before} == before


def shards(folder):
    """Finished shards, with when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("s/*/*.safetensors")}


def test_a_reader_that_goes_away_is_no_mistake(arrays, tmp_path):
    arrays()
    process = start("compare", "a.npy", "b.npy", "--measures", "linear_cka", cwd=tmp_path)
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 0


def test_a_hub_that_is_not_there_is_one_line_within_seconds(tmp_path):
    since = time.monotonic()
    process = start(
        "compare", "minilm", "no-such-org/model", cwd=tmp_path,
        HF_ENDPOINT="http://me:S3cret@127.0.0.1:9", HF_HOME=str(tmp_path / "hub"),
    )  # fmt: skip
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("cospace: The hub gave no answer")
    assert "packaged model" in err
    assert "S3cret" not in err
    assert time.monotonic() - since < 30


def test_a_name_that_is_not_utf8_is_a_mistake(cli):
    name = os.fsdecode(b"\xff.npy")
    line = cli("compare", name, "b.npy").mistake
    assert "is not valid UTF-8: give the file another name." in line


def test_the_program_is_a_module_too(tmp_path):
    out, err = start("--version", cwd=tmp_path).communicate(timeout=60)
    assert (out, err) == (f"cospace {cospace.__version__}\n", "")
