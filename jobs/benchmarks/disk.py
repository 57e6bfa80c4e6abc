"""The case disk: whole commands over rows that exceed the memory they are allowed, in a process of
their own, each beside a bare pass over the same files.

`python jobs/benchmark.py --case disk [--share 0.1] [--only mim jmi ...]` prints a row as soon as it
is measured, and at the whole size writes it into notebooks/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .corpora import CORPORA, Corpus, parts_of
from .laptop import ONE_THREAD, command, measured
from .meter import moment

MEMORY = 2_000_000_000  # bytes, that rows and statistics are allowed
LEAST = 64 << 20  # bytes of the memory of a share
PASS = """
import sys
import pyarrow.parquet as pq
for name in sys.argv[1:]:
    for batch in pq.ParquetFile(name).iter_batches(columns=["features", "tags"]):
        pass
"""
METHODS = {
    "mim": (),
    "ridge": (),
    "jmi": ("--screen", "mim:100", "--num-top-features", "20"),
    "quota": (),
    "forward": ("--num-top-features", "20"),
}
ORDER = [*METHODS, "mim beside"]
COLUMNS = (
    "row",
    "data",
    "memory MB",
    "wall s",
    "CPU s",
    "MB",
    "beside",
    "beside s",
    "wall / beside",
    "measured",
)
PREFACE = """## Rows on disk

`python jobs/benchmark.py --case disk`{options} on {machine}.
Whole commands in a process of their own with `--engine local`, whose rows exceed \
`--memory-bytes`: wall and CPU seconds and peak resident memory, beside one pass of PyArrow over \
the same files, and `mim` beside a tenth of the rows, which memory holds. To reach: 11 × that \
tenth, and 2.3 GB."""


def run(folder: Path, share: float, only: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Every row of the case, or those of `only`."""
    memory = max(LEAST, round(MEMORY * share))
    for method in only or METHODS:
        times, name = (10, "sparse") if method == "mim" else (3, "dense")
        corpus = CORPORA[name].scaled(times * share)
        files = parts_of(corpus, folder)
        figures = _selected(folder, files, method, memory)
        bare = measured("-c", PASS, *files, **ONE_THREAD)
        yield _row(method, corpus, memory, figures, "a pass of PyArrow, one thread", bare)
        if method == "mim":
            tenth = _selected(folder, parts_of(CORPORA[name].scaled(share), folder), method, None)
            yield _row("mim beside", corpus, memory, figures, "mim of a tenth, in memory", tenth)


def _selected(
    folder: Path, files: Sequence[str], method: str, memory: int | None
) -> dict[str, float]:
    return command(folder / "out", *selection(folder, files, method, memory))


def selection(folder: Path, files: Sequence[str], method: str, memory: int | None) -> list[str]:
    """Arguments of a selection from a corpus, in so many bytes of memory."""
    words = ["select", "--data", *files, "--format", "parquet", "--features", "features"]
    words += ["--labels-col", "tags", "--id", "doc", "--no-report", "--method", method]
    words += METHODS[method]
    if memory is not None:
        words += ["--memory-bytes", str(memory), "--scratch", str(folder)]
    return words


def _row(
    row: str,
    corpus: Corpus,
    memory: int,
    figures: dict[str, float],
    about: str,
    beside: dict[str, float],
) -> dict[str, Any]:
    return {
        "row": row,
        "data": corpus.title,
        "memory MB": memory >> 20,
        "wall s": figures["wall"],
        "CPU s": figures["cpu"],
        "MB": figures["MB"],
        "beside": about,
        "beside s": beside["wall"],
        "wall / beside": round(figures["wall"] / beside["wall"], 2),
        "measured": moment(),
    }
