"""States: rows cut in any way, merged in any order, some taken away, rank to the bit as the
remaining rows do in one pass."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs import states
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.codec import encode
from spark_mlfs.engine import base
from spark_mlfs.errors import BudgetError, DataError, ParameterError
from spark_mlfs.pipeline import Request
from spark_mlfs.pipeline import rank as ranked
from spark_mlfs.sklearn import LassoSelector, MDDMExtractor, MLSIExtractor
from spark_mlfs.states import CollectedPart, files, sums
from spark_mlfs.states.collect import collected as collected_of
from spark_mlfs.states.needs import needs_of
from spark_mlfs.statistics.base import Budgets, compact
from spark_mlfs.statistics.gram import Gram

N, D, Q = 240, 14, 4
COUNTING = ["mim", "chi2", "enm", "gmm", "igmf"]
MOMENTS = ["fisher", "f-statistic"]
GRAMS = ["ridge", "lasso", "elastic-net", "mssl", "omfs", "fastcan", "forward", "csfs", "spec"]
MORE = [
    ("mim", {"label_coding": "lp"}),
    ("chi2", {"num_bins": 3}),
    ("fisher", {"label_coding": "lp"}),
]
MORE += [
    ("enm", {"binning": "quantile", "num_bins": 4}),
    ("fisher", {"label_coding": "overlap"}),
    ("spec", {"criterion": "phi3"}),
    ("ridge", {"scaling": "minmax"}),
]
ALL = [(name, {}) for name in (*COUNTING, *MOMENTS, *GRAMS)] + MORE
ALL += [("mddm", {}), ("mddm", {"variant": "f"}), ("mlsi", {"dim": 3})]
KINDS = [
    "dense",
    "sparse",
    "weights",
    "grades",
    "unknown",
    "repeated",
    "sparse unknown",
    "sparse weights",
]


def data(kind, seed=0):
    """X, Y and what else `collect` takes, of a kind of rows."""
    rng = np.random.default_rng(seed)
    X, more = rng.normal(size=(N, D)).round(3), {}
    X[:, 2], X[:, 3], X[:, 5] = X[:, 2] > 0, rng.integers(0, 5, N), 1
    X[200:, 5] = 2  # constant in the first rows
    X[:, 6] = 1e3 + X[:, 6] / 8
    Y = (X[:, :Q] * [1, 1, 1, 0.5] + rng.normal(size=(N, Q)) > [0, 0.3, 0.5, 1]).astype(float)
    if "sparse" in kind:
        likely = 0.1 + 0.2 * Y[:, np.arange(D) % Q]
        X = np.where(rng.random((N, D)) < likely / 2, rng.integers(1, 4, (N, D)), 0)
        X = sp.csr_matrix(X.astype(float))
    if "unknown" in kind:
        Y[rng.random((N, Q)) < 0.05] = np.nan
    if "weights" in kind:
        more["sample_weight"] = rng.integers(1, 9, N) / np.where(
            np.arange(N) < 120, 4, 16
        )  # the unit changes
    if kind == "grades":
        Y, more["graded_labels"] = np.clip((Y * 2 + rng.integers(0, 3, (N, Q))) / 4, 0, 1), True
    if kind == "repeated":
        X, Y = X[rng.integers(0, 60, N)], Y[rng.integers(0, 3, N)]
    return X, Y, more


def part_of(given, rows):
    X, Y, more = given
    return (
        X[rows],
        Y[rows],
        {name: v[rows] if isinstance(v, np.ndarray) else v for name, v in more.items()},
    )


def collected(given, rows, methods, like, name, **params):
    X, Y, more = part_of(given, rows)
    return states.collect(X, Y, methods, like, name=name, method_params=params, **more)


def takes(method, params, kind):
    if method in ("mddm", "mlsi"):
        return kind != "grades" and "weights" not in kind
    if kind == "grades":
        return spark_mlfs.METHODS.create(method).takes_grades(
            {"label_coding": "br", **params}
        ) and method not in ("mrmr",)
    if (method == "spec" or "binning" in params) and "weights" in kind:
        return False
    return not ("unknown" in kind and method == "csfs")


def in_turn(number, method, params):
    """Three of the kinds that a method takes: others for the next one."""
    kinds = [kind for kind in KINDS if takes(method, params, kind)]
    return [kinds[(number + 3 * place) % len(kinds)] for place in range(3)]


CUT = [(*each, kind) for number, each in enumerate(ALL) for kind in in_turn(number, *each)]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "params", "kind"), CUT, ids=str)
def test_any_cut_any_order_some_taken_away(method, params, kind):
    given, rng = data(kind), np.random.default_rng(5)
    first = collected(given, np.arange(100), method, None, "first", **params)
    of_part = rng.integers(0, 9, N)
    parts = [
        collected(given, np.flatnonzero(of_part == i), method, first, str(i), **params)
        for i in np.unique(of_part)
    ]
    order = rng.permutation(len(parts))
    merged = states.merge(
        states.merge([parts[i] for i in order[:4]]), *[parts[i] for i in order[4:]]
    )
    whole = collected(given, np.arange(N), method, first, "whole", **params)
    pd.testing.assert_frame_equal(
        states.rank(merged, method, None, **params),
        states.rank(whole, method, None, **params),
        check_exact=True,
    )
    taken = [parts[i] for i in order[3:6]]
    left = states.subtract(merged, *taken)
    rows = np.flatnonzero(~np.isin(of_part, order[3:6]))
    remaining = collected(given, rows, method, first, "rest", **params)
    pd.testing.assert_frame_equal(
        states.rank(left, method, None, **params),
        states.rank(remaining, method, None, **params),
        check_exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "params"), ALL, ids=str)
def test_the_first_state_alone_ranks_as_its_rows_do(method, params, kind):
    if not takes(method, params, kind):
        pytest.skip("refused, tested below")
    X, Y, more = data(kind)
    own = states.rank(
        states.collect(X, Y, method, method_params=params, **more), method, None, **params
    )
    if method in ("mddm", "mlsi"):
        cls = {"mddm": MDDMExtractor, "mlsi": MLSIExtractor}[method]
        extractor = cls(**params).fit(X, Y)
        state = extractor.state_
        np.testing.assert_allclose(
            own.sort_values("index")["score"].to_numpy()[state["varying"]],
            state["scores"],
            rtol=1e-6,
        )
        return
    rows = spark_mlfs.rank(X, Y, method, None, **params, **more)
    assert own["name"].tolist() == rows["name"].tolist()
    exact = method in COUNTING
    for column in ("score", "relevance"):
        np.testing.assert_allclose(
            own[column], rows[column], rtol=0 if exact else 1e-6, atol=0 if exact else 1e-9
        )


# ---- rules, losses ----


@pytest.mark.parametrize("mode", ["fdr", "fwe", "fpr", "stability"])
def test_rules(mode, tmp_path):
    from spark_mlfs.select import CrossValidation, Cut

    given = data("unknown")
    methods = ["lasso", "ridge", mode, "cross-validation"]
    first = collected(given, np.arange(100), methods, None, "first")
    merged = states.merge(first, collected(given, np.arange(100, N), methods, first, "rest"))
    whole = collected(given, np.arange(N), methods, first, "whole")
    cut = Cut.of({"selection_mode": mode})
    requests = [Request.of("lasso", cut=cut), Request.of("ridge", extras=[CrossValidation(5)])]
    one, other = (ranked(each.dataset(), requests) for each in (merged, whole))
    pd.testing.assert_frame_equal(one[0].ranking, other[0].ranking, check_exact=True)
    assert one[1].scores.details["cv_loss"] == other[1].scores.details["cv_loss"]
    if mode != "stability":  # rows without ids are in other half-samples there
        own = ranked(collected(given, np.arange(N), methods, None, "rows").dataset(), requests[:1])[
            0
        ].ranking
        _, Y, _ = given
        rows = LassoSelector(selection_mode=mode).fit(given[0], Y).ranking_
        assert own["name"].tolist() == rows["name"].tolist()
        np.testing.assert_array_equal(own["p_value"], rows["p_value"])


# ---- names ----


def words(rows, n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({w: rng.integers(0, 3, n) * (rng.random(n) < 0.2) for w in rows}).astype(
        float
    )
    return frame.astype(pd.SparseDtype(float, 0.0))


@pytest.mark.parametrize("method", ["mim", "igmf", "fisher", "ridge", "forward", "spec", "omfs"])
def test_vocabularies_grow(method):
    """New words and tags join by name, whichever state had them first, and go with it."""
    vocabularies = [
        ["a", "b", "c", "d"],
        ["a", "x", "c", "b"],
        ["m", "d", "x", "a"],
        ["zz", "a", "m"],
    ]
    frames = [words(v, 60, seed) for seed, v in enumerate(vocabularies)]
    rng = np.random.default_rng(9)  # now and then nobody knows the tags, new ones neither
    tags = [
        [[t for t in names if rng.random() < 0.4] for _ in range(60)]
        for names in (["s", "t"], ["t", "s"], ["u", "s"], ["q", "t"])
    ]
    tags = [[None if i % 9 == 0 else row for i, row in enumerate(day)] for day in tags]
    first = states.collect(frames[0], tags[0], method, name="0")
    later = [
        states.collect(f, t, method, first, name=str(i))
        for i, (f, t) in enumerate(zip(frames[1:], tags[1:], strict=True), 1)
    ]
    every = list(dict.fromkeys(w for v in vocabularies for w in v))

    def whole(which, seed):
        order = np.random.default_rng(seed).permutation(every).tolist()
        order = [w for w in order if any(w in vocabularies[i] for i in which)]
        frame = (
            pd.concat([frames[i].sparse.to_dense() for i in which])
            .reindex(columns=order)
            .fillna(0.0)
        )
        return states.collect(
            frame.astype(pd.SparseDtype(float, 0.0)),
            [t for i in which for t in tags[i]],
            method,
            first,
            name="w",
        )

    merged = states.merge(later[2], states.merge(first, later[1]), later[0])
    assert merged.features == ["a", "b", "c", "d", "m", "x", "zz"]
    assert merged.labels == ["s", "t", "q", "u"]
    exact = {"check_exact": True}
    pd.testing.assert_frame_equal(
        states.rank(merged, method, None),
        states.rank(whole([0, 1, 2, 3], 1), method, None),
        **exact,
    )
    left = states.subtract(merged, later[2])
    assert "zz" not in left.features
    assert "q" not in left.labels
    pd.testing.assert_frame_equal(
        states.rank(left, method, None), states.rank(whole([0, 1, 2], 2), method, None), **exact
    )


@pytest.mark.parametrize("coding", ["br", "lp"])
def test_a_new_feature_of_rows_that_are_not_very_sparse(coding):
    """Its value 0 is counted in the rows that do not name it, too, as it is on the rows."""
    frames = [words(v, 80, seed) for seed, v in enumerate(["abc", "axcb", "ab"])]
    frames = [
        ((frame.sparse.to_dense() > 0) | (np.arange(80)[:, None] % 2 == 0)).astype(float)
        for frame in frames
    ]
    tags = [
        [["s"] * int(row["a"]) + ["t"] * (i % 3 == 0) for i, row in frame.iterrows()]
        for frame in frames
    ]
    sparse = [frame.astype(pd.SparseDtype(float, 0.0)) for frame in frames]
    settings = {"method_params": {"label_coding": coding}}
    first = states.collect(sparse[0], tags[0], ["mim"], name="0", **settings)
    later = [
        states.collect(frame, labels, ["mim"], first, name=str(i), **settings)
        for i, (frame, labels) in enumerate(zip(sparse[1:], tags[1:], strict=True), 1)
    ]
    assert first.basis.sparse and not first.basis.thin
    merged = states.merge(first, *later)
    rows = pd.concat(frames).fillna(0.0)[merged.features]
    every = [labels for day in tags for labels in day]
    wanted = spark_mlfs.rank(rows, every, "mim", None, label_coding=coding)
    found = states.rank(merged, "mim", None, method_params={"label_coding": coding})
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)
    left = states.subtract(merged, first)
    rows = pd.concat(frames[1:]).fillna(0.0)[left.features]
    wanted = spark_mlfs.rank(rows, every[80:], "mim", None, label_coding=coding)
    found = states.rank(left, "mim", None, method_params={"label_coding": coding})
    pd.testing.assert_frame_equal(found, wanted, check_exact=True)


def test_dense_features_must_be_the_same():
    X, Y, _ = data("dense")
    first = states.collect(pd.DataFrame(X, columns=[f"c{j}" for j in range(D)]), Y)
    with pytest.raises(
        DataError, match=r"a new feature 'extra'.*dense features must be those of the first state"
    ):
        states.collect(
            pd.DataFrame(X, columns=[*(f"c{j}" for j in range(D - 1)), "extra"]), Y, like=first
        )
    with pytest.raises(DataError, match="no feature 'c13'"):
        states.collect(
            pd.DataFrame(X[:, :-1], columns=[f"c{j}" for j in range(D - 1)]), Y, like=first
        )


def test_values_outside_go_to_the_end_bins_and_are_told():
    X, Y, _ = data("dense")
    first = states.collect(X[:100], Y[:100], ["mim", "ridge"], name="a")
    far = X[100:].copy()
    far[:14, 0] = 9
    later = states.collect(far, Y[100:], ["mim", "ridge"], first, name="b")
    clipped = states.collect(
        np.clip(far, first.basis.low, first.basis.high), Y[100:], ["mim", "ridge"], first
    )
    pd.testing.assert_frame_equal(
        states.rank(later, "mim", None), states.rank(clipped, "mim", None), check_exact=True
    )
    from spark_mlfs.states.states import out_of_range_shares

    assert out_of_range_shares(later)["x0"] >= 0.1
    far[3, 4] = 1e4
    with pytest.raises(
        DataError, match=r"feature 'x4' goes from .* to 10000 here, beyond the grid"
    ):
        states.collect(far, Y[100:], "ridge", first)


# ---- what does not fit ----


def test_refusals_are_one_line_each():
    given = data("dense")
    X, Y, _ = given
    first = collected(given, np.arange(100), "mim", None, "first")
    other = collected(given, np.arange(100, N), "mim", None, "other")
    for text, call in {
        "the edges of feature 'x0' are .* collect later states like the first": lambda: (
            states.merge(first, other)
        ),
        "first is there twice": lambda: states.merge(first, first),
        "other does not go with first|is not among what was merged": lambda: states.subtract(
            first, other
        ),
        "nothing is left": lambda: states.subtract(first, first),
        "not the second moments that lasso takes": lambda: states.rank(first, "lasso"),
        "relieff needs the rows": lambda: states.rank(first, "relieff"),
        r"not the counts of values by label \(7 width\)": lambda: states.rank(
            first, "mim", num_bins=7
        ),
        "needs the rows, not sums": lambda: states.collect(X, Y, "gmba"),
        "did you mean 'mim'": lambda: states.collect(X, Y, "mimm"),
        "has a parameter 'bins'": lambda: states.collect(X, Y, "mim", method_params={"bins": 3}),
        "no edges of 5 quantile bins": lambda: states.collect(
            X, Y, "mim", first, method_params={"binning": "quantile"}
        ),
        "weights False, these rows True": lambda: states.collect(
            X, Y, "mim", first, sample_weight=np.ones(N)
        ),
        "only one has": lambda: states.merge(
            first, collected(given, np.arange(100, N), "ridge", first, "b")
        ),
        "spec takes no row weights": lambda: states.collect(
            X, Y, ["all-additive", "spec"], sample_weight=np.ones(N)
        ),
        "missing='mean'": lambda: states.collect(X, Y, missing="mean"),
        "knockoffs are made row by row": lambda: states.collect(X, Y, "knockoffs"),
    }.items():
        with pytest.raises((ParameterError, DataError), match=text) as error:
            call()
        assert "\n" not in str(error.value)


def test_methods_that_take_rows_of_unknown_labels_need_rows():
    X, Y, _ = data("unknown")
    own = states.collect(X, Y, ["csfs", "mim"])
    for method, params, text in (
        ("csfs", {}, "^csfs takes the rows of unknown labels, too, .*: rank from the rows$"),
        (
            "mrmr",
            {"redundancy": "correlation"},
            "^mrmr with redundancy='correlation' takes .* collect with --pairs-of 500$",
        ),
    ):
        with pytest.raises(ParameterError, match=text):
            states.rank(own, method, **params)


def test_rows_that_a_constant_label_hides_are_ranked_from_rows_or_refused():
    X, Y, _ = data("dense")
    Y[:, 3] = 1
    Y[:60, 3] = np.nan
    methods = ["igmf", "ridge", "forward", "mim", "f-statistic", "pmu"]
    own = states.collect(X, Y, methods, pairs_of=D)
    for method in ("mim", "f-statistic"):
        assert states.rank(own, method).name.tolist() == spark_mlfs.rank(X, Y, method).name.tolist()
    for method in ("igmf", "ridge", "forward", "pmu"):
        whole = spark_mlfs.rank(X, Y, method)
        pd.testing.assert_frame_equal(whole, spark_mlfs.rank(X, Y[:, :3], method))
        with pytest.raises(ParameterError, match=r"^label .y3. has one value .* from the rows"):
            states.rank(own, method)


def test_what_a_refusal_says_to_collect_is_enough():
    X, Y, _ = data("dense")
    own = states.collect(X, Y, "spec", name="day")
    for method, params in (
        ("mim", {"num_bins": 3}),
        ("mim", {"label_coding": "lp"}),
        ("forward", {"folds": 3}),
        ("mrmr", {"relevance": "f"}),
        ("mrmr", {"redundancy": "correlation"}),
    ):
        with pytest.raises(
            ParameterError, match="collect them with spark-mlfs collect --for"
        ) as refusal:
            states.rank(own, method, **params)
        words = str(refusal.value).partition("collect --for ")[2].split()
        sets = dict(word.split("=") for word in words if "=" in word)
        pairs = int(words[-1]) if "--pairs-of" in words else None
        sets |= {name: int(value) for name, value in sets.items() if value.isdigit()}
        as_told = states.collect(X, Y, words[0], method_params=sets, pairs_of=pairs)
        assert len(states.rank(as_told, method, 3, **params)) == 3


# ---- files ----


def test_saved_and_loaded(tmp_path):
    given = data("sparse unknown")
    methods = ["all-additive", "stability", "fdr"]
    first = collected(given, np.arange(100), methods, None, "first")
    rest = collected(given, np.arange(100, N), methods, first, "rest")
    states.save(first, str(tmp_path / "s" / "a"))
    states.save(rest, str(tmp_path / "s" / "b"))
    loaded, merged = states.load(str(tmp_path / "s" / "*")), states.merge(first, rest)
    assert loaded.features == merged.features
    for method in states.ADDITIVE:
        if method != "csfs":  # which fills in unknown labels
            pd.testing.assert_frame_equal(
                states.rank(loaded, method), states.rank(merged, method), check_exact=True
            )
    with pytest.raises(ParameterError, match="exists"):
        states.save(first, str(tmp_path / "s" / "a"))
    with pytest.raises(DataError, match="no such states"):
        states.load(str(tmp_path / "none*"))
    with pytest.raises(DataError, match="no states"):
        states.load(str(tmp_path))
    sums = tmp_path / "s" / "b" / "sums.parquet"
    sums.write_bytes(sums.read_bytes()[:-40])
    with pytest.raises(DataError, match="damaged"):
        states.load(str(tmp_path / "s" / "b"))
    for name in ("sums", "parts"):  # without a row
        states.save(first, str(tmp_path / name))
        file = tmp_path / name / f"{name}.parquet"
        pq.write_table(pq.read_table(file)[:0], file)
        with pytest.raises(DataError, match="damaged"):
            states.load(str(tmp_path / name))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sparse unknown", "sparse weights", "dense"])
def test_what_is_ranked_is_added_up_range_by_range(kind, tmp_path, monkeypatch):
    """Of the pieces of files, of states with features of their own, in another unit of weight: the
    same bits."""
    monkeypatch.setattr(files, "RANGE_BYTES", 300)
    X, Y, more = data(kind)
    methods = ["mim", "chi2", "fisher", "f-statistic"]
    asked = [(method, {}) for method in methods] + [("fisher", {"label_coding": "lp"})] * (
        kind != "sparse weights"
    )
    first = None
    for number, rows in enumerate(np.array_split(np.arange(N), 4)):
        own, columns = X[rows], [f"x{j}" for j in range(D)]
        if sp.issparse(X):
            own, columns[number] = pd.DataFrame.sparse.from_spmatrix(own), f"own{9 - number}"
            own.columns = columns
        given = {name: values[rows] for name, values in more.items()}
        each = states.collect(
            own, Y[rows], [*methods, *["spec"] * (len(asked) > 4)], first, name=str(number), **given
        )
        first = first or each
        states.save(each, str(tmp_path / str(number)))
    whole = states.load(str(tmp_path / "*"))
    for method, params in asked:
        request = Request.of(method, params)
        later = states.load(str(tmp_path / "*"), requests=[request])
        with monkeypatch.context() as small:
            small.setattr(base, "SHARD_BYTES", 700)
            (found,) = ranked(later.dataset(requests=[request]), [request])
        expected = states.rank(whole, method, None, **params)
        pd.testing.assert_frame_equal(
            found.ranking[[*expected]].reset_index(drop=True), expected, check_exact=True
        )
        assert not later.sums._made or params  # no whole table was made, but those by labelset
        single = states.load(str(tmp_path / "3"), requests=[request])
        alone = states.rank(states.load(str(tmp_path / "3")), method, None, **params)
        pd.testing.assert_frame_equal(
            states.rank(single, method, None, **params), alone, check_exact=True
        )
    assert len(pq.read_table(tmp_path / "0" / "sums.parquet")) > 8


def test_screens_and_constraints_as_on_rows():
    X, Y, _ = data("sparse unknown")
    own = states.collect(X, Y, ["mim", "chi2", "ridge"])
    more = {"screen": "chi2:8", "include": ["x9"], "exclude": ["x1", "x2"]}
    for method in ("mim", "ridge"):
        one, other = (
            states.rank(own, method, None, **more),
            spark_mlfs.rank(X, Y, method, None, **more),
        )
        assert one["name"].tolist() == other["name"].tolist()
    with pytest.raises(ParameterError, match="that fisher takes"):
        states.rank(own, "mim", screen="fisher:5")


def test_sums_beyond_the_first_rows_are_exact():
    """Integers 16 times as large as those of the first state: their sums are those of Python's
    whole numbers."""
    rng = np.random.default_rng(3)
    small, large = rng.integers(-8, 9, (50, 3)), rng.integers(-128, 129, (9000, 3))
    small[0] = 8
    first = states.collect(small.astype(float), rng.integers(0, 2, (50, 2)), "ridge", name="a")
    Y = rng.integers(0, 2, (9000, 2))
    both = states.merge(first, states.collect(large.astype(float), Y, "ridge", first, name="b"))
    gram = both.dataset().engine(None).run(Gram())[0]
    every = np.concatenate([small, large])
    np.testing.assert_array_equal(gram.xx, every.T @ every)
    np.testing.assert_array_equal(gram.sum_x, every.sum(axis=0))


def test_weights_too_far_apart_are_refused_before_they_are_added_up():
    X, Y, _ = data("dense")
    first = states.collect(X, Y, "ridge", name="a", sample_weight=np.full(N, 0.5))
    fine = states.collect(X, Y, "ridge", first, name="b", sample_weight=np.full(N, 2.0**-30))
    coarse = states.collect(X, Y, "ridge", first, name="c", sample_weight=np.full(N, 2.0**20))
    assert len(states.rank(states.merge(first, fine), "ridge", 3)) == 3
    with pytest.raises(DataError, match="too far apart"):
        states.merge(first, fine, coarse)


def test_nearly_as_many_rows_as_fit_are_taken_away_again():
    """What is taken away is not counted beside the whole it is taken from."""
    X, Y, _ = data("dense")
    weights = np.full(N, 2.0**52 // N - 2.0**30)
    weights[::40] = 1.0  # else a large unit would do
    days: list[states.States] = []
    for name, rows in zip("abc", np.split(np.arange(N), 3), strict=True):
        like = days[0] if days else None
        settings = {"name": name, "sample_weight": weights[rows]}
        days.append(states.collect(X[rows], Y[rows], "mim", like, **settings))
    merged = states.merge(days)
    assert 1 << 51 < merged.profile.total < 1 << 52
    left = states.subtract(merged, days[0], days[1])
    wanted = states.rank(days[2], "mim")
    pd.testing.assert_frame_equal(states.rank(left, "mim"), wanted, check_exact=True)


def test_what_is_no_states_is_refused_in_one_line(tmp_path):
    """Wherever one object is taken: a list of one, a number, and a path are none."""
    first = states.collect([[0, 1], [1, 0]], [["a"], ["b"]], name="first")
    for value in ([first], 5, "days/first"):
        for call in (
            lambda value: states.subtract(value, first),
            lambda value: states.save(value, str(tmp_path / "none")),
            lambda value: states.collect([[1, 1]], [["a"]], like=value),
        ):
            with pytest.raises(
                ParameterError, match="states are what collect and load return"
            ) as e:
                call(value)
            assert "\n" not in str(e.value)


def test_a_part_taken_away_twice_is_not_said_to_be_absent():
    first = states.collect([[0, 1], [1, 0]], [["a"], ["b"]], name="first")
    later = states.collect([[1, 1]], [["a"]], like=first, name="later")
    merged = states.merge(first, later)
    for taken in ([later, later], [merged, later]):
        with pytest.raises(ParameterError, match="later would be taken away twice: give it once"):
            states.subtract(merged, *taken)


def test_states_and_parts_are_compared_as_objects():
    """A content has arrays, which are neither hashed nor equal as a whole."""
    first = states.collect([[0, 1], [1, 0]], [["a"], ["b"]], name="first")
    for value in (first, first.parts[0], first.basis):
        copy = pickle.loads(pickle.dumps(value))
        assert value != copy
        assert value in {value}
        assert value not in [copy]


def test_what_would_stay_behind_is_refused():
    """Sums of a feature that goes, which are not those that were merged."""
    frames = [words(v, 40, seed) for seed, v in enumerate(["abc", "axcb"])]
    tags = [["s"], ["t"], ["s", "t"], []] * 10
    first = states.collect(frames[0], tags, "mim", name="0")
    later = states.collect(frames[1], tags, "mim", first, name="1")
    merged = states.merge(first, later)
    assert states.subtract(merged, later).features == ["a", "b", "c"]
    (kind,) = later.sums
    table = later.sums[kind]["table"].copy()
    table.data[-1] -= 1  # of x, the new feature
    changed = replace(later, sums={kind: {**later.sums[kind], "table": table}})
    with pytest.raises(DataError, match="stay behind: the states are not those that were merged"):
        states.subtract(merged, changed)
    part = replace(later.parts[0], features=["y"])
    with pytest.raises(ParameterError, match="is not among what was merged"):
        states.subtract(merged, replace(later, parts=(part,)))


def test_merged_states_in_a_finer_unit_and_back():
    """Many states, so that lower words are full, raised by a finer weight, and lowered when it
    goes."""
    X, Y, _ = data("dense")
    weights = [np.full(N, 1.0 + i) for i in range(12)] + [np.full(N, 2.0**-25)]
    first = states.collect(
        X, Y, ["ridge", "fisher", "mim"], name="0", sample_weight=np.full(N, 3.0)
    )
    parts = [
        states.collect(X, Y, ["ridge", "fisher", "mim"], first, name=f"w{i}", sample_weight=w)
        for i, w in enumerate(weights)
    ]
    coarse = states.merge(parts[:-1])
    back = states.subtract(states.merge(coarse, parts[-1]), parts[-1])
    for kind, state in coarse.sums.items():
        for name, value in state.items():
            one, other = (
                v.toarray() if sp.issparse(v) else v for v in (value, back.sums[kind][name])
            )
            np.testing.assert_array_equal(one, other, err_msg=f"{kind} {name}")
    for method in ("ridge", "fisher", "mim"):
        pd.testing.assert_frame_equal(
            states.rank(coarse, method), states.rank(back, method), check_exact=True
        )


@pytest.mark.parametrize("method", ["fisher", "f-statistic", "ridge", "mim", "spec"])
def test_rows_stored_otherwise_are_the_same_rows(method):
    """Sparse rows on a dense basis, whose features are shifted, and dense ones on a sparse one."""
    X, Y, _ = data("dense")
    X[:, 6] -= 995  # near 5: 0 is outside its range, and not stored
    X[150:, 6] = 0
    first = states.collect(X[:100], Y[:100], method, name="a")
    one, other = (
        states.collect(x, Y[100:], method, first, name="b")
        for x in (X[100:], sp.csr_matrix(X[100:]))
    )
    pd.testing.assert_frame_equal(
        *(states.rank([first, each], method, None) for each in (one, other)), check_exact=True
    )
    X, Y, _ = data("sparse")
    first = states.collect(X[:100], Y[:100], method, name="a")
    one, other = (
        states.collect(x, Y[100:], method, first, name="b") for x in (X[100:], X[100:].toarray())
    )
    pd.testing.assert_frame_equal(
        *(states.rank([first, each], method, None) for each in (one, other)), check_exact=True
    )


def test_the_weight_of_counts_of_10_000_labels():
    """Of sparse rows 8 bytes for each stored value, alone and with each label of its row; of dense
    ones it is refused at once."""
    rng, n, d, q = np.random.default_rng(0), 400, 2000, 10_000
    X = sp.random(n, d, 0.01, "csr", random_state=0, data_rvs=lambda size: np.ones(size))
    Y = sp.csr_matrix(
        (np.ones(3 * n), (np.repeat(np.arange(n), 3), rng.permutation(q)[: 3 * n])), shape=(n, q)
    )
    own = states.collect(X, Y, "mim")
    table = own.sums["counts 5 width"]["table"]
    assert (
        table.shape == (d, 1 + q)
        and len(encode(compact({"table": table}))) <= 8 * X.nnz * (1 + 3) + 8 * (d + 1) + 200
    )
    with pytest.raises(BudgetError, match="raise memory_bytes"):
        states.collect(rng.normal(size=(20, 500)), np.eye(20, q), "mim", memory_bytes=100_000_000)


def test_rows_are_left_as_they_are():
    """Columns that stand in another order in the first state are sorted in a copy: packed rows are
    collected again and again."""
    X, Y, _ = data("sparse")
    X.data += 0.1 * np.arange(X.nnz)
    first = states.collect(
        pd.DataFrame(X.toarray()[:, ::-1], columns=[f"x{j}" for j in range(D)][::-1]), Y, "ridge"
    )
    rows = pack_arrays(X, Y, partial_rows=True)[0]
    before, told = rows.blocks[0].x.copy(), {"weights": False, "graded": False}
    for name in "ab":
        collected_of(
            rows,
            needs_of("ridge"),
            first,
            CollectedPart(name, "", "", [], [], rows.profile),
            told,
            Budgets(),
        )
        assert (rows.blocks[0].x != before).nnz == 0


@pytest.mark.parametrize("large", [1, 1 << 31])
def test_tables_add_up_range_by_range(large, monkeypatch):
    """As SciPy adds: with signs, with sums of 0, which are not stored, and with rows that have
    nothing."""
    monkeypatch.setattr(sums, "RANGE", 40)
    rng, signs = np.random.default_rng(1), [1, 1, 1, -1, -1]
    dense = [
        rng.integers(1, 9, (23, 12))
        * (rng.random((23, 12)) < 0.3)
        * (np.arange(23)[:, None] % 4 > 0)
        for _ in signs
    ]
    tables = [sp.csr_matrix(each * large) for each in (*dense[:4], dense[0])]
    own = sums._sparse_sum([*zip(tables, signs, strict=True)], (23, 12))
    np.testing.assert_array_equal(
        own.toarray(), sum(s * t.toarray() for s, t in zip(signs, tables, strict=True))
    )
    assert own.has_canonical_format
    assert own.data.all()


def test_tags_in_texts_and_ids_are_read_as_by_rank():
    X, Y, _ = data("dense")
    tags = [[f"t{label}" for label in np.flatnonzero(row)] for row in Y]
    ids = [f"row {n}" for n in range(N)]
    lists = states.collect(X, tags, ["chi2", "forward"], row_ids=ids, name="a")
    objects = [str([{"name": tag} for tag in row]) for row in tags]
    forms = [
        (X, ["; ".join(row) for row in tags], {"label_delimiter": ";"}),
        (X, objects, {"label_key": "name"}),
        (pd.DataFrame(X), pd.Series(map(";".join, tags)), {"label_delimiter": ";"}),
    ]
    for table, texts, reading in forms:
        other = states.collect(table, texts, ["chi2", "forward"], row_ids=ids, name="a", **reading)
        assert other.basis.labels == lists.basis.labels
        expected = spark_mlfs.rank(table, texts, "forward", k=5, row_ids=ids, **reading)
        found = states.rank(other, "forward", k=5)
        assert found["index"].tolist() == expected["index"].tolist()
    no_ids = states.collect(X, tags, ["chi2", "forward"], name="a")
    with pytest.raises(ParameterError, match="row ids"):
        states.collect(X, tags, ["chi2", "forward"], no_ids, name="b", row_ids=ids)


def test_streams_have_tags_in_texts_and_ids(monkeypatch):
    monkeypatch.setattr("spark_mlfs.blocks.streams.RUN_BYTES", 8 * D * 50)
    X, Y, _ = data("dense")
    tags = [";".join(f"t{label}" for label in np.flatnonzero(row)) for row in Y]
    rows = pa.table({f"x{j}": X[:, j] for j in range(D)})
    settings = {"row_ids": np.arange(N), "label_delimiter": ";"}
    first = states.collect(X, tags, ["mim", "forward"], name="a", **settings)
    halves = [
        states.collect(table, tags, ["mim", "forward"], first, name="b", **settings)
        for table in (pd.DataFrame(X, columns=rows.column_names), rows)
    ]
    scores = [states.rank(half, "forward", k=5)["score"].tolist() for half in halves]
    assert scores[0] == scores[1]
