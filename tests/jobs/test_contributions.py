"""Why a row has a tag: the largest terms of its score, which add up to it, on both engines."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from spark_mlfs import cli
from spark_mlfs.errors import ParameterError
from spark_mlfs.kernels.terms import largest_terms
from spark_mlfs.sklearn import BRSVMClassifier, ClassifierChainClassifier, LogisticClassifier

TOPICS = {"sea": ["ship", "harbour", "sail"], "land": ["wheat", "plough"], "air": ["wing", "jet"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts whose tags have words of their own, and numbers, with a pipeline fitted to each."""
    folder = tmp_path_factory.mktemp("contributions")
    rng = np.random.default_rng(0)
    texts, tags = [], []
    for _ in range(300):
        row = [topic for topic in TOPICS if rng.random() < 0.4]
        words = [*rng.choice([f"w{i}" for i in range(30)], 12)]
        for topic in row:
            words += [*rng.choice(TOPICS[topic], 3)]
        texts.append(" ".join(rng.permutation(words)))
        tags.append(row)
    texts[5] = None
    table = {"key": np.arange(300), "body": texts, "topics": tags}
    pq.write_table(pa.table(table), folder / "texts.parquet")
    x = rng.normal(size=(300, 8))
    numbers = pd.DataFrame(x, columns=[f"f{i}" for i in range(8)])
    numbers["tags"] = [
        [name for name, on in zip("ab", row, strict=True) if on] for row in x[:, :2] > 0
    ]
    numbers.to_parquet(folder / "numbers.parquet")
    run("select", folder, "text", "--data", folder / "texts.parquet", "--format", "text",
        "--option", "text=body", "--option", "labels=topics", "--option", "source=parquet",
        "--option", "min_df=1", "--id", "key", "--method", "chi2", "--num-top-features", "12",
        "--classifier", "br-svm", "--engine", "local")  # fmt: skip
    run("select", folder, "table", "--data", folder / "numbers.parquet", "--features", "f*",
        "--labels-col", "tags", "--method", "ridge", "--num-top-features", "4", "--classifier",
        "logistic", "--classifier-set", "scaling=standard", "--engine", "local")  # fmt: skip
    return folder


def run(command, folder, output, *more):
    arguments = [
        command,
        *map(str, more),
        "--output",
        str(folder / output),
        "--quiet",
        "--overwrite",
    ]
    assert cli.main(arguments) == 0


def scored(folder, model, data, engine, output, *more):
    run("score", folder, output, "--model", folder / model, "--data", folder / data, "--format",
        "parquet", "--engine", engine, "--explain", 6, *more)  # fmt: skip
    return pq.read_table(folder / output / "data").to_pylist()


def test_terms_of_words_add_up_to_the_score(folder):
    rows = scored(folder, "text", "texts.parquet", "local", "local-text", "--id", "key")
    best = 0
    for row in rows:
        assert len(row["contributions"]) == len(row["tags"]) == len(row["best_passages"])
        for tag, score, terms in zip(row["tags"], row["scores"], row["contributions"], strict=True):
            assert sum(term["contribution"] for term in terms) == pytest.approx(score, abs=1e-12)
            assert terms[-1]["feature"] == "(constant)" and len(terms) <= 7
            sizes = [abs(term["contribution"]) for term in terms[:5] if "(" not in term["feature"]]
            assert sizes == sorted(sizes, reverse=True)
            best += terms[0]["feature"] in TOPICS[tag]
    assert best > 0.9 * sum(len(row["tags"]) for row in rows) > 200
    page = (folder / "local-text" / "_report.html").read_text()
    surest = max(
        (s, t) for row in rows for s, t in zip(row["scores"], row["contributions"], strict=True)
    )
    assert f"{surest[1][0]['feature']} {surest[1][0]['contribution']:+.3g}" in page


