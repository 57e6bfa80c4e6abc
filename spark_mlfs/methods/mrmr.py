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
        wanted: list[Statistic] = []
        if "mi" in (p["relevance"], p["redundancy"]):
            counting = Counting(engine, p)
            wanted += [counting.wanted(counting.relevance_of)] * (p["relevance"] == "mi")
            wanted += [TwoWay(counting.coding, Everything())] * (p["redundancy"] == "mi")
        if p["relevance"] == "f":
            wanted.append(Gram())
        elif p["redundancy"] == "correlation":
            wanted.append(_unlabelled(engine))
        return wanted

    def score(
        self, engine: Engine, p: Values, count: int, terms: PickConstraints = UNCONSTRAINED
    ) -> Scores:
        if terms.costs is not None and p["scheme"] == "quotient":
            said = f"mrmr with {setting('scheme', 'quotient')} has no gain to compare with a cost"
            raise ParameterError(
                f"{said}: give {setting('scheme', 'difference')}, or leave {setting('costs')} out"
            )
        if p["bias_correction"] == "chance" and p["scheme"] == "quotient":
            said = (
                f"{setting('bias_correction', 'chance')} leaves informations about 0, and no "
                "quotient of them"
            )
            raise ParameterError(f"{said}: give {setting('scheme', 'difference')}")
        engine.run(*self.needs(engine, p))  # two kinds of statistics may be needed: in one request
        labelled = labelled_view(engine, "standard") if p["relevance"] == "f" else None
        if labelled is None:
            known = int((engine.profile.observed > 0).sum())
            scores, candidates = Scores(Counting(engine, p).relevance / max(1, known)), None
        else:
            scores = Scores.of_varying(
                mrmr.f_relevance(labelled), labelled.varying, engine.num_features
            )
            candidates = np.flatnonzero(scores.values > 0)

        links, ahead = self._links(engine, p, labelled)
        with one_thread():
            scores.path = mrmr.select_mrmr(
                scores.values, links, p["scheme"], count, candidates, ahead, picking(engine), terms
            )
        return scores

    def _links(
        self, engine: Engine, p: Values, labelled: GramView | None
    ) -> tuple[Redundancies, int]:
        """The redundancies of all features with some, and how many are worth asking for at once."""
        if p["redundancy"] == "mi":
            counting = Counting(engine, p, Everything())
            return lambda some: {
                s: link[1] for s, link in counting.links(list(some), Everything()).items()
            }, engine.look_ahead
        view = (
            engine.run(_unlabelled(engine))[0].centred("standard") if labelled is None else labelled
        )
        position = np.full(engine.num_features, -1)
        position[view.varying] = np.arange(len(view.varying))

        def correlations(some: Sequence[int]) -> dict[int, np.ndarray]:
            out = {}
            for s in some:
                out[s] = np.full(
                    engine.num_features, mrmr.FLOOR
                )  # what does not vary is correlated with nothing
                if position[s] >= 0:
                    out[s][view.varying] = mrmr.correlation_with(view.G, position[s])
            return out

        return correlations, 1


def _unlabelled(engine: Engine) -> Statistic:
    """Second moments of the features over all rows: where every label is known, the Gram matrix
    other methods ask for, too."""
    return AllRowsGram() if engine.profile.has_unknown else Gram()
