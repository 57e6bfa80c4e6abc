"""Which labels a row gets of its scores: the tags of `score`, of a classification model and of an MLflow model alike."""

from __future__ import annotations

import numpy as np


def best_labels(
    labels: np.ndarray, scores: np.ndarray, top_n: int | None, threshold: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chosen labels of all rows, best first and ties by the label's number, their scores, and how many each row has: the
    predicted labels (``labels > 0``), the `top_n` best, or those that score at least `threshold`."""
    order = np.argsort(-scores, axis=1, kind="stable")
    if top_n is not None:
        chosen = np.zeros(scores.shape, bool)
        chosen[:, :top_n] = True
    else:
        eligible = labels > 0 if threshold is None else scores >= threshold
        chosen = np.take_along_axis(eligible, order, axis=1)
    return order[chosen].astype(np.int32), np.take_along_axis(scores, order, axis=1)[chosen], chosen.sum(axis=1)
