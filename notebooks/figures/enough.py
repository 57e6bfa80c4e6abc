"""What `forward` gains on held-out rows, pick by pick, and how many are enough: ``python
notebooks/figures/enough.py``."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import spark_mlfs

X, digit = load_digits(return_X_y=True, as_frame=True)
ranking = spark_mlfs.rank(X, digit, method="forward", k=50)
enough = len(spark_mlfs.rank(X, digit, method="forward", k="auto"))
pick, gain, error = (ranking[name] for name in ("rank", "cumulative_gain", "standard_error"))

figure = Figure(figsize=(6.4, 3.2), layout="constrained")
ax = figure.add_subplot(xlabel="features picked", ylabel="cumulative held-out gain", xlim=(0, 51))
ax.fill_between(pick, gain - error, gain + error, color="#2f6fb3", alpha=0.25, linewidth=0)
ax.plot(pick, gain, color="#2f6fb3", linewidth=1.5)
ax.axvline(enough, color="#c2541b", linewidth=1, linestyle="--")
ax.text(enough - 0.6, float(gain.min()), f"auto keeps {enough}", color="#c2541b", ha="right")
ax.spines[["top", "right"]].set_visible(False)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)
