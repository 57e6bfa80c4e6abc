"""A ranking at a glance: the notebook's table and the figure show what the ranking says."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from spark_mlfs.faces import show
from spark_mlfs.sklearn import FisherSelector, JMISelector

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

KEPT = pd.DataFrame({"rank": [1, 2, 3], "index": [4, 0, 2], "name": ["<b>", "two", "three"], "relevance": [5.0, 4.0, 3.0]})
KEPT["score"] = KEPT["relevance"]


def widths(html):
    return [int(w) for w in re.findall(r"width:(\d+)%", html)]


def test_table_shows_gains_of_picks_and_scores_of_others():
    html = show.table("jmi: 3 of 5 features", KEPT.assign(score=[0.4, 0.2, 0.1]), [0.4, 0.2, 0.1, 0.05])
    assert widths(html) == [100, 50, 25] and "&lt;b&gt;" in html and "<td>0.2" not in html and ">0.2<" in html
    assert widths(show.table("mim", KEPT, [])) == [100, 80, 60]
    assert widths(show.table("beyond the picks", KEPT.assign(score=[0.4, np.nan, np.nan]), [0.4])) == [100, 80, 60]
    assert widths(show.table("spec", KEPT.assign(score=[-1.0, -2.0, -4.0]), [])) == [75, 50, 0]
    many = pd.concat([KEPT] * 5).assign(rank=range(1, 16))
    assert "and 5 more" in show.table("", many, []) and widths(show.table("", KEPT.iloc[:0], [])) == []


@pytest.mark.parametrize("selector, column", [(JMISelector, None), (FisherSelector, "score")])
def test_figure_of_a_fitted_selector(selector, column):
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(80, 5)), columns=list("abcde"))
    fitted = selector(num_top_features=4).fit(x, (x[["a", "b"]] > 0).astype(int))
    ax = fitted.plot(most=3)
    bars = [bar.get_width() for bar in ax.patches]
    want = fitted.ranking_["score"][:3] if column else fitted.gains_[:3]
    assert np.allclose(bars, want)
    assert [t.get_text().split()[-1] for t in ax.get_yticklabels()] == list(fitted.ranking_["name"][:3])
    assert ax.get_title(loc="left") == f"{fitted.entry.name}: 4 of 5 features: the first 3"
