"""Made-up comparisons with the shape of real ones."""

from __future__ import annotations

import hashlib
import math
import random
from typing import Any

from cospace.comparison.result import Cell, Comparison, MeasureFacts, SpaceFacts

HOSTILE = "</script><script>alert(1)</script>\"'&<b>"


def measure(
    name: str,
    title: str,
    *,
    kind: str = "similarity",
    bounds: tuple[float | None, float | None] = (0.0, 1.0),
    symmetric: bool = True,
) -> MeasureFacts:
    return MeasureFacts(
        name=name,
        title=title,
        kind=kind,
        bounds=bounds,
        identical=1.0 if kind == "similarity" else 0.0,
        symmetric=symmetric,
        invariant_to=("translation", "rotation", "scaling"),
        summary=f"{title}, as an example says it in one sentence.",
        reference="Author 2020, eq. 3",
    )


MEASURES = (
    measure("linear_cka", "Linear CKA"),
    measure("debiased_cka", "Debiased CKA", bounds=(None, 1.0)),
    measure("rsa_spearman", "RSA (Spearman)", bounds=(-1.0, 1.0)),
    measure("mutual_knn", "Mutual nearest neighbours"),
    measure("procrustes_similarity", "Procrustes similarity"),
    measure("procrustes_distance", "Procrustes distance", kind="distance", bounds=(0.0, None)),
    measure("predictive_r2_held_out", "Predictive R²", bounds=(None, 1.0), symmetric=False),
    measure("mean_cca", "Mean CCA"),
    measure("svcca", "SVCCA"),
    measure("pwcca", "PWCCA", symmetric=False),
)
DENSE = {"linear_cka", "debiased_cka", "rsa_spearman", "mutual_knn"}
NULLS = {
    "linear_cka": 0.08,
    "debiased_cka": 0.0,
    "rsa_spearman": 0.0,
    "mutual_knn": 0.021,
    "procrustes_similarity": 0.35,
    "procrustes_distance": 0.81,
    "predictive_r2_held_out": -0.31,
    "mean_cca": 0.29,
    "svcca": 0.30,
    "pwcca": 0.31,
}


def space(name: str, model: str, **facts: Any) -> SpaceFacts:
    given = {"site": None, "depth": None, "pooling": None, "n": 480, "width": 384, "rank": 383}
    given |= {"leading_share": 0.12, "duplicates": 0}
    extra = facts.pop("facts", {})
    return SpaceFacts(
        name=name,
        model=model,
        fingerprint=hashlib.sha256(name.encode()).hexdigest(),
        facts=extra,
        **{**given, **facts},
    )


def model_spaces(
    model: str, blocks: int, width: int, *, norm: bool, **facts: Any
) -> list[SpaceFacts]:
    sites = ["embed", *(f"block.{i}" for i in range(blocks)), *(["final_norm"] if norm else [])]
    made = []
    for i, site in enumerate(sites):
        depth = min(i / blocks, 1.0)
        massive = norm and 0.08 < depth < 1.0
        share = 0.96 - 0.2 * depth if massive else 0.1 + 0.1 * depth
        known = {
            "reference": model,
            "architecture": "llama" if norm else "bert",
            "blocks": blocks,
            "width": width,
            "final_norm": norm,
            "dtype": "float32",
            "parameters": blocks * width * width * 12 + 30000 * width,
            "weights_hash": hashlib.sha256(model.encode()).hexdigest(),
            "revision": None,
            "quantisation": "Q4, dequantised" if norm else None,
            "licence": "Apache-2.0",
            "source": f"example/{model}",
            **facts,
        }
        made.append(
            space(
                f"{model}:{site}",
                model,
                site=site,
                depth=depth,
                pooling="mean",
                width=width,
                rank=min(width, 479),
                leading_share=share,
                facts=known,
            )
        )
    return made


