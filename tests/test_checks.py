"""What a change must pass besides the tests: ruff's rules, its format, and types that mypy's strict
mode follows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("gate", ["ruff check", "ruff format --check", "mypy"])
def test_it_holds(gate):
    """As pyproject.toml has them: over everything, mypy over the package."""
    done = subprocess.run(
        [sys.executable, "-m", *gate.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, f"{gate}:\n{done.stdout}{done.stderr}"
