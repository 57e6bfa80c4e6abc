"""Readers and configurations on thousands of made-up inputs: only the library's own errors, and
time that grows with the length.

No Spark: the parsers of a task are called as a task calls them. Inputs are drawn from the pieces
the formats are made of, so that most get past the first character."""

from __future__ import annotations

import importlib
import json
import os
import time
import tracemalloc
import warnings
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spark_mlfs import params
from spark_mlfs.blocks.codec import decode, encode
from spark_mlfs.cli.command import _user_error, spelling_of
from spark_mlfs.cli.config import RunConfig, configure
from spark_mlfs.errors import SparkMlfsError, spelled
from spark_mlfs.formats import accept_options
from spark_mlfs.output.folder import _inside
from spark_mlfs.read.arff import Plan, _parse
from spark_mlfs.read.arff_header import label_names_of_xml, labels_of_relation, parse_header
from spark_mlfs.read.cells import Irregular
from spark_mlfs.read.lines import Lines
from spark_mlfs.sections import _too_deep
from spark_mlfs.select.constraints import PARAMETERS, Constraints, places

arff, svm = (importlib.import_module(f"spark_mlfs.read.{name}") for name in ("arff", "libsvm"))

COUNT = 2000 if os.environ.get("MLFS_SLOW") == "all" else 250  # inputs of each target
FUZZ = settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def built(*pieces: str, most: int = 40) -> st.SearchStrategy[str]:
    """Texts of the given pieces, now and then with any other character among them."""
    return st.lists(
        st.one_of(st.sampled_from(pieces), st.sampled_from(pieces), st.text(max_size=3)),
        max_size=most,
    ).map("".join)


def no_newline(text: str) -> str:
    return text.replace("\n", " ")


def lines(rows: list[str]) -> Lines:
    kept = [row.strip() for row in map(no_newline, rows)]
    kept = [row for row in kept if row and row.isprintable() and "\ud800" > max(row)] or ["1,x,0"]
    return Lines(pa.array(kept, pa.string()), np.arange(6, 6 + len(kept)), "f.arff")


HEADER = parse_header(
    [
        "@relation r",
        "@attribute a numeric",
        "@attribute c {x,'y z','1'}",
        "@attribute y {0,1}",
        "@attribute s string",
        "@data",
    ],
    "f",
)
PLANS = [
    Plan(HEADER, {"y"}, ["s"], how, binarize, missing, lacking)
    for how, binarize, missing, lacking in (
        ("index", False, "zero", ()),
        ("onehot", True, "drop", ()),
        ("onehot", True, "zero", ["c"]),
        ("codes", False, "error", ()),
    )
]
VALUE = (
    "0",
    "1",
    "-2.5e3",
    "x",
    "'y z'",
    '"x"',
    "?",
    "'?'",
    "",
    "'1'",
    "1e999",
    "nan",
    "0x1",
    "\\'",
    "'",
    '"',
    "9" * 30,
)
ROW = (*VALUE, ",", ",", ",", " ", "{", "}", "{0 1", ",1 'y z'", ",2 1}", "%", "\t", "4 ", "é")
RIGHT = st.sampled_from(["1,x,0,s", "2,'y z',1,'s'", "{0 5,2 1}", "{}", "{,1 1}", "?,1,?,t"])
# A right row but for one value, which may be of two pieces: what a fast and a slow reader could
# take differently.
CELLS = st.builds(
    lambda place, value: ",".join(value if k == place else right for k, right in enumerate("1x0s")),
    st.integers(0, 3),
    st.one_of(
        st.sampled_from(VALUE),
        st.tuples(st.sampled_from(VALUE), st.sampled_from(VALUE)).map("".join),
    ),
)


