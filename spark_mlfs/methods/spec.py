"""Spectral selection on the graph of rows with similar labels.

    phi1 = x'Lx / x'Dx
    phi2 = phi1 / (1 − (x̂'ξ₁)²) = phi1 of x − (1'Dx)/(1'D1)
    phi3 = Σ_{j=2..k} (2 − γ_j)(x̂'ξ_j)²

Scores are −phi1, −phi2 and phi3, from sums over the rows of each labelset (`solvers.spec`). Rows
without a neighbour leave the graph, not the standardisation; x'Dx = 0 scores −2 (0 under phi3).
Rows with unknown labels are left out.
Symbols: x (n,) one of the v features that vary, standardised over the n rows; A (n, n) the graph,
A_ij = s_ij off the diagonal, s_ij the rows' labels in common over their labels in either, each
label weighing its number of rows (``similarity="jaccard"``: all alike), 0 where both rows are
without labels; D its degrees, L = D − A; x̂ = D^½x/‖D^½x‖; γ_j, ξ_j the eigenvalues, ascending, and
eigenvectors of D^−½LD^−½, ξ₁ ∝ D^½1; k eigenvalues, by default q, the last eigenspace whole. Score
(v,).
Raises: $unlabelled, or no two rows share a label; `BudgetError` where the sums (labelsets ×
features) exceed $budget, or phi3's labelsets × labelsets 2 GB; $range.
Source: Zhao & Liu 2007; the graph is Yan & Li 2016, Eq. 2 and 3.
Deviations: Yan & Li's Eq. 17 writes phi1 as a sum over pairs, without ½, and misplaces the degrees:
its left side is followed."""

from __future__ import annotations

import numpy as np

from ..engine.base import Engine, one_thread
from ..params import Choice, Integer, Optional, Parameter, Values
from ..solvers import spec
from ..statistics import neighbours
from ..statistics.labelsets import LabelsetSums
from ..statistics.moments import known_range
from ..statistics.stretched import mean_and_variance_of_groups
from .base import Method, Scores
from .graphs import SIMILARITY


class SPEC(Method):
    """Spectral selection on the graph of rows with similar labels."""

    name = "spec"
    title = "spectral selection on the label similarity graph"
    source = "Zhao & Liu 2007"
    when = "rows of like labels shall be alike in the features; one pass"
    cost = "one scan"
    always = (LabelsetSums(squares=True),)
    parameters = (
        Parameter(
            "criterion", "phi1", Choice(("phi1", "phi2", "phi3")), "which of the three criteria"
        ),
        Parameter(
            "k", None, Optional(Integer(2)), "eigenvalues used by phi3; None: as many as labels"
        ),
        SIMILARITY,
    )

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        ((sets, m),) = engine.run(*self.always)
        engine.stretched.note_moments(engine.profile, *mean_and_variance_of_groups(m))
        table = neighbours.labelset_table(sets, engine.profile.q, p["similarity"])
        low, high = known_range(engine)
        varying = np.flatnonzero(high > low)
        with one_thread():
            sums = spec.PowerSums(m.count, m.total[:, varying], m.square[:, varying])
            scores = spec.spec_scores(sums, table, p["criterion"], p["k"])
        return Scores.of_varying(scores, varying, engine.num_features)
