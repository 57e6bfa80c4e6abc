"""Name to extractor, one explicit line each."""

from __future__ import annotations

from .base import Extractor
from .lift import LIFT
from .lift_rsm import LIFTRSM
from .mddm import MDDM
from .mlnb import MLNB
from .mlsi import MLSI

EXTRACTORS: dict[str, type[Extractor]] = {each.name: each for each in (LIFT, LIFTRSM, MDDM, MLSI, MLNB)}
