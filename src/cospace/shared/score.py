"""Test a shared space: retrieval on unseen texts beside baselines, floors and shuffled rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError, RowMismatchError, UnknownNameError
from cospace.shared.choose import SCALINGS, Choice, best_of, choose, fit_choice
from cospace.shared.galleries import Gallery, galleries
from cospace.shared.member import check_source, source_of
from cospace.shared.methods import METHODS, Alignment
from cospace.shared.result import Contrast, Leading, PairScore, Score, SetFacts, SharedScore
from cospace.shared.retrieval import (
    MEASURES,
    Hits,
    chance,
    compare_hits,
    estimate,
    pooled,
    retrieve,
)
from cospace.shared.scaling import Floats, Spectrum
from cospace.shared.sets import RetrievalSet, Sides
from cospace.shared.training import Texts, match_texts, repeats
from cospace.shared.words import bag_of_words

__all__ = ["score_shared"]

_FINE = 1e-5
_SPACES = ("gpa", "gcca")
_RULES = 0.5
_DRAWS = 100_000
"""Most bootstrap samples: all are held at once."""


def score_shared(
    spaces: Mapping[str, Any],
    sets: Sequence[RetrievalSet],
    *,
    methods: Sequence[str] = tuple(METHODS),
    scalings: Sequence[str] = SCALINGS,
    widths: Sequence[int] | None = None,
    ridges: Sequence[float] | None = None,
    folds: int = 5,
    gallery: int | None = None,
    texts: Sequence[str] = (),
    draws: int = 2000,
    rng: int = 0,
    done: Callable[[str, int, int], None] | None = None,
) -> SharedScore:
    """Fit every method on some texts and let models find each other's texts in others.

    Each method gets its own scaling, width and ridge by inner cross-validation on the rows of the
    fit (:func:`~cospace.shared.choose.choose`), and is fitted again with the rows of every model
    shuffled: what the shuffled fit reaches in-sample says how little an in-sample number means.

    Parameters
    ----------
    spaces
        Name -> Space or array: rows of the fit, the same texts in all models.
    sets
        What is searched; no text of the fit may be in them.
    methods
        Names in :data:`~cospace.shared.methods.METHODS`; ``shared`` in the result stands for the
        better of ``gpa`` and ``gcca`` on inner folds.
    scalings, widths, ridges, folds
        What the choice is among, and on how many inner folds.
    gallery
        Texts that are searched in every set; by default as many as the smallest set has. Where
        groups of the rows or lengths of the texts are known, every set is searched once more
        among texts of the query's group, of its length, and as few of any kind
        (:func:`~cospace.shared.galleries.galleries`).
    texts
        Texts of the fit, from which the bag of words learns which words are rare.
    draws
        Bootstrap samples over texts.
    rng
        Seed.
    done
        Called as (what, done, in all).

    Returns
    -------
    SharedScore
        Chance is exact; every score says whether it is held out, in-sample, or of shuffled rows.

    Raises
    ------
    InputError, RowMismatchError
        For options that make no sense, models or rows that do not match, or texts of the fit in
        a set.
    UnknownNameError
        For another method.
    UndefinedMeasureError
        For rows of a model that are all the same.
    """
    check_seed(rng)
    check_whole(draws=draws)
    if not 1 <= draws <= _DRAWS:
        raise InputError(f"draws is {draws}; a whole number from 1 to {_DRAWS:,} is expected.")
    check_whole(gallery=gallery, or_none=True)
    for name in methods:
        if name not in METHODS:
            raise UnknownNameError.among(name, METHODS, "method of a shared space")
    if not sets:
        raise InputError("No set of texts was given to score on; give at least one.")
    fit = match_texts(spaces)
    names = tuple(fit.rows)
    sources = {name: source_of(spaces[name]) for name in names}
    sides = {one.name: _sides(one, names, fit, sources) for one in sets}
    if len(sides) < len(sets):
        raise InputError("Two sets have one name; every set needs a name of its own.")
    size = min(len(one.queries[0]) for one in sides.values()) if gallery is None else gallery
    ways = {
        one.name: galleries(
            len(sides[one.name].queries[0]), size, sides[one.name].groups, one.answer_lengths()
        )
        for one in sets
    }
    choices = choose(
        fit.rows,
        methods=methods,
        scalings=scalings,
        widths=widths,
        ridges=ridges,
        folds=folds,
        groups=fit.groups,
        rng=rng,
        done=None if done is None else lambda at, many: done("choose", at, many),
    )
    run = _Run(fit, sides, ways, size, draws, rng)
    for at, (name, choice) in enumerate(choices.items()):
        run.method(name, choice)
        if done is not None:
            done("fit", at + 1, len(choices))
    shared = best_of([choices[n] for n in choices if n in _SPACES] or choices.values()).method
    run.alias("shared", shared)
    for one in sets:
        run.within(one)
        run.words(one, texts)
    return SharedScore(
        scores=tuple(run.scores),
        pairs=tuple(run.pairs),
        contrasts=tuple(run.contrasts()),
        choices=tuple(choices.values()),
        leading=run.leading(),
        sets=tuple(
            SetFacts(s.name, len(sides[s.name].queries[0]), s.answers is not None) for s in sets
        ),
        n=fit.n,
        gallery=size,
        matched="position" if fit.ids is None else "ids",
        shared=shared,
        rng=rng,
        draws=draws,
        warnings=tuple(run.warnings(shared, choices[shared])),
    )


def _sides(
    one: RetrievalSet, names: Sequence[str], fit: Texts, sources: Mapping[str, Mapping[str, Any]]
) -> Sides:
    sides = one.rows(names)
    for rows in (one.queries, one.answers or {}):
        for name in rows:
            if name in sources:
                check_source(name, rows[name], sources[name])
    both = set(sides.ids or ()) & set(fit.ids or ())
    if both:
        raise RowMismatchError(
            f"{len(both)} texts of set {one.name!r} are among those of the fit ({sorted(both)[0]!r} ...): set texts "
            "aside first, with split_texts."
        )
    if sides.ids is None and fit.ids is None:
        seen = {
            name: np.concatenate([fit.rows[name], q])
            for name, q in zip(names, sides.queries, strict=True)
        }
        again = sum(first < fit.n for first in repeats(seen)[fit.n :])
        if again:
            raise RowMismatchError(
                f"{again} texts of set {one.name!r} have the rows of texts of the fit in every model: set texts aside "
                "first, with split_texts."
            )
    return sides


class _Run:
    """What has been scored so far."""

    def __init__(
        self,
        fit: Texts,
        sides: Mapping[str, Sides],
        ways: Mapping[str, tuple[Gallery, ...]],
        gallery: int,
        draws: int,
        rng: int,
    ) -> None:
        self.fit, self.sides, self.ways = fit, sides, ways
        self.gallery, self.draws, self.rng = gallery, draws, rng
        self.names = tuple(fit.rows)
        self.scores: list[Score] = []
        self.pairs: list[PairScore] = []
        self.texts: dict[tuple[str, str, str, str], Floats] = {}
        self.kept: dict[str, tuple[Any, Alignment]] = {}
        self.kinds: dict[str, str] = {}

    def method(self, name: str, choice: Choice) -> None:
        """Fit, score on all sets and on the rows of the fit; the same with shuffled rows."""
        kind = self.kinds[name] = METHODS[name].kind
        blocks, found = fit_choice(self.fit.rows, choice, rng=self.rng, tol=_FINE)
        self.kept[name] = blocks, found
        own = [self.fit.rows[one] for one in self.names]
        self._score(name, kind, "", blocks, found, own)
        if kind == "floor":
            return
        rng = np.random.default_rng(self.rng)
        mixed = {one: rows[rng.permutation(self.fit.n)] for one, rows in self.fit.rows.items()}
        blocks, found = fit_choice(mixed, choice, rng=self.rng, tol=_FINE)
        self._score(name, kind, "shuffled, ", blocks, found, list(mixed.values()))

    def _score(
        self,
        name: str,
        kind: str,
        prefix: str,
        blocks: Any,
        found: Alignment,
        own: list[Floats],
    ) -> None:
        for label, one in self.sides.items():
            ways = self.ways[label][:1] if prefix else self.ways[label]
            every = self._hits(blocks, found, one.queries, one.answers, ways)
            for way, hits in zip(ways, every, strict=True):
                self._enter(name, kind, label, f"{prefix}held out", list(hits.values()), way.among)
            if not prefix:
                self.pairs += [
                    PairScore(
                        name, label, *pair, *(float(pooled([hit], m).mean()) for m in MEASURES)
                    )
                    for pair, hit in every[0].items()
                ]
        whole = Gallery("all", min(self.gallery, self.fit.n), None)
        hits = self._hits(blocks, found, own, own, [whole])[0]
        self._enter(name, kind, "fit", f"{prefix}in-sample", list(hits.values()))

    def _hits(
        self,
        blocks: Any,
        found: Alignment,
        queries: list[Floats],
        answers: list[Floats],
        ways: Sequence[Gallery],
    ) -> list[dict[tuple[str, str], Hits]]:
        """Hits of every ordered pair of models, one dictionary a gallery."""
        z = [encoder(rows) for encoder, rows in zip(blocks.encoders, queries, strict=True)]
        same = queries is answers
        w = z if same else [e(rows) for e, rows in zip(blocks.encoders, answers, strict=True)]
        every: list[dict[tuple[str, str], Hits]] = [{} for _ in ways]
        for a, one in enumerate(self.names):
            for b, other in enumerate(self.names):
                if a == b:
                    continue
                both = found.query(a, b, z[a]), found.answer(a, b, w[b])
                for way, hits in zip(ways, every, strict=True):
                    hits[one, other] = retrieve(*both, gallery=way.size, among=way.mask)
        return every

    def _enter(
        self,
        name: str,
        kind: str,
        label: str,
        sample: str,
        hits: list[Hits],
        among: str = "all",
    ) -> None:
        by_chance = chance(hits[0].gallery)
        for measure in MEASURES:
            texts = pooled(hits, measure)
            if sample == "held out":
                self.texts[name, label, measure, among] = texts
            mean = estimate(texts, draws=self.draws, rng=self.rng)
            self.scores.append(
                Score(
                    name,
                    kind,
                    label,
                    sample,
                    measure,
                    **asdict(mean),
                    chance=by_chance[measure],
                    n=len(texts),
                    gallery=hits[0].gallery,
                    among=among,
                )
            )

    def alias(self, name: str, method: str) -> None:
        """Enter the scores of a method under another name as well."""
        self.kinds[name] = self.kinds[method]
        self.scores = [
            *(replace(one, method=name) for one in self.scores if one.method == method),
            *self.scores,
        ]
        self.texts |= {
            (name, *key[1:]): value for key, value in self.texts.items() if key[0] == method
        }
        self.kept[name] = self.kept[method]

    def within(self, one: RetrievalSet) -> None:
        """Search answers by queries inside every model: what another model could reach at most."""
        if one.answers is None:
            return
        blocks, found = self.kept["shared"]
        sides = self.sides[one.name]
        both = [
            (found.query(m, m, e(sides.queries[m])), found.answer(m, m, e(sides.answers[m])))
            for m, e in enumerate(blocks.encoders)
        ]
        for way in self.ways[one.name]:
            hits = [retrieve(*pair, gallery=way.size, among=way.mask) for pair in both]
            self._enter("within", "within", one.name, "held out", hits, way.among)

    def words(self, one: RetrievalSet, known: Sequence[str]) -> None:
        """Search by words, where texts were given."""
        if one.texts is None:
            return
        rows = bag_of_words(one.texts, one.answer_texts or one.texts, known=known)
        for way in self.ways[one.name]:
            hits = [retrieve(*rows, gallery=way.size, among=way.mask)]
            self._enter("words", "words", one.name, "held out", hits, way.among)

    def contrasts(self) -> list[Contrast]:
        """The chosen shared space against every other method.

        ``neither`` where no interval of the two lies above chance: what finds nothing cannot win.
        """
        above = {
            (one.method, one.set, one.measure, one.among): one.chance is not None
            and one.low > one.chance
            for one in self.scores
            if one.sample == "held out"
        }
        found = []
        for (name, label, measure, among), texts in self.texts.items():
            if name == "shared" or measure == "margin":
                continue
            ours = self.texts["shared", label, measure, among]
            apart = compare_hits(ours, texts, draws=self.draws, rng=self.rng)
            told = any(above[one, label, measure, among] for one in ("shared", name))
            found.append(
                Contrast(
                    "shared",
                    name,
                    label,
                    measure,
                    **asdict(apart),
                    verdict=apart.verdict if told else "neither",
                    among=among,
                )
            )
        return found

    def leading(self) -> tuple[Leading, ...]:
        """Share of the leading direction of every model's rows."""
        return tuple(
            Leading(name, rows.shape[1], Spectrum.of_rows(rows, name=name).share)
            for name, rows in self.fit.rows.items()
        )

    def warnings(self, shared: str, choice: Choice) -> list[str]:
        """What a reader must know."""
        found = [
            f"{one.model}: one direction holds {one.share:.1%} of the variance of its rows; unscaled rows say little."
            for one in self.leading()
            if one.share > _RULES
        ]
        inside: list[str] = []
        for one in self.scores:
            if one.measure != "top1" or one.chance is None or one.method == "shared":
                continue
            if one.sample == "shuffled, in-sample" and one.low > 2.0 * one.chance:
                inside.append(f"{one.method} finds {one.value:.0%}")
            if one.sample == "shuffled, held out" and one.low > 2.0 * one.chance:
                found.append(
                    f"{one.method} finds {one.value:.1%} of the texts of {one.set} after a fit on shuffled rows "
                    f"(chance {one.chance:.1%}): texts can be found without the fit, so subtract that."
                )
        if inside:
            found.append(
                f"In-sample there is much to find where there is nothing: of shuffled rows {', '.join(inside)} (chance "
                f"{1.0 / min(self.gallery, self.fit.n):.1%}). Only held-out numbers count."
            )
        widths = {one.width for one in choice.candidates}
        if len(widths) > 1 and choice.width == max(widths):
            found.append(
                f"The width chosen for {shared}, {choice.width}, is the largest that was tried."
            )
        return found
