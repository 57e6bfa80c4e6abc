"""Words of texts by Unicode, and what they weigh, against scikit-learn on random texts."""

from __future__ import annotations

import itertools
import sys
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pyarrow as pa
import pytest
from oracles.words import random_options, random_texts, vectorizer
from pyspark.ml import PipelineModel
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import spark_mlfs
from spark_mlfs import ParameterError, read, states
from spark_mlfs.errors import camel
from spark_mlfs.frames.frame import Kind, LocalFrame
from spark_mlfs.frames.schema import attribute_names
from spark_mlfs.sklearn import MIMSelector, TextFeatures
from spark_mlfs.texts import tally
from spark_mlfs.texts import words as text_words
from spark_mlfs.texts.split_texts import SplitTexts
from spark_mlfs.texts.tally import Entries, runs_of
from spark_mlfs.texts.term_index import TermIndex
from spark_mlfs.texts.vocabulary import Choice, TooManyTerms, vocabulary_of
from spark_mlfs.texts.word_vectors import SplitReader, TermVectors
from spark_mlfs.texts.words import Splitting


def words_of(text, **options):
    words, _ = Splitting(**options).terms(pa.array([text]))
    return words.to_pylist()


def same_matrix(texts, options, x, names):
    """Whether it is scikit-learn's, whose terms are NFC where accents were stripped."""
    oracle = vectorizer(options)
    try:
        expected = oracle.fit_transform(texts)
    except ValueError:  # no term is left
        return not len(names)
    terms = [*oracle.get_feature_names_out()]
    if options["strip_accents"]:
        terms = [unicodedata.normalize("NFC", term) for term in terms]
    assert sorted(terms) == sorted(names)
    places = [list(names).index(term) for term in terms]
    np.testing.assert_allclose(x[:, places].toarray(), expected.toarray(), rtol=0, atol=1e-12)
    return True


@pytest.mark.parametrize(
    "seed",
    [*range(50), 75, 214, 5676],  # a capital İ before an accent is one in small letters
)
def test_the_matrix_is_scikit_learn_s(seed):
    texts, options = random_texts(seed), random_options(seed)
    encoder = TextFeatures(**options)
    try:
        x = encoder.fit_transform(texts)
    except ValueError as error:
        assert "lower min_df" in str(error)
        assert same_matrix(texts, options, None, [])
        return
    assert same_matrix(texts, options, x, encoder.get_feature_names_out())
    np.testing.assert_array_equal(encoder.transform(texts).toarray(), x.toarray())


def test_words_of_many_scripts():
    text = "Größe über die Straße; Привет мир, हिन्दी में! العربية 東京 I E\u0301tude ÉTUDE x_1"
    assert words_of(text) == [
        *["größe", "über", "die", "straße", "привет", "мир"],
        *["हिन्दी", "में", "العربية", "東京", "étude", "étude", "x_1"],
    ]
    assert words_of("ΣΑΣ İstanbul ǅ", min_length=1) == ["σασ", "istanbul", "ǆ"]
    assert words_of("Größe À la", strip_accents=True) == ["große", "la"]
    assert words_of("The end, the END", stop_words=frozenset(["THE"])) == ["end", "end"]
    assert words_of("a1 b22 c", token_pattern=r"[a-z](\d+)", min_length=1) == ["1", "22"]
    assert words_of("new york,paris", pattern=",") == ["new york", "paris"]


