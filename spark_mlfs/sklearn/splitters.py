"""Splits of rows with even labels as scikit-learn's splitters, such as for `GridSearchCV`."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.model_selection._split import GroupsConsumerMixin, _validate_shuffle_split
from sklearn.utils import check_random_state

from ..blocks.arrays import groups_of
from ..blocks.folds import groups_with_counts, positives, stratify, stratify_groups
from ..blocks.tables import aligned_rows
from ..errors import DataError
from ..typing import Column, Labels


class MultiLabelStratifiedKFold(GroupsConsumerMixin, StratifiedKFold):
    """K folds, each with its share of every label's rows, or nearly (iterative stratification,
    Sechidis et al. 2011).

    Parameters
    ----------
    n_splits : int, default 5
    shuffle : bool, default False
        whether ties are broken by `random_state`; else always in the same way
    random_state : int | RandomState | None, default None

    `split(X, y)` takes labels as `rank` does: a matrix or frame (n, q) of 0, 1 and NaN, a class a
    row, or a list of tags a row. With `groups` (n,), such as patients or days, each group is in one
    fold, and the folds are as even as that allows; a notice says where they are not.

    >>> next(MultiLabelStratifiedKFold(2).split(np.zeros((4, 1)), [["a"], ["a"], ["b"], ["b"]]))
    (array([1, 3]), array([0, 2]))"""

    def split(
        self, X: object, y: Labels, groups: Column | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test places of the rows, fold by fold."""
        labels, keys = _labels_and_groups(X, y, groups)
        count = self.n_splits
        n = labels.shape[0]
        if count > n:
            raise DataError(
                f"Cannot have number of splits n_splits={count} greater than the number of "
                f"samples: n_samples={n}."
            )
        seed = _seed(self.random_state) if self.shuffle else 0
        folds = _folds(labels, keys, (1 / count,) * count, seed)
        for fold in range(count):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)


class MultiLabelStratifiedShuffleSplit(GroupsConsumerMixin, StratifiedShuffleSplit):
    """Random training and test rows, each side with its share of every label's rows, or nearly.

    The numbers of rows are nearly the requested ones.

    Parameters
    ----------
    n_splits : int, default 10
    test_size, train_size : float | int | None, default None
        shares of the rows, or numbers of rows; None: what the other leaves, a tenth to test where
        both are None
    random_state : int | RandomState | None, default None

    `split(X, y, groups)` takes labels and groups as `MultiLabelStratifiedKFold` does.

    >>> splitter = MultiLabelStratifiedShuffleSplit(1, test_size=0.5, random_state=0)
    >>> next(splitter.split(np.zeros((4, 1)), [["a"], ["a"], ["b"], ["b"]]))
    (array([0, 2]), array([1, 3]))"""

    def split(
        self, X: object, y: Labels, groups: Column | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield training and test places of the rows, split by split."""
        labels, keys = _labels_and_groups(X, y, groups)
        n = labels.shape[0]
        train, test = _validate_shuffle_split(
            n, self.test_size, self.train_size, self._default_test_size
        )
        shares = [test / n, train / n]
        if train + test < n:
            shares.append((n - train - test) / n)
        state = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            folds = _folds(labels, keys, tuple(shares), _seed(state))
            yield np.flatnonzero(folds == 1), np.flatnonzero(folds == 0)


def _labels_and_groups(X: Any, y: Any, groups: Any) -> tuple[sp.csr_matrix, np.ndarray | None]:
    """Return labels (n, q) of the rows of X, and the group (n,) of each; None without groups."""
    _, y, groups = aligned_rows(X=X, y=y, groups=groups).values()
    labels = positives(y)
    return labels, None if groups is None else groups_of(groups, labels.shape[0])


def _folds(
    labels: sp.csr_matrix,
    groups: np.ndarray | None,
    shares: tuple[float, ...],
    seed: int,
) -> np.ndarray:
    """Return the fold (n,) of each row, of whole groups where there are some."""
    if groups is None:
        return stratify(np.arange(labels.shape[0]), labels, shares, seed).folds
    counted = groups_with_counts(groups, labels)
    folds = stratify_groups(*counted, shares, seed)
    return folds.folds[np.searchsorted(folds.ids, groups)]


def _seed(random_state: Any) -> int:
    """Return a whole number as it is, else one that is drawn; scikit-learn refuses others."""
    state = check_random_state(random_state)
    return int(random_state) if isinstance(random_state, Integral) else int(state.randint(1 << 31))
