"""Rows of this process: a table as Arrow batches that are read anew at each use.

It has the few operations of a Spark frame that readers and packing need. Its parts are what
partitions are to Spark; several are worked on at once."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import SparkMlfsError
from ..params import Bytes, Choice, Optional, Parameter
from .scratch import Scratch

if TYPE_CHECKING:
    import pyarrow as pa

ENGINE = Parameter(
    "engine",
    "auto",
    Choice(("auto", "local", "spark")),
    "where the run works: this process, or Spark",
)
MEMORY = Parameter(
    "memory_bytes",
    None,
    Optional(Bytes(1 << 20)),
    "bytes that rows and statistics may take together; None: three quarters of this machine's "
    "memory",
)
Outcome = TypeVar("Outcome")
Batches = Iterator["pa.RecordBatch"]


class NeedsSpark(SparkMlfsError):
    """Something that only Spark reads or does."""


def num_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Kind:
    """The type of a column as Spark calls it: ``int``, ``array<double>``, ``vector``.

    `nulls`: entries may be null."""

    name: str
    element: Kind | None = None
    nulls: bool = True

    @property
    def integer(self) -> bool:
        return self.name in _INTEGERS

    @property
    def fractional(self) -> bool:
        return self.name in ("float", "double") or self.name.startswith("decimal")

    @property
    def numeric(self) -> bool:
        return self.integer or self.fractional

    @property
    def number(self) -> bool:
        """Return whether it is numeric or boolean."""
        return self.numeric or self.name == "boolean"

    @property
    def text(self) -> bool:
        return re.match(r"(string|varchar|char)\b", self.name) is not None

    @property
    def vector(self) -> bool:
        return self.name == "vector"

    @property
    def date(self) -> bool:
        return self.name in ("date", "timestamp", "timestamp_ntz")


Kinds = Mapping[str, Kind]  # of columns, by name
_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
CANONICAL = {
    "id": Kind("bigint"),
    "features": Kind("vector"),
    "labels": Kind("vector"),
}
UNKNOWN = Kind("unknown")


def kinds_of(frame: Any) -> dict[str, Kind]:
    """Return the type of each column of a frame of Spark's or of this process."""
    if isinstance(frame, LocalFrame):
        return frame.kinds
    return {field.name: kind_of(field.dataType) for field in frame.schema.fields}


def kind_of(data_type: Any) -> Kind:
    """Return a type of Spark's."""
    element = getattr(data_type, "elementType", None)
    if element is not None:
        return Kind(data_type.simpleString(), kind_of(element), data_type.containsNull)
    if type(data_type).__name__ == "VectorUDT":
        return Kind("vector")
    return Kind(str(data_type.simpleString()))


class LocalSession:
    """This process where Spark's session would be.

    `memory` bytes are for rows and statistics together; rows that exceed them go to the folder
    `scratch` where that helps."""

    version = None

    def __init__(self, memory: int | None = None, scratch: str | None = None) -> None:
        self.memory = default_memory() if memory is None else memory
        self.scratch = Scratch(self.memory, scratch)
        self.scratch.check()


def default_memory() -> int:
    """Return three quarters of the memory of this machine, in bytes.

    Where its control group allows less, of that."""
    total = 4 << 30
    if hasattr(os, "sysconf"):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit) as file:
                total = min(total, int(file.read()))
        except (OSError, ValueError):
            continue
    return total * 3 // 4


@dataclass(frozen=True)
class Part:
    """A part of a table that reads some `columns` alone (None: all).

    `rows`: how many it has, where that is known; `file`: the one that it is of."""

    read: Callable[[Sequence[str] | None], Batches]
    rows: int | None = None
    columns: Sequence[str] | None = None
    file: str = ""

    def __call__(self) -> Batches:
        return self.read(self.columns)


