"""Pairs of the best features in states: greedy counting methods rank to the bit as they do over the
rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs import states
from spark_mlfs.blocks.codec import encode
from spark_mlfs.errors import BudgetError, ParameterError
from spark_mlfs.states.needs import PAIRED
from spark_mlfs.states.pairs import pair_bytes
from spark_mlfs.statistics.base import compact

from .test_states import D, N, Q, data, part_of

KEPT = 9
KINDS = ["dense", "sparse", "weights", "unknown", "repeated", "sparse unknown", "sparse weights"]
METHODS = [(name, {}) for name in PAIRED]
METHODS += [
    ("jmi", {"num_bins": 3, "label_weights": "entropy"}),
    ("mrmr", {"relevance": "f", "redundancy": "correlation"}),
]


def collected_for(given, rows, methods, like, name, params):
    X, Y, more = part_of(given, rows)
    pairs_of = KEPT if like is None else None
    return states.collect(
        X, Y, methods, like, name=name, pairs_of=pairs_of, method_params=params, **more
    )


def wide_first(kind):
    """Rows of which the first 100 have the ends of every feature: their codes are those of all
    rows."""
    X, Y, more = data(kind)
    if sp.issparse(X):
        X = X.toarray()
    low, high = X.min(axis=0), X.max(axis=0)
    X[0], X[1] = low, high
    X[:, 5] = X[:, 5] > 1
    X[1, 5] = 1
    return (sp.csr_matrix(X) if "sparse" in kind else X), Y, more


@pytest.mark.parametrize("method", PAIRED)
def test_one_label_has_no_pairs(method):
    X, Y, _ = wide_first("dense")
    own = states.collect(X, Y[:, :1], method, pairs_of=KEPT)
    other = spark_mlfs.rank(X[:, own.basis.paired], Y[:, :1], method, 6)
    assert (
        states.rank(own, method, 6)["index"].tolist() == own.basis.paired[other["index"]].tolist()
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_rank_as_rows_do(kind):
    given, rng = wide_first(kind), np.random.default_rng(5)
    methods = [name for name, params in METHODS if not params]
    first = collected_for(given, np.arange(100), methods, None, "first", {})
    of_part = rng.integers(0, 5, N - 100)
    parts = [
        collected_for(given, 100 + np.flatnonzero(of_part == i), methods, first, str(i), {})
        for i in range(5)
    ]
    merged = states.merge(parts[3], states.merge(parts[1], first, parts[4]), parts[0], parts[2])
    left = states.subtract(merged, parts[4])
    rest = np.concatenate([np.arange(100), 100 + np.flatnonzero(of_part != 4)])
    kept = merged.basis.paired
    assert set(kept) == set(states.rank(first, "mim", KEPT)["index"])
    for method in methods:
        for own, rows in ((merged, np.arange(N)), (left, rest)):
            x, y, also = part_of(given, rows)
            for options in ({}, {"screen": "mim:6"}):
                one = states.rank(own, method, 6, **options)
                other = spark_mlfs.rank(x[:, kept], y, method, 6, **options, **also)
                assert kept[other["index"]].tolist() == one["index"].tolist(), method
                np.testing.assert_array_equal(one["score"], other["score"], err_msg=method)
                np.testing.assert_array_equal(one["relevance"], other["relevance"], err_msg=method)


@pytest.mark.parametrize(("method", "params"), METHODS, ids=str)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_first_state_ranks_as_with_a_screen(kind, method, params):
    X, Y, _ = data(kind)
    own = (
        states.collect(X, Y, method, pairs_of=KEPT, method_params=params)
        if "relevance" not in params
        else None
    )
    own = own or states.collect(X, Y, method, method_params=params)
    by_bins = {name: value for name, value in params.items() if name == "num_bins"}
    screen = None if "relevance" in params or by_bins else f"mim:{KEPT}"
    if by_bins:
        X = X[:, own.basis.paired]
    one, other = (
        states.rank(own, method, 6, **params),
        spark_mlfs.rank(X, Y, method, 6, screen=screen, **params),
    )
    assert one["name"].tolist() == other["name"].tolist() or by_bins
    np.testing.assert_allclose(
        one["score"], other["score"], rtol=1e-9 if "relevance" in params else 0
    )


def test_new_labels_and_features_join():
    """A later state has other labels and words, in another order: pairs of labels go where they
    belong."""
    rng = np.random.default_rng(2)

    def frame(words):
        table = pd.DataFrame({w: (rng.random(80) < 0.15) * 1.0 for w in words})
        return table.astype(pd.SparseDtype(float, 0.0)), [
            [t for t in "cab" if rng.random() < 0.4] for _ in range(80)
        ]

    one, two = frame("abcdef"), frame("fxbeac")
    two[1][:] = [[t + "x" if t == "a" else t for t in tags] for tags in two[1]]
    first = states.collect(*one, [*PAIRED], name="1", pairs_of=4)
    merged = states.merge(states.collect(*two, [*PAIRED], first, name="2"), first)
    both = (
        pd.concat([t.sparse.to_dense() for t, _ in (one, two)], ignore_index=True)
        .reindex(columns=merged.features)
        .fillna(0.0)
    )
    kept = [merged.features[f] for f in merged.basis.paired]
    tags = pd.DataFrame(
        [[t in row for t in merged.labels] for row in one[1] + two[1]], columns=merged.labels
    )
    for method in PAIRED:
        rows = spark_mlfs.rank(both[kept].astype(pd.SparseDtype(float, 0.0)), tags, method, 4)
        own = states.rank(merged, method, 4)
        assert own["name"].tolist() == rows["name"].tolist()
        np.testing.assert_array_equal(own["score"], rows["score"])


def test_files_and_formats(tmp_path):
    given = data("sparse unknown")
    first = collected_for(given, np.arange(100), ["jmi", "pmu"], None, "first", {})
    rest = collected_for(given, np.arange(100, N), ["jmi", "pmu"], first, "rest", {})
    states.save(first, str(tmp_path / "a"))
    states.save(rest, str(tmp_path / "b"))
    loaded = states.load(str(tmp_path / "*"))
    for method in ("jmi", "pmu", "mrmr", "scls"):
        one, other = (states.rank(each, method, 5) for each in (loaded, states.merge(first, rest)))
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert json.loads((tmp_path / "a" / "manifest.json").read_text())["format"] == 3


@pytest.mark.parametrize("kind", ["dense", "sparse unknown"])
def test_weight(kind):
    """No state of pairs takes more bytes than were told, and what would is refused before it is
    counted."""
    X, Y, _ = data(kind)
    own = states.collect(X, Y, [*PAIRED], pairs_of=KEPT)
    coding = own.basis.coding(own.basis.paired, 5, "width")
    for name in ("pairs", "plain pairs", "label pairs"):
        kind = f"{name} 5 width"
        told = pair_bytes(kind, coding.bins, coding, own.profile)
        assert len(encode(compact(own.sums[kind]))) <= told + 1000, name
    slots = int((coding.bins - 1).sum())
    if not coding.sparse:
        assert pair_bytes("pairs 5 width", coding.bins, coding, own.profile) == 8 * slots * (
            slots + 1
        ) // 2 * (1 + Q)
    wide = np.random.default_rng(0).normal(size=(20, 600))
    with pytest.raises(
        BudgetError,
        match=r"counts of pairs of 600 features by 4 labels may need .* raise memory_bytes, lower",
    ):
        states.collect(wide, Y[:20], "jmi", pairs_of=600, memory_bytes=20_000_000)


def test_refusals():
    given = data("dense")
    X, Y, _ = given
    first = collected_for(given, np.arange(100), "jmi", None, "first", {})
    few = states.collect(X[:100], Y[:100], "jmi", name="few", pairs_of=3)
    for text, call in {
        "jmi needs the rows, or the pairs of the best features: give pairs_of = 500": lambda: (
            states.collect(X, Y, "jmi")
        ),
        "pairs_of goes with jmi": lambda: states.collect(X, Y, "mim", pairs_of=5),
        "the pairs of 9 features: leave pairs_of out": lambda: states.collect(
            X, Y, "jmi", first, pairs_of=8
        ),
        "counts no pairs of features, which scls": lambda: states.collect(
            X, Y, "scls", states.collect(X, Y)
        ),
        "features whose pairs are counted are others": lambda: states.merge(first, few),
        "not the counts of pairs of labels by feature .* --pairs-of 500": lambda: states.rank(
            first, "lrfs"
        ),
        "jmi by labelset needs the rows": lambda: states.collect(
            X, Y, "jmi", method_params={"label_coding": "lp"}
        ),
        "collected with pairs of features jmi, d2f": lambda: states.collect(X, Y, "cmi"),
    }.items():
        with pytest.raises(ParameterError, match=text) as error:
            call()
        assert "\n" not in str(error.value)
    assert D > KEPT
