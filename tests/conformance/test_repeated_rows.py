"""Tables as users have them (`tables`): a third of the rows repeat others and there is no id
column. Equal rows are interchangeable, so every method, extractor, classifier, protocol and
selection rule must give what it gives on the same table with ids of its own for each row, in one
task and over jobs, whatever the partitioning."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from oracles import gmba, graphs_msfs, regression, relieff
from oracles.mlknn import MLkNN
from pyspark.sql import functions as F
from tables import Table

import spark_mlfs
from spark_mlfs import CLASSIFIERS, EXTRACTORS, METHODS, DataError, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.identity import content_hashes, feature_keys, occurrence_ids
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.renumber import identified
from spark_mlfs.evaluate.block_folds import collect_labels
from spark_mlfs.evaluate.derived import held_out, training
from spark_mlfs.evaluate.protocol import Protocol
from spark_mlfs.ml.learners import CLASSIFYING, EXTRACTING
from spark_mlfs.select import CrossValidation, Rule
from spark_mlfs.testing import block_of

FEW = {"max_iter": (500, 5), "epochs": (100, 4)}
ANCHORS = 200  # on sparse rows, of which most are equally far apart
# what draws by row id, and stops where the weights stand still to 1e-9: ids of another kind give
# other draws, another last step
DRAWS, ITERATES = (
    ("deepfs", "auto", "forward"),
    ("mifs",),
)  # the folds of auto and forward follow the ids
# of dense rows the methods that differ in what they do with a row: sums, draws, neighbours, folds
# (all methods over partitions of them: `test_rankings`)
BY_ROWS = ("ridge", "rfs", "f-statistic", "spec", "gmba", "relieff", "msfs", *DRAWS, *ITERATES)


def parameters(method, name):
    own = {p.name: p.default for p in METHODS[method].parameters}
    out = {key: few for key, (limit, few) in FEW.items() if key in own and own[key] <= limit}
    if name == "imdb" and "num_anchors" in own:
        out["num_anchors"] = ANCHORS
    if method == "msfs":
        out["walk"] = "expected"
    if method == "auto":
        out |= {"methods": "fastcan,fisher", "folds": 2}
    return out


def rank(data, name, methods=METHODS, **options):
    requests = [pipeline.Request.of(method, parameters(method, name), 2) for method in methods]
    return {r.request.method: r for r in pipeline.rank(data, requests, **options)}


def content_ids(x, y):
    """The hash of each row's content, and which occurrence of it the row is (by the values of the
    row, not by the hash)."""
    hashes = content_hashes(block_of(x, y)).view(np.int64)
    seen, times = {}, np.empty(len(hashes), np.int64)
    for i, row in enumerate(np.hstack([x, y])):
        times[i] = seen[row.tobytes()] = seen.get(row.tobytes(), -1) + 1
    return hashes, times


class Case:
    """A table, and the rankings of every method on its forms, each made when first asked for."""

    def __init__(self, spark, name, data_dir):
        self.spark, self.name, self.table, self.kept = spark, name, Table(spark, name, data_dir), {}
        self.hashes, self.times = content_ids(self.table.x, self.table.y)
        self.methods = METHODS if name == "imdb" else ("mim", *BY_ROWS)

    @cached_property
    def identified(self):
        """The rows with the ids that those without any are given."""
        ids = occurrence_ids(self.hashes, self.times)
        return self.table.numbered(self.spark, ids).cache()

    def get(self, form):
        if form not in self.kept:
            self.kept[form] = getattr(self, "make_" + form.split()[0])(*map(int, form.split()[1:]))
        return self.kept[form]

    def make_bare(self):
        return rank(self.table.frame, self.name, self.methods)

    def make_numbered(self):
        """Ids as a user has them: no order, nothing to do with the content."""
        ids = np.random.default_rng(8).permutation(10 * len(self.times))[: len(self.times)]
        numbered = self.table.numbered(self.spark, ids)
        return rank(numbered, self.name, self.methods, row_id="id")

    def make_occurrences(self):
        """Ids of what a ranking reads: a constant label is no part of a row's content there."""
        y = self.table.y
        hashes, times = content_ids(self.table.x, y[:, np.ptp(y, axis=0) > 0])
        return rank(
            self.table.numbered(self.spark, occurrence_ids(hashes, times)),
            self.name,
            self.methods,
            row_id="id",
        )

    def make_features(self):
        """`forward` alone, on ids that rows of equal features share: those its folds go by where
        there are none."""
        held = pack_arrays(self.table.x, self.table.y)[0]
        return rank(
            self.table.numbered(self.spark, feature_keys(held.block, held.profile)),
            self.name,
            ["forward"],
            row_id="id",
        )

    def make_distributed(self):
        """Of emotions some three hundred rows in each of three partitions; of the other set half of
        the rows and more in one, fewer than two hundred in each of three, none in a fifth."""
        frame = self.table.frame
        if self.name == "imdb":
            place = F.monotonically_increasing_id() % 10
            frame = frame.repartition(5, F.when(place < 5, 0).otherwise(place))
        else:
            frame = frame.repartition(3)
        return rank(frame, self.name, self.methods, small_bytes=0)


