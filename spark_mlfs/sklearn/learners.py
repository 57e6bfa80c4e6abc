"""Extractors and classifiers of tables in memory.

A class for each is in `sklearn.extractor_classes` and `.classifier_classes`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import pipeline
from ..adapters.arrays import in_arrays, memory_of
from ..adapters.classes import EstimatorClasses, Fit, Learner
from ..adapters.contributions import TERMS, contributions_of
from ..adapters.docstrings import ROWS
from ..adapters.learned import check_makes_folds, warn_of_early_stop
from ..adapters.tags import best_labels
from ..blocks.arrays import weights_of
from ..blocks.codec import State
from ..blocks.table_labels import Labelled
from ..blocks.tables import aligned_rows
from ..classify import CLASSIFIERS
from ..classify.base import Classifier
from ..engine.base import one_thread
from ..errors import DataError, ParameterError, must_fit, spelled_by
from ..extract import EXTRACTORS
from ..extract.base import Extractor, label_slices, scaled
from ..frames.schema import SLICES
from ..kernels.matrix import bytes_as_floats
from ..lazy import Self
from ..params import LabelNames, Optional, Parameter
from ..statistics.base import Budgets
from ..typing import Column, Labels, Table
from .base import ArrayEstimator
from .truth import TagColumns, right_classes, right_labels

CLASSES = Parameter(
    "classes",
    None,
    Optional(LabelNames()),
    "the labels that there are, in the order of the columns of what is predicted; None: those of "
    "the training rows",
)


class LearningEstimator(ArrayEstimator, Generic[Learner]):
    """Common part of extractors and classifiers: their entry's `fit` learns a state of arrays."""

    @spelled_by(in_arrays)
    def _learn(
        self,
        X: Table,
        y: Labels,
        added: Mapping[str, Any],
        classes: Sequence[Any] | None = None,
        groups: Column | None = None,
    ) -> Labelled:
        parameters = self._own_parameters()
        if groups is not None:
            check_makes_folds(self.entry)
        rows, labels = self._hold(X, y, classes=classes, groups=groups)
        memory = memory_of(self.memory_bytes)
        budgets = Budgets(driver=memory, worker=memory)
        fit = Fit(self.entry(), parameters, added)
        self.state_: State = pipeline.compute(rows, fit, None, budgets)[0]
        warn_of_early_stop(fit, self.state_, stacklevel=4)
        if "max_iter" in parameters:
            self.n_iter_ = int(np.max(self.state_.get("iterations", 1), initial=1))
        return labels

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")


class ExtractorOfArrays(TransformerMixin, LearningEstimator[Extractor]):
    """Common part of the extractors.

    Attributes of a fitted one
    --------------------------
    state_ : what was learned, as arrays
    label_slices_ : (q + 1) places where each label's features begin in what is extracted; empty
        where they are not label by label
    n_features_in_, feature_names_in_, label_names_ : of the training data"""

    registry = EXTRACTORS
    _example = (
        f"{ROWS}>>> from sklearn.pipeline import make_pipeline\n"
        ">>> from spark_mlfs.sklearn import $name, MLkNNClassifier\n"
        ">>> make_pipeline($name($settings), MLkNNClassifier(k=3)).fit(X, tags)"
        ".predict(X[:2]).tolist()  # politics, sport\n"
        "[[0, 1], [1, 1]]"
    )

    def fit(
        self,
        X: Table,
        y: Labels,
        *,
        groups: Column | None = None,
    ) -> Self:
        """Learn from X (n, d) and its labels y, in any form that a selector takes.

        `groups` (n,): of rows that the folds of `mlnb` keep together."""
        self._learn(X, y, {}, groups=groups)
        self.label_slices_ = np.array(label_slices(self.state_), np.int64)
        return self

    def transform(self, X: Table) -> np.ndarray | pd.DataFrame:
        """Return the extracted features (rows, width) of rows X."""
        x = self._rows(X)
        with one_thread():
            out = np.asarray(self.entry().project(self.state_, scaled(self.state_, x)))
        if len(self.label_slices_) and _get_output_config("transform", self)["dense"] == "pandas":
            out = pd.DataFrame(out, getattr(X, "index", None), self.get_feature_names_out())
            out.attrs[SLICES] = self.label_slices_.tolist()  # for a classifier behind it
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the extracted features."""
        check_is_fitted(self)
        label_names = [str(name) for name in self.label_names_]
        return np.array(self.entry().names(self.state_, label_names), object)


EXTRACTING = EstimatorClasses(ExtractorOfArrays, "Extractor", f"{__package__}.extractor_classes")


def _scores(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return scores


def _labels(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return labels.astype(np.int64)


def _best(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    return np.asarray(scores.argmax(axis=1))


def _inside(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the scores inside (0, 1), as scikit-learn wants them."""
    tiny = np.finfo(float).eps
    return scores.clip(tiny, 1 - tiny)


