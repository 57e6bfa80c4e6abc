"""The table of commands: a command is a file and a line; what a reader tells is one line of
ours."""

from __future__ import annotations

import sys
import types
import warnings

import pytest

from spark_mlfs import cli
from spark_mlfs.cli import command, terminal, work
from spark_mlfs.errors import DataError, DataNotice, ParameterError


@pytest.fixture
def made_up(monkeypatch):
    """A command `count-words`, listed by its module's name; the module."""
    module = types.ModuleType("spark_mlfs.cli.count_words")

    def add_arguments(parser):
        parser.add_argument("words", nargs="*")

    def run(args):
        print(len(args.words))
        return terminal.OK

    module.add_arguments, module.run = add_arguments, run
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(
        command, "COMMANDS", {**command.COMMANDS, "count_words": "count the words of a line"}
    )
    return module


def test_a_command_is_a_module_and_a_line(made_up, capsys):
    assert cli.main(["count-words", "a", "b"]) == 0 and capsys.readouterr().out == "2\n"
    assert cli.main(["--help"]) == 0
    assert "count-words" in capsys.readouterr().out
    assert cli.main(["count-words", "--word"]) == 2
    assert "unknown argument --word" in capsys.readouterr().err


def test_errors_of_a_command_become_one_line(made_up, capsys):
    def refuse(args):
        raise DataError("a.csv: two\n  lines")

    made_up.run = refuse
    assert cli.main(["count-words"]) == 2
    assert capsys.readouterr().err == "spark-mlfs: error: a.csv: two lines\n"


def test_notices_are_lines_of_ours_and_other_warnings_are_left(made_up, capsys):
    def run(args):
        warnings.warn(DataNotice("2 rows are empty;\n they were left out"), stacklevel=1)
        warnings.warn("something else", stacklevel=1)
        print("the work", file=sys.stderr)
        return terminal.OK

    made_up.run = run
    usual = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        others = []
        warnings.showwarning = lambda *args, **more: others.append(str(args[0]))
        assert cli.main(["count-words"]) == 0
    last = "spark-mlfs: note: 2 rows are empty; they were left out\n"
    assert capsys.readouterr().err == "the work\n" + last
    assert others == ["something else"] and warnings.showwarning is usual


class Loader:
    """Stands for `MultiLabelSelectorModel`: loads what `held` says of a path, as the reader
    does."""

    def __init__(self, held):
        self.held = held

    def load(self, path):
        value = self.held.get(path, ValueError("[PATH_NOT_FOUND] Path does not exist: " + path))
        if not isinstance(value, Exception):
            return value
        if isinstance(value, ParameterError):
            raise value
        raise ParameterError(f"{path!r} holds nothing that was saved") from value


@pytest.mark.parametrize(
    ("held", "where"),
    [
        ({"run": "the model"}, "run"),
        ({"run/model": "the model"}, "run/model"),
        ({"run": ValueError("no JSON"), "run/model": "the model"}, "run/model"),
    ],
)
def test_a_saved_selection_is_at_the_path_or_in_its_model_folder(monkeypatch, held, where):
    monkeypatch.setattr("spark_mlfs.ml.selectors.MultiLabelSelectorModel", Loader(held))
    assert work.load_model("run/") == ("the model", where)


@pytest.mark.parametrize(
    ("held", "line"),
    [
        ({}, "no saved selection at run; give the model/ folder"),
        ({"run": ValueError("no JSON")}, "'run' holds nothing that was saved"),
        ({"run/model": ValueError("no JSON")}, "'run/model' holds nothing that was saved"),
        (
            {"run": ParameterError("'run' holds a StringIndexerModel"), "run/model": "the model"},
            "holds a StringIndexerModel",
        ),
    ],
)
def test_where_no_selection_is_saved(monkeypatch, held, line):
    monkeypatch.setattr("spark_mlfs.ml.selectors.MultiLabelSelectorModel", Loader(held))
    with pytest.raises(ParameterError, match=line):
        work.load_model("run")
