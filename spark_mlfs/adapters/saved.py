"""What a saved thing is, whoever reads or writes it: its stamp, its checksums, its files; without
Spark."""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata as packages
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_numeric_dtype

from ..blocks.codec import State, decode, encode
from ..errors import DataError, ParameterError, SparkMlfsError
from ..frames.parquet import ROWS_AT_ONCE, write_table
from ..version import __version__

PACKAGE = __name__.partition(".")[0]
OLDEST_SPARK = "3.5.0"  # named by what was written where no Spark is
Params = Mapping[str, Any]
# of all that is saved: it grows where an earlier version could not read what a later one writes, or
# would read it otherwise
FORMAT = 3  # since 3 all that is saved has a checksum
OLDEST = 2
PIECE_BYTES = (
    16 << 20
)  # of a saved state: well below what a Parquet page or a Connect message takes
PIECES = "piece int, state binary, pieces int, checksum bigint, format int, spark_mlfs string"
ENCODED = "encoder"  # in the metadata of an encoder that has more than parameters
DATA_HERE = "data/part-00000.parquet"  # in the folder of a stage of this machine
PLAIN = bytes({*range(32, 127)} - {*b"\\"})  # signs that JSON writes as they are
AGAIN = "copy the whole folder again, or save it again"


def stamp() -> dict[str, Any]:
    """Stamp of every saved thing: its format, and the version of the library that wrote it."""
    return {"format": FORMAT, "spark_mlfs": __version__}


def check_stamp(saved: Mapping[str, Any], path: str) -> None:
    """Raise `ParameterError` where this version does not read the format of a saved thing.

    `path` names it in messages."""
    number = saved.get("format")
    writer = saved.get("spark_mlfs")
    if number is None and writer is None and saved.get("checksum") is None:
        return  # of something else, or of before formats
    if not isinstance(number, int):
        raise ParameterError(
            f"{path} is damaged (its format is {str(number)[:40]!r}, not a number): {AGAIN}"
        )
    if number < OLDEST:
        raise _too_old(f"{path} is of format {number}")
    if number > FORMAT:
        version = writer if isinstance(writer, str) and len(writer) < 40 else None
        raise ParameterError(
            f"{path} was saved by spark_mlfs {version or 'of a later version'} in format "
            f"{number}, this is spark_mlfs {stamp()['spark_mlfs']}, which reads formats up to "
            f"{FORMAT}: install spark_mlfs {version or 'of that version'}"
        )


