"""Exception types of the library, and the way a worker's error becomes a user's error again.

An error says what is wrong, where (file and line, row id, column, feature name) and what to do, in one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class SparkMlfsError(Exception):
    """Base of every error this library raises on purpose."""


class DataError(SparkMlfsError, ValueError):
    """The data cannot be used as they are."""


class ParameterError(SparkMlfsError, ValueError):
    """A parameter is unknown, of the wrong type or out of its range."""


class BudgetError(SparkMlfsError):
    """A result would not fit into the memory it is allowed; the message names the setting."""


class WorkerBudgetError(BudgetError):
    """One process may not hold all rows and what is asked of them; several tasks may."""


_RAISED = re.compile(r"spark_mlfs\.errors\.(DataError|ParameterError|BudgetError|WorkerBudgetError): (.*)")


def from_worker(error: BaseException) -> SparkMlfsError | None:
    """The library's own error inside a Spark exception (Spark hands a worker's exception on as text), else None."""
    if isinstance(error, SparkMlfsError):
        return error
    found = _RAISED.search(str(error))
    if not found:
        return None
    kinds = {kind.__name__: kind for kind in (DataError, ParameterError, BudgetError, WorkerBudgetError)}
    return kinds[found[1]](found[2].split(" SQLSTATE: ")[0].strip())


@contextmanager
def worker_errors() -> Iterator[None]:
    """Around a Spark action: a `DataError` raised on a worker is raised here as a `DataError`, without the stack."""
    try:
        yield
    except SparkMlfsError:
        raise
    except Exception as error:
        own = from_worker(error)
        if own is None:
            raise
        raise own from None
