"""The regression family through the whole pipeline against scikit-learn, Nie's n × n form and naive
oracles; the contract's identities; folds from block Grams."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import graphs_msfs as graphs
from oracles import regression as oracle
from oracles.regression import standardise
from sklearn.linear_model import ElasticNet, Lasso, MultiTaskElasticNet

from spark_mlfs import pipeline, rank
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.pack import pack
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.errors import BudgetError, ParameterError
from spark_mlfs.kernels.gram import leave_out, total
from spark_mlfs.kernels.hashing import mix
from spark_mlfs.methods.base import Scores
from spark_mlfs.methods.msfs import MSFS
from spark_mlfs.methods.rfs import PATIENCE
from spark_mlfs.select import CrossValidation
from spark_mlfs.statistics.gram import Gram

# each set one way: that one task and many jobs give the same bits is a law of every method, which
# `conformance` has
SETS = [("emotions", True), ("planted", False), ("planted-sparse", False)]
NAMED = pytest.mark.parametrize(("name", "small"), SETS)


def of(data):
    """Standardised varying features, labels, and where the features are."""
    keep = np.flatnonzero(data.x.max(axis=0) > data.x.min(axis=0))
    return standardise(data.x), data.y, keep


def norms(W):
    return np.sqrt((W**2).sum(axis=1))


def agrees(got, want, tolerance):
    scale = np.abs(want).max()
    assert np.abs(got - want).max() <= tolerance * scale, np.abs(got - want).max() / scale


def falls(scores: Scores):
    assert all(b <= a for a, b in zip(scores.objective, scores.objective[1:], strict=False))
    assert scores.converged


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "small", "alpha"),
    [("emotions", True, 1.0), ("planted-sparse", False, 1.0), ("yeast", True, 100.0)],
)
def test_ridge(rows, name, alpha, small):
    X, Y, keep = of(rows(name))
    got, result = rows(name).scores("ridge", small, alpha=alpha)
    agrees(got[keep], norms(oracle.ridge(X, Y, alpha)[0]), 1e-8)
    assert result.scans == 2 and np.delete(got, keep).sum() == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "planted", "planted-sparse", "yeast"])
@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize(("method", "rho"), [("lasso", 1.0), ("elastic-net", 0.5)])
def test_lasso_and_elastic_net_equal_scikit_learn(rows, name, method, rho, group):
    X, Y, keep = of(rows(name))
    more = {} if method == "lasso" else {"rho": rho}
    got, result = rows(name).scores(method, alpha=0.02, group=group, **more)
    options = {"alpha": 0.02, "tol": 1e-9, "max_iter": 100_000}
    if group:
        W = MultiTaskElasticNet(l1_ratio=rho, **options).fit(X, Y).coef_.T
    elif method == "lasso":
        W = np.column_stack([Lasso(**options).fit(X, y).coef_ for y in Y.T])
    else:
        W = np.column_stack([ElasticNet(l1_ratio=rho, **options).fit(X, y).coef_ for y in Y.T])
    want = norms(W)
    agrees(got[keep], np.where(want < 1e-8 * want.max(), 0, want), 1e-5)
    falls(result.scores)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "planted-sparse"])
def test_rfs_reaches_the_minimum_of_the_n_by_n_form(rows, name):
    """Hundreds of scans: over jobs each has the same bits (`conformance`)."""
    X, Y, keep = of(rows(name))
    got, result = rows(name).scores("rfs", tol=1e-8, max_iter=2000)
    floor = 1e-8 * np.linalg.norm(Y - Y.mean(axis=0), axis=1).mean()
    path = oracle.rfs_nie(X, Y, 1.0, 150 if name == "emotions" else 800, floor)
    W, b = path[-1]
    assert result.scores.objective[-1] <= oracle.rfs_objective(X, Y, W, b, 1.0) * (1 + 1e-9)
    agrees(got[keep], norms(W), 2e-2 if name == "emotions" else 1e-3)
    assert all(
        b <= a for a, b in zip(result.scores.objective, result.scores.objective[1:], strict=False)
    )


@pytest.mark.slow
def test_rfs_gives_up_scanning_where_newton_steps_fit(rows):
    """A tolerance that needs hundreds of scans: after 60 of them the rows are gathered, unless
    their matrices are over the budget."""
    _, result = rows("emotions").scores("rfs", True, tol=1e-10)
    assert result.scores.converged and result.scores.details["scans"] == PATIENCE
    _, stopped = rows("emotions").scores("rfs", True, tol=1e-10, max_iter=30)
    assert not stopped.scores.converged and stopped.scores.details["scans"] == 30
    request = [pipeline.Request.of("rfs", {"tol": 1e-10})]
    (scanned,) = pipeline.rank(rows("emotions").held, request, driver_bytes=4 << 20)
    assert scanned.scores.details["scans"] > PATIENCE
    best, most = result.scores.objective[-1], scanned.scores.objective[-1]
    assert best <= most * (1 + 1e-12) and most <= best * (1 + 1e-7)
    assert best < stopped.scores.objective[-1]


def test_rfs_iterates_are_nies(rows):
    X, Y, keep = of(rows("planted"))
    floor = 1e-8 * np.linalg.norm(Y - Y.mean(axis=0), axis=1).mean()
    path = oracle.rfs_nie(X, Y, 1.0, 12, floor)
    for scans in (2, 3, 6, 12):
        got, _ = rows("planted").scores("rfs", accelerate=False, max_iter=scans, tol=1e-300)
        agrees(got[keep], norms(path[scans - 2][0]), 1e-9)


@pytest.mark.slow
def test_rfs_of_rows_that_weigh_much_beside_gamma():
    """Rows that are fitted exactly, and of like ones no Cholesky factor of n × n is left: they are
    scanned."""
    rng = np.random.default_rng(3)
    rng.normal(size=320)  # draws of an example that failed
    x = rng.integers(0, 3, (40, 20)).astype(float)
    y = (x[:, :2] + 0.3 * rng.normal(size=(40, 2)) > 1).astype(float)
    want = rank(x, y, "rfs", k=None, gamma=1e-5).set_index("index")["score"]
    for weight in 2.0 ** np.array([27, 32, 35]):
        got = rank(x, y, "rfs", k=None, sample_weight=np.full(40, weight)).set_index("index")[
            "score"
        ]
        assert (got - want[got.index]).abs().max() <= 1e-2 * want.max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sparse", "small"), [(False, True), (True, False)], ids=["one task", "distributed"]
)
def test_rfs_on_few_rows_a_feature_gathers_them(frame_of, sparse, small):
    """Newton steps instead of scans, rows with unknown labels and constant features left out."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 30)) * (rng.random((50, 30)) < 0.6)
    y = (x[:, :3] @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(50, 4)) > 0).astype(float)
    x[:, 7], x[:, 9] = 2.0, x[:, 4]
    y[[3, 20]] = np.nan
    packed = pack(frame_of(x, y, sparse), row_id="id")
    requests = [
        pipeline.Request.of("rfs", {"gamma": 0.8, **more})
        for more in ({}, {"accelerate": False, "max_iter": 4000})
    ]
    fast, slow = (
        pipeline.rank(packed, requests, small_bytes=1 << 40 if small else 0)
        if small
        else (pipeline.rank(packed, requests[:1], small_bytes=0)[0], None)
    )
    packed.release()
    known = ~np.isnan(y).any(axis=1)
    X, Y = standardise(x[known]), y[known]
    floor = 1e-8 * np.linalg.norm(Y - Y.mean(axis=0), axis=1).mean()
    W, b = oracle.rfs_nie(X, Y, 0.8, 1500, floor)[-1]
    falls(fast.scores)
    assert fast.scores.details["scans"] == 0
    assert fast.scores.objective[-1] <= oracle.rfs_objective(X, Y, W, b, 0.8) * (1 + 1e-9)
    got = np.zeros(30)
    got[fast.profile.varying] = fast.scores.values
    agrees(np.delete(got, 7), norms(W), 1e-2)
    assert got[4] == got[9]
    if slow:
        assert slow.scores.details["scans"] > 0
        assert fast.scores.objective[-1] <= slow.scores.objective[-1] * (1 + 1e-9)


