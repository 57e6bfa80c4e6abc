"""Linear support vector machines, one a label: apart from each other, or in a chain."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray
from scipy.special import expit

from ..blocks.block import Block
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import DataError, setting
from ..kernels.hashing import mix
from ..kernels.knn import TILE, Rows
from ..kernels.matrix import Matrix, bytes_as_floats, dense
from ..kernels.nearest import Nearest, nearest
from ..kernels.neighbour_votes import label_counts
from ..kernels.scaling import Scaling
from ..lazy import cached_property
from ..params import Choice, Flag, Integer, Number, Parameter, Values
from .base import (
    SCALING,
    Classifier,
    Predictor,
    feature_bytes,
    known_rows,
    stored_values,
)
from .knn import LABEL_BYTES, BRkNN

FOLDS = 3
CHAINED = 1 << 22  # values of the training rows of a neighbour chain that are compared at once
SAVED_COPIES = 3  # of what was learned, while it is saved
NODE_BYTES = 16  # of liblinear, for each value of the rows and their constant
LARGEST = 1e75  # a feature; of one beyond 1e80 liblinear does not come to an end
LINEAR = (
    Parameter("c", 1.0, Number(0, above=True), "weight of the loss against the penalty ½‖w‖²"),
    Parameter("max_iter", 10_000, Integer(1), "iterations of the solver, at most"),
    Parameter("tol", 1e-4, Number(0, above=True), "the solver's stopping tolerance"),
    Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the solver's draws"),
)


def label_machines(
    profile: Profile,
    p: Values,
    order: list[int] | None,
    block: Block,
    labels: Sequence[int],
) -> State:
    """Train the machines of some labels on all rows.

    `order` (chain) adds the labels before a label as features."""
    rows = known_rows(block, profile)
    x = rows.x if len(profile.varying) == rows.d else rows.x[:, profile.varying]
    scaling = Scaling.of_rows(x, p["scaling"])
    x = scaling.apply(x)
    y = rows.labels(profile.q)
    if x.size and max(x.max(), -x.min()) > LARGEST:
        raise DataError(
            f"a support vector machine takes no features beyond {LARGEST:g}: give "
            f"{setting('scaling', 'standard')}"
        )
    v = x.shape[1]
    width = v
    if order is not None:
        width += profile.q
        x = sp.csr_matrix(beside(sp.csr_matrix(x), y[:, order]))
    of_label = y.tocsc()
    weights = np.zeros((len(labels), width))
    constants = np.zeros((len(labels), 4))  # intercept, a, b, iterations
    for row, label in enumerate(labels):
        inputs = x
        columns = np.arange(v)
        if p.get("label_specific"):  # the features that an extractor made for this label
            first = p["slices"][label]
            last = p["slices"][label + 1]
            columns = np.flatnonzero((profile.varying >= first) & (profile.varying < last))
            inputs = x[:, columns]
        if order is not None:
            columns = np.arange(v + order.index(label))
            inputs = x[:, : len(columns)]
        truth = np.zeros(rows.n, np.int8)
        truth[of_label.indices[of_label.indptr[label] : of_label.indptr[label + 1]]] = 1
        weights[row, columns], constants[row] = _machine(inputs, truth, rows.ids, p)
    return {
        "labels": np.asarray(labels, np.int64),
        "weights": weights,
        "intercept": constants[:, 0],
        "a": constants[:, 1],
        "b": constants[:, 2],
        "iterations": constants[:, 3].astype(np.int64),
        "offset": scaling.offset,
        "scale": scaling.scale,
    }


def _machine(
    x: Matrix,
    y: ndarray,
    ids: ndarray,
    p: Values,
) -> tuple[ndarray, tuple[float, float, float, float]]:
    """Return weights, and (intercept, a, b of the probability, iterations)."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    if y.min() == y.max():
        return np.zeros(x.shape[1]), (2.0 * float(y[0]) - 1, -1e3, 0.0, 0)
    machine = LinearSVC(
        C=p["c"],
        max_iter=p["max_iter"],
        tol=p["tol"],
        random_state=p["seed"],
        dual="auto",
    )
    splits = _splits(ids, p["seed"])
    calibrates = p.get("scores") == "calibrated" and _have_both_classes(splits, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the count of iterations says it
        if not calibrates:
            machine.fit(x, y)
            # with too few of one kind to calibrate on: Platt's prior
            return machine.coef_[0], (float(machine.intercept_[0]), -1.0, 0.0, machine.n_iter_)
        platt = CalibratedClassifierCV(machine, method="sigmoid", cv=splits, ensemble=False)
        platt.fit(x, y)
    (calibrated,) = platt.calibrated_classifiers_
    machine = calibrated.estimator
    curve = calibrated.calibrators[0]
    intercept = float(machine.intercept_[0])
    return machine.coef_[0], (intercept, float(curve.a_), float(curve.b_), machine.n_iter_)


def _splits(ids: ndarray, seed: int) -> list[tuple[ndarray, ndarray]]:
    """Return training and test rows of each fold, by the rows' ids."""
    fold = (mix(ids, seed + 0xF01D) % np.uint64(FOLDS)).astype(int)
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(FOLDS)]


