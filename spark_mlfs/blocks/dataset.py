"""Rows made ready for statistics: blocks, their profile and the names. `Packed` (`blocks.pack`) has
them in a Spark frame, `InMemoryDataset` in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..errors import DataError, ParameterError, option, quantity
from ..frames.names import NumberedNames, first_repeated
from ..frames.scratch import Scratch
from ..kernels.categories import Categories
from ..kernels.missing import IS_MISSING
from .block import Block, join
from .grades import MOST as MOST_GRADED
from .held import HeldBlocks, OnDemand, stored
from .profile import Profile

Own = TypeVar("Own", bound="Releasable")


class Releasable:
    """Something that holds memory until it is released, as a ``with`` does at its end."""

    def release(self) -> None:
        """Gives memory back."""

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@dataclass
class Dataset(Releasable):
    """Packed rows or rows of this process; `named`: the features' names came with the data; `jobs`
    of Spark they took."""

    profile: Profile
    feature_names: Sequence[str] = field(default_factory=list)
    label_names: list[str] = field(default_factory=list)
    named: bool = False
    jobs: int = 0
    categories: Categories | None = None  # what columns were made of, where some were no numbers
    grouped: bool = False  # whether rows have groups (`blocks.groups`)

    def engine(self, budgets: Any) -> Any:
        """Return the engine of the data themselves, None where they are rows.

        Rows are read by the engines of `engine`."""
        return None

    def with_profile(self, profile: Profile) -> Dataset:
        """Return the same rows with another profile."""
        return replace(self, profile=profile)

    def row_name(self, row: list[int]) -> str:
        """Return the name of the row of the profile's problem."""
        raise NotImplementedError


@dataclass(kw_only=True)
class InMemoryDataset(Dataset):
    """All rows in this process, as one block or several, in its memory or on disk (`blocks.held`).

    `block` joins them where they must be one."""

    blocks: list[Block]
    cores: int = 1  # that statistics of the rows may take
    # bytes of this process that rows and statistics may take; None: those of a worker
    memory: int | None = None
    # the replacements of missing values, as `missing.fill_values` takes them
    fitted: dict[str, Any] = field(default_factory=dict)
    scratch: Scratch | None = None  # where rows may go that exceed the memory

    @property
    def block(self) -> Block:
        rows = self.stored
        return join(rows if isinstance(rows, list) else [*rows])

    @property
    def stored(self) -> Sequence[Block]:
        """Return the blocks from where they are."""
        return stored(self.blocks)

    @property
    def on_disk(self) -> bool:
        """Return whether the rows are in a file, of which a block is read when it is asked for."""
        return isinstance(self.stored, OnDemand)

    def to_disk(self) -> bool:
        """Move the rows from memory to a file, where there may be one; return whether that was."""
        blocks = self.blocks
        if self.scratch is None or not isinstance(blocks, HeldBlocks) or blocks.disk is not None:
            return False
        blocks.to_disk(self.scratch)
        return True

    def release(self) -> None:
        if isinstance(self.blocks, HeldBlocks):
            self.blocks.release()

    def row_name(self, row: list[int]) -> str:
        return str(row[0])


def note_categories(rows: Dataset, facts: Mapping[str, Any], counted: bool) -> None:
    """Note which features are categories or dates, by the facts of a reader.

    They are those of `schema.categories_of`. `ParameterError` where some are codes of categories,
    and values are not `counted`."""
    if not facts:
        return
    names = rows.feature_names if facts["codes"] else None
    categories = rows.categories = Categories.of_facts(facts, names)
    if categories.codes:
        rows.profile.categories = categories.counts
        if not counted and categories.values:
            name = categories.columns[min(categories.values)]
            raise ParameterError(
                f"feature {name!r} is a category told as codes, which methods that do not count "
                "values would take for numbers: read it as 0/1 features, "
                f"{option('categories', 'onehot')}"
            )


def check_and_name(
    rows: Dataset,
    features: str,
    labels: str,
    partial_rows: bool = False,
) -> None:
    """Raise `DataError` for data that cannot be used, and fill in names.

    `features`, `labels`: the names of the user's columns; `partial_rows`: they are some of the rows
    that are ranked."""
    p = rows.profile
    if p.problem is not None:
        raise DataError(_problem_of(rows))
    p.without_weights_of_one()
    if p.n == 0:
        raise DataError("the data have no rows; check the path and the filters before this step")
    if p.n == 1 and not partial_rows:
        raise DataError(
            "the data have one row; nothing varies, so nothing can be ranked: give at least two"
        )
    if p.d == 0:
        raise DataError(f"the vectors in {features!r} have no entries; give at least one feature")
    if rows.label_names and p.q > len(rows.label_names):
        raise DataError(
            f"label number {p.q - 1} occurs but the metadata of {labels!r} names "
            f"{quantity(len(rows.label_names), 'label')}"
        )
    p.with_labels(max(p.q, len(rows.label_names)))
    if p.graded and p.total >= MOST_GRADED:
        unit = f"{p.weight_unit:g}"
        raise DataError(
            f"graded labels take weights of at most 2^46 together, in units of the finest, {unit}: "
            "round the weights"
        )
    if not partial_rows:
        _must_vary(p, features, labels)
    rows.feature_names = rows.feature_names or NumberedNames(f"{features}_", 0, p.d)
    if len(rows.feature_names) != p.d:
        raise DataError(
            f"the metadata of {features!r} names {quantity(len(rows.feature_names), 'feature')}, "
            f"its vectors have {p.d}"
        )
    rows.label_names = rows.label_names or [f"{labels}_{index}" for index in range(p.q)]
    if not p.terms:  # of a vocabulary none stands twice
        _must_be_unique(features, rows.feature_names)
    _must_be_unique(labels, rows.label_names)


def _problem_of(rows: Dataset) -> str:
    """Return the message for the first thing that is wrong with the rows."""
    assert rows.profile.problem is not None
    message, row, slot = rows.profile.problem
    place = f"row {rows.row_name(row)}: " if row else ""
    if slot is not None:
        names = rows.feature_names
        place += f"feature {names[slot] if slot < len(names) else slot} "
        if message == IS_MISSING:
            message += "; fill it first (the readers take missing='mean', 'zero' or 'drop')"
    return f"{place}{message}"


def _must_be_unique(column: str, names: Sequence[str]) -> None:
    repeated = first_repeated(names)
    if repeated is not None:
        raise DataError(
            f"two entries of {column!r} are both named {repeated!r}; rename one, names identify a "
            "selection"
        )


def _must_vary(p: Profile, features: str, labels: str) -> None:
    """Raise `DataError` where there is nothing to rank, or to rank by."""
    if not p.positive.any():
        raise DataError(
            f"no row has a label in {labels!r}; check the column and the labels' coding"
        )
    if not p.label_varies.any():
        if p.graded:
            raise DataError(
                f"no label in {labels!r} takes several grades; a ranking needs rows of different "
                "ones"
            )
        reason = "a ranking needs positive and negative rows"
        if p.unknown.any():
            reason += "; cells without a value are unknown: write 0 where a row lacks the label"
        raise DataError(f"no label in {labels!r} takes both values; {reason}")
    if not len(p.varying):
        raise DataError(f"every feature in {features!r} is constant; there is nothing to rank")
