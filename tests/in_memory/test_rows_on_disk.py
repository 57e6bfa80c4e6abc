"""Rows that exceed the memory of this process go to a file: the same bytes, and nothing left."""

from __future__ import annotations

import os
import re
import resource
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs import METHODS, pipeline, read
from spark_mlfs.blocks.identity import occurrence_ids, occurrences_in_blocks, with_unique_ids
from spark_mlfs.blocks.pack import pack
from spark_mlfs.engine import base, disk, local
from spark_mlfs.engine.disk import DiskEngine
from spark_mlfs.errors import BudgetError, DataError, DataNotice, ParameterError, PlatformError
from spark_mlfs.frames import errors, scratch
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.frames.schema import WEIGHT
from spark_mlfs.frames.scratch import Scratch
from spark_mlfs.pipeline import Request
from spark_mlfs.statistics.contingency import TwoWay

ROWS, FEATURES, LABELS = 800, 12, 4
LARGE = 256 << 20


def table(sparse: bool, unknown: bool, weights: bool) -> pa.Table:
    """Rows of which a third stand three times; labels follow from a few features."""
    rng = np.random.default_rng(7)
    n = ROWS // 2
    x = rng.normal(size=(n, FEATURES)).round(2)
    x[:, 5] = rng.integers(0, 4, n)
    x[:, 6] = x[:, 1] > 0
    y = (x[:, :LABELS] + 0.7 * rng.normal(size=(n, LABELS)) > 0.5).astype(float)
    if sparse:
        x[rng.random(x.shape) < 0.9] = 0
    if unknown:
        y[rng.random(y.shape) < 0.01] = np.nan
    w = rng.integers(1, 4, n) / 2.0
    repeated = np.concatenate([np.arange(n), np.repeat(np.arange(n // 2), 2)])
    rng.shuffle(repeated)
    columns = {"x": pa.array([*x[repeated]]), "y": pa.array([*y[repeated]])}
    if weights:
        columns["w"] = pa.array(w[repeated])
    return pa.table(columns)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Several small blocks, and several cores for few rows."""
    monkeypatch.setattr(scratch, "LEAST_BLOCK", 1 << 14)
    monkeypatch.setattr(local, "STORED_A_CORE", 0)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    opened = {}

    def rows(place, sparse=False, unknown=False, weights=False):
        kind = (sparse, unknown, weights)
        name = folder / f"{kind}.parquet"
        if not name.exists():
            pq.write_table(table(*kind), name, row_group_size=500)
        if (place, kind) not in opened:
            frame = read.load(
                LocalSession(),
                str(name),
                "parquet",
                features="x",
                labels="y",
                **({"weight": "w"} if weights else {}),
            )
            options = {"weight": WEIGHT} if weights else {}
            on_disk = Scratch(1 << 16) if place == "disk" else None
            opened[place, kind] = pack(frame, **options, scratch=on_disk)
        found = opened[place, kind]
        assert (found.blocks.disk is not None) == (place == "disk")
        found.memory = LARGE
        return found

    yield rows
    for each in opened.values():
        each.release()


def ranked(rows, request):
    try:
        (result,) = pipeline.rank(rows, [request])
    except (BudgetError, DataError, ParameterError) as error:
        return type(error).__name__
    return result.ranking.to_csv(index=False)


KINDS = {
    "dense": {"unknown": True},
    "sparse": {"sparse": True, "unknown": True},
    "weights": {"weights": True},
    "sparse weights": {"sparse": True, "weights": True},
}
ON_SPARK = ("mim", "ridge", "quota", "jmi", "forward", "fisher", "chi2")
SLOW = ("auto", "deepfs", "gmba", "mifs", "msfs")  # whose steps are the same of any rows
CELLS = [("dense", method) for method in METHODS]
CELLS += [
    pytest.param(kind, method, marks=pytest.mark.slow)
    for kind in ("sparse", "weights", "sparse weights")
    for method in (ON_SPARK if kind == "sparse weights" else METHODS)
    if method not in SLOW
]


@pytest.mark.parametrize(("kind", "method"), CELLS)
def test_the_ranking_of_rows_in_memory(packed, method, kind):
    request = Request.of(method, {}, count=5) if METHODS[method].greedy else Request.of(method)
    here = ranked(packed("memory", **KINDS[kind]), request)
    there = packed("disk", **KINDS[kind])
    assert len(there.stored) > 4
    assert ranked(there, request) == here


@pytest.mark.parametrize(
    "kind",
    ["dense", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("sparse", "weights"))],
)
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("mim", {}),
        ("jmi", {}),
        ("cmi", {}),
        ("quota", {}),
        ("chi2", {"num_bins": 9}),
        ("fisher", {}),
        ("mim", {"binning": "quantile"}),
    ],
)
def test_ranges_buckets_and_slices(packed, kind, method, parameters, monkeypatch):
    """Of a memory that holds a part of the counts at once, or of the codes, or of the columns."""
    request = Request.of(method, parameters, count=4) if METHODS[method].greedy else None
    request = request or Request.of(method, parameters)
    here = ranked(packed("memory", **KINDS[kind]), request)
    there = packed("disk", **KINDS[kind])
    monkeypatch.setattr(base, "SHARD_BYTES", 256)
    monkeypatch.setattr(TwoWay, "gathered_bytes", 0)
    monkeypatch.setattr(disk, "DIRECT_BYTES", 0)
    monkeypatch.setattr(disk, "CODED_BYTES", 1 << 10)
    monkeypatch.setattr(DiskEngine, "_row_bytes", lambda engine, in_order=False: 0)
    seen = []
    cuts = disk.cuts

    def counted(sizes, size, *rest):
        edges = cuts(sizes, size, *rest)
        seen.append(len(edges))
        return edges

    monkeypatch.setattr(disk, "cuts", counted)
    for memory in (40_000, 400_000):
        there.memory = memory
        answer = ranked(there, request)
        assert answer in (here, "WorkerBudgetError")
    assert answer == here
    assert kind != "sparse" or method == "fisher" or max(seen) > 2


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("rows_at_once", [10_000, 700])
def test_ids_that_no_two_rows_share(packed, named, rows_at_once):
    """As of one block in memory: each content has as many ids, and the same ones."""
    whole = packed("memory").block
    blocks = packed("disk").stored
    times = occurrences_in_blocks(blocks, named, rows_at_once)
    ids = [
        occurrence_ids(block.ids, of_block) for block, of_block in zip(blocks, times, strict=True)
    ]
    one = with_unique_ids(whole, named).ids
    assert len(set(one)) == ROWS
    assert sorted(np.concatenate(ids)) == sorted(one)
    assert occurrences_in_blocks([whole.take(np.arange(1))], named, rows_at_once) is None


def test_rows_that_differ_and_share_an_id_are_refused(tmp_path):
    x = np.arange(4000.0).reshape(-1, 2)
    ids = np.arange(2000)
    ids[1500] = 7
    table = pa.table({"x": pa.array([*x]), "y": pa.array([*(x > 900).astype(float)]), "i": ids})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=300)
    frame = read.load(
        LocalSession(), str(tmp_path / "t.parquet"), "parquet", features="x", labels="y", id="i"
    )
    for place in (None, Scratch(1 << 14)):
        with pack(frame, row_id="id", scratch=place) as rows:
            rows.memory = LARGE
            with pytest.raises(DataError, match="share the row id 7;"):
                pipeline.rank(rows, [Request.of("relieff")])


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_the_bytes_of_spark(spark, tmp_path, sparse):
    """On disk and distributed, in one partition and in seven."""
    name = str(tmp_path / "rows.parquet")
    pq.write_table(table(sparse, False, False), name, row_group_size=500)
    columns = {"features": "x", "labels": "y"}
    greedy = {name for name in ON_SPARK if METHODS[name].greedy}
    requests = [
        Request.of(method, {}, count=4 if method in greedy else None) for method in ON_SPARK
    ]
    frame = read.load(LocalSession(), name, "parquet", **columns)
    with pack(frame, scratch=Scratch(1 << 16)) as rows:
        assert rows.on_disk
        rows.memory = LARGE
        there = [result.ranking.to_csv(index=False) for result in pipeline.rank(rows, requests)]
    frame = read.load(spark, name, "parquet", **columns)
    for partitions in (1, 7):
        results = pipeline.rank(frame.repartition(partitions), requests, small_bytes=0)
        assert [result.ranking.to_csv(index=False) for result in results] == there


# ---- the file ----


def disk_of(folder, memory=1 << 14, rows=2000):
    """Rows of random numbers that exceed the memory."""
    x = np.random.default_rng(0).random((rows, 20))
    name = folder.parent / f"{folder.name}.parquet"
    pq.write_table(
        pa.table({"x": pa.array([*x]), "y": pa.array([*(x[:, :2] > 0.5).astype(float)])}), name
    )
    frame = read.load(LocalSession(), str(name), "parquet", features="x", labels="y")
    return pack(frame, scratch=Scratch(memory, str(folder)))


def test_the_file_has_no_name(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    before = shutil.disk_usage(folder).free
    with disk_of(folder) as rows:
        assert rows.blocks.disk is not None and not rows.blocks
        assert [*folder.iterdir()] == []
        file = rows.blocks.disk.file
        assert os.fstat(file._file.fileno()).st_mode & 0o777 == 0o600
        assert sum(block.n for block in rows.stored) == 2000
    assert file._file.closed
    assert before - shutil.disk_usage(folder).free < 1 << 30


def test_no_room_is_said_beforehand(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda place: usage._replace(free=10_000))
    with pytest.raises(PlatformError) as error:
        disk_of(tmp_path)
    assert re.fullmatch(
        rf"the rows take about \d+ KB on disk, and {tmp_path} has 9.8 KB left: name a folder with "
        r"more \(scratch\)",
        str(error.value),
    )


def test_a_full_disk_is_one_line(tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    (tmp_path / "scratch").mkdir()
    disk_of(tmp_path / "scratch").release()  # which writes the rows that are read
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
    name = tmp_path / "scratch.parquet"
    frame = read.load(LocalSession(), str(name), "parquet", features="x", labels="y")
    try:
        with pytest.raises(PlatformError) as error:
            pack(frame, scratch=Scratch(1 << 14, str(tmp_path / "scratch")))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    text = str(error.value)
    assert text.startswith(f"no room for the rows in {tmp_path}/scratch after ")
    assert "of about" in text and text.endswith("name a folder with more (scratch)")


def test_codes_that_find_no_room_are_coded_again(packed, monkeypatch):
    request = Request.of("jmi", {}, count=4)
    here = ranked(packed("memory"), request)
    there = packed("disk")
    full = PlatformError("no room")

    def append(self, data):
        raise full

    monkeypatch.setattr(scratch.ScratchFile, "append", append)
    assert ranked(there, request) == here


def test_a_folder_that_is_memory_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(errors, "_notified", {})
    monkeypatch.setattr(scratch, "kind_of_file_system", lambda folder: "tmpfs")
    with pytest.warns(DataNotice, match=r"which is memory itself \(tmpfs\): name a folder on a"):
        disk_of(tmp_path).release()


def test_the_kind_of_a_file_system(tmp_path):
    if os.path.exists("/proc/mounts"):
        assert scratch.kind_of_file_system("/proc/self") == "proc"
        assert scratch.kind_of_file_system(str(tmp_path)) not in ("", "proc")


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ParameterError, match="is no folder: make it, or name another"):
        LocalSession(None, str(tmp_path / "absent"))


def test_rows_whose_statistics_exceed_the_memory_go_to_the_file_then(tmp_path):
    """Packing held them: they leave when they would be refused."""
    with disk_of(tmp_path, memory=1 << 20) as rows:
        assert rows.blocks.disk is None
        rows.memory = rows.profile.size
        whole = rows.with_profile(rows.profile)
        here = ranked(rows.with_profile(rows.profile), Request.of("ridge"))
        assert rows.blocks.disk is not None and not rows.blocks
        assert ranked(whole, Request.of("ridge")) == here
    with disk_of(tmp_path, memory=1 << 30) as rows:
        assert rows.blocks.disk is None and ranked(rows, Request.of("ridge")) == here


def test_rows_stay_in_memory_where_a_file_would_not_help(tmp_path):
    with disk_of(tmp_path, memory=1 << 20) as rows:
        rows.memory = 4000  # less than the matrix takes
        assert ranked(rows, Request.of("ridge")) == "WorkerBudgetError"
        assert rows.blocks.disk is None