def _have_both_classes(splits: list[tuple[ndarray, ndarray]], y: ndarray) -> bool:
    """Return whether the training rows of every fold have both classes, and there are test rows."""
    for train, test in splits:
        if not len(train) or not len(test):
            return False
        if y[train].min() == y[train].max():
            return False
    return True


def beside(x: Matrix, y: Matrix) -> Matrix:
    """Return rows with labels as further features, sparse where the rows are."""
    if sp.issparse(x):
        rows = sp.hstack([x, sp.csr_matrix(y, dtype=np.float64)], format="csr")
        rows.sort_indices()
        return rows
    return np.hstack([x, dense(y).astype(np.float64)])


def machine_bytes(profile: Profile, p: Values, in_chain: bool) -> int:
    """Return the bytes that training takes at most beside the rows, where all of them are.

    They are the rows as float64, those of the label at work and liblinear's copy of these, and the
    weights of all labels, as they are saved."""
    features = feature_bytes(profile)
    values = stored_values(profile)
    width = len(profile.varying)
    if in_chain:
        entries = int(profile.positive.sum())
        width += profile.q
        values += entries
        inputs = 2 * 12 * values
    else:
        inputs = features if p.get("label_specific") or p.get("scores") == "calibrated" else 0
    unlabelled = profile.size if profile.unlabelled else 0
    inside = max(min(profile.size, features), inputs + NODE_BYTES * (values + profile.n))
    return unlabelled + features + inside + SAVED_COPIES * 8 * profile.q * width


def machines_of(
    engine: Engine,
    p: Values,
    chain: list[int] | None = None,
    **known: Any,
) -> State:
    """Return the machines of all labels, by label, which are trained apart.

    And what else is `known` of them."""
    profile = engine.profile
    size = machine_bytes(profile, p, chain is not None)
    parts = engine.over_labels(partial(label_machines, profile, p, chain), size)
    out: State = {}
    for name in ("weights", "intercept", "a", "b", "iterations"):
        first = parts[0][name]
        out[name] = np.empty((profile.q, *first.shape[1:]), first.dtype)
        for part in parts:
            out[name][part["labels"]] = part.pop(name)
    out["offset"] = parts[0]["offset"]
    out["scale"] = parts[0]["scale"]
    out["columns"] = profile.varying
    out |= known
    out["converged"] = bool((out["iterations"] < p["max_iter"]).all())
    return out


