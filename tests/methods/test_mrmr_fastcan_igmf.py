"""mRMR, FastCan and IGMF against naive oracles on real data, and the picks of the packages people
know, as these give them.

The tables of picks were computed once by mrmr_selection 0.2.8 and fastcan 0.6.0 (NumPy 2.4, pandas
3.1, scikit-learn 1.9), x and y as `oracles.loader.load` reads them:

    mrmr_classif(pandas.DataFrame(x), pandas.Series(y[:, label]), K=20, n_jobs=1)
    s = FastCan(20, indices_include=include, verbose=0).fit(x, y); s.indices_, s.scores_
    FastCan(9, verbose=0).fit(*near_copies())
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import canonical as naive
from oracles import mrmr as oracle
from oracles.discretise import constant_columns, discretise
from oracles.loader import load
from sklearn.metrics import mutual_info_score

import spark_mlfs
from spark_mlfs import pipeline
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import BudgetError, DataError, ParameterError
from spark_mlfs.solvers import canonical, mrmr
from spark_mlfs.solvers.units import PickConstraints
from spark_mlfs.statistics.gram import Gram

PACKAGE = {"relevance": "f", "redundancy": "correlation", "scheme": "quotient"}
CHOICES = [
    dict(zip(PACKAGE, c, strict=True))
    for c in product(("mi", "f"), ("mi", "correlation"), ("difference", "quotient"))
]
SCHEMES = pytest.mark.parametrize("choice", CHOICES, ids=[" ".join(c.values()) for c in CHOICES])

# fmt: off
MRMR_PICKS = {
    ("flags", 0): [8, 5, 12, 9, 14, 17, 0, 11, 16, 10, 15, 3, 1, 13, 6, 18, 7, 4, 2],
    ("emotions", 0): [57, 7, 4, 71, 3, 54, 39, 0, 53, 56, 1, 58, 40, 38, 66, 46, 41, 48, 64, 55],
    ("emotions", 1): [7, 71, 5, 31, 52, 12, 55, 9, 15, 0, 30, 36, 20, 69, 29, 53, 8, 39, 48, 6],
    ("emotions", 3): [4, 29, 52, 1, 3, 2, 47, 0, 36, 17, 51, 46, 39, 16, 41, 57, 42, 8, 40, 45],
    ("scene", 0): [47, 221, 29, 38, 293, 199, 46, 37, 48, 217, 40, 36, 273, 45, 206, 39, 43, 42, 223, 44],
    ("scene", 3): [231, 136, 243, 237, 232, 240, 141, 234, 239, 244, 233, 144, 242, 236, 241, 238, 235, 142, 230, 8],
    ("yeast", 0): [87, 101, 65, 95, 78, 88, 83, 33, 93, 102, 86, 99, 57, 91, 2, 62, 82, 59, 53, 34],
    ("enron", 0): [406, 354, 942, 484, 282, 989, 869, 769, 337, 250, 964, 851, 936, 11, 728, 1, 243, 412, 897, 809],
}
FASTCAN_PICKS = {
    ("flags", ()): [8, 17, 12, 15, 4, 5, 16, 0, 18, 6, 14, 9, 1, 3, 10, 11, 13, 7, 2],
    ("emotions", ()): [4, 3, 22, 5, 57, 64, 2, 69, 55, 19, 7, 6, 39, 24, 68, 20, 12, 47, 35, 62],
    ("emotions", (5, 12)): [5, 12, 4, 3, 22, 57, 64, 2, 69, 19, 55, 7, 6, 39, 24, 20, 68, 47, 35, 62],
    ("scene", ()): [109, 231, 47, 204, 135, 90, 28, 158, 4, 230, 250, 171, 286, 91, 38, 243, 27, 79, 63, 149],
    ("scene", (5, 12)): [5, 12, 109, 231, 47, 204, 90, 134, 151, 28, 229, 171, 250, 91, 286, 38, 243, 27, 79, 102],
    ("yeast", ()): [87, 56, 60, 33, 65, 102, 71, 83, 48, 90, 6, 2, 29, 95, 94, 67, 57, 76, 88, 11],
    ("enron", ()): [649, 243, 192, 964, 909, 140, 470, 258, 325, 388, 988, 716, 540, 436, 346, 709, 592, 507, 656, 141],
}
FASTCAN_SCORES = {  # of the first picks
    ("flags", ()): [0.9674843299, 0.1434680285, 0.1181232231, 0.0933379508, 0.062347138],
    ("emotions", ()): [0.4457817117, 0.1507339668, 0.1425211706, 0.0994049185, 0.0768512718, 0.0517406948, 0.0462691837],
    ("emotions", (5, 12)): [0.0723240532, 0.0233346922, 0.46283176, 0.1617980042, 0.1472845056, 0.0761130827],
    ("scene", ()): [0.4928118361, 0.3925381924, 0.1986276495, 0.1300844341, 0.0971503231, 0.0815556217, 0.0702400515],
    ("scene", (5, 12)): [0.1131035242, 0.0248077753, 0.4527810926, 0.370315625, 0.1969748814, 0.1409774455, 0.0813280654],
    ("yeast", ()): [0.1972876184, 0.1708280727, 0.1114921306, 0.0709314539, 0.0550372497, 0.0508773029, 0.0477593229],
    ("enron", ()): [0.5726758177, 0.2999654351, 0.2840040709, 0.2768207475, 0.2847972987, 0.2168667674, 0.2174720207],
}
# beside 9 = 0 + 1 what is left of 0 and of 1 is the same: we take 0
NEAR_COPIES_PICKS = [9, 3, 2, 8, 1, 6, 4, 7, 5]
NEAR_COPIES_SCORES = [
    0.626230620299, 0.492155876592, 0.39446203298, 0.245535015059, 0.003023121708, 0.149599281122, 0.002131465942,
    0.001723094619, 0.001349193779,
]
# fmt: on


def near_copies():
    """Columns 6, 7, 8 repeat 0, 1, 2 but for 0.3 % noise, which drives the labels; 9 = 0 + 1; 10
    repeats 4."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(300, 6))
    x = np.column_stack(
        [x, x[:, :3] + 0.003 * rng.normal(size=(300, 3)), x[:, 0] + x[:, 1], x[:, 4]]
    )
    drive = np.column_stack(
        [
            x[:, 0] + x[:, 1],
            x[:, 2] - 300 * (x[:, 8] - x[:, 2]),
            200 * (x[:, 6] - x[:, 0]) + x[:, 3],
        ]
    )
    return x, (drive + 0.3 * rng.normal(size=(300, 3)) > 0).astype(int)


