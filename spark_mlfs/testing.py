"""The laws every method keeps, for methods of your own: `check_method(MyMethod)` in a test.

The library's own methods pass the same checks. They run in this process, without Spark; with a
session, once more over jobs.

    from spark_mlfs.testing import check_method

    def test_my_method(spark):
        check_method(MyMethod, spark)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from . import pipeline
from .blocks.block import Block
from .blocks.profile import Profile, profile_block
from .engine.local import LocalEngine
from .errors import DataError, ParameterError
from .kernels.matrix import Matrix
from .lazy import DataFrame, SparkSession
from .methods import METHODS
from .methods.base import Method, Scores
from .params import check as check_parameters

ROWS = 200
FEATURES = 12
LABELS = 4
# columns of the example
COPY_OF = 1
COPY = 6
BINARY = 7
COUNTS = 8
CONSTANT = 9
ZERO = 4
PICKS = 5  # features that a greedy method picks
SHORTEST_REFUSAL = 30  # characters: a reason and a remedy


def example(seed: int = 5) -> tuple[ndarray, ndarray]:
    """Return (x, y): copies, a binary column, small counts, two constant columns.

    Labels come from the first columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, FEATURES))
    x[:, COPY] = x[:, COPY_OF]
    x[:, BINARY] = x[:, 2] > 0
    x[:, COUNTS] = rng.integers(0, 6, ROWS)
    noise = 0.6 * rng.normal(size=(ROWS, LABELS))
    y = (x[:, :LABELS] + noise > 0.5).astype(float)
    x[:, CONSTANT] = 3.0
    x[:, ZERO] = 0.0
    return x, y


def thin(x: ndarray) -> ndarray:
    """Return the same with nine in ten values zero: data the sparse kernels take."""
    x = x.copy()
    x[np.random.default_rng(2).random(x.shape) < 0.9] = 0
    x[:, COPY] = x[:, COPY_OF]
    return x


def block_of(x: Matrix, y: ndarray, ids: ndarray | None = None) -> Block:
    """Return rows as one block; labels that are NaN are unknown."""
    ids = np.arange(x.shape[0]) if ids is None else ids
    positive = sp.csr_matrix(y == 1)
    labels = (positive.indptr, positive.indices)
    if not np.isnan(y).any():
        return Block(
            x,
            ids,
            *labels,
            None,
            None,
        )
    unknown = sp.csr_matrix(np.isnan(y))
    return Block(
        x,
        ids,
        *labels,
        unknown.indptr,
        unknown.indices,
    )


def engine_of(x: Matrix, y: ndarray, ids: ndarray | None = None) -> LocalEngine:
    """Return an engine over the rows, without Spark, as a small run has it in its one task."""
    block = block_of(x, y, ids)
    return LocalEngine(profile_block(block, y.shape[1]), [block])


def frame_of(
    spark: SparkSession,
    x: ndarray,
    y: ndarray,
    sparse: bool = False,
) -> DataFrame:
    """Return the rows as a frame of id, features and labels."""
    from pyspark.ml.linalg import Vectors

    def vector(row: ndarray) -> Any:
        stored = [(int(j), float(row[j])) for j in np.flatnonzero(row)]
        return Vectors.sparse(len(row), stored) if sparse else Vectors.dense(row)

    pairs = enumerate(zip(x, y, strict=True))
    rows = [(i, vector(features), Vectors.dense(labels)) for i, (features, labels) in pairs]
    return spark.createDataFrame(rows, ["id", "features", "labels"])


def rank_here(engine: LocalEngine, request: pipeline.Request) -> tuple[ndarray, ndarray, Scores]:
    """Return all features, the best first, the relevance of all, and the method's scores."""
    scores = pipeline.score(engine, request)
    return *pipeline.full_ranking(scores, engine.profile), scores


