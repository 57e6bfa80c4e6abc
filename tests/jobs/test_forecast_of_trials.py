"""`--dry-run` of `compare` and `evaluate`: the seconds and the memory of the trials."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from spark_mlfs.cli import dry_run, trial_costs

ROOT = Path(__file__).resolve().parents[2]
PLAN = """
data = [{{name = "planted", format = "planted", options = {{num_rows = 200, num_features = 12, num_labels = 3}}}}]
method = [{{name = "mim"}}, {{name = "ridge", grid = {{alpha = [0.1, 1.0]}}}}]
extractor = [{{name = "mddm"}}]
classifier = [{{name = "mlknn"}}]
protocol = {{folds = "{folds}", sizes = [3, 6], choose = {{folds = 2}}}}
run = {{output = "out"}}
"""


@pytest.fixture
def forecast(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(folds, *flags):
        Path("plan.toml").write_text(PLAN.format(folds=folds))
        code, out, err = run("compare", "--config", "plan.toml", "--dry-run", *flags)
        assert code == 0 and not Path("out").exists(), err
        return out

    return call


@pytest.mark.local
def test_rankings_are_those_of_the_trials(forecast, monkeypatch):
    """A ranking costs a second here: of mim one a split; of ridge two cells on two inner folds, of
    half the rows each, and the chosen one."""
    monkeypatch.setattr(trial_costs, "_of_ranking", lambda *_: 1.0)
    (three, six) = (json.loads(forecast(f, "--json"))["cost"] for f in ("3-fold", "2x3-fold"))
    assert three["rankings"] == pytest.approx(3 * (1 + 2 * (2 - 1) + 1))
    assert six["rankings"] == pytest.approx(2 * three["rankings"])
    assert three["not_counted"] == ["mddm"] and three["classifiers"] > 0
    assert three["core_seconds"] > three["rankings"] + three["classifiers"]
    assert three["seconds"] >= three["core_seconds"] / three["cores"]


@pytest.mark.local
def test_a_label_tree_is_not_tried_on_few_rows(forecast, monkeypatch):
    """Its process takes a second to start, whatever the rows: what was measured of more tells."""
    monkeypatch.setitem(globals(), "PLAN", PLAN.replace("mlknn", "plt"))
    monkeypatch.setattr(trial_costs, "_timed", lambda *_: pytest.fail("a tree was tried"))
    monkeypatch.setattr(trial_costs, "fit_quantities", lambda profile, count: {"run": count})
    known = dry_run.fitted() | {"fit": {"plt": {"dense": {"run": 2.0}}}}
    monkeypatch.setattr(trial_costs, "fitted", lambda: known)
    cost = json.loads(forecast("3-fold", "--json"))["cost"]
    of_a_grid = 2 * 2 * (3 + 6)  # two cells on two inner folds, at 3 and 6 features
    assert cost["classifiers"] == pytest.approx(2 * 3 * (of_a_grid + 2 * (3 + 6) + 12))


@pytest.mark.local
def test_it_says_seconds_and_memory(forecast):
    text = forecast("3-fold")
    (seconds,) = [line for line in text.splitlines() if line.startswith("seconds")]
    assert "of rankings" in seconds and seconds.endswith("not counted: mddm")
    found = json.loads(forecast("3-fold", "--json"))["cost"]
    least = dry_run.fitted()["command"]["memory"] + 200 * 12
    assert least < found["memory_bytes"] < found["memory_allowed"] and "\nmemory " in text


@pytest.mark.slow
@pytest.mark.local
@pytest.mark.parametrize(
    "name", [p.stem for p in sorted((ROOT / "conf/runs/papers").glob("*.toml"))]
)
def test_the_files_of_papers_say_what_they_take(run, data_dir, tmp_path, monkeypatch, name):
    text = (ROOT / "conf" / "runs" / "papers" / f"{name}.toml").read_text(encoding="utf-8")
    (tmp_path / "published").symlink_to(ROOT / "conf" / "runs" / "papers" / "published")
    (tmp_path / "plan.toml").write_text(text.replace("../shared/data", str(data_dir)))
    monkeypatch.chdir(tmp_path)
    code, out, err = run("compare", "--config", "plan.toml", "--dry-run", "--json")
    found = json.loads(out)["cost"]
    assert code == 0 and found["seconds"] > 0 and found["memory_bytes"] > 0, err
    assert not os.path.exists(json.loads(out)["output"])