def engine_of(x, y):
    """An engine over the rows, without Spark; NaN labels are unknown."""
    known, unknown = sp.csr_matrix(y == 1), sp.csr_matrix(np.isnan(y))
    more = (unknown.indptr, unknown.indices) if np.isnan(y).any() else (None, None)
    block = Block(x, np.arange(x.shape[0]), known.indptr, known.indices, *more)
    return LocalEngine(profile_block(block, y.shape[1]), [block])


def picks_of(engine, method, count, **parameters):
    """(picks among all features, gains) in this process."""
    path = pipeline.score(engine, pipeline.Request.of(method, parameters, count)).path
    return list(engine.profile.varying[path.picks]), np.array(path.gains)


def run(data, method, count=None, small=True, screen=None, **parameters):
    """The result over packed rows."""
    request = pipeline.Request.of(method, parameters, count, screen)
    return pipeline.rank(data, [request], small_bytes=1 << 40 if small else 0)[0]


def agrees(result, want, tolerance=1e-8):
    """The whole ranking and every gain are the oracle's."""
    assert list(result.ranking["index"]) == list(want.ranking)
    gains = np.array(result.scores.path.gains)
    assert len(gains) == len(want.gains)
    assert np.abs(gains - want.gains).max() <= tolerance * max(1e-300, np.abs(want.gains).max())


# ---- mRMR ----


@pytest.mark.slow
@pytest.mark.parametrize(("name", "label"), MRMR_PICKS)
def test_mrmr_picks_what_the_package_picks(data_dir, name, label):
    x, y, _, _ = load(name, data_dir)
    want = MRMR_PICKS[name, label]
    assert (
        picks_of(engine_of(x, y[:, [label]].astype(float)), "mrmr", len(want), **PACKAGE)[0] == want
    )


@pytest.mark.slow
@SCHEMES
@pytest.mark.parametrize("name", ["emotions", "flags", "planted", "planted-sparse"])
def test_mrmr_rankings(rows, name, choice):
    data = rows(name)
    want = oracle.mrmr(data.x, discretise(data.x), data.y, **choice, num_features=12)
    agrees(run(data.held, "mrmr", 12, **choice), want)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scene", "yeast", "enron"])
