"""States merge, travel and count exactly; the tree merge gives the same bits; the jobs are as few
as promised."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import spark_mlfs
from spark_mlfs import BudgetError, pipeline
from spark_mlfs import read as readers
from spark_mlfs.blocks.block import Block, concatenate
from spark_mlfs.blocks.codec import decode, encode
from spark_mlfs.blocks.coding import code_block, plan_coding
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import Profile, profile_block
from spark_mlfs.engine import spark as runner
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.kernels.hashing import group_of
from spark_mlfs.kernels.information import CountLogs
from spark_mlfs.solvers.ties import significant
from spark_mlfs.statistics import contingency, joint, labelsets, links, moments, quantiles, targets
from spark_mlfs.statistics.base import cut, paste
from spark_mlfs.testing import engine_of, example, frame_of


def block_of(n, d=9, q=4, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[:, 2] = x[:, 2] > 0
    x[:, 4] = 1.5
    if sparse:
        x[rng.random(x.shape) < 0.9] = 0
    labels = sp.csr_matrix(rng.random((n, q)) < 0.4)
    return Block(
        sp.csr_matrix(x) if sparse else x, np.arange(n) + 1000 * seed, labels.indptr, labels.indices
    )


def same(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        if sp.issparse(value):
            assert (value != b[name]).nnz == 0
        elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
            np.testing.assert_allclose(value, b[name], rtol=1e-12, atol=1e-12)
        else:
            assert np.array_equal(value, b[name])


def test_the_codec_keeps_every_array():
    state = {
        "a": np.arange(7, dtype=np.int32).reshape(1, 7),
        "empty": np.zeros((0, 3)),
        "s": sp.csr_matrix(np.eye(3)),
        "n": 3,
        "none": None,
        "u": np.array([2**64 - 1], np.uint64),
    }
    back = decode(bytes(encode(state)))
    assert back["n"] == 3 and back["none"] is None and back["u"][0] == 2**64 - 1
    for name in ("a", "empty", "u"):
        assert back[name].dtype == state[name].dtype and np.array_equal(back[name], state[name])
    assert (back["s"] != state["s"]).nnz == 0
    pieces = cut({"a": np.arange(10), "s": sp.csr_matrix(np.eye(5))}, 3)
    whole = paste(pieces)
    assert (
        np.array_equal(whole["a"], np.arange(10))
        and (whole["s"] != sp.csr_matrix(np.eye(5))).nnz == 0
    )


@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=12, deadline=None)
@given(first=st.integers(1, 60), second=st.integers(1, 60), seed=st.integers(0, 50))
def test_partial_states_merge(sparse, first, second, seed):
    a, b = (
        block_of(first, seed=seed, sparse=sparse),
        block_of(second, seed=seed + 100, sparse=sparse),
    )
    both = concatenate([a, b])
    profile = profile_block(both, 4)
    merged = profile_block(a, 4).merge(profile_block(b, 4))
    for name in ("n", "d", "q", "nonzero", "labelled"):
        assert getattr(merged, name) == getattr(profile, name)
    for name in ("low", "high", "binary", "positive"):
        assert np.array_equal(getattr(merged, name), getattr(profile, name))
    if not len(profile.varying):
        return
    coding = plan_coding(profile, 5, "width")
    labels = targets.Labels(4)
    coded = [code_block(x, coding) for x in (a, b, both)]
    selected = (0, min(1, len(profile.varying) - 1))
    logs = CountLogs(profile.n, 50)
    found = [
        contingency.TwoWay(coding, labels),
        links.pair_counts(coding, labels, selected, (0, 0), logs),
        links.label_pair_counts(coding, targets.LabelPairs((0, 1, 3)), False, 48),
        joint.cell_counts(coding, labels, selected, logs),
        labelsets.LabelsetCounts(),
    ]
    for statistic in found:
        parts = [statistic.partial(x, profile) for x in coded]
        same(statistic.merge(parts[0], parts[1]), parts[2])
    for statistic in (moments.GroupMoments(labels), labelsets.LabelsetCounts()):
        parts = [statistic.partial(x, profile) for x in (a, b, both)]
        same(statistic.merge(parts[0], parts[1]), parts[2])


@pytest.mark.parametrize(("picks", "few"), [(0, True), (1, True), (2, False), (3, False)])
def test_cells_of_sparse_rows_are_counted_while_all_there_may_be_are_few(picks, few):
    """Of 500 features of 20 bins and five groups: 50,000 numbers, and 20 times as many a pick."""
    x = sp.random(600, 500, 0.02, format="csr", random_state=2)
    indptr = np.arange(601, dtype=np.int32)
    block = Block(x, np.arange(600), indptr, indptr[:-1] % 4)
    profile = profile_block(block, 4)
    coding = plan_coding(profile, 20, "width")
    assert coding.sparse and coding.width == 20 and len(coding.features) == 500
    labels, selected = targets.Labels(4), tuple(range(picks))
    assert joint.few_cells(coding, labels, selected) == few
    numbers = 500 * 20 * 20**picks * 5
    assert few == (8 * numbers <= joint.DENSE_BYTES)
    state = joint.cell_counts(coding, labels, selected, CountLogs(600, 50)).state_bytes(profile)
    assert state < joint.DENSE_BYTES  # which alone would have all of them laid out


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bins", [2, 3, 5, 16, 17, 250])
def test_counts_are_those_of_a_loop(sparse, bins):
    block = block_of(70, sparse=sparse, seed=3)
    profile = profile_block(block, 4)
    coding = plan_coding(profile, bins, "width")
    coded = code_block(block, coding)
    x, y = block.dense(), block.labels(4).toarray()
    two_way = contingency.TwoWay(coding, targets.Labels(4))
    counts = two_way.finish(two_way.partial(coded, profile), profile)
    got = counts.dense(0, len(coding.features))
    want = np.zeros_like(got)
    for f, column in enumerate(coding.features):
        low, high = x[:, column].min(), x[:, column].max()
        for i in range(block.n):
            value = x[i, column]
            code = (
                int(value)
                if set(np.unique(x[:, column])) <= {0, 1}
                else min(bins - 1, int((value - low) * bins / (high - low)))
            )
            assert coded.feature(coding, f)[i] == code
            want[f, code, 0] += 1
            for label in np.flatnonzero(y[i]):
                want[f, code, 1 + label] += 1
    assert np.array_equal(got, want)


def test_a_large_mean_loses_no_variance(spark):
    values = 1e9 + np.array([0.0, 1.0, 2.0] * 4)
    labels = sp.csr_matrix(np.ones((12, 1)))
    block = Block(values[:, None], np.arange(12), labels.indptr, labels.indices)
    profile = profile_block(block, 1)
    found = LocalEngine(profile, [block]).run(moments.GroupMoments(targets.Everything()))[0]
    assert abs(found.square[0, 0] / 12 - (found.total[0, 0] / 12) ** 2 - 2 / 3) < 1e-12


def test_quantiles_by_bisection_are_exact():
    block = block_of(501, seed=4, sparse=True)
    dense = block_of(501, seed=5)
    shares = np.array([0.2, 0.4, 0.5, 0.6, 0.8])
    for each in (block, dense):
        profile = profile_block(each, 4)
        scans = []

        def count(statistic, each=each, profile=profile, scans=scans):
            scans.append(statistic.step)
            return statistic.finish(statistic.partial(each, profile), profile)

        found = quantiles.bracketed_quantiles(profile, shares, count)
        assert scans == [*range(len(scans))] and 2 < len(scans) <= 12
        want = np.quantile(each.dense()[:, profile.varying].astype(float), shares, axis=0).T
        assert np.array_equal(found, want)
        assert np.array_equal(quantiles.exact_quantiles(each.x, profile.varying, shares), want)


def test_groups_depend_on_the_row_id_alone():
    assert (
        group_of(np.array([0, 1, 2, 12345, -7])).tolist()
        == group_of(np.array([0, 1, 2, 12345, -7], np.int64)).tolist()
    )
    spread = np.bincount(group_of(np.arange(60_000)), minlength=60)
    assert spread.min() > 850 and spread.max() < 1150


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_nine_significant_digits(value):
    assert significant(np.array([value]))[0] == pytest.approx(float(f"{value:.8e}"), rel=1e-8)


@pytest.fixture(scope="module")
def planted(spark):
    packed = pack(readers.planted(spark, 600, 24, 5, seed=2, num_partitions=3), row_id="id")
    yield packed
    packed.release()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["jmi", "fisher", "mim"])
def test_the_tree_merge_gives_the_same_bits(planted, method, monkeypatch):
    request = [pipeline.Request.of(method, {}, 6)]
    direct = pipeline.rank(planted, request, small_bytes=0)[0]
    monkeypatch.setattr(runner, "DIRECT_BYTES", 1)
    merged = pipeline.rank(planted, request, small_bytes=0)[0]
    assert merged.scores.values.tobytes() == direct.scores.values.tobytes()
    assert merged.ranking.equals(direct.ranking)


@pytest.mark.slow
def test_cells_spread_over_tasks_give_the_same_bits(planted, monkeypatch):
    request = [pipeline.Request.of("cmi", {}, 6)]
    one = pipeline.rank(planted, request)[0]
    monkeypatch.setattr(runner, "DIRECT_BYTES", 1 << 15)  # a few cells, then by cell
    many = pipeline.rank(planted, request, small_bytes=0)[0]
    assert many.scores.path.gains == one.scores.path.gains and many.ranking.equals(one.ranking)


@pytest.mark.slow
def test_more_joint_codes_than_int64_has_rank_as_in_memory(spark):
    """Eight picks of 250 bins are 250⁸ codes: only those that occur are numbered, however the
    rows are divided."""
    rng = np.random.default_rng(1)
    x, y = np.zeros((240, 10)), (rng.random((240, 3)) < 0.3).astype(float)
    for f in range(10):  # every feature tells about 24 rows of its own
        x[24 * f : 24 * f + 24, f] = rng.integers(1, 5, 24)
    packed = pack(frame_of(spark, x, y, sparse=True).repartition(2), row_id="id")
    more = {"label_coding": "lp", "num_bins": 250}
    here = spark_mlfs.rank(sp.csr_matrix(x), y, "cmi", k=10, **more)
    assert here["score"].notna().sum() > 8
    (there,) = pipeline.rank(packed, [pipeline.Request.of("cmi", more, 10)], small_bytes=0)
    assert there.distributed
    columns = ["rank", "index", "score", "relevance"]
    assert there.ranking[columns].equals(here[columns])
    packed.release()


@pytest.mark.slow
def test_features_beyond_the_root_of_double_precision_rank_distributed_as_in_memory(spark):
    x, y = example()
    x[:, ::2] = np.ldexp(x[:, ::2], 700)
    packed = pack(frame_of(spark, x, y).repartition(3), row_id="id")
    requests = [
        pipeline.Request.of(method, more, 3)
        for method, more in (
            ("fisher", {}),
            ("ridge", {}),
            ("ppt-cmi", {"estimator": "knn"}),
            ("jmi", {"binning": "quantile"}),
        )
    ]
    for small in (0, 1 << 30):
        for there in pipeline.rank(packed, requests, small_bytes=small):
            ((here, _, _),), _ = pipeline.Solve((there.request,))(engine_of(x, y))
            method = there.request.method
            assert there.scores.values.tobytes() == here.values.tobytes(), method
            assert there.scores.path is None or there.scores.path.gains == here.path.gains, method
    packed.release()


def test_a_state_above_the_budget_is_refused(planted):
    with pytest.raises(BudgetError, match="driverBytes"):
        pipeline.rank(planted, [pipeline.Request.of("ridge")], small_bytes=0, driver_bytes=100)


@pytest.mark.slow
def test_jobs_are_counted_and_few(spark):
    frame = readers.planted(spark, 600, 24, 5, seed=2, num_partitions=3).cache()
    frame.count()
    tracker, context = spark.sparkContext.statusTracker(), spark.sparkContext
    # fisher goes by row ids: one job looks for repeated ones
    for method, small, most in (
        ("mim", 1 << 40, 2),
        ("jmi", 1 << 40, 2),
        ("mim", 0, 2),
        ("jmi", 0, 6),
        ("fisher", 0, 3),
    ):
        group = f"jobs of {method} {small}"
        context.setJobGroup(group, group)
        result = pipeline.rank(
            frame, [pipeline.Request.of(method, {}, 20)], row_id="id", small_bytes=small
        )[0]
        assert len(tracker.getJobIdsForGroup(group)) == result.jobs <= most, method
    context.setLocalProperty("spark.jobGroup.id", None)
    frame.unpersist()


def test_an_empty_profile_merges():
    some = profile_block(block_of(5), 4)
    assert Profile().merge(some).n == some.merge(Profile()).n == 5
