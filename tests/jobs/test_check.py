"""`spark-mlfs check`: a saved pipeline on labelled rows, beside scikit-learn and hand sums; and
rows that carry more columns. Spark's figures are those of this process, to the bit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.at_k import inverse_propensities, metrics_at_k
from pyspark.ml import PipelineModel
from pyspark.sql import functions as F
from sklearn import metrics as known

from spark_mlfs.adapters.rows import RowTask
from spark_mlfs.adapters.tags import overtagged
from spark_mlfs.cli.check import _notes
from spark_mlfs.cli.work import load_pipeline
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.read.encoded import Gallery, RowNames
from spark_mlfs.scoring import check as checking
from spark_mlfs.scoring.check import Check, MeasureBatches, keys_of, value_of
from spark_mlfs.scoring.stages import load_scorer

Q, TAGS = 6, [f"t{j}" for j in range(6)]


def frame_of(seed: int, n: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5)).round(3)
    y = x[:, [0, 1, 2, 0, 1, 2]] + 0.8 * rng.normal(size=(n, Q)) > [1.2, 1.4, 1.6, 1.8, 1.2, 1.5]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(5)])
    # a text without tags is none of them; in a CSV, where it is a null, its labels would be unknown
    frame["doc"], frame["tags"] = (
        [f"d{i}" for i in range(n)],
        [";".join(np.array(TAGS)[row]) for row in y],
    )
    return frame


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A pipeline of a table with a column called tags, and labelled rows it has not seen."""
    from spark_mlfs import cli

    folder = tmp_path_factory.mktemp("check")
    frame_of(0, 240).to_json(folder / "train.json", orient="records", lines=True)
    frame_of(1, 150).to_json(folder / "new.json", orient="records", lines=True)
    labels = ["--labels-col", "tags", "--option", "label_delimiter=;", "--id", "doc"]
    code = cli.main(
        ["select", "--data", str(folder / "train.json"), "--format", "json", "--features", "x*", *labels, "--method", "mim",
         "--num-top-features", "3", "--classifier", "mlknn", "--engine", "local", "--output", str(folder / "run")]
    )  # fmt: skip
    assert code == 0
    return folder


@pytest.fixture(scope="module")
def predicted(spark, home):
    """Truth, labels and scores of the new rows, by the pipeline itself."""
    frame = pd.read_json(home / "new.json", lines=True)
    rows = (
        PipelineModel.load(f"file://{home}/run/pipeline")
        .transform(spark.createDataFrame(frame.drop(columns="tags")))
        .collect()
    )
    truth = np.array([[tag in text.split(";") for tag in TAGS] for text in frame["tags"]], float)
    by_doc = {row.doc: row for row in rows}
    z, s = (
        np.array([by_doc[doc][name].toArray() for doc in frame["doc"]])
        for name in ("prediction", "rawPrediction")
    )
    return truth, z, s


def flags(home, *more):
    labels = ("--labels-col", "tags", "--option", "label_delimiter=;")
    return (
        "check",
        "--model",
        home / "run",
        "--data",
        home / "new.json",
        "--format",
        "json",
        *labels,
        *more,
        "--json",
    )


def at(truth, scores, k):
    return np.mean(
        [truth[i, np.argsort(-scores[i], kind="stable")[:k]].mean() for i in range(len(truth))]
    )


def gain_at(truth, scores, k):
    """Of ties the first label is first; a row without labels gains nothing."""
    falling = -np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    return known.ndcg_score(truth, falling, k=k, ignore_ties=True)


