"""Tables that are wrong, and odd ones that are read rightly: CSV, Parquet, JSON."""

from __future__ import annotations

import bz2
import gzip
import warnings
from typing import Any

import pyarrow as pa
import pytest
from refusals import (
    CAFE,
    CSV,
    GOOD,
    HEAD,
    MANY,
    NUMBERS,
    PARQUET,
    TABLE,
    XML,
    Case,
    csv,
    cut,
    file,
    garbled,
    notice,
    params,
    parquet,
    put,
    rows,
    select,
    told_on_spark,
    told_without_spark,
    without_spark,
)

from spark_mlfs import MIMSelector
from spark_mlfs.errors import DataError
from spark_mlfs.read import DataNotice, arff, libsvm, table
from spark_mlfs.read.tables import open_table

CASES = [
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
        r"d.parquet is a Parquet file, and no CSV: give its format",
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
        "JSON array that is cut",
        "d.json",
        '[\n{"k":1,"a":1,"b":2,"y":0},\n{"k":2,"a":1,"b":3,"y":1}\n',
        "json",
        "d.json: an array of JSON, and it is not closed: the file may be cut short",
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
    notice(
        "semicolons",
        {"d.csv": CSV.replace(",", ";")},
        lambda s, at: table(s, str(at / "d.csv"), ["a"], ["y"], "csv"),
        r"d.csv: its separator is ';', by its header",
    ),
    notice(
        "tabs",
        {"d.csv": CSV.replace(",", "\t")},
        lambda s, at: table(s, str(at / "d.csv"), ["a"], ["y"], "csv"),
        r"d.csv: its separator is '\\t', by its header",
    ),
    csv(
        "an extra cell",
        CSV + "20,1,1,1,9\n",
        r"d.csv: line 22 has 5 cells; the header has 4: a separator that is not in quotes\?",
    ),
    csv(
        "a cell too few",
        CSV + "20,1,1\n",
        r"d.csv: line 22 has 3 cells; the header has 4: a line end that is not in quotes\?",
    ),
    csv("an empty cell", CSV + "20,1,,1\n", r"row 20: feature 'b': the value is missing"),
    csv(
        "a word for a missing value",
        CSV + "20,1,NA,1\n",
        r"row 20: feature 'b': the value is missing",
    ),
    csv(
        "another word for a missing value",
        CSV + "20,1,?,1\n",
        r"'b' is string \(it holds '\?': if that is missing pass --option 'na_values=\?'\)",
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
    csv("only a header", "k,a,b,y\n", r"column 'y' holds no value in any row"),
    csv("empty", "", r"no csv data|no column|there are"),
    csv(
        "unknown encoding",
        CSV,
        r"encoding=klingon is no encoding; give utf-8, utf-16, latin-1",
        *TABLE,
        "--option",
        'reader_options={"encoding": "klingon"}',
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
        {"d.csv": "," + CSV.strip().replace("\n", "\n0,")},
        lambda s, at: table(s, str(at / "d.csv"), ["a"], ["y"], "csv"),
        r"1 column has no name in the header; it is called _c0 here",
    ),
    notice(
        "Latin-1 names",
        {"d.svm": "1 1:2\n0 1:1\n", "n.txt": "é\n".encode("latin-1")},
        lambda s, at: libsvm(s, str(at / "d.svm"), feature_names=str(at / "n.txt")),
        r"n.txt: not UTF-8, read as Latin-1",
    ),
]
# what the local engine says in words of its own (None: it reads it)
OTHER_WORDS: dict[str, str | None] = {
    "file: gz that is none": r"d.arff.gz: damaged, or not packed as its name says \(.*; test it",
    "file: bz2 that is none": r"d.arff.bz2: damaged, or not packed as its name says \(.*; test it",
    "file: CSV as Parquet": r"d.csv: no Parquet file \(.*; give its format",
    "file: Parquet columns that differ in case": r"d.parquet has columns whose names differ by case alone",
    "file: colon in a name": None,
    "file: Parquet with nanoseconds": None,
}
# what it should say as Spark does: a remedy is not spelled as the command line has it, is absent,
# or there is a traceback
LESS_WELL = (
    "file: garbled Parquet",
    "file: cut Parquet",
    "file: a folder without data",
)


@pytest.mark.parametrize("case", without_spark(CASES, OTHER_WORDS, LESS_WELL))
def test_told_in_one_line_without_spark(case, tmp_path, capfd):
    told_without_spark(case, tmp_path, capfd)


# of those that a task tells by the code of the local engine some stand for all on Spark
ALIKE = {
    "file: ARFF without rows",
    "file: gz that is none",
    "file: garbled gz",
    "file: cut bz2",
    "csv: an empty cell",
    "csv: a word for a missing value",
    "csv: another word for a missing value",
    "csv: a word among the labels",
    "csv: infinite",
    "csv: feature and label",
    "csv: a file with a column more",
}
ON_SPARK = [case for case in CASES if case.name not in ALIKE]


@pytest.mark.slow
@pytest.mark.parametrize("case", params(ON_SPARK))
def test_told_in_one_line(case, spark, tmp_path, capfd):
    told_on_spark(case, spark, tmp_path, capfd)


def cells(frame: Any) -> list[tuple[list[float], list[float]]]:
    return [
        (r["features"].toArray().tolist(), r["labels"].toArray().tolist())
        for r in sorted(rows(frame), key=lambda r: r["id"])
    ]


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
    with pytest.raises(DataError, match="line 22 has 5 cells; the header has 4"):
        table(spark, str(tmp_path / "d.csv"), ["a", "b"], ["y"], "csv", id="k")


@pytest.mark.slow
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
