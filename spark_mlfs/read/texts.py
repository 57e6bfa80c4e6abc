"""Texts of a table's column as features: which words occur, in how many rows, how often."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .. import params
from ..errors import DataError, ParameterError, option
from ..formats import Distinct, Names, Reader, documentation, format_of, tabular
from ..frames.errors import reading
from ..frames.frame import Kind, LocalFrame, LocalSession, NeedsSpark, Part, kinds_of
from ..frames.names import column_named, columns_of, quoted
from ..frames.schema import FEATURES, with_names
from ..frames.sessions import OF_THE_JVM, jvm_within_reach
from ..lazy import DataFrame, F, SparkSession
from ..params import REQUIRED, Flag, Integer, Number, Optional, Parameter
from .columns import assemble
from .csv_files import narrowed
from .fields import with_fields
from .layout import label_texts
from .tables import COLUMNS, how_files_are_read, open_by, source_of
from .words import PATTERN, WordCounts, counted, counted_rows, tokens_of, vocabulary_of


class TextTable(Reader):
    """Counts of a text column's words as features, by decreasing total, ties in alphabetical order;
    the rest as in `tables`.

    >>> import pandas as pd, spark_mlfs
    >>> pages = pd.DataFrame({"words": ["red red fish", "blue fish"], "tags": [["a"], ["b"]]})
    >>> columns = {"text": "words", "labels": "tags"}
    >>> frame = spark_mlfs.read.text(spark_mlfs.local_session(), pages, **columns, min_df=1)
    >>> frame.first()["features"]  # fish, red, blue
    SparseVector(3, {0: 1.0, 1: 2.0})"""

    name, title, local = "text", "counts of the words of a table's text column", True
    counts_words = True
    parameters = (
        Parameter(
            "text",
            REQUIRED,
            params.Text("a column"),
            "the string column; a null counts as empty text",
        ),
        *COLUMNS,
        Parameter(
            "source",
            "table",
            params.Text("a format"),
            "format of the table that holds the text, where the files' names do not say it",
        ),
        Parameter(
            "pattern",
            r"\W+",
            Optional(params.Text("a regular expression of Java's")),
            "what stands between tokens (RegexTokenizer, lower case); None: Tokenizer, white space "
            "only",
        ),
        Parameter(
            "stop_words",
            None,
            Optional(Names()),
            "a language of Spark's StopWordsRemover (english, ...), or words, to leave out",
        ),
        Parameter("vocab_size", 10000, Integer(1), "the most frequent terms kept"),
        Parameter(
            "min_df",
            2.0,
            Number(0, above=True),
            "rows a term must occur in: a count, or a share of the rows below 1",
        ),
        Parameter("binary", False, Flag(), "1 for presence instead of the count"),
        Parameter(
            "vocabulary",
            None,
            Distinct("a list of different terms"),
            "the terms to count, in this order, instead of those of this corpus: give a new corpus "
            "the feature names of the one that was selected on (spark-mlfs transform does so by "
            "itself)",
        ),
    )

    @classmethod
    def documentation(cls) -> str:
        """Return what it makes of texts; those of the module are of tables."""
        return (
            "Raw text as features: tokens counted by Spark ML's own stages, the vocabulary as "
            "feature names."
        )

    def check(self, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        p = super().check(path, options)
        p["source"] = text_source(path, options)
        if (
            p["source"] == "table"
            and "source" not in options
            and isinstance(path, str)
            and ("/" in path or path.endswith(_ENDINGS))
        ):
            kind = next(
                (f for f in ("parquet", "csv", "json") if f".{f}" in path.rpartition("/")[2]),
                "parquet",
            )
            remedy = f"to read a file say of which format, such as {option('source', kind)}"
            raise ParameterError(f"format 'text' reads {path!r} as the name of a table; {remedy}")
        return p

    def read(self, spark: SparkSession, path: Any, p: Mapping[str, Any]) -> DataFrame:
        pattern = p["pattern"]
        if pattern is not None and not isinstance(spark, LocalSession):
            try:
                spark.range(1).select(F.split(F.lit("a"), pattern)).head()
            except Exception as error:
                signs = r"(?:Unclosed|Dangling|Illegal|Unknown|Unmatched|Bad|Look)[^\n]*"
                reason = re.search(signs, str(error))
                shown = f" ({reason[0].strip()[:80]})" if reason else ""
                wrong = f"no regular expression of Java's{shown}"
                remedy = "correct it, or write \\ before a character that means itself"
                raise ParameterError(f"pattern={pattern[:60]!r} is {wrong}; {remedy}") from None
        return _counted(source_of(spark, path, p["source"], how_files_are_read(p)), p)


def text_source(path: Any, options: Mapping[str, Any]) -> str:
    """Return the format of the table that holds a text: that of its files' names, unless set."""
    if "source" in options or not isinstance(path, (str, list, tuple)):
        return str(options.get("source", "table"))
    kind = format_of(path)
    return kind if kind is not None and tabular(kind) else "table"


