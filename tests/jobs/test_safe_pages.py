"""Pages of names that are made to mislead: what is not seen stands there as an escape, and a page
loads nothing and runs nothing."""

from __future__ import annotations

import csv
import re
import unicodedata

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs.adapters import glance
from spark_mlfs.markup import prose, visible
from spark_mlfs.output import folder
from spark_mlfs.output.folder import csv_text

pytestmark = pytest.mark.local
FEATURES = ["a\u202eb", "c\nd", "e\x07f", "<b>\u2066", "g\u200fh", "\ufeffi", "j\u2028k", "l\x85m"]
LABELS = ["t\u202e", "u\x1b[31m"]
SHOWN = ["a\\u202eb", "c\\nd", "e\\u0007f", "&lt;b&gt;\\u2066", "g\\u200fh", "\\ufeffi"]
POLICY = re.compile(
    r'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    r"style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">"
)


def table(seed: int) -> pd.DataFrame:
    r = np.random.default_rng(seed)
    rows = pd.DataFrame(r.normal(size=(60, len(FEATURES))) + seed, columns=FEATURES)
    for name, column in zip(LABELS, FEATURES, strict=False):
        rows[name] = (rows[column] > seed).astype(int)
    return rows


@pytest.fixture
def home(tmp_path):
    for seed in (0, 1):
        table(seed).to_parquet(tmp_path / f"{seed}.parquet")
    return tmp_path


def check_page(path, *shown: str) -> None:
    page = path.read_text()
    unseen = {c for c in page if unicodedata.category(c) in ("Cc", "Zl", "Zp", "Cs")} - {"\n"}
    assert not unseen and not re.search("[\u202a-\u202e\u2066-\u2069\u200f\ufeff]", page)
    assert len(POLICY.findall(page)) == 1 and page.index("<meta http-equiv") < page.index("<style")
    assert "<script" not in page and not re.search(
        r"\s(src|href)=[^\"]|\s(src|href)=\"(?!data:|#)", page
    )
    for name in shown:
        assert name in page


def data(home, name: int = 0):
    return ("--data", home / f"{name}.parquet", "--format", "parquet", "--features", *FEATURES)


def test_pages_of_a_selection_and_its_pipeline(home, run):
    labels = ("--labels-col", *LABELS)
    for method in ("mim", "jmi"):
        flags = ("--method", method, "--classifier", "mlknn", "--overwrite")
        code, _, err = run("select", *data(home), *labels, *flags, "--output", home / "model")
        assert code == 0, err
        check_page(home / "model/report.html", *SHOWN, "t\\u202e", "u\\u001b[31m")
    model = ("--model", home / "model", "--data", home / "1.parquet", "--format", "parquet")
    code, _, err = run("score", *model, "--keep", *FEATURES[:2], "--output", home / "scored")
    assert code == 0, err
    check_page(home / "scored/_report.html", "t\\u202e", "c\\nd")
    code, _, err = run("check", *model, *labels, "--output", home / "checked")
    assert code == 0, err
    check_page(home / "checked/report.html", "t\\u202e")


def test_page_of_drift(home, run):
    flags = ("--labels-col", *LABELS, "--after", home / "1.parquet", "--output", home / "drift")
    code, _, err = run("drift", "--before", *data(home)[1:], *flags)
    assert code == 0, err
    check_page(home / "drift/report.html", *SHOWN[:2])


def test_page_of_a_comparison(home, run):
    name = "d\u202ee"
    plan = f"""
        title = "x\\u202Ey"
        notes = "first\\nline\\n\\nsecond\\tline"
        [[data]]
        name = "{name}"
        path = "{home}/0.parquet"
        format = "parquet"
        [data.options]
        features = "*"
        labels = ["t\\u202E", "u\\u001B[31m"]
        [[method]]
        name = "mim"
    """
    (home / "plan.toml").write_text(plan)
    code, _, err = run("compare", "--config", home / "plan.toml", "--output", home / "compared")
    assert code == 0, err
    check_page(home / "compared/comparison.html", "d\\u202ee", "first line", "second line")


def test_a_card_in_a_notebook():
    rows = table(0)
    ranking = spark_mlfs.rank(rows[FEATURES], rows[LABELS], "mim")
    card = glance.table("t\u202e", ranking, [])
    assert "\u202e" not in card and "a\\u202eb" in card and "t\\u202e" in card


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200db \U0001f468\u200d\U0001f469 é ж 日 עברית", None),  # joined letters stay joined
        ("\x00\t\r\n", r"\u0000\t\r\n"),
        ("\u202a\u2069\u061c", r"\u202a\u2069\u061c"),
        ("\udcff", r"\udcff"),
    ],
)
def test_what_is_shown_as_an_escape(text, shown):
    assert visible(text) == (text if shown is None else shown)
    assert prose("a\n  b\t") == "a b"


@pytest.mark.parametrize(
    "sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "\ufeff=", "\ufeff＝", "'\ufeff@"]
)
def test_formulas(sign):
    frame = pd.DataFrame({f"{sign}1": [f"{sign}cmd()", "plain", "\ufeffname"], "n": [-1, 2, 3]})
    head, first, *others = csv_text(frame).split("\n")
    assert head == f"'{sign}1,n" and first == f"'{sign}cmd(),-1"
    assert others == ["plain,2", "\ufeffname,3", ""]


@pytest.mark.parametrize("sign", ["", "\r", "=1", "\ufeff=2"])
def test_tables_are_written_as_pandas_writes_them(sign):
    rng = np.random.default_rng(0)
    size = 300
    numbers = rng.normal(size=size) * 10.0 ** rng.integers(-30, 30, size)
    texts = rng.choice(["a", "b,c", 'd"e', "f\ng", "", None, sign + "x"], size)
    frame = pd.DataFrame(
        {
            "rank": np.arange(size),
            "name": texts,
            "score": np.where(rng.random(size) < 0.1, np.nan, numbers),
            "kept": rng.random(size) < 0.5,
            "whole": rng.integers(-5, 5, size).astype(float),
            "lists": [[1, "a"]] * size,
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(size), "D"),
        }
    )
    expected = frame.assign(name=frame["name"].map(folder._escaped)).to_csv(
        index=False,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if "\r" in sign else csv.QUOTE_MINIMAL,
    )
    assert folder.csv_text(frame) == expected
    assert folder.csv_text(frame[:0]) == ",".join(frame.columns) + "\n"
