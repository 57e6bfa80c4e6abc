"""The pages that commands write: what stands where, and how much of it is in sight."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from in_memory.grams import gram_of_rows
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.markup import (
    breakable,
    columns,
    environment,
    fixed,
    longest_word,
    number,
    render,
)
from spark_mlfs.report import figures, page
from spark_mlfs.report.dot_plots import around, before_and_after
from spark_mlfs.report.figures import DARK, LIGHT, Plot, beside, curve, lines
from spark_mlfs.report.pipeline_pages import _best, _rounded, check_page
from spark_mlfs.scoring.check import MeasureBatches
from spark_mlfs.select import portrait as portraits

pytestmark = pytest.mark.local
FEATURES, LABELS, ROWS = 60, 24, 200


def table(seed, flip=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, FEATURES))
    y = flip * x[:, :LABELS] + rng.normal(size=(ROWS, LABELS)) > 1
    names = [f"name_of_feature_number_{i}" for i in range(FEATURES)]
    return pd.concat([pd.DataFrame(x, columns=names), pd.DataFrame(1 * y).add_prefix("y")], axis=1)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of select, score, check and drift, by name."""
    home = tmp_path_factory.mktemp("pages")
    for i, flip in enumerate((1.0, -1.0)):
        table(i, flip).to_parquet(home / f"{i}.parquet")
    data = ["--data", home / "0.parquet", "--features", "name*", "--labels-col", "y*", "--quiet"]
    model = ["--model", home / "select", *data[:2], "--quiet"]
    commands = {
        "select": [*data, "--method", "mim", "--num-top-features", 40, "--classifier", "br-svm"],
        "score": [*model, "--top-n", 2],
        "check": [*model, "--labels-col", "y*"],
        "drift": ["--before", home / "0.parquet", "--after", home / "1.parquet", *data[2:]],
    }
    texts = {}
    for name, words in commands.items():
        assert cli.main([name, *map(str, words), "--output", str(home / name)]) == 0, name
        (file,) = (home / name).glob("*report.html")
        texts[name] = file.read_text(encoding="utf-8")
    return texts


def titles(text):
    return re.findall("<h2>(.*?)</h2>", text)


def section(text, title):
    start = text.index(f"<h2>{title}</h2>")
    return text[start : text.index("</section>", start)]


def in_sight(part):
    """The rows of the tables that stand outside of any fold."""
    outside = re.sub("(?s)<details.*?</details>", "", part)
    return outside.count("<tr") - outside.count("<thead>")


@pytest.mark.slow
def test_a_report_begins_with_what_its_reader_came_for(pages):
    text = pages["select"]
    found = titles(text)
    assert found[:3] == ["In short", "Each label’s best features", "Selected features"]
    best = section(text, "Each label’s best features")
    assert in_sight(best) == 20 and "4 more labels" in best
    assert 'class="wide map"' not in re.sub("(?s)<details.*?</details>", "", best)
    assert "overflow:auto" not in text and "max-height" not in text  # no box that scrolls


@pytest.mark.slow
def test_of_a_sorted_table_twenty_rows_are_in_sight_in_any_order(pages):
    part = section(pages["select"], "Selected features")
    rows = re.findall(
        r"<tr style=--o0:(\d+);--o1:(\d+);--o2:(\d+);--o3:(\d+)( class=\"[b\d ]+\")?", part
    )
    assert len(rows) == 40 and "20 more</span>" in part
    for order in range(4):
        hidden = {row[order] for row in rows if f"b{order}" in re.findall(r"b\d", row[4])}
        assert hidden == {str(place) for place in range(20, 40)}
        assert f"#features-rows:not(:has(details[open])) .b{order}{{display:none}}" in part


def test_more_is_advised_only_where_the_number_was_the_users():
    def advises(evidence=None, auto=False, budget=None, varying=9, explained=0.5):
        resolved = None if budget is None else SimpleNamespace(budget=budget)
        request = SimpleNamespace(auto=auto, resolved=resolved)
        profile = SimpleNamespace(varying=np.arange(varying))
        result = SimpleNamespace(evidence=evidence, request=request, profile=profile)
        return page._may_try_more(result, SimpleNamespace(explained=[0.1, explained]), 5)

    assert advises()
    assert not advises(evidence="fdr") and not advises(auto=True) and not advises(budget=3.0)
    assert not advises(varying=5)  # there are no others
    assert not advises(explained=0.998)  # nothing is left to explain


