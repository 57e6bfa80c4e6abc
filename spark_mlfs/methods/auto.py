"""The best of several methods on these data, by inner folds.

    chosen = argmax_m AP(m)
    AP(m) = mean over held-out rows i of a sample, judges c, sizes k of AP_i(m, c, k)
    AP_i = (1/|y_i|) Σ_{l∈y_i} #{l' ∈ y_i : s_l' ≥ s_l} / #{l' : s_l' ≥ s_l}

A sample of the rows whose labels are all known is divided into ``folds``; on the other folds each
of ``methods`` ranks the features (its own defaults) and each judge learns from the k best; the
held-out rows are what it is judged by. The chosen method then ranks all rows. The first of
``methods`` is kept unless another is better by more than a standard error of the mean difference
over the rows. Nothing held out takes part in what is measured; the ranking itself is of all rows.

    judge    "mlknn"    ML-kNN (10 neighbours, values as they are)
             "linear"   ridge regression of the labels on the z-scored features, penalty 1
             "both"     the mean of the two

Symbols: y_i ⊂ {1, …, q} the labels of row i, rows with none or all of them left out; s (q,) the
judge's scores of row i; k ∈ {⌈K/4⌉, K}, K features asked for, below v, the features that vary.
Scores (v,) and picks are the chosen method's own; of one that does not pick one by one the picks
are its K best, the gains their scores. How sure: over 200 resamplings of the rows the share in
which a method is best; the difference to the next best with 1.96 standard errors; over the folds
the mean Jaccard index of the K best. Equal rows share a fold. With fewer than 20 rows whose labels
are all known the first method is taken.
Raises: `DataError` where no method can rank the rows; `BudgetError` where the sample or the chosen
method exceed $budget; `ParameterError` for a method that does not exist or cannot be tried.
Source: nested cross-validation, Varma & Simon, "Bias in error estimation when using
cross-validation for model selection", BMC Bioinformatics 7, 2006; the standard error's rule,
Breiman et al., "Classification and Regression Trees", 1984.
Deviations: the error is taken over rows, not folds, and the rule prefers the first method, not the
simplest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.groups import folds_of_groups
from ..blocks.profile import profile_block
from ..engine.base import Engine, one_thread
from ..engine.local import LocalEngine
from ..errors import DataError, ParameterError, SparkMlfsError, marked_text, quantity
from ..kernels.hashing import mix
from ..kernels.label_ranks import LabelRanks
from ..kernels.matrix import dense, distinct_rows
from ..kernels.neighbour_votes import posteriors
from ..kernels.scaling import Scaling
from ..params import Choice, Integer, Parameter, Text, Values
from ..solvers.pool import Path
from ..solvers.ties import complete
from ..statistics.sample import SampledRows
from . import METHODS
from .base import Method, Scores

JUDGES = {
    "mlknn": ("mlknn",),
    "linear": ("linear",),
    "both": ("mlknn", "linear"),
}
FEWEST = 20  # rows that methods are tried on
NEIGHBOURS = 10  # of ML-kNN
PENALTY = 1.0  # of ridge regression
RESAMPLINGS = 200
SMALL = 1e-3  # values of features below which ML-kNN sees them in another unit


@dataclass(frozen=True)
class MethodNames(Text):
    """Names of methods that can be tried, commas between them."""

    description: str = "names of methods, commas between them"

    def accept(self, value: Any) -> str:
        names = [name.strip() for name in super().accept(value).split(",") if name.strip()]
        if not names:
            raise ValueError
        for name in names:
            METHODS.create(name)
            if name == Auto.name:
                raise ParameterError(
                    "auto cannot be one of its own methods: name others, such as "
                    "methods='mrmr,fisher'"
                )
        return ",".join(dict.fromkeys(names))


class Auto(Method):
    """Ranks by the one of several methods whose features predict held-out rows best."""

    name = "auto"
    title = "the best of several methods, by inner folds"
    source = "nested cross-validation, Varma & Simon 2006"
    when = "no idea yet which method suits the data, and some seconds to spare"
    cost = "a sample of the rows, then what the chosen method needs"
    greedy = True
    parameters = (
        Parameter(
            "methods",
            "fastcan,scls,lasso,enm,chi2,fisher",
            MethodNames(),
            "what is tried; the first is kept in doubt",
        ),
        Parameter(
            "judge",
            "both",
            Choice(tuple(JUDGES)[::-1]),
            "what predicts the labels of the held-out rows",
        ),
        Parameter("folds", 3, Integer(2, 10), "inner folds"),
        Parameter("sample", 2000, Integer(FEWEST), "rows tried on at most"),
        Parameter(
            "seed", 0, Integer(0, 2**31 - 1), "seed of the sample, the folds and the resamplings"
        ),
    )

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        (rows,) = engine.run(SampledRows(p["sample"], p["seed"]), keep=False)
        names = p["methods"].split(",")
        if rows.n < FEWEST:
            verdict = (
                f"{quantity(rows.n, 'row')} with all labels known: too few to try methods on (at "
                f"least {FEWEST}); {names[0]} is taken"
            )
            details = {"chosen_method": names[0], "verdict": verdict}
        else:
            rows = replace(rows, x=rows.x[:, engine.profile.varying])
            trials = []
            with one_thread():
                inner = InnerFolds(rows, engine, p, count)
                for number, name in enumerate(names):
                    if engine.progress:
                        engine.progress("trying methods", number, len(names))
                    trials.append(inner.trial_of(name))
            details = choose(trials, inner, p["seed"])
        scores = _default_scores(details["chosen_method"], engine, count)
        order, _ = complete(
            scores.values,
            np.arange(engine.num_features),
            engine.num_features,
            None,
            scores.constant,
        )
        left_out = 0 if scores.constant is None else len(scores.constant)
        picks = order[: min(count, engine.num_features - left_out)]
        path = scores.path or Path(
            [int(f) for f in picks], [float(v) for v in scores.values[picks]]
        )
        return replace(scores, path=path, details={**scores.details, **details})


def _default_scores(name: str, engine: Engine, count: int) -> Scores:
    """Return the scores of a method with its own defaults."""
    method = METHODS.create(name)
    return method.score(engine, {q.name: q.default for q in method.parameters}, count)


@dataclass
class Trial:
    """The held-out quality of a method.

    `precision` (rows,) of each held-out row, mean over judges and sizes; `by_judge` their means;
    `stability` of its picks over the folds; or why it was `refused`."""

    name: str
    precision: ndarray
    by_judge: dict[str, float]
    stability: float
    seconds: float
    refused: str = ""

    @property
    def mean(self) -> float:
        return float(self.precision.mean()) if len(self.precision) else 0.0


class InnerFolds:
    """The sampled rows (v features), their folds, and what is learned of each."""

    def __init__(
        self,
        rows: Block,
        engine: Engine,
        p: Values,
        count: int,
    ) -> None:
        self.judges = JUDGES[p["judge"]]
        self.q = engine.profile.q
        self.rows = rows.n
        fold = folds_of(rows, p["folds"], p["seed"])
        self.parts = []
        for number in range(p["folds"]):
            train = rows.take(np.flatnonzero(fold != number))
            test = rows.take(np.flatnonzero(fold == number))
            if not train.n or not test.n:
                continue
            profile = profile_block(train, self.q)
            if len(profile.varying):
                part = LocalEngine(profile, [train], engine.budgets)
                part.leave_out_constant_labels()
                self.parts.append((part, train, test))
        if len(self.parts) < 2:
            raise DataError(
                "nearly all rows with known labels are equal: auto has too few folds to train on "
                "and hold out; name a method instead, such as mim"
            )
        most = max(1, min(count, rows.d - 1))
        self.sizes = sorted({max(1, -(-most // 4)), most})

    def trial_of(self, name: str) -> Trial:
        started = time.perf_counter()
        heads = []
        parts = []
        try:
            for engine, train, test in self.parts:
                order = self._order(name, engine)
                heads.append(set(order[: self.sizes[-1]].tolist()))
                parts.append(self._precision(order, train, test))
        except SparkMlfsError as error:
            return Trial(
                name,
                np.zeros(0),
                {},
                0.0,
                time.perf_counter() - started,
                marked_text(error),
            )
        precision = np.concatenate(parts, axis=1)  # (judges, rows)
        by_judge = {
            judge: float(values.mean()) if len(values) else 0.0
            for judge, values in zip(self.judges, precision, strict=True)
        }
        overlaps = [len(a & b) / len(a | b) for a, b in combinations(heads, 2)]
        stability = float(np.mean(overlaps)) if overlaps else 1.0
        seconds = time.perf_counter() - started
        return Trial(
            name,
            precision.mean(axis=0),
            by_judge,
            stability,
            seconds,
        )

    def _order(self, name: str, engine: LocalEngine) -> ndarray:
        """Return the ranking of the features by a method on the training rows of a fold."""
        scores = _default_scores(name, engine, min(self.sizes[-1], engine.num_features))
        picks = scores.path.picks if scores.path is not None else None
        profile = engine.profile
        order, _ = complete(
            scores.values,
            profile.varying,
            profile.d,
            picks,
            scores.constant,
        )
        return order

    def _precision(self, order: ndarray, train: Block, test: Block) -> ndarray:
        """Return (judges, rows) the precision of the test rows with some, not all labels."""
        y = train.labels(self.q).astype(np.float64)
        truth = test.labels(self.q).toarray() > 0
        num_labels = truth.sum(axis=1)
        rows = np.flatnonzero((num_labels > 0) & (num_labels < self.q))
        precision = np.empty((len(self.sizes), len(self.judges), len(rows)))
        for i, size in enumerate(self.sizes):
            features = np.sort(order[:size])
            for j, judge in enumerate(self.judges):
                scores = predict(judge, train.x[:, features], y, test.x[:, features])
                precision[i, j] = LabelRanks.of(truth[rows], scores[rows]).precision()
        return precision.mean(axis=0)


def folds_of(rows: Block, folds: int, seed: int) -> ndarray:
    """Return (n,) the fold of each row, as many rows to each.

    Equal rows are together, in the order of the seeded hash of their smallest id; groups of rows
    stay whole, where there are some."""
    if rows.groups is not None:
        return folds_of_groups(rows.groups, folds)
    first, kind = distinct_rows(rows.x)  # rows come in the order of their ids
    order = np.argsort(mix(rows.ids[first], seed), kind="stable")
    size = np.bincount(kind)
    before = np.empty(len(order), np.int64)
    before[order] = np.cumsum(size[order]) - size[order]
    return (before * folds // rows.n)[kind]


def predict(
    judge: str,
    x: Any,
    y: sp.csr_matrix,
    query: Any,
) -> ndarray:
    """Return (rows, q) scores of the labels of rows `query`, learned of x (n, k) and y (n, q)."""
    if judge == "mlknn":
        largest = float(abs(x).max()) if x.size else 0.0
        if 0 < largest < SMALL:  # distances are rounded: in a larger unit they differ
            exponent = -np.frexp(largest)[1]
            x, query = (np.ldexp(dense(rows), exponent) for rows in (x, query))
        return posteriors(x, y, query, min(NEIGHBOURS, x.shape[0] - 1))
    x = np.asarray(dense(x), np.float64)
    query = np.asarray(dense(query), np.float64)
    scaling = Scaling.of_rows(x, "standard")
    z = scaling.apply(x)
    mean = np.asarray(y.mean(axis=0)).ravel()
    penalised = z.T @ z + PENALTY * np.eye(z.shape[1])
    weights = np.linalg.solve(penalised, z.T @ (y.toarray() - mean))
    return scaling.apply(query) @ weights + mean


def choose(trials: Sequence[Trial], inner: InnerFolds, seed: int) -> dict[str, Any]:
    """Choose the first method, unless another is better by more than a standard error.

    Returns the choice and its reasons: the share of the resamplings in which each method is best,
    and the lead over the next best. `DataError` where no method could rank."""
    able = [trial for trial in trials if not trial.refused]
    if not able:
        raise DataError(
            f"none of {', '.join(trial.name for trial in trials)} can rank these rows: "
            f"{trials[0].refused}"
        )
    table = np.stack([trial.precision for trial in able], axis=1)  # rows × methods
    n, m = table.shape
    choice = 0
    best_in = {trial.name: float(trial is able[0]) for trial in able}
    lead = ""
    if m > 1 and n:
        means = table.mean(axis=0)
        top = int(np.argmax(np.round(means, 12)))
        choice = top if means[top] - means[0] > _standard_error(table, top, 0) else 0
        draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), RESAMPLINGS)
        winners = np.argmax(np.round(draws @ table / n, 12), axis=1)
        wins = np.bincount(winners, minlength=m) / RESAMPLINGS
        best_in = {trial.name: float(share) for trial, share in zip(able, wins, strict=True)}
        lead = _lead(
            able,
            table,
            means,
            choice,
            best_in[able[choice].name],
        )
    chosen = able[choice]
    lines: list[dict[str, Any]] = []
    for trial in trials:
        line: dict[str, Any] = {"method": trial.name}
        if trial.refused:
            line["refused"] = trial.refused
        else:
            line |= {"average_precision": trial.mean, **trial.by_judge}
            line |= {"best_in": best_in[trial.name], "stability": trial.stability}
            line["seconds"] = round(trial.seconds, 3)
        lines.append(line)
    refused = [f"{t['method']} ({t['refused']})" for t in lines if "refused" in t]
    verdict = (
        f"{chosen.name}, of {m} tried: average precision {chosen.mean:.4f} of held-out rows "
        f"({len(inner.parts)} folds of {inner.rows} rows, {' and '.join(map(str, inner.sizes))} "
        f"features){lead}."
    )
    if refused:
        verdict += f" Not tried: {'; '.join(refused)}."
    return {
        "chosen_method": chosen.name,
        "tried": lines,
        "verdict": verdict,
    }


def _standard_error(table: ndarray, a: int, b: int) -> float:
    """Return the standard error, over the rows, of the difference of two columns."""
    difference = table[:, a] - table[:, b]
    return float(difference.std() / np.sqrt(len(table)))


def _lead(
    able: Sequence[Trial],
    table: ndarray,
    means: ndarray,
    choice: int,
    best_in: float,
) -> str:
    """Return the part of the verdict that compares the choice with the next best."""
    others = np.where(np.arange(len(means)) == choice, -np.inf, means)
    second = int(np.argmax(others))
    name = able[second].name
    margin = float(means[choice] - means[second])
    interval = 1.96 * _standard_error(table, choice, second)
    side = "above" if margin >= 0 else "below"
    lead = (
        f", {abs(margin):.4f} ± {interval:.4f} {side} {name}; "
        f"best in {100 * best_in:.0f} % of {RESAMPLINGS} resamplings; "
        f"its picks agree between folds to {100 * able[choice].stability:.0f} %"
    )
    if margin < 0:
        lead += f". It stands first and {name} is not better by more than a standard error"
    return lead
