"""Groups of features scored by the information of their joint value: against scikit-learn's,
however the rows are held."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.discretise import discretise
from sklearn.metrics import mutual_info_score

from spark_mlfs import cli, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.select import Constraints
from spark_mlfs.statistics.contingency import TwoWay
from spark_mlfs.statistics.joint import MOST_VALUES

ROWS = 4500
TOWN, PAIR, LONE, DEEP, FLAT = list(range(11)), [11, 12], [13], list(range(14, 20)), 20
GROUPS = {"town": TOWN, "pair": PAIR, "lone": LONE, "deep": DEEP}


@pytest.fixture(scope="module")
def table():
    """(x, y): a column of twelve levels as eleven of 0 and 1, two features that say nothing alone,
    a family of thousands of joint values, a constant; a third of the rows repeated, some labels
    unknown."""
    rng = np.random.default_rng(3)
    town = rng.integers(0, 12, ROWS)
    a, b = rng.normal(size=(2, ROWS))
    x = np.column_stack(
        [town[:, None] == np.arange(11), a, b, rng.normal(size=(ROWS, 7)), np.full(ROWS, 3.0)]
    ).astype(float)
    y = np.column_stack(
        [np.isin(town, [1, 4, 7]), (a > 0) ^ (b > 0), x[:, 13] > 0.5, np.ones(ROWS, bool)]
    )
    y = (y ^ (rng.random(y.shape) < 0.1)).astype(float)
    y[rng.random(y.shape) < 0.02] = np.nan
    rows = rng.permutation(np.concatenate([np.arange(3000), rng.integers(0, 3000, ROWS - 3000)]))
    return x[rows], y[rows]


def ranked(
    data,
    groups=GROUPS,
    count=None,
    weight=None,
    small_bytes=1 << 40,
    parameters=None,
    **constraints,
):
    held_to = Constraints.of({"groups": groups, **constraints}) if groups else None
    request = pipeline.Request.of("mim", parameters or {}, count, constraints=held_to)
    return pipeline.rank(data, [request], weight=weight, small_bytes=small_bytes)[0]


def together(x, y, members, weights=None):
    """Σ_l I(joint value; Y_l) over the rows in which the label is known."""
    joint = np.unique(discretise(x)[:, members], axis=0, return_inverse=True)[1].ravel()
    out = 0.0
    for label, weight in zip(y.T, np.ones(y.shape[1]) if weights is None else weights, strict=True):
        known = ~np.isnan(label)
        out += weight * mutual_info_score(joint[known], label[known])
    return out


def wanted(x, y, groups=("town", "pair", "lone"), **more):
    return pytest.approx({name: together(x, y, GROUPS[name], **more) for name in groups}, rel=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_group_scores_the_information_of_its_joint_value(table, form):
    x, y = table
    held = pack_arrays(form(x), y)[0]
    result, plain = ranked(held), ranked(held, None)
    joint, values = result.scores.joint, plain.ranking.set_index("index")["score"]
    assert joint == wanted(x, y) and joint["lone"] == values[13]
    assert joint["pair"] > 0.1 > 20 * max(values[PAIR])  # what no mean of the members tells
    assert result.scores.details["groups_by_mean"] == ["deep"] and result.scans == plain.scans
    assert len(np.unique(discretise(x)[:, DEEP], axis=0)) > MOST_VALUES
    worth = joint | {"deep": np.sort(values[DEEP])[-3:].mean(), FLAT: values[FLAT]}
    units = [
        i if g is None else g
        for g, i in zip(result.ranking["group"], result.ranking["index"], strict=True)
    ]
    assert list(dict.fromkeys(units)) == sorted(worth, key=lambda name: -worth[name])
    np.testing.assert_array_equal(
        result.ranking.set_index("index")["score"][values.index], values
    )  # of features: their own


def test_data_the_sparse_kernels_take(table):
    x, y = table
    x = x.copy()
    x[:, 11:20][np.random.default_rng(0).random((ROWS, 9)) < 0.9] = 0
    x[:, FLAT] = 0
    held = pack_arrays(sp.csr_matrix(x), y)[0]
    assert held.profile.density < 0.15
    for data in (held, pack_arrays(x, y)[0]):
        assert ranked(data).scores.joint == wanted(x, y, GROUPS)


def test_weights_of_rows_and_labels_labelsets_and_the_correction(table):
    x, y = table
    held = pack_arrays(x, y)[0]
    w = np.random.default_rng(0).integers(0, 4, ROWS)
    copies = np.repeat(np.arange(ROWS), w)
    of_labels = {"label_weights": [1.0, 2.0, 0.5, 0.0]}
    for parameters in ({}, of_labels, {"bias_correction": "miller-madow"}):
        one = ranked(pack_arrays(x, y, w)[0], parameters=parameters)
        other = ranked(pack_arrays(x[copies], y[copies])[0], parameters=parameters)
        assert one.scores.joint == other.scores.joint
        pd.testing.assert_frame_equal(one.ranking, other.ranking, check_exact=True)
    assert ranked(held, parameters=of_labels).scores.joint == wanted(
        x, y, weights=of_labels["label_weights"]
    )
    corrected, plain = ranked(held, parameters={"bias_correction": "miller-madow"}), ranked(held)
    known = (~np.isnan(y)).sum(axis=0)
    # both entropies of a label's table grow by half a cell less one: 12 values, 2 of the label, 24
    # pairs
    assert corrected.scores.joint["town"] == pytest.approx(
        plain.scores.joint["town"] - (11 / (2 * known)).sum(), rel=1e-9
    )
    complete = ~np.isnan(y).any(axis=1)
    sets = np.unique(y[complete], axis=0, return_inverse=True)[1].ravel()
    powerset = ranked(held, parameters={"label_coding": "lp"}).scores.joint
    assert powerset["town"] == pytest.approx(
        mutual_info_score(x[complete][:, TOWN] @ np.arange(1, 12), sets), rel=1e-9
    )


def test_costs_and_included_features(table):
    """Bought by the joint score per cost; a group with an included feature is in, and scores
    nothing."""
    x, y = table
    held = pack_arrays(x, y)[0]
    result = ranked(held, costs={"*": 1.0}, budget=14.0)
    joint, bought = result.scores.joint, result.scores.budget_path.purchases
    assert joint["lone"] > joint["pair"] / 2 > joint["town"] / 11 > 0
    assert [gain for _, _, gain in bought] == [joint["lone"], joint["pair"], joint["town"]]
    assert [price for _, price, _ in bought] == [1, 2, 11] and len(result.kept) == 14
    included = ranked(held, count=5, include=[12])
    assert set(included.ranking["index"][:2]) == set(PAIR) and set(included.scores.joint) == {
        "town",
        "lone",
    }


@pytest.mark.slow
def test_on_spark_in_one_task_and_job_by_job(spark, table):
    """The same bits from three partitions, and no job more than without groups."""
    x, y = table
    w = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 3.0], ROWS)
    cells = [
        (row.tolist(), [None if np.isnan(v) else float(v) for v in labels], float(each))
        for row, labels, each in zip(x, y, w, strict=True)
    ]
    data = spark.createDataFrame(
        cells, "features array<double>, labels array<double>, w double"
    ).repartition(3)
    for weight in (None, "w"):
        here = ranked(pack_arrays(x, y, None if weight is None else w)[0])
        for small in (1 << 40, 0):
            there = ranked(data, small_bytes=small, weight=weight)
            assert there.distributed == (small == 0) and there.scores.joint == here.scores.joint
            assert there.scores.details.get("groups_by_mean") == here.scores.details.get(
                "groups_by_mean"
            )
            assert list(there.ranking["index"]) == list(here.ranking["index"])
            if weight:
                assert there.jobs <= ranked(data, None, small_bytes=small, weight=weight).jobs


def test_many_groups_are_counted_in_several_scans(table, monkeypatch):
    x, y = table
    held = pack_arrays(x, y)[0]
    whole = ranked(held)
    monkeypatch.setattr(TwoWay, "gathered_bytes", 100_000)
    parts = ranked(held)
    assert parts.scores.joint == whole.scores.joint and parts.scans > whole.scans


def test_the_report_says_what_groups_score_and_which_by_their_mean(spark, table, tmp_path):
    x, y = table
    names = [*(f"town_{j}" for j in TOWN), "a", "b", "c", *(f"d{j}" for j in range(6)), "flat"]
    rows = pd.DataFrame(
        np.column_stack([x, np.nan_to_num(y[:, :3])]),
        columns=[*names, "label_0", "label_1", "label_2"],
    )
    rows.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "groups.toml").write_text('town = ["town_*"]\npair = ["a", "b"]\ndeep = ["d?"]\n')
    where = [
        "--data",
        str(tmp_path / "rows.parquet"),
        "--format",
        "parquet",
        "--option",
        "labels=label_*",
        "--features",
        "*",
    ]
    asked = [
        "--method",
        "mim",
        "--num-top-features",
        "14",
        "--groups",
        str(tmp_path / "groups.toml"),
        "--quiet",
    ]
    assert cli.main(["select", *where, *asked, "--output", str(tmp_path / "run")]) == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "The score of a group is that of the joint value of its members." in page
    assert (
        f"Of more than {MOST_VALUES} joint values, the mean of their three best members: deep."
        in page
    )
    assert page.count("; together 0.") == 2
