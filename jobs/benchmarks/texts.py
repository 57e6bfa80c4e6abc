"""The case text: whole commands on raw texts, in processes of their own without Spark, each beside
a script that does without the package.

Reuters-21578 by two commands, `select` and `check`, stands beside the eight lines of scikit-learn,
imports included in both. Generated texts stand beside one bare pass that splits them into words.

`python jobs/benchmark.py --case text [--share 0.1] [--only reuters training scoring]` prints a row
as soon as it is measured, and at the whole size writes it into notebooks/benchmarks.md."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .corpora import CORPORA, parts_of
from .laptop import ONE_THREAD, ROOT, measured
from .meter import moment

COLUMNS = (
    "row",
    "data",
    "wall s",
    "CPU s",
    "MB",
    "gives",
    "bare",
    "bare CPU s",
    "CPU / bare",
    "to reach",
    "reached",
    "measured",
)
PREFACE = """## Text

`python jobs/benchmark.py --case text`{options} on {machine}.
Whole commands in processes of their own with `--engine local`: seconds, imports included, and \
peak memory. *bare CPU s* of a process of its own, too: of `reuters` scikit-learn's \
TfidfVectorizer and LinearSVC; of the others one pass of PyArrow that splits the texts into \
words, on one thread."""
# times the bare CPU seconds
REACH = {"reuters": 2.0, "training": 3.0, "training, min_df 2": 3.0, "scoring": 3.0}
ORDER = (*REACH,)
ROWS = ("reuters", "training", "scoring")
TRAINING = {"training": 3, "training, min_df 2": 2}  # texts in which a candidate occurs, at least
SCIKIT_LEARN = """
import json, sys
import numpy as np, pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC
train, test = (pd.read_csv(path) for path in sys.argv[1:3])
texts = [frame["body"].fillna("") for frame in (train, test)]
tags = [[[*filter(None, cell.split(";"))] for cell in frame["topics"].fillna("")]
    for frame in (train, test)]
words, labels = TfidfVectorizer(sublinear_tf=True, min_df=2), MultiLabelBinarizer()
labels.fit([*tags[0], *tags[1]])
Y, truth = (labels.transform(rows) for rows in tags)
known = Y.any(axis=0)
machine = OneVsRestClassifier(LinearSVC())
machine.fit(words.fit_transform(texts[0]), Y[:, known])
scores = np.full(truth.shape, -np.inf)
scores[:, known] = machine.decision_function(words.transform(texts[1]))
scores[~np.isfinite(scores)] = scores[np.isfinite(scores)].min() - 1
print(json.dumps({"microF1": f1_score(truth, scores > 0, average="micro"),
    "macroF1": f1_score(truth[:, known], scores[:, known] > 0, average="macro", zero_division=0),
    "averagePrecision": label_ranking_average_precision_score(truth, scores)}))
"""
SPLIT = r"""
import sys
import pyarrow.compute as pc, pyarrow.parquet as pq
for path in sys.argv[1:]:
    texts = pq.read_table(path, columns=["body"])["body"].combine_chunks()
    for first in range(0, len(texts), 10_000):
        pc.split_pattern_regex(pc.utf8_lower(texts.slice(first, 10_000)), r"[^\p{L}\p{M}\p{N}_]+")
"""
USUAL = {**ONE_THREAD, "PYTHONDONTWRITEBYTECODE": ""}  # as installed packages are: compiled
LOCAL = ("--engine", "local", "--quiet")
GENERATED = ("--format", "text", "--option", "source=parquet", "--option", "text=body",
             "--option", "labels=topics", "--id", "doc")  # fmt: skip


def _command(*words: str) -> dict[str, float]:
    return measured("-m", "spark_mlfs.cli", *words, *LOCAL, **USUAL)


def _sum(*figures: dict[str, float]) -> dict[str, float]:
    return {
        "wall": round(sum(one["wall"] for one in figures), 2),
        "cpu": round(sum(one["cpu"] for one in figures), 2),
        "MB": max(one["MB"] for one in figures),
    }


