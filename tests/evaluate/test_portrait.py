"""The report's portrait of the picks and the comparison page's summaries: against NumPy,
scikit-learn and values by hand."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from in_memory.grams import gram_of_rows
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from spark_mlfs import pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.grades import Grades
from spark_mlfs.blocks.pack import pack
from spark_mlfs.evaluate import summary as tables
from spark_mlfs.markup import environment, render
from spark_mlfs.report import page as shown
from spark_mlfs.report.figures import beside
from spark_mlfs.report.page import places
from spark_mlfs.select import portrait as portraits
from spark_mlfs.statistics.base import Budgets


def html(result, seen, kept, template="portrait.html.j2"):
    """The sections of a portrait, on one line."""
    return " ".join(
        render(template, result=result, kept=kept, portrait=shown.sections(result, seen)).split(
            "\n"
        )
    )


def said(*of):
    """The verdict as a text."""
    return re.sub("</?(li|b)>", "", html(*of, "verdict.html.j2"))


def planted(n=600, sparse=False):
    """Three useful features, a near copy of the first, and noise; the last label is of nothing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 8))
    x[:, 3] = x[:, 0] + 0.05 * rng.normal(size=n)
    if sparse:
        x[np.abs(x) < 1] = 0
    y = (x[:, :3] + 0.5 * rng.normal(size=(n, 3)) > 0.3).astype(float)
    return x, np.column_stack([y, rng.random(n) < 0.4])


def portrayed(x, y, picks, kept=None):
    frame = pd.DataFrame(x, columns=[f"f{j}" for j in range(x.shape[1])])
    held, _ = pack_arrays(frame, pd.DataFrame(y, columns=[f"l{j}" for j in range(y.shape[1])]))
    (result,) = pipeline.rank(held, [pipeline.Request.of("fisher", {}, len(picks))])
    ranking = (
        result.ranking.set_index("index")
        .loc[[*picks, *np.setdiff1d(np.arange(x.shape[1]), picks)]]
        .reset_index()
    )
    result.ranking = ranking.assign(rank=np.arange(1, len(ranking) + 1))
    return result, pipeline.portrait(held, result, len(picks))[0]


@pytest.mark.parametrize("sparse", [False, True])
def test_correlations_equal_numpy(sparse):
    x, y = planted(sparse=sparse)
    picks = [2, 0, 3, 6]
    _, p = portrayed(x, y, picks)
    assert list(p.picks) == picks and list(p.labels) == list(
        np.argsort(-y.sum(axis=0), kind="stable")
    )
    both = np.corrcoef(np.column_stack([x[:, picks], y[:, p.labels]]).T)
    assert np.allclose(p.redundancy, both[:4, :4]) and np.allclose(p.relevance, both[:4, 4:])


def test_correlations_with_grades_equal_numpy():
    x, y = planted()
    grades = (
        np.round(np.clip(0.5 * y + 0.2 * x[:, :1] + 0.2, 0, 1) * 1024) / 1024
    )  # as they are held
    picks = [2, 0, 3, 6]
    held, _ = pack_arrays(x, grades, grades=Grades())
    (result,) = pipeline.rank(held, [pipeline.Request.of("ridge", {}, 4)])
    ranking = (
        result.ranking.set_index("index")
        .loc[[*picks, *np.setdiff1d(np.arange(8), picks)]]
        .reset_index()
    )
    result.ranking = ranking.assign(rank=np.arange(1, 9))
    seen, _ = pipeline.portrait(held, result, 4)
    both = np.corrcoef(np.column_stack([x[:, picks], grades[:, seen.labels]]).T)
    assert np.allclose(seen.relevance, both[:4, 4:]) and (seen.explained > 0).any()