def checksum(saved: Mapping[str, Any]) -> str:
    """Return the hash of all entries but its own, over their canonical JSON."""
    entries = {name: value for name, value in saved.items() if name != "checksum"}
    text = json.dumps(entries, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def damaged(path: str, error: Exception, otherwise: str | None = None) -> ParameterError:
    """Return the error for a damaged saved thing at `path`, from the `error` of reading it.

    `otherwise` is the reason where the error names no absent key."""
    if isinstance(error, KeyError):
        reason = f"it lacks {error}"
    else:
        reason = otherwise or " ".join(str(error).split())[:160]
    return ParameterError(f"{path} is damaged ({reason}): {AGAIN}")


@contextmanager
def whole(path: str) -> Iterator[None]:
    """Surround the use of what was saved at `path` and has no checksum, such as Spark ML's stages.

    What is raised where a part of it lacks, or is of another type, becomes one line."""
    try:
        yield
    except SparkMlfsError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise damaged(path, error) from None


class AbsentError(ParameterError):
    """Nothing was saved at a path."""


def absent(path: str, kind: str = "was") -> AbsentError:
    """Return the error for a path where nothing was saved, of the class `kind` if it is known."""
    return AbsentError(
        f"{path!r} holds nothing that {kind} saved (no metadata to read): give the folder that was "
        "saved to"
    )


def unreadable(path: str) -> ParameterError:
    """Return the error for what was learned, of a stage saved at `path`, that cannot be read."""
    return ParameterError(f"{path}/data is not there, or holds no Parquet: {AGAIN}")


def no_parquet(file: str) -> ParameterError:
    """Return the error for a file of what was learned that is damaged."""
    return ParameterError(f"{file}: no Parquet file, or a damaged one: {AGAIN}")


@contextmanager
def stage_of(pipeline: str, stage: str) -> Iterator[None]:
    """Surround the reading of a stage at a place of a pipeline, which is to be there."""
    try:
        yield
    except AbsentError as error:
        raise damaged(pipeline, error, f"its {stage} is not there") from None


def stage_uids(metadata: Mapping[str, Any], path: str) -> list[str] | None:
    """Return the uids of the stages of the pipeline at `path`; None where they are the JVM's.

    Raises `ParameterError` where the metadata have none."""
    with whole(path):
        params = metadata["paramMap"]
        if params.get("language") != "Python":
            return None
        uids = params["stageUids"]
        if not isinstance(uids, list) or not all(isinstance(uid, str) for uid in uids):
            raise ValueError("its stageUids are no list of names")
        return uids


def digest(frame: pd.DataFrame) -> int:
    """Return a checksum of a saved table's rows; of a state that of its pieces' own."""
    crc = 0
    for name in frame.columns.drop("state", errors="ignore"):
        column = frame[name]
        if is_numeric_dtype(column):
            data = np.nan_to_num(column.to_numpy(np.float64), nan=0.5).tobytes()
        else:
            data = _json_of(column)
        crc = zlib.crc32(data, crc)
    return crc


def _json_of(column: pd.Series) -> bytes:
    """Return the cells as JSON, missing ones as empty texts; of plain texts many at once."""
    with suppress(TypeError, UnicodeError):  # of others
        plain = '", "'.join(column.tolist())
        data = f'["{plain}"]'.encode()
        if len(column) and not data.translate(None, PLAIN) and data.count(b'"') == 2 * len(column):
            return data
    return json.dumps(column.fillna("").tolist()).encode()


@dataclass(frozen=True)
class SavedData:
    """Learned data of a model as they are saved: rows in `frame` with Spark's types in `schema`,
    and what joins the metadata."""

    frame: pd.DataFrame
    schema: str
    metadata: dict[str, Any]


def plain(value: Any) -> Any:
    """NumPy numbers and arrays as what JSON takes."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot save {type(value).__name__}")


def check_digest(frame: pd.DataFrame, path: str, expected: int | None) -> None:
    """Raise `DataError` where the rows at `path` are not those that the metadata tell of."""
    if expected is not None and digest(frame) != expected:
        raise DataError(f"{path} does not hold what its metadata tell of: {AGAIN}")


def whole_ranking(
    rows: pd.DataFrame,
    path: str,
    excluded: int = 0,
    expected: int | None = None,
) -> pd.DataFrame:
    """Return the saved ranking at `path`, best first, all features but the `excluded` in it.

    Raises `DataError` where it lacks one."""
    columns = ("rank", "index", "name", "score", "relevance")
    absent = [name for name in columns if name not in rows.columns]
    if absent:
        raise DataError(f"{path} holds no saved ranking (it has no column {absent[0]!r}): {AGAIN}")
    ranking = rows.sort_values("rank", ignore_index=True)
    index = np.unique(ranking["index"])
    each_once = len(index) == len(ranking) and len(index)
    in_range = each_once and index[0] >= 0 and index[-1] < len(ranking) + excluded
    ranks = np.arange(1, len(ranking) + 1)
    if not in_range or not (ranking["rank"] == ranks).all():
        raise DataError(f"{path} holds no whole ranking: rows are absent, or there twice: {AGAIN}")
    check_digest(ranking, path, expected)
    return ranking


def whole_state(pieces: list[dict[str, Any]], path: str, expected: int | None = None) -> State:
    """Return the state saved in `pieces` at `path`, of the digest `expected`. `DataError` where one
    is absent or damaged."""
    if pieces and not {"piece", "state"} <= pieces[0].keys():
        columns = ", ".join(pieces[0])
        raise DataError(f"{path} holds no saved state (its columns are {columns}): {AGAIN}")
    rows = sorted(pieces, key=lambda row: (row["piece"] is None, row["piece"]))
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


def state_rows(state: State) -> pd.DataFrame:
    """A state as rows of the schema `PIECES`: its encoding (`blocks.codec.encode`) in pieces of 16
    MB with checksums."""
    data = memoryview(encode(state))
    parts = [bytes(data[a : a + PIECE_BYTES]) for a in range(0, len(data), PIECE_BYTES)]
    rows = [
        (i, part, len(parts), zlib.crc32(part), *stamp().values()) for i, part in enumerate(parts)
    ]
    return pd.DataFrame(rows, columns=[column.split()[0] for column in PIECES.split(", ")])


def saved_encoder(state: State) -> SavedData:
    """Return what is saved of an encoder beside its parameters: the files of its model."""
    return SavedData(state_rows(state), PIECES, {ENCODED: {"sha256": state["sha256"]}})


def metadata_text(saved: Mapping[str, Any], learned: SavedData | None) -> str:
    """Return the metadata of a saved stage as JSON: what pyspark has of it, what was learned, and a
    checksum."""
    out = dict(saved)
    if learned is not None:
        out |= {
            **json.loads(json.dumps(learned.metadata, default=plain)),
            "data": digest(learned.frame),
        }
    return json.dumps({**out, "checksum": checksum(out)}, separators=(",", ":"))


def save_here(folder: Path, metadata: str, learned: SavedData | None) -> None:
    """Write a stage into a new folder of this machine: its metadata as text, what was learned as
    Parquet."""
    for part in ("data", "metadata") if learned is not None else ("metadata",):
        (folder / part).mkdir(parents=True)
        (folder / part / "_SUCCESS").touch()
    if learned is not None:
        pieces = 1 if "state" in learned.frame else ROWS_AT_ONCE
        write_table(learned.frame, folder / DATA_HERE, pieces)
    (folder / "metadata" / "part-00000.txt").write_text(metadata + "\n", encoding="utf-8")


def stage_here(
    folder: Path,
    kind: str,
    uid: str,
    params: Params,
    defaults: Params,
    learned: SavedData | None = None,
) -> None:
    """Write a stage of a class, with the Params that are set and their defaults, into a new folder
    of this machine."""
    try:
        spark = packages.version("pyspark")
    except packages.PackageNotFoundError:
        spark = OLDEST_SPARK
    described = {
        "class": kind,
        "timestamp": round(time.time() * 1000),
        "sparkVersion": spark,
        "uid": uid,
        "paramMap": params,
    }
    described |= {
        "defaultParamMap": defaults,
        **(stamp() if kind.startswith(f"{PACKAGE}.") else {}),
    }
    save_here(
        folder,
        metadata_text(described, learned) if "format" in described else json.dumps(described),
        learned,
    )


def metadata_of(text: str, path: str) -> dict[str, Any]:
    """Return the metadata that the saved stage at `path` has as text; `ParameterError` where they
    are damaged."""
    try:
        saved = json.loads(text)
        metadata = {
            **saved,
            "class": str(saved["class"]),
            "uid": str(saved["uid"]),
        }
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise damaged(
            f"{path}/metadata", error, "it is cut off, or no JSON of a saved stage"
        ) from None
    check_stamp(saved, path)
    if ((saved.get("format") or 0) >= 3 or "checksum" in saved) and saved.get(
        "checksum"
    ) != checksum(saved):
        raise ParameterError(
            f"{path} is damaged (its checksum is not that of its content): {AGAIN}"
        )
    return metadata


def check_format(metadata: Mapping[str, Any], path: str) -> None:
    """Raise `ParameterError` where the saved thing at `path` says no format."""
    if metadata.get("format") is None:
        raise _too_old(f"{path} says no format")


def _too_old(problem: str) -> ParameterError:
    return ParameterError(
        f"{problem}, this spark_mlfs reads formats from {OLDEST} to {FORMAT}: fit and save it again"
    )


def metadata_here(path: str, kind: str) -> dict[str, Any]:
    """Return the metadata of the stage saved in a folder of this machine.

    Raises `ParameterError`, which names the `kind`, where there are none."""
    folder = Path(path, "metadata")
    try:
        parts = sorted(part for part in os.listdir(folder) if part.startswith("part-"))
        text = (folder / parts[0]).read_text(encoding="utf-8", errors="replace") if parts else ""
    except OSError:
        raise absent(path, kind) from None
    return metadata_of(text, path)


def rows_here(path: str) -> pd.DataFrame:
    """Return the table saved beside such metadata; `ParameterError` where it cannot be read."""
    parts = []
    for file in sorted(Path(path, "data").glob("*.parquet")):
        if file.stat().st_size:  # as on Spark, which passes over others
            try:
                parts.append(pd.read_parquet(file))
            except (ValueError, OSError):
                raise no_parquet(str(file)) from None
    if not parts:
        raise unreadable(path)
    return pd.concat(parts, ignore_index=True)
