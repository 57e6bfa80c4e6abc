"""The run configuration: file, flags over it, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_mlfs.cli.config import configure
from spark_mlfs.cli.flags import pairs
from spark_mlfs.errors import ParameterError
from spark_mlfs.formats import accept_options
from spark_mlfs.select import Rule

REPOSITORY = Path(__file__).resolve().parents[2]
RUNS = [
    p
    for p in sorted((REPOSITORY / "conf" / "runs").glob("*.toml"))
    if "[[data]]" not in p.read_text()
]
RUNS.remove(REPOSITORY / "conf" / "runs" / "evaluate.toml")  # of another command

BASE = """
[data]
path = "a.arff"
format = "arff"
[data.options]
labels = 6
[method]
name = "jmi"
[method.parameters]
label_coding = "lp"
num_bins = 7
[selection]
percentile = 0.5
[run]
output = "out"
"""


@pytest.fixture
def file(tmp_path):
    def write(text: str) -> str:
        path = tmp_path / "run.toml"
        path.write_text(text)
        return str(path)

    return write


def test_there_are_shipped_configurations():
    assert {"quickstart.toml", "parquet-cluster.toml"} <= {path.name for path in RUNS}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
def test_shipped_configurations_are_valid(path):
    config = configure(str(path), {})
    assert config.request().method == config.method.name
    assert config.run.output


def test_file_alone(file):
    config = configure(file(BASE), {})
    assert config.data.path == "a.arff" and config.data.options == {"labels": 6}
    given = {"label_coding": "lp", "num_bins": 7, "binning": "width", "bias_correction": "none"}
    assert config.request().parameters == {**given, "label_weights": "uniform", "label_noise": None}
    assert config.selection.cut(0).keep(9) == 4
    assert config.run.overwrite is False and config.run.report is True


def test_flags_override_the_file(file):
    flags = {
        "data": {"path": "b.arff", "options": {"missing": "mean"}},
        "method": {"name": "jmi", "parameters": {"num_bins": "3"}},
        "selection": {"num_top_features": "4"},
        "run": {"output": "other", "overwrite": True, "seed": "9"},
    }
    config = configure(file(BASE), flags)
    assert config.data.path == "b.arff" and config.data.options == {"labels": 6, "missing": "mean"}
    assert (
        config.request().parameters["num_bins"] == 3
        and config.request().parameters["label_coding"] == "lp"
    )
    assert config.selection.percentile is None and config.selection.cut(0).keep(9) == 4
    assert (config.run.output, config.run.overwrite, config.run.seed) == ("other", True, 9)


def test_the_format_is_what_the_files_names_say(file):
    assert configure(file(BASE.replace('format = "arff"', "")), {}) == configure(file(BASE), {})


def test_another_method_or_format_drops_what_belonged_to_the_files(file):
    config = configure(file(BASE), {"method": {"name": "scls"}, "data": {"format": "numbers"}})
    assert config.method.parameters == {} and config.data.options == {} and config.data.path is None


def test_defaults():
    config = configure(None, {"data": {"format": "numbers"}, "run": {"output": "x"}})
    assert config.method.name == "forward" and [
        config.selection.cut(0).keep(d) for d in (405, 7)
    ] == [50, 7]


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        (
            "[selection]\npercentile = 0.5",
            "[selection]\nnum_top_feature = 5",
            ["[selection]", "'num_top_features'?"],
        ),
        ("[selection]", "[select]", ["'select'", "'selection'?"]),
        ("[data]\n", "[data]\noutput = 'x'\n", ["[data]", "'output'", "belongs in [run]"]),
        (
            "percentile = 0.5",
            "percentile = 1.5",
            ["[selection] percentile must be a number from above 0 to 1, not 1.5"],
        ),
        ("percentile = 0.5", "percentile = 0.5\nnum_top_features = 3", ["not both"]),
        ('output = "out"', "output = 3", ["[run] output", "a text"]),
        ("[run]", "[run", ["TOML", "line 14"]),
        (
            'path = "a.arff"\nformat = "arff"',
            'path = "a"',
            ["format", "[data] format", "arff, libsvm"],
        ),
        ('output = "out"', "", ["output", "--output"]),
        ("labels = 6", "labels = 6.5", ["'labels'", "6.5"]),
    ],
)
def test_mistakes_in_the_file(file, old, new, parts):
    text = BASE.replace(old, new, 1)
    assert text != BASE
    path = file(text)
    with pytest.raises(ParameterError) as error:
        configure(path, {})
    message = str(error.value)
    for part in (*parts, *([] if "labels = 6.5" in new else [path])):
        assert part in message
    assert "\n" not in message


def test_missing_file():
    with pytest.raises(ParameterError, match=r"nowhere.toml: no such configuration file"):
        configure("nowhere.toml", {})


def test_mistaken_flags_are_named_as_flags():
    flags = {
        "data": {"format": "numbers"},
        "run": {"output": "x"},
        "selection": {"num_top_features": "0"},
    }
    with pytest.raises(
        ParameterError,
        match="--num-top-features must be a whole number, at least 1, or 'auto', not '0'",
    ):
        configure(None, flags)
    with pytest.raises(ParameterError, match=r"num-top-features.*percentile.*not both"):
        configure(None, {**flags, "selection": {"num_top_features": "2", "percentile": "0.1"}})


def test_seed_goes_to_methods_that_take_one(monkeypatch):
    from spark_mlfs.methods import METHODS
    from spark_mlfs.params import Integer, Parameter

    class Seeded(METHODS["mim"]):
        name = "seeded"
        parameters = (*METHODS["mim"].parameters, Parameter("seed", 0, Integer(0), "seed"))

    monkeypatch.setitem(METHODS._classes, "seeded", Seeded)
    flags = {
        "data": {"format": "numbers"},
        "run": {"output": "x", "seed": 5},
        "method": {"name": "seeded"},
    }
    assert configure(None, flags).request().parameters["seed"] == 5
    flags["method"]["parameters"] = {"seed": "7"}
    assert configure(None, flags).request().parameters["seed"] == 7


@pytest.mark.parametrize(
    ("format", "name", "text", "value"),
    [
        ("arff", "labels", "-6", -6),
        ("arff", "labels", "scene.xml", "scene.xml"),
        ("arff", "labels", '["a", "b"]', ["a", "b"]),
        ("arff", "labels", ["a", "b"], ["a", "b"]),
        ("arff", "binarize_labels", "true", True),
        ("arff", "ignore", "name", ["name"]),
        ("libsvm", "num_labels", "101", 101),
        ("libsvm", "num_labels", "none", None),
        ("parquet", "labels", "7", "7"),
        ("csv", "label_delimiter", ";", ";"),
        ("csv", "reader_options", '{"sep": "|"}', {"sep": "|"}),
        ("text", "min_df", "0.5", 0.5),
        ("planted", "density", "0.1", 0.1),
        ("numbers", "noise", 1, 1.0),
        ("arff", "no_such_option", "5", "5"),
    ],
)
def test_reader_options_get_their_type(format, name, text, value):
    found = accept_options(format, {name: text})[name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("format", "name", "text"),
    [("libsvm", "num_labels", "many"), ("arff", "binarize_labels", "perhaps")],
)
def test_reader_options_of_the_wrong_type(format, name, text):
    with pytest.raises(ParameterError, match=f"{name}.*{text}"):
        accept_options(format, {name: text})


def test_pairs():
    assert pairs(["a=1", "b=x=y", "a=2", "a=3", "c="], "--set") == {
        "a": ["1", "2", "3"],
        "b": "x=y",
        "c": "",
    }
    with pytest.raises(ParameterError, match="--set 'a'"):
        pairs(["a"], "--set")


@pytest.mark.parametrize(
    ("section", "flags", "mode", "level"),
    [
        (
            "percentile = 0.5",
            {"fdr": "0.2"},
            "fdr",
            0.2,
        ),  # a rate alone means its mode, and replaces the file's number
        ("percentile = 0.5", {"mode": "knockoffs"}, "knockoffs", 0.1),
        (
            'mode = "knockoffs"',
            {"fdr": 0.3},
            "knockoffs",
            0.3,
        ),  # a rate that fits the file's mode changes the rate only
        ('mode = "fdr"\nfdr = 0.2', {"mode": "fwe"}, "fwe", 0.05),
        ('mode = "fdr"\nfdr = 0.2', {"combination": "bonferroni"}, "fdr", 0.2),
        ("fpr = 0.01", {}, "fpr", 0.01),
        ('mode = "stability"\nnum_top_features = 9', {"num_top_features": 4}, "stability", 0.6),
        (
            'mode = "stability"\nnum_top_features = 9',
            {"stability_threshold": 0.9},
            "stability",
            0.9,
        ),
    ],
)
def test_selection_by_a_rule(file, section, flags, mode, level):
    text = BASE.replace("percentile = 0.5", section).replace('"jmi"', '"ridge"')
    text = text.replace('label_coding = "lp"\nnum_bins = 7', "alpha = 2")
    config = configure(file(text), {"selection": flags})
    (rule,) = (extra for extra in config.request().extras if isinstance(extra, Rule))
    assert (config.selection.mode, rule.mode, rule.level) == (mode, mode, level)
    assert config.selection.percentile is None
    assert config.selection.cut(3).rule_among(20).count == (
        flags.get("num_top_features", 9) if mode == "stability" else None
    )
    assert rule.combination == flags.get("combination", "cauchy")


def test_a_number_replaces_a_rule(file):
    text = BASE.replace("percentile = 0.5", 'mode = "fdr"\nfdr = 0.2')
    config = configure(file(text), {"selection": {"num_top_features": 3}})
    assert (
        config.selection.mode is None
        and config.request().extras == ()
        and config.selection.cut(0).keep(9) == 3
    )


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ({"mode": "holm"}, "--selection-mode must be one of 'fpr', 'fdr'"),
        ({"fdr": "1.5"}, "--fdr must be a number from above 0 to 1, not '1.5'"),
        (
            {"stability_threshold": 0.5},
            "--stability-threshold must be a number from above 0.5 to 1",
        ),
        (
            {"mode": "fwe", "fdr": 0.1},
            "--fdr goes with --selection-mode fdr or knockoffs, not --selection-mode fwe",
        ),
        (
            {"mode": "knockoffs", "combination": "cauchy"},
            "--combination goes with --selection-mode fpr, fdr or fwe, not",
        ),
        ({"mode": "fdr", "percentile": 0.1}, "--percentile or --selection-mode fdr, not both"),
        ({"mode": "fdr", "num_top_features": 5}, "--selection-mode fdr says itself how many"),
        (
            {"mode": "knockoffs"},
            "knockoffs need a method that finishes on the Gram matrix, not forward",
        ),
    ],
)
def test_mistaken_rules(selection, said):
    with pytest.raises(ParameterError) as error:
        configure(
            None, {"data": {"format": "numbers"}, "run": {"output": "x"}, "selection": selection}
        ).request()
    assert said in str(error.value)
