"""Exact sums: one value in any order, block size and grouping; as close to the true sums as
announced."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_mlfs.errors import DataError
from spark_mlfs.kernels import exact, integers, products
from spark_mlfs.kernels.products import mass_parts

KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "far": lambda rng, n: 1e9 + rng.normal(size=n),
    "single": lambda rng, n: rng.normal(size=n).astype(np.float32).astype(float),
    "heavy": lambda rng, n: rng.lognormal(0, 2, size=n),
    "binary": lambda rng, n: (rng.random(n) < 0.3).astype(float),
    "bytes": lambda rng, n: rng.integers(0, 256, n).astype(float),
    "tiny": lambda rng, n: 1e-200 * rng.normal(size=n),
    "huge": lambda rng, n: 1e150 * rng.normal(size=n),
    "sparse": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.05),
}


def table(n=5000, q=3, seed=0, kinds=KINDS):
    """(x, y, shift, unit): one column of each kind."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([make(rng, n) for make in kinds.values()])
    low, high = x.min(axis=0), x.max(axis=0)
    shift = np.where((low <= 0) & (high >= 0), 0.0, low + (high - low) / 2)
    return x, sp.csr_matrix(rng.random((n, q)) < 0.3), shift, exact.units(low, high, shift)


def same(one, other):
    assert set(one) == set(other)
    for name, value in one.items():
        assert np.array_equal(value, other[name]), name


def moments(coarse, fine, y, **options):
    return exact.second_moments([((coarse, fine), y, None)], **options)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_sum_has_one_value(sparse, wide):
    """Rows in another order, cut elsewhere, added in another order: the same integers."""
    x, y, shift, unit = table(9000)
    x, shift = (sp.csr_matrix(np.where(np.abs(x) < 1e8, x, 0)), 0) if sparse else (x, shift)
    rng = np.random.default_rng(1)

    def parts(order, cuts):
        states = []
        for rows in np.split(order, cuts):
            block = x[rows] - shift if not sparse else x[rows].copy()
            coarse, fine = exact.quantised(block, unit)
            states.append(moments(coarse, fine, y[rows], wide=wide))
        return states

    def total(states):
        out = states[0]
        for state in states[1:]:
            out = exact.add(out, state)
        return out

    whole = total(parts(np.arange(9000), []))
    for cuts in ([10, 11, 4000], [4096], list(range(500, 9000, 700))):
        states = parts(rng.permutation(9000), cuts)
        rng.shuffle(states)
        same(total(states), whole)
    same(
        exact.add(exact.add(*states[:2]), states[2]), exact.add(states[0], exact.add(*states[1:3]))
    )


def test_second_moments_are_as_close_as_announced():
    """3e-12 of the product of the columns' norms, against sums of fractions."""
    x, y, shift, unit = table(1500)
    coarse, fine = exact.quantised(x - shift, unit)
    found = exact.moments_of(moments(coarse, fine, y), unit, y.shape[1])
    centred = x - shift
    fractions = [[Fraction(v) for v in column] for column in centred.T]
    norms = [np.abs(c).max() * np.linalg.norm(c / np.abs(c).max()) for c in centred.T]
    for i, a in enumerate(fractions):
        for j, b in enumerate(fractions[: i + 1]):
            true = sum(p * q for p, q in zip(a, b, strict=True))
            assert abs(float(Fraction(found["xx"][i, j]) - true)) <= 3e-12 * norms[i] * norms[j], (
                i,
                j,
            )
        assert abs(float(Fraction(found["sum_x"][i]) - sum(a))) <= 3e-12 * norms[i] * np.sqrt(
            len(x)
        )
        for label in range(y.shape[1]):
            rows = y[:, [label]].nonzero()[0]
            assert abs(
                float(Fraction(found["xy"][i, label]) - sum(a[r] for r in rows))
            ) <= 3e-12 * norms[i] * np.sqrt(len(x))
    assert np.array_equal(found["yy"], (y.T.astype(int) @ y.astype(int)).toarray())
    assert found["n"] == 1500 and np.array_equal(found["sum_y"], np.asarray(y.sum(axis=0)).ravel())


