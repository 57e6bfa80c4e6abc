"""The case peers: what others select on the same rows in the same run, beside ours: the picks
compared, and both times.

A row is a function of a `Data`; where the package it needs is not installed, a line says so and the
row is left out (`pip install 'spark_mlfs[peers]'`). Both sides start from rows in memory: theirs
from arrays or a data frame, or from Spark's cached frame, ours from Spark's cached frame, or in the
rows "on arrays" from the same arrays."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from .meter import measured, metered, moment

COLUMNS = (
    "row",
    "theirs",
    "data",
    "theirs wall s",
    "theirs CPU s",
    "ours",
    "ours wall s",
    "ours CPU s",
    "overlap@K",
    "K",
    "rank correlation",
    "compared",
    "measured",
)
PREFACE = """## Beside other packages

`python jobs/benchmark.py --case peers`{options} on {machine}, after `pip install \
'spark_mlfs[peers]'`.
*overlap@K*: the share of the K features they pick that ours picks, too; *rank correlation*: \
Spearman's, of the scores of all
features, or of the places of the picks both have, where a package tells picks only. Wall and CPU \
seconds are of the whole call,
ours with packing. The packages work on arrays or a data frame in memory, ours on Spark's cached \
rows, most of whose cost at
this size is Spark's own, or where it says so on the same arrays. PyIT-MLFS is not on the
package index: its formulas are written out over scikit-learn's mutual information, feature by \
feature, as it computes them."""
BINS = 5


@dataclass
class Data:
    """n rows of d dense features, of which some drive the q labels: in Spark, in memory, and
    discretised."""

    spark: Any
    n: int = 20_000
    d: int = 100
    q: int = 5
    K: int = 20
    narrow: int = 20  # features that a package gets which asks Spark for a pair at a time
    repeat: int = 1

    @property
    def title(self) -> str:
        return f"planted {self.n:,} × {self.d} × {self.q}"

    @cached_property
    def frame(self) -> Any:
        from spark_mlfs import read

        frame = read.planted(self.spark, self.n, self.d, self.q, seed=1, num_partitions=2).cache()
        frame.count()
        return frame

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self.frame.orderBy("id").select("features", "labels").toPandas()
        return np.stack([v.toArray() for v in rows["features"]]), np.stack(
            [v.toArray() for v in rows["labels"]]
        ).astype(int)

    @cached_property
    def codes(self) -> np.ndarray:
        """Equal-width bins, as scikit-learn makes them."""
        from sklearn.preprocessing import KBinsDiscretizer

        return (
            KBinsDiscretizer(BINS, encode="ordinal", strategy="uniform")
            .fit_transform(self.arrays[0])
            .astype(np.int64)
        )

    def columns(self, count: int, codes: bool = False) -> Any:
        """The first features as columns of a Spark frame, and the first label."""
        from pyspark.ml.functions import vector_to_array
        from pyspark.sql import functions as F

        if codes:
            import pandas as pd

            table = pd.DataFrame(
                self.codes[:, :count].astype(float), columns=[f"f{k}" for k in range(count)]
            )
            return self.spark.createDataFrame(
                table.assign(label=self.arrays[1][:, 0].astype(float))
            ).cache()
        x, y = vector_to_array("features"), vector_to_array("labels")
        named = self.frame.select(x.alias("x"), y.alias("y"))
        return named.select(
            *(F.col("x")[k].alias(f"f{k}") for k in range(count)), F.col("y")[0].alias("label")
        ).cache()

    def ours(
        self,
        method: str,
        parameters: Mapping[str, Any] | None = None,
        first_label: bool = False,
        count: int | None = None,
    ):
        """Figures and result of a method on the same rows; `first_label`: on the first label
        alone, `count`
        the first features alone."""
        from pyspark.ml.functions import array_to_vector, vector_to_array
        from pyspark.sql import functions as F

        from spark_mlfs import pipeline

        frame = self.frame
        if first_label:
            y = F.slice(vector_to_array("labels"), 1, 1)
            x = vector_to_array("features")
            x = array_to_vector(x if count is None else F.slice(x, 1, count))
            frame = frame.select("id", x.alias("features"), y.alias("labels"))
        request = pipeline.Request.of(method, parameters or {}, self.K)
        figures, result = metered(
            self.repeat, lambda: pipeline.rank(frame, [request], row_id="id")[0]
        )
        return {
            "ours": method,
            "ours wall s": float(figures["wall"]),
            "ours CPU s": float(figures["cpu"]),
        }, result

    def ours_on_arrays(self, method: str) -> tuple[dict[str, Any], Any]:
        """`ours`, of `spark_mlfs.rank` on the same arrays."""
        from spark_mlfs import rank

        x, y = self.arrays
        figures, ranking = measured(self.repeat, lambda: rank(x, y, method, k=self.K))
        figures = {
            "ours": f"{method}, on arrays",
            "ours wall s": float(figures["wall"]),
            "ours CPU s": float(figures["cpu"]),
        }
        return figures, SimpleNamespace(ranking=ranking)


