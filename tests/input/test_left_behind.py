"""What a killed run leaves beside its output, and runs that write one output at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from spark_mlfs import cli, states
from spark_mlfs.errors import DataNotice, ParameterError
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.output import folder
from spark_mlfs.output.folder import Output
from spark_mlfs.output.journal import Journal
from spark_mlfs.output.lock import locked

KILLED = """
import os, sys
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.output.folder import Output
with Output(sys.argv[1], True).writing(LocalSession()) as target:
    target.text("half", "written")
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def killed(tmp_path):
    """An output that a killed run had begun, and what lies beside it."""
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", KILLED, str(tmp_path / "out")]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": root}, check=False)
    (left,) = tmp_path.glob(".out.*.new")
    assert (left / "half").exists()
    return left


def write(path: Path) -> None:
    with Output(str(path), True).writing(LocalSession()) as target:
        target.json("manifest.json", {"tool": "spark_mlfs"})


def test_the_next_run_deletes_it_and_says_so(killed, tmp_path, capfd):
    command = ["sample", "documents", "--rows", "4", "--output", str(tmp_path / "out")]
    assert cli.main([*command, "--engine", "local"]) == 0
    assert f"{killed} was deleted: a run that was killed had left it" in capfd.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_so_does_a_run_with_a_journal(killed, tmp_path):
    journal = Journal.beside(LocalSession(), str(tmp_path / "out"), "comparing", {})
    with pytest.warns(DataNotice, match="was deleted"), journal.running():
        assert not killed.exists()


def test_what_a_living_run_writes_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "PATIENCE", 0.1)
    with Output(str(tmp_path / "out"), True).writing(LocalSession()) as target:
        with pytest.raises(ParameterError, match=r"^another run writes the output"):
            write(tmp_path / "out")
        journal = Journal.beside(LocalSession(), str(tmp_path / "out"), "comparing", {})
        with pytest.raises(ParameterError, match=r"^another run writes"), journal.running():
            pass
        assert target.folder.exists()


def test_what_was_there_before_is_no_rubbish_until_it_is_replaced(tmp_path):
    """A run that was killed between its two renames; folders of other outputs stay, too."""
    old, other = tmp_path / ".out.0123abcd.old", tmp_path / ".out.x.0123abcd.new"
    for place in (old, other):
        place.mkdir()
    with pytest.warns(DataNotice, match="is out as it was before a run that was killed: it is"):
        write(tmp_path / "out")
    assert old.exists()
    with pytest.warns(DataNotice, match=f"{old} was deleted"):
        write(tmp_path / "out")
    assert not old.exists() and other.exists()


def test_a_lock_is_waited_for(tmp_path):
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(tmp_path / ".out.lock", "out"):
            held.set()
            done.wait(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    write(tmp_path / "out")
    thread.join()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_states_are_saved_by_one_at_a_time(tmp_path):
    """Four threads that replace one folder: tracebacks, and hidden folders that stayed."""
    saved = states.collect([[0, 1], [1, 0]] * 9, [["a"], ["b"]] * 9, name="x")
    errors = []

    def save() -> None:
        try:
            for _ in range(4):
                states.save(saved, str(tmp_path / "out"), overwrite=True)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert states.load(str(tmp_path / "out")).rows == 18


INTERRUPTED_WHILE_IMPORTED = """
import os, signal, sys
sys.argv = ["spark-mlfs"]
class Interrupts:
    def find_spec(self, name, *_):
        if name == "spark_mlfs.cli.command":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
import spark_mlfs.cli
"""


def test_an_interrupt_while_modules_are_imported_is_one_line():
    root = str(Path(__file__).resolve().parents[2])
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTED],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (130, "spark-mlfs: interrupted\n")