@pytest.mark.parametrize("kind", ["dense", "sparse", "bytes", "weighted"])
def test_some_columns_of_the_products_are_those_of_all(kind):
    """The same words, and the squares behind them, also when rows come in parts."""
    names = ("binary", "bytes") if kind == "bytes" else (*KINDS,)
    kinds = {name: KINDS[name] for name in names if name != "huge"}
    x, y, shift, unit = table(4000, kinds=kinds)
    x = sp.csr_matrix(np.where(np.abs(x) < 1e8, x, 0)) if kind == "sparse" else x - shift
    mass = np.random.default_rng(2).integers(0, 1 << 30, 4000) if kind == "weighted" else None
    columns = np.array([1] if kind == "bytes" else [0, 3, 7])
    states = []
    for chosen in (None, columns):
        state = None
        for rows in (slice(0, 100), slice(100, 4000)):
            part = exact.quantised(x[rows].copy(), unit)
            several = [(part, y[rows], None if mass is None else mass[rows])]
            state = exact.second_moments(several, state=state, columns=chosen)
        states.append(state)
    whole, beside = (
        exact.moments_of(state, unit, y.shape[1], chosen)
        for state, chosen in zip(states, (None, columns), strict=True)
    )
    xx, few = whole.pop("xx"), beside.pop("xx")
    assert np.array_equal(few, np.column_stack([xx[:, columns], np.diag(xx)]))
    same(whole, beside)


@pytest.mark.parametrize("n", [1000, 30_000])
def test_entries_of_a_column_with_one_far_value(n):
    """Where half of the values are equal their roundings add up: of the product of the centred
    columns' norms max(3e-12, 1.6e-13 √n), against fractions; at worst 1.3e-12 √n."""
    half = n // 2
    y = (np.arange(n) < half).astype(float)
    y = np.where(np.random.default_rng(0).random(n) < 0.1, 1 - y, y)
    cases = (
        (1e6, 0.1, 1.6e-13),
        (3e5, 0.37, 1.6e-13),
        (2.0**19 + 1, (2**16 + 0.499) / 2**20, 1.3e-12),
    )
    for far, often, slope in cases:
        x = np.zeros((n, 1))
        x[:half] = often
        x[-1] = far
        unit = exact.units(x.min(axis=0), x.max(axis=0), np.zeros(1))
        state = moments(*exact.quantised(x.copy(), unit), sp.csr_matrix(y[:, None]))
        found = {
            name: Fraction(float(value.ravel()[0]))
            for name, value in exact.moments_of(state, unit, 1).items()
            if name != "n"
        }
        total = Fraction(often) * half + Fraction(far)
        square = Fraction(often) ** 2 * half + Fraction(far) ** 2
        both = Fraction(often) * int(y[:half].sum()) + Fraction(far) * int(y[-1])
        positive = int(y.sum())
        norms = float((square - total**2 / n) * (positive - Fraction(positive**2, n))) ** 0.5
        error = (found["xy"] - found["sum_x"] * positive / n) - (both - total * positive / n)
        assert abs(float(error)) <= max(3e-12, slope * n**0.5) * norms, (far, often)
        error = (found["xx"] - found["sum_x"] ** 2 / n) - (square - total**2 / n)
        assert abs(float(error)) <= 3e-12 * float(square - total**2 / n)


def test_the_largest_error_of_many_rows():
    """√2 · 2⁻⁴⁰ √n of the product of the centred columns' norms is the bound, and is reached.

    A value is off by u 2⁻⁴¹ at most, n of them by u 2⁻⁴¹ √n in norm: an entry of X'Y by so much
    times the norm of y, by Cauchy and Schwarz. Of a column of range R u is below 2R, as 0 is in the
    range or the shift is its middle; and its largest and smallest value alone have a norm of
    R/√2 about any centre. u 2⁻⁴¹ √n / (R/√2) is the bound. An entry of X'X is off by two such
    terms, where the errors meet what the other column has beside its largest and smallest value: s
    and t times the norm of these. (s + t) / √((1 + s²)(1 + t²)) ≤ 1, so that the bound is the same."""
    n = 10_000
    half = n // 2
    bound = 2**0.5 * 2.0**-40 * n**0.5
    signs = np.repeat([1.0, -1.0], half)
    largest = 2.0**19 + 1  # u = 2²⁰, whose values are rounded to 2⁻²⁰
    middle = largest / 2
    far = round(largest / (2 * n) ** 0.5)  # from the middle: half of the squares is of these values
    for apart, kind in ((0, "xy"), (far, "xx")):
        x = np.concatenate([middle + signs * (apart + 0.499 * 2.0**-20), [0, largest]])[:, None]
        y = np.concatenate([signs > 0, [False, False]])[:, None]
        unit = exact.units(x.min(axis=0), x.max(axis=0), np.zeros(1))
        assert unit == 2.0**20
        state = moments(*exact.quantised(x.copy(), unit), sp.csr_matrix(y))
        found = {
            name: Fraction(float(value.ravel()[0]))
            for name, value in exact.moments_of(state, unit, 1).items()
        }
        high, low = Fraction(x[0, 0]), Fraction(x[-3, 0])
        mean = (half * (high + low) + Fraction(largest)) / (n + 2)
        ends = mean**2 + (Fraction(largest) - mean) ** 2
        square = half * ((high - mean) ** 2 + (low - mean) ** 2) + ends
        norm_of_y = Fraction(half) - Fraction(half**2, n + 2)
        if kind == "xy":
            error = found["xy"] - found["sum_x"] * half / (n + 2) - half * (high - mean)
            norms = float(square * norm_of_y) ** 0.5
        else:
            error = found["xx"] - found["sum_x"] ** 2 / (n + 2) - square
            norms = float(square)
        assert 0.99 * bound < abs(float(error)) / norms < bound


