"""Notices of readers about data that they do not refuse."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..errors import PACKED, DataNotice, of_spark, worker_errors

__all__ = ["PACKED", "DataNotice", "first_repeated", "notice", "of_spark", "reading"]


def notice(text: str) -> None:
    """Warns of `text`, once a process."""
    warnings.warn_explicit(DataNotice(text), None, "spark-mlfs", 0, registry=_told)


_told: dict[Any, Any] = {}

reading = worker_errors  # around whatever a reader asks of Spark


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
