"""Classifier chain: each label is predicted from the features and the labels before it in the chain.

    ŷ_π(t) = h_t(x, ŷ_π(1), …, ŷ_π(t−1)),    t = 1, …, q

Training uses the true labels before a label, prediction the predicted ones. Base h: a linear support vector machine
(``svm``, as `classify.svm`), or the majority of the k nearest neighbours (``knn``) in the space of the features and the labels
before. Order: by label index, by falling frequency, or drawn with the seed. Scores: decision values, or shares of neighbours.
Symbols: x (v,) the features that vary in the training rows, scaled as ``scaling`` says (default: as they are); π the order of
the q labels; ŷ ∈ {0, 1}^q the prediction. Scores (rows, q).
Raises: `DataError` where single labels of a row are unknown, or with ``knn`` there are at most k labelled rows; `BudgetError`
where the rows exceed $budget; $range.
Source: Read, Pfahringer, Holmes & Frank 2009.
Deviations: one chain, not their ensemble.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State
from ..engine.base import Engine
from ..kernels.knn import Rows
from ..kernels.matrix import Matrix
from ..kernels.nearest import nearest
from ..kernels.votes import label_counts
from ..lazy import cached_property
from ..params import Choice, Integer, Parameter, Values
from .base import SCALING, Classifier, Predictor
from .knn import BRkNN
from .svm import LINEAR, LabelMachines, beside, decisions, gather_machines


class ClassifierChain(Classifier):
    """A chain of linear support vector machines or of nearest-neighbour votes."""

    name = "cc"
    title = "classifier chain over linear SVMs or nearest neighbours"
    source = "Read, Pfahringer, Holmes & Frank 2009"
    when = "labels that follow from each other"
    cost = "one machine a label, side by side by label, each with all rows in its process; nothing with base=knn"
    parameters = (
        Parameter("base", "svm", Choice(("svm", "knn")), "what predicts a label"),
        Parameter("order", "random", Choice(("random", "frequency", "index")), "order of the labels in the chain"),
        Parameter("k", 3, Integer(1), "neighbours, with base knn"),
        *LINEAR,
        SCALING,
    )

    def fit(self, engine: Engine, p: Values) -> State:
        profile = engine.profile
        order = chain_order(profile.positive, p["order"], p["seed"])
        if p["base"] == "knn":
            return BRkNN().fit(engine, p) | {"order": order, "base": "knn"}
        machines = gather_machines(engine.over_labels(LabelMachines(profile, p, order=tuple(order.tolist()))), profile.q)
        converged = bool((machines["iterations"] < p["max_iter"]).all())
        return machines | {"columns": profile.varying, "order": order, "base": "svm", "converged": converged}

    def by_label(self, p: Values) -> bool:
        return p["base"] == "svm"

    def probabilities(self, p: Values) -> bool:
        return p["base"] == "knn"

    def predictor(self, state: State) -> Predictor:
        return NeighbourChain(state) if state["base"] == "knn" else MachineChain(state)


def chain_order(positive: np.ndarray, how: str, seed: int) -> np.ndarray:
    """(q,) labels in the order of the chain."""
    q = len(positive)
    if how == "index":
        return np.arange(q)
    if how == "frequency":
        return np.argsort(-positive, kind="stable")
    return np.random.default_rng(seed).permutation(q)


class MachineChain(Predictor):
    """Prediction of a chain of machines."""

    def predict(self, x: Matrix) -> tuple[np.ndarray, np.ndarray]:
        s = self.state
        x = self.scaled(x, s["columns"])
        v, order = x.shape[1], s["order"]
        scores = decisions(x, s["weights"][:, :v]) + s["intercept"]
        labels = np.zeros(scores.shape, np.uint8)
        for position, label in enumerate(order):
            before = order[:position]
            scores[:, label] += decisions(labels[:, before].astype(np.float64), s["weights"][[label], v : v + position])[:, 0]
            labels[:, label] = scores[:, label] > 0
        return labels, scores


class NeighbourChain(Predictor):
    """Prediction of a chain of nearest-neighbour votes."""

    @cached_property
    def training(self) -> tuple[Matrix, np.ndarray]:
        return self.scaled(self.state["x"]), self.state["y"].toarray()

    def predict(self, x: Matrix) -> tuple[np.ndarray, np.ndarray]:
        s, (z, y) = self.state, self.training
        x = self.scaled(x, s["columns"])
        order, k = s["order"], s["k"]
        labels, scores = np.zeros((x.shape[0], len(order)), np.uint8), np.zeros((x.shape[0], len(order)))
        for position, label in enumerate(order):
            before = order[:position]
            query = Rows(beside(x, labels[:, before]), -1 - np.arange(x.shape[0]))
            best = nearest(query, Rows(beside(z, y[:, before]), np.arange(z.shape[0])), k)
            share = label_counts(best, sp.csr_matrix(y[:, [label]], dtype=np.float64))[:, 0] / k
            labels[:, label], scores[:, label] = share > 0.5, share
        return labels, scores
