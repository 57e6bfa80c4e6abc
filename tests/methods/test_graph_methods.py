"""spec, gmba and relieff through the whole pipeline against the naive n × n oracles, and their
invariants."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import relieff, spec
from oracles.gmba import Gmba
from oracles.neighbours import label_similarity
from oracles.regression import standardise
from scipy.stats import spearmanr

import spark_mlfs
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import DataError
from spark_mlfs.kernels.hashing import mix
from spark_mlfs.statistics.neighbours import labelset_table

# mostly in this process: that one task and many jobs give the same bits is a law of every method,
# which `conformance` has


def varying(x):
    return np.flatnonzero(x.max(axis=0) > x.min(axis=0))


def agrees(got, want, tolerance):
    scale = np.abs(want).max()
    assert np.abs(got - want).max() <= tolerance * scale, np.abs(got - want).max() / scale


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "small", "criterion"),
    [
        ("emotions", True, "phi1"),
        ("planted-sparse", False, "phi1"),
        ("planted", True, "phi2"),
        ("planted-sparse", True, "phi2"),
        ("flags", False, "phi3"),
        ("planted-sparse", True, "phi3"),
    ],
)
def test_spec(rows, name, criterion, small):
    data = rows(name)
    got, result = data.scores("spec", small, criterion=criterion)
    keep = varying(data.x)
    agrees(
        got[keep],
        spec.spec(data.x[:, keep], data.y, criterion),
        1e-10 if criterion == "phi1" else 1e-8,
    )
    assert result.scans == 2  # packing, and one


@pytest.mark.slow
def test_spec_on_many_rows_of_scene(rows):
    data = rows("scene")
    x, y = data.x[::2], data.y[::2]
    ranking = spark_mlfs.rank(x, y, "spec", k=None, criterion="phi1").set_index("index")
    got = ranking["score"].sort_index().to_numpy()
    agrees(got[varying(x)], spec.spec(x[:, varying(x)], y, "phi1"), 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "small", "k", "s_min", "lam"),
    [
        ("emotions", True, 3, 1.0, 1.0),
        ("emotions", True, 2, 0.5, 0.3),
        ("planted-sparse", True, 3, 1.0, 1.0),
        ("planted-sparse", True, 2, 0.5, 0.3),
        ("flags", False, 2, 0.5, 0.3),
    ],
)
def test_gmba_closed_and_paper(rows, name, k, s_min, lam, small):
    data = rows(name)
    keep = varying(data.x)
    naive = Gmba(standardise(data.x), data.y, k, s_min, lam)
    given = {"k": k, "s_min": s_min, "lam": lam}
    got, result = data.scores("gmba", small, mode="closed", **given)
    agrees(got[keep], naive.closed(), 1e-9)
    assert result.scores.details["anchors"] == len(naive.anchors)
    for more, order in (
        ({"shuffle": False}, np.arange(len(data.x))),
        ({"seed": 5}, seeded_order(len(data.x), 5)),
    ):
        got, _ = data.scores("gmba", small, mode="paper", **more, **given)
        want, spread = descents(naive, order)
        agrees(got[keep], want, max(1e-8, 10 * spread))


def seeded_order(n, seed):
    return np.argsort(mix(np.arange(n), seed + 1), kind="stable")


def descents(naive, order, beta=0.9):
    """The naive descent of the paper, and how far the last digits of its gradients alone move it:
    weights change sign and size at every step, and gradients changed in their last bit can end per
    cents apart. Exact sums have twelve digits and more."""
    gradients = naive.gradients()
    grid = max(
        np.abs(gradient).max() for gradient in gradients.values()
    )  # sums are exact on a grid of about 1e-12 of that

    def run(noise):
        rng, w = np.random.default_rng(0), np.ones(naive.d)
        for i in order:
            if i in gradients:
                step = 2 * w * (gradients[i] + noise * grid * rng.normal(size=naive.d))
                if (size := np.linalg.norm(step)) > 0:
                    w = w - beta * step / size
        return w

    want = run(0.0)
    np.testing.assert_array_equal(want, naive.paper(order, beta))
    return want, max(
        np.abs(run(noise) - want).max() for noise in (1e-15, 1e-14, 1e-13, 1e-12)
    ) / np.abs(want).max()


@pytest.mark.slow
def test_gmba_on_many_rows_of_scene(rows):
    data = rows("scene")
    x, y = data.x[::2], data.y[::2]
    naive = Gmba(standardise(x), y)
    ranking = spark_mlfs.rank(x, y, "gmba", k=None, mode="closed").set_index("index")
    got = ranking["score"].sort_index().to_numpy()
    agrees(got[varying(x)], naive.closed(), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planted", "planted-sparse"])
def test_gmba_convex_reaches_the_minimum(rows, name):
    data = rows(name)
    keep = varying(data.x)
    naive = Gmba(standardise(data.x), data.y)
    got, result = data.scores("gmba", mode="convex")
    trace = result.scores.objective
    assert all(b <= a for a, b in itertools.pairwise(trace))
    _, value, bound = naive.minimise()
    assert naive.objective(got[keep]) <= value * (1 + 1e-4) and trace[-1] >= bound * (1 - 1e-6)
    assert trace[-1] == pytest.approx(naive.objective(got[keep]), rel=1e-9)
    assert (got >= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "small", "mode"),
    [
        ("emotions", True, "pairwise"),
        ("planted-sparse", True, "pairwise"),
        ("emotions", True, "hamming"),
        ("planted-sparse", True, "hamming"),
        ("flags", False, "hamming"),
    ],
)
def test_relieff(rows, name, mode, small):
    data = rows(name)
    keep = varying(data.x)
    got, _ = data.scores("relieff", small, mode=mode)
    agrees(got[keep], getattr(relieff, mode)(data.x[:, keep], data.y), 1e-9)


@pytest.mark.slow
def test_relieff_on_many_rows_of_scene(rows):
    data = rows("scene")
    x, y = data.x[::2], data.y[::2]
    ranking = spark_mlfs.rank(x, y, "relieff", k=None).set_index("index")
    got = ranking["score"].sort_index().to_numpy()
    agrees(got[varying(x)], relieff.pairwise(x[:, varying(x)], y), 1e-9)


@pytest.mark.parametrize("method", ["gmba", "relieff"])
def test_sampled_anchors_are_exactly_as_many_and_keyed_by_row(rows, method):
    data = rows("emotions")
    more = {"mode": "closed"} if method == "gmba" else {}
    got, result = data.scores(method, num_anchors=100, seed=2, **more)
    drawn = np.sort(np.argsort(mix(np.arange(len(data.x)), 2), kind="stable")[:100])
    if method == "relieff":
        assert result.scores.details["anchors"] == 100
        agrees(got, relieff.pairwise(data.x, data.y, anchors=set(drawn.tolist())), 1e-9)
    else:
        naive = Gmba(standardise(data.x), data.y)
        gradients = naive.gradients()
        used = [i for i in drawn if i in gradients]
        assert result.scores.details["anchors"] == len(used)
        agrees(got, -sum(gradients[i] for i in used), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("spec", {}),
        ("gmba", {"mode": "closed"}),
        ("gmba", {"mode": "convex"}),
        ("relieff", {}),
        ("relieff", {"mode": "hamming"}),
    ],
)
def test_planted_features_come_first(frame_of, method, parameters):
    """Three clusters of labelsets that three features tell apart, among nine of noise."""
    from spark_mlfs import pipeline
    from spark_mlfs.blocks.pack import pack

    rng = np.random.default_rng(4)
    kind = rng.integers(0, 3, 150)
    x = rng.normal(size=(150, 12))
    x[np.arange(150), kind] += (
        2 if parameters.get("mode") == "hamming" else 6
    )  # neighbours must differ in labels at times
    y = np.eye(3)[kind]
    packed = pack(frame_of(x, y), row_id="id")
    (result,) = pipeline.rank(packed, [pipeline.Request.of(method, parameters)])
    packed.release()
    assert set(result.ranking["index"][:3]) == {0, 1, 2}


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**6), jaccard=st.booleans())
def test_similarity_is_one_for_equal_labelsets_only(kit_engine, seed, jaccard):
    rng = np.random.default_rng(seed)
    y = (rng.random((30, 4)) < 0.4).astype(float)
    sets = kit_engine(y)
    table = labelset_table(sets, 4, "jaccard" if jaccard else "overlap").similarity(
        np.arange(len(sets.counts))
    )
    want = label_similarity(sets.matrix(4).toarray(), np.ones(4) if jaccard else y.sum(axis=0))
    np.testing.assert_array_equal(table, want)
    assert (table == table.T).all() and table.min() >= 0 and table.max() <= 1
    one = sets.matrix(4).toarray().sum(axis=1) > 0
    assert (np.diag(table) == one).all() and ((table == 1) <= np.eye(len(table), dtype=bool)).all()


@pytest.fixture
def kit_engine():
    import scipy.sparse as sp

    from spark_mlfs.blocks.block import Block
    from spark_mlfs.blocks.profile import profile_block
    from spark_mlfs.statistics.labelsets import LabelsetCounts

    def make(y):
        lists = sp.csr_matrix(y)
        block = Block(
            np.arange(len(y) * 2.0).reshape(-1, 2), np.arange(len(y)), lists.indptr, lists.indices
        )
        profile = profile_block(block, y.shape[1])
        return LocalEngine(profile, [block]).run(LabelsetCounts())[0]

    return make


def test_what_cannot_be_ranked_is_told(frame_of, rows):
    from spark_mlfs import pipeline
    from spark_mlfs.blocks.pack import pack

    x, y = np.random.default_rng(0).normal(size=(8, 3)), np.eye(8)[:, :4]
    packed = pack(frame_of(x, y), row_id="id")
    for method, said in (
        ("gmba", "lower k or s_min"),
        ("relieff", "lower k"),
        ("spec", "no two rows share a label"),
    ):
        with pytest.raises(DataError, match=said):
            pipeline.rank(packed, [pipeline.Request.of(method)])
    packed.release()


@pytest.mark.slow
def test_sampled_gmba_approaches_the_exact_ranking(rows):
    data = rows("emotions")
    exact, _ = data.scores("gmba")
    far = spearmanr(exact, data.scores("gmba", num_anchors=60)[0]).statistic
    near = spearmanr(exact, data.scores("gmba", num_anchors=400)[0]).statistic
    assert near > far and near > 0.9


def test_anchors_are_seen_by_other_threads_when_they_are_all_made(monkeypatch):
    from spark_mlfs.kernels.hinges import Anchors
    from spark_mlfs.methods.gmba import MarginAnchors

    waves, seen, create, make = [], [], MarginAnchors.__init__, Anchors.of

    def remember(self, *values, **named):
        create(self, *values, **named)
        waves.append(self)

    def watched(*values):
        seen.append(any(wave._anchors == [] for wave in waves))
        return make(*values)

    monkeypatch.setattr(MarginAnchors, "__init__", remember)
    monkeypatch.setattr(Anchors, "of", watched)
    rng = np.random.default_rng(0)
    y = (rng.random((60, 2)) < 0.5).astype(int)
    spark_mlfs.rank(rng.normal(size=(60, 4)) + y[:, :1], y, "gmba")
    assert seen and not any(seen)
