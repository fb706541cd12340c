"""One shared space for several models: fit, transform, translate, add, save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from cospace._arrays import to_numpy
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.maps.affine import AffineMap
from cospace.moments import Moments
from cospace.shared.addition import beside, newcomer, newcomer_of_moments
from cospace.shared.blocks import Blocks
from cospace.shared.canonical import canonical_variates
from cospace.shared.choose import Choice
from cospace.shared.control import Control, control_of
from cospace.shared.keeping import Kept, read_space, write_space
from cospace.shared.member import Member, Search, check_source, source_of
from cospace.shared.procrustes import generalized_procrustes
from cospace.shared.scaling import Floats, Spectrum
from cospace.shared.settings import check_settings, given, settle
from cospace.shared.training import Texts, match_texts
from cospace.shared.view import SpaceView
from cospace.space import Space

__all__ = ["SharedSpace"]

_RULES = 0.5


class SharedSpace:
    """One space for many models, each with one linear map into it and one back.

    ``gpa`` rotates all models towards their own mean (generalized Procrustes), ``gcca`` takes the
    directions on which they agree (regularised MAXVAR canonical variates). Both work on
    cross-covariances of centred, scaled, reduced rows. Rows are compared by cosine.

    Parameters
    ----------
    width
        Coordinates of the space, or ``auto``. A model of lower rank uses its rank.
    scaling
        Policy, see :class:`~cospace.shared.scaling.Scaling`, or ``auto``.
    method
        ``gpa``, ``gcca``, or ``auto``.
    ridge
        Penalty of ``gcca``, relative to the mean variance of a model's coordinates, or ``auto``.
    scales
        Whether ``gpa`` gives every model an isotropic scale.
    folds
        Inner folds on which whatever is ``auto`` is chosen: the setting that finds most texts of
        the fold across models.
    missing
        ``refuse`` texts that a model lacks, or ``mask`` them (by id).
    tol, sweeps
        Stationarity residual to stop at and most sweeps of ``gpa``.
    rng
        Seed of the shuffled control; nothing else is drawn.

    Attributes
    ----------
    choice_
        What was chosen, with the score of every candidate, and why.
    members_
        Name -> :class:`Member`, with the share of the leading direction.
    search_
        How the maps were found.
    centroid_
        Consensus of every text, shape (n, k); None for a fit from moments.
    control_
        Retrieval on an inner fold, and the same after a fit on shuffled rows; None for a fit from
        moments, or of too few rows.
    ids_
        Ids of these texts; None where rows were matched by position.
    warnings_
        What a reader must know.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> space = SharedSpace(width=3, scaling="none", method="gpa").fit({"a": x, "b": x @ turn + 7.0})
    >>> bool(np.allclose(space.translate(x, source="a", target="b"), x @ turn + 7.0))
    True
    """

    def __init__(
        self,
        *,
        width: int | str = "auto",
        scaling: str = "auto",
        method: str = "auto",
        ridge: float | str = "auto",
        scales: bool = False,
        folds: int = 5,
        missing: Literal["refuse", "mask"] = "refuse",
        tol: float = 1e-7,
        sweeps: int = 500,
        rng: int = 0,
    ) -> None:
        self.width = width
        self.scaling = scaling
        self.method = method
        self.ridge = ridge
        self.scales = scales
        self.folds = folds
        self.missing = missing
        self.tol = tol
        self.sweeps = sweeps
        self.rng = rng

    def __repr__(self) -> str:
        usual = {k: p.default for k, p in signature(type(self).__init__).parameters.items()}
        told = [f"{k}={v!r}" for k, v in self.get_params().items() if v != usual[k]]
        return f"SharedSpace({', '.join(told)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Parameters of the constructor, by name; ``deep`` is accepted as scikit-learn passes it."""
        return {
            k: getattr(self, k) for k in signature(type(self).__init__).parameters if k != "self"
        }

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor.

        Raises
        ------
        UnknownNameError
            For another parameter.
        """
        for key, value in params.items():
            if key not in self.get_params():
                raise UnknownNameError.among(key, self.get_params(), "parameter of SharedSpace")
            setattr(self, key, value)
        return self

    def fit(
        self, spaces: Any, target: Any = None, *, done: Callable[[int, int], None] | None = None
    ) -> Self:
        """Choose what is ``auto``, and fit.

        Parameters
        ----------
        spaces
            Name -> Space (rows are matched by id) or array (by position); or
            :class:`~cospace.moments.Moments`, where nothing may be ``auto``.
        target
            Not used; scikit-learn passes it.
        done
            Called as (fold, folds) after each inner fold.

        Raises
        ------
        InputError
            For options that make no sense, or fewer than 2 models.
        RowMismatchError
            For rows that are not the same texts.
        UndefinedMeasureError
            For rows of a model that are all the same, too few for the folds, or models that agree on
            no direction.
        """
        check_settings(self.get_params())
        if isinstance(spaces, Moments):
            return self._fit_moments(spaces)
        texts = match_texts(spaces, missing=self.missing)
        choice = settle(texts, self.get_params(), done)
        blocks = Blocks.of_rows(
            texts.rows, scaling=choice.scaling, width=choice.width, present=texts.present
        )
        self._solve(blocks, choice)
        shares = {
            name: Spectrum.of_rows(rows, name=name).share for name, rows in texts.rows.items()
        }
        for number, encoder in enumerate(blocks.encoders):
            x = texts.rows[encoder.name] - encoder.mean
            self._join(blocks, number, shares[encoder.name], x.T @ x)
            self._tell_source(encoder.name, spaces[encoder.name])
        self.ids_: tuple[str, ...] | None = texts.ids
        self.centroid_: Floats | None = self._centroid(texts)
        self.control_: Control | None = None
        try:
            self.control_ = control_of(texts, choice, folds=self.folds, rng=self.rng)
        except (InputError, UndefinedMeasureError) as error:
            self.warnings_ += (f"There is no control with shuffled rows: {error}",)
        if self.control_ is not None and self.control_.warning is not None:
            self.warnings_ += (self.control_.warning,)
        return self

    def _fit_moments(self, moments: Moments) -> Self:
        if open_ := [k for k in ("width", "scaling", "method") if getattr(self, k) == "auto"]:
            raise InputError(
                f"{', '.join(open_)} cannot be chosen from moments, which keep no rows: name them, or fit on rows."
            )
        ridge = 0.0 if self.method == "gpa" else self.ridge
        if ridge == "auto":
            raise InputError(
                "ridge cannot be chosen from moments, which keep no rows: name it, or fit on rows."
            )
        choice = given(self.method, self.scaling, int(self.width), float(ridge), moments.n)
        blocks = Blocks.of_moments(moments, scaling=choice.scaling, width=choice.width)
        self._solve(blocks, choice)
        for number, encoder in enumerate(blocks.encoders):
            name = encoder.name
            block = np.asarray(to_numpy(moments.block(name, name)), dtype=np.float64)
            share = Spectrum.of_moments(moments.n, encoder.mean, block, name=name).share
            self._join(blocks, number, share, block)
        self.ids_ = None
        self.centroid_ = None
        self.control_ = None
        self.warnings_ += (
            "There is no control with shuffled rows: moments keep no rows to shuffle.",
        )
        return self

    def _solve(self, blocks: Blocks, choice: Choice) -> None:
        self.choice_ = choice
        self.values_: Floats | None = None
        if choice.method == "gpa":
            found = generalized_procrustes(
                blocks, scales=self.scales, tol=self.tol, sweeps=self.sweeps
            )
            maps, shift, unit = _to_unit(blocks, found.maps, found.shift)
            self.search_ = Search(
                found.objective, found.residual, found.sweeps, found.stopped, found.scales, unit
            )
        else:
            variates = canonical_variates(blocks, width=max(blocks.widths), ridge=choice.ridge)
            if not variates.weights.any():
                raise UndefinedMeasureError(
                    f"With a ridge of {choice.ridge:g} the models agree on no direction: take a smaller ridge."
                )
            maps, shift, unit = _to_unit(blocks, variates.maps, variates.shift)
            self.values_ = variates.values
            values = tuple(map(float, variates.values))
            self.search_ = Search(values, None, 0, "direct", (1.0,) * len(maps), unit)
        self._maps, self._shift = maps, shift
        self.forward_: dict[str, AffineMap] = {}
        self.backward_: dict[str, AffineMap] = {}
        self.members_: dict[str, Member] = {}
        self.warnings_: tuple[str, ...] = ()
        if self.search_.stopped == "sweeps":
            self.warnings_ += (
                f"The search used up its {self.search_.sweeps} sweeps with a stationarity residual of "
                f"{self.search_.residual:.1e}; tol is {self.tol:g}.",
            )

    def _join(self, blocks: Blocks, number: int, share: float, products: Floats) -> None:
        encoder, own = blocks.encoders[number], blocks.own[number]
        forward = AffineMap(
            np.ascontiguousarray(encoder.matrix @ self._maps[number]),
            encoder.mean,
            self._shift[number],
        )
        self._enter(encoder.name, forward, share, blocks.counts[number], own, products)

    def _enter(
        self,
        name: str,
        forward: AffineMap,
        share: float,
        n: int,
        own: Floats,
        products: Floats,
        *,
        added: bool = False,
    ) -> None:
        """Keep a model: its map, the way back that loses least on its own rows, what it loses."""
        used = float(np.linalg.eigvalsh(own)[-1] / np.trace(own))
        across = forward.matrix.T @ products
        values, axes = np.linalg.eigh(across @ forward.matrix)
        kept = values > 1e-12 * values[-1]
        matrix = (axes[:, kept] / values[kept]) @ (axes[:, kept].T @ across)
        total = float(np.trace(products))
        lost = total - float(np.sum((axes[:, kept].T @ across) ** 2 / values[kept, None]))
        self.forward_[name] = forward
        self.backward_[name] = AffineMap(
            np.ascontiguousarray(matrix), forward.image, forward.center
        )
        self.members_[name] = Member(
            name, n, len(forward.center), len(own), share, used, max(lost / total, 0.0), added
        )
        if share > _RULES:
            policy = self.choice_.scaling
            told = (
                f"after scaling ({policy}) and reduction its share is {used:.0%}"
                if policy != "none"
                else "rows are not scaled, so that it rules the maps"
            )
            self.warnings_ += (f"{name}: one direction holds {share:.1%} of the variance; {told}.",)

    def _tell_source(self, name: str, rows: Any) -> None:
        self.members_[name] = replace(self.members_[name], source=source_of(rows))

    def _centroid(self, texts: Texts) -> Floats:
        total = np.zeros((texts.n, self.width_))
        have = np.zeros((texts.n, 1))
        for name, rows in texts.rows.items():
            at = slice(None) if texts.present is None else texts.present[name]
            total[at] += self.forward_[name].points(rows)
            have[at] += 1.0
        return total / have

    @property
    def width_(self) -> int:
        """Coordinates of the fitted space."""
        self._fitted()
        return len(next(iter(self.forward_.values())).image)

    @property
    def names_(self) -> tuple[str, ...]:
        """Names of the models, in the order of the fit."""
        self._fitted()
        return tuple(self.members_)

    def _fitted(self) -> None:
        if not hasattr(self, "members_"):
            raise InputError("This SharedSpace is not fitted: call fit first.")

    def _map(self, maps: Mapping[str, AffineMap], name: str) -> AffineMap:
        if name not in maps:
            raise UnknownNameError.among(str(name), maps, "model of this shared space")
        return maps[name]

    def transform(self, rows: Any, model: str) -> Floats:
        """Rows of a model (n, d_m), or a Space, in the shared space, (n, k).

        Raises
        ------
        InputError
            Before fit; for rows that are no finite numbers, or of another width; for a Space that
            says to be of another site, pooling or weights than that of the fit.
        UnknownNameError
            For another model.
        """
        self._fitted()
        forward = self._map(self.forward_, model)
        check_source(model, rows, self.members_[model].source)
        return forward.points(_rows(rows))

    def inverse_transform(self, coordinates: Any, model: str) -> Floats:
        """Rows of a model (n, d_m) from shared coordinates (n, k): the linear way back of least error.

        What reduction, scaling and the method leave out comes back as its mean; see
        ``members_[model].inverse_error`` and :meth:`inverse_error`.

        Raises
        ------
        InputError, UnknownNameError
            As :meth:`transform`.
        """
        self._fitted()
        return self._map(self.backward_, model).points(coordinates)

    def translate(self, rows: Any, *, source: str, target: str) -> Floats:
        """Rows of one model as rows of another, through the space.

        Raises
        ------
        InputError, UnknownNameError
            As :meth:`transform`.
        """
        return self.inverse_transform(self.transform(rows, source), target)

    def inverse_error(self, rows: Any, model: str) -> float:
        """``||X - back(forward(X))||^2 / ||X - mean||^2`` on given rows, mean that of the fit.

        Raises
        ------
        InputError, UnknownNameError
            As :meth:`transform`.
        """
        x = np.asarray(to_numpy(_rows(rows)), dtype=np.float64)
        back = self.inverse_transform(self.transform(rows, model), model)
        free = x - self.forward_[model].center
        return float(np.sum((x - back) ** 2) / np.sum(free**2))

    def view(self, name: str) -> SpaceView:
        """One model's way into the space as a fitted transformer, for a pipeline.

        Raises
        ------
        InputError, UnknownNameError
            As :meth:`transform`.
        """
        self._fitted()
        return SpaceView(self._map(self.forward_, name), self._map(self.backward_, name), name)

    def add(self, name: str, rows: Any) -> Self:
        """Add a model to the finished space; no other map changes.

        Its rows are scaled and reduced as the others' were and aligned to the consensus of the
        texts: by one Procrustes rotation, or for ``gcca`` by the equation that every member's
        variates fulfil.

        Parameters
        ----------
        name
            A new name.
        rows
            A Space (the texts that it shares with the fit, by id, are used), an array in the
            order of the fit; or Moments that hold it beside at least one member.

        Raises
        ------
        InputError
            For a name that is there, or a space that kept no consensus.
        RowMismatchError
            For rows that are not texts of the fit.
        UndefinedMeasureError
            For rows that are all the same.
        """
        self._fitted()
        if name in self.members_:
            raise InputError(f"{name!r} is in this shared space already: give another name.")
        if isinstance(rows, Moments):
            new = newcomer_of_moments(name, rows, self.choice_, self.forward_)
        else:
            x, consensus = beside(name, rows, self.ids_, self.centroid_)
            new = newcomer(name, x, consensus, self.choice_)
        forward = new.map(self.choice_, self.values_, self.search_.unit)
        self._enter(name, forward, new.share, new.n, new.own, new.products, added=True)
        self._tell_source(name, rows)
        return self

    def save(self, path: str | Path) -> None:
        """Write one safetensors file whose header holds the rest as JSON.

        Raises
        ------
        InputError
            Before fit, or if the file cannot be written.
        """
        self._fitted()
        write_space(
            path,
            Kept(
                self.get_params(),
                self.members_,
                self.forward_,
                self.backward_,
                self.choice_,
                self.search_,
                self.control_,
                self.ids_,
                self.warnings_,
                self.centroid_,
                self.values_,
            ),
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote.

        Raises
        ------
        InputError
            If the file cannot be read, or is no whole shared space.
        """
        kept = read_space(path)
        try:
            found = cls(**kept.params)
            check_settings(found.get_params())
        except (TypeError, InputError, LookupError):
            raise InputError(
                f"{path} is no whole shared_space (its parameters are not those of one): save it again."
            ) from None
        found.members_, found.forward_, found.backward_ = kept.members, kept.forward, kept.backward
        found.choice_, found.search_, found.control_ = kept.choice, kept.search, kept.control
        found.ids_, found.warnings_ = kept.ids, kept.warnings
        found.centroid_, found.values_ = kept.centroid, kept.values
        return found


def _to_unit(
    blocks: Blocks, maps: Sequence[Floats], shift: Floats
) -> tuple[list[Floats], Floats, float]:
    """Maps and translations times one factor, so that a coordinate has mean square 1; the factor."""
    sizes = [
        float(np.trace(one.T @ own @ one)) / n
        for one, own, n in zip(maps, blocks.own, blocks.counts, strict=True)
    ]
    unit = float(np.sqrt(maps[0].shape[1] / np.mean(sizes)))
    return [unit * one for one in maps], unit * shift, unit


def _rows(rows: Any) -> Any:
    return rows.rows if isinstance(rows, Space) else rows
