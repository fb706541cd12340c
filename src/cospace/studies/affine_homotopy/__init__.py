"""How alike encoders are up to an affine map, and whether that says what probes will do."""

from cospace.studies.affine_homotopy.result import AffineHomotopyStudy
from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
from cospace.studies.affine_homotopy.study import run

__all__ = ["AffineHomotopySettings", "AffineHomotopyStudy", "run"]
