"""The study files that ship are read, and name what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cospace.corpora import CORPORA
from cospace.corpus import PACKAGED
from cospace.models.packaged import catalogue
from cospace.probes.tasks import GLUE
from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
from cospace.studies.settings import read_settings

FILES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_study_file_names_texts_and_tasks_that_there_are(path):
    found = read_settings(path, AffineHomotopySettings)
    assert found.texts in CORPORA
    assert set(found.tasks) <= {*PACKAGED, *GLUE}
    assert set(found.extrinsic_depths) <= set(found.depths)


def test_the_packaged_models_and_the_encoders_of_the_paper_have_their_files():
    by_name = {path.stem: read_settings(path, AffineHomotopySettings) for path in FILES}
    assert set(by_name["affine-homotopy"].encoders) == set(catalogue())
    assert len(set(by_name["multiberts"].encoders)) == 27
