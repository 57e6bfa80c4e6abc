"""G-tests of every feature with every label, combined over the labels, corrected over the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..kernels.information import CountLogs
from ..methods.base import Method
from ..methods.counting import Counting
from ..solvers import gtest
from ..statistics.targets import Labels
from .modes import TESTS
from .rules import Evidence, Rule, bins_of, evidence_of, over_all_features


@evidence_of(*TESTS)
def g_tests(rule: Rule, engine: Engine, method: Method, p: Mapping[str, Any]) -> Evidence:
    """p-values of the features, and q-values where they are corrected."""
    num_bins, binning = bins_of(p)
    counting = Counting(engine, {"num_bins": num_bins, "binning": binning})
    q, n, labels = engine.profile.q, engine.profile.n, counting.target
    assert isinstance(labels, Labels)
    logs = CountLogs(n, 8 * (q + 2))
    values = np.empty(engine.num_features)
    tests = thin = 0
    for first, last, counts in counting.two_way.chunks(copies=6):
        p_values, rough = gtest.g_tests(logs, counts, q, labels.unknown(counts))
        tests, thin = tests + int((~np.isnan(p_values)).sum()), thin + int(rough.sum())
        values[first:last] = gtest.combine(p_values, rule.combination, n)
    columns = {"p_value": over_all_features(engine, values)}
    if rule.mode != "fpr":
        columns["q_value"] = gtest.corrected(columns["p_value"], rule.mode)
    out = Evidence(rule, columns)
    out.facts = {
        "features_tested": engine.num_features,
        "tests": tests,
        "tests_with_expected_counts_below_1": thin,
        "combination": rule.combination,
        "num_bins": num_bins,
        "binning": binning,
    }
    return out