def check_ranking(
    order: ndarray,
    values: ndarray,
    profile: Profile,
    scores: Scores,
) -> None:
    """Check the rules of a ranking of relevance `values`.

    Every feature once; they fall along it, behind the picks of a greedy method, up to the 9 digits
    they are compared to, and ties go to the smaller index; constant features get the smaller of 0
    and the least and come last, by index; greedy picks come first, each with its gain; the
    objective never rises."""
    d = profile.d
    constant = np.setdiff1d(np.arange(d), profile.varying)
    first_constant = d - len(constant)
    num_picks = 0 if scores.path is None else len(scores.path.picks)
    assert sorted(order) == list(range(d)), "the ranking does not hold every feature once"
    assert np.isfinite(values).all(), "a score is not finite"
    assert np.isfinite(scores.values).all(), "a score is not finite"
    ranked = values[order]
    if scores.order is not None:
        given = [*profile.varying[scores.order], *constant]
        assert list(order) == given, "the order is not that of the method"
    steps = np.diff(ranked[num_picks:])
    assert (steps <= 1e-8 * np.abs(ranked).max()).all(), "scores rise along the ranking"
    assert list(order[first_constant:]) == list(constant), (
        "constant features do not come last, by index"
    )
    least = min(0.0, ranked[:first_constant].min())
    assert (values[constant] == least).all(), (
        "a constant feature has another score than min(0, the least)"
    )
    if scores.path is not None:
        picks = profile.varying[scores.path.picks]
        gains = scores.path.gains
        assert len(set(picks)) == len(picks), "a feature was picked twice"
        assert list(order[: len(picks)]) == list(picks), "picks do not come first"
        assert np.isfinite(gains).all() and len(gains) == len(picks), "not every pick has its gain"
    others = order[num_picks:first_constant]
    rounded = np.array([float(f"{value:.8e}") for value in values[others]])
    tied = rounded[1:] == rounded[:-1] if scores.order is None else []
    assert (np.diff(others)[tied] > 0).all(), "a tie does not go to the smaller index"
    _check_objective(scores)


def _check_objective(scores: Scores) -> None:
    objective = np.array(scores.objective)
    rises = np.diff(objective) > 1e-12 * np.abs(objective).max(initial=0)
    assert not rises.any(), "the objective rises"
    if len(objective):
        reported = scores.converged in (True, False)
    else:
        reported = scores.converged in (None, True, False)
    assert reported, "a method with an objective does not say whether it converged"


def values_of(constraint: Any, default: Any) -> list[Any]:
    """Return some valid values of a parameter.

    Words, both flags, the ends of a range and a little further in."""
    if hasattr(constraint, "inner"):
        return [None, *values_of(constraint.inner, default)]
    if hasattr(constraint, "options"):
        return list(constraint.options)
    if hasattr(constraint, "description"):
        return [default]
    if not hasattr(constraint, "low"):
        return [True, False]
    candidates: list[Any] = []
    if constraint.low is None:
        candidates += [None, None]
    else:
        candidates += [constraint.low, constraint.low + 1]
    candidates += [default, None if default is None else default * 2]
    out = []
    for value in candidates:
        try:
            out.append(constraint.accept(value))
        except (TypeError, ValueError, OverflowError):
            continue
    return out


def check_method(
    method: type[Method], spark: SparkSession | None = None, **parameters: Any
) -> None:
    """Raise `AssertionError`, with what is wrong, where a method breaks the library's laws.

    A lawful ranking on dense and sparse rows, the same bits whatever the order of the rows, equal
    scores of equal columns, columns permuted with their scores, every value of every parameter
    accepted or refused with a reason, unknown labels used or refused; with a session, the same bits
    in one task and over jobs on 1 and 3 partitions, and through an estimator.

    `parameters` of the method for all checks but that of the parameters: few iterations, say."""
    _check_declaration(method)
    request = _request(method, parameters)
    x, y = example()
    for rows in (x, sp.csr_matrix(thin(x))):
        _check_rows(request, rows, y)
    _check_columns(request, x, y)
    _check_values(method, x, y)
    _check_unknown_labels(request, x, y)
    if spark is not None:
        _check_jobs(spark, request, x, y)
        _check_estimator(
            spark,
            method,
            request,
            x,
            y,
        )


def _request(method: type[Method], parameters: Mapping[str, Any]) -> pipeline.Request:
    checked = check_parameters(method.parameters, parameters, f"method {method.name!r}")
    return pipeline.Request(method.name, checked, PICKS, implementation=method())


def _check_declaration(method: type[Method]) -> None:
    for attribute in ("name", "title", "source", "parameters"):
        assert hasattr(method, attribute), f"{method.__name__} has no {attribute!r}"
    names = [p.name for p in method.parameters]
    assert len(set(names)) == len(names), f"two parameters of {method.name} have one name"
    for parameter in method.parameters:
        assert parameter.doc, f"parameter {parameter.name} of {method.name} has no meaning"
        parameter.accept(parameter.default)
    try:
        check_parameters(method.parameters, {"no such parameter": 1}, method.name)
    except ParameterError:
        return
    raise AssertionError(f"{method.name} takes a parameter it does not have")


