"""Texts of a table's column as features: which terms occur, how often, in how many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from .. import params
from ..errors import DataError, ParameterError, option
from ..formats import Reader, documentation, format_of, tabular
from ..frames.frame import LocalFrame, kinds_of
from ..frames.names import columns_of, picked, quoted
from ..frames.schema import FEATURES, PACKED_FROM, with_names
from ..lazy import DataFrame, F, SparkSession
from ..params import REQUIRED, Choice, Flag, Optional, Parameter, Values
from ..texts.split_texts import SPLIT_SHARE, SplitTexts
from ..texts.text_options import (
    CHOOSING,
    NORM,
    PATTERN,
    SPLITTING,
    fitted_vectors,
    splitting_of,
    weighting_of,
)
from ..texts.vocabulary import MOST_TERMS
from ..texts.word_vectors import WEIGHTS, TermVectors, Weighting, with_vectors
from .columns import assemble
from .csv_files import narrowed
from .dialect import CSV_OPTIONS
from .fields import with_fields
from .layout import label_texts
from .tables import COLUMNS, DEFAULTS, how_files_are_read, open_by, source_of

# what is read of texts whose sums are to be added up
ALL_TERMS = {"min_df": 1, "max_df": 1, "vocab_size": MOST_TERMS}
TEXTS = "_spark_mlfs_texts"  # attribute of a frame: the corpus that it was made of (`Corpus`)


class TextTable(Reader):
    """Terms of a text column as features, by decreasing total, ties in alphabetical order; the rest
    as in `tables`.

    >>> import pandas as pd, spark_mlfs
    >>> pages = pd.DataFrame({"words": ["red red fish", "blue fish"], "tags": [["a"], ["b"]]})
    >>> columns = {"text": "words", "labels": "tags"}
    >>> frame = spark_mlfs.read.text(spark_mlfs.local_session(), pages, **columns, min_df=1)
    >>> frame.first()["features"]  # fish, red, blue
    SparseVector(3, {0: 1.0, 1: 2.0})"""

    name, title, local = "text", "the words of a table's text column", True
    counts_words = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
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
        *SPLITTING,
        PATTERN,
        *CHOOSING,
        Parameter(
            "term_weight",
            None,
            Optional(Choice(WEIGHTS)),
            "what a term is in a row that holds it; None: its count, and of spark-mlfs select 1 "
            "where a method counts, else tf-idf; weight=tfidf says the same",
        ),
        Parameter(
            "sublinear",
            None,
            Optional(Flag()),
            "1 + ln of a count in its place; None: of the tf-idf that spark-mlfs select takes "
            "by itself",
        ),
        NORM,
        Parameter("binary", False, Flag(), "the same as term_weight=binary"),
        Parameter(
            "renormalise",
            True,
            Flag(),
            "lengths of rows that a classifier takes are over the terms it takes, not over all",
        ),
        *CSV_OPTIONS,
    )

    @classmethod
    def documentation(cls) -> str:
        """Return what it makes of texts; those of the module are of tables."""
        return (
            "Raw text as features: tokens by Unicode, counted or weighed, the vocabulary as "
            "feature names."
        )

    def accept(self, options: Values, typed: bool = False) -> dict[str, Any]:
        """Return options in their types; a weight that is a word of `WEIGHTS` is that of terms."""
        options = dict(options)
        if options.get("weight") in WEIGHTS:
            options["term_weight"] = options.pop("weight")
        out = super().accept(options, typed)
        if out.get("binary"):
            out["term_weight"] = "binary"
        return out

    def check(self, path: Any, options: Values) -> dict[str, Any]:
        options = self.accept(options, typed=True)
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
        splitting_of(p)
        return p

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        source = source_of(spark, path, p["source"], how_files_are_read(p))
        corpus = Corpus.of(source, p)
        memory = getattr(spark, "memory", None)
        if memory is not None:
            corpus = replace(corpus, split=SplitTexts(memory // SPLIT_SHARE))
        return corpus.frame(corpus.vectors(memory))


def text_source(path: Any, options: Values) -> str:
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


@dataclass(frozen=True)
class Corpus:
    """A table with a `column` of texts, read by the options `p`; `known` are its terms, if they
    were gathered, and `split` its texts, if they are in this process and small enough."""

    source: DataFrame
    column: str
    p: Values
    known: TermVectors | None = None
    split: SplitTexts = field(default_factory=lambda: SplitTexts(0))

    @staticmethod
    def of(source: DataFrame, p: Values) -> Corpus:
        source = with_fields(source, {**p, "features": None})
        columns = columns_of(source, p["text"], "text")
        kind = kinds_of(source)[columns[0]]
        if len(columns) != 1 or not kind.text:
            raise DataError(f"text: column {columns[0]!r} is {kind.name}; give one string column")
        labels = columns_of(source, p["labels"], "labels")
        others = [
            name
            for role in ("id", "weight", "group")
            if p[role]
            for name in columns_of(source, p[role], role)
        ]
        names = list(dict.fromkeys([*columns, *labels, *others]))
        source = narrowed(source, names, label_texts(source, labels, p))
        if isinstance(source, LocalFrame):
            return Corpus(source.select(*names), columns[0], p)
        if {*source.columns} != {*names}:  # all columns of a row go through Python
            source = picked(source, {name: name for name in names})
        return Corpus(source, columns[0], p)

    def vectors(self, memory: int | None = None) -> TermVectors:
        """Return the terms of the corpus, in at most so many bytes; `DataError` for none."""
        texts = self.source.select(_cell(self.source, self.column))
        p = {
            **self.p,
            "weight": self.p["term_weight"] or "count",
            "sublinear": bool(self.p["sublinear"]),
        }
        return fitted_vectors(texts, p, memory, f" of column {self.column!r}", self.split)

    def frame(self, vectors: TermVectors) -> DataFrame:
        """Return the canonical frame of the terms of `vectors`."""
        output = "_counts"
        while output in self.source.columns:
            output += "_"
        counted = with_vectors(
            self.source,
            self.column,
            output,
            vectors,
            self.split,
        )
        options = {**DEFAULTS, **self.p, "features": output}
        rows = assemble(counted, options)
        frame = with_names(rows, FEATURES, vectors.vocabulary, terms=True)
        setattr(frame, PACKED_FROM, vars(rows).get(PACKED_FROM))
        setattr(frame, TEXTS, replace(self, known=vectors))
        return frame

    def ranked(self, counting: bool) -> DataFrame:
        """Return the frame that methods rank by: those that count see whether a term occurs."""
        assert self.known is not None
        weighting = Weighting("binary", norm=None)
        if not counting:
            weighting = chosen_weighting(self.p)
        return self.frame(replace(self.known, weighting=weighting))

    def summable(self) -> tuple[DataFrame, list[str]]:
        """Return the frame of what terms are in each row alone, of which states add sums up, and
        what tells it from other readings.

        Tf-idf is computed when these are read. Raises `ParameterError` where sums are none."""
        assert self.known is not None
        check_summable(self.p)
        weight = self.p["term_weight"] or "count"
        sublinear = bool(self.p["sublinear"])
        in_row = Weighting("binary" if weight == "binary" else "count", sublinear, None)
        facts = {"term_weight": weight, "buckets": self.known.splitting.buckets}
        facts |= {p.name: self.p[p.name] for p in (*SPLITTING, PATTERN)}
        usual = {p.name: p.default for p in (*SPLITTING, PATTERN)}
        if sublinear:
            facts["sublinear"] = True
        reading = [f"{n}={v}" for n, v in facts.items() if v and v != usual.get(n)]
        return self.frame(replace(self.known, weighting=in_row)), reading

    def counted(self) -> DataFrame:
        """Return the frame of how often each term occurs in each row."""
        assert self.known is not None
        return self.frame(replace(self.known, weighting=Weighting("count", norm=None)))

    def kept(self, terms: Sequence[str]) -> tuple[DataFrame, TermVectors]:
        """Return the frame that a classifier of some terms takes, and what makes its features."""
        assert self.known is not None
        weighting = chosen_weighting(self.p)
        if self.p["renormalise"]:
            vectors = self.known.kept(terms, weighting)
        else:
            vectors = replace(self.known, weighting=weighting)
        return self.frame(vectors), vectors


def chosen_weighting(p: Values) -> Weighting:
    """Return how terms are weighed where a run chooses: unless told otherwise by tf-idf."""
    weight = p["term_weight"]
    sublinear = p["sublinear"]
    if sublinear is None:
        sublinear = weight is None
    return weighting_of({**p, "sublinear": sublinear}, weight or "tfidf")


def check_summable(p: Values) -> None:
    """Raise `ParameterError` for options by which sums of different rows do not add up."""
    if p.get("norm") == "l2":
        raise ParameterError(
            "states add up what terms are in rows, and rows of length 1 need the texts of all "
            f"states: leave {option('norm', 'l2')} out"
        )
    if p.get("vocabulary"):
        return
    for name, value in ALL_TERMS.items():
        if p.get(name, value) not in (value, None):
            raise ParameterError(
                "states need every word: one that is left out is not one that does not occur; "
                f"read with {option(name, value)}, or give a vocabulary"
            )


def corpus_of(frame: Any) -> Corpus | None:
    """Return the corpus whose terms are the features of a reader's frame; None of others."""
    return vars(frame).get(TEXTS)


def let_go_of_counts(frame: Any) -> None:
    """Forget the counts of all terms, once they are packed; texts that are split already stay."""
    corpus = corpus_of(frame)
    if corpus is not None:
        corpus.split.counts = None


def _cell(source: DataFrame, column: str) -> Any:
    return column if isinstance(source, LocalFrame) else F.col(quoted(column)).alias("text")
