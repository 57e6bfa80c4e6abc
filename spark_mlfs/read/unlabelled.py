"""Files of which nobody said what they show: their features, and the names of their folders."""

from __future__ import annotations

from typing import Any

from ..formats import Reader
from ..lazy import DataFrame
from ..params import Values
from .content import Files, locate, open_files


def files_without_labels(spark: Any, path: Any, options: Values) -> DataFrame:
    """Return the rows of files for which no labels were given: the folders' names, or none."""
    reader = Files()
    p = Reader.check(reader, path, options)
    in_folders = locate(path, p["root"]).table is None
    folders = "optional" if in_folders else "none"
    return reader.read_table(spark, path, p, open_files(spark, path, p, folders=folders))
