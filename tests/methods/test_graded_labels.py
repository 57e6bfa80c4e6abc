"""Labels that are grades: against formulas on the grades as numbers, cut into labels of 0 and 1,
and who cannot take them."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import canonical
from oracles import graphs_msfs as graphs
from oracles import regression as oracle
from sklearn.feature_selection import f_regression
from sklearn.linear_model import ElasticNet, Lasso, Ridge

import spark_mlfs
from spark_mlfs import METHODS, DataError, ParameterError, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.block import Block, concatenate
from spark_mlfs.blocks.codec import encode
from spark_mlfs.blocks.grades import ONE, Grades
from spark_mlfs.blocks.profile import Profile, profile_block
from spark_mlfs.sklearn import JMISelector, RidgeSelector
from spark_mlfs.solvers import gates, walks
from spark_mlfs.statistics import gram
from spark_mlfs.statistics.base import compact
from spark_mlfs.statistics.labelsets import LabelsetCounts, LabelsetSums
from spark_mlfs.statistics.moments import GroupMoments
from spark_mlfs.statistics.targets import Everything, Labels
from spark_mlfs.testing import example, thin

GRADED = [name for name in METHODS if METHODS[name].graded]
ITS = {
    "mrmr": {"relevance": "f", "redundancy": "correlation"},
    "deepfs": {"epochs": 3},
    "msfs": {"steps": 20},
}
READ = Grades.of({"graded_labels": True})


def grades(seed=5):
    """(x, y): the example's rows, labels in whole 2⁻¹⁵ of which some are 0 or 1."""
    x, y = example(seed)
    rng = np.random.default_rng(seed)
    y = np.clip(0.4 * y + 0.25 * np.tanh(x[:, :4]) + 0.3 * rng.random(y.shape), 0, 1)
    y[rng.random(y.shape) < 0.1] = 0
    y[rng.random(y.shape) < 0.1] = 1
    return x, np.rint(y * ONE) / ONE


def scores(x, y, method, **more):
    own = (
        ITS.get(method, {}) | {"k": None, "graded_labels": True} | more
    )  # k of a method goes with method_params
    return spark_mlfs.rank(x, y, method, **own).sort_values("index")["relevance"].to_numpy()


def standard(x):
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1)


def norms(coefficients):
    return np.linalg.norm(coefficients, axis=0)


def test_which_methods_take_them():
    regressions = "ridge lasso elastic-net csfs mssl mifs rfs omfs msfs".split()
    assert set(GRADED) == {
        *regressions,
        "fastcan",
        "forward",
        "mrmr",
        "f-statistic",
        "fisher",
        "deepfs",
    }


def test_linear_methods_are_those_of_scikit_learn():
    x, y = grades()
    x = x[:, [0, 1, 2, 3, 5, 7, 8]]  # without copies and constants
    z = standard(x)
    np.testing.assert_allclose(
        scores(x, y, "ridge", alpha=3.0), norms(Ridge(alpha=3.0).fit(z, y).coef_), rtol=1e-9
    )
    raw = scores(x, y, "ridge", alpha=3.0, scaling="none")
    np.testing.assert_allclose(raw, norms(Ridge(alpha=3.0).fit(x, y).coef_), rtol=1e-9)
    lasso = np.stack(
        [Lasso(alpha=0.01, tol=1e-12, max_iter=100_000).fit(z, label).coef_ for label in y.T]
    )
    np.testing.assert_allclose(scores(x, y, "lasso"), norms(lasso), rtol=1e-6, atol=1e-9)
    net = [
        ElasticNet(alpha=0.02, l1_ratio=0.3, tol=1e-12, max_iter=100_000).fit(z, label).coef_
        for label in y.T
    ]
    np.testing.assert_allclose(
        scores(x, y, "elastic-net", alpha=0.02, rho=0.3), norms(np.stack(net)), rtol=1e-6, atol=1e-9
    )


