"""Fits the coefficients by which ``--dry-run`` predicts runs whose rows are on disk (the entry
"on disk" of `spark_mlfs/cli/costs.json`): CPU seconds of rankings with their portraits over rows in
a file. Packing into a file takes what packing in memory does, within what two runs differ by.

`python -m jobs.benchmarks.disk_costs FOLDER [METHOD ...]`, of corpora in the folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .model import COSTS, Run, _write, fit, of_corpus, rank_one

SETS = (
    ("dense", 0.03),  # smaller ones stay in memory
    ("dense", 0.1),
    ("sparse", 0.03),
    ("sparse", 0.1),
)
PICKS = {"mim": 50, "quota": 50, "ridge": 50, "jmi": 20, "forward": 20}
LIMIT = 100.0  # seconds of a ranking
SHARE = 8  # of the bytes of the rows that are allowed, at least the least


def on_disk(format: str, path: Any, options: dict[str, Any]) -> Any:
    """Rows of a corpus in a file."""
    from spark_mlfs.blocks.pack import pack
    from spark_mlfs.frames.frame import LocalSession
    from spark_mlfs.frames.scratch import Scratch
    from spark_mlfs.read import load

    frame = load(LocalSession(), path, format, **options)
    scratch = Scratch(max(8 << 20, frame.bytes // SHARE))
    rows = pack(frame, "features", "labels", "id", scratch=scratch)
    assert rows.on_disk
    rows.memory = 1 << 30
    return rows


def run(folder: Path, only: Sequence[str]) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """The coefficients of each method."""
    runs: dict[str, list[Run]] = {name: [] for name in only or PICKS}
    for name, share in SETS:
        with on_disk(*of_corpus(name, share, folder)) as rows:
            rank_one(rows, "mim", 5, LIMIT)  # what is imported once
            for method, measured in runs.items():
                if name == "dense" or method in ("mim", "quota"):
                    figures = rank_one(rows, method, PICKS[method], LIMIT)
                    measured += [figures] if figures else []
                    print(name, share, method, figures and round(figures[2], 2), flush=True)
    for method, measured in runs.items():
        coefficients = fit(measured)
        yield method, coefficients
        for kind, amounts, seconds in measured:
            foreseen = sum(by * amounts[term] for term, by in coefficients[kind].items())
            print(f"{method} {kind} {foreseen / seconds:.2f} of {seconds:.1f} s", flush=True)


def main() -> None:
    known = json.loads(COSTS.read_text())
    known["on disk"] = {**known.get("on disk", {}), **dict(run(Path(sys.argv[1]), sys.argv[2:]))}
    _write(known)


if __name__ == "__main__":
    main()
