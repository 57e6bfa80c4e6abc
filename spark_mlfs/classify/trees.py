"""A probabilistic label tree: napkinXC's, for many thousands of labels."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.codec import State
from ..engine.base import Engine
from ..errors import DataError, setting
from ..kernels.matrix import Matrix
from ..kernels.scaling import unit_rows
from ..lazy import cached_property
from ..media.base import require
from ..params import Integer, Number, Parameter, Values
from .base import Classifier, Predictor, feature_bytes, known_rows

FILE = "file "  # what the names of the model's files begin with in a state
COPIES = 4  # of rows and labels while a process of their own learns from them
LOADED_COPIES = 4  # of the model's files, where they are loaded
HALF = 0.5
_loaded: dict[str, Any] = {}  # the model that this process has, by what its files hold
_in_use = threading.Lock()  # of threads one is in the library at a time, which else ends in a crash


def _library() -> Any:
    title = "the classifier 'plt'"
    return require(
        "napkinxc.models",
        "napkinxc",
        title,
        "xmc",
    )


class PLT(Classifier):
    """A probabilistic label tree of logistic machines, by napkinXC.

        P(l | x) = Π over the nodes v from the root to l of  1/(1 + exp(−w_v'x)),    label above ½

    Labels are the leaves of a tree, made by balanced 2-means of the labels' mean rows; a node's
    machine tells whether a row that has a label below its parent has one below it. A row costs some
    ln q machines. Rows are brought to length 1; those without a feature are neither trained on nor
    scored: their scores are 0. Training runs in a process of its own, on one thread: with more of
    them no two fits are equal. Score: the probability; only the ``most_labels`` best of a row have
    one above 0.
    Symbols: x (v,) the features that vary in the training rows; w_v (v,) of a node v; q labels.
    Scores (rows, q), probabilities.
    Raises: `NotInstalledError` without napkinXC (``pip install 'spark_mlfs[xmc]'``); `DataError`
    where single labels of a row are unknown, no row has a feature and a label, or the library fails
    on the rows; `BudgetError` where the rows exceed $budget; $range.
    Source: Jasinska-Kobus, Wydmuch, Dembczyński, Kuznetsov & Busa-Fekete 2020 (napkinXC).
    Deviations: none; the model's files are the library's, and are read by it alone."""

    name = "plt"
    title = "a probabilistic label tree (napkinXC)"
    source = "Jasinska-Kobus et al. 2020 (napkinXC)"
    when = "thousands of labels; texts"
    cost = "some ln q machines a row, one process with all rows"
    one_thread = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "c",
            10.0,
            Number(0, 1e10, above=True),
            "weight of the loss against the penalty ½‖w‖²",
        ),
        Parameter("tol", 0.1, Number(0, above=True), "the solver's stopping tolerance"),
        Parameter("max_leaves", 100, Integer(2), "labels of a node that has no nodes below"),
        Parameter("most_labels", 100, Integer(1), "labels of a row that get a score"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the means"),
    )

    def fit(self, engine: Engine, p: Values) -> State:
        _library()
        profile = engine.profile
        labels = 16 * int(profile.positive.sum())
        beside = COPIES * (feature_bytes(profile) + labels)
        rows = known_rows(engine.gathered(beside), profile)
        x = _unit_rows(rows.x, profile.varying)
        y = rows.labels(profile.q)
        usable = np.flatnonzero((np.diff(x.indptr) > 0) & (np.diff(y.indptr) > 0))
        if not len(usable):
            raise DataError("no row has a feature and a label: there is nothing to learn from")
        files = _trained(x[usable], y[usable], p)
        return {
            "columns": profile.varying,
            "q": profile.q,
            "most": min(p["most_labels"], profile.q),
            **{FILE + name: np.frombuffer(data, np.uint8) for name, data in files.items()},
        }

    def probabilities(self, p: Values) -> bool:
        return True

    def predictor(self, state: State) -> Predictor:
        return TreePredictor(state)


def _unit_rows(x: Matrix, columns: ndarray) -> sp.csr_matrix:
    """Return some columns as rows of length 1: the library's numbers are of 32 bits."""
    rows = sp.csr_matrix(x, dtype=np.float64)[:, columns]
    rows.eliminate_zeros()
    return unit_rows(rows)


def _trained(x: sp.csr_matrix, y: sp.csr_matrix, p: Values) -> dict[str, bytes]:
    """Return the files of a model of rows x (n, v) and y (n, q), made by a process of its own.

    So its draws begin anew, and where the library aborts this process goes on."""
    with tempfile.TemporaryDirectory(prefix="spark-mlfs-") as scratch:
        folder = Path(scratch)
        sp.save_npz(folder / "x.npz", x, compressed=False)
        sp.save_npz(folder / "y.npz", y, compressed=False)
        single = np.finfo(np.float32)  # which the library reads its numbers in
        settings = {
            "liblinear_c": float(np.clip(p["c"], single.tiny, single.max)),
            "liblinear_eps": float(np.clip(p["tol"], single.tiny, single.max)),
            "max_leaves": min(p["max_leaves"], max(2, y.shape[1])),
            "seed": p["seed"],
        }
        words = [f"{name}={value}" for name, value in settings.items()]
        paths = os.pathsep.join(filter(None, sys.path))
        process = subprocess.run(
            [sys.executable, "-m", __name__, scratch, *words],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        if process.returncode:
            ends = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
            raise DataError(
                f"napkinXC does not learn from these {x.shape[0]} rows ({ends[-1]}): "
                "give another classifier"
            )
        files = sorted((folder / "model").iterdir())
        return {file.name: file.read_bytes() for file in files}


def _learn(folder: str, words: list[str]) -> None:
    """Train in this process, which is there for that alone, from the rows of a folder."""
    settings: dict[str, Any] = dict(word.split("=") for word in words)
    for name in ("max_leaves", "seed"):
        settings[name] = int(settings[name])
    for name in ("liblinear_c", "liblinear_eps"):
        settings[name] = float(settings[name])
    model = Path(folder, "model")
    model.mkdir()
    x = sp.load_npz(Path(folder, "x.npz"))
    y = sp.load_npz(Path(folder, "y.npz"))
    learner = _library().PLT(str(model), threads=1, verbose=0, **settings)
    labels = np.split(y.indices, y.indptr[1:-1])
    learner.fit(x, [row.tolist() for row in labels])


class TreePredictor(Predictor):
    """Prediction by a label tree, of which a process loads one."""

    @property
    def working_bytes(self) -> int:
        return LOADED_COPIES * sum(data.nbytes for _, data in self._files())

    def _files(self) -> Iterator[tuple[str, ndarray]]:
        for name, value in self.state.items():
            if name.startswith(FILE):
                yield name[len(FILE) :], value

    @cached_property
    def _key(self) -> str:
        digest = hashlib.sha256()
        for name, data in self._files():
            digest.update(name.encode())
            digest.update(data.tobytes())
        return digest.hexdigest()

    def _best(self, rows: sp.csr_matrix) -> list[list[tuple[int, float]]]:
        """Return the best labels of rows, each with its probability."""
        with _in_use:
            if self._key not in _loaded:
                _loaded.clear()
                _loaded[self._key] = self._load()
            best = _loaded[self._key].predict_proba(rows, top_k=int(self.state["most"]))
        return list(best)

    def _load(self) -> Any:
        with tempfile.TemporaryDirectory(prefix="spark-mlfs-") as scratch:
            for name, data in self._files():
                Path(scratch, name).write_bytes(data.tobytes())
            model = _library().PLT(scratch, threads=1, verbose=0)
            model.load()
            return model

    def predict(self, x: Matrix) -> tuple[ndarray, ndarray]:
        s = self.state
        rows = _unit_rows(x, s["columns"])
        scores = np.zeros((rows.shape[0], s["q"]))
        usable = np.flatnonzero(np.diff(rows.indptr))
        if len(usable):
            for row, pairs in zip(usable, self._best(rows[usable]), strict=True):
                labels, values = zip(*pairs, strict=True)
                scores[row, list(labels)] = values
            if not np.isfinite(scores).all():
                remedy = setting("c", 10.0)
                raise DataError(f"the label tree gives no numbers: train it with {remedy}, or less")
        return (scores > HALF).astype(np.uint8), scores


if __name__ == "__main__":
    _learn(sys.argv[1], sys.argv[2:])
