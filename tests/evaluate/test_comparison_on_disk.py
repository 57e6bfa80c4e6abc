"""A comparison of rows that exceed the memory of this process: the numbers of one in memory."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs.errors import DataError
from spark_mlfs.evaluate import compare, protocol
from spark_mlfs.evaluate.plan import comparison
from spark_mlfs.frames import scratch
from spark_mlfs.frames.frame import LocalSession

ROWS, FEATURES = 9000, 24
SECONDS = ("fit", "predict", "wall", "seconds")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Rows of which some stand twice, in two files, by groups of three."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(2)
    for name, sparse in (("dense", False), ("sparse", True)):
        x = rng.normal(size=(ROWS, FEATURES)).round(3)
        if sparse:
            x[rng.random(x.shape) < 0.8] = 0
        y = (x[:, :3] + 0.8 * rng.normal(size=(ROWS, 3)) > 0.5).astype(float)
        x[:200] = x[200:400]
        y[:200] = y[200:400]
        table = pa.table({"x": [*x], "y": [*y], "g": np.arange(ROWS) // 3})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=700)
        pq.write_table(table.slice(0, 3000), folder / f"{name}-test.parquet", row_group_size=700)
    return folder


def plan_of(tables, kind, folds, **protocol_settings):
    data = {"name": "rows", "path": f"{tables}/{kind}.parquet", "format": "parquet"}
    data["options"] = {"features": "x", "labels": "y"}
    if folds == "files":
        data["test_path"] = f"{tables}/{kind}-test.parquet"
    if protocol_settings.pop("grouped", False):
        data["options"]["group"] = "g"
    methods = [
        {"name": "mim"},
        {"name": "ridge", "grid": {"alpha": [0.1, 1000.0]}},
        {"name": "jmi", "screen": "chi2:10"},
    ]
    return comparison(
        {
            "data": [data],
            "method": methods,
            "extractor": [{"name": "mddm"}],
            "classifier": [{"name": "br-svm"}],
            "protocol": {
                "folds": folds,
                "sizes": [5],
                "choose": {"folds": 2},
                "all_features": False,
                **protocol_settings,
            },
            "run": {"engine": "local"},
        }
    )


def without_seconds(entry):
    if isinstance(entry, dict):
        return {k: without_seconds(value) for k, value in entry.items() if k not in SECONDS}
    return [without_seconds(value) for value in entry] if isinstance(entry, list) else entry


def trials(plan, memory=None):
    """What a comparison measures, and how many of its rows were on disk."""
    journal = compare.ForgetfulJournal()
    outcome = compare.run(LocalSession(memory), plan, journal)
    assert outcome.failed.empty, outcome.failed["error"].iloc[0]
    return without_seconds([journal.parts, journal.get("_data")])


@pytest.fixture
def files(monkeypatch):
    """The files of rows, of small blocks."""
    opened = []
    create = scratch.Scratch.create

    def created(self, needed):
        opened.append(create(self, needed))
        return opened[-1]

    monkeypatch.setattr(scratch, "LEAST_BLOCK", 1 << 17)
    monkeypatch.setattr(scratch.Scratch, "create", created)
    return opened


CASES = [
    ("dense", "60/40", {}),
    ("sparse", "60/40", {}),
    ("dense", "stratified 2-fold", {}),
    ("dense", "60/40", {"noise": 0.2}),
    ("dense", "60/40", {"grouped": True}),
    ("sparse", "files", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "folds", "settings"), CASES)
def test_the_numbers_of_rows_in_memory(tables, files, monkeypatch, kind, folds, settings):
    if folds == "stratified 2-fold":
        monkeypatch.setattr(protocol, "MOST_LISTED_ROWS", 10)
    plan = plan_of(tables, kind, folds, **settings)
    here = trials(plan)
    assert not files
    assert trials(plan, memory=2 << 20) == here
    assert len(files) > 6
    assert all(file._file.closed for file in files)


def test_rows_that_statistics_leave_no_room_for_go_to_disk(tables, files):
    """Packing held them: their trials do not fit beside each other, nor alone."""
    plan = plan_of(tables, "dense", "60/40")
    plan.method, plan.extractor = plan.method[:1], []
    here = trials(plan)
    assert trials(plan, memory=4 << 20) == here
    assert files


def test_a_disk_without_room_is_said(tables, files, monkeypatch):
    plan = plan_of(tables, "dense", "60/40")
    plan.method, plan.extractor = plan.method[:1], []
    create = scratch.Scratch.create

    def refuse(self, needed):
        return create(self, 1 << 60 if files else needed)

    monkeypatch.setattr(scratch.Scratch, "create", refuse)
    with pytest.raises(DataError) as error:
        compare.run(LocalSession(2 << 20), plan, compare.ForgetfulJournal())
    assert re.fullmatch(
        r"the only trial failed: mim on rows: the rows take about .* on disk, and .* left: name a "
        r"folder with more \(scratch\)",
        str(error.value),
    )
