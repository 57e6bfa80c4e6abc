"""The corpora of the case scale: generated part by part from a seed, written as Parquet once, and
used again.

Sparse ones hold words with power-law frequencies, of which a third belong to the row's labels
(`TOPIC` words a label); every stored value is 1. Dense ones hold normal numbers, half of whose
features drive labels. Texts are the like in letters. A part depends on (seed, part) alone; NumPy
makes it and Arrow writes it, with the types Spark reads vectors by."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TOPIC = 20  # words of a label
SPARSE = "sparse"
DENSE = "dense"
TEXT = "text"
EXPONENT = {SPARSE: 0.7, TEXT: 0.9}  # word number r has a frequency like r to the minus this


@dataclass(frozen=True)
class Corpus:
    """Of `kind` with n rows, d features and q labels; `words` drawn a row (of which the distinct
    are stored), `tags` a row on average; `numbers`: labels are numbers instead of tags."""

    name: str
    kind: str
    n: int
    d: int
    q: int
    words: int = 0
    tags: float = 3.0
    parts: int = 20
    numbers: bool = False
    seed: int = 1

    def scaled(self, share: float) -> Corpus:
        """A share of the rows; below a tenth, for trials, fewer features and labels, too."""
        width = min(1.0, 10 * share)
        rows = max(200, round(self.n * share))
        d = max(40, round(self.d * width))
        if self.kind == DENSE and share >= 0.1:
            d = self.d
        q = max(min(self.q, 6), round(self.q * width))
        words = min(self.words, d // 2) if self.kind == SPARSE else self.words
        parts = self.parts if share >= 0.1 else min(self.parts, 10)
        return replace(self, n=rows, d=d, q=q, words=words, parts=parts)

    @property
    def title(self) -> str:
        return f"{self.n:,} × {self.d:,} × {self.q:,}"


CORPORA = {
    c.name: c
    for c in (
        Corpus("sparse", SPARSE, 1_000_000, 100_000, 500, words=50),
        Corpus("dense", DENSE, 1_000_000, 500, 10, parts=40),
        Corpus("labels", SPARSE, 100_000, 100_000, 10_000, words=50, parts=4),
        Corpus(
            "amazon", SPARSE, 490_449, 135_909, 670_091, words=76, tags=5.5, parts=10, numbers=True
        ),
        Corpus("texts", TEXT, 400_000, 5_000, 200, words=80, parts=16),
    )
}


def parts_of(corpus: Corpus, folder: Path) -> list[str]:
    """The Parquet files of a corpus below `folder`, in order; written there first where they are
    not."""
    place = folder / f"{corpus.name}-{corpus.n}x{corpus.d}x{corpus.q}"
    note = place / "corpus.json"
    description = json.dumps(asdict(corpus))
    if not note.is_file() or note.read_text() != description:
        aside = place.with_name(place.name + ".unfinished")
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        aside.mkdir(parents=True)
        jobs = [(corpus, part, str(aside)) for part in range(corpus.parts)]
        if corpus.n * max(corpus.words, corpus.d if corpus.kind == DENSE else 1) < 2_000_000:
            for job in jobs:
                write_part(*job)
        else:
            with ProcessPoolExecutor(
                os.cpu_count(), multiprocessing.get_context("spawn")
            ) as processes:
                list(processes.map(write_part, *zip(*jobs, strict=True)))
        (aside / "corpus.json").write_text(description)
        aside.rename(place)
    return [str(place / _file(part)) for part in range(corpus.parts)]


def _file(part: int) -> str:
    return f"part-{part:03d}.parquet"


def write_part(corpus: Corpus, part: int, folder: str) -> None:
    first, last = corpus.n * part // corpus.parts, corpus.n * (part + 1) // corpus.parts
    columns = {SPARSE: _sparse, DENSE: _dense, TEXT: _texts}[corpus.kind](
        corpus, part, last - first
    )
    columns = {"doc": pa.array(np.arange(first, last)), **columns}
    table = pa.table(columns).replace_schema_metadata(_metadata(corpus))
    pq.write_table(table, f"{folder}/{_file(part)}", use_dictionary=["tags", "topics"])


def _metadata(corpus: Corpus) -> dict[str, str]:
    """By which Spark knows the vectors in a Parquet file."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql import types as T

    tags = T.ArrayType(T.LongType() if corpus.numbers else T.StringType())
    text = corpus.kind == TEXT
    x = T.StructField("body", T.StringType()) if text else T.StructField("features", VectorUDT())
    schema = T.StructType(
        [T.StructField("doc", T.LongType()), x, T.StructField("topics" if text else "tags", tags)]
    )
    return {"org.apache.spark.sql.parquet.row.metadata": schema.json()}


# ---- what a part holds ----


