"""Draws label-sketch.png: how the ranking from a sketch of the labels approaches the one from all
labels.

python notebooks/figures/label_sketch.py ../shared/data
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from spark_mlfs import local_session, pipeline, read
from spark_mlfs.blocks.pack import pack
from spark_mlfs.testing import engine_of, rank_here

WIDTHS = (8, 16, 32, 64, 128, 256, 512)
METHODS, BEST = {"ridge": {}, "csfs": {"mu": 50.0}}, 50
DEARER = {
    "omfs": {"factorizer": "svd", "gamma": 50.0},
    "rfs": {"gamma": 50.0, "tol": 1e-3},
}  # where labels are few


def planted(n: int = 5000, d: int = 300, q: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 20 topics; five of the topics' labels each, by a power law; a feature leans to a few
    topics, more or less."""
    rng = np.random.default_rng(4)
    topic = rng.integers(0, 20, n)
    lean = rng.normal(size=(20, d)) * rng.pareto(1.5, d) * 0.1
    x = lean[topic] + rng.normal(size=(n, d))
    within = np.minimum((q // 20 * rng.random((n, 5)) ** 3).astype(int), q // 20 - 1)
    y = np.zeros((n, q))
    y[np.arange(n)[:, None], topic[:, None] * (q // 20) + within] = 1
    return x, y


def curves(title: str, q: int, scores, panel, methods: dict[str, dict]) -> None:
    for method, parameters in methods.items():
        exact = scores(method, {**parameters, "label_sketch": 0})
        widths = [width for width in WIDTHS if width < q]
        values = [scores(method, {**parameters, "label_sketch": width}) for width in widths]
        agreement = [spearmanr(exact, some).statistic for some in values]
        kept = [
            len(np.intersect1d(np.argsort(-exact)[:BEST], np.argsort(-some)[:BEST])) / BEST
            for some in values
        ]
        (line,) = panel.plot(widths, agreement, marker="o", label=f"{method}: rank correlation")
        panel.plot(
            widths,
            kept,
            "--",
            marker=".",
            color=line.get_color(),
            label=f"{method}: share of the best {BEST}",
        )
        for what, shares in (("rank correlation", agreement), (f"of the best {BEST}", kept)):
            print(
                title,
                method,
                what,
                dict(zip(widths, np.round(shares, 3).tolist(), strict=True)),
                flush=True,
            )
    panel.set(xscale="log", title=title, xlabel="columns of the sketch", ylim=(0, 1.02))
    panel.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
    panel.minorticks_off()
    panel.grid(alpha=0.25)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def main(folder: Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    x, y = planted()
    engine = engine_of(x, y)
    curves(
        f"{x.shape[1]} planted features, {y.shape[1]} labels",
        y.shape[1],
        lambda method, parameters: (
            rank_here(engine, pipeline.Request.of(method, parameters))[2].values
        ),
        panels[0],
        METHODS,
    )
    spark = local_session("figure", {"spark.log.level": "FATAL"})
    frame = read.arff(
        spark,
        str(folder / "corel5k" / "Corel5k-sparse.arff.gz"),
        labels=str(folder / "corel5k" / "Corel5k.xml"),
    )
    packed = pack(frame, row_id="id")

    def of_corel(method: str, parameters: dict) -> np.ndarray:
        return pipeline.rank(packed, [pipeline.Request.of(method, parameters)])[0].scores.values

    title = f"corel5k: {packed.profile.d} features, {packed.profile.q} labels"
    curves(title, packed.profile.q, of_corel, panels[1], METHODS | DEARER)
    packed.release()
    spark.stop()
    panels[0].set_ylabel("agreement with all labels")
    panels[1].legend(frameon=False, loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("label-sketch.png"), dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
