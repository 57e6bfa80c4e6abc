"""Which labels a row gets of its scores: the tags of `score`, of a classification model and of an MLflow model alike."""

from __future__ import annotations

import numpy as np

from ..errors import ParameterError


def check_choice(top_n: int | None, threshold: float | None, labels: int) -> None:
    """`ParameterError` where both are given, or there are not so many labels."""
    if top_n is not None and threshold is not None:
        raise ParameterError("give top_n or threshold, not both")
    if top_n is not None and not 1 <= top_n <= labels:
        raise ParameterError(f"top_n = {top_n}: there are {labels} labels; give 1 to {labels}")


def best_labels(
    labels: np.ndarray, scores: np.ndarray, top_n: int | None, threshold: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chosen labels of all rows, best first and ties by the label's number, their scores, and how many each row has: the
    predicted labels (``labels > 0``), the `top_n` best, or those that score at least `threshold`."""
    if top_n is not None:
        chosen = _largest(scores, min(top_n, scores.shape[1]))
    else:
        chosen = labels > 0 if threshold is None else scores >= threshold
    if 8 * np.count_nonzero(chosen) > chosen.size:  # whole rows are sorted sooner than their parts one by one
        order = np.argsort(-scores, axis=1, kind="stable")
        chosen = np.take_along_axis(chosen, order, axis=1)
        return order[chosen].astype(np.int32), np.take_along_axis(scores, order, axis=1)[chosen], chosen.sum(axis=1)
    rows, columns = np.nonzero(chosen)
    values = scores[rows, columns]
    order = np.lexsort((-values, rows))  # stable: ties stay by the label's number
    return columns[order].astype(np.int32), values[order], chosen.sum(axis=1)


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Which are the `count` largest of each row, the first ones of those that tie for the last place."""
    last = scores.shape[1] - count
    least = np.partition(scores, last, axis=1)[:, last : last + 1]
    chosen: np.ndarray = scores > least
    ties = scores == least
    ties &= np.cumsum(ties, axis=1, dtype=np.int32) <= count - chosen.sum(axis=1, keepdims=True)
    chosen |= ties
    return chosen
