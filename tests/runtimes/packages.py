"""The wheel and the sdist, and environments of other Pythons with the newest of what they depend
on. No name of a test file."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

from environment import REPOSITORY, UNREACHABLE, Unavailable, called, interpreter

# beside what the wheel brings; no plugin of pytest, no Spark
TOOLS = ("pytest>=8", "hypothesis>=6", "polars>=1", "matplotlib>=3.7", "pyyaml>=6", "psutil>=5.9")
TOOLS += ("build>=1", "setuptools>=68", "mypy>=1.11", "pandas-stubs")
SOURCES = ("pyproject.toml", "MANIFEST.in", "README.md", "spark_mlfs", "tests", "conf", "notebooks", "jobs", ".github", ".ci")  # fmt: skip
UNKNOWN = shutil.ignore_patterns("__pycache__", ".*_cache", "*.egg-info")


def built(python: Path, folder: Path) -> tuple[Path, Path]:
    """The wheel, made of the sdist by an environment's tools, and the sdist unpacked."""
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        path = REPOSITORY / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=UNKNOWN)
        else:
            shutil.copy(path, source / name)
    out = folder / "dist"
    checked(called([python, "-m", "build", "--no-isolation", "--outdir", out, source], 600))
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return wheel, folder / sdist.name.removesuffix(".tar.gz")


def environment_of(version: str, folder: Path, *requirements: object) -> Path:
    """The Python of a new environment with the newest of what is asked for. `Unavailable` without
    an index."""
    done = called([interpreter(version), "-m", "venv", folder], 300)
    assert done.returncode == 0, done.stderr
    python = folder / "bin" / "python"
    install(python, *requirements)
    return python


def install(python: Path, *requirements: object) -> None:
    """Have an environment hold the newest of what is asked for."""
    pip = [python, "-m", "pip", "install", "-q", "--no-compile"]
    checked(called([*pip, "--disable-pip-version-check", "--retries", "1", *requirements], 900))


def checked(done: subprocess.CompletedProcess) -> None:
    if done.returncode and UNREACHABLE.search(done.stdout + done.stderr):
        raise Unavailable("pip reaches no package index")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
