"""A long run that can be taken up again: what is done is marked part by part, beside the output,
and put in place at the end.

On this machine's file system everything gathers in a hidden folder beside the output, which appears
whole when the last part is done. Elsewhere (``s3:``, ``hdfs:`` …), where Spark cannot rename, parts
go to their places at once and the manifest comes last. One run at a time writes there: beside a
local output lies a lock, elsewhere ``_owner`` in the output says who is at work."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..adapters.saved import check_stamp, checksum, stamp
from ..errors import DataError, SparkMlfsError, WorkerBudgetError, worker_errors
from ..frames.errors import unless_absent
from ..frames.frame import LocalFrame, NeedsSpark
from ..lazy import DataFrame, SparkSession
from .folder import (
    MANIFEST,
    NOT_VISIBLE,
    exists,
    local_path,
    on_a_full_disk,
    parents_of,
    replace_folder,
    spark_path,
)
from .lock import locked, owned
from .parquet import write_rows


@dataclass
class Journal:
    """The markers of the parts that are done, in one folder; written within `running`."""

    spark: SparkSession
    place: str  # as Spark is told it
    folder: Path | None  # the same on this machine, or None
    settings: dict[str, Any]
    output: str = ""  # as the user names it
    parts: dict[int, dict[str, Any]] = field(default_factory=dict)
    total: int = 0  # how many parts there will be, where that is known
    _mine: bool = field(default=False, repr=False)  # whether what lies in the folder is this run's
    _claim: Callable[[], object] = field(
        default=lambda: None, repr=False
    )  # before the first of what is written

    @staticmethod
    def beside(spark: SparkSession, output: str, what: str, settings: dict[str, Any]) -> Journal:
        """The journal of a run in the hidden folder ``.NAME.WHAT`` beside a local output, or in the
        output itself."""
        local = local_path(output)
        folder = None if local is None else local.with_name(f".{local.name}.{what}")
        return Journal(
            spark,
            output.rstrip("/") if folder is None else spark_path(folder),
            folder,
            settings,
            output,
        )

    @contextmanager
    def running(self, unit: str = "parts") -> Iterator[Journal]:
        """Around everything that writes: `ParameterError` where another run writes into the same
        output (elsewhere than on this machine when it begins to). What ends the run early says what
        is kept and how to go on; nothing half-written stays."""
        if self.folder is not None:
            lock = self.folder.with_name(self.folder.name + ".lock")
            with parents_of(self.folder, self.output), locked(lock, self.output), self._kept(unit):
                yield self
            return
        with self._kept(unit), ExitStack() as owning:

            def claim() -> None:  # once
                self._claim = lambda: None
                get, put = (
                    lambda: next(iter(self.get("_owner")), None),
                    partial(self.put, "_owner", 0),
                )
                owning.enter_context(owned(get, put, self.output))

            self._claim = claim
            yield self

    @contextmanager
    def _kept(self, unit: str) -> Iterator[None]:
        try:
            with on_a_full_disk(self.output):
                yield
        except SparkMlfsError as error:
            self._sweep()
            # too much for this engine: the same command would end here, too, or the other engine
            # goes on now
            kept = self.parts and not isinstance(error, (NeedsSpark, WorkerBudgetError))
            raise (type(error)(f"{error}; {self._how_to_go_on(unit)}") if kept else error) from None
        except KeyboardInterrupt as error:
            self._sweep()
            raise type(error)(
                self._how_to_go_on(unit) if self.parts else "nothing was done yet"
            ) from None
        except BaseException:
            self._sweep()
            raise

    def _how_to_go_on(self, unit: str) -> str:
        share = (
            f"{len(self.parts)} of {self.total} {unit}"
            if self.total
            else f"{len(self.parts)} {unit}"
        )
        where = f" in {self.folder}" if self.folder is not None else ""
        return f"{share} are done and kept{where}: the same command goes on with the rest"

    def _sweep(self) -> None:
        """Takes away what is half-written, and all where no part is done."""
        if self.folder is None or not self.folder.is_dir():
            return
        if self._mine and not self.parts:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for half in (*self.folder.glob("_writing-*"), *self.folder.glob("*/.*.writing")):
            shutil.rmtree(half, ignore_errors=True) if half.is_dir() else half.unlink(
                missing_ok=True
            )

    def open(self, *but: str) -> bool:
        """Takes up what a run of the same settings (but those of `but`) left; False where there is
        none."""
        found = self.get("_settings")
        aside = {*but, *stamp()}
        mine = {k: v for k, v in self.settings.items() if k not in aside}
        if found:
            check_stamp(found[0], str(self.folder or self.place))
        if not found or {k: v for k, v in found[0].items() if k not in aside} != mine:
            return False
        self._claim()
        self.parts = {
            entry["part"]: entry
            for entry in self.get("_parts")
            if isinstance(entry.get("part"), int)
        }
        self._mine = True
        return True

    def lost(self) -> list[int]:
        """The parts that are noted as done and of which no rows lie there any more."""
        files: list[str] = []
        if self.folder is not None:
            files = [str(path) for path in self.folder.glob("data/part=*/[!._]*")]
        elif self.parts:
            with unless_absent():
                files = self.spark.read.format("binaryFile").load(f"{self.place}/data").inputFiles()
        there = {path.rsplit("/", 2)[-2] for path in files}
        return [number for number in sorted(self.parts) if f"part={number}" not in there]

    def start(self, beside: bool = False) -> None:
        """Begins anew: what another run left there, with other settings, goes, unless this one's
        are to stand `beside` it."""
        self._claim()
        self._mine = True
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        elif not beside:
            nothing = self.spark.createDataFrame([], "value string, part int")
            for kind in ("_settings", "_parts", "_plan", "_data", "data"):
                if exists(
                    self.spark, f"{self.place}/{kind}"
                ):  # Spark deletes what it overwrites, and writes no file for no row
                    empty = (
                        nothing.write.partitionBy("part")
                        .option("partitionOverwriteMode", "static")
                        .mode("overwrite")
                    )
                    empty.text(f"{self.place}/{kind}")
        self.put("_settings", 0, {**self.settings, **stamp()})

    def write(self, number: int, frame: DataFrame) -> str:
        """The rows of a part, whole or not at all; where they are."""
        target = f"{self.place}/data/part={number}"
        with on_a_full_disk(self.output):
            if self.folder is None:
                frame.write.mode("overwrite").parquet(target)
                return target
            aside, home = (
                self.folder / f"_writing-{number}",
                self.folder / "data" / f"part={number}",
            )
            for old in (aside, home):
                shutil.rmtree(old, ignore_errors=True)
            if isinstance(frame, LocalFrame):
                write_rows(frame, aside)
            else:
                frame.write.mode("overwrite").parquet(spark_path(aside))
            if not any(aside.glob("part-*")):
                raise DataError(NOT_VISIBLE)
            home.parent.mkdir(exist_ok=True)
            aside.rename(home)
        return target

    def mark_done(self, number: int, entry: dict[str, Any]) -> None:
        self.put("_parts", number, {"part": number, **entry})
        self.parts[number] = {"part": number, **entry}

    def put(self, kind: str, number: int, entry: dict[str, Any]) -> None:
        """Writes one small entry, whole or not at all."""
        entry = json.loads(json.dumps(entry))
        text = json.dumps({**entry, "checksum": checksum(entry)}, sort_keys=True)
        if self.folder is None:
            frame = self.spark.createDataFrame([(text,)], "value string").coalesce(1)
            frame.write.mode("overwrite").text(f"{self.place}/{kind}/{number}.json")
            return
        home = self.folder / kind
        home.mkdir(parents=True, exist_ok=True)
        aside = home / f".{number}.writing"
        aside.write_text(text, encoding="utf-8")
        aside.rename(home / f"{number}.json")

    def get(self, kind: str) -> list[dict[str, Any]]:
        texts: list[str | bytes] = []
        if self.folder is not None:
            texts = [path.read_bytes() for path in sorted((self.folder / kind).glob("*.json"))]
        else:
            with unless_absent(), worker_errors():
                rows = (
                    self.spark.read.option("recursiveFileLookup", "true")
                    .text(f"{self.place}/{kind}")
                    .collect()
                )
                texts = [row.value for row in rows]
        return [entry for text in texts if (entry := _entry(text)) is not None]

    def clear(self) -> None:
        """Takes the markers away, where they are on this machine: a run that is complete needs them
        no more."""
        for kind in ("_settings", "_parts", "_data"):
            if self.folder is not None:
                shutil.rmtree(self.folder / kind, ignore_errors=True)

    def publish(self, append: bool = False) -> None:
        """Puts what was gathered beside the output in its place: as a whole, or part by part into
        the one that is there."""
        target, folder = local_path(self.output), self.folder
        if target is None or folder is None:
            return
        for half in folder.glob("_writing-*"):  # of a run that was killed
            shutil.rmtree(half, ignore_errors=True)
        if not append or not target.exists():
            replace_folder(folder, target)
            return
        for kind in ("data", "_parts"):
            (target / kind).mkdir(exist_ok=True)
            for entry in sorted((folder / kind).glob("*")):
                if not (target / kind / entry.name).exists():
                    entry.rename(target / kind / entry.name)
        for name in ("_" + MANIFEST, "_report.html"):
            if (folder / name).exists():
                (folder / name).replace(target / name)
        shutil.rmtree(folder, ignore_errors=True)


def _entry(text: str | bytes) -> dict[str, Any] | None:
    """Return the content of an entry; None where it is damaged: its part is done again."""
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return (
        entry
        if isinstance(entry, dict) and entry.pop("checksum", None) in (None, checksum(entry))
        else None
    )
