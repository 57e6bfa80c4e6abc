"""The tests of a change: beside proportional fitting and SciPy, and how often they are wrong where
nothing changed."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import drift as slow
from scipy import stats

from spark_mlfs.solvers import drift


def as_pairs(tables: np.ndarray) -> tuple[tuple, tuple]:
    """(known, positive) of tables (P, codes, label, window), a feature each."""
    positive = tuple(tables[:, :, 1, s][:, :, None] for s in (0, 1))
    return tuple(p + tables[:, :, 0, s][:, :, None] for s, p in enumerate(positive)), positive


def drawn(rng, pairs: int, rows: tuple[int, int], shares: list[np.ndarray]) -> np.ndarray:
    """(pairs, codes, 2, 2) tables of so many rows in each window, by the cells' shares (codes, 2)
    in each."""
    windows = [
        rng.multinomial(n, p.ravel(), pairs).reshape(pairs, *p.shape)
        for n, p in zip(rows, shares, strict=True)
    ]
    return np.stack(windows, axis=-1)


def cells(codes: np.ndarray, log_odds: np.ndarray, level: float) -> np.ndarray:
    """(codes, 2) shares of the cells: the codes' shares, and the label's log odds in each, `level`
    added."""
    have = 1 / (1 + np.exp(-(log_odds + level)))
    return np.stack([codes * (1 - have), codes * have], axis=1)


@pytest.mark.parametrize("codes", [2, 3, 5, 11])
def test_the_statistic_is_that_of_proportional_fitting(codes):
    rng = np.random.default_rng(codes)
    tables = rng.integers(12, 80, (60, codes, 2, 2)) + rng.integers(0, 3, (60, codes, 1, 1)) * 40
    tests = drift.relation_tests(*as_pairs(tables))
    assert (tests.freedom == codes - 1).all() and (tests.feature == np.arange(60)).all()
    for table, value, p in zip(tables, tests.statistic, tests.p, strict=True):
        x2, p_value = slow.interaction_test(table)
        assert value == pytest.approx(x2, rel=1e-8)
        assert p == pytest.approx(p_value, rel=1e-6)


def test_hard_fits_keep_all_margins():
    """Odds far from 1, empty cells, empty codes: the fitted tables have the margins of the
    counts."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 3000, (500, 4, 4)) * (rng.random((500, 4, 4)) < 0.6).astype(float)
    fitted = drift.fit(cells)
    assert (fitted >= 0).all()
    np.testing.assert_allclose(fitted.sum(axis=2), cells.sum(axis=2), atol=1e-6)  # code
    np.testing.assert_allclose(
        fitted[:, :, :2].sum(axis=2), cells[:, :, :2].sum(axis=2), atol=1e-6
    )  # code and label
    np.testing.assert_allclose(
        fitted[:, :, ::2].sum(axis=2), cells[:, :, ::2].sum(axis=2), atol=1e-6
    )  # code and window
    np.testing.assert_allclose(fitted.sum(axis=1), cells.sum(axis=1), atol=1e-4)  # label and window


def test_a_pair_is_tested_alike_whatever_stands_beside_it():
    rng = np.random.default_rng(3)
    tables = rng.integers(0, 60, (300, 5, 2, 2))
    whole = drift.relation_tests(*as_pairs(tables))
    parts = [drift.relation_tests(*as_pairs(tables[a : a + 7])) for a in range(0, 300, 7)]
    assert (np.concatenate([part.p for part in parts]) == whole.p).all()
    assert (
        np.concatenate([part.feature + 7 * i for i, part in enumerate(parts)]) == whole.feature
    ).all()


