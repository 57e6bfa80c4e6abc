"""The information-theoretic and moment oracles against scikit-learn, SciPy, hand-worked tables and
identities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.feature_selection import f_classif
from sklearn.feature_selection._mutual_info import _compute_mi_cd
from sklearn.metrics import mutual_info_score

from oracles import information as info
from oracles.discretise import constant_columns, discretise
from oracles.loader import load
from oracles.moments import f_statistic, fisher

SIZES = {
    "emotions": (593, 72, 6, 27),
    "scene": (2407, 294, 6, 15),
    "yeast": (2417, 103, 14, 198),
    "enron": (1702, 1001, 53, 753),
    "birds": (645, 260, 19, 133),
    "flags": (194, 19, 7, 54),
    "corel5k": (5000, 499, 374, 3175),
    "slashdot": (3782, 1079, 22, 156),
    "tmc2007-500": (28596, 500, 22, 1341),
    "rcv1sub1": (6000, 47236, 101, 1028),
}


@pytest.fixture(scope="module")
def emotions(data_dir):
    x, y, _, _ = load("emotions", data_dir)
    return x, y, discretise(x)


@pytest.fixture(scope="module")
def small():
    """150 rows, 7 features of 1 to 4 values (one constant, one a copy), 4 dependent labels."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 4, (150, 7))
    codes[:, 2] //= 2
    codes[:, 4] = 0
    codes[:, 6] = codes[:, 1]
    causes = [(0, 1, 3), (1, 3, 4), (2, 5, 2)]
    y = np.column_stack(
        [codes[:, a] + codes[:, b] + rng.integers(0, 3, 150) > t for a, b, t in causes]
    )
    return codes, np.column_stack([y, y[:, 0] ^ (rng.random(150) < 0.2)]).astype(int)


def mi(a, b):
    """A second way to I(a; b): Σ p log(p/(p p))."""
    table = stats.contingency.crosstab(a, b).count / len(a)
    outer = np.outer(table.sum(axis=1), table.sum(axis=0))
    return (table[table > 0] * np.log((table / outer)[table > 0])).sum()


def conditional_mi(a, b, given):
    """A second way to I(a; b | given): the weighted mean of I(a; b) within the values."""
    return sum(np.mean(given == g) * mi(a[given == g], b[given == g]) for g in np.unique(given))


def pair(a, b):
    return a * 100 + b


# Data and bins ----


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_the_reader_finds_the_published_sizes(data_dir, name):
    x, y, features, labels = load(name, data_dir)
    assert (*x.shape, y.shape[1], len(np.unique(y, axis=0))) == SIZES[name]
    assert (len(features), len(labels)) == (x.shape[1], y.shape[1])
    assert set(np.unique(y)) <= {0, 1}


def test_the_reader_keeps_the_order_of_the_file_and_indexes_nominal_values(data_dir):
    x, y, features, labels = load("flags", data_dir)
    assert (
        features[:3] == ["landmass", "zone", "area"]
        and labels[0] == "red"
        and labels[-1] == "orange"
    )
    # the first row reads 5,1,648,…: category 5 of {1,…,6} has index 4
    assert x[0, :3].tolist() == [4, 0, 648] and y[0].tolist() == [1, 1, 0, 1, 1, 1, 0]
    assert load("birds", data_dir)[3][10] == "Swainson's Thrush"
    assert load("yeast", data_dir)[3] == [f"Class{i}" for i in range(1, 15)]


def test_bins_by_hand():
    column = np.array([[0.0], [1.9], [2.0], [9.99], [10.0]])
    assert discretise(column)[:, 0].tolist() == [0, 0, 1, 4, 4]
    # inner quantiles at .25, .5, .75 of 0 0 0 4 8 are 0, 0, 4: two distinct, strictly below
    assert discretise(np.array([[0.0], [0], [0], [4], [8]]), 4, "quantile")[:, 0].tolist() == [
        0,
        0,
        0,
        1,
        2,
    ]
    assert discretise(np.array([[0.0], [1], [1]]), 2, "quantile")[:, 0].tolist() == [0, 1, 1]
    assert discretise(np.full((3, 1), 7.0))[:, 0].tolist() == [0, 0, 0]
    # the order of operations: (0.3 · 10)/1 is 3, but 0.3/(1/10) is 2.9999999999999996
    assert discretise(np.array([[0.0], [0.3], [1.0]]), 10)[1, 0] == 3
    assert constant_columns(np.array([[1.0, 2], [1, 3]])).tolist() == [True, False]


