"""Pages of saved pipelines: report.html of `check` (which threshold) and _report.html of `score`
(which labels)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from ..adapters.contributions import WHY
from ..adapters.tags import BEST, output_names
from ..evaluate.metrics import TITLES
from ..markup import fixed, number, render
from ..read.encoded import SHOWN, Gallery, Shown, terms_text
from ..scoring.check import SIDES, Measured
from .figures import Plot, bars, lines

MOST_FIGURES = 60  # labels of a check that get figures of their own
MOST_POINTS = 120  # of such a figure
RATES = ("precision", "recall", "F1")
LEADING = ("microF1", "macroF1", "averagePrecision")  # the numbers that a check shows large
FEWEST_ROWS = 5  # of a label that is measured in sight
SAME_F1 = 5e-3  # what F1 may differ by for a threshold of fewer digits
MOST_DIGITS, MOST_DIGITS_OF_LABEL = 6, 2  # of a threshold
BARS = 20  # of the histogram of scores
MOST_TAGS = 200
MOST_VALUES, MOST_LETTERS = 8, 120  # of a cell


def check_page(
    checked: Measured,
    names: list[str],
    trained: Mapping[str, float],
    manifest: Mapping[str, Any],
    shown: Mapping[str, list[list[Shown]]] | None = None,
) -> str:
    """Return a check as one page.

    `trained` are the labels' shares in training, where they are known, `shown` some labels' rows on
    each of `SIDES`."""
    _, predicted, actual = checked.sums.labels
    curves = [checked.by_threshold(label) for label in range(len(names))]
    by_rows = np.argsort(-actual, kind="stable").tolist()
    occurring = [j for j in by_rows[:MOST_FIGURES] if actual[j]]
    few = [(names[j], _figures(curves[j], checked.by_count(j))) for j in occurring]
    labels = [
        (
            names[j],
            manifest["labels"][j],
            predicted[j],
            _best(curves[j], MOST_DIGITS_OF_LABEL) if actual[j] else None,
        )
        for j in by_rows
    ]
    num_frequent = int((actual >= FEWEST_ROWS).sum())
    metrics = manifest["metrics"]
    of_all = checked.by_threshold()
    counts = checked.by_count()
    return render(
        "check.html.j2",
        checked=checked,
        manifest=manifest,
        trained=trained,
        rates=RATES,
        shown=shown,
        sides=SIDES,
        leading=[(fixed(metrics[name], 3), TITLES[name]) for name in LEADING],
        metrics=[(number(value, 3), name) for name, value in metrics.items()],
        best=_best(of_all),
        top_n=int(counts[2].argmax()) + 1,
        top_n_f1=counts[2].max(),
        figures=_figures(of_all, counts),
        frequent=labels[:num_frequent],
        rare=labels[num_frequent:],
        fewest=FEWEST_ROWS,
        pipeline=_short_path(manifest["model"]["path"]),
        few=few,
    )


def _best(curves: ndarray, most_digits: int = MOST_DIGITS) -> tuple[str, float, float, float]:
    """Return threshold, precision, recall and F1 where F1 is largest.

    Nearly largest: the threshold is a text of as few digits as that allows, at least two."""
    thresholds, _, _, f1 = curves
    best = int(f1.argmax())
    for threshold in _rounded(float(thresholds[best]), most_digits):
        place = min(int(np.searchsorted(thresholds, float(threshold))), len(f1) - 1)
        if f1[place] >= f1[best] - SAME_F1:
            break
    precision, recall, largest = curves[1:, place].tolist()
    return threshold, precision, recall, largest


def _rounded(value: float, most_digits: int) -> Iterator[str]:
    """Yield a value with more and more digits, from two on, each time rounded and rounded down."""
    exponent = math.floor(math.log10(abs(value))) if value else 0
    for digits in range(2, most_digits + 1):
        half = 0.5 * 10.0 ** (exponent - digits + 1)
        for near in (value, value - half):
            yield f"{float(f'{near:.{digits}g}'):.15g}"


def _short_path(path: str) -> str:
    """Return the last folder of a path that is not the pipeline in a selection."""
    folders = [folder for folder in path.rstrip("/").split("/") if folder] or [path]
    return folders[-2] if folders[-1] == "pipeline" and len(folders) > 1 else folders[-1]


def _figures(curves: ndarray, counts: ndarray) -> list[Plot | None]:
    """Return the rates by threshold and by number of labels.

    `curves` (4, thresholds) are threshold, precision, recall and F1, `counts` (3, n) the rates."""
    # beyond these thresholds nearly all, or nearly none, of the labels are given
    first = max(0, int((curves[2] >= 0.99).sum()) - 1)
    last = max(first, int((curves[2] >= 0.01).sum()) - 1)
    points = np.unique(np.linspace(first, last, MOST_POINTS).astype(int))
    thresholds, *rates = curves[:, points].tolist()
    places = {name: i for i, name in enumerate(RATES)}
    by_threshold = dict(zip(RATES, rates, strict=True))
    by_count = dict(zip(RATES, counts.tolist(), strict=True))
    numbers = range(1, counts.shape[1] + 1)
    return [
        lines(
            "by threshold",
            thresholds,
            by_threshold,
            places,
            "threshold",
        ),
        lines(
            "by top-n",
            numbers,
            by_count,
            places,
            "labels a row",
        ),
    ]


def scoring_page(
    manifest: Mapping[str, Any],
    trained: Mapping[str, float],
    shown: pd.DataFrame,
    gallery: Gallery | None = None,
) -> str:
    """Return a run of scoring as a small page.

    It is of its manifest, the labels' shares in training (if known) and some of its rows; a
    `gallery` shows files of the labels, or their best passages."""
    commonest = [*manifest["tags"]][:SHOWN]
    columns = [str(name) for name in shown]
    explained = "explain" in manifest["settings"]["how"]
    files: Sequence[Any] = []
    if gallery is not None:
        tags_and_scores = output_names([]) if "tags" in columns else output_names(["tags"])
        reasons = [name for name in (BEST, WHY) if explained and name in columns]
        files = gallery.of_tags(commonest, columns[0], *tags_and_scores, *reasons)
    if explained and WHY in columns:
        shown = shown.assign(**{WHY: [_terms(tags) for tags in shown[WHY]]})
    return render(
        "scoring.html.j2",
        manifest=manifest,
        tags=manifest["tags"],
        most=MOST_TAGS,
        trained=trained,
        histogram=_histogram(manifest.get("scores") or {}),
        columns=columns,
        rows=[[_cell(value) for value in row] for row in shown.itertuples(index=False)],
        files=dict(zip(commonest, files, strict=False)),
    )


def _histogram(scores: Mapping[str, int]) -> Plot | None:
    """Draw how often the given labels had each score."""
    if not scores:
        return None
    values = [float(score) for score in scores]
    counts, edges = np.histogram(values, BARS, weights=list(scores.values()))
    return bars("labels given", "score", edges.tolist(), counts.tolist())


def _terms(tags: Any) -> str:
    """Return the terms of a row's tags as a text."""
    return "; ".join(terms_text(terms) for terms in tags) if tags is not None else ""


def _cell(value: Any) -> str:
    values = value if isinstance(value, (list, ndarray)) else [value]
    texts = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values]
    text = ", ".join(texts[:MOST_VALUES])
    if len(texts) > MOST_VALUES:
        text += ", …"
    if len(text) > MOST_LETTERS:
        text = text[: MOST_LETTERS - 1] + "…"
    return text
