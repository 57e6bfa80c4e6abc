"""The bare cost: the same arithmetic in plain NumPy and SciPy on one thread, in a process of its
own without Spark.

Functions of files: what they read is kept for the next call. Each returns seconds of CPU by stage,
and its scores where it has some, so that they can be compared."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from .meter import Meter

CHUNK = 4096  # features whose products with the labels are held at once
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Bare:
    """A process that works for one caller, on one thread, and that meters pass over."""

    def __enter__(self) -> Bare:
        self.process = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))
        try:
            self.pid = self.process.submit(os.getpid).result()
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        Meter.ignored.add(self.pid)
        return self

    def __call__(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self.process.submit(work, *arguments).result()

    def __exit__(self, *error: object) -> None:
        self.process.shutdown()


class Watch:
    """CPU seconds of this process by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = time.process_time()

    def __call__(self, stage: str) -> None:
        now = time.process_time()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now


# ---- reading ----


@lru_cache(maxsize=1)
def sparse_rows(paths: tuple[str, ...]) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Rows × features and rows × labels; label numbers stand in the alphabetical order of the
    tags."""
    table = pq.read_table(list(paths), columns=["features", "tags"])
    x = table["features"].combine_chunks()
    indices = x.field("indices")
    values = x.field("values").flatten().to_numpy()
    shape = (len(x), x.field("size")[0].as_py())
    data = (values, indices.flatten().to_numpy(), indices.offsets.to_numpy())
    return sp.csr_matrix(data, shape=shape), _labels(table["tags"].combine_chunks())


def _labels(tags: pa.ListArray) -> sp.csr_matrix:
    flat = tags.flatten()
    if pa.types.is_string(flat.type):
        flat = flat.dictionary_encode()
        order = np.argsort(flat.dictionary.to_numpy(zero_copy_only=False))
        numbers = np.argsort(order)[flat.indices.to_numpy()]
    else:
        numbers = flat.to_numpy()
    data = np.ones(len(numbers)), numbers, tags.offsets.to_numpy()
    return sp.csr_matrix(data, shape=(len(tags), int(numbers.max(initial=-1)) + 1))


def dense_rows(path: str) -> tuple[np.ndarray, np.ndarray]:
    table = pq.read_table(path, columns=["features", "tags"])
    values = table["features"].combine_chunks().field("values")
    x = values.flatten().to_numpy().reshape(len(values), -1)
    return x, _labels(table["tags"].combine_chunks()).toarray()


# ---- sparse features of 0 and 1 against many labels ----


def label_scores(paths: tuple[str, ...], kind: str) -> dict[str, Any]:
    """`mim` (Σ_l I(f; Y_l)), `chi2` (Σ_l χ²(f, l)), `fisher` (mean_l r²/(1 − r²)) or `f-statistic`
    of every feature, from X'Y by its stored cells: CPU seconds to read, for the products, for the
    scores; their values, and how many cells there are."""
    watch = Watch()
    x, y = sparse_rows(paths)
    watch("read")
    xt = x.T.tocsr()
    watch("products")
    n, of_feature = x.shape[0], np.diff(xt.indptr).astype(np.int64)  # nf·(n − nf) exceeds 32 bits
    of_label = np.asarray(y.sum(axis=0)).ravel().astype(np.int64)
    formula = _formula(kind, n)
    out, cells = np.zeros(x.shape[1]), 0
    if kind != "f-statistic":
        # of a label that never meets the feature only its count matters
        counts, times = np.unique(of_label, return_counts=True)
        shares, place = np.unique(of_feature, return_inverse=True)
        table = np.empty(len(shares))
        for a in range(0, len(shares), 512):
            table[a : a + 512] = (
                formula(np.zeros((1, 1), np.int64), shares[a : a + 512, None], counts[None, :])
                @ times
            )
        out += table[place]
    watch("scores")
    for a in range(0, x.shape[1], CHUNK):
        z = xt[a : a + CHUNK] @ y
        if kind in ("fisher", "f-statistic"):
            square = xt[a : a + CHUNK].multiply(xt[a : a + CHUNK]).tocsr() @ y
        watch("products")
        cells += z.nnz
        rows = np.repeat(np.arange(z.shape[0]), np.diff(z.indptr))
        shared, labels = z.data.astype(np.int64), z.indices
        if kind == "f-statistic":
            between = np.bincount(rows, z.data**2 / of_label[labels], z.shape[0])
            total, squares = (
                np.asarray(z.sum(axis=1)).ravel(),
                np.asarray(square.sum(axis=1)).ravel(),
            )
            within = squares - between
            between -= total**2 / of_label.sum()
            factor = max(n - y.shape[1], 1) / max(y.shape[1] - 1, 1)
            # every label takes part, those that never meet the feature with a mean of 0: they add
            # nothing to either sum
            out[a : a + CHUNK] = (
                factor * between / np.maximum(within, 1e-12 * (between + within) + 1e-300)
            )
        else:
            f, with_label = of_feature[a : a + CHUNK][rows], of_label[labels]
            excess = formula(shared, f, with_label) - formula(np.zeros_like(shared), f, with_label)
            out[a : a + CHUNK] += np.bincount(rows, excess, z.shape[0])
        watch("scores")
    if kind == "fisher":
        out /= ((of_label > 0) & (of_label < n)).sum()
    return {**watch.seconds, "values": out, "cells": cells}


def _formula(kind: str, n: int) -> Callable[..., np.ndarray]:
    """g(z, nf, nl): z rows of n hold feature and label, nf the feature, nl the label."""
    with np.errstate(divide="ignore", invalid="ignore"):
        xlogx = np.nan_to_num(np.arange(n + 1) * np.log(np.arange(n + 1)))

    def information(z, nf, nl):
        joint = xlogx[z] + xlogx[nf - z] + xlogx[nl - z] + xlogx[n - nf - nl + z]
        all_rows = joint + xlogx[n]
        without_feature = all_rows - xlogx[nf] - xlogx[n - nf]
        return (without_feature - xlogx[nl] - xlogx[n - nl]) / n

    def correlation(z, nf, nl):
        down = nf * (n - nf) / n * (nl * (n - nl) / n)
        return np.divide(
            (z - nf * (nl / n)) ** 2,
            down,
            out=np.zeros(np.broadcast(z, down).shape),
            where=down > 0,
        )

    def chi_square(z, nf, nl):
        return n * correlation(z, nf, nl)

    def fisher(z, nf, nl):
        r2 = correlation(z, nf, nl)
        return r2 / np.maximum(1 - r2, 1e-12)

    return {"mim": information, "chi2": chi_square, "fisher": fisher, "f-statistic": chi_square}[
        kind
    ]


def pick_tables(
    paths: tuple[str, ...], picks: Sequence[int], columns_left: Sequence[int] | None
) -> dict[str, Any]:
    """CPU seconds of the three-way tables of `picks`, every label and every feature (those `kept`):
    X[rows with s]' Y[rows]."""
    x, y = sparse_rows(paths)
    columns = x.tocsc()
    watch = Watch()
    screened = x if columns_left is None else columns[:, np.sort(columns_left)].tocsr()
    for s in picks:
        rows = columns.indices[columns.indptr[s] : columns.indptr[s + 1]]
        screened[rows].T @ y[rows]
    watch("products")
    return watch.seconds