@pytest.mark.parametrize("choice", [{}, PACKAGE], ids=["default", "package"])
def test_mrmr_rankings_of_larger_sets(rows, name, choice):
    data = rows(name)
    want = oracle.mrmr(data.x, discretise(data.x), data.y, **choice, num_features=6)
    agrees(run(data.held, "mrmr", 6, **choice), want)


@pytest.mark.slow
def test_mrmr_bins_and_correction(rows):
    data = rows("emotions")
    for scheme in ("difference", "quotient"):
        want = oracle.mrmr(
            data.x,
            discretise(data.x, 3, "quantile"),
            data.y,
            scheme=scheme,
            num_features=8,
            miller_madow=True,
        )
        given = {
            "num_bins": 3,
            "binning": "quantile",
            "bias_correction": "miller-madow",
            "scheme": scheme,
        }
        agrees(run(data.held, "mrmr", 8, **given), want)


def test_mrmr_quotients_of_hardly_any_redundancy():
    """The quotient is of the informations as they are, however small; where there is none at all,
    relevance decides."""
    rng = np.random.default_rng(4)
    x = (rng.random((4000, 12)) < 0.4).astype(float)
    y = (
        x[:, :6] @ np.array([6, 5, 4, 3, 2, 1])[:, None] + 3 * rng.normal(size=(4000, 2)) > 8
    ).astype(float)
    want = oracle.mrmr(x, x.astype(int), y, scheme="quotient", num_features=8)
    assert oracle.with_feature(x.astype(int), want.ranking[0]).min() < 1e-4
    picks, gains = picks_of(engine_of(x, y), "mrmr", 8, scheme="quotient")
    assert picks == list(want.ranking[:8]) and np.allclose(gains, want.gains, rtol=1e-6)

    all_16 = np.array(list(product((0.0, 1.0), repeat=4)))
    label = (all_16 @ np.array([1, 4, 2, 3]) > 5).astype(float)
    picks, gains = picks_of(engine_of(all_16, label[:, None]), "mrmr", 4, scheme="quotient")
    relevance = np.array([mutual_info_score(column, label) for column in all_16.T])
    assert (
        picks == list(np.argsort(-relevance.round(12), kind="stable"))
        and len({*relevance.round(12)}) > 1
    )
    assert np.allclose(gains, relevance[picks] / [1, 1e-12, 1e-12, 1e-12], rtol=1e-9)


@pytest.mark.slow
def test_mrmr_takes_one_scan_of_the_gram_or_one_job_of_counts_a_batch(rows):
    packed = rows("planted").packed
    assert run(packed, "mrmr", 8, **PACKAGE).scans == 2  # the packing is one
    alone = run(packed, "ridge", small=False)
    alone = min(
        alone.jobs, run(packed, "ridge", small=False).jobs
    )  # the first one may have numbered the rows
    assert run(packed, "mrmr", 8, small=False, **PACKAGE).jobs == alone
    counted = run(packed, "mrmr", 8, small=False)
    assert counted.jobs - packed.jobs <= 4  # two-way counts, and links in batches


def test_mrmr_features_without_relevance_are_not_picked():
    """By hand: x1 does not depend on the label at all, but is the least redundant; it follows by
    its relevance."""
    label = np.array([0, 0, 0, 0, 1, 1, 1, 1.0])
    x = np.column_stack(
        [[0, 0, 0, 1, 1, 1, 1, 1], [1, -1, 1, -1, 1, -1, 1, -1], [0, 0, 0, 1, 0, 1, 1, 1.0]]
    )
    for scheme in ("difference", "quotient"):
        picks, gains = picks_of(
            engine_of(x, label[:, None]), "mrmr", 3, **{**PACKAGE, "scheme": scheme}
        )
        r = np.corrcoef(np.column_stack([x, label]).T)
        f = 6 * r[:3, 3] ** 2 / (1 - r[:3, 3] ** 2)
        assert picks == [0, 2] and f[1] == 0
        second = f[2] - r[0, 2] if scheme == "difference" else f[2] / r[0, 2]
        assert np.allclose(gains, [f[0], second], rtol=1e-12)


