"""Long rows as passages of a length that overlap: each is encoded, or scored, alone, and the results come together by row."""

from __future__ import annotations

import re

import numpy as np

from ..params import Choice, Integer, Optional, Parameter

PASSAGES = (
    Parameter("passage_length", None, Optional(Integer(1)), "tokens (of texts: words) of a passage; None: a row is one passage"),
    Parameter("passage_overlap", 0, Integer(0), "tokens or words that a passage has in common with the one before"),
    Parameter("passage_pooling", "mean", Choice(("mean", "max")), "how the vectors of a row's passages become one"),
)
WORD = re.compile(r"\S+")


def spans(count: int, length: int | None, overlap: int) -> list[tuple[int, int]]:
    """Where the passages of `count` tokens begin and end: as few as cover all of them, one of an empty row."""
    if length is None or count <= length:
        return [(0, count)]
    step = length - overlap
    return [(first, min(first + length, count)) for first in range(0, count - overlap, step)]


def passages_of(text: str, length: int | None, overlap: int) -> list[str]:
    """Return the passages of a text, `length` words each, as they stand in it."""
    if length is None:
        return [text]
    places = [found.span() for found in WORD.finditer(text)]
    if len(places) <= length:
        return [text]
    return [text[places[a][0] : places[z - 1][1]] for a, z in spans(len(places), length, overlap)]


def pooled(values: np.ndarray, owners: np.ndarray, rows: int, how: str) -> np.ndarray:
    """(rows, w) the mean or the largest of the values (n, w) of each row's passages; NaN for a row of which one has NaN.
    `owners` (n,) rises."""
    if len(owners) == rows and (owners == np.arange(rows)).all():
        return values
    out = np.full((rows, values.shape[1]), np.nan)
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    if how == "max":
        out[owners[firsts]] = np.maximum.reduceat(values, firsts)
    elif len(firsts):
        counts = np.diff(firsts, append=len(owners))
        # passage after passage, so that a row's sum is the same whatever rows are beside it
        sums = np.zeros((len(firsts), values.shape[1]))
        for place in range(counts.max()):
            some = counts > place
            sums[some] += values[firsts[some] + place]
        out[owners[firsts]] = sums / counts[:, None]
    return out
