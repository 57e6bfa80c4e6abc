"""What a change must pass besides the tests: ruff's rules, its format, and types that mypy's strict
mode follows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import turns

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("gate", ["ruff check", "ruff format --check", "mypy"])
def test_it_holds(gate):
    """As pyproject.toml has them: over everything, mypy over the package."""
    done = subprocess.run(
        [sys.executable, "-m", *gate.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, f"{gate}:\n{done.stdout}{done.stderr}"


def test_no_day_is_much_longer_than_another():
    """Of tests that take turns, in seconds of `turns.txt`; days are dealt out anew when it
    changes."""
    assert max(turns.SECONDS) < 1.25 * sum(turns.SECONDS) / turns.DAYS


@pytest.mark.parametrize(
    ("every", "cases"), [(4, 3), (10, 1), (10, 10), (30, 3), (4, 42), (240, 101)]
)
def test_every_case_has_its_day(every, cases):
    """As often as is said, and never two on one day where there are days enough."""
    first, load = turns.dealt({"one": (every, cases, float(cases)), "other": (every, 1, 5.0)})
    days = [(first["one"] + number * turns.stride(every, cases)) % every for number in range(cases)]
    assert max(map(days.count, days)) == -(-cases // every)
    want = [
        float(days.count(day % every) + 5 * (day % every == first["other"]))
        for day in range(turns.DAYS)
    ]
    assert load == pytest.approx(want)
