"""A selector for every method.

Written by ``python -m spark_mlfs.ml.generate``: change the methods, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pyspark.ml.param import Param

from .params import keyword_only
from .selectors import SELECTORS, SelectorEstimator

if TYPE_CHECKING:
    from typing_extensions import Self


class MIMSelector(SelectorEstimator, entry="mim"):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset).

    Method 'mim', documented in ``spark_mlfs.methods.mim``. Source: Sechidis et al. 2014, Eq. 5 and 7.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    labelCoding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    labelNoise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", labelCoding: Literal["br", "lp"] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", labelCoding: Literal["br", "lp"] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    labelCoding: Param[Literal["br", "lp"]]
    def getLabelCoding(self) -> Literal["br", "lp"]: return self.getOrDefault(self.labelCoding)
    def setLabelCoding(self, value: Literal["br", "lp"]) -> Self: return self._set(labelCoding=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: return self.getOrDefault(self.labelNoise)
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: return self._set(labelNoise=value)


class JMISelector(SelectorEstimator, entry="jmi"):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one class.

    Method 'jmi', documented in ``spark_mlfs.methods.jmi``. Source: Sechidis et al. 2014, Eq. 6 and 8.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    labelCoding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    labelNoise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", labelCoding: Literal["br", "lp"] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", labelCoding: Literal["br", "lp"] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    labelCoding: Param[Literal["br", "lp"]]
    def getLabelCoding(self) -> Literal["br", "lp"]: return self.getOrDefault(self.labelCoding)
    def setLabelCoding(self, value: Literal["br", "lp"]) -> Self: return self._set(labelCoding=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: return self.getOrDefault(self.labelNoise)
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: return self._set(labelNoise=value)


class CMISelector(SelectorEstimator, entry="cmi"):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one class.

    Method 'cmi', documented in ``spark_mlfs.methods.cmi``. Source: Sechidis et al. 2014, Eq. 3 and 4.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    labelCoding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", labelCoding: Literal["br", "lp"] = "br",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", labelCoding: Literal["br", "lp"] = "br",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    labelCoding: Param[Literal["br", "lp"]]
    def getLabelCoding(self) -> Literal["br", "lp"]: return self.getOrDefault(self.labelCoding)
    def setLabelCoding(self, value: Literal["br", "lp"]) -> Self: return self._set(labelCoding=value)


class Chi2Selector(SelectorEstimator, entry="chi2"):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the labelset.

    Method 'chi2', documented in ``spark_mlfs.methods.chi2``. Source: Trohidis et al. 2008.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    labelCoding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    aggregate : {"sum", "mean", "max"}, default "sum"
        how the labels' statistics are combined (br only)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    labelNoise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width", labelCoding: Literal["br", "lp"] = "br",
        aggregate: Literal["sum", "mean", "max"] = "sum", labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        labelNoise: Sequence[float] | None = None, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width", labelCoding: Literal["br", "lp"] = "br",
        aggregate: Literal["sum", "mean", "max"] = "sum", labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        labelNoise: Sequence[float] | None = None, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    labelCoding: Param[Literal["br", "lp"]]
    def getLabelCoding(self) -> Literal["br", "lp"]: return self.getOrDefault(self.labelCoding)
    def setLabelCoding(self, value: Literal["br", "lp"]) -> Self: return self._set(labelCoding=value)
    aggregate: Param[Literal["sum", "mean", "max"]]
    def getAggregate(self) -> Literal["sum", "mean", "max"]: return self.getOrDefault(self.aggregate)
    def setAggregate(self, value: Literal["sum", "mean", "max"]) -> Self: return self._set(aggregate=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: return self.getOrDefault(self.labelNoise)
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: return self._set(labelNoise=value)


class PPTCMISelector(SelectorEstimator, entry="ppt-cmi"):
    """Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates.

    Method 'ppt-cmi', documented in ``spark_mlfs.methods.ppt_cmi``. Source: Doquire & Verleysen 2013.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    criterion : {"cmi", "mim"}, default "cmi"
        greedy CMI, or MIM
    estimator : {"plug-in", "knn"}, default "plug-in"
        plug-in counts, or Ross' nearest-neighbour estimator
    minCount : int, default 6
        labelsets that occur less often are dropped (a whole number, at least 1)
    k : int, default 6
        neighbours of the knn estimator (a whole number, at least 1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", criterion: Literal["cmi", "mim"] = "cmi",
        estimator: Literal["plug-in", "knn"] = "plug-in", minCount: int = 6, k: int = 6, featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", criterion: Literal["cmi", "mim"] = "cmi",
        estimator: Literal["plug-in", "knn"] = "plug-in", minCount: int = 6, k: int = 6, featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    criterion: Param[Literal["cmi", "mim"]]
    def getCriterion(self) -> Literal["cmi", "mim"]: return self.getOrDefault(self.criterion)
    def setCriterion(self, value: Literal["cmi", "mim"]) -> Self: return self._set(criterion=value)
    estimator: Param[Literal["plug-in", "knn"]]
    def getEstimator(self) -> Literal["plug-in", "knn"]: return self.getOrDefault(self.estimator)
    def setEstimator(self, value: Literal["plug-in", "knn"]) -> Self: return self._set(estimator=value)
    minCount: Param[int]
    def getMinCount(self) -> int: return self.getOrDefault(self.minCount)
    def setMinCount(self, value: int) -> Self: return self._set(minCount=value)
    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)


