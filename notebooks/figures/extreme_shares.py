"""A half to a twentieth of the words of Reuters-21578 and of a generated power law, behind a label tree.

python notebooks/figures/extreme_shares.py measure FOLDER [SET ...]    a file FOLDER/SET.csv each
python notebooks/figures/extreme_shares.py page FOLDER    extreme.md and extreme.csv, of all files

The sets are reuters and power-law. The tree is napkinXC's (`plt`, pip install
'spark_mlfs[xmc]'), which brings rows to length 1. Reuters is divided as ModApte has it; documents
without a topic are left out. The power law: 20,000 rows to learn from and 5,000 to predict, 20,000
words, 1,000 labels of which the rarer half have fewer than thirty rows each; 60 words a row follow
a power law, and each label of a row adds some five of its own fifteen. Seconds are CPU seconds."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from extreme import ALL, DATA, METHODS, chosen, page, table

from spark_mlfs import CLASSIFIERS
from spark_mlfs.evaluate.at_k import at_k, propensities
from spark_mlfs.params import check
from spark_mlfs.sklearn import TextFeatures
from spark_mlfs.testing import engine_of

SHARES = (0.5, 0.2, 0.1, 0.05)
TOPIC, WORDS, TAGS = 15, 60, 3
SHOWN = {
    "P@1": "precisionAt1",
    "P@3": "precisionAt3",
    "P@5": "precisionAt5",
    "nDCG@5": "ndcgAt5",
    "PSP@1": "normalisedPspAt1",
    "PSP@3": "normalisedPspAt3",
    "PSP@5": "normalisedPspAt5",
}
Rows = tuple[sp.csr_matrix, np.ndarray]


def drawn(rng: np.random.Generator, count: int, size: int | tuple[int, ...], exponent: float):
    """Numbers below `count`, number r with a frequency like (r + 1)^-exponent."""
    share = np.cumsum(np.arange(1, count + 1) ** -exponent)
    return np.searchsorted(share / share[-1], rng.random(size)).clip(max=count - 1)


def power_law(n: int, d: int, q: int, seed: int = 0) -> Rows:
    """0/1 words (n, d) and labels (n, q), sparse."""
    rng = np.random.default_rng(seed)
    topics = rng.permutation(d)[drawn(rng, d, (q, TOPIC), 0.3)]
    names = rng.permutation(d)
    row = np.repeat(np.arange(n), 1 + rng.poisson(TAGS - 1, n))
    label = drawn(rng, q, len(row), 0.8)
    entry, place = np.nonzero(rng.random((len(row), TOPIC)) < 0.3)
    rows = np.concatenate([row[entry], np.repeat(np.arange(n), WORDS)])
    columns = np.concatenate([topics[label[entry], place], names[drawn(rng, d, n * WORDS, 0.9)]])
    x = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, d))
    y = sp.csr_matrix((np.ones(len(row)), (row, label)), shape=(n, q))
    x.data[:] = y.data[:] = 1
    return x, y


def generated() -> tuple[Rows, Rows]:
    x, y = power_law(25_000, 20_000, 1000)
    return (x[:20_000], y[:20_000].toarray()), (x[20_000:], y[20_000:].toarray())


def reuters() -> tuple[Rows, Rows]:
    parts = [pd.read_csv(DATA / "reuters" / f"{name}.csv.gz") for name in ("train", "test")]
    train, test = (part[part["topics"].notna() & part["body"].notna()] for part in parts)
    words = TextFeatures(min_df=2, weight="tfidf").fit(train["body"])
    known = sorted({topic for topics in train["topics"] for topic in topics.split(";")})

    def labels(part: pd.DataFrame) -> np.ndarray:
        tagged = part["topics"].str.split(";")
        return np.array([[topic in topics for topic in known] for topics in map(set, tagged)], int)

    pairs = [(sp.csr_matrix(words.transform(part["body"])), labels(part)) for part in (train, test)]
    return pairs[0], pairs[1]


SETS = {"reuters": reuters, "power-law": generated}


def measure(name: str, file: Path) -> None:
    """Write a line a choice of words; those that are there stay."""
    (x, y), (test, truth) = SETS[name]()
    classifier = CLASSIFIERS.create("plt")
    settings = check(classifier.parameters, {}, "plt")
    propensity = propensities(y.sum(axis=0), len(y))
    lines = pd.read_csv(file).to_dict("records") if file.exists() else []
    choices = [(1.0, ALL), *((share, method) for share in SHARES for method in METHODS)]
    for share, method in choices[len(lines) :]:
        started = time.process_time()
        columns = np.arange(x.shape[1])
        if method != ALL:
            occurs = (x != 0).astype(float)
            columns = np.sort(chosen(method, occurs, y, round(share * x.shape[1])))
        select = time.process_time() - started
        engine = engine_of(x[:, columns], y)
        state = classifier.fit(engine, settings)
        started = time.process_time()
        scores = classifier.predictor(state).predict(test[:, columns])[1]
        predict = time.process_time() - started
        found = at_k(truth, scores, propensities=propensity)
        size = sum(value.nbytes for key, value in state.items() if key.startswith("file "))
        lines.append(
            {
                "set": name,
                "rows": x.shape[0],
                "words": x.shape[1],
                "labels": y.shape[1],
                "share": share,
                "choice": method,
                **{shown: 100 * found[metric] for shown, metric in SHOWN.items()},
                "model MB": size / 2**20,
                "select s": select,
                "predict s": predict,
            }
        )
        pd.DataFrame(lines).to_csv(file, index=False)


def part_of_page(folder: Path) -> str:
    """The tables of the sets that were measured."""
    out = []
    for name in SETS:
        file = folder / f"{name}.csv"
        if not file.exists():
            continue
        known = pd.read_csv(file)
        if len(known) <= len(SHARES) * len(METHODS):
            continue  # not all of it yet
        first = known.iloc[0]
        size = f"{first['rows']} × {first['words']} × {first['labels']}"
        lines = [
            [
                f"{100 * line['share']:.0f} %",
                line["choice"] if line["choice"] in (ALL, METHODS[-1]) else f"`{line['choice']}`",
                *(f"{line[shown]:.1f}" for shown in (*SHOWN, "model MB", "select s")),
            ]
            for _, line in known.iterrows()
        ]
        heads = ["words", "choice", *SHOWN, "model MB", "select s"]
        out.append(f"## A half to a twentieth: {name} ({size})\n\n{table(heads, lines)}\n")
    return "\n".join(out)


if __name__ == "__main__":
    task, place, *sets = sys.argv[1:]
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    if task == "page":
        page(folder, part_of_page(folder))
    else:
        for set_name in sets or SETS:
            measure(set_name, folder / f"{set_name}.csv")
