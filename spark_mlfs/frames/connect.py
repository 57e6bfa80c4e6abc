"""Sessions of Spark Connect: how long their client waits for a server that answers no more.

Spark's own waits ten minutes for each call, of which cleaning up makes many."""

from __future__ import annotations

import math
import time
from weakref import WeakSet

from pyspark.sql.connect.client.core import SparkConnectClient
from pyspark.sql.connect.client.retries import (
    DefaultPolicy,
    RetryPolicyState,
    extract_retry_delay,
)

SECONDS_OF_PATIENCE = 45.0  # with a server, from the first of its failures on
LONGEST_PAUSE = 4000  # milliseconds between two tries
_clients: WeakSet[SparkConnectClient] = WeakSet()


def meet(client: SparkConnectClient) -> bool:
    """Give a client whose rules of retrying are Spark's own the patience of this module, once.

    Return whether it is met for the first time."""
    if client in _clients:
        return False
    _clients.add(client)
    policies = client._retry_policies
    if [type(policy) for policy in policies] == [DefaultPolicy]:
        client.set_retry_policies([Patience()])
    return True


class Patience(DefaultPolicy):
    """Retry as Spark does, for a time from a call's first failure on.

    Where a call was given up, those of the time after it are tried once: they clean up."""

    given_up = -math.inf

    def __init__(self) -> None:
        super().__init__(max_retries=None, max_backoff=LONGEST_PAUSE)

    def to_state(self) -> RetryPolicyState:
        return _Waiting(self)


class _Waiting(RetryPolicyState):
    """The tries of one call."""

    def __init__(self, patience: Patience) -> None:
        super().__init__(patience)
        self._patience = patience
        self._first_failure = math.inf

    def can_retry(self, exception: BaseException) -> bool:
        if not super().can_retry(exception):
            return False
        if extract_retry_delay(exception) is not None:  # the server's answer: it asks to wait
            return True
        now = time.monotonic()
        self._first_failure = min(self._first_failure, now)
        is_late = now - self._first_failure >= SECONDS_OF_PATIENCE
        if is_late or now - self._patience.given_up < SECONDS_OF_PATIENCE:
            self._patience.given_up = now
            return False
        return True