CODES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
SLOPE = np.array([-0.8, -0.3, 0.2, 0.6, 1.5])
EVEN = np.array([0.2, 0.2, 0.2, 0.2, 0.2])
NO_CHANGE = {  # rows of the windows; codes and level in each
    "nothing changed": ((1500, 1500), (CODES, -2.0), (CODES, -2.0)),
    "a label became commoner": ((1500, 1500), (CODES, -3.0), (CODES, -0.5)),
    "codes became commoner": ((1500, 1500), (CODES, -2.0), (EVEN, -2.0)),
    "both did, in a small window": ((8000, 700), (CODES, -2.0), (EVEN, -1.0)),
    "a label of ten rows": ((1000, 1000), (CODES, -5.0), (CODES, -5.0)),
    "two codes, one of few rows": (
        (1000, 1000),
        (np.array([0.93, 0.07]), -2.5),
        (np.array([0.93, 0.07]), -2.5),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NO_CHANGE)
def test_shifts_of_margins_alone_give_no_alarms(name):
    """p-values are at most as small as they say, far out in the tail, too."""
    rows, *windows = NO_CHANGE[name]
    shares = [cells(codes, SLOPE[-len(codes) :], level) for codes, level in windows]
    pairs = 60_000
    p = drift.relation_tests(*as_pairs(drawn(np.random.default_rng(7), pairs, rows, shares))).p
    assert name == "a label of ten rows" or len(p) > pairs / 2
    for level in (0.05, 0.01, 0.001, 1e-4):
        expected = level * max(len(p), 1)
        assert (p < level).sum() <= 1.1 * expected + 4 * np.sqrt(expected) + 1, level
    if len(p) > pairs / 2 and "two codes" not in name:
        assert (p < 0.05).mean() > 0.03  # nor is it blunt


def test_a_flip_with_equal_margins_is_found_where_psi_is_blind():
    shares = [np.array([[0.42, 0.08], [0.38, 0.12]]), np.array([[0.38, 0.12], [0.42, 0.08]])]
    tables = drawn(np.random.default_rng(1), 200, (2000, 2000), shares)
    found = drift.relation_tests(*as_pairs(tables))
    assert (found.p < 1e-4).mean() > 0.95
    assert (found.correlation[0] > 0).all() and (found.correlation[1] < 0).all()
    before, after = (tables.sum(axis=2)[:, :, s] for s in (0, 1))
    assert drift.psi(before, after, np.full(200, 2)).max() < 0.02
    assert (drift.shift_tests(before, after) < 1e-3).sum() <= 2


def test_correlations_are_pearsons():
    tables = np.random.default_rng(2).integers(10, 40, (20, 4, 2, 2))
    found = drift.relation_tests(*as_pairs(tables))
    for table, told in zip(tables, found.correlation.T, strict=True):
        for s in (0, 1):
            code, label = (
                np.repeat(grid.ravel(), table[:, :, s].ravel()) for grid in np.mgrid[0:4, 0:2]
            )
            assert told[s] == pytest.approx(np.corrcoef(code, label)[0, 1])


def test_psi_and_the_test_of_a_shift():
    rng = np.random.default_rng(5)
    before, after = rng.integers(6, 500, (40, 5)), rng.integers(6, 500, (40, 5))
    bins = np.array([5] * 20 + [3] * 20)
    before[20:, 3:] = after[20:, 3:] = 0
    got, p = drift.psi(before, after, bins), drift.shift_tests(before, after)
    for i, used in enumerate(bins):
        a, b = list(before[i, :used]), list(after[i, :used])
        assert got[i] == pytest.approx(slow.psi(a, b))
        want = stats.chi2_contingency([a, b], correction=False).pvalue
        assert p[i] == pytest.approx(want, rel=1e-6, abs=1e-290)
    assert np.isnan(drift.shift_tests(np.array([[5, 0]]), np.array([[9, 0]]))).all()


def test_too_few_rows_are_not_tested():
    few = np.full((1, 2, 2, 2), 2)
    assert len(drift.relation_tests(*as_pairs(few)).p) == 0
    none = np.full((1, 2, 2, 2), 50)
    none[:, :, 1, 0] = 0  # nobody had the label before
    assert len(drift.relation_tests(*as_pairs(none)).p) == 0
