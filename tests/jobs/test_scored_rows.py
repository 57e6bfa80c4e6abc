"""How `score` reads its rows: words counted and features selected where the classifier reads them,
to the same bits."""

from __future__ import annotations

import pickle
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.ml import PipelineModel
from pyspark.ml.feature import (
    CountVectorizerModel,
    RegexTokenizer,
    SQLTransformer,
    StopWordsRemover,
)
from pyspark.ml.linalg import Vectors
from sklearn.feature_extraction.text import CountVectorizer

from spark_mlfs import BRSVMClassifier, DataError, MIMSelector, MLkNNClassifier, read
from spark_mlfs.adapters.tags import best_labels
from spark_mlfs.frames.parquet import open_parquet
from spark_mlfs.mlflow.tagger import Steps
from spark_mlfs.scoring.base import word_counts
from spark_mlfs.scoring.local import load_here
from spark_mlfs.scoring.stages import Scorer, WordCounter, fit_pipeline, load_scorer
from spark_mlfs.texts.ascii_words import WordCounts

LETTERS = st.sampled_from("aAbZ09_ .,-\n\tàÉßſ\u0130\u212aΣ\u2028日\U0001f600")


def split(text):
    """As Java splits at ``\\W+`` what it has put in lower case."""
    return [word for word in re.split(r"\W+", text.lower(), flags=re.ASCII) if word]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.text(LETTERS, max_size=12), max_size=6), st.integers(0, 3))
def test_words_are_those_that_java_splits_off(texts, skipped):
    expected = [Counter(split(text)) for text in texts[skipped:]]
    words = sorted({word for of_text in expected for word in of_text})
    counts = WordCounts(tuple(words))(pa.array(texts, pa.string())[skipped:]).toarray()
    assert counts.tolist() == [[of_text[word] for word in words] for of_text in expected]


def test_two_letters_beyond_ascii_have_one_of_ascii_s_in_lower_case():
    every = map(chr, [*range(0x80, 0xD800), *range(0xE000, 0x110000)])
    assert [c for c in every if re.search(r"\w", c.lower(), re.ASCII)] == ["\u0130", "\u212a"]


def test_counts_are_scikit_learn_s(monkeypatch):
    rng = np.random.default_rng(0)
    known = [f"w{i}" for i in range(40)] + ["the_end", "x"]
    texts = [
        " ".join(rng.choice([*known, "unknown", "The"], rng.integers(0, 60))).title()
        for _ in range(3000)
    ]
    texts[1000:2000] = texts[:1000]
    vocabulary = rng.permutation(known)
    counter = CountVectorizer(vocabulary=vocabulary, token_pattern=r"[a-z0-9_]+")
    expected = counter.fit_transform(texts)
    counts = WordCounts(tuple(vocabulary))(pa.array(texts))
    assert (
        counts.dtype == np.float64 and counts.has_sorted_indices and (counts != expected).nnz == 0
    )
    assert (WordCounts(tuple(vocabulary), binary=True)(pa.array(texts)) != (expected > 0)).nnz == 0
    less = WordCounts(tuple(vocabulary), stop=frozenset(vocabulary[:5]))(pa.array(texts))
    assert less[:, :5].nnz == 0 and (less[:, 5:] != expected[:, 5:]).nnz == 0
    with monkeypatch.context() as patch:
        split_at_once, count = [], WordCounts.counts
        patch.setattr("spark_mlfs.texts.word_vectors.SLICE_BYTES", 5000)
        patch.setattr(
            WordCounts,
            "counts",
            lambda self, texts: split_at_once.append(texts.nbytes) or count(self, texts),
        )
        pieces = WordCounts(tuple(vocabulary))(pa.array(texts)[7:])
    assert len(split_at_once) > 20 and max(split_at_once) < 4 * 5000
    assert pieces.has_sorted_indices and (pieces != expected[7:]).nnz == 0
    some = np.array([7, 3, 30])
    assert (WordCounts(tuple(vocabulary)).of(some)(pa.array(texts)) != expected[:, some]).nnz == 0
    assert WordCounts(("a",))(pa.array([""])).shape == (1, 1)