def cell(source: SpaceFacts, target: SpaceFacts, name: str, rng: random.Random) -> Cell:
    """One cell with a plausible level: related sites of like depth are more alike."""
    gap = abs((source.depth or 0.0) - (target.depth or 0.0))
    same = source.model == target.model
    rule = max(source.leading_share, target.leading_share)
    signal = (0.95 if same else 0.62) * math.exp(-3.0 * gap * gap) * (1.1 - 0.5 * rule)
    signal *= 0.6 + 0.4 * math.sin(math.pi * (0.25 + 0.5 * (target.depth or 0.0)))
    base = NULLS[name]
    value = base + (1 - base) * signal * (0.8 if name == "mutual_knn" else 1.0)
    if name == "procrustes_distance":
        value = base * (1 - signal)
    value += rng.gauss(0, 0.004)
    sd = 0.008 + 0.004 * rng.random()
    dense = name in DENSE
    ridge = name == "predictive_r2_held_out"
    cca = name in {"mean_cca", "svcca", "pwcca"}
    shared: dict[str, Any] = {
        "measure": name,
        "source": source.name,
        "target": target.name,
        "n": source.n,
        "width_source": source.width,
        "width_target": target.width,
        "rank_source": 48 if cca else source.rank,
        "rank_target": 48 if cca else target.rank,
        "reduced": 48 if cca else None,
        "held_out": ridge,
    }
    if ridge and source.rank >= source.n - 1:
        reason = (
            f"A fit from rank {source.rank} on {source.n} rows would be exact by dimension alone; "
            "more rows or reduced= make it meaningful."
        )
        return Cell(value=None, reason=reason, **shared)
    return Cell(
        value=value,
        null_mean=(null := base + rng.gauss(0, 0.002)),
        null_sd=sd,
        null_exact=name in {"debiased_cka", "linear_cka"},
        effect=(value - null) / ((0.0 if name == "procrustes_distance" else 1.0) - null),
        draws=199 if dense else 20,
        p=0.005 if dense else None,
        p_search=(0.005 if signal > 0.1 else 0.31) if dense else None,
        low=value - 0.03 if name in {"debiased_cka", "linear_cka"} else None,
        high=value + 0.03 if name in {"debiased_cka", "linear_cka"} else None,
        note=None if dense else "a shuffle needs a decomposition, so 20 give the mean only",
        **shared,
    )


def three_models() -> Comparison:
    """52 spaces of three models: four measures on all pairs, the others at matched depths."""
    rng = random.Random(7)
    spaces = [
        *model_spaces("minilm", 6, 384, norm=False),
        *model_spaces("mpnet", 12, 768, norm=False),
        *model_spaces("smollm2-135m", 30, 576, norm=True),
    ]
    matched = []
    for model, blocks in (("minilm", 6), ("mpnet", 12), ("smollm2-135m", 30)):
        mine = [s for s in spaces if s.model == model]
        states = [*mine[:blocks], mine[-1]]
        matched.append([states[math.floor(f * blocks + 0.5)] for f in (0, 0.25, 0.5, 0.75, 1)])
    pairs = [(a[k], b[k]) for k in range(5) for a in matched for b in matched if a is not b]
    every = [(a, b) for a in spaces for b in spaces if a is not b]
    cells = []
    for one in MEASURES:
        mirror: dict[tuple[str, str], Cell] = {}
        for a, b in every if one.name in DENSE else pairs:
            made = cell(a, b, one.name, rng)
            if one.symmetric and (b.name, a.name) in mirror:
                old = mirror[b.name, a.name]
                made = Cell(**{**vars(made), "value": old.value, "low": old.low, "high": old.high})
            mirror[a.name, b.name] = made
            cells.append(made)
    return Comparison(
        spaces=tuple(spaces),
        measures=MEASURES,
        cells=tuple(cells),
        settings={
            "permutations": 199,
            "seed": 0,
            "rank_tolerance": 1e-6,
            "grid": False,
            "matched": "ids",
        },
        warnings=(
            "smollm2-135m: at 27 of 32 sites one direction holds more than 76 % of the variance "
            "(up to 94 % at block.3). CKA, RSA and Procrustes see little else there.",
            "smollm2-135m: Q4, dequantised. Results are of these weights, not of the original "
            "checkpoint.",
        ),
        provenance={
            "command": [
                "cospace",
                "compare",
                "minilm",
                "mpnet",
                "smollm2-135m",
                "--report",
                "r.html",
            ],
            "versions": {"cospace": "0.1.0", "numpy": "2.1.0", "python": "3.11.7"},
            "manifests": {"minilm": {"corpus": "plain", "rows": 480, "sites": ["embed"]}},
        },
    )


