"""Errors: one line, of the right kind, with the next step."""

from __future__ import annotations

import numpy as np
import pytest

from cospace import errors
from cospace.errors import (
    CospaceError,
    InputError,
    MissingDependencyError,
    RowMismatchError,
    UndefinedMeasureError,
    UnknownNameError,
)
from cospace.measures import CATALOGUE, heldout_r2, mutual_knn, rsa
from cospace.measures.held_out import Folds

X = np.random.default_rng(0).normal(size=(30, 4))


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("AcquisitionError", OSError),
        ("ChecksumError", OSError),
        ("ContractError", AssertionError),
        ("ExtractionError", RuntimeError),
        ("InputError", ValueError),
        ("MissingDependencyError", ImportError),
        ("RowMismatchError", ValueError),
        ("StoreError", OSError),
        ("TextTooLongError", ValueError),
        ("UndefinedMeasureError", ValueError),
        ("UnknownNameError", LookupError),
    ],
)
def test_every_error_is_the_builtin_that_a_stranger_would_catch(name, builtin):
    error = getattr(errors, name)
    assert issubclass(error, builtin)
    assert issubclass(error, CospaceError)
    assert str(error("what was found")) == "what was found"


def test_all_errors_are_listed():
    defined = {n for n, e in vars(errors).items() if isinstance(e, type) and n.endswith("Error")}
    assert set(errors.__all__) == defined


def test_an_unknown_name():
    known = ["linear_cka", "debiased_cka", "pwcca"]
    assert str(UnknownNameError.among("linear-cka", known, "measure")) == (
        "'linear-cka' is not a measure. Did you mean 'linear_cka'?"
    )
    assert str(UnknownNameError.among("xyz", known, "measure")) == (
        "'xyz' is not a measure. Known: debiased_cka, linear_cka, pwcca."
    )


def test_a_missing_package():
    assert str(MissingDependencyError.needs("pandas", "A data frame", "frames")) == (
        "A data frame needs pandas: pip install 'cospace[frames]'"
    )


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_unequal_row_counts(measure):
    with pytest.raises(
        RowMismatchError,
        match=r"^source has 30 rows and target has 28\. Row i must be the same text in both\.$",
    ):
        measure(X, X[:28])


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_rows_that_are_not_finite(measure):
    bad = X.copy()
    bad[2, 1] = np.nan
    with pytest.raises(InputError, match="source has NaN or infinite entries in 1 of 30 rows"):
        measure(bad, X)
    with pytest.raises(InputError, match=r"target has NaN .*first: row 2, column 1"):
        measure(X, bad)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: rsa(X, X, comparator="kendall"),
            UnknownNameError,
            "'kendall' is not a comparator of RSA. Known: pearson, spearman.",
        ),
        (
            lambda: rsa(X[:2], X[:2]),
            UndefinedMeasureError,
            "RSA needs at least 3 rows (3 dissimilarities), got 2.",
        ),
        (
            lambda: rsa(np.vstack([X[:, :3], np.full((1, 3), 0.1)]), np.vstack([X, X[:1]])),
            UndefinedMeasureError,
            "Row 30 has all coordinates equal: it has no correlation with others.",
        ),
        (
            lambda: rsa(np.eye(30) + 0.1, X),
            UndefinedMeasureError,
            "All rows relate alike: there is nothing to compare.",
        ),
        (
            lambda: mutual_knn(X, X, k=0),
            InputError,
            "0 neighbours were asked for; at least 1 is needed.",
        ),
        (
            lambda: mutual_knn(X[:11], X[:11]),
            UndefinedMeasureError,
            "10 neighbours of 11 rows are all or nearly all of them: take fewer neighbours, or 12 rows or more.",
        ),
        (
            lambda: heldout_r2(X, X, folds=1),
            InputError,
            "1 folds were asked for; at least 2 are needed.",
        ),
        (
            lambda: heldout_r2(X[:9], X[:9]),
            UndefinedMeasureError,
            "5 folds of 9 rows: at least 10 rows are needed.",
        ),
        (
            lambda: Folds(X, 16),
            UndefinedMeasureError,
            "16 folds of 30 rows: at least 32 rows are needed.",
        ),
    ],
)
def test_the_text_of(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text
    assert "\n" not in text
