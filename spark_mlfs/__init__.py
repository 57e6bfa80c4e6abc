"""Multi-label feature selection on arrays, files and Apache Spark.

import spark_mlfs
frame = spark_mlfs.read.arff(spark, "scene.arff", labels="scene.xml")
model = spark_mlfs.MultiLabelSelector(method="jmi", numTopFeatures=50).fit(frame)
model.ranking

A table in memory needs no Spark: ``spark_mlfs.rank(X, Y, method="jmi", k=50)``, and the estimators
of `spark_mlfs.sklearn`.

The names below are imported when they are first asked for: ``import spark_mlfs`` takes no time and
needs no Spark."""

import sys

# what runs as `python -m spark_mlfs.cli` takes no module of the working folder for one of its own
# (no `__future__` either, hence the annotations in quotes below)
if (
    sys.argv[:1] == ["-m"]
    and any(word.endswith("spark_mlfs.cli") for word in sys.orig_argv)
    and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))
):
    del sys.path[0]

from . import interrupts as interrupts  # before all else

# isort: split
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar, cast

from .errors import NotInstalledError, worker_errors
from .lazy import names_of
from .version import __version__ as __version__

if TYPE_CHECKING:
    from . import errors, evaluate, pipeline, read, states
    from .adapters.typed import by_label, rank
    from .classify import CLASSIFIERS
    from .errors import BudgetError, DataError, ParameterError, SparkMlfsError
    from .extract import EXTRACTORS
    from .media import ENCODERS
    from .methods import METHODS
    from .ml.classifier_classes import *
    from .ml.encoder_classes import *
    from .ml.extractor_classes import *
    from .ml.learners import (
        ClassifierEstimator,
        ExtractorEstimator,
        MultiLabelClassificationModel,
        MultiLabelExtractorModel,
    )
    from .ml.selector_classes import *
    from .ml.selectors import MultiLabelSelector, MultiLabelSelectorModel, SelectorEstimator
    from .ml.text_features import *
    from .ml.texts import TextFeaturesModel
    from .report.comparison_page import compare
    from .report.drift_page import drift
    from .session.local import local_session

Entry = TypeVar("Entry")

__all__ = [
    "CLASSIFIERS",
    "ENCODERS",
    "EXTRACTORS",
    "METHODS",
    "BudgetError",
    "DataError",
    "MultiLabelClassificationModel",
    "MultiLabelExtractorModel",
    "MultiLabelSelector",
    "MultiLabelSelectorModel",
    "ParameterError",
    "SparkMlfsError",
    "TextFeaturesModel",
    "by_label",
    "classifier_class",
    "compare",
    "drift",
    "errors",
    "evaluate",
    "extractor_class",
    "local_session",
    "pipeline",
    "rank",
    "read",
    "register",
    "selector_class",
    "states",
]
__all__ += [  # the classes, written by conf/developers/generate.py
    "AutoSelector",
    "Chi2Selector",
    "CMISelector",
    "CSFSSelector",
    "D2FSelector",
    "DeepFSSelector",
    "ElasticNetSelector",
    "ENMSelector",
    "FastCanSelector",
    "FIMFSelector",
    "FisherSelector",
    "ForwardSelector",
    "FStatisticSelector",
    "GMBASelector",
    "GMMSelector",
    "IGMFSelector",
    "JMISelector",
    "LassoSelector",
    "LRFSSelector",
    "MDMRSelector",
    "MIFSSelector",
    "MIMSelector",
    "MRMRSelector",
    "MSFSSelector",
    "MSSLSelector",
    "OMFSSelector",
    "PMUSelector",
    "PPTCMISelector",
    "QuotaSelector",
    "ReliefFSelector",
    "RFSSelector",
    "RidgeSelector",
    "SCLSSelector",
    "SPECSelector",
    "LIFTExtractor",
    "LIFTRSMExtractor",
    "MDDMExtractor",
    "MLNBExtractor",
    "MLSIExtractor",
    "BRkNNClassifier",
    "BRSVMClassifier",
    "ClassifierChainClassifier",
    "LogisticClassifier",
    "MLkNNClassifier",
    "ImageFeatures",
    "OnnxEncoder",
    "SoundFeatures",
    "TextFeatures",
]

