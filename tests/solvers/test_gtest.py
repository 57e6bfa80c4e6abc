"""G-tests, their combination and correction against SciPy, and their error rates in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from spark_mlfs.kernels.information import CountLogs
from spark_mlfs.solvers.gtests import combine, corrected, g_tests


def counted(codes, y, width):
    """(F, width, 1 + q) counts and (F, width, q) unknown ones of codes (n, F) and labels (n, q),
    NaN unknown."""
    hot = (codes[:, :, None] == np.arange(width)).astype(np.int64)
    groups = np.column_stack([np.ones(len(y), np.int64), (y == 1).astype(np.int64)])
    return np.einsum("nfb,ng->fbg", hot, groups), np.einsum(
        "nfb,nq->fbq", hot, np.isnan(y).astype(np.int64)
    )


def p_values(codes, y, width):
    counts, unknown = counted(codes, y, width)
    q = y.shape[1]
    return g_tests(CountLogs(len(y), 8 * (q + 2)), counts, q, unknown if unknown.any() else None)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 80),
    width=st.integers(2, 6),
    unknown=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_equal_to_scipy(seed, n, width, unknown):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, width, (n, 4))
    codes[:, 3] = 1  # one occupied bin
    y = (rng.random((n, 3)) < [0.5, 0.1, 0.0]).astype(float)
    y[rng.random(y.shape) < unknown] = np.nan
    p, thin = p_values(codes, y, width)
    for f in range(4):
        for label in range(3):
            known = ~np.isnan(y[:, label])
            table = np.array(
                [
                    [((codes[:, f] == v) & (y[:, label] == r) & known).sum() for r in (0, 1)]
                    for v in range(width)
                ]
            )
            table = table[table.sum(axis=1) > 0]
            if len(table) < 2 or not table.sum(axis=0).all():
                assert np.isnan(p[f, label]) and not thin[f, label]
                continue
            found = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
            # near G = 0 a rounding of 1e-14 is one of 1e-7 in p: combining caps p below 1 anyway
            assert p[f, label] == pytest.approx(
                found.pvalue, rel=1e-9 if found.pvalue < 0.99 else 1e-6, abs=1e-300
            )
            assert thin[f, label] == (found.expected_freq.min() < 1 - 1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), q=st.integers(2, 9), power=st.sampled_from([1, 5, 60]))
def test_combinations_are_what_their_formulas_say(seed, q, power):
    p = np.random.default_rng(seed).random((6, q)) ** power
    p[1, 0] = np.nan
    with np.errstate(divide="ignore"):
        for row, cauchy, bonferroni in zip(p, combine(p), combine(p, "bonferroni"), strict=True):
            row = row[~np.isnan(row)]
            want = stats.cauchy.sf(np.mean(1 / np.tan(np.pi * row))) if len(row) > 1 else row[0]
            assert cauchy == pytest.approx(want, rel=1e-8)
            assert bonferroni == pytest.approx(min(1, len(row) * row.min()))


def test_combination_at_the_ends():
    """Nothing tested is 1, one test stands as it is, 0 and tiny values keep their digits, a p-value
    of 1 does not veto."""
    nan = np.nan
    p = np.array([[nan, nan], [0.3, nan], [0.0, 0.9], [1e-200, 0.5], [1e-12, 1.0], [1.0, 1.0]])
    found = combine(p, n=1000)
    assert found[:3].tolist() == [1.0, 0.3, 0.0]
    assert found[3] == pytest.approx(2e-200, rel=1e-9)
    assert found[4] == pytest.approx(2e-12, rel=1e-6)
    assert found[5] == pytest.approx(1 - 1 / 1000)
    assert combine(np.array([[1.0, 1.0]]), "bonferroni") == 1


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 30))
def test_corrections_equal_scipy(seed, m):
    rng = np.random.default_rng(seed)
    p = np.concatenate([np.round(rng.random(m) ** 3, 2), [np.nan]])
    assert np.allclose(corrected(p, "fdr")[:-1], stats.false_discovery_control(p[:-1]), rtol=1e-12)
    assert np.allclose(corrected(p, "fwe")[:-1], np.minimum(1, m * p[:-1]))
    assert np.array_equal(corrected(p, "fpr"), p, equal_nan=True)
    assert np.isnan(corrected(p, "fdr")[-1]) and np.isnan(corrected(p, "fwe")[-1])


@pytest.mark.parametrize("dependent", [False, True], ids=["independent labels", "dependent labels"])
def test_p_values_are_uniform_under_the_null(dependent):
    """6000 features that have nothing to do with five labels: p-values of one label are uniform,
    combined ones are right in the tail, which is where they are used, whatever the dependence of
    the labels."""
    rng = np.random.default_rng(5)
    n, q = 1500, 5
    common = rng.random((n, 1)) if dependent else 0.0
    y = ((1 - 0.8 * dependent) * rng.random((n, q)) + 0.8 * common < 0.4).astype(float)
    p = np.concatenate([p_values(rng.integers(0, 4, (n, 1000)), y, 4)[0] for _ in range(6)])
    assert stats.kstest(p[:, 0], "uniform").pvalue > 0.001
    for level in (0.01, 0.05):
        rate = (combine(p, n=n) <= level).mean()
        assert 0.75 * level <= rate <= 1.25 * level, (level, rate)
        assert (combine(p, "bonferroni") <= level).mean() <= 1.25 * level


def test_the_false_discovery_rate_is_kept():
    """40 runs, 30 of 200 features depend on a label: at fdr 0.1 the mean share of false ones is at
    most 1.2 · 0.1, and nearly all that matter are found; fwe keeps a false one in few runs."""
    rng = np.random.default_rng(6)
    shares, power, any_false = [], [], 0
    for _ in range(40):
        y = (rng.random((600, 3)) < 0.35).astype(float)
        codes = rng.integers(0, 3, (600, 200))
        told = rng.random((600, 30)) < 0.3
        codes[:, :30] = np.where(told, 2 * y[:, rng.integers(0, 3, 30)], codes[:, :30])
        p = combine(p_values(codes, y, 3)[0], n=600)
        kept = corrected(p, "fdr") <= 0.1
        shares.append(kept[30:].sum() / max(1, kept.sum()))
        power.append(kept[:30].mean())
        any_false += bool((corrected(p, "fwe")[30:] <= 0.05).any())
    assert np.mean(shares) <= 0.12 and np.mean(power) >= 0.8, (np.mean(shares), np.mean(power))
    assert any_false <= 6
