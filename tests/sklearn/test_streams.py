"""Tables that come batch by batch: read once, the same ranking, in little more than the rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import spark_mlfs
from spark_mlfs import DataError, states
from spark_mlfs.blocks import streams
from spark_mlfs.blocks.streams import NumberTable, as_table
from spark_mlfs.states.sums import same_sums

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY))

from jobs.benchmarks import memory  # noqa: E402

RNG = np.random.default_rng(1)
N = 300
COLUMNS = {f"f{j}": RNG.normal(size=N).round(2) for j in range(5)}
COLUMNS |= {"whole": RNG.integers(0, 5, N), "flag": RNG.random(N) < 0.5}
TAGS = [
    [tag for j, tag in enumerate(("a", "b", "ü")) if COLUMNS[f"f{j}"][row] > 0] for row in range(N)
]
TABLE = pa.table(COLUMNS)


class Reader:
    """A stream that tells how often it was read, as a generator does not."""

    def __init__(self, table, rows):
        self.table, self.rows, self.times = table, rows, 0

    def __arrow_c_stream__(self, requested_schema=None):
        self.times += 1
        assert self.times == 1, "read twice"
        return self.table.to_reader(self.rows).__arrow_c_stream__(requested_schema)


@pytest.fixture(params=[1 << 24, 700])
def in_chunks(request, monkeypatch):
    """A stream becomes one chunk, or many."""
    monkeypatch.setattr(streams, "RUN_BYTES", request.param)


@pytest.mark.parametrize("method", ["mim", "ridge", "jmi", "relieff", "forward"])
def test_streams_rank_as_frames_do(in_chunks, method):
    expected = spark_mlfs.rank(pd.DataFrame(COLUMNS), TAGS, method, None)
    lists = pa.table({"t": TAGS})
    for X, Y in (
        (TABLE, lists),
        (TABLE.to_reader(17), lists.to_reader(50)),
        (Reader(TABLE, 64), Reader(lists, 64)),
        (pl.DataFrame(COLUMNS).lazy(), pl.DataFrame({"t": TAGS}).lazy()),
    ):
        ranking = spark_mlfs.rank(X, Y, method, None)
        pd.testing.assert_frame_equal(pd.DataFrame(ranking.to_pandas()), expected)


def test_a_stream_is_held_in_narrow_chunks(monkeypatch):
    monkeypatch.setattr(streams, "RUN_BYTES", 8 * 7 * 64)
    table = as_table(Reader(TABLE, 40))
    assert isinstance(table, NumberTable) and table.names == list(COLUMNS)
    sizes = [*map(len, table.chunks)]
    assert max(sizes) <= 64 and sum(sizes) == N
    bits = as_table(pa.table({"a": [0, 1, 2], "b": [True, False, True]}))
    assert next(iter(bits.chunks)).dtype == np.uint8


def test_what_is_wrong_with_a_stream_names_its_row(in_chunks):
    lacking = {**COLUMNS, "f1": [*COLUMNS["f1"][:250], None, *COLUMNS["f1"][251:]]}
    with pytest.raises(DataError, match=r"row 250 of X: feature 'f1' is missing"):
        spark_mlfs.rank(pa.table(lacking), TAGS, "mim")
    filled = spark_mlfs.rank(pa.table(lacking), TAGS, "mim", None, missing="mean")
    frame = pd.DataFrame({**lacking, "f1": np.array(lacking["f1"], float)})
    expected = spark_mlfs.rank(frame, TAGS, "mim", None, missing="mean")
    assert filled.to_pandas()["score"].tolist() == expected["score"].tolist()
    large = {**COLUMNS, "whole": [2**53 + 1] * N}
    with pytest.raises(DataError, match=r"column 'whole' of X holds whole numbers"):
        spark_mlfs.rank(pa.table(large), TAGS, "mim")
    with pytest.raises(DataError, match=r"X has 300 samples, Y has 299"):
        spark_mlfs.rank(TABLE, TAGS[1:], "mim")
    with pytest.raises(DataError, match=r"0 sample"):
        spark_mlfs.rank(TABLE.slice(0, 0), [], "mim")


@pytest.mark.parametrize(
    "Y",
    [
        pa.table({"t": [None, ["b", None], [], ["a", "a"], ["u\u0308"], ["ü", "b"]] * 4}),
        pa.table({"t": ["a", "b", "a", "b", "c", "c"] * 4}),
        pa.table({"p": [0, 1, 1, 0, 1, 0] * 4, "q": [True, False, None, True, False, True] * 4}),
    ],
    ids=["lists", "classes", "flags"],
)
def test_labels_of_arrow_are_those_of_lists(Y):
    rows = pa.table({name: column[:24] for name, column in COLUMNS.items()})
    plain = Y.to_pandas() if len(Y.schema) > 1 else Y.column(0).to_pylist()
    if len(Y.schema) > 1:
        plain = plain.astype(float)
    elif isinstance(plain[3], list):
        plain = [None if cell is None else [tag for tag in cell if tag] for cell in plain]
    expected = spark_mlfs.rank(rows, plain, "mim", None)
    for labels in (Y, Y.to_reader(5), pl.from_arrow(Y).lazy()):
        assert spark_mlfs.rank(rows, labels, "mim", None).equals(expected)


def test_states_of_a_stream_are_those_of_its_rows(in_chunks):
    expected = states.collect(pd.DataFrame(COLUMNS), TAGS, ["mim", "ridge"])
    collected = states.collect(TABLE.to_reader(30), pa.table({"t": TAGS}), ["mim", "ridge"])
    assert collected.rows == N
    for method in ("mim", "ridge"):
        one, other = (states.rank(each, method, None) for each in (expected, collected))
        assert one.equals(other)


def test_a_relation_of_duckdb_is_a_stream(in_chunks):
    duckdb = pytest.importorskip("duckdb")
    rows, labels = TABLE, pa.table({"t": TAGS})
    session = duckdb.connect()
    session.register("r", rows)
    session.register("y", labels)
    ranking = spark_mlfs.rank(session.sql("from r"), session.sql("from y"), "mim", None)
    assert ranking.equals(spark_mlfs.rank(TABLE, labels, "mim", None))


SCRIPT = """
import sys
import numpy as np, polars as pl, pyarrow as pa
import spark_mlfs
folder, kind, rows = sys.argv[1:]
path = f"{folder}/rows.parquet"
if kind == "polars":
    lazy = pl.scan_parquet(path)
    X, Y = lazy.select(pl.selectors.starts_with("x")), lazy.select("tags")
