"""The laws every method keeps, for methods of your own: `check_method(MyMethod)` in a test of your
package.

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

ROWS, FEATURES, LABELS = 200, 12, 4
COPY_OF, COPY, BINARY, COUNTS, CONSTANT, ZERO = 1, 6, 7, 8, 9, 4  # columns of the example
PICKS = 5  # features that a greedy method picks
SHORTEST_REFUSAL = 30  # characters: a reason and a remedy


def example(seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """(x, y): copies, a binary column, small counts, two constant columns; labels from the first
    columns."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, FEATURES))
    x[:, COPY], x[:, BINARY], x[:, COUNTS] = x[:, COPY_OF], x[:, 2] > 0, rng.integers(0, 6, ROWS)
    y = (x[:, :LABELS] + 0.6 * rng.normal(size=(ROWS, LABELS)) > 0.5).astype(float)
    x[:, CONSTANT], x[:, ZERO] = 3.0, 0.0
    return x, y


def thin(x: np.ndarray) -> np.ndarray:
    """The same with nine in ten values zero: data the sparse kernels take."""
    x = x.copy()
    x[np.random.default_rng(2).random(x.shape) < 0.9] = 0
    x[:, COPY] = x[:, COPY_OF]
    return x


def block_of(x: Matrix, y: np.ndarray, ids: np.ndarray | None = None) -> Block:
    """Rows as one block; labels that are NaN are unknown."""
    known, unknown = sp.csr_matrix(y == 1), sp.csr_matrix(np.isnan(y))
    more = (unknown.indptr, unknown.indices) if np.isnan(y).any() else (None, None)
    return Block(
        x, np.arange(x.shape[0]) if ids is None else ids, known.indptr, known.indices, *more
    )


def engine_of(x: Matrix, y: np.ndarray, ids: np.ndarray | None = None) -> LocalEngine:
    """An engine over the rows, without Spark: what a small run uses inside its one task."""
    block = block_of(x, y, ids)
    return LocalEngine(profile_block(block, y.shape[1]), [block])


def frame_of(spark: SparkSession, x: np.ndarray, y: np.ndarray, sparse: bool = False) -> DataFrame:
    """The rows as a frame of id, features and labels."""
    from pyspark.ml.linalg import Vectors

    def vector(row: np.ndarray) -> Any:
        stored = [(int(j), float(row[j])) for j in np.flatnonzero(row)]
        return Vectors.sparse(len(row), stored) if sparse else Vectors.dense(row)

    rows = [(i, vector(a), Vectors.dense(b)) for i, (a, b) in enumerate(zip(x, y, strict=True))]
    return spark.createDataFrame(rows, ["id", "features", "labels"])


def rank_here(
    engine: LocalEngine, request: pipeline.Request
) -> tuple[np.ndarray, np.ndarray, Scores]:
    """(all features best first, relevance of all features, what the method returned)."""
    scores = pipeline.score(engine, request)
    return *pipeline.full_ranking(scores, engine.profile), scores


def check_ranking(order: np.ndarray, values: np.ndarray, profile: Profile, scores: Scores) -> None:
    """The rules of a ranking of relevance `values`: every feature once; they fall along it, behind
    the picks of a greedy method, up to the 9 digits they are compared to, and ties go to the
    smaller index; constant features get the smaller of 0 and the least and come last, by index;
    greedy picks come first, each with its gain; the objective never rises."""
    d = profile.d
    constant = np.setdiff1d(np.arange(d), profile.varying)
    assert sorted(order) == list(range(d)), "the ranking does not hold every feature once"
    assert np.isfinite(values).all() and np.isfinite(scores.values).all(), "a score is not finite"
    ranked, picked = values[order], 0 if scores.path is None else len(scores.path.picks)
    assert (np.diff(ranked[picked:]) <= 1e-8 * np.abs(ranked).max()).all(), (
        "scores rise along the ranking"
    )
    assert list(order[d - len(constant) :]) == list(constant), (
        "constant features do not come last, by index"
    )
    varying = ranked[: d - len(constant)]
    assert (values[constant] == min(0.0, varying.min())).all(), (
        "a constant feature has another score than min(0, the least)"
    )
    if scores.path is not None:
        picks = profile.varying[scores.path.picks]
        assert len(set(picks)) == len(picks), "a feature was picked twice"
        assert list(order[: len(picks)]) == list(picks), "picks do not come first"
        assert np.isfinite(scores.path.gains).all() and len(scores.path.gains) == len(picks), (
            "not every pick has its gain"
        )
    rest = order[picked : d - len(constant)]
    rounded = np.array([float(f"{v:.8e}") for v in values[rest]])
    tied = rounded[1:] == rounded[:-1]
    assert (np.diff(rest)[tied] > 0).all(), "a tie does not go to the smaller index"
    trace = np.array(scores.objective)
    assert (np.diff(trace) <= 1e-12 * np.abs(trace).max(initial=0)).all(), "the objective rises"
    told = scores.converged in (None, True, False) and (
        scores.converged is not None or not len(trace)
    )
    assert told, "a method with an objective does not say whether it converged"