class PMUSelector(SelectorEstimator, entry="pmu"):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l').

    Method 'pmu', documented in ``spark_mlfs.methods.pmu``. Source: Lee & Kim 2013.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)


class D2FSelector(SelectorEstimator, entry="d2f"):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell.

    Method 'd2f', documented in ``spark_mlfs.methods.d2f``. Source: Lee & Kim 2015.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    labelNoise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: return self.getOrDefault(self.labelNoise)
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: return self._set(labelNoise=value)


class MDMRSelector(SelectorEstimator, entry="mdmr"):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)].

    Method 'mdmr', documented in ``spark_mlfs.methods.mdmr``. Source: Lin et al. 2015.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    labelNoise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: return self.getOrDefault(self.labelNoise)
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: return self._set(labelNoise=value)


class SCLSSelector(SelectorEstimator, entry="scls"):
    """R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free.

    Method 'scls', documented in ``spark_mlfs.methods.scls``. Source: Lee & Kim 2017.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    labelNoise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: return self.getOrDefault(self.labelNoise)
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: return self._set(labelNoise=value)


class LRFSSelector(SelectorEstimator, entry="lrfs"):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s).

    Method 'lrfs', documented in ``spark_mlfs.methods.lrfs``. Source: Zhang et al. 2019.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)


class FIMFSelector(SelectorEstimator, entry="fimf"):
    """R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l').

    Method 'fimf', documented in ``spark_mlfs.methods.fimf``. Source: Lee & Kim 2015.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    numLabels : int, default 10
        how many labels of highest entropy are paired (a whole number, at least 0)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", numLabels: int = 10, featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", numLabels: int = 10, featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    numLabels: Param[int]
    def getNumLabels(self) -> int: return self.getOrDefault(self.numLabels)
    def setNumLabels(self, value: int) -> Self: return self._set(numLabels=value)


class ENMSelector(SelectorEstimator, entry="enm"):
    """‖(I(f; Y_l))_l‖₂.

    Method 'enm', documented in ``spark_mlfs.methods.enm``. Source: Gonzalez-Lopez et al. 2020.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    labelNoise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: return self.getOrDefault(self.labelNoise)
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: return self._set(labelNoise=value)


class GMMSelector(SelectorEstimator, entry="gmm"):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12.

    Method 'gmm', documented in ``spark_mlfs.methods.gmm``. Source: Gonzalez-Lopez et al. 2020.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)


class MRMRSelector(SelectorEstimator, entry="mrmr"):
    """Rel(f) less, or over, mean_s Red(f, s): relevance to the labels against redundancy with the picked features.

    Method 'mrmr', documented in ``spark_mlfs.methods.mrmr``. Source: Peng et al. 2005.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    relevance : {"mi", "f"}, default "mi"
        mutual information or F statistic, mean over the labels
    redundancy : {"mi", "correlation"}, default "mi"
        mutual information or correlation with the picks
    scheme : {"difference", "quotient"}, default "difference"
        relevance less, or over, the mean redundancy
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", relevance: Literal["mi", "f"] = "mi",
        redundancy: Literal["mi", "correlation"] = "mi", scheme: Literal["difference", "quotient"] = "difference",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", relevance: Literal["mi", "f"] = "mi",
        redundancy: Literal["mi", "correlation"] = "mi", scheme: Literal["difference", "quotient"] = "difference",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)
    relevance: Param[Literal["mi", "f"]]
    def getRelevance(self) -> Literal["mi", "f"]: return self.getOrDefault(self.relevance)
    def setRelevance(self, value: Literal["mi", "f"]) -> Self: return self._set(relevance=value)
    redundancy: Param[Literal["mi", "correlation"]]
    def getRedundancy(self) -> Literal["mi", "correlation"]: return self.getOrDefault(self.redundancy)
    def setRedundancy(self, value: Literal["mi", "correlation"]) -> Self: return self._set(redundancy=value)
    scheme: Param[Literal["difference", "quotient"]]
    def getScheme(self) -> Literal["difference", "quotient"]: return self.getOrDefault(self.scheme)
    def setScheme(self, value: Literal["difference", "quotient"]) -> Self: return self._set(scheme=value)


