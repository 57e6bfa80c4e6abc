"""What holds for every method's ranking, whatever the method: the shared rules, and one answer for
one data set."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.ml.linalg import Vectors

from spark_mlfs import METHODS, DataError, ParameterError, pipeline
from spark_mlfs import read as readers
from spark_mlfs.blocks.pack import pack
from spark_mlfs.engine import spark as runner
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.errors import camel
from spark_mlfs.methods.base import HELD_OUT
from spark_mlfs.methods.counting import CountingMethod
from spark_mlfs.read.samples import planted_truth
from spark_mlfs.testing import (
    CONSTANT,
    COPY,
    COPY_OF,
    FEATURES,
    ZERO,
    check_ranking,
    engine_of,
    example,
    rank_here,
    requests_of,
)


def same_bits(one, other):
    assert one.scores.values.tobytes() == other.scores.values.tobytes()
    if one.scores.path is not None:
        assert (
            one.scores.path.picks == other.scores.path.picks
            and one.scores.path.gains == other.scores.path.gains
        )
    assert (
        one.scores.objective == other.scores.objective
        and one.scores.converged == other.scores.converged
    )
    assert one.ranking[["rank", "index", "score"]].equals(other.ranking[["rank", "index", "score"]])


def close(one, other, iterative=1e-6):
    """To 1e-9, or `iterative` of a solver that stops where its weights change by 1e-9."""
    relative = iterative if other.scores.objective else 1e-9
    assert (
        np.abs(one.scores.values - other.scores.values).max()
        <= relative * np.abs(other.scores.values).max()
    )
    assert list(one.ranking["index"]) == list(other.ranking["index"])


def test_the_ranking(forms, kit, method):
    result = forms.get("plain", method)
    ranking = result.ranking
    more = [*HELD_OUT] if METHODS[method].tells_enough else []
    assert (
        list(ranking.columns) == ["rank", "index", "name", "score", "relevance", *more]
        and len(ranking) == FEATURES
    )
    assert list(ranking["rank"]) == list(range(1, FEATURES + 1))
    assert list(ranking["name"]) == [kit.NAMES[i] for i in ranking["index"]]
    values = np.empty(FEATURES)
    values[ranking["index"]] = ranking["relevance"]
    check_ranking(ranking["index"].to_numpy(), values, result.profile, result.scores)
    assert list(ranking["index"][-2:]) == [ZERO, CONSTANT]
    assert (result.scores.path is not None) == METHODS[method].greedy
    if result.scores.path is not None:
        picked = len(result.scores.path.picks)
        assert (
            1 <= picked <= kit.COUNT and list(ranking["score"][:picked]) == result.scores.path.gains
        )
        assert (
            ranking["score"][picked:].isna().all()
            and ranking["score"][0] == ranking["relevance"][0]
        )
    else:
        assert ranking["score"].equals(ranking["relevance"].rename("score"))


def test_a_copy_gets_the_score_of_its_original(forms, kit, method):
    """Of a greedy method the first criterion's values; to the 9 digits scores are compared to. A
    coordinate solver gives the first of identical columns all."""
    if METHODS[method].stochastic:
        pytest.skip("every column has draws of its own")
    result = forms.get("plain", method)
    at = dict(zip(result.profile.varying, result.scores.values, strict=True))
    assert (
        abs(at[COPY] - at[COPY_OF]) <= 1e-9 * abs(at[COPY_OF])
        or (result.scores.objective and at[COPY] == 0 <= at[COPY_OF])
        or (METHODS[method].by_places and at[COPY] < at[COPY_OF])
    )
    place = dict(zip(result.ranking["index"], result.ranking["rank"], strict=True))
    assert place[COPY] > place[COPY_OF]


def test_a_permutation_of_the_columns_permutes_the_scores(forms, kit, method):
    """To 1e-9; an iterative solver to the 1e-3 two implementations can agree to."""
    if METHODS[method].stochastic:
        pytest.skip("a column's draws depend on its place")
    original, permuted = forms.get("plain", method), forms.get("columns", method)
    before, after = np.zeros(FEATURES), np.zeros(FEATURES)
    before[original.profile.varying] = original.scores.values
    after[permuted.profile.varying] = permuted.scores.values
    relative = 1e-3 if original.scores.objective else 1e-9
    assert np.abs(after - before[forms.columns]).max() <= relative * np.abs(before).max()


def test_one_task_and_many_jobs_give_the_same_bits(forms, method, parts):
    """Rows arrive in another order, too: a repartition deals them out anew. Of 5 partitions, two
    are empty. Sparse rows, without ids: `test_repeated_rows`."""
    one, many = forms.get("few", method), forms.get(f"parts {parts}", method)
    assert many.distributed and not one.distributed
    same_bits(many, one)


@pytest.mark.parametrize(
    "form",
    ["parts 1", "parts 7", "parts 5", "full array", "full sparse", "full mixed", "thin mixed"],
)
def test_every_form_of_the_rows_packs_to_the_same(forms, kit, form):
    """What methods get is the packed rows and their profile, so one comparison stands for all
    methods."""
    kind, which = form.split()
    frame = forms.spread(int(which)) if kind == "parts" else forms.rows(kind, which)
    wanted = forms.rows("thin", "sparse") if kind == "thin" else forms.frame
    kit.PackedRows(frame).equals(kit.PackedRows(wanted))


@pytest.mark.parametrize("kind", ["ids", "tinyint", "boolean", "double", "tags"])
def test_every_form_of_the_labels_packs_to_the_same(forms, kit, kind):
    """Tags order the labels alphabetically."""
    order = [2, 1, 3, 0] if kind == "tags" else slice(None)
    kit.PackedRows(forms.labelled(kind)).equals(kit.PackedRows(forms.frame), order)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["thin sparse"])
def test_sparse_rows_equal_dense_rows(forms, method, form):
    """Few values that are not zero; rows pack to the same whatever their vectors are. Over jobs
    sparse rows have the same bits (`test_repeated_rows`)."""
    close(forms.get("rows " + form, method), forms.get("rows thin dense", method))


def test_tags_equal_label_vectors(forms, method):
    """Tags order the labels alphabetically, so this is also a permutation of the labels."""
    if METHODS[method].stochastic:
        pytest.skip("a label's draws depend on its place")
    found = forms.get("labels tags", method)
    assert found.label_names == ["Zinc", "apple", "mud", "wood"]
    close(found, forms.get("plain", method), 1e-3)


def test_alone_equals_together(forms, kit, method):
    """Alone in this process, and with all others in a task of Spark's."""
    (alone,) = pipeline.rank(forms.held, [pipeline.Request.of(method, kit.quick(method), 5)])
    same_bits(alone, forms.get("plain", method))


