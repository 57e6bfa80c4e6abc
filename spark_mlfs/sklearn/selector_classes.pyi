"""A selector for every method, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Sequence
from typing import Literal, TypedDict

from typing_extensions import Unpack

from .selectors import SelectorOfArrays, WeightedSelectorOfArrays

class _Common(TypedDict, total=False):
    selection_mode: Literal['num_top_features', 'percentile', 'fpr', 'fdr', 'fwe', 'knockoffs', 'stability']
    num_top_features: int | str | None
    percentile: float
    fpr: float
    fdr: float | None
    fwe: float
    combination: Literal['cauchy', 'bonferroni']
    stability_threshold: float
    selection_seed: int
    screen: str | None
    include: list[str | int] | None
    exclude: list[str | int] | None
    groups: dict[str, list[str | int]] | None
    costs: dict[str, float] | list[float] | None
    penalties: dict[str, float] | list[float] | None
    budget: float | None
    graded_labels: bool
    grade_range: Sequence[float] | None
    label_cuts: Sequence[float] | None
    missing: Literal['error', 'mean', 'zero', 'drop', 'keep']
    memory_bytes: int | None


class MIMSelector(WeightedSelectorOfArrays, entry="mim"):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset)."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow', 'chance'] = "none",
        label_coding: Literal['br', 'lp'] = "br",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class JMISelector(WeightedSelectorOfArrays, entry="jmi"):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one
    class."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none",
        label_coding: Literal['br', 'lp'] = "br",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class CMISelector(WeightedSelectorOfArrays, entry="cmi"):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one
    class."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none",
        label_coding: Literal['br', 'lp'] = "br", **common: Unpack[_Common]) -> None: ...
class Chi2Selector(WeightedSelectorOfArrays, entry="chi2"):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the
    labelset."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        label_coding: Literal['br', 'lp'] = "br", aggregate: Literal['sum', 'mean', 'max'] = "sum",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class QuotaSelector(WeightedSelectorOfArrays, entry="quota"):
    """Label quotas: each label keeps its best features, in proportion to its rows."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        power: float = 1.0, per_label: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class PPTCMISelector(WeightedSelectorOfArrays, entry="ppt-cmi"):
    """Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow', 'chance'] = "none",
        criterion: Literal['cmi', 'mim'] = "cmi", estimator: Literal['plug-in', 'knn'] = "plug-in",
        min_count: int = 6, k: int = 6, **common: Unpack[_Common]) -> None: ...
class PMUSelector(WeightedSelectorOfArrays, entry="pmu"):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l')."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common]) -> None: ...
class D2FSelector(WeightedSelectorOfArrays, entry="d2f"):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class MDMRSelector(WeightedSelectorOfArrays, entry="mdmr"):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)]."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class SCLSSelector(WeightedSelectorOfArrays, entry="scls"):
    """R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class LRFSSelector(WeightedSelectorOfArrays, entry="lrfs"):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s)."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common]) -> None: ...
class FIMFSelector(WeightedSelectorOfArrays, entry="fimf"):
    """R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l')."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none", num_labels: int = 10,
        **common: Unpack[_Common]) -> None: ...
class ENMSelector(WeightedSelectorOfArrays, entry="enm"):
    """‖(I(f; Y_l))_l‖₂."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_noise: Sequence[float] | None = None, **common: Unpack[_Common]) -> None: ...
class GMMSelector(WeightedSelectorOfArrays, entry="gmm"):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common]) -> None: ...
class MRMRSelector(WeightedSelectorOfArrays, entry="mrmr"):
    """Rel(f) less, or over, mean_s Red(f, s): relevance to the labels against redundancy with the
    picked features."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow', 'chance'] = "none",
        relevance: Literal['mi', 'f'] = "mi", redundancy: Literal['mi', 'correlation'] = "mi",
        scheme: Literal['difference', 'quotient'] = "difference", **common: Unpack[_Common]) -> None: ...
class IGMFSelector(WeightedSelectorOfArrays, entry="igmf"):
    """2·I(f; labelset) / (H(f) + H(labelset))."""
    def __init__(self, *, num_bins: int = 5, binning: Literal['width', 'quantile'] = "width",
        bias_correction: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common]) -> None: ...
class FastCanSelector(WeightedSelectorOfArrays, entry="fastcan"):
    """J(f) = ‖V'x_f⊥‖²/‖x_f⊥‖²: what f adds to the sum of squared canonical correlations with the
    labels."""
    def __init__(self, *, tol: float = 0.01, **common: Unpack[_Common]) -> None: ...
class ForwardSelector(WeightedSelectorOfArrays, entry="forward"):
    """J(j): the share of the labels' variance that feature j explains on rows it was not fitted to,
    beside the picks."""
    def __init__(self, *, penalty: float = 1.0, folds: int = 5, label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        label_power: float = 1.0, candidates: int | None = 2000, rounds: int = 1,
        **common: Unpack[_Common]) -> None: ...
class FStatisticSelector(WeightedSelectorOfArrays, entry="f-statistic"):
    """F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)²."""
    def __init__(self, **common: Unpack[_Common]) -> None: ...
class FisherSelector(WeightedSelectorOfArrays, entry="fisher"):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels,
    or labelsets."""
    def __init__(self, *, label_coding: Literal['br', 'overlap', 'lp'] = "br",
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common]) -> None: ...
class SPECSelector(SelectorOfArrays, entry="spec"):
    """Spectral selection on the graph of rows with similar labels."""
    def __init__(self, *, criterion: Literal['phi1', 'phi2', 'phi3'] = "phi1", k: int | None = None,
        similarity: Literal['overlap', 'jaccard'] = "overlap", **common: Unpack[_Common]) -> None: ...