class IGMFSelector(SelectorEstimator, entry="igmf"):
    """2·I(f; labelset) / (H(f) + H(labelset)).

    Method 'igmf', documented in ``spark_mlfs.methods.igmf``. Source: Li et al. 2014.

    Parameters
    ----------
    numBins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    biasCorrection : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, numBins: int = 5, binning: Literal["width", "quantile"] = "width",
        biasCorrection: Literal["none", "miller-madow"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    numBins: Param[int]
    def getNumBins(self) -> int: return self.getOrDefault(self.numBins)
    def setNumBins(self, value: int) -> Self: return self._set(numBins=value)
    binning: Param[Literal["width", "quantile"]]
    def getBinning(self) -> Literal["width", "quantile"]: return self.getOrDefault(self.binning)
    def setBinning(self, value: Literal["width", "quantile"]) -> Self: return self._set(binning=value)
    biasCorrection: Param[Literal["none", "miller-madow"]]
    def getBiasCorrection(self) -> Literal["none", "miller-madow"]: return self.getOrDefault(self.biasCorrection)
    def setBiasCorrection(self, value: Literal["none", "miller-madow"]) -> Self: return self._set(biasCorrection=value)


class FastCanSelector(SelectorEstimator, entry="fastcan"):
    """J(f) = ‖V'x_f⊥‖²/‖x_f⊥‖²: what f adds to the sum of squared canonical correlations with the labels.

    Method 'fastcan', documented in ``spark_mlfs.methods.fastcan``. Source: Zhang & Lang 2022.

    Parameters
    ----------
    tol : float, default 0.01
        features of which the picked ones leave no more than this share of the norm are left out (a number from 1e-05 to 1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, tol: float = 0.01, featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output",
        idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, tol: float = 0.01, featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output",
        idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    tol: Param[float]
    def getTol(self) -> float: return self.getOrDefault(self.tol)
    def setTol(self, value: float) -> Self: return self._set(tol=value)


class FStatisticSelector(SelectorEstimator, entry="f-statistic"):
    """F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)².

    Method 'f-statistic', documented in ``spark_mlfs.methods.f_statistic``. Source: Kong et al. 2012.

    Parameters
    ----------
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output",
        idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output",
        idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)


class FisherSelector(SelectorEstimator, entry="fisher"):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels, or labelsets.

    Method 'fisher', documented in ``spark_mlfs.methods.fisher``. Source: Gu, Li & Han 2011.

    Parameters
    ----------
    labelCoding : {"br", "overlap", "lp"}, default "br"
        mean over labels, overlapping labels, or labelsets
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, labelCoding: Literal["br", "overlap", "lp"] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, labelCoding: Literal["br", "overlap", "lp"] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    labelCoding: Param[Literal["br", "overlap", "lp"]]
    def getLabelCoding(self) -> Literal["br", "overlap", "lp"]: return self.getOrDefault(self.labelCoding)
    def setLabelCoding(self, value: Literal["br", "overlap", "lp"]) -> Self: return self._set(labelCoding=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)


class SPECSelector(SelectorEstimator, entry="spec"):
    """Spectral selection on the graph of rows with similar labels.

    Method 'spec', documented in ``spark_mlfs.methods.spec``. Source: Zhao & Liu 2007.

    Parameters
    ----------
    criterion : {"phi1", "phi2", "phi3"}, default "phi1"
        which of the three criteria
    k : int | None, default None
        eigenvalues used by phi3; None: as many as labels (a whole number, at least 2, or None)
    similarity : {"overlap", "jaccard"}, default "overlap"
        labels in common over labels in either: weighed by their rows, or alike
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, criterion: Literal["phi1", "phi2", "phi3"] = "phi1", k: int | None = None,
        similarity: Literal["overlap", "jaccard"] = "overlap", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, criterion: Literal["phi1", "phi2", "phi3"] = "phi1", k: int | None = None,
        similarity: Literal["overlap", "jaccard"] = "overlap", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    criterion: Param[Literal["phi1", "phi2", "phi3"]]
    def getCriterion(self) -> Literal["phi1", "phi2", "phi3"]: return self.getOrDefault(self.criterion)
    def setCriterion(self, value: Literal["phi1", "phi2", "phi3"]) -> Self: return self._set(criterion=value)
    k: Param[int | None]
    def getK(self) -> int | None: return self.getOrDefault(self.k)
    def setK(self, value: int | None) -> Self: return self._set(k=value)
    similarity: Param[Literal["overlap", "jaccard"]]
    def getSimilarity(self) -> Literal["overlap", "jaccard"]: return self.getOrDefault(self.similarity)
    def setSimilarity(self, value: Literal["overlap", "jaccard"]) -> Self: return self._set(similarity=value)


class GMBASelector(SelectorEstimator, entry="gmba"):
    """Graph-margin weights: hits near, misses a margin away, under a label similarity.

    Method 'gmba', documented in ``spark_mlfs.methods.gmba``. Source: Yan & Li 2016.

    Parameters
    ----------
    mode : {"paper", "convex", "closed"}, default "convex"
        the paper's descent, the convex minimum, or one pass
    k : int, default 3
        nearest hits (a whole number, at least 1)
    sMin : float, default 1.0
        similarity from which a row is similar (a number from above 0 to 1)
    lam : float, default 1.0
        weight of the margin (a number, at least 0)
    beta : float, default 0.9
        step of the paper's descent (a number above 0)
    similarity : {"overlap", "jaccard"}, default "overlap"
        labels in common over labels in either: weighed by their rows, or alike
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    numAnchors : int | None, default None
        rows drawn as anchors; None: all up to 20,000 (a whole number, at least 1, or None)
    shuffle : bool, default True
        visit the anchors in seeded order (paper)
    seed : int, default 0
        seed of the anchors and their order (a whole number from 0 to 2147483647)
    maxIter : int, default 100
        passes over the data at most (convex) (a whole number, at least 1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, mode: Literal["paper", "convex", "closed"] = "convex", k: int = 3, sMin: float = 1.0, lam: float = 1.0,
        beta: float = 0.9, similarity: Literal["overlap", "jaccard"] = "overlap",
        scaling: Literal["standard", "minmax", "none"] = "standard", numAnchors: int | None = None, shuffle: bool = True,
        seed: int = 0, maxIter: int = 100, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, mode: Literal["paper", "convex", "closed"] = "convex", k: int = 3, sMin: float = 1.0, lam: float = 1.0,
        beta: float = 0.9, similarity: Literal["overlap", "jaccard"] = "overlap",
        scaling: Literal["standard", "minmax", "none"] = "standard", numAnchors: int | None = None, shuffle: bool = True,
        seed: int = 0, maxIter: int = 100, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    mode: Param[Literal["paper", "convex", "closed"]]
    def getMode(self) -> Literal["paper", "convex", "closed"]: return self.getOrDefault(self.mode)
    def setMode(self, value: Literal["paper", "convex", "closed"]) -> Self: return self._set(mode=value)
    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)
    sMin: Param[float]
    def getSMin(self) -> float: return self.getOrDefault(self.sMin)
    def setSMin(self, value: float) -> Self: return self._set(sMin=value)
    lam: Param[float]
    def getLam(self) -> float: return self.getOrDefault(self.lam)
    def setLam(self, value: float) -> Self: return self._set(lam=value)
    beta: Param[float]
    def getBeta(self) -> float: return self.getOrDefault(self.beta)
    def setBeta(self, value: float) -> Self: return self._set(beta=value)
    similarity: Param[Literal["overlap", "jaccard"]]
    def getSimilarity(self) -> Literal["overlap", "jaccard"]: return self.getOrDefault(self.similarity)
    def setSimilarity(self, value: Literal["overlap", "jaccard"]) -> Self: return self._set(similarity=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    numAnchors: Param[int | None]
    def getNumAnchors(self) -> int | None: return self.getOrDefault(self.numAnchors)
    def setNumAnchors(self, value: int | None) -> Self: return self._set(numAnchors=value)
    shuffle: Param[bool]
    def getShuffle(self) -> bool: return self.getOrDefault(self.shuffle)
    def setShuffle(self, value: bool) -> Self: return self._set(shuffle=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)


class ReliefFSelector(SelectorEstimator, entry="relieff"):
    """Features that differ between near misses and agree between near hits, over label pairs or labelsets.

    Method 'relieff', documented in ``spark_mlfs.methods.relieff``. Source: Kong et al. 2012.

    Parameters
    ----------
    mode : {"pairwise", "hamming"}, default "pairwise"
        two-class ReliefF per label pair, or labelset distances
    k : int, default 3
        nearest hits and misses (a whole number, at least 1)
    numAnchors : int | None, default None
        rows drawn as anchors; None: all up to 20,000 (a whole number, at least 1, or None)
    seed : int, default 0
        seed of the anchors (a whole number from 0 to 2147483647)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, mode: Literal["pairwise", "hamming"] = "pairwise", k: int = 3, numAnchors: int | None = None, seed: int = 0,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, mode: Literal["pairwise", "hamming"] = "pairwise", k: int = 3, numAnchors: int | None = None, seed: int = 0,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    mode: Param[Literal["pairwise", "hamming"]]
    def getMode(self) -> Literal["pairwise", "hamming"]: return self.getOrDefault(self.mode)
    def setMode(self, value: Literal["pairwise", "hamming"]) -> Self: return self._set(mode=value)
    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)
    numAnchors: Param[int | None]
    def getNumAnchors(self) -> int | None: return self.getOrDefault(self.numAnchors)
    def setNumAnchors(self, value: int | None) -> Self: return self._set(numAnchors=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)


