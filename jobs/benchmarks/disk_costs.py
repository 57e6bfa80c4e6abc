"""Fits the coefficients by which ``--dry-run`` predicts runs whose rows are on disk (the entry
"on disk" of `spark_mlfs/cli/costs.json`): CPU seconds of whole commands without those that a dry
run says of all but the ranking.

`python -m jobs.benchmarks.disk_costs FOLDER [METHOD ...]`, of corpora in the folder; those of the
case disk, whose largest take some minutes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from .corpora import CORPORA, Corpus, parts_of
from .disk import MEMORY, selection
from .laptop import command
from .model import COSTS, Run, _write, fit

SHARES = {"dense": (0.1, 1.0, 3.0), "sparse": (1.0, 10.0)}  # of the corpora
METHODS = {
    "dense": ("mim", "ridge", "jmi", "quota", "forward"),
    "sparse": ("mim", "quota"),
}
SCREENED = {"jmi": 100}  # features that the method sees


def run_of(corpus: Corpus, method: str, folder: Path) -> Run:
    """Quantities of a ranking over rows on disk, and its CPU seconds."""
    files = parts_of(corpus, folder)
    memory = round(MEMORY * corpus.n / (3e6 if corpus.kind == "dense" else 1e7))
    words = selection(folder, files, method, memory)
    ranked = _foreseen(corpus, method, files, words)
    return corpus.kind, ranked[0], command(folder / "out", *words)["cpu"] - ranked[1]


def _foreseen(
    corpus: Corpus, method: str, files: Sequence[str], words: Sequence[str]
) -> tuple[dict[str, float], float]:
    """Return the quantities of a ranking, and the CPU seconds foreseen of all but it."""
    words_of_dry_run = [sys.executable, "-m", "spark_mlfs.cli", *words, "--dry-run", "--json"]
    words_of_dry_run += ["--engine", "local", "--output", "unwritten"]
    forecast = json.loads(subprocess.run(words_of_dry_run, check=True, capture_output=True).stdout)
    if corpus.kind == "dense":
        values = corpus.n * SCREENED.get(method, corpus.d)
    else:
        column = pq.ParquetFile(files[0]).read(["features"])["features"].combine_chunks()
        values = len(column.field("indices").flatten()) * len(files)
    amounts = {"run": 1.0, "value": float(values)}
    known = json.loads(COSTS.read_text())["on disk"][method][corpus.kind]
    ranking = sum(known.get(term, 0.0) * amount for term, amount in amounts.items())
    return amounts, forecast["cost"]["core_seconds"] - ranking


def run(folder: Path, only: Sequence[str]) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """The coefficients of each method."""
    runs: dict[str, list[Run]] = {}
    for kind, shares in SHARES.items():
        for method in METHODS[kind]:
            for share in shares if not only or method in only else ():
                measured = run_of(CORPORA[kind].scaled(share), method, folder)
                runs.setdefault(method, []).append(measured)
                print(kind, share, method, round(measured[2], 2), flush=True)
    for method, measured in runs.items():
        coefficients = fit(measured)
        yield method, coefficients
        for kind, amounts, seconds in measured:
            foreseen = sum(coefficients[kind].get(term, 0) * amounts[term] for term in amounts)
            print(f"{method} {kind} {foreseen / seconds:.2f} of {seconds:.1f} s", flush=True)


def main() -> None:
    known: dict[str, Any] = json.loads(COSTS.read_text())
    known["on disk"] = {**known["on disk"], **dict(run(Path(sys.argv[1]), sys.argv[2:]))}
    _write(known)


if __name__ == "__main__":
    main()