def test_products_of_equal_columns_are_equal():
    """To the bit, the diagonal among them: copies are told by it."""
    x, y, shift, unit = table(5000)
    x, shift, unit = np.column_stack([x, x]), np.tile(shift, 2), np.tile(unit, 2)
    coarse, fine = exact.quantised(x - shift, unit)
    xx = exact.moments_of(moments(coarse, fine, y), unit, y.shape[1])["xx"]
    d = len(KINDS)
    assert (
        np.array_equal(xx[:d, :d], xx[d:, d:])
        and np.array_equal(xx[:d, :d], xx[:d, d:])
        and np.array_equal(xx, xx.T)
    )
    some = [i for i, kind in enumerate(KINDS) if kind not in ("tiny", "huge")]
    root = np.sqrt(np.diag(xx)[some])
    assert np.linalg.eigvalsh(xx[np.ix_(some, some)] / np.outer(root, root)).min() > -1e-12


def test_few_bits_are_exact_and_cost_one_slice():
    kinds = {name: KINDS[name] for name in ("binary", "bytes")}
    x, y, shift, unit = table(3000, kinds=kinds)
    coarse, fine = exact.quantised(x - shift, unit)
    assert fine is None
    state = moments(coarse, fine, y)
    assert not {"l", "rest", "ly"} & set(state)
    found = exact.moments_of(state, unit, y.shape[1])
    assert np.array_equal(found["xx"], (x - shift).T @ (x - shift)) and np.array_equal(
        found["xy"], (x - shift).T @ y
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_by_group_are_those_of_the_quantised_values(sparse):
    """To the bit of the last rounding: what is constant over a group has no spread there."""
    kinds = {name: make for name, make in KINDS.items() if name not in ("far", "huge", "tiny")}
    x, y, shift, unit = table(6000, kinds=kinds)
    x[:40, 0] = 0.1  # rows of the first group
    member = sp.vstack(
        [sp.csr_matrix((np.ones(40), (np.zeros(40, int), np.arange(40))), shape=(1, 6000)), y.T]
    ).tocsr()
    block = sp.csr_matrix(x) if sparse else x - shift
    unit = exact.units(x.min(axis=0), x.max(axis=0), 0 * shift) if sparse else unit
    coarse, fine = exact.quantised(block.copy(), unit)
    state = exact.group_moments(coarse, fine, member)
    total, square = exact.sums_of(state, unit, (4, x.shape[1]))
    dense = block.toarray() if sparse else block
    np.testing.assert_allclose(total, member @ dense, rtol=0, atol=1e-9 * np.abs(dense).max())
    np.testing.assert_allclose(square, member @ dense**2, rtol=1e-9)
    spread = square[0, 0] / 40 - (total[0, 0] / 40) ** 2
    assert abs(spread) <= 4e-16 * square[0, 0] / 40
    rng = np.random.default_rng(2)
    order = rng.permutation(6000)
    again = [
        exact.group_moments(coarse[rows], None if fine is None else fine[rows], member[:, rows])
        for rows in np.split(order, [100, 5000])
    ]
    same(exact.add(again[2], exact.add(again[0], again[1])), state)


@pytest.mark.parametrize(("exponent", "n", "value"), [(512, 8, 0.125), (-538, 64, 1.0)])
def test_squares_by_group_reach_as_far_as_float64(exponent, n, value):
    """Though u² leaves it: Σx² of n values, and of a group of zeros, in whole numbers of Python."""
    unit = np.array([2.0**exponent])
    x = np.full((n, 2), [[value, 0]]) * unit
    state = exact.group_moments(*exact.quantised(x, unit), sp.csr_matrix(np.ones((1, n))))
    total, square = exact.sums_of(state, unit, (1, 2))
    assert total[0].tolist() == [n * value * unit[0], 0]
    wanted = n * Fraction(value) ** 2 * Fraction(2) ** (2 * exponent)
    assert [Fraction(entry) for entry in square[0]] == [wanted, 0]


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_sums_of_nothing(shape):
    found = moments(np.zeros(shape), np.zeros(shape), sp.csr_matrix((shape[0], 2)))
    assert (
        found["hh"].shape == (shape[1], shape[1])
        and not found["hh"].any()
        and found["hy"].shape == (shape[1], 2)
    )


def test_parts_of_any_size_give_the_same(monkeypatch):
    """Some parts have fine values, others none; and what is added up is carried before it leaves
    int64."""
    x, y, shift, unit = table(5000)
    x[:2000] = np.rint(x[:2000] / unit * 64) * unit / 64 + shift
    x = np.clip(x, shift - unit, shift + unit)
    want = moments(*exact.quantised(x - shift, unit), y)
    room = np.empty((4000, x.shape[1])), np.empty((4000, x.shape[1]))
    for step, most in ((7, 3), (700, 512), (4000, 1)):
        monkeypatch.setattr(products, "MOST_PRODUCTS", most)
        parts = (slice(first, first + step) for first in range(0, 5000, step))
        cuts = list(parts)
        for wide in (False, True):
            states = ((exact.quantised(x[rows], unit, shift, room), y[rows], None) for rows in cuts)
            same(exact.second_moments(states, wide), exact.carried(want) if wide else want)


def test_as_many_products_as_are_added_up_stay_exact():
    """The largest values there are, of more rows than are carried at once, against whole numbers of
    Python."""
    n = products.ROWS * (products.MOST_PRODUCTS + 1) + 7
    for sign in (1, -1):
        state = moments(
            np.full((n, 1), 2.0**20), np.full((n, 1), sign * 2.0**19), sp.csr_matrix((n, 0))
        )
        assert (int(state["hh"][0, 0]) << 40) + int(state["rest"][0, 0]) == n * (
            2**40 + sign * 2**19
        ) ** 2


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_tiles_of_columns_give_the_whole(monkeypatch, sparse, weighted):
    """Whatever the tiles; state upon state."""
    rng = np.random.default_rng(7)
    x = np.round(rng.normal(size=(900, 13)), 3) * (rng.random((900, 13)) < 0.4)
    mass = rng.integers(1, 1 << 30, 900) if weighted else None
    y, unit = (
        sp.random(900, 3, 0.3, format="csr", random_state=0),
        exact.units(x.min(axis=0), x.max(axis=0), np.zeros(13)),
    )
    y.data[:] = 1

    def summed(state, rows):
        values = sp.csr_matrix(x[rows]) if sparse else x[rows].copy()
        return exact.second_moments(
            [(exact.quantised(values, unit), y[rows], mass[rows] if weighted else None)],
            state=state,
        )

    want = summed(None, slice(None))
    monkeypatch.setattr(products, "TILE", 4)
    state = None
    for first in range(0, 900, 250):
        state = summed(state, slice(first, first + 250))
    same(state, want)


def test_two_words_hold_what_one_cannot():
    """States as of 2²⁶ rows at the largest value: their sum of squares is beyond int64."""
    coarse = np.full((4096, 1), float(1 << 20))
    y = sp.csr_matrix((4096, 1))
    state = moments(coarse, None, y, wide=True)
    times = 14  # doublings: 2^12 rows become 2^26
    for _ in range(times):
        state = exact.add(state, state)
    found = exact.moments_of(state, np.ones(1), 1)
    assert found["n"] == 4096 << times and found["xx"][0, 0] == float(4096 << times)
    assert (
        int(state["hh+"][0, 0]) * (1 << 40) + int(state["hh"][0, 0])
        == (4096 << times) << 40
        > 2**63
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_what_is_carried_has_the_value_it_had(dtype):
    """Small words travel as int32, which has no 40 bits."""
    state = exact.carried({"a hl": np.array([5, -3], dtype), "a h": np.array([-7, 0], dtype)})
    assert state["a hl"].tolist() == [5, 2**40 - 3] and state["a hl+"].tolist() == [0, -1]
    assert state["a h"].tolist() == [-7, 0] and len(state) == 3


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=2, max_size=20))
def test_any_finite_column(values):
    x = np.array(values)[:, None]
    low, high = x.min(axis=0), x.max(axis=0)
    shift = np.where((low <= 0) & (high >= 0), 0.0, low / 2 + high / 2)
    unit = exact.units(low, high, shift)
    assert ((np.abs(x - shift) <= unit) | (unit == 1)).all() and (np.frexp(unit)[0] == 0.5).all()
    coarse, fine = exact.quantised(x - shift, unit)
    assert np.abs(coarse).max() <= 1 << 20 and (fine is None or np.abs(fine).max() <= 1 << 19)
    back = (coarse * 2.0**-20 + (0 if fine is None else fine * 2.0**-40)) * unit
    assert np.abs(back - (x - shift)).max() <= unit[0] * 2.0**-41


