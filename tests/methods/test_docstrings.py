"""What every registered method, extractor and classifier says of itself: formula, symbols, errors,
source, deviations."""

from __future__ import annotations

import ast
import inspect
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs import errors
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.extract import EXTRACTORS
from spark_mlfs.methods import METHODS
from spark_mlfs.statistics.base import Budgets

ALL = [(registry, name) for registry in (METHODS, EXTRACTORS, CLASSIFIERS) for name in registry]
KINDS = ("DataError", "BudgetError", "ParameterError")
SECTIONS = ("Symbols", "Raises", "Source", "Deviations")

everyone = pytest.mark.parametrize(("registry", "name"), ALL, ids=[name for _, name in ALL])


def documentation(registry, name):
    """The text of the module, which the command line and the estimators show, and the sections it
    consists of."""
    text = registry[name].documentation()
    starts = {section: re.search(rf"^{section}:\s", text, re.M) for section in SECTIONS}
    missing = [section for section, start in starts.items() if start is None]
    assert not missing, f"{name} has no {', '.join(missing)}"
    assert "$" not in text, "a phrase that `registry.PHRASES` does not have"
    ends = [*sorted(start.start() for start in starts.values()), len(text)]
    return text, {
        s: text[m.end() : next(e for e in ends if e > m.start())].strip() for s, m in starts.items()
    }


@everyone
def test_the_sections_come_in_order_and_say_something(registry, name):
    text, sections = documentation(registry, name)
    assert [s for s in re.findall(r"^(\w+):\s", text, re.M) if s in SECTIONS] == list(SECTIONS)
    assert all(len(body) > 3 for body in sections.values())


@everyone
def test_a_formula_is_set_apart(registry, name):
    text, _sections = documentation(registry, name)
    before = text[: text.index("\nSymbols:")]
    formulas = [
        line
        for line in before.splitlines()
        if re.match(r" {4}\S", line) and re.search(r"[=≥∑Σ‖⟨ŷ]|min |max ", line)
    ]
    assert formulas


@everyone
def test_symbols_have_shapes_or_domains(registry, name):
    _, sections = documentation(registry, name)
    assert re.search(r"∈|\((n|v|q|rows)\b", sections["Symbols"])


@everyone
def test_every_parameter_is_described(registry, name):
    text, _ = documentation(registry, name)
    for parameter in registry.create(name).parameters:
        assert parameter.doc.strip() or f"``{parameter.name}" in text, parameter.name


@everyone
def test_no_parameter_is_named_that_does_not_exist(registry, name):
    """``such`` words of one value, where they are followed by =, are parameters of some class of
    the module."""
    text, _ = documentation(registry, name)
    module = type(registry.create(name)).__module__
    mates = [
        cls
        for r in (METHODS, EXTRACTORS, CLASSIFIERS)
        for cls in map(r.create, r)
        if type(cls).__module__ == module
    ]
    known = {p.name for cls in mates for p in cls.parameters}
    assert set(re.findall(r"``(\w+)=", text)) - {"n_features_to_select"} <= known


@everyone
def test_what_the_module_raises_is_named(registry, name):
    """Whatever its module raises, but for what other entries in it do."""
    _, sections = documentation(registry, name)
    cls = type(registry.create(name))
    tree = ast.parse(inspect.getsource(sys.modules[cls.__module__]))
    others = {type(registry.create(other)).__name__ for other in registry} - {
        base.__name__ for base in cls.__mro__
    }
    nodes = [
        n for part in tree.body if getattr(part, "name", None) not in others for n in ast.walk(part)
    ]
    raised = {
        n.exc.func.id for n in nodes if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call)
    }
    assert raised & set(KINDS) <= set(re.findall(r"`(\w+)`", sections["Raises"]))


@everyone
def test_the_lines_for_tables_are_lines(registry, name):
    cls = registry.create(name)
    for line in (cls.title, cls.source):
        assert 0 < len(line) <= 100 and "\n" not in line


def engine(unknown=False, alike=False, budget=None):
    """80 rows; `unknown`: one label of every row is; `alike`: no label takes both values; `budget`
    bytes of driver and worker."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 6))
    y = x[:, :4] + 0.3 * rng.normal(size=(80, 4)) > 0.4
    indptr = indices = None
    if alike:
        y[:] = False
    if unknown:
        indptr, indices = np.arange(81, dtype=np.int32), (np.arange(80) % 4).astype(np.int32)
        y[np.arange(80), indices] = False
    k = sp.csr_matrix(y)
    block = Block(x, np.arange(80) * 7 + 3, k.indptr, k.indices, indptr, indices)
    out = LocalEngine(profile_block(block, 4), [block])
    if budget is not None:
        out.budgets = Budgets(driver=budget, worker=budget)
    return out


def run(registry, name, over, **changes):
    """The method on an engine, with little to do: an answer without NaN, or one of the library's
    errors, which is returned."""
    cls = registry.create(name)
    p = {parameter.name: parameter.default for parameter in cls.parameters}
    p |= {
        key: few
        for key, few in {"max_iter": 20, "epochs": 2, "generations": 2, "population": 4}.items()
        if key in p
    }
    p |= changes
    try:
        if registry is METHODS:
            assert np.isfinite(cls.score(over, p, 3).values).all()
        else:
            cls.fit(over, p)
    except errors.SparkMlfsError as error:
        return error
    return None


CASES = {"unknown": {"unknown": True}, "alike": {"alike": True}, "budget": {"budget": 100}}
WAYS = [(registry, name, {}) for registry, name in ALL]
CODED = [
    name
    for name in METHODS
    if any(p.name == "label_coding" for p in METHODS.create(name).parameters)
]
WAYS += [(METHODS, name, {"label_coding": "lp"}) for name in CODED]
WAYS += [
    (METHODS, "ppt-cmi", {"estimator": "knn"}),
    (METHODS, "relieff", {"mode": "hamming"}),
    (METHODS, "gmba", {"k": 79}),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("registry", "name", "changes"),
    WAYS,
    ids=["-".join([n, *map(str, c.values())]) for _, n, c in WAYS],
)
def test_errors_are_the_documented_ones(registry, name, changes, case):
    """Without a fully known row, a label that takes both values, or memory there is an answer or
    one clear line."""
    error = run(registry, name, engine(**CASES[case]), **changes)
    _, sections = documentation(registry, name)
    if error is not None:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        assert kinds & set(re.findall(r"`(\w+)`", sections["Raises"])), repr(error)
        assert "\n" not in str(error)
    if case == "budget":
        assert registry is CLASSIFIERS or isinstance(error, errors.BudgetError)
