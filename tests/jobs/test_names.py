"""One name for one thing in flags, keys of a file, Params and arguments of arrays; former names are taken with a notice."""

from __future__ import annotations

import argparse
import json
import pickle
from collections import defaultdict

import numpy as np
import pytest

import spark_mlfs
from spark_mlfs import CLASSIFIERS, EXTRACTORS, METHODS, cli, errors
from spark_mlfs.adapters.arrays import SELECTION as OF_ARRAYS
from spark_mlfs.cli.command import parser
from spark_mlfs.cli.config import RunConfig, configure
from spark_mlfs.errors import ParameterError, RenamedNotice, camel
from spark_mlfs.ml.persistence import checksum
from spark_mlfs.ml.selectors import SelectorEstimator
from spark_mlfs.select.modes import KEYS

# columns: the option of a reader, the flag and the Param; an option is an argument of `spark_mlfs.read`, where all are columns
COLUMNS = {"features": "features_col", "labels": "labels_col", "id": "id_col", "weight": "weight_col"}


@pytest.fixture(autouse=True)
def told_anew():
    errors._told.clear()


def flags(command: str) -> dict[str, str]:
    """The flags of a command that help shows, by where the parser puts their values."""
    (commands,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    shown = [a for a in commands.choices[command]._actions if a.option_strings and a.help != argparse.SUPPRESS]
    return {a.dest: a.option_strings[-1].removeprefix("--").replace("-", "_") for a in shown}


def test_a_setting_of_a_selection_has_one_name():
    """In the file, as a flag, as a Param and as an argument."""
    shown, params, arguments = flags("select"), {p.name for p in SelectorEstimator._common}, {p.name for p in OF_ARRAYS}
    for key, setting in KEYS.items():
        assert setting.name == key and key in shown.values() and key in params and key in arguments
        assert camel(key) == setting.parameter.camel
    assert "selection_mode" in shown.values() and "selection_mode" in params and "selection_mode" in arguments
    assert flags("transform")["num_top_features"] == "num_top_features" and "order" in flags("transform")


def test_no_thing_has_two_names():
    """Every key of a run's file that estimators have as a Param, too, is a flag of that name; a key alone, or with its section
    before it."""
    shown, params = set(flags("select").values()), {p.name for p in SelectorEstimator._common}
    config = configure(None, {"data": {"format": "numbers"}, "run": {"output": "x"}})
    seen = set()
    for section in RunConfig.fields:
        for key in getattr(config, section).fields:
            name = next((n for n in (f"{section}_{key}", key) if n in params), None)
            if name is not None:
                seen.add(name)
                assert name in shown, f"[{section}] {key}"
    inherited = {"selection_mode", "order", "screen", "include", "exclude", "budget", "groups", "costs", *KEYS}
    assert seen >= inherited | {"driver_bytes", "worker_bytes"}


def test_no_name_means_two_things():
    """A parameter of several entries takes values of one kind, and none is called as a column is."""
    names: set[str] = set()
    formers: set[str | None] = {setting.former for setting in KEYS.values()}
    for registry in (METHODS, EXTRACTORS, CLASSIFIERS):  # c is a latent width to methods, to classifiers what it is to SVMs
        meanings = defaultdict(set)
        for p in (p for name in registry for p in registry[name].parameters):
            meanings[p.name].add(type(getattr(p.constraint, "of", p.constraint)).__name__)
            formers.add(p.former)
        assert {name: kinds for name, kinds in meanings.items() if len(kinds) > 1} == {}
        names |= set(meanings)
    assert not names & {*COLUMNS, *COLUMNS.values(), *KEYS}
    assert formers == {"labels", "num_features", None} and not formers & (names | set(KEYS))


def test_columns_are_called_by_what_they_hold():
    """The option of a reader is the column's role, its Param and its flag say that it is a column; --features and --id take
    the role alone."""
    shown, params = flags("select"), {p.name for p in SelectorEstimator._common}
    for role, name in COLUMNS.items():
        assert name in params and (name in shown.values() or role in shown.values())


# ---- former names ----

X, Y = np.random.default_rng(0).random((60, 5)), np.random.default_rng(1).integers(0, 2, (60, 2))


def test_former_arguments_of_arrays():
    from spark_mlfs.sklearn import JMISelector

    now = spark_mlfs.rank(X, Y, "mim", k=3, label_coding="lp")
    with pytest.warns(RenamedNotice, match="method 'mim': labels is called label_coding now"):
        assert spark_mlfs.rank(X, Y, "mim", k=3, labels="lp").equals(now)
    with pytest.warns(RenamedNotice, match="JMISelector: labels is called label_coding now"):
        estimator = JMISelector(labels="lp", num_top_features=2)
    assert estimator.get_params()["label_coding"] == "lp" and "labels" not in estimator.get_params()
    assert estimator.set_params(label_coding="br").label_coding == "br"
    errors._told.clear()
    with pytest.warns(RenamedNotice):
        assert estimator.set_params(labels="lp").label_coding == "lp"
    state = {("labels" if k == "label_coding" else k): v for k, v in estimator.__getstate__().items()}
    again = pickle.loads(pickle.dumps(JMISelector()))
    again.__setstate__(state)
    assert again.label_coding == "lp" and not hasattr(again, "labels")
    with pytest.raises(ParameterError, match="labels is what label_coding was called before; give label_coding alone"):
        spark_mlfs.rank(X, Y, "mim", labels="lp", label_coding="lp")


def test_former_params(spark, tmp_path):
    """Of an estimator: keyword, getter, setter, Param and what was saved."""
    with pytest.warns(RenamedNotice, match="JMISelector: labels is called labelCoding now"):
        selector = spark_mlfs.JMISelector(labels="lp")
    assert selector.getLabelCoding() == "lp" and selector.getLabels() == "lp"
    assert selector.setLabels("br").getLabelCoding() == "br" and selector.labels == selector.labelCoding
    assert [p.name for p in selector.params].count("labelCoding") == 1
    with pytest.warns(RenamedNotice, match="method 'mim': labels"):
        general = spark_mlfs.MultiLabelSelector(method="mim", labels="lp")
    assert general.getMethodParams() == {"label_coding": "lp"}
    selector.setLabelCoding("lp").write().save(f"file://{tmp_path}/saved")
    (part,) = (tmp_path / "saved" / "metadata").glob("part-*")
    saved = json.loads(part.read_text())
    for which in ("paramMap", "defaultParamMap"):
        saved[which] = {("labels" if k == "labelCoding" else k): v for k, v in saved[which].items()}
    saved["checksum"] = checksum(saved)
    (tmp_path / "former" / "metadata").mkdir(parents=True)
    (tmp_path / "former" / "metadata" / "part-00000.txt").write_text(json.dumps(saved))
    assert spark_mlfs.JMISelector.load(f"file://{tmp_path}/former").getLabelCoding() == "lp"


FILE = '[data]\nformat = "numbers"\n[method]\nname = "jmi"\nparameters = { labels = "lp" }\n[selection]\nnum_features = 7\n'


def test_former_keys_of_a_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(FILE + '[run]\noutput = "x"\n')
    with pytest.warns(RenamedNotice) as notices:
        config = configure(str(path), {})
        assert config.request().parameters["label_coding"] == "lp"
    assert config.selection.num_top_features == 7
    assert f"{path}: [selection]: num_features is called num_top_features now: write it so" in [str(n.message) for n in notices]
    path.write_text(FILE + 'num_top_features = 3\n[run]\noutput = "x"\n')
    with pytest.raises(ParameterError, match="num_features is what num_top_features was called before"):
        configure(str(path), {})
    path.write_text('[data]\nformat = "numbers"\n[method]\nname = "mim"\ngrid = { labels = ["br", "lp"] }\n[run]\noutput = "x"\n')
    assert [r.parameters["label_coding"] for r in configure(str(path), {}).requests()] == ["br", "lp"]


def test_former_flags(tmp_path, capfd):
    """Each is a note of one line, and none with --quiet; help and completion show today's alone."""
    base = ["select", "--format", "planted", "--option", "num_rows=40", "--option", "num_features=6", "--option", "num_labels=2"]
    more = ["--selection", "stability", "--num-features", "9", "--output", str(tmp_path / "x")]
    assert cli.main([*base, *more]) == 2
    said = capfd.readouterr().err.splitlines()
    assert said[:2] == [
        "spark-mlfs: note: --selection is called --selection-mode now: write it so",
        "spark-mlfs: note: --num-features is called --num-top-features now: write it so",
    ]
    errors._told.clear()
    assert cli.main([*base, *more, "--quiet"]) == 2 and "note" not in capfd.readouterr().err
    assert cli.main(["completion"]) == 0
    assert "--num-features" not in capfd.readouterr().out and "num_features" not in flags("transform").values()