def slices(x, unit):
    return exact.quantised(x.copy(), unit)


@pytest.mark.parametrize("sparse", [False, True])
def test_products_of_two_matrices(sparse):
    """Against fractions, and the same integers however the rows are cut."""
    rng = np.random.default_rng(3)
    x, f = (
        rng.normal(size=(5000, 4)) * (rng.random((5000, 4)) < (0.1 if sparse else 1)),
        rng.random((5000, 3)),
    )
    f[:, 1] = np.rint(f[:, 1])
    unit, one = exact.power_above(np.abs(x).max(axis=0)), np.ones(3)
    a, b = slices(sp.csr_matrix(x) if sparse else x, unit), slices(f, one)
    state = exact.cross(a, b)
    got = exact.product_of(state, unit, one)
    for i in range(4):
        for j in range(3):
            true = sum(Fraction(p) * Fraction(q) for p, q in zip(x[:, i], f[:, j], strict=True))
            assert abs(float(Fraction(got[i, j]) - true)) <= 1e-11 * np.linalg.norm(
                x[:, i]
            ) * np.linalg.norm(f[:, j])
    parts = [
        exact.cross(
            *(tuple(None if each is None else each[rows] for each in side) for side in (a, b))
        )
        for rows in np.split(rng.permutation(5000), [1, 17, 3000])
    ]
    same(exact.add(exact.add(parts[3], parts[1]), exact.add(parts[2], parts[0])), state)
    square = exact.cross(a, a)
    same(square, exact.cross(a, (a[0].copy(), a[1].copy())))
    np.testing.assert_allclose(exact.product_of(square, unit, unit), x.T @ x, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_times_weights_does_not_depend_on_the_other_rows(sparse):
    rng = np.random.default_rng(4)
    x, weights = (
        rng.normal(size=(300, 5000)) * (rng.random((300, 5000)) < 0.02),
        rng.normal(size=(5000, 3)),
    )
    unit = exact.power_above(np.abs(x).max(axis=0))
    a, b = slices(sp.csr_matrix(x) if sparse else x, unit)
    got = exact.applied(a, b, unit, weights)
    np.testing.assert_allclose(
        got, x @ weights, atol=2.0**-39 * (unit @ np.abs(weights).max(axis=1))
    )
    for rows in ([7], [299, 0], np.arange(3, 150)):
        assert np.array_equal(exact.applied(a[rows], b[rows], unit, weights), got[rows])
    assert np.array_equal(
        exact.applied(*slices(x, unit), unit, weights), got
    )  # dense rows as sparse ones


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-(2**62), 2**62), st.integers(0, 76)), min_size=1, max_size=5),
    st.sampled_from((3, 4)),
)
def test_words_hold_whole_numbers(parts, count):
    def whole(state):
        assert len(state) == count
        return sum(
            int(state["v" + word][0]) << (40 * i) for i, word in enumerate(integers.WORDS[:count])
        )

    if count == 4:
        parts = [(value, shift + 30) for value, shift in parts]
    states = [
        integers.words("v", (np.array([value]), shift), count=count) for value, shift in parts
    ]
    added = states[0]
    for state in states[1:]:
        added = integers.add_words(added, state)
    assert whole(added) == sum(value << shift for value, shift in parts)
    same(
        added,
        integers.words("v", *((np.array([value]), shift) for value, shift in parts), count=count),
    )
    wanted = Fraction(sum(value << shift for value, shift in parts), 1 << 80)
    assert integers.number(added, "v", -80)[0] == pytest.approx(float(wanted), abs=1e-15, rel=1e-12)
    if count == 3:  # one value, however many words
        longer = integers.words(
            "v", *((np.array([value]), shift) for value, shift in parts), count=4
        )
        assert integers.number(longer, "v", -80)[0] == integers.number(added, "v", -80)[0]


