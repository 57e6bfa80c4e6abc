"""The Databricks bundle: its tasks are commands that this version understands, and a wrong one
fails the task."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml

from spark_mlfs import cli
from spark_mlfs.cli.check import METRICS
from spark_mlfs.cli.command import parser
from spark_mlfs.cli.conditions import Condition
from spark_mlfs.cli.drift import ALARMS
from spark_mlfs.cli.select import configuration
from spark_mlfs.sections import read_toml

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


def test_the_tasks_are_those_of_every_night():
    """Nothing is scored by a model that was not checked; drift waits for nothing."""
    select, check, score, drift = (parser().parse_args(parameters(key)) for key in TASKS)
    assert list(TASKS) == ["select", "check", "score", "drift"]
    assert {key: task.get("depends_on") for key, task in TASKS.items()} == {
        "select": None,
        "check": [{"task_key": "select"}],
        "score": [{"task_key": "check"}],
        "drift": None,
    }
    assert score.model == check.model == select.output and select.classifier
    assert {args.id for args in (select, check, score, drift)} == {select.id}
    assert len({args.output for args in (select, check, score, drift)}) == 4
    configuration(select).requests()
    assert all(Condition.parse(text, METRICS, "") for text in check.require)
    assert all(Condition.parse(text, ALARMS, "") for text in drift.require)


def test_method_and_number_are_variables():
    """Every variable is used, and every one that is used is there."""
    used = set(re.findall(r"\$\{var\.(\w+)\}", (FOLDER / "databricks.yml").read_text()))
    assert used == set(BUNDLE["variables"]) and {"method", "num_top_features"} <= used


@pytest.mark.slow
def test_the_job_is_one_of_the_published_schema():
    """The classes that Databricks publishes of it refuse a field that it does not know."""
    jobs = pytest.importorskip("databricks.bundles.jobs")
    for job in BUNDLE["resources"]["jobs"].values():
        read_back = jobs.Job.from_dict(job).as_dict()
        assert read_back == job
        unknown = {**job, "tasks": [{**job["tasks"][0], "python_wheel_tasks": {}}]}
        with pytest.raises((TypeError, ValueError)):
            jobs.Job.from_dict(unknown)


def test_the_rest_is_of_the_published_schema():
    """What stands beside the jobs, by the keys of the schema of `databricks bundle schema`."""
    keys = {
        "bundle": {"name", "cluster_id", "databricks_cli_version", "deployment", "engine", "git"},
        "variable": {"default", "description", "lookup", "type"},
        "artifact": {"build", "dynamic_version", "executable", "files", "path", "type"},
        "target": {"mode", "default", "variables", "workspace", "resources", "presets", "run_as"},
    }
    assert set(BUNDLE) == {"bundle", "variables", "artifacts", "resources", "targets"}
    assert set(BUNDLE["resources"]) == {"jobs"} and set(BUNDLE["bundle"]) <= keys["bundle"]
    for section, kind in (
        ("variables", "variable"),
        ("artifacts", "artifact"),
        ("targets", "target"),
    ):
        assert all(set(entry) <= keys[kind] for entry in BUNDLE[section].values())
    assert {entry["type"] for entry in BUNDLE["artifacts"].values()} <= {"whl", "jar"}
    assert {entry["mode"] for entry in BUNDLE["targets"].values()} <= {"development", "production"}


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
