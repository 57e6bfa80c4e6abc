"""Metrics, splits, trials and comparisons of methods: `split` divides rows into training and test rows, with even labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol import split

__all__ = ["split"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import protocol

    return getattr(protocol, name)
