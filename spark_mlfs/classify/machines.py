"""Training of linear machines, one a label, by liblinear; and Platt's probabilities of them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import DataError, ParameterError, setting
from ..kernels.hashing import mix
from ..kernels.matrix import Matrix, decisions, dense
from ..kernels.platt import platt
from ..kernels.scaling import Scaling, unit_rows
from ..params import Choice, Integer, Number, Optional, Parameter, Values
from .base import CELLS, feature_bytes, known_rows, stored_values

FOLDS = 3
SAVED_COPIES = 3  # of what was learned, while it is saved
NODE_BYTES = 16  # of liblinear, for each value of the rows and their constant
LARGEST = 1e75  # a feature; of one beyond 1e80 liblinear does not come to an end
WEIGHTS_OF_LOSS = (1e-60, 1e60)  # with others, too, and with a large one of large features
LARGEST_OF_LOGISTIC = 1e30  # what scikit-learn hands to it
# liblinear's dual solver draws from one row of numbers for all threads
_drawing = threading.Lock()
NO_SLOPE = (-1.0, 0.0)  # a and b of a machine without a calibration: 1/(1 + exp(−f))
LINEAR = (
    Parameter("c", 1.0, Number(0, above=True), "weight of the loss against the penalty ½‖w‖²"),
    Parameter("max_iter", 10_000, Integer(1), "iterations of the solver, at most"),
    Parameter("tol", 1e-4, Number(0, above=True), "the solver's stopping tolerance"),
    Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the solver's draws"),
    Parameter(
        "norm",
        "auto",
        Choice(("auto", "l2", "none")),
        "l2: the scaled rows have length 1; none: they stay; auto: l2 of sparse rows, as those of "
        "texts, with scaling none",
    ),
)

# of Reuters, Netflix and Slashdot Brier score and log loss are less with 3 than with 1, of rows
# of other lengths more often not
WEIGHT_OF_LOSS = Parameter(
    "c",
    None,
    Optional(Number(0, above=True)),
    "weight of the loss against the penalty ½‖w‖²; None: 3 of rows of length 1, else 1",
)


def norm_of(profile: Profile, p: Values) -> str:
    """Return the norm by which rows are brought to length 1: "l2", or "none"."""
    if p["norm"] != "auto":
        return str(p["norm"])
    of_words = profile.sparse and p["scaling"] == "none" and not p.get("label_specific")
    return "l2" if of_words else "none"


@dataclass
class _Training:
    """Rows `x` of the machines, labels as columns of `y`, and what says how they are learned from;
    `order` of a chain, whose rows have the labels before a label behind `v` features."""

    x: Matrix
    y: sp.csc_matrix
    ids: ndarray
    profile: Profile
    p: Values
    v: int
    order: list[int] | None

    def inputs(self, label: int) -> tuple[Matrix, ndarray]:
        """Return the rows that a label's machine sees, and the numbers of their columns."""
        if self.p.get("label_specific"):  # the features that an extractor made for this label
            first, last = self.p["slices"][label : label + 2]
            varying = self.profile.varying
            columns = np.flatnonzero((varying >= first) & (varying < last))
            return self.x[:, columns], columns
        if self.order is not None:
            columns = np.arange(self.v + self.order.index(label))
            return self.x[:, : len(columns)], columns
        return self.x, np.arange(self.v)

    def runs(self, labels: Sequence[int]) -> list[Sequence[int]]:
        """Return runs of labels whose machines see the same rows, which are trained together."""
        is_alone = self.p.get("label_specific") or self.order is not None
        step = 1 if is_alone else max(1, CELLS // max(1, len(self.ids)))
        return [labels[first : first + step] for first in range(0, len(labels), step)]

    def learn(self, x: Matrix, truth: ndarray) -> tuple[list[ndarray], list[tuple[float, ...]]]:
        """Return weights of the machines of labels `truth` (n, r), and of each (intercept, a and b
        of the probability, iterations)."""
        weights: list[ndarray] = []
        constants: list[tuple[float, ...]] = []
        varied = []
        for place, y in enumerate(truth.T):
            if not len(y) or y.min() == y.max():
                weights.append(np.zeros(x.shape[1]))
                constants.append((2.0 * float(y[:1].any()) - 1, -1e3, 0.0, 0))
                continue
            varied.append(place)
            w, intercept, iterations = _machine(x, y, self.p)
            weights.append(w)
            constants.append((intercept, *NO_SLOPE, iterations))
        if self.p.get("scores") == "calibrated":
            splits = _splits(self.ids, self.p["seed"])
            # with too few of one kind to calibrate on: Platt's prior
            places = [place for place in varied if _have_both_classes(splits, truth[:, place])]
            held_out = _held_out(x, truth[:, places], splits, self.p) if places else None
            for column, place in enumerate(places):
                assert held_out is not None
                a, b = platt(held_out[:, column], truth[:, place])
                constants[place] = (constants[place][0], a, b, constants[place][3])
        return weights, constants


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
    norm = norm_of(profile, p)
    if p["c"] is None:
        p = {**p, "c": 3.0 if norm == "l2" else 1.0}
    if norm == "l2":
        x = unit_rows(x)
    y = rows.labels(profile.q)
    least, most = WEIGHTS_OF_LOSS
    if not least <= p["c"] <= most:
        raise ParameterError(f"{setting('c', p['c'])}: liblinear takes {least:g} to {most:g}")
    largest = LARGEST_OF_LOGISTIC if p.get("loss") == "logistic" else LARGEST
    largest = min(largest, LARGEST / max(1.0, p["c"]))
    if x.size and not max(x.max(), -x.min()) <= largest:
        raise DataError(
            f"liblinear takes no features beyond {largest:g}: give {setting('scaling', 'standard')}"
        )
    v = x.shape[1]
    width = v
    if order is not None:
        width += profile.q
        x = sp.csr_matrix(beside(sp.csr_matrix(x), y[:, order]))
    training = _Training(
        x,
        y.tocsc(),
        rows.ids,
        profile,
        p,
        v,
        order,
    )
    weights = np.zeros((len(labels), width))
    constants = np.zeros((len(labels), 4))  # intercept, a, b, iterations
    row = 0
    for run in training.runs(labels):
        inputs, columns = training.inputs(run[0])
        truth = (training.y[:, run].toarray() > 0).astype(np.int8)
        for of_label in zip(*training.learn(inputs, truth), strict=True):
            weights[row, columns], constants[row] = of_label
            row += 1
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


class _Ignored:
    """Filters of warnings, which are those of all threads: the last one to leave restores them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._filters = ExitStack()
        self._inside = 0

    @contextmanager
    def within(self, category: type[Warning]) -> Iterator[None]:
        """Ignore warnings of one category while a thread is in this block."""
        with self._guard:
            if not self._inside:
                self._filters.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", category)
            self._inside += 1
        try:
            yield
        finally:
            with self._guard:
                self._inside -= 1
                if not self._inside:
                    self._filters.close()


_ignored = _Ignored()


def _machine(x: Matrix, y: ndarray, p: Values) -> tuple[ndarray, float, int]:
    """Return the weights of a machine that tells 1 from 0 in y, its intercept, and iterations."""
    from sklearn import config_context
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    settings: dict[str, Any] = {
        "C": p["c"],
        "max_iter": p["max_iter"],
        "tol": p["tol"],
        "random_state": p["seed"],
    }
    if p.get("loss") == "logistic":
        machine = LogisticRegression(solver="liblinear", **settings)
    else:
        machine = LinearSVC(dual="auto", **settings)
    draws = isinstance(machine, LinearSVC) and x.shape[0] < x.shape[1]  # it takes the dual problem
    turn = _drawing if draws else nullcontext()
    with turn, _ignored.within(ConvergenceWarning), config_context(assume_finite=True):
        machine.fit(x, y)  # the count of iterations says whether it converged
    return machine.coef_[0], float(machine.intercept_[0]), int(np.max(machine.n_iter_))


def _held_out(
    x: Matrix,
    truth: ndarray,
    splits: list[tuple[ndarray, ndarray]],
    p: Values,
) -> ndarray:
    """Return decision values (n, r) of each row by machines that were trained without its fold."""
    values = np.empty(truth.shape)
    for train, test in splits:
        inside = x[train]
        outside = x[test]
        for column, y in enumerate(truth[train].T):
            weights, intercept, _ = _machine(inside, y, p)
            values[test, column] = decisions(outside, weights[None])[:, 0] + intercept
    return values


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
    out["norm"] = norm_of(profile, p)
    out |= known
    out["converged"] = bool((out["iterations"] < p["max_iter"]).all())
    return out
