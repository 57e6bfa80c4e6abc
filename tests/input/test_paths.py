"""Paths of `pathlib` stand wherever a path of text does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import ParameterError, compare, rank, states
from spark_mlfs.frames.frame import LocalSession

PLAN = """
[[data]]
name = "planted"
format = "planted"
options = { num_rows = 90, num_features = 8, num_labels = 2 }
[[method]]
name = "mim"
[[method]]
name = "chi2"
[protocol]
folds = "2-fold"
sizes = [2]
"""


def test_states_are_saved_and_loaded(tmp_path):
    first = states.collect([[0, 1], [1, 0]], [["a"], ["b"]], name="first")
    states.save(first, tmp_path / "first")
    second = states.collect([[1, 1], [1, 0]], [["a"], ["a"]], name="second", like=first)
    states.save(second, tmp_path / "second")
    assert states.load(tmp_path / "first", tmp_path / "second").rows == 4
    assert states.load(tmp_path / "*").rows == 4
    for wrong in (5, None, [tmp_path / "first"]):
        with pytest.raises(ParameterError, match="in folders: give a path, not"):
            states.load(wrong)
    with pytest.raises(ParameterError, match="give the folders of the states to load"):
        states.load()


def test_comparisons_and_rows_on_disk(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    outcome = compare(LocalSession(), tmp_path / "plan.toml")
    assert {"mim", "chi2"} <= {*outcome.summary().columns}
    X = np.random.default_rng(0).random((40, 5)).round(1)
    pd.DataFrame(X, columns=[*"abcde"]).assign(y=X[:, 0] > 0.5).to_csv(
        tmp_path / "rows.csv", index=False
    )
    options = {"features": [*"abcde"], "labels": ["y"]}
    data = {"name": "rows", "format": "csv", "path": tmp_path / "rows.csv", "options": options}
    protocol = {"folds": "2-fold", "sizes": [2]}
    outcome = compare(
        LocalSession(), {"data": [data], "method": [{"name": "mim"}], "protocol": protocol}
    )
    assert {*outcome.trials["data"]} == {"rows"}
    Y = (X[:, :2] > 0.5).astype(int)
    here = rank(X, Y, "mim", 3, scratch=tmp_path)
    pd.testing.assert_frame_equal(here, rank(X, Y, "mim", 3))