@pytest.mark.slow
@pytest.mark.local
def test_metrics_are_those_of_scikit_learn(run, home, predicted):
    truth, z, s = predicted
    code, said, err = run(*flags(home))
    assert code == 0, err
    found = json.loads(said)
    m = found["metrics"]
    assert (
        found["rows"] == 150
        and found["rows_left_out"] == 0
        and found["rows_without_a_tag"] == int((z.sum(axis=1) == 0).sum())
    )
    assert m["microF1"] == pytest.approx(known.f1_score(truth, z, average="micro"), abs=1e-12)
    assert m["hammingLoss"] == pytest.approx(known.hamming_loss(truth, z), abs=1e-12)
    assert m["rankingLoss"] == pytest.approx(known.label_ranking_loss(truth, s), abs=1e-12)
    for k in (1, 3, 5):
        assert m[f"precisionAt{k}"] == pytest.approx(at(truth, s, k), abs=1e-12)
        assert m[f"ndcgAt{k}"] == pytest.approx(gain_at(truth, s, k), abs=1e-12)
    positive = [sum(tag in text.split(";") for text in frame_of(0, 240)["tags"]) for tag in TAGS]
    worth = 1 + (np.log(240) - 1) * 2.5**0.55 * (np.array(positive) + 1.5) ** -0.55  # 1/p
    for k in (1, 3, 5):
        first = np.argsort(-s, axis=1, kind="stable")[:, :k]
        gains = np.take_along_axis(truth * worth, first, axis=1).sum(axis=1) / k
        best = np.sort(truth * worth, axis=1)[:, ::-1][:, :k].sum(axis=1) / k
        assert m[f"pspAt{k}"] == pytest.approx(gains.mean(), abs=1e-12)
        normalised = gains.mean() / best.mean()
        assert m[f"normalisedPspAt{k}"] == pytest.approx(normalised, abs=1e-12)
    assert [row["label"] for row in found["labels"]] == TAGS and [
        row["support"] for row in found["labels"]
    ] == list(truth.sum(axis=0))


@pytest.mark.slow
def test_metrics_at_k_on_both_engines_are_those_of_the_formula(spark, run, home, predicted):
    """Propensities too: they are of the training rows, whatever the rows that are measured."""
    truth, _, s = predicted
    tags = [text.split(";") for text in frame_of(0, 240)["tags"]]
    inverse = inverse_propensities(np.array([[tag in row for tag in TAGS] for row in tags]))
    want = {}
    for k in (1, 3, 5):
        want |= metrics_at_k(truth, s, inverse, k)
    found = [json.loads(run(*flags(home, "--engine", engine))[1]) for engine in ("local", "spark")]
    assert ["spark" in each["versions"] for each in found] == [False, True]
    for each in found:
        assert {name: each["metrics"][name] for name in want} == pytest.approx(want, abs=1e-12)
    assert found[0]["metrics"] == found[1]["metrics"]
    scorer = load_scorer(spark, str(home / "run"))
    rows = pd.read_json(home / "new.json", lines=True)
    rows["truth"] = [[tag for tag in text.split(";") if tag] for text in rows.pop("tags")]
    parts = Check(scorer, "truth").run(spark.createDataFrame(rows).repartition(7))
    assert parts.metrics() == found[1]["metrics"]


@pytest.mark.local
def test_propensities_are_of_the_training_rows_with_known_labels(run, tmp_path):
    """A null is an unknown label: such rows are no rows to learn from."""
    frame = frame_of(0, 120)
    frame["tags"] = [None if i < 50 else text for i, text in enumerate(frame["tags"])]
    frame.to_json(tmp_path / "train.json", orient="records", lines=True)
    labels = ("--labels-col", "tags", "--option", "label_delimiter=;")
    data = ("--data", tmp_path / "train.json", "--format", "json", "--features", "x*", *labels)
    chosen = ("--method", "mim", "--num-top-features", 3, "--classifier", "mlknn")
    code, _, err = run("select", *data, *chosen, "--output", tmp_path / "run")
    assert code == 0, err
    scorer = load_pipeline(LocalSession(), str(tmp_path / "run"), None)
    tags = [text.split(";") for text in frame["tags"][50:]]
    inverse = inverse_propensities(np.array([[tag in row for tag in TAGS] for row in tags]))
    assert Check(scorer, "truth")._propensities() == pytest.approx(1 / np.array(inverse))


