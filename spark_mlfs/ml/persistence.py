"""Saving and loading: parameters as JSON text, arrays as Parquet, without the JVM."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_numeric_dtype
from pyspark.errors import AnalysisException, PySparkException
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import SparkSession

from ..blocks.codec import State, decode, encode
from ..classify import CLASSIFIERS
from ..errors import DataError, ParameterError, SparkMlfsError, from_worker, worker_errors
from ..extract import EXTRACTORS
from ..methods import METHODS

PACKAGE = __name__.partition(".")[0]
# of all that is saved: it grows where an earlier version could not read what a later one writes, or would read it otherwise
FORMAT = 3  # since 3 all that is saved has a checksum
OLDEST = 2
PIECE_BYTES = 16 << 20  # of a saved state: well below what a Parquet page or a Connect message takes
PIECES = "piece int, state binary, pieces int, checksum bigint, format int, spark_mlfs string"
AGAIN = "copy the whole folder again, or save it again"


def stamp() -> dict[str, Any]:
    """Stamp of every saved thing: its format, and the version of the library that wrote it."""
    return {"format": FORMAT, "spark_mlfs": attribute(PACKAGE, "__version__")}


def check_stamp(saved: Mapping[str, Any], where: str) -> None:
    """`ParameterError` where the saved thing at `where` is of a format that this version does not read."""
    number, writer = saved.get("format"), saved.get("spark_mlfs")
    if number is None and writer is None and saved.get("checksum") is None:  # of something else, or of before formats
        return
    if not isinstance(number, int):
        raise ParameterError(f"{where} is damaged (its format is {str(number)[:40]!r}, not a number): {AGAIN}")
    if number < OLDEST:
        raise ParameterError(
            f"{where} is of format {number}, this spark_mlfs reads formats from {OLDEST} to {FORMAT}: fit and save it again"
        )
    if number > FORMAT:
        version = writer if isinstance(writer, str) and len(writer) < 40 else None
        raise ParameterError(
            f"{where} was saved by spark_mlfs {version or 'of a later version'} in format {number}, this is spark_mlfs "
            f"{stamp()['spark_mlfs']}, which reads formats up to {FORMAT}: install spark_mlfs {version or 'of that version'}"
        )


def checksum(saved: Mapping[str, Any]) -> str:
    """Return the hash of all entries but its own, over their canonical JSON."""
    rest = json.dumps({k: v for k, v in saved.items() if k != "checksum"}, sort_keys=True)
    return hashlib.sha256(rest.encode()).hexdigest()


def check_whole(saved: Mapping[str, Any], where: str) -> None:
    """Raise `ParameterError` where the stamp or the checksum of a saved thing does not hold."""
    check_stamp(saved, where)
    if ((saved.get("format") or 0) >= 3 or "checksum" in saved) and saved.get("checksum") != checksum(saved):
        raise ParameterError(f"{where} is damaged (its checksum is not that of its content): {AGAIN}")


def digest(frame: pd.DataFrame) -> int:
    """Return a checksum of a saved table's rows; of a state that of its pieces' own."""
    crc = 0
    for name in frame.columns.drop("state", errors="ignore"):
        column = frame[name]
        if is_numeric_dtype(column):
            data = np.nan_to_num(column.to_numpy(np.float64), nan=0.5).tobytes()
        else:
            data = json.dumps(column.fillna("").tolist()).encode()
        crc = zlib.crc32(data, crc)
    return crc


@dataclass(frozen=True)
class SavedData:
    """Learned data of a model as they are saved: rows in `frame` with Spark's types in `schema`, and what joins the metadata."""

    frame: pd.DataFrame
    schema: str
    metadata: dict[str, Any]


