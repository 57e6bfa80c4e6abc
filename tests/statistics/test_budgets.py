"""What one worker process may hold: more runs distributed, with the same bits, or is refused with
the setting to change."""

from __future__ import annotations

import tracemalloc
from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs import BudgetError, MultiLabelSelector, pipeline
from spark_mlfs import read as readers
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.coding import code_block
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import Profile, profile_block
from spark_mlfs.cli.config import RunSettings
from spark_mlfs.engine import local, tasks
from spark_mlfs.engine.base import CODING_BYTES
from spark_mlfs.engine.local import LocalEngine, SizingEngine
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.errors import WorkerBudgetError, from_worker
from spark_mlfs.statistics import contingency, labelsets, moments, quantiles, sample, targets
from spark_mlfs.statistics.base import Budgets
from spark_mlfs.statistics.gram import Gram


def rows(n=4000, d=40, q=30, seed=0):
    """Few labelsets, many labels."""
    rng = np.random.default_rng(seed)
    sets = rng.random((9, q)) < 0.2
    y = sp.csr_matrix(sets[rng.integers(0, 9, n)].astype(float))
    return Block(rng.normal(size=(n, d)), np.arange(n), y.indptr, y.indices)


def engine(block, q=30, **budgets):
    return LocalEngine(profile_block(block, q), [block], Budgets(**budgets))


def test_one_process_holds_its_rows_and_states_within_the_budget():
    block = rows()
    large = engine(block)
    statistic = contingency.TwoWay(large.coding(), large.labels())
    size = large.bytes_in_one_process([statistic], [statistic.state_bytes(large.profile)])
    assert size > block.nbytes + 40 * 5 * 31 * 8  # the rows and the table
    engine(block, worker=size).run(statistic)
    with pytest.raises(
        WorkerBudgetError, match=r"TwoWay over 40 features and 4000 rows.*workerBytes"
    ):
        engine(block, worker=size - 1).run(statistic)
    with pytest.raises(WorkerBudgetError, match=r"351 pairs of 27 labels.*workerBytes"):
        # three of the labels are constant
        pipeline.score(engine(block, worker=4 << 20), pipeline.Request.of("pmu", {"num_bins": 250}))
    with pytest.raises(WorkerBudgetError, match=r"all 4000 rows of 40 features.*workerBytes"):
        engine(block, worker=1 << 20).in_memory(lambda x, block: None)


def test_cores_hold_as_many_states_as_fit(monkeypatch):
    block, statistic = rows(), moments.GroupMoments(targets.Labels(30))
    profile = profile_block(block, 30)
    want = engine(block).run(statistic)
    state = statistic.state_bytes(profile)
    size = engine(block).bytes_in_one_process([statistic], [state])
    starts, fold = [], moments.GroupMoments.fold

    def counted(self, state, *rest):
        starts.append(state is None)
        return fold(self, state, *rest)

    monkeypatch.setattr(local, "STORED_A_CORE", 0)
    monkeypatch.setattr(moments.GroupMoments, "fold", counted)
    for spare, at_once in ((0, 1), (state, 2), (3 * state - 1, 3), (100 * state, 8)):
        starts.clear()
        got = LocalEngine(profile, [block], Budgets(worker=size + spare), cores=8).run(statistic)
        assert (len(starts), sum(starts)) == (8, at_once)
        for ours, once in zip(got, want, strict=True):
            np.testing.assert_equal(vars(ours), vars(once))


