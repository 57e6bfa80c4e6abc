"""ML-kNN and BRkNN: the labels of the k nearest training rows.

ML-kNN takes the label of the larger posterior,

    P(l) = (s + n_l) / (2s + n)
    P(j | l) = (s + κ_l[j]) / (s(k+1) + Σ κ_l),     P(j | ¬l) = (s + κ'_l[j]) / (s(k+1) + Σ κ'_l)
    score = P(l) P(j|l) / (P(l) P(j|l) + P(¬l) P(j|¬l)),   label where P(l) P(j|l) > P(¬l) P(j|¬l)

BRkNN the majority: score = share of the k neighbours with the label, label where it exceeds ½.
Neighbours are exact: ordered by round(d² / v, 10), then by row id; d the Euclidean distance over
the v features that vary in the training rows, scaled as
``scaling`` says (default: as they are).
Symbols: n training rows; j ∈ {0, …, k} how many of the k neighbours of a row have label l of q; n_l
training rows with l; κ_l[j] (κ'_l[j]) training rows with (without) l that have j such neighbours,
themselves excluded; s > 0 the smoothing, rows. Scores (rows, q), probabilities or shares.
Raises: `DataError` where single labels of a row are unknown, or there are at most k labelled rows;
`BudgetError` where the training rows exceed $budget; $range.
Source: Zhang & Zhou 2007 (ML-kNN); Spyromitros, Tsoumakas & Vlahavas 2008 (BRkNN).
Deviations: none; equal posteriors, and half of the neighbours, predict 0."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import DataError, DataNotice, setting
from ..kernels.knn import Rows
from ..kernels.matrix import Matrix, bytes_as_floats
from ..kernels.nearest import NONE, nearest
from ..kernels.neighbour_votes import label_counts, odds, posterior_tables
from ..kernels.scaling import Scaling
from ..lazy import cached_property
from ..params import Integer, Number, Parameter, Values
from ..statistics.neighbours import Geometry, Neighbourhood, anchors_of, nearest_rows
from .base import (
    SCALING,
    Classifier,
    Predictor,
    feature_bytes,
    known_rows,
    refuse_unknown,
)

SMALL = 1e-6  # mean square of the ranges below which few distances differ once they are rounded
LABEL_BYTES = 32  # for each label of a row: kept, and as float64
# for each neighbour of a row: its id, key and distance, batch by batch and all
NEIGHBOUR_BYTES = 56
TABLES_BYTES = 64  # for each label and number of neighbours: counts and probabilities


def point_bytes(is_sparse: bool, features: int) -> int:
    """Return the bytes of rows ready for distances, of their `features` in bytes as float64.

    Dense ones are in single precision, too; of sparse ones the parts by a sieve."""
    return 4 * features if is_sparse else 3 * features // 2


def _tell_small(profile: Profile) -> None:
    """Warn where features vary by so little that their distances are 0 or nearly so, rounded."""
    ranges = (profile.high - profile.low)[profile.varying]
    with np.errstate(over="ignore"):
        is_small = len(ranges) and (ranges**2).mean() < SMALL
    if is_small:
        message = (
            f"features vary by at most {ranges.max():.2g}, and neighbours are ordered by squared "
            f"distances of 10 digits behind the point: give {setting('scaling', 'standard')}, or "
            "larger numbers"
        )
        warnings.warn(DataNotice(message), stacklevel=2)


class _KNN(Classifier):
    def probabilities(self, p: Values) -> bool:
        return True

    def fit(self, engine: Engine, p: Values) -> State:
        beside = self.bytes_beside(engine.profile, p)
        if p["scaling"] == "none":
            _tell_small(engine.profile)
        if engine.in_one_process:
            rows = known_rows(engine.gathered(beside), engine.profile)
        else:
            refuse_unknown(engine.profile)
            engine.must_hold_rows(beside, *engine.state_budget, "one process")
            rows = anchors_of(engine, None, 0)
        return self.learn(engine, rows, p)

    def bytes_beside(self, profile: Profile, p: Values) -> int:
        labels = LABEL_BYTES * int(profile.positive.sum())
        return min(profile.size, feature_bytes(profile)) + labels

    def learn(self, engine: Engine, rows: Block, p: Values) -> State:
        if rows.n <= p["k"]:
            raise DataError(
                f"{rows.n} labelled training rows, but k = {p['k']} neighbours need at least "
                f"{p['k'] + 1}: lower k"
            )
        columns = engine.profile.varying
        y = rows.labels(engine.profile.q)
        x = rows.x if len(columns) == rows.d else rows.x[:, columns]
        scaling = Scaling.of_rows(x, p["scaling"])
        return {
            "x": x,
            "y": sp.csr_matrix((np.ones(y.nnz, np.uint8), y.indices, y.indptr), shape=y.shape),
            "columns": columns,
            "offset": scaling.offset,
            "scale": scaling.scale,
            "k": p["k"],
        }

    def predictor(self, state: State) -> Predictor:
        return NeighbourVote(state)


class NeighbourVote(Predictor):
    """Prediction from the neighbours among the training rows of a state.

    It is ML-kNN's where the state has the tables, else majority."""

    def rows(self, x: Matrix, ids: ndarray) -> Rows:
        """Return rows ready for distances."""
        return Rows(self.scaled(x, self.state["columns"]), ids)

    def stored(self, x: Matrix, ids: ndarray) -> Rows:
        """Return training rows as the state has them (the varying columns) ready for distances."""
        return Rows(self.scaled(x), ids)

    @property
    def nbytes(self) -> int:
        x = self.state["x"]
        return x.data.nbytes + x.indices.nbytes if sp.issparse(x) else x.nbytes

    @property
    def working_bytes(self) -> int:
        x = self.state["x"]
        points = point_bytes(sp.issparse(x), bytes_as_floats(x))
        return points + LABEL_BYTES * self.state["y"].nnz

    @cached_property
    def training(self) -> tuple[Rows, sp.csr_matrix]:
        x = self.state["x"]
        y = self.state["y"].astype(np.float64)
        return self.stored(x, np.arange(x.shape[0])), y

    def _neighbours(self, x: Matrix) -> ndarray:
        """Return (rows, k) the positions of the nearest training rows."""
        # training rows are known by their position; a row to predict is no training row, whatever
        # its values
        query = self.rows(x, -1 - np.arange(x.shape[0]))
        return nearest(query, self.training[0], self.state["k"]).ids

    def predict(self, x: Matrix) -> tuple[ndarray, ndarray]:
        return self.vote(self._neighbours(x), self.training[1])

    def parts(self, x: Matrix, q: int) -> Iterator[tuple[slice, ndarray, ndarray]]:
        neighbours = self._neighbours(x)
        for rows in self.runs(x.shape[0], q):
            yield rows, *self.vote(neighbours[rows], self.training[1])

    def vote(self, neighbours: ndarray, y: sp.csr_matrix) -> tuple[ndarray, ndarray]:
        """Return labels and scores (rows, q) by the labels y of the neighbours, by position."""
        n, q = len(neighbours), y.shape[1]
        labels = np.empty((n, q), np.uint8)
        scores = np.empty((n, q))
        for rows in self.runs(n, q):
            counts = label_counts(neighbours[rows], y)
            labels[rows], scores[rows] = self._by_counts(counts)
        return labels, scores

    def _by_counts(self, counts: ndarray) -> tuple[ndarray, ndarray]:
        if "prior" in self.state:  # ML-kNN's tables
            yes, no = odds(counts, self.state)
            return (yes > no).astype(np.uint8), yes / (yes + no)
        share = counts / self.state["k"]
        return (share > 0.5).astype(np.uint8), share


