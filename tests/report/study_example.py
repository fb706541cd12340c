"""Made-up affine-homotopy studies with the shape of real ones."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import combinations
from statistics import quantiles
from typing import Any

from cospace.studies.affine_homotopy.result import (
    AffineHomotopyStudy,
    Agreement,
    Encoder,
    Extrinsic,
    Intrinsic,
    Link,
    Mappability,
    RankLink,
    TaskFacts,
    Truncation,
)

HOSTILE = "</script><script>alert(1)</script>\"'&<b>"
MEASURES = ("affine", "procrustes_distance", "mean_cca", "r2_cca", "pwcca", "linear_cka")
TOLERANCES = ("1e-2", "1e-3", "1e-6")


def study(
    count: int,
    *,
    depths: tuple[float, ...] = (0.0, 0.5, 1.0),
    tasks: tuple[str, ...] = ("sentiment", "acceptability"),
    p: float = 0.4,
    name: str = "seed-{}",
    published: bool = True,
) -> AffineHomotopyStudy:
    """A study of ``count`` encoders; every link of the affine distance has this ``p``."""
    rng = random.Random(count)
    names = [name.format(i) for i in range(count)]
    encoders = tuple(
        Encoder(n, f"ensemble/{n}", d, f"block.{int(4 * d)}", 64, 64 - i, 10.0 + i,
                {t: 64 - i - 3 * j for j, t in enumerate(TOLERANCES)})
        for d in depths
        for i, n in enumerate(names)
    )  # fmt: skip
    radius = {n: 10.0 + i for i, n in enumerate(names)}
    intrinsic = []
    for d in depths:
        for a in names:
            for j, b in enumerate(names):
                if a == b:
                    continue
                upper = radius[b] * (0.2 + 0.4 * j / count + 0.05 * rng.random())
                intrinsic.append(
                    Intrinsic(
                        d, a, b, 0.995 * upper, upper, 0.995 * upper / radius[b], upper / radius[b],
                        0.4 * upper, 0.7 * upper, 0.9 * upper, 1.4 * upper, 0.5 * upper, (f"t{j}", "t99", f"t{20 + j}"),
                        {m: 0.1 * rng.random() for m in MEASURES[1:]},
                    )
                )  # fmt: skip
    at = depths[-1]
    extrinsic = []
    for task in tasks:
        for pair in intrinsic:
            if pair.depth == at:
                fixed = 0.3 * pair.normalised + 0.02 * rng.random()
                extrinsic.append(
                    Extrinsic(
                        task, at, pair.source, pair.target, fixed, 0.2 * fixed, 1.3 * fixed, 0.7 * fixed,
                        0.01, 1.5 * fixed, 1.4 * fixed, 2.0, pair.upper, 2.0, pair.upper, 0.3,
                    )
                )  # fmt: skip
    facts = tuple(
        TaskFacts(task, at, n, 2, 500, 200, 50, 0.85 - 0.01 * (i % 5), 0.55)
        for task in tasks
        for i, n in enumerate(names)
    )
    least = 1 / min(math.factorial(count), 10_000)
    links = tuple(
        Link(
            task, at, kind, measure, method, 0.5 - 0.05 * MEASURES.index(measure), p, least,
            0.1 if count > 4 else None, 0.8 if count > 4 else None, 0.3, 0.6,
            *((0.080 if kind == "fixed" else 0.621, "SST-2")
              if published and (task, measure, method) == ("sentiment", "affine", "spearman")
              else (None, None)),
        )
        for task in tasks
        for kind in ("fixed", "worst")
        for measure in MEASURES
        for method in ("spearman", "pearson")
    )  # fmt: skip
    tables = [
        ("affine", d, [(x.target, x.normalised) for x in intrinsic if x.depth == d]) for d in depths
    ]
    tables += [(t, at, [(x.target, x.fixed) for x in extrinsic if x.task == t]) for t in tasks]
    mappability: list[Mappability] = []
    for kind, d, values in tables:
        found = {
            n: quantiles([v for t, v in values if t == n], n=4, method="inclusive") for n in names
        }
        order = sorted(names, key=lambda n, found=found: found[n][1])
        mappability += [
            Mappability(kind, d, n, found[n][1], found[n][0], found[n][2], order.index(n) + 1)
            for n in names
        ]
    return AffineHomotopyStudy(
        title="Twelve seeds" if count == 12 else f"{count} encoders",
        encoders=encoders,
        intrinsic=tuple(intrinsic),
        tasks=facts,
        extrinsic=tuple(extrinsic),
        links=links,
        mappability=tuple(mappability),
        agreements=tuple(
            Agreement(*a, *b, 0.5 if "affine" in (a[0], b[0]) else 0.9, 0.2)
            for a, b in combinations(dict.fromkeys((m.kind, m.depth) for m in mappability), 2)
        ),
        ranks=tuple(RankLink(d, t, 0.25, 0.3, 50, 64) for d in depths for t in TOLERANCES),
        truncations=tuple(
            Truncation(s, t, 0.002 * t + 0.001 * (100 - s), 12)
            for s in range(20, 100, 10)
            for t in range(20, 100, 10)
        ),
        settings={"texts": "wordnet-examples", "tasks": list(tasks), "gap": 0.01, "rows": None},
        warnings=("The ensemble is small.",),
        provenance={"command": ["cospace", "study", "affine-homotopy", "s.toml"], "versions": {"cospace": "0.1"}},
    )  # fmt: skip


def hostile() -> AffineHomotopyStudy:
    """Names, tasks, ids, warnings and settings that try to leave their place."""
    made = study(4, depths=(1.0,), tasks=(f"task{HOSTILE}",), name="{}" + HOSTILE.replace("{", ""))
    rank = replace(made.ranks[0], tolerance=HOSTILE)
    return replace(
        made,
        title=HOSTILE,
        encoders=tuple(replace(e, reference=HOSTILE, site=HOSTILE) for e in made.encoders),
        intrinsic=tuple(replace(x, worst=(HOSTILE,)) for x in made.intrinsic),
        links=tuple(_hostile_link(link) for link in made.links),
        ranks=(rank,),
        settings={HOSTILE: HOSTILE},
        warnings=(HOSTILE,),
        provenance={"command": ["cospace", HOSTILE], HOSTILE: {HOSTILE: HOSTILE}},
    )


def _hostile_link(link: Link) -> Link:
    changes: dict[str, Any] = {"published_on": HOSTILE} if link.published is not None else {}
    if link.measure != "affine":
        changes["measure"] = f"{link.measure}{HOSTILE}"
    return replace(link, **changes)