def test_joint_methods_against_naive_ones():
    x, y = (table[:50] for table in grades())
    x = x[:, [0, 1, 2, 3, 5, 7, 8]]
    z = standard(x)
    np.testing.assert_allclose(
        scores(x, y, "csfs"), norms(oracle.csfs(z, y, 1.0)[0].T), rtol=1e-3, atol=1e-6
    )
    found = scores(x, y, "mssl", method_params={"k": 3})
    np.testing.assert_allclose(found, norms(oracle.mssl(z, y, 0.1, 1.0, 3).T), rtol=1e-3, atol=1e-6)
    W, _b = oracle.rfs_nie(z, y, 1.0, 400, 1e-8)[-1]
    np.testing.assert_allclose(scores(x, y, "rfs"), norms(W.T), rtol=1e-3, atol=1e-5)
    _, W, _, _ = oracle.mifs(z, y, np.zeros((len(x), len(x))), 1.0, 0.0, 1.0, 2, 500)
    np.testing.assert_allclose(
        scores(x, y, "mifs", beta=0.0, c=2), norms(W.T), rtol=1e-3, atol=1e-6
    )
    laplacian, _ = oracle.heat_laplacian(z, 5)
    _, W, _, _B = oracle.mifs(z, y, laplacian, 1.0, 0.1, 1.0, 2, 500)
    np.testing.assert_allclose(scores(x, y, "mifs", c=2), norms(W.T), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("many", [True, False])
def test_omfs_factorises_grades(many):
    """By either factorisation, of nearly as many rows of grades as rows, and of ratings of which
    many are alike."""
    x, y = grades()
    x, y = x[:, [0, 1, 2, 3, 5, 7, 8]], y if many else np.rint(2 * y) / 2
    assert (len(np.unique(y, axis=0)) > 0.9 * len(y)) == many
    z = standard(x)
    U, S, _Vt = np.linalg.svd(y, full_matrices=False)
    for own, V in (({"factorizer": "svd"}, U[:, :2] * S[:2]), ({}, oracle.nmf(y, 2, 3000)[0])):
        wanted = norms(oracle.omfs(z, V, 0.8).T)
        np.testing.assert_allclose(scores(x, y, "omfs", **own), wanted, rtol=1e-3, atol=1e-5)
        weights = np.arange(len(x)) % 3
        copies = np.repeat(np.arange(len(x)), weights)
        found = scores(x, y, "omfs", sample_weight=weights, **own)
        assert found.tobytes() == scores(x[copies], y[copies], "omfs", **own).tobytes()
    descent = scores(x, y, "omfs", solver="armijo", factorizer="svd")
    np.testing.assert_allclose(
        descent, scores(x, y, "omfs", factorizer="svd"), rtol=1e-3, atol=1e-4
    )
    raw = oracle.omfs((x - x.min(axis=0)) / np.ptp(x, axis=0), U[:, :3] * S[:3], 0.8)
    found = scores(x, y, "omfs", scaling="minmax", factorizer="svd", c=3)
    np.testing.assert_allclose(found, norms(raw.T), rtol=1e-3, atol=1e-5)


def ruzicka(y):
    """What rows of grades have in common over what either has, label by label; a row is not
    compared with itself."""
    out = np.zeros((len(y), len(y)))
    for i, row in enumerate(y):
        either = np.maximum(row, y).sum(axis=1)
        out[i] = np.where(
            either > 0, np.minimum(row, y).sum(axis=1) / np.where(either > 0, either, 1), 0
        )
    np.fill_diagonal(out, 0)
    return out


@pytest.mark.parametrize(
    "own",
    [{}, {"neighbors": None}, {"neighbors": 5, "sigma": 2.0}, {"neighbors": None, "sigma": 2.0}],
)
def test_msfs_compares_rows_by_what_their_grades_have_in_common(own, monkeypatch):
    """Against the dense graph of Algorithm 1, of which the expected walk is taken; rows of no
    label, and repeated rows."""
    x, y = (table[:60] for table in grades())
    x, y[::9] = x[:, [0, 1, 2, 3, 5, 7, 8]], 0
    x, y = np.vstack([x, x[:20]]), np.vstack([y, y[:20]])
    z = standard(x)
    monkeypatch.setattr(graphs, "jaccard", ruzicka)
    T = graphs.similarity(z, y, **{"neighbors": 30} | own)
    S = graphs.neighbourhood(graphs.expected_visits(graphs.transitions(T), 6))
    W, _ = oracle.msfs(z, y, S, 0.5, 2.0, 0.5)
    found = scores(x, y, "msfs", walk="expected", steps=6, alpha=0.5, beta=2.0, **own)
    np.testing.assert_allclose(found, norms(W.T), rtol=1e-3, atol=1e-5)
    plain = scores(
        x, (y > 0.5).astype(float), "msfs", walk="expected", steps=6, alpha=0.5, beta=2.0, **own
    )
    assert np.abs(plain - found).max() > 1e-3


def test_similarity_of_rows_of_grades():
    """Of listed pairs and of all, sparse ones included; of labels of 0 and 1 it is Jaccard's, to
    the bit."""
    rng = np.random.default_rng(3)
    y = np.rint(ONE * rng.random((300, 9)) * (rng.random((300, 9)) < 0.3)) / ONE
    wanted = ruzicka(y) + np.diag(y.any(axis=1))
    i, j = rng.integers(0, 300, (2, 70_000))
    np.testing.assert_allclose(walks.ruzicka(sp.csr_matrix(y), i, j), wanted[i, j], rtol=1e-15)
    np.testing.assert_allclose(
        walks.ruzicka_table(sp.csr_matrix(y), slice(40, 130)), wanted[40:130], rtol=1e-15
    )
    members = sp.csr_matrix((y > 0).astype(float))
    hit, either = ((y[i] > 0) & (y[j] > 0)).sum(axis=1), ((y[i] > 0) | (y[j] > 0)).sum(axis=1)
    assert (
        walks.ruzicka(members, i, j).tobytes()
        == np.where(either > 0, hit / np.maximum(either, 1), 0.0).tobytes()
    )


def test_a_sketch_does_not_stand_for_grades():
    x, y = grades()
    for method in ("ridge", "msfs"):
        with pytest.raises(
            ParameterError, match="label_sketch = 2 stands for labels of 0 and 1, not for grades"
        ):
            scores(x, y, method, label_sketch=2)


def test_a_network_learns_grades():
    """Cross-entropy with grades: the slopes are those of differences, and gates open for what the
    grades depend on."""
    x, y = grades()
    z, rng = standard(x[:, [0, 1, 2, 3, 5]]), np.random.default_rng(0)
    start = [rng.normal(size=s) for s in ((5,), (5, 3), (3,), (3, 4), (4,))]
    _, slopes = gates.loss_and_gradients(start, z, y, 0.05, None)
    for at, slope in enumerate(slopes):
        way, ends = rng.normal(size=slope.shape), []
        for step in (1e-5, -1e-5):
            moved = [p + step * way if k == at else p for k, p in enumerate(start)]
            ends.append(gates.loss_and_gradients(moved, z, y, 0.05, None)[0])
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(
            float((slope * way).sum()), rel=1e-4, abs=1e-7
        )
    found = spark_mlfs.rank(x, y, "deepfs", k=4, graded_labels=True, lam=0.01)
    assert len({0, 1, 2, 3, 6} & set(found["index"])) >= 3


def test_csfs_fills_in_unknown_grades():
    x, y = grades()
    x = x[:, [0, 1, 2, 3, 5, 7, 8]]
    y[np.random.default_rng(1).random(y.shape) < 0.15] = np.nan
    W, _, _ = oracle.csfs(standard(x), y, 1.0)
    np.testing.assert_allclose(scores(x, y, "csfs"), norms(W.T), rtol=1e-2, atol=1e-4)


def test_greedy_methods_against_their_definitions():
    x, y = grades()
    found = spark_mlfs.rank(x, y, "fastcan", k=5, graded_labels=True)
    _, _, gains = canonical.fastcan(x, y, 5)
    np.testing.assert_allclose(found["score"], gains[:5], rtol=1e-8)
    varying = np.ptp(x, axis=0) > 0
    f = np.mean([f_regression(x[:, varying], label)[0] for label in y.T], axis=0)
    np.testing.assert_allclose(scores(x, y, "mrmr")[varying], f, rtol=1e-8)
    by_information = spark_mlfs.rank(
        x, y, "mrmr", k=5, graded_labels=True, relevance="f", redundancy="mi"
    )
    assert by_information["index"].iloc[0] == np.flatnonzero(varying)[np.argmax(f)]


def soft_f(x, y, w=None):
    """The multi-label F statistic where row i is in the class of label l to the degree y_il."""
    n, q = y.shape
    w = np.ones(n) if w is None else w
    y = y * w[:, None]
    size = y.sum(axis=0)
    mean = (y.T @ x) / size[:, None]
    centre = (y.sum(axis=1) @ x) / size.sum()
    between = (size[:, None] * (mean - centre) ** 2).sum(axis=0)
    within = sum((y[:, [label]] * (x - mean[label]) ** 2).sum(axis=0) for label in range(q))
    return (w.sum() - q) / (q - 1) * between / within


@pytest.mark.parametrize("rows", ["dense", "thin", "far"])
def test_f_statistic_of_soft_classes(rows):
    x, y = grades()
    x = {"dense": x, "thin": thin(x), "far": x + 1e6}[rows]
    varying = np.ptp(x, axis=0) > 0
    found = scores(sp.csr_matrix(x) if rows == "thin" else x, y, "f-statistic")[varying]
    np.testing.assert_allclose(
        found, soft_f((x - x.mean(axis=0))[:, varying], y), rtol=1e-7 if rows == "far" else 1e-9
    )


@pytest.mark.parametrize("rows", ["dense", "thin"])
def test_fisher_score_of_soft_classes(rows):
    """Every row split in one with the label, of weight g, and one without it, of weight 1 − g;
    unknown grades left out."""
    x, y = grades()
    x = thin(x) if rows == "thin" else x
    y[::9, 1] = np.nan
    wanted = []
    for label in y.T:
        known = ~np.isnan(label)
        split, g = np.vstack([x[known], x[known]]), label[known]
        w = np.concatenate([g, 1 - g])
        of = np.arange(len(w)) < known.sum()
        centre = np.average(split, axis=0, weights=w)
        sides = [(w[side], split[side]) for side in (of, ~of)]
        means = [np.average(part, axis=0, weights=v) for v, part in sides]
        between = sum(v.sum() * (m - centre) ** 2 for (v, _), m in zip(sides, means, strict=True))
        within = sum(
            (v[:, None] * (part - m) ** 2).sum(axis=0)
            for (v, part), m in zip(sides, means, strict=True)
        )
        wanted.append(between / np.where(within > 0, within, 1))
    found = scores(sp.csr_matrix(x) if rows == "thin" else x, y, "fisher")
    np.testing.assert_allclose(found, np.mean(wanted, axis=0), rtol=1e-7, atol=1e-12)
    if rows == "dense":
        found = scores(x, grades()[1], "fisher", label_coding="overlap")[0]
        np.testing.assert_allclose(found, _overlap(x, grades()[1])[0], rtol=1e-9)
        with pytest.raises(ParameterError, match="fisher takes labels of 0 and 1, not grades"):
            scores(x, y, "fisher", label_coding="lp")


def _overlap(x, y):
    mean, centre = (y.T @ x) / y.sum(axis=0)[:, None], x.mean(axis=0)
    between = (y.sum(axis=0)[:, None] * (mean - centre) ** 2).sum(axis=0)
    within = sum(
        (y[:, [label]] * (x - mean[label]) ** 2).sum(axis=0) for label in range(y.shape[1])
    )
    return between / np.where(within > 0, within, 1)


@pytest.mark.slow
@pytest.mark.parametrize("method", GRADED)
def test_grades_of_0_and_1_are_labels(method):
    """To the bit, dense and sparse, known and unknown; so are blocks of which only some hold other
    grades."""
    x, y = example()
    unknown = np.where(np.random.default_rng(3).random(y.shape) < 0.03, np.nan, y)
    for rows, labels in ((x, y), (sp.csr_matrix(thin(x)), y), (x, unknown)):
        plain = spark_mlfs.rank(rows, labels, method, k=5, **ITS.get(method, {}))
        again = spark_mlfs.rank(
            rows, labels, method, k=5, graded_labels=True, **ITS.get(method, {})
        )
        pd.testing.assert_frame_equal(again, plain, check_exact=True)
        rated = spark_mlfs.rank(
            rows,
            4 * labels + 1,
            method,
            k=5,
            graded_labels=True,
            grade_range=[1, 5],
            **ITS.get(method, {}),
        )
        pd.testing.assert_frame_equal(rated, plain, check_exact=True)


@pytest.mark.parametrize("method", GRADED)
def test_order_of_rows_sparse_labels_and_unknown_ones(method):
    """The same bits in any order of the rows; a row with an unknown grade is none of them, but
    where unknowns are filled in."""
    x, y = grades()
    rows = np.random.default_rng(0).permutation(len(x))
    first = scores(x, y, method)
    assert (
        first.tobytes()
        == scores(x[rows], y[rows], method).tobytes()
        == scores(x, sp.csr_matrix(y), method).tobytes()
    )
    if method not in ("csfs", "f-statistic", "fisher"):
        missing = y.copy()
        missing[::7, 1] = np.nan
        kept = np.arange(len(x)) % 7 > 0
        np.testing.assert_allclose(
            scores(x, missing, method), scores(x[kept], y[kept], method), rtol=1e-4, atol=1e-7
        )


@pytest.mark.parametrize("method", [name for name in GRADED if METHODS[name].weighted])
def test_weights_and_grades(method):
    """A row of weight w is w rows, whatever its grades: to the bit (`rfs` while it scans)."""
    x, y = grades()
    w = np.random.default_rng(1).integers(0, 4, len(x))
    copies = np.repeat(np.arange(len(x)), w)
    own = {"accelerate": False, "max_iter": 30} if method == "rfs" else {}
    assert (
        scores(x, y, method, sample_weight=w, **own).tobytes()
        == scores(x[copies], y[copies], method, **own).tobytes()
    )
    quarter = scores(x, y, method, sample_weight=w / 4)
    if method in ("fastcan", "mrmr"):
        return
    assert np.isfinite(quarter).all()


def test_fractions_of_weight():
    x, y = grades()
    x = x[:, :4]
    w = np.random.default_rng(5).gamma(2.0, size=len(x))
    w = np.ldexp(np.rint(np.ldexp(w, 12)), -12)
    found = scores(x, y, "ridge", scaling="none", sample_weight=w)
    np.testing.assert_allclose(
        found, norms(Ridge(alpha=1.0).fit(x, y, sample_weight=w).coef_), rtol=1e-8
    )
    np.testing.assert_allclose(
        scores(x, y, "f-statistic", sample_weight=w), soft_f(x, y, w), rtol=1e-8
    )


def test_label_distributions():
    """Every label in every row, to a degree; their sum is 1, so that labels are dependent."""
    x, _ = example()
    y = np.exp(x[:, :4] + np.random.default_rng(2).normal(size=(len(x), 4)))
    y = np.rint(ONE * y / y.sum(axis=1, keepdims=True)) / ONE
    assert y.min() > 0
    z = standard(x[:, [0, 1, 2, 3, 5]])
    np.testing.assert_allclose(
        scores(x[:, [0, 1, 2, 3, 5]], y, "ridge"),
        norms(Ridge(alpha=1.0).fit(z, y).coef_),
        rtol=1e-8,
    )
    found = spark_mlfs.rank(x, y, "fastcan", k=4, graded_labels=True)
    assert set(found["index"]) == {0, 1, 2, 3}
    with pytest.raises(DataError, match="takes several grades"):
        spark_mlfs.rank(x, np.full((len(x), 2), 0.25), "ridge", graded_labels=True)


def test_one_graded_label_and_frames():
    """A target of one column, as a list, a series, a frame with names; integers of a range."""
    x, y = grades()
    one = spark_mlfs.rank(x, y[:, 0], "ridge", k=4, graded_labels=True)
    for same in (y[:, :1], list(y[:, 0]), pd.Series(y[:, 0]), pd.DataFrame({"joy.ful": y[:, 0]})):
        pd.testing.assert_frame_equal(
            spark_mlfs.rank(x, same, "ridge", k=4, graded_labels=True), one, check_exact=True
        )
    stars = pd.DataFrame(np.rint(4 * y).astype(int) + 1, columns=list("abcd"))
    found = spark_mlfs.rank(x, stars, "ridge", k=4, graded_labels=True, grade_range=[1, 5])
    quarters = spark_mlfs.rank(x, np.rint(4 * y) / 4, "ridge", k=4, graded_labels=True)
    pd.testing.assert_frame_equal(found, quarters, check_exact=True)


def test_fixed_point():
    """A grade is off by at most 2⁻¹⁶; one below that is none."""
    x, _ = example()
    y = np.random.default_rng(3).random((len(x), 3))
    y[:5] = 1e-6
    held = pack_arrays(x, y, grades=READ)[0]
    kept = held.block.labels(3).toarray()
    assert (
        np.abs(kept - y).max() <= 2.0**-16
        and not kept[:5].any()
        and held.block.grades.dtype == np.uint16
    )
    np.testing.assert_allclose(held.profile.label_mass, kept.sum(axis=0), rtol=0, atol=0)


def test_blocks_and_profiles_of_grades():
    """Rows picked, cut, joined, encoded; profiles merged in any order, of blocks with and without
    grades of their own."""
    x, y = grades()
    y[:60] = np.rint(y[:60])
    block = pack_arrays(x, y, np.full(len(x), 0.5), READ)[0].block
    rows = np.random.default_rng(0).permutation(len(x))
    np.testing.assert_array_equal(block.take(rows).labels(4).toarray(), y[rows])
    again = Block.decode(bytes(block.encode()))
    np.testing.assert_array_equal(again.labels(4).toarray(), y)
    plain = pack_arrays(x[:60], y[:60], np.full(60, 0.5), READ)[0].block
    assert plain.grades is None
    joined = concatenate([plain, block.part(60, 120), block.part(120, 200)])
    np.testing.assert_array_equal(joined.labels(4).toarray(), y)
    parts = [
        profile_block(b, 4)
        for b in (plain, block.part(60, 61), block.part(61, 130), block.part(130, 200))
    ]
    for order in (parts, parts[::-1]):
        total = order[0]
        for part in order[1:]:
            total = total.merge(part)
        again = Profile.decode(bytes(total.encode()))
        for one in (total, again):
            assert one.graded and np.array_equal(
                one.grade, np.rint(y.sum(axis=0) * ONE).astype(int)
            )
            assert np.array_equal(one.label_mass, y.sum(axis=0)) and one.weight_exponent == -1
            assert np.array_equal(one.grade_low, np.rint(np.where(y > 0, y, 1).min(axis=0) * ONE))
            assert np.array_equal(one.grade_high, np.full(4, ONE))


def test_rows_beyond_what_one_word_holds(monkeypatch):
    """Sums of 2²⁷ rows and more take a further word: the same bits."""
    x, y = grades()
    first = scores(x, y, "ridge")
    monkeypatch.setattr(gram, "MANY_GRADED", 100)
    assert scores(x, y, "ridge").tobytes() == first.tobytes()


def test_distinct_rows_of_grades():
    """However the rows are cut, of blocks with and without grades of their own: each distinct row
    once, with its count."""
    x, y = grades()
    y = np.rint(4 * y) / 4
    y[:60] = np.rint(y[:60])
    y[7::11, 2] = np.nan
    block = pack_arrays(x, y, grades=READ)[0].block
    profile = profile_block(block, 4)
    known = y[~np.isnan(y).any(axis=1)]
    for by, wanted in (("grades", known), ("support", (known > 0).astype(float))):
        kinds, counts = np.unique(wanted, axis=0, return_counts=True)
        for cut in ([0, 200], [0, 60, 200], [0, 30, 61, 140, 200]):
            statistic, state = LabelsetSums(by=by), None
            for a, z in itertools.pairwise(cut):
                part = block.part(a, z)
                if a == 0 and z <= 60:
                    part.grades = None
                state = statistic.fold(state, part, profile)
            found = statistic.finish(state, profile)
            rows = found[0].matrix(4).toarray()
            order = np.lexsort(rows.T[::-1])
            np.testing.assert_array_equal(rows[order], kinds)
            np.testing.assert_array_equal(found[0].counts[order], counts)
            assert found[1].total.shape == (
                len(kinds),
                len(profile.varying),
            ) and profile.most_labelsets >= len(kinds)
            again = statistic.fold(None, block, profile)
            for name, value in state.items():
                np.testing.assert_array_equal(value, again[name])


@pytest.mark.parametrize("weighted", [False, True])
def test_sizes_of_states_are_told_in_advance(weighted):
    x, y = grades()
    weights = np.random.default_rng(0).gamma(2.0, size=len(x)) if weighted else None
    for rows in (x, x[:, [7, 7]]):
        held = pack_arrays(rows, y, weights, READ)[0]
        stored = GroupMoments(Labels(4), True)
        sums = (
            GroupMoments(Labels(4)),
            GroupMoments(Everything()),
            LabelsetSums(by="grades"),
            LabelsetSums("grades", True),
        )
        for statistic in (
            gram.Gram(),
            gram.Gram(60),
            LabelsetCounts("support"),
            LabelsetCounts("grades"),
            *sums,
            stored,
        ):
            state = statistic.fold(None, held.block, held.profile)
            other = statistic.fold(None, held.block.part(0, 90), held.profile)
            for one in (state, statistic.merge(state, other)):
                assert len(encode(compact(one))) <= statistic.state_bytes(held.profile), statistic


# ---- cuts ----


@pytest.mark.parametrize("method", ["jmi", "relieff", "ridge", "omfs", "mdmr"])
def test_a_cut_makes_labels_of_0_and_1(method):
    x, y = grades()
    y[np.random.default_rng(3).random(y.shape) < 0.02] = np.nan
    binary = np.where(np.isnan(y), np.nan, y >= 0.5)
    cut = spark_mlfs.rank(x, y, method, k=5, graded_labels=True, label_cuts=[0.5])
    pd.testing.assert_frame_equal(cut, spark_mlfs.rank(x, binary, method, k=5), check_exact=True)
    rated = spark_mlfs.rank(
        x, 1 + 4 * y, method, k=5, graded_labels=True, label_cuts=[3], grade_range=[1, 5]
    )
    pd.testing.assert_frame_equal(rated, cut, check_exact=True)


def test_several_cuts_are_several_labels():
    x, y = grades()
    y[::9, 2] = np.nan
    labels = pd.DataFrame(y, columns=["a", "b", "c", "d.e"])
    several = np.stack(
        [np.where(np.isnan(y), np.nan, y >= c) for c in (0.25, 0.75)], axis=2
    ).reshape(len(y), 8)
    found = spark_mlfs.rank(x, labels, "jmi", k=5, graded_labels=True, label_cuts=[0.25, 0.75])
    pd.testing.assert_frame_equal(found, spark_mlfs.rank(x, several, "jmi", k=5), check_exact=True)
    selector = JMISelector(graded_labels=True, label_cuts=[0.25, 0.75]).fit(x, labels)
    assert list(selector.label_names_) == [
        f"{name}>={cut}" for name in labels for cut in (0.25, 0.75)
    ]
    assert list(
        JMISelector(graded_labels=True, label_cuts=[0.25]).fit(x, labels).label_names_
    ) == list(labels)
    sparse = sp.csr_matrix(np.nan_to_num(y))
    found = spark_mlfs.rank(x, sparse, "jmi", k=5, graded_labels=True, label_cuts=[0.25, 0.75])
    several = np.nan_to_num(
        np.stack([np.nan_to_num(y) >= c for c in (0.25, 0.75)], axis=2)
        .reshape(len(y), 8)
        .astype(float)
    )
    pd.testing.assert_frame_equal(found, spark_mlfs.rank(x, several, "jmi", k=5), check_exact=True)


# ---- what is refused ----


def test_who_cannot_take_them_says_who_can():
    x, y = grades()
    for name in METHODS:
        if name not in GRADED:
            told = (
                f"^{name} takes labels of 0 and 1, not grades: give label_cuts, such as "
                "0.5.*ridge, "
            )
            with pytest.raises(ParameterError, match=told):
                spark_mlfs.rank(x, y, name, graded_labels=True)
    with pytest.raises(
        ParameterError, match=r"mrmr takes labels of 0 and 1.*mrmr \(relevance='f'\)"
    ):
        spark_mlfs.rank(x, y, "mrmr", graded_labels=True)
    with pytest.raises(ParameterError, match="chi2 takes labels of 0 and 1"):
        spark_mlfs.rank(x, y, "ridge", graded_labels=True, screen="chi2:5")
    assert len(spark_mlfs.rank(x, y, "ridge", k=3, graded_labels=True, screen="f-statistic:5")) == 3
    for mode in ("fdr", "knockoffs"):
        with pytest.raises(ParameterError, match=f"{mode} takes labels of 0 and 1"):
            RidgeSelector(selection_mode=mode, graded_labels=True).fit(x, y)
    with pytest.raises(
        ParameterError, match="label_sketch = 2 stands for labels of 0 and 1, not for grades"
    ):
        spark_mlfs.rank(x, y, "ridge", graded_labels=True, label_sketch=2)


def test_stability_and_cross_validation():
    """Half-samples and folds are sums of the same Gram matrices."""
    x, y = grades()
    picked = RidgeSelector(selection_mode="stability", graded_labels=True, num_top_features=4).fit(
        x, y
    )
    assert {0, 2, 3} <= set(picked.selected_)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            1.5,
            "row 3 of Y: label 1 is 1.5; grades are from 0 to 1: correct it, or say in grade_range "
            "what",
        ),
        (-0.25, "row 3 of Y: label 1 is -0.25; grades are from 0 to 1"),
        (np.inf, "row 3 of Y: label 1 is inf; a grade is a finite number"),
    ],
)
def test_values_that_are_no_grades(value, told):
    x, y = grades()
    y[3, 1] = value
    with pytest.raises(DataError, match=told):
        spark_mlfs.rank(x, y, "ridge", graded_labels=True)