@pytest.mark.parametrize("cores", [1, 2])
def test_sparse_codes_that_do_not_fit_are_let_go_part_by_part(monkeypatch, cores):
    rng = np.random.default_rng(3)
    rows = sp.random(6000, 200, 0.05, "csr", random_state=rng)
    rows = rows[rng.integers(0, 4000, 6000)]  # a third are repeated
    y = sp.random(6000, 30, 0.1, "csr", random_state=rng)
    blocks = [
        Block(rows[a : a + 2000], np.arange(a, a + 2000), *labels_of(y[a : a + 2000]))
        for a in (0, 2000, 4000)
    ]
    profile = reduce(Profile.merge, (profile_block(block, 30) for block in blocks))
    monkeypatch.setattr(local, "STORED_A_CORE", 0)
    monkeypatch.setattr("spark_mlfs.engine.base.STREAMED_ENTRIES", 4000)
    monkeypatch.setattr(local, "STREAMED_ENTRIES", 4000)
    coded = []
    monkeypatch.setattr(
        local,
        "code_block",
        lambda block, coding: coded.append(block.x.nnz) or code_block(block, coding),
    )
    large = LocalEngine(profile, list(blocks), cores=cores)
    two_way = contingency.TwoWay(large.coding(), large.labels())
    crossed = contingency.TwoWay(
        large.coding(), targets.Crossed(large.labels(), large.coding(), 3, 0)
    )
    sizes = [statistic.state_bytes(profile) for statistic in (two_way, crossed)]
    needed = large.bytes_in_one_process([two_way, crossed], sizes)
    want, kept = large.run(two_way, crossed), len(coded)
    small = LocalEngine(profile, list(blocks), Budgets(worker=needed - 1), cores=cores)
    got = small.run(two_way, crossed)
    assert (
        max(coded[kept:]) <= 4000 // cores + 200
        and sum(coded[kept:]) == 2 * rows.nnz
        and not small._coded
    )
    runs = small._streamed_runs()
    assert (
        max(sum(part.x.nnz for part in run) for run in runs) <= 4000 // cores + 200
        and len(runs) < 2 * rows.nnz * cores / 4000
    )
    for ours, whole in zip(got, want, strict=True):
        assert (ours.table != whole.table).nnz == 0 and np.array_equal(ours.totals, whole.totals)
    least = needed - CODING_BYTES * (rows.nnz - 4000)
    LocalEngine(profile, list(blocks), Budgets(worker=least), cores=cores).run(two_way, crossed)
    with pytest.raises(WorkerBudgetError, match="TwoWay"):
        LocalEngine(profile, list(blocks), Budgets(worker=least - 1), cores=cores).run(
            two_way, crossed
        )


def labels_of(y):
    return y.indptr.astype(np.int32), y.indices.astype(np.int32)


def test_results_that_are_kept_count():
    block = rows()
    first, second = moments.GroupMoments(targets.Labels(30)), quantiles_of(block)
    held = engine(block)
    held.run(first)
    assert held.kept_bytes == first.state_bytes(held.profile)
    need = held.bytes_in_one_process([second], [second.state_bytes(held.profile)])
    engine(block, worker=need - 1).run(second)  # alone it fits
    tight = engine(block, worker=need - 1)
    tight.run(first)
    with pytest.raises(WorkerBudgetError, match="CountsBelow"):
        tight.run(second)


def quantiles_of(block):
    return quantiles.CountsBelow(
        np.zeros((len(profile_block(block, 30).varying), 6 * 63), np.uint64), 0
    )


def test_labelsets_are_counted_before_sums_over_them_are_refused():
    block = rows()
    statistic = labelsets.LabelsetSums(squares=True)
    held = engine(block, worker=3 << 20)
    assert statistic.state_bytes(held.profile) > 2 << 20  # 4000 labelsets might be
    held = engine(block, worker=4 * (1 << 20))
    (found,) = held.run(statistic)
    assert len(found[0].counts) == held.profile.labelsets <= 9
    assert statistic.state_bytes(held.profile) < 20_000
    assert (
        held.profile.merge(profile_block(rows(seed=1), 30)).labelsets == 0
    )  # of other rows there may be others


@pytest.fixture(scope="module")
def planted(spark):
    packed = pack(readers.planted(spark, 900, 30, 6, seed=2, num_partitions=3), row_id="id")
    yield packed
    packed.release()


