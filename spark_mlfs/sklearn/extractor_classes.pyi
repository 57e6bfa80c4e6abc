"""An estimator for every extractor, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from typing import Literal, TypedDict

from typing_extensions import Unpack

from .learners import ExtractorOfArrays

class _Common(TypedDict, total=False):
    missing: Literal['error', 'mean', 'zero', 'drop']
    memory_bytes: int | None


class LIFTExtractor(ExtractorOfArrays, entry="lift"):
    """Distances to cluster centres of each label's positive and negative rows."""
    def __init__(self, *, ratio: float = 0.1, max_iter: int = 50, seed: int = 0,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", **common: Unpack[_Common]) -> None: ...
class LIFTRSMExtractor(ExtractorOfArrays, entry="lift-rsm"):
    """Label-specific features reduced under pairwise constraints in random subspaces."""
    def __init__(self, *, ratio: float = 0.2, subspaces: int = 10, width: int = 20,
        alpha: float = 0.05, beta: float = 0.05, thr: float = 0.95, whiten: bool = False,
        max_iter: int = 50, seed: int = 0,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", **common: Unpack[_Common]) -> None: ...
class MDDMExtractor(ExtractorOfArrays, entry="mddm"):
    """Projection of maximum dependence on the labels."""
    def __init__(self, *, variant: Literal['p', 'f'] = "p", mu: float = 0.5, dim: int | None = None,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", **common: Unpack[_Common]) -> None: ...
class MLSIExtractor(ExtractorOfArrays, entry="mlsi"):
    """Latent features that keep both the inputs and the labels."""
    def __init__(self, *, beta: float = 0.5, gamma: float = 1.0, dim: int = 50,
        scaling: Literal['standard', 'minmax', 'none'] = "standard", **common: Unpack[_Common]) -> None: ...
class MLNBExtractor(ExtractorOfArrays, entry="mlnb"):
    """Principal components chosen by a genetic search for naive Bayes."""
    def __init__(self, *, share: float = 0.3, population: int = 20, generations: int = 100,
        folds: int = 10, seed: int = 0, scaling: Literal['standard', 'minmax', 'none'] = "standard",
        **common: Unpack[_Common]) -> None: ...
