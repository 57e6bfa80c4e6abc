"""Rel(f) less, or over, mean_s Red(f, s): relevance to the labels against redundancy with the
picked features.

    scheme="difference"   J(f) = Rel(f) − (1/|S|) Σ_{s∈S} Red(f, s)
    scheme="quotient"     J(f) = Rel(f) / ((1/|S|) Σ_{s∈S} Red(f, s))

Greedy: the first pick maximises Rel, each further one J; unpicked features follow by Rel.

    relevance   "mi"           Rel(f) = (1/q) Σ_l I(f; Y_l), in nats, of the discretised feature
                "f"            Rel(f) = (1/q) Σ_l F_l, F_l = r²(n − 2)/(1 − r²), r the correlation
                               with the 0/1 label; 1 − r² is floored at 1e-12, a label with one
                               value adds 0. Features without any (F = 0) are not picked
    redundancy  "mi"           Red(f, s) = I(f; s), in nats; at least 1e-12 in a quotient
                "correlation"  Red(f, s) = max(|r_fs|, .001)

Symbols: f, s the v features that vary, for I discretised into b ≤ ``num_bins`` bins; S the picked
ones; Y_l ∈ {0, 1} label l of q; n rows; I plug-in mutual information (on request Miller–Madow, or
less what it is by chance: `mim`). A quotient whose mean redundancy is exactly 1, that of a copy,
counts as 0. Score Rel (v,); value of a pick J. Unknown labels: informations over the observed
pairs, their mean over the labels known in some row; F over the rows whose labels are all known,
redundancies over all rows (beside F: over its rows).
Raises: `DataError` where F has no row with all labels known; $counts, or the Gram matrix does;
$range.
Source: Peng, Long & Ding, "Feature selection based on mutual information: criteria of
max-dependency, max-relevance, and min-redundancy", IEEE TPAMI 27, 2005; with F and correlation
Zhao, Anand & Wang, "Maximum relevance and minimum redundancy feature selection methods for a
marketing machine learning platform", 2019.
Deviations:
- the mean over several labels: the sources have one;
- with one label and "f", "correlation", "quotient" the picks are those of the package
  `mrmr_selection` (``mrmr_classif``) but for copies of the first pick: whether their correlation is
  exactly 1 is left to rounding there, here it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..engine.base import Engine, one_thread
from ..errors import ParameterError, setting
from ..kernels.gram import GramView
from ..params import Choice, Parameter, Values
from ..solvers import mrmr
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.base import Statistic
from ..statistics.contingency import TwoWay
from ..statistics.gram import AllRowsGram, Gram
from ..statistics.targets import Everything
from .base import Method, Scores
from .counting import BY_CHANCE, Counting, picking
from .regression import labelled_view

Redundancies = Callable[[Sequence[int]], dict[int, np.ndarray]]


class MRMR(Method):
    """Rel(f) less, or over, mean_s Red(f, s): relevance to the labels against redundancy with the
    picked features."""

    name = "mrmr"
    title = "minimum redundancy, maximum relevance"
    source = "Peng et al. 2005"
    when = "the picks of the package mrmr_selection, by informations or correlations"
    cost = "one scan, or one pair count a pick"
    statistics = (TwoWay, Gram)
    graded = True  # by F
    parameters = (
        *BY_CHANCE,
        Parameter(
            "relevance",
            "mi",
            Choice(("mi", "f")),
            "mutual information or F statistic, mean over the labels",
        ),
        Parameter(
            "redundancy",
            "mi",
            Choice(("mi", "correlation")),
            "mutual information or correlation with the picks",
        ),
        Parameter(
            "scheme",
            "difference",
            Choice(("difference", "quotient")),
            "relevance less, or over, the mean redundancy",
        ),
    )
    greedy = True
    conditions = True

    def takes_grades(self, p: Values) -> bool:
        return p["relevance"] == "f"

    def takes_codes(self, p: Values) -> bool:
        return p["relevance"] == p["redundancy"] == "mi"

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        statistics: list[Statistic] = []
        if "mi" in (p["relevance"], p["redundancy"]):
            counting = Counting(engine, p)
            if p["relevance"] == "mi":
                statistics.append(counting.statistic_of(counting.relevance_of))
            if p["redundancy"] == "mi":
                statistics.append(TwoWay(counting.coding, Everything()))
        if p["relevance"] == "f":
            statistics.append(Gram())
        elif p["redundancy"] == "correlation":
            statistics.append(_moments_of_features(engine))
        return statistics

    def score(
        self,
        engine: Engine,
        p: Values,
        count: int,
        terms: PickConstraints = UNCONSTRAINED,
    ) -> Scores:
        if terms.costs is not None and p["scheme"] == "quotient":
            raise ParameterError(
                f"mrmr with {setting('scheme', 'quotient')} has no gain to compare with a cost: "
                f"give {setting('scheme', 'difference')}, or leave {setting('costs')} out"
            )
        if p["bias_correction"] == "chance" and p["scheme"] == "quotient":
            raise ParameterError(
                f"{setting('bias_correction', 'chance')} leaves informations about 0, and no "
                f"quotient of them: give {setting('scheme', 'difference')}"
            )
        engine.run(*self.needs(engine, p))  # two kinds of statistics may be needed: in one request
        labelled = None
        candidates = None
        if p["relevance"] == "f":
            labelled = labelled_view(engine, "standard")
            relevance = mrmr.f_relevance(labelled)
            scores = Scores.of_varying(relevance, labelled.varying, engine.num_features)
            candidates = np.flatnonzero(scores.values > 0)
        else:
            known = int((engine.profile.observed > 0).sum())
            scores = Scores(Counting(engine, p).relevance / max(1, known))
        redundancies, ahead = self._redundancies(engine, p, labelled)
        with one_thread():
            scores.path = mrmr.select_mrmr(
                scores.values,
                redundancies,
                p["scheme"],
                count,
                candidates,
                ahead,
                picking(engine),
                terms,
            )
        return scores

    def _redundancies(
        self, engine: Engine, p: Values, labelled: GramView | None
    ) -> tuple[Redundancies, int]:
        """Return the function of all redundancies with some picks s, and for how many s at once.

        `labelled`: the view of the rows whose labels are all known, where it is there."""
        if p["redundancy"] == "mi":
            counting = Counting(engine, p, Everything())

            def informations(picks: Sequence[int]) -> dict[int, np.ndarray]:
                links = counting.links(list(picks), Everything())
                return {s: link[1] for s, link in links.items()}

            return informations, engine.look_ahead
        if labelled is None:
            view = engine.run(_moments_of_features(engine))[0].centred("standard")
        else:
            view = labelled
        position = np.full(engine.num_features, -1)
        position[view.varying] = np.arange(len(view.varying))

        def correlations(picks: Sequence[int]) -> dict[int, np.ndarray]:
            by_pick = {}
            for s in picks:
                # a feature that does not vary is correlated with nothing
                by_pick[s] = np.full(engine.num_features, mrmr.FLOOR)
                if position[s] >= 0:
                    by_pick[s][view.varying] = mrmr.correlation_with(view.G, position[s])
            return by_pick

        return correlations, 1


def _moments_of_features(engine: Engine) -> Statistic:
    """Return the second moments of the features over all rows.

    Where every label is known, the Gram matrix that other methods ask for, too."""
    return AllRowsGram() if engine.profile.has_unknown else Gram()