@NAMED
def test_csfs_and_mssl(rows, name, small):
    X, Y, keep = of(rows(name))
    got, result = rows(name).scores("csfs", small, mu=3.0)
    agrees(got[keep], norms(oracle.csfs(X, Y, 3.0)[0]), 1e-3)
    falls(result.scores)
    got, result = rows(name).scores("mssl", small, alpha=0.5, beta=4.0, k=4)
    agrees(got[keep], norms(oracle.mssl(X, Y, 0.5, 4.0, 4)), 1e-3)
    falls(result.scores)
    assert result.scans == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whole", "name"),
    [(True, "planted"), (False, "planted-sparse")],
    ids=["null cells", "single labels"],
)
def test_csfs_fills_in_unknown_labels(rows, name, whole):
    """Over jobs unknown labels give the same bits (`conformance`)."""
    data = rows(name)
    y = data.y.copy()
    rng = np.random.default_rng(1)
    if whole:
        y[rng.random(len(y)) < 0.4] = np.nan
    else:
        y[rng.random(y.shape) < 0.3] = np.nan
    x = sp.csr_matrix(data.x) if data.sparse else data.x
    held, _ = pack_arrays(x, y, ids=np.arange(len(y)))
    (result,) = pipeline.rank(held, [pipeline.Request.of("csfs", {"mu": 2.0})])
    X, _, keep = of(data)
    W, b, _ = oracle.csfs(X, y, 2.0)
    got = np.zeros(data.x.shape[1])
    got[result.profile.varying] = result.scores.values
    agrees(got[keep], norms(W), 1e-3)
    assert result.scores.objective[-1] <= oracle.csfs_objective(X, y, W, b, 2.0) * (1 + 1e-6)
    falls(result.scores)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "small"), [SETS[0], SETS[2]])
