"""`import spark_mlfs`: at once, without Spark; its names when they are asked for."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import spark_mlfs

PACKAGE = Path(spark_mlfs.__file__).parent
HEAVY = ("pyspark", "numpy", "scipy", "pandas", "pyarrow", "sklearn")


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_import_is_light_and_quick():
    out = run(
        "import sys, time\nstarted = time.perf_counter()\nimport "
        "spark_mlfs\nprint(time.perf_counter() - started)\nspark_mlfs.ParameterError, "
        f"spark_mlfs.__version__, dir(spark_mlfs)\nprint([name for name in {HEAVY!r} if name in "
        "sys.modules])"
    )
    seconds, loaded = out.splitlines()
    assert float(seconds) < 0.5 and loaded == "[]"


def test_everything_by_a_star():
    out = run(
        "from spark_mlfs import *\nimport spark_mlfs\nprint([name for name in spark_mlfs.__all__ "
        "if globals().get(name) is not getattr(spark_mlfs, "
        "name)])\nprint(JMISelector(numBins=3).getNumBins(), METHODS['mim'].__name__, "
        "pipeline.rank.__name__)"
    )
    assert out.splitlines() == ["[]", "3 MIM rank"]


def test_the_names_are_written_out():
    """`__all__` is made of literals without doubles, and an editor sees an import, or a definition,
    of every name in it."""
    body = ast.parse((PACKAGE / "__init__.py").read_text()).body
    own = next(
        ast.literal_eval(n.value)
        for n in body
        if isinstance(n, ast.Assign) and n.targets[0].id == "__all__"
    )
    names = own + [
        name for n in body if isinstance(n, ast.AugAssign) for name in ast.literal_eval(n.value)
    ]
    assert names == spark_mlfs.__all__ and len(set(names)) == len(names)
    blocks = [
        n.body
        for n in body
        if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"
    ]
    imports = [node for block in blocks for node in block]
    seen = {alias.name for node in imports for alias in node.names}
    for node in (node for node in imports if node.names[0].name == "*"):
        stub = ast.parse(
            (PACKAGE / f"{node.module.replace('.', '/')}.pyi").read_text(encoding="utf-8")
        )
        seen |= {n.name for n in stub.body if isinstance(n, ast.ClassDef)}
    assert set(names) <= seen | {
        n.name for n in body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")
    }
    assert set(names) <= set(dir(spark_mlfs))


def test_a_name_that_is_none_is_none():
    for name in ("JMISelectr", "NoSuchSelector", "NoSuchExtractor", "__wrapped__"):
        assert not hasattr(spark_mlfs, name)
    with pytest.raises(AttributeError, match="module 'spark_mlfs' has no attribute 'nothing'"):
        spark_mlfs.nothing  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'spark_mlfs'"):
        from spark_mlfs import nothing  # noqa: F401


@pytest.mark.slow
def test_public_classes_pickle():
    """By name, also in a process that has imported nothing yet."""
    classes = [
        made for name in spark_mlfs.__all__ if isinstance(made := getattr(spark_mlfs, name), type)
    ]
    assert len(classes) > 40
    data = pickle.dumps(classes)
    assert pickle.loads(data) == classes
    assert run(f"import pickle\nprint(len(pickle.loads({data!r})))") == f"{len(classes)}\n"


def test_the_version_is_that_of_the_distribution():
    project = (PACKAGE.parent / "pyproject.toml").read_text()
    assert f'\nversion = "{spark_mlfs.__version__}"\n' in project


def test_types_are_shipped():
    """A marker beside the package, and the wheel takes it and the stubs."""
    assert (PACKAGE / "py.typed").exists() and len(list(PACKAGE.rglob("*_classes.pyi"))) == 8
    assert (
        '"*" = ["py.typed", "*.pyi", "*.json", "templates/*", "languages/*"]'
        in (PACKAGE.parent / "pyproject.toml").read_text()
    )
