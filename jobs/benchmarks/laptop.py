"""The case laptop: whole commands in a process of their own, without Spark, each beside a bare
script of NumPy and SciPy on one thread that does the same from the same files, or beside Python's
imports alone.

`python jobs/benchmark.py --case laptop [--share 0.1] [--only mim ridge ...]` prints a row as soon
as it is measured, and at the whole size writes it into notebooks/benchmarks.md."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .corpora import CORPORA, parts_of
from .meter import moment

ROOT = Path(__file__).resolve().parents[2]
BARE = {
    "mim": "bare.label_scores((*sys.argv[1:],), 'mim')['values']",
    "ridge": "bare.gram((*sys.argv[1:],))",
}  # products alone
COLUMNS = (
    "row",
    "data",
    "wall s",
    "CPU s",
    "MB",
    "bare",
    "bare s",
    "bare MB",
    "wall / bare",
    "to reach",
    "reached",
    "measured",
)
PREFACE = """## One machine, no Java

`python jobs/benchmark.py --case laptop`{options} on {machine}.
Whole commands in a process of their own with `--engine local`, cold: wall and CPU seconds and \
peak memory. *bare s*: wall
seconds of what *bare* says, a process of its own, too: a script on one thread reads the same \
files and does the products."""
# in words; seconds, a multiple of the bare, MB at most
REACH: dict[str, tuple[str, float | None, float | None, int | None]] = {
    "quickstart": ("3 s", 3.0, None, None),
    "jmi scene": ("2.5 s", 2.5, None, None),
    "score texts": ("10 s", 10.0, None, None),
    "mim": ("1.5 × bare, 2 GB", None, 1.5, 2048),
    "mim tenfold": ("11 × a tenth", None, 11.0, None),
    "ridge": ("15 s", 15.0, None, None),
}
ORDER = [*REACH]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def measured(*command: str, **environment: str) -> dict[str, float]:
    """Wall and CPU seconds and peak memory of a command that must succeed."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:6])} ended with {process.returncode}")
    wall = time.perf_counter() - started
    return {
        "wall": round(wall, 2),
        "cpu": round(used.ru_utime + used.ru_stime, 2),
        "MB": used.ru_maxrss >> 10,
    }


def command(output: Path, *arguments: str) -> dict[str, float]:
    """The figures of ``spark-mlfs`` with an output folder, which is taken away."""
    try:
        return measured(
            "-m",
            "spark_mlfs.cli",
            *arguments,
            "--output",
            str(output),
            "--engine",
            "local",
            "--quiet",
        )
    finally:
        shutil.rmtree(output, ignore_errors=True)


# ---- the rows ----


def _from_parquet(folder: Path, share: float, name: str, method: str) -> Iterator[dict[str, Any]]:
    corpus = CORPORA[name].scaled(share)
    files = parts_of(corpus, folder)
    script = f"from jobs.benchmarks import bare; import sys; print({BARE[method]})"
    bare = measured("-c", script, *files, **ONE_THREAD)
    yield _row(
        method, corpus.title, _selected(folder, files, method), "SciPy script, one thread", bare
    )


def _tenfold(folder: Path, share: float) -> Iterator[dict[str, Any]]:
    few = CORPORA["sparse"].scaled(share)
    many = CORPORA["sparse"].scaled(10 * share)
    tenth = _selected(folder, parts_of(few, folder), "mim")
    figures = _selected(folder, parts_of(many, folder), "mim")
    yield _row("mim tenfold", many.title, figures, "mim of a tenth of the rows", tenth)


def _selected(folder: Path, files: Sequence[str], method: str) -> dict[str, float]:
    columns = (
        "--features",
        "features",
        "--labels-col",
        "tags",
        "--id",
        "doc",
        "--method",
        method,
        "--no-report",
    )
    return command(folder / "out", "select", "--data", *files, "--format", "parquet", *columns)


def _row(
    row: str, data: str, figures: dict[str, float], about_bare: str, bare: dict[str, float]
) -> dict[str, Any]:
    """A line of the table; what is to be reached holds at the whole size."""
    text, seconds, times, most = REACH[row]
    reached = [
        seconds is None or figures["wall"] <= seconds,
        times is None or figures["wall"] <= times * bare["wall"],
    ]
    reached.append(most is None or figures["MB"] <= most)
    return {
        "row": row,
        "data": data,
        "wall s": figures["wall"],
        "CPU s": figures["cpu"],
        "MB": figures["MB"],
        "bare": about_bare,
        "bare s": bare["wall"],
        "bare MB": bare["MB"],
        "wall / bare": round(figures["wall"] / bare["wall"], 2),
        "to reach": text,
        "reached": "yes" if all(reached) else "no",
        "measured": moment(),
    }


def _small(folder: Path, data: Path) -> Iterator[dict[str, Any]]:
    imports = measured("-c", "import numpy, scipy.sparse, pandas, pyarrow.parquet")
    scene = data / "scene"
    for row, arguments in (
        ("quickstart", ("select", "--config", "conf/runs/quickstart.toml")),
        (
            "jmi scene",
            (
                "select",
                "--data",
                *(str(scene / f"scene-{part}.arff.gz") for part in ("train", "test")),
                "--format",
                "arff",
                "--option",
                f"labels={scene / 'scene.xml'}",
                "--method",
                "jmi",
            ),
        ),
    ):
        figures = command(folder / "out", *arguments)
        yield _row(row, "", figures, "imports of NumPy, SciPy, pandas, pyarrow", imports)


def _texts(folder: Path, share: float) -> Iterator[dict[str, Any]]:
    corpus = CORPORA["texts"].scaled(share)
    files, model = parts_of(corpus, folder), folder / "texts-model"
    if not model.exists():
        text = (
            "--option",
            "source=parquet",
            "--option",
            "text=body",
            "--option",
            "labels=topics",
            "--option",
            "id=doc",
        )
        trained = (
            "--method",
            "mim",
            "--num-top-features",
            str(min(500, corpus.d)),
            "--classifier",
            "br-svm",
            "--no-report",
            "--quiet",
        )
        measured(
            "-m",
            "spark_mlfs.cli",
            "select",
            "--data",
            files[0],
            "--format",
            "text",
            *text,
            *trained,
            "--output",
            str(model),
        )
    figures = command(
        folder / "out",
        "score",
        "--model",
        str(model),
        "--data",
        *files,
        "--format",
        "parquet",
        "--id",
        "doc",
    )
    imports = measured("-c", "import numpy, scipy.sparse, pandas, pyarrow.parquet")
    yield _row(
        "score texts", corpus.title, figures, "imports of NumPy, SciPy, pandas, pyarrow", imports
    )


ROWS = ("small", "mim", "tenfold", "ridge", "texts")


def run(
    folder: Path, data: Path, share: float, only: list[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Every row of the case, or those of `only`."""
    for name in only or ROWS:
        if name == "small":
            yield from _small(folder, data)
        elif name in ("texts", "tenfold"):
            yield from (_texts if name == "texts" else _tenfold)(folder, share)
        else:
            yield from _from_parquet(folder, share, "sparse" if name == "mim" else "dense", name)
