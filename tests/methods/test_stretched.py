"""Features that one value stretches are named, by what counts and moments show anyhow."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from spark_mlfs import cli, pipeline, rank
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataNotice
from spark_mlfs.pipeline import Request
from spark_mlfs.sklearn import MIMSelector

N = 400
COUNTING = ["mim", "jmi", "lrfs", "mrmr", "chi2", "fimf", "pmu"]
MOMENTS = [
    "f-statistic",
    "fisher",
    "ridge",
    "lasso",
    "forward",
    "fastcan",
    "rfs",
    "csfs",
    "omfs",
    "spec",
]


def table(spoilt=True):
    """Return ages, shares, small counts and rare amounts, two of them with a value far away."""
    generator = np.random.default_rng(0)
    x = generator.normal(50, 10, (N, 6)).round(1)
    x[:, 3] = generator.integers(0, 3, N)
    x[:, 4] = generator.random(N) < 0.02
    x[:, 5] = np.where(generator.random(N) < 0.03, generator.lognormal(3, 1, N), 0)
    y = (x[:, :2] > 50).astype(int)
    if spoilt:
        x[7, 0] = 1e6
        x[9, 1] = -9999
    return x, y


def texts_of(function, *arguments, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments, **settings)
    texts = [str(w.message) for w in caught if issubclass(w.category, DataNotice)]
    return [text for text in texts if "so far from the others" in text]


@pytest.mark.parametrize("method", COUNTING)
def test_bins_of_equal_width_that_hold_nearly_all_rows(method):
    x, y = table()
    (text,) = texts_of(rank, x, y, method, k=6)
    # 399 of 400 rows are in one code
    assert text == (
        "features 'x0' (1e+06), 'x1' (-9999): this value of each is so far from the others that "
        "99.7 % of the rows share one of 5 bins: give binning='quantile', or clip or recode it"
    )
    assert texts_of(rank, x, y, method, k=6, binning="quantile") == []
    assert texts_of(rank, *table(spoilt=False), method, k=6) == []


@pytest.mark.parametrize("method", MOMENTS)
def test_one_value_that_has_most_of_the_variance(method):
    x, y = table()
    (text,) = texts_of(rank, x, y, method, k=6)
    share = min((x[i, f] - x[:, f].mean()) ** 2 / (N * x[:, f].var()) for i, f in ((7, 0), (9, 1)))
    assert text == (
        "features 'x0' (1e+06), 'x1' (-9999): this value of each is so far from the others that it "
        f"has {np.floor(1000 * share) / 10:g} % of the variance: clip or recode it, or give ranks "
        "or logarithms"
    )
    assert texts_of(rank, *table(spoilt=False), method, k=6) == []


def test_one_feature_has_its_name():
    x, y = table()
    frame = pd.DataFrame(x, columns=list("abcdef"))
    frame["b"] = 1.0 * (frame["b"] > 50)
    (text,) = texts_of(MIMSelector(num_top_features=2).fit, frame, y)
    assert text.startswith("feature 'a' (1e+06): this value is so far from the others that 99.7 %")


def test_sparse_features_are_judged_by_the_rows_that_are_not_0():
    generator = np.random.default_rng(1)
    x = np.where(generator.random((4000, 5)) < 0.08, generator.random((4000, 5)), 0)
    y = (x[:, :2] > 0.3).astype(int)
    assert texts_of(rank, sp.csr_matrix(x), y, "mim", k=5) == []  # 92 % of the rows are 0
    x[np.flatnonzero(x[:, 0])[0], 0] = 1e5
    (text,) = texts_of(rank, sp.csr_matrix(x), y, "mim", k=5)
    assert text.startswith("feature 'x0' (100000): this value is")
    (text,) = texts_of(rank, sp.csr_matrix(x), y, "f-statistic", k=5)
    assert text.startswith("feature 'x0' (100000): this value is")


def test_rules_that_count_say_it_too():
    x, y = table()
    selector = MIMSelector(selection_mode="fdr")
    assert len(texts_of(selector.fit, x, y)) == 1
    assert any("quantile" in notice for notice in selector.notices_)


def test_a_command_on_files(tmp_path, capsys):
    x, y = table()
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(6)])
    frame[["y0", "y1"]] = y
    frame.to_csv(tmp_path / "rows.csv", index=False)
    where = ["--data", str(tmp_path / "rows.csv"), "--format", "csv", "--labels-col", "y0", "y1"]
    flags = ["--method", "mim", "--num-top-features", "3", "--engine", "local", "--no-report"]
    columns = ["--features", "x0", "x1", "x2", "x3", "x4", "x5"]
    arguments = ["select", *where, *columns, *flags, "--output", str(tmp_path / "run")]
    assert cli.main(arguments) == 0
    assert "features 'x0' (1e+06), 'x1' (-9999): this value of each is" in capsys.readouterr().out


@pytest.mark.slow
def test_the_same_words_on_spark(spark):
    x, y = table()
    rows = [(a.tolist(), b.astype(float).tolist()) for a, b in zip(x, y, strict=True)]
    frame = spark.createDataFrame(rows, "features array<double>, labels array<double>")
    requests = [Request.of("mim"), Request.of("ridge"), Request.of("fisher")]
    here, _ = pack_arrays(x, y)
    results = pipeline.rank(here, requests)
    with pack(frame.repartition(3)) as packed:
        for small_bytes in (0, 1 << 40):
            there = pipeline.rank(packed, requests, small_bytes=small_bytes)
            for one, two in zip(results, there, strict=True):
                words = [str(notice).replace("features_", "x") for notice in two.notices]
                assert words == [str(notice) for notice in one.notices] and len(words) == 1
        assert packed.profile.variety.tolist() == here.profile.variety.tolist()
