"""GMBA by blocks against loops, its three modes, and the certificate of the convex one."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from in_memory.labelsets import labelset_codes
from oracles.gmba import Gmba
from oracles.loader import load
from oracles.regression import standardise
from scipy.stats import spearmanr

from spark_mlfs.kernels import hinges
from spark_mlfs.kernels.exact import power_above
from spark_mlfs.kernels.integers import add_words
from spark_mlfs.kernels.knn import Rows, tiles
from spark_mlfs.kernels.labels import LabelsetSimilarity
from spark_mlfs.kernels.nearest import Nearest
from spark_mlfs.solvers import margins


class InBlocks:
    """Both passes over blocks of rows, as a distributed run makes them."""

    def __init__(
        self, X, Y, k=3, s_min=1.0, lam=1.0, size=10**9, tile=64, sparse=False, anchors=None
    ):
        members, codes, _ = labelset_codes(Y)
        self.table = LabelsetSimilarity(members, np.asarray(Y).sum(axis=0))
        self.s_min, self.lam, self.tile, self.width = s_min, lam, tile, X.shape[1]
        x = sp.csr_matrix(X) if sparse else X
        self.grid = hinges.Grid.of(len(X), k, power_above(np.abs(X).max(axis=0)))
        self.blocks = [
            Rows(x[a : a + size], np.arange(a, min(a + size, len(X))), codes[a : a + size])
            for a in range(0, len(X), size)
        ]
        self.batches = []
        for home in self.blocks:
            batch = (
                home if anchors is None else home.take(np.flatnonzero(np.isin(home.ids, anchors)))
            )
            hits, misses = Nearest(len(batch), k), Nearest(len(batch), 1)
            for block in self.blocks[::-1]:
                for one, _ in tiles(batch, block, size=tile):
                    lookup = self.table.between(one.query.codes, one.reference.codes)
                    hits.update(one, lookup.compared(np.greater_equal, s_min))
                    misses.update(one, lookup.compared(np.less, s_min))
            usable = np.flatnonzero((hits.filled == k) & (misses.filled == 1))
            margins = np.abs(hits.squares[usable, 0] - misses.squares[usable, 0])
            ids = hits.ids[usable]
            self.batches.append(
                hinges.Anchors.of(
                    batch.take(usable), x[ids.ravel()], codes[ids], margins, self.table
                )
            )

    def _parts(self, batch, weights, summed):
        states = [
            hinges.hinge_state(
                [batch], block, self.table, self.grid, self.s_min, weights, summed, tile=self.tile
            )
            for block in self.blocks
        ]
        return hinges.hinges(
            [batch], reduce(add_words, states), self.grid, self.lam, weights, summed
        )

    def gradients(self, weights=None):
        """{row: (g_i, loss_i)}"""
        out = {}
        for batch in self.batches:
            part = self._parts(batch, weights, False)
            out.update(
                {
                    int(i): (g, v)
                    for i, g, v in zip(batch.rows.ids, part.gradient, part.loss, strict=True)
                }
            )
        return out

    def evaluate(self, v):
        parts = [self._parts(batch, v, True) for batch in self.batches if len(batch)]
        return sum(p.loss for p in parts), sum(p.gradient for p in parts)


def planted(n=60, d=8, seed=0, q=3):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < 0.4).astype(int)
    X = rng.normal(size=(n, d))
    X[:, :3] += 2 * Y @ rng.normal(size=(q, 3))
    return standardise(X), Y


def close(got, want, tolerance=1e-11, slack=0.0):
    # the data are standardised: a loss of exactly 0 may come out as what the grid leaves of numbers
    # near 1
    assert (np.abs(got - want) <= tolerance * max(1, np.abs(want).max()) + slack).all()


def grid_slack(naive, bits, i, hits, dissim, margin, v):
    """What an anchor's loss and gradient may be off by, as each c is a whole number of 2^-bits:
    half of one for every active pair, whose terms may cancel in the sums; and what float64 rounds
    of such terms, which may be large and cancel in a pair."""
    delta = (naive.X[i] - naive.X) ** 2
    near, far = margin + (delta[hits] @ v)[:, None], delta[dissim] @ v
    active = (np.round((near - far) / naive.d, 10) >= 0) * naive.lam
    half, rounding = active * 2.0 ** -(bits + 1), active * 2.0**-50
    apart, both = np.abs(delta[hits][:, None] - delta[dissim]), delta[hits][:, None] + delta[dissim]
    of_gradient = (half[..., None] * apart + rounding[..., None] * both).sum(axis=(0, 1))
    return (half * np.abs(near - far) + rounding * (near + far)).sum(), of_gradient


def same_per_anchor(ours, naive, weights=None, tolerance=1e-11):
    got = ours.gradients(weights)
    v = np.ones(naive.d) if weights is None else weights
    assert sorted(got) == [a[0] for a in naive.anchors]
    slacks = [grid_slack(naive, ours.grid.bits, *anchor, v) for anchor in naive.anchors]
    for anchor, (of_loss, of_gradient) in zip(naive.anchors, slacks, strict=True):
        loss, gradient = naive.terms(*anchor, v)
        close(got[anchor[0]][0], gradient, tolerance, of_gradient)
        close(got[anchor[0]][1], loss, tolerance, of_loss)
    loss, gradient = ours.evaluate(v)
    close(
        loss,
        naive.loss(v),
        1e-11,
        sum(of_loss for of_loss, _ in slacks),
    )
    close(gradient, sum(g for g, _ in got.values()), 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "tile"), [(10**9, 1000), (23, 10), (7, 2)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("k", "s_min", "lam"), [(3, 1.0, 1.0), (1, 1.0, 0.5), (2, 0.4, 2.0)])
def test_gradient_and_loss_of_every_anchor(size, tile, sparse, k, s_min, lam):
    X, Y = planted(40)
    X[30:35] = X[:5]
    naive = Gmba(X, Y, k, s_min, lam)
    ours = InBlocks(X, Y, k, s_min, lam, size, tile, sparse)
    same_per_anchor(ours, naive)
    v = np.random.default_rng(1).random(X.shape[1]) * 2
    v[2] = 0
    same_per_anchor(ours, naive, v)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    levels=st.sampled_from([2, 3, 100]),
    k=st.integers(1, 3),
    s_min=st.sampled_from([1.0, 0.5, 0.2]),
    size=st.integers(3, 30),
    sparse=st.booleans(),
)
def test_ties_in_the_hinges(seed, levels, k, s_min, size, sparse):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(25, 4)).astype(float)
    X[0], X[1] = 0, levels
    Y = (rng.random((25, 3)) < 0.35).astype(int)
    naive, ours = Gmba(X, Y, k, s_min), InBlocks(X, Y, k, s_min, 1.0, size, 5, sparse)
    if naive.anchors:
        same_per_anchor(
            ours, naive, tolerance=1e-13
        )  # whole numbers: only c, and sums of many digits, are rounded


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flags", "emotions"])
@pytest.mark.parametrize("sparse", [False, True])
def test_real_sets(name, sparse, data_dir):
    X, Y = load(name, data_dir)[:2]
    X, Y = standardise(X), Y.astype(int)
    naive, ours = Gmba(X, Y), InBlocks(X, Y, size=200, tile=128, sparse=sparse)
    same_per_anchor(
        ours, naive, tolerance=1e-9
    )  # columns reach far: the grid is coarse beside what one anchor adds
    got = ours.gradients()
    close(-sum(g for g, _ in got.values()), naive.closed(), 1e-10)
    order = np.random.default_rng(0).permutation(len(X))
    descent = margins.paper_descent((got[i][0] for i in order if i in got), X.shape[1])
    close(descent, naive.paper(order), 1e-6)  # which its steps make larger


def test_dense_product_and_sparse_product_agree(monkeypatch):
    X, Y = planted(80)
    want = InBlocks(X, Y).gradients()
    for share in (0.0, 1.1):
        monkeypatch.setattr(hinges, "SPARSE_BELOW", share)
        got = InBlocks(X, Y).gradients()
        for i in want:
            close(got[i][0], want[i][0])


def test_products_that_cancel_do_not_decide_a_hinge():
    # far from the origin |x|^2 + |z|^2 - 2x'z errs by more than the grid: the nearest hit and miss
    # are exact ties; x^2 W - 2x Wx + W x^2 cancels, too
    X, Y = planted(50)
    X = np.round(X * 1024) / 1024
    naive, ours = Gmba(X + 2.0**12, Y), InBlocks(X + 2.0**12, Y, tile=16)
    got = ours.gradients()
    for i, gradient in naive.gradients().items():
        close(got[i][0], gradient, 1e-10)


def test_loss_is_not_negative_and_the_gradient_is_one():
    X, Y = planted()
    ours = InBlocks(X, Y)
    rng = np.random.default_rng(0)
    u, v = rng.random(8) * 3, rng.random(8) * 3
    (fu, gu), (fv, _) = ours.evaluate(u), ours.evaluate(v)
    assert fu >= 0 and fv >= 0
    assert fv >= fu + gu @ (v - u) - 1e-9 * abs(fu)
    step = 1e-6 * rng.normal(size=8)
    assert (
        abs(ours.evaluate(u + step)[0] - ours.evaluate(u - step)[0] - 2 * gu @ step)
        <= 1e-4 * np.abs(gu).max() * 1e-6
    )


def test_sampled_anchors_are_the_same_anchors():
    X, Y = planted()
    anchors = [3, 4, 17, 30, 41, 59]
    every, some = InBlocks(X, Y).gradients(), InBlocks(X, Y, size=25, anchors=anchors).gradients()
    assert sorted(some) == [i for i in anchors if i in every]
    for i, (gradient, _) in some.items():
        close(gradient, every[i][0])


def test_rows_without_hits_or_misses_are_no_anchors():
    X, Y = planted(30)
    assert all(len(b) == 0 for b in InBlocks(X, np.ones_like(Y)).batches)  # no miss
    assert all(
        len(b) == 0 for b in InBlocks(X, np.zeros_like(Y)).batches
    )  # no hit: empty labelsets are not alike


# ---- gradients that are zero ----


def survey():
    """Three questions of few answers, one seldom far from the rest: most anchors have neighbours
    of the same answers, and nothing to learn from them."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (120, 3)).astype(float)
    X[:, 2] = rng.choice([0, 0.37, 1.9], 120)
    Y = np.stack([(X[:, 0] + rng.random(120) > 0.9), rng.random(120) < 0.4], 1).astype(int)
    return standardise(X), Y