# ---- dense features ----


def gram(paths: tuple[str, ...]) -> dict[str, Any]:
    """CPU seconds of X'X and X'Y, part by part, in double precision; reading is not counted."""
    squares, seconds = 0.0, 0.0
    for path in paths:
        x, y = dense_rows(path)
        started = time.process_time()
        squares = squares + x.T @ x
        x.T @ y
        seconds += time.process_time() - started
    return {"products": seconds, "trace": float(np.trace(squares))}


def pair_tables(
    paths: tuple[str, ...], picks: Sequence[int], bins: int, most: int = 50_000
) -> dict[str, Any]:
    """CPU seconds of the tables N(f = v, s = w, label) of `picks`, `np.bincount` a feature, over at
    most so many rows: `rows`."""
    x, y = dense_rows(paths[0])
    x, y = x[:most], y[:most]
    low, high = x.min(axis=0), x.max(axis=0)
    codes = np.minimum(((x - low) / (high - low) * bins).astype(np.int64), bins - 1).T.copy()
    rows, labels = np.nonzero(y)
    watch = Watch()
    for s in picks:
        base = (codes[s][rows] * y.shape[1] + labels) * bins
        for f in range(len(codes)):
            np.bincount(codes[f][rows] + base, minlength=bins * bins * y.shape[1])
    watch("counts")
    return {**watch.seconds, "rows": len(x)}


# ---- texts ----


def score_texts(paths: tuple[str, ...], vocabulary: Sequence[str], labels: int) -> dict[str, Any]:
    """CPU seconds of scikit-learn's CountVectorizer over the texts and the product with the weights
    of linear machines."""
    from sklearn.feature_extraction.text import CountVectorizer

    watch = Watch()
    counter = CountVectorizer(vocabulary=list(vocabulary), token_pattern=r"\w+")
    weights = np.random.default_rng(0).normal(size=(len(vocabulary), labels))
    for path in paths:
        texts = pq.read_table(path, columns=["body"])["body"].to_pylist()
        watch("read")
        x = counter.transform(texts)
        watch("count words")
        (x @ weights).argmax(axis=1)
        watch("products")
    return watch.seconds


# the SciPy script that stands beside the command line: python -m jobs.benchmarks.bare mim FILE ...
if __name__ == "__main__":
    figures = label_scores(tuple(sys.argv[2:]), sys.argv[1])
    print([int(f) for f in np.argsort(-figures["values"])[:10]])