def test_blanks_stand_where_the_pattern_finds_no_word():
    """The fast way, against the regular expression, over every sign there is."""
    import pyarrow.compute as pc

    signs = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = pa.array(["x" + sign + "y" for sign in signs], pa.large_string())
    slow = pc.split_pattern_regex(texts, r"[^\p{L}\p{M}\p{N}_]+")
    fast = pc.ascii_split_whitespace(text_words._with_blanks(texts))
    same = pc.equal(pc.list_value_length(slow), pc.list_value_length(fast))
    # signs of ASCII are put in lower case on the way
    assert pc.all(same).as_py() and slow.flatten().equals(pa.array(fast.flatten()))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_slices_of_texts(kind):
    """Of letters of ASCII alone, too, which go another way."""
    for texts in (["Aa bb", "Cc", "Dd ee", "Ff"], ["Ää bb", "Čc", "Dđ ee", "Fƒ"]):
        lower = [text.lower().split() for text in texts]
        for first in range(4):
            words, starts = Splitting().terms(pa.array(texts, kind).slice(first, 2))
            assert words.to_pylist() == [w for some in lower[first : first + 2] for w in some]
            assert np.diff(starts).tolist() == [len(some) for some in lower[first : first + 2]]


def test_large_texts_are_split_in_slices(monkeypatch):
    texts = [f"wort{i % 7} größe {i}" for i in range(500)]
    reader = TermVectors(("größe", "wort3", "absent"))
    whole = reader(pa.array(texts))
    monkeypatch.setattr("spark_mlfs.texts.word_vectors.SLICE_BYTES", 400)
    sliced = reader(pa.array(texts)[3:])
    assert (sliced != whole[3:]).nnz == 0 and whole.sum() == 500 + 71
    assert reader.of(np.array([1, 0]))(pa.array(texts))[3].toarray().tolist() == [[1, 1]]
    assert TermVectors(("a",))(pa.array([""])).shape == (1, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token_pattern": "("}, r"token_pattern='\(' is no regular expression of RE2's \(miss"),
        ({"token_pattern": r"\w*"}, "finds the empty text"),
        ({"token_pattern": r"(a)(b)"}, "has 2 groups"),
        ({"pattern": r"(?=a)"}, "is no regular expression"),
        ({"pattern": ",", "token_pattern": "a"}, "not both"),
    ],
)
def test_patterns_that_are_none(options, message):
    with pytest.raises(ParameterError, match=message):
        Splitting(**options).check()


def test_of_chinese_runs_of_characters_are_advised():
    texts = ["我们今天在北京讨论经济问题", "他们明天在上海讨论经济改革"]
    with pytest.warns(UserWarning, match='blanks do not part words .* analyzer="char"'):
        TextFeatures(min_df=1).fit(texts)
    by_char = TextFeatures(analyzer="char", ngrams=[2, 2]).fit(texts)
    assert {"讨论", "经济"} <= set(by_char.get_feature_names_out())


@pytest.mark.slow
def test_spark_gives_the_same_bits(spark):
    """As rows of a frame, and as a stage that was saved and loaded."""
    for seed in (1, 2, 9, 16):
        texts = random_texts(seed, 40)
        options = {**random_options(seed), "min_df": 1, "max_df": 1.0}
        x = TextFeatures(**options).fit(texts).transform(texts)
        weight = options.pop("weight")
        rows = [(i, text or None, ["a"] if i % 2 else ["b"]) for i, text in enumerate(texts)]
        table = spark.createDataFrame(rows, "doc int, `the.text` string, tags array<string>")
        table = table.repartition(3)
        columns = {"text": "the.text", "labels": "tags", "id": "doc"}
        frame = read.text(spark, table, **columns, **options, weight=weight)
        found = sorted(frame.collect(), key=lambda row: row.id)
        assert np.array([row.features.toArray() for row in found]).tobytes() == dense(x)
        params = {camel(name): value for name, value in options.items()}
        stage = spark_mlfs.TextFeatures(inputCol="the.text", weight=weight, **params)
        model = stage.fit(table)
        assert list(model.getVocabulary()) == attribute_names(frame, "features")
        again = sorted(model.transform(table).collect(), key=lambda row: row.doc)
        assert np.array([row.features.toArray() for row in again]).tobytes() == dense(x)


def dense(x):
    return np.ascontiguousarray(x.toarray()).tobytes()


