"""Times without a zone are what the clock showed: in any session's zone, at hours it skips, too."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import spark_mlfs
from spark_mlfs.frames.clock import times_of_the_clock
from spark_mlfs.frames.sessions import session_setting

ZONE = "spark.sql.session.timeZone"
ARROW = "spark.sql.execution.arrow.pyspark.enabled"
SKIPPED = dt.datetime(2024, 3, 10, 2, 30)  # by New York's summer time
TWICE = dt.datetime(2024, 11, 3, 1, 30)


def micros(time):
    return (time - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def test_the_times_of_a_pandas_frame():
    times = pd.Series([SKIPPED, None, dt.datetime(1900, 1, 1, 0, 0, 1, 5), TWICE])
    stamps = times.astype("datetime64[us]")
    frame = pd.DataFrame(
        {
            "ns": stamps.astype("datetime64[ns]"),
            "us": stamps,
            "s": stamps.astype("datetime64[s]"),
            "objects": pd.Series([SKIPPED, None, *times[2:]], dtype=object),
            "arrow": stamps.astype("timestamp[us][pyarrow]"),
            "aware": stamps.dt.tz_localize("UTC"),
            "aware objects": pd.Series([SKIPPED.astimezone(dt.timezone.utc)] * 4, dtype=object),
            "texts": ["a"] * 4,
            "days": [dt.date(2024, 1, 1)] * 4,
        }
    )
    values = [micros(SKIPPED), None, micros(times[2]), micros(TWICE)]
    whole_seconds = [*values[:2], values[2] - 5, values[3]]
    expected = {0: values, 1: values, 2: whole_seconds, 3: values, 4: values}
    assert times_of_the_clock(frame) == expected
    frame.insert(0, "ns", pd.NaT, allow_duplicates=True)
    assert times_of_the_clock(frame) == {0: [None] * 4} | {k + 1: v for k, v in expected.items()}


@pytest.mark.slow
def test_every_zone_ranks_the_times_alike(spark, tmp_path):
    rng = np.random.default_rng(0)
    seconds = pd.to_timedelta(rng.integers(0, 3 * 86400, 150), unit="s")
    when = pd.Series(pd.Timestamp("2024-03-09") + seconds)
    when[5], when[6] = SKIPPED, pd.NaT
    y = (when.dt.hour.fillna(3) < 12) ^ (rng.random(150) < 0.2)
    rows = pd.DataFrame(
        {"w.hen": when, "x": rng.normal(size=150), "a": y, "b": ~y & (seconds.seconds > 40_000)}
    )
    rows[["a", "b"]] = rows[["a", "b"]].astype(int)
    ranked = spark_mlfs.rank(rows[["w.hen", "x"]], rows[["a", "b"]], "jmi", missing="mean")
    expected = ranked.sort_values("index")["score"].tolist()
    rows.to_parquet(tmp_path / "rows.parquet", coerce_timestamps="us")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert pq.read_schema(tmp_path / "rows.parquet").field("w.hen").type.tz is None
    files = [str(tmp_path / name) for name in ("rows.parquet", "rows.csv")]
    request = spark_mlfs.pipeline.Request.of("jmi", {}, 2)
    cases = (  # every source where a time is skipped
        ("America/New_York", "true", (rows, *files)),
        ("America/New_York", "false", (rows,)),
        ("Asia/Kolkata", "true", files[:1]),
        ("Asia/Kolkata", "false", (rows,)),
    )
    for zone, arrow, sources in cases:
        with session_setting(spark, ZONE, zone), session_setting(spark, ARROW, arrow):
            for source in sources:
                frame = spark_mlfs.read.load(
                    spark,
                    source,
                    "table" if source is rows else source.rpartition(".")[2],
                    features=["w.hen", "x"],
                    labels=["a", "b"],
                    missing="mean",
                )
                (result,) = spark_mlfs.pipeline.rank(frame, [request], row_id="id")
                scores = result.ranking.sort_values("index")["score"].tolist()
                assert scores == expected, (zone, arrow, str(source)[-7:])