class BRSVM(Classifier):
    """A linear support vector machine per label.

        min over w, b of  ½‖w‖² + C Σ_i max(0, 1 − y_i(w'x_i + b))²,    label where w'x + b > 0

    by scikit-learn's LinearSVC (liblinear); the rows are in the order of their ids and the solver's
    draws are seeded, so that a label's machine does not depend on where it was trained. Score: the
    decision value w'x + b, or with ``scores="calibrated"`` Platt's probability 1/(1 + exp(a·f +
    b)), f the decision value, a and b from those of three folds by row id. A label with one value
    in the training rows is predicted as that value (decision ±1, probability 1 or 0).
    Symbols: x_i (v,) the features that vary in training row i, scaled as ``scaling`` says (default:
    as they are), or those an extractor made for the label (``label_specific``); y_i = ±1 whether it
    has the label; w (v,), b one label's machine of q; C > 0 ``c``. Scores (rows, q), distances in
    units of 1/‖w‖, or probabilities.
    Raises: `DataError` where single labels of a row are unknown; `BudgetError` where the rows
    exceed $budget; $range.
    Source: Fan, Chang, Hsieh, Wang & Lin 2008 (LIBLINEAR); Platt 1999 (probabilities).
    Deviations: liblinear penalises the intercept b with w; where a fold lacks a class, the
    probability is 1/(1 + exp(−f))."""

    name = "br-svm"
    title = "a linear support vector machine per label"
    source = "Fan et al. 2008 (LIBLINEAR)"
    when = "many features, sparse ones too; large corpora to score"
    cost = "one machine a label, side by side by label, each with all rows in its process"
    parameters = (
        *LINEAR,
        Parameter(
            "label_specific",
            False,
            Flag(),
            "each machine sees the features an extractor (lift, lift-rsm) made for its label",
        ),
        Parameter(
            "scores",
            "decision",
            Choice(("decision", "calibrated")),
            "decision values, or Platt's probabilities",
        ),
        SCALING,
    )

    def fit(self, engine: Engine, p: Values) -> State:
        return machines_of(engine, p, scores=p["scores"])

    def by_label(self, p: Values) -> bool:
        return True

    def probabilities(self, p: Values) -> bool:
        return p["scores"] == "calibrated"

    def predictor(self, state: State) -> Predictor:
        return Machines(state)


class Machines(Predictor):
    """Prediction of independent machines, or of a chain of them."""

    def predict(self, x: Matrix) -> tuple[ndarray, ndarray]:
        s = self.state
        x = self.scaled(x, s["columns"])
        v = x.shape[1]
        order = s.get("order", ())
        scores = decisions(x, s["weights"][:, :v]) + s["intercept"]
        labels = (scores > 0).astype(np.uint8)
        for position, label in enumerate(order):  # the labels before are predicted by now
            before = labels[:, order[:position]].astype(np.float64)
            weights = s["weights"][[label], v : v + position]
            scores[:, label] += decisions(before, weights)[:, 0]
            labels[:, label] = scores[:, label] > 0
        if s.get("scores") == "calibrated":
            return labels, expit(-(s["a"] * scores + s["b"]))
        return labels, scores


def decisions(x: Matrix, weights: ndarray) -> ndarray:
    """Return x w' of the rows x (n, v) and `weights` (q, v), each row's to the bit.

    BLAS rounds a row by its place among the others."""
    if sp.issparse(x):
        return np.asarray(x @ weights.T)
    return np.einsum("ij,kj->ik", np.ascontiguousarray(x), np.ascontiguousarray(weights))