def test_more_features_help_only_where_they_explain_more_than_the_best_few():
    """Not 64 picks that explain what 11 do: the figure below says that 11 would do."""

    def helps(enough, explained_at):
        drawn = SimpleNamespace(
            picks=range(60),
            suggested=2,
            explained=[0.1, 0.2, 0.1],
            spread=[0.0, 0.05, 0.0],
            sizes=(60, 64),
            explained_at=explained_at,
            enough=enough,
        )
        return page._larger_help(drawn)

    assert helps(64, (0.1, 0.26)) and not helps(64, (0.1, 0.24)) and not helps(60, (0.3, 0.3))


def test_scores_of_many_features_stand_on_a_logarithmic_axis():
    plot = curve(np.linspace(1, 0, 1001), "rank", "score", 100, "kept 100", log=True)
    ticks = {t: s for kind, s, t in plot.texts if kind.startswith("tx")}
    assert ticks["1"] == "left:0.000%" and ticks["10"] == f"left:{100 / np.log10(1001):.3f}%"
    assert plot.strokes[-1][1] == f"{200 / np.log10(1001):.3f}"  # the mark at 100
    assert "log" in plot.x_title and "log" not in curve([2, 1], "rank", "score", log=True).x_title


@pytest.mark.slow
def test_a_page_of_scores_folds_labels_beyond_fifteen(pages):
    text = pages["score"]
    assert titles(text)[0] == "Labels given" and "Their scores" in titles(text)
    assert in_sight(section(text, "Labels given")) == 15
    assert text.count('<polygon class="column"') == 20  # the histogram
    shown = {"tag": [[(f"p{i}", 0.5, "data:,", "") for i in range(6)]] * 2}
    macro = "{% import 'macros.html.j2' as m %}{{ m.files(shown, ('surest', 'least sure')) }}"
    row = environment().from_string(macro).render(shown=shown)
    assert row.count("<img") == 12 and row.count('class="sides"') == 1  # six a side


def test_terms_of_a_score_stand_below_their_passage():
    shown = {"tag": [[("p", 0.5, "", "some words\nof <b> text\x1eoil +0.5, (constant) -0.9")], []]}
    macro = "{% import 'macros.html.j2' as m %}{{ m.files(shown, ('surest', 'least sure')) }}"
    row = environment().from_string(macro).render(shown=shown)
    passage, terms = re.search("<q[^>]*>(.*)</q><small>(.*)</small>", row).groups()
    assert (passage, terms) == ("some words of &lt;b&gt; text", "oil +0.5, (constant) −0.9")
    alone = {"tag": [[("p", 0.5, "", "words alone")], []]}
    assert "<small" not in environment().from_string(macro).render(shown=alone)


def test_a_phone_shows_less_of_a_row_not_more_lines(checked):
    """A label's features take three lines, a pair one, labels of a check five columns."""
    css = render("style.css")
    phone = "".join(re.findall(r"@media \(max-width:560px\)\{((?:[^{}]*\{[^{}]*\})*)\}", css))
    assert "-webkit-line-clamp:3" in phone
    assert ".several td.r" in phone and "flex:1 0 100%" not in phone.split(".strips")[1]
    table = section(checked[2], "Label by label")
    heads = re.findall('<th(?: class="([^"]*)")?>', table[: table.index("</thead>")])
    assert len(heads) == 10 and sum("opt" not in head for head in heads) == 5


@pytest.fixture(scope="module")
def checked():
    """Six labels: two frequent ones, two of few rows, two that do not occur."""
    rng = np.random.default_rng(1)
    names = ["never seen", "zebra", "apple", "rare thing", "again_never", "two_rows"]
    rows = [0, 400, 900, 3, 0, 2]
    t = np.zeros((2000, len(names)))
    for j, count in enumerate(rows):
        t[rng.permutation(2000)[:count], j] = 1
    s = t + rng.normal(size=t.shape)
    measured = MeasureBatches(len(names), None, True).measured(t, (s > 0.5).astype(float), s)
    labels = [
        {"share": t[:, j].mean(), "precision": 0.5, "recall": 0.5, "f1": 0.5} for j in range(6)
    ]
    manifest = {
        "metrics": measured.metrics(),
        "labels": labels,
        "labels_that_occur": 4,
        "macroF1_of_labels_that_occur": 0.5,
        "model": {"path": "m"},
        "finished": "2026-11-26T00:00:00",
    }
    return t, s, check_page(measured, names, {}, manifest)