# the names of each module, or its own name where it is one of them
_NAMES = {
    "classify": "CLASSIFIERS",
    "extract": "EXTRACTORS",
    "media": "ENCODERS",
    "methods": "METHODS",
    "errors": "BudgetError DataError ParameterError SparkMlfsError errors",
    "ml.learners": "MultiLabelClassificationModel MultiLabelExtractorModel",
    "ml.selectors": "MultiLabelSelector MultiLabelSelectorModel",
    "ml.text_features": "TextFeatures",
    "ml.texts": "TextFeaturesModel",
    "report.comparison_page": "compare",
    "report.drift_page": "drift",
    "evaluate": "evaluate",
    "session.local": "local_session",
    "pipeline": "pipeline",
    "adapters.arrays": "by_label rank",
    "read": "read",
    "states": "states",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
# the modules of the classes of registries, entries from outside included, by the end of their names
_CLASSES = {
    "Selector": "ml.selector_classes",
    "Extractor": "ml.extractor_classes",
    "Classifier": "ml.classifier_classes",
    "Encoder": "ml.encoder_classes",
    "Features": "ml.encoder_classes",
}


if not TYPE_CHECKING:  # a checker shall report names that do not exist

    def _home(name: str) -> str | None:
        if name in _HOMES:
            return _HOMES[name]
        modules = (module for ending, module in _CLASSES.items() if name.endswith(ending))
        return next(modules, None)

    __getattr__ = names_of(__name__, _home)


def __dir__() -> list[str]:
    def is_there(name: str) -> bool:
        try:
            return hasattr(import_module(__name__), name)
        except NotInstalledError:
            return False

    names = {*globals(), *__all__}
    if not find_spec("pyspark"):
        names = set(filter(is_there, names))
    return sorted(names)


def register(cls: type[Entry]) -> type[Entry]:
    """Make a method, an extractor or a classifier of your own known by its `name`.

    Usable as a decorator. `ParameterError` where another class has the name, or it lacks what an
    entry needs.

    >>> from spark_mlfs import METHODS, rank, register
    >>> class Mine(METHODS["mim"]):
    ...     name = "mine"  # and a `score` of its own
    >>> X = [[0, 1], [0, 0], [1, 1], [1, 0]]
    >>> rank(X, [0, 0, 1, 1], register(Mine).name, k=1)["name"].tolist()
    ['x0']"""
    from .classify import CLASSIFIERS
    from .classify.base import Classifier
    from .extract import EXTRACTORS
    from .extract.base import Extractor
    from .methods import METHODS

    if issubclass(cls, Classifier):
        CLASSIFIERS.register(cls)
    elif issubclass(cls, Extractor):
        EXTRACTORS.register(cls)
    else:  # which says what is no method
        METHODS.register(cls)  # type: ignore[arg-type]
    return cls


def selector_class(method: str) -> "type[SelectorEstimator]":
    """Return the estimator class of a method, also of one of your own.

    ``register(MyMethod)``, then ``selector_class("my-method")(numTopFeatures=10)``.
    `ParameterError` lists the methods where there is none of this name.

    >>> from spark_mlfs import selector_class
    >>> selector_class("jmi").__name__
    'JMISelector'"""
    with worker_errors():
        from .ml.selectors import SELECTORS
    return cast("type[SelectorEstimator]", SELECTORS.of(method))


def extractor_class(extractor: str) -> "type[ExtractorEstimator]":
    """Return the estimator class of an extractor, as `selector_class` of a method.

    >>> from spark_mlfs import extractor_class
    >>> extractor_class("lift").__name__
    'LIFTExtractor'"""
    with worker_errors():
        from .ml.learners import EXTRACTING
    return cast("type[ExtractorEstimator]", EXTRACTING.of(extractor))


def classifier_class(classifier: str) -> "type[ClassifierEstimator]":
    """Return the estimator class of a classifier, as `selector_class` of a method.

    >>> from spark_mlfs import classifier_class
    >>> classifier_class("mlknn").__name__
    'MLkNNClassifier'"""
    with worker_errors():
        from .ml.learners import CLASSIFYING
    return cast("type[ClassifierEstimator]", CLASSIFYING.of(classifier))
