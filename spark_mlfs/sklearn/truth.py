"""True labels beside predicted ones: which rows are right; and predictions that know their tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..blocks.block import Block
from ..blocks.label_cells import absent
from ..blocks.table_labels import classes_of, labels_of, objects
from ..blocks.tables import places_of
from ..errors import DataError, quantity


def right_classes(predicted: np.ndarray, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) whether each row's class is the predicted one, and whether it is known."""
    truth = classes_of(y)
    _check_rows(predicted, len(truth))
    if predicted.dtype.kind == "M":
        truth = truth.astype(predicted.dtype)
    values = objects(truth.tolist())
    known = np.array([not absent(value) for value in values])
    return objects(predicted.tolist()) == values, known


def right_labels(
    predicted: np.ndarray,
    y: Any,
    names: Sequence[str],
    by_place: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) whether each row's labels are the predicted ones, and whether all are known.

    `names` are those of the predicted columns; `by_place`: they were made, as training had none."""
    labels = labels_of(y, partial=True)
    if labels.classes is not None and len(names) == 1 and labels.classes.dtype.kind in "biuf":
        labels = labels_of(classes_of(y).reshape(-1, 1))
    rows = Block(np.zeros((labels.rows, 0)), np.zeros(labels.rows, np.int64), **labels.fields)
    _check_rows(predicted, rows.n)
    width = len(names)
    truth = np.zeros((rows.n, width + 1), bool)  # the last one: labels that training had not
    if labels.tagged or labels.classes is not None:
        columns = _columns_of_tags(labels.names, names, by_place)
    else:
        columns = _columns(labels.names, names, by_place or labels.by_place)
    truth[rows.label_rows(), columns[rows.label_indices]] = True
    agrees = truth[:, :width] == predicted
    right = agrees.all(axis=1) & ~truth[:, width]
    known = np.ones(rows.n, bool) if rows.complete is None else rows.complete
    return right, known


def _columns(labels: Sequence[str], names: Sequence[str], by_place: bool) -> np.ndarray:
    """Return the predicted column of each column of labels."""
    columns = np.arange(len(labels))
    if not by_place or set(labels) == set(names):
        columns[places_of(names, labels, "the training rows", "y")] = np.arange(len(names))
    elif len(labels) != len(names):
        raise DataError(
            f"y has {quantity(len(labels), 'label')}, the training rows had {len(names)}"
        )
    return columns


def _columns_of_tags(tags: Sequence[str], names: Sequence[str], by_place: bool) -> np.ndarray:
    """Return the predicted column of each tag, behind all others where there is none."""
    if by_place:
        raise DataError(
            "y has tags, and the labels of the training rows had no names: give a matrix of 0 and 1"
        )
    place = {name: j for j, name in enumerate(names)}
    return np.array([place.get(tag, len(names)) for tag in tags], np.int64)


def _check_rows(predicted: np.ndarray, count: int) -> None:
    if len(predicted) != count:
        raise DataError(
            f"X has {len(predicted)} samples, y has {count}: inconsistent numbers of samples; give "
            "every row its labels"
        )


class TagColumns(np.ndarray):
    """Predictions (rows, q) of a classifier that learned tags, a column a tag.

    What is made of it is an array as any other. But NumPy puts predictions on top of each other by
    tag: labels are 0 where a classifier did not learn a tag; scores of other tags are refused."""

    tags: tuple[Any, ...] | None

    @staticmethod
    def of(values: np.ndarray, tags: Iterable[Any]) -> TagColumns:
        """Return values that know their tags."""
        out = values.view(TagColumns)
        out.tags = tuple(tags)
        return out

    def __array_finalize__(self, other: Any) -> None:
        self.tags = None  # of a part of the columns, or of other ones

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        on_top = function is np.vstack or (function is np.concatenate and not _axis(args, kwargs))
        parts = args[0] if on_top else ()
        if isinstance(parts, list | tuple) and any(getattr(part, "tags", None) for part in parts):
            return _on_top(parts)
        return super().__array_function__(function, types, args, kwargs)

    def __reduce__(self) -> Any:
        plain = np.asarray(self)
        return plain.__reduce__() if self.tags is None else (TagColumns.of, (plain, self.tags))


def _axis(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the axis of a call of NumPy's `concatenate`."""
    return args[1] if len(args) > 1 else kwargs.get("axis", 0)


def _on_top(parts: Sequence[Any]) -> np.ndarray:
    """Return predictions on top of each other, a column a tag of any of them, in ascending order.

    Raises `DataError` for scores of other tags, and beside predictions of unknown columns."""
    tags: list[Any] = [getattr(part, "tags", None) for part in parts]
    if len({*tags}) == 1:
        return TagColumns.of(np.concatenate([*map(np.asarray, parts)]), parts[0].tags)
    union = sorted({tag for known in tags for tag in known or ()})
    if None in tags or any(part.dtype.kind == "f" for part in parts):
        lone = next(tag for tag in union if any(tag not in (known or ()) for known in tags))
        raise DataError(
            f"predictions of classifiers that learned other tags ({lone!r} is not in all) have "
            "other columns: give each the same classes=[…]"
        )
    place = {tag: j for j, tag in enumerate(union)}
    out = np.zeros((sum(map(len, parts)), len(union)), np.int64)
    row = 0
    for part, known in zip(parts, tags, strict=True):
        out[row : row + len(part), [place[tag] for tag in known]] = part
        row += len(part)
    return TagColumns.of(out, union)
