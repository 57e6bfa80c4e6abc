"""Commands of the jobs, run in the tests' process."""

from __future__ import annotations

import pytest

from spark_mlfs import cli


@pytest.fixture
def run(request, capfd):
    """Runs a command in this process, on the session of the tests or, in a test marked `local`, on the local engine; the code,
    standard output and standard error."""
    local = request.node.get_closest_marker("local") is not None
    more = ("--engine", "local") if local else ()
    if not local:
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
