"""The scikit-learn face: tables in memory, no Spark, no Java, the same ranking as on a cluster.

    from spark_mlfs.sklearn import MultiLabelSelector
    selector = MultiLabelSelector(method="jmi", num_top_features=50).fit(X, Y)
    selector.ranking_

X is a NumPy array, a SciPy sparse matrix, a pandas or Polars frame; Y an indicator matrix or frame
of 0, 1 and NaN (unknown), one class a row, or a list of tags a row. Every method, extractor and
classifier has a class with its parameters; all are scikit-learn estimators, for `Pipeline`,
`GridSearchCV` and `set_output`, and `MultiLabelStratifiedKFold` a splitter for its `cv`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import names_of

if TYPE_CHECKING:
    from .classifier_classes import *
    from .encoder_classes import *
    from .extractor_classes import *
    from .selector_classes import *
    from .selectors import MultiLabelSelector
    from .splitters import MultiLabelStratifiedKFold, MultiLabelStratifiedShuffleSplit
    from .text_features import *

__all__ = ["MultiLabelSelector", "MultiLabelStratifiedKFold", "MultiLabelStratifiedShuffleSplit"]
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

# the module of a class by what its name ends in; classes of entries from outside, too
_HOMES = {kind: f"{kind.lower()}_classes" for kind in ("Selector", "Extractor", "Classifier")}
_HOMES |= dict.fromkeys(("Features", "Encoder"), "encoder_classes")

if not TYPE_CHECKING:  # a checker shall tell names that there are not

    def _home(name: str) -> str | None:
        home = {"MultiLabelSelector": "selectors", "TextFeatures": "text_features"}.get(
            name, "splitters" if name.startswith("MultiLabelStratified") else None
        )
        return home or next(
            (module for ending, module in _HOMES.items() if name.endswith(ending)), None
        )

    __getattr__ = names_of(__name__, _home)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
