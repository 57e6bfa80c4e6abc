"""A selector of features of arrays for every method.

Written by ``python -m spark_mlfs.ml.generate``: change the methods, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from .selectors import SELECTORS, SelectorOfArrays, WeightedSelectorOfArrays


class MIMSelector(WeightedSelectorOfArrays, entry="mim"):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset).

    Method 'mim', documented in ``spark_mlfs.methods.mim``. Source: Sechidis et al. 2014, Eq. 5 and 7.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    label_coding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    label_noise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none", label_coding: Literal["br", "lp"] = "br",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform", label_noise: Sequence[float] | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.label_coding = label_coding
        self.label_weights = label_weights
        self.label_noise = label_noise
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class JMISelector(WeightedSelectorOfArrays, entry="jmi"):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one class.

    Method 'jmi', documented in ``spark_mlfs.methods.jmi``. Source: Sechidis et al. 2014, Eq. 6 and 8.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    label_coding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    label_noise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none", label_coding: Literal["br", "lp"] = "br",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform", label_noise: Sequence[float] | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.label_coding = label_coding
        self.label_weights = label_weights
        self.label_noise = label_noise
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class CMISelector(WeightedSelectorOfArrays, entry="cmi"):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one class.

    Method 'cmi', documented in ``spark_mlfs.methods.cmi``. Source: Sechidis et al. 2014, Eq. 3 and 4.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    label_coding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none", label_coding: Literal["br", "lp"] = "br",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.label_coding = label_coding
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class Chi2Selector(WeightedSelectorOfArrays, entry="chi2"):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the labelset.

    Method 'chi2', documented in ``spark_mlfs.methods.chi2``. Source: Trohidis et al. 2008.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    label_coding : {"br", "lp"}, default "br"
        binary relevance (sum over labels) or label powerset (the labelset as one class)
    aggregate : {"sum", "mean", "max"}, default "sum"
        how the labels' statistics are combined (br only)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    label_noise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width", label_coding: Literal["br", "lp"] = "br",
        aggregate: Literal["sum", "mean", "max"] = "sum", label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.label_coding = label_coding
        self.aggregate = aggregate
        self.label_weights = label_weights
        self.label_noise = label_noise
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class PPTCMISelector(WeightedSelectorOfArrays, entry="ppt-cmi"):
    """Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates.

    Method 'ppt-cmi', documented in ``spark_mlfs.methods.ppt_cmi``. Source: Doquire & Verleysen 2013.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    criterion : {"cmi", "mim"}, default "cmi"
        greedy CMI, or MIM
    estimator : {"plug-in", "knn"}, default "plug-in"
        plug-in counts, or Ross' nearest-neighbour estimator
    min_count : int, default 6
        labelsets that occur less often are dropped (a whole number, at least 1)
    k : int, default 6
        neighbours of the knn estimator (a whole number, at least 1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none", criterion: Literal["cmi", "mim"] = "cmi",
        estimator: Literal["plug-in", "knn"] = "plug-in", min_count: int = 6, k: int = 6,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.criterion = criterion
        self.estimator = estimator
        self.min_count = min_count
        self.k = k
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class PMUSelector(WeightedSelectorOfArrays, entry="pmu"):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l').

    Method 'pmu', documented in ``spark_mlfs.methods.pmu``. Source: Lee & Kim 2013.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class D2FSelector(WeightedSelectorOfArrays, entry="d2f"):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell.

    Method 'd2f', documented in ``spark_mlfs.methods.d2f``. Source: Lee & Kim 2015.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    label_noise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform", label_noise: Sequence[float] | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.label_weights = label_weights
        self.label_noise = label_noise
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class MDMRSelector(WeightedSelectorOfArrays, entry="mdmr"):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)].

    Method 'mdmr', documented in ``spark_mlfs.methods.mdmr``. Source: Lin et al. 2015.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    label_noise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform", label_noise: Sequence[float] | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.label_weights = label_weights
        self.label_noise = label_noise
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class SCLSSelector(WeightedSelectorOfArrays, entry="scls"):
    """R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free.

    Method 'scls', documented in ``spark_mlfs.methods.scls``. Source: Lee & Kim 2017.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    label_noise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform", label_noise: Sequence[float] | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.label_weights = label_weights
        self.label_noise = label_noise
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class LRFSSelector(WeightedSelectorOfArrays, entry="lrfs"):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s).

    Method 'lrfs', documented in ``spark_mlfs.methods.lrfs``. Source: Zhang et al. 2019.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class FIMFSelector(WeightedSelectorOfArrays, entry="fimf"):
    """R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l').

    Method 'fimf', documented in ``spark_mlfs.methods.fimf``. Source: Lee & Kim 2015.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    num_labels : int, default 10
        how many labels of highest entropy are paired (a whole number, at least 0)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none", num_labels: int = 10,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.num_labels = num_labels
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class ENMSelector(WeightedSelectorOfArrays, entry="enm"):
    """‖(I(f; Y_l))_l‖₂.

    Method 'enm', documented in ``spark_mlfs.methods.enm``. Source: Gonzalez-Lopez et al. 2020.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    label_noise : Sequence[float] | None, default None
        probability that an absent label is reported, and that a present one is missed: counts are corrected for it (two
        probabilities fp, fn below 1 together, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform", label_noise: Sequence[float] | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.label_weights = label_weights
        self.label_noise = label_noise
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class GMMSelector(WeightedSelectorOfArrays, entry="gmm"):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12.

    Method 'gmm', documented in ``spark_mlfs.methods.gmm``. Source: Gonzalez-Lopez et al. 2020.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class MRMRSelector(WeightedSelectorOfArrays, entry="mrmr"):
    """Rel(f) less, or over, mean_s Red(f, s): relevance to the labels against redundancy with the picked features.

    Method 'mrmr', documented in ``spark_mlfs.methods.mrmr``. Source: Peng et al. 2005.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    relevance : {"mi", "f"}, default "mi"
        mutual information or F statistic, mean over the labels
    redundancy : {"mi", "correlation"}, default "mi"
        mutual information or correlation with the picks
    scheme : {"difference", "quotient"}, default "difference"
        relevance less, or over, the mean redundancy
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none", relevance: Literal["mi", "f"] = "mi",
        redundancy: Literal["mi", "correlation"] = "mi", scheme: Literal["difference", "quotient"] = "difference",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.relevance = relevance
        self.redundancy = redundancy
        self.scheme = scheme
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class IGMFSelector(WeightedSelectorOfArrays, entry="igmf"):
    """2·I(f; labelset) / (H(f) + H(labelset)).

    Method 'igmf', documented in ``spark_mlfs.methods.igmf``. Source: Li et al. 2014.

    Parameters
    ----------
    num_bins : int, default 5
        bins of a discretised feature (a whole number from 2 to 250)
    binning : {"width", "quantile"}, default "width"
        equal-width or quantile bins
    bias_correction : {"none", "miller-madow"}, default "none"
        correction of the plug-in entropies for the number of cells
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, num_bins: int = 5, binning: Literal["width", "quantile"] = "width",
        bias_correction: Literal["none", "miller-madow"] = "none",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.num_bins = num_bins
        self.binning = binning
        self.bias_correction = bias_correction
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class FastCanSelector(WeightedSelectorOfArrays, entry="fastcan"):
    """J(f) = ‖V'x_f⊥‖²/‖x_f⊥‖²: what f adds to the sum of squared canonical correlations with the labels.

    Method 'fastcan', documented in ``spark_mlfs.methods.fastcan``. Source: Zhang & Lang 2022.

    Parameters
    ----------
    tol : float, default 0.01
        features of which the picked ones leave no more than this share of the norm are left out (a number from 1e-05 to 1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, tol: float = 0.01,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.tol = tol
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class FStatisticSelector(WeightedSelectorOfArrays, entry="f-statistic"):
    """F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)².

    Method 'f-statistic', documented in ``spark_mlfs.methods.f_statistic``. Source: Kong et al. 2012.

    Parameters
    ----------
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class FisherSelector(WeightedSelectorOfArrays, entry="fisher"):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels, or labelsets.

    Method 'fisher', documented in ``spark_mlfs.methods.fisher``. Source: Gu, Li & Han 2011.

    Parameters
    ----------
    label_coding : {"br", "overlap", "lp"}, default "br"
        mean over labels, overlapping labels, or labelsets
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, label_coding: Literal["br", "overlap", "lp"] = "br",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.label_coding = label_coding
        self.label_weights = label_weights
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class SPECSelector(SelectorOfArrays, entry="spec"):
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
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, criterion: Literal["phi1", "phi2", "phi3"] = "phi1", k: int | None = None,
        similarity: Literal["overlap", "jaccard"] = "overlap",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.k = k
        self.similarity = similarity
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class GMBASelector(SelectorOfArrays, entry="gmba"):
    """Graph-margin weights: hits near, misses a margin away, under a label similarity.

    Method 'gmba', documented in ``spark_mlfs.methods.gmba``. Source: Yan & Li 2016.

    Parameters
    ----------
    mode : {"paper", "convex", "closed"}, default "convex"
        the paper's descent, the convex minimum, or one pass
    k : int, default 3
        nearest hits (a whole number, at least 1)
    s_min : float, default 1.0
        similarity from which a row is similar (a number from above 0 to 1)
    lam : float, default 1.0
        weight of the margin (a number, at least 0)
    beta : float, default 0.9
        step of the paper's descent (a number above 0)
    similarity : {"overlap", "jaccard"}, default "overlap"
        labels in common over labels in either: weighed by their rows, or alike
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    num_anchors : int | None, default None
        rows drawn as anchors; None: all up to 20,000 (a whole number, at least 1, or None)
    shuffle : bool, default True
        visit the anchors in seeded order (paper)
    seed : int, default 0
        seed of the anchors and their order (a whole number from 0 to 2147483647)
    max_iter : int, default 100
        passes over the data at most (convex) (a whole number, at least 1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, mode: Literal["paper", "convex", "closed"] = "convex", k: int = 3, s_min: float = 1.0, lam: float = 1.0,
        beta: float = 0.9, similarity: Literal["overlap", "jaccard"] = "overlap",
        scaling: Literal["standard", "minmax", "none"] = "standard", num_anchors: int | None = None, shuffle: bool = True,
        seed: int = 0, max_iter: int = 100,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.mode = mode
        self.k = k
        self.s_min = s_min
        self.lam = lam
        self.beta = beta
        self.similarity = similarity
        self.scaling = scaling
        self.num_anchors = num_anchors
        self.shuffle = shuffle
        self.seed = seed
        self.max_iter = max_iter
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class ReliefFSelector(SelectorOfArrays, entry="relieff"):
    """Features that differ between near misses and agree between near hits, over label pairs or labelsets.

    Method 'relieff', documented in ``spark_mlfs.methods.relieff``. Source: Kong et al. 2012.

    Parameters
    ----------
    mode : {"pairwise", "hamming"}, default "pairwise"
        two-class ReliefF per label pair, or labelset distances
    k : int, default 3
        nearest hits and misses (a whole number, at least 1)
    num_anchors : int | None, default None
        rows drawn as anchors; None: all up to 20,000 (a whole number, at least 1, or None)
    seed : int, default 0
        seed of the anchors (a whole number from 0 to 2147483647)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, mode: Literal["pairwise", "hamming"] = "pairwise", k: int = 3, num_anchors: int | None = None, seed: int = 0,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.mode = mode
        self.k = k
        self.num_anchors = num_anchors
        self.seed = seed
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class RidgeSelector(WeightedSelectorOfArrays, entry="ridge"):
    """Row norms of the multi-output ridge regression.

    Method 'ridge', documented in ``spark_mlfs.methods.ridge``. Source: Hoerl & Kennard 1970.

    Parameters
    ----------
    alpha : float, default 1.0
        weight of the penalty (a number, at least 0)
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, alpha: float = 1.0, scaling: Literal["standard", "minmax", "none"] = "standard", label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.scaling = scaling
        self.label_sketch = label_sketch
        self.label_weights = label_weights
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class LassoSelector(WeightedSelectorOfArrays, entry="lasso"):
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
    max_iter : int, default 10000
        iterations at most (a whole number, at least 1)
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, alpha: float = 0.01, group: bool = False, scaling: Literal["standard", "minmax", "none"] = "standard",
        max_iter: int = 10000, label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.group = group
        self.scaling = scaling
        self.max_iter = max_iter
        self.label_sketch = label_sketch
        self.label_weights = label_weights
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class ElasticNetSelector(WeightedSelectorOfArrays, entry="elastic-net"):
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
    max_iter : int, default 10000
        iterations at most (a whole number, at least 1)
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, alpha: float = 0.01, rho: float = 0.5, group: bool = False,
        scaling: Literal["standard", "minmax", "none"] = "standard", max_iter: int = 10000, label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.rho = rho
        self.group = group
        self.scaling = scaling
        self.max_iter = max_iter
        self.label_sketch = label_sketch
        self.label_weights = label_weights
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class RFSSelector(WeightedSelectorOfArrays, entry="rfs"):
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
    max_iter : int, default 500
        scans at most (a whole number, at least 2)
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, gamma: float = 1.0, accelerate: bool = True, tol: float = 1e-06,
        scaling: Literal["standard", "minmax", "none"] = "standard", max_iter: int = 500, label_sketch: int | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.accelerate = accelerate
        self.tol = tol
        self.scaling = scaling
        self.max_iter = max_iter
        self.label_sketch = label_sketch
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class CSFSSelector(WeightedSelectorOfArrays, entry="csfs"):
    """Convex semi-supervised selection: ℓ2,1 regression that fills in unknown labels.

    Method 'csfs', documented in ``spark_mlfs.methods.csfs``. Source: Chang et al. 2014.

    Parameters
    ----------
    mu : float, default 1.0
        weight of the ℓ2,1 norm (a number above 0)
    scaling : {"standard", "minmax", "none"}, default "standard"
        z-scores, ranges to [0, 1], or the features as they are
    max_iter : int, default 300
        scans at most, with unknown labels (a whole number, at least 1)
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, mu: float = 1.0, scaling: Literal["standard", "minmax", "none"] = "standard", max_iter: int = 300,
        label_sketch: int | None = None, label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.mu = mu
        self.scaling = scaling
        self.max_iter = max_iter
        self.label_sketch = label_sketch
        self.label_weights = label_weights
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class MSSLSelector(WeightedSelectorOfArrays, entry="mssl"):
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
    max_iter : int, default 10000
        iterations at most (a whole number, at least 1)
    tol : float, default 1e-09
        stops when no weight changes by more than this share of the largest (a number above 0)
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    label_weights : str | dict[str, float] | Sequence[float], default "uniform"
        how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), 1/q, or as given
        ('uniform', 'entropy', 'size', or one number of 0 or more for each label, in their order, or {label: number}, others
        1)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, alpha: float = 0.1, beta: float = 1.0, k: int = 10, scaling: Literal["standard", "minmax", "none"] = "standard",
        max_iter: int = 10000, tol: float = 1e-09, label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.k = k
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.label_sketch = label_sketch
        self.label_weights = label_weights
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class MIFSSelector(SelectorOfArrays, entry="mifs"):
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
    max_iter : int, default 2000
        iterations at most (a whole number, at least 1)
    tol : float, default 1e-09
        stops when no weight changes by more than this share of the largest (a number above 0)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, alpha: float = 1.0, beta: float = 0.1, gamma: float = 1.0, c: int | None = None, k: int = 5,
        constraint: Literal["orthonormal", "none"] = "orthonormal", scaling: Literal["standard", "minmax", "none"] = "standard",
        max_iter: int = 2000, tol: float = 1e-09,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.c = c
        self.k = k
        self.constraint = constraint
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class OMFSSelector(WeightedSelectorOfArrays, entry="omfs"):
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
    max_iter : int, default 10000
        iterations at most (a whole number, at least 1)
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, gamma: float = 0.8, c: int | None = None, factorizer: Literal["nmf", "svd"] | None = None,
        solver: Literal["irls", "armijo"] = "irls", scaling: Literal["standard", "minmax", "none"] = "standard",
        max_iter: int = 10000, label_sketch: int | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.c = c
        self.factorizer = factorizer
        self.solver = solver
        self.scaling = scaling
        self.max_iter = max_iter
        self.label_sketch = label_sketch
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class MSFSSelector(SelectorOfArrays, entry="msfs"):
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
    max_iter : int, default 10000
        iterations at most (a whole number, at least 1)
    tol : float, default 1e-09
        stops when no weight changes by more than this share of the largest (a number above 0)
    label_sketch : int | None, default None
        columns of the random sketch that stands for the labels; None: 256 above 10000 labels; 0: never (a whole number, at
        least 0, or None)
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, alpha: float = 0.1, beta: float = 10.0, rho: float = 0.5, steps: int = 80,
        walk: Literal["dfs", "bfs", "expected"] = "dfs", neighbors: int | None = 30, sigma: float | None = None, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", max_iter: int = 10000, tol: float = 1e-09,
        label_sketch: int | None = None,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.rho = rho
        self.steps = steps
        self.walk = walk
        self.neighbors = neighbors
        self.sigma = sigma
        self.seed = seed
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.label_sketch = label_sketch
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class DeepFSSelector(SelectorOfArrays, entry="deepfs"):
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
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, hidden: int = 32, hidden2: int = 0, lam: float = 0.05, epochs: int = 100, batch: int = 64, rate: float = 0.01,
        sample: int = 10000, seed: int = 0,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.hidden = hidden
        self.hidden2 = hidden2
        self.lam = lam
        self.epochs = epochs
        self.batch = batch
        self.rate = rate
        self.sample = sample
        self.seed = seed
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


class AutoSelector(SelectorOfArrays, entry="auto"):
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
    selection_mode : {"num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"}, default "num_top_features"
        how many features to keep
    num_top_features : int | None, default None
        features to keep, with selection_mode num_top_features; K of stability; most picks of a greedy method; at most all;
        None: 50, or all where there are fewer (a whole number, at least 1, or None)
    percentile : float, default 0.1
        share of the features to keep, with selection_mode percentile (a number from above 0 to 1)
    fpr : float, default 0.05
        largest p-value of a kept feature, with selection_mode fpr (a number from above 0 to 1)
    fdr : float | None, default None
        expected share of false features among the kept, with selection_mode fdr or knockoffs (there 0.1); None: 0.05 (a
        number from above 0 to 1, or None)
    fwe : float, default 0.05
        probability of keeping any false feature, with selection_mode fwe (a number from above 0 to 1)
    combination : {"cauchy", "bonferroni"}, default "cauchy"
        how a feature's p-values with each label become one
    stability_threshold : float, default 0.6
        share of the half-samples that must choose a kept feature, with selection_mode stability (a number from above 0.5 to
        1)
    selection_seed : int, default 0
        seed of the knockoffs and of the half-samples (a whole number from 0 to 2147483647)
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
    graded_labels : bool, default False
        labels are grades: numbers from 0 to 1, or in grade_range
    grade_range : Sequence[float] | None, default None
        what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1 (two numbers, the lowest grade and the highest,
        or None)
    label_cuts : Sequence[float] | None, default None
        a label is positive where its grade is at least this, for methods that take 0 and 1; several cuts: a label for each
        (grades, ascending, or None)
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, methods: str = "fastcan,scls,lasso,enm,chi2,fisher", judge: Literal["both", "linear", "mlknn"] = "both",
        folds: int = 3, sample: int = 2000, seed: int = 0,
        selection_mode: Literal["num_top_features", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"] = "num_top_features",
        num_top_features: int | None = None, percentile: float = 0.1, fpr: float = 0.05, fdr: float | None = None,
        fwe: float = 0.05, combination: Literal["cauchy", "bonferroni"] = "cauchy", stability_threshold: float = 0.6,
        selection_seed: int = 0, screen: str | None = None, include: list[str | int] | None = None,
        exclude: list[str | int] | None = None, groups: dict[str, list[str | int]] | None = None,
        costs: dict[str, float] | list[float] | None = None, budget: float | None = None, graded_labels: bool = False,
        grade_range: Sequence[float] | None = None, label_cuts: Sequence[float] | None = None, memory_bytes: int | None = None,
    ) -> None:
        self.methods = methods
        self.judge = judge
        self.folds = folds
        self.sample = sample
        self.seed = seed
        self.selection_mode = selection_mode
        self.num_top_features = num_top_features
        self.percentile = percentile
        self.fpr = fpr
        self.fdr = fdr
        self.fwe = fwe
        self.combination = combination
        self.stability_threshold = stability_threshold
        self.selection_seed = selection_seed
        self.screen = screen
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.costs = costs
        self.budget = budget
        self.graded_labels = graded_labels
        self.grade_range = grade_range
        self.label_cuts = label_cuts
        self.memory_bytes = memory_bytes


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
