"""Friedman, Nemenyi, Bonferroni–Dunn, Wilcoxon and Holm against SciPy, published tables and hand
values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate.significance import (
    bonferroni_dunn_quantile,
    cliques,
    critical_difference,
    friedman,
    holm,
    nemenyi_quantile,
    ranks,
    wilcoxon_holm,
)

# Demšar 2006, Table 6: ranks by AUC of C4.5 without and with tuned -m, -cf and both, on 14 data
# sets
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)


def test_demsars_example():
    """His text: mean ranks 3.143, 2.000, 2.893, 1.964; F on (3, 39) degrees; CD 1.25 (Nemenyi) and
    1.16 (Bonferroni–Dunn)."""
    test = friedman(DEMSAR, larger_is_better=False)
    np.testing.assert_allclose(test.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    np.testing.assert_allclose(test.chi2, stats.friedmanchisquare(*DEMSAR.T).statistic, rtol=1e-12)
    # he does not correct for ties: χ² = 9.28, F = 3.69
    plain = 12 * 14 / 20 * ((test.ranks**2).sum() - 4 * 25 / 4)
    assert round(plain, 2) == 9.28 and round(13 * plain / (14 * 3 - plain), 2) == 3.69
    assert round(critical_difference(4, 14), 2) == 1.25
    assert critical_difference(4, 14, test="bonferroni-dunn") == pytest.approx(
        1.16, abs=0.01
    )  # printed without rounding up
    # "the difference between the best and the worst is already smaller than that"
    assert cliques(test.ranks, critical_difference(4, 14)) == [[3, 1, 2, 0]]
    assert cliques(test.ranks, 1.16) == [[3, 1, 2], [1, 2, 0]]


def test_the_msfs_papers_critical_difference():
    assert round(bonferroni_dunn_quantile(8), 3) == 2.690
    assert round(2.690 * np.sqrt(8 * 9 / 66), 4) == 2.8096
    assert critical_difference(8, 11, test="bonferroni-dunn") == pytest.approx(2.8096, abs=5e-4)


# Demšar 2006, Table 5
@pytest.mark.parametrize(
    ("k", "five", "ten"), [(2, 1.960, 1.645), (5, 2.728, 2.459), (10, 3.164, 2.920)]
)
def test_nemenyi_quantiles_are_the_published_ones(k, five, ten):
    assert nemenyi_quantile(k) == pytest.approx(five, abs=1e-3)
    assert nemenyi_quantile(k, 0.1) == pytest.approx(ten, abs=1e-3)


@pytest.mark.parametrize(
    ("k", "five", "ten"), [(2, 1.960, 1.645), (5, 2.498, 2.241), (10, 2.773, 2.539)]
)
def test_bonferroni_dunn_quantiles_are_the_published_ones(k, five, ten):
    assert bonferroni_dunn_quantile(k) == pytest.approx(five, abs=1e-3)
    assert bonferroni_dunn_quantile(k, 0.1) == pytest.approx(ten, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 12),
    k=st.integers(3, 9),
    levels=st.sampled_from([2, 4, 10**6]),
)
def test_friedman_equals_scipy(seed, n, k, levels):
    values = np.random.default_rng(seed).integers(0, levels, (n, k)) / levels
    test = friedman(values)
    with np.errstate(all="ignore"):
        want = stats.friedmanchisquare(*values.T)
    if not np.isfinite(want.statistic):  # all tied everywhere
        assert (test.chi2, test.p, test.f, test.f_p) == (0, 1, 0, 1)
        return
    assert test.chi2 == pytest.approx(want.statistic, rel=1e-9, abs=1e-9)
    assert test.p == pytest.approx(want.pvalue, rel=1e-9, abs=1e-12)
    # Iman and Davenport's F is the two-way analysis of variance of the ranks
    r = stats.rankdata(-values, axis=1)
    between = n * ((r.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    within = ((r - (k + 1) / 2) ** 2).sum() - between
    if within < 1e-9:
        assert test.f == np.inf and test.f_p == 0
    else:
        assert test.f == pytest.approx(between / within * (n - 1), rel=1e-9, abs=1e-9)
        assert test.f_p == pytest.approx(stats.f.sf(test.f, k - 1, (k - 1) * (n - 1)))
    np.testing.assert_allclose(friedman(1 - values, larger_is_better=False).ranks, test.ranks)


def test_ranks_ignore_rounding():
    assert ranks([[0.3, 0.1 + 0.2, 0.2], [0, -1, 1]]).tolist() == [[1.5, 1.5, 3], [2, 3, 1]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(2, 20), min_size=2, max_size=9), st.sampled_from([0.4, 1.0, 3.0, 30.0]))
def test_cliques_hold_exactly_the_pairs_that_do_not_differ(doubled, difference):
    r = np.array(doubled) / 2
    groups = cliques(r, difference)
    together = {(a, b) for group in groups for a in group for b in group if a < b}
    assert together == {
        (a, b) for a in range(len(r)) for b in range(a + 1, len(r)) if abs(r[a] - r[b]) < difference
    }
    assert not any(set(a) < set(b) for a in groups for b in groups)


def test_holm():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1, 1])


@pytest.mark.parametrize("control", [None, 1])
def test_wilcoxon_equals_scipy(control):
    values = np.random.default_rng(2).integers(0, 12, (14, 4)) / 12 + np.array([0, 0.1, 0.2, 0.5])
    values[3, 1] = values[3, 0]
    table = wilcoxon_holm(values, list("abcd"), control)
    pairs = (
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
        if control is None
        else [(1, 0), (1, 2), (1, 3)]
    )
    want = [
        stats.wilcoxon(values[:, a], values[:, b], zero_method="zsplit").pvalue for a, b in pairs
    ]
    assert list(table["first"] + table["second"]) == ["abcd"[a] + "abcd"[b] for a, b in pairs]
    np.testing.assert_allclose(table["p"], want, rtol=1e-9)
    step = [
        min(1.0, max(p * (len(want) - sorted(want).index(p)) for p in want if p <= mine))
        for mine in want
    ]
    np.testing.assert_allclose(table["p_holm"], step, rtol=1e-9)
    assert table["ties"][0] >= 1 and (table["wins"] + table["losses"] + table["ties"] == 14).all()
    lower = wilcoxon_holm(-values, list("abcd"), control, larger_is_better=False)
    assert lower.equals(table)


def test_equal_methods_do_not_differ():
    table = np.repeat(np.arange(6.0)[:, None], 3, axis=1)
    assert (wilcoxon_holm(table)["p"] == 1).all()
    assert (friedman(table).chi2, friedman(table).p) == (0, 1)


def test_what_is_wrong_is_told():
    with pytest.raises(DataError, match="at least two data sets"):
        friedman(np.ones((1, 4)))
    with pytest.raises(DataError, match="method 1 on data set 0 is missing"):
        ranks([[1, np.nan], [1, 2]])
    for call, message in (
        (lambda: critical_difference(1, 5), "methods must be"),
        (lambda: critical_difference(4, 5, 0), "alpha must be"),
        (lambda: critical_difference(4, 0), "data_sets must be"),
        (lambda: critical_difference(4, 5, test="t"), "test must be"),
        (lambda: wilcoxon_holm(DEMSAR, ["a"]), "1 names for 4"),
        (lambda: wilcoxon_holm(DEMSAR, control=4), "control must be"),
    ):
        with pytest.raises(ParameterError, match=message):
            call()