def within(packed, *methods):
    """A budget that holds the rows and the first statistic of the methods and not twice as much."""
    outline = SizingEngine(packed.profile)
    wanted = pipeline.Solve(tuple(pipeline.Request.of(m) for m in methods)).needs(outline)
    return outline.bytes_in_one_process(wanted, [s.state_bytes(packed.profile) for s in wanted])


def bits(results):
    return [
        (r.scores.values.tobytes(), r.scores.path and (r.scores.path.picks, r.scores.path.gains))
        for r in results
    ]


@pytest.mark.slow
@pytest.mark.parametrize("methods", [("mim", "chi2"), ("jmi",), ("fisher",), ("ridge",), ("gmba",)])
def test_what_one_task_may_not_hold_runs_distributed_with_the_same_bits(planted, methods):
    more = {"mode": "closed"} if methods == ("gmba",) else {}  # else it is hundreds of scans
    requests = [pipeline.Request.of(m, more, 3) for m in methods]
    alone = pipeline.rank(planted, requests)
    assert not any(r.distributed for r in alone)
    outline = SizingEngine(planted.profile)
    wanted = pipeline.Solve(tuple(requests)).needs(outline)
    wanted += [sample.SampledRows(planted.profile.n)] if methods == ("gmba",) else []
    if methods == ("jmi",):  # one pick at a time, where eight are asked for ahead of need otherwise
        coding, labels = outline.coding(), outline.labels()
        wanted.append(contingency.TwoWay(coding, targets.Crossed(labels, coding, 0, 0)))
    budget = max(s.state_bytes(planted.profile) for s in wanted)  # one state, with no row beside it
    spread = pipeline.rank(planted, requests, worker_bytes=budget)
    assert all(r.distributed for r in spread)
    if methods != ("ridge",):
        assert bits(spread) == bits(alone)
    else:  # its sums are exact, but a solver's threads differ
        assert np.allclose(spread[0].scores.values, alone[0].scores.values, rtol=1e-9)


def test_a_task_says_so_when_more_is_asked_for_later(planted):
    """`jmi` asks for a pair's counts once it has picked: the task returns, and the driver runs it
    distributed."""
    requests = [pipeline.Request.of("jmi", {}, 6)]
    alone = pipeline.rank(planted, requests)
    spread = pipeline.rank(planted, requests, worker_bytes=within(planted, "jmi"))
    assert spread[0].distributed and bits(spread) == bits(alone)
    in_time = pipeline.rank(planted, requests, small_bytes=0)
    assert spread[0].jobs == in_time[0].jobs + 1  # the task that could not


def test_what_no_worker_may_hold_is_refused(planted):
    for small in (0, 1 << 40):
        with pytest.raises(
            BudgetError,
            match=r"TwoWay over \d+ features needs .* workerBytes = 0 MB: raise workerBytes",
        ):
            pipeline.rank(
                planted, [pipeline.Request.of("mim")], small_bytes=small, worker_bytes=1000
            )


def test_several_statistics_share_a_scan_only_within_the_budget(planted):
    coding = SizingEngine(planted.profile).coding()
    everything_and_labels = targets.Everything(), targets.Labels(planted.profile.q)
    found = [contingency.TwoWay(coding, target) for target in everything_and_labels]
    sizes = [s.state_bytes(planted.profile) for s in found]
    together, apart = (
        SparkEngine(planted, Budgets(worker=b)) for b in (sum(sizes), sum(sizes) - 1)
    )
    results = [each.run(*found) for each in (together, apart)]
    for each in (together, apart):
        each.release()
    assert (together.cost.scans, apart.cost.scans) == (1, 2)
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one.table, other.table)


