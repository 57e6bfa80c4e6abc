"""How `score` reads its rows: words counted and features selected where the classifier reads them,
to the same bits."""

from __future__ import annotations

import pickle
import re
from collections import Counter

import numpy as np
import pandas as pd
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

from spark_mlfs import (
    CLASSIFIERS,
    DataError,
    MIMSelector,
    MultiLabelClassificationModel,
    MultiLabelSelectorModel,
    params,
    read,
)
from spark_mlfs.adapters.classes import Fit
from spark_mlfs.adapters.learned import facts_of_learned
from spark_mlfs.adapters.tags import best_labels
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.frames.parquet import open_parquet
from spark_mlfs.mlflow.tagger import Steps
from spark_mlfs.pipeline import Request, compute, rank
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


def trained(x, tags, count, features, classifier="br-svm", **parameters):
    """A selection of a column of features and a classifier of what it selects, learned in this
    process."""
    rows, _ = pack_arrays(x, tags)
    (ranked,) = rank(rows, [Request.of("mim", {}, count)])
    selector = MultiLabelSelectorModel.of(ranked).setNumTopFeatures(count)
    selector = selector.setFeaturesCol(features).setOutputCol("selected")
    rows, _ = pack_arrays(x[selector.selectedFeatureNames], tags)
    learner = CLASSIFIERS.create(classifier)
    fit = Fit(learner, params.check(learner.parameters, parameters, classifier))
    state, cost, _ = compute(rows, fit)
    facts = facts_of_learned("classifier", fit, rows, state, cost, 0.0)
    return selector, MultiLabelClassificationModel.of(state, facts).setFeaturesCol("selected")


def counted(bodies, words):
    """How often each word stands in each text."""
    counts = [Counter(split(body or "")) for body in bodies]
    return pd.DataFrame([[float(count[word]) for word in words] for count in counts], columns=words)


def same_scores(pipeline, frame, count):
    """The scores of the pipeline as it is and as `score` has it, of so many rows: equal to the bit."""
    rows = frame
    for stage in pipeline.stages:
        rows = stage.transform(rows)
    expected = {row.doc: row.rawPrediction.toArray().tobytes() for row in rows.collect()}
    found = Scorer("", pipeline.stages).tagged(frame, ["doc"], all_scores=True).collect()
    assert len(found) == count == len(expected)
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
    for i in range(600):
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
    rows += [(600, None, ["cats"]), (601, "", []), (602, "日本", ["food"])]
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
    rows = same_scores(pipeline, table, len(rows))
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
    documents_ = documents()
    table = spark.createDataFrame(documents_, "doc bigint, body string, topics array<string>")
    no_null = SQLTransformer(statement="SELECT *, coalesce(`body`, '') AS _text FROM __THIS__")
    split = RegexTokenizer(inputCol="_text", outputCol="_tokens", pattern=r"\W+")
    remover = StopWordsRemover(inputCol="_tokens", outputCol="_kept", stopWords=["The", "of"])
    words = ["cat", "kitten", "purr", "dog", "puppy", "bark", "bread", "soup", "eat", "t"]
    counter = CountVectorizerModel.from_vocabulary(words, inputCol="_kept", outputCol="counts")
    x = counted([body for _, body, _ in documents_], words)
    learned = trained(x, [tags for *_, tags in documents_], 6, "counts")
    stages = [no_null, split, remover, counter, *learned]
    PipelineModel(stages).write().save(f"file://{tmp_path}/pipeline")
    loaded = load_scorer(spark, f"file://{tmp_path}/pipeline")
    found = {row.doc: row for row in same_scores(loaded, table, len(documents_))}
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
    bodies = [" ".join(rng.choice([*known, "other"], rng.integers(0, 30))) for _ in range(500)]
    rows = [
        (i, f"{b}!" if i % 2 else b.upper(), [t for t in ("cat", "soup") if t in b])
        for i, b in enumerate(bodies)
    ]
    rows += [*rows[:200], (9000, None, ["cat"]), (9001, "", []), (9002, "İt", ["soup"])]
    rows = [(i, *row[1:]) for i, row in enumerate(rows)]
    table = spark.createDataFrame(
        rows, "doc bigint, `the.body` string, topics array<string>"
    ).repartition(3)
    counter = WordCounter(
        inputCol="the.body", outputCol="counts", vocabulary=known, stopWords=["the"], binary=True
    )
    counts = (counted([body for _, body, _ in rows], known) > 0).assign(the=False).astype(float)
    selector, model = trained(counts, [tags for *_, tags in rows], 3, "counts")
    pipeline = PipelineModel(stages=[counter, selector, model])
    rows = same_scores(pipeline, table, len(rows))
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


FORMS = {"dense": ("mlknn", {"k": 3}), "sparse": ("br-svm", {}), "arrays": ("br-svm", {})}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_vectors(spark, form):
    """A value that is missing matters where the feature was selected alone."""
    rng = np.random.default_rng(2)
    x = np.round(rng.normal(size=(500, 8)), 3) * (rng.random((500, 8)) < 0.6)
    x[300:] = x[:200]
    y = x[:, [5, 1]] + 0.1 * rng.normal(size=(500, 2)) > 0.2
    classifier, parameters = FORMS[form]
    names = [f"features_{j}" for j in range(8)]
    learned = trained(
        pd.DataFrame(x, columns=names), y.astype(int), 4, "features", classifier, **parameters
    )
    pipeline = PipelineModel(stages=[*learned])
    selected = learned[0].selectedFeatures
    unused, used = next(j for j in range(8) if j not in selected), selected[0]

    def frame_of(x):
        if form == "arrays":
            rows = [(i, r.tolist()) for i, r in enumerate(x)]
            return spark.createDataFrame(rows, "doc bigint, features array<double>")
        cells = [
            Vectors.sparse(8, np.flatnonzero(r).tolist(), r[r != 0].tolist())
            if form == "sparse"
            else Vectors.dense(r)
            for r in x
        ]
        return spark.createDataFrame([*enumerate(cells)], ["doc", "features"])

    x[7, unused] = np.nan
    same_scores(pipeline, frame_of(x).repartition(3), len(x))
    x[7, used] = np.nan
    with pytest.raises(Exception, match=f"feature 'features_{used}' is missing") as raised:
        Scorer("", pipeline.stages).tagged(frame_of(x[5:9]), ["doc"]).collect()
    assert DataError.__name__ in str(raised.value)
