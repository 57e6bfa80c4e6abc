"""ARFF: the real sets against a naive parser, the quirks, numbering, and what is refused."""

from __future__ import annotations

import bz2
import gzip
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pyarrow as pa
import pytest
from pyspark.ml.linalg import DenseVector, SparseVector

from spark_mlfs.errors import DataError, ParameterError, worker_errors
from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_names
from spark_mlfs.read import arff, load
from spark_mlfs.read.arff import Plan, _parse
from spark_mlfs.read.arff_header import parse_header
from spark_mlfs.read.lines import Lines


def rows_of(frame):
    with worker_errors():
        return sorted(frame.collect(), key=lambda r: r["id"])


def matrices(frame):
    rows = rows_of(frame)
    assert [r["id"] for r in rows] == list(range(len(rows)))
    return (
        np.array([r["features"].toArray() for r in rows]),
        np.array([r["labels"].toArray() for r in rows]),
        attribute_names(frame, FEATURES),
        attribute_names(frame, LABELS),
    )


def naive(paths, label_names=None, count=None):
    """A tiny parser of its own: one value at a time, numbers or category numbers."""
    data, names = [], None
    for path in paths:
        with gzip.open(path, "rt") if str(path).endswith(".gz") else open(path) as stream:
            text = stream.read().splitlines()
        at = next(k for k, line in enumerate(text) if line.strip().lower() == "@data")
        names, kinds = [], []
        for line in text[:at]:
            if line.lower().startswith("@attribute"):
                body = line[10:].strip()
                quoted = re.match(r"'((?:\\.|[^'])*)'\s*(.*)", body)
                name, kind = (
                    quoted.groups() if quoted else re.match(r"(\S+?)\s+(.*)", body).groups()
                )
                names.append(name.replace("\\'", "'"))
                kinds.append(
                    [c.strip() for c in kind.strip()[1:-1].split(",")]
                    if kind.strip()[0] == "{"
                    else None
                )
        for line in text[at + 1 :]:
            if not line.strip():
                continue
            row = [0.0] * len(names)
            if line[0] == "{":
                cells = [
                    (int(c.split()[0]), c.split()[1])
                    for c in line.strip()[1:-1].split(",")
                    if c.strip()
                ]
            else:
                cells = list(enumerate(c.strip() for c in line.split(",")))
                assert len(cells) == len(names)
            for k, v in cells:
                row[k] = np.nan if v == "?" else float(kinds[k].index(v)) if kinds[k] else float(v)
            data.append(row)
    matrix = np.array(data)
    is_label = (
        [n in label_names for n in names] if label_names else [k < count for k in range(len(names))]
    )
    is_label = np.array(is_label)
    return matrix[:, ~is_label], matrix[:, is_label], names, is_label


def xml_names(path):
    return {e.get("name") for e in ElementTree.parse(path).iter() if e.get("name")}


