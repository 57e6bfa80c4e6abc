"""Labels as people write them: delimited tags, lists as text, words for 0 and 1."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from test_local import HERE

from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.read import load
from spark_mlfs.read.label_cells import Tags, truth_of


def rows_of(tmp_path, cells, **options):
    frame = pd.DataFrame({"x": range(len(cells)), "tags": cells})
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"features": "x", "labels": "tags", **options}
    return [row["labels"] for row in load(HERE, str(tmp_path / "t.csv"), "csv", **how).collect()]


DELIMITED = [  # cells, options, tags
    (["a;b", " b ; c ", "", "NA", None], {}, [["a", "b"], ["b", "c"], [], None, []]),
    (["7", "7;10", "3"], {}, [["7"], ["7", "10"], ["3"]]),
    (["3", "27", "007"], {}, [["3"], ["27"], ["007"]]),
    (["2020-01-05", "2020-01-06"], {}, [["2020-01-05"], ["2020-01-06"]]),
    (["true", "FALSE"], {}, [["true"], ["FALSE"]]),
    (["a;;b;", ";"], {}, [["a", "b"], []]),
    (["e\u0301", "\u00e9"], {}, [["\u00e9"], ["\u00e9"]]),
    (["['a', 'b']", "c;d"], {}, [["a", "b"], ["c", "d"]]),
    (["a", ""], {"empty_tags": "unknown"}, [["a"], None]),
    (["\u200ba;\ufeffb\u2060", "\xa0a\u3000;b"], {}, [["a", "b"], ["a", "b"]]),
    (["a", "\u200b"], {"empty_tags": "unknown"}, [["a"], None]),
    (["['\u200ea\u200b']", "a"], {}, [["a"], ["a"]]),
    (["[b'a', b'b']", "b"], {}, [["a", "b"], ["b"]]),
]


@pytest.mark.parametrize(("cells", "options", "tags"), DELIMITED)
def test_delimited_tags(tmp_path, cells, options, tags):
    assert rows_of(tmp_path, cells, label_delimiter=";", **options) == tags


@pytest.mark.parametrize(("sign", "between"), [("\\t", "\t"), ("\\n", "\n"), ("\t", "\t")])
def test_delimiters_that_shells_cannot_write(tmp_path, sign, between):
    cells = [f"a{between}b", "b"]
    assert rows_of(tmp_path, cells, label_delimiter=sign) == [["a", "b"], ["b"]]


LISTS = [
    (["<jazz><folk>", "<rock>"], {}, [["jazz", "folk"], ["rock"]]),
    (["['a', 'b']", "[]", '["c"]'], {}, [["a", "b"], [], ["c"]]),
    (["{a,\"b c\"}", "{}"], {}, [["a", "b c"], []]),
    (
        ['[{"id": 1, "name": "Action"}]', "[{'name': 'War'}, {'name': 'Drama'}]"],
        {"label_key": "name"},
        [["Action"], ["War", "Drama"]],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "options", "tags"), LISTS)
def test_lists_as_text(tmp_path, cells, options, tags):
    assert rows_of(tmp_path, cells, **options) == tags


def test_what_is_no_list_of_tags_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="column 'tags' is a string; pass label_delimiter=';'"):
        rows_of(tmp_path, ["jazz, folk", "rock"])
    with pytest.raises(DataError, match="holds lists of tags, and 'jazz, folk', which is none"):
        rows_of(tmp_path, ["['a']", "jazz, folk"])
    with pytest.raises(
        DataError, match=r"column .tags.: .*opens like a list of tags and cannot be"
    ):
        rows_of(tmp_path, ["a;b", "['a', 'b'"], label_delimiter=";")


def test_tags_of_other_types():
    tags = Tags("t", ";")
    assert tags(pa.array([7, None, 12])).to_pylist() == [["7"], None, ["12"]]
    assert tags(pa.array([True, False])).to_pylist() == [["true"], ["false"]]


NAN = float("nan")
TRUTHS = [  # values, positive, unknown, what each is
    (["yes", "No", None], None, None, {"yes": 1, "No": 0}),
    (["TRUE", "false"], None, None, {"TRUE": 1, "false": 0}),
    (["Y", "n"], None, None, {"Y": 1, "n": 0}),
    (["t", "F"], None, None, {"t": 1, "F": 0}),
    (["on"], None, None, {"on": 1}),
    (["Y", "N", " "], None, None, {"Y": 1, "N": 0, " ": NAN}),
    (["yes", "false"], None, None, None),
    (["yes", "maybe"], None, None, None),
    (["yes", "no", "maybe"], None, ["maybe"], {"yes": 1, "no": 0, "maybe": NAN}),
    (["mal", "ben"], ["mal"], None, {"mal": 1, "ben": 0}),
    (["1.0", "0.0", "-1.0"], None, ["-1"], {"1.0": 1, "0.0": 0, "-1.0": NAN}),
    (["2", "1", "9"], ["2"], ["9"], {"2": 1, "1": 0, "9": NAN}),
]


@pytest.mark.parametrize(("values", "positive", "unknown", "truth"), TRUTHS)
def test_words_for_0_and_1(values, positive, unknown, truth):
    assert str(truth_of(values, positive, unknown)) == str(
        truth and {k: float(v) for k, v in truth.items()}
    )


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_columns_of_words(engine, request, tmp_path):
    """And CheXpert's: 1, 0, -1 for unsure, nothing for not mentioned."""
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    frame = pd.DataFrame(
        {
            "x": range(4),
            "a": ["yes", "no", "yes", "no"],
            "b": [1.0, 0.0, -1.0, None],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for format in ("csv", "parquet"):
        path = str(tmp_path / f"t.{format}")
        how = {"features": "x", "labels": ["a", "b"], "id": "x", "unknown": "-1"}
        rows = sorted(load(session, path, format, **how).collect(), key=lambda row: row["id"])
        cells = [row["labels"] for row in rows]
        labels = [cell["values"] if isinstance(cell, dict) else [*cell.toArray()] for cell in cells]
        expected = [[1, 1], [0, 0], [1, np.nan], [0, np.nan]]
        np.testing.assert_array_equal(np.array(labels, float), expected)
    with pytest.raises(
        DataError, match=r"column .a. is string .*; positive says which words are 1"
    ):
        frame.assign(a=["good", "bad", "ugly", "bad"]).to_csv(tmp_path / "u.csv", index=False)
        load(session, str(tmp_path / "u.csv"), "csv", **how)


@pytest.mark.slow
def test_tags_are_the_same_on_spark(spark, tmp_path):
    cells = ["a;b", " b ; c ", "", "NA", "['x', 'y']", "7", "e\u0301"]
    frame = pd.DataFrame({"x": range(len(cells)), "tags": cells})
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"features": "x", "labels": "tags", "id": "x", "label_delimiter": ";"}
    found = []
    for session in (HERE, spark):
        rows = load(session, str(tmp_path / "t.csv"), "csv", **how).collect()
        found.append(
            sorted((row["id"], row["labels"]) for row in rows if row["labels"] is not None)
        )
    assert found[0] == found[1] and len(found[0]) == len(cells) - 1


def test_marks_beside_empty_cells_are_no_negatives(tmp_path):
    """As a form has boxes that are ticked: an empty cell is unknown."""
    frame = pd.DataFrame({"x": range(6), "a": ["x", None] * 3, "b": [None, "x", "x"] * 2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"features": "x", "labels": ["a", "b"], "positive": "x"}
    rows = load(HERE, str(tmp_path / "t.csv"), "csv", **how)
    with pytest.raises(DataError, match="without a value are unknown: write 0 where a row lacks"):
        pack(rows, "features", "labels")


DRESSES = [
    (["3,5", "1,25"], r"holds '1,25', a number that is not read as one: give decimal=','"),
    (["1.234,5", "2,5"], "give decimal=',' and thousands='.'"),
    (["35%", "13 %"], "write it without the %"),
    (["$5", "€ 1,200.50"], "write it without the currency"),
    (["5 kg", "12 kg"], "write it without the unit"),
    (["1,234", "5"], "give thousands=',', or decimal=','"),
    (["1\u00a0234,5", "1\u202f000,5"], "give decimal=',' and thousands=' '"),
    (["1\u2019234", "5"], 'give thousands="\'"'),
    (["'1.5'", "'2'"], 'give quote="\'"'),
    (["(1.5)", "2"], "with a minus, without the brackets"),
    (["1.5*", "2.5"], "without the [*]"),
    (["1‰", "25 ‰"], "write it without the %"),
    (["10,000+", "500+"], r"write it without the \+"),
    (["1kg", "2.5kg", "300g"], "write all in one unit, without it"),
    (["90 min", "1 Season", "2 Seasons", "101 min"], "write all in one unit, without it"),
]


@pytest.mark.parametrize(("cells", "line"), DRESSES)
def test_numbers_in_dress_are_no_categories(tmp_path, cells, line):
    frame = pd.DataFrame(
        {"x": cells * 4, "k": range(4 * len(cells)), "y": [0, 1] * (2 * len(cells))}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"features": ["x", "k"], "labels": "y"}
    for features in (["x", "k"], ["x"]):
        with pytest.raises(DataError, match=line.replace("$", r"\$")):
            load(HERE, str(tmp_path / "t.csv"), "csv", **{**how, "features": features})
    frame = load(HERE, str(tmp_path / "t.csv"), "csv", categories="onehot", **how)
    assert frame.count() == 4 * len(cells)


def test_words_that_hold_digits_are_categories(tmp_path):
    words = ["2WD", "AWD", "10-20", "1.2.3", "A1"]
    codes = ["1st", "2nd", "21st", "22nd", "3rd"]
    stages = ["1a", "1b", "2a", "2b", "3a"]
    columns = {"x": words * 2, "codes": codes * 2, "stages": stages * 2}
    frame = pd.DataFrame({**columns, "k": range(10), "y": [0, 1] * 5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    features = ["x", "codes", "stages", "k"]
    assert load(HERE, str(tmp_path / "t.csv"), "csv", features=features, labels="y").count() == 10