@pytest.mark.slow
def test_a_job_that_spark_gives_up_is_begun_anew(spark, home, monkeypatch):
    """What an executor's loss does to rows that follow from a shuffle costs another try, no
    more."""
    scorer = load_scorer(spark, str(home / "run"))
    frame = spark.createDataFrame(
        pd.read_json(home / "new.json", lines=True).drop(columns="tags")
    ).withColumn("truth", F.array(F.lit("t1")))
    once = Check(scorer, "truth").run(frame)
    real, tries = Check.states, []

    class GivenUp:
        def __init__(self, rows):
            self.rows = rows

        def collect(self):
            tries.append(1)
            if len(tries) == 1:
                raise RuntimeError(
                    "Job aborted: Spark cannot rollback the ResultStage 3 to re-process the input "
                    "data"
                )
            return self.rows.collect()

    monkeypatch.setattr(Check, "states", lambda *how: GivenUp(real(*how)))
    again = Check(scorer, "truth").run(frame)
    assert len(tries) == 2 and again.metrics() == once.metrics() and again.rows == 150 == once.rows


@pytest.mark.slow
def test_the_driver_takes_few_histograms_however_many_tasks_there_are(spark, home, monkeypatch):
    scorer, real, taken = load_scorer(spark, str(home / "run")), checking.collected, []
    frame = spark.createDataFrame(pd.read_json(home / "new.json", lines=True).drop(columns="tags"))
    frame = frame.withColumn("truth", F.array(F.lit("t1")))
    monkeypatch.setattr(checking, "collected", lambda rows: taken.append(real(rows)) or taken[-1])
    one, many = (
        Check(scorer, "truth", curves=True).run(frame.repartition(parts)) for parts in (1, 20)
    )
    assert len(taken[0]) == 1 and 1 < len(taken[1]) <= checking.MERGERS < 20
    assert (
        (one.cells == many.cells).all()
        and (one.ranks == many.ranks).all()
        and one.metrics() == many.metrics()
    )


@pytest.mark.slow
@pytest.mark.local
def test_many_rows_without_a_tag_are_told_with_what_helps(run, home, predicted):
    truth, z, s = predicted
    assert (z.sum(axis=1) == 0).mean() > 0.25  # else there is nothing to tell
    _, said, err = run(*flags(home))
    remedy = json.loads(said)["remedy"]
    told = re.search(
        r"note: (\d+) % of the rows get no tag, and 54 % have none: --threshold (\S+) .* --top-n (\d+) ",
        err,
    )
    assert int(told[1]) == round(100 * (z.sum(axis=1) == 0).mean()) and int(told[3]) == max(
        1, round(truth.sum() / len(truth))
    )
    assert (s.max(axis=1) < remedy["threshold"]).mean() <= 0.1
    mended = json.loads(run(*flags(home, "--threshold", told[2]))[1])
    assert mended["rows_without_a_tag"] <= 15 and "remedy" not in mended
    _code, said, err = run(*flags(home, "--top-n", 2))
    assert json.loads(said)["rows_without_a_tag"] == 0 and err == ""
    top = np.zeros(s.shape)
    np.put_along_axis(top, np.argsort(-s, axis=1, kind="stable")[:, :2], 1, axis=1)
    assert json.loads(said)["metrics"]["microF1"] == pytest.approx(
        known.f1_score(truth, top, average="micro"), abs=1e-12
    )


@pytest.mark.local
def test_macro_f1_is_given_over_the_labels_that_occur_too(run, home, tmp_path):
    rows = frame_of(1, 150)
    kept = rows[~rows["tags"].str.contains("t3|t5")]
    kept.to_json(tmp_path / "new.json", orient="records", lines=True)
    words = ["check", "--model", home / "run", "--data", tmp_path / "new.json", "--format", "json"]
    words += ["--labels-col", "tags", "--option", "label_delimiter=;", "--output", tmp_path / "out"]
    text = run(*words, "--threshold", "0.4")[1]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    f1 = {row["label"]: row["f1"] for row in manifest["labels"]}
    mean = sum(f1[tag] for tag in TAGS if tag not in ("t3", "t5")) / 4
    assert manifest["metrics"]["macroF1"] == pytest.approx(4 * mean / 6) and mean > 0
    assert manifest["macroF1_of_labels_that_occur"] == pytest.approx(mean)
    assert f"; {mean:.4f} over the 4 of 6 labels that occur here" in text
    page = (tmp_path / "out" / "report.html").read_text()
    assert "No row has 2 of the 6 labels; each counts as 0 in macro-F1." in page


