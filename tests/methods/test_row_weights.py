"""Row weights: a row of weight w counts as w rows, to the bit, and what cannot count by weights
says so."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from oracles import regression as oracle
from oracles.loader import load
from scipy.stats import entropy
from sklearn.feature_selection import f_classif
from sklearn.linear_model import Ridge

import spark_mlfs
from spark_mlfs import METHODS, DataError, ParameterError, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.blocks.weights import MOST, exponent_of, fixed, in_units
from spark_mlfs.sklearn import JMISelector, ReliefFSelector
from spark_mlfs.testing import example, thin

WEIGHTED = [name for name in METHODS if METHODS[name].weighted]
SCANS = {
    "rfs": {"accelerate": False, "max_iter": 40}
}  # its other way out goes by the rows that are there
ADDITIVE = """mim quota jmi cmi chi2 ppt-cmi pmu d2f mdmr scls lrfs fimf enm gmm mrmr igmf fastcan forward f-statistic fisher ridge
lasso elastic-net csfs mssl omfs rfs""".split()


def ranked(x, y, weights=None, methods=WEIGHTED, **parameters):
    requests = [pipeline.Request.of(name, parameters.get(name, {}), 4) for name in methods]
    results = pipeline.rank(pack_arrays(x, y, weights)[0], requests)
    return {r.request.method: (r.ranking, r.scores, r.scans) for r in results}


def assert_same(found, wanted):
    for name in wanted:
        pd.testing.assert_frame_equal(found[name][0], wanted[name][0], check_exact=True, obj=name)
        assert np.array_equal(found[name][1].values, wanted[name][1].values), name
        if wanted[name][1].path is not None:
            assert found[name][1].path.gains == wanted[name][1].path.gains, name
        assert found[name][2] == wanted[name][2], f"{name}: scans"


def table(name, data_dir):
    """A table of which a third of the rows repeat others; a real set, and made ones with copies,
    constants, counts."""
    rng = np.random.default_rng(7)
    if name == "emotions":
        x, y, _, _ = load("emotions", data_dir)
        x = x[:, ::4]
    else:
        x, y = example()
        x = thin(x) if name == "thin" else x
    rows = rng.permutation(
        np.concatenate([np.arange(len(x)), rng.integers(0, len(x) // 2, len(x) // 2)])
    )
    return x[rows], y[rows].astype(float)


@pytest.mark.parametrize("name", ["emotions", "dense", "thin"])
def test_a_row_of_weight_w_is_w_rows(name, data_dir):
    """Every method that takes weights, with as many scans; a row of weight 0 is none; weights of 1
    change nothing."""
    x, y = table(name, data_dir)
    w = np.random.default_rng(1).integers(0, 4, len(x))
    copies = np.repeat(np.arange(len(x)), w)
    assert_same(ranked(x, y, w, **SCANS), ranked(x[copies], y[copies], **SCANS))
    if name == "dense":
        assert_same(ranked(x, y, np.ones(len(x))), ranked(x, y))


def test_unknown_labels_and_other_parameters():
    x, y = example()
    y[np.random.default_rng(3).random(y.shape) < 0.03] = np.nan
    w = np.random.default_rng(1).integers(0, 4, len(x))
    copies = np.repeat(np.arange(len(x)), w)
    powerset = {name: {"label_coding": "lp"} for name in ("mim", "jmi", "cmi", "chi2", "fisher")}
    for methods, more in (
        ([m for m in WEIGHTED if m not in ("cmi", "csfs")], SCANS),
        (list(powerset), powerset),
        (["mim", "gmm"], {name: {"bias_correction": "miller-madow"} for name in ("mim", "gmm")}),
        (["mrmr"], {"mrmr": {"relevance": "f", "redundancy": "correlation", "scheme": "quotient"}}),
    ):
        assert_same(
            ranked(x, y, w, methods, **more), ranked(x[copies], y[copies], None, methods, **more)
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "kind"), [(240, "dense"), (240, "thin"), (26, "dense"), (26, "thin"), (14, "dense")]
)
def test_rfs_reaches_the_optimum_of_the_weighted_sum(rows, kind):
    """Of many rows by scans and then Newton steps, of few by these alone: a row of weight w is w
    rows, to the bit where so many are solved the same way, else to the solver's tolerance; and
    fractions have the minimum of Nie's n x n form. Rows repeat, some have an unknown label."""
    x, y = example()
    x = (thin(x) if kind == "thin" else x)[: 2 * rows // 3]
    again = np.concatenate([np.arange(len(x)), np.arange(rows - len(x))])
    x, y = x[again], y[again]
    y[::13, 1] = np.nan
    w = np.random.default_rng(1).integers(0, 4, len(x))
    copies = np.repeat(np.arange(len(x)), w)
    parameters = {"tol": 1e-9 if rows == 240 else 1e-6}
    (one,), (other,) = (
        ranked(*data, ["rfs"], rfs=parameters).values()
        for data in ((x, y, w), (x[copies], y[copies], None))
    )
    assert one[1].converged and (one[1].details["scans"] == 0) == (rows < 240)
    assert one[1].details["labelled_rows"] == (~np.isnan(y[copies]).any(axis=1)).sum()
    if rows == 26:  # of the copies there are enough to scan
        assert other[1].details["scans"] > 0 and one[1].objective[-1] == pytest.approx(
            other[1].objective[-1], rel=1e-6
        )
        np.testing.assert_allclose(
            one[1].values, other[1].values, atol=1e-3 * other[1].values.max()
        )
    else:
        assert (other[1].details["scans"] == 0) == (rows < 240)
        assert_same({"rfs": one}, {"rfs": other})
    m = fixed(np.random.default_rng(5).gamma(1.0, size=len(x)) + 0.01)
    ((ranking, scores, _),) = ranked(x, y, m, ["rfs"], rfs=parameters).values()
    known = ~np.isnan(y).any(axis=1)
    z, t, m = x[known], y[known], m[known]
    varies = z.std(axis=0) > 0
    mean = np.average(z, axis=0, weights=m)
    z = ((z - mean) / np.sqrt(np.average((z - mean) ** 2, axis=0, weights=m) + ~varies))[:, varies]
    floor = 1e-8 * np.average(
        np.linalg.norm(t - np.average(t, axis=0, weights=m), axis=1), weights=m
    )
    W, b = oracle.rfs_nie(z, t, 1.0, 1500, floor, m)[-1]
    assert scores.objective[-1] <= oracle.rfs_objective(z, t, W, b, 1.0, m) * (1 + 1e-7)
    wanted = np.zeros(x.shape[1])
    wanted[varies] = np.linalg.norm(W, axis=1)
    np.testing.assert_allclose(
        ranking.sort_values("index")["score"], wanted, atol=1e-3 * wanted.max()
    )


def test_every_additive_method_takes_weights_and_no_other():
    assert sorted(WEIGHTED) == sorted(ADDITIVE)
    x, y = example()
    w = np.full(len(x), 2)
    for name in METHODS:
        if name not in WEIGHTED:
            with pytest.raises(ParameterError, match=f"{name} takes no row weights.*sample_weight"):
                spark_mlfs.rank(x, y, name, sample_weight=w)
    for what, more in (
        ("binning='quantile'", {"binning": "quantile"}),
        ("bias_correction='miller-madow'", {"bias_correction": "miller-madow"}),
    ):
        with pytest.raises(ParameterError, match=f"{what}.* takes"):
            spark_mlfs.rank(x, y, "mim", sample_weight=w * 0.75, **more)
    for mode in ("fdr", "knockoffs", "stability"):
        with pytest.raises(ParameterError, match=f"{mode} takes no row weights"):
            spark_mlfs.sklearn.RidgeSelector(selection_mode=mode).fit(x, y, sample_weight=w)


def test_fractions_against_independent_formulas():
    """Weights that are no whole numbers, against tables of weights, scikit-learn's ridge, and an
    analysis of variance."""
    x, y = example()
    x = x[:, :4]
    w = fixed(np.random.default_rng(5).gamma(2.0, size=len(x)))
    ridge = spark_mlfs.rank(x, y, "ridge", k=None, scaling="none", sample_weight=w).sort_values(
        "index"
    )["score"]
    wanted = np.linalg.norm(Ridge(alpha=1.0).fit(x, y, sample_weight=w).coef_, axis=0)
    np.testing.assert_allclose(ridge, wanted, rtol=1e-9)
    found = spark_mlfs.rank(x, y, "mim", k=None, sample_weight=w).sort_values("index")["score"]
    chi2 = spark_mlfs.rank(x, y, "chi2", k=None, sample_weight=w).sort_values("index")["score"]
    codes = np.minimum((x - x.min(axis=0)) * 5 / np.ptp(x, axis=0), 4).astype(int)
    for j in range(x.shape[1]):
        tables = [
            np.stack([np.bincount(codes[:, j], w * (label == v), minlength=5) for v in (0, 1)])
            for label in y.T
        ]
        shared = sum(
            entropy(t.sum(axis=0)) + entropy(t.sum(axis=1)) - entropy(t.ravel()) for t in tables
        )
        np.testing.assert_allclose(found.iloc[j], shared, rtol=1e-9)
        expected = [np.outer(t.sum(axis=1), t.sum(axis=0)) / t.sum() for t in tables]
        wanted = sum(((t - e) ** 2 / e).sum() for t, e in zip(tables, expected, strict=True))
        np.testing.assert_allclose(chi2.iloc[j], wanted, rtol=1e-9)
    one = np.stack(
        [y[:, 0], 1 - y[:, 0]], axis=1
    )  # two classes that share no row: the F of an analysis of variance
    f = spark_mlfs.rank(
        x, one, "f-statistic", k=None, sample_weight=np.full(len(x), 1.0)
    ).sort_values("index")["score"]
    np.testing.assert_allclose(f, f_classif(x, y[:, 0])[0], rtol=1e-9)
    halved = {m: ranked(x, y, w / 2, [m])[m][0] for m in ("mim", "jmi", "fisher", "igmf")}
    for method, ranking in ranked(
        x, y, w, list(halved)
    ).items():  # these do not depend on the scale of the weights
        pd.testing.assert_frame_equal(ranking[0], halved[method], rtol=1e-9)


OF_SHARES = """mim jmi cmi pmu d2f mdmr scls lrfs fimf enm gmm mrmr igmf fastcan forward fisher lasso
elastic-net""".split()


def test_rankings_do_not_go_by_the_scale_of_the_weights():
    """By a power of two to the bit, by another number as far as weights are rounded."""
    x, y = example()
    w = np.random.default_rng(5).gamma(2.0, size=len(x)) + 0.05
    plain = ranked(x, y, w, OF_SHARES)
    for power in (-200, -60, -20, 30, 60, 200):
        assert_same(ranked(x, y, w * 2.0**power, OF_SHARES), plain)
    counting = OF_SHARES[: OF_SHARES.index("fastcan")]  # which take no roots
    assert_same(ranked(x, y, w / 2, counting), {name: plain[name] for name in counting})
    for factor in (1e-12, 1e-6, 1 / 3, 1e9, 1e30):
        for method, (ranking, *_) in ranked(x, y, w * factor, OF_SHARES).items():
            pd.testing.assert_frame_equal(ranking, plain[method][0], rtol=1e-3, obj=method)
        for method in ("chi2", "f-statistic", "quota"):
            scaled, as_it_is = (
                spark_mlfs.rank(x, y, method, sample_weight=weights) for weights in (w * factor, w)
            )
            assert scaled["index"].tolist() == as_it_is["index"].tolist()
    for scale in (1e-300, 1e300):
        with pytest.raises(DataError, match=r"add up to about 2\^.*multiply all of them"):
            spark_mlfs.rank(x, y, "rfs", sample_weight=w * scale)


def test_weights_in_fixed_point():
    w = np.array([3.0, 0.1, 1e-3, (1 << 24) - 1, 2.5, 1e9])
    kept = fixed(w)
    assert (
        kept[0] == 3
        and kept[3] == w[3]
        and kept[4] == 2.5
        and np.abs(kept / w - 1).max() < 2.0**-16
    )
    exponent = exponent_of(kept)
    assert np.array_equal(np.ldexp(in_units(kept, exponent).astype(float), exponent), kept)
    assert (in_units(kept, exponent) % 2).any() and exponent_of(np.array([4.0, 8.0])) == 0
    assert exponent_of(np.array([0.75, 6.0])) == -2


def test_the_profile_of_weights_in_any_order():
    x, y = example()
    w = np.random.default_rng(2).choice([1.0, 0.5, 0.0625, 3.0], len(x))
    held = pack_arrays(x, y, w)[0]
    parts = [
        profile_block(held.block.take(p), 4)
        for p in np.array_split(np.random.default_rng(0).permutation(len(x)), 7)
    ]
    for order in (parts, parts[::-1]):
        total = order[0]
        for part in order[1:]:
            total = total.merge(part)
        assert total.weight * 2.0**total.weight_exponent == w.sum() and total.heaviest == 48
        assert np.array_equal(total.positive_total * total.weight_unit, w @ y)


@pytest.mark.parametrize(
    ("row", "value", "told"),
    [
        (3, -1, "row 3 of sample_weight: its weight is -1"),
        (0, np.nan, "row 0.*missing"),
        (5, np.inf, "row 5.*is inf"),
    ],
)
def test_wrong_weights_are_named(row, value, told):
    x, y = example()
    w = np.ones(len(x))
    w[row] = value
    with pytest.raises(DataError, match=told):
        spark_mlfs.rank(x, y, "mim", sample_weight=w)


def test_weights_that_cannot_be_summed_are_refused():
    x, y = example()
    w = np.ones(len(x))
    w[0] = float(MOST)
    with pytest.raises(DataError, match=r"too far apart.*2\^52"):
        spark_mlfs.rank(x, y, "mim", sample_weight=w)
    for wrong in (np.zeros(len(x)), np.ones(3), np.ones((len(x), 2))):
        with pytest.raises(DataError, match="weight"):
            spark_mlfs.rank(x, y, "mim", sample_weight=wrong)


def test_scikit_learn_routes_weights_to_who_takes_them():
    x, y = example()
    w = np.random.default_rng(1).integers(0, 4, len(x))
    copies = np.repeat(np.arange(len(x)), w)
    found = JMISelector(num_top_features=4).fit(x, y, sample_weight=w)
    assert list(found.selected_) == list(
        JMISelector(num_top_features=4).fit(x[copies], y[copies]).selected_
    )
    of_weights = inspect.signature(JMISelector().set_fit_request).parameters
    of_neighbours = inspect.signature(ReliefFSelector().set_fit_request).parameters
    assert "sample_weight" in of_weights and "sample_weight" not in of_neighbours


@pytest.mark.slow
def test_on_spark(spark):
    """The column as pyspark.ml names it: the ranking of the arrays, cut anywhere, in one task or
    job by job; wrong ones named."""
    from pyspark.sql import functions as F

    from spark_mlfs import JMISelector as OnSpark
    from spark_mlfs import ReliefFSelector as Neighbours

    x, y = example()
    w = np.random.default_rng(1).choice([0.0, 1.0, 0.25, 3.0], len(x))
    rows = [
        (i, *(np.asarray(a).tolist() for a in row))
        for i, row in enumerate(zip(x, y, w, strict=True))
    ]
    frame = spark.createDataFrame(
        rows, "id bigint, features array<double>, labels array<double>, w double"
    )
    methods = ("mim", "jmi", "cmi", "chi2", "ridge", "fisher", "omfs", "lrfs", "rfs")
    few = {"rfs": {"accelerate": False, "max_iter": 6}}
    here = ranked(x, y, w, methods, **few)
    for parts, small in ((1, 1 << 30), (2, 0)):
        requests = [pipeline.Request.of(name, few.get(name, {}), 4) for name in methods]
        for result in pipeline.rank(
            frame.repartition(parts), requests, row_id="id", weight="w", small_bytes=small
        ):
            found = result.ranking[["rank", "index", "score"]]
            pd.testing.assert_frame_equal(
                found, here[result.request.method][0][["rank", "index", "score"]], check_exact=True
            )
    (gathered,) = pipeline.rank(
        frame.where("id < 24").repartition(3),
        [pipeline.Request.of("rfs", {}, 4)],
        row_id="id",
        weight="w",
        small_bytes=0,
    )
    rfs = ranked(x[:24], y[:24], w[:24], ["rfs"])["rfs"][1]
    assert gathered.distributed and gathered.scores.details["scans"] == 0
    np.testing.assert_allclose(gathered.scores.values, rfs.values, atol=1e-9 * rfs.values.max())
    model = OnSpark(weightCol="w", idCol="id", numTopFeatures=4).fit(frame)
    assert (
        model.selectedFeatures == list(here["jmi"][0]["index"][:4])
        and model.summary["weight"] == w.sum()
    )
    assert (
        model.summary["scans"] == OnSpark(idCol="id", numTopFeatures=4).fit(frame).summary["scans"]
    )
    with pytest.raises(ParameterError, match=r"relieff takes no row weights.*weightCol"):
        Neighbours(weightCol="w").fit(frame)
    for value, told in ((F.lit(None).cast("double"), "null"), (F.lit(-0.5), "-0.5")):
        wrong = frame.withColumn("w", F.when(F.col("id") == 17, value).otherwise(F.col("w")))
        with pytest.raises(DataError, match=f"row 17: its weight is {told}"):
            OnSpark(weightCol="w", idCol="id").fit(wrong)
