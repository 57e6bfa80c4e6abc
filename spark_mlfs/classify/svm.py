"""Linear machines, one a label: apart from each other, or in a chain."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy import ndarray
from scipy.special import expit

from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import DataError
from ..kernels.knn import TILE, Rows
from ..kernels.matrix import Matrix, bytes_as_floats, decisions
from ..kernels.nearest import Nearest, nearest
from ..kernels.neighbour_votes import label_counts
from ..kernels.terms import LargestTerms, largest_terms
from ..lazy import cached_property
from ..params import Choice, Flag, Integer, Parameter, Values
from .base import SCALING, Classifier, Predictor
from .knn import LABEL_BYTES, BRkNN
from .machines import LINEAR, WEIGHT_OF_LOSS, beside, machine_bytes, machines_of

CHAINED = 1 << 22  # values of the training rows of a neighbour chain that are compared at once


class BRSVM(Classifier):
    """A linear support vector machine per label.

        min over w, b of  ½‖w‖² + C Σ_i max(0, 1 − y_i(w'x_i + b))²,    label where w'x + b > 0

    by scikit-learn's LinearSVC (liblinear); the rows are in the order of their ids and the solver's
    draws are seeded, so that a label's machine does not depend on where it was trained. Score: the
    decision value w'x + b, or with ``scores="calibrated"`` Platt's probability 1/(1 + exp(a·f +
    b)), f the decision value, a and b from those of three folds by row id. A label with one value
    in the training rows is predicted as that value (decision ±1, probability 1 or 0).
    Symbols: x_i (v,) the features that vary in training row i, scaled as ``scaling`` says (default:
    as they are) and of length 1 as ``norm`` says, or those an extractor made for the label
    (``label_specific``); y_i = ±1 whether it has the label; w (v,), b one label's machine of q; C >
    0 ``c``. Scores (rows, q), distances in units of 1/‖w‖, or probabilities.
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
    parameters: ClassVar[tuple[Parameter, ...]] = (
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

    def bytes_beside(self, profile: Profile, p: Values) -> int:
        return machine_bytes(profile, p, in_chain=False)

    def fit(self, engine: Engine, p: Values) -> State:
        return machines_of(engine, p, scores=p["scores"])

    def by_label(self, p: Values) -> bool:
        return True

    def probabilities(self, p: Values) -> bool:
        return p["scores"] == "calibrated"

    def predictor(self, state: State) -> Predictor:
        return Machines(state)

    def coefficients(self, state: State, d: int) -> tuple[ndarray, ndarray] | None:
        scaled = state["weights"] / state["scale"]
        weights = np.zeros((len(scaled), d))
        weights[:, state["columns"]] = scaled
        shift = scaled @ state["offset"]
        if state.get("norm") == "l2" and shift.any():
            return None  # a constant that is divided by the length of the row
        return weights, state["intercept"] - shift


class Logistic(BRSVM):
    """Logistic regression per label.

        min over w, b of  ½‖w‖² + C Σ_i log(1 + exp(−y_i(w'x_i + b))),    label where w'x + b > 0

    by scikit-learn's LogisticRegression (liblinear). Score: the probability 1/(1 + exp(−(w'x + b)))
    of the label, which takes no folds. A label with one value in the training rows has probability
    1 or 0.
    Symbols: x_i (v,) the features that vary in training row i, scaled as ``scaling`` says (default:
    as they are) and of length 1 as ``norm`` says; y_i = ±1 whether it has the label; w (v,), b one
    label's machine of q; C > 0 ``c``. Scores (rows, q), probabilities.
    Raises: `DataError` where single labels of a row are unknown; `BudgetError` where the rows
    exceed $budget; $range.
    Source: Fan, Chang, Hsieh, Wang & Lin 2008 (LIBLINEAR).
    Deviations: ``c`` is 3 of rows of length 1, as those of texts, where it is not given; liblinear
    penalises the intercept b with w."""

    name = "logistic"
    title = "logistic regression per label"
    when = "probabilities of many features, sparse ones too, without folds"
    parameters = (WEIGHT_OF_LOSS, *LINEAR[1:], SCALING)

    def fit(self, engine: Engine, p: Values) -> State:
        return machines_of(engine, {**p, "loss": "logistic"}, scores="calibrated")

    def probabilities(self, p: Values) -> bool:
        return True


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
        if not np.isfinite(scores).all():
            largest = abs(x).max()
            raise DataError(
                f"a row has features up to {largest:.3g} as they are scaled, too far from the "
                "training rows for scores that are numbers: correct it"
            )
        if s.get("scores") == "calibrated":
            return labels, expit(-(s["a"] * scores + s["b"]))
        return labels, scores

    @property
    def is_linear(self) -> bool:
        return "order" not in self.state  # a chain's scores have labels in them

    def terms(
        self,
        x: Matrix,
        rows: ndarray,
        labels: ndarray,
        k: int,
    ) -> tuple[LargestTerms, ndarray]:
        s = self.state
        columns = s["columns"]
        largest = largest_terms(self.scaled(x, columns), s["weights"], rows, labels, k)
        return replace(largest, features=columns[largest.features]), s["intercept"][labels]


class ClassifierChain(Classifier):
    """A chain of linear support vector machines or of nearest-neighbour votes.

        ŷ_π(t) = h_t(x, ŷ_π(1), …, ŷ_π(t−1)),    t = 1, …, q

    Training uses the true labels before a label, prediction the predicted ones. Base h: a linear
    support vector machine (``svm``, as `br-svm`), or the majority of the k nearest neighbours
    (``knn``) in the space of the features and the labels before. Order: by label index, by falling
    frequency, or drawn with the seed. Scores: decision values, or shares of neighbours.
    Symbols: x (v,) the features that vary in the training rows, scaled as ``scaling`` says
    (default: as they are) and of length 1 as ``norm`` says (neighbours: where it is l2); π the
    order of the q labels; ŷ ∈ {0, 1}^q the prediction. Scores (rows, q).
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

    def bytes_beside(self, profile: Profile, p: Values) -> int:
        if p["base"] == "knn":
            return BRkNN().bytes_beside(profile, p)
        return machine_bytes(profile, p, in_chain=True)

    def fit(self, engine: Engine, p: Values) -> State:
        q = engine.profile.q
        if p["order"] == "index":
            order = np.arange(q)
        elif p["order"] == "frequency":
            order = np.argsort(-engine.profile.positive, kind="stable")
        else:
            order = np.random.default_rng(p["seed"]).permutation(q)
        if p["base"] == "knn":
            norm = "l2" if p["norm"] == "l2" else "none"
            return BRkNN().fit(engine, p) | {"order": order, "base": "knn", "norm": norm}
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