def test_settings_that_make_no_sense():
    x, y = grades()
    for more, told in (
        ({"label_cuts": [0.5]}, "label_cuts is about grades: set graded_labels, too"),
        ({"grade_range": [1, 5]}, "grade_range is about grades: set graded_labels"),
        ({"graded_labels": True, "grade_range": [5, 1]}, "grade_range goes from the lowest"),
        ({"graded_labels": True, "grade_range": [1]}, "grade_range must be two numbers"),
        ({"graded_labels": True, "label_cuts": [0.5, 0.5]}, "label_cuts ascend"),
        ({"graded_labels": True, "grade_range": [1, 5], "label_cuts": [1]}, "all on one side of 1"),
        ({"graded_labels": True, "label_cuts": []}, "label_cuts must be grades, ascending"),
    ):
        with pytest.raises(ParameterError, match=told):
            spark_mlfs.rank(x, y, "ridge", **more)
    with pytest.raises(DataError, match=r"row . of Y: label . is 0.*graded_labels=True"):
        spark_mlfs.rank(x, y, "ridge")
    stars = {"grade_range": [1, 5]}
    for more in ({"grade_range": [-1, 1]}, stars, {"label_cuts": [0]}, stars | {"label_cuts": [3]}):
        with pytest.raises(DataError, match="Y is sparse, and a 0, which it does not store"):
            spark_mlfs.rank(x, sp.csr_matrix(y), "ridge", graded_labels=True, **more)
    with pytest.raises(DataError, match="lists of tags, which have no grades"):
        spark_mlfs.rank(x, [["a"]] * len(x), "ridge", graded_labels=True)
    with pytest.raises(
        DataError,
        match=r"label 0 is 0; grades are from 1 to 5 .grade_range.: correct it, or make it unknown",
    ):
        spark_mlfs.rank(x, np.zeros((len(x), 2)), "ridge", graded_labels=True, grade_range=[1, 5])


