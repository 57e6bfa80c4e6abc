"""A selector for every method, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501
from collections.abc import Sequence
from typing import Literal, TypedDict

from pyspark.ml.param import Param
from typing_extensions import Self, Unpack

from .selectors import SelectorEstimator

class _Common(TypedDict, total=False):
    featuresCol: str
    labelsCol: str
    outputCol: str
    idCol: str | None
    weightCol: str | None
    gradedLabels: bool
    gradeRange: Sequence[float] | None
    labelCuts: Sequence[float] | None
    selectionMode: Literal['numTopFeatures', 'percentile', 'fpr', 'fdr', 'fwe', 'knockoffs', 'stability']
    numTopFeatures: int | str
    percentile: float
    fpr: float
    fdr: float
    fwe: float
    combination: Literal['cauchy', 'bonferroni']
    stabilityThreshold: float
    selectionSeed: int
    order: Literal['rank', 'index']
    screen: str | None
    include: list[str | int] | None
    exclude: list[str | int] | None
    groups: dict[str, list[str | int]] | None
    costs: dict[str, float] | list[float] | None
    penalties: dict[str, float] | list[float] | None
    budget: float | None
    labelsForm: Literal['auto', 'tags', 'ids', 'multihot']
    driverBytes: int
    workerBytes: int

class _NumBins:
    numBins: Param[int]
    def getNumBins(self) -> int: ...
    def setNumBins(self, value: int) -> Self: ...
class _Binning:
    binning: Param[Literal['width', 'quantile']]
    def getBinning(self) -> Literal['width', 'quantile']: ...
    def setBinning(self, value: Literal['width', 'quantile']) -> Self: ...
class _BiasCorrection:
    biasCorrection: Param[Literal['none', 'miller-madow', 'chance']]
    def getBiasCorrection(self) -> Literal['none', 'miller-madow', 'chance']: ...
    def setBiasCorrection(self, value: Literal['none', 'miller-madow', 'chance']) -> Self: ...
class _LabelCoding:
    labelCoding: Param[Literal['br', 'lp']]
    def getLabelCoding(self) -> Literal['br', 'lp']: ...
    def setLabelCoding(self, value: Literal['br', 'lp']) -> Self: ...
class _LabelWeights:
    labelWeights: Param[str | dict[str, float] | Sequence[float]]
    def getLabelWeights(self) -> str | dict[str, float] | Sequence[float]: ...
    def setLabelWeights(self, value: str | dict[str, float] | Sequence[float]) -> Self: ...
class _LabelNoise:
    labelNoise: Param[Sequence[float] | None]
    def getLabelNoise(self) -> Sequence[float] | None: ...
    def setLabelNoise(self, value: Sequence[float] | None) -> Self: ...
class _BiasCorrection_:
    biasCorrection: Param[Literal['none', 'miller-madow']]
    def getBiasCorrection(self) -> Literal['none', 'miller-madow']: ...
    def setBiasCorrection(self, value: Literal['none', 'miller-madow']) -> Self: ...
class _Aggregate:
    aggregate: Param[Literal['sum', 'mean', 'max']]
    def getAggregate(self) -> Literal['sum', 'mean', 'max']: ...
    def setAggregate(self, value: Literal['sum', 'mean', 'max']) -> Self: ...
class _Criterion:
    criterion: Param[Literal['cmi', 'mim']]
    def getCriterion(self) -> Literal['cmi', 'mim']: ...
    def setCriterion(self, value: Literal['cmi', 'mim']) -> Self: ...
class _Estimator:
    estimator: Param[Literal['plug-in', 'knn']]
    def getEstimator(self) -> Literal['plug-in', 'knn']: ...
    def setEstimator(self, value: Literal['plug-in', 'knn']) -> Self: ...
class _MinCount:
    minCount: Param[int]
    def getMinCount(self) -> int: ...
    def setMinCount(self, value: int) -> Self: ...
class _K:
    k: Param[int]
    def getK(self) -> int: ...
    def setK(self, value: int) -> Self: ...
class _NumLabels:
    numLabels: Param[int]
    def getNumLabels(self) -> int: ...
    def setNumLabels(self, value: int) -> Self: ...
class _Relevance:
    relevance: Param[Literal['mi', 'f']]
    def getRelevance(self) -> Literal['mi', 'f']: ...
    def setRelevance(self, value: Literal['mi', 'f']) -> Self: ...
class _Redundancy:
    redundancy: Param[Literal['mi', 'correlation']]
    def getRedundancy(self) -> Literal['mi', 'correlation']: ...
    def setRedundancy(self, value: Literal['mi', 'correlation']) -> Self: ...
class _Scheme:
    scheme: Param[Literal['difference', 'quotient']]
    def getScheme(self) -> Literal['difference', 'quotient']: ...
    def setScheme(self, value: Literal['difference', 'quotient']) -> Self: ...
class _Tol:
    tol: Param[float]
    def getTol(self) -> float: ...
    def setTol(self, value: float) -> Self: ...
class _Penalty:
    penalty: Param[float]
    def getPenalty(self) -> float: ...
    def setPenalty(self, value: float) -> Self: ...
class _Folds:
    folds: Param[int]
    def getFolds(self) -> int: ...
    def setFolds(self, value: int) -> Self: ...
class _LabelSketch:
    labelSketch: Param[int | None]
    def getLabelSketch(self) -> int | None: ...
    def setLabelSketch(self, value: int | None) -> Self: ...
class _LabelCoding_:
    labelCoding: Param[Literal['br', 'overlap', 'lp']]
    def getLabelCoding(self) -> Literal['br', 'overlap', 'lp']: ...
    def setLabelCoding(self, value: Literal['br', 'overlap', 'lp']) -> Self: ...
class _Criterion_:
    criterion: Param[Literal['phi1', 'phi2', 'phi3']]
    def getCriterion(self) -> Literal['phi1', 'phi2', 'phi3']: ...
    def setCriterion(self, value: Literal['phi1', 'phi2', 'phi3']) -> Self: ...
class _K_:
    k: Param[int | None]
    def getK(self) -> int | None: ...
    def setK(self, value: int | None) -> Self: ...
class _Similarity:
    similarity: Param[Literal['overlap', 'jaccard']]
    def getSimilarity(self) -> Literal['overlap', 'jaccard']: ...
    def setSimilarity(self, value: Literal['overlap', 'jaccard']) -> Self: ...
class _Mode:
    mode: Param[Literal['paper', 'convex', 'closed']]
    def getMode(self) -> Literal['paper', 'convex', 'closed']: ...
    def setMode(self, value: Literal['paper', 'convex', 'closed']) -> Self: ...
class _SMin:
    sMin: Param[float]
    def getSMin(self) -> float: ...
    def setSMin(self, value: float) -> Self: ...
class _Lam:
    lam: Param[float]
    def getLam(self) -> float: ...
    def setLam(self, value: float) -> Self: ...
class _Beta:
    beta: Param[float]
    def getBeta(self) -> float: ...
    def setBeta(self, value: float) -> Self: ...
class _Scaling:
    scaling: Param[Literal['standard', 'minmax', 'none']]
    def getScaling(self) -> Literal['standard', 'minmax', 'none']: ...
    def setScaling(self, value: Literal['standard', 'minmax', 'none']) -> Self: ...
class _NumAnchors:
    numAnchors: Param[int | None]
    def getNumAnchors(self) -> int | None: ...
    def setNumAnchors(self, value: int | None) -> Self: ...
class _Shuffle:
    shuffle: Param[bool]
    def getShuffle(self) -> bool: ...
    def setShuffle(self, value: bool) -> Self: ...
class _Seed:
    seed: Param[int]
    def getSeed(self) -> int: ...
    def setSeed(self, value: int) -> Self: ...
class _MaxIter:
    maxIter: Param[int]
    def getMaxIter(self) -> int: ...
    def setMaxIter(self, value: int) -> Self: ...
class _Mode_:
    mode: Param[Literal['pairwise', 'hamming']]
    def getMode(self) -> Literal['pairwise', 'hamming']: ...
    def setMode(self, value: Literal['pairwise', 'hamming']) -> Self: ...
class _Alpha:
    alpha: Param[float]
    def getAlpha(self) -> float: ...
    def setAlpha(self, value: float) -> Self: ...
class _Group:
    group: Param[bool]
    def getGroup(self) -> bool: ...
    def setGroup(self, value: bool) -> Self: ...
class _Rho:
    rho: Param[float]
    def getRho(self) -> float: ...
    def setRho(self, value: float) -> Self: ...
class _Gamma:
    gamma: Param[float]
    def getGamma(self) -> float: ...
    def setGamma(self, value: float) -> Self: ...
class _Accelerate:
    accelerate: Param[bool]
    def getAccelerate(self) -> bool: ...
    def setAccelerate(self, value: bool) -> Self: ...
class _Mu:
    mu: Param[float]
    def getMu(self) -> float: ...
    def setMu(self, value: float) -> Self: ...
class _C:
    c: Param[int | None]
    def getC(self) -> int | None: ...
    def setC(self, value: int | None) -> Self: ...
class _Constraint:
    constraint: Param[Literal['orthonormal', 'none']]
    def getConstraint(self) -> Literal['orthonormal', 'none']: ...
    def setConstraint(self, value: Literal['orthonormal', 'none']) -> Self: ...
class _Factorizer:
    factorizer: Param[Literal['nmf', 'svd'] | None]
    def getFactorizer(self) -> Literal['nmf', 'svd'] | None: ...
    def setFactorizer(self, value: Literal['nmf', 'svd'] | None) -> Self: ...
class _Solver:
    solver: Param[Literal['irls', 'armijo']]
    def getSolver(self) -> Literal['irls', 'armijo']: ...
    def setSolver(self, value: Literal['irls', 'armijo']) -> Self: ...
class _Steps:
    steps: Param[int]
    def getSteps(self) -> int: ...
    def setSteps(self, value: int) -> Self: ...
class _Walk:
    walk: Param[Literal['dfs', 'bfs', 'expected']]
    def getWalk(self) -> Literal['dfs', 'bfs', 'expected']: ...
    def setWalk(self, value: Literal['dfs', 'bfs', 'expected']) -> Self: ...
class _Neighbors:
    neighbors: Param[int | None]
    def getNeighbors(self) -> int | None: ...
    def setNeighbors(self, value: int | None) -> Self: ...
class _Sigma:
    sigma: Param[float | None]
    def getSigma(self) -> float | None: ...
    def setSigma(self, value: float | None) -> Self: ...
class _Hidden:
    hidden: Param[int]
    def getHidden(self) -> int: ...
    def setHidden(self, value: int) -> Self: ...
class _Hidden2:
    hidden2: Param[int]
    def getHidden2(self) -> int: ...
    def setHidden2(self, value: int) -> Self: ...
class _Epochs:
    epochs: Param[int]
    def getEpochs(self) -> int: ...
    def setEpochs(self, value: int) -> Self: ...
class _Batch:
    batch: Param[int]
    def getBatch(self) -> int: ...
    def setBatch(self, value: int) -> Self: ...
class _Rate:
    rate: Param[float]
    def getRate(self) -> float: ...
    def setRate(self, value: float) -> Self: ...
class _Sample:
    sample: Param[int]
    def getSample(self) -> int: ...
    def setSample(self, value: int) -> Self: ...
class _Methods:
    methods: Param[str]
    def getMethods(self) -> str: ...
    def setMethods(self, value: str) -> Self: ...
class _Judge:
    judge: Param[Literal['both', 'linear', 'mlknn']]
    def getJudge(self) -> Literal['both', 'linear', 'mlknn']: ...
    def setJudge(self, value: Literal['both', 'linear', 'mlknn']) -> Self: ...

class MIMSelector(_NumBins, _Binning, _BiasCorrection, _LabelCoding, _LabelWeights, _LabelNoise, SelectorEstimator, entry="mim"):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset)."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow', 'chance'] = "none", labelCoding: Literal['br', 'lp'] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow', 'chance'] = "none", labelCoding: Literal['br', 'lp'] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> Self: ...
class JMISelector(_NumBins, _Binning, _BiasCorrection_, _LabelCoding, _LabelWeights, _LabelNoise, SelectorEstimator, entry="jmi"):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one class."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", labelCoding: Literal['br', 'lp'] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", labelCoding: Literal['br', 'lp'] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> Self: ...
class CMISelector(_NumBins, _Binning, _BiasCorrection_, _LabelCoding, SelectorEstimator, entry="cmi"):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one class."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", labelCoding: Literal['br', 'lp'] = "br",
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", labelCoding: Literal['br', 'lp'] = "br",
        **common: Unpack[_Common],
    ) -> Self: ...
class Chi2Selector(_NumBins, _Binning, _LabelCoding, _Aggregate, _LabelWeights, _LabelNoise, SelectorEstimator, entry="chi2"):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the labelset."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width", labelCoding: Literal['br', 'lp'] = "br",
        aggregate: Literal['sum', 'mean', 'max'] = "sum", labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        labelNoise: Sequence[float] | None = None, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width", labelCoding: Literal['br', 'lp'] = "br",
        aggregate: Literal['sum', 'mean', 'max'] = "sum", labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        labelNoise: Sequence[float] | None = None, **common: Unpack[_Common],
    ) -> Self: ...
class PPTCMISelector(_NumBins, _Binning, _BiasCorrection, _Criterion, _Estimator, _MinCount, _K, SelectorEstimator, entry="ppt-cmi"):
    """Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow', 'chance'] = "none", criterion: Literal['cmi', 'mim'] = "cmi",
        estimator: Literal['plug-in', 'knn'] = "plug-in", minCount: int = 6, k: int = 6, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow', 'chance'] = "none", criterion: Literal['cmi', 'mim'] = "cmi",
        estimator: Literal['plug-in', 'knn'] = "plug-in", minCount: int = 6, k: int = 6, **common: Unpack[_Common],
    ) -> Self: ...