class GMBASelector(SelectorOfArrays, entry="gmba"):
    """Graph-margin weights: hits near, misses a margin away, under a label similarity."""
    def __init__(self, *, mode: Literal['paper', 'convex', 'closed'] = "convex", k: int = 3,
        s_min: float = 1.0, lam: float = 1.0, beta: float = 0.9,
        similarity: Literal['overlap', 'jaccard'] = "overlap",
        scaling: Literal['standard', 'minmax', 'none'] = "standard", num_anchors: int | None = None,
        shuffle: bool = True, seed: int = 0, max_iter: int = 500, **common: Unpack[_Common]) -> None: ...
class ReliefFSelector(SelectorOfArrays, entry="relieff"):
    """Features that differ between near misses and agree between near hits, over label pairs or
    labelsets."""
    def __init__(self, *, mode: Literal['pairwise', 'hamming'] = "pairwise", k: int = 3,
        num_anchors: int | None = None, seed: int = 0, **common: Unpack[_Common]) -> None: ...
class RidgeSelector(WeightedSelectorOfArrays, entry="ridge"):
    """Row norms of the multi-output ridge regression."""
    def __init__(self, *, alpha: float = 1.0,
        scaling: Literal['standard', 'minmax', 'none'] = "standard",
        label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common]) -> None: ...
class LassoSelector(WeightedSelectorOfArrays, entry="lasso"):
    """Row norms of the LASSO of every label, or of the group LASSO."""
    def __init__(self, *, alpha: float = 0.01, alpha_share: float | None = None,
        group: bool = False, scaling: Literal['standard', 'minmax', 'none'] = "standard",
        max_iter: int = 10000, label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common]) -> None: ...
class ElasticNetSelector(WeightedSelectorOfArrays, entry="elastic-net"):
    """Row norms of the elastic net of every label, or of its group form."""
    def __init__(self, *, alpha: float = 0.01, rho: float = 0.5, alpha_share: float | None = None,
        group: bool = False, scaling: Literal['standard', 'minmax', 'none'] = "standard",
        max_iter: int = 10000, label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common]) -> None: ...
class RFSSelector(WeightedSelectorOfArrays, entry="rfs"):
    """Robust selection: ℓ2,1 loss and ℓ2,1 penalty."""
    def __init__(self, *, gamma: float = 1.0, accelerate: bool = True, tol: float = 1e-06,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", max_iter: int = 500,
        label_sketch: int | None = None, **common: Unpack[_Common]) -> None: ...
class CSFSSelector(WeightedSelectorOfArrays, entry="csfs"):
    """Convex semi-supervised selection: ℓ2,1 regression that fills in unknown labels."""
    def __init__(self, *, mu: float = 1.0,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", max_iter: int = 300,
        label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common]) -> None: ...
class MSSLSelector(WeightedSelectorOfArrays, entry="mssl"):
    """ℓ2,1-regularised regression that is smooth over the graph of neighbouring features."""
    def __init__(self, *, alpha: float = 0.1, beta: float = 1.0, k: int = 10,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", max_iter: int = 10000,
        tol: float = 1e-09, label_sketch: int | None = None,
        label_weights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common]) -> None: ...
class MIFSSelector(SelectorOfArrays, entry="mifs"):
    """ℓ2,1 regression on label factors that are learned with it and smooth over neighbouring
    rows."""
    def __init__(self, *, alpha: float = 1.0, beta: float = 0.1, gamma: float = 1.0,
        c: int | None = None, k: int = 5,
        constraint: Literal['orthonormal', 'none'] = "orthonormal",
        scaling: Literal['standard', 'minmax', 'none'] = "standard", max_iter: int = 2000,
        tol: float = 1e-09, **common: Unpack[_Common]) -> None: ...
class OMFSSelector(WeightedSelectorOfArrays, entry="omfs"):
    """ℓ2,1 regression of the features on factorised labels."""
    def __init__(self, *, gamma: float = 0.8, c: int | None = None,
        factorizer: Literal['nmf', 'svd'] | None = None, solver: Literal['irls', 'armijo'] = "irls",
        scaling: Literal['standard', 'minmax', 'none'] = "standard", max_iter: int = 10000,
        label_sketch: int | None = None, **common: Unpack[_Common]) -> None: ...
class MSFSSelector(SelectorOfArrays, entry="msfs"):
    """ℓ2,1 regression that is smooth over a graph sampled by random walks among similar rows."""
    def __init__(self, *, alpha: float = 0.1, beta: float = 10.0, rho: float = 0.5, steps: int = 80,
        walk: Literal['dfs', 'bfs', 'expected'] = "dfs", neighbors: int | None = 30,
        sigma: float | None = None, seed: int = 0,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", max_iter: int = 10000,
        tol: float = 1e-09, label_sketch: int | None = None, **common: Unpack[_Common]) -> None: ...
class DeepFSSelector(SelectorOfArrays, entry="deepfs"):
    """Keep probabilities of stochastic gates trained with a small network."""
    def __init__(self, *, hidden: int = 32, hidden2: int = 0, lam: float = 0.05, epochs: int = 100,
        batch: int = 64, rate: float = 0.01, sample: int = 10000, seed: int = 0,
        **common: Unpack[_Common]) -> None: ...
class AutoSelector(SelectorOfArrays, entry="auto"):
    """Ranks by the one of several methods whose features predict held-out rows best."""
    def __init__(self, *, methods: str = "fastcan,scls,lasso,enm,chi2,fisher",
        judge: Literal['both', 'linear', 'mlknn'] = "both", folds: int = 3, sample: int = 2000,
        seed: int = 0, **common: Unpack[_Common]) -> None: ...