class RidgeSelector(SelectorEstimator, entry="ridge"):
    """Row norms of the multi-output ridge regression.

    Method 'ridge', documented in ``spark_mlfs.methods.ridge``. Source: Hoerl & Kennard 1970.

    Parameters
    ----------
    alpha : float, default 1.0
        weight of the penalty (a number, at least 0)
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, alpha: float = 1.0, scaling: Literal["standard", "minmax", "none"] = "standard", labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, alpha: float = 1.0, scaling: Literal["standard", "minmax", "none"] = "standard", labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    alpha: Param[float]
    def getAlpha(self) -> float: return self.getOrDefault(self.alpha)
    def setAlpha(self, value: float) -> Self: return self._set(alpha=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)


class LassoSelector(SelectorEstimator, entry="lasso"):
    """Row norms of the LASSO of every label, or of the group LASSO.

    Method 'lasso', documented in ``spark_mlfs.methods.lasso``. Source: Tibshirani 1996.

    Parameters
    ----------
    alpha : float, default 0.01
        weight of the penalty (a number, at least 0)
    group : bool, default False
        the ℓ2,1 norm instead of the ℓ1 norm: a feature is in or out for all labels
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 10000
        iterations at most (a whole number, at least 1)
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, alpha: float = 0.01, group: bool = False, scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, alpha: float = 0.01, group: bool = False, scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    alpha: Param[float]
    def getAlpha(self) -> float: return self.getOrDefault(self.alpha)
    def setAlpha(self, value: float) -> Self: return self._set(alpha=value)
    group: Param[bool]
    def getGroup(self) -> bool: return self.getOrDefault(self.group)
    def setGroup(self, value: bool) -> Self: return self._set(group=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)


