"""Something is lost in a stage of a family: the ranking, the predictions and the scored table are
the same, to the bit.

`lossy` has the families, and what each loss is. One test, two minutes, tries the losses in one stage
of counting, and a killed worker in scoring (`--slow all -k every_kind`); a family and a loss in all
its stages take one to three minutes, all of them some hours: `--slow all` with this folder, or with
`-k neighbours-late`.
`test_read_again` has, without a cluster, what these found."""

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
    "joint cells": {
        "Pack",
        "recode",
        "spread_cells",
        "gather_coded",
        "partial_states",
        "merge_states",
    },
    "columns": {
        "Pack",
        "spread_ids",
        "shared_ids",
        "renumbered",
        "spread_columns",
        "work_on_columns",
        "in_one_task",
    },
    "moments": {"Pack", "partial_states", "merge_states"},
    "products": {"Pack", "partial_states", "merge_states"},
    "neighbours": {
        "Pack",
        "spread_ids",
        "shared_ids",
        "renumbered",
        "partial_states",
        "merge_states",
    },
    "one task": {"Pack", "in_one_task"},
    "label by label": {"Pack", "spread_ids", "shared_ids", "renumbered", "over_labels", "rows"},
    "gathering": {"Pack", "spread_ids", "shared_ids", "renumbered", "rows"},
    "folds": {
        "Pack",
        "spread_ids",
        "shared_ids",
        "renumbered",
        "_hashes",
        "_ends_of_part",
        "_mapped",
    },
    "evaluation": {
        "Pack",
        "in_one_task",
        "row_chunks",
        "nearest_in_block",
        "finished_rows",
        "_sums_of_batches",
    },
    "scoring": {"rows"},
    "scoring by blocks": {"row_chunks", "nearest_in_block", "finished_rows"},
}
IN_A_STAGE = ("worker", "executor", "late", "task", "slow")
BETWEEN = ("cache", "skew")
SECONDS = 3600


# families, losses, and the stages where not all
Plan = tuple[list[str], list[str]] | tuple[list[str], list[str], list[str]]
Outcome = tuple[dict[str, list[str]], list[dict]]
# turn by turn, on one cluster: a task is tried on the other executor, so that losses of executors
# come last; one that is lost late is lost with all that it held early
SHORT: list[Plan] = [
    (["counting"], ["task", "slow", "worker", "late", *BETWEEN], ["merge_states"]),
    (["scoring"], ["worker"]),
]


def lossy(*plans: Plan) -> Outcome:
    """The stages of each family, and the cases."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(HERE.parents[1]), os.environ.get("PYTHONPATH")))
        )
    }
    command = [sys.executable, str(HERE / "lossy.py"), *map(json.dumps, plans)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["family"]: line["stages"] for line in lines if "stages" in line}, [
        line for line in lines if "same" in line
    ]


def check(
    outcome: Outcome, families: list[str], losses: list[str], some: list[str] | None = None
) -> None:
    """The outcome of a plan."""
    stages, cases = outcome
    assert {*families} <= {*stages}
    assert cases
    for family in families:
        assert (FAMILIES[family] if some is None else FAMILIES[family] & set(some)) <= set(
            stages[family]
        ), stages[family]
        between = (
            [] if family.startswith("scoring") else [loss for loss in losses if loss in BETWEEN]
        )
        expected = {(s, loss) for s in stages[family] for loss in losses if loss in IN_A_STAGE} | {
            (None, b) for b in between
        }
        assert {
            (case["stage"], case["loss"]) for case in cases if case["family"] == family
        } == expected
    for case in cases:
        assert case["same"], json.dumps(case)
        struck = case["struck"].split()
        if case["loss"] == "worker":
            assert struck[0].startswith("python"), case
        elif case["loss"] in ("executor", "late", "slow"):
            assert struck[0] == "java", case
        elif (
            case["loss"] == "task"
        ):  # the first attempt's executor, and the second's after each of its batches
            assert len(struck) > 2 and struck[1] not in struck[2:], case
        elif case["loss"] == "cache":
            assert len(struck) == 2, case


@pytest.mark.losses
def test_every_kind_of_loss_in_a_stage():
    outcome = lossy(*SHORT)
    for plan in SHORT:
        check(outcome, *plan)


CASES = [
    (f, loss)
    for f in FAMILIES
    for loss in (*IN_A_STAGE, *(() if f.startswith("scoring") else BETWEEN))
]


@pytest.mark.losses
@pytest.mark.parametrize(("family", "loss"), CASES, ids=lambda word: word.replace(" ", "-"))
def test_a_loss_changes_nothing(family, loss):
    check(lossy(([family], [loss])), [family], [loss])
