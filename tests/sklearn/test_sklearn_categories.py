"""Columns of texts, categoricals, booleans and dates of frames in memory: codes to methods that
count, 0/1 groups to others."""

from __future__ import annotations

import datetime
import pickle
import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from spark_mlfs import DataError, ParameterError, pipeline, rank
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.errors import DataNotice
from spark_mlfs.kernels.categories import MAX_BINS
from spark_mlfs.sklearn import (
    BRSVMClassifier,
    JMISelector,
    MDDMExtractor,
    MultiLabelSelector,
    RidgeSelector,
)

N, Q = 3000, 3
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, [7, 7, 3, 2], size=(N, 4))
CODES[:7, :2] = np.arange(7)[:, None]
REPEATED = np.arange(N // 3)
CODES[-len(REPEATED) :] = CODES[REPEATED]
NUMBER = RNG.normal(size=N).round(3)
NUMBER[-len(REPEATED) :] = NUMBER[REPEATED]
Y = np.c_[
    np.isin(CODES[:, 0], [1, 4, 6]), CODES[:, 2] == 1, (CODES[:, 1] > 3) ^ (CODES[:, 3] == 1)
].astype(int)
Y ^= RNG.random(Y.shape) < 0.1
WORDS = np.array([*"gfed", "B", "ä", "a"], object)  # their order is that of their characters
NAMES = ["of.words", "x y", "k", "two"]
CATEGORIES = pd.DataFrame({name: WORDS[CODES[:, j]] for j, name in enumerate(NAMES)})
TABLE = CATEGORIES.assign(number=NUMBER)
ENCODED = OrdinalEncoder().fit_transform(CATEGORIES)
COUNTING = {
    "mim": {},
    "jmi": {},
    "chi2": {},
    "mrmr": {},
    "igmf": {},
    "cmi": {},
    "ppt-cmi": {},
    "gmm": {},
    "fimf": {},
}


def pandas_of(ranking):
    """A ranking that was answered in kind as a frame of pandas."""
    return ranking.to_pandas() if isinstance(ranking, polars.DataFrame) else ranking


def as_polars(frame, kind=polars.Categorical):
    return polars.DataFrame({
        name: polars.Series(column.tolist(), dtype=kind) if column.dtype == object else column.to_numpy()
        for name, column in frame.items()
    })  # fmt: skip


# ---- methods that count ----


@pytest.mark.parametrize("method", COUNTING)
def test_to_methods_that_count_a_column_is_one_feature_of_its_codes(method):
    seven = CATEGORIES[NAMES[:2]]
    want = rank(
        pd.DataFrame(ENCODED[:, :2], columns=NAMES[:2]), Y, method, num_bins=7
    )  # seven bins of seven codes are the codes
    for binning in ("width", "quantile"):
        pd.testing.assert_frame_equal(
            rank(seven, Y, method, num_bins=2, binning=binning), want, check_exact=True
        )


def test_informations_are_those_of_scikit_learn():
    ranking = rank(TABLE, Y, "mim", k=None).set_index("name")
    for j, name in enumerate(NAMES):
        want = sum(mutual_info_score(ENCODED[:, j], Y[:, label]) for label in range(Q))
        assert ranking.loc[name, "score"] == pytest.approx(
            want / np.log(2), abs=1e-9
        ) or ranking.loc[name, "score"] == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("method", ["jmi", "ridge"])
def test_every_kind_of_column_and_order_of_rows_gives_the_same_bits(method):
    want = rank(TABLE, Y, method)
    shuffled = np.random.default_rng(1).permutation(N)
    labels = pd.DataFrame(Y)
    for form in (
        TABLE.astype(dict.fromkeys(NAMES, "category")),
        TABLE.astype({"k": pd.CategoricalDtype([*WORDS[::-1], "never"], ordered=True)}),
        TABLE.astype(dict.fromkeys(NAMES, "string")),
        as_polars(TABLE),
        as_polars(TABLE, polars.String),
        as_polars(TABLE, polars.Enum(sorted(WORDS))),
    ):
        ranking = pandas_of(rank(form, Y, method))
        pd.testing.assert_frame_equal(ranking, want, check_exact=True)
    pd.testing.assert_frame_equal(
        rank(TABLE.iloc[shuffled], labels.iloc[shuffled], method), want, check_exact=True
    )


@pytest.mark.parametrize("method", ["jmi", "mim", "chi2"])
def test_rows_in_several_blocks_give_the_same_bits(method):
    held, _ = pack_arrays(TABLE, Y, codes=True)
    request = pipeline.Request.of(method)
    want = pipeline.rank(held, [request])[0].ranking
    (block,) = held.blocks
    held.blocks = [block.part(a, a + 700) for a in range(0, N, 700) if a + 700 < N] + [
        block.part(2800, N)
    ]
    pd.testing.assert_frame_equal(pipeline.rank(held, [request])[0].ranking, want, check_exact=True)


def test_features_far_beyond_others_do_not_touch_codes():
    far = TABLE.assign(number=NUMBER * 1e150)
    columns = ["name", "score"]
    want, found = (rank(t, Y, "mim")[columns] for t in (TABLE, far))
    pd.testing.assert_frame_equal(found, want, check_exact=True)


# ---- other methods ----


@pytest.mark.parametrize("method", ["ridge", "lasso", "f-statistic", "relieff", "fisher"])
def test_to_others_a_column_is_a_group_of_0_and_1(method):
    encoder = OneHotEncoder(sparse_output=False).fit(CATEGORIES)
    hot = pd.DataFrame(encoder.transform(CATEGORIES))
    hot.columns = [
        f"{name}={value}"
        for name, values in zip(NAMES, encoder.categories_, strict=True)
        for value in values
    ]
    groups = {name: [c for c in hot.columns if c.startswith(f"{name}=")] for name in NAMES}
    want = rank(hot.assign(number=NUMBER), Y, method, groups=groups)
    found = rank(TABLE, Y, method)
    pd.testing.assert_frame_equal(found, want, check_exact=True)
    assert found["name"].iloc[0].partition("=")[0] in NAMES[:3]


@pytest.mark.parametrize("method", ["forward", "ridge", "fastcan", "fisher"])
def test_a_column_of_categories_counts_as_one_of_the_features_that_are_kept(method):
    every = rank(TABLE, Y, method, k=None)
    column = every["name"].str.rpartition("=")[0].where(every["group"].notna(), every["name"])
    order = column.drop_duplicates().tolist()
    assert (
        sorted(order) == sorted(TABLE)
        and len(every) == sum(TABLE[name].nunique() for name in NAMES) + 1
    )
    for k in range(1, 5):
        kept = rank(TABLE, Y, method, k=k)
        assert kept["name"].tolist() == every["name"][column.isin(order[:k])].tolist()
        fitted = MultiLabelSelector(method, num_top_features=k).fit(TABLE, Y)
        assert [*TABLE.columns[fitted.get_support()]] == [
            name for name in TABLE if name in order[:k]
        ]


def test_a_filter_or_a_rule_that_does_not_count_decides_as_well():
    assert "group" not in rank(TABLE, Y, "jmi", screen="chi2:3")
    assert "group" in rank(TABLE, Y, "lasso", screen="chi2:10")
    assert rank(TABLE, Y, "jmi", screen="f-statistic:12")["name"].str.contains("=").any()
    assert rank(TABLE, Y, "mrmr", relevance="f")["name"].str.contains("=").any()
    tested = MultiLabelSelector(method="mim", selection_mode="fdr").fit(TABLE, Y)
    assert tested.ranking_["name"].tolist()[0] in NAMES
    stable = MultiLabelSelector(method="mim", selection_mode="stability", num_top_features=5).fit(
        TABLE, Y
    )
    assert stable.ranking_["name"].str.contains("=").any() and "group" not in stable.ranking_


def test_constraints_go_by_the_names_of_the_features():
    found = rank(TABLE, Y, "ridge", include=["k=*"], exclude=["of.words=*"], k=4)
    assert (
        found["name"].iloc[:3].str.startswith("k=").all()
        and not found["name"].str.startswith("of").any()
    )
    assert rank(TABLE, Y, "jmi", include=["two"], k=2)["name"].iloc[0] == "two"
    assert rank(TABLE, Y, "jmi", include=[3], k=2)["name"].iloc[0] == "two"
    with pytest.raises(ParameterError, match=r"list them by name, as 'of\.words=\*'"):
        rank(TABLE, Y, "ridge", include=[3])
    with pytest.raises(ParameterError, match="did you mean 'two="):
        rank(TABLE, Y, "ridge", include=["two"])


# ---- missing and unseen values, dates ----


@pytest.mark.parametrize("fill", ["mean", "zero"])
def test_a_missing_value_is_a_value_of_its_own_where_it_is_filled(fill):
    holes = TABLE.copy()
    holes.loc[[3, 500, 2999], "of.words"] = None
    holes.loc[[5, 700], "number"] = np.nan
    with pytest.raises(DataError, match=r"row 3 of X: feature 'of\.words' is missing"):
        rank(holes, Y, "jmi")
    with pytest.raises(DataError, match=r"row 3 of X: feature 'of\.words=B' is missing"):
        rank(holes, Y, "ridge")
    named = holes.assign(**{"of.words": holes["of.words"].fillna("\U0010ffff")})
    pd.testing.assert_frame_equal(
        rank(holes, Y, "jmi", missing=fill), rank(named, Y, "jmi", missing=fill), check_exact=True
    )
    hot = rank(holes, Y, "ridge", missing=fill)
    assert "of.words is missing" in hot["name"].tolist()
    kept = ~holes.isna().any(axis=1)
    for method in ("jmi", "ridge"):
        dropped = rank(holes, Y, method, missing="drop")
        pd.testing.assert_frame_equal(dropped, rank(TABLE[kept], Y[kept], method), check_exact=True)


def test_unseen_values_have_a_code_of_their_own():
    new = TABLE.iloc[:4].copy()
    new["of.words"] = ["new", "g", "newer", None]
    selector = JMISelector(num_top_features=5, missing="mean").fit(TABLE, Y)
    assert (
        selector.get_feature_names_out().tolist() == [*NAMES, "number"]
        and selector.get_support().all()
    )
    again = pickle.loads(pickle.dumps(selector))
    assert again.transform(new)[:, 0].tolist() == [7, sorted(WORDS).index("g"), 7, 7]
    assert again.transform(TABLE)[:, :4].tolist() == ENCODED.tolist()
    assert (
        again.transform(as_polars(TABLE, polars.String)).tolist() == again.transform(TABLE).tolist()
    )
    hot = RidgeSelector(num_top_features=4).fit(TABLE, Y)
    rows = hot.transform(new.assign(**{"of.words": ["new", "g", "newer", "a"]}))
    names = hot.get_feature_names_out().tolist()
    words = [names.index(f"of.words={w}") for w in sorted(WORDS)]
    assert rows[:, words].sum(axis=1).tolist() == [0, 1, 0, 1] and rows.shape[1] == len(names)
    assert hot.get_support(indices=True).tolist() == sorted(
        {NAMES.index(n.partition("=")[0]) for n in names if "=" in n}
    )
    strict = JMISelector(num_top_features=2).fit(TABLE, Y)
    with pytest.raises(DataError, match=r"feature 'of\.words' is missing"):
        strict.transform(new)
    with (
        pytest.raises(DataError, match="a frame with categories or dates; give a frame"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # scikit-learn's, of names
        strict.transform(np.c_[ENCODED, NUMBER])


def test_numbers_as_categories_are_in_their_order_whatever_their_type():
    numbers = pd.DataFrame({"n": pd.Categorical(CODES[:, 0] * 5), "number": NUMBER})
    selector = JMISelector(num_top_features=2).fit(numbers, Y)
    assert selector.categories_.values == {0: ["0", "5", "10", "15", "20", "25", "30"]}
    for kind in (int, float, str):
        assert selector.transform(
            pd.DataFrame({"n": (CODES[:, 0] * 5).astype(kind), "number": NUMBER})
        )[:, 0].tolist() == (CODES[:, 0].tolist())


def test_dates_are_days_and_say_so():
    days = RNG.integers(0, 1000, N)
    stamps = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D")
    start = (datetime.date(2020, 1, 1) - datetime.date(1970, 1, 1)).days
    want = rank(pd.DataFrame({"number": NUMBER, "a day": days + float(start)}), Y, "mim")
    zoned = stamps.tz_localize("UTC").tz_convert("Asia/Tokyo")
    forms = {
        "stamps": pd.DataFrame({"number": NUMBER, "a day": stamps}),
        "zoned": pd.DataFrame({"number": NUMBER, "a day": zoned}),
        "objects": pd.DataFrame({"number": NUMBER, "a day": [stamp.date() for stamp in stamps]}),
        "polars": polars.DataFrame({"number": NUMBER, "a day": [stamp.date() for stamp in stamps]}),
    }
    for form in forms.values():
        with pytest.warns(
            DataNotice,
            match="column 'a day' of X holds dates: its feature is days since 1970-01-01",
        ):
            ranking = pandas_of(rank(form, Y, "mim"))
        pd.testing.assert_frame_equal(ranking, want, check_exact=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = JMISelector(num_top_features=2, missing="mean").fit(forms["stamps"], Y)
    later = (
        forms["stamps"]
        .iloc[:3]
        .assign(**{"a day": [pd.Timestamp("1970-01-02 12:00"), pd.NaT, pd.Timestamp("1969-12-31")]})
    )
    assert selector.transform(later)[[0, 2], 1].tolist() == [1.5, -1.0]
    assert selector.transform(later)[1, 1] == pytest.approx(start + days.mean(), rel=1e-12)
    with pytest.raises(
        DataError, match="column 'a day' of X holds no dates, as it did in training"
    ):
        selector.transform(pd.DataFrame({"number": NUMBER, "a day": days}))
    with (
        pytest.raises(DataError, match="row 1 of X: feature 'a day' is missing"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        rank(later, Y[:3], "mim")


def test_booleans_are_numbers():
    flags = TABLE.assign(two=CODES[:, 3] == 1)
    by_hand = TABLE.assign(two=(CODES[:, 3] == 1) * 1.0)
    for method in ("jmi", "ridge"):
        pd.testing.assert_frame_equal(
            rank(flags, Y, method), rank(by_hand, Y, method), check_exact=True
        )


# ---- bounds ----


def test_a_category_has_a_bounded_number_of_values():
    labels = np.arange(2 * MAX_BINS + 2)[:, None] % 2
    many = pd.DataFrame(
        {
            "city": [f"c{i // 2:04}" for i in range(2 * MAX_BINS + 2)],
            "n": np.arange(2.0 * MAX_BINS + 2),
        }
    )
    with pytest.raises(
        DataError,
        match=f"column 'city' of X holds {MAX_BINS + 1} different values, .* at most {MAX_BINS}",
    ):
        rank(many, labels, "mim")
    most = many.iloc[:-2].copy()
    assert len(rank(most, labels[:-2], "mim")) == 2
    codes = JMISelector(num_top_features=2).fit(most, labels[:-2]).transform(most)[:, 0]
    assert codes.tolist() == [i // 2 for i in range(2 * MAX_BINS)]
    most.loc[0, "city"] = None
    with pytest.raises(DataError, match="column 'city' of X holds 250 different values"):
        rank(most, labels[:-2], "mim", missing="mean")


def test_values_that_read_alike_are_refused():
    alike = TABLE.assign(k=pd.Categorical([1, "1"] * (N // 2)))
    with pytest.raises(DataError, match="column 'k' of X holds different values that read alike"):
        rank(alike, Y, "mim")


# ---- estimators ----


def test_extractors_classifiers_and_pipelines_take_such_frames():
    hot = OneHotEncoder(sparse_output=False).fit_transform(CATEGORIES)
    hot = np.c_[hot, NUMBER]
    for estimator, method in ((BRSVMClassifier(), "predict"), (MDDMExtractor(), "transform")):
        found = getattr(clone(estimator).fit(TABLE, Y), method)(TABLE)
        np.testing.assert_array_equal(found, getattr(clone(estimator).fit(hot, Y), method)(hot))
    model = make_pipeline(RidgeSelector(num_top_features=15), BRSVMClassifier()).fit(TABLE, Y)
    assert (model.predict(TABLE) == Y).mean() > 0.75
    selector = RidgeSelector(num_top_features=15).set_output(transform="pandas").fit(TABLE, Y)
    assert selector.transform(TABLE).columns.tolist() == selector.get_feature_names_out().tolist()


def test_columns_of_pandas_arrow_types_that_are_no_values_are_refused():
    x = np.arange(12) % 3
    for cells in (pa.array([[int(v)] for v in x]), pa.array([{"a": int(v)} for v in x])):
        frame = pa.table({"x": cells, "z": x}).to_pandas(types_mapper=pd.ArrowDtype)
        with pytest.raises(DataError, match=r"columns of X that hold no numbers, .*: .x."):
            rank(frame, (x > 1).astype(int)[:, None], "mim")