class ElasticNetSelector(SelectorEstimator, entry="elastic-net"):
    """Row norms of the elastic net of every label, or of its group form.

    Method 'elastic-net', documented in ``spark_mlfs.methods.elastic_net``. Source: Zou & Hastie 2005.

    Parameters
    ----------
    alpha : float, default 0.01
        weight of the penalty (a number, at least 0)
    rho : float, default 0.5
        share of the ℓ1 norm in the penalty (a number from 0 to 1)
    group : bool, default False
        the ℓ2,1 norm instead of the ℓ1 norm: a feature is in or out for all labels
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 10000
        iterations at most (a whole number, at least 1)
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, alpha: float = 0.01, rho: float = 0.5, group: bool = False,
        scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 10000, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, alpha: float = 0.01, rho: float = 0.5, group: bool = False,
        scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 10000, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    alpha: Param[float]
    def getAlpha(self) -> float: return self.getOrDefault(self.alpha)
    def setAlpha(self, value: float) -> Self: return self._set(alpha=value)
    rho: Param[float]
    def getRho(self) -> float: return self.getOrDefault(self.rho)
    def setRho(self, value: float) -> Self: return self._set(rho=value)
    group: Param[bool]
    def getGroup(self) -> bool: return self.getOrDefault(self.group)
    def setGroup(self, value: bool) -> Self: return self._set(group=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)


class RFSSelector(SelectorEstimator, entry="rfs"):
    """Robust selection: ℓ2,1 loss and ℓ2,1 penalty.

    Method 'rfs', documented in ``spark_mlfs.methods.rfs``. Source: Nie et al. 2010.

    Parameters
    ----------
    gamma : float, default 1.0
        weight of the penalty (a number above 0)
    accelerate : bool, default True
        extrapolate between scans
    tol : float, default 1e-06
        stops when no weight changes by more than this share of the largest (a number above 0)
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 500
        scans at most (a whole number, at least 2)
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, gamma: float = 1.0, accelerate: bool = True, tol: float = 1e-06,
        scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 500, labelSketch: int | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, gamma: float = 1.0, accelerate: bool = True, tol: float = 1e-06,
        scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 500, labelSketch: int | None = None,
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    gamma: Param[float]
    def getGamma(self) -> float: return self.getOrDefault(self.gamma)
    def setGamma(self, value: float) -> Self: return self._set(gamma=value)
    accelerate: Param[bool]
    def getAccelerate(self) -> bool: return self.getOrDefault(self.accelerate)
    def setAccelerate(self, value: bool) -> Self: return self._set(accelerate=value)
    tol: Param[float]
    def getTol(self) -> float: return self.getOrDefault(self.tol)
    def setTol(self, value: float) -> Self: return self._set(tol=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)


