"""Sample data: the same rows under any partitioning, and what they promise."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits

from spark_mlfs.errors import ParameterError
from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_names
from spark_mlfs.read import load, numbers, planted, planted_truth, samples


def rows_of(frame):
    return sorted(frame.collect(), key=lambda r: r["id"])


def matrices(frame):
    rows = rows_of(frame)
    return np.array([r["features"].toArray() for r in rows]), np.array(
        [r["labels"].toArray() for r in rows]
    )


@pytest.mark.slow
def test_numbers(spark):
    frame = load(spark, None, "numbers", seed=1)
    x, y = matrices(frame)
    assert x.shape == (2000, 405) and y.shape == (2000, 10)
    assert attribute_names(frame, FEATURES)[81 + 9 + 2] == "cell1_r1_c2"
    # Standard error of the mean cardinality is 0.024, of the share of rows with two labels 0.003.
    assert (
        abs(y.sum(axis=1).mean() - 3.3265) < 0.1 and abs((y.sum(axis=1) >= 2).mean() - 0.98) < 0.012
    )
    digits = load_digits()
    known = {
        im.astype(float).tobytes(): int(t)
        for im, t in zip(digits.images, digits.target, strict=True)
    }
    for row, labels in zip(x[:50], y[:50], strict=True):
        seen = set()
        for cell in row.reshape(5, 9, 9):
            if cell.any():
                parts = [cell[r : r + 8, c : c + 8] for r in (0, 1) for c in (0, 1)]
                seen |= {
                    known[np.ascontiguousarray(p).tobytes()]
                    for p in parts
                    if np.ascontiguousarray(p).tobytes() in known
                }
        assert seen == set(np.flatnonzero(labels))
    noisy, same = matrices(numbers(spark, seed=1, num_rows=200, noise=0.15))
    assert np.array_equal(same, y[:200]) and abs((noisy - x[:200]).std() - 2.4) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("make", ["numbers", "dense", "sparse"])
def test_rows_do_not_depend_on_partitioning(spark, make):
    def frame(parts, rows=300, seed=5):
        if make == "numbers":
            return numbers(spark, seed=seed, num_rows=rows, noise=0.1, num_partitions=parts)
        density = None if make == "dense" else 0.05
        return planted(spark, rows, 60, 7, density=density, seed=seed, num_partitions=parts)

    reference = rows_of(frame(1))
    assert [r["id"] for r in reference] == list(range(300))
    for parts in (2, 7, 64):
        assert rows_of(frame(parts)) == reference
    assert rows_of(frame(2, rows=40)) == reference[:40]
    assert rows_of(frame(2, seed=6)) != reference


def test_planted_dense(spark):
    x, y = matrices(planted(spark, 4000, 50, 10, num_relevant=8, num_redundant=5, seed=2))
    truth = planted_truth(50, 10, num_relevant=8, num_redundant=5, seed=2)
    assert sorted([*truth.relevant, *truth.redundant, *truth.noise]) == list(range(50))
    assert (
        truth.names[truth.redundant[3]] == "redundant_3_of_3"
        and truth.redundant_of[3] == truth.relevant[3]
    )
    assert truth.relevant.tolist() != sorted(truth.relevant.tolist())
    assert abs(y.sum(axis=1).mean() - 2.5) < 0.15
    plain = np.concatenate([truth.relevant, truth.noise])
    assert abs(x[:, plain].mean()) < 0.01 and abs(x[:, plain].std() - 1) < 0.01
    strength = np.abs(np.corrcoef(x.T, y.T)[:50, 50:]).max(axis=1)
    assert strength[truth.relevant].min() > 0.15 and strength[truth.noise].max() < 0.08
    for k, (copy, source) in enumerate(zip(truth.redundant, truth.redundant_of, strict=True)):
        base = x[:, source] ** 3 if k % 2 else x[:, source]
        assert np.corrcoef(x[:, copy], base)[0, 1] > 0.95


def test_planted_sparse(spark):
    frame = planted(spark, 3000, 400, 4, num_relevant=6, num_redundant=3, density=0.03, seed=1)
    x, y = matrices(frame)
    truth = planted_truth(400, 4, num_relevant=6, num_redundant=3, seed=1)
    assert (
        abs((x[:, truth.noise] != 0).mean() - 0.03) < 0.001
        and abs((x[:, truth.relevant] != 0).mean() - 0.1) < 0.01
    )
    assert x[x != 0].min() >= 0.4 and abs(y.mean() - 0.25) < 0.03
    assert np.array_equal(x[:, truth.redundant] != 0, x[:, truth.redundant_of] != 0)
    strength = np.abs(np.corrcoef(x.T, y.T)[:400, 400:]).max(axis=1)
    assert strength[truth.relevant].min() > strength[truth.noise].max()
    assert (
        attribute_names(frame, FEATURES) == truth.names
        and attribute_names(frame, LABELS)[3] == "label_3"
    )


def test_arguments(spark):
    with pytest.raises(
        ParameterError, match="num_relevant=9 and num_redundant=5 exceed num_features=10"
    ):
        planted(spark, 10, 10, 2, num_relevant=9, num_redundant=5)
    with pytest.raises(
        ParameterError, match=r"option 'density' .* from above 0 to 1, or None, not 2"
    ):
        planted(spark, 10, 10, 2, density=2)
    with pytest.raises(ParameterError, match="takes no path"):
        load(spark, "x", "numbers")
    with pytest.raises(
        ParameterError, match=r"option 'num_rows' .* must be a whole number from 1 to .*, not 0"
    ):
        numbers(spark, num_rows=0)
    x, y = matrices(planted(spark, 20, 1, 1))
    assert x.shape == (20, 1) and y.shape == (20, 1)


def digest(batches):
    """Of every value as Python writes it."""
    text = hashlib.md5()
    for batch in batches:
        for column in batch.columns:
            for part in column.flatten() if pa.types.is_struct(column.type) else [column]:
                text.update(str(part.to_pylist()).encode())
    return text.hexdigest()


@pytest.mark.parametrize(
    ("density", "expected"),
    [(None, "56e44e6370fabdf9ba584e03559dbe9f"), (0.05, "ab2e7d33b867e6d2584b29ca74539504")],
)
def test_a_planted_set_stays_what_it_was(density, expected):
    """Published figures were made of these rows: a change of the generator is a change of the
    data."""
    ids = pa.RecordBatch.from_arrays([pa.array(np.arange(40))], ["id"])
    plan = samples._Planted(planted_truth(60, 7, seed=5), 60, 7, density, 0.5, 0.25, 5)
    assert digest(samples._planted_rows([ids], plan)) == expected


def test_the_number_set_stays_what_it_was():
    ids = pa.RecordBatch.from_arrays([pa.array(np.arange(40))], ["id"])
    digits = load_digits()
    order = np.argsort(digits.target, kind="stable")
    images, counts = digits.images[order].astype(np.uint8), np.bincount(digits.target, minlength=10)
    rows = samples._number_rows([ids], seed=5, images=images, counts=counts, noise=0.1)
    assert digest(rows) == "a6088fd0fe39020aa015acd3789b95b5"
