"""The case memory: the peak resident size of whole commands beside what they promise.

`python jobs/benchmark.py --case memory [--only mim mlknn dense/jmi ...] [--limit 300]` runs
``select --engine local --memory-bytes PROMISE`` with every method, and every classifier behind a
selection, and ``score`` by each classifier of `TRAINED` rows, and `COMMANDS`, over data of eight
shapes, each a process of its own. A cell is what the process took above
the same command with ten rows, in MB; it may be `SLACK_MB` above the promise, or the run be refused
in one line that names the setting."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
SLACK_MB = 300
FEW = 10  # rows of the command that is taken off
TRAINED = 1000  # rows that a scorer was trained on
PREFACE = """## Memory beside the promise

`python jobs/benchmark.py --case memory`{options} on {machine}.
`select --engine local --memory-bytes` of each method, and each classifier behind `f-statistic`, \
and `score` by one of 1,000 rows, and other commands, each a process of its own:
MB of its peak resident size above the same command with ten rows. *refused*: in one line, before \
the work; *–*: not for such data;
*slow*: ended after {limit} seconds."""
# of a process that is small itself: a child is told the memory of its parent as its own
CHILD = """
import json, os, subprocess, sys
import threading
limit = float(sys.argv[1])
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
ended = threading.Timer(limit, child.kill)
ended.start()
text = child.stderr.read().decode(errors="replace")
_, status, used = os.wait4(child.pid, 0)
ended.cancel()
code = os.waitstatus_to_exitcode(status)
print(json.dumps({"code": code, "MB": used.ru_maxrss >> 10, "error": text[-600:]}))
"""


def peak(*command: str, limit: float = 600) -> dict[str, Any]:
    """Exit code, peak resident MB and the end of what a Python command says; killed at the
    `limit`."""
    words = [sys.executable, "-S", "-c", CHILD, str(limit), sys.executable, *command]
    ended = subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    return dict(json.loads(ended.stdout))


@dataclass(frozen=True)
class Shape:
    """Data of a shape: what writes so many rows of them into a folder and returns the flags."""

    title: str
    promise_mb: int
    rows: int
    write: Callable[[Path, int], list[str]]


def _columns(folder: Path, n: int, d: int, q: int, labels: int) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    x = rng.random((n, d))
    tags = rng.integers(0, q, (n, labels))
    tags[:, 0] = (x[:, 0] * min(q, 5)).astype(int)
    columns: dict[str, Any] = {f"f{j}": x[:, j] for j in range(d)}
    columns["tags"] = pa.array([[f"l{tag}" for tag in row] for row in tags.tolist()])
    pq.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=2000)
    return [
        "--data",
        f"{folder}/rows.parquet",
        "--format",
        "parquet",
        "--features",
        "f*",
        "--labels-col",
        "tags",
    ]


def _dense(folder: Path, n: int) -> list[str]:
    return _columns(folder, n, 100, 10, 2)


def _wide(folder: Path, n: int) -> list[str]:
    return _columns(folder, n, 4000, 5, 2)


def _labels(folder: Path, n: int) -> list[str]:
    return _columns(folder, n, 20, 2000, 5)


def _sparse(folder: Path, n: int) -> list[str]:
    rng = np.random.default_rng(0)
    x = sp.random(n, 20_000, 0.002, "csr", rng=np.random.default_rng(0))
    lines = []
    for row in range(n):
        cells = slice(x.indptr[row], x.indptr[row + 1])
        order = np.argsort(x.indices[cells])
        pairs = zip(x.indices[cells][order] + 1, x.data[cells][order], strict=True)
        words = [f"{index}:{value:.3g}" for index, value in pairs]
        lines.append(" ".join([str(rng.integers(0, 10)), *words]))
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    return [
        "--data",
        f"{folder}/rows.svm",
        "--format",
        "libsvm",
        "--option",
        "num_features=20000",
        "--option",
        "num_labels=10",
    ]


def _text(folder: Path, n: int) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(20_000)])
    drawn = np.minimum(rng.zipf(1.3, (n, 200)) - 1, len(words) - 1)
    texts = [" ".join(words[row]) for row in drawn]
    tags = [[f"t{tag}" for tag in row] for row in (drawn[:, :2] % 10).tolist()]
    table = pa.table({"text": texts, "tags": pa.array(tags)})
    pq.write_table(table, folder / "rows.parquet", row_group_size=1000)
    return [
        "--data",
        f"{folder}/rows.parquet",
        "--format",
        "text",
        "--labels-col",
        "tags",
        "--option",
        "source=parquet",
        "--option",
        "text=text",
    ]


def _media(folder: Path, n: int) -> list[str]:
    from .media import corpus

    place = corpus(folder, n, 3)
    return [
        "--data",
        f"{place}/labels.csv",
        "--format",
        "files",
        "--labels-col",
        "tags",
        "--option",
        "label_delimiter=;",
    ]


SCORE = "score "
COMMANDS = ("check", "transform", "collect", "compare", "drift")  # of ``+ br-svm``, or for ``mim``
SHAPES = {
    "dense": Shape("10,000 × 100, 10 labels", 64, 10_000, _dense),
    "sparse": Shape("8,000 × 20,000, 40 a row, 10 labels", 64, 8000, _sparse),
    "wide": Shape("400 × 4,000, 5 labels", 64, 400, _wide),
    "labels": Shape("10,000 × 20, 2,000 labels, 5 a row", 64, 10_000, _labels),
    "text": Shape("3,000 texts of 200 words, 10 labels", 64, 3000, _text),
    "media": Shape("300 pictures", 64, 300, _media),
    "dense on disk": Shape("600,000 × 100, 10 labels", 64, 600_000, _dense),
    "sparse on disk": Shape("300,000 × 20,000, 40 a row, 10 labels", 64, 300_000, _sparse),
}


def entries() -> list[str]:
    """Methods, classifiers behind ``f-statistic``, scoring by these, and other commands."""
    from spark_mlfs import CLASSIFIERS, METHODS

    classifiers = [*(f"+ {name}" for name in CLASSIFIERS), "+ cc base=knn"]
    scores = [f"{SCORE}{entry}" for entry in classifiers]
    return [*METHODS, *classifiers, *scores, *COMMANDS]


def flags_of(entry: str) -> list[str]:
    if not entry.startswith("+ "):
        return ["--method", entry]
    name, *values = entry.removeprefix("+ ").split()
    flags = ["--method", "f-statistic", "--classifier", name]
    return [*flags, *(word for value in values for word in ("--classifier-set", value))]


@functools.cache
def written(folder: Path, shape: str, rows: int) -> tuple[str, ...]:
    """The flags of data of a shape, which are written once."""
    place = folder / f"memory-{shape}-{rows}"
    if (place / "flags.json").exists():
        return tuple(json.loads((place / "flags.json").read_text()))
    place.mkdir(parents=True, exist_ok=True)
    flags = SHAPES[shape].write(place, rows)
    (place / "flags.json").write_text(json.dumps(flags))
    return tuple(flags)


def _run(folder: Path, shape: str, rows: int, entry: str, limit: float) -> dict[str, Any]:
    """What a command took, whose output is deleted."""
    output = folder / f"memory-{shape}-out"
    data = written(folder, shape, rows)
    if entry in COMMANDS:
        words = _words_of(entry, folder, shape, data)
    elif entry.startswith(SCORE):
        words = ["score", "--model", _model(folder, shape, entry), *_without(data)]
    else:
        words = ["select", *data, *flags_of(entry), "--num-top-features", "10"]
    bound = ["--memory-bytes", str(SHAPES[shape].promise_mb << 20)]
    try:
        return _peak(words, output, bound, limit)
    finally:
        shutil.rmtree(output, ignore_errors=True)


def _peak(words: list[str], output: Path, bound: list[str], limit: float) -> dict[str, Any]:
    options = ["--engine", "local", "--quiet", "--overwrite", "--output", str(output)]
    return peak("-m", "spark_mlfs.cli", *words, *options, *bound, limit=limit)


@functools.cache
def _model(folder: Path, shape: str, entry: str) -> str:
    """The folder of a selection with the classifier of an entry, fitted to some rows."""
    output = folder / f"memory-{shape}-{entry.replace(' ', '')}"
    flags = flags_of(entry.removeprefix(SCORE))
    words = ["select", *written(folder, shape, min(TRAINED, SHAPES[shape].rows)), *flags]
    trained = _peak([*words, "--num-top-features", "10"], output, [], 600)
    assert trained["code"] == 0, trained
    return str(output)


def _without(
    data: Sequence[str], flags: Sequence[str] = ("--features", "--labels-col")
) -> list[str]:
    """The flags of data without some, such as those of features and labels, which a model knows."""
    pairs = zip(data[::2], data[1::2], strict=True)
    return [word for pair in pairs if pair[0] not in flags for word in pair]


def _words_of(entry: str, folder: Path, shape: str, data: Sequence[str]) -> list[str]:
    """The words of another command over data."""
    if entry == "collect":
        return ["collect", *data, "--for", "mim"]
    if entry == "drift":
        path = data[data.index("--data") + 1]
        return ["drift", *_without(data, ["--data"]), "--before", path, "--after", path]
    if entry == "compare":
        return ["compare", "--config", _plan(folder, shape, data)]
    model = ["--model", _model(folder, shape, f"{SCORE}+ br-svm")]
    known = ["--features"] if entry == "check" else []
    return [entry, *model, *_without(data, known)]


def _plan(folder: Path, shape: str, data: Sequence[str]) -> str:
    """The file of a comparison over data."""
    keys = {"--features": "features", "--labels-col": "labels"}
    pairs = [*zip(data[::2], data[1::2], strict=True)]
    options: dict[str, Any] = {keys[flag]: value for flag, value in pairs if flag in keys}
    further = dict(value.split("=", 1) for flag, value in pairs if flag == "--option")
    options |= {name: int(text) if text.isdigit() else text for name, text in further.items()}
    named = dict(pairs)
    lines = [
        "[[data]]",
        'name = "rows"',
        f"path = {json.dumps(named['--data'])}",
        f"format = {json.dumps(named['--format'])}",
        "[data.options]",
        *(f"{name} = {json.dumps(value)}" for name, value in options.items()),
        '[[method]]\nname = "mim"',
        '[[classifier]]\nname = "br-svm"',
        '[protocol]\nfolds = "50/50"\nsizes = [10]\nall_features = false',
    ]
    path = folder / f"memory-{shape}.toml"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@functools.cache
def _imports(folder: Path, shape: str, entry: str) -> int:
    """MB of a command over ten rows."""
    few = _run(folder, shape, FEW, entry, 600)
    assert few["code"] == 0, few
    return int(few["MB"])


def cell(folder: Path, shape: str, entry: str, limit: float) -> dict[str, Any]:
    """The figures of one run: `text` for the table, MB `above` the imports, whether it `keeps` to
    the promise."""
    ended = _run(folder, shape, SHAPES[shape].rows, entry, limit)
    # scikit-learn is imported
    is_linear = "+ br-svm" in entry or "+ cc" in entry or entry in ("check", "compare")
    base = _imports(folder, shape, "+ br-svm" if is_linear else "mim")
    above = max(0, ended["MB"] - base)
    refused = ended["code"] == 2 and "--memory-bytes" in ended["error"]
    text = {0: str(above), -9: f"slow {above}"}.get(ended["code"], "–")
    if refused:
        text = f"refused {above}"
    elif text == "–" and ended["code"] != 2:
        text = "failed"
    keeps = above <= SHAPES[shape].promise_mb + SLACK_MB and text != "failed"
    if not keeps:
        text = f"**{text}**"
    return {"text": text, "above": above, "keeps": keeps, **ended}


def run(folder: Path, only: Sequence[str] | None, limit: float) -> Iterator[dict[str, Any]]:
    """A row an entry, with a cell a shape; `only` some entries, shapes, or ``shape/entry``."""
    for entry in entries():
        row: dict[str, Any] = {"method, + classifier": entry}
        for shape in SHAPES:
            if only and not {entry, shape, f"{shape}/{entry}"} & set(only):
                continue
            figures = cell(folder, shape, entry, limit)
            row[shape] = figures["text"]
            if not figures["keeps"]:
                print(shape, entry, figures, file=sys.stderr, flush=True)
        if len(row) > 1:
            yield row
