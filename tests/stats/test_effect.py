"""Effects: from the level by chance to the best possible."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import linear_cka
from cospace.stats.effect import effect


def test_ends_of_the_scale():
    for null, best in ((0.3, 1.0), (1.2, 0.0)):
        assert effect(best, null, best) == 1.0
        assert effect(null, null, best) == 0.0
        assert effect(null - (best - null) / 4, null, best) == pytest.approx(-0.25)


def test_what_bias_shows_is_taken_off():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 60, 40))
    null = np.mean([linear_cka(x, y[rng.permutation(60)]) for _ in range(50)])
    assert linear_cka(x, y) > 0.3
    assert abs(effect(linear_cka(x, y), null, 1.0)) < 0.05


def test_refusals():
    with pytest.raises(
        UndefinedMeasureError, match="level by chance, 1, is the best value already"
    ):
        effect(1.0, 1.0 - 1e-14, 1.0)
    with pytest.raises(InputError, match="null is nan: an effect needs finite numbers"):
        effect(1.0, float("nan"), 1.0)