@pytest.mark.slow
def test_of_many_rows_a_sample_and_of_many_labels_the_commonest(spark, monkeypatch):
    """Of about as many rows as asked for, the same whatever the partitioning; equal rows need no
    ids of their own."""
    x, y = planted(3000)
    x, y = np.vstack([x, x[:1500]]), np.vstack([y, y[:1500]])
    y = np.column_stack([np.zeros(len(y)), y])
    monkeypatch.setattr(portraits, "MOST_LABELS", 3)
    seen, sizes, whole = [], [], portraits.portrait

    def counted(parts, *others):
        sizes.append(sum(part.n for part in parts))
        return whole(parts, *others)

    monkeypatch.setattr(portraits, "portrait", counted)
    for rows in (1500, 10_000):
        monkeypatch.setattr(
            portraits.PortraitGrams.__init__, "__defaults__", (portraits.BLOCKS, 0, (), rows, ())
        )
        result, one = portrayed(x, y, [2, 0, 3])
        table = list(zip(x.tolist(), y.tolist(), strict=True))
        packed = pack(
            spark.createDataFrame(
                table, "features array<double>, labels array<double>"
            ).repartition(3)
        )
        many, cost = pipeline.portrait(packed, result, 3, Budgets(small=0))
        assert cost.jobs == 1
        with monkeypatch.context() as patch:
            patch.setattr(
                portraits, "MOST_PICKS", 2
            )  # the best of each label is sought beyond them
            few, (far, jobs) = (
                pipeline.portrait(pack_arrays(x, y)[0], result, 3)[0],
                pipeline.portrait(packed, result, 3, Budgets(small=0)),
            )
        assert few.num_candidates == 3 and jobs.jobs == 2
        for name, value in vars(few).items():
            assert np.array_equal(value, getattr(far, name)), name
        assert np.array_equal(few.best, one.best) and np.allclose(few.strength, one.strength)
        packed.release()
        for name, value in vars(one).items():
            assert np.array_equal(value, getattr(many, name)), name
        seen.append(one)
    assert sizes[4:] == [4500] * 4 and len({*sizes[:4]}) == 1 and 1300 < sizes[0] < 1700
    sample, every = seen
    assert list(every.labels) == list(np.argsort(-y.sum(axis=0), kind="stable")[:3])
    both = np.corrcoef(np.column_stack([x[:, [2, 0, 3]], y[:, every.labels]]).T)
    assert np.allclose(every.relevance, both[:3, 3:])
    assert 0 < np.abs(sample.relevance - every.relevance).max() < 0.1


