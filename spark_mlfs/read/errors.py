"""Notices of readers about data that they do not refuse."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import PACKED, DataNotice, of_spark, worker_errors

__all__ = ["PACKED", "DataNotice", "absent", "first_repeated", "notice", "of_spark", "reading", "unless_absent"]


def notice(text: str) -> None:
    """Warns of `text`, once a process."""
    warnings.warn_explicit(DataNotice(text), None, "spark-mlfs", 0, registry=_told)


_told: dict[Any, Any] = {}

reading = worker_errors  # around whatever a reader asks of Spark


def absent(error: Exception) -> bool:
    """Whether Spark says that there is nothing at a path."""
    return "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error)


@contextmanager
def unless_absent() -> Iterator[None]:
    """Passes over what Spark says of a path at which there is nothing."""
    try:
        yield
    except Exception as error:
        if not absent(error):
            raise


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