@FUZZ
@given(
    st.lists(st.one_of(RIGHT, CELLS, CELLS, built(*ROW, most=12)), min_size=1, max_size=3),
    st.sampled_from(PLANS),
)
def test_arff_rows(rows, plan):
    batch = lines(rows)
    try:
        kept, features, labels = _parse(batch, plan)
    except SparkMlfsError as error:
        assert "f.arff:" in str(error) and len(str(error)) < 500
        return
    assert len(features) == len(labels) == len(kept) <= len(batch.text)
    assert np.isfinite(features.values).all() and set(labels.values[~np.isnan(labels.values)]) <= {
        1.0
    }
    # Line by line the rows mean the same as all at once.
    with (
        mock.patch.object(arff, "_dense", side_effect=Irregular),
        mock.patch.object(arff, "_sparse", side_effect=Irregular),
    ):
        slowly, x, y = _parse(batch, plan)
    assert kept.tolist() == slowly.tolist() and features.lengths.tolist() == x.lengths.tolist()
    assert np.array_equal(features.values, x.values) and np.array_equal(features.indices, x.indices)
    assert np.array_equal(labels.values, y.values, equal_nan=True) and np.array_equal(
        labels.indices, y.indices
    )


HEAD = (
    *(
        "@relation ",
        "@attribute ",
        "@ATTRIBUTE ",
        "@data",
        "\n",
        "\n",
        "\n",
        "a",
        "b ",
        "'c d'",
        '"e"',
        " numeric",
        " real",
        " string",
    ),
    *(
        " {0,1}",
        " {",
        "}",
        ",",
        "x",
        "'",
        '"',
        "\\",
        "%",
        " ",
        "\t",
        "'r: -C 2'",
        "-C",
        ":",
        "date 'y'",
        "[0,1]",
        "\ufeff",
    ),
)


@FUZZ
@given(built(*HEAD))
def test_arff_headers(text):
    try:
        header = parse_header(text.split("\n"), "f")
    except SparkMlfsError as error:
        assert str(error).startswith("f:") and len(str(error)) < 500
        return
    names = [a.name for a in header.attributes]
    assert len(set(names)) == len(names) and all(name.strip() for name in names)
    n = labels_of_relation(header.relation)
    assert n is None or f"-C {n}" in " ".join(header.relation.replace(":", ": ").split())


SVM = (
    "1",
    "0",
    ",",
    ",",
    ":",
    ":",
    " ",
    " ",
    "1:2 ",
    "3:0.5",
    "-1",
    "1e9",
    "99999999999",
    "x",
    "#",
    "2:",
    "\t",
    "+1",
    "1.5",
    "0 2:1 1:1",
    "?",
)


@FUZZ
@given(
    st.lists(built(*SVM, most=12), min_size=1, max_size=4),
    st.sampled_from([(0, 1, None, None), (1, 0, 5, 4)]),
)
def test_libsvm_rows(rows, plan):
    label_base, feature_base, num_features, num_labels = plan
    batch = lines(rows)
    sizes = {
        "num_features": num_features or svm.MAX_FEATURES,
        "num_labels": num_labels or svm.MAX_LABELS,
    }
    try:
        _, features, labels = svm._parse(
            batch, label_base=label_base, feature_base=feature_base, **sizes
        )
    except SparkMlfsError as error:
        assert "f.arff:" in str(error) and len(str(error)) < 500
        return
    assert np.isfinite(features.values).all() and (labels.values == 1).all()
    with mock.patch.object(svm, "_fast", side_effect=Irregular):
        _, *slowly = svm._parse(batch, label_base=label_base, feature_base=feature_base, **sizes)
    for fast, slow in zip((features, labels), slowly, strict=True):
        assert all(
            np.array_equal(getattr(fast, part), getattr(slow, part))
            for part in ("lengths", "indices", "values")
        )
    for vectors in (features, labels):
        assert len(np.unique(vectors.rows * (1 << 25) + vectors.indices)) == len(vectors.indices)
        assert not len(vectors.indices) or (
            vectors.indices.min() >= 0 and vectors.indices.max() < vectors.size
        )


TAGS = (
    *(
        "<labels>",
        "</labels>",
        "<label name='a'>",
        "<label name='b'/>",
        "</label>",
        '<label name="',
        '"/>',
        "<x>",
        "</x>",
        "&amp;",
        "&lt",
    ),
    *(
        "<!-- c -->",
        "<![CDATA[",
        "]]>",
        "<?xml version='1.0' encoding='latin-1'?>",
        "<!DOCTYPE a [",
        "<!ENTITY a 'b'>",
        "]>",
        "&a;",
        " ",
    ),
)


