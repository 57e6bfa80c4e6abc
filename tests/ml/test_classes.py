"""The estimator classes as editors and users see them: listed, typed, documented; those from
outside alike."""

from __future__ import annotations

import ast
import inspect
import pickle
import typing
from collections.abc import Sequence
from pathlib import Path

import pytest

import spark_mlfs
import spark_mlfs.sklearn
from spark_mlfs import ParameterError
from spark_mlfs.adapters.docstrings import annotation
from spark_mlfs.classify.base import Classifier
from spark_mlfs.extract.base import Extractor
from spark_mlfs.methods.mim import MIM
from spark_mlfs.ml import shared
from spark_mlfs.ml.learners import CLASSIFYING, EXTRACTING
from spark_mlfs.ml.selectors import SELECTORS
from spark_mlfs.params import Choice, Flag, Integer, Number, NumberList, Optional, Parameter, Text

CLASSES = {f"{room} {name}": (classes, name) for room, classes in
           (("selectors", SELECTORS), ("extractors", EXTRACTING), ("classifiers", CLASSIFYING)) for name in classes}  # fmt: skip
EVERY = pytest.mark.parametrize("key", CLASSES)
OWN = {key: (classes[name], name) for key, (classes, name) in CLASSES.items()}
PACKAGE = Path(spark_mlfs.__file__).parent


def tree(room: str) -> dict[str, ast.ClassDef]:
    """The classes of a stub: what an editor reads, without running anything."""
    text = (PACKAGE / f"{room}.pyi").read_text(encoding="utf-8")
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


STUBS = {(face, kind): tree(f"{face}/{kind}_classes") for face in ("ml", "sklearn") for kind in
         ("selector", "extractor", "classifier")}  # fmt: skip


def spelled(node: ast.AST) -> str:
    return ast.unparse(node)


def accessors(node: ast.ClassDef) -> dict[str, tuple[str, str, str]]:
    """By name the types of a Param, of its getter and of its setter."""
    types = {f.target.id: spelled(f.annotation) for f in node.body if isinstance(f, ast.AnnAssign)}
    functions = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
    out = {}
    for name, kind in types.items():
        get, set = (functions[f"{verb}{name[0].upper()}{name[1:]}"] for verb in ("get", "set"))
        out[name] = kind, spelled(get.returns), spelled(set.args.args[1].annotation)
    return out


def test_a_class_is_a_line_of_the_stub():
    """A search for it finds it, with the name of its method."""
    assert (
        ', SelectorEstimator, entry="jmi"):\n' in (PACKAGE / "ml/selector_classes.pyi").read_text()
    )
    assert (
        'class JMISelector(WeightedSelectorOfArrays, entry="jmi"):\n'
        in (PACKAGE / "sklearn/selector_classes.pyi").read_text()
    )
    for (_, kind), classes in STUBS.items():
        entries = {
            name: node.keywords[-1] for name, node in classes.items() if not name.startswith("_")
        }
        own = {
            made.__name__: ("entry", name)
            for made, name in OWN.values()
            if made.__name__.lower().endswith(kind)
        }
        assert {name: (word.arg, word.value.value) for name, word in entries.items()} == own


@EVERY
@pytest.mark.parametrize("face", ["ml", "sklearn"])
def test_editors_read_every_parameter(key, face):
    """Of `__init__` and `setParams`, typed and with its default; a Param, a getter and a setter of
    its own and of common ones."""
    made, _name = OWN[key]
    classes = STUBS[face, key.split()[0][:-1]]
    cls = getattr(spark_mlfs if face == "ml" else spark_mlfs.sklearn, made.__name__)
    node = classes[cls.__name__]
    common = {f.target.id: spelled(f.annotation) for f in classes["_Common"].body}
    assert inspect.getdoc(cls).split("\n\n")[0].split() == ast.get_docstring(node).split()
    functions = {f.name: f for f in node.body if isinstance(f, ast.FunctionDef)}
    assert set(functions) == ({"__init__", "setParams"} if face == "ml" else {"__init__"})
    for head, function in functions.items():
        arguments = function.args
        own = {a.arg: (spelled(a.annotation), ast.literal_eval(d)) for a, d in
               zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}  # fmt: skip
        real = dict(inspect.signature(getattr(cls, head)).parameters)
        del real["self"]
        assert list(real) == [*own, *common]
        assert {name: (p.annotation, p.default) for name, p in real.items() if name in own} == own
        assert {name: p.annotation for name, p in real.items() if name in common} == common
        assert spelled(arguments.kwarg.annotation) == "Unpack[_Common]" and [
            a.arg for a in arguments.args
        ] == ["self"]
    if face == "ml":
        assert set(real) == {p.name for p in cls().params}
        typed = {}
        for mixin in (b.id for b in node.bases if b.id in classes):
            typed |= accessors(classes[mixin])
        assert typed == {name: (f"Param[{kind}]", kind, kind) for name, (kind, _) in own.items()}
        defaults = {
            **{name: p.default for name, p in real.items()},
            "outputCol": f"{(made := cls()).uid}__output",
        }
        if "outputCol" in real and real["outputCol"].default != "<uid>__output":
            defaults["outputCol"] = real["outputCol"].default
        assert {name: made.getOrDefault(name) for name in real} == {
            name: defaults[name] for name in real
        }


