"""Informations less what they are by chance: against scikit-learn's `expected_mutual_information`,
margins and all."""

from __future__ import annotations

import time
import warnings
from math import comb, log

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.discretise import discretise
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

import spark_mlfs
from spark_mlfs import pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.errors import ParameterError
from spark_mlfs.kernels import chance
from spark_mlfs.select import Constraints

N, WIDTH, LABELS = 140, 9, 4


def corrected(a, b):
    """I − E[I] of two columns of codes, in nats; rows where either is NaN left out."""
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known].astype(int), b[known].astype(int)
    table = contingency_matrix(a, b, sparse=True, dtype=np.int64)
    return mutual_info_score(a, b) - expected_mutual_information(table, len(a))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(N, WIDTH))
    x[:, 4] = rng.random(N) < 0.06
    x[:, 5] = np.round(np.exp(2 * x[:, 5]))
    y = (x[:, :LABELS] + rng.normal(size=(N, LABELS)) > 0.3).astype(float)
    return x, y


def scores(x, y, method="mim", **further):
    got = spark_mlfs.rank(x, y, method, None, bias_correction="chance", **further)
    out = np.zeros(x.shape[1])
    out[got["index"]] = got["relevance"]
    return out


def naive(x, y, bins=5):
    codes = discretise(x, bins).astype(float)
    return np.array(
        [
            [corrected(codes[:, f], y[:, label]) for label in range(y.shape[1])]
            for f in range(x.shape[1])
        ]
    )


def test_a_cell_by_the_formula_itself():
    """Eq. 24a with whole numbers, where every term can be written down."""
    for n, a, p in [(2, 1, 1), (7, 3, 2), (30, 11, 25), (60, 59, 1)]:
        mean = a * p / n
        terms = [
            (comb(a, k) * comb(n - a, p - k) / comb(n, p), k)
            for k in range(max(0, a + p - n), min(a, p) + 1)
        ]
        want = sum(share * ((k * log(k / mean) if k else 0) - k + mean) for share, k in terms)
        assert chance.expected(n, np.array([a]), np.array([p]))[0] == pytest.approx(want, abs=1e-13)
    assert chance.expected(9, np.array([0, 9, 4]), np.array([3, 2, 9])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [3, 50, 2000, 60_000])
def test_expected_information_of_any_margins(n):
    rng = np.random.default_rng(n)
    for _ in range(8):
        a, b = (rng.multinomial(n, rng.dirichlet(np.ones(k) * 0.6)) for k in (5, 4))
        rows = np.repeat(np.arange(5), a), rng.permutation(np.repeat(np.arange(4), b))
        want = expected_mutual_information(
            contingency_matrix(*rows, sparse=True, dtype=np.int64), n
        )
        code, label = np.repeat(a, 4), np.tile(b, 5)
        assert chance.expected(n, code, label).sum() / n == pytest.approx(want, abs=1e-12)
        first = chance.expected(n, a, np.full(5, b[0]), both=True).sum()
        alone = (
            chance.expected(n, a, np.full(5, b[0])).sum()
            + chance.expected(n, a, np.full(5, n - b[0])).sum()
        )
        assert first == pytest.approx(alone, rel=1e-9, abs=1e-12)


def test_both_ways_agree_where_they_meet(monkeypatch):
    rng = np.random.default_rng(0)
    for n in (2000, 300_000):
        a, p = rng.integers(0, n + 1, (2, 500))
        found = chance.expected(n, a, p, both=True)
        monkeypatch.setattr(chance, "SMALL", 1e9)
        np.testing.assert_allclose(found, chance.expected(n, a, p, both=True), atol=1e-15 * n)
        monkeypatch.undo()
        one = [
            chance.expected(n, a[i : i + 1], p[i : i + 1], both=True)[0] for i in range(0, 500, 50)
        ]
        assert np.array_equal(found[::50], one)  # whatever is computed beside it


def test_mim_is_the_sum_over_the_labels(table):
    x, y = table
    np.testing.assert_allclose(scores(x, y), naive(x, y).sum(axis=1), atol=1e-9)
    thin = np.where(np.random.default_rng(1).random(x.shape) < 0.7, 0, np.round(np.abs(x)))
    np.testing.assert_allclose(
        scores(sp.csr_matrix(thin), y), naive(thin, y).sum(axis=1), atol=1e-9
    )
    np.testing.assert_array_equal(scores(thin, y), scores(sp.csr_matrix(thin), y))
    np.testing.assert_allclose(scores(x, y, num_bins=40), naive(x, y, 40).sum(axis=1), atol=1e-9)
    np.testing.assert_array_equal(scores(x, 1 - y), scores(x, y))  # a label and its complement


def test_unknown_labels_are_left_out_label_by_label_and_labels_may_weigh(table):
    x, y = table
    gaps = y.copy()
    gaps[np.random.default_rng(2).random(y.shape) < 0.2] = np.nan
    np.testing.assert_allclose(scores(x, gaps), naive(x, gaps).sum(axis=1), atol=1e-9)
    weights = [0.5, 2, 1, 3]
    np.testing.assert_allclose(
        scores(x, y, label_weights=weights), naive(x, y) @ weights, atol=1e-9
    )


def test_label_powerset(table):
    x, y = table
    _, sets = np.unique(y, axis=0, return_inverse=True)
    want = naive(x, sets.reshape(-1, 1).astype(float))[:, 0]
    np.testing.assert_allclose(scores(x, y, label_coding="lp"), want, atol=1e-9)
    np.testing.assert_allclose(
        scores(x, y, "ppt-cmi", criterion="mim", min_count=1), want, atol=1e-9
    )
    thin = np.where(np.random.default_rng(1).random(x.shape) < 0.7, 0, np.round(np.abs(x)))
    want = naive(thin, sets.reshape(-1, 1).astype(float))[:, 0]
    np.testing.assert_allclose(scores(sp.csr_matrix(thin), y, label_coding="lp"), want, atol=1e-9)