class ClassifierChain(Classifier):
    """A chain of linear support vector machines or of nearest-neighbour votes.

        ŷ_π(t) = h_t(x, ŷ_π(1), …, ŷ_π(t−1)),    t = 1, …, q

    Training uses the true labels before a label, prediction the predicted ones. Base h: a linear
    support vector machine (``svm``, as `br-svm`), or the majority of the k nearest neighbours
    (``knn``) in the space of the features and the labels before. Order: by label index, by falling
    frequency, or drawn with the seed. Scores: decision values, or shares of neighbours.
    Symbols: x (v,) the features that vary in the training rows, scaled as ``scaling`` says
    (default: as they are); π the order of the q labels; ŷ ∈ {0, 1}^q the prediction. Scores (rows,
    q).
    Raises: `DataError` where single labels of a row are unknown, or with ``knn`` there are at most
    k labelled rows; `BudgetError` where the rows exceed $budget; $range.
    Source: Read, Pfahringer, Holmes & Frank 2009.
    Deviations: one chain, not their ensemble."""

    name = "cc"
    title = "classifier chain over linear SVMs or nearest neighbours"
    source = "Read, Pfahringer, Holmes & Frank 2009"
    when = "labels that follow from each other"
    cost = (
        "one machine a label, side by side by label, each with all rows in its process; "
        "nothing with base=knn"
    )
    parameters = (
        Parameter("base", "svm", Choice(("svm", "knn")), "what predicts a label"),
        Parameter(
            "order",
            "random",
            Choice(("random", "frequency", "index")),
            "order of the labels in the chain",
        ),
        Parameter("k", 3, Integer(1), "neighbours, with base knn"),
        *LINEAR,
        SCALING,
    )

    def fit(self, engine: Engine, p: Values) -> State:
        q = engine.profile.q
        if p["order"] == "index":
            order = np.arange(q)
        elif p["order"] == "frequency":
            order = np.argsort(-engine.profile.positive, kind="stable")
        else:
            order = np.random.default_rng(p["seed"]).permutation(q)
        if p["base"] == "knn":
            return BRkNN().fit(engine, p) | {"order": order, "base": "knn"}
        return machines_of(
            engine,
            p,
            order.tolist(),
            order=order,
            base="svm",
        )

    def by_label(self, p: Values) -> bool:
        return p["base"] == "svm"

    def probabilities(self, p: Values) -> bool:
        return p["base"] == "knn"

    def predictor(self, state: State) -> Predictor:
        return NeighbourChain(state) if state["base"] == "knn" else Machines(state)


class NeighbourChain(Predictor):
    """Prediction of a chain of nearest-neighbour votes."""

    cells = CHAINED  # each run meets the training rows once a label

    @property
    def working_bytes(self) -> int:
        return bytes_as_floats(self.state["x"]) + LABEL_BYTES * self.state["y"].nnz

    @cached_property
    def training(self) -> tuple[Matrix, sp.csr_matrix]:
        """Return the training rows, and their labels in the order of the chain."""
        labels = self.state["y"][:, self.state["order"]]
        return self.scaled(self.state["x"]), labels

    def predict(self, x: Matrix) -> tuple[ndarray, ndarray]:
        s = self.state
        x = self.scaled(x, s["columns"])
        order = s["order"]
        truth = self.training[1].astype(np.float64).tocsc()
        labels = np.zeros((x.shape[0], len(order)), np.uint8)
        scores = np.zeros((x.shape[0], len(order)))
        for position, label in enumerate(order):
            before = labels[:, order[:position]]
            query = Rows(beside(x, before), -1 - np.arange(x.shape[0]))
            best = self._nearest(query, position)
            counts = label_counts(best.ids, truth[:, [position]].tocsr())
            share = counts[:, 0] / s["k"]
            labels[:, label] = share > 0.5
            scores[:, label] = share
        return labels, scores

    def _nearest(self, query: Rows, position: int) -> Nearest:
        """Return the nearest training rows, which have the labels before a position, run by run."""
        z, y = self.training
        n = z.shape[0]
        width = z.shape[1] + position
        if sp.issparse(z):
            width = -(-z.nnz // n) + position
        step = TILE * max(1, CHAINED // max(1, width) // TILE)
        best = None
        for first in range(0, n, step):
            rows = slice(first, min(n, first + step))
            run = Rows(beside(z[rows], y[rows, :position]), np.arange(n)[rows])
            of_run = nearest(query, run, self.state["k"])
            best = of_run if best is None else best.merge(of_run)
        assert best is not None
        return best
