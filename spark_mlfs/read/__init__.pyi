"""Readers as functions, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

import pandas as pd
from pyspark.sql import DataFrame, SparkSession

from ..errors import DataNotice as DataNotice
from ..formats import READERS as READERS
from .samples import PlantedTruth as PlantedTruth
from .samples import planted_truth as planted_truth

Paths = str | PurePath | Sequence[str]
Tables = Paths | DataFrame | pd.DataFrame

def load(spark: SparkSession, path: Tables | None, format: str, **options: Any) -> DataFrame: ...
def __getattr__(name: str) -> Callable[..., DataFrame]: ...
def arff(spark: SparkSession, path: Paths, labels: int | str | Sequence[str] | None = None,
    categories: Literal['index', 'auto', 'onehot', 'codes'] = "index",
    nominal: Literal['index', 'onehot'] | None = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    ignore: Sequence[str] = (), binarize_labels: bool = False) -> DataFrame:
    """Read ARFF files into the canonical frame ``id, features, labels``; see the module for what is a label or feature."""

def libsvm(spark: SparkSession, path: Paths, label_base: int = 0, feature_base: int = 1,
    num_features: int | None = None, num_labels: int | None = None,
    feature_names: str | Sequence[str] | None = None,
    label_names: str | Sequence[str] | None = None) -> DataFrame:
    """Read multi-label LIBSVM files into the canonical frame ``id, features, labels``."""

def xc(spark: SparkSession, path: Paths, label_file: str | None = None,
    feature_names: str | Sequence[str] | None = None,
    label_names: str | Sequence[str] | None = None) -> DataFrame:
    """Read files of the Extreme Classification Repository; see the module for their form."""

def mat(spark: SparkSession, path: Paths, features: str | None = None,
    labels: str | None = None,
    transposed: Literal['auto', 'none', 'features', 'labels', 'both'] = "auto",
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    feature_names: str | Sequence[str] | None = None,
    label_names: str | Sequence[str] | None = None) -> DataFrame:
    """Read matrices of MATLAB files; see the module for what are features, labels and rows."""

def parquet(spark: SparkSession, path: Tables, features: str | Sequence[str],
    labels: str | Sequence[str], id: str | None = None, text_ids: bool = False,
    label_delimiter: str | None = None, label_key: str | None = None,
    empty_tags: Literal['none', 'unknown'] = "none", positive: Sequence[str] | None = None,
    unknown: Sequence[str] | None = None, label_names: Sequence[str] | None = None,
    reader_options: Mapping[str, str] | None = None, weight: str | None = None,
    group: str | None = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    categories: Literal['auto', 'onehot', 'codes'] = "auto", graded: bool = False,
    needed: Sequence[str] = ()) -> DataFrame:
    """Parquet files."""

def delta(spark: SparkSession, path: Tables, features: str | Sequence[str],
    labels: str | Sequence[str], id: str | None = None, text_ids: bool = False,
    label_delimiter: str | None = None, label_key: str | None = None,
    empty_tags: Literal['none', 'unknown'] = "none", positive: Sequence[str] | None = None,
    unknown: Sequence[str] | None = None, label_names: Sequence[str] | None = None,
    reader_options: Mapping[str, str] | None = None, weight: str | None = None,
    group: str | None = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    categories: Literal['auto', 'onehot', 'codes'] = "auto", graded: bool = False,
    needed: Sequence[str] = ()) -> DataFrame:
    """Delta tables."""

def csv(spark: SparkSession, path: Tables, features: str | Sequence[str],
    labels: str | Sequence[str], id: str | None = None, text_ids: bool = False,
    label_delimiter: str | None = None, label_key: str | None = None,
    empty_tags: Literal['none', 'unknown'] = "none", positive: Sequence[str] | None = None,
    unknown: Sequence[str] | None = None, label_names: Sequence[str] | None = None,
    reader_options: Mapping[str, str] | None = None, weight: str | None = None,
    group: str | None = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    categories: Literal['auto', 'onehot', 'codes'] = "auto", graded: bool = False,
    needed: Sequence[str] = (), sep: str | None = None, quote: str = "\"",
    escape: str | None = None, header: bool | None = None, encoding: str | None = None,
    decimal: str = ".", thousands: str | None = None, na_values: Sequence[str] | None = None) -> DataFrame:
    """CSV files."""

def json(spark: SparkSession, path: Tables, features: str | Sequence[str],
    labels: str | Sequence[str], id: str | None = None, text_ids: bool = False,
    label_delimiter: str | None = None, label_key: str | None = None,
    empty_tags: Literal['none', 'unknown'] = "none", positive: Sequence[str] | None = None,
    unknown: Sequence[str] | None = None, label_names: Sequence[str] | None = None,
    reader_options: Mapping[str, str] | None = None, weight: str | None = None,
    group: str | None = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    categories: Literal['auto', 'onehot', 'codes'] = "auto", graded: bool = False,
    needed: Sequence[str] = ()) -> DataFrame:
    """JSON files."""

def table(spark: SparkSession, path: Tables, features: str | Sequence[str],
    labels: str | Sequence[str], format: str = "table", *, id: str | None = None,
    text_ids: bool = False, label_delimiter: str | None = None, label_key: str | None = None,
    empty_tags: Literal['none', 'unknown'] = "none", positive: Sequence[str] | None = None,
    unknown: Sequence[str] | None = None, label_names: Sequence[str] | None = None,
    reader_options: Mapping[str, str] | None = None, weight: str | None = None,
    group: str | None = None,
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep'] = "error",
    categories: Literal['auto', 'onehot', 'codes'] = "auto", graded: bool = False,
    needed: Sequence[str] = ()) -> DataFrame:
    """Read a table into ``id, features, labels``; see the module for `features`, `labels` and `id`."""

def text(spark: SparkSession, path: Tables, text: str, labels: str | Sequence[str],
    format: str = "table", *, id: str | None = None, text_ids: bool = False,
    label_delimiter: str | None = None, label_key: str | None = None,
    empty_tags: Literal['none', 'unknown'] = "none", positive: Sequence[str] | None = None,
    unknown: Sequence[str] | None = None, label_names: Sequence[str] | None = None,
    reader_options: Mapping[str, str] | None = None, weight: str | None = None,
    group: str | None = None, analyzer: Literal['word', 'char'] = "word", min_length: int = 2,
    ngrams: Sequence[float] = [1, 1], strip_accents: bool = False,
    token_pattern: str | None = None, stop_words: str | Sequence[str] | None = None,
    pattern: str | None = None, vocab_size: int | None = None, min_df: float = 2.0,
    max_df: float = 1.0, vocabulary: Sequence[str] | None = None,
    term_weight: Literal['tfidf', 'count', 'binary'] | None = None,
    sublinear: bool | None = None, norm: Literal['auto', 'l2'] | None = "auto",
    binary: bool = False, renormalise: bool = True, sep: str | None = None, quote: str = "\"",
    escape: str | None = None, header: bool | None = None, encoding: str | None = None,
    decimal: str = ".", thousands: str | None = None, na_values: Sequence[str] | None = None) -> DataFrame:
    """Terms of a text column as features, by decreasing total, ties in alphabetical order; the rest as in `tables`."""

def fasttext(spark: SparkSession, path: Tables, text: str = "text",
    labels: str | Sequence[str] = "labels", id: str | None = None, text_ids: bool = False,
    empty_tags: Literal['none', 'unknown'] = "none", positive: Sequence[str] | None = None,
    unknown: Sequence[str] | None = None, label_names: Sequence[str] | None = None,
    weight: str | None = None, group: str | None = None,
    analyzer: Literal['word', 'char'] = "word", min_length: int = 2,
    ngrams: Sequence[float] = [1, 1], strip_accents: bool = False,
    token_pattern: str | None = None, stop_words: str | Sequence[str] | None = None,
    pattern: str | None = None, vocab_size: int | None = None, min_df: float = 2.0,
    max_df: float = 1.0, vocabulary: Sequence[str] | None = None,
    term_weight: Literal['tfidf', 'count', 'binary'] | None = None,
    sublinear: bool | None = None, norm: Literal['auto', 'l2'] | None = "auto",
    binary: bool = False, renormalise: bool = True) -> DataFrame:
    """Read lines of fastText: counts of their words, as `read.text` has them, and labels."""

def files(spark: SparkSession, path: Paths, features: str = "image",
    feature_options: Mapping[str, str] | None = None, labels: str | Sequence[str] | None = None,
    labels_from: str | None = None, label_delimiter: str | None = None,
    label_names: Sequence[str] | None = None, text_ids: bool = False, root: str | None = None,
    path_column: str = "path", max_file_bytes: int = 67108864,
    on_error: Literal['skip', 'refuse'] = "skip") -> DataFrame:
    """Features of files (images, sounds) by an encoder; labels from the folders' names, or from a table by path."""

def numbers(spark: SparkSession, seed: int = 0, num_rows: int = 2000, noise: float = 0.0,
    num_partitions: int | None = None) -> DataFrame:
    """The Number set of the MSFS paper, rebuilt: five pictures a row, labels the digits in them."""

def planted(spark: SparkSession, num_rows: int, num_features: int, num_labels: int,
    num_relevant: int | None = None, num_redundant: int | None = None,
    density: float | None = None, noise: float = 0.5, cardinality: float | None = None,
    seed: int = 0, num_partitions: int | None = None) -> DataFrame:
    """A data set whose relevant, redundant and noise features are known."""
