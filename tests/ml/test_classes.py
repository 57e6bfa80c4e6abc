"""The estimator classes as editors and users see them: written out, typed, documented; those from outside by the same text."""

from __future__ import annotations

import ast
import inspect
import pickle
import typing
from collections.abc import Sequence

import pytest

import spark_mlfs
from spark_mlfs import ParameterError
from spark_mlfs.classify.base import Classifier
from spark_mlfs.extract.base import Extractor
from spark_mlfs.methods.mim import MIM
from spark_mlfs.ml import generate
from spark_mlfs.ml.classifiers import ESTIMATORS as CLASSIFYING
from spark_mlfs.ml.extractors import ESTIMATORS as EXTRACTING
from spark_mlfs.ml.selectors import SELECTORS
from spark_mlfs.params import Choice, Flag, Integer, Number, Numbers, Optional, Parameter, Text

CLASSES = {f"{room} {name}": (classes, name) for room, classes in
           (("selectors", SELECTORS), ("extractors", EXTRACTING), ("classifiers", CLASSIFYING)) for name in classes}  # fmt: skip
EVERY = pytest.mark.parametrize("key", CLASSES)


def tree(path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}


# what an editor reads, without running anything
SOURCE = {name: node for face, module in generate.WRITTEN if face == "ml"
          for name, node in tree(generate.PACKAGE / face / f"{module}.py").items()}  # fmt: skip