@pytest.mark.parametrize("thin", [False, True])
def test_mrmr_corrects_relevance_and_redundancy(table, thin):
    x, y = table
    x = (
        np.where(np.random.default_rng(1).random(x.shape) < 0.7, 0, np.round(np.abs(x)))
        if thin
        else x
    )
    relevance, codes = naive(x, y).mean(axis=1), discretise(x, 5).astype(float)
    between = np.array(
        [[corrected(codes[:, f], codes[:, s]) for s in range(WIDTH)] for f in range(WIDTH)]
    )
    picks, gains = [int(relevance.argmax())], [relevance.max()]
    while len(picks) < 5:
        value = relevance - between[:, picks].mean(axis=1)
        value[picks] = -np.inf
        picks, gains = [*picks, int(value.argmax())], [*gains, value.max()]
    got = spark_mlfs.rank(sp.csr_matrix(x) if thin else x, y, "mrmr", 5, bias_correction="chance")
    assert list(got["index"]) == picks
    np.testing.assert_allclose(got["score"], gains, atol=1e-9)


def test_weights_that_are_whole_numbers_are_repeated_rows(table):
    x, y = table
    weights = np.random.default_rng(4).integers(0, 4, N)
    rows = np.repeat(np.arange(N), weights)
    for p in ({}, {"label_coding": "lp"}):
        np.testing.assert_array_equal(
            scores(x, y, sample_weight=weights, **p), scores(x[rows], y[rows], **p)
        )
    with pytest.raises(
        ParameterError,
        match="bias_correction='chance', which counts rows, takes weights that are whole numbers",
    ):
        scores(x, y, sample_weight=weights / 4)


def test_noise_of_a_thousand_values_ranks_below_every_planted_feature():
    rng = np.random.default_rng(6)
    x = (rng.random((1000, 12)) < 0.3).astype(float)
    y = (x[:, :3].astype(bool) ^ (rng.random((1000, 3)) < 0.3)).astype(
        float
    )  # a label for each of three
    x[:, 11] = rng.permutation(1000)
    frame = pd.DataFrame(
        x, columns=[*("planted_0", "planted_1", "planted_2"), *(f"noise_{j}" for j in range(9))]
    )
    plain = spark_mlfs.rank(frame, y, "mim", None, num_bins=250)
    assert plain["name"][0] == "noise_8"  # by the number of its values alone
    got = spark_mlfs.rank(frame, y, "mim", None, num_bins=250, bias_correction="chance")
    assert {*got["name"][:3]} == {"planted_0", "planted_1", "planted_2"}
    assert got.set_index("name")["score"]["noise_8"] < 0.25 * got["score"][2]
    shuffled = [scores(x, rng.permutation(y), num_bins=250)[11] for _ in range(40)]
    assert abs(np.mean(shuffled)) < 3 * np.std(shuffled) / np.sqrt(
        40
    )  # the mean over permutations is 0


def test_a_group_of_features_is_corrected_as_one(table):
    x, y = table
    held_to = Constraints.of({"groups": {"g": [0, 1]}})
    request = pipeline.Request.of(
        "mim", {"num_bins": 3, "bias_correction": "chance"}, None, constraints=held_to
    )
    codes = discretise(x, 3)
    both = (codes[:, 0] * 3 + codes[:, 1]).astype(float)
    want = sum(corrected(both, y[:, label]) for label in range(LABELS))
    assert pipeline.rank(pack_arrays(x, y)[0], [request])[0].scores.joint["g"] == pytest.approx(
        want, abs=1e-9
    )


@pytest.mark.parametrize(
    ("method", "p", "said"),
    [
        *((name, {}, "must be one of 'none', 'miller-madow', not 'chance'") for name in ("jmi", "cmi", "scls", "enm", "igmf")),
        ("mrmr", {"scheme": "quotient"}, "give scheme='difference'"),
        ("ppt-cmi", {}, "give criterion='mim'"),
        ("ppt-cmi", {"criterion": "mim", "estimator": "knn"}, "estimator='plug-in'"),
        ("mim", {"label_noise": [0.1, 0.1]}, "label_noise goes with bias_correction='none'"),
    ],
)  # fmt: skip
def test_other_criteria_refuse(table, method, p, said):
    with pytest.raises(ParameterError) as error:
        spark_mlfs.rank(*table, method, bias_correction="chance", **p)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_many_sparse_features_and_labels_take_seconds():
    """6,000 × 200: distinct counts decide, not pairs of features and labels."""
    rng = np.random.default_rng(0)
    n, d, q = 6000, 6000, 200
    x = sp.csr_matrix(
        (np.ones(n * 20), rng.zipf(1.3, n * 20) % d, np.arange(0, n * 20 + 1, 20)), (n, d)
    )
    x.sum_duplicates()
    x.data[:] = 1
    y = sp.csr_matrix(
        (np.ones(n * 3), rng.zipf(1.5, n * 3) % q, np.arange(0, n * 3 + 1, 3)), (n, q)
    )
    y.sum_duplicates()
    y.data[:] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        spark_mlfs.rank(x, y, "mim", 100)
        plain = time.process_time() - started
        got = spark_mlfs.rank(x, y, "mim", 100, bias_correction="chance")
    assert time.process_time() - started - plain < 10 + 3 * plain
    f = int(got["index"][0])
    column = x[:, [f]].toarray().ravel()
    want = sum(corrected(column, y[:, [label]].toarray().ravel()) for label in range(q))
    assert got["score"][0] == pytest.approx(want, abs=1e-9)