def test_a_check_shows_three_numbers_and_labels_by_rows(checked):
    _, _, text = checked
    head = text[: text.index("<details")]
    assert head.count("<b>") == 3 and "No row has 2 of the 6 labels; each counts as 0" in head
    table = section(text, "Label by label")
    places = [table.index(f">{name}<") for name in ("apple", "zebra", "rare thing", "two_rows")]
    assert places == sorted(places)
    assert in_sight(table) == 2 and "4 labels of fewer than 5 rows" in table
    for name in ("never seen", "again_never"):  # no threshold, no figure
        row = table[table.index(f">{name}<") :]
        assert row[: row.index("</tr>")].endswith("<td class=r>–</td><td class=r>–</td><td></td>")
        assert f"<summary>{name}" not in table
    assert "<summary>two_rows" in table


def test_a_threshold_has_few_digits_and_gives_what_is_said(checked):
    t, s, text = checked
    f1, threshold = re.search(r"F1 is largest, (\S+), with --threshold (\S+) \(", text).groups()
    scores = [f1_score(t, s >= at, average="micro") for at in np.linspace(0, 2, 81)]
    assert float(f1) == pytest.approx(max(scores), abs=3e-3)
    assert float(f1) == pytest.approx(f1_score(t, s >= float(threshold), average="micro"), abs=1e-3)
    assert len(threshold.strip("-0.").replace(".", "")) <= 2


@pytest.mark.slow
def test_psi_stands_from_0_to_a_quarter_with_a_line_at_a_tenth(pages):
    part = section(pages["drift"], "Two kinds of change")
    assert ">0.25</span>" in part and 'class="mark" x1="40.00" x2="40.00"' in part
    assert "10<sup>−" in part and 'title="name_of' in part and "·10⁻" in part  # as a tooltip
    assert "10⁻" not in re.sub("<[^>]*>", "", pages["drift"])
    assert titles(pages["drift"])[:2] == ["Features that changed", "Before and after"]
    pairs = section(pages["drift"], "Before and after")
    assert in_sight(pairs) == 20 and "more pairs" in pairs
    assert pairs.count('class="at was"') == pairs.count('class="at is"') > 20
    shares = section(pages["drift"], "Labels")
    assert in_sight(shares) == 20 and shares.count('class="at was"') == LABELS


def test_psi_over_windows_keeps_its_axis():
    rng = np.random.default_rng(0)
    windows = [
        (rng.normal(size=(300, 3)) + shift, rng.random((300, 2)) < 0.4) for shift in (0, 0, 2)
    ]
    text = spark_mlfs.drift(*windows, names=["a", "b", "c"]).page()
    start = text.index("change of the feature itself, PSI")
    plot = text[start : text.index("</figure>", start)]
    assert 'class="whole" x1="0" x2="100" y1="60.00" y2="60.00"' in plot
    assert '<span class="ty" style="top:0%">0.25</span>' in plot
    assert "top:0.00%" in plot and "top:-" not in plot  # what is beyond stands at the edge


def test_an_axis_before_and_after_is_round_and_holds_all():
    assert around([0.21, -0.3], 0.0, 0.0) == pytest.approx((-0.4, 0.4), abs=0.21)
    assert around([], 0.0, 0.0) == (0.0, 1.0)
    plot = before_and_after("t", ["label"], [(["a"], 1.0, 3.0), (["b"], np.nan, 2.0)])
    assert plot.low == 0 and plot.high >= 3
    (_, text, marks), (_, _, alone) = plot.rows
    assert text == "1 → 3" and [kind.strip() for kind, *_ in marks] == ["to", "at was", "at is"]
    assert [kind for kind, *_ in alone] == ["at is"]
    assert before_and_after("t", ["label"], []) is None