@pytest.mark.slow
@pytest.mark.spark35
def test_a_stage_is_saved_and_loaded(spark, tmp_path):
    stage = spark_mlfs.TextFeatures(minDf=1, stopWords=["the"], ngrams=[1, 2])
    texts = spark.createDataFrame([("The Größe",), ("größe мир",), (None,)], "text string")
    model = stage.fit(texts)
    pipeline = PipelineModel([model])
    pipeline.write().save(f"file://{tmp_path}/pipeline")
    (loaded,) = PipelineModel.load(f"file://{tmp_path}/pipeline").stages
    assert loaded.extractParamMap().values() != [] and loaded.getStopWords() == ["the"]
    assert loaded.transform(texts).collect() == model.transform(texts).collect()
    assert loaded.getVocabulary() == ["größe", "größe мир", "мир"]
    assert loaded.getDocumentFrequencies() == [2, 1, 1] and loaded.getDocuments() == 3
    with pytest.raises(ParameterError, match="inputCol 'text' is no column"):
        stage.fit(texts.toDF("other"))


def test_terms_add_up_over_parts_and_pieces(monkeypatch):
    texts = [f"wort{i % 7} größe{i % 3} x{i}" for i in range(300)] + [None]
    whole = TextFeatures(min_df=1, weight="count").fit(texts).vectors_
    monkeypatch.setattr("spark_mlfs.texts.vocabulary.AT_ONCE", 20)
    monkeypatch.setattr("spark_mlfs.texts.word_vectors.SLICE_BYTES", 300)
    for cores in (1, 3):
        monkeypatch.setattr("spark_mlfs.sklearn.texts.num_cores", lambda cores=cores: cores)
        pieces = TextFeatures(min_df=1, weight="count").fit(texts).vectors_
        assert pieces.vocabulary == whole.vocabulary and pieces.documents == 301
        assert pieces.frequencies.tolist() == whole.frequencies.tolist()
    assert whole.frequencies[:3].tolist() == [100, 100, 100]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_length": 1, "ngrams": (1, 2)},
        {"min_length": 4},
        {"stop_words": frozenset(["the", "of", "word"])},
        {"strip_accents": True},
        {"analyzer": "char", "ngrams": (2, 3)},
        {"token_pattern": r"\w+"},
        {"ngrams": (1, 2), "buckets": 16},
    ],
    ids=lambda options: " ".join(options) or "words",
)
def test_terms_are_encoded_as_they_are(options):
    """Words that are too short, or stop words, are in no dictionary."""
    words = ["a", "b", "the", "größe", "ab", "x1", "東京都", "é", "of", "word", "Word", "a1"]
    generator = np.random.default_rng(7)
    texts = [" ".join(generator.choice(words, generator.integers(0, 9))) for _ in range(90)]
    column = pa.array([*texts, "", "  ", "a"], pa.large_string())
    splitting = Splitting(**options)
    for part in (column, column.slice(3, 40), column.slice(90)):
        terms, starts = splitting.terms(part)
        coded, same_starts = splitting.encoded(part)
        np.testing.assert_array_equal(same_starts, starts)
        expected = terms.dictionary_encode()
        assert coded.indices.equals(expected.indices)
        assert coded.dictionary.equals(expected.dictionary)


def random_words(seed, texts=60):
    rng = np.random.default_rng(seed)
    words = np.array([f"w{number}" for number in range(9)])
    return [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(texts)]


@pytest.mark.parametrize("ngrams", [(1, 2), (2, 2), (1, 3), (2, 4)])
@pytest.mark.parametrize("bits", [63, 8])
def test_runs_are_counted_by_numbers_as_they_are_as_texts(ngrams, bits, monkeypatch):
    """Texts come in many slices; keys of few bits are numbered anew before they are sorted."""
    monkeypatch.setattr("spark_mlfs.texts.tally._WORD_BITS", bits)
    monkeypatch.setattr("spark_mlfs.texts.word_vectors.SLICE_BYTES", 200)
    texts = random_words(1)
    oracle = CountVectorizer(ngram_range=ngrams)
    expected = oracle.fit_transform(texts)
    encoder = TextFeatures(weight="count", ngrams=ngrams, min_df=1)
    once, twice = encoder.fit_transform(texts), encoder.transform(texts)
    names = list(encoder.get_feature_names_out())
    places = [oracle.vocabulary_[name] for name in names]
    assert len(names) == len(oracle.vocabulary_)
    np.testing.assert_array_equal(once.toarray(), expected[:, places].toarray())
    np.testing.assert_array_equal(twice.toarray(), once.toarray())
    frequencies = (expected[:, places] > 0).sum(axis=0).A1
    np.testing.assert_array_equal(encoder.vectors_.frequencies, frequencies)
    totals = once.sum(axis=0).A1
    assert names == [
        names[i] for i in sorted(range(len(names)), key=lambda i: (-totals[i], names[i]))
    ]