class CSFSSelector(SelectorEstimator, entry="csfs"):
    """Convex semi-supervised selection: ℓ2,1 regression that fills in unknown labels.

    Method 'csfs', documented in ``spark_mlfs.methods.csfs``. Source: Chang et al. 2014.

    Parameters
    ----------
    mu : float, default 1.0
        weight of the ℓ2,1 norm (a number above 0)
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 300
        scans at most, with unknown labels (a whole number, at least 1)
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, mu: float = 1.0, scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 300,
        labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, mu: float = 1.0, scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 300,
        labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        featuresCol: str = "features", labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None,
        weightCol: str | None = None, gradedLabels: bool = False, gradeRange: Sequence[float] | None = None,
        labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    mu: Param[float]
    def getMu(self) -> float: return self.getOrDefault(self.mu)
    def setMu(self, value: float) -> Self: return self._set(mu=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)


class MSSLSelector(SelectorEstimator, entry="mssl"):
    """ℓ2,1-regularised regression that is smooth over the graph of neighbouring features.

    Method 'mssl', documented in ``spark_mlfs.methods.mssl``. Source: Cai & Zhu 2018.

    Parameters
    ----------
    alpha : float, default 0.1
        weight of the feature manifold (a number, at least 0)
    beta : float, default 1.0
        weight of the ℓ2,1 norm (a number above 0)
    k : int, default 10
        nearest features in the graph (a whole number, at least 1)
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 10000
        iterations at most (a whole number, at least 1)
    tol : float, default 1e-09
        stops when no weight changes by more than this share of the largest (a number above 0)
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    labelWeights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, alpha: float = 0.1, beta: float = 1.0, k: int = 10, scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 10000, tol: float = 1e-09, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, alpha: float = 0.1, beta: float = 1.0, k: int = 10, scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 10000, tol: float = 1e-09, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", featuresCol: str = "features",
        labelsCol: str = "labels", outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None,
        gradedLabels: bool = False, gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    alpha: Param[float]
    def getAlpha(self) -> float: return self.getOrDefault(self.alpha)
    def setAlpha(self, value: float) -> Self: return self._set(alpha=value)
    beta: Param[float]
    def getBeta(self) -> float: return self.getOrDefault(self.beta)
    def setBeta(self, value: float) -> Self: return self._set(beta=value)
    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    tol: Param[float]
    def getTol(self) -> float: return self.getOrDefault(self.tol)
    def setTol(self, value: float) -> Self: return self._set(tol=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: return self.getOrDefault(self.labelWeights)
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: return self._set(labelWeights=value)


class MIFSSelector(SelectorEstimator, entry="mifs"):
    """ℓ2,1 regression on label factors that are learned with it and smooth over neighbouring rows.

    Method 'mifs', documented in ``spark_mlfs.methods.mifs``. Source: Jian et al. 2016.

    Parameters
    ----------
    alpha : float, default 1.0
        weight of the label factorisation, all that ties V to the labels (a number above 0)
    beta : float, default 0.1
        weight of the row manifold (a number, at least 0)
    gamma : float, default 1.0
        weight of the ℓ2,1 norm (a number above 0)
    c : int | None, default None
        latent width; None: ⌈0.3 q⌉ (a whole number, at least 1, or None)
    k : int, default 5
        nearest rows in the graph (a whole number, at least 1)
    constraint : {"orthonormal", "none"}, default "orthonormal"
        BB' = I, or none as in the paper
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 2000
        iterations at most (a whole number, at least 1)
    tol : float, default 1e-09
        stops when no weight changes by more than this share of the largest (a number above 0)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, alpha: float = 1.0, beta: float = 0.1, gamma: float = 1.0, c: int | None = None, k: int = 5,
        constraint: Literal["orthonormal", "none"] = "orthonormal", scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 2000, tol: float = 1e-09, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, alpha: float = 1.0, beta: float = 0.1, gamma: float = 1.0, c: int | None = None, k: int = 5,
        constraint: Literal["orthonormal", "none"] = "orthonormal", scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 2000, tol: float = 1e-09, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    alpha: Param[float]
    def getAlpha(self) -> float: return self.getOrDefault(self.alpha)
    def setAlpha(self, value: float) -> Self: return self._set(alpha=value)
    beta: Param[float]
    def getBeta(self) -> float: return self.getOrDefault(self.beta)
    def setBeta(self, value: float) -> Self: return self._set(beta=value)
    gamma: Param[float]
    def getGamma(self) -> float: return self.getOrDefault(self.gamma)
    def setGamma(self, value: float) -> Self: return self._set(gamma=value)
    c: Param[int | None]
    def getC(self) -> int | None: return self.getOrDefault(self.c)
    def setC(self, value: int | None) -> Self: return self._set(c=value)
    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)
    constraint: Param[Literal["orthonormal", "none"]]
    def getConstraint(self) -> Literal["orthonormal", "none"]: return self.getOrDefault(self.constraint)
    def setConstraint(self, value: Literal["orthonormal", "none"]) -> Self: return self._set(constraint=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    tol: Param[float]
    def getTol(self) -> float: return self.getOrDefault(self.tol)
    def setTol(self, value: float) -> Self: return self._set(tol=value)


class OMFSSelector(SelectorEstimator, entry="omfs"):
    """ℓ2,1 regression of the features on factorised labels.

    Method 'omfs', documented in ``spark_mlfs.methods.omfs``. Source: Valadi et al.

    Parameters
    ----------
    gamma : float, default 0.8
        weight of the ℓ2,1 norm (a number above 0)
    c : int | None, default None
        latent width; None: ⌈0.3 q⌉ (a whole number, at least 1, or None)
    factorizer : Literal["nmf", "svd"] | None, default None
        how the labels are factorised; None: nmf, a sketch by svd
    solver : {"irls", "armijo"}, default "irls"
        reweighting, or the paper's descent
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 10000
        iterations at most (a whole number, at least 1)
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, gamma: float = 0.8, c: int | None = None, factorizer: Literal["nmf", "svd"] | None = None,
        solver: Literal["irls", "armijo"] = "irls", scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, gamma: float = 0.8, c: int | None = None, factorizer: Literal["nmf", "svd"] | None = None,
        solver: Literal["irls", "armijo"] = "irls", scaling: Literal["standard", "minmax", "none"] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    gamma: Param[float]
    def getGamma(self) -> float: return self.getOrDefault(self.gamma)
    def setGamma(self, value: float) -> Self: return self._set(gamma=value)
    c: Param[int | None]
    def getC(self) -> int | None: return self.getOrDefault(self.c)
    def setC(self, value: int | None) -> Self: return self._set(c=value)
    factorizer: Param[Literal["nmf", "svd"] | None]
    def getFactorizer(self) -> Literal["nmf", "svd"] | None: return self.getOrDefault(self.factorizer)
    def setFactorizer(self, value: Literal["nmf", "svd"] | None) -> Self: return self._set(factorizer=value)
    solver: Param[Literal["irls", "armijo"]]
    def getSolver(self) -> Literal["irls", "armijo"]: return self.getOrDefault(self.solver)
    def setSolver(self, value: Literal["irls", "armijo"]) -> Self: return self._set(solver=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)


class MSFSSelector(SelectorEstimator, entry="msfs"):
    """ℓ2,1 regression that is smooth over a graph sampled by random walks among similar rows.

    Method 'msfs', documented in ``spark_mlfs.methods.msfs``. Source: Li & Zhai.

    Parameters
    ----------
    alpha : float, default 0.1
        weight of the manifold (a number, at least 0)
    beta : float, default 10.0
        weight of the penalties (a number, at least 0)
    rho : float, default 0.5
        share of the ℓ2,1 norm in the penalties (a number from 0 to 1)
    steps : int, default 80
        steps of a walk (a whole number, at least 1)
    walk : {"dfs", "bfs", "expected"}, default "dfs"
        how the graph is sampled
    neighbors : int | None, default 30
        label-sharing rows kept a row; None: all (the paper's dense form) (a whole number, at least 1, or None)
    sigma : float | None, default None
        width of the kernel; None: self-tuning (a number above 0, or None)
    seed : int, default 0
        seed of the walks (a whole number from 0 to 2147483647)
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    maxIter : int, default 10000
        iterations at most (a whole number, at least 1)
    tol : float, default 1e-09
        stops when no weight changes by more than this share of the largest (a number above 0)
    labelSketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, alpha: float = 0.1, beta: float = 10.0, rho: float = 0.5, steps: int = 80,
        walk: Literal["dfs", "bfs", "expected"] = "dfs", neighbors: int | None = 30, sigma: float | None = None, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 10000, tol: float = 1e-09,
        labelSketch: int | None = None, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, alpha: float = 0.1, beta: float = 10.0, rho: float = 0.5, steps: int = 80,
        walk: Literal["dfs", "bfs", "expected"] = "dfs", neighbors: int | None = 30, sigma: float | None = None, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", maxIter: int = 10000, tol: float = 1e-09,
        labelSketch: int | None = None, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    alpha: Param[float]
    def getAlpha(self) -> float: return self.getOrDefault(self.alpha)
    def setAlpha(self, value: float) -> Self: return self._set(alpha=value)
    beta: Param[float]
    def getBeta(self) -> float: return self.getOrDefault(self.beta)
    def setBeta(self, value: float) -> Self: return self._set(beta=value)
    rho: Param[float]
    def getRho(self) -> float: return self.getOrDefault(self.rho)
    def setRho(self, value: float) -> Self: return self._set(rho=value)
    steps: Param[int]
    def getSteps(self) -> int: return self.getOrDefault(self.steps)
    def setSteps(self, value: int) -> Self: return self._set(steps=value)
    walk: Param[Literal["dfs", "bfs", "expected"]]
    def getWalk(self) -> Literal["dfs", "bfs", "expected"]: return self.getOrDefault(self.walk)
    def setWalk(self, value: Literal["dfs", "bfs", "expected"]) -> Self: return self._set(walk=value)
    neighbors: Param[int | None]
    def getNeighbors(self) -> int | None: return self.getOrDefault(self.neighbors)
    def setNeighbors(self, value: int | None) -> Self: return self._set(neighbors=value)
    sigma: Param[float | None]
    def getSigma(self) -> float | None: return self.getOrDefault(self.sigma)
    def setSigma(self, value: float | None) -> Self: return self._set(sigma=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    tol: Param[float]
    def getTol(self) -> float: return self.getOrDefault(self.tol)
    def setTol(self, value: float) -> Self: return self._set(tol=value)
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: return self.getOrDefault(self.labelSketch)
    def setLabelSketch(self, value: int | None) -> Self: return self._set(labelSketch=value)


class DeepFSSelector(SelectorEstimator, entry="deepfs"):
    """Keep probabilities of stochastic gates trained with a small network.

    Method 'deepfs', documented in ``spark_mlfs.methods.deepfs``. Source: Louizos, Welling & Kingma 2018.

    Parameters
    ----------
    hidden : int, default 32
        width of the hidden layer (a whole number, at least 1)
    hidden2 : int, default 0
        width of a second hidden layer; 0: none (a whole number, at least 0)
    lam : float, default 0.05
        price of an open gate (a number, at least 0)
    epochs : int, default 100
        passes over the sample at most (a whole number, at least 1)
    batch : int, default 64
        rows a step (a whole number, at least 1)
    rate : float, default 0.01
        Adam's learning rate (a number above 0)
    sample : int, default 10000
        rows trained on at most (a whole number, at least 2)
    seed : int, default 0
        seed of the sample, the start and the draws (a whole number from 0 to 2147483647)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, hidden: int = 32, hidden2: int = 0, lam: float = 0.05, epochs: int = 100, batch: int = 64, rate: float = 0.01,
        sample: int = 10000, seed: int = 0, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, hidden: int = 32, hidden2: int = 0, lam: float = 0.05, epochs: int = 100, batch: int = 64, rate: float = 0.01,
        sample: int = 10000, seed: int = 0, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    hidden: Param[int]
    def getHidden(self) -> int: return self.getOrDefault(self.hidden)
    def setHidden(self, value: int) -> Self: return self._set(hidden=value)
    hidden2: Param[int]
    def getHidden2(self) -> int: return self.getOrDefault(self.hidden2)
    def setHidden2(self, value: int) -> Self: return self._set(hidden2=value)
    lam: Param[float]
    def getLam(self) -> float: return self.getOrDefault(self.lam)
    def setLam(self, value: float) -> Self: return self._set(lam=value)
    epochs: Param[int]
    def getEpochs(self) -> int: return self.getOrDefault(self.epochs)
    def setEpochs(self, value: int) -> Self: return self._set(epochs=value)
    batch: Param[int]
    def getBatch(self) -> int: return self.getOrDefault(self.batch)
    def setBatch(self, value: int) -> Self: return self._set(batch=value)
    rate: Param[float]
    def getRate(self) -> float: return self.getOrDefault(self.rate)
    def setRate(self, value: float) -> Self: return self._set(rate=value)
    sample: Param[int]
    def getSample(self) -> int: return self.getOrDefault(self.sample)
    def setSample(self, value: int) -> Self: return self._set(sample=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)


class AutoSelector(SelectorEstimator, entry="auto"):
    """Ranks by the one of several methods whose features predict held-out rows best.

    Method 'auto', documented in ``spark_mlfs.methods.auto``. Source: nested cross-validation, Varma & Simon 2006.

    Parameters
    ----------
    methods : str, default "fastcan,scls,lasso,enm,chi2,fisher"
        what is tried; the first is kept in doubt (names of methods, commas between them)
    judge : {"both", "linear", "mlknn"}, default "both"
        what predicts the labels of the held-out rows
    folds : int, default 3
        inner folds (a whole number from 2 to 10)
    sample : int, default 2000
        rows tried on at most (a whole number, at least 20)
    seed : int, default 0
        seed of the sample, the folds and the resamplings (a whole number from 0 to 2147483647)
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "<uid>__output"
        column of the selected features, with their names in its metadata
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    weightCol : str | None, default None
        weight of each row, a number of 0 or more: one of 2 counts as two rows; for methods of counts and moments
    gradedLabels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    gradeRange : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    labelCuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    selectionMode : {"numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "numTopFeatures"
        how many features to keep
    numTopFeatures : int, default 50
        features to keep, with selectionMode numTopFeatures; K of stability; most picks of a greedy method; at most all (a
        whole number, at least 1)
    percentile : float, default 0.1
        share of the features to keep, with selectionMode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selectionMode fpr (a number from above 0 to 1)
    fdr : float, default 0.05
        expected share of false features among the kept, with selectionMode fdr or knockoffs (there 0.1 unless set) (a number
        from above 0 to 1)
    fwe : float, default 0.05
        probability of keeping any false feature, with selectionMode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stabilityThreshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selectionMode stability (a number from above 0.5 to 1)
    selectionSeed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
    order : {"rank", "index"}, default "rank"
        order of the kept features: as ranked, or as in the data
    screen : str | None, default None
        filter that runs first, the method on its best (METHOD:COUNT, such as chi2:10000, or None)
    include : list[str | int] | None, default None
        features picked first; greedy methods condition on them (a list of names, patterns such as title_*, or places from 0,
        or None)
    exclude : list[str | int] | None, default None
        features that are never picked (a list of names, patterns such as title_*, or places from 0, or None)
    groups : dict[str, list[str | int]] | None, default None
        features that are picked or left together (lists of names, patterns such as title_*, or places, by the name of the
        group, or None)
    costs : dict[str, float] | list[float] | None, default None
        what features cost: picked by gain per cost (finite numbers above 0: by name or pattern ('*' for all others), or a
        list with one for every feature, or None)
    budget : float | None, default None
        what the selection may cost; num_top_features bounds it if set (a number above 0, or None)
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, methods: str = "fastcan,scls,lasso,enm,chi2,fisher", judge: Literal["both", "linear", "mlknn"] = "both",
        folds: int = 3, sample: int = 2000, seed: int = 0, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, methods: str = "fastcan,scls,lasso,enm,chi2,fisher", judge: Literal["both", "linear", "mlknn"] = "both",
        folds: int = 3, sample: int = 2000, seed: int = 0, featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "<uid>__output", idCol: str | None = None, weightCol: str | None = None, gradedLabels: bool = False,
        gradeRange: Sequence[float] | None = None, labelCuts: Sequence[float] | None = None,
        selectionMode: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "numTopFeatures",
        numTopFeatures: int = 50, percentile: float = 0.1, fpr: float = 0.05, fdr: float = 0.05, fwe: float = 0.05,
        combination: Literal["cauchy", "bonferroni"] = "cauchy", stabilityThreshold: float = 0.6, selectionSeed: int = 0,
        order: Literal["rank", "index"] = "rank", screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    methods: Param[str]
    def getMethods(self) -> str: return self.getOrDefault(self.methods)
    def setMethods(self, value: str) -> Self: return self._set(methods=value)
    judge: Param[Literal["both", "linear", "mlknn"]]
    def getJudge(self) -> Literal["both", "linear", "mlknn"]: return self.getOrDefault(self.judge)
    def setJudge(self, value: Literal["both", "linear", "mlknn"]) -> Self: return self._set(judge=value)
    folds: Param[int]
    def getFolds(self) -> int: return self.getOrDefault(self.folds)
    def setFolds(self, value: int) -> Self: return self._set(folds=value)
    sample: Param[int]
    def getSample(self) -> int: return self.getOrDefault(self.sample)
    def setSample(self, value: int) -> Self: return self._set(sample=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)


__all__ = [
    "AutoSelector", "CMISelector", "CSFSSelector", "Chi2Selector", "D2FSelector", "DeepFSSelector", "ENMSelector",
    "ElasticNetSelector", "FIMFSelector", "FStatisticSelector", "FastCanSelector", "FisherSelector", "GMBASelector",
    "GMMSelector", "IGMFSelector", "JMISelector", "LRFSSelector", "LassoSelector", "MDMRSelector", "MIFSSelector", "MIMSelector",
    "MRMRSelector", "MSFSSelector", "MSSLSelector", "OMFSSelector", "PMUSelector", "PPTCMISelector", "RFSSelector",
    "ReliefFSelector", "RidgeSelector", "SCLSSelector", "SPECSelector",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type:
        """The class of an entry from outside, made when it is first asked for."""
        return SELECTORS.named(name)
