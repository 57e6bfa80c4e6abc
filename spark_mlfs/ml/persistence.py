"""Saving and loading: parameters as JSON text, arrays as Parquet, without the JVM."""

from __future__ import annotations

import importlib
import json
from typing import Any

import numpy as np
from pyspark.errors import AnalysisException
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter
from pyspark.sql import SparkSession

from ..blocks.codec import State, decode, encode
from ..errors import ParameterError, worker_errors

PACKAGE = __name__.partition(".")[0]
PIECE_BYTES = 16 << 20  # of a saved state: well below what a Parquet page or a Connect message takes


class Writer(MLWriter):
    """Params as JSON text in ``metadata/``, what was learned as Parquet in ``data/``: readable by anything, written without the
    JVM."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def _handleOverwrite(self, path: str) -> None:
        """Nothing: `saveImpl` writes with mode overwrite."""

    def saveImpl(self, path: str) -> None:
        spark, instance = self.sparkSession, self.instance
        mode = "overwrite" if self.shouldOverwrite else "error"
        extra = instance._save_data(spark, f"{path}/data", mode) if hasattr(instance, "_save_data") else None
        extra = {"class": class_path(type(instance)), **json.loads(json.dumps(extra or {}, default=plain))}
        metadata = DefaultParamsWriter._get_metadata_to_save(instance, spark, extraMetadata=extra)
        spark.createDataFrame([(metadata,)], "value string").coalesce(1).write.mode(mode).text(f"{path}/metadata")


class Reader(MLReader):
    """Loads an estimator or a model that `Writer` saved, of the class asked for or one below it. `ParameterError` says what else
    the path holds and what loads it."""

    def __init__(self, cls: type) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        spark = self.sparkSession
        with worker_errors():
            metadata = self._metadata(spark, path)
            instance = self._class(path, metadata["class"])()
            instance._resetUid(metadata["uid"])
            DefaultParamsReader.getAndSetParams(instance, metadata)
            if hasattr(instance, "_save_data"):
                instance._load_data(spark, f"{path}/data", metadata)
        return instance

    def _metadata(self, spark: SparkSession, path: str) -> dict[str, Any]:
        try:
            (text,) = spark.read.text(f"{path}/metadata").first() or ("",)
            metadata = json.loads(text)
            return metadata | {"class": str(metadata["class"]), "uid": str(metadata["uid"])}
        except (AnalysisException, ValueError, TypeError, KeyError) as error:
            raise ParameterError(
                f"{path!r} holds nothing that {self.cls.__name__} saved (no metadata to read): give the folder that was saved to"
            ) from error

    def _class(self, path: str, name: str) -> type:
        """The class a path holds."""
        name = name.replace("org.apache.spark", "pyspark")
        module, _, kind = name.rpartition(".")
        own = module.partition(".")[0] == PACKAGE
        # a public class is known by its name, wherever in the package it stood when it was saved
        stored = (attribute(PACKAGE, kind) if own else None) or attribute(module, kind)
        if isinstance(stored, type) and issubclass(stored, self.cls):
            return stored
        where = PACKAGE if own else module
        raise ParameterError(f"{path!r} holds a {kind}, not a {self.cls.__name__}: call {where}.{kind}.load({path!r})")


def class_path(cls: type) -> str:
    """How a saved stage names its class: a public class of this package by its public name, which outlives moves within it."""
    public = cls.__module__.partition(".")[0] == PACKAGE and attribute(PACKAGE, cls.__name__) is cls
    return f"{PACKAGE if public else cls.__module__}.{cls.__name__}"


def attribute(module: str, name: str) -> Any:
    """An attribute of a module; None where there is no such module, or the module has none of that name."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError):
        return None


def plain(value: Any) -> Any:
    """NumPy numbers and arrays as what JSON takes."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot save {type(value).__name__}")


def save_state(spark: SparkSession, path: str, state: State, mode: str = "error") -> None:
    """A dict of arrays as Parquet: its encoding (`blocks.codec.encode`) cut into pieces of 16 MB."""
    data = bytes(encode(state))
    pieces = [(i, data[a : a + PIECE_BYTES]) for i, a in enumerate(range(0, len(data), PIECE_BYTES))]
    spark.createDataFrame(pieces, "piece int, state binary").coalesce(1).write.mode(mode).parquet(path)


def load_state(spark: SparkSession, path: str) -> State:
    """The inverse of `save_state`."""
    pieces = sorted(spark.read.parquet(path).toLocalIterator(), key=lambda row: row.piece)
    return decode(b"".join(bytes(row.state) for row in pieces))
