"""A ranking at a glance: the notebook's table and the figure show what the ranking says."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spark_mlfs.adapters import glance
from spark_mlfs.sklearn import FisherSelector, JMISelector

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

PACKAGE = Path(glance.__file__).parents[1]
KEPT = pd.DataFrame(
    {
        "rank": [1, 2, 3],
        "index": [4, 0, 2],
        "name": ["<b>", "two", "three"],
        "relevance": [5.0, 4.0, 3.0],
    }
)
KEPT["score"] = KEPT["relevance"]


def widths(html, what="width"):
    return [int(w) for w in re.findall(rf"{what}:(\d+)%", html)]


def test_table_shows_relevance_as_bars_and_gains_of_picks_as_marks():
    """A criterion that adds up over the picks gave the first of them the shortest bar."""
    html = glance.table(
        "jmi: 3 of 5 features", KEPT.assign(score=[5.0, 9.0, 20.0]), [5.0, 9.0, 20.0, 29.0]
    )
    assert widths(html) == [100, 80, 60] and widths(html, "left") == [25, 45, 100]
    assert (
        "&lt;b&gt;" in html
        and ">relevance<" in html
        and "score at the pick" in html
        and ">20<" in html
    )
    plain = glance.table("mim", KEPT, [])
    assert (
        widths(plain) == [100, 80, 60]
        and widths(plain, "left") == []
        and "at the pick" not in plain
    )
    html = glance.table("beyond the picks", KEPT.assign(score=[0.4, np.nan, np.nan]), [0.4])
    assert widths(html) == [100, 80, 60] and widths(html, "left") == [100] and "nan" not in html
    assert widths(glance.table("spec", KEPT.assign(relevance=[-1.0, -2.0, -4.0]), [])) == [
        75,
        50,
        0,
    ]
    many = pd.concat([KEPT] * 5).assign(rank=range(1, 16))
    assert (
        "and 5 more" in glance.table("", many, [])
        and widths(glance.table("", KEPT.iloc[:0], [])) == []
    )


@pytest.mark.parametrize("selector", [JMISelector, FisherSelector])
def test_figure_of_a_fitted_selector(selector):
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(80, 5)), columns=list("abcde"))
    fitted = selector(num_top_features=4).fit(x, (x[["a", "b"]] > 0).astype(int))
    ax = fitted.plot(most=3)
    bars = [bar.get_width() for bar in ax.patches]
    assert np.allclose(bars, fitted.ranking_["relevance"][:3]) and ax.get_xlabel() == "relevance"
    marks = [
        line.get_xdata() for other in ax.figure.axes if other is not ax for line in other.lines
    ]
    assert np.array_equal(marks, [fitted.gains_[:3]] if selector is JMISelector else [])
    assert [t.get_text().split()[-1] for t in ax.get_yticklabels()] == list(
        fitted.ranking_["name"][:3]
    )
    assert ax.get_title(loc="left") == f"{fitted.entry.name}: 4 of 5 features: the first 3"


def test_templates_of_a_zip_and_none_before_a_page_is_asked_for(tmp_path):
    """As `--py-files` gives the package to a cluster: what stands beside the modules comes
    along."""
    zipped = tmp_path / "spark_mlfs.zip"
    with zipfile.ZipFile(zipped, "w") as out:
        for path in [p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".j2", ".css")]:
            out.write(path, path.relative_to(PACKAGE.parent))
    code = (
        f"import sys; sys.path.insert(0, {str(zipped)!r})\nimport spark_mlfs, spark_mlfs.sklearn, "
        "spark_mlfs.ml, spark_mlfs.adapters.glance as show, pandas as pd\nassert 'jinja2' not "
        "in sys.modules and '.zip' in show.__file__\nkept = pd.DataFrame({'rank': [1], 'name': "
        "['<i>'], 'score': [1.0], 'relevance': [1.0]})\nprint('&lt;i&gt;' in show.table('', "
        "kept, []))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "True\n", done.stderr


def test_templates_are_installed_with_the_package():
    folders = {
        path.parent.relative_to(PACKAGE).as_posix()
        for suffix in ("j2", "css")
        for path in PACKAGE.rglob(f"*.{suffix}")
    }
    declared = (PACKAGE.parent / "pyproject.toml").read_text()
    assert folders == {"report/templates"} and '"templates/*"' in declared
