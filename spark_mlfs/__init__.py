"""Multi-label feature selection on Apache Spark.

import spark_mlfs
frame = spark_mlfs.read.arff(spark, "scene.arff", labels="scene.xml")
model = spark_mlfs.MultiLabelSelector(method="jmi", numTopFeatures=50).fit(frame)
model.ranking
"""

from . import errors, pipeline, read
from .classify import CLASSIFIERS
from .errors import BudgetError, DataError, ParameterError, SparkMlfsError
from .extract import EXTRACTORS
from .methods import METHODS
from .ml.classifiers import *  # noqa: F403
from .ml.classifiers import __all__ as _classifiers
from .ml.extractors import *  # noqa: F403
from .ml.extractors import __all__ as _extractors
from .ml.selectors import *  # noqa: F403
from .ml.selectors import __all__ as _estimators
from .report.compare import compare
from .session.local import local_session

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
