"""The counting kernels on plain arrays, against loops over rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs.kernels import counts
from spark_mlfs.kernels.cells import (
    CellPairs,
    dense_cell_information,
    informative_rows,
    joint_cells,
    numbered,
    sparse_cell_information,
)
from spark_mlfs.kernels.information import CountLogs

N, V, WIDTH, PER = 70, 7, 3, 5
RNG = np.random.default_rng(3)
CODES = RNG.integers(0, WIDTH, (N, V))
LABELS = RNG.random((N, 4)) < [0.5, 0.2, 0.05, 0.9]


def packed():
    """Features 0..4 in the first byte, 5 and 6 in the second."""
    out = np.zeros((-(-V // PER), N), np.uint8)
    for f in range(V):
        out[f // PER] += (CODES[:, f] * WIDTH ** (f % PER)).astype(np.uint8)
    return out


def onehot():
    """Codes 1 and 2 of each feature; 0 is not stored."""
    return sp.csr_matrix(
        np.column_stack([CODES[:, f] == v for f in range(V) for v in (1, 2)]).astype(np.int32)
    )


def groups():
    """All rows, and each label."""
    rows, labels = np.nonzero(LABELS)
    return np.concatenate([np.arange(N), rows]), np.concatenate([np.zeros(N, np.int64), 1 + labels])


@pytest.mark.parametrize("limit", [0, 1 << 17], ids=["one feature", "a byte at once"])
@pytest.mark.parametrize("features", [(0, V), (5, 7), (0, 3)])
def test_counts_are_those_of_a_loop(monkeypatch, limit, features):
    monkeypatch.setattr(counts, "PACKED_TABLE", limit)
    for rows, group in (
        groups(),
        (np.arange(N), CODES[:, 0].astype(np.int64)),
        (np.array([3, 3, 9]), np.array([0, 4, 1])),
    ):
        want = np.zeros((V, WIDTH, 5), np.int64)
        for row, g in zip(rows, group, strict=True):
            for f in range(V):
                want[f, CODES[row, f], g] += 1
        assert np.array_equal(
            counts.count_dense(packed(), WIDTH, PER, rows, group, 5, features),
            want[slice(*features)],
        )
        stored = counts.count_sparse(onehot(), rows, group, 5).toarray()
        assert np.array_equal(stored.T.reshape(V, 2, 5), want[:, 1:])


@pytest.mark.parametrize("mass", [None, RNG.integers(0, 1 << 40, N)], ids=["rows", "weights"])
def test_counts_of_ranges_of_groups_are_those_of_all(mass):
    """Of rows in two parts; slots in order, the rows of each slot first."""
    rows, group = groups()
    weight = np.ones(N, np.int64) if mass is None else mass
    in_group = np.zeros((5, N), np.int64)
    in_group[group, rows] = weight[rows]
    want = in_group @ onehot().toarray()
    in_label = group > 0
    member = counts.members(rows[in_label], group[in_label] - 1, N, 4, mass).tocsc()
    columns = counts.slotwise([onehot()[:30], onehot()[30:]])
    ranges = [np.array([0]), np.array([1, 3]), np.array([2])]
    tables = [*counts.count_groups(columns, member, ranges, mass)]
    for part, table in zip(ranges, tables, strict=True):
        assert np.array_equal(table.toarray(), want[np.concatenate([[0], 1 + part])])
        assert table.has_canonical_format and table.count_nonzero() == table.nnz


def test_joint_cells_of_equal_rows_are_equal():
    cells = joint_cells((CODES[:, f] for f in (1, 4, 6)), N, WIDTH)
    same = (CODES[:, None, [1, 4, 6]] == CODES[None, :, [1, 4, 6]]).all(axis=2)
    assert np.array_equal(cells[:, None] == cells, same)
    wide = joint_cells(
        (CODES[:, f % V] for f in range(60)), N, WIDTH
    )  # more cells than numbers: counted anew on the way
    assert np.array_equal(wide[:, None] == wide, (CODES[:, None] == CODES[None]).all(axis=2))


def test_a_cell_of_one_labelset_tells_nothing():
    cells = np.array([5, 5, 7, 7, 7, 9])
    sets = np.array([1, 2, 3, 3, 4, 8], np.uint64)
    assert informative_rows(cells, sets, np.arange(6)).tolist() == [0, 1, 2, 3, 4]
    assert informative_rows(cells, sets, np.array([0, 2, 3, 5])).tolist() == []


def conditional_information(feature, target, cell):
    """n·I(f; target | cell) from the joint shares, term by term."""
    total = 0.0
    for c in np.unique(cell):
        rows = cell == c
        for v in np.unique(feature[rows]):
            for t in np.unique(target[rows]):
                both = np.sum(rows & (feature == v) & (target == t))
                alone = np.sum(rows & (feature == v)) * np.sum(rows & (target == t)) / rows.sum()
                total += both * np.log(both / alone) if both else 0.0
    return total


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "classes"])
def test_cell_information_is_the_sum_over_cells(labels):
    cell, _ = numbered(joint_cells((CODES[:, f] for f in (2, 5)), N, WIDTH))
    classes = LABELS @ np.array([1, 2, 4, 8])
    rows, group = groups() if labels else (np.arange(N), classes)
    pairs, logs = CellPairs.of(cell, rows, group, labels), CountLogs(N, 64)
    dense = dense_cell_information(packed(), WIDTH, PER, V, pairs, logs)
    sparse = sparse_cell_information(onehot(), np.full(V, WIDTH), pairs, logs)
    assert np.array_equal(dense, sparse)  # to the bit
    targets = LABELS.T if labels else [classes]
    want = [sum(conditional_information(CODES[:, f], t, cell) for t in targets) for f in range(V)]
    np.testing.assert_allclose(logs.nats(dense) * N, want, atol=1e-9)
    assert max(want) > 1 and want[2] == pytest.approx(0) and want[5] == pytest.approx(0)
