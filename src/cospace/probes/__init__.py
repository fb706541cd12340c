"""What linear probes of one space can do that another cannot: probes and extrinsic distances."""

from cospace.probes.bound import BoundCheck, check_bound, extrinsic_bound
from cospace.probes.carried import CarriedCondition, CarriedProbe, carry_probe
from cospace.probes.classifier import Classifier
from cospace.probes.divergence import Divergence, WorstRow
from cospace.probes.fixed import FixedClassifier, fixed_classifier
from cospace.probes.labels import Split
from cospace.probes.probe import Probe, Scores, fit_probe
from cospace.probes.search import Search, TraceStep
from cospace.probes.tasks import Task, load_task
from cospace.probes.worst import WorstCase, worst_case

__all__ = [
    "BoundCheck",
    "CarriedCondition",
    "CarriedProbe",
    "Classifier",
    "Divergence",
    "FixedClassifier",
    "Probe",
    "Scores",
    "Search",
    "Split",
    "Task",
    "TraceStep",
    "WorstCase",
    "WorstRow",
    "carry_probe",
    "check_bound",
    "extrinsic_bound",
    "fit_probe",
    "fixed_classifier",
    "load_task",
    "worst_case",
]