@pytest.mark.parametrize("most", [4, 1 << 21, 1 << 44])
@pytest.mark.parametrize("kind", ["whole", "dense", "sparse"])
def test_squares_of_rows_that_count_several_times(kind, most):
    """Against Python's whole numbers; of small counts against the rows repeated."""
    rng = np.random.default_rng(11)
    x = (
        rng.normal(size=(4000, 3))
        if kind != "whole"
        else rng.integers(0, 9, (4000, 3)).astype(float)
    )
    x[rng.random(x.shape) < 0.5] = 0
    mass = rng.integers(1, most, 4000)
    unit = exact.power_above(np.abs(x).max(axis=0))
    a, b = exact.quantised(sp.csr_matrix(x) if kind == "sparse" else x.copy(), unit)
    assert (b is None) == (kind == "whole")
    coarse, fine = (
        np.zeros(x.shape, int) if part is None else exact._integers(part) for part in (a, b)
    )
    values = (coarse.astype(object) << 20) + fine
    wanted = values.T @ (values * mass[:, None].astype(object))
    cut = [integers.words("v", *exact.weighted_square(a[s], None if b is None else b[s], mass[s]), count=4)
           for s in (slice(0, 100), slice(100, 4000))]  # fmt: skip
    state = integers.add_words(*cut[::-1])
    got = sum(state["v" + word].astype(object) << (40 * i) for i, word in enumerate(integers.WORDS))
    assert (got == wanted).all()
    same(state, integers.words("v", *exact.weighted_square(a, b, mass), count=4))
    if most == 4:
        times = np.repeat(np.arange(4000), mass)
        product = exact.cross(*[(a[times], None if b is None else b[times])] * 2)
        parts = [(product["hh"], 40), *([(product["rest"], 0)] if "rest" in product else [])]
        assert np.array_equal(
            integers.number(integers.words("v", *parts), "v", -80), integers.number(state, "v", -80)
        )


