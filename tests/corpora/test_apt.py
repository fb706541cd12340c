"""What apt-get is asked, and what is made of its answers."""

from __future__ import annotations

import pytest

from cospace.corpora.apt import fetch_deb, installed_version
from cospace.errors import AcquisitionError


def test_a_package_is_downloaded_into_the_folder(program, tmp_path):
    program("apt-get", 'test "$1" = download && echo deb > "wordnet-base_1_all.deb"')
    assert fetch_deb("wordnet-base", tmp_path) == tmp_path / "wordnet-base_1_all.deb"


def test_lists_are_fetched_where_the_machine_has_none(program, tmp_path):
    """The lists go into the folder, so that this works without being root."""
    program(
        "apt-get",
        f"""case "$1 $*" in
        update*Dir::State::lists={tmp_path}/lists*) touch lists/known ;;
        download*Dir::State::lists={tmp_path}/lists*) test -e lists/known && touch wordnet-base_1_all.deb ;;
        *) echo "E: Unable to locate package wordnet-base" >&2; exit 100 ;;
        esac""",
    )
    assert fetch_deb("wordnet-base", tmp_path).name == "wordnet-base_1_all.deb"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 'W: x' >&2; echo 'E: Failed to fetch it.' >&2; exit 100",
            "says: Failed to fetch it$",
        ),
        ("echo odd >&2; exit 1", "says: odd$"),
        ("exit 1", "says: it gave no reason$"),
        ("exit 0", "says: it gave no reason$"),
    ],
)
def test_one_line_of_what_apt_says(program, tmp_path, script, message):
    program("apt-get", script)
    with pytest.raises(AcquisitionError, match=message):
        fetch_deb("wordnet-base", tmp_path)


def test_a_machine_without_apt(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AcquisitionError, match="there is no apt-get on this machine"):
        fetch_deb("wordnet-base", tmp_path)
    assert installed_version("wordnet-base") is None


def test_the_version_of_an_installed_package(program):
    program("dpkg-query", "echo 1:3.0-37")
    assert installed_version("wordnet-base") == "1:3.0-37"
    program("dpkg-query", "echo 'no packages found' >&2; exit 1")
    assert installed_version("wordnet-base") is None