@pytest.mark.parametrize("untagged", [20, 43, 45, 100])
def test_rows_that_have_no_label_are_right_without_a_tag(untagged):
    """Of 100 rows 40 have no label: a word from 45 on."""
    t = np.repeat([[1.0, 0.0], [0.0, 0.0]], [60, 40], axis=0)
    z = np.ones_like(t)
    z[:untagged] = 0
    measured = MeasureBatches(2, None, True).measured(t, z, z)
    names = SimpleNamespace(labelNames=["a", "b"], labelShares={"a": 0.9, "b": 0.9})
    notes = _notes(SimpleNamespace(classifier=names), measured, {})
    said = [note for note in notes if f"{untagged} % of the rows get no tag, and 40 % have" in note]
    assert len(said) == (untagged >= 45)


@pytest.mark.slow
@pytest.mark.local
def test_what_is_wrong_is_told(run, refused, home):
    assert "takes no --features" in refused(*flags(home, "--features", "x0")[:-1])
    assert "not both" in refused(*flags(home, "--top-n", 1, "--threshold", 1)[:-1])
    assert "there are 6 labels" in refused(*flags(home, "--top-n", 7)[:-1])
    other = (
        "check",
        "--model",
        home / "run",
        "--data",
        home / "new.json",
        "--format",
        "json",
        "--labels-col",
        "x0",
        "x1",
    )
    assert "the model predicts 't0', which the data do not have; they have x0, x1" in refused(
        *other
    )
    frame_of(1, 5).drop(columns="x0").to_json(home / "less.json", orient="records", lines=True)
    less = (
        "check",
        "--model",
        home / "run",
        "--data",
        home / "less.json",
        "--format",
        "json",
        "--labels-col",
        "tags",
    )
    assert "less.json: no column 'x0', which the saved pipeline reads" in refused(*less)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_keys_keep_the_order_and_stay_below(values):
    values = np.sort(np.array(values))
    keys = keys_of(values)
    assert (np.diff(keys) >= 0).all()
    for value, key in zip(values, keys, strict=True):
        low = value_of(key)
        assert low <= value and keys_of(np.array([low]))[0] == key
        assert value - low <= abs(value) / 128 + 1e-300 or value < 0


def test_the_threshold_is_the_quantile_of_the_best_scores():
    rng = np.random.default_rng(3)
    s, t = rng.normal(size=(500, 4)), (rng.random((500, 4)) < 0.5).astype(float)
    checked = MeasureBatches(4, None).measured(t, (s > 0).astype(float), s)
    halves = [
        MeasureBatches(4, None).measured(t[i::2], (s[i::2] > 0).astype(float), s[i::2])
        for i in (0, 1)
    ]
    both = halves[0] + halves[1]
    assert (
        both.metrics() == checked.metrics()
        and (both.best == checked.best).all()
        and both.untagged == checked.untagged
    )
    for share in (0.0, 0.1, 0.5):
        threshold, exact = checked.threshold(share), np.sort(s.max(axis=1))[int(share * 500)]
        assert (s.max(axis=1) < threshold).mean() <= share and abs(threshold - exact) <= 0.01 * abs(
            exact
        ) + 1e-9


