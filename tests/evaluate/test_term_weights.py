"""Texts in trials: each training set tells which terms there are and what they weigh, as in a
pipeline of scikit-learn's that begins with TfidfVectorizer; test rows tell nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from spark_mlfs.blocks.block import Block, join
from spark_mlfs.blocks.dataset import InMemoryDataset
from spark_mlfs.blocks.folds import Marked, Split
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.evaluate import compare
from spark_mlfs.evaluate.block_folds import blocks_of
from spark_mlfs.evaluate.data import open_data
from spark_mlfs.evaluate.plan import comparison
from spark_mlfs.evaluate.protocol import Protocol
from spark_mlfs.evaluate.term_weights import TermWeights
from spark_mlfs.evaluate.trials import Design, Trial
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.statistics.base import Budgets

ROWS = 120
PATTERN = r"(?u)\b\w\w+\b"
CASES = {
    "usual": ({}, TfidfVectorizer(min_df=2, sublinear_tf=True)),
    "share": ({"min_df": 0.03, "max_df": 0.3}, TfidfVectorizer(min_df=0.03, max_df=0.3)),
    "pairs": ({"ngrams": [1, 2], "min_df": 3}, TfidfVectorizer(ngram_range=(1, 2), min_df=3)),
    "norm": ({"norm": None, "max_df": 40}, TfidfVectorizer(norm=None, min_df=2, max_df=40)),
    "count": ({"weight": "count", "min_df": 4}, CountVectorizer(min_df=4)),
}


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(4)
    words = np.array([f"w{number}" for number in range(60)])
    chances = 1 / np.arange(2, 62)
    texts, tags = [], []
    for row in range(ROWS):
        count = int(generator.integers(0, 25))
        drawn = [*generator.choice(words, count, p=chances / chances.sum())]
        tags.append(";".join(name for name in "abc" if generator.random() < 0.4))
        texts.append(" ".join([*drawn, *(f"topic{name}" for name in tags[-1].split(";") if name)]))
        texts[-1] += " late" if row > ROWS / 2 else ""
    return pd.DataFrame({"body": texts, "tags": tags, "key": np.arange(ROWS) * 7})


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.csv"
    table.to_csv(path, index=False)
    return str(path)


def plan_of(file, options, **more):
    columns = {"text": "body", "labels": "tags", "label_delimiter": ";", "id": "key"}
    entry = {"name": "texts", "path": file, "options": columns | options}
    return comparison({"data": [entry], **more})


def opened(session, plan):
    """The packed rows of a plan's only data set, with their trials' settings."""
    frame, _ = open_data(session, plan.data[0])
    rows = pack(frame, "features", "labels", "id")
    texts = TermWeights.of(plan.data[0], rows.feature_names)
    return rows, Design(("100%",), (), texts=texts)


def by_names(block, names, wanted):
    """The columns of a block with these names, the others being empty."""
    places = {name: place for place, name in enumerate(names)}
    x = sp.csr_matrix(block.x)
    order = [places[name] for name in wanted]
    assert x.nnz == x[:, order].nnz
    return x[:, order].toarray()


def check_sides(session, file, table, case):
    options, vectorizer = CASES[case]
    vectorizer.set_params(token_pattern=PATTERN)
    if case in ("share", "pairs", "norm"):
        options = {"sublinear": False, "weight": "tfidf", **options}
    rows, design = opened(session, plan_of(file, options))
    for split in Protocol.of("3-fold").splits(rows):
        tested = split.of(table["key"].to_numpy())
        expected = vectorizer.fit_transform(table["body"][~tested]), None
        expected = expected[0], vectorizer.transform(table["body"][tested])
        terms = vectorizer.get_feature_names_out()
        with design.rows(rows, Budgets()).split(split) as sides:
            named = [rows.feature_names[place] for place in sides[0].features]
            assert {*named} == {*terms}
            for side, matrix, ids in zip(
                sides, expected, (table["key"][~tested], table["key"][tested]), strict=True
            ):
                block = block_of(side.packed)
                order = np.argsort(block.ids)
                assert block.ids[order].tolist() == ids.tolist()
                found = by_names(block, rows.feature_names, terms)[order]
                np.testing.assert_allclose(found, matrix.toarray(), rtol=0, atol=1e-12)


def block_of(packed):
    if isinstance(packed, InMemoryDataset):
        return packed.block
    rows = packed.blocks().toArrow().to_batches()
    return join([*blocks_of(rows)])


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_scikit_learn_fitted_to_the_training_rows(file, table, case):
    check_sides(LocalSession(), file, table, case)


@pytest.mark.slow
def test_so_they_are_on_spark(spark, file, table):
    check_sides(spark, file, table, "share")


def test_the_most_frequent_terms_are_those_of_the_training_rows(file, table):
    rows, design = opened(LocalSession(), plan_of(file, {"vocab_size": 12, "min_df": 1}))
    for split in Protocol.of("3-fold").splits(rows):
        train = table["body"][~split.of(table["key"].to_numpy())]
        counts = train.str.findall(PATTERN).explode().value_counts()
        best = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:12]
        with design.rows(rows, Budgets()).split(split) as (side, _):
            named = {rows.feature_names[place] for place in side.features}
        assert named == {term for term, _ in best}


def test_inner_folds_see_their_own_training_rows_alone(file, table):
    rows, design = opened(LocalSession(), plan_of(file, {}))
    outer = Protocol.of("3-fold").splits(rows)[1]
    inner = Protocol.of("2-fold", seed=5).splits()[0]
    with design.rows(rows, Budgets()).split(outer) as (side, _), side.split(inner) as sides:
        train, test = (part.packed.block for part in sides)
    keys = table.set_index("key")["body"]
    vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True)
    for block, matrix in (
        (train, vectorizer.fit_transform(keys[train.ids])),
        (test, vectorizer.transform(keys[test.ids])),
    ):
        names = vectorizer.get_feature_names_out()
        found = by_names(block, rows.feature_names, names)
        np.testing.assert_allclose(found, matrix.toarray(), rtol=0, atol=1e-12)
    assert not {*train.ids} & {*test.ids}


def test_metrics_are_those_of_matrices_of_scikit_learn(file, table):
    """Of a whole comparison: the same trials on matrices that scikit-learn makes fold by fold."""
    plan = plan_of(
        file,
        {},
        method=[{"name": "f-statistic"}],
        classifier=[{"name": "br-svm"}],
        protocol={"folds": "3-fold", "sizes": [3, 10], "seed": 2},
    )
    outcome = compare.run(LocalSession(), plan, compare.ForgetfulJournal())
    assert not len(outcome.failed)
    rows, _ = opened(LocalSession(), plan)
    labels = np.array([[name in cell for name in "abc"] for cell in table["tags"]], float)
    for number, split in enumerate(Protocol.of("3-fold", 2).splits(rows)):
        tested = split.of(table["key"].to_numpy())
        vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(table["body"][~tested])
        lists = sp.csr_matrix(labels)
        ids = np.arange(ROWS) << 1 | tested
        x = vectorizer.transform(table["body"])
        block = Block(x, ids, lists.indptr, lists.indices)
        profile = profile_block(block, 3)
        profile.terms = True
        here = InMemoryDataset(profile, [*vectorizer.get_feature_names_out()], blocks=[block])
        (candidate,) = [c for c in plan.candidates() if c.requests]
        trial = Trial(candidate, Split("by hand", 0, 0, Marked()), plan.design())
        result = trial.on(plan.design().rows(here, Budgets()))
        cells = outcome.cells[
            (outcome.cells["method"] == "f-statistic")
            & (outcome.cells["fold"] == number)
            & (outcome.cells["metrics"] == "standard")
        ]
        for cell in result["cells"]:
            row = cells[cells["size"].astype(str) == cell["size"]].iloc[0]
            for metric in ("averagePrecision", "microF1", "hammingLoss"):
                assert row[metric] == pytest.approx(cell["standard"][metric], abs=1e-12)
