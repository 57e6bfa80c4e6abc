"""Kinds of sums that states hold, and what the axes of their arrays stand for.

A kind is a text, such as ``"counts 5 width"``; its sums are arrays of whole numbers, dense or CSR,
by name. `KINDS` has the axes of each array by letter: f features, s the codes of features
(`Coding.offsets`), g groups of rows (`DeclaredLabels`), G those but the first, q labels, m
labelsets, of which the CSR ``sets`` (m, q) holds the labels; L pairs of labels, k all rows and the
labels (`pairs`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import scipy.sparse as sp

from ..blocks.codec import State
from ..blocks.coding import OCCURRENCE

MOMENTS = {
    "n": ".",
    "y": "q",
    "yy": "qq",
    "h": "f",
    "l": "f",
    "hh": "ff",
    "rest": "ff",
    "hy": "fq",
    "ly": "fq",
}
SETS = {"sets": "mq", "counts": "m"}
SUMS = ("h", "l", "hh", "hl", "ll")
KINDS: dict[str, tuple[str, dict[str, str]]] = {  # in words; the axes of its arrays
    "counts": ("counts of values by label", {"table": "sg"}),
    "labelset counts": ("counts of values by labelset", {"table": "sm", **SETS}),
    "labelsets": ("counts of labelsets", SETS),
    "labelset sums": ("sums by labelset", {**dict.fromkeys(SUMS, "fm"), **SETS}),
    "moments": ("sums by label", {"count": "g", **dict.fromkeys(("rows", *SUMS), "fG")}),
    "gram": ("second moments", MOMENTS),
    "groups": ("second moments by group of rows", MOMENTS),
    "folds": ("second moments by fold", MOMENTS),
    "outside": ("", {"outside": "f"}),
    "pairs": ("counts of pairs of features by label", {"joint": ".g"}),
    "plain pairs": ("counts of pairs of features", {"joint": ".."}),
    "label pairs": (
        "counts of pairs of labels by feature",
        {
            "both": ".L",
            "single": ".k",
            "allboth": "L",
            "allsingle": "k",
        },
    ),
}
PAIR_KINDS = ("pairs", "plain pairs", "label pairs")


def name_of(kind: str) -> str:
    """Return the kind without its parameters."""
    return next(name for name in sorted(KINDS, key=len, reverse=True) if kind.startswith(name))


def describe_kind(kind: str) -> str:
    """Return a kind in words."""
    name = name_of(kind)
    words, _ = KINDS[name]
    if kind == name:
        return words
    codes = kind.removeprefix(name).strip().replace(OCCURRENCE, ", or what occurs")
    return f"{words} ({codes})"


def describe_kinds(kinds: Iterable[str]) -> str:
    """Return kinds in words, for messages."""
    return ", ".join(filter(None, map(describe_kind, sorted(kinds))))


def bins_of(kind: str) -> tuple[int, str]:
    """Return the number of bins, and how they are cut, of a kind that has codes."""
    _, num_bins, binning = kind.rsplit(" ", 2)
    return int(num_bins), binning


def base_of(name: str) -> str:
    """Return the name of an array without its group before it and its word (+) after it."""
    return name.removesuffix("+").rpartition(" ")[2]


def axes_of(kind: str, name: str, dims: int) -> str:
    """Return the axes of an array of a kind that has `dims` axes, 0 of a CSR matrix."""
    if name.startswith("all "):
        return "f"
    base = base_of(name)
    axes = KINDS[name_of(kind)][1][base]
    if not dims:
        return axes
    if base == "table":  # a dense table has features and codes apart
        return "f." + axes[1]
    return axes.replace("G", "g") if dims == len(axes) else axes[:dims]


def dims_of(value: Any) -> int:
    """Return how many axes an array has; 0 of a CSR matrix."""
    return 0 if sp.issparse(value) else value.ndim


def select_rows(kind: str, state: State, rows: Mapping[str, Any]) -> State:
    """Return the state with the `rows` by the letter of the first axis; other axes stay whole."""
    out: State = {}
    for name, value in state.items():
        first_axis = axes_of(kind, name, dims_of(value))[:1]
        out[name] = value[rows.get(first_axis, slice(None))]
    return out
