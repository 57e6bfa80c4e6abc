"""Draws gmba-anchors.png: how the ranking from sampled anchors approaches the one from all rows.

python notebooks/figures/gmba_anchors.py ../shared/data
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

COUNTS, SEEDS = (50, 100, 200, 400, 800, 1600), (0, 1, 2)
SETS = {
    "emotions": ["emotions.arff.gz"],
    "yeast": ["yeast.arff.gz"],
    "scene": ["scene-train.arff.gz", "scene-test.arff.gz"],
}


def main(folder: Path) -> None:
    spark = local_session("figure", {"spark.log.level": "FATAL"})
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for name, files in SETS.items():
        frame = read.arff(
            spark,
            [str(folder / name / file) for file in files],
            labels=str(folder / name / f"{name}.xml"),
        )
        packed = pack(frame, row_id="id")
        for panel, mode in zip(panels, ("convex", "closed"), strict=True):

            def scores(mode: str = mode, **more: int) -> np.ndarray:
                request = pipeline.Request.of("gmba", {"mode": mode, **more})
                return pipeline.rank(packed, [request])[0].scores.values  # noqa: B023 - called at once

            exact = scores()
            counts = [count for count in COUNTS if count < packed.profile.n]
            found = np.array(
                [
                    [
                        spearmanr(exact, scores(num_anchors=count, seed=seed)).statistic
                        for seed in SEEDS
                    ]
                    for count in counts
                ]
            )
            panel.plot(
                counts, found.mean(axis=1), marker="o", label=f"{name} ({packed.profile.n} rows)"
            )
            panel.fill_between(counts, found.min(axis=1), found.max(axis=1), alpha=0.15)
            print(
                name, mode, dict(zip(counts, found.mean(axis=1).round(3), strict=True)), flush=True
            )
        packed.release()
    for panel, mode in zip(panels, ("convex", "closed"), strict=True):
        panel.set(xscale="log", title=f'mode="{mode}"', xlabel="anchors", ylim=(0, 1.02))
        panel.set_xticks(COUNTS, [str(count) for count in COUNTS])
        panel.minorticks_off()
        panel.grid(alpha=0.25)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    panels[0].set_ylabel("rank correlation with all rows")
    panels[1].legend(frameon=False, loc="lower right")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("gmba-anchors.png"), dpi=150)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