def wide(kind):
    """90 features; what goes with labels 0 and 2 stands at the end of the ranking, label 3 goes
    with none."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 90))
    if kind == "sparse":
        x[np.abs(x) < 1.2] = 0
    y = (
        np.column_stack([x[:, [85, 2, 88]] + 0.5 * rng.normal(size=(400, 3)), rng.normal(size=400)])
        > 0.4
    )
    x[:, 88] = 2e6 + np.round(x[:, 88], 3)
    return x, y.astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted", "graded", "unknown"])
def test_each_labels_best_is_sought_among_all_kept_features(kind, monkeypatch):
    """Not among the first 60 only; against NumPy, over the same rows."""
    x, y = wide(kind)
    rng = np.random.default_rng(4)
    weights, known, method = None, np.ones(len(y), bool), "fisher"
    if kind == "weighted":
        weights = rng.integers(1, 4, len(y)).astype(float)
    if kind == "graded":
        y, method = (
            np.round(np.clip(0.6 * y + 0.4 * rng.random(y.shape), 0, 1) * 1024) / 1024,
            "ridge",
        )
    given = y.copy()
    if kind == "unknown":
        known = rng.random(len(y)) < 0.9
        given[~known, 1] = np.nan
    held, _ = pack_arrays(x, given, weights, Grades() if kind == "graded" else None)
    (result,) = pipeline.rank(held, [pipeline.Request.of(method, {}, 90)])
    result.ranking = (
        result.ranking.set_index("index")
        .loc[list(range(90))]
        .reset_index()
        .assign(rank=np.arange(1, 91))
    )
    seen, _ = pipeline.portrait(held, result, 90)
    rows = np.repeat(
        np.flatnonzero(known), (np.ones(len(y)) if weights is None else weights)[known].astype(int)
    )
    want = np.corrcoef(np.column_stack([x, y])[rows].T)[:90, 90:][:, seen.labels]
    order = np.argsort(-np.abs(want), axis=0)[:2].T
    assert (
        seen.num_candidates == 90
        and np.array_equal(seen.best, order)
        and {85, 88} <= set(seen.best[:, 0])
    )
    assert np.allclose(seen.strength, np.take_along_axis(want, order.T, axis=0).T, atol=1e-9)
    assert len(seen.picks) == 60
    text = said(result, seen, 90) + html(result, seen, 90)
    assert ("No single one of all 90 picks goes with" in text) == (
        np.abs(want).max(axis=0) < shown.FAINT
    ).any()
    assert "two best of all 90 picks" in text and "the first 30 picks (across" in text
    monkeypatch.setattr(portraits.LabelCorrelations, "state_bytes", lambda self, profile: 1 << 40)
    few, _ = pipeline.portrait(held, result, 90, Budgets(driver=100 << 20))
    assert few.num_candidates == 60 and not {85, 88} & set(few.best.ravel())
    assert "two best of the first 60 of the 90 picks" in html(result, few, 90)


def test_what_is_left_without_is_told_of_what_was_looked_at():
    x, y = wide("dense")
    result, p = portrayed(x, y, list(range(90)))
    faint = np.abs(np.corrcoef(np.column_stack([x, y]).T)[:90, 90:]).max(axis=0) < shown.FAINT
    assert not faint[:3].any()
    text = said(result, p, 90)
    assert all(name not in text for name in ("l0", "l1", "l2"))
    alone = dataclasses.replace(p, strength=0 * p.strength)
    assert "No single one of all 90 picks goes with" in said(result, alone, 90)
    some = dataclasses.replace(alone, num_candidates=60)
    assert "No single one of the first 60 of the 90 picks goes" in said(result, some, 90)


def test_explained_equals_ridge_on_the_other_half():
    x, y = planted()
    half = np.arange(600) % 2 == 0
    parts = [gram_of_rows(x[rows], y[rows]) for rows in (half, ~half)]
    at = np.array([5, 0, 1])
    got = portraits._curve(parts[0], parts[1], at)
    mean, scale = x[half].mean(axis=0), x[half].std(axis=0)
    z = (x - mean) / scale
    for k in (1, 2, 3):
        guess = Ridge(alpha=1.0).fit(z[half][:, at[:k]], y[half]).predict(z[~half][:, at[:k]])
        left = ((y[~half] - guess) ** 2).sum()
        whole = ((y[~half] - y[half].mean(axis=0)) ** 2).sum()
        assert got[k - 1] == pytest.approx(1 - left / whole)
    one = Ridge(alpha=1.0).fit(z[half][:, at], y[half]).predict(z[half][:, at])
    assert got[2] <= r2_score(y[half], one, multioutput="variance_weighted") + 0.1


def test_suggests_as_many_as_say_something():
    x, y = planted(2000)
    result, p = portrayed(x, y, [0, 1, 2, 3, 4, 5, 6, 7])
    assert p.suggested == 3 and p.explained[2] > p.explained[1] + 0.05 and (p.spread > 0).all()
    text = said(result, p, 8)
    assert "3 features would do" in text and "f3 (f0)" in text and "goes with l3" in text
    alone = said(*portrayed(x, y, [0, 1, 2]), 3)
    assert "try more" in alone and "No two of the first 3 picks" in alone


def test_pages_parts_say_what_the_matrices_say():
    x, y = planted()
    result, p = portrayed(x, y, [0, 1, 2, 3])
    page = html(result, p, 4)
    assert "drawn at random" not in page
    label = page[page.index('title="l1"') :]
    assert "f1\u00a0" in label[: label.index("</tr>")].rsplit("class=say>", 1)[1].split(",")[0]
    assert (
        page.count("<td") == 4 * 4 + 4 * 4 + 4
    )  # labels × picks, picks × picks, each label's best
    order = list(shown.clustered(p.redundancy))
    assert abs(order.index(0) - order.index(3)) == 1  # the copy beside its original
    assert html(result, None, 4).strip() == "" == said(result, None, 4).strip()


def test_none_where_there_is_nothing_to_see():
    x, y = planted(60)
    held, _ = pack_arrays(x, y)
    (result,) = pipeline.rank(held, [pipeline.Request.of("mim", {}, 2)])
    assert pipeline.portrait(held, result, 0)[0] is None
    seen = pipeline.portrait(held, result, 2, Budgets(driver=100))[0]
    assert seen is None  # the Gram matrices would not fit


# ---- the comparison's summaries ----


def cells():
    """Two methods and all features on one set: sizes 1, 2 of 2."""
    lines = [("a", 1, 0.5), ("a", 2, 0.9), ("b", 1, 0.7), ("b", 2, 0.9), ("all features", 2, 0.9)]
    return pd.DataFrame(
        [
            {
                "data": "d",
                "method": m,
                "split": "s",
                "classifier": "c",
                "metrics": "standard",
                "features": k,
                "size": str(k),
            }
            | {"whole": k == 2, "chosen": False, "microF1": v}
            for m, k, v in lines
        ]
    )


def test_means_leave_the_whole_out():
    s = tables.summary(cells(), "standard", "microF1", "c", ["a", "b", "all features"])
    assert s.mean.loc["d"].to_dict() == {"a": 0.5, "b": 0.7, "all features": 0.9}
    assert tables.against_all(s, "microF1") == ([], ["d"])
    whole = cells().query("features == 2")  # where nothing else is there the whole is what there is
    assert tables.summary(whole, "standard", "microF1", "c", ["a", "b"]).mean.loc[
        "d"
    ].to_dict() == {"a": 0.9, "b": 0.9}
    chosen = cells().assign(chosen=lambda c: c["features"] == 2)
    assert tables.summary(chosen, "standard", "microF1", "c", ["a"]).mean.loc["d", "a"] == 0.9


def test_nothing_is_best_among_equals():
    mean = pd.DataFrame(
        {"a": [0.0, 0.2], "b": [0.0, 0.1], "all features": [0.0, 0.5]}, index=["zeros", "d"]
    )
    won = tables.best(tables.Summary(mean, mean * 0), "microF1")
    assert won.to_numpy().tolist() == [[False, False, False], [True, False, False]]
    alone = tables.best(tables.Summary(mean[["a"]], mean[["a"]]), "microF1")
    assert alone["a"].all()


def test_names_beside_points_do_not_overlap():
    assert beside(["one", "a long name"], [10, 95], [20, 60]) == [
        "left",
        "right",
    ]  # which has no room on its right
    names = [f"method{i}" for i in range(12)]
    sides = beside(names, [50.0] * 12, list(np.linspace(48, 52, 12)))
    assert (
        1 <= sum(bool(s) for s in sides) <= 2
    )  # twelve points in 8 pixels: room for two names at most


def test_sorted_tables_know_every_order():
    orders = {"rank": [0, 1, 2], "name": [2, 0, 1]}
    use = (
        "{% import 'macros.html.j2' as m %}{% call(row) m.sortable('t', ['x'], 'bca', orders, "
        "places) %}"
    )
    use += "<td>{{ row }}</td>{% endcall %}"
    html = environment().from_string(use).render(orders=list(orders), places=places(orders, 3))
    found = re.findall(r"--o0:(\d);--o1:(\d)><td>(\w)", html)
    assert [c for _, _, c in sorted(found)] == ["b", "c", "a"]
    assert [c for _, _, c in sorted(found, key=lambda p: p[1])] == ["a", "b", "c"]
    assert (
        html.count("type=radio") == 2
        and html.count(" checked>") == 1
        and "#by-t-1:checked" in html
        and "<script" not in html
    )
