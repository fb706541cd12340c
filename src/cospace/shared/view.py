"""One model's way into a shared space, as a transformer of arrays."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, MissingDependencyError
from cospace.maps.affine import AffineMap
from cospace.shared.scaling import Floats

__all__ = ["SpaceView"]


class SpaceView:
    """Fitted transformer from one model's rows to the shared space; made by ``SharedSpace.view``.

    Follows scikit-learn's conventions without importing it: ``fit`` changes nothing, since the map
    was fitted with the space, so that a pipeline or a cross-validation may call it.

    Parameters
    ----------
    forward, backward
        Maps into the shared space and back.
    name
        Name of the model.

    Examples
    --------
    >>> import numpy as np
    >>> turn = AffineMap(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.zeros(2), np.zeros(2))
    >>> back = AffineMap(turn.matrix.T, np.zeros(2), np.zeros(2))
    >>> view = SpaceView(turn, back, "a")
    >>> view.transform([[1.0, 2.0]]).tolist()
    [[-2.0, 1.0]]
    """

    def __init__(self, forward: AffineMap, backward: AffineMap, name: str) -> None:
        self.forward = forward
        self.backward = backward
        self.name = name

    def __repr__(self) -> str:
        return f"SpaceView({self.name!r}, {self.n_features_in_} -> {self.forward.matrix.shape[1]})"

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import (  # type: ignore[import-untyped,unused-ignore]
            InputTags,
            Tags,
            TargetTags,
            TransformerTags,
        )

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(two_d_array=True),
            requires_fit=False,
        )

    @property
    def n_features_in_(self) -> int:
        """Coordinates of the model's rows."""
        return int(self.forward.matrix.shape[0])

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Parameters of the constructor, by name; ``deep`` is accepted as scikit-learn passes it."""
        return {"forward": self.forward, "backward": self.backward, "name": self.name}

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the constructor.

        Raises
        ------
        InputError
            For another parameter.
        """
        for key, value in params.items():
            if key not in self.get_params():
                raise InputError(
                    f"{key!r} is not a parameter of SpaceView: forward, backward, name."
                )
            setattr(self, key, value)
        return self

    def fit(self, rows: Any, target: Any = None) -> Self:
        """Check nothing and change nothing: the map was fitted with its space."""
        return self

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the shared coordinates: ``shared0``, ``shared1`` and so on.

        Parameters
        ----------
        input_features
            Names of the model's coordinates, as a pipeline passes them; only counted.

        Raises
        ------
        InputError
            For another number of these.
        """
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise InputError(
                f"{len(input_features)} names were given; {self.name} has {self.n_features_in_} coordinates."
            )
        return np.array(
            [f"shared{i}" for i in range(self.forward.matrix.shape[1])], dtype=np.object_
        )

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``transform`` gives.

        Parameters
        ----------
        transform
            ``default``, an array; ``pandas``, a data frame with the rows' index; None changes
            nothing.

        Raises
        ------
        InputError
            For another word.
        """
        if transform not in (None, "default", "pandas"):
            raise InputError(f"transform is {transform!r}; 'default' or 'pandas' is expected.")
        if transform is not None:
            # scikit-learn's name: clone carries it over.
            self._sklearn_output_config = {"transform": transform}
        return self

    def transform(self, rows: Any) -> Any:
        """Rows of the model (n, d) in the shared space, (n, k); an array, unless ``set_output`` was told.

        Raises
        ------
        InputError
            For rows that are no finite numbers, or of another width.
        MissingDependencyError
            For data frames without pandas.
        """
        found = self.forward.points(rows)
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return found
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError.needs("pandas", "A data frame", "frames") from None
        index = rows.index if isinstance(rows, pd.DataFrame) else None
        return pd.DataFrame(found, index=index, columns=self.get_feature_names_out())

    def fit_transform(self, rows: Any, target: Any = None) -> Any:
        """The same as ``transform``."""
        return self.transform(rows)

    def inverse_transform(self, coordinates: Any) -> Floats:
        """Rows of the model (n, d) from shared coordinates (n, k).

        Raises
        ------
        InputError
            For coordinates that are no finite numbers, or of another width.
        """
        return self.backward.points(coordinates)