@pytest.mark.parametrize("path", list(generate.files()), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_files_are_what_the_script_writes(path):
    assert path.read_text() == generate.files()[path], "run: python -m spark_mlfs.ml.generate"


@EVERY
def test_a_class_is_written_out_with_every_parameter(key):
    """Keyword-only and typed, in `__init__` and `setParams`; a Param, getter and setter for each of its own; a docstring says
    what each is."""
    classes, name = CLASSES[key]
    made = classes[name]
    node = SOURCE[made.__name__]
    functions = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
    fields = {f.target.id for f in node.body if isinstance(f, ast.AnnAssign)}
    own = [p.camel for p in classes.registry[name].parameters]
    doc = ast.get_docstring(node)
    entries = [line for line in doc.splitlines() if " : " in line]
    assert doc.startswith(inspect.getdoc(classes.registry[name]).splitlines()[0])
    assert "\nParameters\n----------\n" in doc
    for head in ("__init__", "setParams"):
        arguments = functions[head].args
        names = [a.arg for a in arguments.kwonlyargs]
        assert names[: len(own)] == own and [a.arg for a in arguments.args] == ["self"] and arguments.kwarg is None
        assert all(a.annotation is not None for a in arguments.kwonlyargs) and functions[head].returns is not None
        assert set(names) == {p.name for p in made().params}
        defaults = dict(zip(names, map(ast.literal_eval, arguments.kw_defaults), strict=True))
        estimator = made()
        for each, default in defaults.items():
            actual = estimator.getOrDefault(each)
            assert actual == (f"{estimator.uid}__output" if default == "<uid>__output" else default)
            (entry,) = [line for line in entries if line.startswith(f"{each} : ")]
            assert entry.endswith(f"default {written(default)}")
    assert fields == set(own)
    for each in own:
        title = each[0].upper() + each[1:]
        assert f"get{title}" in functions and functions[f"set{title}"].args.args[1].annotation is not None
    lines = node.end_lineno - node.lineno
    assert lines < 200, f"{made.__name__} takes {lines} lines"


def written(value):
    return f'"{value}"' if isinstance(value, str) else repr(value)


@EVERY
def test_types_are_those_of_the_constraints(key):
    """The annotation of a parameter admits its default, and the words of a choice exactly."""
    classes, name = CLASSES[key]
    hints = typing.get_type_hints(classes[name].__init__)
    for p in classes.registry[name].parameters:
        hint, constraint = hints[p.camel], p.constraint
        if isinstance(constraint, Optional):
            assert type(None) in typing.get_args(hint)
            constraint = constraint.of
            hint = typing.Union[tuple(t for t in typing.get_args(hint) if t is not type(None))]  # noqa: UP007
        if isinstance(constraint, Choice):
            assert set(typing.get_args(hint)) == set(constraint.options)
        elif isinstance(constraint, Numbers):
            words = (str,) if constraint.words else ()
            named = (dict[str, float],) if constraint.named else ()
            assert hint == typing.Union[(*words, *named, Sequence[float])]  # noqa: UP007
        else:
            kinds = {Integer: int, Number: float, Flag: bool, Text: str}
            assert hint is next(made for kind, made in kinds.items() if isinstance(constraint, kind))


def test_getters_and_setters_are_documented():
    assert spark_mlfs.JMISelector.setNumBins.__doc__.startswith("Sets `numBins`: bins of a discretised feature")
    for name in ("LabelsForm", "SelectionMode", "Screen", "NumBins"):
        assert getattr(spark_mlfs.JMISelector, f"get{name}").__doc__.startswith("Value of `")


# ---- entries from outside ----


@pytest.fixture
def registered():
    """Registers a class for one test."""
    names = []

    def register(method):
        names.append(method.name)
        return spark_mlfs.register(method)

    yield register
    for name in set(names) & set(spark_mlfs.METHODS):
        made = vars(SELECTORS.module).get(SELECTORS.class_name(name))
        if made is not None and made.entry is spark_mlfs.METHODS[name]:
            delattr(SELECTORS.module, made.__name__)
        spark_mlfs.METHODS.forget(name)


class Borrowed(MIM):
    r'''Ranks as "mim" does; a docstring with \backslashes, """quotes""" and Σ.

    Two paragraphs."'''

    name = "borrowed"
    title = "mim by another name"
    source = "a test"
    parameters = (
        *MIM.parameters,
        Parameter("two_words", 'a "quoted" \\ word', Text("any text"), "what is never used"),
    )


def test_a_method_of_another_package_gets_the_same_class(registered):
    with pytest.raises(ParameterError, match="there is no method 'borrowed'"):
        spark_mlfs.selector_class("borrowed")
    with pytest.raises(AttributeError):
        spark_mlfs.BorrowedSelector  # noqa: B018
    registered(Borrowed)
    made = spark_mlfs.selector_class("borrowed")
    assert made is spark_mlfs.BorrowedSelector is SELECTORS["borrowed"] and made.__name__ == "BorrowedSelector"
    assert made.__module__ == "spark_mlfs.ml.selector_classes" and "BorrowedSelector" not in spark_mlfs.__all__
    assert inspect.getdoc(made).startswith(inspect.getdoc(Borrowed)) and "twoWords : str" in made.__doc__
    assert inspect.signature(made).parameters["twoWords"].default == 'a "quoted" \\ word'
    estimator = made(numBins=7).setTwoWords("x")
    again = pickle.loads(pickle.dumps(estimator))
    assert type(again) is made and again.getNumBins() == 7 and again.getTwoWords() == "x" and again.uid == estimator.uid
    with pytest.raises(ParameterError, match="BorrowedSelector has no param 'numBin'; it takes: .*twoWords"):
        made(numBin=7)
    assert type("Mine", (made,), {})(numBins=3).getNumBins() == 3


def test_a_method_that_is_defined_again_gets_a_new_class(registered):
    """As a notebook does by running a cell twice."""

    def define(default):
        class Again(MIM):
            """Defined twice."""

            name, title, source = "again", "again", "a test"
            parameters = (Parameter("depth", default, Integer(1), "how deep"),)

        return registered(Again)

    define(1)
    first = spark_mlfs.selector_class("again")
    define(2)
    second = spark_mlfs.selector_class("again")
    assert first().getDepth() == 1 and second().getDepth() == 2 and spark_mlfs.AgainSelector is second


def test_what_cannot_be_a_class_is_refused(registered):
    other = type("JMI", (MIM,), {"name": "other-jmi", "__doc__": "Another of that name.", "__module__": __name__})
    registered(other)
    with pytest.raises(ParameterError, match="'other-jmi': JMISelector is the class of 'jmi'; give the class JMI another name"):
        spark_mlfs.selector_class("other-jmi")
    for name in ("features_col", "not-a-name"):
        taken = (Parameter(name, 1, Integer(1), "taken"),)
        registered(type("Taken", (MIM,), {"name": "taken", "parameters": taken, "__doc__": "Taken.", "__module__": __name__}))
        with pytest.raises(ParameterError, match=f"method 'taken' cannot have a parameter '{name}'"):
            spark_mlfs.selector_class("taken")


def test_classes_by_the_names_of_the_registries():
    assert spark_mlfs.selector_class("jmi") is spark_mlfs.JMISelector
    assert spark_mlfs.extractor_class("lift-rsm") is spark_mlfs.LIFTRSMExtractor
    assert spark_mlfs.classifier_class("mlknn") is spark_mlfs.MLkNNClassifier
    for made, says in (
        (spark_mlfs.selector_class, "there is no method 'jmii'; did you mean 'jmi'"),
        (spark_mlfs.extractor_class, "there is no extractor 'jmii'"),
        (spark_mlfs.classifier_class, "there is no classifier 'jmii'"),
    ):
        with pytest.raises(ParameterError, match=says):
            made("jmii")


def test_each_kind_is_registered_where_it_belongs():
    mine = {"title": "mine", "source": "a test", "parameters": (), "__doc__": "Mine.", "__module__": __name__}
    for base, registry, made in (
        (Extractor, spark_mlfs.EXTRACTORS, spark_mlfs.extractor_class),
        (Classifier, spark_mlfs.CLASSIFIERS, spark_mlfs.classifier_class),
        (MIM, spark_mlfs.METHODS, spark_mlfs.selector_class),
    ):
        cls = type("Mine", (base,), {**mine, "name": "mine"})
        assert spark_mlfs.register(cls) is cls is registry["mine"]
        try:
            assert made("mine").__name__ == f"Mine{registry.kind.capitalize()}".replace("Method", "Selector")
            assert made("mine")().entry is cls
        finally:
            registry.forget("mine")
    with pytest.raises(ParameterError, match="Nothing is no method: it has no 'name'"):
        spark_mlfs.register(type("Nothing", (), {}))
