"""One model in two forms (quantised, fine-tuned, distilled, upgraded): what changed, and for which texts."""

from cospace.drift.measure import measure_drift
from cospace.drift.result import Drift, Figure, Moved, SiteDrift

__all__ = ["Drift", "Figure", "Moved", "SiteDrift", "measure_drift"]
