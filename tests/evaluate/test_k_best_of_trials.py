"""Metrics at k of evaluations and comparisons, beside the published formulas: propensities are
those of each split's training rows; both engines."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.at_k import inverse_propensities, metrics_at_k
from oracles.mlknn import MLkNN

from spark_mlfs import cli
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.pack import pack
from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.errors import ParameterError
from spark_mlfs.evaluate import families
from spark_mlfs.evaluate.at_k import at_k, propensities
from spark_mlfs.evaluate.plan import comparison
from spark_mlfs.evaluate.protocol import Protocol
from spark_mlfs.evaluate.trials import Candidate, ClassifierSpec, Design, Trial, run_trials
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.params import check
from spark_mlfs.report.comparison_page import compare
from spark_mlfs.testing import frame_of

N, D, Q = 150, 6, 7
IDS = np.arange(N)
JUDGE = ClassifierSpec(
    "mlknn", "mlknn", check(CLASSIFIERS.create("mlknn").parameters, {"k": 5}, "")
)


def rows(q=Q):
    """Labels of falling frequency: the last is of a row or two."""
    rng = np.random.default_rng(4)
    x = np.round(rng.normal(size=(N, D)), 3)
    drives = x[:, np.arange(q) % D] + 0.5 * rng.normal(size=(N, q))
    return x, (drives > 0.4 + 0.3 * np.arange(q)).astype(float)


def results(packed, trials):
    found = {}
    run_trials(packed, dict(enumerate(trials)), found.__setitem__)
    return [found[key] for key in range(len(trials))]


def trials(kinds=("at-k",), choosing=None):
    design = Design(("100%",), (JUDGE,), kinds, choosing)
    return [Trial(Candidate("all"), split, design) for split in Protocol.of("3-fold").splits()]


def expected(split, x, y):
    test = split.of(pack_arrays(x, y, ids=IDS)[0].block)
    oracle = MLkNN(k=5).fit(x[~test], y[~test].astype(int))
    inverse = inverse_propensities(y[~test])
    values = {}
    for k in (1, 3, 5):
        values |= metrics_at_k(y[test], oracle.posterior(x[test]), inverse, k)
    return values


def test_each_split_weighs_labels_by_its_own_training_rows():
    x, y = rows()
    packed = pack_arrays(x, y, ids=IDS)[0]
    for result, trial in zip(results(packed, trials()), trials(), strict=True):
        (cell,) = result["cells"]
        want = expected(trial.split, x, y)
        assert set(cell["at-k"]) == set(want) == set(families.FAMILIES["at-k"])
        assert cell["at-k"] == pytest.approx(want, abs=1e-9)
        assert "labels" not in cell


@pytest.mark.slow
def test_on_the_cluster_they_are_the_same_bits(spark):
    x, y = rows()
    here = results(pack_arrays(x, y, ids=IDS)[0], trials(("standard", "at-k")))
    for parts in (1, 5):
        packed = pack(frame_of(spark, x, y).repartition(parts), row_id="id")
        there = results(packed, trials(("standard", "at-k")))
        packed.release()
        assert [r["cells"][0]["at-k"] for r in there] == [r["cells"][0]["at-k"] for r in here]


def test_the_library_of_label_trees_has_the_same_numbers():
    theirs = pytest.importorskip("napkinxc.metrics")
    rng = np.random.default_rng(0)
    training, truth = (rng.random((n, 30)) < np.linspace(0.4, 0.02, 30) for n in (300, 80))
    truth[:, 0] = True  # of rows without a label there are two conventions
    scores = rng.random((80, 30))
    inverse = theirs.Jain_et_al_inverse_propensity(sp.csr_matrix(training))
    assert inverse == pytest.approx(inverse_propensities(training))
    assert 1 / inverse == pytest.approx(propensities(training.sum(axis=0), 300))
    found = at_k(truth.astype(int), scores, propensities=1 / inverse)
    best = np.argsort(-scores, axis=1)
    labels = [np.flatnonzero(row).tolist() for row in truth]
    for k in (1, 3, 5):
        assert found[f"precisionAt{k}"] == pytest.approx(
            theirs.precision_at_k(labels, best.tolist(), k=k)[-1]
        )
        assert found[f"normalisedPspAt{k}"] == pytest.approx(
            theirs.psprecision_at_k(labels, best.tolist(), inverse, k=k, normalize=True)[-1]
        )
        assert metrics_at_k(truth, scores, inverse, k) == pytest.approx(
            {name: value for name, value in found.items() if name.endswith(f"At{k}")}
        )


def layer(metrics, q=Q, **protocol):
    options = {
        "num_rows": 90,
        "num_features": 8,
        "num_labels": q,
    }
    return {
        "data": [{"name": "planted", "format": "planted", "options": options}],
        "method": [{"name": "mim"}, {"name": "chi2"}],
        "protocol": {
            "folds": "2-fold",
            "sizes": [2, 4],
            "metrics": metrics,
            **protocol,
        },
    }


def test_tables_and_page_of_metrics_at_k_alone():
    outcome = compare(LocalSession(), layer(["at-k"]))
    names = list(families.FAMILIES["at-k"])
    assert set(names) <= set(outcome.cells) and "microF1" not in outcome.cells
    assert outcome.cells[names].notna().all(axis=None) and not len(outcome.labels)
    cells = outcome.cells[outcome.cells["method"] == "mim"]
    assert outcome.summary()["mim"]["planted"] == pytest.approx(cells["precisionAt1"].mean())
    page = outcome.page()
    assert "<h3>P@1" in page and "PSnDCG@5, normalised" in page and "Rare labels" not in page


def test_metrics_at_k_beside_the_others():
    outcome = compare(LocalSession(), layer(["standard", "at-k"], q=4))
    kinds = dict(list(outcome.cells.groupby("metrics")))
    assert kinds["standard"]["microF1"].notna().all() and kinds["at-k"]["microF1"].isna().all()
    assert kinds["at-k"]["normalisedPspAt3"].notna().all()
    assert kinds["at-k"]["precisionAt5"].isna().all()  # of four labels
    page = outcome.page()
    assert "P@3" in page and "P@5" not in page and "Rare labels" in page
    of_k = outcome.summary("precisionAt1")  # of the kind that has it
    assert of_k.equals(outcome.summary("precisionAt1", "at-k")) and of_k.notna().all(axis=None)


def test_inner_folds_choose_by_a_metric_at_k():
    choose = {"metric": "precisionAt1", "metrics": "at-k", "folds": 2}
    plan = layer(["standard"], choose=choose)
    plan["method"] = [{"name": "ridge", "grid": {"alpha": [0.1, 1000.0]}}]
    outcome = compare(LocalSession(), plan)
    assert outcome.choices["value"].between(0, 1).all() and len(outcome.choices) == 2 * 2 * 2
    wide = layer(["standard"], q=2, choose={**choose, "metric": "precisionAt5"})
    wide["method"] = plan["method"]
    failed = compare(LocalSession(), wide).failed
    assert "precisionAt5 is of more labels than the 2" in failed["error"].iloc[0]


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ({"choose": {"metric": "ndcgAt3"}}, "none of the metrics 'standard'.*metrics = 'at-k'"),
        ({"metrics": []}, "metrics is empty; give some of standard, msfs-2022, at-k"),
        ({"metrics": ["at_k"]}, "'standard', 'msfs-2022' or 'at-k'|'at-k'"),
    ],
)
def test_what_is_wrong_is_said(protocol, words):
    with pytest.raises(ParameterError, match=words):
        comparison(layer(protocol.pop("metrics", ["standard"]), **protocol))


def test_the_command(tmp_path, capsys):
    options = [
        w for n in ("num_rows=90", "num_features=6", "num_labels=6") for w in ("--option", n)
    ]
    flags = ["evaluate", "--format", "planted", *options, "--method", "mim"]
    how = ["--sizes", "3", "--protocol", "2-fold", "--metrics", "at-k", "--engine", "local"]
    assert cli.main([*flags, *how, "--output", str(tmp_path / "out"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["means"]["metric"] == "precisionAt1"
    cells = pd.read_csv(tmp_path / "out" / "cells.csv")
    assert {"precisionAt1", "ndcgAt3", "normalisedPspAt3"} <= set(cells.columns)
    assert "P@1" in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
