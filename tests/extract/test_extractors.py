"""The extractors against naive oracles and scikit-learn, and through pyspark.ml."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import projections as oracle
from oracles.loader import load
from oracles.regression import standardise
from pyspark.ml import Pipeline
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T
from scipy.linalg import subspace_angles

import spark_mlfs
from spark_mlfs import params, pipeline
from spark_mlfs.adapters.classes import Fit
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.groups import folds_of_groups
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import BudgetError, DataError, ParameterError
from spark_mlfs.extract import EXTRACTORS, lift_rsm, mlnb
from spark_mlfs.extract.lift import centre_counts, clusters_of
from spark_mlfs.extract.lift import distances as lift_distances
from spark_mlfs.frames.schema import with_names
from spark_mlfs.kernels.hashing import mix
from spark_mlfs.ml.learners import project
from spark_mlfs.pipeline import compute
from spark_mlfs.sklearn import LIFTRSMExtractor, MLNBExtractor
from spark_mlfs.statistics.base import Budgets
from spark_mlfs.statistics.moments import provisional_centre

SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("features", VectorUDT()),
        T.StructField("labels", VectorUDT()),
    ]
)


def data(n=90, d=9, q=3, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(n, d)), 3)
    y = (x[:, :q] + 0.4 * rng.normal(size=(n, q)) > 0.5).astype(float)
    if sparse:
        x[rng.random(x.shape) < 0.6] = 0
        x[:, :q] += y
    x[:, 7] = 2.5
    return x, y


def engine_of(x, y, sparse=False, unlabelled=None, **options):
    lists = sp.csr_matrix(y)
    values = sp.csr_matrix(x) if sparse else np.ascontiguousarray(x)
    labels = lists.indptr.astype(np.int32), lists.indices.astype(np.int32)
    block = Block(values, np.arange(len(x)), *labels, unlabelled=unlabelled)
    return LocalEngine(profile_block(block, y.shape[1]), [block], Budgets(**options))


def fitted(name, x, y, sparse=False, **given):
    extractor = EXTRACTORS.create(name)
    state = extractor.fit(engine_of(x, y, sparse), params.check(extractor.parameters, given, name))
    out = project(extractor, state, "o", sp.csr_matrix(x) if sparse else x)["o"]
    return state, out


def frame_of(spark, x, y, sparse=False, partitions=2):
    def vector(row):
        return (
            Vectors.sparse(len(row), [(int(j), float(row[j])) for j in np.flatnonzero(row)])
            if sparse
            else Vectors.dense(row)
        )

    rows = [(i, vector(a), Vectors.dense(b)) for i, (a, b) in enumerate(zip(x, y, strict=True))]
    out = spark.createDataFrame(rows, SCHEMA).repartition(partitions)
    out = with_names(out, "features", [f"x{j}" for j in range(x.shape[1])])
    return with_names(out, "labels", [f"l{j}" for j in range(y.shape[1])])


def same_space(got, want):
    assert got.shape == want.shape
    assert subspace_angles(got, want).max() < 1e-8


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("variant", ["p", "f"])
def test_mddm(variant, sparse):
    x, y = data(sparse=sparse)
    X = standardise(x)
    state, out = fitted("mddm", x, y, sparse, variant=variant)
    values, vectors = oracle.mddm(X, y, variant)
    np.testing.assert_allclose(state["eigenvalues"], values, rtol=1e-9)
    same_space(state["projection"], vectors)
    np.testing.assert_allclose(out, X @ state["projection"], atol=1e-10)
    C = X.T @ (y - y.mean(axis=0))
    B = np.eye(8) if variant == "p" else 0.5 * X.T @ X / len(X) + 0.5 * np.eye(8)
    np.testing.assert_allclose(
        state["scores"], np.linalg.norm(np.linalg.solve(B, C), axis=1), rtol=1e-9
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_mlsi(sparse):
    x, y = data(sparse=sparse)
    X = standardise(x)
    state, out = fitted("mlsi", x, y, sparse, dim=4)
    values, vectors = oracle.mlsi(X, y, dim=4)
    np.testing.assert_allclose(state["eigenvalues"], values, rtol=1e-9)
    same_space(state["projection"], vectors)
    np.testing.assert_allclose(out, X @ state["projection"], atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_projections_on_real_data(data_dir, name):
    x, y, _, _ = load(name, data_dir)
    X = standardise(x)
    same_space(
        fitted("mddm", x, y.astype(float))[0]["projection"], oracle.mddm(X, y.astype(float))[1]
    )
    same_space(
        fitted("mlsi", x, y.astype(float), dim=10)[0]["projection"],
        oracle.mlsi(X, y.astype(float))[1],
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_lift_is_k_means_from_the_hashed_rows(sparse):
    x, y = data(sparse=sparse)
    y[:, 2] = 0
    y[0, 2] = 1
    X = standardise(x)
    state, out = fitted("lift", x, y, sparse, ratio=0.15, seed=4)
    clusters = clusters_of(y.sum(axis=0).astype(int), len(x), 0.15)
    want, order = [], np.argsort(mix(np.arange(len(x)), 4), kind="stable")
    for cluster in clusters:
        rows = np.flatnonzero(y[:, cluster.label] == cluster.side)
        start = [i for i in order if i in set(rows)][: cluster.count]
        want.append(oracle.distances(X, oracle.lloyd(X[rows], X[start])))
    np.testing.assert_allclose(out, np.hstack(want), atol=1e-6)
    assert state["converged"] and list(np.diff(state["slices"])) == [
        2 * c.count for c in clusters if c.side == 1
    ]


def test_k_means_equals_scikit_learn(data_dir):
    from sklearn.cluster import KMeans

    x, y, _, _ = load("emotions", data_dir)
    X, y = standardise(x), y.astype(float)
    state, _ = fitted("lift", x, y, seed=2, max_iter=200)
    order, first = np.argsort(mix(np.arange(len(x)), 2), kind="stable"), 0
    for cluster in clusters_of(y.sum(axis=0).astype(int), len(x), 0.1):
        found = state["centres"][first : first + cluster.count]
        first += cluster.count
        start = order[y[order, cluster.label] == cluster.side][: cluster.count]
        theirs = KMeans(
            cluster.count, init=X[start], n_init=1, tol=0, max_iter=200, algorithm="lloyd"
        )
        np.testing.assert_allclose(
            found, theirs.fit(X[y[:, cluster.label] == cluster.side]).cluster_centers_, atol=1e-8
        )
    assert first == len(state["centres"]) and state["converged"]


def test_centres_are_counted_as_published(data_dir):
    """Scene, ratio .2 on a random 80 % of the rows: 138, 118, 128, 139, 171, 138, means of 50 draws
    whose standard error is 0.4. Rounded down instead of up, the expected numbers would be off by as
    much as 2.3."""
    from scipy.stats import hypergeom

    _, y, _, _ = load("scene", data_dir)
    n, kept = len(y), int(0.8 * len(y))
    positive = np.arange(1, kept // 2)
    width = 2 * centre_counts(positive, kept, 0.2)
    expected = [width @ hypergeom(n, int(total), kept).pmf(positive) for total in y.sum(axis=0)]
    assert np.abs(np.array(expected) - [138, 118, 128, 139, 171, 138]).max() < 1
    assert list(centre_counts(np.array([70, 0, 100, 1]), 100, 0.1)) == [3, 0, 0, 1]
    assert list(centre_counts(np.array([70]), 1000, 0.1)) == [7]  # 0.1 · 70 is above 7 in binary


def test_a_label_without_positives_gets_centres_on_all_rows():
    x, y = data()
    y[:, 1] = 0
    state, out = fitted("lift", x, y)
    assert np.diff(state["slices"])[1] == 50 and out.shape[1] == state["slices"][-1]


@pytest.mark.parametrize("sparse", [False, True])
def test_distances_near_zero_keep_their_digits(sparse):
    """Rows beside a centre: products cancel there, differences do not."""
    rng = np.random.default_rng(0)
    centres = np.round(rng.normal(size=(7, 12)) * 2**16) / 2**16 + 3.0
    x = np.repeat(centres, 9, axis=0) + np.tile(2.0 ** -np.arange(9.0) * 1e-3, 7)[
        :, None
    ] * rng.integers(0, 2, (63, 12))
    x[0] = centres[0]
    want = np.sqrt(((x[:, None, :].astype(np.longdouble) - centres) ** 2).sum(axis=2)).astype(float)
    shift = np.full(12, 1.5)
    got = (
        lift_distances(sp.csr_matrix(x), centres - shift, shift)
        if sparse
        else lift_distances(x, centres, shift)
    )
    assert got[0, 0] == 0
    np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("tile", [1024, 23])
@pytest.mark.parametrize("source", ["planted", "flags", "emotions"])
def test_lift_rsm_matrices_equal_the_n_by_n_ones(source, tile, request, monkeypatch):
    monkeypatch.setattr(lift_rsm, "TILE", tile)
    if source == "planted":
        x, y = data(60)
    else:
        x, y, _, _ = load(source, request.getfixturevalue("data_dir"))
        x, y = x[:160], y[:160].astype(float)
    rng = np.random.default_rng(0)
    have = y[:, 0] > 0
    phi = oracle.distances(standardise(x), standardise(x)[rng.permutation(len(x))[:24]])
    phi -= phi.mean(axis=0)
    columns = lift_rsm.subspaces(24, 3, 20, (0, 1))
    assert all(len(set(c)) == 20 for c in columns) and len({tuple(c) for c in columns}) == 3
    A, B = oracle.lift_rsm(phi, have, columns)
    near, between = lift_rsm.graph_forms(phi, have, columns)
    total = phi.T @ phi
    far = 2 * (len(phi) * total - np.outer(phi.sum(axis=0), phi.sum(axis=0))) - near
    np.testing.assert_allclose(0.05 * between + far, A, atol=1e-8 * np.abs(A).max())
    p = {"subspaces": 3, "width": 20, "alpha": 0.05, "beta": 0.05, "thr": 0.95}
    W, values = lift_rsm.projection(phi, have, p, (0, 1))
    from scipy.linalg import eigh

    want, vectors = eigh(A, B)
    np.testing.assert_allclose(values, np.maximum(want[::-1], 0), rtol=1e-6, atol=1e-9 * want.max())
    share = np.cumsum(want[::-1]) / want.sum()
    r = int(np.flatnonzero(share >= 0.95)[0]) + 1
    assert W.shape == (24, r)
    np.testing.assert_allclose(W.T @ B @ W, np.eye(r), atol=1e-8)
    assert subspace_angles(W, vectors[:, ::-1][:, :r]).max() < 1e-5


def test_whitened_features_have_unit_variance():
    x, y = data()
    plain, small = fitted("lift-rsm", x, y)
    state, out = fitted("lift-rsm", x, y, whiten=True)
    np.testing.assert_array_equal(state["widths"], plain["widths"])
    np.testing.assert_allclose(out.std(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(out, small / small.std(axis=0), rtol=1e-6, atol=1e-9)


def test_lift_rsm_of_classes_whose_rows_are_alike():
    """Nothing is left of the denominator but its ridge: one direction, along which the classes
    differ."""
    x, y = np.repeat([[0.0, 5.0], [1.0, 7.0]], 20, axis=0), np.repeat([[0.0], [1.0]], 20, axis=0)
    z = LIFTRSMExtractor().fit(x, y).transform(x)
    assert z.shape == (40, 1) and np.isfinite(z).all() and z[0] != z[-1] and len(np.unique(z)) == 2


def test_narrow_spaces_have_narrow_subspaces():
    assert [len(c) for c in lift_rsm.subspaces(10, 2, 20, (0, 0))] == [3, 3]
    assert [len(c) for c in lift_rsm.subspaces(2, 2, 20, (0, 0))] == [1, 1]
    assert [len(c) for c in lift_rsm.subspaces(20, 2, 20, (0, 0))] == [20, 20]


def test_subspaces_are_fair_draws():
    """Each column in P/D of the subspaces, each pair in P(P−1)/D(D−1): 4 standard errors of 4000
    draws."""
    D, P, count = 30, 20, 4000
    member = np.zeros((count, D))
    for row, chosen in zip(member, lift_rsm.subspaces(D, count, P, (3, 1)), strict=True):
        row[chosen] = 1
    share, pairs = P / D, P * (P - 1) / (D * (D - 1))
    assert np.abs(member.mean(axis=0) - share).max() < 4 * np.sqrt(share * (1 - share) / count)
    together = (member.T @ member / count)[~np.eye(D, dtype=bool)]
    assert np.abs(together - pairs).max() < 5 * np.sqrt(pairs * (1 - pairs) / count)
    assert not np.array_equal(
        member[:2], [np.isin(np.arange(D), c) for c in lift_rsm.subspaces(D, 2, P, (3, 0))]
    )


@pytest.mark.slow
def test_many_rows_are_sampled(spark, monkeypatch):
    """Beyond the limit: the projection is that of the sampled rows, side by side or in one task."""
    x, y = data(120)
    monkeypatch.setattr(lift_rsm, "MOST_ROWS", 70)
    given = params.check(EXTRACTORS["lift-rsm"].parameters, {"seed": 5}, "lift-rsm")
    state, _ = fitted("lift-rsm", x, y, seed=5)
    rows = np.sort(np.argsort(mix(np.arange(120), 5 + lift_rsm.SAMPLE), kind="stable")[:70])
    first = 0
    for label, (a, z, width) in enumerate(
        zip(state["slices"], state["slices"][1:], state["widths"], strict=False)
    ):
        phi = oracle.distances(standardise(x)[rows], state["centres"][a:z])
        np.testing.assert_allclose(state["mean"][a:z], phi.mean(axis=0), rtol=1e-6)
        columns = lift_rsm.subspaces(z - a, 10, 20, (5, label))
        A, B = oracle.lift_rsm(phi - phi.mean(axis=0), y[rows, label] > 0, columns)
        W = state["projection"][first : first + (z - a) * width].reshape(z - a, width)
        first += W.size
        np.testing.assert_allclose(W.T @ B @ W, np.eye(width), atol=1e-6)
        values = np.diag(W.T @ A @ W)
        np.testing.assert_allclose(A @ W, B @ W * values, atol=1e-5 * np.abs(A @ W).max())
    packed = pack(frame_of(spark, x, y), "features", "labels", "id")
    found, cost, distributed = compute(
        packed, Fit(EXTRACTORS.create("lift-rsm"), given), budgets=Budgets(small=0)
    )
    packed.release()
    assert distributed and cost.jobs > 3
    for key, value in state.items():
        np.testing.assert_array_equal(found[key], value, err_msg=key)


@pytest.mark.parametrize("name", list(EXTRACTORS))
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_without_labels_do_not_take_part(name, sparse):
    """Nor does a feature that only they make vary: it leaves before anything is scaled."""
    x, y = data(sparse=sparse)
    x[:75, 4] = 0.1
    given = {"generations": 3} if name == "mlnb" else {}
    alone, _ = fitted(name, x[:75], y[:75], sparse, **given)
    extractor = EXTRACTORS.create(name)
    y[75:] = 0
    engine = engine_of(x, y, sparse, unlabelled=np.arange(75, 90))
    state = extractor.fit(engine, params.check(extractor.parameters, given, name))
    assert list(state["columns"]) == list(state["varying"]) == [0, 1, 2, 3, 5, 6, 8]
    for key, value in alone.items():
        np.testing.assert_allclose(state[key], value, rtol=1e-6, atol=1e-9, err_msg=key)
    far = x[75:].copy()
    far[:, 4] = 1e12
    rows = [
        project(extractor, state, "o", sp.csr_matrix(part) if sparse else part)["o"]
        for part in (x[75:], far)
    ]
    np.testing.assert_allclose(*rows, rtol=1e-12)


def test_what_cannot_be_learned_from_is_told():
    x, y = data()
    for name, made in EXTRACTORS.items():
        p = params.check(made.parameters, {}, name)
        with pytest.raises(DataError, match="no row has all its labels known"):
            made().fit(engine_of(x, y, unlabelled=np.arange(90)), p)
        one = np.zeros_like(y)
        one[:5] = 1
        with pytest.raises(DataError, match="no label takes both values"):
            made().fit(engine_of(x, one, unlabelled=np.arange(5, 90)), p)
        with pytest.raises(DataError, match="no feature varies"):
            made().fit(
                engine_of(
                    np.where(np.arange(90)[:, None] < 50, 1.0, x), y, unlabelled=np.arange(50, 90)
                ),
                p,
            )


def test_what_does_not_fit_is_told():
    x, y = data(300)
    with pytest.raises(BudgetError, match=r"cluster centres of 8 features.*lower ratio"):
        EXTRACTORS.create("lift").fit(
            engine_of(x, y, driver=8000),
            {"ratio": 1.0, "max_iter": 5, "seed": 0, "scaling": "none"},
        )
    p = params.check(EXTRACTORS["lift-rsm"].parameters, {"ratio": 0.5}, "lift-rsm")
    with pytest.raises(BudgetError, match=r"lift-rsm: 300 rows.*lower ratio"):
        EXTRACTORS.create("lift-rsm").fit(engine_of(x, y, driver=200_000), p)


@pytest.mark.slow
def test_lift_rsm_on_scene_is_narrower_than_lift_on_every_label(data_dir):
    x, y, _, _ = load("scene", data_dir)
    rows = np.random.default_rng(0).permutation(len(x))[:1926]
    state, out = fitted("lift-rsm", x[rows], y[rows].astype(float))
    full = np.diff(state["slices"])
    assert (
        np.abs(full - [138, 118, 128, 139, 171, 138]).max() <= 6
    )  # the split decides the positives
    assert (state["widths"] < full).all() and (state["widths"] > 0.5 * full).all()
    assert out.shape == (1926, state["widths"].sum()) and np.isfinite(out).all()


def test_components_are_scikit_learns():
    from sklearn.decomposition import PCA

    x, y = data(150)
    state, _ = fitted("mlnb", x, y, share=0.6, generations=2)
    theirs = PCA(4).fit(standardise(x)).components_[state["components"]]
    np.testing.assert_allclose(np.abs(theirs @ state["projection"]), np.eye(len(theirs)), atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
def test_naive_bayes_equals_scikit_learn(grouped):
    from sklearn.metrics import hamming_loss, label_ranking_loss
    from sklearn.naive_bayes import GaussianNB

    x, y = data(150)
    engine = engine_of(x, y)
    group = np.random.default_rng(4).integers(0, 30, 150)
    if grouped:
        packed, _ = pack_arrays(x, y, ids=np.arange(150), groups=group)
        engine = LocalEngine(packed.profile, packed.blocks)
    X = standardise(x)
    keep = [j for j in range(9) if j != 7]
    P = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 5)))[0]
    raw = P / x[:, keep].std(axis=0)[:, None]
    shift = (x.mean(axis=0)[keep] - provisional_centre(engine.profile)) @ raw
    moments = mlnb.ComponentMoments(np.arange(8), raw, shift, 5)
    (found,) = engine.run(moments, keep=False)
    population = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1]], bool)
    (loss,) = engine.run(
        mlnb.PopulationLoss(moments, *mlnb.bayes(found, 3), population), keep=False
    )
    from spark_mlfs.kernels.hashing import group_of

    fold, Z = group_of(np.arange(150)) * 5 // 60, X @ P
    if grouped:
        fold = folds_of_groups(packed.block.groups, 5)
        assert len(set(zip(fold, group, strict=True))) == len(set(group))
        assert np.bincount(fold).max() < 1.3 * 30
    for i, mask in enumerate(population):
        losses = []
        for f in range(5):
            train, test = fold != f, fold == f
            score = np.empty((test.sum(), 3))
            for label in range(3):
                t = y[train, label]
                share = (t.sum() + 1) / (len(t) + 2)
                nb = GaussianNB(priors=[1 - share, share], var_smoothing=0).fit(
                    Z[train][:, mask], t
                )
                logs = nb.predict_joint_log_proba(Z[test][:, mask])
                score[:, label] = logs[:, 1] - logs[:, 0]
            truth = y[test]
            some = (truth.sum(axis=1) > 0) & (truth.sum(axis=1) < 3)
            losses.append(
                (hamming_loss(truth, score > 0) + label_ranking_loss(truth[some], score[some])) / 2
            )
        assert loss[i] == pytest.approx(np.mean(losses), rel=1e-9)


def test_extractors_take_groups_where_they_make_folds():
    x, y = data()
    group = np.arange(90) // 3
    kept = MLNBExtractor(generations=1).fit(x, y, groups=group).state_
    names = MLNBExtractor(generations=1).fit(x, y, groups=[f"p{g}" for g in group]).state_
    assert len(kept["loss"]) == len(names["loss"]) == 2
    assert kept["loss"][0] != MLNBExtractor(generations=1).fit(x, y).state_["loss"][0]
    with pytest.raises(ParameterError, match=r"lift-rsm makes no folds of rows.*choose mlnb"):
        LIFTRSMExtractor().fit(x, y, groups=group)


def test_ranking_loss_counts_ties():
    from sklearn.metrics import label_ranking_loss

    rng = np.random.default_rng(0)
    truth, score = rng.random((200, 5)) < 0.4, rng.integers(0, 4, (200, 5)).astype(float)
    shares = mlnb.ranking_loss(truth, score)
    some = (truth.sum(axis=1) > 0) & (truth.sum(axis=1) < 5)
    assert len(shares) == some.sum() and shares.mean() == pytest.approx(
        label_ranking_loss(truth[some], score[some])
    )


def test_the_search_finds_what_matters_and_never_gets_worse():
    target = np.random.default_rng(1).random(30) < 0.3
    best, trace = mlnb.search(
        lambda population: (population != target).sum(axis=1).astype(float), 30, 20, 60, 0
    )
    assert all(b <= a for a, b in itertools.pairwise(trace)) and trace[-1] <= 3
    assert (best != target).sum() == trace[-1]
    state, _ = fitted("mlnb", *data(), share=0.6, generations=5)
    assert len(state["loss"]) == 6 and state["projection"].shape == (8, len(state["components"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sparse"), [(name, bool(number % 2)) for number, name in enumerate(EXTRACTORS)]
)
def test_one_answer_whatever_the_layout(spark, name, sparse):
    """Rows of this process, one task over a frame, and jobs over it."""
    x, y = data(sparse=sparse)
    given = {"generations": 3} if name == "mlnb" else {"ratio": 0.1} if "lift" in name else {}
    fit = Fit(EXTRACTORS.create(name), params.check(EXTRACTORS[name].parameters, given, name))
    packed = pack(frame_of(spark, x, y, sparse, 3), "features", "labels", "id")
    others = [compute(packed, fit, budgets=Budgets(small=small))[0] for small in (1 << 40, 0)]
    packed.release()
    here, _ = fitted(name, x, y, sparse, **given)
    for other in others:
        assert set(other) == set(here)
        for key, value in here.items():
            np.testing.assert_array_equal(value, other[key], err_msg=key)


def test_wrong_input_is_told(spark):
    x, y = data()
    with pytest.raises(ParameterError, match="ratio must be"):
        spark_mlfs.LIFTExtractor(ratio=2)
    with pytest.raises(ParameterError, match="no param 'centres'"):
        spark_mlfs.LIFTExtractor(centres=2)
    y[:] = np.nan
    y[0] = [1, 0, np.nan]
    with pytest.raises(DataError):
        spark_mlfs.MDDMExtractor().fit(frame_of(spark, x, y))


def test_features_are_known_by_name_and_copies_are_equal(spark):
    x, y = data()
    model = spark_mlfs.MDDMExtractor(outputCol="z").fit(frame_of(spark, x, y))
    assert list(model.ranking["index"])[-1] == 7  # the constant feature
    want = {r.id: r.z for r in model.transform(frame_of(spark, x, y)).collect()}
    order = np.random.default_rng(1).permutation(9)
    turned = with_names(frame_of(spark, x[:, order], y), "features", [f"x{j}" for j in order])
    copied = model.copy({model.outputCol: "w"})
    assert {r.id: r.w for r in copied.transform(turned).collect()} == want
    with pytest.raises(DataError, match="lacks 1 of the features"):
        model.transform(
            with_names(turned, "features", ["other" if j == 2 else f"x{j}" for j in order])
        )
    with pytest.raises(ParameterError, match="no column 'absent'"):
        model.copy({model.featuresCol: "absent"}).transform(turned)


@pytest.mark.slow
def test_many_pairs_are_several_tasks(spark, monkeypatch):
    x, y = data()
    frame = frame_of(spark, x, y)
    one = spark_mlfs.LIFTRSMExtractor(idCol="id").fit(frame)
    monkeypatch.setattr(pipeline, "MANY_PAIRS", 90 * 90)
    many = spark_mlfs.LIFTRSMExtractor(idCol="id").fit(frame)
    assert one.ranking is None and len({*one.names}) == len(one.names)
    assert not one.summary["distributed"] and many.summary["distributed"]
    assert not spark_mlfs.LIFTExtractor(idCol="id").fit(frame).summary["distributed"]
    for key, value in one.state.items():
        np.testing.assert_array_equal(many.state[key], value, err_msg=key)


@pytest.mark.slow
def test_label_specific_machines_see_their_own_features(spark):
    """Of projections; of distances: `test_features_made_label_by_label`."""
    from sklearn.svm import LinearSVC

    x, y = data(140)
    frame = frame_of(spark, x, y)
    extractor = spark_mlfs.LIFTRSMExtractor(outputCol="z", ratio=0.1)
    model = Pipeline(
        stages=[
            extractor,
            spark_mlfs.BRSVMClassifier(labelSpecific=True, tol=1e-8)
            .setFeaturesCol("z")
            .setIdCol("id"),
        ]
    ).fit(frame)
    out = sorted(model.transform(frame).collect(), key=lambda r: r.id)
    z, scores = (
        np.array([r.z.toArray() for r in out]),
        np.array([r.rawPrediction.toArray() for r in out]),
    )
    slices = model.stages[0].label_slices()
    assert slices[0] == 0 and slices[-1] == z.shape[1] and len(slices) == 4
    for label, (a, b) in enumerate(itertools.pairwise(slices)):
        theirs = LinearSVC(random_state=0, tol=1e-8, max_iter=10_000).fit(z[:, a:b], y[:, label])
        np.testing.assert_allclose(
            scores[:, label], theirs.decision_function(z[:, a:b]), rtol=1e-4, atol=1e-5
        )
    with pytest.raises(ParameterError, match="LIFTExtractor"):
        spark_mlfs.BRSVMClassifier(labelSpecific=True).fit(frame)
