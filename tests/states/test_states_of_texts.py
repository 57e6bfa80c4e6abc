"""States of texts: presence for what counts, tf-idf for what takes moments, computed of all rows
together when the sums are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

import spark_mlfs
from spark_mlfs import cli, states

WORDS = [f"wort{i}" for i in range(12)]
DAYS = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(3)
    at = tmp_path_factory.mktemp("days")
    for day in range(DAYS):
        rows = []
        for _ in range(80):
            # each day has a word of its own, and one of all days in most of its texts
            words = [
                *rng.choice(WORDS, rng.integers(2, 15)),
                f"day{day}" if rng.random() < 0.3 else "",
            ]
            tags = [
                tag for j, tag in enumerate("xyz") if rng.random() < 0.2 + 0.5 * (WORDS[j] in words)
            ]
            rows.append((" ".join(words), ";".join(tags)))
        pd.DataFrame(rows, columns=["body", "tags"]).to_csv(at / f"{day}.csv", index=False)
    return at


def collect(folder, day, output, *more, code=0):
    like = ["--like", f"{output}/0"] if day else []
    return cli.main(
        ["collect", "--data", f"{folder}/{day}.csv", "--labels-col", "tags", "--text", "body",
         "--option", "label_delimiter=;", "--for", "all-additive", "--engine", "local", *like,
         "--output", f"{output}/{day}", *more]
    ), code  # fmt: skip


@pytest.fixture(scope="module")
def weighed(folder, tmp_path_factory):
    """States of three days by what a term is; each day in its own folder."""
    out = {}
    for weight in ("tfidf", "count"):
        for sublinear in (False, True):
            at = tmp_path_factory.mktemp(weight)
            flags = ("--option", f"term_weight={weight}", "--option", f"sublinear={sublinear}")
            for day in range(DAYS):
                assert collect(folder, day, at, *flags)[0] == 0
            out[weight, sublinear] = at
    return out


def rows_of(folder, *days):
    frame = pd.concat([pd.read_csv(folder / f"{day}.csv") for day in days], ignore_index=True)
    return frame["body"], frame["tags"].fillna("").map(lambda tags: tags.split(";") if tags else [])


METHODS = [
    ("ridge", {"scaling": "none"}),
    ("lasso", {"scaling": "none", "alpha": 0.02}),
    ("f-statistic", {}),
    ("fisher", {}),
    ("spec", {}),
    ("mssl", {"scaling": "none"}),
    ("omfs", {}),
]


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("weight", ["tfidf", "count"])
def test_sums_give_what_all_texts_give(folder, weighed, weight, sublinear):
    kept = [states.load(f"{weighed[weight, sublinear]}/{day}") for day in range(DAYS)]
    merged = states.merge(kept)
    for collected, days in ((merged, range(DAYS)), (states.subtract(merged, kept[1]), (0, 2))):
        texts, tags = rows_of(folder, *days)
        kind = TfidfVectorizer if weight == "tfidf" else CountVectorizer
        more = {"norm": None, "sublinear_tf": sublinear} if weight == "tfidf" else {}
        oracle = kind(**more)
        X = oracle.fit_transform(texts)
        if weight == "count" and sublinear:
            X = X.astype(float)
            X.data = 1 + np.log(X.data)
        table = pd.DataFrame(X.toarray(), columns=oracle.get_feature_names_out())
        table = table[collected.features]  # ties go by place
        for method, settings in METHODS:
            expected = spark_mlfs.rank(table, tags, method, **settings)
            result = states.rank(collected, method, **settings)
            scores = result.set_index("name")["score"]
            known = expected.set_index("name")["score"]
            tolerance = 1e-3 if method == "mssl" else 1e-7
            np.testing.assert_allclose(
                scores[known.index], known, atol=tolerance * abs(known).max(), err_msg=method
            )
        for method in ("mim", "quota", "chi2"):
            expected = spark_mlfs.rank((table > 0).astype(float), tags, method)
            result = states.rank(collected, method)
            scores = result.set_index("name")["score"]
            known = expected.set_index("name")["score"]
            np.testing.assert_allclose(scores[known.index], known, atol=1e-12, err_msg=method)


def test_forward_is_the_same_whatever_features_are_multiplied_by(weighed):
    """Its folds go by the rows, which are counts in both."""
    tables = []
    for weight in ("tfidf", "count"):
        kept = [states.load(f"{weighed[weight, True]}/{day}") for day in range(DAYS)]
        tables.append(states.rank(kept, "forward"))
    assert tables[0]["name"].tolist() == tables[1]["name"].tolist()
    np.testing.assert_allclose(tables[0]["score"], tables[1]["score"], atol=1e-10)


def test_texts_that_were_split_otherwise_do_not_add_up(folder, weighed, tmp_path, capsys):
    first = weighed["tfidf", False]
    for flags, message in (
        (["--option", "term_weight=count"], "these rows ['term_weight=count']: read them alike"),
        (["--option", "term_weight=tfidf", "--option", "ngrams=1,2"], "read them alike"),
        (["--option", "norm=l2"], "leave --option norm=l2 out"),
        (["--option", "min_df=2"], "states need every word"),
        (["--option", "max_df=0.5"], "states need every word"),
        (["--option", "vocab_size=5"], "states need every word"),
    ):
        code, _ = collect(folder, 1, first, *flags, "--overwrite")
        assert code == 2 and message in capsys.readouterr().err.splitlines()[-1]


def test_drift_sees_whether_a_word_occurs(weighed):
    windows = []
    for weight in ("tfidf", "count"):
        days = [states.load(f"{weighed[weight, False]}/{day}") for day in range(2)]
        (change,) = states.compare(*days).changes
        windows.append(change.features)
    pd.testing.assert_frame_equal(*windows)
