"""Generated tables as users have them: documents with tags, embeddings with tags. For trying the jobs on something of any size.

Row i depends on (seed, i) alone, whatever the partitioning.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .samples import NUM_ROWS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPICS = ("astronomy", "baking", "chess", "cycling", "gardening", "history", "law", "music", "photography", "sailing")
WORDS_OF_A_TOPIC, COMMON_WORDS, WIDTH = 30, 800, 64
_SYLLABLES = "ba de fi go ku la me no pi ra se ti vo wa zu lin tor mar sel dan".split()


def _word(number: int) -> str:
    """A made-up word for each number."""
    out = ""
    while True:
        number, rest = divmod(number, len(_SYLLABLES))
        out += _SYLLABLES[rest]
        if not number:
            return out + "a"


def documents(spark: SparkSession, num_rows: int = 10_000, seed: int = 0, num_partitions: int | None = None) -> DataFrame:
    """``doc`` bigint, ``body`` string, ``tags`` array<string>: texts of 20 to 60 words, some from the vocabularies of one to
    three of ten topics, the rest common ones."""
    return _ids(spark, num_rows, num_partitions).mapInArrow(
        partial(_documents, seed=seed), "doc bigint, body string, tags array<string>"
    )


def embeddings(spark: SparkSession, num_rows: int = 10_000, seed: int = 0, num_partitions: int | None = None) -> DataFrame:
    """``doc`` bigint, ``embedding`` array<float> of 64 numbers, ``tags`` array<string>: a direction for each topic, and noise."""
    return _ids(spark, num_rows, num_partitions).mapInArrow(
        partial(_embeddings, seed=seed), "doc bigint, embedding array<float>, tags array<string>"
    )


GENERATED = {"documents": documents, "embeddings": embeddings}


def _ids(spark: SparkSession, num_rows: int, num_partitions: int | None) -> DataFrame:
    num_rows = NUM_ROWS.accept(num_rows)
    parts = num_partitions or max(1, min(64, num_rows // 5000))
    return spark.range(0, num_rows, 1, parts)


def _topics(rng: np.random.Generator) -> np.ndarray:
    """The topics of a row, one to three."""
    return np.sort(rng.choice(len(TOPICS), size=1 + rng.binomial(2, 0.3), replace=False))


def _documents(batches: Iterator[pa.RecordBatch], seed: int) -> Iterator[pa.RecordBatch]:
    common = [_word(i) for i in range(COMMON_WORDS)]
    of_topic = [
        [name, *(_word(COMMON_WORDS + t * WORDS_OF_A_TOPIC + i) for i in range(WORDS_OF_A_TOPIC))]
        for t, name in enumerate(TOPICS)
    ]
    for batch in batches:
        ids = batch.column(0).to_pylist()
        bodies, tags = [], []
        for i in ids:
            rng = np.random.default_rng([seed, i])
            topics = _topics(rng)
            length = int(rng.integers(20, 61))
            about = rng.random(length) < 0.25
            topic = topics[rng.integers(0, len(topics), length)]
            rank = np.minimum(rng.geometric(0.02, length) - 1, COMMON_WORDS - 1)
            words = [
                of_topic[t][int(w) % (WORDS_OF_A_TOPIC + 1)] if a else common[int(r)]
                for a, t, w, r in zip(about, topic, rng.integers(0, 1 << 30, length), rank, strict=True)
            ]
            bodies.append(" ".join(words).capitalize() + ".")
            tags.append([TOPICS[t] for t in topics])
        yield pa.RecordBatch.from_arrays(
            [pa.array(ids, pa.int64()), pa.array(bodies), pa.array(tags, pa.list_(pa.string()))], names=["doc", "body", "tags"]
        )


def _embeddings(batches: Iterator[pa.RecordBatch], seed: int) -> Iterator[pa.RecordBatch]:
    direction = np.random.default_rng([seed, 1 << 40]).normal(size=(len(TOPICS), WIDTH))
    direction[:, WIDTH // 2 :] = 0  # half of the numbers tell nothing
    for batch in batches:
        ids = batch.column(0).to_pylist()
        vectors, tags = [], []
        for i in ids:
            rng = np.random.default_rng([seed, i])
            topics = _topics(rng)
            vectors.append((direction[topics].sum(axis=0) + 1.5 * rng.normal(size=WIDTH)).astype(np.float32))
            tags.append([TOPICS[t] for t in topics])
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(ids, pa.int64()),
                pa.array(vectors, pa.list_(pa.float32())),
                pa.array(tags, pa.list_(pa.string())),
            ],
            names=["doc", "embedding", "tags"],
        )
