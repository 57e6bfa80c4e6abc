"""The Databricks bundle: its tasks are commands that this version understands, and a wrong one
fails the task."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

from spark_mlfs import cli
from spark_mlfs.cli.command import parser
from spark_mlfs.cli.select import configuration
from spark_mlfs.read.sections import read_toml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "conf" / "databricks"
BUNDLE = yaml.safe_load((FOLDER / "databricks.yml").read_text(encoding="utf-8"))
TASKS = {
    task["task_key"]: task for job in BUNDLE["resources"]["jobs"].values() for task in job["tasks"]
}


def parameters(key: str) -> list[str]:
    """A task's arguments with the variables' defaults."""
    defaults = {name: str(given["default"]) for name, given in BUNDLE["variables"].items()}
    return [
        re.sub(r"\$\{var\.(\w+)\}", lambda m: defaults[m[1]], p)
        for p in TASKS[key]["python_wheel_task"]["parameters"]
    ]


@pytest.mark.parametrize("key", list(TASKS))
def test_a_task_is_a_command_of_this_version(key):
    given = parameters(key)
    assert not any("${" in value for value in given)
    args = parser().parse_args(given)
    assert args.command == key and args.format == "table" and args.output.startswith("/Volumes/")


def test_selection_and_scoring_fit_together():
    select, score = (parser().parse_args(parameters(key)) for key in ("select", "score"))
    assert score.model == select.output and select.classifier and select.id == score.id
    assert TASKS["score"]["depends_on"] == [{"task_key": "select"}]
    configuration(select).requests()


def test_the_wheel_and_its_entry_point():
    task = TASKS["select"]["python_wheel_task"]
    project = read_toml(str(ROOT / "pyproject.toml"))
    assert task["package_name"] == project["project"]["name"]
    assert (
        project["project"]["entry-points"]["databricks"][task["entry_point"]]
        == "spark_mlfs.cli:job"
    )
    (artifact,) = BUNDLE["artifacts"].values()
    assert (FOLDER / artifact["path"]).resolve() == ROOT


def test_an_error_fails_the_task(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["job", "select", "--method", "jmi"])
    with pytest.raises(SystemExit) as ended:
        cli.job()
    assert ended.value.code == 2 and "--format" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["job", "methods", "jmi"])
    assert cli.job() is None