@dataclass
class LocalFrame:
    """Arrow batches with the columns `kinds`, of `parts` that each give them anew.

    `metadata` of columns are as Spark has them. `sizes` of the columns that are read are in bytes,
    and `num_rows` the rows, about, where they are known."""

    parts: Sequence[Callable[[], Batches]]
    kinds: dict[str, Kind]
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    num_rows: int | None = None
    is_cached = False

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())

    @property
    def columns(self) -> list[str]:
        return list(self.kinds)

    @property
    def schema(self) -> dict[str, SimpleNamespace]:
        return {name: SimpleNamespace(metadata=self.metadata.get(name, {})) for name in self.kinds}

    def withMetadata(self, column: str, metadata: Mapping[str, Any]) -> LocalFrame:
        return replace(self, metadata={**self.metadata, column: metadata})

    def select(self, *columns: str) -> LocalFrame:
        """Return some columns in the order of the frame; a `Part` reads no others."""
        names = [name for name in self.kinds if name in columns]

        def selected(batches: Batches) -> Batches:
            return (batch.select(names) for batch in batches)

        parts: list[Callable[[], Batches]] = []
        for part in self.parts:
            if isinstance(part, Part):
                parts.append(replace(part, columns=names))
            else:
                parts.append(partial(_mapped, part, selected))
        kinds = {name: self.kinds[name] for name in names}
        sizes = {name: size for name, size in self.sizes.items() if name in kinds}
        return replace(self, parts=parts, kinds=kinds, sizes=sizes)

    def mapInArrow(
        self, function: Callable[[Batches], Iterable[pa.RecordBatch]], schema: Any
    ) -> LocalFrame:
        """Return what `function` makes of the batches of each part.

        `schema`: the new columns' types by name, or as DDL."""
        if isinstance(schema, str):
            schema = {column.split()[0]: UNKNOWN for column in schema.split(", ")}
        parts = [partial(_mapped, part, function) for part in self.parts]
        return replace(self, parts=parts, kinds=schema, metadata={})

    def batches(self) -> Batches:
        return chain.from_iterable(part() for part in self.parts)

    def collect(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for batches in self.map_parts(list):
            for batch in batches:
                rows += batch.to_pylist()
        return rows

    def toPandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.collect(), columns=self.columns)

    def limit(self, rows: int) -> LocalFrame:
        return replace(self, parts=[partial(_first_rows, self.batches, rows)], num_rows=None)

    def spread(self, rows: int, places: int) -> LocalFrame:
        """Return about so many rows: the first ones of parts that lie apart."""
        last = len(self.parts) - 1
        count = min(places, len(self.parts))
        chosen = [self.parts[last * place // max(1, count - 1)] for place in range(count)]
        parts = [partial(_first_rows, part, -(-rows // count)) for part in chosen]
        return replace(self, parts=parts, num_rows=None)

    def count(self) -> int:
        known = [getattr(part, "rows", None) for part in self.parts]
        if None not in known:
            return sum(known)  # type: ignore[arg-type]
        return sum(self.map_parts(lambda batches: sum(batch.num_rows for batch in batches)))

    def map_parts(self, work: Callable[[Batches], Outcome]) -> Iterator[Outcome]:
        """Iterate over what `work` makes of each part's batches, in order.

        As many parts at once as there are cores."""

        def outcome(part: Callable[[], Batches]) -> Outcome:
            return work(part())

        threads = min(num_cores(), len(self.parts))
        if threads < 2:
            yield from map(outcome, self.parts)
            return
        under_way: deque[Future[Outcome]] = deque()
        with ThreadPoolExecutor(threads) as pool:
            try:
                for part in self.parts:
                    under_way.append(pool.submit(outcome, part))
                    if len(under_way) > threads:
                        yield under_way.popleft().result()
                while under_way:
                    yield under_way.popleft().result()
            finally:
                for future in under_way:
                    future.cancel()


def _first_rows(part: Callable[[], Batches], rows: int) -> Batches:
    for batch in part():
        yield batch.slice(0, rows)
        rows -= batch.num_rows
        if rows <= 0:
            return


def _mapped(part: Callable[[], Batches], function: Callable[[Batches], Iterable[Any]]) -> Batches:
    return iter(function(part()))
