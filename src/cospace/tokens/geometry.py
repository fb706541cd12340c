"""Ask everything of the token embeddings of some models: what is asked, and how each part is made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cospace.corpora import open_corpus
from cospace.corpus import Corpus
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.models.base import resolve_sites
from cospace.models.cache import files_hash
from cospace.models.embeddings import Embeddings, read_embeddings
from cospace.result import plain
from cospace.tokens.coherence import LEAST as COHERENT
from cospace.tokens.coherence import Coherence, measure_coherence
from cospace.tokens.frequency import count_tokens
from cospace.tokens.geometry_result import TokenGeometry
from cospace.tokens.graph import WordGraph, open_graph
from cospace.tokens.hidden import Context, Hidden, check_contexts, compare_hidden
from cospace.tokens.matching import match
from cospace.tokens.measure import compare, versions
from cospace.tokens.options import LEAST, TokenOptions
from cospace.tokens.reference import ReferenceList
from cospace.tokens.result import TokenComparison
from cospace.tokens.side import Progress
from cospace.tokens.undertrained import Undertrained, find_undertrained, verified
from cospace.tokens.vocabulary import Vocabulary, read_vocabulary

__all__ = ["GeometryOptions", "measure_geometry"]

Index = npt.NDArray[np.int64]
Keep = Callable[[str, Mapping[str, Any], Callable[[], Mapping[str, Any]]], Mapping[str, Any]]
"""Called with the name of a part, all that decides its result, and what makes it."""
_T = TypeVar("_T")

ONE_WAY = 0.9
"""Mean cosine above which all states point nearly one way."""


@dataclass(frozen=True)
class GeometryOptions:
    """What is asked beside the comparison of embeddings."""

    coherence: str | None = None
    """Graph of words: ``wordnet``, a folder, or a file, see `open_graph`; None for no coherence."""
    coherence_tokens: int = 500
    """Whole words of the graph that are sampled."""
    frequency: str = "wordnet-definitions"
    """Text in which tokens are counted for it."""
    undertrained: bool = False
    """Whether candidates for undertrained tokens are looked for."""
    verify: int = 0
    """Candidates of each method that the model is asked to repeat, and as many others; 0 for none."""
    depths: tuple[float, ...] = ()
    """Relative depths at which states are compared; none for embeddings alone."""
    contexts: tuple[Context, ...] = ("alone",)
    """Tokens run ``alone``, or in a ``text``."""
    text: str = "wordnet-examples"
    """That text."""
    hidden_tokens: int = 500
    """Shared tokens whose states are compared."""
    occurrences: int = 4
    """Occurrences, at least, over which a state in a text is averaged."""

    def __post_init__(self) -> None:
        for name, least in (
            ("coherence_tokens", COHERENT),
            ("verify", 0),
            ("hidden_tokens", LEAST),
            ("occurrences", 1),
        ):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; {least} or more is expected.")
        if self.depths:
            check_contexts(self.contexts)
            resolve_sites(self.depths, blocks=1, final_norm=False)


def measure_geometry(
    models: Sequence[str | Embeddings],
    *,
    options: TokenOptions | None = None,
    extra: GeometryOptions | None = None,
    references: Mapping[str, ReferenceList] | None = None,
    unused: Mapping[str, Collection[int]] | None = None,
    accept: Collection[str] = (),
    folder: Path | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> TokenGeometry:
    """Compare the token embeddings of every two models, and what else is asked of each.

    Parameters
    ----------
    models
        References or embeddings; one is enough for coherence and undertrained tokens.
    options
        How embeddings are compared.
    extra
        What is asked beside.
    references
        By name of the model: its published list of undertrained tokens.
    unused
        By name of the model: rows known to be unused.
    accept, folder, progress
        As for `compare`.
    keep
        Looks up each part that was made before, or makes and keeps it, so that long work that was
        interrupted goes on; None to keep none.

    Raises
    ------
    InputError
        For one model where nothing is asked of it alone; verification where no undertrained tokens
        are looked for.
    UnknownNameError
        For a list, or unused rows, of a model that takes no part.
    AcquisitionError, UndefinedMeasureError
        As for what is asked.
    """
    options, extra = options or TokenOptions(), extra or GeometryOptions()
    given = (references or {}), (unused or {})
    if len(models) < 2 and not (models and (extra.coherence or extra.undertrained)):
        raise InputError(
            f"Two models or more are compared, and {', '.join(map(str, models)) or 'none'} was named: name another, "
            "or ask for coherence or undertrained tokens."
        )
    if len(models) < 2 and extra.depths:
        raise InputError("States at depths are compared between two models or more: name another.")
    if not extra.undertrained and (extra.verify or any(given)):
        raise InputError(
            "Lists, unused rows and verification are of undertrained tokens, which were not asked for: ask for them."
        )
    read = [
        one
        if isinstance(one, Embeddings)
        else read_embeddings(one, accept=accept, progress=progress is not None)
        for one in models
    ]
    read = _told_apart(read)
    names = [one.name for one in read]
    for by_name in given:
        for name in by_name:
            if name not in names:
                raise UnknownNameError.among(name, names, "model that is compared")
    # What can fail for want of a head or a graph fails before neighbours are searched.
    decoders = []
    if extra.verify:
        from cospace.models.decoder import load_decoder

        decoders = [load_decoder(one.weights.reference, accept=accept) for one in read]
    graph = None if extra.coherence is None else open_graph(extra.coherence)
    found: dict[str, Any] = {"warnings": []}
    pairs = list(combinations(range(len(read)), 2))
    own = [_identity(one) for one in read]
    comparisons = [
        _once(
            keep,
            "comparison",
            {"models": [own[i], own[j]], **asdict(options)},
            lambda a=read[i], b=read[j]: compare(  # type: ignore[misc]
                a, b, options=options, folder=folder, progress=progress
            ),
            TokenComparison.from_dict,
        )
        for i, j in pairs
    ]
    vocabularies = [read_vocabulary(one.weights.folder, one.input.shape[0]) for one in read]
    if graph is not None:
        counted = open_corpus(extra.frequency, progress=progress is not None)
        how: dict[str, Any] = {
            "tokens": extra.coherence_tokens,
            "k": max(options.k, 2),
            "rng": options.rng,
        }
        found["coherence"] = tuple(
            _once(
                keep,
                "coherence",
                {"model": me, "graph": _graph_hash(graph), "text": counted.fingerprint, **how},
                lambda one=one: measure_coherence(  # type: ignore[misc]
                    one,
                    graph,
                    **how,
                    frequencies=count_tokens(one.weights.folder, one.input.shape[0], counted),
                ),
                Coherence.from_dict,
            )
            for one, me in zip(read, own, strict=True)
        )
    if extra.undertrained:
        found["undertrained"] = tuple(_undertrained(read, comparisons, pairs, given, found))
    if extra.verify:
        found["undertrained"] = tuple(
            _once(
                keep,
                "verification",
                {"model": me, "of": plain(u), "each": extra.verify, "rng": options.rng},
                lambda u=u, vocabulary=vocabulary, decoder=decoder: verified(  # type: ignore[misc]
                    u,
                    vocabulary,
                    decoder,
                    each=extra.verify,
                    rng=options.rng,
                    done=_teller(progress, f"repeating tokens, {u.model}"),
                ),
                Undertrained.from_dict,
            )
            for one, me, vocabulary, decoder in zip(read, own, vocabularies, decoders, strict=True)
            for u in found["undertrained"]
            if u.model == one.name
        )
    decoders.clear()
    if extra.depths:
        text = None
        if "text" in extra.contexts:
            text = open_corpus(extra.text, progress=progress is not None)
        found["hidden"] = _once(
            keep,
            "states",
            {
                "models": own,
                "depths": extra.depths,
                "contexts": extra.contexts,
                "text": None if text is None else text.fingerprint,
                "tokens": extra.hidden_tokens,
                "occurrences": extra.occurrences,
                "rng": options.rng,
            },
            lambda: _hidden(read, vocabularies, options, extra, text, accept, progress),
            Hidden.from_dict,
        )
        found["warnings"] += _one_way(found["hidden"])
    return TokenGeometry(
        tuple(names),
        tuple(comparisons),
        found.get("hidden"),
        found.get("coherence", ()),
        found.get("undertrained", ()),
        {**plain(asdict(options)), **plain(asdict(extra))},
        tuple(found["warnings"]),
        versions(),
    )


def _once(
    keep: Keep | None,
    name: str,
    parts: Mapping[str, Any],
    compute: Callable[[], _T],
    build: Callable[[Mapping[str, Any]], _T],
) -> _T:
    if keep is None:
        return compute()
    found: Mapping[str, Any] = keep(name, parts, lambda: dict(plain(compute())))
    return build(found)


_DECIDES = ("config.json", "tokenizer.json", "tokenizer_config.json")


def _identity(one: Embeddings) -> dict[str, Any]:
    """Tell what the figures of a model depend on, and what is said of it."""
    weights = one.weights
    files = [path for name in _DECIDES if (path := weights.folder / name).is_file()]
    return {
        "name": weights.name,
        "reference": weights.reference,
        "revision": weights.revision,
        "weights": weights.weights_hash,
        "files": files_hash(files),
        "tensors": {role: one.matrix(role).tensor for role in one.roles},
    }


def _graph_hash(graph: WordGraph) -> str:
    lines = (f"{word} {' '.join(sorted(near))}\n" for word, near in sorted(graph.edges.items()))
    return hashlib.sha256("".join([graph.name, *lines]).encode()).hexdigest()


def _told_apart(read: Sequence[Embeddings]) -> list[Embeddings]:
    """Give each model a name of its own: a second ``last`` becomes ``last (2)``."""
    seen: dict[str, int] = {}
    found = []
    for one in read:
        many = seen[one.name] = seen.get(one.name, 0) + 1
        if many > 1:
            one = replace(one, weights=replace(one.weights, name=f"{one.name} ({many})"))
        found.append(one)
    return found


def _undertrained(
    read: Sequence[Embeddings],
    comparisons: Sequence[TokenComparison],
    pairs: Sequence[tuple[int, int]],
    given: tuple[Mapping[str, ReferenceList], Mapping[str, Collection[int]]],
    found: dict[str, Any],
) -> list[Undertrained]:
    """Candidates of every model; a model that has none is named in a warning."""
    listed = []
    local = [one for one in zip(pairs, comparisons, strict=True) if one[1].local]
    for at, one in enumerate(read):
        apart: dict[str, tuple[int, ...]] = {}
        for (i, j), pair in local:
            if at in (i, j):
                name = "apart" if len(read) == 2 else f"apart from {read[j if at == i else i].name}"
                apart[name] = pair.local[0].apart_a if at == i else pair.local[0].apart_b
        try:
            made = find_undertrained(
                one,
                apart=apart or None,
                reference=given[0].get(one.name),
                unused=given[1].get(one.name),
            )
        except UndefinedMeasureError as error:
            found["warnings"].append(str(error))
            continue
        if made.reason is not None:
            found["warnings"].append(made.reason)
        fewest = min((pair.local[0].tokens for i, pair in local if at in i), default=made.tokens)
        if apart and fewest < made.tokens:
            found["warnings"].append(
                f"Of the {made.tokens:,} used tokens of {one.name} {fewest:,} were compared, and only these can be "
                "apart: precision, recall and lift are over all."
            )
        listed.append(made)
    return listed


def _hidden(
    read: Sequence[Embeddings],
    vocabularies: Sequence[Vocabulary],
    options: TokenOptions,
    extra: GeometryOptions,
    corpus: Corpus | None,
    accept: Collection[str],
    progress: Progress | None,
) -> Hidden:
    from cospace.models.occurrences import load_token_states

    return compare_hidden(
        [load_token_states(one.weights.reference, accept=accept, name=one.name) for one in read],
        _common(vocabularies),
        depths=extra.depths,
        contexts=extra.contexts,
        corpus=corpus,
        tokens=extra.hidden_tokens,
        occurrences=extra.occurrences,
        rng=options.rng,
        progress=progress,
    )


def _common(vocabularies: Sequence[Vocabulary]) -> list[Index]:
    """Rows of the tokens that all vocabularies have; place i is the same token in all."""
    first, *others = vocabularies
    matches = [match(first, other) for other in others]
    shared = reduce(np.intersect1d, [found.ids_a for found in matches])
    ids = [np.asarray(shared, dtype=np.int64)]
    for found in matches:
        ids.append(found.ids_b[np.searchsorted(found.ids_a, shared)])
    return ids


def _one_way(hidden: Hidden) -> list[str]:
    sites: dict[str, list[str]] = {}
    for one in hidden.figures:
        for name, site, mean in (
            (one.a, one.site_a, one.mean_cosine_a),
            (one.b, one.site_b, one.mean_cosine_b),
        ):
            key = f"{name}, tokens {'alone' if one.context == 'alone' else 'in texts'}"
            if mean is not None and mean > ONE_WAY and site not in sites.setdefault(key, []):
                sites[key].append(site)
    return [
        f"{key}: all states point nearly one way at {', '.join(found)} (mean cosine above {ONE_WAY}), as at the first "
        "position of a decoder, whatever stands there: little of the tokens is left to compare."
        for key, found in sites.items()
        if found
    ]


def _teller(progress: Progress | None, what: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(what, done, total)
