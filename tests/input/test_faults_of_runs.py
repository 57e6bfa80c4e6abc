"""What goes wrong while a run is under way: a row that cannot be used, a full disk, two runs into
one place, a worker that lacks a package."""

from __future__ import annotations

import ast
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

from spark_mlfs.blocks.pack import pack
from spark_mlfs.cli import main
from spark_mlfs.errors import DataError, ParameterError, PlatformError, from_worker, worker_errors
from spark_mlfs.output import lock
from spark_mlfs.output.folder import Output
from spark_mlfs.output.journal import Journal
from spark_mlfs.output.lock import locked
from spark_mlfs.read import load

# ---- rows are named as their owner knows them ----

BAD = {
    "infinite": (
        [float("inf"), 1.0],
        [1.0, 0.0],
        "feature features_0|feature 0 is infinite|feature 0 ",
    ),
    "null": (None, [1.0, 0.0], "its feature cell is null"),
    "label": ([1.0, 1.0], [1.0, 3.0], "label 1 is 3"),
}


def with_a_bad_row(spark, kind, key="n bigint"):
    x, y, said = BAD[kind]
    numbers = [(7 + i, [float(i), i % 3 / 1], [i % 2 / 1, i % 3 // 2 / 1]) for i in range(20)]
    numbers[13] = (numbers[13][0], x, y)
    rows = [(f"doc {n}" if "string" in key else n, *rest) for n, *rest in numbers]
    return spark.createDataFrame(
        rows, f"{key}, features array<double>, labels array<double>"
    ).coalesce(1), said


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAD)
def test_a_row_without_an_id_is_named_by_its_place(spark, kind):
    frame, said = with_a_bad_row(spark, kind)
    with pytest.raises(DataError, match=f"^row 14 of part 0: ({said})"):
        pack(frame)
    cut = frame.repartitionByRange(3, "n").sortWithinPartitions("n")
    parts = [row[0] for row in cut.select(F.spark_partition_id()).collect()]
    numbers = [row.n for row in cut.collect()]
    at = numbers.index(20)
    place = sum(part == parts[at] for part in parts[: at + 1])
    assert parts[at] > 0 and place < 14
    with pytest.raises(DataError, match=f"^row {place} of part {parts[at]}: ({said})"):
        pack(cut)


@pytest.mark.parametrize("kind", BAD)
def test_a_row_is_named_by_what_its_id_column_holds(spark, kind):
    frame, said = with_a_bad_row(spark, kind)
    with pytest.raises(DataError, match=f"^row 20: ({said})"):
        pack(frame, row_id="n")
    frame, said = with_a_bad_row(spark, kind, "n string")
    with pytest.raises(DataError, match=f"^row 'doc 20': ({said})"):
        pack(frame, row_id="n")


# ---- one run at a time into one place ----

HOLDER = """
import sys, time
from pathlib import Path
from spark_mlfs.output.lock import locked
from spark_mlfs.read import load
with locked(Path(sys.argv[1]), "runs/tags"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": root}
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_the_second_run_is_told_who_writes_there_and_since_when(holder, tmp_path):
    with pytest.raises(ParameterError) as told, locked(tmp_path / "lock", "runs/tags"):
        pass
    line = str(told.value)
    assert (
        line.startswith("another run writes the output runs/tags: ")
        and f"process {holder.pid}, started " in line
    )
    assert "seconds ago; wait for it to end, or give another --output" in line and "\n" not in line
    assert (tmp_path / "lock").exists()  # it is the other's still
    holder.kill()
    holder.wait()
    with locked(tmp_path / "lock", "runs/tags"):  # at once: the killed process holds nothing
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize("flock", [True, False], ids=["with locks", "a file system without locks"])
def test_a_lock_of_another_machine_is_taken_over_when_it_is_old(tmp_path, monkeypatch, flock):
    if not flock:
        monkeypatch.setattr(lock, "fcntl", None)
    path = tmp_path / "lock"
    owner = {
        "who": "ada on elsewhere, process 7",
        "host": "elsewhere",
        "pid": 7,
        "started": time.time() - 3 * 3600,
    }
    path.write_text(json.dumps(owner))
    with (
        pytest.raises(ParameterError, match="ada on elsewhere, process 7, started 3 hours ago"),
        locked(path, "out"),
    ):
        pass
    assert json.loads(path.read_text()) == owner
    os.utime(path, (time.time() - lock.STALE - 1,) * 2)
    with locked(path, "out"):
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert not path.exists()


def test_an_owner_keeps_its_lock_young(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    monkeypatch.setattr(lock, "BEAT", 0.05)
    with locked(tmp_path / "lock", "out"):
        os.utime(tmp_path / "lock", (1, 1))
        deadline = time.time() + 10
        while (tmp_path / "lock").stat().st_mtime < 2 and time.time() < deadline:
            time.sleep(0.02)
        with (
            pytest.raises(ParameterError, match="another run writes the output out"),
            locked(tmp_path / "lock", "out"),
        ):
            pass


def test_never_two_at_a_time(tmp_path):
    inside, most, entered = [], [], []

    def enter(number):
        for _ in range(200):
            try:
                with locked(tmp_path / "lock", "out"):
                    inside.append(number)
                    most.append(len(inside))
                    inside.remove(number)
                    entered.append(number)
            except ParameterError:
                pass

    threads = [threading.Thread(target=enter, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and len(entered) >= 6 and not list(tmp_path.iterdir())


def test_an_owners_row_is_a_lock_where_there_are_none(monkeypatch):
    rows = []

    def owned():
        return lock.owned(
            lambda: json.loads(rows[-1]) if rows else None,
            lambda entry: rows.append(json.dumps(entry)),
            "s3://b/x",
        )

    def held():
        with (
            pytest.raises(
                ParameterError,
                match=r"another run writes the output s3://b/x: .*, started .* ago; wait",
            ),
            owned(),
        ):
            pass

    monkeypatch.setattr(lock, "ROW_BEAT", 0.05)
    with owned():
        held()
        seen, deadline = json.loads(rows[-1])["seen"], time.time() + 10
        while json.loads(rows[-1])["seen"] == seen and time.time() < deadline:
            time.sleep(0.02)
        assert json.loads(rows[-1])["seen"] > seen  # its owner keeps it young
        held()
    assert json.loads(rows[-1])["ended"]
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine = json.loads(rows[-1]) | {"ended": False, "seen": time.time()}
    rows.append(json.dumps(mine | {"host": "elsewhere", "pid": 7}))
    held()
    for other in (
        {"host": "elsewhere", "seen": time.time() - lock.ROW_STALE - 1},
        {"pid": ended.pid},
        {"seen": "x"},
    ):
        rows.append(json.dumps(mine | other))
        with owned():  # killed on another machine, or on this one, or damaged
            pass
    written = len(rows)
    with (
        pytest.raises(ParameterError, match="ada on elsewhere"),
        lock.owned(
            lambda: {"who": "ada on elsewhere"} if len(rows) > written else None,
            lambda entry: rows.append(json.dumps(entry)),
            "out",
        ),
    ):
        pass  # another began at the same moment


def test_a_folder_that_cannot_hold_a_lock_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    journal = Journal.beside(None, str(tmp_path / "file" / "out"), "scoring", {})
    with (
        pytest.raises(
            ParameterError,
            match=r"cannot write the output .*file/out: (Not a directory|File exists)",
        ),
        journal.running(),
    ):
        pass


@pytest.mark.parametrize("link", [os.symlink, os.link, lambda file, path: os.mkfifo(path)])
def test_a_lock_that_is_no_file_of_its_own_is_left_alone(tmp_path, link):
    file, path = tmp_path / "file", tmp_path / "out.lock"
    file.write_text("much work")
    link(file, path)
    with (
        pytest.raises(ParameterError, match=rf"^{path} is (a link|no lock).*: delete it"),
        locked(path, "out"),
    ):
        pass
    assert file.read_text() == "much work" and os.path.lexists(path)


# ---- an output is replaced whole, or stays ----


@pytest.mark.parametrize("fails", [0, 1, 2, (2, 3)])
def test_a_folder_is_replaced_or_stays(tmp_path, monkeypatch, fails):
    """Whichever of the renames fails; what another left under a name like ours stays anyhow."""
    target, aside, another = tmp_path / "out", tmp_path / ".out.scoring", tmp_path / ".out.old"
    for place in (target, aside, another):
        (place / "data").mkdir(parents=True)
        (place / "data" / "rows").write_text(place.name)
    rename, calls = os.rename, []

    def failing(*names):
        calls.append(names)
        if len(calls) in np.atleast_1d(fails):
            raise PermissionError(13, "Permission denied", str(names[0]))
        rename(*names)

    monkeypatch.setattr(os, "rename", failing)
    if fails == 0:
        Journal.beside(None, str(target), "scoring", {}).publish()
        assert (target / "data" / "rows").read_text() == ".out.scoring" and not aside.exists()
    else:
        with pytest.raises(DataError if fails == (2, 3) else PermissionError) as raised:
            Journal.beside(None, str(target), "scoring", {}).publish()
        assert (aside / "data" / "rows").exists()
        if fails == (2, 3):  # nor brought back: where it is, is told
            (target,) = (path for path in tmp_path.glob(".out.*.old"))
            assert f"it is {target} now, move it back" in str(raised.value)
        assert (target / "data" / "rows").read_text() == "out"
    assert (another / "data" / "rows").read_text() == ".out.old"
    assert len(list(tmp_path.iterdir())) == (2 if fails == 0 else 3)


# ---- what an ended run leaves ----


def journal_in(folder, settings=None):
    return Journal.beside(None, str(folder / "new" / "out"), "scoring", settings or {"a": 1})


def test_nothing_stays_where_nothing_is_done(tmp_path):
    for error, told in (
        (DataError("no column"), "^no column$"),
        (KeyboardInterrupt(), "^nothing was done yet$"),
    ):
        with pytest.raises(type(error), match=told), journal_in(tmp_path).running() as journal:
            journal.start()
            (journal.folder / "_writing-0").mkdir()
            raise error
        assert not list(tmp_path.iterdir())  # the folder above it is gone, too


def test_what_is_done_is_kept_and_told(tmp_path):
    class Ended(KeyboardInterrupt):
        pass

    for error in (DataError("row 7: wrong"), Ended()):
        with pytest.raises(type(error)) as told, journal_in(tmp_path).running() as journal:
            if not journal.open():
                journal.start()
            journal.total = 6
            journal.mark_done(2, {"rows": 5})
            (journal.folder / "_writing-3").mkdir()
            (journal.folder / "_parts" / ".3.writing").write_text("{")
            raise error
        kept = (
            f"1 of 6 parts are done and kept in {journal.folder}: the same command goes on "
            "with the rest"
        )
        assert str(told.value) == (
            f"row 7: wrong; {kept}" if isinstance(error, DataError) else kept
        )
        assert sorted(p.name for p in journal.folder.rglob("*")) == [
            "0.json",
            "2.json",
            "_parts",
            "_settings",
        ]
        assert [p.name for p in journal.folder.parent.iterdir()] == [journal.folder.name]


def test_a_refused_command_leaves_what_an_earlier_one_did(tmp_path):
    with journal_in(tmp_path).running() as journal:
        journal.start()
        journal.mark_done(0, {"rows": 5})
    with (
        pytest.raises(DataError, match=r"^mistyped$"),
        journal_in(tmp_path, {"a": 2}).running() as other,
    ):
        assert not other.open()
        raise DataError("mistyped")  # before it starts
    again = journal_in(tmp_path)
    assert again.open() and again.parts == {0: {"part": 0, "rows": 5}}


def test_a_damaged_note_is_work_to_do(tmp_path):
    with journal_in(tmp_path).running() as journal:
        journal.start()
        journal.mark_done(0, {"rows": 5})
        journal.mark_done(1, {"rows": 6})
    (journal.folder / "_parts" / "1.json").write_text("")
    again = journal_in(tmp_path)
    assert again.open() and list(again.parts) == [0]


# ---- a full disk ----


@pytest.fixture
def little_room():
    """Files of this process grow to 8 KB only: as on a full disk, writing stops in the middle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


LARGE = pd.DataFrame({"x": np.random.default_rng(0).random(50000)})


@pytest.mark.parametrize("write", ["table", "text"])
def test_a_full_disk_leaves_nothing(tmp_path, little_room, write):
    output = Output(str(tmp_path / "new" / "out"), False)
    with pytest.raises(PlatformError) as told, output.writing(None) as target:
        target.text("small.json", "{}")
        target.table("large", LARGE) if write == "table" else target.text("large", "x" * 100000)
    assert str(told.value).startswith(
        f"the output {output.path} cannot be written: "
    ) and "free some room" in str(told.value)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_keeps_what_is_done(tmp_path, little_room):
    told = r"cannot be written: .*; 1 of 2 parts are done and kept"
    with pytest.raises(PlatformError, match=told), journal_in(tmp_path).running() as journal:
        journal.start()
        journal.total = 2
        journal.mark_done(0, {"rows": 1})
        journal.mark_done(1, {"inputs": ["x" * 100000]})
    assert journal_in(tmp_path).open() and not list(journal.folder.rglob(".*.writing"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, as small as is asked for."""
    mounted = []

    def mount(size):
        options = f"size={size}" + (",remount" if mounted else "")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(tmp_path)], capture_output=True
        )
        if done.returncode:
            pytest.skip("file systems can be mounted by root only")
        mounted.append(size)
        return tmp_path

    yield mount
    if mounted:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_a_selection_onto_a_full_disk(spark, small_disk, capfd):
    folder = small_disk("64k")
    (folder / "full").write_bytes(b"x" * 40000)
    command = [
        "select",
        "--format",
        "numbers",
        "--option",
        "num_rows=60",
        "--method",
        "mim",
        "--num-top-features",
        "3",
    ]
    capfd.readouterr()
    assert main([*command, "--output", str(folder / "new" / "out")]) == 2
    said = capfd.readouterr()
    assert said.err.startswith(
        f"spark-mlfs: error: the output {folder}/new/out cannot be written: the disk is full; free "
        "some room"
    )
    assert len(said.err.splitlines()) == 1 and "written to" not in said.out
    assert [p.name for p in folder.iterdir()] == ["full"]


def test_spill_is_told_from_output():
    spilled = (
        "java.io.IOException: No space left on device\n\tat "
        "org.apache.spark.storage.DiskBlockObjectWriter.write(X.scala:1)"
    )
    written = (
        "[TASK_WRITE_FAILED] Task failed while writing rows to file:/tmp/out. SQLSTATE: "
        "58030\nCaused by: No space left on device"
    )
    assert "spark.local.dir" in str(from_worker(RuntimeError(spilled)))
    assert str(from_worker(RuntimeError(written))).startswith(
        "/tmp/out cannot be written: the disk is full"
    )
    assert "the quota is used up; free" in str(from_worker(OSError(122, "Disk quota exceeded")))
    assert from_worker(OSError(13, "Permission denied")) is None


# ---- workers without a package ----


def test_a_package_that_workers_lack_is_named(spark, tmp_path, monkeypatch):
    """A module that only the driver can import, pickled by its name, as the library's own are."""
    (tmp_path / "only_here.py").write_text("def same(batches):\n    yield from batches\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here

    with pytest.raises(PlatformError) as told, worker_errors():
        spark.range(3).mapInArrow(only_here.same, "id long").collect()
    assert (
        str(told.value) == "the workers have no Python package only_here: install it on every one"
    )
    own = from_worker(
        RuntimeError("PythonException: ... ModuleNotFoundError: No module named 'spark_mlfs'\n")
    )
    assert isinstance(own, PlatformError) and str(own).endswith(
        "or pass a zip of it (--py-files spark_mlfs.zip)"
    )
    assert (
        from_worker(ModuleNotFoundError("No module named 'spark_mlfs'")) is None
    )  # the driver's own


# ---- every action that the library starts ----

ACTIONS = ("collect", "first", "toPandas", "toLocalIterator", "count")
GUARDS = ("worker_errors", "reading", "on_a_full_disk")
INSIDE = {  # functions that are called within such a block only
    ("blocks/pack.py", "collect_profile"),
    ("blocks/pack.py", "_collect_wide"),
    ("ml/persistence.py", "_metadata"),
    ("ml/persistence.py", "load_state"),
    ("ml/selectors.py", "_load_data"),
    ("scoring/corpus.py", "_count"),
    ("read/missing.py", "_by_slot"),
    ("frames/frame.py", "toPandas"),  # of rows of this process, as the next two
    ("output/parquet.py", "write_rows"),
    ("cli/dry_run.py", "_dry_run"),
    ("cli/transform.py", "_write"),  # a command's errors are told by `cli.command.main`
}


def unguarded(tree, name):
    """The actions in a module that no `with worker_errors()` surrounds."""
    out = []

    def visit(node, guarded, function):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            function = getattr(node, "name", function)
        if isinstance(node, ast.With):
            calls = [
                item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)
            ]
            guarded = guarded or any(getattr(call.func, "id", "") in GUARDS for call in calls)
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ACTIONS
        ):
            collector = isinstance(node.func.value, ast.Name) and node.func.value.id == "gc"
            if (
                not (node.args or node.keywords or guarded or collector)
                and (name, function) not in INSIDE
            ):
                out.append(f"{name}:{node.lineno} {function}")
        for child in ast.iter_child_nodes(node):
            visit(child, guarded, function)

    visit(tree, False, "")
    return out


@pytest.mark.slow
def test_no_action_of_the_library_shows_sparks_own_error():
    package = Path(__file__).resolve().parents[2] / "spark_mlfs"
    found = [
        line
        for path in sorted(package.rglob("*.py"))
        for line in unguarded(ast.parse(path.read_text()), str(path.relative_to(package)))
    ]
    assert not found
    assert unguarded(ast.parse("def f(rows):\n    return rows.collect()"), "x.py") == ["x.py:2 f"]


WRONG_ROWS = {
    "csv": (
        "k,a,b,y\n1,2,3,0\n2,Infinity,1,1\n",
        {"features": ["a", "b"], "labels": ["y"], "id": "k"},
        "row 2: feature 'a' is inf",
    ),
    "arff": (
        "@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n1,0\n2,1,1\n",
        {"labels": -1},
        r"d.arff:6: 3 values",
    ),
    "libsvm": ("1 1:2 2:1\n0 1:1 2:x\n", {"num_features": 2, "num_labels": 2}, "d.libsvm:2: "),
}


@pytest.mark.slow
@pytest.mark.parametrize("format", WRONG_ROWS)
def test_an_action_of_the_users_own_ends_in_the_librarys_line(spark, tmp_path, format):
    """As `spark_mlfs.read` says: also one that needs no column, such as `count`."""
    content, options, line = WRONG_ROWS[format]
    (tmp_path / f"d.{format}").write_text(content)
    frame = load(spark, str(tmp_path / f"d.{format}"), format, **options)
    with pytest.raises(Exception) as raised:  # noqa: PT011 (each session has its own)
        frame.count()
    assert not isinstance(raised.value, DataError)
    with pytest.raises(DataError, match=line) as told, worker_errors():
        frame.count()
    text = re.sub(
        r" SQLSTATE: \w+$", "", str(raised.value).strip()
    )  # which Spark adds to errors of its expressions
    assert text.endswith(str(told.value))


def test_a_local_server_names_the_interpreter_of_its_workers(monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_REMOTE", "1")
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/other/python3")
    told = str(
        from_worker(RuntimeError("ModuleNotFoundError: No module named 'spark_mlfs.pipeline'"))
    )
    assert (
        told == "/opt/other/python3 runs the workers and has no Python package spark_mlfs: set "
        f"PYSPARK_PYTHON={sys.executable}"
    )


def test_too_little_memory_for_workers_names_its_setting(spark):
    def greedy(batches):
        raise MemoryError
        yield from batches

    with (
        pytest.raises(PlatformError, match=r"spark.executor.pyspark.memory says; set it higher"),
        worker_errors(),
    ):
        spark.range(3).mapInArrow(greedy, "id long").collect()
    loading = (
        "An exception was thrown from the Python worker:\nImportError: _csv.so: failed to "
        "map segment from shared object"
    )
    assert "pyspark.memory" in str(from_worker(RuntimeError(loading)))
    assert from_worker(MemoryError("Unable to allocate 2 GiB")) is None  # the driver's own