# Entropies ----


def test_entropies_by_hand():
    a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    assert info.joint_entropy(a) == pytest.approx(math.log(2), abs=1e-15)
    assert info.joint_entropy(a, b) == pytest.approx(math.log(4), abs=1e-15)
    assert info.mutual_information(a, b) == 0
    assert info.conditional_mutual_information(a, b, a ^ b) == pytest.approx(math.log(2), abs=1e-15)
    assert info.joint_entropy(np.array([0, 0, 0, 1])) == pytest.approx(
        2 * math.log(2) - 0.75 * math.log(3), abs=1e-15
    )
    # Miller–Madow: H + (cells − 1)/2n; so I gains (2 − 1 + 2 − 1 − 4 + 1)/8
    assert info.joint_entropy(a, miller_madow=True) == pytest.approx(math.log(2) + 1 / 8)
    assert info.mutual_information(a, b, miller_madow=True) == pytest.approx(-1 / 8)
    assert info.conditional_mutual_information(a, b, a ^ b, miller_madow=True) == pytest.approx(
        math.log(2) + (3 + 3 - 3 - 1) / 8
    )


def test_mutual_information_equals_scikit_learn(emotions):
    _, y, codes = emotions
    each = info.per_target(codes, y)
    lp = info.target_codes(y, "lp")[:, 0]
    powerset = info.mim(codes, y, "lp").scores
    for f in range(0, codes.shape[1], 5):
        np.testing.assert_allclose(
            each[f], [mutual_info_score(codes[:, f], t) for t in y.T], rtol=0, atol=1e-13
        )
        assert powerset[f] == pytest.approx(mutual_info_score(codes[:, f], lp), abs=1e-13)
        assert info.mutual_information(codes[:, f], lp) == pytest.approx(powerset[f], abs=1e-13)
    assert (powerset[:, None] >= each - 1e-12).all()


@pytest.mark.parametrize("corrected", [False, True])
def test_tables_and_columns_give_the_same_estimates(small, corrected):
    codes, y = small
    each = info.per_target(codes, y, corrected)
    given = codes[:, [0, 2, 5]]
    on_set = info.conditional_on_set(codes, y, given, corrected)
    for f in range(codes.shape[1]):
        for t in range(y.shape[1]):
            assert each[f, t] == pytest.approx(
                info.mutual_information(codes[:, f], y[:, t], corrected), abs=1e-13
            )
            want = info.conditional_mutual_information(
                codes[:, f], y[:, t], list(given.T), corrected
            )
            assert on_set[f, t] == pytest.approx(want, abs=1e-13)
            if not corrected:
                joint = np.unique(given, axis=0, return_inverse=True)[1].ravel()
                assert on_set[f, t] == pytest.approx(
                    conditional_mi(codes[:, f], y[:, t], joint), abs=1e-13
                )


# The ranking rules ----


def test_score_rules():
    scores = [1.0, 5.0, 1.0 + 1e-10, 9.0, -2.0]
    got = info.rank_by_score(scores, [False, False, False, True, False])
    assert got.ranking.tolist() == [1, 0, 2, 4, 3] and got.scores[3] == -2.0
    assert info.rank_by_score([3.0, 1.0], [False, True]).scores.tolist() == [3.0, 0.0]
    assert info.rank_by_score([1.0, 1.0 + 1e-7], [False, False]).ranking.tolist() == [1, 0]


def test_greedy_rules():
    first = np.array([1.0, 2.0, 2.0 + 1e-11, 0.5, 1.0, 0.0])
    constant = np.array([False] * 5 + [True])
    got = info.greedy(first, lambda picked: -first, constant, 2)
    # 1 and 2 are equal at the first pick; then 3; 2 leads the rest, 0 before 4 by index, the
    # constant last
    assert got.ranking.tolist() == [1, 3, 2, 0, 4, 5]
    assert got.scores.tolist() == [3, 6, 4, 5, 2, 0]
    assert got.gains.tolist() == [2.0, -0.5]


# The information methods ----


@pytest.mark.parametrize("labels", ["br", "lp"])
def test_jmi_from_scratch(small, labels):
    codes, y = small
    got = info.jmi(codes, y, labels, 4)
    targets = info.target_codes(y, labels).T

    def criterion(f, picked):
        joint = [pair(codes[:, f], codes[:, s]) for s in picked] if picked else [codes[:, f]]
        return sum(mi(j, t) for j in joint for t in targets)

    check_greedy(got, codes, criterion)


