"""Writes which-method.md, its figure and its table from what `spark-mlfs compare --config
conf/runs/which-method.toml` wrote.

python notebooks/figures/which_method.py runs/which-method [FOLDER ...] [--fewer FOLDER]

--figure alone draws the figure anew from which-method.csv. Several folders, each with some of the data sets or methods of the plan, are read as one: a trial
does not depend on the others. `--fewer`: the same plan run on fewer rows; its mean ranks stand
beside."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from spark_mlfs.evaluate import summary
from spark_mlfs.evaluate.plan import read_comparison
from spark_mlfs.evaluate.significance import critical_difference, friedman
from spark_mlfs.evaluate.trials import ALL_FEATURES
from spark_mlfs.methods import DEFAULT_METHOD

HERE = Path(__file__).resolve().parent
METRICS = {"averagePrecision": "average precision", "microF1": "micro-F1"}
JUDGES = {"mlknn": "ML-kNN", "br-svm": "linear machines"}
AUTO, STABLE_AT = "auto", 20
FORMER = "scls"  # the default before
DRAWN_FROM = (
    "flags",
    "emotions",
    "yeast",
    "scene",
)  # the sets on whose results the list of auto's methods was drawn up

# of label_power.py: points from power 1, and what their 95 % intervals reach to
BY_POWER = ("average precision", "micro-F1", "macro average precision")
LABEL_POWER = {
    "flags, ¾": ((-0.08, 0.52), (-0.17, 0.78), (-0.24, 1.38)),
    "flags, ½": ((-0.08, 0.52), (-0.17, 0.78), (-0.24, 1.38)),
    "emotions, ¾": ((-0.10, 0.55), (-0.12, 0.33), (-0.53, 1.82)),
    "emotions, ½": ((-0.11, 0.65), (0.07, 0.54), (-0.50, 1.88)),
    "birds, ¾": ((-0.15, 1.29), (0.39, 1.77), (-0.84, 1.00)),
    "birds, ½": ((0.11, 2.26), (1.15, 2.04), (-0.45, 1.33)),
    "yeast, ¾": ((0.00, 0.07), (-0.02, 0.19), (-0.06, 0.31)),
    "yeast, ½": ((0.05, 0.13), (0.04, 0.21), (-0.07, 0.32)),
    "scene, ¾": ((-0.09, 0.25), (0.03, 0.74), (0.02, 0.20)),
    "scene, ½": ((-0.05, 0.31), (-0.10, 0.77), (0.00, 0.22)),
    "enron, ¾": ((0.40, 1.09), (0.75, 1.68), (0.28, 0.58)),
    "enron, ½": ((0.55, 1.01), (0.85, 1.32), (0.21, 0.86)),
    "slashdot, ¾": ((0.25, 0.74), (1.90, 2.60), (-0.59, 1.62)),
    "slashdot, ½": ((0.47, 1.07), (2.13, 2.63), (-1.04, 1.80)),
    "corel5k, ¾": ((0.08, 0.26), (0.06, 0.30), (0.12, 0.15)),
    "corel5k, ½": ((0.11, 0.35), (0.08, 0.51), (0.17, 0.18)),
}

NO_DEFAULT = {
    "deepfs": "trains a network on a sample, and another seed gives another ranking",
    "lasso": "needs the matrix of all pairs of features, 20 GB at 50,000",
    "elastic-net": "as well",
}


def read(folders: list[Path], name: str) -> pd.DataFrame:
    return pd.concat([pd.read_csv(folder / f"{name}.csv") for folder in folders], ignore_index=True)


def ranks(cells: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """The rank of each method (columns) among `methods` by data set, classifier and metric (index):
    mean over splits and sizes."""
    lines = {}
    for judge in JUDGES:
        for metric in METRICS:
            table = summary.summary(cells, "standard", metric, judge, methods).mean
            for data, row in table.dropna().rank(axis=1, ascending=False).iterrows():
                lines[data, judge, metric] = row
    return pd.DataFrame(lines).T.rename_axis(["data", "judge", "metric"])


def fixed_of(found: pd.DataFrame) -> list[str]:
    """The methods that are not auto, or a variant of it."""
    return [m for m in found if m.split()[0] != AUTO]


def best_default(found: pd.DataFrame) -> str:
    return found[fixed_of(found)].mean().idxmin()


def main(folders: list[Path], fewer: Path | None = None) -> None:
    cells, trials, rankings, data = (
        read(folders, name) for name in ("cells", "trials", "rankings", "data")
    )
    data = data.drop_duplicates("name")
    methods = [m for m in dict.fromkeys(cells["method"]) if m != ALL_FEATURES]
    found = ranks(cells, methods)
    order = found.mean().sort_values().index.tolist()
    learned = int(trials["training_rows"].max())
    stable = summary.stability(rankings, cells, data)
    stable = stable[stable["features"] == STABLE_AT].groupby("method")["stability"].mean()
    table = pd.DataFrame({"mean rank": found.mean()})
    for judge, shown in JUDGES.items():
        for metric, title in METRICS.items():
            table[f"{title}, {shown}"] = found.xs((judge, metric), level=("judge", "metric")).mean()
    table["first third"] = (found <= len(methods) / 3).mean()
    table["stability"] = stable
    if fewer:
        table.insert(
            1,
            f"at most {read([fewer], 'data')['rows'].max()} rows",
            ranks(read([fewer], "cells"), methods).mean(),
        )
    table = table.loc[order]
    table.round(4).rename_axis("method").to_csv(HERE.parent / "which-method.csv")
    draw(table)
    (HERE.parent / "which-method.md").write_text(
        page(cells, data, found, table, learned), encoding="utf-8"
    )


COLOURS = {"ML-kNN": "#2f63d6", "linear machines": "#c2541b"}
MARKS = {"average precision": "o", "micro-F1": "^"}


def draw(table: pd.DataFrame) -> None:
    """Each method's mean ranks, and its mean rank against how alike its picks are from fold to
    fold: one above the other, as wide as a phone."""
    plt.rcParams["font.size"] = 10
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(4.4, 0.25 * len(table) + 4.6), height_ratios=[0.25 * len(table) + 0.9, 3.4],
        layout="constrained",
    )  # fmt: skip
    for shown, colour in COLOURS.items():
        for title, mark in MARKS.items():
            ranks_of = table[f"{title}, {shown}"]
            above.scatter(ranks_of, range(len(table)), s=22, marker=mark, color=colour,
                          alpha=0.8, linewidths=0, label=f"{title}, {shown}")  # fmt: skip
    above.scatter(table["mean rank"], range(len(table)), s=130, marker="|", color="black",
                  linewidths=2.5, label="mean rank")  # fmt: skip
    above.set_yticks(range(len(table)), table.index)
    above.set_ylim(len(table) - 0.4, -0.6)
    above.set_xlim(left=table.filter(like=",").min(axis=None) - 2)
    above.set_xlabel("mean rank over the data sets, 1 is best")
    above.legend(
        fontsize=8,
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        handletextpad=0.2,
    )
    below.scatter(table["stability"], table["mean rank"], s=18, color="#2f63d6")
    points, placed = 200 / np.ptp(table["mean rank"]), []  # of a rank, as the panel is tall
    for method, row in table.iterrows():  # best first: names that would touch move down
        left = row["stability"] > table["stability"].max() - 0.1
        near = [place for x, place in placed if abs(x - row["stability"]) < 0.11]
        place = max([row["mean rank"], *(place + 9 / points for place in near)])
        placed.append((row["stability"], place))
        below.annotate(
            str(method),
            (row["stability"], row["mean rank"]),
            (-6 if left else 6, (row["mean rank"] - place) * points),
            textcoords="offset points",
            fontsize=8,
            va="center",
            ha="right" if left else "left",
        )
    below.set(xlabel=f"stability of the {STABLE_AT} best over the folds", ylabel="mean rank")
    below.invert_yaxis()
    for panel in (above, below):
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(alpha=0.2)
    figure.savefig(HERE / "which-method.png", dpi=160, pil_kwargs={"optimize": True})


def markdown(table: pd.DataFrame, heads: list[str]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(
        lines + ["| " + " | ".join(map(str, row)) + " |" for row in table.itertuples()]
    )


def page(
    cells: pd.DataFrame, data: pd.DataFrame, found: pd.DataFrame, table: pd.DataFrame, learned: int
) -> str:
    fixed = fixed_of(found[table.index])
    best, k = best_default(found), len(table)
    by_data = found.groupby(
        "data"
    ).mean()  # one block a data set: classifiers and metrics of one set are no independent blocks
    test = friedman(-by_data[fixed].to_numpy(), True)
    cd = critical_difference(len(fixed), len(by_data))
    near = [m for m in fixed[1:] if found[m].mean() - found[best].mean() < cd]
    text = [
        "# Which method?",
        f"{len(fixed)} ranking methods with their defaults"
        + (" and `auto`" if AUTO in table.index else "")
        + f" on {len(data)} real data sets, judged by ML-kNN and by linear machines on 5, 20 and "
        "80 features, three folds (sizes that are all of the features left out). Larger sets "
        "are cut (rows used: see the data); of those of 1000 features and more every method "
        "sees the 400 of largest χ² on the training rows.",
        _missing(data),
        "## In short",
        f"- **`{best}` has the best mean rank of the fixed methods**, {found[best].mean():.1f} of "
        f"{k}; then "
        + ", ".join(f"`{m}` {found[m].mean():.1f}" for m in fixed[1:6])
        + f". `{FORMER}`, the default before, has {found[FORMER].mean():.1f}, `jmi` "
        f"{found['jmi'].mean():.1f}.",
        f"- The methods differ (Friedman over {len(by_data)} sets: p = {test.f_p:.2g}), but "
        f"{len(by_data)} sets do not tell neighbours apart: the critical difference of mean ranks "
        f"is {cd:.1f}, and {len(near)} methods lie within it of the best.",
        *_of_auto(found, best),
        *_of_default(found),
        *_of_former(found),
        *_of_judges(found, fixed),
        *_of_all(cells, data),
        "",
        "![Ranks of every method, and mean rank against stability](figures/which-method.png)",
        "## Mean ranks",
        "1 is best. *First third*: the share of set × classifier × metric in which a method is "
        f"among the best third; up to {learned} rows to learn from. *Stability*: Nogueira's index "
        "of the 20 best over the three folds, mean over the sets. The same as "
        "[CSV](which-method.csv).",
        "`forward 0.3` and `forward 3` are `forward` with that `penalty`; its default is 1. `auto "
        "+forward` has `forward` in front of the list of `auto`.",
    ]
    shown = table.copy()
    shown["first third"] = (100 * shown["first third"]).map("{:.0f} %".format)
    for column in shown:
        if shown[column].dtype.kind == "f":
            digits = 1 if "rank" in column or "," in column or "rows" in column else 2
            shown[column] = shown[column].map(
                lambda v, digits=digits: "–" if v != v else f"{v:.{digits}f}"
            )
    shown.index = [f"`{m}`" for m in shown.index]
    text += [markdown(shown, ["method", *shown.columns]), "## By data set"]
    for judge, title in JUDGES.items():
        means = summary.summary(
            cells, "standard", "averagePrecision", judge, [*table.index, ALL_FEATURES]
        ).mean
        chosen = [best, "jmi", *([AUTO] if AUTO in means else []), ALL_FEATURES]
        lines = pd.DataFrame(
            {
                "best": [
                    f"{means.loc[d, fixed].max():.4f} (`{means.loc[d, fixed].idxmax()}`)"
                    for d in means.index
                ],
                **{m: means[m].map("{:.4f}".format) for m in chosen},
            },
            index=means.index,
        )
        text += [f"Average precision, {title}:", markdown(lines, ["data", "best method", *chosen])]
    text += [
        "## The data",
        markdown(
            data.set_index("name")[["rows", "features", "labels", "cardinality"]].round(2),
            ["data", "rows used", "features", "labels", "labels a row"],
        ),
        "## The other methods",
        "The same plan had been run before with all 31 methods of that day and without `forward` "
        "([CSV](which-method-all.csv), mean ranks of 32). The methods that are not in the table "
        "above had 15.4 (`spec`) to 26.0 (`relieff`) there, and were not run again; the others "
        "gave the same rankings.",
        *how_much_a_label_counts(),
        "## What it does not say",
        "Parameters were not searched, rows were few (2000 to learn from), and the sets are those "
        "that the field has used for twenty years: mostly text, few with more than fifty labels. "
        "Methods that estimate many numbers gain most from more rows. With your data and your "
        "classifier `spark-mlfs compare` answers better than any table, and `--method auto` "
        "quicker.",
        "Written by `notebooks/figures/which_method.py` from `spark-mlfs compare --config "
        "conf/runs/which-method.toml`.",
    ]
    return (
        "\n\n".join(part for part in text if part)
        .replace("\n\n- ", "\n- ")
        .replace("## In short\n- ", "## In short\n\n- ")
        + "\n"
    )


def how_much_a_label_counts() -> list[str]:
    """The section on `label_power`: what is said follows from `LABEL_POWER`."""
    rows = [
        f"| {name} | {' | '.join(f'{mean:+.2f} ± {half:.2f}' for mean, half in row)} |".replace(
            "-", "−"
        )
        for name, row in LABEL_POWER.items()
    ]
    cells = [cell for row in LABEL_POWER.values() for cell in row]
    apart = sum(abs(mean) > half for mean, half in cells)
    halves = [row for name, row in LABEL_POWER.items() if name.endswith("½")]
    means = [np.mean([row[i][0] for row in halves]) for i in range(len(BY_POWER))]
    found = f"{len(cells) - apart if apart else 'All'} of the {len(cells)} intervals hold 0"
    ways = [f"{abs(mean):.1f} points {'above' if mean > 0 else 'below'}" for mean in means]
    return [
        "## How much a label counts",
        "`label_power` of `forward` weighs a label by 1/variance to this power. Three draws of three folds, 5, 20 and 80 "
        "features, a ridge regression predicts; points from power 1, with 95 % intervals over the splits:",
        "\n".join([f"| set, power | {' | '.join(BY_POWER)} |", "|---|---|---|---|", *rows]),
        f"{found}. Over the {len(halves)} sets ½ is {ways[0]} 1 in {BY_POWER[0]}, {ways[1]} it in {BY_POWER[1]} and {ways[2]} "
        "it in the macro metric, which takes every label alike: the default stays 1. `python "
        "notebooks/figures/label_power.py` measures it.",
    ]


def _missing(data: pd.DataFrame) -> str:
    """Which sets of the plan have not been run, and what that means."""
    plan = read_comparison(str(HERE.parents[1] / "conf" / "runs" / "which-method.toml"))
    out = [d.name for d in plan.data if d.name not in set(data["name"])]
    if not out:
        return ""
    return (
        f"Of the plan's {len(plan.data)} sets these {len(data)} have been run; {', '.join(out)} "
        "have not: what follows holds for data like " + ", ".join(data["name"]) + "."
    )


def _of_auto(found: pd.DataFrame, best: str) -> list[str]:
    """auto beside the best fixed method, over all sets and over those whose results its list of
    methods does not know."""
    if AUTO not in found:
        return []
    by_data = found.groupby("data").mean()
    unseen = by_data.drop(index=[d for d in DRAWN_FROM if d in by_data.index])
    wins = int((by_data[AUTO] < by_data[best]).sum())
    other = best_default(unseen)
    clear = found[AUTO].mean() < found[best].mean() and unseen[AUTO].mean() < unseen[other].mean()
    return [
        f"- **`auto` {'beats' if clear else 'does not clearly beat'} the best fixed method**: mean "
        f"rank {found[AUTO].mean():.1f} against {found[best].mean():.1f}, ahead of `{best}` on "
        f"{wins} of {len(by_data)} sets. But its list of methods was drawn up from the results of "
        f"{', '.join(DRAWN_FROM)}; on the {len(unseen)} others it has {unseen[AUTO].mean():.1f}, "
        f"`{other}` {unseen[other].mean():.1f}."
    ]


def _of_default(found: pd.DataFrame) -> list[str]:
    able = (
        found[[m for m in fixed_of(found) if not m.startswith(f"{DEFAULT_METHOD} ")]]
        .drop(columns=[*NO_DEFAULT], errors="ignore")
        .mean()
        .sort_values()
    )
    why = "; ".join(f"`{name}` {reason}" for name, reason in NO_DEFAULT.items())
    return [
        f"- **The default is `{DEFAULT_METHOD}`**, {able[DEFAULT_METHOD]:.1f}, "
        + (
            "the best"
            if able.index[0] == DEFAULT_METHOD
            else f"after `{able.index[0]}`, {able.iloc[0]:.1f},"
        )
        + f" of those that rank any table, however wide, the same each time. {why}."
    ]


def _of_former(found: pd.DataFrame) -> list[str]:
    """The default beside the one before it, data set by data set."""
    by_data = found.groupby("data")[[DEFAULT_METHOD, FORMER]].mean()
    behind = [d for d in by_data.index if by_data.loc[d, DEFAULT_METHOD] > by_data.loc[d, FORMER]]
    p = wilcoxon(by_data[DEFAULT_METHOD], by_data[FORMER]).pvalue
    return [
        f"- `{DEFAULT_METHOD}` is ahead of `{FORMER}` on {len(by_data) - len(behind)} of "
        f"{len(by_data)} sets (Wilcoxon's signed ranks of the mean ranks: p = {p:.2f}, which "
        f"proves nothing), and behind on {', '.join(behind)}: few rows and features, or texts of "
        "rare words, where `lasso` or `mdmr` do better. Features that speak only together are for "
        "`jmi` and `cmi`."
    ]


def _of_judges(found: pd.DataFrame, fixed: list[str]) -> list[str]:
    said = []
    for judge, title in JUDGES.items():
        means = found[fixed].xs(judge, level="judge").mean().sort_values()
        said.append(
            f"under {title} " + ", ".join(f"`{m}` ({v:.1f})" for m, v in means.head(3).items())
        )
    return [f"- The leaders {'; '.join(said)}."]


def _of_all(cells: pd.DataFrame, data: pd.DataFrame) -> list[str]:
    out = []
    for judge, title in JUDGES.items():
        means = summary.summary(
            cells, "standard", "averagePrecision", judge, list(dict.fromkeys(cells["method"]))
        )
        better, none = summary.against_all(means, "averagePrecision")
        out.append(
            f"- {title}, average precision, mean over the sizes: some selection beats all features "
            f"on {len(better)} of {len(data)} sets"
            + (f"; none does on {', '.join(none)}." if none else ".")
        )
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--fewer", type=Path)
    parser.add_argument("--figure", action="store_true")
    given = parser.parse_args()
    if given.figure:
        draw(pd.read_csv(HERE.parent / "which-method.csv", index_col="method"))
    else:
        main(given.folders, given.fewer)
