"""The wheel and the sdist are what a user installs: they are built, installed and tried where
nothing else is, under Pythons and versions newer than those of the other tests."""

from __future__ import annotations

import contextlib
import re
import zipfile
from pathlib import Path

import packages
import pytest

pytestmark = pytest.mark.slow

# of what needs no Spark: tables of pandas above all, whose newest has no Spark beside it
FILES = "answers_in_kind column_names kinds_of_labels sklearn_missing sklearn_tables".split()
# the newest that is here; Spark 3.5 (`environment`) has the oldest
PYTHONS = ("3.14", "3.13", "3.12")


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """The Python of an environment that builds, checks and tests."""
    for version in PYTHONS:
        with contextlib.suppress(packages.Unavailable):
            packages.interpreter(version)
            break
    folder = tmp_path_factory.mktemp("environment")
    return available(packages.environment_of, version, folder, *packages.TOOLS)


@pytest.fixture(scope="module")
def built(tools, tmp_path_factory):
    return packages.built(tools, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(tools, built):
    """The Python of the environment with the wheel and the newest of what it needs."""
    available(packages.install, tools, built[0])
    return tools


def available(make, *arguments):
    try:
        return make(*arguments)
    except packages.Unavailable as reason:
        pytest.skip(str(reason))


def run(python, *words, cwd, seconds=900) -> str:
    done = packages.called([python.with_name(words[0]), *words[1:]], seconds, cwd=cwd)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-3000:]
    return done.stdout


def test_what_is_in_them(built):
    wheel, unpacked = built
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {
        "spark_mlfs",
        next(name.split("/")[0] for name in names if ".dist-info/" in name),
    }
    assert {"spark_mlfs/py.typed", "spark_mlfs/adapters/typed.pyi"} <= {*names}
    for name in ("tests/conftest.py", "conf/runs/quickstart.toml", "notebooks/faq.md"):
        assert (unpacked / name).is_file(), name


def test_tests_of_the_sdist_pass_without_plugins(installed, built):
    """The wheel is what they import: `pytest` does not look into the working folder."""
    versions = run(installed, "python", "-c", VERSIONS, cwd=built[1].parent).split()
    python, numpy, pandas, place = versions
    assert "site-packages" in place and python in PYTHONS
    assert int(numpy.split(".")[0]) >= 2 and int(pandas.split(".")[0]) >= 3
    files = ["tests/states/test_states.py", *(f"tests/sklearn/test_{name}.py" for name in FILES)]
    how = ("-p", "no:cacheprovider", "--slow", "none")  # else it inherits the choice of this run
    said = run(installed, "pytest", *how, *files, cwd=built[1])
    assert int(re.search(r"(\d+) passed", said)[1]) > 150


def test_the_command_of_the_wheel(installed, built, tmp_path):
    config = built[1] / "conf" / "runs" / "quickstart.toml"
    run(installed, "spark-mlfs", "select", "--config", config, "--quiet", cwd=tmp_path)
    assert (tmp_path / "runs" / "quickstart" / "report.html").stat().st_size > 5000


def test_a_library_that_depends_on_it_is_checked(installed, tmp_path):
    """Under ``mypy --strict``, as the lines of `user_program.py` say."""
    program = tmp_path / "program.py"
    text = Path(__file__).with_name("user_program.py").read_text(encoding="utf-8")
    program.write_text(text, encoding="utf-8")
    done = packages.called([installed, "-m", "mypy", "--strict", program.name], 900, cwd=tmp_path)
    revealed, refused = found_by_line(done.stdout)
    lines = dict(enumerate(text.splitlines(), 1))
    comments = {n: line.rpartition("  # ")[2] for n, line in lines.items() if "  # " in line}
    errors = {n: c.removeprefix("error: ") for n, c in comments.items() if c.startswith("error: ")}
    assert refused == errors, done.stdout
    assert revealed == {n: c for n, c in comments.items() if n not in errors}


def found_by_line(output: str) -> tuple[dict[int, str], dict[int, str]]:
    """The types that are revealed, without what stands in brackets, and the codes of the errors."""
    types = re.findall(r':(\d+): note: Revealed type is "(.*)"', output)
    codes = re.findall(r":(\d+): error: .*\[([\w-]+)\]$", output, re.MULTILINE)
    return {int(n): plain(kind) for n, kind in types}, {int(n): code for n, code in codes}


def plain(kind: str) -> str:
    while (shorter := re.sub(r"\[[^\[\]]*\]", "", kind)) != kind:
        kind = shorter
    kind = kind.replace("builtins.", "")
    return re.sub(r"(\w+)\.(?:\w+\.)*(\w+)", r"\2 of \1", kind)


VERSIONS = """
import sys, numpy, pandas, spark_mlfs
python = ".".join(map(str, sys.version_info[:2]))
print(python, numpy.__version__, pandas.__version__, spark_mlfs.__file__)
"""
