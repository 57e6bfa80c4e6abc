"""Labels by the ten thousand: the row-norm methods on a sketch of them, against the formulas on
YR/√s and on Y itself."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import regression as oracle
from scipy.stats import spearmanr
from sklearn.linear_model import MultiTaskElasticNet

from spark_mlfs import pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.cli.config import RunConfig
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import BudgetError, ParameterError
from spark_mlfs.kernels.sketch import entries, sign_sketch
from spark_mlfs.methods import METHODS
from spark_mlfs.output.manifest import selection_manifest
from spark_mlfs.report.page import page
from spark_mlfs.select import Rule
from spark_mlfs.statistics.base import Budgets
from spark_mlfs.statistics.gram import Gram
from spark_mlfs.testing import block_of, engine_of, rank_here

N, D, Q, WIDTH = 240, 15, 60, 16
SKETCHING = [
    name
    for name, method in METHODS.items()
    if any(p.name == "label_sketch" for p in method.parameters)
]
MORE = {
    "lasso": {"group": True},
    "elastic-net": {"group": True},
    "omfs": {"factorizer": "svd", "c": Q},
}  # beside a sketch


def table(q=Q, n=N, labels=3):
    """Rows with about 3 of q labels, drawn near a direction of the first features, each in a row
    at least; a third of the rows repeated."""
    rng = np.random.default_rng(11)
    x = np.round(rng.normal(size=(n, D)), 3)
    near = x[:, :8] @ rng.normal(size=(8, q)) * np.linspace(1, 0.1, 8).sum()
    y = np.zeros((n, q))
    top = np.argsort(-(near + 4 * rng.normal(size=(n, q))), axis=1)[:, :labels]
    y[np.arange(n)[:, None], top] = 1
    absent = np.flatnonzero(~y.any(axis=0))
    y[absent % n, absent] = 1
    repeated = rng.integers(0, n, n // 3)
    return np.concatenate([x, x[repeated]]), np.concatenate([y, y[repeated]])


def table_of_many(q, n=N):
    """Rows that are the nearest to the directions of q labels, each of which one row has."""
    rng = np.random.default_rng(11)
    x = np.round(rng.normal(size=(n, D)), 3)
    near = x[:, :8] @ rng.normal(size=(8, q)) * np.linspace(1, 0.1, 8).sum()
    y = np.zeros((n, q))
    y[np.argmax(near + 4 * rng.normal(size=(n, q)), axis=0), np.arange(q)] = 1
    return x, y


def sketched(y, width=WIDTH):
    q = y.shape[1]
    return (
        y @ sign_sketch(np.arange(q + 1), np.arange(q), width).toarray() / np.sqrt(entries(width))
    )


@pytest.fixture(scope="module")
def here():
    return engine_of(*table())


class Watched(LocalEngine):
    """Keeps what was asked of it."""

    def _compute(self, statistics):
        self.asked = [*getattr(self, "asked", []), *statistics.values()]
        return super()._compute(statistics)


def scores(engine, method, **parameters):
    return rank_here(engine, pipeline.Request.of(method, parameters))[2]


def norms(W):
    return np.sqrt((W * W).sum(axis=1))


def agrees(got, want, tolerance):
    assert np.abs(got - want).max() <= tolerance * np.abs(want).max()


def test_the_methods_that_sketch():
    assert set(SKETCHING) == {
        "ridge",
        "forward",
        "csfs",
        "mssl",
        "msfs",
        "lasso",
        "elastic-net",
        "omfs",
        "rfs",
    }


def test_the_report_says_that_a_sketch_stood_for_the_labels():
    x, y = table()
    texts = []
    for width in (WIDTH, 0):
        (result,) = pipeline.rank(
            pack_arrays(x, y)[0], [pipeline.Request.of("ridge", {"label_sketch": width}, 5)]
        )
        manifest = selection_manifest(RunConfig(), result, 5, "4.0", {}, {}, [])
        texts.append(page(result, manifest, 5))
    told = (
        f"{WIDTH} random combinations stood for the {y.shape[1]} labels: scores are those of all labels "
        "within about 35 %."
    )
    assert told in texts[0] and "random combinations" not in texts[1]


def test_ridge_of_the_sketch(here):
    x, y = table()
    got = scores(here, "ridge", label_sketch=WIDTH, alpha=3.0)
    agrees(got.values, norms(oracle.ridge(oracle.standardise(x), sketched(y), 3.0)[0]), 1e-9)
    assert got.details["label_sketch"] == WIDTH


def test_csfs_of_the_sketch(here):
    x, y = table()
    W, _, _ = oracle.csfs(oracle.standardise(x), sketched(y), 5.0)
    agrees(scores(here, "csfs", label_sketch=WIDTH, mu=5.0).values, norms(W), 1e-5)


def test_mssl_of_the_sketch(here):
    x, y = table()
    W = oracle.mssl(oracle.standardise(x), sketched(y), 0.3, 4.0, 3)
    W = W[0] if isinstance(W, tuple) else W
    agrees(
        scores(here, "mssl", label_sketch=WIDTH, alpha=0.3, beta=4.0, k=3).values, norms(W), 1e-5
    )


@pytest.mark.slow
def test_rfs_of_the_sketch(here):
    x, y = table()
    X, Z = oracle.standardise(x), sketched(y)
    floor = 1e-8 * np.linalg.norm(Z - Z.mean(axis=0), axis=1).mean()
    want = norms(oracle.rfs_nie(X, Z, 20.0, 400, floor)[-1][0])
    for accelerate in (True, False):
        got = scores(here, "rfs", label_sketch=WIDTH, gamma=20.0, tol=1e-9, accelerate=accelerate)
        assert got.converged and got.details["scans"] > 1 and got.details["label_sketch"] == WIDTH
        agrees(got.values, want, 1e-5)


def test_rfs_of_the_sketch_of_few_rows():
    """45 rows of 15 features are gathered; so are their sketched labels."""
    x, y = (part[:45] for part in table())
    y = y[:, y.any(axis=0)]
    X, Z = oracle.standardise(x), sketched(y)
    floor = 1e-8 * np.linalg.norm(Z - Z.mean(axis=0), axis=1).mean()
    got = scores(engine_of(x, y), "rfs", label_sketch=WIDTH, gamma=2.0, tol=1e-9)
    assert got.details["scans"] == 0
    W, b = oracle.rfs_nie(X, Z, 2.0, 3000, floor)[-1]
    assert got.objective[-1] <= oracle.rfs_objective(X, Z, W, b, 2.0) * (1 + 1e-8)
    agrees(got.values, norms(W), 1e-4)


@pytest.mark.parametrize("c", [None, 5, WIDTH + 10])
@pytest.mark.parametrize("solver", ["irls", "armijo"])
def test_omfs_of_the_sketch(here, c, solver):
    """Z's truncated SVD as the latent labels; with a latent width of the sketch's or more, Z
    itself."""
    x, y = table()
    Z = sketched(y)
    U, S, _ = np.linalg.svd(Z, full_matrices=False)
    k = min(WIDTH, 18 if c is None else c)  # 0.3 of 60 labels
    got = scores(here, "omfs", label_sketch=WIDTH, c=c, gamma=2.0, solver=solver)
    assert got.details["latent_width"] == k and got.details["label_sketch"] == WIDTH
    agrees(
        got.values,
        norms(oracle.omfs(oracle.standardise(x), U[:, :k] * S[:k], 2.0)),
        1e-5 if solver == "irls" else 1e-3,
    )
    if k == WIDTH:
        agrees(
            got.values,
            norms(oracle.omfs(oracle.standardise(x), Z, 2.0)),
            1e-5 if solver == "irls" else 1e-3,
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["omfs", "rfs"])
def test_the_wider_the_sketch_the_nearer_the_ranking(method):
    """3000 rows, a third repeated, 500 labels: from 16 to 480 columns the ranking approaches that
    of all labels."""
    x, y = table(q=500, n=2250)
    engine = engine_of(x, y)
    more = {"factorizer": "svd", "c": 200} if method == "omfs" else {"tol": 1e-4}
    exact = scores(engine, method, label_sketch=0, **more).values
    off = []
    for width in (16, 480):
        some = scores(engine, method, label_sketch=width, **more).values
        off.append(np.abs(some / exact - 1).mean())
    assert spearmanr(some, exact).statistic > 0.95
    assert off[1] < 0.5 * off[0] and off[1] < 2 * np.sqrt(2 / 480)


@pytest.mark.parametrize("method", ["lasso", "elastic-net"])
def test_group_penalties_of_the_sketch(here, method):
    x, y = table()
    rho = 1.0 if method == "lasso" else 0.4
    model = MultiTaskElasticNet(alpha=0.05, l1_ratio=rho, tol=1e-12, max_iter=100_000)
    want = norms(model.fit(oracle.standardise(x), sketched(y)).coef_.T)
    more = {} if method == "lasso" else {"rho": rho}
    agrees(
        scores(here, method, group=True, label_sketch=WIDTH, alpha=0.05, **more).values, want, 1e-6
    )


@pytest.mark.parametrize("method", SKETCHING)
def test_a_wide_sketch_ranks_as_the_labels(here, method):
    """48 columns for 60 labels: the ranking is nearly that of the labels, and without a sketch it
    is. What `forward` explains of rows held out is a small difference, of which a sketch keeps
    less."""
    whole, wide = (
        scores(here, method, label_sketch=width, **MORE.get(method, {})).values for width in (0, 48)
    )
    assert spearmanr(whole, wide).statistic > (0.75 if method == "forward" else 0.9)
    assert (scores(here, method, **MORE.get(method, {})).values == whole).all()


@pytest.mark.slow
def test_partitions_do_not_matter(spark):
    """Arrays, one task and a cluster: the same bits."""
    x, y = table()
    frame = spark.createDataFrame(
        [(a.tolist(), np.flatnonzero(b).tolist()) for a, b in zip(x, y, strict=True)],
        "features array<double>, labels array<int>",
    )
    requests = [
        pipeline.Request.of(name, {"label_sketch": WIDTH, **MORE.get(name, {})})
        for name in SKETCHING
    ]
    want = {
        result.request.method: result.scores.values.tobytes()
        for result in pipeline.rank(pack_arrays(x, y)[0], requests)
    }
    packed = pack(frame.repartition(3))
    for small in (0, 1 << 40):
        for result in pipeline.rank(packed, requests, small_bytes=small):
            method = result.request.method
            assert want[method] == result.scores.values.tobytes(), (method, small)
    packed.release()


@pytest.mark.parametrize("method", ["ridge", "omfs", "rfs"])
def test_a_row_of_weight_w_is_w_rows_of_the_sketch(method):
    x, y = table()
    w = np.random.default_rng(6).integers(1, 4, len(x))
    request = [
        pipeline.Request.of(
            method, {"label_sketch": WIDTH, **({"gamma": 20.0} if method == "rfs" else {})}
        )
    ]
    held = pack_arrays(x, y, w)[0], pack_arrays(np.repeat(x, w, axis=0), np.repeat(y, w, axis=0))[0]
    weighted, repeated = (pipeline.rank(rows, request)[0].scores for rows in held)
    assert (
        weighted.values.tobytes() == repeated.values.tobytes()
        and weighted.details["label_sketch"] == WIDTH
    )


def test_above_ten_thousand_labels_without_asking():
    """11,000 labels: Y'Y alone would be a gigabyte; the sketch is 256 wide, its scores near those
    of all labels."""
    x, y = table_of_many(11_000)
    engine = engine_of(x, y)
    got = scores(engine, "ridge")
    assert got.details["label_sketch"] == 256
    want = norms(oracle.ridge(oracle.standardise(x), y, 1.0)[0])
    assert spearmanr(got.values, want).statistic > 0.9
    assert np.abs(got.values / want - 1).max() < 4 * np.sqrt(2 / 256)
    assert (
        Gram(sketch=256).state_bytes(engine.profile) < 1 << 20 < Gram().state_bytes(engine.profile)
    )


@pytest.mark.parametrize("method", ["omfs", "rfs"])
def test_more_than_ten_thousand_labels_take_no_state_of_labels(method):
    """Defaults at 11,000 labels: the widest state is (features + 256)², neither labelsets nor
    labels × labels are asked for."""
    x, y = table_of_many(11_000)
    block = block_of(x, y)
    engine = Watched(profile_block(block, 11_000), [block])
    got = scores(engine, method, **({"max_iter": 3} if method == "rfs" else {}))
    assert got.details["label_sketch"] == 256
    assert max(s.state_bytes(engine.profile) for s in engine.asked) <= 24 * (D + 256 + 2) ** 2
    if method == "omfs":
        U, S, _ = np.linalg.svd(y, full_matrices=False)
        # as many distinct rows as there are
        assert got.details["latent_width"] == (S > 1e-9 * S[0]).sum() > 150
        want = norms(oracle.omfs(oracle.standardise(x), U * S, 0.8))
        assert spearmanr(got.values, want).statistic > 0.9
        assert np.abs(got.values / want - 1).max() < 4 * np.sqrt(2 / 256)


def test_factors_of_many_labels_are_refused_in_time():
    """Of 3000 labels Y'Y and its vectors take 290 MB, though the sums fit."""
    engine = engine_of(*table_of_many(3000))
    engine.budgets = Budgets(driver=200 << 20)
    with pytest.raises(
        BudgetError,
        match=r"labels need .* MB on the driver.*labelSketch = 256, without factorizer='nmf'",
    ):
        scores(engine, "omfs", factorizer="nmf")
    assert scores(engine, "omfs", label_sketch=WIDTH).details["latent_width"] == WIDTH


def test_half_samples_and_folds_are_sketched(here):
    request = pipeline.Request.of(
        "ridge", {"label_sketch": WIDTH}, 5, rule=Rule("stability", 0.6, 5)
    )
    _, _, got = rank_here(here, request)
    (groups,) = here.run(Gram(60, WIDTH))
    assert all(part.q == WIDTH for part in groups.values())
    assert got.details["label_sketch"] == WIDTH


def test_what_cannot_be_sketched_is_refused(here):
    with pytest.raises(ParameterError, match="labelSketch = 16 goes with group=True"):
        scores(here, "lasso", label_sketch=WIDTH)
    with pytest.raises(ParameterError, match="labelSketch = 16 goes with factorizer='svd'"):
        scores(here, "omfs", label_sketch=WIDTH, factorizer="nmf")
    x, y = table()
    y[3, 1] = np.nan
    with pytest.raises(ParameterError, match="labelSketch = 16 needs every label known"):
        scores(engine_of(x, y), "csfs", label_sketch=WIDTH)
