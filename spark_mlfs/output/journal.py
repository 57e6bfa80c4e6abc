"""A long run that can be taken up again: its parts are marked as done beside the output.

At the end they are put in place.

On this machine's file system everything gathers in a hidden folder beside the output, which appears
whole when the last part is done. Elsewhere (``s3:``, ``hdfs:`` …), where Spark cannot rename, parts
go to their places at once and the manifest comes last. One run at a time writes there: beside a
local output lies a lock, elsewhere ``_owner`` in the output names who is at work."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..adapters.saved import check_stamp, checksum, stamp
from ..errors import DataError, SparkMlfsError, WorkerBudgetError, worker_errors
from ..frames.errors import unless_absent
from ..frames.frame import LocalFrame, LocalSession, NeedsSpark
from ..lazy import DataFrame, SparkSession
from .folder import (
    MANIFEST,
    NOT_VISIBLE,
    exists,
    local_path,
    on_a_full_disk,
    one_run,
    parents_of,
    replace_folder,
    spark_path,
)
from .lock import owned
from .parquet import write_rows

SECONDS_TO_DIE = 0.5  # that tasks of Spark may write on after their job has ended


@dataclass
class Journal:
    """The markers of the parts that are done, in one folder; written within `running`."""

    spark: SparkSession
    place: str  # its name for Spark
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
    def beside(
        spark: SparkSession,
        output: str,
        kind: str,
        settings: dict[str, Any],
    ) -> Journal:
        """Return the journal of a run in ``.NAME.KIND`` beside a local output.

        Of a remote output it is in the output itself."""
        local = local_path(output)
        if local is None:
            return Journal(
                spark,
                output.rstrip("/"),
                None,
                settings,
                output,
            )
        folder = local.with_name(f".{local.name}.{kind}")
        return Journal(
            spark,
            spark_path(folder),
            folder,
            settings,
            output,
        )

    @contextmanager
    def running(self, unit: str = "parts") -> Iterator[Journal]:
        """Surround everything that writes, so that one run writes into an output.

        `ParameterError` where another run does (of a remote output when this one begins to write).
        What ends the run early names what stays and how to go on; nothing half-written stays."""
        if self.folder is not None:
            target = local_path(self.output)
            assert target is not None
            with (
                parents_of(self.folder, self.output),
                one_run(target, self.output),
                self._tidied(unit),
            ):
                yield self
            return
        with self._tidied(unit), ExitStack() as owning:

            def get() -> dict[str, Any] | None:
                return next(iter(self.get("_owner")), None)

            def claim() -> None:  # once
                self._claim = lambda: None
                put = partial(self.put, "_owner", 0)
                owning.enter_context(owned(get, put, self.output))

            self._claim = claim
            yield self

    @contextmanager
    def _tidied(self, unit: str) -> Iterator[None]:
        try:
            with on_a_full_disk(self.output):
                yield
        except SparkMlfsError as error:
            self._sweep()
            # too much for this engine: the same command would end here, too, or the other engine
            # goes on now
            if not self.parts or isinstance(error, (NeedsSpark, WorkerBudgetError)):
                raise error from None
            raise error.reworded(lambda text: f"{text}; {self._how_to_go_on(unit)}") from None
        except KeyboardInterrupt as error:
            self._sweep()
            if not isinstance(self.spark, LocalSession):
                time.sleep(SECONDS_TO_DIE)
                self._sweep()
            message = self._how_to_go_on(unit) if self.parts else "nothing was done yet"
            raise type(error)(message) from None
        except BaseException:
            self._sweep()
            raise

    def _how_to_go_on(self, unit: str) -> str:
        total = f" of {self.total}" if self.total else ""
        place = "" if self.folder is None else f" in {self.folder}"
        return (
            f"{len(self.parts)}{total} {unit} are done and kept{place}: the same command goes on "
            "with the rest"
        )

    def _sweep(self) -> None:
        """Delete what is half-written, and all where no part is done."""
        if self.folder is None or not self.folder.is_dir():
            return
        if self._mine and not self.parts:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for half in (*self.folder.glob("_writing-*"), *self.folder.glob("*/.*.writing")):
            if half.is_dir():
                shutil.rmtree(half, ignore_errors=True)
            else:
                half.unlink(missing_ok=True)

    def open(self, *ignored: str) -> bool:
        """Take up what a run of the same settings left; return whether there is one.

        The `ignored` settings may differ."""
        entries = self.get("_settings")
        if not entries:
            return False
        check_stamp(entries[0], str(self.folder or self.place))
        ignored_keys = {*ignored, *stamp()}
        theirs = {k: v for k, v in entries[0].items() if k not in ignored_keys}
        mine = {k: v for k, v in self.settings.items() if k not in ignored_keys}
        if theirs != mine:
            return False
        self._claim()
        parts = [entry for entry in self.get("_parts") if isinstance(entry.get("part"), int)]
        self.parts = {entry["part"]: entry for entry in parts}
        self._mine = True
        return True

    def lost(self) -> list[int]:
        """Return the parts that are noted as done and of which no rows lie there any more."""
        files: list[str] = []
        if self.folder is not None:
            files = [str(path) for path in self.folder.glob("data/part=*/[!._]*")]
        elif self.parts:
            with unless_absent():
                files = self.spark.read.format("binaryFile").load(f"{self.place}/data").inputFiles()
        folders = {path.rsplit("/", 2)[-2] for path in files}
        return [number for number in sorted(self.parts) if f"part={number}" not in folders]

    def start(self, beside: bool = False) -> None:
        """Begin anew: delete what another run left there, with other settings.

        It stays where this run's parts are to stand `beside` it."""
        self._claim()
        self._mine = True
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        elif not beside:
            for kind in ("_settings", "_parts", "_plan", "_data", "data"):
                self._empty(f"{self.place}/{kind}")
        self.put("_settings", 0, {**self.settings, **stamp()})

    def _empty(self, path: str) -> None:
        if exists(self.spark, path):
            # Spark deletes what it overwrites, and writes no file for no row
            nothing = self.spark.createDataFrame([], "value string, part int")
            writer = nothing.write.partitionBy("part").option("partitionOverwriteMode", "static")
            writer.mode("overwrite").text(path)

    def write(self, number: int, frame: DataFrame) -> str:
        """Write the rows of a part, whole or not at all; return where they are."""
        target = f"{self.place}/data/part={number}"
        with on_a_full_disk(self.output):
            if self.folder is None:
                frame.write.mode("overwrite").parquet(target)
                return target
            aside = self.folder / f"_writing-{number}"
            home = self.folder / "data" / f"part={number}"
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
        entry = {"part": number, **entry}
        self.put("_parts", number, entry)
        self.parts[number] = entry

    def put(self, kind: str, number: int, entry: dict[str, Any]) -> None:
        """Write a small entry, whole or not at all."""
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
                reader = self.spark.read.option("recursiveFileLookup", "true")
                rows = reader.text(f"{self.place}/{kind}").collect()
                texts = [row.value for row in rows]
        entries = [_entry(text) for text in texts]
        return [entry for entry in entries if entry is not None]

    def clear(self) -> None:
        """Delete the markers, where they are on this machine.

        A run that is complete needs them no more."""
        for kind in ("_settings", "_parts", "_data"):
            if self.folder is not None:
                shutil.rmtree(self.folder / kind, ignore_errors=True)

    def publish(self, append: bool = False) -> None:
        """Put what was gathered beside the output in its place.

        It replaces the output, or with `append` goes part by part into the one that is there."""
        target = local_path(self.output)
        folder = self.folder
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
    if not isinstance(entry, dict):
        return None
    stored = entry.pop("checksum", None)
    return entry if stored in (None, checksum(entry)) else None