@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("at_once", [1, 50, 1 << 19])
@pytest.mark.parametrize("high", [1, 2])
def test_runs_sorted_together_are_those_of_turns(least, at_once, high, monkeypatch):
    monkeypatch.setattr("spark_mlfs.texts.tally.AT_ONCE", 64)
    monkeypatch.setattr("spark_mlfs.texts.tally.SUMMED_AT_ONCE", at_once)
    rng = np.random.default_rng(8)
    lengths = rng.integers(0, 9, 80)
    numbers = (rng.zipf(1.4, lengths.sum()) % 23).astype(np.int32)
    _, numbers = np.unique(numbers, return_inverse=True)
    numbers, starts = numbers.astype(np.int32), np.append(0, np.cumsum(lengths))
    of_row = [
        Counter(
            tuple(numbers[place : place + high].tolist()) for place in range(first, last - high + 1)
        )
        for first, last in itertools.pairwise(starts)
    ]
    total = sum(of_row, Counter())
    texts = Counter(run for row in of_row for run in row)
    runs = sorted(run for run in texts if high == 1 or texts[run] >= least)
    kept = [run for run in runs if texts[run] >= least]
    for room in (1 << 20, 0):
        entries = Entries(least, 1 << 20)
        found = runs_of(numbers, starts, high, entries, room)[-1]
        keys = found.keys.tolist()
        assert keys == [run[0] if high == 1 else (run[0] << 32) + run[1] for run in runs]
        assert found.totals.tolist() == [total[run] for run in runs]
        assert found.texts.tolist() == [texts[run] for run in runs]
        rows = [row for run in kept for row, counts in enumerate(of_row) if run in counts]
        assert np.concatenate(entries.texts[-1]).tolist() == rows
        often = [counts[run] for run in kept for counts in of_row if run in counts]
        assert np.concatenate(entries.counts[-1]).tolist() == often


def test_keys_take_the_room_that_split_texts_leave(monkeypatch):
    """Eight bytes a word; where they exceed it words have their turn some at a time."""
    together = tally._together
    sorted_keys = []

    def recorded(numbers, *others):
        sorted_keys.append(8 * len(numbers))
        return together(numbers, *others)

    monkeypatch.setattr(tally, "_together", recorded)
    texts = pa.array(random_words(4, 400), pa.large_string())
    batch = pa.RecordBatch.from_arrays([texts], ["text"])
    frame = LocalFrame([lambda: iter([batch])], {"text": Kind("string")})
    splitting, split = Splitting(ngrams=(1, 2)), SplitTexts(1 << 20)
    whole = vocabulary_of(frame, splitting, Choice(min_df=1), split=split)
    keys = 8 * len(split.numbers)
    assert sorted_keys == [keys, keys]
    for spare, calls in ((keys, 4), (keys - 1, 4)):
        again = SplitTexts(split.size + spare)
        assert vocabulary_of(frame, splitting, Choice(min_df=1), split=again).terms == whole.terms
        assert len(again.parts) == 1 and len(sorted_keys) == calls


