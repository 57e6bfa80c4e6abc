"""Conditions of ``--require``: what must hold of a run's numbers, else the exit code is 3."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import ParameterError
from ..frames.names import near
from .flags import ANY_NUMBER
from .terminal import NOT_MET, OK


@dataclass(frozen=True)
class Condition:
    """A number of a run, and the bound that it must keep; NaN keeps none."""

    text: str
    name: str
    at_least: bool
    bound: float

    @classmethod
    def parse(cls, text: str, names: Sequence[str], examples: str) -> Condition:
        """Read a condition such as ``microF1>=0.6``; `names` are the numbers that a run has."""
        match = re.fullmatch(r"\s*(\w+)\s*(>=|<=)\s*(\S+)\s*", text)
        if match is None:
            raise ParameterError(f"--require {text!r}: write it as {examples}")
        name, sign, number = match.groups()
        if name not in names:
            raise ParameterError(f"--require: no metric {name!r}: {near(name, list(names))}")
        try:
            bound = ANY_NUMBER(number)
        except argparse.ArgumentTypeError as error:
            raise ParameterError(f"--require {name}{sign} {error}") from None
        return cls(text, name, sign == ">=", bound)

    def holds(self, value: float) -> bool:
        """Return whether the value keeps the bound."""
        return value >= self.bound if self.at_least else value <= self.bound

    def shown(self, value: float) -> str:
        """Return a value that does not keep the bound, in as many digits as show that."""
        if float(value).is_integer():
            return f"{value:.0f}"
        texts = (f"{value:.{digits}g}" for digits in range(4, 17))
        return next((text for text in texts if not self.holds(float(text))), str(value))


Failed = list[tuple[Condition, float]]  # conditions, and the values that do not keep them


def unmet(conditions: Sequence[Condition], runs: Sequence[Mapping[str, float]]) -> Failed:
    """Return the conditions that the numbers of one of the runs do not keep; NaN where absent."""
    failed = []
    for condition in conditions:
        values = [run.get(condition.name, float("nan")) for run in runs]
        failed += [(condition, value) for value in values if not condition.holds(value)][:1]
    return failed


def texts(failed: Failed) -> list[str]:
    """Return the failed conditions as they were written."""
    return [condition.text for condition, _ in failed]


def exit_code(failed: Failed) -> int:
    """Print a line for each failed condition, and return the exit code of the run."""
    for condition, value in failed:
        line = f"not met: {condition.text}: {condition.name} is {condition.shown(value)}"
        print(f"spark-mlfs: {line}", file=sys.stderr, flush=True)
    return NOT_MET if failed else OK
