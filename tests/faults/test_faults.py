"""Something is lost in a stage of a family: the ranking, the predictions and the scored table are the same, to the bit.

`lossy` has the families, and what each loss is. CI loses Python workers in every stage of counting and of scoring; every other
pair of family and loss takes minutes: `pytest -m slow tests/faults`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FAMILIES = {  # the stages that must be among those a family is seen to have
    "counting": {"Pack", "Recode", "Partials", "MergeStates"},
    "counting by quantiles": {"Pack", "Partials", "MergeStates", "Recode"},
    "joint cells": {"Pack", "Recode", "SpreadCells", "gather_coded", "Partials", "MergeStates"},
    "columns": {"Pack", "SpreadIds", "SharedIds", "Renumber", "SpreadColumns", "WorkOnColumns", "InOneTask"},
    "moments": {"Pack", "Partials", "MergeStates"},
    "products": {"Pack", "Partials", "MergeStates"},
    "neighbours": {"Pack", "SpreadIds", "SharedIds", "Renumber", "Partials", "MergeStates"},
    "one task": {"Pack", "InOneTask"},
    "label by label": {"Pack", "SpreadIds", "SharedIds", "Renumber", "OverLabels", "rows"},
    "gathering": {"Pack", "SpreadIds", "SharedIds", "Renumber", "rows"},
    "scoring": {"rows"},
}
IN_A_STAGE = ("worker", "executor", "task", "slow")
BETWEEN = ("cache", "skew")
IN_CI = [("counting", "worker"), ("scoring", "worker")]
SECONDS = 3600


def lossy(families: list[str], losses: list[str]) -> tuple[dict[str, list[str]], list[dict]]:
    """The stages of each family, and the cases."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parents[1]), os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, str(HERE / "lossy.py"), ",".join(families), ",".join(losses)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["family"]: line["stages"] for line in lines if "stages" in line}, [line for line in lines if "same" in line]


def check(families: list[str], losses: list[str]) -> None:
    stages, cases = lossy(families, losses)
    assert list(stages) == families
    for family in families:
        assert FAMILIES[family] <= set(stages[family]), stages[family]
        between = [] if family == "scoring" else [loss for loss in losses if loss in BETWEEN]
        expected = {(s, loss) for s in stages[family] for loss in losses if loss in IN_A_STAGE} | {(None, b) for b in between}
        assert {(case["stage"], case["loss"]) for case in cases if case["family"] == family} == expected
    for case in cases:
        assert case["same"], case
        struck = case["struck"].split()
        if case["loss"] == "worker":
            assert struck[0].startswith("python"), case
        elif case["loss"] in ("executor", "slow"):
            assert struck[0] == "java", case
        elif case["loss"] == "task":  # the first attempt's executor, and the second's
            assert len(struck) == 3 and struck[1] != struck[2], case
        elif case["loss"] == "cache":
            assert len(struck) == 2, case


@pytest.mark.slow
@pytest.mark.ci
def test_a_killed_worker_in_every_stage_of_counting_and_scoring():
    check(["counting", "scoring"], ["worker"])


REST = [(f, loss) for f in FAMILIES for loss in (*IN_A_STAGE, *(() if f == "scoring" else BETWEEN)) if (f, loss) not in IN_CI]


@pytest.mark.slow
@pytest.mark.parametrize("family, loss", REST, ids=lambda word: word.replace(" ", "-"))
def test_a_loss_changes_nothing(family, loss):
    check([family], [loss])
