"""X'LX from sums over edges, against the dense Laplacian."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs.statistics.moments import GroupMoments
from spark_mlfs.statistics.neighbours import geometry_of, quadratic_form
from spark_mlfs.statistics.targets import Everything
from spark_mlfs.testing import engine_of


@pytest.mark.parametrize("sparse", [False, True])
def test_the_quadratic_form_of_the_laplacian(sparse):
    """Rows in any order of their ids, an isolated row among them; standardised over all rows."""
    rng = np.random.default_rng(0)
    n, d = 700, 9
    x = rng.normal(3, 2, size=(n, d)) * (rng.random((n, d)) < (0.2 if sparse else 1))
    y = (rng.random((n, 3)) < 0.4).astype(float)
    edges = sp.random(n, n, 0.01, random_state=1)
    edges = edges + edges.T
    edges[5], edges[:, 5] = 0, 0
    S = sp.csr_matrix(edges)
    ids = rng.permutation(10 * n)[:n]
    engine = engine_of(sp.csr_matrix(x) if sparse else x, y, ids)
    (moments,) = engine.run(GroupMoments(Everything()))
    block = engine.identified()
    got = quadratic_form(engine, block, geometry_of(engine, moments, "standard"), S)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    dense = S.toarray()
    want = z.T @ (np.diag(dense.sum(axis=1)) - dense) @ z
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())
