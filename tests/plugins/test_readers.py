"""A format of another package works everywhere: registry, function, command line, TOML; its options
are checked."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path

import pytest

import spark_mlfs
from spark_mlfs import ParameterError, cli
from spark_mlfs.formats import READERS, Reader, accept_options, format_of, tabular
from spark_mlfs.params import REQUIRED

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example as an installed distribution with entry points."""
    site = tmp_path_factory.mktemp("site")
    (site / "mlfs_pairs.py").write_text((HERE / "mlfs_pairs.py").read_text())
    info = site / "mlfs_pairs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mlfs-pairs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[spark_mlfs.readers]\npairs = mlfs_pairs:Pairs\norc = mlfs_pairs:Orc\n"
    )
    sys.path.insert(0, str(site))
    READERS.reload()
    yield
    sys.path.remove(str(site))
    READERS.reload()
    assert "pairs" not in READERS


@pytest.fixture
def lines(tmp_path):
    """Twelve rows of the format."""
    path = tmp_path / "rows.txt"
    path.write_text("a|red\na,b|red green\nb|green\nc|blue\n" * 3)
    return str(path)


def test_the_registry_knows_it(installed):
    assert list(READERS)[-2:] == ["pairs", "orc"] and tabular("orc") and not tabular("pairs")
    with pytest.raises(
        ParameterError,
        match=r"there is no format 'pear'; did you mean 'pairs'\? formats are arff, .*, orc$",
    ):
        READERS.create("pear")
    call = spark_mlfs.read.pairs
    assert (
        str(inspect.signature(call)) == "(spark, path, words, mark='|')"
        and "what stands between words" in call.__doc__
    )
    with pytest.raises(AttributeError):
        _ = spark_mlfs.read.pear


@pytest.mark.parametrize("name", ["arff", "libsvm", "numbers", "planted", "table", "text"])
def test_functions_of_the_formats_here_say_their_options(name):
    told = getattr(spark_mlfs.read, name).__doc__
    assert all(parameter.name in told for parameter in READERS[name].parameters)


def test_every_format_says_what_it_takes():
    for name, reader in READERS.items():
        assert issubclass(reader, Reader) and reader.name == name and reader.title
        for parameter in reader.parameters:
            assert parameter.doc and str(parameter.constraint)
            if parameter.default is not REQUIRED and parameter.default != ():
                assert reader().accept({parameter.name: parameter.default}) == {
                    parameter.name: parameter.default
                }


def test_names_of_files_say_their_format():
    for name in ("a.csv", "b/C.CSV.gz", "*.csv.bz2", ["a.csv", "b.csv"]):
        assert format_of(name) == "csv"
    assert [format_of(f"x.{end}") for end in ("arff.gz", "svm", "jsonl", "parquet")] == [
        "arff",
        "libsvm",
        "json",
        "parquet",
    ]
    assert {format_of(what) for what in (None, [], "x", "x.txt", "csv", ["a.csv", "a.json"])} == {
        None
    }


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (
            "x",
            {"words": ["a"], "mark": "!"},
            r"option 'mark' of format 'pairs' must be one of '\|', ';', not '!'",
        ),
        (
            "x",
            {"words": ["a"], "marks": "|"},
            "option 'marks' is not known for format 'pairs'; its options are words, mark",
        ),
        ("x", {}, r"format 'pairs' needs words \(.*\); its options are words, mark"),
        (None, {"words": ["a"]}, "format 'pairs' needs path"),
    ],
)
def test_its_options_are_checked(installed, path, options, message):
    with pytest.raises(ParameterError, match=message):
        spark_mlfs.read.load(None, path, "pairs", **options)
    assert accept_options("pairs", {"words": "a"}) == {"words": ["a"]}


@pytest.mark.slow
def test_it_is_read(installed, spark, lines, tmp_path):
    frame = spark_mlfs.read.pairs(spark, lines, ["a", "b", "c"])
    same = spark_mlfs.read.load(spark, lines, "pairs", words=["a", "b", "c"], mark="|")
    assert frame.collect() == same.collect() and frame.count() == 12
    spark.createDataFrame([(1.0, 0.0, 1), (0.0, 1.0, 0)], "a double, b double, y int").write.orc(
        str(tmp_path / "orc")
    )
    orc = spark_mlfs.read.load(
        spark, str(tmp_path / "orc"), "orc", features=["a", "b"], labels=["y"]
    )
    assert sorted(row.features.tolist() for row in orc.collect()) == [[0.0, 1.0], [1.0, 0.0]]


@pytest.mark.slow
def test_command_line_and_toml(installed, spark, lines, tmp_path, capsys):
    words = ["--option", "words=a", "--option", "words=b", "--option", "words=c"]
    command = [
        "select",
        "--data",
        lines,
        "--method",
        "mim",
        "--num-top-features",
        "2",
        "--no-report",
    ]
    assert (
        cli.main([*command, "--format", "pairs", *words, "--output", str(tmp_path / "flags")]) == 0
    )
    toml = (
        f'[data]\npath = "{lines}"\nformat = "pairs"\n[data.options]\nwords = ["a", "b", '
        '"c"]\n[method]\nname = "mim"\n'
    )
    (tmp_path / "run.toml").write_text(toml)
    run = [
        "--config",
        str(tmp_path / "run.toml"),
        "--output",
        str(tmp_path / "toml"),
        "--num-top-features",
        "2",
        "--no-report",
    ]
    assert cli.main(["select", *run]) == 0
    rankings = [(tmp_path / name / "ranking.csv").read_text() for name in ("flags", "toml")]
    assert rankings[0] == rankings[1] and {"a", "b"} < set(
        rankings[0].replace("\n", ",").split(",")
    )
    assert (
        json.loads((tmp_path / "toml" / "manifest.json").read_text())["data"]["format"] == "pairs"
    )
    capsys.readouterr()
    assert (
        cli.main(
            [
                *command,
                "--format",
                "pairs",
                *words,
                "--option",
                "mark=!",
                "--output",
                str(tmp_path / "no"),
            ]
        )
        != 0
    )
    assert "option 'mark' of format 'pairs' must be one of" in capsys.readouterr().err
    assert cli.main(["methods", "pairs"]) == 0
    assert "what stands between words and tags" in capsys.readouterr().out
    assert cli.main(["select", "--help"]) == 0
    assert "pairs, orc" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("format", "name", "text", "typed", "at_the_command_line"),
    [
        ("csv", "id", "none", "none", None),
        ("csv", "features", "[a]", "[a]", "[a]"),
        ("csv", "label_names", "ab", None, ["ab"]),
        ("text", "vocabulary", '["a", "b"]', None, ["a", "b"]),
        ("arff", "labels", "3", None, 3),
        ("arff", "ignore", "c", ["c"], ["c"]),
        ("libsvm", "num_labels", "7", None, 7),
    ],
)
def test_a_text_of_python_stays_one(format, name, text, typed, at_the_command_line):
    assert accept_options(format, {name: text}) == {name: at_the_command_line}
    if typed is not None:
        assert READERS[format]().accept({name: text}, typed=True) == {name: typed}
    else:
        with pytest.raises(ParameterError, match=f"option '{name}' of format '{format}' must be"):
            READERS[format]().accept({name: text}, typed=True)
