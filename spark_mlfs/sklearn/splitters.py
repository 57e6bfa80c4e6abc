"""Splits of rows with even labels as scikit-learn's splitters, such as for `GridSearchCV`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.model_selection._split import _validate_shuffle_split
from sklearn.utils import check_random_state

from ..blocks.folds import positives, stratify
from ..errors import DataError


class MultiLabelStratifiedKFold(StratifiedKFold):
    """K folds, each with its share of every label's rows, or nearly (iterative stratification,
    Sechidis et al. 2011).

    Parameters
    ----------
    n_splits : int, default 5
    shuffle : bool, default False
        whether ties are broken by `random_state`; else always in the same way
    random_state : int | RandomState | None, default None

    `split(X, y)` takes labels as `rank` does: a matrix or frame (n, q) of 0, 1 and NaN, a class a
    row, or a list of tags a row.

    >>> next(MultiLabelStratifiedKFold(2).split(np.zeros((4, 1)), [["a"], ["a"], ["b"], ["b"]]))
    (array([1, 3]), array([0, 2]))"""

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test places of the rows, fold by fold."""
        labels = positives(y)
        count = self.n_splits
        n = labels.shape[0]
        if count > n:
            raise DataError(
                f"Cannot have number of splits n_splits={count} greater than the number of "
                f"samples: n_samples={n}."
            )
        seed = _seed(self.random_state) if self.shuffle else 0
        folds = stratify(np.arange(n), labels, (1 / count,) * count, seed).folds
        for fold in range(count):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


class MultiLabelStratifiedShuffleSplit(StratifiedShuffleSplit):
    """Random training and test rows, each side with its share of every label's rows, or nearly.

    The numbers of rows are nearly the requested ones.

    Parameters
    ----------
    n_splits : int, default 10
    test_size, train_size : float | int | None, default None
        shares of the rows, or numbers of rows; None: what the other leaves, a tenth to test where
        both are None
    random_state : int | RandomState | None, default None

    `split(X, y)` takes labels as `MultiLabelStratifiedKFold` does.

    >>> splitter = MultiLabelStratifiedShuffleSplit(1, test_size=0.5, random_state=0)
    >>> next(splitter.split(np.zeros((4, 1)), [["a"], ["a"], ["b"], ["b"]]))
    (array([0, 2]), array([1, 3]))"""

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test places of the rows, split by split."""
        labels = positives(y)
        n = labels.shape[0]
        train, test = _validate_shuffle_split(
            n, self.test_size, self.train_size, self._default_test_size
        )
        shares = [test / n, train / n]
        if train + test < n:
            shares.append((n - train - test) / n)
        state = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            folds = stratify(np.arange(n), labels, tuple(shares), _seed(state)).folds
            yield np.flatnonzero(folds == 1), np.flatnonzero(folds == 0)


def _seed(random_state: Any) -> int:
    """Return a whole number as it is, else one that is drawn."""
    if isinstance(random_state, int):
        return random_state
    return int(check_random_state(random_state).randint(1 << 31))