def test_totals_are_the_rounded_sums():
    rng = np.random.default_rng(5)
    values = rng.lognormal(0, 3, size=5000)
    unit = float(exact.power_above(values.max()))
    state = integers.total("t", values, unit)
    assert integers.number(state, "t", integers.TOTAL)[0] * unit == pytest.approx(
        float(sum(Fraction(v) for v in values)), rel=1e-15
    )
    order = rng.permutation(5000)
    same(
        integers.add_words(
            *(integers.total("t", values[rows], unit) for rows in np.split(order, [1200]))
        ),
        state,
    )
    mass = rng.integers(1, 1 << 39, 5000)
    state = integers.total("t", values, unit, mass)
    wanted = sum(Fraction(v) * int(m) for v, m in zip(values, mass, strict=True))
    assert integers.number(state, "t", integers.TOTAL)[0] * unit == pytest.approx(
        float(wanted), rel=1e-15
    )
    small = mass % 3
    same(
        integers.total("t", values, unit, small),
        integers.total("t", np.repeat(values, small), unit),
    )


def test_powers_of_two_end_with_float64():
    assert exact.power_above(np.array([0.0, 3.0, 4.0, 2.0**1023])).tolist() == [1, 4, 4, 2.0**1023]
    for beyond in (1.5 * 2.0**1023, np.inf):
        with pytest.raises(DataError, match=r"beyond 2\^1023.*larger units"):
            exact.power_above(np.array([1.0, beyond]))


def test_rows_that_count_less_than_no_time_are_refused():
    counts = np.array([3, -1, 1 << 45])
    for parts in (mass_parts(counts), exact._member_parts(sp.csr_matrix(counts))):
        with pytest.raises(DataError, match="a row counts -1 times"):
            list(parts)
    assert sum(m.sum() * 2.0 ** (20 * k) for _, m, k in mass_parts(abs(counts))) == 4 + 2.0**45