def test_pieces_in_a_worker_stay_within_the_budget(planted, monkeypatch):
    """However many tasks hand in states, what a task merges is cut until it fits."""
    cuts, made = [], tasks.partial

    def watched(task, **values):
        cuts.extend([values["pieces"]] if task is tasks.partial_states else [])
        return made(task, **values)

    monkeypatch.setattr("spark_mlfs.engine.spark.partial", watched)
    coding = SizingEngine(planted.profile).coding(200)
    statistic = contingency.TwoWay(coding, targets.Labels(planted.profile.q))
    size = statistic.state_bytes(planted.profile)
    engines = [SparkEngine(planted, Budgets(worker=budget)) for budget in (64 * size, size)]
    whole, cut = [each.run(statistic)[0] for each in engines]
    side_by_side = engines[1].parallelism
    for each in engines:
        each.release()
    assert cuts[0] == 1 and side_by_side > 1
    assert size * side_by_side / cuts[1] <= size / 4  # the same piece of every task's state
    assert np.array_equal(whole.table, cut.table) and np.array_equal(whole.totals, cut.totals)


@pytest.mark.parametrize(("together", "batches"), [(1 << 20, [8]), (1, [1] * 8), (9_000, [5, 3])])
def test_small_states_of_a_task_travel_together(monkeypatch, together, batches):
    monkeypatch.setattr(tasks, "STATES_BYTES", together)
    states = [(index, index % 3, {"counts": np.arange(400) + index}) for index in range(8)]
    rows = [*tasks._state_rows(iter(states))]
    assert [batch.num_rows for batch in rows] == batches
    again = [(*key, state) for key, state in tasks._states(iter(rows))]
    assert [key[:2] for key in again] == [key[:2] for key in states]
    assert all(
        np.array_equal(one[2]["counts"], other[2]["counts"])
        for one, other in zip(again, states, strict=True)
    )
    assert [*tasks._state_rows(iter([]))] == []


def test_a_large_state_travels_alone_and_is_not_copied():
    """Whatever small ones are before it, and before the next one is computed."""
    states = [
        (k, 0, {"counts": np.arange(size) << 33})
        for k, size in enumerate((10, 1 << 21, 10, 1 << 21))
    ]
    computed = []
    rows = tasks._state_rows(computed.append(state[0]) or state for state in states)
    seen = [(batch.column(0).to_pylist(), len(computed)) for batch in rows]
    assert seen == [([1], 2), ([3], 4), ([0, 2], 4)]
    tracemalloc.start()
    try:
        next(tasks._state_rows(iter(states)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * states[1][2]["counts"].nbytes  # encoded once


def test_the_budget_is_a_setting_everywhere(spark):
    assert MultiLabelSelector(workerBytes=1 << 22).getWorkerBytes() == 1 << 22
    assert MultiLabelSelector().getWorkerBytes() == 1 << 30 == RunSettings().worker_bytes
    assert RunSettings(worker_bytes=1 << 21).worker_bytes == 1 << 21
    frame = readers.planted(spark, 300, 600, 5, seed=1)
    with pytest.raises(BudgetError, match="workerBytes = 1 MB"):
        MultiLabelSelector("ridge", workerBytes=1 << 20).fit(frame)
    assert isinstance(from_worker(WorkerBudgetError("x")), BudgetError)
    assert (
        type(from_worker(RuntimeError("spark_mlfs.errors.WorkerBudgetError: too much")))
        is WorkerBudgetError
    )


@pytest.mark.slow
def test_products_take_little_more_than_their_words():
    """Of many columns, in a state that is added to."""
    x = np.random.default_rng(8).normal(size=(700, 2500))
    block = Block(x, np.arange(700), np.zeros(701, np.int32), np.zeros(0, np.int32))
    profile, gram = profile_block(block, 1), Gram()
    state = gram.fold(None, block, profile)
    tracemalloc.start()
    try:
        state = gram.fold(state, block, profile)
        assert tracemalloc.get_traced_memory()[1] < 120 << 20 < 1.4 * gram.state_bytes(profile)
    finally:
        tracemalloc.stop()
    expected = (x - moments.provisional_centre(profile)).T @ (
        x - moments.provisional_centre(profile)
    )
    np.testing.assert_allclose(gram.finish(state, profile).xx, 2 * expected, rtol=0, atol=1e-8)
