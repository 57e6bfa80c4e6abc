"""Cells of labels: tags that a text holds, and words for 0 and 1; the same code on both engines."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, option
from ..formats import Names
from ..frames.tag_texts import AROUND, QUOTES, parse_tag_text, parted, tidied
from ..frames.vectors import lengths_of, lists_of
from ..params import Choice, Optional, Parameter, Text
from .cells import number

# of what may be a list, or in quotes; `parse_tag_text` and `parted` say whether it is
_MARKED = rf"^\s*([\[{{(<]|(set|frozenset|list|tuple|array|c|character)\()|{QUOTES}"
WORDS = (  # for 0 and 1
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("f", "t"),
    ("off", "on"),
)
LABEL_OPTIONS = (
    Parameter(
        "label_key",
        None,
        Optional(Text("the name of a field")),
        "the field that is the tag, where a cell holds objects of JSON",
    ),
    Parameter(
        "empty_tags",
        "none",
        Choice(("none", "unknown")),
        "what an empty cell of tags is: none of the labels, or not known",
    ),
    Parameter(
        "positive",
        None,
        Optional(Names("a text or a list of texts", listed=True)),
        "the values of a column of labels that are 1, any other being 0; None: 1, true, yes, y, t, "
        "on",
    ),
    Parameter(
        "unknown",
        None,
        Optional(Names("a text or a list of texts", listed=True)),
        "the values of a column of labels that are unknown, such as -1",
    ),
)


@dataclass(frozen=True)
class Tags:
    """How the tags of a text are told.

    `delimiter` stands between them; a text may also be a list (`frames.tag_texts`), of whose
    objects `key` names the field. An `empty` text is "none" of the labels, or "unknown"."""

    column: str
    delimiter: str | None
    key: str | None = None
    empty: str = "none"

    def __call__(self, cells: pa.Array) -> pa.ListArray:
        """Return the tags of each cell, null where they are not known.

        Raises `DataError` for a text that opens like a list and is none."""
        if not pa.types.is_string(cells.type):
            cells = cells.cast(pa.string())
        marked = pc.match_substring_regex(cells, _MARKED)
        if self.delimiter is not None and not pc.any(marked).as_py():
            lists = pc.split_pattern(cells, self.delimiter)
        else:
            coded = cells.dictionary_encode()
            values = [self._parsed(text) for text in coded.dictionary.to_pylist()]
            lists = pa.array(values, pa.list_(pa.string())).take(coded.indices)
        lists = composed(lists)
        if self.empty == "unknown":
            is_empty = pc.equal(pc.utf8_trim(cells, AROUND), "")
            lists = pc.if_else(is_empty, pa.scalar(None, lists.type), lists)
        return lists

    def _parsed(self, text: str) -> list[str]:
        try:
            tags = parse_tag_text(text, self.key)
        except DataError as error:
            raise error.reworded(lambda text: f"column {self.column!r}: {text}") from None
        if tags is not None:
            return tags
        if self.delimiter is None:
            if not text.strip(AROUND):
                return []
            raise DataError(
                f"column {self.column!r} holds lists of tags, and {text[:60]!r}, which is none; "
                f"correct it, or give {option('label_delimiter', ';')}"
            )
        return parted(text, self.delimiter)


def composed(lists: pa.ListArray) -> pa.ListArray:
    """Return tags in Unicode's composed form, in which equal ones are equal.

    Blanks around them go, and so do empty and missing ones."""
    before = lists.flatten()
    tags = tidied(before)
    keep = np.asarray(pc.not_equal(tags, "").fill_null(False))
    if keep.all() and tags.equals(before):
        return lists
    rows = np.repeat(np.arange(len(lists)), lengths_of(lists))[keep]
    counts = np.bincount(rows, minlength=len(lists))
    nulls = lists.is_null() if lists.null_count else None
    return lists_of(counts, tags.filter(pa.array(keep)), nulls)


# ---- words for 0 and 1 ----

Truth = Mapping[str, float]  # what each text of a column stands for: 0, 1, or NaN


def truth_of(
    values: Collection[str | None],
    positive: Sequence[str] | None,
    unknown: Sequence[str] | None,
) -> Truth | None:
    """Return what the values of a column of labels stand for; None where one stands for nothing."""
    texts = [value for value in values if value is not None]
    words = (text.strip().lower() for text in texts if not _among(text, unknown))
    lower = {word for word in words if word}
    pair = next((pair for pair in WORDS if lower and lower <= {*pair}), None)
    truth: dict[str, float] = {}
    for text in texts:
        if _among(text, unknown) or not text.strip():
            truth[text] = math.nan
        elif positive is not None:
            truth[text] = float(_among(text, positive))
        elif pair is not None:
            truth[text] = float(pair.index(text.strip().lower()))
        elif (amount := _number(text)) is not None:
            truth[text] = amount
        else:
            return None
    return truth


def _among(text: str, values: Sequence[str] | None) -> bool:
    amount = _number(text)
    for value in values or ():
        if text.strip() == value or (amount is not None and amount == _number(value)):
            return True
    return False


def _number(text: str) -> float | None:
    try:
        return number(text)
    except ValueError:
        return None


def truth_here(column: pa.Array, truth: Truth) -> pa.Array:
    """Return the labels of a column."""
    texts = pa.array([*truth], pa.string())
    places = pc.index_in(column.cast(pa.string()), texts)
    return pa.array([*truth.values()], pa.float64()).take(places)
