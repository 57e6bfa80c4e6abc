"""Generated tables as users have them: documents with tags, embeddings with tags. For trying the jobs on something of any size.

Row i depends on (seed, i) alone, whatever the partitioning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ..frame import Batches
from ..lazy import DataFrame, SparkSession
from .samples import NUM_ROWS, ids_of

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


Value = Callable[[np.random.Generator, np.ndarray], Any]  # of a row of some topics


def _made(
    task: Any, column: str, spark: SparkSession, num_rows: int, seed: int = 0, num_partitions: int | None = None
) -> DataFrame:
    num_rows = NUM_ROWS.accept(num_rows)
    ids = ids_of(spark, num_rows, num_partitions or max(1, min(64, num_rows // 5000)))
    return ids.mapInArrow(partial(task, seed), f"doc bigint, {column}, tags array<string>")


def _tagged(column: str, kind: pa.DataType, values: Callable[[int], Value], seed: int, batches: Batches) -> Batches:
    value = values(seed)
    for batch in batches:
        cells, tags = [], []
        for i in batch.column(0).to_pylist():
            rng = np.random.default_rng([seed, i])
            topics = np.sort(rng.choice(len(TOPICS), size=1 + rng.binomial(2, 0.3), replace=False))
            cells.append(value(rng, topics))
            tags.append([TOPICS[t] for t in topics])
        yield pa.record_batch(
            {"doc": batch.column(0), column: pa.array(cells, kind), "tags": pa.array(tags, pa.list_(pa.string()))}
        )


def _bodies(seed: int) -> Value:
    common = [_word(i) for i in range(COMMON_WORDS)]
    of_topic = [
        [name, *(_word(COMMON_WORDS + t * WORDS_OF_A_TOPIC + i) for i in range(WORDS_OF_A_TOPIC))]
        for t, name in enumerate(TOPICS)
    ]

    def body(rng: np.random.Generator, topics: np.ndarray) -> str:
        length = int(rng.integers(20, 61))
        about = rng.random(length) < 0.25
        topic = topics[rng.integers(0, len(topics), length)]
        rank = np.minimum(rng.geometric(0.02, length) - 1, COMMON_WORDS - 1)
        words = [
            of_topic[t][int(w) % (WORDS_OF_A_TOPIC + 1)] if a else common[int(r)]
            for a, t, w, r in zip(about, topic, rng.integers(0, 1 << 30, length), rank, strict=True)
        ]
        return " ".join(words).capitalize() + "."

    return body


def _directions(seed: int) -> Value:
    direction = np.random.default_rng([seed, 1 << 40]).normal(size=(len(TOPICS), WIDTH))
    direction[:, WIDTH // 2 :] = 0  # half of the numbers tell nothing
    return lambda rng, topics: (direction[topics].sum(axis=0) + 1.5 * rng.normal(size=WIDTH)).astype(np.float32)


GENERATED: dict[str, Callable[..., DataFrame]] = {  # of a session, rows and a seed
    # texts of 20 to 60 words, some from the vocabularies of one to three of ten topics, the rest common ones
    "documents": partial(_made, partial(_tagged, "body", pa.string(), _bodies), "body string"),
    # 64 numbers: a direction for each topic, and noise
    "embeddings": partial(_made, partial(_tagged, "embedding", pa.list_(pa.float32()), _directions), "embedding array<float>"),
}
