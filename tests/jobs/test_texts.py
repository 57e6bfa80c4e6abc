"""Texts by the commands: a column of any table, tf-idf behind the selection, many terms."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from spark_mlfs import cli
from spark_mlfs.cli.config import configure
from spark_mlfs.scoring.local import load_here
from spark_mlfs.sklearn import TextFeatures

WORDS = [f"wort{i}" for i in range(40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    at = tmp_path_factory.mktemp("texts")
    rows = []
    for i in range(200):
        words = list(rng.choice(WORDS, rng.integers(3, 20)))
        tags = [tag for j, tag in enumerate("xyz") if f"wort{j}" in words]
        rows.append((i, " ".join(words).title(), ";".join(tags)))
    frame = pd.DataFrame(rows, columns=["doc", "body", "tags"])
    frame.to_csv(at / "train.csv.gz", index=False)
    frame.to_csv(at / "bars.csv", index=False, sep="|")
    frame.rename(columns={"body": "other"}).to_csv(at / "other.csv", index=False)
    return at


@pytest.fixture
def run(folder, capfd):
    def run(command, *flags, code=0, data="train.csv.gz"):
        tags = ["--labels-col", "tags", "--option", "label_delimiter=;"]
        tags = [] if command == "score" else tags
        given = [command, "--data", f"{folder}/{data}", *tags, "--id", "doc", "--engine", "local"]
        assert cli.main([*given, *map(str, flags)]) == code
        return capfd.readouterr()

    return run


SELECT = ("--num-top-features", 5, "--no-report", "--output")


def test_a_column_of_any_table(folder, run, tmp_path):
    run("select", "--text", "body", *SELECT, tmp_path / "a", "--classifier", "br-svm")
    long = ("--format", "text", "--option", "source=csv", "--option", "text=body")
    run("select", *long, *SELECT, tmp_path / "b", "--classifier", "br-svm")
    run("select", "--text", "body", "--option", "sep=|", *SELECT, tmp_path / "c", data="bars.csv")
    first, second, third = ((tmp_path / name / "ranking.csv").read_text() for name in "abc")
    assert first == second == third and {"wort0", "wort1", "wort2"} < set(
        pd.read_csv(tmp_path / "a/ranking.csv")["name"][:5]
    )
    run("score", "--model", tmp_path / "a", "--text", "body", "--output", tmp_path / "s")
    run("score", "--model", tmp_path / "b", "--text", "other", "--output", tmp_path / "t",
        data="other.csv")  # fmt: skip
    tags = [pd.read_parquet(tmp_path / name / "data")["tags"].map(list) for name in "st"]
    assert tags[0].tolist() == tags[1].tolist()
    out, _ = run("check", "--model", tmp_path / "a", "--text", "other", "--json", data="other.csv")
    assert json.loads(out)["metrics"]["microF1"] > 0.9
    run("transform", "--model", tmp_path / "a", "--text", "body", "--output", tmp_path / "cut")
    assert len(pd.read_parquet(tmp_path / "cut")) == 200
    _, err = run("transform", "--model", tmp_path / "a", "--text", "body", "--option",
                 "weight=tfidf", "--output", tmp_path / "no", code=2)  # fmt: skip
    assert "transform gives counts of terms" in err
    _, err = run("collect", "--for", "mim", "--text", "body", "--option", "norm=l2",
                 "--output", tmp_path / "no", code=2)  # fmt: skip
    assert "states add up what terms are in rows" in err


@pytest.mark.parametrize("renormalise", [True, False])
def test_the_classifier_takes_tf_idf_of_the_words_that_are_kept(folder, run, tmp_path, renormalise):
    flags = ("--text", "body", "--option", f"renormalise={renormalise}", "--classifier", "br-svm")
    run("select", *flags, *SELECT, tmp_path / "a")
    scorer = load_here(f"{tmp_path}/a")
    ranking = pd.read_csv(tmp_path / "a/ranking.csv")
    texts = pd.read_csv(folder / "train.csv.gz")["body"]
    oracle = TfidfVectorizer(min_df=2, sublinear_tf=True, norm="l2" if not renormalise else None)
    expected = pd.DataFrame(
        oracle.fit_transform(texts).toarray(), columns=oracle.get_feature_names_out()
    )[ranking["name"][:5]].to_numpy()
    if renormalise:
        lengths = np.sqrt((expected**2).sum(axis=1, keepdims=True))
        expected = expected / np.where(lengths, lengths, 1)
    import pyarrow as pa

    frame = pd.DataFrame({"body": texts})
    batch = pa.RecordBatch.from_pandas(frame)
    from spark_mlfs.frames.frame import Kind, LocalFrame

    here = LocalFrame([lambda: iter([batch])], {"body": Kind("string")})
    column, reader = scorer._features(here)
    np.testing.assert_allclose(reader(column(batch)).toarray(), expected, atol=1e-12)
    (stage, *_) = scorer.stages
    assert len(stage.params["vocabulary"]) == (5 if renormalise else len(WORDS))


def test_a_matrix_is_of_the_best_terms_alone(run, tmp_path, monkeypatch):
    monkeypatch.setattr("spark_mlfs.cli.reckoning.TERMS_OF_A_MATRIX", 12)
    _, err = run("select", "--text", "body", "--method", "ridge", *SELECT, tmp_path / "a")
    assert "of the 40 terms the 12 best by f-statistic go on" in err
    manifest = json.loads((tmp_path / "a/manifest.json").read_text())
    assert manifest["method"]["screen"] == "f-statistic:12"
    assert set(pd.read_csv(tmp_path / "a/ranking.csv")["name"][:3]) == {"wort0", "wort1", "wort2"}


def test_too_many_terms_are_hashed(folder, monkeypatch):
    monkeypatch.setattr("spark_mlfs.texts.vocabulary.MOST_TERMS", 30)
    monkeypatch.setattr("spark_mlfs.texts.text_options.BUCKETS", 1 << 18)
    texts = pd.read_csv(folder / "train.csv.gz")["body"]
    encoder = TextFeatures(weight="count", ngrams=(1, 1))
    with pytest.warns(UserWarning, match="hashed to 262144 features, whose names are numbers"):
        x = encoder.fit_transform(texts)
    monkeypatch.undo()
    exact = TextFeatures(weight="count").fit_transform(texts)
    assert x.shape == exact.shape and sorted(x.sum(axis=0).A1) == sorted(exact.sum(axis=0).A1)


def test_the_words_of_texts_are_chosen_by_quotas_where_no_method_is_named():
    flags = {
        "data": {"path": ["d.csv"], "format": "csv", "options": {"text": "body", "labels": "t"}}
    }
    run = {"run": {"output": "out"}}
    assert configure(None, flags | run).method.name == "quota"
    for more in (
        {"selection": {"num_top_features": "auto"}},
        {"selection": {"fdr": 0.1}},
        {"method": {"parameters": {"candidates": 100}}},
    ):
        assert configure(None, flags | run | more).method.name == "forward"
    numbers = {"data": {"format": "numbers"}}
    assert configure(None, numbers | run).method.name == "forward"


def test_test_files_have_the_words_of_training(folder, run, tmp_path):
    """Their own words and weights would be others; methods that count see which occur."""
    texts = pd.read_csv(folder / "train.csv.gz")
    texts.assign(body=texts["body"] + " other words").to_csv(tmp_path / "test.csv", index=False)
    flags = ("--text", "body", "--method", "mim", "--classifier", "br-svm", "--sizes", "3")
    run("evaluate", *flags, "--test-data", tmp_path / "test.csv", "--output", tmp_path / "out")
    cells = pd.read_csv(tmp_path / "out/cells.csv").set_index("method")
    assert cells.loc["mim", "microF1"] > 0.95 and cells.loc["all features", "features"] == 40


def test_files_are_scored_by_their_names_as_they_are(folder, run, tmp_path):
    """A percent sign in a name begins no escape."""
    pd.read_csv(folder / "train.csv.gz").to_csv(folder / "a%20b.csv", index=False)
    run("select", "--text", "body", *SELECT, tmp_path / "m", "--classifier", "br-svm")
    run("score", "--model", tmp_path / "m", "--output", tmp_path / "s", data="a%20b.csv")
    assert len(pd.read_parquet(tmp_path / "s/data")) == 200
