"""What a table in memory may be, and what is said of one that cannot be used; no Spark anywhere
near."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import spark_mlfs
import spark_mlfs.sklearn
from spark_mlfs import BudgetError, DataError, ParameterError
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.errors import DataNotice
from spark_mlfs.testing import example, thin

polars = pytest.importorskip("polars")
X, Y = example()
NAMES = [f"x{j}" for j in range(X.shape[1])]
TAGS = ["air", "bee", "cat", "dog"]  # in alphabetical order: the order of the labels


def test_numbers_whose_sum_leaves_float64_are_taken_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            spark_mlfs.rank(
                [[1.7e308, 0.0], [1.7e308, 1.0], [-1.7e308, 0.0]], [[1], [1], [0]], "mim"
            )["index"][0]
            == 0
        )


def tags(kind=list):
    return [kind(TAGS[j] for j in np.flatnonzero(row)) for row in Y]


def test_a_table_is_a_table_whatever_holds_it():
    want = spark_mlfs.rank(X, Y, "mim", 5)
    assert list(want.columns) == ["rank", "index", "name", "score", "relevance"] and list(
        want["rank"]
    ) == [1, 2, 3, 4, 5]
    for table in (X.tolist(), np.asfortranarray(X), X.astype(object), sp.csr_matrix(X), sp.coo_array(X), sp.csc_matrix(X),
                  pd.DataFrame(X, columns=NAMES), pd.DataFrame(X), polars.DataFrame(X, schema=NAMES),
                  pd.DataFrame(X, columns=NAMES).astype("Float64"),
                  pd.DataFrame(X).astype(pd.SparseDtype(float, 0))):  # fmt: skip
        got = spark_mlfs.rank(table, Y, "mim", 5)
        if isinstance(table, polars.DataFrame):
            assert isinstance(got, polars.DataFrame)
            got = got.to_pandas()
        assert (
            got["index"].tolist() == want["index"].tolist()
            and got["score"].tolist() == want["score"].tolist()
        )
        assert got["name"].tolist() == want["name"].tolist()
    for labels in (Y.tolist(), Y.astype(bool), Y.astype(np.int8), sp.csr_matrix(Y), sp.csc_array(Y), tags(), tags(set),
                   tags(tuple), pd.Series(tags()), polars.Series(tags()), pd.DataFrame(Y), polars.DataFrame(Y),
                   np.array([*tags(), None], object)[:-1]):  # fmt: skip
        assert spark_mlfs.rank(X, labels, "mim", 5).equals(want)


def test_names_come_with_frames():
    frame = pd.DataFrame(X[:, :3], columns=["b", "a", "c"])
    held, _ = pack_arrays(frame, pd.DataFrame(Y, columns=TAGS))
    assert held.feature_names == ["b", "a", "c"] and held.label_names == TAGS and held.named
    assert pack_arrays(frame, tags())[0].label_names == TAGS
    assert pack_arrays(polars.from_pandas(frame), Y)[0].feature_names == ["b", "a", "c"]
    assert not pack_arrays(X, Y)[0].named


def test_labels_that_are_unknown():
    some = Y.copy()
    some[3, 1] = some[5, :] = np.nan
    held, _ = pack_arrays(X, some)
    assert held.profile.unknown.tolist() == [1, 2, 1, 1] and held.profile.unlabelled == 0
    frame = pd.DataFrame(some, columns=TAGS)
    held, _ = pack_arrays(X, frame.astype(object).where(frame.notna(), None))
    assert held.profile.unknown.tolist() == [1, 2, 1, 1]
    absent, _ = pack_arrays(X, [None if i == 7 else row for i, row in enumerate(tags())])
    assert absent.profile.unlabelled == 1 and absent.block.unlabelled.tolist() == [7]


def test_what_is_masked_or_na_is_unknown():
    mask = np.zeros(Y.shape, bool)
    mask[3, 1] = mask[5, :] = True
    assert pack_arrays(X, np.ma.masked_array(Y, mask))[0].profile.unknown.tolist() == [1, 2, 1, 1]
    for absent in (np.nan, pd.NA, None):
        held, _ = pack_arrays(
            X, pd.Series([absent if i in (0, 7) else row for i, row in enumerate(tags())])
        )
        assert held.block.unlabelled.tolist() == [0, 7] and held.label_names == TAGS


def test_rows_go_by_their_index():
    x, y, w = (
        pd.DataFrame(X, columns=NAMES),
        pd.DataFrame(Y, columns=TAGS),
        pd.Series(np.arange(len(X)) % 3),
    )
    want = spark_mlfs.rank(x, y, "mim", 5, sample_weight=w)
    order = np.random.default_rng(0).permutation(len(X))
    assert spark_mlfs.rank(x, y.iloc[order], "mim", 5, sample_weight=w.iloc[order[::-1]]).equals(
        want
    )
    assert spark_mlfs.rank(
        x, pd.Series(tags()).iloc[order], "mim", 5, sample_weight=w.to_numpy()
    ).equals(want)
    assert spark_mlfs.rank(
        x.set_index(order), y.set_index(order), "mim", 5, sample_weight=w.set_axis(order)
    ).equals(want)


def test_sparse_frames_of_any_fill():
    x = np.round(X)
    want = spark_mlfs.rank(x, Y, "mim", 5)
    for fill in (0, 1, np.nan):
        assert spark_mlfs.rank(
            pd.DataFrame(x).astype(pd.SparseDtype(float, fill)), Y, "mim", 5
        ).equals(want)


def test_texts_of_several_tags():
    """Each is one class, with a warning where they share tags; parted where it is said what stands
    between them."""
    want = spark_mlfs.rank(X, tags(), "mim", 5)
    for mark in ",;|":
        texts = [f" {mark} ".join(row) for row in tags()]
        with pytest.warns(DataNotice, match=re.escape(f"label_delimiter={mark!r}")):
            one = spark_mlfs.rank(X, texts, "mim", 5)
        assert not one.equals(want)
        for given in (
            texts,
            np.array(texts),
            pd.Series(texts),
            pd.DataFrame({"tags": texts}),
            polars.DataFrame({"tags": texts}),
        ):
            assert spark_mlfs.rank(X, given, "mim", 5, label_delimiter=mark).equals(want)
        assert spark_mlfs.rank(X, pd.DataFrame({"tags": tags()}), "mim", 5).equals(want)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spark_mlfs.rank(X, np.where(Y[:, 0], "Smith, John", "Doe, Jane"), "mim", 5)
    with pytest.raises(DataError, match="Y is a matrix"):
        spark_mlfs.rank(X, pd.DataFrame(Y), "mim", 5, label_delimiter=",")


def test_a_wrong_keyword_is_told_with_the_near_one():
    for name, near in {
        "n_features": "k",
        "max_features": "k",
        "sample_weights": "sample_weight",
        "num_bin": "num_bins",
    }.items():
        with pytest.raises(ParameterError, match=f"did you mean '{near}'"):
            spark_mlfs.rank(X, Y, "mim", **{name: 3})
    with pytest.raises(TypeError, match="did you mean 'num_top_features'"):
        spark_mlfs.sklearn.JMISelector(n_features=3)
    for method in (["jmi"], {}, None):
        with pytest.raises(ParameterError, match="there is no method"):
            spark_mlfs.rank(X, Y, method)


def test_weights_of_any_size():
    """Equal ones change nothing, whatever they are; those that no unit holds are refused in one
    line."""
    want = spark_mlfs.rank(X, Y, "mim", 5)["index"].tolist()
    for weight in (1e-300, 1e14, 1e300):
        assert (
            spark_mlfs.rank(X, Y, "mim", 5, sample_weight=np.full(len(X), weight))["index"].tolist()
            == want
        )
    for weights in (
        np.where(np.arange(len(X)) % 2, 1e300, 1e-300),
        np.where(np.arange(len(X)) % 2, 1e14, 1),
    ):
        with pytest.raises(DataError, match="too far apart"):
            spark_mlfs.rank(X, Y, "mim", 5, sample_weight=weights)


def test_one_class_a_row_becomes_a_label_a_class():
    kind = Y.argmax(axis=1)
    want = spark_mlfs.rank(X, np.eye(4)[kind], "chi2", 12)
    for labels in (
        kind,
        kind.tolist(),
        np.array(TAGS)[kind],
        pd.Series(np.array(TAGS)[kind]),
        kind[:, None] + 5,
    ):
        assert spark_mlfs.rank(X, labels, "chi2", 12).equals(want)


def test_rows_are_known_by_their_content():
    """Whatever type holds them, in whichever order: with repetitions the same draws, so the same
    scores."""
    x, y = np.round(np.concatenate([X, X[:90]]), 2).astype(np.float32), np.concatenate([Y, Y[:90]])
    order = np.random.default_rng(0).permutation(len(x))
    wants = spark_mlfs.rank(x, y, "relieff", None, num_anchors=50)
    assert spark_mlfs.rank(
        x[order].astype(float), y[order], "relieff", None, num_anchors=50
    ).equals(wants)
    one, two = (np.sort(pack_arrays(a, y)[0].block.ids) for a in (thin(x), sp.csr_matrix(thin(x))))
    assert np.array_equal(one, two)


def broken(value, at=(3, 2)):
    out = X.copy()
    out[at] = value
    return out


LARGE = pd.DataFrame({"id": np.arange(len(X)) + 2**53, "b": np.arange(len(X)) % 7})
MIXED = pd.DataFrame(
    {
        "a": X[:, 0],
        "city": ["Rome", 1] * (len(X) // 2),
        "for": pd.Timedelta(3),
        "kind": [[1], "u"] * (len(X) // 2),
    }
)
CASES = {
    "nan": (broken(np.nan), Y, "row 3 of X: feature 2 is missing (NaN)"),
    "named nan": (pd.DataFrame(broken(np.nan), columns=NAMES), Y, "feature 'x2' is missing"),
    "sparse nan": (sp.csr_matrix(broken(np.nan)), Y, "row 3 of X: feature 2 is missing"),
    "infinity": (broken(-np.inf), Y, "feature 2 is -inf; features must be finite"),
    "complex": (X + 0j, Y, "Complex data not supported: X is complex128"),
    "one dimension": (
        X[:, 0],
        Y,
        "X has 1 dimension(s), rows and features make 2. Reshape your data",
    ),
    "three dimensions": (X[:, :, None], Y, "X has 3 dimension(s)"),
    "ragged": ([[1.0, 2.0], [1.0]], Y[:2], "the rows of X are of different lengths"),
    "lists": (
        pd.DataFrame({"a": X[:, 0], "tags": [["Rome"]] * len(X)}),
        Y,
        "no numbers, or texts, booleans or dates alone: 'tags'",
    ),
    "spans": (
        pd.DataFrame({"day": pd.to_timedelta(np.arange(len(X)), unit="D")}),
        Y,
        "'day' (timedelta64",
    ),
    "mixed": (
        MIXED,
        Y,
        "'city' ('Rome'), 'for' (timedelta64[ns]), 'kind' ([1]); encode them, or drop them",
    ),
    "labels of text": (
        X,
        pd.DataFrame({"a": Y[:, 0], "b": "x", "c": "z"}),
        "of Y that hold no numbers: 'b' ('x'), 'c' ('z');",
    ),
    "nan in two": (
        pd.DataFrame(broken(np.nan) + broken(np.nan, (4, 5)), columns=NAMES),
        Y,
        "(2 such value(s), and in 'x5')",
    ),
    "text array": (X.astype(str).astype(object)[:, :1] + "m", Y, "X holds '-0.80"),
    "masked": (
        np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) == 38),
        Y,
        "row 3 of X: feature 2 is missing",
    ),
    "arrays": (
        polars.DataFrame({"a": X[:, 0], "b": X[:, :2]}),
        Y,
        "alone: 'b' (2 numbers a row); encode them, or drop them",
    ),
    "truth values as tags": (
        X,
        [[True, False], [True]] * 100,
        "row 0 of Y is [True, False] where others are lists of tags",
    ),
    "numbers among tags": (
        X,
        [*tags()[1:], ["a", 1]],
        "row 199 of Y is ['a', 1] where others are lists of tags",
    ),
    "nan among tags": (X, [["a", np.nan], *tags()[1:]], "row 0 of Y is ['a', nan] where"),
    "no list": (X, [*tags()[1:], 3], "row 199 of Y is 3 where others are lists of tags"),
    "classes NA": (X, pd.Series(["a", "b"] * 99 + [pd.NA] * 2), "Y holds None or NaN"),
    "other rows": (
        pd.DataFrame(X),
        pd.DataFrame(Y).set_index(np.arange(len(X)) + 1),
        "the index of Y holds other rows",
    ),
    "index twice": (
        pd.DataFrame(X).set_index(np.zeros(len(X))),
        pd.DataFrame(Y),
        "the index of Y holds other rows",
    ),
    "large": (
        broken(2**53 + 1).astype(np.int64) | 1,
        Y,
        "column 2 of X holds whole numbers above 2^53",
    ),
    "large, named": (LARGE, Y, "column 'id' of X holds whole numbers above 2^53"),
    "large, nullable": (
        LARGE.astype("Int64"),
        Y,
        "column 'id' of X holds whole numbers above 2^53",
    ),
    "large, polars": (
        polars.from_pandas(LARGE),
        Y,
        "column 'id' of X holds whole numbers above 2^53",
    ),
    "large, objects": (
        LARGE.astype(object).to_numpy(),
        Y,
        "column 0 of X holds whole numbers above 2^53",
    ),
    "large, sparse": (sp.csr_matrix(LARGE.to_numpy()), Y, "X holds whole numbers above 2^53"),
    "no rows": (X[:0], Y[:0], "X has 0 sample(s)"),
    "one row": (X[:1], Y[:1], "the data have one row"),
    "no features": (X[:, :0], Y, "X has 0 feature(s)"),
    "constant features": (np.ones_like(X), Y, "every feature in 'X' is constant"),
    "names twice": (
        pd.DataFrame(X[:, :2], columns=["a", "a"]),
        Y,
        "two entries of 'X' are both named 'a'",
    ),
    "fewer labels": (X, Y[:-1], "X has 200 samples, Y has 199"),
    "no labels": (X, None, "the labels are missing"),
    "label 2": (
        X,
        np.where(Y > 0, 2, Y),
        "is 2; labels are 0, 1 or unknown (NaN), or give lists of tags",
    ),
    "fractions": (X, X[:, 0], "Unknown label type: Y has continuous values"),
    "classes unknown": (X, [None, *["a"] * 199], "Y holds None or NaN"),
    "one class": (X, np.ones(len(X)), "Y holds one class only, 1.0;"),
    "no tag": (X, [["a"]] * 3 + [{4}] * 197, "row 3 of Y is {4} where others are lists of tags"),
    "no positives": (X, np.zeros_like(Y), "no row has a label in 'Y'"),
    "no negatives": (X, np.ones_like(Y), "no label in 'Y' takes both values"),
    "no columns": (X, Y[:, :0], "Y has no labels (0 columns)"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_used_is_one_line(case):
    x, y, what = CASES[case]
    with pytest.raises(DataError) as error:
        spark_mlfs.rank(x, y)
    assert what in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("lazy", ["X", "Y"])
def test_estimators_refuse_lazy_frames(lazy):
    tables = {"X": polars.DataFrame(X, schema=NAMES), "Y": polars.DataFrame(Y, schema=TAGS)}
    tables[lazy] = tables[lazy].lazy()
    with pytest.raises(DataError, match="a lazy frame of Polars has no rows yet; collect it"):
        spark_mlfs.sklearn.MIMSelector().fit(tables["X"], tables["Y"])


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"method": "jmii"}, "did you mean 'jmi'?"),
        (
            {"method": "scls", "bins": 3},
            "method 'scls' has no parameter 'bins'; did you mean 'num_bins'?",
        ),
        ({"method": "scls", "num_bins": 1}, "num_bins must be a whole number from 2 to 250"),
        ({"k": 0}, "k must be a whole number, at least 1"),
    ],
)
def test_wrong_parameters_are_one_line(values, what):
    with pytest.raises(ParameterError) as error:
        spark_mlfs.rank(X, Y, **values)
    assert what in str(error.value) and "\n" not in str(error.value)


def test_a_spark_frame_is_told_what_to_call(spark):
    frame = spark.createDataFrame([(1.0,)], ["a"])
    with pytest.raises(DataError, match=r"spark_mlfs.JMISelector"):
        spark_mlfs.rank(frame, Y)


@pytest.mark.slow
def test_no_spark_is_imported():
    """In a process that has none: a ranking, a selector, an extractor and a classifier."""
    program = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import numpy as np
import spark_mlfs
rng = np.random.default_rng(0)
x = rng.normal(size=(60, 8))
y = (x[:, :2] > 0).astype(int)
print(list(spark_mlfs.rank(x, y, k=2)["index"]), "sklearn" in sys.modules)
from spark_mlfs.sklearn import JMISelector, MDDMExtractor, MLkNNClassifier, MultiLabelSelector
print(MultiLabelSelector("mim", num_top_features=2).fit(x, y).get_support(indices=True).tolist())
z = MDDMExtractor().fit(x, y).transform(x)
print(MLkNNClassifier().fit(z, y).score(z, y) > 0.8)
for registry in (spark_mlfs.METHODS, spark_mlfs.EXTRACTORS, spark_mlfs.CLASSIFIERS):
    for name in registry:
        registry[name]
print([name for name in sys.modules if name.startswith("pyspark")])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first in ("[0, 1] False", "[1, 0] False") and others == ["[0, 1]", "True", "[]"]


def test_what_needs_spark_says_so_in_one_line_where_there_is_none():
    """The command line and the names of the package in a process that has none."""
    program = """