@pytest.mark.parametrize("labels", ["br", "lp"])
def test_cmi_from_scratch(small, labels):
    codes, y = small
    got = info.cmi(codes, y, labels)
    targets = info.target_codes(y, labels).T

    def criterion(f, s):
        given = (
            np.unique(codes[:, s], axis=0, return_inverse=True)[1].ravel()
            if s
            else np.zeros(len(codes), int)
        )
        return sum(conditional_mi(codes[:, f], t, given) for t in targets)

    check_greedy(got, codes, criterion)
    # the stop: nothing left adds; a copy of a picked feature adds 0
    picked = list(got.ranking[: len(got.gains)])
    assert len(picked) < 6 and {1, 6} - set(picked) == {6}
    assert max(criterion(f, picked) for f in range(7)) < 1e-10
    assert criterion(6, [1]) == pytest.approx(0, abs=1e-14)


def test_cmi_fills_by_mim_when_it_stops(emotions):
    _, y, codes = emotions
    got, by_mim = info.cmi(codes, y), info.mim(codes, y).ranking
    stop = len(got.gains)
    assert 5 < stop < 20 and (got.gains >= 1e-10).all()
    assert got.ranking[stop:].tolist() == [f for f in by_mim if f not in set(got.ranking[:stop])]


def check_greedy(got, codes, criterion):
    """Every pick is best by a criterion(f, picked) computed from scratch, and its gain is that
    value."""
    picked = []
    constant = (codes == codes[0]).all(axis=0)
    for place, gain in enumerate(got.gains):
        values = {
            f: criterion(f, picked)
            for f in range(codes.shape[1])
            if not constant[f] and f not in picked
        }
        pick = got.ranking[place]
        assert gain == pytest.approx(values[pick], abs=1e-12)
        assert pick == min(f for f, v in values.items() if v >= max(values.values()) - 1e-10)
        picked.append(int(pick))
    assert len(picked) > 1
    assert got.ranking[-1] == 4 and got.scores[4] == 0  # the constant feature
    assert sorted(got.ranking) == list(range(codes.shape[1]))


def co(a, b, c):
    return mi(a, b) - conditional_mi(a, b, c)


def formulas(codes, y):
    """Criteria written feature by feature, from the second way to I."""
    labels = list(y.T)
    ordered = [(a, b) for i, a in enumerate(labels) for j, b in enumerate(labels) if i != j]
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :]]
    c = codes.T

    def r(f):
        return sum(mi(c[f], t) for t in labels)

    def z(f, s):
        return sum(co(c[f], c[p], t) for p in s for t in labels)

    def mean(terms):
        return np.mean(terms) if terms else 0.0

    return {
        "d2f": lambda f, s: r(f) - z(f, s),
        "pmu": lambda f, s: r(f) - z(f, s) - sum(co(c[f], a, b) for a, b in pairs),
        "mdmr": lambda f, s: (
            r(f)
            - mean([mi(c[f], c[p]) - sum(conditional_mi(c[f], t, c[p]) for t in labels) for p in s])
        ),
        "scls": lambda f, s: r(f) * (1 - sum(mi(c[f], c[p]) for p in s) / info.joint_entropy(c[f])),
        "lrfs": lambda f, s: (
            sum(conditional_mi(c[f], b, a) for a, b in ordered) - mean([mi(c[f], c[p]) for p in s])
        ),
    }


@pytest.mark.parametrize("method", ["d2f", "pmu", "mdmr", "scls", "lrfs"])
def test_interaction_filters_from_scratch(small, method):
    codes, y = small
    check_greedy(getattr(info, method)(codes, y, 4), codes, formulas(codes, y)[method])


def test_jmi_is_picks_times_relevance_minus_interaction_plus_a_constant(emotions):
    _, y, codes = emotions
    picked = [4, 57, 23]
    r = info.per_target(codes, y).sum(axis=1)
    z = sum(info.co_with_picked(codes, y, s).sum(axis=1) for s in picked)
    joint = [[pair(codes[:, f], codes[:, s]) for s in picked] for f in range(20)]
    scratch = np.array(
        [sum(mutual_info_score(p, t) for p in pairs for t in y.T) for pairs in joint]
    )
    np.testing.assert_allclose(scratch - (3 * r - z)[:20], r[picked].sum(), atol=1e-12)


