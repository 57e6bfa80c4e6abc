"""Every method on the rows it uses: a feature that is constant there is constant, and where a
column's zero lies is no matter."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs import pipeline
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import DataError
from spark_mlfs.kernels.hashing import GROUPS, group_of
from spark_mlfs.methods import METHODS
from spark_mlfs.select import CrossValidation
from spark_mlfs.select.analyses import held_out_error
from spark_mlfs.solvers.ties import complete
from spark_mlfs.statistics.base import Budgets
from spark_mlfs.statistics.gram import Gram

N, D, Q, FLAT = 150, 9, 4, 3
FEW = {
    "deepfs": {"epochs": 8},
    "msfs": {"steps": 20},
    "rfs": {"tol": 1e-12},
    "mifs": {"tol": 1e-11},
}
COUNTING = [
    name for name, made in METHODS.items() if any(p.name == "num_bins" for p in made.parameters)
]
# what a method does with a row of which some labels are unknown: these take what is known of it,
# the others leave it out
PARTIAL = [*COUNTING, "csfs", "f-statistic"]
SCALED = [(name, scaling) for name in METHODS if name not in PARTIAL for scaling in ("standard", "minmax")
          if scaling == "standard" or any(p.name == "scaling" for p in METHODS[name].parameters)]  # fmt: skip


def engine_of(x, y, ids=None):
    known, unknown = sp.csr_matrix(y == 1), sp.csr_matrix(np.isnan(y))
    more = (unknown.indptr, unknown.indices) if np.isnan(y).any() else (None, None)
    block = Block(
        x, np.arange(x.shape[0]) if ids is None else ids, known.indptr, known.indices, *more
    )
    return LocalEngine(profile_block(block, y.shape[1]), [block])


def table(seed=1):
    """Values on a grid of 2⁻²⁰, so that adding 1e9 rounds nothing."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(N, D)) * 2**20) / 2**20
    y = (x[:, :Q] + 0.6 * rng.normal(size=(N, Q)) > 0.4).astype(float)
    return x, y


def run(engine, name, **parameters):
    return pipeline.score(engine, pipeline.Request.of(name, {**FEW.get(name, {}), **parameters}, 5))