def test_tallies_that_take_too_much_are_joined_and_then_refused(monkeypatch):
    monkeypatch.setattr("spark_mlfs.texts.word_vectors.SLICE_BYTES", 200)
    texts = pa.array(random_words(2, 400), pa.large_string())
    batch = pa.RecordBatch.from_arrays([texts], ["text"])
    frame = LocalFrame([lambda: iter([batch])], {"text": Kind("string")})
    splitting, split = Splitting(ngrams=(1, 2)), SplitTexts(1 << 20)
    whole = vocabulary_of(frame, splitting, Choice(min_df=1), split=split)
    assert len(split.parts) == 1
    for room in (0, 2_000):
        joined = vocabulary_of(
            frame, splitting, Choice(min_df=1), 40_000, split := SplitTexts(room)
        )
        assert joined.terms == whole.terms and not split.parts
        np.testing.assert_array_equal(joined.frequencies, whole.frequencies)
    with pytest.raises(TooManyTerms):
        vocabulary_of(frame, splitting, Choice(min_df=1), 3_000)


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("bits", [63, 8])
def test_counts_of_the_first_pass_are_those_of_texts_that_are_read_again(ngrams, bits, monkeypatch):
    """Terms of as many texts have the order of their letters; parts come in several batches; words
    have their turn some at a time."""
    monkeypatch.setattr("spark_mlfs.texts.tally._WORD_BITS", bits)
    monkeypatch.setattr("spark_mlfs.texts.tally.AT_ONCE", 100)
    monkeypatch.setattr("spark_mlfs.texts.word_vectors.SLICE_BYTES", 200)
    texts = [*random_words(5, 150), "", "ab a1 ab", "ab abc", "größe ab", "a1 größe"]
    halves = pa.array(texts[:70], pa.string()), pa.array(texts[70:], pa.string())
    batches = [pa.RecordBatch.from_arrays([half], ["text"]) for half in halves]
    parts = [lambda: iter(batches), lambda: iter(batches[1:])]
    frame = LocalFrame(parts, {"text": Kind("string")})
    splitting, split = Splitting(ngrams=ngrams), SplitTexts(1 << 20)
    found = vocabulary_of(frame, splitting, Choice(min_df=2, max_df=0.5), split=split)
    reader = TermVectors(tuple(found.terms), splitting, frequencies=found.frequencies)
    expected = [reader(half.cast(pa.large_string())).toarray() for half in halves]
    counts = split.counts.toarray()
    np.testing.assert_array_equal(counts, np.vstack([*expected, expected[1]]))
    totals = counts.sum(axis=0)
    order = sorted(zip(-totals, found.terms, strict=True))
    assert found.terms == [term for _, term in order]
    split.vocabulary = reader.vocabulary
    rows = SplitReader(reader, split).rows
    np.testing.assert_array_equal(rows(0, 10, 40).toarray(), expected[0][10:40])
    split.counts = None  # as once they are packed
    np.testing.assert_array_equal(rows(0, 10, 40).toarray(), expected[0][10:40])
    np.testing.assert_array_equal(rows(1, 3, 999).toarray(), expected[1][3:])
    split.counts = None  # as where they take too much: by the numbers of words
    np.testing.assert_array_equal(rows(1, 3, 999).toarray(), expected[1][3:])


def test_threads_look_pairs_up_at_once():
    """One made the table of pairs while another looked up: an error, five times of twelve."""
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    singles = [f"w{number}" for number in range(150)]
    pairs = [f"{first} {second}" for first in singles for second in singles[:100]]
    numbers, starts = np.arange(400) % 150, np.array([0, 400])

    def places(index, start):
        start.wait()
        return index.places(numbers, starts)[1].tolist()

    try:
        for _ in range(10):
            index = TermIndex([*singles, *pairs], Splitting(ngrams=(1, 2)))
            with ThreadPoolExecutor(4) as threads:
                found = [*threads.map(places, [index] * 4, [Barrier(4)] * 4)]
            assert found == [found[0]] * 4
    finally:
        sys.setswitchinterval(switching)