@pytest.fixture(scope="module")
def case(spark, data_dir):
    cases = {}

    def get(name):
        if name not in cases:
            cases[name] = Case(spark, name, data_dir)
        return cases[name]

    yield get
    for each in cases.values():
        each.table.frame.unpersist()
        if "identified" in vars(each):
            each.identified.unpersist()


def pytest_generate_tests(metafunc):
    if "method" in metafunc.fixturenames:
        rows = [("emotions", method) for method in BY_ROWS]
        metafunc.parametrize(("name", "method"), rows + [("imdb", method) for method in METHODS])
    elif "name" in metafunc.fixturenames:
        dense, sparse = "emotions", pytest.param("imdb", marks=pytest.mark.slow)
        metafunc.parametrize("name", [dense, sparse])


def same_bits(one, other):
    assert one.scores.values.tobytes() == other.scores.values.tobytes()
    if one.scores.path is not None:
        assert (
            one.scores.path.picks == other.scores.path.picks
            and one.scores.path.gains == other.scores.path.gains
        )
    assert one.ranking[["rank", "index", "score"]].equals(other.ranking[["rank", "index", "score"]])


def test_a_third_of_the_rows_are_repeated_and_there_is_no_id(case, name):
    table = case(name).table
    content = np.column_stack([table.x, table.y])
    distinct, counts = np.unique(content, axis=0, return_counts=True)
    assert len(content) - len(distinct) >= len(content) // 3 - 1 and counts.max() >= 3
    assert table.frame.columns == ["features", "labels"] and len(content) > 850


@pytest.mark.slow
def test_ids_of_equal_rows(case, name):
    """Every row gets an id of its own: the first of a content its hash, the others what follows
    from it; on any partitioning the same set."""
    this = case(name)
    want = np.sort(occurrence_ids(this.hashes, this.times))
    assert len(np.unique(want)) == len(want)
    for parts in (1, 5) if name == "emotions" else (3,):
        packed = pack(this.table.frame.repartition(parts))
        ids, labels = collect_labels(packed)
        assert np.array_equal(np.sort(ids), want)
        assert labels.sum() == this.table.y.sum()
        packed.release()


@pytest.mark.slow
def test_repeated_rows_rank_as_rows_with_ids_of_their_own(case, name, method):
    this = case(name)
    bare = this.get("bare")[method]
    if method != "forward":  # equal rows share a fold, which rows with ids of their own need not
        same_bits(this.get("occurrences")[method], bare)
    else:
        same_bits(this.get("features")[method], bare)
    tied = this.table.tied and METHODS[method].name in ("gmba", "relieff", "msfs", "mifs")
    if (
        method not in DRAWS and not tied
    ):  # ids of another kind break ties between rows that differ in another way
        other = this.get("numbered")[method].scores.values
        tolerance = 1e-7 if method in ITERATES else 1e-9
        assert np.abs(other - bare.scores.values).max() <= tolerance * np.abs(other).max()


