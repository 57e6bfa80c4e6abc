"""A long run that can be taken up again: what is done is marked part by part, beside the output, and put in place at the end.

On this machine's file system everything gathers in a hidden folder beside the output, which appears whole when the last part is
done. Elsewhere (``s3:``, ``hdfs:`` …), where Spark cannot rename, parts go to their places at once and the manifest comes last.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ..errors import DataError
from .folder import MANIFEST, local_path, spark_path


@dataclass
class Journal:
    """The markers of the parts that are done, in one folder."""

    spark: SparkSession
    place: str  # as Spark is told it
    folder: Path | None  # the same on this machine, or None
    settings: dict[str, Any]
    parts: dict[int, dict[str, Any]] = field(default_factory=dict)

    @staticmethod
    def beside(spark: SparkSession, output: str, what: str, settings: dict[str, Any]) -> Journal:
        """The journal of a run into `output`: in the hidden folder ``.NAME.WHAT`` beside it, or in the output itself where that
        is not on this machine."""
        local = local_path(output)
        folder = None if local is None else local.with_name(f".{local.name}.{what}")
        return Journal(spark, output.rstrip("/") if folder is None else spark_path(folder), folder, settings)

    def open(self, *but: str) -> bool:
        """Takes up what an earlier run left with the same settings (those of `but` aside); False where there is nothing, or
        something else."""
        found = self.get("_settings")
        mine = {k: v for k, v in self.settings.items() if k not in but}
        if not found or {k: v for k, v in found[0].items() if k not in but} != mine:
            return False
        self.parts = {entry["part"]: entry for entry in self.get("_parts")}
        return True

    def start(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        self.put("_settings", 0, self.settings)

    def write(self, number: int, frame: DataFrame) -> str:
        """The rows of a part, whole or not at all; where they are."""
        target = f"{self.place}/data/part={number}"
        if self.folder is None:
            frame.write.mode("overwrite").parquet(target)
            return target
        aside, home = self.folder / f"_writing-{number}", self.folder / "data" / f"part={number}"
        for old in (aside, home):
            shutil.rmtree(old, ignore_errors=True)
        frame.write.mode("overwrite").parquet(spark_path(aside))
        if not any(aside.glob("part-*")):
            raise DataError(
                "the workers' files are not visible on this machine: a local output needs a local master or a shared disk; "
                "give --output a path that all can reach, such as s3:, hdfs: or dbfs:"
            )
        home.parent.mkdir(exist_ok=True)
        aside.rename(home)
        return target

    def done(self, number: int, entry: dict[str, Any]) -> None:
        self.parts[number] = {"part": number, **entry}
        self.put("_parts", number, self.parts[number])

    def put(self, kind: str, number: int, entry: dict[str, Any]) -> None:
        """Writes one small entry, whole or not at all."""
        text = json.dumps(entry, sort_keys=True)
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
        """All entries of a kind."""
        if self.folder is not None:
            home = self.folder / kind
            return [json.loads(p.read_text(encoding="utf-8")) for p in sorted(home.glob("*.json"))] if home.is_dir() else []
        try:
            rows = self.spark.read.option("recursiveFileLookup", "true").text(f"{self.place}/{kind}").collect()
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error):
                return []
            raise
        return [json.loads(row.value) for row in rows]

    def clear(self) -> None:
        """Takes the markers away, where they are on this machine: a run that is complete needs them no more."""
        for kind in ("_settings", "_parts", "_data"):
            if self.folder is not None:
                shutil.rmtree(self.folder / kind, ignore_errors=True)


def publish(output: str, folder: Path | None, append: bool) -> None:
    """Puts what was gathered beside the output in its place: as a whole, or part by part into the one that is there."""
    if folder is None:
        return
    target = local_path(output)
    assert target is not None
    if append and target.exists():
        for kind in ("data", "_parts"):
            (target / kind).mkdir(exist_ok=True)
            for entry in sorted((folder / kind).iterdir()) if (folder / kind).is_dir() else []:
                if not (target / kind / entry.name).exists():
                    entry.rename(target / kind / entry.name)
        for name in ("_" + MANIFEST, "_report.html"):
            if (folder / name).exists():
                (folder / name).replace(target / name)
        shutil.rmtree(folder, ignore_errors=True)
        return
    old = None
    if target.exists():
        old = target.with_name(f".{target.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    folder.rename(target)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
