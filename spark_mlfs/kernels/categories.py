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
from numpy import ndarray

from ..errors import DataError, DataNotice
from .matrix import Matrix

MAX_BINS = 250  # codes of a feature
VALUE_POLICIES = (
    "mean",
    "zero",
    "keep",
)  # of missing values, to which a missing one of a category is one


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
        self,
        place: int,
        name: Any,
        cells: Any,
        plain: ndarray,
        text: bool,
    ) -> ndarray | None:
        """Return a column (n,) as codes or days, None where it is one of numbers.

        `plain` the cells as NumPy has them, `text` whether they are no numbers."""
        is_date = _is_date(plain, text)
        if is_date and not self.fitted:
            notice = f"column {name!r} of X holds dates: its feature is days since 1970-01-01"
            warnings.warn(DataNotice(notice), stacklevel=2)
            self.dates.add(place)
        if self.fitted and place in self.dates and not is_date:
            raise DataError(
                f"column {name!r} of X holds no dates, as it did in training; give dates"
            )
        if is_date and place in self.dates:
            return _days(cells, plain)
        known = self.values.get(place)
        if known is None and (self.fitted or not (text or _is_categorical(cells))):
            return None
        numbered, distinct = _factorized(cells, plain)
        if distinct is None:
            return None
        if known is None:
            lacking = bool((numbered < 0).any())
            known = self._learned(name, list(distinct), lacking, _is_categorical(cells))
            if known is None:
                return None
            self.values[place] = known
        code = {value: number for number, value in enumerate(known)}
        codes = [code.get(_text(value), len(known)) for value in distinct]
        # `factorize` numbers a missing value −1: the last one
        return np.array([*codes, self.lacking(place)], np.float64)[numbered]

    def lacking(self, place: int) -> float:
        """Return the code of a missing value of a category."""
        if self.missing not in VALUE_POLICIES:
            return np.nan
        known = self.values[place]
        return known.index(None) if None in known else len(known)

    @property
    def facts(self) -> dict[str, Any]:
        """What `of_facts` takes, as Spark's metadata have it: without None."""
        values = {}
        lacking = []
        for place, known in self.values.items():
            name = self.columns[place]
            values[name] = [value for value in known if value is not None]
            if None in known:
                lacking.append(name)
        return {
            "missing": self.missing,
            "codes": self.codes,
            "columns": self.columns,
            "values": values,
            "lacking": lacking,
            "dates": [self.columns[place] for place in sorted(self.dates)],
        }

    @staticmethod
    def of_facts(facts: Mapping[str, Any], columns: Sequence[str] | None = None) -> Categories:
        """Make categories of `facts`: of these columns, or of all in the order of the training."""
        names = list(facts["columns"] if columns is None else columns)
        values = {}
        for place, name in enumerate(names):
            if name in facts["values"]:
                lacking = [None] if name in facts["lacking"] else []
                values[place] = [*facts["values"][name], *lacking]
        dates = {place for place, name in enumerate(names) if name in facts["dates"]}
        return Categories(
            facts["missing"],
            facts["codes"],
            values,
            dates,
            names,
        )

    def _learned(
        self,
        name: Any,
        distinct: list[Any],
        lacking: bool,
        declared: bool,
    ) -> list[str | None] | None:
        """Return the values of a category in order.

        None where a column that is not `declared` as one holds other than texts."""
        if not distinct or not (declared or all(isinstance(value, str) for value in distinct)):
            return None
        if len(distinct) > MAX_BINS - lacking:
            raise DataError(
                f"column {name!r} of X holds {len(distinct)} different values, and a category has "
                f"at most {MAX_BINS}: join the rare ones, count the words of a text, or drop it"
            )
        are_numbers = all(isinstance(value, Real) for value in distinct)
        ordered = sorted(distinct) if are_numbers else sorted(distinct, key=_text)
        known: list[str | None] = [_text(value) for value in ordered]
        if len(set(known)) < len(known):
            raise DataError(
                f"column {name!r} of X holds different values that read alike, such as 1 and '1'; "
                "give one kind"
            )
        return [*known, None] if lacking and self.missing in VALUE_POLICIES else known

    @property
    def counts(self) -> ndarray:
        """(d,) how many codes each column has, 0 of numbers."""
        return np.array([len(self.values.get(place, ())) for place in range(len(self.columns))])

    @property
    def sources(self) -> ndarray:
        """(features,) the place of the column that each feature is made of."""
        features = 1 if self.codes else np.maximum(self.counts, 1)
        return np.repeat(np.arange(len(self.columns)), features)

    def _names(self, place: int) -> list[str]:
        """Return the names of the features of a column."""
        name = self.columns[place]
        values = None if self.codes else self.values.get(place)
        if values is None:
            return [name]
        return [f"{name} is missing" if v is None else f"{name}={v}" for v in values]

    @property
    def names(self) -> list[str]:
        return [name for place in range(len(self.columns)) for name in self._names(place)]

    @property
    def groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The features of each column of categories by its name, where they are several."""
        if self.codes:
            return ()
        places = sorted(self.values)
        return tuple((self.columns[place], tuple(self._names(place))) for place in places)

    def features(self, x: ndarray) -> Matrix:
        """Return (n, features) of columns x (n, d) of codes and numbers."""
        if self.codes or not self.values:
            return x
        parts = []
        start = 0
        for place in sorted(self.values):
            hot = (x[:, [place]] == np.arange(len(self.values[place]))).astype(x.dtype)
            is_missing = np.isnan(x[:, place])
            if is_missing.any():  # whole numbers, which have no NaN, may be told as integers
                hot[is_missing] = np.nan
            parts += [x[:, start:place], hot]
            start = place + 1
        return np.concatenate([*parts, x[:, start:]], axis=1)


def _factorized(cells: Any, plain: ndarray) -> tuple[ndarray, Any]:
    """Return the number of each cell's value, and the values; None of lists and the like."""
    for column in ([cells] if hasattr(cells, "iloc") else []) + [plain]:
        try:
            return pd.factorize(column)
        except NotImplementedError:  # pandas' types of Arrow's that Arrow cannot number
            continue
        except TypeError:
            break
    return plain, None


def _text(value: Any) -> str:
    """Return a value as text, a whole number alike of any type."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return str(int(value) if is_number and float(value).is_integer() else value)


def _is_categorical(cells: Any) -> bool:
    return type(cells.dtype).__name__ in ("CategoricalDtype", "Categorical", "Enum")


def _is_date(plain: ndarray, text: bool) -> bool:
    """Return whether cells are dates, which objects are by the first that is known."""
    if plain.dtype.kind == "M":
        return True
    if not text or plain.dtype != object:
        return False
    return isinstance(next(iter(plain[~pd.isna(plain)]), None), datetime.date)


def _days(cells: Any, plain: ndarray) -> ndarray:
    """Return dates as days since 1970-01-01, in UTC where they have a zone.

    A missing one is NaN."""
    if getattr(cells.dtype, "tz", None) is not None:
        plain = cells.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    if plain.dtype == object:
        plain = np.array([None if pd.isna(cell) else cell for cell in plain], "M8[us]")
    times = plain.astype("M8[us]")
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 86_400e6)