def agree(got, want, solver):
    """To 1e-9, or to 1e-8 where a solver stops at a tolerance."""
    relative = 1e-8 if solver else 1e-9
    assert np.abs(got - want).max() <= relative * np.abs(want).max(), (
        np.abs(got - want).max() / np.abs(want).max()
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scaling"), SCALED)
def test_a_feature_that_is_constant_on_the_rows_in_use_is_constant(name, scaling):
    """0.1 wherever the labels are known (its sums round), anything where they are not; and another
    whose outliers are there."""
    x, y = table()
    hidden = np.random.default_rng(2).choice(N, 30, replace=False)
    y[hidden[:20], 1] = np.nan
    y[hidden[20:]] = np.nan
    known = np.setdiff1d(np.arange(N), hidden)
    x[known, FLAT], x[hidden[0], 5] = 0.1, 40.0
    more = {"scaling": scaling} if scaling == "minmax" else {}
    more |= {"label_coding": "lp"} if name == "fisher" else {}
    want = run(engine_of(x[known], y[known], known), name, **more)
    got = run(engine_of(x, y), name, **more)
    assert list(got.constant) == [FLAT] and want.constant is None
    others = np.delete(np.arange(D), FLAT)
    agree(got.values[others], want.values, bool(want.objective))
    assert got.values[FLAT] == min(0.0, got.values[others].min())
    order, _ = complete(
        got.values, np.arange(D), D, None if got.path is None else got.path.picks, got.constant
    )
    alone, _ = complete(want.values, others, D, None if want.path is None else want.path.picks)
    assert order[-1] == FLAT and list(order) == list(alone)


def test_a_feature_that_is_constant_where_a_label_is_known_tells_nothing_about_it():
    """Fisher's score of each label is over the rows where that label is known; one that is constant
    there adds 0, not the 1e12 of a perfect separation. The F statistic looks at rows with a label
    only."""
    x, y = table()
    hidden = np.random.default_rng(2).choice(N, 40, replace=False)
    y[hidden, 1] = np.nan
    x[np.setdiff1d(np.arange(N), hidden), FLAT] = 0.1
    for coding in ("br", "overlap"):
        assert run(engine_of(x, y), "fisher", label_coding=coding).values.max() < 10
    x, y = table()
    x[y.any(axis=1), FLAT] = 0.1
    got = run(engine_of(x, y), "f-statistic").values
    assert got[FLAT] == 0 and 0 < np.delete(got, FLAT).min() and got.max() < 1e6


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.takes_grams()])
def test_a_feature_that_is_constant_on_the_rest_of_a_fold_has_no_weight(name):
    """Cross-validation fits on rows over which a feature may be constant that varies in the fold
    held out."""
    x, y = table(4)
    fold = group_of(np.arange(N)) * 5 // GROUPS
    assert set(fold) == set(range(5))
    x[:, FLAT] = np.where(fold == 2, x[:, FLAT], 0.1)
    method, p = METHODS.create(name), pipeline.Request.of(name, {}).parameters
    validation, losses = CrossValidation(5), []
    for columns in (np.arange(D), np.delete(np.arange(D), FLAT)):
        engine = engine_of(x[:, columns], y)
        validation.before(engine, method, p)
        parts = [*engine.run(Gram(5))[0].values()]
        losses.append(
            [held_out_error(method.gram_problem(engine.profile, p), parts, i) for i in range(5)]
        )
    np.testing.assert_allclose(losses[0][2], losses[1][2], rtol=1e-7)
    engine = engine_of(x, y)
    validation.before(engine, method, p)
    assert validation.outcome(engine, method, p) == pytest.approx(
        sum(losses[0]) / (N * Q), rel=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", list(METHODS))
def test_where_the_zero_of_a_column_lies_is_no_matter(name, sparse):
    """1e9 added to a column whose values stay exact: the same problem, so the same scores."""
    x, y = table(7)
    x[:, 6] = np.round(x[:, 6] * 3)
    moved = x.copy()
    moved[:, [0, 2, 6]] += 1e9
    assert (moved[:, [0, 2, 6]] - 1e9 == x[:, [0, 2, 6]]).all()
    form = sp.csr_matrix if sparse else np.asarray
    want, got = run(engine_of(form(x), y), name), run(engine_of(form(moved), y), name)
    agree(got.values, want.values, bool(want.objective))
    assert got.path is None or got.path.picks == want.path.picks


@pytest.mark.parametrize("name", ["mifs", "omfs", "msfs", "ridge", "rfs"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_where_the_zero_lies_is_no_matter_under_minmax_scaling(name, sparse):
    x, y = table(7)
    form = sp.csr_matrix if sparse else np.asarray
    want, got = (run(engine_of(form(v), y), name, scaling="minmax") for v in (x, x + 1e9))
    agree(got.values, want.values, bool(want.objective))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["rfs", "csfs"])
def test_where_the_zero_lies_costs_no_scan(name, sparse):
    """What is predicted row by row has the digits of the features about their centre: 1e9 added to
    every column leaves as many scans, and the scores to 1e-9."""
    x, y = table(7)
    if name == "csfs":
        y[:30, 1] = y[20:40] = np.nan
    parameters = {"tol": 1e-8} if name == "rfs" else {}
    scores = []
    for values in (x, x + 1e9):
        engine = engine_of(sp.csr_matrix(values) if sparse else values, y)
        engine.budgets = Budgets(driver=30_000)  # too few for the rows: rfs scans
        scores.append(run(engine, name, **{**parameters, "max_iter": 300}))
    want, got = scores
    assert want.converged and got.converged and got.details == want.details
    assert len(got.objective) == len(want.objective) > 3
    agree(got.values, want.values, False)


@pytest.mark.parametrize("name", ["ridge", "lasso", "fastcan", "omfs", "auto"])
def test_a_label_that_is_never_known_is_named_as_the_reason(name):
    x, y = table()
    y[:, 2] = np.nan
    with pytest.raises(DataError, match="no row has all its labels known"):
        run(engine_of(x, y), name)