@pytest.mark.parametrize("sparse", [False, True])
def test_gradients_of_nothing_are_zero(sparse):
    X, Y = survey()
    naive = Gmba(X, Y)
    want = naive.gradients()
    got = InBlocks(X, Y, size=50, tile=16, sparse=sparse).gradients()
    largest = max(np.linalg.norm(g) for g in want.values())
    is_zero = [np.linalg.norm(g) <= 1e-9 * largest for g in want.values()]
    assert 20 < sum(is_zero) < len(is_zero) - 20
    assert [not got[i][0].any() for i in want] == is_zero
    for i, gradient in want.items():
        close(got[i][0], gradient, 1e-10)
    descent = margins.paper_descent((got[i][0] for i in sorted(got)), 3)
    kept = [want[i] for i, zero in zip(want, is_zero, strict=True) if not zero]
    close(descent, margins.paper_descent(kept, 3), 1e-8)


# ---- descent ----


def test_descent_by_hand():
    g = np.array([[3.0, -4.0], [0.0, 0.0], [1.0, 0.0]])
    weights = margins.paper_descent(g, 2, beta=0.5)
    # first step (0.3, -0.4), the second none, the third along the first axis
    np.testing.assert_allclose(weights, [1 - 0.3 - 0.5, 1 + 0.4], atol=1e-15)


