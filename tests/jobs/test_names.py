"""One name for one thing in flags, keys of a file, Params and arguments of arrays."""

from __future__ import annotations

import argparse
from collections import defaultdict

from spark_mlfs import CLASSIFIERS, EXTRACTORS, METHODS
from spark_mlfs.adapters.arrays import SELECTION as OF_ARRAYS
from spark_mlfs.cli.command import parser
from spark_mlfs.cli.config import RunConfig, configure
from spark_mlfs.errors import camel
from spark_mlfs.ml.selectors import SelectorEstimator
from spark_mlfs.select.modes import KEYS

# columns: the option of a reader, the flag and the Param; an option is an argument of
# `spark_mlfs.read`, where all are columns
COLUMNS = {
    "features": "features_col",
    "labels": "labels_col",
    "id": "id_col",
    "weight": "weight_col",
}


def flags(command: str) -> dict[str, str]:
    """The flags of a command that help shows, by where the parser puts their values."""
    (commands,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    shown = [
        a
        for a in commands.choices[command]._actions
        if a.option_strings and a.help != argparse.SUPPRESS
    ]
    return {a.dest: a.option_strings[-1].removeprefix("--").replace("-", "_") for a in shown}


def test_a_setting_of_a_selection_has_one_name():
    """In the file, as a flag, as a Param and as an argument."""
    shown, params, arguments = (
        flags("select"),
        {p.name for p in SelectorEstimator._common},
        {p.name for p in OF_ARRAYS},
    )
    for key, setting in KEYS.items():
        assert setting.name == key and key in shown.values() and key in params
        assert (key in arguments) != setting.of_models
        assert camel(key) == setting.parameter.camel
    assert (
        "selection_mode" in shown.values()
        and "selection_mode" in params
        and "selection_mode" in arguments
    )
    assert flags("transform")["num_top_features"] == "num_top_features" and "order" in flags(
        "transform"
    )


def test_no_thing_has_two_names():
    """Every key of a run's file that estimators have as a Param, too, is a flag of that name; a key
    alone, or with its section before it."""
    shown, params = set(flags("select").values()), {p.name for p in SelectorEstimator._common}
    config = configure(None, {"data": {"format": "numbers"}, "run": {"output": "x"}})
    seen = set()
    for section in RunConfig.fields:
        for key in getattr(config, section).fields:
            name = next((n for n in (f"{section}_{key}", key) if n in params), None)
            if name is not None:
                seen.add(name)
                assert name in shown, f"[{section}] {key}"
    inherited = {
        "selection_mode",
        "order",
        "screen",
        "include",
        "exclude",
        "budget",
        "groups",
        "costs",
        *KEYS,
    }
    assert seen >= inherited | {"driver_bytes", "worker_bytes"}


def test_no_name_means_two_things():
    """A parameter of several entries takes values of one kind, and none is called as a column
    is."""
    names: set[str] = set()
    for registry in (
        METHODS,
        EXTRACTORS,
        CLASSIFIERS,
    ):  # c is a latent width to methods, to classifiers what it is to SVMs
        meanings = defaultdict(set)
        for p in (p for name in registry for p in registry[name].parameters):
            meanings[p.name].add(type(getattr(p.constraint, "inner", p.constraint)).__name__)
        assert {name: kinds for name, kinds in meanings.items() if len(kinds) > 1} == {}
        names |= set(meanings)
    assert not names & {
        *COLUMNS,
        *COLUMNS.values(),
        *(k for k, s in KEYS.items() if not s.of_models),
    }


def test_columns_are_called_by_what_they_hold():
    """The option of a reader is the column's role, its Param and its flag say that it is a column;
    --features and --id take the role alone."""
    shown, params = flags("select"), {p.name for p in SelectorEstimator._common}
    for role, name in COLUMNS.items():
        assert name in params and (name in shown.values() or role in shown.values())