def _check_rows(request: pipeline.Request, x: Matrix, y: ndarray) -> None:
    engine = engine_of(x, y)
    order, values, scores = rank_here(engine, request)
    check_ranking(order, values, engine.profile, scores)
    assert (scores.path is not None) == request.implementation.greedy, (
        "`greedy` does not say whether the method returns a path"
    )
    rows = np.random.default_rng(0).permutation(x.shape[0])
    permuted_order, _, permuted = rank_here(engine_of(x[rows], y[rows], rows), request)
    same_scores = permuted.values.tobytes() == scores.values.tobytes()
    assert same_scores, "scores depend on the order of the rows"
    assert list(permuted_order) == list(order), "the ranking depends on the order of the rows"


def _check_columns(request: pipeline.Request, x: ndarray, y: ndarray) -> None:
    if request.implementation.stochastic:
        return  # a column has draws of its own
    engine = engine_of(x, y)
    order, _, scores = rank_here(engine, request)
    score = dict(zip(engine.profile.varying, scores.values, strict=True))
    # a coordinate solver gives the first of equal columns all
    all_to_first = scores.objective and score[COPY] == 0 <= score[COPY_OF]
    equal = abs(score[COPY] - score[COPY_OF]) <= 1e-9 * abs(score[COPY_OF])
    # a label has one place for each of them
    later = request.implementation.by_places and score[COPY] < score[COPY_OF]
    assert all_to_first or equal or later, "a copy of a column has another score"
    places = list(order)
    assert places.index(COPY) > places.index(COPY_OF), "a copy comes before its original"
    columns = np.random.default_rng(1).permutation(x.shape[1])
    original = np.flatnonzero(columns == COPY_OF)[0]
    copy = np.flatnonzero(columns == COPY)[0]
    if original > copy:
        columns[[original, copy]] = columns[[copy, original]]
    permuted = engine_of(x[:, columns], y)
    before = np.zeros(x.shape[1])
    after = np.zeros(x.shape[1])
    before[engine.profile.varying] = scores.values
    after[permuted.profile.varying] = rank_here(permuted, request)[2].values
    relative = 1e-3 if scores.objective else 1e-9
    largest_change = np.abs(after - before[columns]).max()
    assert largest_change <= relative * np.abs(before).max(), "permuted columns have other scores"


def _check_values(method: type[Method], x: ndarray, y: ndarray) -> None:
    for name, value, request in requests_of(method):
        engine = engine_of(x, y)
        try:
            order, values, scores = rank_here(engine, request)
        except (DataError, ParameterError) as error:
            assert len(str(error)) > SHORTEST_REFUSAL, (
                f"{name} = {value}: a refusal says too little: {error}"
            )
            continue
        check_ranking(order, values, engine.profile, scores)


def requests_of(
    method: type[Method], **parameters: Any
) -> Iterator[tuple[str, Any, pipeline.Request]]:
    """Yield (name, value, request), one parameter at a time.

    Each word of a choice, the ends of a range."""
    for parameter in method.parameters:
        for value in values_of(parameter.constraint, parameter.default):
            yield parameter.name, value, _request(method, {**parameters, parameter.name: value})


def _check_unknown_labels(request: pipeline.Request, x: ndarray, y: ndarray) -> None:
    missing = np.where(np.random.default_rng(4).random(y.shape) < 0.1, np.nan, y)
    engine = engine_of(x, missing)
    try:
        order, values, scores = rank_here(engine, request)
    except DataError as error:
        assert "known" in str(error), f"a refusal of unknown labels does not speak of them: {error}"
        return
    check_ranking(order, values, engine.profile, scores)


def _check_jobs(
    spark: SparkSession,
    request: pipeline.Request,
    x: ndarray,
    y: ndarray,
) -> None:
    _, _, scores = rank_here(engine_of(x, y), request)
    expected = scores.values.tobytes()
    frame = frame_of(spark, x, y)
    for partitions, small in ((1, 0), (3, 0), (3, 1 << 40)):
        (result,) = pipeline.rank(
            frame.repartition(partitions), [request], row_id="id", small_bytes=small
        )
        engine = "one task" if small else f"jobs over {partitions} partitions"
        assert result.scores.values.tobytes() == expected, f"other scores in {engine}"


def _check_estimator(
    spark: SparkSession,
    method: type[Method],
    request: pipeline.Request,
    x: ndarray,
    y: ndarray,
) -> None:
    if method.name not in METHODS:
        return
    from .ml.selectors import MultiLabelSelector

    estimator = MultiLabelSelector(
        method=method.name, methodParams=dict(request.parameters), numTopFeatures=PICKS, idCol="id"
    )
    model = estimator.fit(frame_of(spark, x, y))
    order, _, _ = rank_here(engine_of(x, y), request)
    assert list(model.selectedFeatures) == list(order[:PICKS]), (
        "the estimator selects other features"
    )