import sys
sys.modules["pyspark"] = None  # an import of it, or of what it holds, fails
import contextlib, io, pydoc
import spark_mlfs
from spark_mlfs.cli import main

text = pydoc.render_doc(spark_mlfs)
assert "rank(X" in text and "JMISelector" not in dir(spark_mlfs) and "rank" in dir(spark_mlfs)
asked = ["spark_mlfs.JMISelector()", "spark_mlfs.selector_class('jmi')", "spark_mlfs.local_session()",
         "spark_mlfs.compare", "from spark_mlfs import MLkNNClassifier", "from spark_mlfs import *"]
for each in asked:
    try:
        exec(each)
    except ImportError as error:
        assert isinstance(error, spark_mlfs.errors.PlatformError)
        print(error)
for line in ("--version", "--help", "methods", "methods jmi", "methods --json", "completion", "select --help"):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(line.split()) == 0 and said.getvalue(), line
for line in ("warm-up", "sample documents --output x", "select --format numbers --output x --engine spark",
             "evaluate --format numbers --output z --engine spark"):
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        assert main(line.split()) == 2, line
    print(said.getvalue().removeprefix("spark-mlfs: error: "), end="")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 9 and all(
        "needs Spark" in line and "pip install 'spark_mlfs[local]'" in line for line in lines
    )