def test_names_of_points_stay_within_the_plot():
    names = ["a long name of a method", "short", "low"]
    assert beside(names, [5.0, 97.0, 50.0], [50.0, 30.0, 99.9]) == ["left", "right", ""]
    assert beside(["x" * 40], [50.0], [50.0]) == [""]  # it would lie on the axis


def test_correlations_have_two_places_and_short_names_stay_in_a_line():
    assert [fixed(value) for value in (0.2, -0.0571, -0.001, 1.0, np.nan)] == [
        "0.20",
        "−0.06",
        "0.00",
        "1.00",
        "–",
    ]
    plot = before_and_after("t", ["f"], [(["a"], 0.2, -0.0571)], text=fixed)
    assert plot is not None and plot.rows[0][1] == "0.20 → −0.06"
    name = environment().get_template("macros.html.j2").module.name
    classes = [
        re.findall('class="(.*?)"', str(name(text)))[0]
        for text in ("money-supply", "a " * 20, "b" * 30)
    ]
    assert classes == ["name short", "name", "name long"]


def test_no_name_of_a_point_lies_on_a_dashed_line():
    """Nor on the note at its head; on the other side of its point it may stand."""
    points = [("a name", 0.12, 1.0, ""), ("another", 0.08, 3.0, ""), ("third", 0.11, 4.5, "")]
    points += [("q", 0.094, 2.0, "")]  # near: where the page is wide, the line crosses its name
    free, lined = ["left", "left", "left", "left"], ["left", "right", "", "right"]
    for upright, sides in ((False, free), (True, lined)):
        plot = Plot("t", "x", (0.0, 0.25), (0.0, 5.0), 2)
        if upright:
            plot.upright("mark", 0.1)
            plot.text("note", "left:40.00%", "some shift")
        figures.name_points(plot, points, {name: i for i, (name, *_) in enumerate(points)})
        assert [side for *_, side, _ in plot.points] == sides


def test_what_explains_nothing_is_said_to():
    share = environment().get_template("macros.html.j2").module.share
    assert [str(share(value)) for value in (0.1234, 0.0004, 0.0, -0.3)] == [
        "12 %",
        "0.04 %",
        "none",
        "none",
    ]


def test_a_command_goes_on_in_the_next_line_between_words():
    shown = str(
        environment().get_template("macros.html.j2").module.command(["a-b", "--c-d", "e f"])
    )
    assert re.findall("<span>(.*?)</span>", shown) == ["a-b", "--c-d", "&#39;e f&#39;"]
    assert re.sub("<[^>]*>", "", shown) == "a-b --c-d &#39;e f&#39;"


def test_figures_stand_in_as_many_columns_as_leave_few_places_empty():
    assert [columns(n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12)] == [1, 2, 3, 2, 3, 3, 4, 4, 3, 3]


def test_names_break_between_words_only():
    assert breakable("Mean_Acc1298_Mean_Mem40") == "Mean_<wbr/>Acc1298_<wbr/>Mean_<wbr/>Mem40"
    assert breakable("short_name") == "short_name" and breakable("<b>") == "&lt;b&gt;"
    assert longest_word("International TV-Shows and a_long_one") == 13
    row = environment().from_string("{% import 'macros.html.j2' as m %}{{ m.name(n) }}")
    assert "long" not in row.render(n="International TV Shows") and "long" in row.render(n="x" * 30)
    assert "overflow-wrap:anywhere" not in re.search(r"\.name\{[^}]*\}", render("style.css"))[0]


def test_powers_of_ten_are_raised_in_texts_alone():
    assert number(1.5e-7) == "1.5·10⁻⁷"
    head, body = render("check.html.j2", **_any_check()).split("</head>")
    assert "<title>" in head and "1.5·10<sup>−7</sup>" in body


def _any_check():
    measured = SimpleNamespace(rows=3, untagged=0)
    return {
        "checked": measured,
        "manifest": {
            "model": {"path": "m"},
            "finished": "2026-11-26T00:00",
            "labels": [],
            "labels_that_occur": 0,
        },
        "rates": (),
        "leading": [(number(1.5e-7), "a")],
        "metrics": [],
        "best": ("0.5", 0, 0, 0),
        "top_n": 1,
        "top_n_f1": 0.0,
        "figures": [],
        "frequent": [],
        "rare": [],
        "few": [],
        "pipeline": "m",
        "shown": {},
    }


