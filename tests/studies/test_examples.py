"""The study files that ship are read, and name what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cospace.corpora import CORPORA
from cospace.corpus import PACKAGED
from cospace.models.packaged import catalogue
from cospace.probes.tasks import GLUE
from cospace.steering import packaged_behaviours
from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
from cospace.studies.settings import read_settings
from cospace.studies.shared_geometry.settings import SharedGeometrySettings

EXAMPLES = Path(__file__).parents[2] / "examples"
OTHERS = {"five-architectures", "shared-geometry"}
"""Study files of other studies."""
FILES = sorted(path for path in EXAMPLES.glob("*.toml") if path.stem not in OTHERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_study_file_names_texts_and_tasks_that_there_are(path):
    found = read_settings(path, AffineHomotopySettings)
    assert found.texts in CORPORA
    written = {task for task in found.tasks if task.startswith("seed-ensemble/")}  # by an example
    assert set(found.tasks) - written <= {*PACKAGED, *GLUE}
    assert set(found.extrinsic_depths) <= set(found.depths)


def test_the_packaged_models_and_the_encoders_of_the_paper_have_their_files():
    by_name = {path.stem: read_settings(path, AffineHomotopySettings) for path in FILES}
    assert set(by_name["affine-homotopy"].encoders) == set(catalogue())
    assert len(set(by_name["multiberts"].encoders)) == 27


def test_the_study_of_tokens_names_the_packaged_models_and_behaviours():
    found = read_settings(EXAMPLES / "shared-geometry.toml", SharedGeometrySettings)
    assert set(found.models) == set(catalogue())
    assert found.steering is not None
    assert {found.steering.source, *found.steering.targets} <= set(catalogue())
    assert set(found.steering.behaviours) <= set(packaged_behaviours())