def test_mrmr_copies_and_separated_classes():
    """A copy of the first pick has infinite redundancy beside it alone, and separated classes the
    largest finite F: of several such features the first is picked first, and no score is
    infinite."""
    rng = np.random.default_rng(0)
    label = (np.arange(40) % 2).astype(float)
    x = np.column_stack(
        [
            rng.normal(size=40),
            3 - 2 * label,
            label,
            label + rng.normal(size=40),
            rng.normal(size=40),
        ]
    )
    engine = engine_of(x, label[:, None])
    picks, gains = picks_of(engine, "mrmr", 5, **PACKAGE)
    assert picks[0] == 1 and picks[1] == 3 and np.isfinite(gains).all()
    assert gains[0] == pytest.approx(38e12, rel=1e-9)
    scales = np.concatenate([np.arange(1, 30), -1 / np.arange(1, 30)])
    copies = rng.normal(size=(40, 1)) * scales + 0.1 * scales  # up to rounding
    correlation = mrmr.correlation_with(
        engine_of(copies, label[:, None]).run(Gram())[0].centred().G, 7
    )
    assert (correlation == 1.0).all()
    assert mrmr.correlation_with(np.diag([2.0, 3.0]), 0).tolist() == [1.0, 0.001]


@SCHEMES
def test_mrmr_unknown_labels(choice):
    """F and the correlations beside it are those of the fully known rows; informations are over the
    observed pairs, and redundancies beside them over all rows."""
    rng = np.random.default_rng(2)
    x = np.round(rng.normal(size=(150, 8)), 2)
    y = (x[:, :3] + 0.5 * rng.normal(size=(150, 3)) > 0.3).astype(float)
    y[rng.random(y.shape) < 0.15] = np.nan
    known = ~np.isnan(y).any(axis=1)
    codes = discretise(x)
    f = choice["relevance"] == "f"
    red = {s: oracle.with_feature(codes, s) for s in range(8)}
    if choice["redundancy"] == "correlation":
        red = {s: oracle.correlation(x[known] if f else x, s) for s in range(8)}
    rel = oracle.f_relevance(x[known], y[known]) if f else oracle.per_target(codes, y).mean(axis=1)
    picks, gains = picks_of(engine_of(x, y), "mrmr", 5, **choice)
    assert picks[0] == rel.argmax() and gains[0] == pytest.approx(rel.max(), rel=1e-9)
    for size in range(1, 5):
        left = [j for j in range(8) if j not in picks[:size]]
        floor = 1e-12 if choice["scheme"] == "quotient" else -np.inf
        mean = np.mean([np.maximum(red[s], floor) for s in picks[:size]], axis=0)
        value = rel - mean if choice["scheme"] == "difference" else rel / mean
        assert picks[size] == left[value[left].argmax()] and gains[size] == pytest.approx(
            value[left].max(), rel=1e-9
        )


