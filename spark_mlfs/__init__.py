"""Multi-label feature selection on Apache Spark.

import spark_mlfs
frame = spark_mlfs.read.arff(spark, "scene.arff", labels="scene.xml")
model = spark_mlfs.MultiLabelSelector(method="jmi", numTopFeatures=50).fit(frame)
model.ranking
"""

from . import errors, pipeline, read
from .classifiers import *  # noqa: F403
from .classifiers import __all__ as _classifiers
from .classify.registry import CLASSIFIERS
from .errors import BudgetError, DataError, ParameterError, SparkMlfsError
from .estimator import *  # noqa: F403
from .estimator import __all__ as _estimators
from .evaluate.compare import compare
from .extract.registry import EXTRACTORS
from .extractors import *  # noqa: F403
from .extractors import __all__ as _extractors
from .registry import METHODS
from .session import local_session

__version__ = "0.1.0"

__all__ = [
    "CLASSIFIERS",
    "EXTRACTORS",
    "METHODS",
    "BudgetError",
    "DataError",
    "ParameterError",
    "SparkMlfsError",
    "compare",
    "errors",
    "pipeline",
    "local_session",
    "read",
    *_estimators,
    *_classifiers,
    *_extractors,
]
