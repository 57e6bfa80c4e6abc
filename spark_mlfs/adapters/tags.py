"""Which labels a row gets of its scores: the tags of `score`, of a classification model and of an
MLflow model alike.

The passages of the texts that rows are: which of them speaks most for a tag."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..classify.base import Predictor
from ..errors import ParameterError, setting
from ..kernels.matrix import Matrix
from ..media.base import passages_of
from ..texts.word_vectors import TextReader
from .contributions import WHY, Contributions

CHOSEN = "__labels__"  # the column of the numbers of the labels that a row gets
BEST = "best_passages"  # the column that tells them


@dataclass(frozen=True)
class RowsAndPassages:
    """Features of some rows `x` and of their passages `of_passages`, of rows `owners`."""

    x: Matrix
    of_passages: Matrix
    passages: list[str]
    owners: np.ndarray

    def best(
        self, labels: np.ndarray, counts: np.ndarray, scores: np.ndarray
    ) -> tuple[list[str], np.ndarray]:
        """The passage that scores highest for each of the labels that the rows are given, the first
        of equals, and how many labels each row is given; `scores` (passages, q)."""
        starts = np.searchsorted(self.owners, np.arange(len(counts) + 1))
        rows = np.repeat(np.arange(len(counts)), counts)
        places = (
            a + scores[a:z, label].argmax()
            for a, z, label in zip(starts[rows], starts[rows + 1], labels, strict=True)
        )
        return [self.passages[place] for place in places], counts


@dataclass(frozen=True)
class PassageReader:
    """Reads the features of texts, and of their passages of so many `words`, half of them in
    common."""

    read: Callable[..., Matrix]
    words: int

    def __call__(self, texts: pa.Array, *context: Any) -> RowsAndPassages:
        parts = [passages_of(text or "", self.words, self.words // 2) for text in texts.to_pylist()]
        flat = [passage for passages in parts for passage in passages]
        owners = np.repeat(np.arange(len(parts)), [len(passages) for passages in parts])
        passages = self.read(pa.array(flat, pa.string()))
        return RowsAndPassages(self.read(texts, *context), passages, flat, owners)


def explaining(read: Any, words: int, classifier: Any) -> tuple[Any, Contributions | None]:
    """Return what reads rows as `read` does, of texts their passages of so many `words`, too, and
    what tells the terms of a linear classifier's scores; `ParameterError` for neither."""
    is_linear = classifier.predictor().is_linear
    why = Contributions(classifier.featureNames) if is_linear else None
    if isinstance(read, TextReader):
        return PassageReader(read, words), why
    if why is None:
        raise ParameterError(
            f"{setting('explain')} tells the passages of texts whose words a pipeline counts, and "
            "the features behind the scores of a linear classifier (br-svm, logistic), and this "
            "one has neither: leave it out"
        )
    return read, why


# columns of a frame by name, as `map_rows` takes them
Columns = Mapping[str, Any]
ColumnsOf = Callable[[np.ndarray, np.ndarray], Columns]  # of (rows, q) labels and scores
RAW = "rawPrediction"
CELLS = 1 << 21  # rows × labels that are scored at once
CELL_BYTES = 128  # for each: labels and scores as arrays and lists, and what is counted of them