@FUZZ
@given(built(*TAGS, most=16), st.sampled_from(["utf-8", "latin-1", "utf-16"]))
def test_label_xml(text, encoding):
    try:
        every, leaves = label_names_of_xml(text.encode(encoding, "replace"), "l.xml")
    except SparkMlfsError as error:
        assert str(error).startswith("l.xml: ") and len(str(error)) < 500
        return
    assert set(leaves) <= set(every) and all(name.strip() for name in every)


@FUZZ
@given(st.binary(max_size=200))
def test_label_xml_of_any_bytes(content):
    with pytest.raises(SparkMlfsError, match=r"^l.xml: "):
        label_names_of_xml(content, "l.xml")


TOML = (
    *(
        "[data]",
        "[run]",
        "[method]",
        "[selection]",
        "[classifier]",
        "[[data]]",
        "\n",
        "\n",
        "\n",
        "path",
        "format",
        "options",
        "name",
    ),
    *(
        " = ",
        " = ",
        "'csv'",
        '"jmi"',
        "1",
        "-1",
        "0.5",
        "true",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        "#",
        '"""',
        "num_top_features",
        "percentile",
    ),
    *(
        "[constraints]",
        "include",
        "costs",
        "groups",
        "budget",
        "grid",
        "0x" + "f" * 4000,
        "\ufeff",
        "\\u0000",
    ),
    *(
        "seed",
        "output",
        "1979-05-27",
        "nan",
        "inf",
        "9" * 30,
        "mode",
        "'fdr'",
        "parameters",
        "grid",
        "\\u0041",
        '"',
        "'",
    ),
)


@FUZZ
@given(text=built(*TOML))
def test_toml(tmp_path_factory, text):
    file = tmp_path_factory.getbasetemp() / "fuzz.toml"
    file.write_bytes(text.encode("utf-8", "replace"))
    try:
        config = configure(str(file), {"data": {"format": "csv"}, "run": {"output": "out"}})
    except SparkMlfsError as error:
        assert len(str(error)) < 900
        return
    assert config.data.format == "csv" and config.run.output == "out"


LISTS = (
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ",",
        ":",
        '"name"',
        '"a"',
        '"*"',
        "name",
        "cost",
        "group",
        ",group",
        "name,cost",
        "\n",
        "\n",
        "1",
        "0",
    ),
    *(
        "-1",
        "0.5",
        "1e999",
        "NaN",
        "null",
        "true",
        "a = 1",
        "a = ['b']",
        "'",
        '"',
        "\ufeff",
        "\0",
        "\r",
        "9" * 5000,
        "[" * 5000,
    ),
    *(
        '{"a":' * 5000,
        '{"a": [1, "b"]}',
        '{"a": 2, "*": 1}',
        "name,cost\na,2\n",
        "name,group\na,g\nb\n",
        "[" * 900 + "]" * 900,
    ),
)


@FUZZ
@given(text=built(*LISTS, most=8), kind=st.sampled_from(["csv", "json", "toml", "txt"]))
def test_lists_of_features(tmp_path_factory, text, kind):
    file = tmp_path_factory.getbasetemp() / f"fuzz.{kind}"
    file.write_bytes(text.encode("utf-8", "replace"))
    for what in ("include", "groups", "costs"):
        try:
            held = RunConfig.of({"constraints": {f"{what}_from": str(file)}}).constraints
            held.complete()
            constraints = Constraints.of(held.as_dict())
            if constraints is not None:
                constraints.resolve(["a", "b", "c"])
        except SparkMlfsError as error:
            assert len(str(error)) < 900


@FUZZ
@given(text=built(*LISTS, most=6))
def test_values_of_the_command_line(text):
    for check in (
        lambda: RunConfig.of({"method": {"parameters": {"label_weights": text}}}).request(),
        lambda: accept_options("csv", {"reader_options": text}),
        lambda: accept_options("arff", {"labels": text}),
        lambda: params.check(
            PARAMETERS, {"costs": text, "include": text, "groups": text}, "the constraints"
        ),
    ):
        try:
            check()
        except SparkMlfsError as error:
            assert len(str(error)) < 900