def luminance(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_have_contrast_in_both_themes():
    """Of lines and marks 3, of texts 4.5 (WCAG 2.1)."""
    css = render("style.css")
    light, dark = re.findall(r":root\{[^}]*\}", css)[:2]
    for theme, palette in ((light, LIGHT), (dark, DARK)):
        value = {k: v * 2 if len(v) == 3 else v for k, v in re.findall(r"--(\w+):#(\w+)", theme)}
        for kind in ("ink", "soft", "accent", "warm"):
            for ground in ("bg", "card"):
                assert contrast(value[kind], value[ground]) >= 4.5, (kind, ground)
        for colour in palette:
            assert contrast(colour, value["card"]) >= 3, colour


def test_larger_numbers_of_picks_are_judged_as_ridge_judges_them():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(700, 90))
    y = (x[:, [3, 70, 80]] + 0.5 * rng.normal(size=(700, 3)) > 0).astype(float)
    halves = [slice(0, 350), slice(350, 700)]
    grams = [gram_of_rows(x[half], y[half]) for half in halves]
    picks = np.arange(90)
    drawn = portraits.portrait(grams, picks[:60], np.arange(60), np.arange(3))
    judged = portraits._judged(drawn, grams, picks)
    assert judged.sizes == (60, 90) and judged.enough == 90
    for k, explained in zip(judged.sizes, judged.explained_at, strict=True):
        expected = []
        for train, test in (halves, halves[::-1]):
            mean, scale = x[train].mean(axis=0)[:k], x[train].std(axis=0)[:k]
            z = (x[:, :k] - mean) / scale
            variation = y[test] - y[train].mean(axis=0)
            errors = y[test] - Ridge(alpha=35.0).fit(z[train], y[train]).predict(z[test])
            expected.append(1 - (errors**2).sum() / (variation**2).sum())
        assert explained == pytest.approx(np.mean(expected))


def test_lines_beyond_a_range_stand_at_its_edge():
    plot = lines("t", [1, 2], {"a": [0.1, 7.0]}, {"a": 0}, "w", up=(0.0, 0.25))
    assert isinstance(plot, Plot) and plot.shapes[0][2] == "0.00,60.00 100.00,0.00"
    assert "7 at 2" in plot.shapes[0][3] and figures.log_ticks(1, 60) == [1, 2, 5, 10, 20, 50]


def test_sentences_of_pages_are_plain():
    """No riddles of nouns: what newcomers stumbled over stands in no template."""
    folder = Path(page.__file__).parent / "templates"
    for file in folder.glob("*.html.j2"):
        text = re.sub(r"(?s)\{#.*?#\}|\{%.*?%\}|<[^>]*>", " ", file.read_text(encoding="utf-8"))
        found = re.findall(r"has not|is told|\bsaid\b|(?:^|[.:] )What is\b", text)
        assert not found, file.name


@pytest.mark.slow
def test_tables_have_heads_and_figures_have_texts(pages):
    for text in pages.values():
        tables = re.findall(r"(?s)<table.*?</table>", text)
        assert tables and all("<th" in table for table in tables)
        figures_of_page = re.findall(r"<svg[^>]*>", text)
        assert all('role="img"' in svg and 'aria-label="' in svg for svg in figures_of_page)
        assert "<script" not in text and "prefers-color-scheme:dark" in text


def test_a_threshold_is_rounded_down_where_rows_have_it_exactly():
    thresholds = np.array([0.1, 0.295898, 0.5])
    curves = np.array([thresholds, [0.2, 0.9, 1.0], [1.0, 0.9, 0.1], [0.3, 0.9, 0.2]])
    assert _best(curves) == ("0.29", 0.9, 0.9, 0.9)
    assert [*_rounded(-1234.5, 3)] == ["-1200", "-1300", "-1230", "-1240"] and next(
        _rounded(0.0, 2)
    ) == "0"


def test_a_figure_that_rounds_to_one_more_digit_has_no_power():
    assert number(99.7, 2) == "100" and number(0.997, 2) == "1" and number(123.4, 2) == "1.2·10²"
