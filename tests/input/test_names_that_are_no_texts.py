"""Values by name whose names are no texts, and what is no values by name: one line each."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs import sklearn, states
from spark_mlfs.errors import ParameterError, SparkMlfsError
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.report.comparison_page import compare

R = np.random.default_rng(0)
X = pd.DataFrame(R.normal(size=(60, 4)), columns=list("abcd"))
Y = pd.DataFrame({"t": (X.a > 0) * 1, "u": (X.b > 0) * 1})
ODD = {
    **{"int": {1: 2}, "none": {None: 1}, "tuple": {("a",): 1}, "bytes": {b"a": 1}, "set": {1}},
    **{"nan": {float("nan"): 1}, "mixed": {"num_bins": 3, 2: 3}, "list": [1], "text": "x"},
    **{"number": 7, "true": True, "array": np.zeros(2), "nested": {"a": {1: 2}}, "pairs": [(1, 2)]},
}
COLLECTED = states.collect(X, Y, ["mim", "lasso"])
PLAN = {"data": [{"name": "d", "format": "numbers", "options": {"num_rows": 30}}]}
CALLS = {
    "rank": lambda odd: spark_mlfs.rank(X, Y, "mim", method_params=odd),
    "collect": lambda odd: states.collect(X, Y, "mim", method_params=odd),
    "states.rank": lambda odd: states.rank(COLLECTED, "mim", method_params=odd),
    "states.rank mddm": lambda odd: states.rank(COLLECTED, "mddm", method_params=odd),
    "states.compare": lambda odd: states.compare(COLLECTED, COLLECTED, method_params=odd),
    "drift": lambda odd: spark_mlfs.drift((X, Y), (X, Y), method_params=odd),
    "estimator": lambda odd: sklearn.MultiLabelSelector("mim", method_params=odd).fit(X, Y),
    "costs": lambda odd: spark_mlfs.rank(X, Y, "mim", 2, costs=odd),
    "groups": lambda odd: spark_mlfs.rank(X, Y, "mim", 2, groups=odd),
    "penalties": lambda odd: spark_mlfs.rank(X, Y, "lasso", 2, penalties=odd),
    "label_weights": lambda odd: spark_mlfs.rank(X, Y, "fisher", label_weights=odd),
    "methods": lambda odd: states.collect(X, Y, odd),
    "merge": states.merge,
    "subtract": lambda odd: states.subtract(COLLECTED, odd),
    "plan": lambda odd: compare(LocalSession(), odd),
    "method": lambda odd: compare(LocalSession(), {**PLAN, "method": odd}),
    "parameters": lambda odd: compare(
        LocalSession(), {**PLAN, "method": [{"name": "mim", "parameters": odd}]}
    ),
    "options": lambda odd: compare(
        LocalSession(), {"data": [{**PLAN["data"][0], "options": odd}], "method": [{"name": "mim"}]}
    ),
}


# features and groups go by names of any kind, as columns of frames do, and by places
NAMES = {("groups", kind) for kind in ("int", "tuple", "bytes", "nan")} | {("penalties", "int")}


@pytest.mark.parametrize(
    ("call", "odd"), [pair for pair in itertools.product(CALLS, ODD) if pair not in NAMES]
)
def test_one_line(call, odd):
    with pytest.raises(SparkMlfsError) as raised:
        CALLS[call](ODD[odd])
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 500


def test_what_the_line_says():
    with pytest.raises(ParameterError, match=r"^method_params: a name is a text, not 1$"):
        CALLS["rank"]({1: 2})
    with pytest.raises(
        ParameterError, match=r"^method_params must be values by name, such as .*7$"
    ):
        CALLS["drift"](7)