@pytest.mark.slow
def test_scoring_rows_that_carry_the_columns_of_the_training(spark, run, home, tmp_path):
    """tags, scores, and what the stages of the pipeline call their columns: none is in the way,
    predictions take new names."""
    frame = pd.read_json(home / "new.json", lines=True)
    more = frame.assign(
        scores=1.0,
        selected="s",
        gathered="g",
        prediction="p",
        rawPrediction="r",
        features="f",
        labels="l",
    )
    more.to_json(tmp_path / "more.json", orient="records", lines=True)
    base = ("score", "--model", home / "run", "--format", "json", "--id", "doc")
    plain = ("--data", home / "new.json", "--engine", "local", "--output", tmp_path / "plain")
    assert run(*base, *plain)[0] == 0
    code, _, err = run(
        *base,
        "--data",
        tmp_path / "more.json",
        "--keep",
        "tags",
        "selected",
        "--output",
        tmp_path / "out",
    )
    assert code == 0, err
    plain, out = (
        spark.read.parquet(f"file://{tmp_path}/{at}/data").toPandas().set_index("doc")
        for at in ("plain", "out")
    )
    out = out.loc[plain.index]
    assert {"tags", "selected", "predicted_tags", "predicted_scores"} <= set(out.columns)
    assert [list(v) for v in out["predicted_tags"]] == [list(v) for v in plain["tags"]]
    assert [list(v) for v in out["predicted_scores"]] == [list(v) for v in plain["scores"]]
    assert (out["selected"] == "s").all() and list(out["tags"].fillna("")) == list(
        frame.set_index("doc").loc[out.index, "tags"]
    )
    counted = json.loads((tmp_path / "out" / "_manifest.json").read_text())["tags"]
    assert sum(counted.values()) == sum(len(v) for v in out["predicted_tags"])


@pytest.mark.slow
@pytest.mark.local
def test_a_dry_run_measures_nothing(run, refused, home):
    code, said, err = run(*flags(home, "--dry-run"))
    assert code == 0, err
    found = json.loads(said)
    assert found["rows"] == 150 and found["labels"] == TAGS and "metrics" not in found
    assert len(found["columns_read"]) == 3 and set(found["columns_read"]) < {
        f"x{j}" for j in range(5)
    }  # those selected
    assert "rows        150 to measure on" in run(*flags(home, "--dry-run")[:-1])[1]
    assert "there are 6 labels" in refused(*flags(home, "--dry-run", "--top-n", 7)[:-1])


@pytest.mark.slow
@pytest.mark.local
def test_a_gate_is_an_exit_code_and_a_line(run, refused, home):
    metrics = json.loads(run(*flags(home))[1])["metrics"]
    code, said, err = run(
        *flags(home, "--require", "microF1>=0.1", "--require", "hammingLoss <= 0.9", "--top-n", 2)
    )
    assert code == 0 and err == "" and json.loads(said)["not_met"] == []
    much = f"microF1>={metrics['microF1'] + 0.01}"
    code, said, err = run(
        *flags(home, "--require", much, "--require", "hammingLoss<=0.9", "--quiet")
    )
    assert (
        code == 3 and err == f"spark-mlfs: not met: {much}: microF1 is {metrics['microF1']:.4g}\n"
    )
    assert json.loads(said)["not_met"] == [much] and json.loads(said)["metrics"] == metrics
    assert "did you mean 'microF1'" in refused(*flags(home, "--require", "mikroF1>=0.5")[:-1])
    assert "write it as" in refused(*flags(home, "--require", "microF1")[:-1])
    assert "must be a number, not '0,5'" in refused(*flags(home, "--require", "microF1>=0,5")[:-1])


def rates(t, z):
    return [
        f(t.ravel(), z.ravel(), zero_division=0)
        for f in (known.precision_score, known.recall_score, known.f1_score)
    ]


def test_curves_are_scikit_learns_at_every_threshold_and_count():
    rng = np.random.default_rng(5)
    s = np.round(rng.normal(size=(300, 4)), 2)
    t = (rng.random((300, 4)) < 1 / (1 + np.exp(-s))).astype(float)
    z = (s > 0).astype(float)
    checked = MeasureBatches(4, None, True).measured(t, z, s)
    pieces = [MeasureBatches(4, None, True).measured(t[i::7], z[i::7], s[i::7]) for i in range(7)]
    for order in (
        pieces,
        pieces[::-1],
    ):  # the same however rows are parted, and through their bytes
        both = checking.added(checking.Measured.decode(bytes(piece.encode())) for piece in order)
        assert (both.cells == checked.cells).all() and (both.ranks == checked.ranks).all()
    ranks = np.argsort(np.argsort(-s, axis=1, kind="stable"), axis=1)
    for label in (None, 2):
        own = slice(None) if label is None else [label]
        curves = checked.by_threshold(label)
        assert (np.diff(curves[0]) > 0).all() and curves.shape[1] > 100
        for threshold, *found in curves[:, ::9].T:
            assert found == pytest.approx(rates(t[:, own], (s >= threshold)[:, own]), abs=1e-12)
        for n, found in enumerate(checked.by_count(label).T, 1):
            assert found == pytest.approx(rates(t[:, own], (ranks < n)[:, own]), abs=1e-12)


