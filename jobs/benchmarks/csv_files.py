"""The case csv: a file of CSV read and packed, in this process and on Spark.

Beside it stands what that cannot do without: a pass that splits cells, since a type needs all of a
column, pyarrow's `read_csv`, and packing, which is that of the same table in Parquet without the
pass that reads it.

`python jobs/benchmark.py --case csv [--share 0.1] [--only local spark]` prints a row as soon as it
is measured, and at the whole size writes it into notebooks/benchmarks.md. Each figure is of a
process of its own: ``python -m jobs.benchmarks.csv_files WORK FILE``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from .laptop import ROOT
from .meter import Meter, moment

ROWS = 2_200_000  # of 1 GB
CHUNK = 20_000  # rows that are generated at once
NUMBERS = 60  # columns
TAGS = 40
ORDER = ("local", "spark")
REACH = 1.3
COLUMNS = (
    "row",
    "data",
    "wall s",
    "CPU s",
    "splits CPU s",
    "read_csv CPU s",
    "packs CPU s",
    "CPU / sum",
    "Parquet CPU s",
    "to reach",
    "reached",
    "measured",
)
PREFACE = """## CSV

`python jobs/benchmark.py --case csv`{options} on {machine}.
A file of 60 columns of numbers, one of tags and one of quoted text is read and packed: CPU \
seconds (driver, JVM and Python workers together) without imports and the start of the session. \
*splits*: one pass over the cells as texts, of PyArrow or of Spark's reader; *read_csv* is \
PyArrow's; *packs*: the same table in Parquet read and packed (*Parquet CPU s*), less a pass that \
reads it."""


def generated(folder: Path, share: float) -> str:
    """A file of CSV and one of Parquet beside it, written once."""
    n = max(200, round(ROWS * share))
    path = folder / f"table-{n}.csv"
    if path.exists():
        return str(path)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    started = path.with_suffix(".started")
    parquet = None
    with started.open("wb") as file:
        for first in range(0, n, CHUNK):
            rows = _rows(rng, min(CHUNK, n - first))
            pc.write_csv(rows, file, pc.WriteOptions(include_header=first == 0))
            if parquet is None:
                parquet = pq.ParquetWriter(f"{path}.parquet", rows.schema)
            parquet.write_table(rows)
    assert parquet is not None
    parquet.close()
    started.rename(path)
    return str(path)


def _rows(rng: np.random.Generator, n: int) -> pa.Table:
    columns: dict[str, Any] = {}
    for j in range(NUMBERS):
        digits = (0, 4, 7)[j % 3]
        values = rng.normal(size=n) if digits else rng.integers(0, 1000 * (j + 1), n)
        columns[f"x{j}"] = np.round(values, digits)
    counts = rng.integers(1, 4, n)
    ends = counts.cumsum()
    tags = [f"tag {tag}" for tag in rng.integers(0, TAGS, ends[-1]).tolist()]
    columns["tags"] = [
        ";".join(tags[end - count : end])
        for end, count in zip(ends.tolist(), counts.tolist(), strict=True)
    ]
    places = rng.integers(0, 10**6, n).tolist()
    columns["title"] = [f'size {place % 99}, the "{place}th"' for place in places]
    return pa.table(columns)


# ---- what a process of its own does ----


def _split(path: str) -> None:
    names = pc.open_csv(path).schema.names
    texts = pc.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    for _ in pc.open_csv(path, convert_options=texts):
        pass


def _scan(path: str) -> None:
    for _ in pq.ParquetFile(f"{path}.parquet").iter_batches():
        pass


def _packed(session: Any, path: str, format: str) -> None:
    from spark_mlfs import read
    from spark_mlfs.blocks.pack import pack

    columns = {"features": "x*", "labels": "tags", "label_delimiter": ";"}
    pack(read.load(session, path, format, **columns), row_id="id").release()


def _work(name: str, path: str) -> Callable[[], None]:
    """The work of this name, ready to begin; of Spark in a session that has read and packed."""
    engine, _, what = name.rpartition(" ")
    session: Any = None
    if engine:
        import spark_mlfs.blocks.pack
        import spark_mlfs.read.tables  # noqa: F401
    if engine == "spark":
        from spark_mlfs import local_session

        session = local_session("benchmark")
        small = generated(Path(path).parent, 0.01)
        _packed(session, small, "csv")
        _packed(session, f"{small}.parquet", "parquet")
    elif engine == "local":
        from spark_mlfs.frames.frame import LocalSession

        session = LocalSession()
    works = {
        "split": lambda: _split(path),
        "read": lambda: pc.read_csv(path),
        "scan": lambda: _scan(path),
        "pack": lambda: _packed(session, f"{path}.parquet", "parquet"),
        "csv": lambda: _packed(session, path, "csv"),
    }
    if engine == "spark":
        reader = session.read.options(header=True, escape='"')
        works["split"] = lambda: reader.csv(path).write.format("noop").mode("append").save()
        works["scan"] = lambda: (
            session.read.parquet(f"{path}.parquet").write.format("noop").mode("append").save()
        )
    return works[what]


def _figures(name: str, path: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", __name__, name, path],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def run(folder: Path, share: float, only: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Every row of the case, or those of `only`."""
    path = generated(folder, share)
    read = _figures("read", path)["cpu"]
    for row in only or ORDER:
        ours = _figures(f"{row} csv", path)
        split = _figures("spark split" if row == "spark" else "split", path)["cpu"]
        scan = _figures("spark scan" if row == "spark" else "scan", path)["cpu"]
        parquet = _figures(f"{row} pack", path)["cpu"]
        packs = max(0.0, parquet - scan)
        times = ours["cpu"] / (split + read + packs)
        yield {
            "row": row,
            "data": f"{Path(path).stat().st_size / 1e6:,.0f} MB",
            "wall s": ours["wall"],
            "CPU s": ours["cpu"],
            "splits CPU s": split,
            "read_csv CPU s": read,
            "packs CPU s": round(packs, 2),
            "CPU / sum": round(times, 2),
            "Parquet CPU s": parquet,
            "to reach": f"{REACH} × the sum",
            "reached": "yes" if times <= REACH else "no",
            "measured": moment(),
        }


def _measured(work: Callable[[], None], with_spark: bool) -> dict[str, Any]:
    """Wall and CPU seconds of this process, and of Spark's where it works."""
    if with_spark:
        with Meter(interval=1.0) as meter:
            work()
        return meter.figures()
    started = time.perf_counter()
    before = time.process_time()
    work()
    return {
        "wall": round(time.perf_counter() - started, 2),
        "cpu": round(time.process_time() - before, 2),
    }


if __name__ == "__main__":
    arguments = sys.argv[1:]
    print(json.dumps(_measured(_work(*arguments), arguments[0].startswith("spark"))))
