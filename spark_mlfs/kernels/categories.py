"""Columns of texts, categoricals and dates of a table as features.

Texts and categoricals (pandas, Polars) become codes: the place of the value among those of the
training rows, numbers by size and else by text. To a method that counts a column is one feature,
which no binning cuts; to another it is a group of 0/1 features, one for each value,
``column=value``. A value that training did not have gets the code behind all others: 0 in each of
those. A missing one is missing as a number is, but for ``missing="mean"`` and ``"zero"``, to which
it is a value of its own. Columns of a table of Spark's or of files (`read.layout`) go by their
type: a text is a category, whatever it holds. Dates become days since 1970-01-01, which a notice
says; columns of booleans, and of texts that are all numbers, are numbers."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError, DataNotice
from .matrix import Matrix

MAX_BINS = 250  # codes of a feature


@dataclass
class Categories:
    """What columns by their place stand for: the `values` of categories in the order of their codes
    (None: missing), `dates`. `codes` whether categories stay one feature."""

    missing: str
    codes: bool
    values: dict[int, list[str | None]] = field(default_factory=dict)
    dates: set[int] = field(default_factory=set)
    columns: list[str] = field(default_factory=list)  # their names, once it is fitted

    @property
    def fitted(self) -> bool:
        return bool(self.columns)

    def column(
        self, place: int, name: Any, cells: Any, plain: np.ndarray, text: bool
    ) -> np.ndarray | None:
        """Return a column (n,) as codes or days, None where it is one of numbers. `plain` the cells
        as NumPy has them, `text` whether they are no numbers."""
        some = next(iter(plain[~pd.isna(plain)]), None) if text and plain.dtype == object else None
        date = plain.dtype.kind == "M" or isinstance(some, datetime.date)
        if self.fitted and place in self.dates and not date:
            raise DataError(
                f"column {name!r} of X holds no dates, as it did in training; give dates"
            )
        if date and not self.fitted:
            warnings.warn(
                DataNotice(
                    f"column {name!r} of X holds dates: its feature is days since 1970-01-01"
                ),
                stacklevel=2,
            )
            self.dates.add(place)
        if date and place in self.dates:
            return _days(cells, plain)
        known = self.values.get(place)
        if known is None and (self.fitted or not (text or _is_categorical(cells))):
            return None
        try:
            numbered, found = pd.factorize(cells if hasattr(cells, "iloc") else plain)
        except TypeError:  # lists and the like
            return None
        if known is None:
            if (
                known := self._learned(
                    name, list(found), bool((numbered < 0).any()), _is_categorical(cells)
                )
            ) is None:
                return None
            self.values[place] = known
        code = {value: number for number, value in enumerate(known)}
        return np.array(
            [*(code.get(_text(value), len(known)) for value in found), self.lacking(place)],
            np.float64,
        )[numbered]

    def lacking(self, place: int) -> float:
        """Return the code of a missing value of a category."""
        known = self.values[place]
        return (
            (known.index(None) if None in known else len(known))
            if self.missing in ("mean", "zero")
            else np.nan
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What `of_facts` takes, as Spark's metadata have it: without None."""
        values = {
            self.columns[place]: [v for v in known if v is not None]
            for place, known in self.values.items()
        }
        lacking = [self.columns[place] for place, known in self.values.items() if None in known]
        told = {
            "missing": self.missing,
            "codes": self.codes,
            "columns": self.columns,
            "values": values,
            "lacking": lacking,
        }
        return {**told, "dates": [self.columns[place] for place in sorted(self.dates)]}

    @staticmethod
    def of_facts(facts: Mapping[str, Any], columns: Sequence[str] | None = None) -> Categories:
        """What `facts` tell of: of these columns, or of all in the order of the training."""
        columns = list(facts["columns"] if columns is None else columns)
        known = {
            name: [*values, *([None] if name in facts["lacking"] else [])]
            for name, values in facts["values"].items()
        }
        places = {place: known[name] for place, name in enumerate(columns) if name in known}
        dates = {place for place, name in enumerate(columns) if name in facts["dates"]}
        return Categories(facts["missing"], facts["codes"], places, dates, columns)

    def _learned(
        self, name: Any, found: list[Any], lacking: bool, declared: bool
    ) -> list[str | None] | None:
        """The values of a category in order; None where a column that is not `declared` as one
        holds other than texts."""
        if not found or not (declared or all(isinstance(value, str) for value in found)):
            return None
        if len(found) > MAX_BINS - lacking:
            told = (
                f"column {name!r} of X holds {len(found)} different values, and a category has "
                f"at most {MAX_BINS}"
            )
            raise DataError(f"{told}: join the rare ones, count the words of a text, or drop it")
        numbers = all(isinstance(value, Real) for value in found)
        known: list[str | None] = [
            *map(_text, sorted(found) if numbers else sorted(found, key=_text))
        ]
        if len(set(known)) < len(known):
            raise DataError(
                f"column {name!r} of X holds different values that read alike, such as 1 and '1'; "
                "give one kind"
            )
        return [*known, None] if lacking and self.missing in ("mean", "zero") else known

    @property
    def counts(self) -> np.ndarray:
        """(d,) how many codes each column has, 0 of numbers."""
        return np.array([len(self.values.get(place, ())) for place in range(len(self.columns))])

    @property
    def sources(self) -> np.ndarray:
        """(features,) the place of the column that each feature is made of."""
        return np.repeat(
            np.arange(len(self.columns)), 1 if self.codes else np.maximum(self.counts, 1)
        )

    def _names(self, place: int) -> list[str]:
        name, values = self.columns[place], None if self.codes else self.values.get(place)
        return (
            [name]
            if values is None
            else [f"{name} is missing" if v is None else f"{name}={v}" for v in values]
        )

    @property
    def names(self) -> list[str]:
        return [name for place in range(len(self.columns)) for name in self._names(place)]

    @property
    def groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The features of each column of categories by its name, where they are several."""
        return (
            ()
            if self.codes
            else tuple(
                (self.columns[place], tuple(self._names(place))) for place in sorted(self.values)
            )
        )

    def features(self, x: np.ndarray) -> Matrix:
        """(n, features) of columns x (n, d) of codes and numbers."""
        if self.codes or not self.values:
            return x
        parts, start = [], 0
        for place in sorted(self.values):
            hot = (x[:, [place]] == np.arange(len(self.values[place]))).astype(x.dtype)
            if (
                missing := np.isnan(x[:, place])
            ).any():  # whole numbers, which have no NaN, may be told as integers
                hot[missing] = np.nan
            parts += [x[:, start:place], hot]
            start = place + 1
        return np.concatenate([*parts, x[:, start:]], axis=1)


def _text(value: Any) -> str:
    """A value as text, a whole number alike of any type."""
    whole = isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer()
    return str(int(value) if whole else value)


def _is_categorical(cells: Any) -> bool:
    return type(cells.dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def _days(cells: Any, plain: np.ndarray) -> np.ndarray:
    """Dates as days since 1970-01-01, in UTC where they have a zone; a missing one is NaN."""
    if getattr(cells.dtype, "tz", None) is not None:
        plain = cells.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    times = (
        np.array([None if pd.isna(c) else c for c in plain], "M8[us]")
        if plain.dtype == object
        else plain.astype("M8[us]")
    )
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 86_400e6)