def test_cells_are_counted_as_sorted():
    rng = np.random.default_rng(8)
    for s in (
        np.round(rng.normal(size=(300, 5)), 1),
        10.0 ** rng.uniform(-300, 300, (40, 5)),
        np.zeros((3, 1)),
        np.empty((0, 4)),
    ):
        t = (rng.random(s.shape) < 0.4).astype(float)
        cells = (
            MeasureBatches(s.shape[1], None, True).measured(t, t, s).cells
            if len(s)
            else np.zeros((3, 0), int)
        )
        keys = keys_of(s) + (1 << checking.BITS - 1) + (np.arange(s.shape[1]) << checking.BITS)
        expected = {key: [(keys == key).sum(), t[keys == key].sum()] for key in np.unique(keys)}
        assert cells[0].tolist() == list(expected) and cells[1:].T.tolist() == list(
            expected.values()
        )


@pytest.mark.slow
@pytest.mark.local
def test_of_many_labels_few_rows_are_scored_at_once(run, home, monkeypatch, tmp_path):
    """In this process: of another one no more than what it gives is seen."""
    sizes, measured = [], MeasureBatches.measured

    def watched(self, t, *further):
        sizes.append(len(t))
        return measured(self, t, *further)

    monkeypatch.setattr(MeasureBatches, "measured", watched)
    whole = json.loads(run(*flags(home))[1])
    sizes.clear()
    monkeypatch.setattr("spark_mlfs.adapters.tags.CELLS", 7 * Q + 1)
    parts = json.loads(run(*flags(home))[1])
    assert sizes == [7] * 21 + [3]
    assert parts["metrics"] == whole["metrics"] and parts["labels"] == whole["labels"]
    data = ("--data", home / "new.json", "--format", "json", "--id", "doc", "--top-n", "2")
    score = ("score", "--model", home / "run", *data)
    assert run(*score, "--output", tmp_path / "parts")[0] == 0
    monkeypatch.undo()
    assert run(*score, "--output", tmp_path / "whole")[0] == 0
    one, other = (
        pd.read_parquet(tmp_path / name / "data").sort_values("doc") for name in ("whole", "parts")
    )
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True))


def test_rows_on_each_side_of_a_label_are_those_sorted():
    rng = np.random.default_rng(7)
    s = np.round(rng.normal(size=(200, 3)), 1)  # with ties
    t, z = (rng.random((200, 3)) < 0.4).astype(float), (s > 0).astype(float)
    paths = [f"{i:03d}" for i in rng.permutation(200)]

    def measured(rows):
        named = RowNames([paths[i] for i in rows], [pa.array([f"text {paths[i]}" for i in rows])])
        state = MeasureBatches(3, None, shown=[2, 0]).measured(t[rows], z[rows], s[rows], named)
        return checking.Measured.decode(bytes(state.encode()))

    both = checking.added(measured(np.arange(200)[i::5]) for i in range(5))
    shown = Gallery(None).shown(both.ends, len(checking.SIDES))
    for j, sides in zip((2, 0), shown, strict=True):
        cells = [(s[i, j], paths[i], t[i, j], z[i, j]) for i in range(200)]
        right = [(v, path) for v, path, true, given in cells if true and given]
        surest = sorted(right, key=lambda v: (-v[0], v[1]))[:4]
        wrong = sorted(
            ((v, path) for v, path, true, given in cells if given and not true),
            key=lambda v: (-v[0], v[1]),
        )[:4]
        missed = sorted((v, path) for v, path, true, given in cells if true and not given)[:4]
        expected = [surest, sorted(set(right) - set(surest))[:4], wrong, missed]
        assert [[(v, path) for path, v, _, _ in side] for side in sides] == expected