_ENDINGS = (".parquet", ".csv", ".csv.gz", ".json", ".json.gz", ".txt")


def text(
    spark: SparkSession,
    path: str | Sequence[str] | DataFrame,
    text: str,
    labels: str | Sequence[str],
    format: str = "table",
    **options: Any,
) -> DataFrame:
    """Read a table's text column by the options of `TextTable`; `format` is `source`."""
    return open_by(
        TextTable(),
        spark,
        path,
        text=text,
        labels=labels,
        source=format,
        **options,
    )


text.__doc__ = documentation(TextTable)


def _counted(source: DataFrame, p: Mapping[str, Any]) -> DataFrame:
    """The canonical frame of a table with a text column."""
    pattern, stop_words, vocabulary, binary = (
        p["pattern"],
        p["stop_words"],
        p["vocabulary"],
        p["binary"],
    )
    source = with_fields(source, {**p, "features": None})
    columns = columns_of(source, p["text"], "text")
    kind = kinds_of(source)[columns[0]]
    if len(columns) != 1 or not kind.text:
        raise DataError(f"text: column {columns[0]!r} is {kind.name}; give one string column")
    labels = columns_of(source, p["labels"], "labels")
    others = [name for option in ("id", "weight") if p[option] for name in [p[option]]]
    source = narrowed(source, [*columns, *labels, *others], label_texts(source, labels, p))
    used = set(source.columns)
    if isinstance(source, LocalFrame):
        return counted_here(source, columns[0], _unused("_counts", used), p)
    raw, counts = (_unused(n, used) for n in ("_text", "_counts"))
    words = source.withColumn(raw, F.coalesce(F.col(quoted(columns[0])), F.lit("")))
    reached = jvm_within_reach()
    if reached:
        stages, tokens_column = word_stages(raw, pattern, stop_words, used)
        for stage in stages:
            words = stage.transform(words)
        tokens = column_named(tokens_column)
    else:
        stop = python_stop_words(pattern, stop_words)
        tokens = tokens_of(column_named(raw), stop)
    if vocabulary is None:
        vocabulary = _vocabulary(words.select(tokens.alias("t")), p["vocab_size"], p["min_df"])
    _refuse_none(vocabulary, columns[0], p)
    if reached:
        from pyspark.ml.feature import CountVectorizerModel

        counter = CountVectorizerModel.from_vocabulary(
            vocabulary, inputCol=tokens_column, outputCol=counts, binary=binary
        )
        words = counter.transform(words)
    else:
        words = words.withColumn(
            counts, counted(column_named(raw), WordCounts(tuple(vocabulary), binary, stop))
        )
    return _assembled(words, counts, vocabulary, p)


def counted_here(
    source: LocalFrame,
    column: str,
    counts: str,
    p: Mapping[str, Any],
) -> DataFrame:
    """The same of a table of this process; `counts` is the name of a column it has not."""
    if p["pattern"] != PATTERN or isinstance(p["stop_words"], str):
        raise NeedsSpark(
            f"words are split at {PATTERN} here, without a list of a language: other text is "
            "counted by Spark"
        )
    stop, vocabulary = python_stop_words(p["pattern"], p["stop_words"]), p["vocabulary"]
    if vocabulary is None:
        vocabulary = vocabulary_of(source.select(column), stop, p["vocab_size"], p["min_df"])
    _refuse_none(vocabulary, column, p)
    words = WordCounts(tuple(vocabulary), p["binary"], stop)
    rows = partial(
        counted_rows,
        kinds=source.kinds,
        text=column,
        called=counts,
        counts=words,
    )
    parts = [Part(partial(rows, part=part)) for part in source.parts]
    table: Any = replace(source, parts=parts, kinds={**source.kinds, counts: Kind("vector")})
    return _assembled(table, counts, vocabulary, p)


