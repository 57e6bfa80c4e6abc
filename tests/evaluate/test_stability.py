"""Nogueira's index against hand values, a naive form, Kuncheva's index and simulation; rankings
against SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate.stability import indicator, nogueira


def naive(z):
    """Φ as one minus the mean of the features' sample variances over that of a random selection."""
    m, d = len(z), len(z[0])
    variances = [
        sum((z[i][f] - sum(z[j][f] for j in range(m)) / m) ** 2 for i in range(m)) / (m - 1)
        for f in range(d)
    ]
    share = sum(map(sum, z)) / (m * d)
    return 1 - sum(variances) / d / (share * (1 - share))


def test_by_hand():
    """Runs {0,1}, {0,2} of four: p = (1, ½, ½, 0), k̄ = 2: Φ = 1 − 2 · ⅛ / ¼ = 0."""
    assert nogueira(indicator([[0, 1], [0, 2]], 4)).value == pytest.approx(0)
    same = nogueira(indicator([[0, 1], [0, 1], [0, 1]], 5))
    assert (same.value, same.low, same.high, same.kept) == (1, 1, 1, 2)
    # the two halves of four features, chosen in turn: every pair is as far apart as can be
    assert nogueira(indicator([[0, 1], [2, 3]], 4)).value == pytest.approx(-1)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(2, 9),
    d=st.integers(2, 12),
    share=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_equal_to_the_naive_form(seed, m, d, share):
    z = (np.random.default_rng(seed).random((m, d)) < share).astype(int)
    stability = nogueira(z)
    if z.sum() in (0, m * d):
        assert np.isnan([stability.value, stability.low, stability.high]).all()
        return
    assert stability.value == pytest.approx(naive(z.tolist()), abs=1e-12)
    assert stability.low <= stability.value <= stability.high and stability.value <= 1 + 1e-12


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(2, 8), k=st.integers(1, 9))
def test_kunchevas_index_where_all_sizes_are_equal(seed, m, k):
    rng, d = np.random.default_rng(seed), 10
    sets = [set(rng.choice(d, k, replace=False).tolist()) for _ in range(m)]
    pairs = [(len(a & b) - k * k / d) / (k - k * k / d) for a, b in itertools.combinations(sets, 2)]
    assert nogueira(indicator([sorted(s) for s in sets], d)).value == pytest.approx(
        np.mean(pairs), abs=1e-12
    )


def test_the_interval_covers_the_truth():
    """Selections with known inclusion probabilities: 95 % intervals of 60 runs hold the limit in
    about 95 % of 400 trials, and the variance is that of the index."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.4, 0.8, 40)
    truth = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    runs = [nogueira(rng.random((60, 40)) < p) for _ in range(400)]
    covered = np.mean([f.low <= truth <= f.high for f in runs])
    assert 0.9 <= covered <= 0.985
    assert np.mean([f.variance for f in runs]) == pytest.approx(
        np.var([f.value for f in runs]), rel=0.25
    )
    assert (
        runs[0].high - runs[0].low
        > nogueira(rng.random((600, 40)) < p).high - nogueira(rng.random((600, 40)) < p).low
    )


def test_what_is_wrong_is_told():
    with pytest.raises(DataError, match="at least two runs"):
        nogueira(np.ones((1, 4)))
    with pytest.raises(DataError, match="other than 0 and 1"):
        nogueira(np.full((3, 4), 0.5))
    with pytest.raises(ParameterError, match="alpha"):
        nogueira(np.eye(3), 1)
    with pytest.raises(DataError, match="from 0 to 3"):
        indicator([[4]], 4)