def spark_jobs(spark, work):
    """How many jobs Spark ran for `work()`."""
    group = f"counted {np.random.default_rng().integers(1 << 60)}"
    spark.sparkContext.setJobGroup(group, group)
    try:
        work()
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))


def test_statistics_of_many_methods_are_one_spark_job_a_layout(spark, forms):
    """Every method that starts from the same counts shares them, and what is known is not computed
    again."""
    counting = [m for m in METHODS if issubclass(METHODS[m], CountingMethod)]
    assert len(counting) >= 10
    engine = SparkEngine(forms.packed)
    needs = [
        s
        for name in counting
        for s in METHODS[name]().needs(engine, pipeline.Request.of(name).parameters)
    ]
    layouts = {s.layout for s in needs}
    assert layouts == {"coded", "rows"}  # labelsets are read off the rows themselves
    assert (
        spark_jobs(spark, lambda: engine.run(*needs)) == 2 == engine.cost.jobs == engine.cost.scans
    )
    assert spark_jobs(spark, lambda: engine.run(*needs)) == 0
    engine.release()


def test_the_coded_rows_are_planned_once(forms, monkeypatch):
    """Each of a hundred statistics asks for them, and a plan takes longer than the driver's part of
    a pick."""
    engine, planned = SparkEngine(forms.packed), []
    monkeypatch.setattr(engine, "raw", lambda: planned.append("rows") or SparkEngine.raw(engine))
    coding = engine.coding()
    assert engine.coded(coding) is engine.coded(coding)
    assert engine.by_cells(coding, (0,)) is engine.by_cells(coding, (0,)) and planned == ["rows"]
    engine.release()


