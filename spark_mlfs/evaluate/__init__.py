"""Metrics, splits, trials and comparisons of methods: `split` divides rows into training and test rows, with even labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import names_of

if TYPE_CHECKING:
    from .protocol import split

__all__ = ["split"]
__getattr__ = names_of(__name__, {"split": "protocol"}.get)
