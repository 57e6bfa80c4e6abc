"""c log c in fixed point: the nearest number of its grid, whatever NumPy's own logarithm gives on
this processor."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from spark_mlfs.kernels.information import CELLS, CountLogs

EXTENDED = np.finfo(np.longdouble).nmant > 52


@pytest.mark.parametrize("n", [2000, 10**6, 5 * 10**9])
def test_the_nearest_of_the_grid(n):
    logs = CountLogs(n, 80)
    counts = np.unique(np.random.default_rng(0).integers(0, n + 1, 400))
    with localcontext() as context:
        context.prec = 60
        exact = [
            Decimal(int(c)) * Decimal(int(c)).ln() * 2**logs.shift if c else Decimal(0)
            for c in counts
        ]
        away = [
            abs(Decimal(int(found)) - value)
            for found, value in zip(logs(counts), exact, strict=True)
        ]
    assert max(away) < (Decimal("0.51") if EXTENDED else 2)


def test_a_table_and_a_count_alone_are_the_same(monkeypatch):
    from spark_mlfs.kernels import information

    counts = np.arange(3001)
    table = CountLogs(3000, 80)(counts)
    monkeypatch.setattr(information, "TABLE_ROWS", 10)
    np.testing.assert_array_equal(CountLogs(3000, 80)(counts), table)


def test_a_table_that_is_made_in_runs_has_every_count():
    logs = CountLogs(2 * CELLS + 7, 8)
    counts = np.arange(logs.n + 1)
    assert logs(counts).tolist() == logs._compute(counts).tolist()