def test_co_is_symmetric_in_its_three_variables(small):
    codes, y = small
    a, b, c = codes[:, 0], codes[:, 1], y[:, 0]
    assert (
        co(a, b, c)
        == pytest.approx(co(c, a, b), abs=1e-13)
        == pytest.approx(co(b, c, a), abs=1e-13)
    )
    assert info.co_with_picked(codes, y, 1)[0, 0] == pytest.approx(co(a, b, c), abs=1e-13)


def test_filters_by_score(small):
    codes, y = small
    each = np.array([[mi(f, t) for t in y.T] for f in codes.T])
    varying = [0, 1, 2, 3, 5, 6]
    np.testing.assert_allclose(info.enm(codes, y).scores, np.linalg.norm(each, axis=1), atol=1e-13)
    one_valued = np.column_stack([y, np.zeros(len(y), int)])
    for target in (y, one_valued):
        np.testing.assert_allclose(
            info.gmm(codes, target).scores[varying], stats.gmean(each[varying], axis=1), rtol=1e-10
        )
    np.testing.assert_allclose(info.mim(codes, one_valued).scores, each.sum(axis=1), atol=1e-13)
    h = [info.joint_entropy(t) for t in y.T]
    a, b = sorted(np.argsort(np.negative(h))[:2])
    want = [each[f].sum() - co(codes[:, f], y[:, a], y[:, b]) for f in range(7)]
    np.testing.assert_allclose(
        info.fimf(codes, y, num_labels=2).scores[varying], np.array(want)[varying], atol=1e-13
    )
    # all labels: R − Q, which is also the first gain of pmu
    best = info.pmu(codes, y, 1)
    assert info.fimf(codes, y).scores[best.ranking[0]] == pytest.approx(best.gains[0], abs=1e-13)


def test_labels_of_equal_entropy_go_by_index(small):
    codes, y = small
    a = y[:, 1]
    shuffled = 1 - np.random.default_rng(1).permutation(
        a
    )  # the complement's count: the same entropy, rounding aside
    b = (np.arange(len(a)) % 2) ^ (codes[:, 0] > 2)
    labels = np.column_stack([a, shuffled, b])
    h = [info.joint_entropy(t) for t in labels.T]
    assert h[0] == pytest.approx(h[1], abs=1e-14) and h[2] > h[0] + 1e-3
    want = [sum(mi(codes[:, f], t) for t in labels.T) - co(codes[:, f], a, b) for f in range(4)]
    np.testing.assert_allclose(info.fimf(codes, labels, num_labels=2).scores[:4], want, atol=1e-13)


def test_miller_madow_moves_mim_by_the_cell_counts(small):
    codes, y = small
    n = len(y)
    cells = np.array([[len(np.unique(pair(f, t))) for t in y.T] for f in codes.T])
    values = np.array([len(np.unique(f)) for f in codes.T])[:, None]
    shift = ((values - 1) + (2 - 1) - (cells - 1)) / (2 * n)
    got = info.mim(codes, y, constant=np.zeros(7, bool), miller_madow=True).scores
    np.testing.assert_allclose(got, (info.per_target(codes, y) + shift).sum(axis=1), atol=1e-13)


# Chi-squared ----


def test_chi2_by_hand_and_by_scipy(emotions):
    _, y, codes = emotions
    hand = info.chi2(
        np.repeat([[0], [1]], [4, 6], axis=0), np.repeat([[0], [1], [0], [1]], [3, 1, 1, 5], axis=0)
    )
    # O = 3 1 1 5, E = 1.6 2.4 2.4 3.6
    assert hand.scores[0] == pytest.approx(1.96 * (1 / 1.6 + 2 / 2.4 + 1 / 3.6))
    some = range(0, 72, 7)
    by_label = np.array([[chi2_of(codes[:, f], t) for t in y.T] for f in some])
    for aggregate in ("sum", "mean", "max"):
        got = info.chi2(codes, y, "br", aggregate).scores[list(some)]
        np.testing.assert_allclose(got, getattr(by_label, aggregate)(axis=1), rtol=1e-12)
        lp = info.chi2(codes, y, "lp", aggregate).scores[list(some)]
        np.testing.assert_allclose(
            lp, [chi2_of(codes[:, f], info.target_codes(y, "lp")[:, 0]) for f in some], rtol=1e-12
        )


def chi2_of(a, b):
    return stats.chi2_contingency(
        stats.contingency.crosstab(a, b).count, correction=False
    ).statistic


