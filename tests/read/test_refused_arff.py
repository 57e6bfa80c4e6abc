"""ARFF files that are wrong, and odd ones that are read rightly."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from refusals import (
    CAFE,
    GOOD,
    LONG,
    XML,
    arff_head,
    arff_labels,
    arff_row,
    cut,
    for_spark,
    put,
    rows,
    told_on_spark,
    told_without_spark,
    without_spark,
)

from spark_mlfs.read import arff, libsvm

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
        r"d.arff:2: attribute 'a' is of type string, .*drop it with (ignore='a'|--option ignore=a) or ",
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
]
# what it should say as Spark does: a remedy is not spelled as the command line has it, is absent,
# or there is a traceback
LESS_WELL = ("arff labels: absent XML",)


@pytest.mark.parametrize("case", without_spark(CASES, {}, LESS_WELL))
def test_told_in_one_line_without_spark(case, tmp_path, capfd):
    told_without_spark(case, tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("case", for_spark(CASES, ("arff",)))
def test_told_in_one_line(case, spark, tmp_path, capfd):
    told_on_spark(case, spark, tmp_path, capfd)


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
        assert attribute_names(frame, LABELS) == ["café"]
        put(tmp_path, {"d.svm": "0 1:2\n1 2:1\n", "n.txt": "café\nnaïve\n".encode(encoding)})
        named = libsvm(spark, str(tmp_path / "d.svm"), feature_names=str(tmp_path / "n.txt"))
        assert attribute_names(named, FEATURES) == ["café", "naïve"]
    assert cells(frame) == [([1], [0]), ([2], [1])]
    put(
        tmp_path,
        {
            "n.arff": "@relation r\n@attribute a {naïve,b}\n@attribute y "
            "{0,1}\n@data\nnaïve,1\nb,0\n".encode("latin-1")
        },
    )
    put(
        tmp_path,
        {
            "m.arff": "@relation r\n@attribute a {naïve,b}\n@attribute y "
            "{0,1}\n@data\nb,1\nnaïve,0\n".encode("latin-1")
        },
    )
    both = arff(spark, [str(tmp_path / "n.arff"), str(tmp_path / "m.arff")], labels=-1)
    assert cells(both) == [([0], [1]), ([1], [0]), ([1], [1]), ([0], [0])]
