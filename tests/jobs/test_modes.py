"""The table of selection modes: every face has every mode and setting, with the same bounds and
defaults."""

from __future__ import annotations

import itertools

import pytest

from spark_mlfs import MultiLabelSelector
from spark_mlfs.cli.command import parser
from spark_mlfs.cli.config import Selection, configure
from spark_mlfs.cli.select import configuration
from spark_mlfs.errors import ParameterError
from spark_mlfs.evaluate.plan import comparison
from spark_mlfs.params import Integer, Parameter, grid_cells, seeded
from spark_mlfs.select import Rule
from spark_mlfs.select.modes import (
    COLUMNS,
    GENERAL,
    KEYS,
    LEVELS,
    MODES,
    RULES,
    SETTINGS,
    TESTS,
    level_setting,
)
from spark_mlfs.solvers import gtests

FACES = {"data": {"format": "numbers"}, "run": {"output": "x"}, "method": {"name": "ridge"}}


def test_the_table_says_what_the_rules_do():
    assert TESTS == gtests.CORRECTIONS
    assert set(RULES) == set(COLUMNS) == set(LEVELS)
    assert LEVELS == {"fpr": 0.05, "fdr": 0.05, "fwe": 0.05, "knockoffs": 0.1, "stability": 0.6}
    assert all(MODES[rule].basis and MODES[rule].verdict for rule in RULES)
    assert {
        name for mode in MODES.values() for name in mode.settings
    } | GENERAL.keys() == SETTINGS.keys()


def test_every_face_has_every_mode_and_setting():
    selector = MultiLabelSelector()
    assert {"mode", "order", *KEYS} == set(Selection.fields)
    select = parser().parse_args(["select", "--format", "numbers"])
    for setting in SETTINGS.values():
        camel = setting.parameter.camel
        assert selector.getOrDefault(camel) == setting.parameter.default
        assert setting.key is None or getattr(select, setting.key) is None
    for mode in MODES:
        assert MultiLabelSelector(selectionMode=mode).getSelectionMode() == mode
    with pytest.raises(ParameterError, match=r"numTopFeatures.*stability"):
        MultiLabelSelector(selectionMode="holm")


@pytest.mark.parametrize("mode", RULES)
def test_a_rule_is_the_same_by_every_face(mode):
    setting = level_setting(mode)
    level = 0.75
    flag = "--" + setting.key.replace("_", "-")
    base = [
        "select",
        "--format",
        "numbers",
        "--output",
        "x",
        "--method",
        "ridge",
        "--selection-mode",
        mode,
    ]
    estimator = MultiLabelSelector(method="ridge", selectionMode=mode)
    for given in (None, level):
        flags = configuration(
            parser().parse_args([*base, *([] if given is None else [flag, str(given)])])
        )
        keys = configure(
            None,
            {
                **FACES,
                "selection": {"mode": mode, **({} if given is None else {setting.key: given})},
            },
        )
        if given is not None:
            estimator.setParams(**{setting.parameter.camel: given})
        rules = [
            cut.rule_among(20)
            for cut in (flags.selection.cut(0), keys.selection.cut(0), estimator.cut())
        ]
        assert (
            rules[0] == rules[1] == rules[2] == Rule(mode, LEVELS[mode] if given is None else given)
        )


@pytest.mark.parametrize(
    "key", [key for key, setting in KEYS.items() if setting.key != "combination"]
)
@pytest.mark.parametrize("value", [-1, 0, 0.5, 1.5])
def test_every_face_refuses_the_same_values(key, value):
    setting = KEYS[key]

    def refuses(call) -> bool:
        try:
            call()
        except ParameterError:
            return True
        return False

    by_param = refuses(lambda: MultiLabelSelector(**{setting.parameter.camel: value}))
    by_key = refuses(lambda: configure(None, {**FACES, "selection": {key: value}}))
    flag = [
        "select",
        "--format",
        "numbers",
        "--output",
        "x",
        "--method",
        "ridge",
        f"--{key.replace('_', '-')}={value}",
    ]
    by_flag = refuses(lambda: configuration(parser().parse_args(flag)))
    assert by_param == by_key == by_flag


def test_cells_of_a_grid():
    grid = {"alpha": [1, 2, 3], "beta": ["a"], "gamma": [0.5, 5]}
    assert grid_cells(grid) == [
        dict(zip(grid, cell, strict=True)) for cell in itertools.product([1, 2, 3], ["a"], [0.5, 5])
    ]
    assert grid_cells({}) == [{}]
    with pytest.raises(ParameterError, match="'beta' has no values"):
        grid_cells({"alpha": [1], "beta": []})


def test_the_runs_seed_goes_where_there_is_one():
    seed = (Parameter("seed", 0, Integer(0), "seed"),)
    assert seeded(seed, {"a": 1}, 5) == {"a": 1, "seed": 5}
    assert seeded(seed, {"seed": 7}, 5) == {"seed": 7}
    assert seeded((), {"a": 1}, 5) == {"a": 1}


def test_a_comparison_and_a_selection_have_the_same_cells():
    method = {"name": "elastic-net", "grid": {"alpha": ["0.1", "1"], "rho": ["0.2", "0.5", "0.9"]}}
    plan = comparison({"data": [{"name": "n", "format": "numbers"}], "method": [method]})
    own = configure(None, {**FACES, "method": method}).requests()
    compared = plan.candidates()[0].requests
    assert [r.parameters for r in own] == [r.parameters for r in compared] and len(own) == 6
    assert [(r.parameters["alpha"], r.parameters["rho"]) for r in own] == list(
        itertools.product([0.1, 1.0], [0.2, 0.5, 0.9])
    )