def _shares(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the scores as shares of their sum in each row, equal ones where that is 0."""
    total = scores.sum(axis=1, keepdims=True)
    return np.where(total > 0, scores / np.where(total > 0, total, 1), 1 / scores.shape[1])


def _gives_probabilities(estimator: ClassifierOfArrays) -> bool:
    return bool(estimator.entry().probabilities(estimator._own_parameters()))


class ClassifierOfArrays(ClassifierMixin, LearningEstimator[Classifier]):
    """Common part of the classifiers.

    `predict` gives an indicator matrix, or where y gave one class a row, classes: the one that
    scores best. Scores are probabilities (`predict_proba`) or decision values
    (`decision_function`), as the classifier has them. Columns are the labels of `label_names_`:
    those that the training rows have, in ascending order, or `classes`, in theirs. NumPy,
    and so `cross_val_predict`, puts labels of classifiers that learned other tags together by tag,
    and refuses to do so with scores: give `classes`.

    Attributes of a fitted one
    --------------------------
    classes_ : the classes, where y gave one a row; else the numbers of the labels
    coef_, intercept_ : of a linear one: decision values are X @ coef_.T + intercept_, of rows that
        are brought to length 1 (``norm``) after they are divided by their length
    state_ : what was learned, as arrays
    n_features_in_, feature_names_in_, label_names_ : of the training data"""

    registry = CLASSIFIERS
    _common = (*ArrayEstimator._common, CLASSES)
    classes: Any = None  # of what was pickled before there were
    by_place_ = tagged_ = False
    _example = f"""{ROWS}>>> from spark_mlfs.sklearn import $name
>>> $name().fit(X, tags).predict(X[:2]).tolist()  # politics, sport
[[0, 1], [1, 1]]"""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Table, y: Labels) -> Self:
        """Learn from X (n, d) and its labels y, in any form that a selector takes."""
        added: dict[str, Any] = {}
        if self._own_parameters().get("label_specific"):
            # the attributes of an extractor's frame say where each label's features begin
            slices = getattr(X, "attrs", {}).get(SLICES)
            if slices is None:
                raise ParameterError(
                    "label_specific needs features made label by label, and X does not say whose "
                    "they are: put LIFTExtractor or LIFTRSMExtractor in front, with "
                    'set_output(transform="pandas")'
                )
            added["slices"] = list(slices)
        classes = CLASSES.accept(self.classes)
        labels = self._learn(
            X,
            y,
            added,
            classes,
        )
        self.single_ = labels.classes is not None
        self.by_place_ = labels.by_place
        self.tagged_ = labels.tagged and classes is None
        self.classes_: Any = labels.classes if self.single_ else np.arange(len(labels.names))
        return self

    @spelled_by(in_arrays)
    def _predicted(
        self,
        X: Any,
        choose: Callable[[np.ndarray, np.ndarray], np.ndarray],
        width: int = 0,
    ) -> np.ndarray:
        """Return (rows,) or (rows, `width`) what `choose` makes of labels and scores (rows, q).

        Some rows after the others; `BudgetError` where the memory does not hold it."""
        x = self._rows(X)
        n = x.shape[0]
        q = len(self.label_names_)
        predictor = self.entry().predictor(self.state_)
        must_fit(
            predictor.working_bytes + bytes_as_floats(x) + 8 * n * max(1, width),
            memory_of(self.memory_bytes),
            "memory_bytes",
            f"predicting {n} rows of {q} labels needs",
            "or predict fewer rows at once",
        )
        values: Any = None
        with one_thread():
            for rows, labels, scores in predictor.parts(x, q):
                part = choose(labels, scores)
                if values is None:
                    values = np.empty((n, *part.shape[1:]), part.dtype)
                values[rows] = part
        return np.asarray(values)

    def _by_tag(self, values: np.ndarray) -> np.ndarray:
        return TagColumns.of(values, self.label_names_) if self.tagged_ else values

    def predict(self, X: Table) -> np.ndarray:
        """Return the 0/1 labels (rows, q) of rows X, or classes (rows,)."""
        check_is_fitted(self)
        if self.single_:
            return np.asarray(self.classes_[self._predicted(X, _best)])
        return self._by_tag(self._predicted(X, _labels, len(self.label_names_)))

    @spelled_by(in_arrays)
    def score(self, X: Table, y: Labels, sample_weight: Column | None = None) -> float:
        """Return the share of the rows whose labels are all predicted.

        y as `fit` takes it, the columns of a frame by name. Rows with labels that are not known do
        not count."""
        X, y, sample_weight = aligned_rows(X=X, y=y, sample_weight=sample_weight).values()
        predicted = np.asarray(self.predict(X))
        if self.single_:
            right, known = right_classes(predicted, y)
        else:
            names = [str(name) for name in self.label_names_]
            right, known = right_labels(
                predicted,
                y,
                names,
                self.by_place_,
            )
        weights = known * 1.0
        if sample_weight is not None:
            weights *= weights_of(sample_weight, len(known))
        if not weights.any():
            raise DataError(
                "no row of y counts, as its labels are unknown, or its weight is 0; give rows with "
                "known labels"
            )
        return float(np.average(right, weights=weights))

    @spelled_by(in_arrays)
    def explain(self, X: Table, num_features: int = TERMS) -> pd.DataFrame:
        """Return why the rows X are given their labels, by a linear classifier.

        A frame row, label, feature, contribution: of each label that `predict` gives a row the
        `num_features` largest terms of its decision value (the weight times the value, scaled and
        of length 1 as the classifier sees it), then what the ``(other features)`` add up to, and
        the ``(constant)``. Together they are the decision value."""
        x = self._rows(X)
        predictor = self.entry().predictor(self.state_)
        why = contributions_of(predictor, self._feature_names(), num_features)
        names = self.classes_ if self.single_ else self.label_names_
        frames = []
        with one_thread():
            for rows, labels, scores in predictor.parts(x, len(names)):
                if self.single_:
                    labels = np.eye(len(names), dtype=np.uint8)[scores.argmax(axis=1)]
                chosen, _, counts = best_labels(labels, scores, None, None)
                terms = why.of(predictor, x[rows], chosen, counts)[0]
                lengths = np.diff(terms.offsets.to_numpy())
                row = np.repeat(np.arange(rows.start, rows.start + len(counts)), counts)
                columns = {"row": row, "label": np.asarray(names, object)[chosen]}
                frame = pd.DataFrame(columns).iloc[np.repeat(np.arange(len(row)), lengths)]
                terms_of_all = pd.DataFrame(
                    terms.flatten().to_pylist(), columns=["feature", "contribution"]
                )
                frames.append(pd.concat([frame.reset_index(drop=True), terms_of_all], axis=1))
        return pd.concat(frames, ignore_index=True)

    def _feature_names(self) -> list[str]:
        """Return the names of the features, by their places where they have none."""
        if self.categories_ is not None:
            return list(self.categories_.names)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{place}" for place in range(self.n_features_in_)]
        return [str(name) for name in names]

    @property
    def coef_(self) -> np.ndarray:
        """The weights (q, d) of the features for each label, (1, d) of two classes."""
        return self._linear("coef_")[0]

    @property
    def intercept_(self) -> np.ndarray:
        """The constant (q,) of each label's decision value, (1,) of two classes."""
        return self._linear("intercept_")[1]

    def _linear(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        linear = None
        if hasattr(self, "state_"):
            linear = self.entry().coefficients(self.state_, len(self._feature_names()))
        if linear is None:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: only what is linear in "
                "the features has one, once it is fitted"
            )
        weights, constants = linear
        if self.single_ and len(weights) == 2:
            return weights[1:] - weights[:1], constants[1:] - constants[:1]
        return weights, constants

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Table) -> np.ndarray:
        """Return the probability (rows, q) of each label; of one class a row they add up to 1."""
        check_is_fitted(self)
        if self.single_:
            return self._predicted(X, _shares, len(self.label_names_))
        return self._by_tag(self._predicted(X, _inside, len(self.label_names_)))

    @available_if(lambda estimator: not _gives_probabilities(estimator))
    def decision_function(self, X: Table) -> np.ndarray:
        """Return the decision value (rows, q) of each label, (rows,) of the second of two
        classes."""
        check_is_fitted(self)
        scores = self._predicted(X, _scores, len(self.label_names_))
        if self.single_ and scores.shape[1] == 2:
            scores = scores[:, 1] - scores[:, 0]
        return self._by_tag(scores)


CLASSIFYING = EstimatorClasses(
    ClassifierOfArrays, "Classifier", f"{__package__}.classifier_classes"
)