@pytest.mark.slow
def test_both_engines_tell_the_same(folder):
    both = [
        sorted(scored(folder, "text", "texts.parquet", engine, f"same-{engine}", "--id", "key"),
               key=lambda row: row["key"])
        for engine in ("local", "spark")
    ]  # fmt: skip
    assert both[0] == both[1]


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_terms_of_columns_add_up_to_the_logit(folder, engine):
    rows = scored(folder, "table", "numbers.parquet", engine, f"{engine}-table")
    right = []
    for row in rows:
        assert "best_passages" not in row
        for tag, score, terms in zip(row["tags"], row["scores"], row["contributions"], strict=True):
            value = sum(term["contribution"] for term in terms)
            assert 1 / (1 + np.exp(-value)) == pytest.approx(score, abs=1e-12)
            right.append(terms[0]["feature"] == {"a": "f0", "b": "f1"}[tag])
    assert np.mean(right) > 0.9
    manifest = json.loads((folder / f"{engine}-table" / "_manifest.json").read_text())
    assert manifest["settings"]["how"]["explain"] == 6


def test_a_kept_column_of_that_name_is_refused(folder, capsys):
    table = pq.read_table(folder / "texts.parquet").append_column(
        "contributions", pa.array([1] * 300)
    )
    pq.write_table(table, folder / "named.parquet")
    given = ["score", "--model", folder / "text", "--data", folder / "named.parquet", "--format",
             "parquet", "--id", "key", "--keep", "contributions", "--engine", "local", "--output",
             folder / "refused"]  # fmt: skip
    assert cli.main([*map(str, given), "--explain", "5"]) == 2
    assert "'contributions' cannot be kept" in capsys.readouterr().err
    assert cli.main([*map(str, given), "--quiet"]) == 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_largest_terms(form, monkeypatch):
    monkeypatch.setattr("spark_mlfs.kernels.terms.ENTRIES", 40)  # several runs
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 9)) * (rng.random((30, 9)) < 0.6)
    x[4] = 0
    weights = rng.normal(size=(4, 9))
    weights[:, 2] = 0
    rows, vectors = rng.integers(30, size=70), rng.integers(4, size=70)
    out = largest_terms(form(x), weights, rows, vectors, 3)
    ends = np.cumsum(out.counts)
    for pair, (row, vector) in enumerate(zip(rows, vectors, strict=True)):
        terms = x[row] * weights[vector]
        order = [j for j in np.argsort(-np.abs(terms), kind="stable") if terms[j]]
        shown = slice(ends[pair] - out.counts[pair], ends[pair])
        assert out.features[shown].tolist() == order[:3]
        assert out.values[shown].tolist() == terms[order[:3]].tolist()
        assert out.total[pair] == pytest.approx(terms.sum(), abs=1e-14)
        assert out.others[pair] == pytest.approx(terms[order[3:]].sum(), abs=1e-14)
    assert not largest_terms(form(x), weights, rows[:0], vectors[:0], 3).counts.size


@pytest.mark.parametrize("settings", [{}, {"norm": "l2"}, {"scaling": "standard"}])
def test_estimators_explain(settings):
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.normal(size=(80, 6)), columns=list("abcdef"))
    y = pd.DataFrame({"p": x["a"] > 0, "q": x["b"] > 0.5}).astype(int)
    for model in (BRSVMClassifier(**settings).fit(x, y), LogisticClassifier(**settings).fit(x, y)):
        told = model.explain(x, num_features=2)
        proba = isinstance(model, LogisticClassifier)
        values = model.predict_proba(x) if proba else model.decision_function(x)
        values = np.log(values / (1 - values)) if proba else values
        sums = told.groupby(["row", "label"])["contribution"].sum()
        predicted = {
            (i, "pq"[j]) for i, j in zip(*np.nonzero(np.asarray(model.predict(x))), strict=True)
        }
        assert {*sums.index} == predicted
        for (row, label), value in sums.items():
            assert value == pytest.approx(values[row, "pq".index(label)], abs=1e-9)
        assert set(told.groupby(["row", "label"]).size()) == {4}
    classes = BRSVMClassifier(**settings).fit(x, np.array(["no", "yes"])[y["p"]])
    told = classes.explain(x[:3])
    assert told.drop_duplicates("row")["label"].tolist() == classes.predict(x[:3]).tolist()


def test_what_is_not_linear_explains_nothing():
    x, y = np.eye(6), np.tile([0, 1], 3)
    with pytest.raises(ParameterError, match="only the scores of a linear classifier"):
        ClassifierChainClassifier().fit(x, y).explain(x)
    with pytest.raises(ParameterError, match="give 1 feature at least"):
        BRSVMClassifier().fit(x, y).explain(x, num_features=0)