class Writer(MLWriter):
    """Params as JSON text in ``metadata/``, what was learned as Parquet in ``data/``: readable by anything, written without the
    JVM."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def _handleOverwrite(self, path: str) -> None:
        """Nothing: `saveImpl` writes with mode overwrite."""

    def saveImpl(self, path: str) -> None:
        spark, learned = self.sparkSession, self._data()
        mode = "overwrite" if self.shouldOverwrite else "error"
        if learned is not None:
            frame = spark.createDataFrame(learned.frame, learned.schema)
            frame.coalesce(1).write.mode(mode).parquet(f"{path}/data")
        text = [(self._metadata(learned),)]
        spark.createDataFrame(text, "value string").coalesce(1).write.mode(mode).text(f"{path}/metadata")

    def save_here(self, folder: Path) -> None:
        """The same files in a new folder of this machine, written by this process: a Spark job a file takes longer than all of
        them."""
        learned = self._data()
        if learned is not None:
            data = _made(folder / "data")
            learned.frame.to_parquet(data / "part-00000.parquet", index=False)
            (data / "_SUCCESS").touch()
        metadata = _made(folder / "metadata")
        (metadata / "part-00000.txt").write_text(self._metadata(learned) + "\n", encoding="utf-8")
        (metadata / "_SUCCESS").touch()

    def _data(self) -> SavedData | None:
        return self.instance._saved_data() if hasattr(self.instance, "_saved_data") else None

    def _metadata(self, learned: SavedData | None) -> str:
        extra = json.loads(json.dumps(learned.metadata if learned else {}, default=plain))
        extra = {"class": class_path(type(self.instance)), **stamp(), **extra}
        if learned is not None:
            extra["data"] = digest(learned.frame)
        saved = json.loads(DefaultParamsWriter._get_metadata_to_save(self.instance, self.sparkSession, extraMetadata=extra))
        return json.dumps({**saved, "checksum": checksum(saved)}, separators=(",", ":"))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


class Reader(MLReader[Any]):
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
            if metadata.get("format") is None:
                raise ParameterError(
                    f"{path} says no format, this spark_mlfs reads formats from {OLDEST} to {FORMAT}: fit and save it again"
                )
            try:
                instance._resetUid(metadata["uid"])
                DefaultParamsReader.getAndSetParams(instance, metadata)
                if hasattr(instance, "_saved_data"):
                    instance._load_data(spark, f"{path}/data", metadata)
            except SparkMlfsError:
                raise
            except AnalysisException as error:
                own = from_worker(error)
                raise own or ParameterError(f"{path}/data is not there, or holds no Parquet: {AGAIN}") from None
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                what = f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())[:160]
                raise ParameterError(f"{path}/metadata is damaged ({what}): {AGAIN}") from None
            except PySparkException as error:
                raise from_worker(error) or ParameterError(f"{path} cannot be loaded: {AGAIN}") from error
        return instance

    def _metadata(self, spark: SparkSession, path: str) -> dict[str, Any]:
        try:
            (text,) = spark.read.text(f"{path}/metadata").first() or ("",)
        except AnalysisException as error:
            raise ParameterError(
                f"{path!r} holds nothing that {self.cls.__name__} saved (no metadata to read): give the folder that was saved to"
            ) from error
        try:
            saved = json.loads(text)
            metadata = {**saved, "class": str(saved["class"]), "uid": str(saved["uid"])}
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            what = f"it lacks {error}" if isinstance(error, KeyError) else "it is cut off, or no JSON of a saved stage"
            raise ParameterError(f"{path}/metadata is damaged ({what}): {AGAIN}") from None
        check_whole(saved, path)
        return metadata

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


class Storable(MLReadable[Any], MLWritable):
    """A stage or model that saves and loads with `Writer` and `Reader`."""

    def write(self) -> MLWriter:
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        return Reader(cls)


def class_path(cls: type) -> str:
    """How a saved stage names its class: a public class of this package by its public name, which outlives moves within it."""
    public = cls.__module__.partition(".")[0] == PACKAGE and attribute(PACKAGE, cls.__name__) is cls
    return f"{PACKAGE if public else cls.__module__}.{cls.__name__}"


def attribute(module: str, name: str) -> Any:
    """An attribute of a module; None where there is no such module, or the module has none of that name. What is saved has only
    this package, pyspark's ML and those of registered entries imported, and is answered from what the process has imported."""
    registered = METHODS.packages() | EXTRACTORS.packages() | CLASSIFIERS.packages()  # this one, too
    own = f"{module}.".startswith("pyspark.ml.") or module.partition(".")[0] in registered
    try:
        return getattr(importlib.import_module(module) if own else sys.modules[module], name, None)
    except (ImportError, ValueError, KeyError, SystemExit):
        return None