def test_one_request_more_costs_no_job_more(spark, forms):
    """Of methods that need no more than one scan; the jobs a result tells are those that Spark
    ran."""

    def jobs(*methods):
        results = []
        requests = [pipeline.Request.of(m, {}, 5) for m in methods]
        ran = spark_jobs(
            spark, lambda: results.extend(pipeline.rank(forms.packed, requests, small_bytes=0))
        )
        assert ran == results[0].jobs - forms.packed.jobs
        return ran

    assert jobs("mim") == jobs("mim", "chi2", "enm", "gmm") == 1


@pytest.mark.slow
def test_joint_cells_of_several_requests(spark, kit, monkeypatch):
    """Rows spread by the picks of one request are not taken for those of another."""
    monkeypatch.setattr(runner, "DIRECT_BYTES", 1 << 10)  # cells are too many to count in one state
    rng = np.random.default_rng(3)
    x = rng.normal(size=(800, 10))
    y = (x[:, :4] + 0.8 * rng.normal(size=(800, 4)) > 0.7).astype(float)
    frame = kit.frame_of(spark, x, y).repartition(2)
    requests = [
        pipeline.Request.of(method, parameters, 4)
        for method, parameters in [
            ("cmi", {}),
            ("cmi", {"label_coding": "lp"}),
            ("ppt-cmi", {}),
            ("cmi", {"num_bins": 3}),
        ]
    ]
    together = pipeline.rank(frame, requests, row_id="id", small_bytes=0)
    assert len({tuple(r.scores.path.picks) for r in together}) > 1
    for request, result in zip(requests, together, strict=True):
        (alone,) = pipeline.rank(frame, [request], row_id="id")
        assert result.scores.path.picks == alone.scores.path.picks
        np.testing.assert_allclose(result.scores.path.gains, alone.scores.path.gains, rtol=1e-12)