def _refuse_none(vocabulary: Sequence[str], column: str, p: Mapping[str, Any]) -> None:
    if not vocabulary:
        raise DataError(
            f"text: no term of column {column!r} occurs in {p['min_df']:g} rows; give more texts, "
            "or lower min_df"
        )


def _assembled(
    words: DataFrame,
    counts: str,
    vocabulary: Sequence[str],
    p: Mapping[str, Any],
) -> DataFrame:
    frame = assemble(
        words,
        {
            **p,
            "features": counts,
            "missing": "error",
            "graded": False,
            "needed": (),
        },
    )
    return with_names(frame, FEATURES, vocabulary)


def word_stages(
    column: str,
    pattern: str | None = r"\W+",
    stop_words: str | Sequence[str] | None = None,
    used: set[str] | None = None,
) -> tuple[list[Any], str]:
    """Spark ML's stages that make words of a text column, and the column the words are in."""
    from pyspark.ml.feature import RegexTokenizer, StopWordsRemover, Tokenizer

    used = set() if used is None else used
    columns: dict[str, Any] = {
        "inputCol": column,
        "outputCol": (tokens := _unused("_tokens", used)),
    }
    stages: list[Any] = [
        Tokenizer(**columns) if pattern is None else RegexTokenizer(**columns, pattern=pattern)
    ]
    if stop_words is None:
        return stages, tokens
    try:
        listed = list(
            StopWordsRemover.loadDefaultStopWords(stop_words)
            if isinstance(stop_words, str)
            else stop_words
        )
    except Exception:
        remedy = "give a list of words or one of the languages of StopWordsRemover, as 'english'"
        raise ParameterError(f"stop_words={stop_words!r}: {remedy}") from None
    remaining = _unused("_kept", used)
    return [
        *stages,
        StopWordsRemover(inputCol=tokens, outputCol=remaining, stopWords=listed),
    ], remaining


def python_stop_words(
    pattern: str | None, stop_words: str | Sequence[str] | None
) -> frozenset[str]:
    """The words to leave out, where words are counted without Spark ML's stages; `ParameterError`
    for what only these do."""
    if pattern != PATTERN:
        raise ParameterError(
            f"pattern={pattern!r}: {OF_THE_JVM}, and words are split at {PATTERN} without them"
        )
    if isinstance(stop_words, str):
        raise ParameterError(
            f"stop_words={stop_words!r}: {OF_THE_JVM}, where that list is; give the words "
            "themselves"
        )
    return frozenset(map(str.lower, stop_words or ()))


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


def _vocabulary(tokens: DataFrame, vocab_size: int, min_df: float) -> list[str]:
    """The most frequent terms that enough rows hold, in one order on any cluster."""
    with reading():
        least = min_df if min_df >= 1 else min_df * tokens.count()
        # Every occurrence as (term, 1, 0), every distinct term of a row as (term, 0, 1): both
        # counts in one pass.
        occurrences, distinct = (
            F.transform(
                words,
                lambda t: F.struct(
                    t.alias("term"),
                    F.lit(n).alias("total"),  # noqa: B023
                    F.lit(1 - n).alias("rows"),  # noqa: B023
                ),
            )
            for n, words in ((1, F.col("t")), (0, F.array_distinct("t")))
        )
        by_term = tokens.select(F.explode(F.concat(occurrences, distinct)).alias("one")).groupBy(
            F.col("one.term").alias("term")
        )
        terms = by_term.agg(
            F.sum("one.total").alias("total"), F.sum("one.rows").alias("rows")
        ).where(F.col("rows") >= least)
        return [
            row["term"]
            for row in terms.orderBy(F.desc("total"), "term").limit(vocab_size).collect()
        ]
