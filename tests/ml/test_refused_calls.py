"""Calls from Python that are wrong, and saved things that are damaged."""

from __future__ import annotations

import pytest
from refusals import (
    Case,
    params,
    python,
    rows,
    told_on_spark,
    told_without_spark,
    without_spark,
)

from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.read import arff, libsvm, load, table, text

CASES = [
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
]


@pytest.mark.parametrize("case", without_spark(CASES, {}))
def test_told_in_one_line_without_spark(case, tmp_path, capfd):
    told_without_spark(case, tmp_path, capfd)


@pytest.mark.slow
@pytest.mark.parametrize("case", params(CASES))
def test_told_in_one_line(case, spark, tmp_path, capfd):
    told_on_spark(case, spark, tmp_path, capfd)