class PMUSelector(_NumBins, _Binning, _BiasCorrection_, SelectorEstimator, entry="pmu"):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l')."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> Self: ...
class D2FSelector(_NumBins, _Binning, _BiasCorrection_, _LabelWeights, _LabelNoise, SelectorEstimator, entry="d2f"):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> Self: ...
class MDMRSelector(_NumBins, _Binning, _BiasCorrection_, _LabelWeights, _LabelNoise, SelectorEstimator, entry="mdmr"):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)]."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> Self: ...
class SCLSSelector(_NumBins, _Binning, _BiasCorrection_, _LabelWeights, _LabelNoise, SelectorEstimator, entry="scls"):
    """R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> Self: ...
class LRFSSelector(_NumBins, _Binning, _BiasCorrection_, SelectorEstimator, entry="lrfs"):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s)."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> Self: ...
class FIMFSelector(_NumBins, _Binning, _BiasCorrection_, _NumLabels, SelectorEstimator, entry="fimf"):
    """R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l')."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", numLabels: int = 10, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", numLabels: int = 10, **common: Unpack[_Common],
    ) -> Self: ...
class ENMSelector(_NumBins, _Binning, _BiasCorrection_, _LabelWeights, _LabelNoise, SelectorEstimator, entry="enm"):
    """‖(I(f; Y_l))_l‖₂."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", labelNoise: Sequence[float] | None = None,
        **common: Unpack[_Common],
    ) -> Self: ...
class GMMSelector(_NumBins, _Binning, _BiasCorrection_, SelectorEstimator, entry="gmm"):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> Self: ...
class MRMRSelector(_NumBins, _Binning, _BiasCorrection, _Relevance, _Redundancy, _Scheme, SelectorEstimator, entry="mrmr"):
    """Rel(f) less, or over, mean_s Red(f, s): relevance to the labels against redundancy with the picked features."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow', 'chance'] = "none", relevance: Literal['mi', 'f'] = "mi",
        redundancy: Literal['mi', 'correlation'] = "mi", scheme: Literal['difference', 'quotient'] = "difference",
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow', 'chance'] = "none", relevance: Literal['mi', 'f'] = "mi",
        redundancy: Literal['mi', 'correlation'] = "mi", scheme: Literal['difference', 'quotient'] = "difference",
        **common: Unpack[_Common],
    ) -> Self: ...