class BRkNN(_KNN):
    """Majority vote of the k nearest training rows, label by label."""

    name = "brknn"
    title = "majority of the k nearest neighbours, label by label"
    source = "Spyromitros, Tsoumakas & Vlahavas 2008"
    when = "as mlknn, quicker to fit, coarser scores"
    cost = "nothing: the training rows travel with the model"
    parameters = (Parameter("k", 3, Integer(1), "neighbours"), SCALING)


class MLkNN(_KNN):
    """Maximum a posteriori label from how many of the k nearest training rows have it."""

    name = "mlknn"
    title = "maximum a posteriori from the k nearest neighbours' labels"
    source = "Zhang & Zhou 2007"
    when = (
        "nearest rows have like labels; probabilities wanted; some tens of thousands of "
        "training rows"
    )
    cost = "neighbours of every training row; the training rows travel with the model"
    parameters = (
        Parameter("k", 10, Integer(1), "neighbours"),
        Parameter("s", 1.0, Number(0, above=True), "smoothing of the counts"),
        SCALING,
    )

    def learn(self, engine: Engine, rows: Block, p: Values) -> State:
        state = super().learn(engine, rows, p)
        if engine.in_one_process:
            reference, y = NeighbourVote(state).training
            best = nearest(reference, reference, p["k"])
        else:  # every row against every row: over the cluster
            y = state["y"].astype(np.float64)
            geometry = Geometry(state["columns"], state["offset"], state["scale"])
            (best,) = nearest_rows(engine, rows, geometry, (Neighbourhood(p["k"]),))
            has_neighbour = best.ids != NONE
            best.ids[has_neighbour] = np.searchsorted(rows.ids, best.ids[has_neighbour])
        return state | posterior_tables(best, y, p["s"], p["k"])

    def bytes_beside(self, profile: Profile, p: Values) -> int:
        points = point_bytes(profile.sparse, feature_bytes(profile))
        neighbours = NEIGHBOUR_BYTES * profile.n * p["k"]
        tables = TABLES_BYTES * profile.q * (p["k"] + 1)
        return super().bytes_beside(profile, p) + points + neighbours + tables