@pytest.mark.slow
def test_a_pyarrow_that_needs_another_numpy_is_told():
    """What pyspark[connect] 3.5, which wants NumPy 1, brings beside it."""
    program = """
import sys

class Newer:
    def find_spec(self, name, path=None, target=None):
        if name == "pyarrow":
            raise ImportError("pyarrow requires NumPy 2.0 or newer, found 1.26.4")

sys.meta_path.insert(0, Newer())
import spark_mlfs, spark_mlfs.sklearn
from spark_mlfs.cli import main
for ask in (lambda: spark_mlfs.rank, lambda: spark_mlfs.sklearn.JMISelector):
    try:
        ask()
    except spark_mlfs.errors.PlatformError as error:
        print(error)
main(["select", "--format", "numbers", "--output", "x"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    assert len(lines) == 3 and all("pip install 'pyarrow<26'" in line for line in lines), lines


def test_the_first_blocks_of_the_first_page(capsys):
    """They run, and print what stands there."""
    text = (Path(__file__).resolve().parents[2] / "notebooks" / "start" / "laptop.md").read_text()
    first, *more = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[:1]
    names: dict = {}
    exec(first, names)
    assert capsys.readouterr().out == shown
    exec(next(block for block in more if "predict" in block), names)
    assert names["model"].predict(names["X"]).shape == (1797, 3)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_sparse_matrices_with_indices_outside_are_refused(form):
    """SciPy reads and writes where they point: the process ended."""
    rng = np.random.default_rng(0)
    x, y = (
        sp.csr_matrix(rng.random((50, 6)) * (rng.random((50, 6)) < 0.3)),
        (rng.random((50, 2)) < 0.5).astype(float),
    )
    for place in (-5, 10**6):
        rows, labels = x.asformat(form).copy(), sp.csr_matrix(y).asformat(form).copy()
        (rows.col if form == "coo" else rows.indices)[3] = place
        (labels.col if form == "coo" else labels.indices)[3] = place
        for left, right, what in ((rows, y, "X"), (x, labels, "Y")):
            with pytest.raises(DataError, match=f"{what} is a corrupt sparse matrix"):
                spark_mlfs.rank(left, right, "mim")
    assert spark_mlfs.rank(x.asformat(form), y, "mim").equals(spark_mlfs.rank(x, y, "mim"))


def test_memory_bytes_counts_what_every_feature_takes_besides_its_values():
    rng = np.random.default_rng(0)
    x = sp.csr_matrix(
        (np.ones(300), rng.integers(0, 10**5, 300), np.arange(0, 301, 5)), shape=(60, 10**5)
    )
    y = (rng.random((60, 2)) < 0.5).astype(float)
    with pytest.raises(BudgetError, match="memory_bytes"):
        spark_mlfs.rank(x, y, "mim", memory_bytes=16 << 20)
    assert len(spark_mlfs.rank(x, y, "mim", memory_bytes=64 << 20)) == 50