def two_arrays() -> Comparison:
    """Two independent Gaussian arrays: everything is at its null, and some of it is not zero."""
    a = space("a.npy", "a.npy", n=100, width=40, rank=40, leading_share=0.061)
    b = space("b.npy", "b.npy", n=100, width=40, rank=40, leading_share=0.063)
    values = {
        "linear_cka": (0.300, 0.301, 0.012, 0.52),
        "debiased_cka": (0.014, 0.001, 0.017, 0.22),
        "rsa_spearman": (0.011, 0.000, 0.019, 0.27),
        "mutual_knn": (0.093, 0.101, 0.011, 0.78),
        "procrustes_similarity": (0.497, 0.498, 0.014, None),
        "procrustes_distance": (1.003, 1.002, 0.014, None),
        "mean_cca": (0.569, 0.570, 0.009, None),
    }
    cells = []
    for name, (value, null, sd, p) in values.items():
        for source, target in ((a, b), (b, a)):
            cells.append(
                Cell(
                    name, source.name, target.name, value, 100, 40, 40, 40, 40,
                    null_mean=null, null_sd=sd, draws=199 if p else 20, p=p, p_search=p,
                    low=value - 0.04 if name == "debiased_cka" else None,
                    high=value + 0.05 if name == "debiased_cka" else None,
                    note=None if p else "a shuffle needs a decomposition, so 20 give the mean only",
                )
            )  # fmt: skip
    reason = "A fit from rank 40 needs more than 41 held-in rows; 33 were left."
    cells.append(
        Cell("predictive_r2_held_out", "a.npy", "b.npy", None, 100, 40, 40, 40, 40, reason=reason)
    )
    names = [*values, "predictive_r2_held_out"]
    return Comparison(
        spaces=(a, b),
        measures=tuple(m for m in MEASURES if m.name in names),
        cells=tuple(cells),
        settings={"permutations": 199, "seed": 0, "rank_tolerance": 1e-6, "matched": "position"},
        warnings=("Rows were matched by position: neither array has ids.",),
        provenance={"command": "cospace compare a.npy b.npy --report report.html"},
    )


def ten_arrays() -> Comparison:
    """Ten bare arrays, one measure of them a distance, one pair of spaces alike."""
    rng = random.Random(3)
    spaces = [space(f"array-{i}", f"array-{i}", n=300, width=64, rank=64) for i in range(10)]
    cells = []
    for one in MEASURES[:2] + MEASURES[5:6]:
        for i, a in enumerate(spaces):
            for j, b in enumerate(spaces):
                if i == j:
                    continue
                alike = i // 2 == j // 2
                made = cell(a, b, one.name, rng)
                gain = 0.6 if alike else 0.0
                value = NULLS[one.name] * (1 - gain) if one.kind == "distance" else None
                value = value if value is not None else NULLS[one.name] + gain
                p = 0.005 if alike else 0.4
                new = {"value": value, "p": p, "p_search": p, "low": None, "high": None}
                cells.append(Cell(**{**vars(made), **new}))
    return Comparison(
        spaces=tuple(spaces),
        measures=MEASURES[:2] + MEASURES[5:6],
        cells=tuple(cells),
        settings={"permutations": 199, "seed": 0, "matched": "position"},
    )


def hostile() -> Comparison:
    """Names, reasons and commands that try to leave their place."""
    a = space(f"a{HOSTILE}", f"m{HOSTILE}", site=f"s{HOSTILE}", pooling=HOSTILE)
    b = space(f"b{HOSTILE}", f"w{HOSTILE}", facts={"architecture": HOSTILE, "licence": HOSTILE})
    cells = (
        Cell("linear_cka", a.name, b.name, None, 5, 1, 1, 1, 1, reason=HOSTILE),
        Cell("debiased_cka", a.name, b.name, 0.5, 5, 1, 1, 1, 1, note=HOSTILE),
    )
    return Comparison(
        spaces=(a, b),
        measures=MEASURES[:2],
        cells=cells,
        settings={HOSTILE: HOSTILE},
        warnings=(HOSTILE,),
        provenance={"command": ["cospace", HOSTILE], HOSTILE: {HOSTILE: HOSTILE}},
    )