@pytest.mark.slow
def test_repeated_rows_over_jobs_give_the_same_bits(case, name, method):
    this = case(name)
    many = this.get("distributed")[method]
    assert many.distributed
    same_bits(many, this.get("bare")[method])


@pytest.mark.slow
def test_methods_over_rows_equal_their_oracles(case):
    """Another row is another place in the data: the oracles know nothing of ids. Jobs give the
    same bits (above)."""
    table = case("emotions").table
    x, y = table.x, table.y
    z = regression.standardise(x)
    requests = {
        "gmba": ({"mode": "closed"}, gmba.Gmba(z, y).closed()),
        "relieff": ({"mode": "hamming"}, relieff.hamming(x, y)),
        "msfs": (
            {"walk": "expected", "steps": 5},
            np.linalg.norm(
                regression.msfs(
                    z,
                    y,
                    graphs_msfs.neighbourhood(
                        graphs_msfs.expected_visits(
                            graphs_msfs.transitions(graphs_msfs.similarity(z, y, neighbors=30)), 5
                        )
                    ),
                    0.1,
                    10.0,
                    0.5,
                )[0],
                axis=1,
            ),
        ),
    }
    for method, (given, want) in requests.items():
        (result,) = pipeline.rank(table.frame, [pipeline.Request.of(method, given)])
        tolerance = 1e-3 if method == "msfs" else 1e-9
        assert np.abs(result.scores.values - want).max() <= tolerance * np.abs(want).max(), method


@pytest.mark.slow
@pytest.mark.parametrize("small", [0, 1 << 40])
def test_mlknn_learns_from_other_places(case, small, monkeypatch):
    """Also distributed: a row's twin is its neighbour, the row itself is not."""
    table = case("emotions").table
    monkeypatch.setattr(spark_mlfs.MLkNNClassifier, "_small_bytes", lambda *_: small)
    model = spark_mlfs.MLkNNClassifier().fit(table.frame)
    oracle = MLkNN().fit(table.x, table.y)
    state = model.state
    assert np.allclose(state["with"], oracle.likelihood, atol=1e-12, rtol=0)
    assert np.allclose(state["without"], oracle.likelihood_without, atol=1e-12, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*EXTRACTORS, *CLASSIFIERS])
def test_fitted_on_repeated_rows_as_on_rows_with_ids(case, kind):
    """Extractors and classifiers: what they learn is that of unique ids, to the bit."""
    this = case("emotions")
    cls, own = (
        (EXTRACTING[kind], EXTRACTORS[kind])
        if kind in EXTRACTORS
        else (CLASSIFYING[kind], CLASSIFIERS[kind])
    )
    few = {"subspaces": 2, "generations": 2, "population": 4}
    given = {p.camel: few[p.name] for p in own.parameters if p.name in few}
    bare = cls(**given).fit(this.table.frame).state
    named = cls(idCol="id", **given).fit(this.identified).state
    assert set(bare) == set(named)
    for key, value in bare.items():
        other = named[key]
        if hasattr(value, "toarray"):
            value, other = value.toarray(), other.toarray()
        assert np.array_equal(np.asarray(value), np.asarray(other)), key


@pytest.mark.slow
def test_folds_of_repeated_rows_are_even(case):
    """Equal rows do not stick together: a row's fold goes by its place, too; the folds are those of
    unique ids."""
    this = case("scene")
    packed = pack(this.table.frame.repartition(3))
    numbered = pack(this.identified, row_id="id")
    splits = Protocol.of("5-fold").splits()
    n = len(this.times)
    for split in splits[:1]:
        test, train = held_out(packed, split), training(packed, split)
        assert test.profile.n + train.profile.n == n and abs(test.profile.n - n / 5) < 4 * np.sqrt(
            n * 0.16
        )
        want = held_out(numbered, split)
        assert (test.profile.n, test.profile.nonzero) == (want.profile.n, want.profile.nonzero)
        assert np.array_equal(test.profile.positive, want.profile.positive)
        for each in (test, train, want):
            each.release()
    ids, _ = collect_labels(packed)
    twins = np.flatnonzero(this.times == 1)  # the second of its content
    first, second = this.hashes[twins], occurrence_ids(this.hashes[twins], this.times[twins])
    fold_of = [splits[0].folds.of(type("Rows", (), {"ids": each})) for each in (first, second)]
    assert 0.1 < (fold_of[0] == fold_of[1]).mean() < 0.35  # a fifth, by chance
    assert set(second) <= set(ids.tolist())
    for each in (packed, numbered):
        each.release()