def test_two_by_two_chi2_is_n_r_squared(emotions):
    x, y, _ = emotions
    codes = (x > np.median(x, axis=0)).astype(int)
    r = np.corrcoef(codes.T, y.T)[:72, 72:]
    np.testing.assert_allclose(info.chi2(codes, y).scores, len(y) * (r**2).sum(axis=1), rtol=1e-10)


def test_chi2_skips_empty_expectations_and_means_over_the_labels_that_vary(small):
    codes, y = small
    wider = np.column_stack([y, np.zeros(len(y), int)])
    np.testing.assert_allclose(
        info.chi2(codes, wider, aggregate="mean").scores * 4, info.chi2(codes, y).scores
    )
    assert info.chi2(codes, y).scores[4] == 0


# Unknown labels ----


def test_unknown_labels_are_left_out_label_by_label(emotions):
    _, y, codes = emotions
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(y.shape) < 0.3, np.nan, y)
    f = 4
    known = [~np.isnan(t) for t in holes.T]
    assert info.mim(codes, holes).scores[f] == pytest.approx(
        sum(mutual_info_score(codes[k, f], t[k]) for k, t in zip(known, y.T, strict=True)),
        abs=1e-12,
    )
    assert info.chi2(codes, holes).scores[f] == pytest.approx(
        sum(chi2_of(codes[k, f], t[k]) for k, t in zip(known, y.T, strict=True)), rel=1e-12
    )
    got = info.jmi(codes, holes, num_features=2)
    a, b = got.ranking[:2]
    joint = pair(codes[:, a], codes[:, b])
    want = sum(mutual_info_score(joint[k], t[k]) for k, t in zip(known, y.T, strict=True))
    assert got.gains[1] == pytest.approx(want, abs=1e-12)
    full = info.jmi(codes, y.astype(float), num_features=5)
    assert full.ranking.tolist() == info.jmi(codes, y, num_features=5).ranking.tolist()


# Pruned problem transformation and the kNN estimator ----


def test_pruning_keeps_the_frequent_labelsets():
    y = np.array([[0, 0], [1, 0], [0, 0], [1, 1], [1, 0]])
    rows, classes = info.pruned(y, 2)
    assert rows.tolist() == [True, True, True, False, True] and classes.tolist() == [0, 1, 0, 1]
    assert info.pruned(y, 1)[0].all()


def test_ppt_is_cmi_and_mim_of_the_pruned_class(emotions):
    _, y, codes = emotions
    rows, classes = info.pruned(y, 6)
    assert 0 < (~rows).sum() < 100
    want = [mutual_info_score(codes[rows, f], classes) for f in range(72)]
    np.testing.assert_allclose(info.ppt_cmi(codes, y, criterion="mim").scores, want, atol=1e-13)
    got = info.ppt_cmi(codes, y, num_features=3)
    a, b, _ = got.ranking[:3]
    assert got.gains[0] == pytest.approx(max(want), abs=1e-13)
    assert got.gains[1] == pytest.approx(
        conditional_mi(codes[rows, b], classes, codes[rows, a]), abs=1e-12
    )


def test_ross_equals_scikit_learn_and_rounding_makes_it_scale_free(emotions):
    """On emotions as integers (its six decimals times 10⁶) distances are exact and the two
    estimators are equal.

    On the raw decimals equal distances differ in the last bit, so "strictly nearer" is decided by
    noise (up to 1e-3 in scikit-learn, .06 on standardised features): rounding distances to 10
    decimals restores the exact answer."""
    x, y, _ = emotions
    exact = np.round(x * 1e6)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    for min_count in (6, 1):
        rows, classes = info.pruned(y, min_count)
        for f in range(0, 72, 12):
            want = _compute_mi_cd(exact[rows, f], classes, 6)
            assert info.ross_estimate(
                info.distances(exact[rows, f], None), classes, 6
            ) == pytest.approx(want, abs=1e-12)
            assert info.ross_estimate(info.distances(z[rows, f]), classes, 6) == pytest.approx(
                want, abs=1e-12
            )
    ties, label = np.round(x[:, 4] * 20), y[:, 0]
    assert info.ross_estimate(info.distances(ties), label, 3) == pytest.approx(
        _compute_mi_cd(ties, label, 3), abs=1e-12
    )


