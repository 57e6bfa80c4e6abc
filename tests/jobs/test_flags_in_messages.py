"""Messages of commands name flags, wherever an error or a notice passes on its way; and what stands
beside them: a gate's figures, an interrupt before a command begins."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs.cli.command import spelling_of
from spark_mlfs.cli.conditions import Condition
from spark_mlfs.errors import BudgetError, DataError, DataNotice, marked_text, setting, spelled

ROOT = Path(__file__).resolve().parents[2]
WIDE = """
protocol = {folds = "2-fold", sizes = [2]}
classifier = [{name = "mlknn"}]
method = [{name = "mim"}, {name = "ridge"}]
"""
SET = """
[[data]]
name = "NAME"
format = "planted"
options = {num_rows = 60, num_features = FEATURES, num_labels = 2}
"""


@pytest.fixture
def plan(tmp_path):
    """Writes a plan of data sets of so many features each."""

    def write(*widths: int) -> Path:
        sets = [
            SET.replace("NAME", f"s{i}").replace("FEATURES", str(width))
            for i, width in enumerate(widths)
        ]
        path = tmp_path / "plan.toml"
        path.write_text(WIDE + "".join(sets))
        return path

    return write


def test_a_parameter_is_set_by_the_flag_of_its_owner():
    """Of the classifier where that has it and the method does not; `alpha` is of `ridge`."""
    flags = {"--set", "--classifier-set"}
    argv = ["select", "--method", "ridge", "--classifier", "br-svm"]
    text = marked_text(DataError(f"raise {setting('max_iter')} or {setting('alpha')}"))
    assert spelled(text, spelling_of(argv, flags)) == (
        "raise --classifier-set max_iter or --set alpha"
    )
    assert "--set max_iter" in spelled(text, spelling_of(argv[:3], flags))


def test_an_error_that_is_passed_on_keeps_its_settings():
    error = BudgetError(f"raise {setting('memory_bytes')}")
    again = error.reworded(lambda text: f"b: {text}")
    assert type(again) is BudgetError and str(again) == "b: raise memoryBytes"
    assert spelled(marked_text(again), spelling_of(["compare"], {"--memory-bytes"})) == (
        "b: raise --memory-bytes"
    )


def test_a_notice_names_settings_by_its_face():
    notice = DataNotice(f"raise {setting('max_iter', 9)}")
    for one in (notice, pickle.loads(pickle.dumps(notice))):
        assert str(one) == "raise max_iter = 9"
    assert spelled(marked_text(notice), spelling_of(["select"], ())) == "raise --set max_iter=9"
    with pytest.warns(DataNotice, match=r"^raise max_iter = 9$"):
        warnings.warn(notice, stacklevel=1)


@pytest.mark.local
def test_a_plan_that_exceeds_the_memory_names_the_flag(run, refused, plan, tmp_path):
    command = ("compare", "--config", plan(40, 9000), "--engine", "local")
    line = refused(*command, "--memory-bytes", 2 << 20, "--output", tmp_path / "out")
    assert "s1: " in line and "--memory-bytes" in line and "emoryBytes" not in line
    assert "emory_bytes" not in line


@pytest.mark.local
def test_trials_that_are_not_run_name_the_flag(run, plan, tmp_path):
    """Ridge's sums exceed what `mim` keeps to; the page and the table name the flag, too."""
    command = ("compare", "--config", plan(1200), "--engine", "local", "--memory-bytes", 6 << 20)
    code, said, err = run(*command, "--output", tmp_path / "out")
    (line,) = [line for line in said.splitlines() if line.startswith("not run: ridge")]
    failed = pd.read_csv(tmp_path / "out" / "failed.csv")
    assert code == 0, err
    for text in (line, *failed["error"]):
        assert "raise --memory-bytes" in text and not {*text} & set("❴❵❲❳❨❩"), text
    with pytest.raises(DataError, match="all 4 trials failed") as error:
        narrow = {"run": {"memory_bytes": 1 << 20, "engine": "local"}}
        spark_mlfs.compare(session(1 << 20), planned(1200) | narrow)
    assert "raise memory_bytes" in str(error.value)


def session(memory):
    from spark_mlfs.frames.frame import LocalSession

    return LocalSession(memory)


def planned(width):
    options = {"num_rows": 60, "num_features": width, "num_labels": 2}
    return {
        "data": [{"name": "s", "format": "planted", "options": options}],
        "method": [{"name": "ridge"}, {"name": "lasso"}],
        "protocol": {"folds": "2-fold", "sizes": [2], "all_features": False},
    }


@pytest.mark.local
def test_a_note_names_the_option_of_the_reader(run, tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(["the and of to", *rng.choice([*"abcdefgh"], 5)]) for _ in range(60)]
    table = pd.DataFrame({"body": texts, "tag": rng.choice(["x", "y"], 60)})
    table.to_csv(tmp_path / "d.csv", index=False)
    code, _, err = run(
        "select", "--data", tmp_path / "d.csv", "--format", "text", "--option", "source=csv",
        "--text", "body", "--labels-col", "tag", "--option", "min_df=61", "--output", tmp_path / "o",
    )  # fmt: skip
    assert code == 2 and "lower --option min_df" in err


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("microF1>=0.6", 0.5914285714285715, "0.5914"),
        ("microF1>=0.6", 0.59999999, "0.59999999"),
        ("psi<=0.25", 0.2500000001, "0.2500000001"),
        ("psi<=0.25", float("inf"), "inf"),
        ("changed<=2", 123456.0, "123456"),
        ("microF1>=0.6", float("nan"), "nan"),
    ],
)
def test_a_gate_shows_as_many_digits_as_fail(text, value, shown):
    name = text.partition(">")[0].partition("<")[0]
    condition = Condition.parse(text, [name], "")
    assert not condition.holds(value) and condition.shown(value) == shown


@pytest.mark.parametrize("module", ["json", "tqdm"])  # the first of ours and a late one import them
def test_an_interrupt_before_a_command_begins_is_one_line(tmp_path, module):
    (tmp_path / f"{module}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "spark_mlfs.cli", "methods"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "spark-mlfs: interrupted\n")
