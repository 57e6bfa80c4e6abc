"""Features whose squares leave double precision: refused in one line, by every extractor."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from spark_mlfs import DataError
from spark_mlfs.sklearn import LIFTExtractor, LIFTRSMExtractor, MDDMExtractor, MLNBExtractor
from spark_mlfs.sklearn import MLSIExtractor as MLSI


@pytest.mark.parametrize("size", [1e160, 1e300, 1e-160, 1e-300, 1e-310])
def test_every_extractor_asks_for_another_unit(size):
    rng = np.random.default_rng(0)
    X = rng.random((40, 4))
    Y = (rng.random((40, 3)) < 0.4).astype(int)
    X[:, 1] *= size
    for extractor in (LIFTExtractor, LIFTRSMExtractor, MDDMExtractor, MLNBExtractor, MLSI):
        with warnings.catch_warnings(), pytest.raises(DataError, match="give it in another unit"):
            warnings.simplefilter("error")
            extractor().fit(X, Y)