def test_omfs(rows, name, small):
    X, Y, keep = of(rows(name))
    c = -(-3 * Y.shape[1] // 10)
    U, S, _Vt = np.linalg.svd(Y, full_matrices=False)
    got, result = rows(name).scores("omfs", small, factorizer="svd", gamma=2.0)
    agrees(got[keep], norms(oracle.omfs(X, U[:, :c] * S[:c], 2.0)), 1e-3)
    falls(result.scores)
    assert result.scans == 2
    V, _ = oracle.nmf(Y, c, 3000)
    got, result = rows(name).scores("omfs", small, gamma=2.0)
    agrees(got[keep], norms(oracle.omfs(X, V, 2.0)), 1e-3)
    descent, armijo = rows(name).scores("omfs", small, gamma=2.0, solver="armijo", max_iter=20_000)
    falls(armijo.scores)
    assert armijo.scores.objective[-1] == pytest.approx(result.scores.objective[-1], rel=1e-6)
    agrees(descent, got, 1e-2)


def uniforms(n, seed, steps):
    keys = mix(np.arange(n), seed).view(np.int64)
    return np.column_stack(
        [(mix(keys, step + 1) >> np.uint64(11)).astype(float) * 2.0**-53 for step in range(steps)]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("walk", "name", "small"),
    [
        ("dfs", "emotions", True),
        ("dfs", "planted-sparse", False),
        ("bfs", "planted", True),
        ("expected", "emotions", True),
        ("expected", "planted", False),
    ],
)
def test_msfs(rows, name, walk, small):
    X, Y, keep = of(rows(name))
    given = {"alpha": 0.3, "beta": 4.0, "rho": 0.6, "steps": 20}
    P = graphs.transitions(graphs.similarity(X, Y, neighbors=8))
    C = (
        graphs.expected_visits(P, 20)
        if walk == "expected"
        else graphs.sampled_visits(P, 20, walk, uniforms(len(X), 3, 20))
    )
    got, result = rows(name).scores("msfs", small, walk=walk, neighbors=8, seed=3, **given)
    W, _ = oracle.msfs(X, Y, graphs.neighbourhood(C), 0.3, 4.0, 0.6)
    agrees(got[keep], norms(W), 1e-3)
    falls(result.scores)


@pytest.mark.parametrize("sigma", [None, 3.0])
@pytest.mark.parametrize("name", ["planted", "planted-sparse"])
def test_msfs_in_the_papers_dense_form(rows, name, sigma):
    X, Y, keep = of(rows(name))
    P = graphs.transitions(graphs.similarity(X, Y, sigma))
    W, _ = oracle.msfs(X, Y, graphs.neighbourhood(graphs.expected_visits(P, 30)), 0.1, 10.0, 0.5)
    got, _ = rows(name).scores("msfs", walk="expected", neighbors=None, sigma=sigma, steps=30)
    agrees(got[keep], norms(W), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("neighbors", [30, None])
@pytest.mark.parametrize("sparse", [False, True])
def test_msfs_tunes_on_the_smallest_positive_distance_where_rows_repeat(sparse, neighbors):
    rng = np.random.default_rng(0)
    times = [10, 10, 10, 10, 10, 350]
    kinds = rng.normal(size=(6, 4))
    kinds[5] = 0.0
    x = np.repeat(kinds, times, axis=0)
    y = np.repeat(np.eye(6)[:, :3] + np.eye(6)[::-1][:, :3], times, axis=0).clip(0, 1)
    held, _ = pack_arrays(sp.csr_matrix(x) if sparse else x, y, ids=np.arange(len(y)))
    # the 350 equal rows need 350 neighbours: of all of them that would be over this budget
    request = [
        pipeline.Request.of("msfs", {"walk": "expected", "neighbors": neighbors, "steps": 10})
    ]
    (result,) = pipeline.rank(held, request, driver_bytes=2 << 20)
    X = standardise(x)
    P = graphs.transitions(graphs.similarity(X, y, neighbors=neighbors))
    W, _ = oracle.msfs(X, y, graphs.neighbourhood(graphs.expected_visits(P, 10)), 0.1, 10.0, 0.5)
    agrees(result.scores.values, norms(W), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beta", "constraint", "name", "small"),
    [
        (0.2, "orthonormal", "planted-sparse", True),
        (0.0, "orthonormal", "planted", True),
        (0.2, "orthonormal", "flags", True),
        (0.2, "none", "planted-sparse", False),
        (0.2, "none", "flags", True),
    ],
)
def test_mifs(rows, name, beta, constraint, small):
    X, Y, keep = of(rows(name))
    c = -(-3 * Y.shape[1] // 10)
    L, _ = oracle.heat_laplacian(X, 5)
    steps = 3 if constraint == "none" else 400
    more = {"max_iter": steps} if constraint == "none" else {}
    trace, W, _, B = oracle.mifs(X, Y, L, 1.0, beta, 1.0, c, steps, constraint)
    got, result = rows(name).scores("mifs", small, beta=beta, constraint=constraint, **more)
    if constraint == "none":  # no minimiser: the iterates themselves are compared
        agrees(got[keep], norms(W * np.linalg.norm(B, axis=1)), 1e-6)
    else:
        assert result.scores.objective[-1] <= trace[-1] * (1 + 1e-6)
        agrees(got[keep], norms(W), 2e-2)
    assert all(
        b <= a for a, b in zip(result.scores.objective, result.scores.objective[1:], strict=False)
    )


def test_identities(rows):
    """ρ = 0, α = 0: ridge. α = 0, ρ = 1: CSFS."""
    data = rows("emotions")
    agrees(data.scores("msfs", alpha=0, rho=0, beta=3)[0], data.scores("ridge", alpha=3)[0], 1e-9)
    agrees(data.scores("msfs", alpha=0, rho=1, beta=3)[0], data.scores("csfs", mu=3)[0], 1e-6)


def test_lasso_of_a_large_alpha_selects_nothing(rows):
    got, result = rows("emotions").scores("lasso", alpha=1.0)
    assert (got == 0).all() and list(result.ranking["index"]) == list(range(len(got)))


def test_deepfs_finds_planted_features(rows):
    got, _result = rows("planted").scores("deepfs", epochs=60, lam=0.3)
    assert set(np.argsort(-got)[:4]) == {0, 1, 2, 3}
    again, _ = rows("planted").scores("deepfs", small=False, epochs=60, lam=0.3)
    np.testing.assert_array_equal(got, again)
    other, _ = rows("planted").scores("deepfs", epochs=60, lam=0.3, seed=1)
    assert not np.array_equal(got, other)


@pytest.mark.parametrize("blocks", [2, 10, 60])
def test_folds_are_sums_of_block_grams(rows, blocks):
    data = rows("emotions")
    engine = SparkEngine(data.packed)
    parts, whole = engine.run(Gram(blocks), Gram())
    parts = [*parts.values()]
    assert len(parts) == blocks
    added = total(parts)
    agrees(added.xx, whole.xx, 1e-12)
    from spark_mlfs.kernels.hashing import GROUPS, group_of

    out = group_of(np.arange(len(data.x))) * blocks // GROUPS == 0
    rest = leave_out(parts, [0]).centred("standard")
    X = standardise(data.x[~out])
    agrees(rest.G, X.T @ X, 1e-9)
    agrees(rest.C, X.T @ (data.y[~out] - data.y[~out].mean(axis=0)), 1e-9)
    engine.release()


def test_a_gram_matrix_above_the_budget_is_refused(rows):
    with pytest.raises(BudgetError, match="driverBytes"):
        pipeline.rank(
            rows("emotions").packed,
            [pipeline.Request.of("ridge")],
            small_bytes=0,
            driver_bytes=10_000,
        )


@pytest.mark.parametrize("walk", ["dfs", "expected"])
def test_walks_above_the_budget_are_refused(rows, walk):
    """48 bytes a visit, 120 rows of 10^5 steps; or 32 bytes a row and column in use, 593 rows of
    emotions."""
    name, steps, budget = (
        ("planted", 100_000, 500 << 20) if walk == "dfs" else ("emotions", 80, 880_000)
    )
    request = [pipeline.Request.of("msfs", {"walk": walk, "steps": steps})]
    with pytest.raises(
        BudgetError,
        match="walks among .* driverBytes.*"
        + ("fewer steps" if walk == "dfs" else "MB: raise driverBytes, or sample"),
    ):
        pipeline.rank(rows(name).packed, request, driver_bytes=budget)


def test_a_large_mean_with_a_small_spread_loses_nothing(frame_of):
    x = np.column_stack([1e9 + np.tile([0.0, 1.0, 2.0], 40), np.arange(120.0)])
    y = np.column_stack([np.tile([0, 0, 1.0], 40), np.tile([1.0, 0], 60)])
    packed = pack(frame_of(x, y), row_id="id")
    engine = SparkEngine(packed)
    (gram,) = engine.run(Gram())
    assert gram.centred("none").G[0, 0] / 120 == pytest.approx(2 / 3, rel=1e-12)
    engine.release()
    packed.release()


def test_the_dense_graph_is_for_few_rows():
    class Many:
        n = 20_001

    with pytest.raises(ParameterError, match="give neighbors"):
        MSFS()._dense({}, Many(), None, None)


def test_a_screen_runs_first(rows):
    data = rows("emotions")
    filtered = (
        pipeline.rank(data.packed, [pipeline.Request.of("fisher")])[0].ranking["index"].to_numpy()
    )
    best = np.sort(filtered[:20])
    for small in (1 << 40, 0):
        (result,) = pipeline.rank(
            data.packed, [pipeline.Request.of("ridge", screen="fisher:20")], small_bytes=small
        )
        order = result.ranking["index"].to_numpy()
        X = standardise(data.x[:, best])
        want = norms(oracle.ridge(X, data.y, 1.0)[0])
        assert list(order[:20]) == list(best[np.argsort(-want, kind="stable")])
        assert list(order[20:]) == list(filtered[20:])
        np.testing.assert_allclose(
            result.ranking["score"].to_numpy()[:20], np.sort(want)[::-1], rtol=1e-8
        )
        assert (
            result.ranking["score"].isna().to_numpy()[20:].all() and len(set(order)) == 72
        )  # the method saw the others alone
    with pytest.raises(ParameterError, match="METHOD:COUNT"):
        pipeline.Request.of("ridge", screen="fisher")
    with pytest.raises(ParameterError, match="picks one by one"):
        pipeline.Request.of("ridge", screen="jmi:20")


@pytest.mark.parametrize(
    ("method", "parameters"),
    [("ridge", {"alpha": 30.0}), ("lasso", {"alpha": 0.02}), ("csfs", {"mu": 5.0})],
)
def test_the_loss_of_a_grid_is_that_of_the_folds(rows, method, parameters):
    """Against a fit on the rows of four folds and a prediction of the fifth's."""
    from spark_mlfs.kernels.hashing import GROUPS, group_of

    data = rows("emotions")
    requests = [pipeline.Request.of(method, parameters, extras=[CrossValidation(5)])]
    (result,) = pipeline.rank(data.packed, requests)
    fold = group_of(np.arange(len(data.x))) * 5 // GROUPS
    error = 0.0
    for out in range(5):
        train = fold != out
        mean, spread = data.x[train].mean(axis=0), data.x[train].std(axis=0)
        X, Z = (data.x[train] - mean) / spread, (data.x[~train] - mean) / spread
        if method == "ridge":
            W, b = oracle.ridge(X, data.y[train], 30.0)
            predicted = Z @ W + b
        elif method == "csfs":
            W, b = oracle.csfs(X, data.y[train], 5.0)[:2]
            predicted = Z @ W + b
        else:
            predicted = np.column_stack(
                [Lasso(alpha=0.02, tol=1e-9).fit(X, y).predict(Z) for y in data.y[train].T]
            )
        error += ((predicted - data.y[~train]) ** 2).sum()
    assert result.scores.details["cv_loss"] == pytest.approx(error / data.y.size, rel=1e-7)
    assert result.scans == 2