@lru_cache(maxsize=2)
def _layout(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """The places of the words by their frequency, and the words of each label."""
    rng = np.random.default_rng([corpus.seed, 1 << 40])
    return rng.permutation(corpus.d).astype(np.int32), rng.integers(
        0, corpus.d, (corpus.q, TOPIC), dtype=np.int32
    )


def _power(
    rng: np.random.Generator, size: int, shape: tuple[int, ...], exponent: float
) -> np.ndarray:
    """Numbers 0..size-1, number r with a frequency like (r + 1) to the minus exponent."""
    to = 1 - exponent
    base = ((size + 1.0) ** to - 1) * rng.random(shape) + 1
    return np.minimum((base ** (1 / to)).astype(np.int64) - 1, size - 1)


def _distinct(lists: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows + 1) offsets and the entries of each row's distinct numbers in order.

    Only the cells of the `mask` count."""
    lists = np.where(mask, lists, np.iinfo(lists.dtype).max)
    lists.sort(axis=1)
    distinct = lists < np.iinfo(lists.dtype).max
    distinct[:, 1:] &= lists[:, 1:] != lists[:, :-1]
    ends = np.cumsum(distinct.sum(axis=1))
    return np.concatenate([[0], ends]).astype(np.int32), lists[distinct]


def _labels(corpus: Corpus, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, most) label numbers, power-law too, and how many of them a row has."""
    count = 1 + rng.poisson(corpus.tags - 1, n)
    return _power(rng, corpus.q, (n, int(count.max())), 0.5), count


def _words(
    corpus: Corpus, rng: np.random.Generator, labels: np.ndarray, count: np.ndarray
) -> np.ndarray:
    places, topics = _layout(corpus)
    n = len(labels)
    words = places[_power(rng, corpus.d, (n, corpus.words), EXPONENT[corpus.kind])]
    on_topic = rng.random(words.shape) < 0.3
    topic = (rng.random(words.shape) * count[:, None]).astype(np.int64)
    topic = topics[np.take_along_axis(labels, topic, axis=1), rng.integers(0, TOPIC, words.shape)]
    return np.where(on_topic, topic, words)


def _tags(corpus: Corpus, labels: np.ndarray, count: np.ndarray) -> pa.Array:
    offsets, numbers = _distinct(labels, np.arange(labels.shape[1]) < count[:, None])
    if corpus.numbers:
        return pa.ListArray.from_arrays(offsets, numbers)
    names = pa.array([f"tag{label:05d}" for label in range(corpus.q)])
    return pa.ListArray.from_arrays(
        offsets, pa.DictionaryArray.from_arrays(numbers.astype(np.int32), names).cast(pa.string())
    )


def _vectors(n: int, size: int | None, indices: pa.Array, values: pa.Array) -> pa.Array:
    """Arrow's form of Spark's vectors: sparse of a size, or dense."""
    kind = pa.array(np.full(n, size is None, np.int8))
    sizes = pa.nulls(n, pa.int32()) if size is None else pa.array(np.full(n, size, np.int32))
    return pa.StructArray.from_arrays(
        [kind, sizes, indices, values], names=["type", "size", "indices", "values"]
    )


def _sparse(corpus: Corpus, part: int, n: int) -> dict[str, pa.Array]:
    rng = np.random.default_rng([corpus.seed, part])
    labels, count = _labels(corpus, rng, n)
    offsets, words = _distinct(_words(corpus, rng, labels, count), np.ones((n, corpus.words), bool))
    indices = pa.ListArray.from_arrays(offsets, words.astype(np.int32))
    values = pa.ListArray.from_arrays(offsets, np.ones(len(words)))
    return {
        "features": _vectors(n, corpus.d, indices, values),
        "tags": _tags(corpus, labels, count),
    }


def _dense(corpus: Corpus, part: int, n: int) -> dict[str, pa.Array]:
    rng = np.random.default_rng([corpus.seed, part])
    weights = np.random.default_rng([corpus.seed, 1 << 40]).normal(size=(corpus.d, corpus.q))
    weights[corpus.d // 2 :] = 0
    x = rng.standard_normal((n, corpus.d), np.float32)
    y = x @ weights.astype(np.float32) + rng.normal(
        0, 0.5 * np.sqrt(corpus.d / 2), (n, corpus.q)
    ) > 0.7 * np.sqrt(corpus.d / 2)
    labels = np.where(y, np.arange(corpus.q), 0)
    offsets, numbers = _distinct(labels, y)
    names = pa.array([f"tag{label:05d}" for label in range(corpus.q)])
    tags = pa.ListArray.from_arrays(
        offsets, pa.DictionaryArray.from_arrays(numbers.astype(np.int32), names).cast(pa.string())
    )
    rows = np.arange(n + 1, dtype=np.int32) * corpus.d
    indices = pa.ListArray.from_arrays(
        np.zeros(n + 1, np.int32), pa.array([], pa.int32()), mask=pa.array(np.ones(n, bool))
    )
    return {
        "features": _vectors(
            n, None, indices, pa.ListArray.from_arrays(rows, x.ravel().astype(np.float64))
        ),
        "tags": tags,
    }


def _texts(corpus: Corpus, part: int, n: int) -> dict[str, pa.Array]:
    rng = np.random.default_rng([corpus.seed, part])
    labels, count = _labels(corpus, rng, n)
    words = _words(corpus, rng, labels, count)
    vocabulary = pa.array([f"word{number}" for number in range(corpus.d)])
    flat = pa.DictionaryArray.from_arrays(
        pa.array(words.ravel().astype(np.int32)), vocabulary
    ).cast(pa.string())
    lists = pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32) * corpus.words, flat)
    return {"body": pc.binary_join(lists, " "), "topics": _tags(corpus, labels, count)}
