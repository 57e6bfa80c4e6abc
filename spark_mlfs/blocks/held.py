"""Blocks of this process: in its memory, or in a file where they exceed what it may take.

Of a file each block is mapped when it is asked for, and let go after use: its arrays are pages of
the file, which the system takes back when it needs them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, overload

from ..frames.scratch import Place, Scratch, ScratchFile
from .block import Block, join
from .identity import occurrence_ids, occurrences_in_blocks

Item = TypeVar("Item")
Other = TypeVar("Other")
ROWS_SHARE = 2  # of the memory: blocks that take more go to the file


class OnDemand(Sequence[Item], Generic[Item]):
    """Items that are made by their numbers whenever they are asked for."""

    def __init__(self, make: Callable[[int], Item], numbers: Sequence[int]) -> None:
        self._make = make
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> OnDemand[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | OnDemand[Item]:
        if isinstance(place, slice):
            return OnDemand(self._make, self._numbers[place])
        return self._make(self._numbers[place])

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, self._numbers)

    def map(self, work: Callable[[Item], Other]) -> OnDemand[Other]:
        """Return what `work` makes of the items, each when it is asked for."""
        return OnDemand(lambda number: work(self._make(number)), self._numbers)


def mapped(blocks: Sequence[Block], work: Callable[[Block], Block]) -> Sequence[Block]:
    """Return what `work` makes of blocks: of those on disk each when it is asked for."""
    if isinstance(blocks, OnDemand):
        return blocks.map(work)
    return [work(block) for block in blocks]


def with_unique_ids_of(blocks: Sequence[Block], named: bool, rows_at_once: int) -> Sequence[Block]:
    """Return blocks on disk with ids that no two rows share (`identity.with_unique_ids`).

    So many ids are looked at at once."""
    times = occurrences_in_blocks(blocks, named, rows_at_once)
    if times is None:
        return blocks

    def renumbered(number: int) -> Block:
        block = blocks[number]
        return replace(block, ids=occurrence_ids(block.ids, times[number]))

    return OnDemand(renumbered, range(len(blocks)))


@dataclass(frozen=True)
class Extent:
    """Where a block stands in a file, its `rows`, and how many values it stores."""

    place: Place
    rows: int
    stored: int


class BlocksOnDisk(OnDemand[Block]):
    """Blocks in a file."""

    def __init__(self, file: ScratchFile) -> None:
        super().__init__(self._read, range(0))
        self.file = file
        self.extents: list[Extent] = []
        self._lock = threading.Lock()

    def _read(self, number: int) -> Block:
        return Block.decode(self.file.read(self.extents[number].place))

    def write(self, block: Block) -> None:
        """Add the rows of a block, from any thread."""
        for part in block.parts(round(block.nbytes / self.file.scratch.block_bytes)):
            place = self.file.append(part.encode())
            with self._lock:
                self.extents.append(Extent(place, part.n, int(part.x.size)))
                self._numbers = range(len(self.extents))

    def write_all(self, blocks: list[Block]) -> None:
        """Move the blocks of a list to the file, one after the other."""
        while blocks:
            self.write(blocks.pop(0))


class HeldBlocks(list[Block]):
    """Blocks in memory, until they are moved to a file: the list is empty then."""

    disk: BlocksOnDisk | None = None

    def to_disk(self, scratch: Scratch) -> None:
        """Move the blocks to a file; `PlatformError` where there is no room for it."""
        disk = BlocksOnDisk(scratch.create(sum(block.nbytes for block in self)))
        disk.write_all(self)
        self.disk = disk

    def release(self) -> None:
        if self.disk is not None:
            self.disk.file.close()


def stored(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return the blocks from where they are."""
    disk: BlocksOnDisk | None = getattr(blocks, "disk", None)
    return blocks if disk is None else disk


class Packing:
    """Blocks that the threads of a packing add: in memory, or in a file from where they exceed it.

    `parts` is what the rows come in, all about alike. Without a `scratch` they stay in memory."""

    def __init__(self, scratch: Scratch | None, parts: int, joined_bytes: int) -> None:
        self.blocks = HeldBlocks()
        self._scratch = scratch
        self._parts = parts
        self._parts_done = 0
        self._joined_bytes = joined_bytes
        self._size = 0
        self._waiting: list[Block] = []  # of parts that are done, until they are joined
        self._lists: list[list[Block]] = [self.blocks, self._waiting]
        self._lock = threading.Lock()

    def new_part(self) -> list[Block]:
        """Return a list for the blocks of a part, which `add` fills."""
        part: list[Block] = []
        with self._lock:
            self._lists.append(part)
        return part

    def add(self, block: Block, part: list[Block]) -> None:
        """Add a block to its part, from the thread that reads it."""
        with self._lock:
            part.append(block)
            self._size += block.nbytes
            scratch = self._scratch
            if scratch is None:
                return
            if self.blocks.disk is None and self._size > scratch.memory // ROWS_SHARE:
                self._begin_disk(scratch)
            disk = self.blocks.disk
        if disk is not None:
            self._put(self._large(part))

    def _begin_disk(self, scratch: Scratch) -> None:
        parts_read = max(1, self._parts_done)
        needed = self._size * max(self._parts, parts_read) // parts_read
        disk = BlocksOnDisk(scratch.create(needed))
        self._joined_bytes = min(self._joined_bytes, scratch.block_bytes)
        for blocks in self._lists:
            disk.write_all(blocks)
        self.blocks.disk = disk

    def _large(self, blocks: list[Block]) -> list[Block]:
        """Take the blocks out of a list where they are enough for one."""
        if sum(block.nbytes for block in blocks) < self._joined_bytes:
            return []
        taken = [*blocks]
        blocks.clear()
        return taken

    def _put(self, blocks: list[Block]) -> None:
        """Join blocks, which no list has, and put them where the others are."""
        if not blocks:
            return
        block = join(blocks)
        with self._lock:
            disk = self.blocks.disk
            if disk is None:
                self.blocks.append(block)
        if disk is not None:
            disk.write(block)

    def end_part(self, part: list[Block]) -> None:
        """Take over what a part has not written."""
        with self._lock:
            self._parts_done += 1
            self._lists = [blocks for blocks in self._lists if blocks is not part]
        while part:
            with self._lock:
                self._waiting.append(part.pop(0))
                enough = self._large(self._waiting)
            self._put(enough)

    def end(self) -> HeldBlocks:
        """Return all blocks."""
        remaining = [*self._waiting]
        self._waiting.clear()
        self._put(remaining)
        return self.blocks
