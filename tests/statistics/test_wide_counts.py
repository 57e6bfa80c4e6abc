"""Counts of sparse features under many labels: informations from what is stored alone, to the bit
those of full tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import mutual_info_score

from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.coding import code_block, plan_coding
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.kernels import information as info
from spark_mlfs.kernels import link_cells, rare_features, sparse_counts
from spark_mlfs.methods import counting
from spark_mlfs.methods.chi2 import ChiSquare
from spark_mlfs.methods.counting import Counting
from spark_mlfs.statistics import contingency, labelsets, links, targets


def rows(values, n=900, d=60, q=25, seed=0, crowded=False):
    """Sparse rows whose first features and labels are common, the last rare; `crowded`: label 0
    nearly everywhere."""
    rng = np.random.default_rng(seed)
    share = 0.4 / (1 + np.arange(d))
    x = (rng.random((n, d)) < share) * values(rng, (n, d))
    y = rng.random((n, q)) < 0.5 / (1 + np.arange(q))
    y[:, 1] |= x[:, 0] > 0
    y[:, 2], y[:, 3] = False, True  # no row, and every row
    if crowded:
        y[:, 0] = rng.random(n) < 0.99
    labels = sp.csr_matrix(y.astype(float))
    return Block(sp.csr_matrix(x.astype(float)), np.arange(n), labels.indptr, labels.indices), x, y


KINDS = {
    "binary": lambda rng, shape: np.ones(shape),
    "counts": lambda rng, shape: rng.integers(1, 9, shape),
    "signed": lambda rng, shape: rng.normal(size=shape),  # the code of 0 is a middle one
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("correction", ["none", "miller-madow", "chance"])
@pytest.mark.parametrize("crowded", [False, True])
def test_informations_of_stored_counts(kind, correction, crowded):
    block, _x, y = rows(KINDS[kind], crowded=crowded)
    profile = profile_block(block, y.shape[1])
    coding = plan_coding(profile, 4, "width")
    assert coding.sparse
    coded = code_block(block, coding)
    logs = info.CountLogs(profile.n, 8 * (profile.q + 2), correction)
    v, q = len(coding.features), profile.q
    codes = np.stack([coded.feature(coding, f) for f in range(v)], axis=1)

    def counts(target):
        two_way = contingency.TwoWay(coding, target)
        return two_way.finish(two_way.partial(coded, profile), profile)

    two_way = counts(targets.Labels(q))
    whole = two_way.dense(0, v)
    for limit in (1, 100, info.CELLS):
        found = np.full(v, -1)
        for at, some in two_way.stored(True, limit):
            found[at] = sparse_counts.summed_stored_information(logs, some, two_way.label_rows)
        assert np.array_equal(found, info.summed_label_information(logs, whole, q))
    if correction == "none":
        for f in (0, 5, v - 1):
            want = sum(mutual_info_score(y[:, label], codes[:, f]) for label in range(q))
            assert logs.nats(found[f], profile.n) == pytest.approx(want, abs=1e-11)
    assert np.array_equal(two_way.rows_by_code(), whole[:, :, 0])
    assert np.array_equal(two_way.dense(3, 9), whole[3:9])

    sets = labelsets.LabelsetCounts().partial(block, profile)
    for kept in (slice(None), sets["counts"] > 1):
        classes = counts(targets.Classes(sets["hashes"][kept], sets["counts"][kept]))
        want = info.class_information(logs, classes.dense(0, v))
        for limit in (1, 100, info.CELLS):
            parts = [
                sparse_counts.stored_class_terms(logs, some, classes.totals)
                for _, some in classes.stored(False, limit)
            ]
            assert np.array_equal(logs.nats(np.concatenate(parts), classes.totals.sum()), want)


@pytest.mark.parametrize(
    ("correction", "weighted"),  # corrections count rows: they take no weights
    [("none", False), ("none", True), ("miller-madow", False), ("chance", False)],
)
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_features_of_few_rows_take_their_sums_from_a_table(
    monkeypatch, correction, weighted, order
):
    """To the bit those of full tables, of as many labels and rows as the table has, and of fewer."""
    block, x, y = rows(KINDS["binary"], n=300)
    places = np.arange(x.shape[1])
    if order == "mixed":
        places = np.random.default_rng(5).permutation(places)
    block = replace(block, x=block.x[:, places])
    if weighted:
        block.weights = np.random.default_rng(6).integers(1, 4, len(x)).astype(float)
    profile = profile_block(block, y.shape[1])
    coding = plan_coding(profile, 5, "width")
    two_way = contingency.TwoWay(coding, targets.Labels(profile.q))
    found = two_way.finish(two_way.partial(code_block(block, coding), profile), profile)
    logs = info.CountLogs(profile.total, 8 * (profile.q + 2), correction)
    full = counting.Relevance(two_way.target, logs)
    want = full.of_tables(found.dense(0, found.count))
    assert full(found).tobytes() == want.tobytes()
    assert not full.tables
    monkeypatch.setattr(counting, "MANY_CELLS", 1)
    for size in (40, 1000, 1 << 16):
        monkeypatch.setattr(rare_features, "TABLE", size)
        by_table = counting.Relevance(two_way.target, logs)
        assert by_table(found).tobytes() == want.tobytes()
        assert (size > 40) == bool(by_table.tables)
        assert by_table(found).tobytes() == want.tobytes()  # of the table that is there


@pytest.mark.parametrize("kind", KINDS)
def test_codes_of_some_features_are_those_of_all(kind, monkeypatch):
    """Terms of texts that occur in every row, too, whose code of 0 is not stored."""
    block, x, y = rows(KINDS[kind])
    block.x = sp.csr_matrix(np.column_stack([x, 1 + np.arange(len(x)) % 3]))
    for terms in (False, True):
        profile = profile_block(block, y.shape[1])
        profile.terms = terms
        coding = plan_coding(profile, 4, "width")
        monkeypatch.setattr("spark_mlfs.blocks.coding.CODED_AT_ONCE", 1 << 14)
        whole = code_block(block, coding).onehot.toarray()
        values = block.x.toarray()[:, coding.features]
        codes = coding.column_codes(values, slice(None))
        for f, first in enumerate(coding.offsets[:-1]):
            others = [code for code in range(coding.bins[f]) if code != coding.zero[f]]
            for slot, code in enumerate(others):
                assert np.array_equal(whole[:, first + slot], codes[:, f] == code)
        some = np.array([0, 2, 3, 17, len(coding.features) - 1])
        fewer = plan_coding(profile.only(coding.features[some]), 4, "width")
        slots = np.concatenate([np.arange(*coding.offsets[f : f + 2]) for f in some])
        for size in (7, 1 << 14):
            monkeypatch.setattr("spark_mlfs.blocks.coding.CODED_AT_ONCE", size)
            assert np.array_equal(code_block(block, fewer).onehot.toarray(), whole[:, slots])


def test_counts_that_serve_once_are_counted_by_ranges(monkeypatch):
    """The same bits, in less memory than all counts at once, and whole where others read them."""
    block, _, y = rows(KINDS["binary"])
    profile = profile_block(block, y.shape[1])
    p = {"num_bins": 5, "binning": "width", "bias_correction": "none"}
    whole = Counting(LocalEngine(profile, [block]), p)
    monkeypatch.setattr("spark_mlfs.engine.base.SHARD_BYTES", 1000)
    monkeypatch.setattr("spark_mlfs.engine.base.CODING_BYTES", 0)
    monkeypatch.setattr("spark_mlfs.engine.base.SLOT_BYTES", 0)
    engine = LocalEngine(profile, [block])
    ranges = Counting(engine, p)
    numbers = ranges.statistic_of(ranges.relevance_of, once=True)
    assert [*engine.to_compute([numbers]).values()] == [numbers]
    assert len(engine.edges_of(numbers)) > 5
    assert engine.run(numbers)[0][0].tobytes() == whole.relevance.tobytes()
    other = ranges.statistic_of(ChiSquare(ranges.target, "sum", 1.0), once=True)
    fresh = LocalEngine(profile, [block])
    assert [type(s) for s in fresh.to_compute([numbers, other]).values()] == [contingency.TwoWay]


def test_dense_and_sparse_tables_give_one_relevance():
    block, _, y = rows(KINDS["counts"])
    given = {"num_bins": 5, "binning": "width", "bias_correction": "none"}
    profile = profile_block(block, y.shape[1])
    thin = Counting(LocalEngine(profile, [block]), given)
    full = Counting(LocalEngine(profile, [block]), given)
    full.coding = replace(thin.coding, sparse=False)
    assert thin.coding.sparse and not full.coding.sparse
    full.engine._codings[5, "width"] = full.coding
    assert thin.relevance.tobytes() == full.relevance.tobytes()
    assert thin.entropy.tobytes() == full.entropy.tobytes()
    assert thin.engine.collects_whole_states(contingency.TwoWay(thin.coding, thin.target))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("correction", ["none", "miller-madow"])
def test_links_of_stored_counts(kind, correction, monkeypatch):
    """Σ_l I(f; Y_l | s) and I(f; s) of every pick: from what is stored, in small parts, to the bit
    those of full tables."""
    block, _, y = rows(KINDS[kind], crowded=True)
    profile = profile_block(block, y.shape[1])
    coding = plan_coding(profile, 4, "width")
    coded, v, q = code_block(block, coding), len(coding.features), profile.q
    codes = np.stack([coded.feature(coding, f) for f in range(v)], axis=1)
    logs = info.CountLogs(profile.n, 8 * (q + 2), correction)
    sets = labelsets.LabelsetCounts().partial(block, profile)
    picks = (0, 1, 7, v - 1)
    for target in (targets.Labels(q), targets.Classes(sets["hashes"], sets["counts"])):
        statistic = contingency.TwoWay(coding, target)
        two_way = statistic.finish(statistic.partial(coded, profile), profile)
        # the commonest code is split off; any other may be
        for common in (coding.zero.astype(int), np.where(coding.zero == 0, coding.bins - 1, 0)):
            of_picks = tuple(int(common[s]) for s in picks)
            wanted = links.pair_counts(coding, target, picks, of_picks, logs)
            counted = [
                part.finish(part.partial(coded, profile), profile) for part in wanted.parts[1:]
            ]
            for cells in (3, 1 << 17):
                monkeypatch.setattr(link_cells, "CHUNK", cells)
                two_way.__dict__.pop("links", None)
                numbers = wanted.reduced([two_way, *counted])
                assert (
                    numbers.tobytes() == wanted.worker_view().reduced([two_way, *counted]).tobytes()
                )  # on one thread
                found = dict(zip(picks, numbers.reshape(len(picks), 2, v), strict=True))
                for s, part in zip(picks, counted, strict=True):
                    whole = links.linked_information(logs, target, part, two_way)
                    assert found[s].tobytes() == whole.tobytes(), (s, cells)
        if correction == "none" and isinstance(target, targets.Labels):
            for s in picks:
                both = codes[:, s] * 100 + codes[:, 5]
                want = sum(
                    mutual_info_score(y[:, label], both)
                    - mutual_info_score(y[:, label], codes[:, s])
                    for label in range(q)
                )
                assert found[s][0, 5] == pytest.approx(want, abs=1e-10)
                assert found[s][1, 5] == pytest.approx(
                    mutual_info_score(codes[:, s], codes[:, 5]), abs=1e-11
                )
