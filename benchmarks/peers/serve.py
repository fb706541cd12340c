"""Answer for the peers that this interpreter has; started by ``ask.py``, never imported.

One JSON object a line on standard input, one on standard output:
``{"load": FILE}`` reads x and y; ``{"peer": NAME, "measure": NAME}`` gives ``value``, ``seconds``
(on the clock) and ``cpu`` (of the processor), or ``error``; ``{"list": true}`` gives the peers with
their versions and measures.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import sys
import time
import types
import warnings
from importlib.metadata import PackageNotFoundError, distribution, version

import numpy as np

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever a peer prints goes to standard error
PEERS = {}


def peer(name, package, measure):
    """Register a function of x and y as what ``name`` calls ``measure``."""

    def keep(function):
        with contextlib.suppress(PackageNotFoundError):
            PEERS.setdefault(name, {"version": version(package), "measures": {}})
            PEERS[name]["measures"][measure] = function
        return function

    return keep


def tensors(x, y):
    import torch

    torch.set_num_threads(1)
    return torch.from_numpy(x), torch.from_numpy(y)


# CKA -----------------------------------------------------------------------------------------------


@peer("ckatorch", "ckatorch", "linear_cka")
def _(x, y):
    from ckatorch.core import cka_base

    return cka_base(*tensors(x, y))


@peer("ckatorch", "ckatorch", "debiased_cka")
def _(x, y):
    from ckatorch.core import cka_base

    return cka_base(*tensors(x, y), unbiased=True)


def thingsvision_cka():
    """The one module, without the package around it, which imports what its pins forbid here."""
    if "thingsvision_cka" not in sys.modules:
        alone = types.ModuleType("thingsvision_cka")
        alone.__path__ = [str(distribution("thingsvision").locate_file("thingsvision/core/cka"))]
        sys.modules["thingsvision_cka"] = alone
    return importlib.import_module("thingsvision_cka.cka_numpy").CKANumPy


@peer("thingsvision", "thingsvision", "linear_cka")
def _(x, y):
    return thingsvision_cka()(m=len(x), kernel="linear").compare(x, y)


@peer("thingsvision", "thingsvision", "debiased_cka")
def _(x, y):
    return thingsvision_cka()(m=len(x), kernel="linear", unbiased=True).compare(x, y)


@peer("torch_cka", "torch_cka", "debiased_cka")
def _(x, y):
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from torch_cka import CKA

    # float32: its table of results is float32 and refuses anything else
    loaders = [DataLoader(TensorDataset(t.float()), batch_size=len(t)) for t in tensors(x, y)]
    one, two = (torch.nn.Sequential(torch.nn.Identity()) for _ in range(2))
    cka = CKA(one, two, "one", "two", model1_layers=["0"], model2_layers=["0"])
    cka.compare(*loaders)
    return cka.hsic_matrix[0, 0]


@peer("repsim", "repsim", "linear_cka")
def _(x, y):
    import repsim

    return repsim.cka([x, y], kernel_type="linear", estimator="gretton")[0, 1]


@peer("repsim", "repsim", "debiased_cka")
def _(x, y):
    import repsim

    return repsim.cka([x, y], kernel_type="linear", estimator="song")[0, 1]


# CCA -----------------------------------------------------------------------------------------------


@peer("cca-zoo", "cca-zoo", "mean_cca")
def _(x, y):
    from cca_zoo.linear import CCA

    views = [x, y]
    return CCA(n_components=min(x.shape[1], y.shape[1])).fit(views).score(views)


@peer("repsim", "repsim", "mean_cca")
def _(x, y):
    import repsim

    return repsim.cca([x, y], summary_type="pillai")[0, 1]  # its default is the mean of squares


@peer("repsim", "repsim", "svcca")
def _(x, y):
    import repsim

    return repsim.svcca([x, y], summary_type="pillai")[0, 1]


@peer("repsim", "repsim", "pwcca")
def _(x, y):
    import repsim

    return repsim.pwcca([x, y])[0, 1]


# Procrustes ----------------------------------------------------------------------------------------


@peer("scipy", "scipy", "procrustes_similarity")
def _(x, y):
    from scipy.spatial import procrustes

    disparity = procrustes(x, y)[2]  # 1 - similarity squared, the best scale being free
    return np.sqrt(1 - disparity)


# RSA -----------------------------------------------------------------------------------------------


def rsatoolbox_rsa(x, y, comparator):
    from rsatoolbox.data import Dataset
    from rsatoolbox.rdm import calc_rdm, compare

    one, two = (calc_rdm(Dataset(rows), method="correlation") for rows in (x, y))
    return compare(one, two, comparator)


@peer("rsatoolbox", "rsatoolbox", "rsa_pearson")
def _(x, y):
    return rsatoolbox_rsa(x, y, "corr")


@peer("rsatoolbox", "rsatoolbox", "rsa_spearman")
def _(x, y):
    return rsatoolbox_rsa(x, y, "spearman")


# Neighbours ----------------------------------------------------------------------------------------


def shared(one, two, k):
    """Mean overlap of two tables of neighbours, after the row itself was left out by its number."""
    total = 0
    for i, (a, b) in enumerate(zip(one, two)):  # noqa: B905
        total += len(set([j for j in a if j != i][:k]) & set([j for j in b if j != i][:k]))
    return total / (k * len(one))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@peer("scikit-learn", "scikit-learn", "mutual_knn")
def _(x, y, k=10):
    from sklearn.neighbors import NearestNeighbors

    tables = []
    for rows in (x, y):
        search = NearestNeighbors(n_neighbors=k, metric="cosine", algorithm="brute").fit(rows)
        tables.append(search.kneighbors(return_distance=False))
    return shared(*tables, k)


@peer("faiss", "faiss-cpu", "mutual_knn")
def _(x, y, k=10):
    import faiss

    faiss.omp_set_num_threads(1)
    tables = []
    for rows in (x, y):
        rows = np.ascontiguousarray(unit(rows), dtype=np.float32)
        index = faiss.IndexFlatIP(rows.shape[1])
        index.add(rows)
        tables.append(index.search(rows, k + 1)[1])
    return shared(*tables, k)


@peer("faiss", "faiss-cpu", "nearest")
def _(x, y, k=10):
    """Neighbours among x of the first rows of x, as many as y has: their mean row number."""
    import faiss

    faiss.omp_set_num_threads(1)
    rows = np.ascontiguousarray(unit(x), dtype=np.float32)
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    found = index.search(rows[: len(y)], k + 1)[1]
    return (found.sum() - np.arange(len(y)).sum()) / (k * len(y))  # without the rows themselves


@peer("scikit-learn", "scikit-learn", "lle_similarity")
def _(x, y, k=10):
    from sklearn.manifold._locally_linear import barycenter_kneighbors_graph

    one, two = (barycenter_kneighbors_graph(rows, k, reg=1e-3) for rows in (x, y))
    size = np.sqrt(one.multiply(one).sum(axis=1)), np.sqrt(two.multiply(two).sum(axis=1))
    return np.mean(
        np.asarray(one.multiply(two).sum(axis=1)) / np.asarray(size[0]) / np.asarray(size[1])
    )


# Intrinsic dimension of x --------------------------------------------------------------------------


@peer("scikit-dimension", "scikit-dimension", "two_nn_dimension")
def _(x, y):
    from skdim.id import TwoNN

    return TwoNN().fit(x).dimension_


@peer("scikit-dimension (MLE)", "scikit-dimension", "two_nn_dimension")
def _(x, y):
    from skdim.id import MLE

    return MLE().fit(x).dimension_


@peer("dadapy", "dadapy", "two_nn_dimension")
def _(x, y):
    from dadapy import Data

    data = Data(x.astype(float), maxk=10)
    return data.compute_id_2NN()[0]


def main():
    x = y = None
    for line in sys.stdin:
        asked = json.loads(line)
        if "load" in asked:
            with np.load(asked["load"]) as file:
                x, y = file["x"], file["y"]
            answer = {"loaded": True}
        elif "list" in asked:
            answer = {
                k: {"version": v["version"], "measures": [*v["measures"]]} for k, v in PEERS.items()
            }
        else:
            function = PEERS[asked["peer"]]["measures"][asked["measure"]]
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    a, b = x.copy(), y.copy()  # some peers write into what they are given
                    start, before_cpu = time.perf_counter(), time.process_time()
                    value = float(np.asarray(function(a, b)).ravel()[0])
                    seconds = time.perf_counter() - start
                    cpu = time.process_time() - before_cpu
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                answer = {"value": value, "seconds": seconds, "cpu": cpu}
                answer["peak_kb"] = peak - before
            except Exception as error:  # whatever a peer raises is its answer
                text = (str(error).splitlines() or [""])[0]
                answer = {"error": f"{type(error).__name__}: {text}"[:200]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
