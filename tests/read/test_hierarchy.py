"""Hierarchical labels of Clus: paths and graphs, each label with those above, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from test_xc import HERE, rows_here, rows_there

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.frames.schema import LABELS, attribute_names
from spark_mlfs.read import load

HEADER = "@RELATION y\n@ATTRIBUTE x numeric\n@ATTRIBUTE class hierarchical {}\n@DATA\n"
NAN = [np.nan] * 4


def written(folder, listed, rows):
    file = folder / "a.arff"
    file.write_text(HEADER.format(listed) + "\n".join(rows) + "\n")
    return str(file)


@pytest.mark.parametrize(
    ("listed", "rows", "names", "labels"),
    [
        (
            "1,1/2,2,2/1",
            ["3.52,1/2", "1.35,2", "2.42,2/1@1", "1,?", "1,"],
            ["1", "1/2", "2", "2/1"],
            [[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 1], NAN, [0, 0, 0, 0]],
        ),
        (  # what is not listed itself, but implied
            "1/2, 2/1 % two leaves",
            ["1,'1/2@2'", "{0 3, 1 2/1}", "{0 3, 1 ?}", "{0 3}"],
            ["1", "1/2", "2", "2/1"],
            [[1, 1, 1, 0], [0, 0, 1, 1], NAN, [0, 0, 0, 0]],
        ),
        (  # a graph: b is below a and c
            "root/a,a/b,root/c,c/b,b/d",
            ["1,d", "1,a", "1,b@c", "1,root"],
            ["a", "b", "c", "d"],
            [[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]],
        ),
    ],
)
def test_a_label_implies_those_above(tmp_path, listed, rows, names, labels):
    path = written(tmp_path, listed, rows)
    for options in ({}, {"labels": "class"}, {"labels": ["class"]}):
        frame = load(HERE, path, "arff", **options)
        assert attribute_names(frame, LABELS) == names
        _, _, values = rows_here(frame)
        assert np.array_equal(values, labels, equal_nan=True)


@pytest.mark.parametrize(
    ("listed", "row", "options", "error", "message"),
    [
        ("1,1/2", "1,1/2@3", {}, DataError, "a.arff:5: '3' is none of the labels in the header"),
        ("1,1/2", "1,'1/2", {}, DataError, "a.arff:5: value 2 cannot be read"),
        ("", "1,1", {}, DataError, "a.arff:3: attribute 'class' lists no label; write hier"),
        ("1//2", "1,1", {}, DataError, "a.arff:3: attribute 'class': '1//2' is no path of labels"),
        ("1", "1,1", {"labels": ["x"]}, DataError, "'class' is of type hierarchical, .*ignore="),
        ("1", "1,1", {"labels": ["x", "class"]}, ParameterError, "holds all labels of a row"),
    ],
)
def test_what_is_refused(tmp_path, listed, row, options, error, message):
    with pytest.raises(error, match=message):
        rows_here(load(HERE, written(tmp_path, listed, [row]), "arff", **options))


@pytest.mark.slow
def test_spark_reads_the_same(spark, tmp_path):
    rows = ["1,1/2@2", "2,'2/1'", "3,?", "{0 2, 1 1}"]
    path = written(tmp_path, "1,1/2,2,2/1", rows)
    here = rows_here(load(HERE, path, "arff"))
    there = rows_there(load(spark, path, "arff"))
    for one, other in zip(here, there, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
