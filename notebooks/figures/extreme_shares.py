"""A half to a twentieth of the words of Reuters-21578 and of a generated power law, behind a label tree.

python notebooks/figures/extreme_shares.py measure FOLDER [SET [CHOICES]]    a file FOLDER/SET.csv each
python notebooks/figures/extreme_shares.py page FOLDER    extreme.md and extreme.csv, of all files

The sets are reuters and power-law; CHOICES is how many choices of words are measured at most, those
that are there stay. The tree is napkinXC's (`plt`, pip install 'spark_mlfs[xmc]'), which brings
rows to length 1. Reuters is divided as ModApte has it; documents without a topic are left out. The
power law: 100,000 rows, 50,000 words, 5,000 labels; 60 words a row follow a power law, and each
label of a row adds some five of its own fifteen. Words are chosen by 95,000 of the rows; the tree
learns from 30,000 of these, with 16 labels at most below a node (Reuters: 100), and predicts the
5,000 others. Seconds are CPU seconds, of the tree's own process too.

`lasso`, behind the 5,000 best by `chi2`, and `forward`, of its default candidates, choose a
tenth of Reuters.
Hashing puts every word into one of so many columns at random, with a random sign, as
scikit-learn's `FeatureHasher` does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from extreme import ALL, DATA, FREQUENCY, chosen, page, table
from matplotlib.figure import Figure

from spark_mlfs import CLASSIFIERS, pipeline
from spark_mlfs.adapters.classes import Fit
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.evaluate.at_k import SumsAtK, propensities
from spark_mlfs.evaluate.metrics import added
from spark_mlfs.params import check
from spark_mlfs.sklearn import TextFeatures

SHARES = (0.1, 0.05, 0.2, 0.5)  # the first of them first, where not all is measured
LARGEST, HASHING = "chi2, largest", "hashing"
PLAIN = (ALL, FREQUENCY, HASHING)  # what is no method of the library
CHOICES = ("quota", FREQUENCY, "mim", "chi2", LARGEST, HASHING)
MATRIX = {"lasso": {"screen": "chi2:5000"}, "forward": {}}  # with a tenth alone: they take longer
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
COSTS = ("model MB", "select s", "train s", "predict s")
Rows = tuple[sp.csr_matrix, sp.csr_matrix]


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
    x, y = power_law(100_000, 50_000, 5000)
    return (x[:95_000], y[:95_000]), (x[95_000:], y[95_000:])


def reuters() -> tuple[Rows, Rows]:
    parts = [pd.read_csv(DATA / "reuters" / f"{name}.csv.gz") for name in ("train", "test")]
    train, test = (part[part["topics"].notna() & part["body"].notna()] for part in parts)
    words = TextFeatures(min_df=2, weight="tfidf").fit(train["body"])
    known = sorted({topic for topics in train["topics"] for topic in topics.split(";")})

    def labels(part: pd.DataFrame) -> sp.csr_matrix:
        tagged = map(set, part["topics"].str.split(";"))
        return sp.csr_matrix([[float(topic in topics) for topic in known] for topics in tagged])

    pairs = [(sp.csr_matrix(words.transform(part["body"])), labels(part)) for part in (train, test)]
    return pairs[0], pairs[1]


SETS = {
    "reuters": (reuters, {}, 10_000),
    "power-law": (generated, {"max_leaves": 16, "most_labels": 5}, 30_000),
}  # the rows, the tree's parameters, and of how many rows at most it learns


def cpu() -> float:
    """CPU seconds of this process and of those that it has started."""
    return sum(os.times()[:4])


def projection(choice: str, x: sp.csr_matrix, y: sp.csr_matrix, count: int) -> sp.csr_matrix:
    """What brings all words to those that a choice keeps, or hashes them to: (words, count)."""
    words = x.shape[1]
    if choice == HASHING:
        rng = np.random.default_rng(0)
        signs, columns = rng.choice([-1.0, 1.0], words), rng.integers(count, size=words)
        return sp.csr_matrix((signs, (np.arange(words), columns)), shape=(words, count))
    occurs = (x != 0).astype(float)
    if choice == LARGEST:
        columns = np.sort(chosen("chi2", occurs, y, count, aggregate="max"))
    else:
        columns = np.sort(chosen(choice, occurs, y, count, **MATRIX.get(choice, {})))
    ones = np.ones(len(columns))
    return sp.csr_matrix((ones, (columns, np.arange(len(columns)))), shape=(words, len(columns)))


def measured(
    choice: str,
    share: float,
    sets: tuple[Rows, Rows],
    given: dict[str, int],
    most: int,
) -> dict[str, float]:
    """Metrics and costs of a choice of words, behind a tree that learns from so many rows."""
    (x, y), (test, truth) = sets
    started = cpu()
    if choice == ALL:
        kept = sp.identity(x.shape[1], format="csr")
    else:
        kept = projection(choice, x, y, round(share * x.shape[1]))
    select = cpu() - started
    x, y = x[:most], y[:most]
    classifier = CLASSIFIERS.create("plt")
    rows = pack_arrays((x @ kept).tocsr(), y)[0]
    started = cpu()
    state = pipeline.compute(rows, Fit(classifier, check(classifier.parameters, given, "plt")))[0]
    train = cpu() - started
    propensity = propensities(np.asarray(y.sum(axis=0)).ravel(), y.shape[0])
    new = (test @ kept).tocsr()
    started = cpu()
    sums = added(
        SumsAtK.of(truth[part], scores, propensities=propensity)
        for part, _, scores in classifier.predictor(state).parts(new, y.shape[1])
    )
    predict = cpu() - started
    found = sums.metrics()
    size = sum(value.nbytes for key, value in state.items() if key.startswith("file "))
    return {
        **{shown: 100 * found[metric] for shown, metric in SHOWN.items()},
        **dict(zip(COSTS, (size / 2**20, select, train, predict), strict=True)),
    }


def measure(name: str, file: Path, most: int) -> None:
    """Write a line a choice of words, so many at most; those that are there stay."""
    read, given, learned = SETS[name]
    sets = read()
    x, y = sets[0]
    lines = pd.read_csv(file).to_dict("records") if file.exists() else []
    done = {(line["share"], line["choice"]) for line in lines}
    choices = [(1.0, ALL), *((share, choice) for share in SHARES for choice in CHOICES)]
    choices += [(SHARES[0], choice) for choice in MATRIX if name == "reuters"]
    for share, choice in [pair for pair in choices if pair not in done][:most]:
        line = {
            "set": name,
            "rows": x.shape[0],
            "words": x.shape[1],
            "labels": y.shape[1],
            "share": share,
            "choice": choice,
        }
        lines.append({**line, **measured(choice, share, sets, given, learned)})
        pd.DataFrame(lines).to_csv(file, index=False)
        print(choice, share, {shown: lines[-1][shown] for shown in ("P@1", *COSTS)}, flush=True)


def part_of_page(folder: Path) -> str:
    """The tables of the sets that were measured."""
    out = []
    for name in SETS:
        file = folder / f"{name}.csv"
        if not file.exists():
            continue
        known = pd.read_csv(file).sort_values("share", ascending=False, kind="stable")
        first = known.iloc[0]
        size = f"{first['rows']} × {first['words']} × {first['labels']}"
        lines = [
            [
                f"{100 * line['share']:.0f} %",
                line["choice"] if line["choice"] in PLAIN else f"`{line['choice']}`",
                *(f"{line[shown]:.1f}" for shown in (*SHOWN, *COSTS)),
            ]
            for _, line in known.iterrows()
        ]
        heads = ["words", "choice", *SHOWN, *COSTS]
        out.append(f"## A half to a twentieth: {name} ({size})\n\n{table(heads, lines)}\n")
    return "\n".join(out)


def draw(folder: Path) -> None:
    """P@1 against the share of the words, a panel a set."""
    files = [folder / f"{name}.csv" for name in SETS]
    sets = [pd.read_csv(file) for file in files if file.exists()]
    figure = Figure(figsize=(8.4, 3.2), layout="constrained")
    for panel, known in enumerate(sets, 1):
        first = known.iloc[0]
        title = f"{first['set']}, {first['labels']} labels"
        axes = figure.add_subplot(1, len(sets), panel, xlabel="words kept, %", ylabel="P@1, %")
        axes.set_title(title, fontsize=10, loc="left")
        for number, choice in enumerate(CHOICES):
            line = known[known["choice"] == choice].sort_values("share")
            style = {"color": f"C{number}", "marker": "os^vDX"[number], "linewidth": 1.2}
            axes.plot(100 * line["share"], line["P@1"], label=choice, markersize=4, **style)
        whole = known.loc[known["choice"] == ALL, "P@1"].iloc[0]
        axes.axhline(whole, color="#1b2330", linewidth=1, linestyle="--", label=ALL)
        axes.set_xscale("log")
        axes.set_xticks([100 * share for share in sorted(SHARES)])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(Path(__file__).with_name("extreme.png"), dpi=150)


if __name__ == "__main__":
    task, place, *words = sys.argv[1:]
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    if task == "page":
        page(folder, part_of_page(folder))
        draw(folder)
    else:
        most = int(words[1]) if len(words) > 1 else 1000
        for set_name in words[:1] or SETS:
            measure(set_name, folder / f"{set_name}.csv", most)
