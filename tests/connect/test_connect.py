"""The same fits on a local Spark Connect server: same bits as classic."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fits import everything


@pytest.mark.slow
@pytest.mark.ci
def test_connect_equals_classic(spark):
    env = {**os.environ, "SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable}
    env.pop("SPARK_REMOTE", None)
    command = [sys.executable, str(Path(__file__).with_name("fits.py"))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        classic = everything(spark)
        said, wrong = process.communicate(timeout=400)
    finally:
        process.kill()
    lines = [line for line in said.splitlines() if "RESULT" in line]
    assert lines, wrong[-3000:]
    assert json.loads(lines[0].split("RESULT", 1)[1]) == classic