SETS = [
    ("emotions", "emotions.arff.gz", "emotions.xml", (593, 72, 6, 1.869, 27)),
    ("scene", "scene-*.arff.gz", "scene.xml", (2407, 294, 6, 1.074, 15)),
    ("enron", "enron.arff.gz", "enron.xml", (1702, 1001, 53, 3.378, 753)),
    ("birds", "birds-*.arff.gz", "birds.xml", (645, 260, 19, 1.014, 133)),
    ("flags", "flags.arff.gz", "flags.xml", (194, 19, 7, 3.392, 54)),
    ("corel5k", "Corel5k-sparse.arff.gz", "Corel5k.xml", (5000, 499, 374, 3.522, 3175)),
    ("slashdot", "SLASHDOT-F.arff.gz", 22, (3782, 1079, 22, 1.181, 156)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file", "labels", "expected"), SETS)
def test_real_set_equals_naive_parser(spark, data_dir, name, file, labels, expected):
    folder = data_dir / name
    frame = arff(spark, str(folder / file))
    n, d, q, cardinality, labelsets = expected
    rows = rows_of(frame)
    assert [r["id"] for r in rows] == list(range(n))
    y_sets = [tuple(r["labels"].toArray().nonzero()[0]) for r in rows]
    assert round(np.mean([len(s) for s in y_sets]), 3) == pytest.approx(cardinality, abs=0.0011)
    assert len(set(y_sets)) == labelsets
    paths = sorted(folder.glob(file))
    known = (
        dict(label_names=xml_names(folder / labels))
        if isinstance(labels, str)
        else dict(count=labels)
    )
    x, y, names, is_label = naive(paths, **known)
    assert x.shape == (n, d) and y.shape == (n, q)
    assert attribute_names(frame, FEATURES) == [
        m for m, i in zip(names, is_label, strict=True) if not i
    ]
    assert attribute_names(frame, LABELS) == [m for m, i in zip(names, is_label, strict=True) if i]
    for k, row in enumerate(rows):
        assert np.array_equal(row["features"].toArray(), x[k]) and np.array_equal(
            row["labels"].toArray(), y[k]
        )
    kind = SparseVector if name in ("enron", "corel5k", "slashdot") else DenseVector
    assert all(isinstance(r["features"], kind) for r in rows)


def test_names_with_quotes_and_case(spark, data_dir):
    birds = attribute_names(arff(spark, str(data_dir / "birds" / "birds-train.arff.gz")), LABELS)
    assert "MacGillivray's Warbler" in birds and "Stellar's Jay" in birds
    frame = arff(spark, str(data_dir / "slashdot" / "SLASHDOT-F.arff.gz"))
    names = attribute_names(frame, FEATURES) + attribute_names(frame, LABELS)
    assert len(set(names)) == len(names) > len({n.lower() for n in names})


@pytest.mark.slow
def test_quirks_load(spark, data_dir):
    q = data_dir / "quirks"
    x, y, _, labels = matrices(arff(spark, str(q / "meka.arff")))
    assert x.shape == (14, 4) and labels == ["play", "dontplay", "playmaybe"]
    assert (
        x[0].tolist() == [0, 85, 85, 1]
        and x[13].tolist() == [2, 71, 91, 0]
        and y[13].tolist() == [0, 1, 0]
    )
    assert np.array_equal(x, matrices(arff(spark, str(q / "weather.arff")))[0])
    assert matrices(arff(spark, str(q / "weather-sparse.arff")))[0][3].tolist() == [1, -2, 96, 1]
    hot, _, hot_names, _ = matrices(arff(spark, str(q / "weather.arff"), categories="onehot"))
    assert hot_names == [
        "outlook=sunny",
        "outlook=overcast",
        "outlook=rainy",
        "temperature",
        "humidity",
        "windy",
    ]
    assert hot[2].tolist() == [0, 1, 0, 83, 86, 1]
    x, y, _, labels = matrices(arff(spark, str(q / "foodtruck.arff")))
    assert x.shape == (407, 21) and y.shape == (407, 12) and x[0, 1] == 3 and x[0, 20] == 2
    x, y, _names, labels = matrices(arff(spark, str(q / "Music-test.arff.gz")))
    assert x.shape == (101, 71) and y.shape == (101, 6)


@pytest.mark.slow
def test_hierarchical_labels_and_missing_policies(spark, data_dir):
    file = data_dir / "quirks" / "hierarchical-train.arff.gz"
    known = xml_names(data_dir / "quirks" / "hierarchical.xml")
    x, y, _, _ = naive([file], label_names=known)
    assert y.shape == (800, 364) and np.isnan(x).any()
    with pytest.raises(
        DataError, match=r"hierarchical-train.arff.gz:451: attribute 'failed_pcr'.*missing='mean'"
    ):
        rows_of(arff(spark, str(file)))
    zero, labels, _, _ = matrices(arff(spark, str(file), missing="zero"))
    assert np.array_equal(zero, np.nan_to_num(x)) and np.array_equal(labels, y)
    mean, _, _, _ = matrices(arff(spark, str(file), missing="mean"))
    known_columns = ~np.isnan(x).all(axis=0)
    expected = np.where(
        np.isnan(x),
        np.where(known_columns, np.nan_to_num(x).sum(0) / (~np.isnan(x)).sum(0).clip(1), 0),
        x,
    )
    np.testing.assert_allclose(mean, expected, rtol=1e-13)
    kept = rows_of(arff(spark, str(file), missing="drop"))
    assert [r["id"] for r in kept] == np.flatnonzero(~np.isnan(x).any(axis=1)).tolist()


@pytest.mark.slow
def test_quirks_refused(spark, data_dir):
    q = data_dir / "quirks"
    with pytest.raises(
        DataError,
        match=r"FilterTest.arff: nothing says which.*labels='labels.xml', .*-n for the last n",
    ):
        arff(spark, str(q / "FilterTest.arff"))
    with pytest.raises(
        DataError,
        match=r"FilterTest.arff:2: attribute 'StringAtt1' is of type string.*ignore='StringAtt1' or",
    ):
        arff(spark, str(q / "FilterTest.arff"), labels=["NumericAtt1"])
    ignored = dict(ignore=["StringAtt1", "StringAtt2", "DateAtt1"], labels=["NumericAtt1"])
    with pytest.raises(
        DataError,
        match=r"FilterTest.arff:10: label 'NumericAtt1' is '1.0'|:11: label 'NumericAtt1' is '2.0'",
    ):
        rows_of(arff(spark, str(q / "FilterTest.arff"), **ignored))
    x, y, names, _ = matrices(
        arff(spark, str(q / "FilterTest.arff"), binarize_labels=True, missing="zero", **ignored)
    )
    assert names == ["NominalAtt1", "NominalAtt2", "NumericAtt2"] and x.shape == (21, 3)
    assert x[0].tolist() == [1, 0, -2.3]
    assert x[19].tolist() == [0, 3, 0] and x[20].tolist() == [
        2,
        0,
        3.4,
    ]  # the sparse rows among the dense ones
    assert y[20].tolist() == [0] and y[19].tolist() == [1]
    with pytest.raises(
        DataError, match=r"solar_flare.arff:3: attribute 'c-class'.*binarize_labels=True"
    ):
        arff(spark, str(q / "solar_flare.arff"))
    _, y, _, _ = matrices(arff(spark, str(q / "solar_flare.arff"), binarize_labels=True))
    text = [
        line.split(",")
        for line in (q / "solar_flare.arff").read_text().splitlines()
        if re.match(r"\d,", line)
    ]
    assert np.array_equal(y, [[float(int(v) > 0) for v in row[:3]] for row in text])


HEADER = """@relation 'x: -C 2' % comment
@attribute a {0,1}
@attribute A {0, 1}
@attribute\tnum\tnumeric
@ATTRIBUTE 'it\\'s {odd}, %1' REAL % why not
@attribute colour {red, 'light blue', "deep \\"sea\\""}
@attribute level {10,20,30}

% a comment
@data
"""


def write(path, text):
    path.write_text(text)
    return str(path)


def test_small_file_by_hand(spark, tmp_path):
    text = HEADER + (
        "1,0, 1.5 ,-2e-3,red,20\n\n% between\n"
        "{0 1, 2 0.1,4 'light blue'}\n"
        "0 , 1 ,+3,?,'light blue',10 % end\n"
        "{}\n"
        '?,1,0.1,7,"deep \\"sea\\"",30\n'
        "{ 5 30 , 1 1 }\n"
    )
    frame = arff(spark, write(tmp_path / "a.arff", text), missing="zero")
    x, y, names, labels = matrices(frame)
    assert names == ["num", "it's {odd}, %1", "colour", "level"] and labels == ["a", "A"]
    assert x.tolist() == [
        [1.5, -2e-3, 0, 1], [0.1, 0, 1, 0], [3, 0, 1, 0], [0, 0, 0, 0], [0.1, 7, 2, 2], [0, 0, 0, 2],
    ]  # fmt: skip
    np.testing.assert_array_equal(y, [[1, 0], [1, 0], [0, 1], [0, 0], [np.nan, 1], [0, 1]])
    kinds = [isinstance(r["features"], SparseVector) for r in rows_of(frame)]
    assert kinds == [False, True, False, True, False, True]
    hot, _, hot_names, _ = matrices(
        arff(spark, str(tmp_path / "a.arff"), missing="zero", nominal="onehot")
    )
    with pytest.raises(
        ParameterError, match="nominal and categories say the same thing; give one of them"
    ):
        arff(spark, str(tmp_path / "a.arff"), nominal="onehot", categories="codes")
    assert hot_names[2:] == [
        "colour=red",
        "colour=light blue",
        'colour=deep "sea"',
        "level=10",
        "level=20",
        "level=30",
    ]
    assert hot[3].tolist() == [0, 0, 1, 0, 0, 1, 0, 0] and hot[5].tolist() == [
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        1,
    ]


def test_omitted_label_is_the_first_category(spark, tmp_path):
    text = "@relation r\n@attribute x numeric\n@attribute l {1,0}\n@data\n{0 2}\n{1 0}\n3,1\n"
    assert matrices(arff(spark, write(tmp_path / "a.arff", text), labels=-1))[
        1
    ].ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0,1,1,red", r"a.arff:12: 5 values for 6 attributes"),
        ("1,0,1,1,red,10,7", r"a.arff:12: 7 values for 6 attributes"),
        ("1,0,one,1,red,10", r"a.arff:12: attribute 'num': 'one' is not a finite number"),
        ("1,0,1_0,1,red,10", r"a.arff:12: attribute 'num': '1_0' is not a finite number"),
        ("1,0,nan,1,red,10", r"a.arff:12: .*'nan'.*write \? for a missing"),
        ("1,0,,1,red,10", r"a.arff:12: attribute 'num': '' is not a finite number"),
        (
            "1,0,1,1,rod,10",
            r"a.arff:12: attribute 'colour' has no category 'rod'.*did you mean 'red'",
        ),
        ("1,0,1,1,red,15", r"a.arff:12: attribute 'level' has no category '15'"),
        ("2,0,1,1,red,10", r"a.arff:12: attribute 'a' has no category '2'"),
        ("1,0,1,?,red,10", r"a.arff:12: attribute \"it's .*the value is missing"),
        ("{0 1, 2 3", r"a.arff:12: the sparse row has no closing brace"),
        ("{0 1, 6 3}", r"a.arff:12: index '6' is none of 0..5"),
        ("{0 1, -1 3}", r"a.arff:12: index '-1' is none of 0..5"),
        ("{0 1, 2 3, 2 4}", r"a.arff:12: index 2 is given twice"),
        ("{0 1, 2 x}", r"a.arff:12: attribute 'num': 'x'"),
        ("{0 1 2 3}", r"a.arff:12: "),
        ("{0 1,2}", r"a.arff:12: .*is not 'index value'"),
        ("{0 1} 5", r"a.arff:12: '.*5' after the closing brace"),
        ("1,0,1,1,'red,10", r"a.arff:12: value 5 cannot be read"),
    ],
)
def test_corrupt_row_is_named(row, message):
    header = parse_header(HEADER.splitlines(), "a.arff")
    plan = Plan(header, {"a", "A"}, [], "index", False, "error")
    rows = pa.array(["1,0,1,1,red,10", row, "{0 1}"])
    with pytest.raises(DataError, match=message):
        _parse(Lines(rows, np.array([11, 12, 13]), "a.arff"), plan)


