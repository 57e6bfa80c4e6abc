"""Spark 3.5 beside the versions of Databricks 15.4 gives what the newest Spark gives, and each
reads what the other saved.

The tests marked `spark35` run there, too. `environment` makes theirs anew under the temporary
folder, from when the tests are collected on (`conftest`)."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from pathlib import Path

import environment
import pandas as pd
import pytest
from answers import COUNTED, PLACES, everything
from answers import answers_of as loaded_answers

from spark_mlfs import METHODS

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def older(of_spark35) -> Path:
    try:
        python = environment.awaited(of_spark35)
    except environment.Unavailable as reason:
        pytest.skip(str(reason))
    yield python
    # nearly a gigabyte, of many files: nobody waits for it to go
    subprocess.Popen(["rm", "-rf", str(of_spark35 / "environment"), str(of_spark35 / "source")])


@pytest.fixture(scope="module")
def answers(spark, older, tmp_path_factory):
    """(what the newest Spark found, what 3.5 found), (what each found of the other's models), the
    folders of both, and what pytest said of the marked tests, which run in the same session of
    3.5."""
    folder = tmp_path_factory.mktemp("answers")
    places = [folder / "newest", folder / "older"]
    for place in places:
        place.mkdir()
    ours = everything(spark, places[0])
    answering = Path(__file__).with_name("answers.py")
    # all marked ones, slow or not: the choice of this run is inherited otherwise
    options = ("-o", "addopts=", "-p", "no:cacheprovider", "-q", "-m", "spark35", "--slow", "all")
    done = environment.called(
        [older.with_name("pytest"), *options, answering, *marked()], 1500, cwd=folder,
        more={PLACES: os.pathsep.join(map(str, reversed(places)))},
    )  # fmt: skip
    found = places[1] / "loaded.json"
    assert found.exists(), done.stdout[-5000:] + done.stderr[-2000:]
    theirs, of_ours = (
        json.loads((places[1] / name).read_text()) for name in ("answers.json", "loaded.json")
    )
    return (ours, theirs), (loaded_answers(spark, places[1] / "saved"), of_ours), places, done


def marked() -> list[Path]:
    """The files of tests that run on Spark 3.5, too."""
    files = set((REPOSITORY / "tests").rglob("test_*.py")) - {Path(__file__).resolve()}
    return sorted(
        path for path in files if "pytest.mark.spark35" in path.read_text(encoding="utf-8")
    )


def close(one, other, relative: float) -> None:
    """Values that are alike but for numbers (as hexadecimal text), which are equal to
    `relative`."""
    assert type(one) is type(other)
    if isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            close(a, b, relative)
    elif isinstance(one, str) and re.fullmatch(r"-?0x1?.*p[+-]\d+|-?0x0\.0p\+0|nan|-?inf", one):
        a, b = float.fromhex(one), float.fromhex(other)
        assert math.isclose(a, b, rel_tol=relative, abs_tol=1e-12) or (
            math.isnan(a) and math.isnan(b)
        ), (a, b)
    else:
        assert one == other


def test_the_versions_are_those_of_the_runtime(answers, older):
    _, theirs = answers[0]
    for name, wanted in environment.VERSIONS.items():
        assert theirs["versions"][name].startswith(wanted.rstrip("*")), name
    assert Path(theirs["package"]).is_relative_to(older.parents[1])


def test_the_quickstart_ranks_the_same(answers):
    newest, other = answers[2]
    theirs, ours = (pd.read_csv(place / "quickstart" / "ranking.csv") for place in (other, newest))
    pd.testing.assert_frame_equal(
        theirs, ours, rtol=1e-12
    )  # the last bits are those of BLAS and NumPy
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
    assert passed and int(passed[1]) > 10 and "skipped" not in done.stdout, done.stdout[-500:]
