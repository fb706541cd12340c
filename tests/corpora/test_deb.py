"""Debian packages made by hand: what is taken, and what is refused."""

from __future__ import annotations

import tarfile

import pytest

from cospace.corpora import deb
from cospace.corpora.deb import take_files
from cospace.errors import AcquisitionError

WANTED = {"usr/share/wordnet/data.noun": "data.noun"}
NOUN = {"./usr/share/wordnet/data.noun": b"nouns"}


@pytest.fixture
def into(tmp_path):
    folder = tmp_path / "inner" / "into"
    folder.mkdir(parents=True)
    return folder


def refused(package, into, message):
    with pytest.raises(AcquisitionError, match=message) as caught:
        take_files(package, WANTED, into)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst", ""])
def test_wanted_files_alone_are_taken_however_it_is_packed(make_deb, wordnet_members, into, suffix):
    fields = take_files(make_deb(wordnet_members, suffix=suffix), WANTED, into)
    assert fields == {
        "Package": "wordnet-base",
        "Version": "1:3.0-99",
        "Description": "words",
    }
    assert [path.name for path in into.iterdir()] == ["data.noun"]
    assert (into / "data.noun").read_bytes() == wordnet_members["./usr/share/wordnet/data.noun"]


@pytest.mark.parametrize(
    "name", ["../../outside", "/etc/outside", "./usr/../../outside", "usr\\outside", "C:outside"]
)
def test_a_path_that_leaves_the_folder_is_refused(make_deb, into, tmp_path, name):
    package = make_deb({name: b"bad", **NOUN})
    before = set(tmp_path.rglob("*"))
    refused(package, into, "holds the path .*outside.*, which leaves the folder or may do so")
    assert set(tmp_path.rglob("*")) == before


def test_a_link_in_the_place_of_a_wanted_file_is_not_followed(make_deb, into):
    refused(
        make_deb({"./usr/share/wordnet/data.noun": None}),
        into,
        r"holds no 'usr/share/wordnet/data.noun' as a regular file: it is another package",
    )
    assert not list(into.iterdir())


def test_a_package_without_a_wanted_file(make_deb, into):
    refused(make_deb({"./usr/a": b"a"}), into, "holds no 'usr/share/wordnet/data.noun'")


def test_what_unpacks_to_too_much_is_not_read(make_deb, into, monkeypatch):
    monkeypatch.setattr(deb, "MOST", 200)
    package = make_deb({"./huge": b"0" * 300, **NOUN})
    refused(package, into, "holds more than 200 bytes: it is another package than expected")


def test_another_file_is_no_package(tmp_path, into):
    path = tmp_path / "x.deb"
    path.write_bytes(b"PK\x03\x04")
    refused(path, into, r"x.deb is no Debian package \(no ar archive\): try again")


def test_a_package_that_was_cut(make_deb, into):
    package = make_deb(NOUN)
    whole = package.read_bytes()
    package.write_bytes(whole[:-30])
    refused(package, into, "is damaged at byte [0-9]+: try again")
    package.write_bytes(whole[:8] + b"x" * 60)
    refused(package, into, "is damaged at byte 8")


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".zst", ""])
def test_a_package_with_damaged_data(make_deb, into, ar, suffix):
    bad = ar(
        {
            "debian-binary": b"2.0",
            f"control.tar{suffix}": b"this was never packed by anyone",
            f"data.tar{suffix}": b"neither was this",
        }
    )
    package = make_deb(NOUN)
    package.write_bytes(bad)
    refused(package, into, rf"is damaged in control.tar{suffix} \(.*\): try again")


def test_data_that_ends_early(make_deb, into, ar, tar):
    package = make_deb(NOUN)
    data = tar({"./usr/share/wordnet/data.noun": b"0" * 5000})
    package.write_bytes(ar({"control.tar": tar({"./control": b"A: b"}), "data.tar": data[:1500]}))
    refused(package, into, r"is damaged in data.tar \(.*\)")


def test_parts_that_are_missing_or_packed_otherwise(make_deb, into, ar, tar):
    package = make_deb(NOUN)
    package.write_bytes(ar({"debian-binary": b"2.0"}))
    refused(package, into, "holds no control.tar, expected one")
    package.write_bytes(ar({"control.tar.lzma": b""}))
    refused(
        package, into, r"is packed as '.lzma', expected .xz, .gz, .zst or none: unpack it yourself"
    )


def test_a_full_disk_is_told_as_what_it_is(make_deb, into, monkeypatch):
    import errno

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extractfile", full)
    with pytest.raises(OSError, match="No space left") as caught:
        take_files(make_deb(NOUN), WANTED, into)
    assert not isinstance(caught.value, AcquisitionError)
