"""Draws quickstart.png from what the quickstart wrote: one image, and the pixels selected, by rank.

spark-mlfs select --config conf/runs/quickstart.toml && python notebooks/figures/quickstart.py
runs/quickstart"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from spark_mlfs import local_session, read

KEPT, CELLS, SIDE = 50, 5, 9


def main(folder: Path) -> None:
    spark = local_session("figure", {"spark.log.level": "FATAL"})
    row = read.numbers(spark, num_rows=1).first()
    order = pd.read_csv(folder / "ranking.csv")["index"][:KEPT].to_numpy()
    picked = np.full(CELLS * SIDE * SIDE, np.nan)
    picked[order] = np.arange(KEPT, 0, -1)
    shown = [str(digit) for digit, there in enumerate(row.labels) if there]
    cells = np.bincount(order // (SIDE * SIDE), minlength=CELLS)
    figure, panels = plt.subplots(2, 1, figsize=(7, 3.5), layout="constrained")
    for panel, values, title in (
        (panels[0], row.features.toArray(), f"one instance: its labels are {', '.join(shown)}"),
        (
            panels[1],
            picked,
            f"the {KEPT} pixels selected, dark first: {', '.join(map(str, cells))} of the five "
            "cells",
        ),
    ):
        panel.imshow(np.hstack(np.asarray(values).reshape(CELLS, SIDE, SIDE)), cmap="Blues")
        panel.vlines(np.arange(1, CELLS) * SIDE - 0.5, -0.5, SIDE - 0.5, color="0.8", linewidth=1)
        panel.set_title(title, fontsize=10, loc="left")
        panel.set_axis_off()
    figure.savefig(Path(__file__).with_name("quickstart.png"), dpi=110)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