def test_mrmr_a_label_never_known_changes_nothing():
    """The mean of the informations is over the labels that are known in some row."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(120, 7))
    y = (x[:, :2] + 0.5 * rng.normal(size=(120, 2)) > 0.3).astype(float)
    blank = np.column_stack([y, np.full((120, 2), np.nan)])
    for choice in CHOICES:
        if choice["relevance"] == "mi":
            plain, with_blank = (
                pipeline.score(engine_of(x, t), pipeline.Request.of("mrmr", choice, 5))
                for t in (y, blank)
            )
            assert plain.path.picks == with_blank.path.picks
            assert np.allclose(plain.path.gains, with_blank.path.gains, rtol=1e-10)


# ---- FastCan ----


@pytest.mark.slow
@pytest.mark.parametrize(("name", "include"), FASTCAN_PICKS)
def test_fastcan_picks_what_the_package_picks(data_dir, name, include):
    x, y, _, _ = load(name, data_dir)
    engine = engine_of(x, y.astype(float))
    view = engine.run(Gram())[0].centred()
    want, scores = FASTCAN_PICKS[name, include], FASTCAN_SCORES[name, include]
    at = {int(f): place for place, f in enumerate(engine.profile.varying[view.varying])}
    _, path = canonical.select_canonical(
        view, len(want), constraints=PickConstraints(tuple(at[f] for f in include))
    )
    assert list(engine.profile.varying[view.varying[path.picks]]) == want
    assert np.abs(np.array(path.gains[: len(scores)]) - scores).max() <= 1e-9
    if not include:
        picks, gains = picks_of(engine, "fastcan", len(want))
        assert picks == want and list(gains) == path.gains


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("flags", 19),
        ("emotions", 72),
        ("scene", 15),
        ("yeast", 15),
        ("enron", 8),
        ("planted-sparse", 13),
    ],
)
def test_fastcan_rankings(rows, name, count):
    data = rows(name)
    agrees(run(data.held, "fastcan", count), naive.fastcan(data.x, data.y, count))


@pytest.mark.slow
def test_fastcan_gains_are_gains_of_the_squared_canonical_correlations(rows):
    """By the definition: no candidate adds more than the pick, and all together add up to the sum
    over every feature."""
    for name in ("flags", "emotions"):
        data = rows(name)
        path = run(data.held, "fastcan").scores.path
        picks, gains = data.held.profile.varying[path.picks], path.gains
        assert sorted(picks) == list(data.held.profile.varying)
        assert sum(gains) == pytest.approx(naive.squared_correlations(data.x, data.y), rel=1e-9)
        for size in (0, 1, 4):
            open_ = [f for f in range(data.x.shape[1]) if f not in picks[:size]]
            added = naive.gains_by_definition(data.x, data.y, list(picks[:size]), open_)
            assert max(added.values()) == pytest.approx(gains[size], rel=1e-8)
            assert added[picks[size]] == pytest.approx(gains[size], rel=1e-8)


def test_fastcan_dependent_features_and_labels():
    """A basis of the features is picked, then nothing; a label that repeats another, or their sum,
    changes no gain."""
    x, y = near_copies()
    picks, gains = picks_of(engine_of(x, y.astype(float)), "fastcan", 11, tol=1e-4)
    assert picks == [0 if f == 1 else f for f in NEAR_COPIES_PICKS]
    assert np.abs(gains - NEAR_COPIES_SCORES).max() <= 1e-7
    assert gains.sum() == pytest.approx(naive.squared_correlations(x, y), abs=1e-7)
    more = np.column_stack([y, y[:, 0], 1 - y[:, 2], np.ones(len(y))]).astype(float)
    again, same = picks_of(engine_of(x, more), "fastcan", 11, tol=1e-4)
    assert again == picks and np.abs(same - gains).max() <= 1e-10


def test_fastcan_tolerance():
    """Near-copies leave 0.3 % of their norm: candidates at a tolerance of 0.1 %, as in the package,
    none at the default 1 %."""
    x, y = near_copies()
    engine = engine_of(x, y.astype(float))
    for tol in (0.001, 0.01, 0.5):
        picks, gains = picks_of(engine, "fastcan", 11, tol=tol)
        want = naive.fastcan(x, y, 11, tol)
        assert picks == list(want.ranking[: len(picks)]) and len(gains) == len(want.gains)
        assert np.abs(gains - want.gains).max() <= 1e-8
    default, _ = picks_of(engine, "fastcan", 11)
    assert default[:3] == NEAR_COPIES_PICKS[:3] and not {2, 8} <= set(default) and len(default) == 6
    for tol in (0, 1e-6, 1.5, "a"):
        with pytest.raises(ParameterError, match="tol must be"):
            pipeline.Request.of("fastcan", {"tol": tol})


def test_fastcan_include_conditions_on_what_is_there():
    x, y = near_copies()
    engine = engine_of(x, y.astype(float))
    view = engine.run(Gram())[0].centred()
    first, path = canonical.select_canonical(view, 5, constraints=PickConstraints((4, 10, 0)))
    assert path.picks[:3] == [4, 10, 0] and path.gains[1] == 0.0 and len(path.picks) == 5
    for size in (0, 2):
        (added,) = naive.gains_by_definition(x, y, path.picks[:size], [path.picks[size]]).values()
        assert path.gains[size] == pytest.approx(added, rel=1e-9)
    added = naive.gains_by_definition(
        x, y, [4, 0], [f for f in range(11) if f not in (0, 4, 6, 10)]
    )
    assert max(added, key=added.get) == path.picks[3] and path.gains[3] == pytest.approx(
        max(added.values()), rel=1e-8
    )
    for f in range(11):
        assert first[f] == pytest.approx(naive.squared_correlations(x[:, [f]], y), rel=1e-9)
    _, only = canonical.select_canonical(view, 1, constraints=PickConstraints((4, 10, 0)))
    assert only.picks == [4, 10, 0]


def test_fastcan_leaves_the_gram_matrix_alone():
    x, y = near_copies()
    view = engine_of(x, y.astype(float)).run(Gram())[0].centred()
    before = view.G.copy(), view.C.copy(), view.S.copy()
    for array in (view.G, view.C, view.S):
        array.flags.writeable = False
    canonical.select_canonical(view, 11)
    assert all(np.array_equal(a, b) for a, b in zip(before, (view.G, view.C, view.S), strict=True))


def test_fastcan_unknown_labels():
    """The rows whose labels are all known, and a line where there are none."""
    x, y = near_copies()
    x[:200, 3] = 1.0
    y = y.astype(float)
    y[200:, 1] = np.nan  # feature 3 is constant on the other rows
    result = pipeline.score(engine_of(x, y), pipeline.Request.of("fastcan", {}, 11))
    want = naive.fastcan(x[:200], y[:200], 11)
    assert (
        result.path.picks == list(want.ranking[: len(result.path.picks)])
        and 3 not in result.path.picks
    )
    assert (
        list(result.constant) == [3]
        and result.values[3] == 0
        and result.details["labelled_rows"] == 200
    )
    for choice in CHOICES:  # what F cannot see is constant to it, whatever the redundancy
        scores = pipeline.score(engine_of(x, y), pipeline.Request.of("mrmr", choice, 11))
        if choice["relevance"] == "f":
            assert list(scores.constant) == [3] and 3 not in scores.path.picks
        else:
            assert scores.constant is None
    y[:, 1] = np.nan
    for method, parameters in (("fastcan", {}), ("mrmr", PACKAGE)):
        with pytest.raises(DataError, match="rows"):
            pipeline.score(engine_of(x, y), pipeline.Request.of(method, parameters, 11))


def test_labels_without_any_variation():
    """Nothing is relevant: the ranking is by index, and no score is NaN."""
    x, y = near_copies()
    still = np.ones_like(y, float)
    for method, parameters in (("fastcan", {}), ("mrmr", {}), ("mrmr", PACKAGE), ("igmf", {})):
        scores = pipeline.score(engine_of(x, still), pipeline.Request.of(method, parameters, 4))
        assert (scores.values == 0).all(), method
    assert pipeline.score(
        engine_of(x, still), pipeline.Request.of("fastcan", {}, 4)
    ).path.picks == [0]
    assert (
        pipeline.score(engine_of(x, still), pipeline.Request.of("mrmr", PACKAGE, 4)).path.picks
        == []
    )


# ---- IGMF ----


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["emotions", "flags", "scene", "yeast", "enron", "planted", "planted-sparse"]
)
@pytest.mark.parametrize("corrected", [False, True])
def test_igmf_rankings(rows, name, corrected):
    data = rows(name)
    want = oracle.igmf(discretise(data.x), data.y, constant_columns(data.x), corrected)
    found = run(data.held, "igmf", bias_correction="miller-madow" if corrected else "none").ranking
    assert list(found["index"]) == list(want.ranking)
    assert (
        np.abs(found["score"].to_numpy() - want.scores[want.ranking]).max()
        <= 1e-10 * np.abs(want.scores).max()
    )


def test_igmf_by_hand():
    """A feature that is the labelset has 1, one independent of it 0, half of it 2·log 2/(log 2 +
    log 4)."""
    y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 6, float)
    x = np.column_stack([y @ [1, 2], y[:, 0], np.repeat(np.arange(6.0), 4), np.ones(24)])
    engine = engine_of(x, y)
    values = pipeline.score(engine, pipeline.Request.of("igmf", {"num_bins": 6})).values
    assert np.allclose(values, [1, 2 / 3, 0], atol=1e-12)
    assert mutual_info_score(x[:, 1], y @ [1, 2]) == pytest.approx(np.log(2))


def test_igmf_unknown_labels():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, (120, 5)).astype(float)
    y = (x[:, :2] + rng.normal(size=(120, 2)) > 1.5).astype(float)
    y[:30, 0] = np.nan
    known = ~np.isnan(y).any(axis=1)
    want = oracle.igmf(
        discretise(x)[known], y[known].astype(int)
    ).scores  # bins of all rows, counts of the known
    got = pipeline.score(engine_of(x, y), pipeline.Request.of("igmf")).values
    assert np.abs(got - want).max() <= 1e-12
    y[:, 0] = np.nan
    with pytest.raises(DataError, match="known"):
        pipeline.score(engine_of(x, y), pipeline.Request.of("igmf"))


# ---- all three ----

THREE = [
    ("mrmr", {}),
    ("mrmr", PACKAGE),
    ("mrmr", {"redundancy": "correlation"}),
    ("mrmr", {"relevance": "f"}),
    ("fastcan", {}),
    ("igmf", {}),
]
OF_THREE = pytest.mark.parametrize(
    ("method", "parameters"), THREE, ids=[" ".join([m, *p.values()]) for m, p in THREE]
)


@pytest.fixture(scope="module")
def spread(frame_of):
    """One small set with copies, sparse and dense, packed from 1 and from 4 partitions."""
    rng = np.random.default_rng(4)
    x = np.where(rng.random((90, 10)) < 0.5, np.round(rng.normal(size=(90, 10)), 2), 0)
    x[:, 7], x[:, 8] = x[:, 2], 2.0
    y = (x[:, :3] + 0.4 * rng.normal(size=(90, 3)) > 0.3).astype(float)
    made = {
        (sparse, parts): pack(frame_of(x, y, sparse, parts), row_id="id")
        for sparse in (False, True)
        for parts in (1, 4)
    }
    yield made
    for packed in made.values():
        packed.release()


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_any_partitions_and_one_task_give_the_same_bits(spread, sparse):
    """All of them in one call: alone each has the same ranking (`conformance`)."""
    requests = [pipeline.Request.of(method, parameters, 6) for method, parameters in THREE]
    one, *others = (
        pipeline.rank(spread[sparse, parts], requests, small_bytes=1 << 40 if small else 0)
        for parts, small in ((1, True), (1, False), (4, True), (4, False))
    )
    for results in others:
        for first, other in zip(one, results, strict=True):
            assert other.scores.values.tobytes() == first.scores.values.tobytes()
            assert other.ranking.equals(first.ranking)
            if first.scores.path is not None:
                assert other.scores.path.gains == first.scores.path.gains
    for first in one:
        assert first.ranking["index"].iloc[-1] == 8  # the constant column
        place = list(first.ranking["index"])
        assert place.index(2) < place.index(7)  # a copy comes after its original


@pytest.mark.slow
@OF_THREE
def test_behind_a_screen(rows, method, parameters):
    """The method sees the survivors only: its picks are those on their columns."""
    data = rows("emotions")
    result = run(data.held, method, 6, screen="chi2:20", **parameters)
    survivors = np.sort(run(data.held, "chi2").ranking["index"][:20])
    alone = pipeline.score(
        engine_of(data.x[:, survivors], data.y), pipeline.Request.of(method, parameters, 6)
    )
    order = (
        survivors[np.argsort(-alone.values, kind="stable")][:6]
        if alone.path is None
        else survivors[alone.path.picks]
    )
    assert list(result.ranking["index"][:6]) == list(order)


@pytest.mark.slow
def test_too_many_features_for_the_driver(spread, monkeypatch):
    monkeypatch.setattr(pipeline, "FEATURE_BYTES", 0)  # of the ranking, which is more here
    for method, parameters in (
        ("fastcan", {}),
        ("mrmr", PACKAGE),
        ("mrmr", {"redundancy": "correlation"}),
    ):
        with pytest.raises(BudgetError, match="screen"):
            pipeline.rank(
                spread[False, 1], [pipeline.Request.of(method, parameters, 3)], driver_bytes=500
            )


@pytest.mark.slow
def test_estimators_and_their_params(frame_of, rows):
    data = rows("planted")
    frame = frame_of(data.x, data.y)
    for estimator, method, parameters in (
        (spark_mlfs.MRMRSelector(numTopFeatures=5, **PACKAGE), "mrmr", PACKAGE),
        (spark_mlfs.FastCanSelector(numTopFeatures=5, tol=0.02), "fastcan", {"tol": 0.02}),
        (spark_mlfs.IGMFSelector(numTopFeatures=5, numBins=4), "igmf", {"num_bins": 4}),
    ):
        model = estimator.setParams(idCol="id").fit(frame)
        want = run(data.held, method, 5, **parameters)
        assert model.selectedFeatures == list(want.ranking["index"][:5])
    assert {p.name for p in spark_mlfs.MRMRSelector().params} >= {
        "relevance",
        "redundancy",
        "scheme",
        "numBins",
        "binning",
    }
    with pytest.raises(ParameterError, match="scheme must be one of 'difference', 'quotient'"):
        spark_mlfs.MRMRSelector(scheme="ratio")