# ---- convex ----


def never_rises(trace):
    return (np.diff(trace) <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_convex_reaches_the_dual_bound_of_the_oracle(seed):
    X, Y = planted(24, 5, seed, 2)
    naive, ours = Gmba(X, Y, k=2), InBlocks(X, Y, k=2)
    v, value, bound = naive.minimise()
    assert value - bound <= 1e-6 * value  # the oracle proves itself
    solution = margins.convex(ours.evaluate, 5, tol=1e-6, max_passes=400)
    assert solution.converged and never_rises(solution.objective)
    assert bound * (1 - 1e-9) <= solution.objective[-1] <= value * (1 + 1e-6)
    close(solution.objective[-1], naive.objective(solution.weights))
    assert (solution.weights >= 0).all()
    # eta/2 ||v - v*||^2 <= gap: the minimiser is one point
    far = np.sqrt(2 * (value - bound + solution.extra["gap"]) / naive.eta())
    assert np.linalg.norm(solution.weights - v) <= far


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "flags"])
def test_convex_on_real_sets(name, data_dir):
    X, Y = load(name, data_dir)[:2]
    X, Y = standardise(X)[:300], Y[:300].astype(int)
    X = standardise(X)
    ours = InBlocks(X, Y, tile=512)
    seen = []
    solution = margins.convex(ours.evaluate, X.shape[1], progress=lambda *state: seen.append(state))
    assert (
        solution.converged
        and never_rises(solution.objective)
        and solution.extra["gap"] <= 1e-5 * solution.objective[-1]
    )
    assert len(seen) >= solution.iterations - 1 and solution.iterations <= 60
    finer = margins.convex(ours.evaluate, X.shape[1], tol=3e-6)
    assert finer.objective[-1] >= solution.objective[-1] - solution.extra["gap"]
    assert spearmanr(solution.weights, finer.weights)[0] > 0.99


