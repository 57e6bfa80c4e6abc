"""The kinds of metrics, what each has and how it is called: one table for evaluation, comparison,
check and pages.

``standard`` and ``msfs-2022`` are two definitions of the same metrics (`metrics`); ``at-k`` are
those of the 1, 3 and 5 best labels of a row (`at_k`), where there are so many labels. Propensities
are those of the training rows."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import DataError
from . import metrics
from .at_k import AT, AT_K, SumsAtK
from .metrics import METRICS, Sums

K_BEST = "at-k"
FAMILIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(metrics.KINDS, tuple(METRICS)),
    K_BEST: tuple(AT_K),
}
KINDS = tuple(FAMILIES)
TITLES = metrics.TITLES | AT_K
LARGER_IS_BETTER = metrics.LARGER_IS_BETTER | dict.fromkeys(AT_K, True)


def values_of(sums: Sums | SumsAtK, q: int) -> dict[str, float]:
    """Return every metric of sums over rows of q labels, by name."""
    if isinstance(sums, SumsAtK):
        return sums.metrics([k for k in AT if k <= q])
    return sums.metrics() | sums.tail()


def value_of(sums: Sums | SumsAtK, q: int, name: str) -> float:
    """Return a metric; `DataError` where it is of more labels than there are."""
    values = values_of(sums, q)
    if name not in values:
        raise DataError(f"{name} is of more labels than the {q} that there are: give a smaller k")
    return values[name]


def columns_of(kinds: Iterable[str]) -> list[str]:
    """Return the names of what `values_of` gives of sums of these kinds."""
    names: dict[str, None] = {}
    for kind in kinds:
        names |= dict.fromkeys(AT_K if kind == K_BEST else metrics.TITLES)
    return [*names]


def pairs_of(kinds: Iterable[str]) -> list[tuple[str, str]]:
    """Return each kind with the name of each of its metrics."""
    return [(kind, name) for kind in kinds for name in FAMILIES[kind]]


def titled(name: str, kind: str) -> str:
    """Return a metric's title, with its definition where that is not the standard one."""
    return TITLES[name] + (f" ({kind})" if redefined(kind) else "")


def redefined(kind: str) -> bool:
    """Return whether a kind has the names of the standard metrics with another meaning."""
    return kind not in ("standard", K_BEST)
