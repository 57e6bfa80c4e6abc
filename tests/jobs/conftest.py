"""Commands of the jobs, run in the tests' process."""

from __future__ import annotations

import pytest

from spark_mlfs import cli


def pytest_generate_tests(metafunc):
    """Tests marked `local` take the local engine; with ``spark=True`` they also run on Spark,
    as slow tests."""
    mark = metafunc.definition.get_closest_marker("local")
    if mark is not None and mark.kwargs.get("spark"):
        metafunc.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])


@pytest.fixture
def engine(request):
    """The engine of the commands of a test: auto takes the session of the tests."""
    return "local" if request.node.get_closest_marker("local") is not None else "auto"


@pytest.fixture
def run(request, engine, capfd):
    """Runs a command in this process, on the engine of the test; the code, standard output and
    standard error."""
    more = () if engine == "auto" else ("--engine", engine)
    if engine != "local":
        request.getfixturevalue("spark")

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = cli.main([str(a) for a in (*arguments, *more)])
        said = capfd.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def refused(run):
    """Runs a command that must fail as the user's error; the one line it says."""

    def call(*arguments: object) -> str:
        code, out, err = run(*arguments)
        assert code == 2, err
        lines = [line for line in err.splitlines() if line.strip()]
        assert len(lines) == 1 and lines[0].startswith("spark-mlfs: error: "), err
        assert out == ""
        return lines[0]

    return call