# ---- on Spark ----


@pytest.mark.slow
def test_on_spark(spark):
    """Thousands of rows, a third of them repeated, no id, names with dots, several blocks: the bits
    of the arrays, in one task or job by job; ratings, sparse vectors, cuts, weights, and what is
    refused."""
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import functions as F

    from spark_mlfs.frames.schema import with_names

    x, y = grades()
    rng = np.random.default_rng(4)
    rows = rng.permutation(np.concatenate([np.arange(200).repeat(10), rng.integers(0, 100, 1000)]))
    x, y = x[rows].copy(), y[rows]
    x[:2000, 5] += rng.normal(size=2000)
    w = rng.choice([0.0, 1.0, 0.25, 3.0], len(x))
    cells = [
        (Vectors.dense(a), Vectors.dense(b), float(c)) for a, b, c in zip(x, y, w, strict=True)
    ]
    frame = spark.createDataFrame(cells, ["features", "labels", "w"]).repartition(3)
    frame = with_names(
        with_names(frame, "features", [f"f.{j}" for j in range(12)]),
        "labels",
        ["a.b", "c", "d", "e"],
    )
    methods = "ridge lasso csfs omfs msfs fastcan mrmr f-statistic fisher".split()
    requests = [pipeline.Request.of(name, ITS.get(name, {}), 3) for name in methods]
    for weights, sizes in ((None, (1 << 30, 0)), ("w", (0,))):
        some = [r for r in requests if r.implementation.weighted or weights is None]
        here = pipeline.rank(pack_arrays(x, y, None if weights is None else w, READ)[0], some)
        for small in sizes:
            there = pipeline.rank(frame, some, weight=weights, small_bytes=small, grades=READ)
            for one, other in zip(here, there, strict=True):
                assert one.scores.values.tobytes() == other.scores.values.tobytes(), (
                    one.request.method
                )
                assert list(one.ranking["index"]) == list(other.ranking["index"])
    (robust,) = pipeline.rank(frame, [pipeline.Request.of("rfs", {}, 5)], grades=READ)
    (here,) = pipeline.rank(pack_arrays(x, y, grades=READ)[0], [pipeline.Request.of("rfs", {}, 5)])
    assert robust.scores.values.tobytes() == here.scores.values.tobytes()
    cut = spark_mlfs.JMISelector(gradedLabels=True, labelCuts=[0.25, 0.75], numTopFeatures=4).fit(
        frame
    )
    assert cut.selectedFeatures == list(
        spark_mlfs.rank(x, y, "jmi", k=4, graded_labels=True, label_cuts=[0.25, 0.75])["index"]
    )
    assert cut.summary["labels"][:3] == ["a.b>=0.25", "a.b>=0.75", "c>=0.25"]
    stars = frame.select(
        "features",
        F.transform(_values(frame), lambda v: F.rint(4 * v).cast("int") + 1).alias("labels"),
    )
    model = spark_mlfs.RidgeSelector(gradedLabels=True, gradeRange=[1, 5], numTopFeatures=4).fit(
        stars
    )
    assert model.selectedFeatures == list(
        spark_mlfs.rank(x, np.rint(4 * y) / 4, "ridge", k=4, graded_labels=True)["index"]
    )
    assert model.summary["graded"] and "graded" not in cut.summary
    with pytest.raises(DataError, match=r"label . is .*grades are from 0 to 1: .*gradeRange"):
        spark_mlfs.RidgeSelector(gradedLabels=True).fit(stars)
    with pytest.raises(
        DataError, match=r"label . is 0.*0, 1 or unknown .null or NaN., with gradedLabels"
    ):
        spark_mlfs.RidgeSelector().fit(frame)
    with pytest.raises(
        ParameterError, match="relieff takes labels of 0 and 1, not grades: give labelCuts"
    ):
        spark_mlfs.ReliefFSelector(gradedLabels=True).fit(frame)
    tags = frame.withColumn("labels", F.array(F.lit("a")))
    with pytest.raises(
        ParameterError, match="gradedLabels: labels column 'labels' is array<string>"
    ):
        spark_mlfs.RidgeSelector(gradedLabels=True).fit(tags)


def _values(frame):
    from pyspark.ml.functions import vector_to_array

    return vector_to_array(frame["labels"])
