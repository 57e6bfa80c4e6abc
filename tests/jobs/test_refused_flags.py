"""Flags and configurations that are wrong, before Spark starts or without it."""

from __future__ import annotations

import pytest
from refusals import (
    LONG,
    TABLE,
    Case,
    ended,
    flags,
    params,
    select,
    told_on_spark,
    told_without_spark,
    toml,
    without_spark,
)

# ---- what is told before Spark starts ----

EARLY = [
    toml("deep brackets", "a = " + "[" * 5000 + "]" * 5000, r"r.toml:1: nested more than 16 deep"),
    toml(
        "deep tables",
        "[run]\nx = " + "{a=" * 300 + "1" + "}" * 300,
        r"r.toml:2: nested more than 16 deep",
    ),
    toml("deep dotted key", "a." * 20000 + "a = 1", r"r.toml:1: nested more than 16 deep"),
    toml(
        "deep quoted key", '"."."."' + '."a"' * 30 + " = 1", r"r.toml:1: nested more than 16 deep"
    ),
    toml("too large", "# " + "x" * (1 << 20), r"r.toml: more than 1024 KB; it is no configuration"),
    toml("a number of 5000 digits", "[run]\nseed = " + "9" * 5000, r"r.toml: not valid TOML"),
    toml(
        "not UTF-8",
        '[run]\noutput = "caf\xe9"\n'.encode("latin-1"),
        r"r.toml: cannot be read .*: it is not UTF-8",
    ),
    toml("binary", bytes(range(256)), r"r.toml: cannot be read as a configuration"),
    toml("cut", '[data]\npath = "x', r"r.toml: not valid TOML"),
    toml("key twice", "[run]\nseed = 1\nseed = 2\n", r"r.toml: not valid TOML"),
    toml(
        "unknown section",
        "[dat]\n",
        r"r.toml: the configuration has no key 'dat'; did you mean 'data'",
    ),
    toml(
        "unknown key",
        "[data]\nformt = 'csv'\n",
        r"r.toml: section \[data\] has no key 'formt'; did you mean 'format'",
    ),
    toml("section is a list", "data = [1]\n", r"r.toml: \[data\] must be a section .*, not \[1\]"),
    toml("a long wrong value", f"[run]\nseed = '{LONG}'\n", r"r.toml: \[run\] seed .{0,220}$"),
    toml("no format", "[data]\npath = 'x'\n", r"which format do the data have\?"),
    Case(
        "toml: absent",
        {},
        ["select", "--config", "{at}/r.toml"],
        2,
        r"r.toml: no such configuration file",
    ),
    Case(
        "toml: a folder",
        {"c/x": ""},
        ["select", "--config", "{at}/c"],
        2,
        r"c: cannot be read .*: Is a directory",
    ),
    flags(
        "a configuration that does not end",
        r"/dev/zero: more than 1024 KB",
        "select",
        "--config",
        "/dev/zero",
        "--output",
        "{at}/out",
    ),
    flags(
        "costs that do not end",
        r"/dev/zero: more than 262144 KB",
        *select("d.csv", "csv", "--costs", "/dev/zero"),
    ),
    toml(
        "a byte order mark", "\ufeff[data]\nformt = 'csv'\n", r"section \[data\] has no key 'formt'"
    ),
    toml(
        "a hexadecimal number of 5000 digits",
        "[run]\nseed = 0x" + "f" * 5000,
        r"r.toml: not valid TOML: Exceeds the limit",
    ),
    toml("a text that is not closed", "a = " + '\\"' * 40_000, r"r.toml: not valid TOML"),
    flags(
        "nested JSON",
        r"option 'reader_options' .* not '\[\[.{0,130}$",
        *select("d.csv", "csv", "--option", "reader_options=" + "[" * 9999),
    ),
    flags(
        "weights of nested JSON",
        r"label_weights must be",
        *select("d.csv", "csv", "--set", "label_weights=" + '{"a":' * 9999),
    ),
    flags(
        "weights of many digits",
        r"label_weights must be",
        *select("d.csv", "csv", "--set", 'label_weights={"a":' + "9" * 9999 + "}"),
    ),
    flags(
        "a screen of many digits",
        r"screen must be METHOD:COUNT",
        *select("d.csv", "csv", "--screen", "chi2:" + "9" * 5000),
    ),
    flags(
        "a screen of a raised digit",
        r"screen must be METHOD:COUNT",
        *select("d.csv", "csv", "--screen", "chi2:²"),
    ),
    flags("folds of a raised digit", r"--folds must be", *select("d.csv", "csv", "--folds", "²")),
    Case(
        "flags: costs in nested JSON",
        {"d.json": "[" * 99_999},
        select("d.csv", "csv", "--costs", "{at}/d.json"),
        2,
        r"costs_from: .* cannot be read: give a .toml",
    ),
    flags(
        "a protocol of many digits",
        r"protocol '9+",
        *(
            "evaluate",
            "--format",
            "numbers",
            "--protocol",
            "9" * 500 + "-fold",
            "--output",
            "{at}/out",
        ),
    ),
    flags(
        "a protocol of 10^14 repeats",
        r"protocol '9+x5-fold' is not known",
        *(
            "evaluate",
            "--format",
            "numbers",
            "--protocol",
            "9" * 14 + "x5-fold",
            "--output",
            "{at}/out",
        ),
    ),
    flags("no format", r"which format", "select", "--data", "{at}", "--output", "{at}/out"),
    flags(
        "no output",
        r"where should the results go",
        "select",
        "--data",
        "{at}/d.csv",
        "--format",
        "csv",
    ),
    flags(
        "option without =",
        r"--option 'labels': write it as",
        *select("d.csv", "csv", *TABLE, "--option", "labels"),
    ),
    flags(
        "reader option of a wrong type",
        r"option 'missing' of format 'csv' must be one of 'error', 'mean', 'zero', 'drop', 'keep', not",
        *select("d.csv", "csv", "--option", "missing=[1"),
        "--option",
        "missing=2",
    ),
    flags(
        "reader options that are none",
        r"""option 'reader_options' of format 'csv' must be an object of texts, such as \{"sep": ";"\}, or None, not 'x'""",
        *select("d.csv", "csv", "--option", "reader_options=x"),
    ),
    flags("unknown command", r"there is no command 'selct'; did you mean select\?", "selct"),
    flags(
        "empty output", r"where should the results go\?", *select("d.csv", "csv", *TABLE)[:-1], ""
    ),
    flags(
        "home of the output",
        r"~/x: only a shell knows ~, and only",
        *select("d.csv", "csv", *TABLE)[:-1],
        "~/x",
    ),
    flags(
        "rate of another rule",
        r"--fdr goes with --selection-mode fdr or knockoffs, not --selection-mode fwe",
        *select("d.csv", "csv", *TABLE, "--selection-mode", "fwe", "--fdr", "0.1"),
    ),
    flags(
        "rule that is none",
        r"--selection-mode must be one of 'fpr', .* not 'best'",
        *select("d.csv", "csv", "--selection-mode", "best"),
    ),
    flags(
        "parameters of no classifier",
        r"--classifier-set needs a --classifier",
        *select("d.csv", "csv", *TABLE, "--classifier-set", "k=3"),
    ),
    toml(
        "parameters of no classifier",
        "[data]\nformat = 'numbers'\n[classifier]\nparameters = {k = 3}\n",
        r"r.toml: \[classifier\] parameters need a name",
    ),
    flags(
        "seed that is no number",
        r"--seed must be a whole number, not 'x'",
        *select("d.csv", "csv", "--seed", "x"),
    ),
    flags(
        "unknown flag",
        r"unknown argument --feature; did you mean --features",
        *select("d.csv", "csv", "--feature", "a"),
    ),
    flags(
        "a reader's option as a flag",
        r"unknown argument --label-delimiter: it is an option of readers, --option label_delim",
        *select("d.csv", "csv", "--label-delimiter", ";"),
    ),
    flags(
        "output is the input",
        r"the output .* is, or lies in, the input",
        "select",
        "--data",
        "{at}",
        "--format",
        "csv",
        "--output",
        "{at}/out",
    ),
    flags(
        "score without model",
        r"score needs --model",
        "score",
        "--data",
        "{at}/d.csv",
        "--format",
        "csv",
        "--output",
        "{at}/out",
    ),
    flags(
        "score as text",
        r"counts the words itself",
        "score",
        "--model",
        "m",
        "--data",
        "{at}/d.csv",
        "--format",
        "text",
        "--output",
        "{at}/out",
    ),
    flags(
        "score of an unknown format",
        r"--format 'xls' is not one of",
        "score",
        "--model",
        "m",
        "--format",
        "xls",
        "--output",
        "{at}/out",
    ),
]