def test_corrupt_row_is_named_through_spark(spark, tmp_path):
    path = write(tmp_path / "a.arff", HEADER + "1,0,1,1,red,10\n1,0,1,1,rod,10\n{0 1}\n")
    with pytest.raises(
        DataError, match=r"a.arff:12: attribute 'colour' has no category 'rod'.*did you mean 'red'"
    ):
        rows_of(arff(spark, path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"a.arff:1: the file is empty"),
        ("@relation x\n@attribute a {0,1}\n@attribute b numeric\n", r"a.arff:3: no @data"),
        (
            "@relation 'x -C 1'\n@attribute a {0,1}\n@attribute b numeric\n@data\n\n% none\n",
            r"no row after @data",
        ),
        (
            "@relation 'x -C 9'\n@attribute a {0,1}\n@attribute b numeric\n@data\n1,2\n",
            r"-C 9 in @relation: the file has 2",
        ),
        ("@relation x\n@attribute a {0,1\n@data\n1\n", r"a.arff:2: attribute 'a'.*not closed"),
        (
            "@relation x\n@attribute a colour\n@data\n1\n",
            r"a.arff:2: attribute 'a' has the unknown type",
        ),
        (
            "@relation x\n@attribute a real\n@attribute a real\n@data\n1,1\n",
            r"a.arff:3: .*declared twice \(first in line 2\)",
        ),
        ("@relation x\nattribute a real\n@data\n1\n", r"a.arff:2: the header line"),
        (
            "@relation 'x -C 1'\n@attribute a {no,maybe}\n@attribute b real\n@data\nno,1\n",
            r"a.arff:2: .*rewrite them as 0 and 1",
        ),
    ],
)
def test_broken_header_is_refused(spark, tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        arff(spark, write(tmp_path / "a.arff", text))


def test_arguments(spark, data_dir, tmp_path):
    emotions = str(data_dir / "emotions" / "emotions.arff.gz")
    assert attribute_names(arff(spark, emotions, labels=["sad-lonely", "quiet-still"]), LABELS) == [
        "quiet-still",
        "sad-lonely",
    ]
    by_xml = arff(spark, emotions, labels=str(data_dir / "emotions" / "emotions.xml"))
    assert attribute_names(by_xml, LABELS) == attribute_names(
        arff(spark, emotions, labels=-6), LABELS
    )
    with pytest.raises(ParameterError, match="did you mean 'sad-lonely'"):
        arff(spark, emotions, labels=["sad-lonly"])
    with pytest.raises(ParameterError, match="labels=100: the file has 78"):
        arff(spark, emotions, labels=100)
    with pytest.raises(
        ParameterError,
        match=r"option 'missing' of format 'arff' must be one of 'error', .*, not 'no'",
    ):
        arff(spark, emotions, missing="no")
    with pytest.raises(DataError, match="no such file"):
        arff(spark, str(tmp_path / "none.arff"))
    with pytest.raises(ParameterError, match="given twice"):
        arff(spark, [emotions, emotions])
    with pytest.raises(ParameterError, match="formats are arff, libsvm"):
        load(spark, emotions, "weka")
    with pytest.raises(
        ParameterError, match=r"'label' is not known.*labels, categories, nominal, missing"
    ):
        load(spark, emotions, "arff", label=3)


def test_xml_wins_over_relation_and_ambiguity_is_refused(spark, tmp_path):
    path = write(tmp_path / "a.arff", HEADER.replace("% comment", "") + "1,0,1,1,red,10\n")
    xml = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="{}"></label></labels>'
    write(tmp_path / "other.xml", "<unrelated/>")
    write(tmp_path / "one.xml", xml.format("A"))
    assert attribute_names(arff(spark, path), LABELS) == ["A"]
    write(tmp_path / "two.xml", xml.format("a"))
    with pytest.raises(DataError, match=r"2 label XML files.*one.xml, two.xml"):
        arff(spark, path)
    write(tmp_path / "a.xml", xml.format("a"))
    assert attribute_names(arff(spark, path), LABELS) == ["a"]
    assert attribute_names(arff(spark, path, labels=2), LABELS) == ["a", "A"]


@pytest.mark.slow
def test_splits_and_compression_do_not_change_rows(spark, data_dir, tmp_path):
    with gzip.open(data_dir / "emotions" / "emotions-test.arff.gz", "rt") as stream:
        lines = stream.read().splitlines()
    at = lines.index("@data")
    lines = lines[: at + 1 + 20]  # every split is a task: a small file is enough
    odd = (
        "\n".join(
            lines[: at + 1] + [part for row in lines[at + 1 :] for part in (row, "", "% note")]
        )
        + "\n"
    )
    folder = tmp_path / "with space"
    folder.mkdir()
    (folder / "e.arff").write_text(odd)
    (folder / "e.arff.bz2").write_bytes(bz2.compress(odd.encode()))
    (folder / "e.arff.gz").write_bytes(gzip.compress(odd.encode()))
    whole = matrices(arff(spark, str(data_dir / "emotions" / "emotions-test.arff.gz"), labels=-6))
    reference = (whole[0][:20], whole[1][:20], *whole[2:])
    old = spark.conf.get("spark.sql.files.maxPartitionBytes")
    try:
        for size in ("134217728", "5000", "700"):
            spark.conf.set("spark.sql.files.maxPartitionBytes", size)
            for end in ("", ".bz2", ".gz") if size == "5000" else ("",):
                found = matrices(arff(spark, str(folder / f"e.arff{end}"), labels=-6))
                assert all(np.array_equal(a, b) for a, b in zip(found, reference, strict=True))
            if size == "5000":
                both = [
                    r
                    for r in rows_of(
                        arff(spark, [str(folder / "e.arff.gz"), str(folder / "e.arff")], labels=-6)
                    )
                ]
                assert [r["id"] for r in both] == list(range(40))
                assert (
                    both[20]["features"] == both[0]["features"]
                    and both[39]["features"] == both[19]["features"]
                )
        spark.conf.set("spark.sql.files.maxPartitionBytes", "5000")
        broken = odd.splitlines()
        broken[-30] = "1,2"  # a blank line near the end, far from the first split
        path = write(folder / "broken.arff", "\n".join(broken) + "\n")
        with pytest.raises(DataError, match=rf"broken.arff:{len(broken) - 29}: 2 values for 78"):
            rows_of(arff(spark, path, labels=-6))
        frame = arff(spark, str(folder / "e.arff"), labels=-6)
        spark.conf.set("spark.sql.files.maxPartitionBytes", "7000")
        with pytest.raises(DataError, match="splits the file differently"):
            rows_of(frame)
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", old)


@pytest.mark.slow
def test_files_of_different_headers_are_refused(spark, tmp_path):
    write(tmp_path / "a.arff", HEADER + "1,0,1,1,red,10\n")
    write(tmp_path / "b.arff", HEADER.replace("{10,20,30}", "{10,20}") + "1,0,1,1,red,10\n")
    with pytest.raises(DataError, match=r"b.arff: attribute 6 is .*load files of one header"):
        arff(spark, str(tmp_path / "*.arff"))
    write(tmp_path / "b.arff", HEADER.replace("{10,20,30}", "{10, 20,  30}") + "0,1,2,2,red,30\n")
    x, _, _, _ = matrices(arff(spark, str(tmp_path / "*.arff")))
    assert x[:, 0].tolist() == [1, 2]


def test_a_number_in_a_sparse_row_is_a_declared_value_or_none():
    """Never the place of one: of {x,y,1} the value 1 is the third, and 2 is wrong, also where all
    are numbers."""
    head = [
        "@relation r",
        "@attribute c {x,y,1}",
        "@attribute d {4,7}",
        "@attribute l {0,1}",
        "@data",
    ]
    plan = Plan(parse_header(head, "a.arff"), {"l"}, [], "index", False, "error")

    def parsed(*rows):
        _, features, labels = _parse(Lines(pa.array(rows), np.arange(len(rows)), "a.arff"), plan)
        return [part.toarray().tolist() for part in (features, labels)]

    assert parsed("{0 1,1 7}", "{0 y}", "{2 1}") == [[[2, 1], [1, 0], [0, 0]], [[0], [0], [1]]]
    assert parsed("{0 1}") == parsed("1,4,0")
    for row, wrong in (
        ("{0 2}", "'c' has no category '2'"),
        ("{1 1}", "'d' has no category '1'"),
        ("{2 3}", "'l'"),
    ):
        with pytest.raises(DataError, match=wrong):
            parsed(row)