@pytest.mark.slow
def test_convex_column_order_copy_and_row_order():
    X, Y = planted(36, 6)
    X = np.hstack([X, X[:, :1]])
    base = margins.convex(InBlocks(X, Y).evaluate, 7, tol=1e-6).weights
    assert (
        abs(base[0] - base[-1]) <= 1e-9 * base.max()
    )  # kept equal on the way, not only at the minimum
    order = np.random.default_rng(0).permutation(7)
    moved = margins.convex(InBlocks(X[:, order], Y).evaluate, 7, tol=1e-6).weights
    close(moved, base[order], 1e-2)
    rows = np.random.default_rng(1).permutation(36)
    moved = margins.convex(InBlocks(X[rows], Y[rows]).evaluate, 7, tol=1e-6).weights
    close(moved, base, 1e-2)


def test_convex_past_kinks():
    """A loss of few pieces, where L-BFGS-B stops short: the planes finish."""
    rng = np.random.default_rng(0)
    slopes, heights = rng.normal(size=(7, 4)) * 5, rng.normal(size=7) + 10

    def evaluate(v):
        level = heights + slopes @ v
        return level.max(), slopes[level.argmax()]

    solution = margins.convex(evaluate, 4, eta=1.0, tol=1e-9, max_passes=300)
    assert solution.converged
    # the same by brute force over a mesh around the answer
    around = np.maximum(0, solution.weights + 0.05 * rng.normal(size=(20_000, 4)))
    values = (heights + around @ slopes.T).max(axis=1) + 0.5 * ((around - 1) ** 2).sum(axis=1)
    assert solution.objective[-1] <= values.min() + 1e-12


def test_convex_without_slope_and_out_of_passes():
    flat = margins.convex(lambda v: (0.0, np.zeros(3)), 3)
    assert flat.converged and flat.iterations == 1 and (flat.weights == 1).all()
    X, Y = planted()
    short = margins.convex(InBlocks(X, Y).evaluate, 8, max_passes=3)
    assert (
        not short.converged
        and short.iterations == 3
        and never_rises(short.objective)
        and short.extra["gap"] > 0
    )


@pytest.mark.parametrize("mode", ["closed", "convex"])
def test_planted_features_come_first(mode):
    rng = np.random.default_rng(5)
    Y = (rng.random((200, 2)) < 0.5).astype(int)
    X = rng.normal(size=(200, 8))
    X[:, :2] += 4 * Y
    ours = InBlocks(standardise(X), Y, tile=512)
    scores = (
        -ours.evaluate(np.ones(8))[1]
        if mode == "closed"
        else margins.convex(ours.evaluate, 8).weights
    )
    assert set(np.argsort(-scores)[:2]) == {0, 1}


def test_convex_ends_where_planes_change_nothing():
    """Of a loss that is none, the planes lead to one point for ever."""

    def evaluate(v):
        if (v == 1).all():
            return 1.0, np.ones(2)
        return 5.0, np.full(2, 1000.0)

    assert not margins.convex(evaluate, 2).converged
