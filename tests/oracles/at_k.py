"""Metrics of the k best labels as the Extreme Classification Repository publishes them, row by row.

Jain, Prabhu & Varma 2016: inverse propensities 1 + C (N_l + B)^−A, C = (ln N − 1)(B + 1)^A of the
training rows; PSP@k = (1/k) Σ_{i ≤ k} y_(i)/p_(i), which the repository divides by the largest
possible mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def inverse_propensities(training: np.ndarray, a: float = 0.55, b: float = 1.5) -> list[float]:
    """Of the 0/1 labels (N, q) of training rows: one a label."""
    rows, q = training.shape
    c = (math.log(rows) - 1) * (b + 1) ** a
    return [1 + c * (sum(int(row[label]) for row in training) + b) ** -a for label in range(q)]


def metrics_at_k(
    truth: np.ndarray,
    scores: np.ndarray,
    inverse: Sequence[float],
    k: int,
) -> dict[str, float]:
    """The metrics at k of 0/1 labels and scores (n, q); of a tie the first label is first."""
    sums = dict.fromkeys(("precision", "ndcg", "psp", "psndcg", "best psp", "best psndcg"), 0.0)
    for labels, values in zip(truth, scores, strict=True):
        order = sorted(range(len(values)), key=lambda label: (-values[label], label))
        true = [label for label in range(len(values)) if labels[label]]
        dearest = sorted((inverse[label] for label in true), reverse=True)[:k]
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(true)) + 1))
        for place, label in enumerate(order[:k], 1):
            if labels[label]:
                sums["precision"] += 1 / k
                sums["ndcg"] += 1 / math.log2(place + 1) / ideal
                sums["psp"] += inverse[label] / k
                sums["psndcg"] += inverse[label] / math.log2(place + 1) / ideal
        for place, worth in enumerate(dearest, 1):
            sums["best psp"] += worth / k
            sums["best psndcg"] += worth / math.log2(place + 1) / ideal
    n = len(truth)
    return {
        f"precisionAt{k}": sums["precision"] / n,
        f"ndcgAt{k}": sums["ndcg"] / n,
        f"pspAt{k}": sums["psp"] / n,
        f"psndcgAt{k}": sums["psndcg"] / n,
        f"normalisedPspAt{k}": sums["psp"] / sums["best psp"],
        f"normalisedPsndcgAt{k}": sums["psndcg"] / sums["best psndcg"],
    }
