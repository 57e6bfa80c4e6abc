"""Lines of fastText as a table: ``__label__a __label__b words``, a row each, of text and labels.

Labels are the words that begin with ``__label__``, wherever they stand; blank lines are no rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError
from ..frames.frame import Batches, Kind, LocalFrame, LocalSession
from ..frames.paths import files_of, lines_of, sizes_of
from ..frames.vectors import lists_of
from ..lazy import DataFrame, SparkSession
from .label_cells import composed
from .lines import not_utf8

PREFIX = "__label__"
TEXT, TAGS = "text", "labels"
_KINDS = {TEXT: Kind("string"), TAGS: Kind("array<string>", Kind("string"))}


def open_tagged_lines(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return the rows of files of fastText."""
    task = partial(_rows, source=", ".join(paths[:3]))
    if isinstance(spark, LocalSession):
        names = [name for path in paths for name in files_of(path)]
        frame: LocalFrame = lines_of(names).mapInArrow(task, _KINDS)
        frame.sizes = sizes_of(names, [*_KINDS])
        return frame
    schema = ", ".join(f"{name} {kind.name}" for name, kind in _KINDS.items())
    return spark.read.text([*paths]).select("value").mapInArrow(task, schema)


def _rows(batches: Batches, source: str) -> Batches:
    for batch in batches:
        lines = batch["value"].cast(pa.binary())
        try:
            texts = lines.cast(pa.string())
        except pa.ArrowInvalid:
            bad = next(filter(not_utf8, lines.to_pylist()))
            raise DataError(
                f"{source}: {bad[:40]!r} is not UTF-8; convert the file (iconv -t UTF-8)"
            ) from None
        texts = pc.replace_substring(texts, "\ufeff", "")
        words = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(texts))
        words = words.filter(pc.greater(pc.binary_length(pc.ascii_trim_whitespace(texts)), 0))
        flat = words.flatten()
        rows = np.repeat(np.arange(len(words)), words.value_lengths())
        are_tags = np.asarray(pc.starts_with(flat, PREFIX))
        tags = pc.utf8_slice_codeunits(flat.filter(pa.array(are_tags)), len(PREFIX))
        empty = pc.index(tags, "").as_py()
        if empty >= 0:
            row = int(rows[are_tags][empty])
            excerpt = " ".join(words[row].as_py())[:40]
            raise DataError(
                f"{source}: a label without a name in the line {excerpt!r}; complete it, or write "
                f"{PREFIX} apart"
            )
        lists = lists_of(np.bincount(rows[are_tags], minlength=len(words)), tags)
        counts = np.bincount(rows[~are_tags], minlength=len(words))
        others = lists_of(counts, flat.filter(pa.array(~are_tags)))
        columns = [pc.binary_join(others, " "), composed(lists)]
        yield pa.RecordBatch.from_arrays(columns, [*_KINDS])
