"""`spark-mlfs warm-up`: Java's classes are kept, and a local session starts with them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from spark_mlfs import cli
from spark_mlfs.errors import SparkMlfsError
from spark_mlfs.frames import errors as faults
from spark_mlfs.session import class_archive, java

OPTIONS = "SPARK_SUBMIT_OPTS"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    folder = tmp_path / "my cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv(OPTIONS, raising=False)
    return folder


def test_java_starts_with_what_is_kept_and_else_as_ever(cache, monkeypatch):
    with class_archive.started_fast():
        assert os.environ[OPTIONS] == class_archive.COMPILE_LATER
    kept = class_archive.archive_path()
    assert kept.is_relative_to(cache) and kept.parent.stat().st_mode & 0o777 == 0o700
    kept.write_bytes(b"classes")
    class_archive._checksum_file(kept).write_text(class_archive._checksum(kept))
    with class_archive.started_fast():
        assert f"-XX:SharedArchiveFile={kept}" in shlex.split(os.environ[OPTIONS])
    assert OPTIONS not in os.environ
    monkeypatch.setenv(OPTIONS, "-Xss4m")
    with pytest.raises(KeyError), class_archive.started_fast():
        assert os.environ[OPTIONS].startswith(f"{class_archive.COMPILE_LATER} -Xss4m -Xshare:auto ")
        raise KeyError
    assert os.environ[OPTIONS] == "-Xss4m"
    for own in ("-Xshare:off", "-XX:SharedArchiveFile=mine.jsa"):
        monkeypatch.setenv(OPTIONS, own)
        with class_archive.started_fast():
            assert os.environ[OPTIONS] == f"{class_archive.COMPILE_LATER} {own}"


@pytest.mark.parametrize("damage", ["a bit", "cut", "no sum"])
def test_java_starts_without_what_is_damaged(cache, damage):
    """Java maps it unread, and crashes."""
    kept = class_archive.archive_path()
    kept.write_bytes(b"classes")
    class_archive._checksum_file(kept).write_text(class_archive._checksum(kept))
    assert class_archive.archive_options()
    if damage == "no sum":
        class_archive._checksum_file(kept).unlink()
    else:
        kept.write_bytes(b"classer" if damage == "a bit" else b"class")
    faults._notified.clear()
    with (
        pytest.warns(
            faults.DataNotice, match=f"without the classes kept at {kept}: they are damaged"
        ),
        class_archive.started_fast(),
    ):
        assert os.environ[OPTIONS] == class_archive.COMPILE_LATER


@pytest.mark.parametrize("name", ["a b", 'it\'s "so"', "a\\b", "a:b"])
def test_any_path_of_the_cache(tmp_path, monkeypatch, name):
    """Spark's launcher takes options apart as a shell does."""
    (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    kept = class_archive.archive_path()
    kept.write_bytes(b"classes")
    class_archive._checksum_file(kept).write_text(class_archive._checksum(kept))
    if os.pathsep in name:
        with pytest.warns(faults.DataNotice, match="Java takes no path with a ':'"):
            assert not class_archive.archive_options()
    else:
        assert f"-XX:SharedArchiveFile={kept}" in shlex.split(class_archive.archive_options())


def test_another_java_or_spark_has_its_own(cache, monkeypatch, tmp_path):
    first = class_archive.archive_path()
    monkeypatch.setattr(class_archive.metadata, "version", lambda name: "99.0")
    assert class_archive.archive_path() != first
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (tmp_path / "release").write_text('JAVA_VERSION="99"')
    monkeypatch.setattr(class_archive, "java_home", lambda: tmp_path)
    assert class_archive.archive_path() != first


def test_what_fails_is_told_in_a_line_and_leaves_nothing(cache, monkeypatch, capsys):
    monkeypatch.setattr(class_archive, "_RUN", "import sys; sys.exit('no room')")
    assert cli.main(["warm-up"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("spark-mlfs: error: ") and line.endswith("ended with code 1: no room")
    monkeypatch.setattr(
        class_archive, "_RUN", "import sys; open(sys.argv[1] + '/path', 'w').write('nowhere.jar')"
    )
    java = cache / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 0\n")
    java.chmod(0o700)
    monkeypatch.setattr(class_archive, "java_home", lambda: cache)
    with pytest.raises(SparkMlfsError, match="keeps no classes"):
        class_archive.write_archive()
    assert not [path for path in class_archive.archive_path().parent.iterdir()]
    monkeypatch.setenv("SPARK_CONF_DIR", str(cache))
    with pytest.raises(SparkMlfsError, match="unset it"):
        class_archive.write_archive()
    assert cli.main(["warm-up", "--remove"]) == 0 and "nothing was kept" in capsys.readouterr().out


@pytest.mark.slow
def test_the_commands_that_show_the_classes_are_right(cache, monkeypatch):
    """Without the Java that they are for."""
    commands = class_archive._RUN.partition("gateway =")[0].replace('"spark"', '"local"')
    monkeypatch.setattr(sys, "argv", ["run", str(cache)])
    exec(compile(commands, "run", "exec"), {})
    assert (cache / "scored" / "_manifest.json").exists()


@pytest.mark.slow
def test_a_session_maps_what_was_kept(cache, capsys, monkeypatch):
    if not Path("/proc/self/maps").exists():
        pytest.skip("what a process maps is read off /proc")
    monkeypatch.setenv(OPTIONS, "-XX:TieredStopAtLevel=1")  # runs of seconds, as the tests' own
    conf = {"spark.ui.enabled": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    session = f"from spark_mlfs.session import local_session\nspark = local_session('t', {conf})\n"
    run = session + class_archive._RUN.replace("(select, score)", "()")
    monkeypatch.setattr(class_archive, "_RUN", run)
    listing = class_archive._list_classes

    def list_few(listed, folder):
        """A tenth of the classes, which Java writes down in a tenth of the time."""
        listing(listed, folder)
        listed.write_text("".join(listed.read_text().splitlines(True)[:1500]))

    monkeypatch.setattr(class_archive, "_list_classes", list_few)
    assert cli.main(["warm-up"]) == 0
    kept = class_archive.archive_path()
    assert f"MB at {kept}" in capsys.readouterr().out
    assert {path.name for path in kept.parent.iterdir()} == {kept.name, f"{kept.stem}.sum"}
    code = (
        f"import psutil\n{session}"
        "java = [p for p in psutil.Process().children(recursive=True) if 'java' in p.name()]\n"
        "print(any(m.path == KEPT for p in java for m in p.memory_maps()), spark.range(3).count())"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    said = subprocess.run(
        [sys.executable, "-c", code.replace("KEPT", repr(str(kept)))],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert said.stdout.split() == ["True", "3"] and "warning" not in said.stderr.lower()
    assert cli.main(["warm-up", "--remove"]) == 0 and not kept.exists()


def test_options_ahead_are_overridden_by_the_users_own(monkeypatch):
    monkeypatch.setattr(class_archive, "archive_options", lambda: "-Xlast")
    monkeypatch.setenv(OPTIONS, "-XX:Tier4CompileThreshold=7")
    with class_archive.started_fast():
        options = os.environ[OPTIONS].split()
        assert options[-2:] == ["-XX:Tier4CompileThreshold=7", "-Xlast"]
        assert options[:-2] == class_archive.COMPILE_LATER.split()
    assert os.environ[OPTIONS] == "-XX:Tier4CompileThreshold=7"
    monkeypatch.delenv(OPTIONS)
    with pytest.raises(KeyError), class_archive.started_fast():
        assert os.environ[OPTIONS] == f"{class_archive.COMPILE_LATER} -Xlast"
        raise KeyError
    assert OPTIONS not in os.environ


def test_java_takes_the_options_ahead():
    """The Java that is here knows every one of them: it says what it made of them."""
    command = [
        str(java.java_home() / "bin" / "java"),
        *class_archive.COMPILE_LATER.split(),
        "-XX:+PrintFlagsFinal",
        "-version",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace(
        " ", ""
    )
    for option in class_archive.COMPILE_LATER.split()[1:]:
        name, value = option.removeprefix("-XX:").split("=")
        assert f"intx{name}={value}{{product}}{{commandline}}" in said
