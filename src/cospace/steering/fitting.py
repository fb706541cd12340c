"""Maps between two models, to carry steering vectors through: from token embeddings, or from activations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError
from cospace.maps import LinearMap, fit_map
from cospace.maps.solve import Method
from cospace.models.embeddings import Embeddings, Role, read_embeddings
from cospace.space import Space
from cospace.steering.build import read_texts
from cospace.steering.vector import Floats
from cospace.tokens import match, read_vocabulary

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["activation_maps", "embedding_map"]


def embedding_map(
    source: str | Embeddings,
    target: str | Embeddings,
    *,
    role: Role = "output",
    method: Method = "least_squares",
    tokens: int | None = None,
    rng: int = 0,
    accept: Collection[str] = (),
    **options: Any,
) -> LinearMap:
    """Fit a map on the embeddings of the tokens that two models share (EMB2EMB).

    ``min_A sum_t ||E_target[t] - A E_source[t]||^2`` over the tokens t that are the same text in
    both vocabularies, so that the models need not share a tokenizer. Nothing is run: embeddings
    are read straight from the weights.

    Parameters
    ----------
    source, target
        References, see `cospace.models.weights.resolve_weights`, or embeddings.
    role
        ``output``: rows by which tokens are predicted, as published; ``input``: those by which
        they enter. Of a tied model both are the same.
    method
        Least squares without an offset, as published, or any other of
        :func:`~cospace.maps.fit_map`.
    tokens
        How many shared tokens are drawn; all by default.
    rng
        Seed of the draw.
    accept
        Names of terms of use that are accepted.
    **options
        Of :func:`~cospace.maps.fit_map`: ``penalty``, ``rank``, ``folds``, ``shuffle`` ...

    Returns
    -------
    LinearMap
        With R2 and retrieval on tokens that it was not fitted on. The rows are named by their
        token in both models; ``facts`` says how many are shared, and of what kinds.

    Raises
    ------
    AcquisitionError
        For models whose embeddings or tokenizer cannot be read.
    InputError
        For vocabularies that share no token, or fewer tokens than are asked for.
    UndefinedMeasureError
        For fewer shared tokens than a fit needs.

    References
    ----------
    Lee et al. 2025 (EMB2EMB).

    Notes
    -----
    Two packaged models and a vector of the first::

        there = embedding_map("smollm2-135m", "gemma3-270m", accept=["gemma"])
        there.held_out.r2, there.directions(vector.vector)
    """
    check_seed(rng)
    check_whole(tokens=tokens, or_none=True)
    a, b = (
        each if isinstance(each, Embeddings) else read_embeddings(each, accept=accept)
        for each in (source, target)
    )
    words = [read_vocabulary(each.weights.folder, each.input.shape[0]) for each in (a, b)]
    found = match(*words)
    chosen = np.arange(len(found))
    if tokens is not None:
        if not 0 < tokens <= len(found):
            raise InputError(
                f"{tokens} tokens were asked for, and {a.name} and {b.name} share {len(found):,}: ask for a number "
                "between 1 and that, or leave it out for all."
            )
        chosen = np.sort(np.random.default_rng(rng).choice(len(found), tokens, replace=False))
    ids_a, ids_b = found.ids_a[chosen], found.ids_b[chosen]
    names = tuple(f"{i}:{j}" for i, j in zip(ids_a.tolist(), ids_b.tolist(), strict=True))
    facts = {"rows": "embeddings", "role": role, "shared": len(found), "kinds": found.kinds}
    x, y = (
        Space(
            each.matrix(role).rows(ids),
            ids=names,
            name=each.name,
            facts=facts
            | {"weights_hash": each.weights.weights_hash, "tensor": each.matrix(role).tensor},
        )
        for each, ids in ((a, ids_a), (b, ids_b))
    )
    return fit_map(source=x, target=y, method=method, **options)


def activation_maps(
    source: Decoder,
    target: Decoder,
    texts: Sequence[str],
    *,
    source_site: str,
    target_sites: Iterable[str],
    token: str = "mean",
    method: Method = "ridge",
    shuffles: Sequence[int | None] = (None,),
    **options: Any,
) -> dict[str, tuple[LinearMap, ...]]:
    """Fit maps on states of the same texts, from one site of the source to sites of the target.

    Every text is read once by either model, whatever the number of sites; tokenizers may differ,
    since a text is one row: the mean of its states, or the last.

    Parameters
    ----------
    source, target
        The models.
    texts
        Shared texts, all different.
    source_site
        Where the vector was made.
    target_sites
        Where it shall be added.
    token
        ``mean``: the mean over a text's tokens, but for the first; ``last``: its last token.
    method
        Ridge, its penalty chosen by cross-validation, or any other of
        :func:`~cospace.maps.fit_map`.
    shuffles
        One fit each: None for the rows as they are, a seed for shuffled rows, the control.
    **options
        Of :func:`~cospace.maps.fit_map`.

    Returns
    -------
    dict
        Target site -> one map for each of ``shuffles``.

    Raises
    ------
    InputError
        For texts that are too few or not all different, or a token that is neither.
    UndefinedMeasureError
        For fewer texts than an unregularised fit needs.
    """
    if token not in ("mean", "last"):
        raise InputError(
            f"token={token!r}: 'mean' or 'last' is expected, which say how a text becomes one row."
        )
    texts = tuple(texts)
    if len(texts) < 2 or len(set(texts)) < len(texts):
        raise InputError(
            f"{len(texts)} texts were given, {len(set(texts))} of them different: at least 2 texts, all different, are "
            "needed to fit a map on."
        )
    sites = list(target_sites)
    rows_a = read_texts(source, texts, token, [source_site])[source_site]
    rows_b = read_texts(target, texts, token, sites)
    x = _space(source, source_site, rows_a, token)
    return {
        site: tuple(
            fit_map(
                source=x,
                target=_space(target, site, rows_b[site], token),
                method=method,
                shuffle=shuffle,
                **options,
            )
            for shuffle in shuffles
        )
        for site in sites
    }


def _space(decoder: Decoder, site: str, rows: Floats, token: str) -> Space:
    facts = {
        "rows": "activations",
        "token": token,
        "site": site,
        "weights_hash": decoder.facts.weights_hash,
    }
    names = tuple(f"text {i}" for i in range(len(rows)))
    return Space(rows, ids=names, name=f"{decoder.facts.name}/{site}", facts=facts)
