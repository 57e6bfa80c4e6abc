"""The extractors; here one line each: the name users write, and where the class is."""

from __future__ import annotations

from ..registry import Registry
from .base import Extractor

EXTRACTORS: Registry[Extractor] = Registry(
    "extractor",
    __name__,
    {
        "lift": "lift.LIFT",
        "lift-rsm": "lift_rsm.LIFTRSM",
        "mddm": "spectral.MDDM",
        "mlsi": "spectral.MLSI",
        "mlnb": "mlnb.MLNB",
    },
)
