"""The public surface: light to import, complete, described."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import cospace as cs

HEAVY = (
    "torch",
    "transformers",
    "pandas",
    "matplotlib",
    "numpy",
    "scipy",
    "pyarrow",
    "rich",
    "typer",
)

PROMISED = (
    "Space",
    "align_rows",
    "Corpus",
    "Corpus.read",
    "load_model",
    "extract",
    "open_store",
    "compare",
    "Comparison",
    "Comparison.to_frame",
    "Comparison.plot",
    "Comparison.to_dict",
    "Comparison.save",
    "Comparison.load",
    "measure_drift",
    "Drift",
    "write_report",
    "read_spaces",
    "packaged_models",
    "measures.linear_cka",
    "measures.debiased_cka",
    "measures.procrustes_similarity",
    "measures.procrustes_distance",
    "measures.mean_cca",
    "measures.svcca",
    "measures.pwcca",
    "measures.r2_cca",
    "measures.predictive_r2",
    "measures.rsa",
    "measures.mutual_knn",
    "fit_map",
    "LinearMap.points",
    "LinearMap.directions",
    "LinearMap.probe",
    "LinearMap.save",
    "LinearMap.load",
    "steering.SteeringVector",
)


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_the_package_is_imported_in_a_moment():
    code = "import time; t = time.perf_counter(); import cospace; print(time.perf_counter() - t)"
    assert min(float(python(code)) for _ in range(5)) < 0.3


def test_the_package_brings_in_nothing_heavy():
    code = f"import sys, cospace; print([m for m in {HEAVY} if m in sys.modules])"
    assert python(code) == "[]"


def test_help_brings_in_nothing_heavy():
    heavy = HEAVY[:7]
    code = (
        "import sys\nfrom cospace.cli import main\n"
        "try:\n    main(['compare', '--help'])\n"
        f"except SystemExit:\n    print([m for m in {heavy} if m in sys.modules])"
    )
    assert python(code).splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", cs.__all__)
def test_every_public_name_is_there(name):
    assert getattr(cs, name) is not None
    assert name in dir(cs)


def test_imports_of_the_module_are_listed_as_its_names():
    assert dir(cs) == sorted([*cs.__all__, "__version__"])


def test_names_are_listed_in_order_and_once():
    assert cs.__all__ == sorted(set(cs.__all__))


@pytest.mark.parametrize("name", PROMISED)
def test_every_promised_name_is_described(name):
    value = cs
    for part in name.split("."):
        value = getattr(value, part)
    text = value.summary if isinstance(value, cs.Measure) else inspect.getdoc(value)
    assert text
    assert text.splitlines()[0].endswith((".", "?"))


def test_the_catalogue_is_a_tuple_of_measures():
    assert isinstance(cs.measures.CATALOGUE, tuple)
    assert all(isinstance(measure, cs.Measure) for measure in cs.measures.CATALOGUE)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'cospace' has no attribute 'comparee'"):
        _ = cs.comparee


def test_functions_stay_functions_whatever_is_imported():
    code = (
        "import cospace.comparison, cospace.drift, cospace.extraction, cospace.report\n"
        "from cospace import compare, extract, measure_drift\n"
        "import cospace.comparison.grid\n"
        "print(callable(cospace.compare), callable(compare), callable(extract), cospace.compare is compare)"
    )
    assert python(code) == "True True True True"