class IGMFSelector(_NumBins, _Binning, _BiasCorrection_, SelectorEstimator, entry="igmf"):
    """2·I(f; labelset) / (H(f) + H(labelset))."""
    def __init__(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, numBins: int = 5, binning: Literal['width', 'quantile'] = "width",
        biasCorrection: Literal['none', 'miller-madow'] = "none", **common: Unpack[_Common],
    ) -> Self: ...
class FastCanSelector(_Tol, SelectorEstimator, entry="fastcan"):
    """J(f) = ‖V'x_f⊥‖²/‖x_f⊥‖²: what f adds to the sum of squared canonical correlations with the labels."""
    def __init__(
        self, *, tol: float = 0.01, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, tol: float = 0.01, **common: Unpack[_Common],
    ) -> Self: ...
class ForwardSelector(_Penalty, _Folds, _LabelSketch, _LabelWeights, SelectorEstimator, entry="forward"):
    """J(j): the share of the labels' variance that feature j explains on rows it was not fitted to, beside the picks."""
    def __init__(
        self, *, penalty: float = 1.0, folds: int = 5, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, penalty: float = 1.0, folds: int = 5, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> Self: ...
class FStatisticSelector(SelectorEstimator, entry="f-statistic"):
    """F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)²."""
    def __init__(
        self, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, **common: Unpack[_Common],
    ) -> Self: ...
class FisherSelector(_LabelCoding_, _LabelWeights, SelectorEstimator, entry="fisher"):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels, or labelsets."""
    def __init__(
        self, *, labelCoding: Literal['br', 'overlap', 'lp'] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, labelCoding: Literal['br', 'overlap', 'lp'] = "br",
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> Self: ...
class SPECSelector(_Criterion_, _K_, _Similarity, SelectorEstimator, entry="spec"):
    """Spectral selection on the graph of rows with similar labels."""
    def __init__(
        self, *, criterion: Literal['phi1', 'phi2', 'phi3'] = "phi1", k: int | None = None,
        similarity: Literal['overlap', 'jaccard'] = "overlap", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, criterion: Literal['phi1', 'phi2', 'phi3'] = "phi1", k: int | None = None,
        similarity: Literal['overlap', 'jaccard'] = "overlap", **common: Unpack[_Common],
    ) -> Self: ...
class GMBASelector(_Mode, _K, _SMin, _Lam, _Beta, _Similarity, _Scaling, _NumAnchors, _Shuffle, _Seed, _MaxIter, SelectorEstimator, entry="gmba"):
    """Graph-margin weights: hits near, misses a margin away, under a label similarity."""
    def __init__(
        self, *, mode: Literal['paper', 'convex', 'closed'] = "convex", k: int = 3, sMin: float = 1.0, lam: float = 1.0,
        beta: float = 0.9, similarity: Literal['overlap', 'jaccard'] = "overlap",
        scaling: Literal['standard', 'minmax', 'none'] = "standard", numAnchors: int | None = None, shuffle: bool = True,
        seed: int = 0, maxIter: int = 100, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, mode: Literal['paper', 'convex', 'closed'] = "convex", k: int = 3, sMin: float = 1.0, lam: float = 1.0,
        beta: float = 0.9, similarity: Literal['overlap', 'jaccard'] = "overlap",
        scaling: Literal['standard', 'minmax', 'none'] = "standard", numAnchors: int | None = None, shuffle: bool = True,
        seed: int = 0, maxIter: int = 100, **common: Unpack[_Common],
    ) -> Self: ...
class ReliefFSelector(_Mode_, _K, _NumAnchors, _Seed, SelectorEstimator, entry="relieff"):
    """Features that differ between near misses and agree between near hits, over label pairs or labelsets."""
    def __init__(
        self, *, mode: Literal['pairwise', 'hamming'] = "pairwise", k: int = 3, numAnchors: int | None = None, seed: int = 0,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, mode: Literal['pairwise', 'hamming'] = "pairwise", k: int = 3, numAnchors: int | None = None, seed: int = 0,
        **common: Unpack[_Common],
    ) -> Self: ...
class RidgeSelector(_Alpha, _Scaling, _LabelSketch, _LabelWeights, SelectorEstimator, entry="ridge"):
    """Row norms of the multi-output ridge regression."""
    def __init__(
        self, *, alpha: float = 1.0, scaling: Literal['standard', 'minmax', 'none'] = "standard", labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, alpha: float = 1.0, scaling: Literal['standard', 'minmax', 'none'] = "standard", labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> Self: ...
class LassoSelector(_Alpha, _Group, _Scaling, _MaxIter, _LabelSketch, _LabelWeights, SelectorEstimator, entry="lasso"):
    """Row norms of the LASSO of every label, or of the group LASSO."""
    def __init__(
        self, *, alpha: float = 0.01, group: bool = False, scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, alpha: float = 0.01, group: bool = False, scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common],
    ) -> Self: ...
class ElasticNetSelector(_Alpha, _Rho, _Group, _Scaling, _MaxIter, _LabelSketch, _LabelWeights, SelectorEstimator, entry="elastic-net"):
    """Row norms of the elastic net of every label, or of its group form."""
    def __init__(
        self, *, alpha: float = 0.01, rho: float = 0.5, group: bool = False,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 10000, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, alpha: float = 0.01, rho: float = 0.5, group: bool = False,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 10000, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> Self: ...
class RFSSelector(_Gamma, _Accelerate, _Tol, _Scaling, _MaxIter, _LabelSketch, SelectorEstimator, entry="rfs"):
    """Robust selection: ℓ2,1 loss and ℓ2,1 penalty."""
    def __init__(
        self, *, gamma: float = 1.0, accelerate: bool = True, tol: float = 1e-06,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 500, labelSketch: int | None = None,
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, gamma: float = 1.0, accelerate: bool = True, tol: float = 1e-06,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 500, labelSketch: int | None = None,
        **common: Unpack[_Common],
    ) -> Self: ...
class CSFSSelector(_Mu, _Scaling, _MaxIter, _LabelSketch, _LabelWeights, SelectorEstimator, entry="csfs"):
    """Convex semi-supervised selection: ℓ2,1 regression that fills in unknown labels."""
    def __init__(
        self, *, mu: float = 1.0, scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 300,
        labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, mu: float = 1.0, scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 300,
        labelSketch: int | None = None, labelWeights: str | dict[str, float] | Sequence[float] = "uniform",
        **common: Unpack[_Common],
    ) -> Self: ...
class MSSLSelector(_Alpha, _Beta, _K, _Scaling, _MaxIter, _Tol, _LabelSketch, _LabelWeights, SelectorEstimator, entry="mssl"):
    """ℓ2,1-regularised regression that is smooth over the graph of neighbouring features."""
    def __init__(
        self, *, alpha: float = 0.1, beta: float = 1.0, k: int = 10, scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 10000, tol: float = 1e-09, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, alpha: float = 0.1, beta: float = 1.0, k: int = 10, scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 10000, tol: float = 1e-09, labelSketch: int | None = None,
        labelWeights: str | dict[str, float] | Sequence[float] = "uniform", **common: Unpack[_Common],
    ) -> Self: ...
class MIFSSelector(_Alpha, _Beta, _Gamma, _C, _K, _Constraint, _Scaling, _MaxIter, _Tol, SelectorEstimator, entry="mifs"):
    """ℓ2,1 regression on label factors that are learned with it and smooth over neighbouring rows."""
    def __init__(
        self, *, alpha: float = 1.0, beta: float = 0.1, gamma: float = 1.0, c: int | None = None, k: int = 5,
        constraint: Literal['orthonormal', 'none'] = "orthonormal", scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 2000, tol: float = 1e-09, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, alpha: float = 1.0, beta: float = 0.1, gamma: float = 1.0, c: int | None = None, k: int = 5,
        constraint: Literal['orthonormal', 'none'] = "orthonormal", scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 2000, tol: float = 1e-09, **common: Unpack[_Common],
    ) -> Self: ...
class OMFSSelector(_Gamma, _C, _Factorizer, _Solver, _Scaling, _MaxIter, _LabelSketch, SelectorEstimator, entry="omfs"):
    """ℓ2,1 regression of the features on factorised labels."""
    def __init__(
        self, *, gamma: float = 0.8, c: int | None = None, factorizer: Literal['nmf', 'svd'] | None = None,
        solver: Literal['irls', 'armijo'] = "irls", scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, gamma: float = 0.8, c: int | None = None, factorizer: Literal['nmf', 'svd'] | None = None,
        solver: Literal['irls', 'armijo'] = "irls", scaling: Literal['standard', 'minmax', 'none'] = "standard",
        maxIter: int = 10000, labelSketch: int | None = None, **common: Unpack[_Common],
    ) -> Self: ...
class MSFSSelector(_Alpha, _Beta, _Rho, _Steps, _Walk, _Neighbors, _Sigma, _Seed, _Scaling, _MaxIter, _Tol, _LabelSketch, SelectorEstimator, entry="msfs"):
    """ℓ2,1 regression that is smooth over a graph sampled by random walks among similar rows."""
    def __init__(
        self, *, alpha: float = 0.1, beta: float = 10.0, rho: float = 0.5, steps: int = 80,
        walk: Literal['dfs', 'bfs', 'expected'] = "dfs", neighbors: int | None = 30, sigma: float | None = None, seed: int = 0,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 10000, tol: float = 1e-09,
        labelSketch: int | None = None, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, alpha: float = 0.1, beta: float = 10.0, rho: float = 0.5, steps: int = 80,
        walk: Literal['dfs', 'bfs', 'expected'] = "dfs", neighbors: int | None = 30, sigma: float | None = None, seed: int = 0,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", maxIter: int = 10000, tol: float = 1e-09,
        labelSketch: int | None = None, **common: Unpack[_Common],
    ) -> Self: ...
class DeepFSSelector(_Hidden, _Hidden2, _Lam, _Epochs, _Batch, _Rate, _Sample, _Seed, SelectorEstimator, entry="deepfs"):
    """Keep probabilities of stochastic gates trained with a small network."""
    def __init__(
        self, *, hidden: int = 32, hidden2: int = 0, lam: float = 0.05, epochs: int = 100, batch: int = 64, rate: float = 0.01,
        sample: int = 10000, seed: int = 0, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, hidden: int = 32, hidden2: int = 0, lam: float = 0.05, epochs: int = 100, batch: int = 64, rate: float = 0.01,
        sample: int = 10000, seed: int = 0, **common: Unpack[_Common],
    ) -> Self: ...
class AutoSelector(_Methods, _Judge, _Folds, _Sample, _Seed, SelectorEstimator, entry="auto"):
    """Ranks by the one of several methods whose features predict held-out rows best."""
    def __init__(
        self, *, methods: str = "fastcan,scls,lasso,enm,chi2,fisher", judge: Literal['both', 'linear', 'mlknn'] = "both",
        folds: int = 3, sample: int = 2000, seed: int = 0, **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, methods: str = "fastcan,scls,lasso,enm,chi2,fisher", judge: Literal['both', 'linear', 'mlknn'] = "both",
        folds: int = 3, sample: int = 2000, seed: int = 0, **common: Unpack[_Common],
    ) -> Self: ...
