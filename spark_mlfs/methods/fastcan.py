"""J(f) = ‖V'x_f⊥‖²/‖x_f⊥‖²: what f adds to the sum of squared canonical correlations with the
labels.

    J(f) = ‖V'x_f⊥‖² / ‖x_f⊥‖²

Greedy: each pick maximises J, what f adds to the sum of the squared canonical correlations of the
picked features with the labels, a number in [0, 1]. Features with ‖x_f⊥‖ ≤ tol·‖x_f‖ depend on the
picks and are left out; picking stops where none is left, or none adds 1e-10. Unpicked features
follow by the first J. No scaling changes any of it.
Symbols: x_f (n,) column f of X (n, v), the centred features that vary; Y (n, q) the centred 0/1
labels; V (n, c) an orthonormal basis of the columns of Y, c their rank; x_f⊥ the residual of x_f on
the picked columns; n the rows whose labels are all known. Score J of the first pick (v,), without
unit.
Cost: one scan, then O(v·(k + q)) operations for pick k (`solvers.canonical`).
Raises: $gram.
Source: Zhang & Lang, "Orthogonal least squares based fast feature selection for linear
classification", 2022.
Deviations: the picks are those of the package `fastcan` (``FastCan(n_features_to_select=K)``)
wherever residuals stay above
``tol`` and no two features tie (there rounding decides, here the smaller index). Its own parameter
of that name bounds |w'x| after a step of Gram–Schmidt, which only rounding makes large: it leaves
out what depends on the picks to some 1e-14 of its norm, which products of columns cannot tell.
Near-copies (below ``tol``; ``tol=1e-4`` has them, too) are candidates there."""

from __future__ import annotations

from ..engine.base import Engine, one_thread
from ..params import Number, Parameter, Values
from ..solvers import canonical
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.gram import Gram
from .base import Method, Scores
from .counting import picking
from .regression import labelled_view


class FastCan(Method):
    """J(f) = ‖V'x_f⊥‖²/‖x_f⊥‖²: what f adds to the sum of squared canonical correlations with the
    labels."""

    name = "fastcan"
    title = "greedy sum of squared canonical correlations"
    source = "Zhang & Lang 2022"
    when = "numeric features, a linear model behind; the picks of the package fastcan"
    cost = "one scan"
    statistics = (Gram,)
    always = (Gram(),)
    parameters = (
        Parameter(
            "tol",
            0.01,
            Number(1e-5, 1),  # second moments tell residuals down to about 1e-5 of a column's norm
            "features of which the picked ones leave no more than this share of the norm are left "
            "out",
        ),
    )
    greedy = True
    conditions = True

    def score(
        self,
        engine: Engine,
        p: Values,
        count: int,
        terms: PickConstraints = UNCONSTRAINED,
    ) -> Scores:
        view = labelled_view(engine, "standard")

        with one_thread():  # the same bits on any driver
            first, path = canonical.select_canonical(
                view,
                count,
                p["tol"],
                terms.among(view.varying),
                picking(engine),
            )
        path.spread(view.varying, engine.num_features)
        return Scores.of_varying(
            first,
            view.varying,
            engine.num_features,
            path=path,
            details={"labelled_rows": int(view.n)},
        )