elif kind == "duckdb":
    import duckdb
    relation = duckdb.read_parquet(path)
    X, Y = relation.select(duckdb.StarExpression(exclude=["tags"])), relation.select("tags")
else:
    def batches(columns):
        for first in range(0, int(rows), 20_000):
            x = np.random.default_rng(first).normal(size=(min(20_000, int(rows)), 30))
            table = {f"x{j}": x[:, j] for j in range(30)}
            table["tags"] = pa.array([["a"] if row > 0 else ["b", "c"] for row in x[:, 0]])
            yield pa.RecordBatch.from_pydict({name: table[name] for name in columns})

    names = [f"x{j}" for j in range(30)]
    tags = pa.schema([("tags", pa.list_(pa.string()))])
    numbers = pa.schema([(name, pa.float64()) for name in names])
    X = pa.RecordBatchReader.from_batches(numbers, batches(names))
    Y = pa.RecordBatchReader.from_batches(tags, batches(["tags"]))
assert len(spark_mlfs.rank(X, Y, "mim", 5)) == 5
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["polars", "arrow", "duckdb"])
def test_a_stream_takes_little_more_than_its_rows(tmp_path, kind):
    if kind == "duckdb":
        pytest.importorskip("duckdb")
    (tmp_path / "rank.py").write_text(SCRIPT)
    peaks = []
    for n in (100, 300_000):
        x = np.random.default_rng(0).normal(size=(n, 30))
        tags = pa.array([["a"] if row[0] > 0 else ["b", "c"] for row in x])
        columns = {f"x{j}": x[:, j] for j in range(30)} | {"tags": tags}
        pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=20_000)
        ended = memory.peak(str(tmp_path / "rank.py"), str(tmp_path), kind, str(n))
        assert ended["code"] == 0, ended
        peaks.append(ended["MB"])
    times = 4 if kind == "duckdb" else 3  # DuckDB keeps pages of its own
    assert peaks[1] - peaks[0] < 69 * times  # 69 MB of values


@pytest.mark.parametrize("unknown", [False, True])
def test_later_states_of_a_stream_hold_no_rows(monkeypatch, unknown):
    """Sums of chunks are the sums of all rows, and are merged and taken away as these."""
    tags = [None if unknown and row % 9 == 0 else cell for row, cell in enumerate(TAGS)]
    tags[7] = ["new"]
    weights = RNG.integers(1, 5, N).astype(float)
    kinds = ["mim", "ridge", "fisher"]
    first = states.collect(TABLE, TAGS, kinds, sample_weight=weights)
    expected = states.collect(
        pd.DataFrame(COLUMNS), tags, kinds, first, name="later", sample_weight=weights
    )
    monkeypatch.setattr(streams, "RUN_BYTES", 8 * 7 * 50)
    lists = pa.table({"t": tags})
    later = states.collect(
        Reader(TABLE, 40), lists, kinds, first, name="later", sample_weight=weights
    )
    assert [part.identity for part in later.parts] == [part.identity for part in expected.parts]
    assert later.labels == expected.labels and later.labels[-1] == "new"
    for kind in expected.sums:
        assert same_sums(later.sums[kind], expected.sums[kind]), kind
    both = states.merge(first, later)
    assert states.rank(both, "mim", None).equals(
        states.rank(states.merge(first, expected), "mim", None)
    )
    assert states.subtract(both, expected).rows == N
    with pytest.raises(DataError, match="X has 300 samples, Y has 299"):
        states.collect(TABLE, tags[1:], kinds, first, sample_weight=weights[1:])