def test_other_ways_to_split_are_spark_s(spark):
    counter = CountVectorizerModel.from_vocabulary(["a", "b"], inputCol="t", outputCol="c")
    usual = RegexTokenizer(inputCol="text", outputCol="t", pattern=r"\W+")
    column, counts = word_counts([usual, counter])
    assert column == "text" and counts == WordCounts(("a", "b"))
    others = [
        usual.copy().setPattern(r"\s+"), usual.copy().setGaps(False), usual.copy().setToLowercase(False),
        usual.copy().setMinTokenLength(2), usual.copy().setOutputCol("elsewhere"),
    ]  # fmt: skip
    assert [word_counts([other, counter]) for other in others] == [None] * 5
    assert word_counts([usual, counter.copy().setMinTF(2.0)]) is None
    assert word_counts([counter]) is None and word_counts([]) is None


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 12), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_the_best_labels(q, digits, seed):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=(rng.integers(0, 30), q)), digits)
    predicted = (scores > rng.normal()).astype(np.uint8)
    for top_n, threshold in [
        (1, None),
        (q, None),
        (max(1, q // 2), None),
        (None, 0.5),
        (None, None),
    ]:
        labels, values, counts = best_labels(predicted, scores, top_n, threshold)
        expected = []
        for row, yes in zip(scores, predicted, strict=True):
            order = sorted(range(q), key=lambda label: (-row[label], label))
            expected.append(
                order[:top_n]
                if top_n
                else [b for b in order if (yes[b] if threshold is None else row[b] >= 0.5)]
            )
        assert labels.tolist() == [
            b for some in expected for b in some
        ] and counts.tolist() == list(map(len, expected))
        assert values.tolist() == [scores[i, b] for i, some in enumerate(expected) for b in some]


def same_scores(spark, pipeline, frame):
    """The scores of the pipeline as it is and as `score` has it: equal to the bit."""
    rows = frame
    for stage in pipeline.stages:
        rows = stage.transform(rows)
    expected = {row.doc: row.rawPrediction.toArray().tobytes() for row in rows.collect()}
    found = Scorer("", pipeline.stages).tagged(frame, ["doc"], all_scores=True).collect()
    assert len(found) == frame.count() == len(expected)
    assert {row.doc: np.array(row.rawPrediction).tobytes() for row in found} == expected
    return found


def documents():
    """Rows of a text and its tags, whose words say them; some of signs beyond ASCII, or none."""
    rng = np.random.default_rng(1)
    words = {
        "cats": "cat kitten purr the",
        "dogs": "dog puppy bark of",
        "food": "bread soup the eat",
    }
    rows = []
    for i in range(2000):
        tags = [t for t in words if rng.random() < 0.4]
        body = " ".join(w for t in tags for w in rng.permutation(words[t].split())[:3])
        rows.append(
            (
                i,
                ["{}", "É{}!\n", "{} \u0130t", "{}, {}"][i % 4].format(body, body).upper()
                if i % 3
                else body,
                tags,
            )
        )
    rows += [(2000, None, ["cats"]), (2001, "", []), (2002, "日本", ["food"])]
    return rows


@pytest.mark.slow
def test_texts(spark):
    rows = documents()
    table = spark.createDataFrame(
        rows, "doc bigint, body string, topics array<string>"
    ).repartition(3)
    options = {
        "text": "body",
        "labels": "topics",
        "id": "doc",
        "min_df": 1,
        "stop_words": "english",
    }
    training = read.text(spark, table, **options)
    selector = MIMSelector(numTopFeatures=6, idCol="id").fit(training)
    assert selector.selectedFeatures != sorted(selector.selectedFeatures)
    pipeline = fit_pipeline(training, selector, "br-svm", {}, table, "text", options)
    assert [type(stage).__name__ for stage in pipeline.stages[:1]] == ["TextFeaturesModel"]
    rows = same_scores(spark, pipeline, table)
    texts = table.select("doc", "body").toPandas()
    steps = pickle.loads(pickle.dumps(Steps.of(pipeline)))  # without Spark
    expected = {row.doc: np.array(row.rawPrediction).tobytes() for row in rows}
    for doc, scores in zip(texts["doc"], steps.predict(texts)[1], strict=True):
        assert scores.tobytes() == expected[doc]
    with pytest.raises(DataError, match="lacks the column 'body' of texts"):
        steps.predict(texts.rename(columns={"body": "other"}))
    assert len({row.scores[0] for row in rows if row.scores}) > 3


@pytest.mark.slow
def test_a_pipeline_of_spark_ml_s_stages(spark, tmp_path):
    """As earlier versions saved them: read, and applied by both engines, words of ASCII as before."""
    table = spark.createDataFrame(documents(), "doc bigint, body string, topics array<string>")
    no_null = SQLTransformer(statement="SELECT *, coalesce(`body`, '') AS _text FROM __THIS__")
    split = RegexTokenizer(inputCol="_text", outputCol="_tokens", pattern=r"\W+")
    remover = StopWordsRemover(inputCol="_tokens", outputCol="_kept", stopWords=["The", "of"])
    words = ["cat", "kitten", "purr", "dog", "puppy", "bark", "bread", "soup", "eat", "t"]
    counter = CountVectorizerModel.from_vocabulary(words, inputCol="_kept", outputCol="counts")
    counted = PipelineModel([no_null, split, remover, counter]).transform(table)
    training = read.table(spark, counted, features="counts", labels="topics", id="doc")
    selector = MIMSelector(numTopFeatures=6, idCol="id", outputCol="selected").fit(training)
    classifier = BRSVMClassifier().setFeaturesCol("selected").setIdCol("id")
    model = classifier.fit(selector.transform(training))
    stages = [no_null, split, remover, counter, selector.setFeaturesCol("counts"), model]
    PipelineModel(stages).write().save(f"file://{tmp_path}/pipeline")
    loaded = load_scorer(spark, f"file://{tmp_path}/pipeline")
    found = {row.doc: row for row in same_scores(spark, loaded, table)}
    table.coalesce(1).write.parquet(f"file://{tmp_path}/texts")
    here = load_here(f"{tmp_path}/pipeline")
    rows = open_parquet([f"{tmp_path}/texts"], {})
    for row in here.tagged(rows, ["doc"], all_scores=True).collect():
        assert row["rawPrediction"] == found[row["doc"]].rawPrediction
        assert row["tags"] == found[row["doc"]].tags


@pytest.mark.slow
def test_texts_whose_words_the_librarys_own_stage_counts(spark):
    """A pipeline as it is saved without the JVM: its words are counted where the classifier reads
    them, too."""
    rng = np.random.default_rng(3)
    known = ["cat", "dog", "soup", "it", "the", "x_1"]
    bodies = [" ".join(rng.choice([*known, "other"], rng.integers(0, 30))) for _ in range(1500)]
    rows = [
        (i, f"{b}!" if i % 2 else b.upper(), [t for t in ("cat", "soup") if t in b])
        for i, b in enumerate(bodies)
    ]
    rows += [*rows[:700], (9000, None, ["cat"]), (9001, "", []), (9002, "İt", ["soup"])]
    rows = [(i, *row[1:]) for i, row in enumerate(rows)]
    table = spark.createDataFrame(
        rows, "doc bigint, `the.body` string, topics array<string>"
    ).repartition(3)
    counter = WordCounter(
        inputCol="the.body", outputCol="counts", vocabulary=known, stopWords=["the"], binary=True
    )
    counts = counter.transform(table).select("doc", "counts", "topics")
    training = read.table(spark, counts, features="counts", labels="topics", id="doc")
    selector = MIMSelector(numTopFeatures=3, idCol="id", outputCol="selected").fit(training)
    model = (
        BRSVMClassifier()
        .setFeaturesCol("selected")
        .setIdCol("id")
        .fit(selector.transform(training))
    )
    pipeline = PipelineModel(stages=[counter, selector.setFeaturesCol("counts"), model])
    rows = same_scores(spark, pipeline, table)
    assert len({row.scores[0] for row in rows if row.scores}) > 3
    scorer = Scorer("", pipeline.stages)
    frame, cells = scorer.features(scorer.read_of(table))
    assert cells.read == counter.word_counts().of(
        np.array(selector.selectedFeatures)
    ) and frame.columns == ["the.body"]
    assert word_counts([counter]) == (
        "the.body",
        WordCounts(tuple(known), True, frozenset(["the"])),
    )
    assert word_counts([counter, counter]) is None


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dense", "sparse", "arrays"])
def test_vectors(spark, form):
    rng = np.random.default_rng(2)
    x = np.round(rng.normal(size=(2000, 8)), 3) * (rng.random((2000, 8)) < 0.6)
    x[1000:1700] = x[:700]
    y = x[:, [5, 1]] + 0.1 * rng.normal(size=(2000, 2)) > 0.2
    full = [Vectors.sparse(8, np.flatnonzero(r).tolist(), r[r != 0].tolist()) for r in x]
    cells = {"dense": [Vectors.dense(r) for r in x], "sparse": full, "arrays": x.tolist()}[form]
    rows = [
        (i, c, [f"t{j}" for j in np.flatnonzero(labels)])
        for i, (c, labels) in enumerate(zip(cells, y, strict=True))
    ]
    kind = "array<double>" if form == "arrays" else "vector"
    frame = (
        spark.createDataFrame(rows, ["doc", "features", "labels"])
        if kind == "vector"
        else spark.createDataFrame(rows, f"doc bigint, features {kind}, labels array<string>")
    )
    selector = MIMSelector(numTopFeatures=4, idCol="doc", outputCol="selected").fit(frame)
    estimator = MLkNNClassifier(k=3) if form == "dense" else BRSVMClassifier()
    model = estimator.setFeaturesCol("selected").setIdCol("doc").fit(selector.transform(frame))
    pipeline = PipelineModel(stages=[selector, model])
    same_scores(spark, pipeline, frame.limit(500).repartition(3))

    unused = next(j for j in range(8) if j not in selector.selectedFeatures)
    used = selector.selectedFeatures[0]
    for slot, refused in ((unused, False), (used, True)):
        values = x[:3].copy()
        values[1, slot] = np.nan
        cells = [
            Vectors.sparse(8, range(8), r.tolist()) if form == "sparse" else Vectors.dense(r)
            for r in values
        ]
        few = [
            (i, r.tolist() if form == "arrays" else c)
            for i, (c, r) in enumerate(zip(cells, values, strict=True))
        ]
        table = spark.createDataFrame(
            few, "doc bigint, features array<double>" if form == "arrays" else ["doc", "features"]
        )
        if not refused:
            assert len(same_scores(spark, pipeline, table)) == 3
            continue
        with pytest.raises(Exception, match=f"feature {slot} is missing") as raised:
            Scorer("", pipeline.stages).tagged(table, ["doc"]).collect()
        assert DataError.__name__ in str(raised.value)
