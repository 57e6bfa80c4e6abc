"""Something is lost in a stage of a family: the ranking, the predictions and the scored table are the same, to the bit.

`lossy` has the families, and what each loss is. CI tries every loss in one stage of counting, and a killed worker in scoring; a
family and a loss in all its stages take one to three minutes, all of them some hours: `pytest -m slow tests/faults`, or
`-k neighbours-late`. `test_read_again` has, without a cluster, what these found.
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
    "wide counting": {"Pack", "Recode", "EndedPartials", "MergeEnded"},
    "joint cells": {"Pack", "Recode", "SpreadCells", "gather_coded", "Partials", "MergeStates"},
    "columns": {"Pack", "SpreadIds", "SharedIds", "Renumber", "SpreadColumns", "WorkOnColumns", "InOneTask"},
    "moments": {"Pack", "Partials", "MergeStates"},
    "products": {"Pack", "Partials", "MergeStates"},
    "neighbours": {"Pack", "SpreadIds", "SharedIds", "Renumber", "Partials", "MergeStates"},
    "one task": {"Pack", "InOneTask"},
    "label by label": {"Pack", "SpreadIds", "SharedIds", "Renumber", "OverLabels", "rows"},
    "gathering": {"Pack", "SpreadIds", "SharedIds", "Renumber", "rows"},
    "folds": {"Pack", "SpreadIds", "SharedIds", "Renumber", "_Hashes", "_Ends", "MapBlocks"},
    "evaluation": {"Pack", "InOneTask", "RowChunks", "NearestInBlock", "FinishedRows", "Batches"},
    "scoring": {"rows"},
    "scoring by blocks": {"RowChunks", "NearestInBlock", "FinishedRows"},
}
IN_A_STAGE = ("worker", "executor", "late", "task", "slow")
BETWEEN = ("cache", "skew")
SECONDS = 3600


def lossy(families: list[str], losses: list[str], some: list[str] | None = None) -> tuple[dict[str, list[str]], list[dict]]:
    """The stages of each family, or `some` of them, and the cases."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parents[1]), os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, str(HERE / "lossy.py"), *(",".join(words) for words in (families, losses, some) if words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["family"]: line["stages"] for line in lines if "stages" in line}, [line for line in lines if "same" in line]


def check(families: list[str], losses: list[str], some: list[str] | None = None) -> None:
    stages, cases = lossy(families, losses, some)
    assert list(stages) == families
    for family in families:
        assert (FAMILIES[family] if some is None else FAMILIES[family] & set(some)) <= set(stages[family]), stages[family]
        between = [] if family.startswith("scoring") else [loss for loss in losses if loss in BETWEEN]
        expected = {(s, loss) for s in stages[family] for loss in losses if loss in IN_A_STAGE} | {(None, b) for b in between}
        assert {(case["stage"], case["loss"]) for case in cases if case["family"] == family} == expected
    for case in cases:
        assert case["same"], json.dumps(case)
        struck = case["struck"].split()
        if case["loss"] == "worker":
            assert struck[0].startswith("python"), case
        elif case["loss"] in ("executor", "late", "slow"):
            assert struck[0] == "java", case
        elif case["loss"] == "task":  # the first attempt's executor, and the second's after each of its batches
            assert len(struck) > 2 and struck[1] not in struck[2:], case
        elif case["loss"] == "cache":
            assert len(struck) == 2, case


@pytest.mark.slow
@pytest.mark.ci
def test_every_kind_of_loss_where_states_are_merged():
    check(["counting"], [*IN_A_STAGE, *BETWEEN], ["MergeStates"])


@pytest.mark.slow
@pytest.mark.ci
def test_a_killed_worker_while_rows_are_scored():
    check(["scoring"], ["worker"])


CASES = [(f, loss) for f in FAMILIES for loss in (*IN_A_STAGE, *(() if f.startswith("scoring") else BETWEEN))]


@pytest.mark.slow
@pytest.mark.parametrize("family, loss", CASES, ids=lambda word: word.replace(" ", "-"))
def test_a_loss_changes_nothing(family, loss):
    check([family], [loss])