def plain(value: Any) -> Any:
    """NumPy numbers and arrays as what JSON takes."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot save {type(value).__name__}")


def state_rows(state: State) -> pd.DataFrame:
    """A dict of arrays as rows of the schema `PIECES`: its encoding (`blocks.codec.encode`) cut into pieces of 16 MB, each with
    its checksum."""
    data = bytes(encode(state))
    parts = [data[a : a + PIECE_BYTES] for a in range(0, len(data), PIECE_BYTES)]
    rows = [(i, part, len(parts), zlib.crc32(part), *stamp().values()) for i, part in enumerate(parts)]
    return pd.DataFrame(rows, columns=[column.split()[0] for column in PIECES.split(", ")])


def load_state(spark: SparkSession, path: str, expected: int | None = None) -> State:
    """The inverse of `state_rows`, whose digest is `expected`. `DataError` for pieces that are absent or damaged,
    `ParameterError` for a newer format."""
    frame = spark.read.parquet(path)
    if not {"piece", "state"} <= set(frame.columns):
        raise DataError(f"{path} holds no saved state (its columns are {', '.join(frame.columns)}): {AGAIN}")
    rows = sorted((row.asDict() for row in frame.toLocalIterator()), key=lambda row: (row["piece"] is None, row["piece"]))
    for row in rows:
        check_stamp(row, path)
    count = max([len(rows), 1, *(row.get("pieces") or 0 for row in rows)])
    numbers = [row["piece"] for row in rows]
    absent = next((i for i in range(count) if i not in numbers), None)
    if absent is not None or len(rows) > count:
        raise DataError(f"{path}: piece {(absent or 0) + 1} of {count} is not there: {AGAIN}")
    for row in rows:
        if row["state"] is None or row.get("checksum") != zlib.crc32(row["state"]):
            raise DataError(f"{path}: piece {row['piece'] + 1} of {count} is damaged: {AGAIN}")
    check_digest(pd.DataFrame(rows), path, expected)
    try:
        state = decode(b"".join(bytes(row["state"]) for row in rows))
        for value in state.values():
            if sp.issparse(value):
                value.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{path}: {error}: {AGAIN}") from None
    return state


def check_digest(frame: pd.DataFrame, path: str, expected: int | None) -> None:
    """Raise `DataError` where the rows at `path` are not those that the metadata tell of."""
    if expected is not None and digest(frame) != expected:
        raise DataError(f"{path} does not hold what its metadata tell of: {AGAIN}")


def load_ranking(spark: SparkSession, path: str, excluded: int = 0, expected: int | None = None) -> pd.DataFrame:
    """A saved ranking of the digest `expected`, best first. `DataError` where it is no ranking of every feature but the
    `excluded` many."""
    frame = spark.read.parquet(path)
    absent = [name for name in ("rank", "index", "name", "score", "relevance") if name not in frame.columns]
    if absent:
        raise DataError(f"{path} holds no saved ranking (it has no column {absent[0]!r}): {AGAIN}")
    found: Any = frame.toPandas()
    ranking = found.sort_values("rank", ignore_index=True)
    every, index = np.arange(len(ranking)), np.unique(ranking["index"])
    whole = len(index) == len(ranking) and len(index) and index[0] >= 0 and index[-1] < len(ranking) + excluded
    if not whole or not (ranking["rank"] == every + 1).all():
        raise DataError(f"{path} holds no whole ranking: rows are absent, or there twice: {AGAIN}")
    check_digest(ranking, path, expected)
    return ranking
