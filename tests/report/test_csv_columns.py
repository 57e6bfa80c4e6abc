"""Tables as CSV: many cells at once are the ones that Python's writer gives cell by cell."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from spark_mlfs.output.csv_columns import lines_of, plain_texts
from spark_mlfs.output.folder import csv_text


def by_python(frame):
    text = io.StringIO()
    rows = [["" if cell is None or cell != cell else cell for cell in row] for row in frame]
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def numbers():
    generator = np.random.default_rng(3)
    n = 3000
    bits = np.frombuffer(generator.bytes(8 * n), np.float64)
    powers = 10.0 ** np.arange(-30, 25)
    parts = (
        bits,
        generator.random(n),
        10.0 ** generator.uniform(-12, 20, n),
        -(10.0 ** generator.uniform(-12, 20, n)),
        np.round(generator.random(n), 3),
        generator.integers(-(10**17), 10**17, n).astype(float),
        powers,
        np.nextafter(powers, 0),
        np.nextafter(powers, 1e300),
        np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-5, 1.5e-5, 1e-6, 9.5e-7, 1e16]),
    )
    return np.concatenate(parts)


def test_floats_are_as_python_writes_them():
    values = numbers()
    frame = pd.DataFrame({"score": values, "same": values, "other": values[::-1]})
    rows = zip(*(frame[name].tolist() for name in frame), strict=True)
    assert lines_of([frame[name] for name in frame]) == by_python(rows)


def test_texts_are_quoted_where_they_must_be():
    texts = ["plain", "a,b", 'q"q', "line\nend", "", "größe", "東京", None, np.nan, " blank ", '"']
    frame = pd.DataFrame({"place": np.arange(len(texts)), "name": pd.Series(texts, dtype=object)})
    rows = zip(frame["place"].tolist(), texts, strict=True)
    assert lines_of([frame["place"], frame["name"]]) == by_python(rows)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, False]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([b"x", b"y"], dtype=object),
        pd.Series([1, "x"], dtype=object),
        pd.Series([None, None], dtype=object),
        pd.Series(["x", "y"], dtype="category"),
        pd.Series(pd.to_timedelta([-1, 2], unit="h")),
        pd.Series([0.5, 2], dtype="float32"),
    ],
    ids=["bool", "Int64", "bytes", "mixed", "none", "category", "times", "float32"],
)
def test_other_columns_are_left_to_python(column):
    assert lines_of([pd.Series([1, 2]), column]) is None or column.dtype == "category"
    frame = pd.DataFrame({"place": [1, 2], "value": column})
    assert csv_text(frame).count("\n") == 3


def test_texts_without_a_mark_are_looked_at_once():
    """Whatever sign a text holds, all cells are those of Python's writer, formulas escaped."""
    signs = [chr(code) for code in (*range(1, 0x180), 0xFEFF, 0xFF1D, 0xFF0B, 0xFF0D, 0xFF20)]
    signs.remove("\r")  # which has all texts quoted
    for sign in signs:
        texts = ["word", f"{sign}x", f"x{sign}", f"x{sign}y", "größe", ""]
        frame = pd.DataFrame({"place": np.arange(6), "name": texts})
        formula = sign in "=+-@\t\n\uff1d\uff0b\uff0d\uff20"
        cells = [f"'{text}" if formula and text[:1] == sign else text for text in texts]
        assert csv_text(frame) == "place,name\n" + by_python(zip(range(6), cells, strict=True))
        plain = plain_texts(frame["name"])
        assert (plain is None) == (sign in ",\"'\n\t=+-@" or sign >= "\ufeff")
    assert plain_texts(pd.Series(["a", None, "b"])).to_pylist() == ["a", "", "b"]
    assert plain_texts(pd.Series([1, 2])) is None


def test_formulas_and_head():
    frame = pd.DataFrame({"=x": ["=1", "+a,b", "ok"], "n": [1, 2, 3]})
    assert csv_text(frame) == "'=x,n\n'=1,1\n\"'+a,b\",2\nok,3\n"
    assert csv_text(frame[:0]) == "'=x,n\n"