def compared(
    picks: Sequence[int], result: Any, K: int, scores: np.ndarray | None = None
) -> dict[str, Any]:
    """Overlap of their picks with ours, and the rank correlation of all scores, or of the places of
    the common picks."""
    from scipy.stats import spearmanr

    order = [int(f) for f in result.ranking["index"]]
    common = [f for f in picks[:K] if f in order[:K]]
    out = {"overlap@K": len(common) / min(K, len(picks)), "K": K}
    if scores is not None:
        our_scores = result.ranking.sort_values("index")["score"].to_numpy()
        return {
            **out,
            "rank correlation": round(float(spearmanr(scores, our_scores).statistic), 6),
            "compared": "scores",
        }
    if len(common) > 2:
        places = spearmanr(
            [list(picks).index(f) for f in common], [order.index(f) for f in common]
        ).statistic
        return {**out, "rank correlation": round(float(places), 6), "compared": "places"}
    return {**out, "compared": "picks"}


def _theirs(figures: Mapping[str, Any]) -> dict[str, float]:
    return {"theirs wall s": float(figures["wall"]), "theirs CPU s": float(figures["cpu"])}


# ---- the rows ----


def _best(
    data: Data, method: str, score: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> dict[str, Any]:
    """SelectKBest by a score that is summed over the labels."""
    from sklearn.feature_selection import SelectKBest

    x, y = data.arrays
    codes = data.codes

    def work():
        return SelectKBest(lambda x, y: score(codes, y), k=data.K).fit(x, y)

    figures, selector = metered(data.repeat, work)
    picks = np.argsort(-selector.scores_, kind="stable")[: data.K]
    our_figures, result = data.ours(method)
    return {
        **_theirs(figures),
        **our_figures,
        **compared(list(picks), result, data.K, selector.scores_),
    }


def mutual_information(data: Data) -> dict[str, Any]:
    from sklearn.feature_selection import mutual_info_classif

    def score(codes, y):
        return sum(mutual_info_classif(codes, label, discrete_features=True) for label in y.T)

    return _best(data, "mim", score)


def chi_square(data: Data) -> dict[str, Any]:
    """scikit-learn's χ² of the one-hot bins: over the bins of a feature it adds up to that of its
    table."""
    from sklearn.feature_selection import chi2
    from sklearn.preprocessing import OneHotEncoder

    def score(codes, y):
        hot = OneHotEncoder().fit(codes)
        bins = hot.transform(codes)
        feature = np.repeat(np.arange(codes.shape[1]), [len(values) for values in hot.categories_])
        return sum(np.bincount(feature, np.nan_to_num(chi2(bins, label)[0])) for label in y.T)

    return _best(data, "chi2", score)


def nearest_information(data: Data) -> dict[str, Any]:
    """As most call it: the estimate by nearest neighbours of the values, which is another one than
    ours."""
    from sklearn.feature_selection import mutual_info_classif

    x, y = data.arrays
    rows = slice(0, 5000)

    def work():
        return sum(mutual_info_classif(x[rows], label[rows], random_state=0) for label in y.T)

    figures, scores = metered(data.repeat, work)
    our_figures, result = data.ours("mim")
    picks = list(np.argsort(-scores, kind="stable")[: data.K])
    row = {**_theirs(figures), **our_figures, **compared(picks, result, data.K, scores)}
    return {**row, "data": f"{data.title}, theirs {min(data.n, 5000):,} of the rows"}


MRMR = {"relevance": "f", "redundancy": "correlation", "scheme": "quotient"}


def mrmr_pandas(data: Data) -> dict[str, Any]:
    import pandas as pd
    from mrmr import mrmr_classif

    x, y = data.arrays
    table, label = pd.DataFrame(x), pd.Series(y[:, 0])
    figures, picks = metered(
        data.repeat, lambda: mrmr_classif(table, label, K=data.K, show_progress=False, n_jobs=1)
    )
    our_figures, result = data.ours("mrmr", MRMR, first_label=True)
    return {
        **_theirs(figures),
        **our_figures,
        **compared([int(f) for f in picks], result, data.K),
        "data": f"{data.title}, 1 label",
    }


def mrmr_spark(data: Data) -> dict[str, Any]:
    """One Spark job a pair of features: the first features alone, 5 picks."""
    from mrmr.spark import mrmr_classif

    count, K = min(data.narrow, data.d), min(5, data.K)
    frame = data.columns(count)
    frame.count()
    figures, picks = metered(
        1, lambda: mrmr_classif(df=frame, K=K, target_column="label", show_progress=False)
    )
    frame.unpersist()
    our_figures, result = data.ours("mrmr", MRMR, first_label=True, count=count)
    comparison = compared([int(name[1:]) for name in picks], result, K)
    return {
        **_theirs(figures),
        **our_figures,
        **comparison,
        "data": f"planted {data.n:,} × {count}, 1 label",
    }


def fastcan(data: Data, method: str | None = None) -> dict[str, Any]:
    """Beside ours on Spark, or on arrays `method`: `forward` is another criterion, the rows held
    out are what it goes by."""
    from fastcan import FastCan

    x, y = data.arrays
    figures, fitted = measured(
        data.repeat, lambda: FastCan(data.K, verbose=0).fit(x, y.astype(float))
    )
    our_figures, result = data.ours_on_arrays(method) if method else data.ours("fastcan")
    return {
        **_theirs(figures),
        **our_figures,
        **compared([int(f) for f in fitted.indices_], result, data.K),
    }


def products(data: Data) -> dict[str, Any]:
    """The products of `forward` alone, of columns with each other and with the labels in each fold:
    nothing is picked."""
    x, y = data.arrays
    both, fold = np.hstack([x, y]), np.arange(len(x)) % 5
    figures, _ = measured(
        data.repeat, lambda: [part.T @ part for f in range(5) if len(part := both[fold == f])]
    )
    return {**_theirs(figures), **data.ours_on_arrays("forward")[0], "K": data.K}


def _formula(data: Data, method: str) -> dict[str, Any]:
    """Greedy selection by the published formula, one mutual information of a pair of columns at a
    time."""
    from sklearn.metrics import mutual_info_score as information

    x, labels = data.codes.T, data.arrays[1].T
    pair = [label * 2 + other for label in labels for other in labels]  # (l, l') as one variable
    q, K = len(labels), data.K

    def conditional(f, label, s):
        """I(f; label | s) = I(f; (label, s)) − I(f; s)"""
        return information(f, label * BINS + s) - information(f, s)

    def work():
        relevance = np.array([sum(information(f, label) for label in labels) for f in x])
        if method == "lrfs":  # Σ over ordered pairs of I(f; label' | label)
            among = [[information(f, label) for label in labels] for f in x]
            relevance = np.array(
                [
                    sum(
                        information(f, pair[a * q + b]) - our_figures[b]
                        for a in range(q)
                        for b in range(q)
                        if a != b
                    )
                    for f, our_figures in zip(x, among, strict=True)
                ]
            )
        if method == "scls":
            entropy = [information(f, f) for f in x]
        picks, less = [int(np.argmax(relevance))], np.zeros(len(x))
        while len(picks) < K:
            s = x[picks[-1]]
            for number, f in enumerate(x):
                if method == "d2f":
                    less[number] += sum(
                        information(f, label) - conditional(f, label, s) for label in labels
                    )
                else:
                    less[number] += information(f, s) / (entropy[number] if method == "scls" else 1)
            value = {
                "d2f": lambda: relevance - less,
                "scls": lambda: relevance * (1 - less),
                "lrfs": lambda: relevance - less / len(picks),
            }[method]()
            value[picks] = -np.inf
            picks.append(int(np.argmax(value)))
        return picks

    figures, picks = metered(1, work)
    our_figures, result = data.ours(method)
    return {**_theirs(figures), **our_figures, **compared(picks, result, K)}


def mllib_anova(data: Data) -> dict[str, Any]:
    """The F statistic of one label ranks as the Fisher score does: F = (n − 2)·r²/(1 − r²)."""
    from pyspark.ml.feature import UnivariateFeatureSelector, VectorAssembler

    frame = data.columns(data.d)
    names = [f"f{k}" for k in range(data.d)]
    frame = (
        VectorAssembler(inputCols=names, outputCol="x")
        .transform(frame)
        .select("x", "label")
        .cache()
    )
    return _mllib(
        data,
        frame,
        UnivariateFeatureSelector(featuresCol="x", labelCol="label"),
        "continuous",
        "fisher",
    )


def mllib_chi_square(data: Data) -> dict[str, Any]:
    from pyspark.ml.feature import UnivariateFeatureSelector, VectorAssembler

    frame = data.columns(data.d, codes=True)
    names = [f"f{k}" for k in range(data.d)]
    frame = (
        VectorAssembler(inputCols=names, outputCol="x")
        .transform(frame)
        .select("x", "label")
        .cache()
    )
    return _mllib(
        data,
        frame,
        UnivariateFeatureSelector(featuresCol="x", labelCol="label"),
        "categorical",
        "chi2",
    )


def _mllib(data: Data, frame: Any, selector: Any, kind: str, method: str) -> dict[str, Any]:
    frame.count()
    selector = selector.setFeatureType(kind).setLabelType("categorical")
    selector = selector.setSelectionMode("numTopFeatures").setSelectionThreshold(data.K)
    figures, model = metered(data.repeat, lambda: selector.fit(frame))
    picks = [int(f) for f in model.selectedFeatures]  # in the order of their numbers
    frame.unpersist()
    our_figures, result = data.ours(method, first_label=True)
    row = {
        **_theirs(figures),
        **our_figures,
        **compared(picks, result, data.K),
        "data": f"{data.title}, 1 label",
    }
    return {**row, "rank correlation": None, "compared": "picks"}


# name -> (what it is, the package it needs, what it does)
ROWS: dict[str, tuple[str, str, Callable[[Data], dict[str, Any]]]] = {
    "sklearn-mi": (
        "scikit-learn SelectKBest, mutual information of the bins",
        "sklearn",
        mutual_information,
    ),
    "sklearn-mi-neighbours": (
        "scikit-learn mutual information by neighbours",
        "sklearn",
        nearest_information,
    ),
    "sklearn-chi2": ("scikit-learn SelectKBest, χ² of the bins", "sklearn", chi_square),
    "mrmr-pandas": ("mrmr_selection, pandas", "mrmr", mrmr_pandas),
    "mrmr-spark": ("mrmr_selection, Spark", "mrmr", mrmr_spark),
    "fastcan": ("fastcan", "fastcan", fastcan),
    "fastcan-arrays": ("fastcan", "fastcan", lambda data: fastcan(data, "fastcan")),
    "fastcan-forward": (
        "fastcan; ours by rows held out",
        "fastcan",
        lambda data: fastcan(data, "forward"),
    ),
    "products-forward": ("NumPy, the products of five folds alone", "numpy", products),
    "pyit-d2f": ("PyIT-MLFS's formula of D2F", "sklearn", lambda data: _formula(data, "d2f")),
    "pyit-scls": ("PyIT-MLFS's formula of SCLS", "sklearn", lambda data: _formula(data, "scls")),
    "pyit-lrfs": ("PyIT-MLFS's formula of LRFS", "sklearn", lambda data: _formula(data, "lrfs")),
    "mllib-anova": ("MLlib UnivariateFeatureSelector, ANOVA", "pyspark", mllib_anova),
    "mllib-chi2": ("MLlib UnivariateFeatureSelector, χ²", "pyspark", mllib_chi_square),
}


def missing(names: Sequence[str]) -> list[str]:
    """The packages that rows need and that are not installed."""
    return sorted(
        {
            package
            for package in {ROWS[name][1] for name in names}
            if importlib.util.find_spec(package) is None
        }
    )


def run(data: Data, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    absent = missing(names)
    for package in absent:
        left_out = ", ".join(name for name in names if ROWS[name][1] == package)
        print(
            f"{package} is not installed (pip install 'spark_mlfs[peers]'): left out are "
            f"{left_out}",
            flush=True,
        )
    data.ours("mim")  # the session is up
    for name in names:
        title, package, work = ROWS[name]
        if package not in absent:
            when = moment()
            yield {"row": name, "theirs": title, "data": data.title, **work(data), "measured": when}
    data.frame.unpersist()
