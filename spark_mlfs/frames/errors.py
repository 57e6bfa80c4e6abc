"""Notices about data, and the errors of Spark: raised as ours, or passed over."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import DataNotice, worker_errors


def notice(text: str, kind: type[DataNotice] = DataNotice) -> None:
    """Warn of `text`, once a process."""
    warnings.warn_explicit(
        kind(text),
        None,
        "spark-mlfs",
        0,
        registry=_notified,
    )


_notified: dict[Any, Any] = {}

reading = worker_errors  # around whatever a reader asks of Spark


def absent(error: BaseException) -> bool:
    """Return whether Spark says that there is nothing at a path."""
    return "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error)


@contextmanager
def unless_absent() -> Iterator[None]:
    """Pass over what Spark says of a path at which there is nothing."""
    try:
        yield
    except Exception as error:
        if not absent(error):
            raise