def test_editors_read_the_params_of_all_selectors():
    for name, node in tree("ml/shared").items():
        declared = getattr(shared, name)._declared
        kinds = {p.camel: annotation(p.constraint).replace('"', "'") for p in declared}
        assert accessors(node) == {
            name: (f"Param[{kind}]", kind, kind) for name, kind in kinds.items()
        }


@EVERY
def test_types_are_those_of_the_constraints(key):
    """The annotation of a parameter admits its default, and the words of a choice exactly."""
    classes, name = CLASSES[key]
    hints = typing.get_type_hints(classes[name].__init__)
    for p in classes.registry[name].parameters:
        hint, constraint = hints[p.camel], p.constraint
        if isinstance(constraint, Optional):
            assert type(None) in typing.get_args(hint)
            constraint = constraint.inner
            hint = typing.Union[tuple(t for t in typing.get_args(hint) if t is not type(None))]  # noqa: UP007
        if isinstance(constraint, Choice):
            assert set(typing.get_args(hint)) == set(constraint.options)
        elif isinstance(constraint, NumberList):
            words = (str,) if constraint.words else ()
            named = (dict[str, float],) if constraint.named else ()
            assert hint == typing.Union[(*words, *named, Sequence[float])]
        else:
            kinds = {Integer: int, Number: float, Flag: bool, Text: str}
            assert hint is next(
                made for kind, made in kinds.items() if isinstance(constraint, kind)
            )


def test_getters_and_setters_are_documented():
    assert spark_mlfs.JMISelector.setNumBins.__doc__.startswith(
        "Sets `numBins`: bins of a discretised feature"
    )
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
    assert (
        made is spark_mlfs.BorrowedSelector is SELECTORS["borrowed"]
        and made.__name__ == "BorrowedSelector"
    )
    assert (
        made.__module__ == "spark_mlfs.ml.selector_classes"
        and "BorrowedSelector" not in spark_mlfs.__all__
    )
    assert (
        inspect.getdoc(made).startswith(inspect.getdoc(Borrowed))
        and "twoWords : str" in made.__doc__
    )
    assert inspect.signature(made).parameters["twoWords"].default == 'a "quoted" \\ word'
    estimator = made(numBins=7).setTwoWords("x")
    again = pickle.loads(pickle.dumps(estimator))
    assert (
        type(again) is made
        and again.getNumBins() == 7
        and again.getTwoWords() == "x"
        and again.uid == estimator.uid
    )
    with pytest.raises(
        ParameterError, match=r"BorrowedSelector has no param 'numBin'; it takes: .*twoWords"
    ):
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
    assert (
        first().getDepth() == 1 and second().getDepth() == 2 and spark_mlfs.AgainSelector is second
    )


def test_what_cannot_be_a_class_is_refused(registered):
    other = type(
        "JMI",
        (MIM,),
        {"name": "other-jmi", "__doc__": "Another of that name.", "__module__": __name__},
    )
    registered(other)
    with pytest.raises(
        ParameterError,
        match="'other-jmi': JMISelector is the class of 'jmi'; give the class JMI another name",
    ):
        spark_mlfs.selector_class("other-jmi")
    for name in ("features_col", "not-a-name"):
        taken = (Parameter(name, 1, Integer(1), "taken"),)
        registered(
            type(
                "Taken",
                (MIM,),
                {"name": "taken", "parameters": taken, "__doc__": "Taken.", "__module__": __name__},
            )
        )
        with pytest.raises(
            ParameterError, match=f"method 'taken' cannot have a parameter '{name}'"
        ):
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
    mine = {
        "title": "mine",
        "source": "a test",
        "parameters": (),
        "__doc__": "Mine.",
        "__module__": __name__,
    }
    for base, registry, made in (
        (Extractor, spark_mlfs.EXTRACTORS, spark_mlfs.extractor_class),
        (Classifier, spark_mlfs.CLASSIFIERS, spark_mlfs.classifier_class),
        (MIM, spark_mlfs.METHODS, spark_mlfs.selector_class),
    ):
        cls = type("Mine", (base,), {**mine, "name": "mine"})
        assert spark_mlfs.register(cls) is cls is registry["mine"]
        try:
            assert made("mine").__name__ == f"Mine{registry.kind.capitalize()}".replace(
                "Method", "Selector"
            )
            assert made("mine")().entry is cls
        finally:
            registry.forget("mine")
    with pytest.raises(ParameterError, match="Nothing is no method: it has no 'name'"):
        spark_mlfs.register(type("Nothing", (), {}))