# ---- saved states ----

STATE = {
    "x": np.arange(12, dtype=np.float32).reshape(3, 4),
    "bits": np.arange(9, dtype=np.uint8),
    "s": sp.random(5, 7, 0.4, format="csr", random_state=0),
    "none": np.zeros((0, 3)),
    "k": 3,
    "names": ["a", "b"],
}
ENCODED = bytes(encode(STATE))
HEADER_END = 8 + int.from_bytes(ENCODED[:8], "little")
SPECS = json.loads(ENCODED[8:HEADER_END])
SPEC = st.recursive(
    st.one_of(
        st.sampled_from(["<f8", "<f4", "|u1", "<i4", "<i8", "|b1", "|O8", "<U3", "|V4", "<M8[s]", "i4,i4", "", "a", "s", "v"]),
        st.integers(-3, 12), st.sampled_from([1 << 31, 1 << 40, 1 << 62, 1 << 70, -(1 << 63)]),
        st.none(), st.booleans(), st.floats(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["a", "s", "v", "x"]), inner, max_size=2),
        st.tuples(inner, st.lists(inner, max_size=3), inner).map(list),
    ),
    max_leaves=12,
)  # fmt: skip


def check_decoded(data: bytes) -> None:
    """A state whose arrays lie within the bytes, or the library's own error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            state = decode(data)
    except SparkMlfsError as error:
        assert str(error).startswith("a state is damaged: ") and len(str(error)) < 300
        return
    assert all(isinstance(name, str) for name in state)
    for value in state.values():
        if isinstance(value, np.ndarray):
            assert value.nbytes <= len(data) and value.dtype.kind in "biufcSU"
        elif sp.issparse(value):
            assert (
                value.data.nbytes + value.indices.nbytes + value.indptr.nbytes <= 3 * len(data) + 64
            )
            assert (
                value.indptr[0] == 0
                and value.indptr[-1] <= len(value.indices)
                and len(value.indptr) == value.shape[0] + 1
            )


@FUZZ
@given(
    st.lists(
        st.tuples(st.integers(0, len(ENCODED) - 1), st.integers(0, 255)), min_size=1, max_size=6
    ),
    st.integers(0, 40),
)
def test_bytes_of_a_saved_state(changes, cut):
    data = bytearray(ENCODED[: len(ENCODED) - cut])
    for at, byte in changes:
        if at < len(data):
            data[at] = byte
    check_decoded(bytes(data))


@FUZZ
@example("bits", [[], ["<f8", 1 << 40], None], "a")  # a shape that is text, repeated
@example("bits", ["<f8", ["x", 1 << 40], 0], "a")
@example("bits", ["a", [], 0], "a")  # an alias that NumPy warns of
@example("bits", ["<U4", [1 << 62, 1 << 62], 0], "a")
@given(st.sampled_from(sorted(SPECS)), SPEC, st.sampled_from(["a", "s", "v", None]))
def test_header_of_a_saved_state(name, spec, kind):
    head = json.dumps({**SPECS, name: spec if kind is None else {kind: spec}}).encode()
    start = -(-(8 + len(head)) // 16) * 16
    body = ENCODED[-(-HEADER_END // 16) * 16 :]
    check_decoded(len(head).to_bytes(8, "little") + head.ljust(start - 8) + body)


@FUZZ
@given(st.binary(max_size=200))
def test_any_bytes_as_a_saved_state(content):
    with pytest.raises(SparkMlfsError, match=r"^a state is damaged: "):
        decode(content)


# ---- time and memory grow with the length ----


def shapes(n: int) -> dict[str, str]:
    """Lines of about n characters that made a backtracking parser take the square or cube of their
    length, and their kin."""
    b = " " * n
    return {
        "blanks in a pair": "{0 " + b,
        "blanks around": "{0" + b[: n // 2] + "1" + b[: n // 2] + "}",
        "blanks then junk": "{0 1}" + b + "x",
        "blanks between": "1" + b + "2",
        "other white space": "\t \x0b" * (n // 3),
        "open quote and escapes": "{0 '" + "\\'" * (n // 2),
        "backslashes": "'" + "\\" * n,
        "quotes": "'" * n,
        "both quotes": "\"'" * (n // 2),
        "quoted values": "'a'," * (n // 4),
        "commas": "{" + "," * n + "}",
        "braces": "{" * n,
        "closing braces": "}" * n,
        "brackets": "[" * n,
        "open text and escapes": '"' + '\\"' * (n // 2),
        "signs of a pattern": "*[?" * (n // 3),
        "dots and blanks": ". " * (n // 4) + b[: n // 2],
        "pairs": "{" + "0 1," * (n // 4) + "}",
        "values": "1," * (n // 2),
        "digits": "1" * n,
        "an index of digits": "{" + "9" * n + " 1}",
        "comment": "%" * n,
        "colons": "1:" * (n // 2),
        "labels": "1," * (n // 2) + "1:2",
        "features": "1 " + "1:1 " * (n // 4),
        "hashes": "#" * n,
        "letters": "x" * n,
    }


def parsers(line: str) -> dict[str, object]:
    batch = Lines(pa.array([line]), np.array([1]), "f")
    return {
        "arff row": lambda: _parse(batch, PLANS[0]),
        "libsvm row": lambda: svm._parse(
            batch, num_features=10, num_labels=3, label_base=0, feature_base=1
        ),
        "attribute": lambda: parse_header(["@attribute " + line], "f"),
        "categories": lambda: parse_header(["@attribute a {" + line + "}"], "f"),
        "after a type": lambda: parse_header(["@attribute a numeric " + line], "f"),
        "header": lambda: parse_header([line], "f"),
        "relation": lambda: labels_of_relation(line),
        "xml": lambda: label_names_of_xml(("<a>" + line).encode(), "f"),
        "toml": lambda: _too_deep(line),
        "error of Spark": lambda: _user_error(
            Exception("Encountered error while reading file " + line)
        ),
        "error of Spark, often": lambda: _user_error(
            Exception("Encountered error while reading file " * (len(line) // 37))
        ),
        "line to the terminal": lambda: spelled(line, spelling_of(["--format", "csv"], ())),
        "marks to the terminal": lambda: spelled(
            "❲a={" * (len(line) // 4), spelling_of(["--format", "csv"], ())
        ),
        "pattern": lambda: places("include", [line], {"a" * 1000: 0}),
        "pattern of a path": lambda: _inside("/" + "a" * 1000, "/" + line),
    }


def seconds(call) -> float:
    started = time.process_time()
    try:
        call()
    except SparkMlfsError as error:
        assert len(str(error)) < 500
    return time.process_time() - started


@pytest.mark.slow
@pytest.mark.parametrize("shape", shapes(8))
def test_a_line_of_half_a_megabyte_takes_linear_time(shape):
    """Eight times the characters take about eight times as long; the square would be 64 times, the
    cube 512."""
    short, long = shapes(1 << 16)[shape], shapes(1 << 19)[shape]
    small = parsers(short)
    for name, call in parsers(long).items():
        taken = seconds(call)
        assert taken < 0.25 or taken < 24 * min(seconds(small[name]) for _ in range(2)), (
            name,
            taken,
        )


def test_deep_and_wide_toml_is_refused_at_once(tmp_path):
    for text in (
        "a." * 400_000 + "a = 1",
        "a = " + "[" * 500_000,
        '"a".' * 200_000 + "a = 1",
        "a = '''" + "x" * 2_000_000,
        "[" + "a." * 300_000,
    ):
        file = tmp_path / "a.toml"
        file.write_text(text)
        tracemalloc.start()
        try:
            taken = seconds(lambda file=file: configure(str(file), {}))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert taken < 10 and peak < 64 << 20


def test_deep_xml_is_read_or_refused(tmp_path):
    assert label_names_of_xml(b"<label name='a'>" * 20_000 + b"</label>" * 20_000, "l.xml")[1] == [
        "a"
    ]
    assert seconds(lambda: label_names_of_xml(b"<a>" * 500_000, "l.xml")) < 10