def test_what_counts_sees_whether_a_term_occurs():
    texts = random_words(3)
    tags = [[tag for tag in ("w1", "w2") if text.count(tag) > 1] for text in texts]
    weighed = TextFeatures(min_df=1).fit(texts)
    x = weighed.transform(texts)
    present = (x.toarray() > 0).astype(float)
    for method, settings in (("mim", {}), ("jmi", {"binning": "quantile"}), ("quota", {})):
        found = spark_mlfs.rank(x, tags, method, **settings)
        expected = spark_mlfs.rank(present, tags, method, **settings)
        np.testing.assert_array_equal(found["score"], expected["score"])
        assert found["index"].tolist() == expected["index"].tolist()
    by_moments = spark_mlfs.rank(x, tags, "f-statistic")
    of_weights = spark_mlfs.rank(x.toarray(), tags, "f-statistic")
    np.testing.assert_allclose(by_moments["score"], of_weights["score"], rtol=1e-9)
    pipeline = make_pipeline(TextFeatures(min_df=1), MIMSelector(num_top_features=3))
    best = spark_mlfs.rank(present, tags, "mim", 3)["index"]
    names = pipeline.fit(texts, tags).get_feature_names_out()
    assert sorted(names) == sorted(weighed.get_feature_names_out()[best])


def test_weights_of_terms_are_collected_as_what_occurs():
    """As they are: most of them are below a fifth."""
    texts = random_words(4)
    tags = [[tag for tag in ("w1", "w2") if text.count(tag) > 1] for text in texts]
    x = TextFeatures(min_df=1).fit(texts).transform(texts)
    present = (x.toarray() > 0).astype(float)
    collected = states.collect(x, tags, ["mim", "quota", "ridge"])
    for method, table in (("mim", present), ("quota", present), ("ridge", x.toarray())):
        expected = spark_mlfs.rank(table, tags, method)
        scores = states.rank(collected, method)["score"]
        np.testing.assert_allclose(scores, expected["score"], atol=1e-10)


@pytest.mark.slow
def test_what_counts_sees_whether_a_term_occurs_on_spark(spark, monkeypatch):
    texts = random_words(4)
    tags = [[tag for tag in ("w1", "w2") if text.count(tag) > 1] for text in texts]
    frame = spark.createDataFrame(
        list(zip(texts, tags, strict=True)), "body string, labels array<string>"
    )
    encoder = spark_mlfs.TextFeatures(minDf=1, inputCol="body").fit(frame)
    weighed = encoder.transform(frame)
    selector = spark_mlfs.MIMSelector(numTopFeatures=5, outputCol="kept").fit(weighed)
    here = TextFeatures(min_df=1).fit(texts)
    present = (here.transform(texts).toarray() > 0).astype(float)
    expected = spark_mlfs.rank(present, tags, "mim", 5)
    assert [*selector.selectedFeatures] == expected["index"].tolist()
    np.testing.assert_array_equal(selector.ranking["score"][:5], expected["score"])
    kept = selector.transform(weighed)
    again = spark_mlfs.MIMSelector(numTopFeatures=2, featuresCol="kept", outputCol="best").fit(kept)
    names = here.get_feature_names_out()[expected["index"][:2]]
    assert [*again.selectedFeatureNames] == names.tolist()
    states_of = states.collect(weighed, "labels", "mim")
    ranking = states.rank(states_of, "mim", 5)
    np.testing.assert_allclose(ranking["score"], expected["score"], atol=1e-12)
    few = spark_mlfs.TextFeatures(minDf=1, inputCol="body", vocabSize=4).fit(frame)
    names = TextFeatures(min_df=1, vocab_size=4).fit(texts).get_feature_names_out()
    assert few.getVocabulary() == names.tolist()
    monkeypatch.setattr("spark_mlfs.texts.vocabulary.MOST_TERMS", 3)
    monkeypatch.setattr("spark_mlfs.texts.text_options.BUCKETS", 1 << 12)
    with pytest.warns(UserWarning, match="of this process: they are hashed to 4096 features"):
        hashed = spark_mlfs.TextFeatures(minDf=1, inputCol="body").fit(frame)
    assert hashed.getBuckets() == 4096 and len(hashed.getVocabulary()) == 9