def values_of(constraint: Any, default: Any) -> list[Any]:
    """Some valid values of a parameter: words, both flags, the ends of a range and a little further
    in."""
    if hasattr(constraint, "of"):
        return [None, *values_of(constraint.inner, default)]
    if hasattr(constraint, "options"):
        return list(constraint.options)
    if hasattr(constraint, "what"):
        return [default]
    if not hasattr(constraint, "low"):
        return [True, False]
    low = constraint.low
    tries = [
        low,
        None if low is None else low + 1,
        default,
        None if default is None else default * 2,
    ]
    out = []
    for value in tries:
        try:
            out.append(constraint.accept(value))
        except (TypeError, ValueError, OverflowError):
            continue
    return out


def check_method(
    method: type[Method], spark: SparkSession | None = None, **parameters: Any
) -> None:
    """Raises `AssertionError`, saying what is wrong, where a method does not keep the library's
    laws: a lawful ranking on dense and sparse rows, the same bits whatever the order of the rows,
    equal scores of equal columns, columns permuted with their scores, every value of every
    parameter accepted or refused with a reason, unknown labels used or refused; with a session, the
    same bits in one task and over jobs on 1 and 3 partitions, and through an estimator.

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
        _check_estimator(spark, method, request, x, y)


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


def _check_rows(request: pipeline.Request, x: Matrix, y: np.ndarray) -> None:
    engine = engine_of(x, y)
    order, values, scores = rank_here(engine, request)
    check_ranking(order, values, engine.profile, scores)
    assert (scores.path is not None) == request.implementation.greedy, (
        "`greedy` does not say whether the method returns a path"
    )
    rows = np.random.default_rng(0).permutation(x.shape[0])
    again = rank_here(engine_of(x[rows], y[rows], rows), request)
    assert again[2].values.tobytes() == scores.values.tobytes(), (
        "scores depend on the order of the rows"
    )
    assert list(again[0]) == list(order), "the ranking depends on the order of the rows"


def _check_columns(request: pipeline.Request, x: np.ndarray, y: np.ndarray) -> None:
    if request.implementation.stochastic:
        return  # a column has draws of its own
    engine = engine_of(x, y)
    order, _, scores = rank_here(engine, request)
    at = dict(zip(engine.profile.varying, scores.values, strict=True))
    first = (
        scores.objective and at[COPY] == 0 <= at[COPY_OF]
    )  # a coordinate solver gives the first of equal columns all
    assert first or abs(at[COPY] - at[COPY_OF]) <= 1e-9 * abs(at[COPY_OF]), (
        "a copy of a column has another score"
    )
    place = list(order)
    assert place.index(COPY) > place.index(COPY_OF), "a copy comes before its original"
    columns = np.random.default_rng(1).permutation(x.shape[1])
    a, b = np.flatnonzero(columns == COPY_OF)[0], np.flatnonzero(columns == COPY)[0]
    if a > b:
        columns[[a, b]] = columns[[b, a]]
    moved = engine_of(x[:, columns], y)
    before, after = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    before[engine.profile.varying] = scores.values
    after[moved.profile.varying] = rank_here(moved, request)[2].values
    relative = 1e-3 if scores.objective else 1e-9
    assert np.abs(after - before[columns]).max() <= relative * np.abs(before).max(), (
        "permuted columns have other scores"
    )


def _check_values(method: type[Method], x: np.ndarray, y: np.ndarray) -> None:
    for name, value, request in requests_of(method):
        engine = engine_of(x, y)
        try:
            order, values, scores = rank_here(engine, request)
        except DataError as error:
            assert len(str(error)) > SHORTEST_REFUSAL, (
                f"{name} = {value}: a refusal says too little: {error}"
            )
            continue
        check_ranking(order, values, engine.profile, scores)


def requests_of(
    method: type[Method], **parameters: Any
) -> Iterator[tuple[str, Any, pipeline.Request]]:
    """(name, value, request): one parameter at a time, each word of a choice, the ends of a
    range."""
    for parameter in method.parameters:
        for value in values_of(parameter.constraint, parameter.default):
            yield parameter.name, value, _request(method, {**parameters, parameter.name: value})


def _check_unknown_labels(request: pipeline.Request, x: np.ndarray, y: np.ndarray) -> None:
    missing = np.where(np.random.default_rng(4).random(y.shape) < 0.1, np.nan, y)
    engine = engine_of(x, missing)
    try:
        order, values, scores = rank_here(engine, request)
    except DataError as error:
        assert "known" in str(error), f"a refusal of unknown labels does not speak of them: {error}"
        return
    check_ranking(order, values, engine.profile, scores)


def _check_jobs(
    spark: SparkSession, request: pipeline.Request, x: np.ndarray, y: np.ndarray
) -> None:
    want = rank_here(engine_of(x, y), request)[2].values.tobytes()
    frame = frame_of(spark, x, y)
    for partitions, small in ((1, 0), (3, 0), (3, 1 << 40)):
        (result,) = pipeline.rank(
            frame.repartition(partitions), [request], row_id="id", small_bytes=small
        )
        where = "one task" if small else f"jobs over {partitions} partitions"
        assert result.scores.values.tobytes() == want, f"other scores in {where}"


def _check_estimator(
    spark: SparkSession,
    method: type[Method],
    request: pipeline.Request,
    x: np.ndarray,
    y: np.ndarray,
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
