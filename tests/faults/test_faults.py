"""Something is lost in a stage of a family: the ranking, the predictions and the scored table are the same, to the bit.

`lossy` has the families, and what each loss is. CI tries every loss in one stage of counting, and a killed worker in scoring, on
one cluster; a family and a loss in all its stages take one to three minutes, all of them some hours: `pytest -m slow` of this
folder, or `-k neighbours-late`. `test_read_again` has, without a cluster, what these found.
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
    "counting": {"Pack", "recode", "partial_states", "merge_states"},
    "counting by quantiles": {"Pack", "partial_states", "merge_states", "recode"},
    "wide counting": {"Pack", "recode", "sharded_states", "reduce_shards"},
    "joint cells": {"Pack", "recode", "spread_cells", "gather_coded", "partial_states", "merge_states"},
    "columns": {"Pack", "spread_ids", "shared_ids", "renumbered", "spread_columns", "work_on_columns", "in_one_task"},
    "moments": {"Pack", "partial_states", "merge_states"},
    "products": {"Pack", "partial_states", "merge_states"},
    "neighbours": {"Pack", "spread_ids", "shared_ids", "renumbered", "partial_states", "merge_states"},
    "one task": {"Pack", "in_one_task"},
    "label by label": {"Pack", "spread_ids", "shared_ids", "renumbered", "over_labels", "rows"},
    "gathering": {"Pack", "spread_ids", "shared_ids", "renumbered", "rows"},
    "folds": {"Pack", "spread_ids", "shared_ids", "renumbered", "_hashes", "_ends_of_part", "_mapped"},
    "evaluation": {"Pack", "in_one_task", "row_chunks", "nearest_in_block", "finished_rows", "_sums_of_batches"},
    "scoring": {"rows"},
    "scoring by blocks": {"row_chunks", "nearest_in_block", "finished_rows"},
}
IN_A_STAGE = ("worker", "executor", "late", "task", "slow")
BETWEEN = ("cache", "skew")
SECONDS = 3600


Plan = tuple[list[str], list[str], list[str] | None]  # families, losses, and the stages where not all
Outcome = tuple[dict[str, list[str]], list[dict]]
IN_CI: dict[str, Plan] = {
    "counting": (["counting"], [*IN_A_STAGE, *BETWEEN], ["merge_states"]),
    "scoring": (["scoring"], ["worker"], None),
}


def lossy(*plans: Plan) -> Outcome:
    """The stages of each family, and the cases, of all plans on one cluster."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(HERE.parents[1]), os.environ.get("PYTHONPATH"))))}
    words = [word for plan in plans for word in ("--", *(",".join(part) for part in plan if part))][1:]
    command = [sys.executable, str(HERE / "lossy.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["family"]: line["stages"] for line in lines if "stages" in line}, [line for line in lines if "same" in line]


def check(outcome: Outcome, families: list[str], losses: list[str], some: list[str] | None = None) -> None:
    """The outcome of a plan, among others of other families."""
    stages, cases = outcome
    assert set(families) <= set(stages)
    cases = [case for case in cases if case["family"] in families]
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


@pytest.fixture(scope="module")
def in_ci() -> Outcome:
    outcome = lossy(*IN_CI.values())
    assert list(outcome[0]) == [family for families, *_ in IN_CI.values() for family in families]
    return outcome


@pytest.mark.slow(every=5)
def test_every_kind_of_loss_where_states_are_merged(in_ci):
    check(in_ci, *IN_CI["counting"])


@pytest.mark.slow
def test_a_killed_worker_while_rows_are_scored(in_ci):
    check(in_ci, *IN_CI["scoring"])


CASES = [(f, loss) for f in FAMILIES for loss in (*IN_A_STAGE, *(() if f.startswith("scoring") else BETWEEN))]


@pytest.mark.slow(every=200)
@pytest.mark.parametrize(("family", "loss"), CASES, ids=lambda word: word.replace(" ", "-"))
def test_a_loss_changes_nothing(family, loss):
    check(lossy(([family], [loss], None)), [family], [loss])
