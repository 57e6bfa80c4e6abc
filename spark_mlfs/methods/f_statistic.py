"""F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)².

    F(f) = max(n − q, 1)/max(q − 1, 1) · Sb/Sw
    Sb = Σ_l n_l (μ_l − μ)²,    Sw = Σ_l Σ_{i∈l} (x_i − μ_l)²

A row counts once for each of its labels, where labels are graded to the degree of its grade;
unknown labels are not positive ones. The denominator is floored at 1e-12·(Sb + Sw): 0/0 = 0,
perfect separation 1e12. No scaling would change it. Constant labels are left out. Where one label
varies the classes are the rows with it and those without it, F = (n − 2)·Sb/Sw over the rows where
it is known: that of one class a row.
Symbols: x_i the value of feature f, one of the v that vary, in row i of n; i ∈ l the n_l rows with
label l of q; μ_l their mean; μ = Σ n_l μ_l / Σ n_l. Score F (v,), without unit.
Raises: `BudgetError` where the sums (labels × features) exceed $budget. It has no parameters.
Source: Kong, Ding, Huang & Zhao 2012 (the MLFS of Yan & Li 2016).
Deviations: factor and denominator are floored; the authors' code divides by a sum of unweighted
variances: not followed."""

from __future__ import annotations

from ..engine.base import Engine
from ..params import Values
from ..solvers.scatter import floored_ratio
from ..statistics.base import Statistic
from ..statistics.moments import GroupMoments, label_moments
from .base import Method, Scores
from .fisher import LabelRatios
from .scatter import Scatter, moment_numbers, run_moment_numbers


class FStatistic(Method):
    """F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)²."""

    name = "f-statistic"
    title = "multi-label F statistic"
    source = "Kong et al. 2012"
    when = "numeric features without binning, one pass"
    cost = "one scan"
    statistics = (GroupMoments,)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        profile = engine.profile
        labels = engine.labels()
        if profile.q == 1:
            moments = label_moments(profile, labels, watched=profile.has_unknown)
            return [moment_numbers(moments, LabelRatios(labels.watch, None))]
        return [moment_numbers(label_moments(profile, labels), Scatter(1, profile.q))]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        numbers = run_moment_numbers(engine, *self.needs(engine, p))
        profile = engine.profile
        if profile.q == 1:
            ratios, _ = numbers
            n = profile.observed_total[0] * profile.weight_unit
            return Scores(max(n - 2, 1) * ratios)
        n = profile.total * profile.weight_unit
        factor = max(n - profile.q, 1) / (profile.q - 1)
        return Scores(factor * floored_ratio(*numbers))
