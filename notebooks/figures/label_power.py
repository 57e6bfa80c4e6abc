"""Which `label_power` of `forward`: 1, ¾ and ½ by three metrics. Prints the table of which-method.md.

python notebooks/figures/label_power.py [SET ...]

Three draws of three folds, the same ones for every power; 5, 20 and 80 features (sizes that are all
of them left out), of at most 2,000 rows; a ridge regression of all labels predicts. Differences
from power 1, in points, with 95 % intervals over the splits that allow for the rows that splits
share (Nadeau & Bengio 2003), and the mean over the sets with an interval over the sets."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp
from extreme import DATA, loader, table
from scipy.stats import t
from sklearn.linear_model import Ridge
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    label_ranking_average_precision_score,
)
from sklearn.preprocessing import StandardScaler

import spark_mlfs

SETS = ("flags", "emotions", "birds", "yeast", "scene", "enron", "slashdot", "corel5k")
POWERS = (1.0, 0.75, 0.5)
SIZES = (5, 20, 80)
DRAWS, FOLDS, MOST_ROWS = 3, 3, 2000
METRICS = ("average precision", "micro-F1", "macro average precision")


def measured(scores: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """The three metrics in percent; the macro one over labels that some row has, and some not."""
    varies = truth.any(axis=0) & ~truth.all(axis=0)
    tagged = truth.any(axis=1)
    values = (
        label_ranking_average_precision_score(truth[tagged], scores[tagged]),
        f1_score(truth, scores > 0.5, average="micro"),
        average_precision_score(truth[:, varies], scores[:, varies], average="macro"),
    )
    return tuple(100 * value for value in values)


def measure(name: str) -> pd.DataFrame:
    """A line a split, power and size."""
    x, y = loader.load(name, DATA)[:2]
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    x, y = sp.csr_matrix(x)[rows].astype(float), np.asarray(y)[rows]
    sizes = [size for size in SIZES if size < x.shape[1]]
    lines = []
    for draw in range(DRAWS):
        order = np.random.default_rng(draw + 1).permutation(len(y))
        for fold, test in enumerate(np.array_split(order, FOLDS)):
            train = np.setdiff1d(order, test)
            for power in POWERS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ranking = spark_mlfs.rank(
                        x[train], y[train], "forward", max(sizes), label_power=power
                    )
                for size in sizes:
                    columns = ranking["index"].to_numpy()[:size]
                    inside, outside = (x[part][:, columns].toarray() for part in (train, test))
                    scaler = StandardScaler().fit(inside)
                    inside, outside = scaler.transform(inside), scaler.transform(outside)
                    scores = Ridge(10.0).fit(inside, y[train]).predict(outside)
                    values = dict(zip(METRICS, measured(scores, y[test]), strict=True))
                    lines.append({"split": (draw, fold), "power": power, "size": size, **values})
    return pd.DataFrame(lines)


def interval(values: np.ndarray, factor: float) -> str:
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) * factor**0.5
    return f"{values.mean():+.2f} ± {half:.2f}".replace("-", "−")


def main(names: list[str]) -> None:
    lines = []
    means = []
    for name in names or SETS:
        by_split = measure(name).groupby(["power", "split"])[[*METRICS]].mean()
        line = [name]
        for power in POWERS[1:]:
            differences = by_split.loc[power] - by_split.loc[1.0]
            means.append({"power": power, **differences.mean()})
            factor = 1 / len(differences) + 1 / (FOLDS - 1)
            line += [interval(differences[metric].to_numpy(), factor) for metric in METRICS]
        lines.append(line)
        print(line, flush=True, file=sys.stderr)
    of_sets = pd.DataFrame(means)
    line = ["mean of the sets"]
    for power in POWERS[1:]:
        values = of_sets[of_sets["power"] == power]
        line += [interval(values[metric].to_numpy(), 1 / len(values)) for metric in METRICS]
    heads = ["set", *(f"{power:g}: {metric}" for power in POWERS[1:] for metric in METRICS)]
    print(table(heads, [*lines, line]))


if __name__ == "__main__":
    main(sys.argv[1:])
