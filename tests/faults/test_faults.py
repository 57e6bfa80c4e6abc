"""A worker or an executor dies in the middle of a statistic: the answer is the same, to the bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("loss", [pytest.param("worker", marks=pytest.mark.ci), "executor"])
def test_a_lost_process_changes_nothing(loss):
    script = Path(__file__).parent / "lossy.py"
    root = str(script.parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, str(script), loss]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    kinds = [line.split()[0] for line in found["killed"]]
    assert len(kinds) == 2 and all(("java" if loss == "executor" else "python") in kind for kind in kinds), found
    assert found["counts"] and found["moments"] and found["ranking"], found