def rows_at_once(labels: Sequence[str], memory: int | None = None) -> int:
    """How many rows are scored at once: of many labels few, however narrow the rows are.

    Their scores take no more than the `memory` in bytes, if that is bounded."""
    cells = CELLS if memory is None else min(CELLS, memory // CELL_BYTES)
    return max(1, cells // max(1, len(labels)))


def check_choice(top_n: int | None, threshold: float | None, labels: int) -> None:
    """`ParameterError` where both are given, or there are not so many labels."""
    if top_n is not None and threshold is not None:
        raise ParameterError("give top_n or threshold, not both")
    if top_n is not None and not 1 <= top_n <= labels:
        raise ParameterError(f"top_n = {top_n}: there are {labels} labels; give 1 to {labels}")


def best_labels(
    labels: np.ndarray,
    scores: np.ndarray,
    top_n: int | None,
    threshold: float | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chosen labels of all rows, best first and ties by the label's number, their scores, and
    how many each row has: the predicted labels (``labels > 0``), the `top_n` best, or those that
    score at least `threshold`."""
    if top_n is not None:
        chosen = _largest(scores, min(top_n, scores.shape[1]))
    else:
        chosen = labels > 0 if threshold is None else scores >= threshold
    if (
        8 * np.count_nonzero(chosen) > chosen.size
    ):  # whole rows are sorted sooner than their parts one by one
        order = np.argsort(-scores, axis=1, kind="stable")
        chosen = np.take_along_axis(chosen, order, axis=1)
        return (
            order[chosen].astype(np.int32),
            np.take_along_axis(scores, order, axis=1)[chosen],
            chosen.sum(axis=1),
        )
    rows, columns = np.nonzero(chosen)
    values = scores[rows, columns]
    order = np.lexsort((-values, rows))  # stable: ties stay by the label's number
    return columns[order].astype(np.int32), values[order], chosen.sum(axis=1)


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Which are the `count` largest of each row, the first ones of those that tie for the last
    place."""
    last = scores.shape[1] - count
    least = np.partition(scores, last, axis=1)[:, last : last + 1]
    chosen: np.ndarray = scores > least
    ties = scores == least
    ties &= np.cumsum(ties, axis=1, dtype=np.int32) <= count - chosen.sum(axis=1, keepdims=True)
    chosen |= ties
    return chosen


def predicted_columns(
    predictor: Predictor,
    columns: ColumnsOf,
    x: Matrix | RowsAndPassages,
    why: Contributions | None = None,
) -> Columns:
    """What `columns` makes of a predictor's labels and scores of rows, as `map_rows` calls it.

    And what explains them: the best passages of texts, and the terms that `why` tells."""
    of_rows = x.x if isinstance(x, RowsAndPassages) else x
    out = columns(*predictor.predict(of_rows))
    if isinstance(x, RowsAndPassages):
        scores = predictor.predict(x.of_passages)[1]
        labels, counts = out[CHOSEN]
        out = {**out, BEST: x.best(labels, counts, scores)}
    if why is not None:
        labels, counts = out[CHOSEN]
        out = {**out, WHY: why.of(predictor, of_rows, labels, counts)}
    return out


def label_vectors(
    prediction: str,
    raw: str,
    labels: np.ndarray,
    scores: np.ndarray,
) -> Columns:
    """Labels and scores as vector columns of these names."""
    return {prediction: labels.astype(np.float64), raw: scores}


def vectors_and_labels(
    prediction: str,
    raw: str,
    labels: np.ndarray,
    scores: np.ndarray,
) -> Columns:
    """The same with the numbers of the predicted labels, best first."""
    chosen, _, counts = best_labels(labels, scores, None, None)
    return {**label_vectors(prediction, raw, labels, scores), CHOSEN: (chosen, counts)}


def output_names(beside: Sequence[str]) -> tuple[str, str]:
    """The columns of the predicted labels and of their scores, beside others."""
    taken = {name.lower() for name in beside} & {"tags", "scores"}
    return ("predicted_tags", "predicted_scores") if taken else ("tags", "scores")


def label_lists(
    top_n: int | None,
    threshold: float | None,
    raw: str,
    scored: str,
    labels: np.ndarray,
    scores: np.ndarray,
) -> Columns:
    """The chosen labels of each row and their scores as arrays, best first (`best_labels`)."""
    chosen, values, counts = best_labels(labels, scores, top_n, threshold)
    return {
        CHOSEN: (chosen, counts),
        scored: (values, counts),
        raw: scores,
    }


def overtagged(predicted: Mapping[str, int], rows: int, trained: Mapping[str, float]) -> str | None:
    """Return a warning about the label that far more rows get than had it in training.

    By a tenth of the rows, and twice as many. `predicted` are rows by label, `trained` shares."""
    shares = {
        name: (count / max(1, rows), trained.get(name, 1.0)) for name, count in predicted.items()
    }
    many = [name for name, (now, then) in shares.items() if now >= 2 * then and now - then >= 0.1]
    if not many:
        return None
    name = max(many, key=lambda name: shares[name][0] - shares[name][1])
    now, then = shares[name]
    others = f" ({len(many)} labels are given so often)" if len(many) > 1 else ""
    return (
        f"{100 * now:.0f} % of the rows get the tag {name!r}, which {100 * then:.0f} % had in "
        f"training{others}: give a higher --threshold (spark-mlfs check --output finds one on "
        "labelled rows), or --top-n"
    )