def test_ross_by_hand():
    """x = 0 1 4 | 6 8, k = 1: radii 1 1 3 2 2, strictly nearer with self 1 1 2 1 1."""
    psi = {
        1: -np.euler_gamma,
        2: 1 - np.euler_gamma,
        3: 1.5 - np.euler_gamma,
        5: 25 / 12 - np.euler_gamma,
    }
    want = psi[5] + psi[1] - (3 * psi[3] + 2 * psi[2]) / 5 - (4 * psi[1] + psi[2]) / 5
    got = info.ross_estimate(
        info.distances(np.array([0.0, 1, 4, 6, 8])), np.array([0, 0, 0, 1, 1]), 1
    )
    assert got == pytest.approx(want, abs=1e-12)
    assert got > 0
    # a sixth row, alone in its class, changes nothing
    assert (
        info.ross_estimate(
            info.distances(np.array([0.0, 1, 4, 6, 8, 2])), np.array([0, 0, 0, 1, 1, 2]), 1
        )
        == got
    )


def test_knn_ranking_and_its_joint_form(emotions):
    x, y, _ = emotions
    x = x[:, :8]
    rows, classes = info.pruned(y, 6)
    got = info.ppt_knn(x, y, criterion="mim")
    want = [_compute_mi_cd(column, classes, 6) for column in np.round(x[rows] * 1e6).T]
    np.testing.assert_allclose(got.scores, want, atol=1e-12)
    path = info.ppt_knn(x, y, num_features=3)
    z = ((x - x.mean(axis=0)) / x.std(axis=0))[rows]
    assert path.gains[0] == got.scores.max()
    for size in (2, 3):
        held = list(path.ranking[: size - 1])
        each = [
            info.ross_estimate(pair_distance(z[:, [*held, f]]), classes, 6)
            for f in range(8)
            if f not in held
        ]
        assert path.gains[size - 1] == pytest.approx(max(each), abs=1e-12)


def pair_distance(z):
    """Maximum norm over the columns."""
    return np.round(np.abs(z[:, None] - z[None]).max(axis=2), 10)


# Moments ----


def test_f_statistic_of_disjoint_labels_is_analysis_of_variance(emotions):
    x, y, _ = emotions
    one = np.eye(6, dtype=int)[y.argmax(axis=1)]
    want = f_classif(x, one.argmax(axis=1))[0]
    np.testing.assert_allclose(f_statistic(x, one).scores, want, rtol=1e-9)


def test_f_statistic_of_overlapping_labels_by_hand():
    x, y = np.array([[0.0], [1], [2], [5]]), np.array([[1, 0], [1, 1], [0, 1], [0, 0]])
    # means .5 and 1.5, centre 1: Sb = 2·.25 + 2·.25 = 1, Sw = .5 + .5 = 1, factor (4 − 2)/(2 − 1)
    assert f_statistic(x, y).scores[0] == pytest.approx(2.0)


def test_fisher_br_is_r_squared_over_its_complement(emotions):
    x, y, _ = emotions
    r2 = np.corrcoef(x.T, y.T)[:72, 72:] ** 2
    np.testing.assert_allclose(fisher(x, y).scores, (r2 / (1 - r2)).mean(axis=1), rtol=1e-8)
    wider = np.column_stack([y, np.ones(len(y), int)])
    np.testing.assert_allclose(fisher(x, wider).scores, fisher(x, y).scores, rtol=1e-12)


def test_fisher_lp_is_a_rescaled_analysis_of_variance(emotions):
    x, y, _ = emotions
    sets = info.target_codes(y, "lp")[:, 0]
    n, m = len(y), sets.max() + 1
    np.testing.assert_allclose(
        fisher(x, y, "lp").scores, f_classif(x, sets)[0] * (m - 1) / (n - m), rtol=1e-9
    )


def test_fisher_overlap_by_hand():
    x, y = np.array([[0.0], [1], [2], [5]]), np.array([[1, 0], [1, 1], [0, 1], [0, 0]])
    # global mean 2: 2·1.5² + 2·.5² = 5 over .5 + .5
    assert fisher(x, y, "overlap").scores[0] == pytest.approx(5.0)


def test_separation_and_nothing_at_all():
    y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    x = np.array([[0.1, 0.1, 3], [0.1, 0.1, 3], [0.7, 0.1, 3], [0.7, 0.1, 3], [0.3, 0.9, 3]])
    got = f_statistic(x, y)
    assert got.scores[0] == pytest.approx(3e12) and got.scores[1] == 0 and got.scores[2] == 0
    assert got.ranking.tolist() == [0, 1, 2]
    assert fisher(x[:4, :1], y[:4]).scores[0] == pytest.approx(1e12)