# ---- what Spark must be asked for ----

CASES = [
    *(
        flags(
            f"the path {path}",
            line,
            "select",
            "--data",
            path,
            "--format",
            "csv",
            *TABLE,
            "--output",
            "{at}/out",
        )
        for path, line in (
            ("[", r"no pattern of paths"),
            ("hdfs:", r"hdfs: is no path"),
            ("hdfs:///x", r"hdfs:///x: it names no host"),
            ("hdfs://127.0.0.1:1/x", r"localhost:1 takes no connection"),
            ("hdfs://nohost.invalid/x", r"no host nohost.invalid"),
            ("abfss://a@b/c", r"this Spark has no SecureAzureBlobFileSystem"),
        )
    ),
    *(
        flags(
            f"{command} with the model {path}",
            line,
            command,
            "--model",
            path,
            "--format",
            "numbers",
            *(("--output", "{at}/out") * (command != "check")),
        )
        for command in ("transform", "score", "check", "evaluate")
        for path, line in (("[", r"no pattern of paths"), ("hdfs:", r"hdfs:.*names no host"))
    ),
    *(
        flags(
            f"the table {name[:9]}",
            r"cannot be written: Spark's own catalog takes",
            *select("d.csv", "csv", *TABLE, "--output-table", name),
        )
        for name in ("x/y", "x-y", "`a b`", "x" * 300)
    ),
    flags(
        "rows beyond 2^53",
        r"num_rows must be a whole number from 1 to .*, not 9+",
        *("sample", "documents", "--rows", "9" * 30, "--output", "{at}/out"),
    ),
    flags(
        "partitions without number",
        r"option 'num_partitions' of format '\w+' must be a whole number from 1 to 100000, or None, not '?999999999",
        *(
            "select",
            "--format",
            "numbers",
            "--option",
            "num_partitions=999999999",
            "--output",
            "{at}/out",
        ),
    ),
    flags(
        "a long value",
        r"option 'missing' of .*, not 'x{100,}…",
        *select("d.csv", "csv", *TABLE, "--option", "missing=" + "x" * 5000),
    ),
    flags(
        "no features",
        r"format 'csv' needs --features \(a column, .*\); its options are",
        *select("d.csv", "csv"),
    ),
    flags(
        "no path",
        r"format 'csv' needs --data$",
        *("select", "--format", "csv", *TABLE, "--output", "{at}/out"),
    ),
    flags(
        "a path for made rows",
        r"takes no --data \(it makes its rows\): leave it out",
        *select("d.csv", "numbers"),
    ),
    flags(
        "more features than there are",
        r"error: --num-top-features 9 but the data have 2 features; give at most 2",
        *select("d.csv", "csv", *TABLE, "--num-top-features", "9"),
    ),
    flags(
        "SQL for a table",
        r"'a; DROP TABLE b' is no name of a table",
        "select",
        "--data",
        "a; DROP TABLE b",
        "--format",
        "table",
        *TABLE,
        "--output",
        "{at}/out",
    ),
    flags(
        "a path for a table",
        r"d.csv' is no name of a table; to read a file give its format",
        *select("d.csv", "table", *TABLE),
    ),
    flags(
        "a table that is not there",
        r"no table or view 'nowhere'",
        "select",
        "--data",
        "nowhere",
        "--format",
        "table",
        *TABLE,
        "--output",
        "{at}/out",
    ),
    flags(
        "text without source",
        r"format 'text' reads '.*/d' as the name of a table; .*source='?parquet",
        *select("d", "text", "--option", "text=a", "--labels-col", "y"),
    ),
    flags(
        "pattern that does not compile",
        r"pattern='\(' is no regular expression of RE2's \(missing \)",
        *select(
            "d.csv",
            "text",
            "--option",
            "source=csv",
            "--option",
            "text=a",
            "--option",
            "pattern=(",
            "--labels-col",
            "y",
        ),
    ),
    Case(
        "flags: unknown language",
        {"t.csv": "k,t,y\n1,a b,0\n"},
        select(
            *(
                "t.csv",
                "text",
                "--option",
                "source=csv",
                "--option",
                "text=t",
                "--option",
                "stop_words=klingon",
            ),
            *("--labels-col", "y"),
        ),
        2,
        r"stop_words='klingon'",
    ),
]


@pytest.mark.parametrize("case", without_spark(CASES, {}))
def test_told_in_one_line_without_spark(case, tmp_path, capfd):
    told_without_spark(case, tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("case", params(CASES))
def test_told_in_one_line(case, spark, tmp_path, capfd):
    told_on_spark(case, spark, tmp_path, capfd)


@pytest.mark.parametrize("case", params(EARLY))
def test_told_before_spark_starts(case, tmp_path, capfd, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("spark_mlfs.cli.work.local_session", never)
    ended(case, None, tmp_path, capfd)
