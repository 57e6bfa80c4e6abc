"""Which few latents tell a concept: generated activations with planted latents, and a k-sweep by
label from one scan. Writes the table of how-to/probes.md to standard output.

python notebooks/figures/probes.py [ROWS LATENTS CONCEPTS]"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp

import spark_mlfs

ACTIVE = 50  # latents of a row
SWEEP = (1, 2, 4, 8)


def activations(
    n: int, d: int, q: int, seed: int = 0
) -> tuple[sp.csr_matrix, np.ndarray, list[np.ndarray]]:
    """Sparse activations (n, d), concepts (n, q), and the latents that are planted for each: one to
    four, that fire in 7 of 10 rows with the concept, and in few others."""
    rng = np.random.default_rng(seed)
    planted = np.split(rng.permutation(d)[: 4 * q], q)
    planted = [latents[: rng.integers(1, 5)] for latents in planted]
    y = rng.random((n, q)) < rng.uniform(0.01, 0.05, q)
    rows, columns = [np.repeat(np.arange(n), ACTIVE)], [rng.integers(0, d, n * ACTIVE)]
    for concept, latents in enumerate(planted):
        for latent in latents:
            fires = rng.random(n) < np.where(y[:, concept], 0.7, 0.002)
            rows.append(np.flatnonzero(fires))
            columns.append(np.full(len(rows[-1]), latent))
    places = np.concatenate(rows), np.concatenate(columns)
    values = rng.lognormal(size=len(places[0]))
    return sp.csr_matrix((values, places), shape=(n, d)), y.astype(int), planted


def sets(x: sp.csr_matrix, y: np.ndarray, most: int = max(SWEEP)) -> pd.DataFrame:
    """The best latents of each concept, from one scan."""
    names = pd.Index([str(j) for j in range(y.shape[1])])
    labels = pd.DataFrame(y, columns=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return spark_mlfs.by_label(x, labels, "quota", None, per_label=most)


def recall(table: pd.DataFrame, planted: list[np.ndarray]) -> float:
    """The share of the planted latents that are among as many best ones of their concept."""
    found = 0
    for concept, group in table.groupby(table["label"].astype(int)):
        best = group.nsmallest(len(planted[concept]), "place")["name"].str[1:].astype(int)
        found += np.isin(best, planted[concept]).sum()
    return found / sum(map(len, planted))


def areas(table: pd.DataFrame, x: sp.csr_matrix, y: np.ndarray, k: int) -> np.ndarray:
    """The area under the ROC curve of each concept on other rows: a row scores the log odds of
    those of the concept's k best latents that fire. The counts of the table are enough."""
    out = np.full(y.shape[1], 0.5)
    x = x.tocsc()
    for concept, group in table[table["place"] <= k].groupby(table["label"].astype(int)):
        with_label = (group["both"] + 0.5) / (group["label_rows"] + 1)
        others = group["feature_rows"] - group["both"] + 0.5
        without = others / (group["known_rows"] - group["label_rows"] + 1)
        weights = np.log(with_label / without).to_numpy()
        fires = x[:, group["name"].str[1:].astype(int).to_numpy()] != 0
        score, truth = fires @ weights, y[:, concept] > 0
        values, place = np.unique(score, return_inverse=True)
        positive = np.bincount(place, truth, len(values))
        negative = np.bincount(place, ~truth, len(values))
        below = np.cumsum(negative) - negative / 2
        if truth.any() and not truth.all():
            out[concept] = positive @ below / (truth.sum() * (~truth).sum())
    return out


def sweep(n: int, d: int, q: int, seed: int = 0) -> tuple[pd.DataFrame, float, float, float]:
    """The mean area by k, of true labels and of shuffled ones; the recall of both; seconds."""
    x, y, planted = activations(2 * n, d, q, seed)
    train, test = slice(0, n), slice(n, None)
    shuffled = np.random.default_rng(seed + 1).permutation(n)
    started = time.process_time()
    table = sets(x[train], y[train])
    seconds = time.process_time() - started
    by_chance = sets(x[train], y[train][shuffled])
    lines = [
        {
            "k": k,
            "true labels": areas(table, x[test], y[test], k).mean(),
            "shuffled labels": areas(by_chance, x[test], y[test], k).mean(),
        }
        for k in SWEEP
    ]
    return pd.DataFrame(lines), recall(table, planted), recall(by_chance, planted), seconds


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:]] or [20_000, 100_000, 500]
    lines, share, by_chance, seconds = sweep(*sizes)
    print(lines.round(3).to_string(index=False))
    print(
        f"recall of the planted {share:.3f}, with shuffled labels {by_chance:.4f}; {seconds:.1f} s"
    )
