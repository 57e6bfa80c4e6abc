"""The evidence of a rule for every feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.base import Engine
from ..kernels.gram import total
from ..methods.base import Method
from ..statistics.gram import Gram, GroupGrams
from .knockoffs import _knockoffs
from .rules import TESTS, Evidence, Rule
from .stability import _stability
from .tests import _tests


def choose(engine: Engine, method: Method, p: Mapping[str, Any], rule: Rule) -> Evidence:
    """The evidence for every feature."""
    if rule.mode in TESTS:
        return _tests(engine, p, rule)
    if rule.mode == "knockoffs":
        return _knockoffs(engine, method, p, rule)
    return _stability(engine, method, p, rule)


def gather(engine: Engine, method: Method, rule: Rule) -> None:
    """Where stability is asked of Gram matrices: one scan for those of the groups; the whole is their sum."""
    if rule.mode == "stability" and method.on_gram(engine.profile):
        (groups,) = engine.run(GroupGrams())
        engine.remember(Gram(), total(groups.values()))