def test_a_screen_of_many_features_is_quick(spark):
    """The survivors of 60,000 features, in one pass over them: the filter's own 30,000 best."""
    n, d = 40, 60_000
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        slots = np.sort(rng.choice(d, 3000, replace=False))
        rows.append(
            (
                i,
                Vectors.sparse(d, slots.tolist(), np.ones(3000).tolist()),
                Vectors.dense(rng.random(3) < 0.5),
            )
        )
    frame = spark.createDataFrame(rows, ["id", "features", "labels"])
    requests = [pipeline.Request.of("chi2"), pipeline.Request.of("mim", {}, 10, "chi2:30000")]
    filtered, screened = pipeline.rank(frame, requests, row_id="id")
    assert set(screened.ranking["index"][:30_000]) == set(filtered.ranking["index"][:30_000])
    assert (
        screened.seconds["statistics and solve"] < 60
    )  # a set made for each survivor took minutes


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(30, 90),
    d=st.integers(2, 9),
    q=st.integers(2, 5),
    levels=st.integers(2, 9),
)
def test_any_small_data_rank_lawfully(kit, method, seed, n, d, q, levels):
    """Small whole numbers: ties, duplicates, constants everywhere. Rows in another order give the
    same bits."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, levels, (n, d)).astype(float)
    x[:, rng.random(d) < 0.2] = 1.0
    x[:, 0] = np.arange(n) % levels
    y = (rng.random((n, q)) < 0.4).astype(float)
    y[:, 0] = np.arange(n) % 2
    x, y = np.vstack([x] * 2), np.vstack([y] * 2)
    engine = engine_of(x, y)
    try:
        order, values, scores = kit.in_process(engine, method, d)
    except DataError as refusal:
        assert len(str(refusal)) > 30  # a reason and a remedy
        return
    check_ranking(order, values, engine.profile, scores)
    rows = rng.permutation(2 * n)
    again = kit.in_process(engine_of(x[rows], y[rows], rows), method, d)
    assert again[2].values.tobytes() == scores.values.tobytes() and list(again[0]) == list(order)


def test_every_choice_of_every_parameter_runs(kit, method):
    """One parameter at a time: each word of a choice, the ends of a range. Data may be refused,
    with a reason."""
    x, y = (rows[::2] for rows in example())
    for name, value, request in requests_of(METHODS[method], **kit.quick(method)):
        engine = engine_of(x, y)
        try:
            order, values, scores = rank_here(engine, request)
        except (
            DataError,
            ParameterError,
        ) as refusal:  # a parameter may go with another one only, which it names
            named = {name, camel(name)} & set(re.findall(r"\w+", str(refusal)))
            assert len(str(refusal)) > 30 and (isinstance(refusal, DataError) or named), (
                name,
                value,
            )
            continue
        check_ranking(order, values, engine.profile, scores)


def test_unknown_labels_are_used_or_refused(spark, kit, method):
    """NaN labels are unknown, not negative: the ranking is lawful, or the method says what to
    do."""
    x, y = example()
    rng = np.random.default_rng(4)
    missing = np.where(rng.random(y.shape) < 0.1, np.nan, y)
    engine = engine_of(x, missing)
    try:
        order, values, scores = kit.in_process(engine, method)
    except DataError as refusal:
        assert "unknown" in str(refusal) or "known" in str(refusal)
        return
    check_ranking(order, values, engine.profile, scores)
    # a label that is unknown everywhere says nothing about which features matter: the same picks
    # without it
    blank = np.column_stack([y, np.full(len(y), np.nan)])
    try:
        with_blank = kit.in_process(engine_of(x, blank), method)
    except DataError:
        return
    check_ranking(with_blank[0], with_blank[1], engine_of(x, blank).profile, with_blank[2])
    without, _, _ = kit.in_process(engine_of(x, y), method)
    assert list(with_blank[0]) == list(without)


@pytest.mark.slow
def test_unknown_labels_through_spark(spark, kit):
    """Null label cells and NaN entries, over partitions and jobs: the same bits as in one process,
    and a worker's refusal."""
    x, y = example()
    y = np.where(np.random.default_rng(4).random(y.shape) < 0.1, np.nan, y)
    packed = pack(kit.frame_of(spark, x, y).repartition(2), row_id="id")
    want, refused = {}, []
    for method in METHODS:
        try:
            want[method] = kit.in_process(engine_of(x, y), method, 2)[2]
        except DataError:
            refused.append(method)
    for small in (0, 1 << 40):
        requests = [pipeline.Request.of(method, kit.quick(method), 2) for method in want]
        for found in pipeline.rank(packed, requests, small_bytes=small):
            method = found.request.method
            assert found.distributed == (small == 0), method
            assert found.scores.values.tobytes() == want[method].values.tobytes(), method
            assert found.scores.path == want[method].path, method
        for method in refused[:1]:  # by the code that refused it here
            with pytest.raises(DataError):
                pipeline.rank(
                    packed, [pipeline.Request.of(method, kit.quick(method), 5)], small_bytes=small
                )
    packed.release()


@pytest.fixture(scope="module", params=[None, 0.1], ids=["dense", "sparse"])
def planted(request, spark, kit, methods):
    size = {"num_features": 30, "num_labels": 4, "num_relevant": 6, "num_redundant": 0, "seed": 11}
    frame = readers.planted(spark, 1500, density=request.param, noise=0.2, num_partitions=2, **size)
    return planted_truth(**size), kit.rank_all(frame, methods["planted"])


def test_planted_features_come_before_noise(planted, method):
    """Six features drive the labels, 24 are noise, none is redundant: at least 70 % of the first
    six, for every method."""
    truth, results = planted
    if isinstance(results[method], Exception):
        raise results[method]
    first = set(results[method].ranking["index"][: len(truth.relevant)])
    assert len(first & set(truth.relevant.tolist())) >= 0.7 * len(truth.relevant)


def test_nothing_stays_persisted(forms, kit):
    """A run of every method, in one task and job by job, gives back the memory it took, whether it
    succeeds or not."""
    for form in ("rows full sparse", "parts 3"):
        forms.get(form, "jmi")
        assert not forms.left[form], form
    before = forms.persisted()
    with pytest.raises(DataError):
        kit.pipeline.rank(
            forms.frame.selectExpr("id", "features", "array('a') as labels"),
            [pipeline.Request.of("mim")],
        )
    assert forms.persisted() <= before