@pytest.mark.slow
def test_more_labels_have_coarser_curves():
    rng = np.random.default_rng(6)
    s, t = rng.normal(size=(200, 3000)), (rng.random((200, 3000)) < 0.1).astype(float)
    checked = MeasureBatches(3000, None, True).measured(t, (s > 0).astype(float), s)
    assert (
        checked.cells.shape[1] < 3000 * 70
        and checked.cells[1].sum() == s.size
        and checked.ranks.shape == (2, 20, 3000)
    )
    for threshold, *found in checked.by_threshold()[:, ::20].T:
        assert found == pytest.approx(rates(t, s >= threshold), abs=1e-12)


@pytest.mark.slow
@pytest.mark.local
def test_the_page_tells_which_threshold(run, refused, home, predicted, tmp_path):
    truth, _, s = predicted
    code, said, err = run(*flags(home, "--output", tmp_path / "{date}" / "check"))
    assert code == 0, err
    out = Path(json.loads(said)["output"])
    assert (
        re.fullmatch(r"\d{4}-\d\d-\d\d", out.parent.name)
        and json.loads((out / "manifest.json").read_text())["rows"] == 150
    )
    page = (out / "report.html").read_text()
    told = re.search(r"F1 is largest, (\S+), with --threshold (\S+) \(", page)
    best = max(
        known.f1_score(truth, s >= at, average="micro", zero_division=0) for at in np.unique(s)
    )
    assert float(told[1]) == pytest.approx(best, abs=0.01)
    found = json.loads(run(*flags(home, "--threshold", told[2]))[1])["metrics"]["microF1"]
    assert found == pytest.approx(float(told[1]), abs=1e-3)
    assert page.count("<figure") == 2 * (1 + Q) and all(
        f"<summary>{tag}</summary>" in page for tag in TAGS
    )
    trained = [tags.split(";") for tags in pd.read_json(home / "train.json", lines=True)["tags"]]
    for tag in TAGS:
        share = 100 * np.mean([tag in tags for tags in trained])
        assert f'<td class="r opt">{share:.1f} %</td>' in page
    assert "exists" in refused(*flags(home, "--output", out)[:-1])


@pytest.mark.slow
@pytest.mark.local
def test_many_rows_with_a_tag_are_told(run, home):
    assert overtagged({"a": 62, "b": 9}, 100, {"a": 0.26, "b": 0.01}).startswith(
        "62 % of the rows get the tag 'a', which 26 % had in training: give a higher --threshold"
    )
    assert (
        overtagged({"a": 45}, 100, {"a": 0.26}) is None and overtagged({"a": 62}, 100, {}) is None
    )
    _code, said, err = run(*flags(home, "--threshold", 0.01))
    assert json.loads(said)["too_many"] in err and "labels are given so often" in err


def test_a_task_takes_so_many_rows_of_those_that_spark_hands_over():
    sizes = []

    def function(x):
        sizes.append(len(x))
        return {"s": x * 2}

    def read(cells, seen, ids):
        assert ids.to_pylist() == [f"r{seen + i}" for i in range(len(cells))]
        return np.array(cells.to_pylist()).reshape(len(cells), 2)

    task = RowTask(function, {"s": pa.list_(pa.float64())}, read, 4)
    column, ids = (
        pa.array([[i, i + 0.5] for i in range(10)]),
        pa.array([f"r{i}" for i in range(10)]),
    )
    found = [row["c0"] for part in task.parts(column, ids) for row in part.to_pylist()]
    assert sizes == [4, 4, 2] and found == [[2 * i, 2 * i + 1] for i in range(10)]
    assert [len(part) for part in task.parts(column[:0], ids[:0])] == [0]
