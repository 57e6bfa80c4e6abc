"""Which tests run on which day: the slow ones take turns, so that all days take as long.

`turns.txt` says how often and how long, by `--durations=0` of two processes on two cores: of tests
that are not marked slow, but take more than two seconds and whose parts others test every day
(whole commands, pages, rows on Spark), or have many cases; of those that are marked, where they are
long. No name of a test file."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

DAYS = 240  # of which every `every` is a part
RARELY = 20  # days from one turn of a slow test to the next, where nothing else is said


def table() -> dict[str, tuple[int, int, float]]:
    """{name: (on one day in how many, how many cases, their seconds together)}"""
    lines = [
        line.split(maxsplit=3)
        for line in Path(__file__).with_suffix(".txt").read_text().splitlines()[1:]
    ]
    return {name: (int(every), int(cases), float(seconds)) for every, cases, seconds, name in lines}


def stride(every: int, cases: int) -> int:
    """The days from one case to the next: cases follow each other, or are spread where they are few
    and rare."""
    return max(1, every // cases)


def dealt(turns: dict[str, tuple[int, int, float]]) -> tuple[dict[str, int], list[float]]:
    """The day of the first case of every name, and the seconds of every day. The longest are dealt
    out first, each to the days that have least."""
    load, first = [0.0] * DAYS, {}
    for name, (every, cases, seconds) in sorted(
        turns.items(), key=lambda turn: (-turn[1][2] / turn[1][1], turn[0])
    ):
        share = [0.0] * every
        for number in range(cases):
            share[number * stride(every, cases) % every] += seconds / cases
        days = {
            start: [(start + day) % every for day, some in enumerate(share) if some]
            for start in range(every)
        }
        first[name] = min(
            days, key=lambda start: (max(max(load[day::every]) for day in days[start]), start)
        )
        for day in range(DAYS):
            load[day] += share[(day - first[name]) % every]
    return first, load


TURNS = table()
FIRST, SECONDS = dealt(TURNS)


class Turn:
    """When a test runs: every day if it is not slow, else on one day in 20, or in `every` (of two
    marks the rarer). Tests that share an expensive set-up, by ``together="file"`` or the value of
    the parameter it names, run on one day; with a `number` the values are dealt out to the days, as
    the cases of one function are."""

    def __init__(self, item: Any) -> None:
        file, _, function = item.nodeid.partition("[")[0].removeprefix("tests/").partition(".py::")
        marks = list(item.iter_markers("slow"))
        if (name := f"{file}::{function}") in TURNS:
            marks.append(pytest.mark.slow(every=TURNS[name][0]).mark)
        told = max(
            (mark.kwargs for mark in marks),
            key=lambda told: told.get("every", RARELY),
            default={"every": 1},
        )
        self.every, together, self.number = (
            told.get("every", RARELY),
            told.get("together"),
            told.get("number", 0),
        )
        if together is None:
            self.name, self.number = (
                name,
                sum({*item.callspec.indices.values()}) if hasattr(item, "callspec") else 0,
            )
        elif together == "file":
            self.name = file
        else:
            self.name = f"{file} {together}" + (
                "" if self.number else f"={item.callspec.params[together]}"
            )

    def has_come(self, which: str) -> bool:
        """On a day, by its number since the year 1, or on "all", or "none"."""
        if self.every == 1 or which in ("all", "none"):
            return self.every == 1 or which == "all"
        first, step = zlib.crc32(self.name.encode()), 1
        if self.name in TURNS and TURNS[self.name][0] == self.every:
            first, step = FIRST[self.name], stride(*TURNS[self.name][:2])
        return (first + self.number * step - int(which)) % self.every == 0
