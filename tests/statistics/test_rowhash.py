"""Random numbers by row: what they are of, against whole-number arithmetic written out in
Python."""

from __future__ import annotations

import numpy as np
from scipy import stats

from spark_mlfs.kernels.hashing import GROUPS, group_of, mix, normal, uniform

WORD = 2**64


def splitmix(state: int) -> int:
    """The output of SplitMix64 as its authors print it."""
    z = state % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def mixed(row: int, seed: int) -> int:
    return splitmix(row + 0x9E3779B97F4A7C15 * (seed + 1))


IDS = np.array([0, 1, -1, 7919, 2**63 - 1, -(2**63), 123456789012345])


def test_bits_are_those_of_splitmix():
    assert mixed(0, 0) == 0xE220A8397B1DCDAF  # its first output from seed 0, as published
    for seed in (0, 1, 0x5EED, 2**63, 2**64 - 1):
        assert mix(IDS, seed).tolist() == [mixed(int(i), seed) for i in IDS]
    assert group_of(IDS).tolist() == [mixed(int(i), 0x5EED) % GROUPS for i in IDS]


def test_a_uniform_number_is_the_upper_53_bits():
    assert uniform(IDS, 3).tolist() == [(mixed(int(i), 3) >> 11) / 2**53 for i in IDS]
    # of a draw: the hash of the row's hash
    assert uniform(IDS, 3, 5).tolist() == [(mixed(mixed(int(i), 3), 5) >> 11) / 2**53 for i in IDS]


def test_numbers_leave_the_ids_as_they_are():
    ids = IDS.copy()
    uniform(ids, 1, 2), normal(ids, np.arange(3), 1), group_of(ids)
    assert np.array_equal(ids, IDS)


def test_uniform_and_normal_are_what_they_are_called():
    ids = np.arange(20_000)
    for draw in (None, 0, 1):
        assert stats.kstest(uniform(ids, 4, draw), "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(uniform(ids, 4, 0), uniform(ids, 4, 1))[0, 1]) < 0.03
    z = normal(ids, np.arange(3), 4)
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in z.T)
    assert np.array_equal(
        normal(ids[5:9], np.array([2]), 4)[:, 0], z[5:9, 2]
    )  # of (seed, row, column) alone
