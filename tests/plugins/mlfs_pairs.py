"""Formats of another package, in one file: lines such as ``a,b|red green``, words and tags; and one
that Spark itself reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import functions as F

from spark_mlfs.formats import Names, Reader
from spark_mlfs.params import REQUIRED, Choice, Parameter
from spark_mlfs.read.tables import Table


class Pairs(Reader):
    """What each row has of `words`, and its tags."""

    name, title, source = "pairs", "words and tags of a line", "tests/plugins"
    parameters = (
        Parameter("words", REQUIRED, Names("a list of words", listed=True), "the features"),
        Parameter("mark", "|", Choice(("|", ";")), "what stands between words and tags"),
    )

    def read(self, spark: Any, path: Any, p: Mapping[str, Any]) -> Any:
        parts = F.split("value", "[" + p["mark"] + "]")
        words = F.split(parts[0], ",")
        held = [F.array_contains(words, word).cast("double").alias(word) for word in p["words"]]
        rows = spark.read.text(path).select(*held, F.split(parts[1], " ").alias("tags"))
        return Table()(spark, rows, features=p["words"], labels="tags")


class Orc(Table):
    """ORC files."""

    name, title = "orc", "ORC files"
