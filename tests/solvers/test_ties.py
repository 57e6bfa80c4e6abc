"""The one rule for ties, against a stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from spark_mlfs.solvers.ties import by_score, significant


@pytest.mark.parametrize("levels", [1, 2, 7, 1000])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_equal_scores_go_by_index(levels, missing):
    generator = np.random.default_rng(levels)
    for n in (0, 1, 2, 300, 5000):
        scores = generator.integers(0, levels, n) * generator.choice([-1.0, 1.0], n) / 7
        scores = scores * (1 + 1e-13 * generator.normal(size=n))  # equal to nine digits
        scores[generator.random(n) < missing] = np.nan
        expected = np.argsort(-significant(scores), kind="stable")
        assert by_score(scores).tolist() == expected.tolist()