@pytest.mark.slow
@pytest.mark.parametrize("small", [0, 1 << 40])
def test_cross_validated_loss_and_rules_as_with_ids(case, small):
    this = case("scene")

    def results(frame, **options):
        requests = [
            pipeline.Request.of("ridge", extras=[CrossValidation(5)]),
            pipeline.Request.of("ridge", rule=Rule("stability", 0.6, count=10)),
            pipeline.Request.of("ridge", rule=Rule("knockoffs", 0.2)),
            pipeline.Request.of("mim", rule=Rule("fdr", 0.05)),
        ]
        return pipeline.rank(frame, requests, small_bytes=small, **options)

    for bare, named in zip(
        results(this.table.frame.repartition(3)),
        results(this.identified, row_id="id"),
        strict=True,
    ):
        same_bits(bare, named)
        assert bare.scores.details.get("cv_loss") == named.scores.details.get("cv_loss")
        if bare.evidence is not None:
            for name, column in bare.evidence.columns.items():
                assert np.array_equal(column, named.evidence.columns[name], equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("small", [0, 1 << 40])
def test_an_id_that_stands_on_rows_that_differ_is_refused_by_value(case, spark, small):
    """Where ids decide something; what only counts does not look, and equal rows may share an
    id."""
    table = case("emotions").table
    n = len(table.x)
    ids = np.arange(n)
    ids[17] = ids[3]
    wrong = (
        table.numbered(spark, ids)
        .withColumn("id", F.concat(F.lit("doc "), F.col("id").cast("string")))
        .repartition(3)
    )
    relieff = pipeline.Request.of("relieff", {"mode": "hamming"})
    with pytest.raises(DataError, match=r"row id 'doc 3' \(column 'id'\).*unique"):
        pipeline.rank(wrong, [relieff], row_id="id", small_bytes=small)
    (counted,) = pipeline.rank(wrong, [pipeline.Request.of("mim")], row_id="id", small_bytes=small)
    assert (
        counted.scores.values.tobytes()
        == case("emotions").get("bare")["mim"].scores.values.tobytes()
    )

    _, first = np.unique(np.column_stack([table.x, table.y]), axis=0, return_inverse=True)
    equal = table.numbered(spark, first.ravel()).repartition(3)
    (shared,) = pipeline.rank(equal, [relieff], row_id="id", small_bytes=small)
    (want,) = pipeline.rank(table.frame, [relieff])
    assert (
        np.abs(shared.scores.values - want.scores.values).max()
        <= 1e-9 * np.abs(want.scores.values).max()
    )


@pytest.mark.slow
def test_what_only_sums_does_not_look_for_equal_rows(case):
    """One job for `mim`, one for `ridge`, whose sums are exact in any order; where ids matter and
    rows repeat two more, once for the same packed data."""
    packed = pack(case("imdb").table.frame.repartition(2))
    jobs = []
    nearest = {"mode": "hamming", "num_anchors": 50}
    for method, parameters in (
        ("mim", {}),
        ("ridge", {}),
        ("relieff", nearest),
        ("relieff", nearest),
    ):
        (result,) = pipeline.rank(packed, [pipeline.Request.of(method, parameters)], small_bytes=0)
        jobs.append(result.jobs - packed.jobs)
    assert jobs[:2] == [1, 1] and jobs[2] - jobs[3] == 2
    assert identified(packed).unique
    packed.release()