def _row(
    row: str,
    data: str,
    figures: dict[str, float],
    gives: str,
    about_bare: str,
    bare: dict[str, float],
) -> dict[str, Any]:
    times = figures["cpu"] / bare["cpu"]
    return {
        "row": row,
        "data": data,
        "wall s": figures["wall"],
        "CPU s": figures["cpu"],
        "MB": figures["MB"],
        "gives": gives,
        "bare": about_bare,
        "bare CPU s": bare["cpu"],
        "CPU / bare": round(times, 2),
        "to reach": f"{REACH[row]:g} × bare",
        "reached": "yes" if times <= REACH[row] else "no",
        "measured": moment(),
    }


def _reuters(folder: Path, data: Path) -> dict[str, Any]:
    train, test = (str(data / "reuters" / f"{part}.csv.gz") for part in ("train", "test"))
    columns = ("--labels-col", "topics", "--option", "label_delimiter=;", "--id", "doc_id")
    output = folder / "text-reuters"
    shutil.rmtree(output, ignore_errors=True)
    select = _command(
        *("select", "--data", train, "--text", "body", *columns, "--num-top-features", "2000"),
        *("--classifier", "br-svm", "--no-report", "--output", str(output)),
    )
    check = ("check", "--model", str(output), "--data", test, *columns)
    checked = _command(*check)
    metrics = json.loads(_output("-m", "spark_mlfs.cli", *check, *LOCAL, "--json"))["metrics"]
    peer = measured("-c", SCIKIT_LEARN, train, test, **ONE_THREAD)
    of_peer = json.loads(_output("-c", SCIKIT_LEARN, train, test))
    shutil.rmtree(output)
    return _row(
        "reuters",
        "9,603 and 3,299 documents",
        _sum(select, checked),
        _said(metrics),
        f"scikit-learn, all words: {_said(of_peer)}",
        peer,
    )


def _output(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def _said(metrics: dict[str, float]) -> str:
    names = {
        "microF1": "micro-F1",
        "macroF1": "macro-F1",
        "averagePrecision": "label ranking",
    }
    return ", ".join(
        f"{text} {metrics[name]:.3f}" for name, text in names.items() if name in metrics
    )


def _generated(folder: Path, share: float, rows: Sequence[str]) -> Iterator[dict[str, Any]]:
    corpus = CORPORA["texts"].scaled(share)
    files = parts_of(corpus, folder)
    bare = measured("-c", SPLIT, *files, **ONE_THREAD)
    about_bare = "PyArrow splits the texts into words"
    model = folder / "text-model"
    shutil.rmtree(model, ignore_errors=True)
    for row, least in TRAINING.items() if "training" in rows else ():
        trained = _command(
            *("select", "--data", *files, *GENERATED, "--option", "ngrams=1,2"),
            *("--option", f"min_df={least}", "--method", "mim", "--num-top-features", "2000"),
            *("--no-report", "--output", str(model)),
        )
        manifest = json.loads((model / "manifest.json").read_text())
        gives = f"{manifest['data']['features']:,} candidates"
        yield _row(row, corpus.title, trained, gives, about_bare, bare)
        shutil.rmtree(model)
    if "scoring" in rows:
        _command(
            *("select", "--data", files[0], *GENERATED, "--method", "mim", "--no-report"),
            *("--num-top-features", str(min(500, corpus.d)), "--classifier", "br-svm"),
            *("--output", str(model)),
        )
        output = folder / "text-tags"
        scored = _command(
            *("score", "--model", str(model), "--data", *files, "--format", "parquet"),
            *("--id", "doc", "--output", str(output)),
        )
        shutil.rmtree(output)
        yield _row("scoring", corpus.title, scored, f"{corpus.n:,} rows", about_bare, bare)
        shutil.rmtree(model)


def run(
    folder: Path, data: Path, share: float, only: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Every row of the case, or those of `only`."""
    rows = only or ROWS
    folder.mkdir(parents=True, exist_ok=True)
    measured("-m", "compileall", "-q", "spark_mlfs", **USUAL)
    if "reuters" in rows:
        yield _reuters(folder, data)
    if {"training", "scoring"} & {*rows}:
        yield from _generated(folder, share, rows)
