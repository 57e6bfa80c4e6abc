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

from ..blocks.block import Block
from ..blocks.profile import profile_block
from ..engine.base import Engine, one_thread
from ..engine.local import LocalEngine
from ..errors import DataError, ParameterError, SparkMlfsError
from ..kernels.hashing import mix
from ..kernels.label_ranks import LabelRanks
from ..kernels.matrix import distinct_rows
from ..kernels.neighbour_votes import posteriors
from ..kernels.scaling import Scaling
from ..params import Choice, Integer, Parameter, Text, Values
from ..solvers.pool import Path
from ..solvers.ties import complete
from ..statistics.sample import SampledRows
from . import METHODS
from .base import Method, Scores

JUDGES = {"mlknn": ("mlknn",), "linear": ("linear",), "both": ("mlknn", "linear")}
FEWEST, NEIGHBOURS, PENALTY, RESAMPLINGS = 20, 10, 1.0, 200


@dataclass(frozen=True)
class MethodNames(Text):
    """Names of methods that can be tried, commas between them."""

    what: str = "names of methods, commas between them"

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
        names, tried = p["methods"].split(","), []
        if rows.n < FEWEST:
            told = (
                f"{rows.n} rows with all labels known are too few to try methods on (at least "
                f"{FEWEST}): {names[0]} is taken"
            )
            details = {"chosen_method": names[0], "verdict": told}
        else:
            rows = replace(rows, x=rows.x[:, engine.profile.varying])
            with one_thread():
                inner = InnerFolds(rows, engine, p, count)
                for number, each in enumerate(names):
                    if engine.progress:
                        engine.progress("trying methods", number, len(names))
                    tried.append(inner.of(each))
            details = choose(tried, inner, p["seed"])
        scores = _own(details["chosen_method"], engine, count)
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


def _own(name: str, engine: Engine, count: int) -> Scores:
    """The scores of a method with its own defaults."""
    method = METHODS.create(name)
    return method.score(engine, {q.name: q.default for q in method.parameters}, count)


@dataclass
class Tried:
    """Held-out quality of a method: `precision` (rows,) of each held-out row, mean over judges and
    sizes; `by_judge` their means; `stability` of its picks over the folds; or why it was
    `refused`."""

    name: str
    precision: np.ndarray
    by_judge: dict[str, float]
    stability: float
    seconds: float
    refused: str = ""

    @property
    def mean(self) -> float:
        return float(self.precision.mean()) if len(self.precision) else 0.0


class InnerFolds:
    """The sampled rows (v features), their folds, and what is learned of each."""

    def __init__(self, rows: Block, engine: Engine, p: Values, count: int) -> None:
        self.judges, q = JUDGES[p["judge"]], engine.profile.q
        fold = folds_of(rows, p["folds"], p["seed"])
        self.parts = []
        for number in range(p["folds"]):
            train, test = (
                rows.take(np.flatnonzero((fold == number) == held)) for held in (False, True)
            )
            if train.n and test.n and len((profile := profile_block(train, q)).varying):
                inner = LocalEngine(profile, [train], engine.budgets)
                self.parts.append((inner, train, test))
        if len(self.parts) < 2:
            told = (
                "nearly all rows with known labels are equal: auto has too few folds to train "
                "on and hold out"
            )
            raise DataError(f"{told}; name a method instead, such as mim")
        self.q, self.rows = q, rows.n
        most = max(1, min(count, rows.d - 1))
        self.sizes = sorted({max(1, -(-most // 4)), most})

    def of(self, name: str) -> Tried:
        started = time.perf_counter()
        heads, parts = [], []
        try:
            for engine, train, test in self.parts:
                scores = _own(name, engine, min(self.sizes[-1], engine.num_features))
                picks = scores.path.picks if scores.path is not None else None
                order, _ = complete(
                    scores.values, engine.profile.varying, engine.profile.d, picks, scores.constant
                )
                heads.append(set(order[: self.sizes[-1]].tolist()))
                y, truth = (
                    train.labels(self.q).astype(np.float64),
                    test.labels(self.q).toarray() > 0,
                )
                told = np.flatnonzero((truth.sum(axis=1) > 0) & (truth.sum(axis=1) < self.q))
                cells = np.empty((len(self.sizes), len(self.judges), len(told)))
                for i, size in enumerate(self.sizes):
                    f = np.sort(order[:size])
                    for j, judge in enumerate(self.judges):
                        found = predict(judge, train.x[:, f], y, test.x[:, f])
                        cells[i, j] = LabelRanks.of(truth[told], found[told]).precision()
                parts.append(cells.mean(axis=0))
        except SparkMlfsError as error:
            return Tried(name, np.zeros(0), {}, 0.0, time.perf_counter() - started, str(error))
        found = np.concatenate(parts, axis=1)
        means = {
            judge: float(row.mean()) if len(row) else 0.0
            for judge, row in zip(self.judges, found, strict=True)
        }
        alike = [len(a & b) / len(a | b) for a, b in combinations(heads, 2)]
        return Tried(
            name,
            found.mean(axis=0),
            means,
            float(np.mean(alike)) if alike else 1.0,
            time.perf_counter() - started,
        )


def folds_of(rows: Block, folds: int, seed: int) -> np.ndarray:
    """(n,) the fold of each row: equal rows together, in the order of the seeded hash of their
    smallest id, as many to each."""
    first, kind = distinct_rows(rows.x)  # rows come in the order of their ids
    order = np.argsort(mix(rows.ids[first], seed), kind="stable")
    size = np.bincount(kind)
    before = np.empty(len(order), np.int64)
    before[order] = np.cumsum(size[order]) - size[order]
    return (before * folds // rows.n)[kind]


def predict(judge: str, x: Any, y: sp.csr_matrix, query: Any) -> np.ndarray:
    """(rows, q) scores of the labels of rows `query`, learned of x (n, k) and y (n, q)."""
    if judge == "mlknn":
        return posteriors(x, y, query, min(NEIGHBOURS, x.shape[0] - 1))
    x, query = (np.asarray(m.toarray() if sp.issparse(m) else m, np.float64) for m in (x, query))
    scaling = Scaling.of_rows(x, "standard")
    z, mean = scaling.apply(x), np.asarray(y.mean(axis=0)).ravel()
    weights = np.linalg.solve(z.T @ z + PENALTY * np.eye(z.shape[1]), z.T @ (y.toarray() - mean))
    return scaling.apply(query) @ weights + mean


def choose(tried: Sequence[Tried], inner: InnerFolds, seed: int) -> dict[str, Any]:
    """The choice and why: the first method, unless another is better by more than a standard error;
    raises `DataError` where none could rank. Told are the share of the resamplings in which each is
    best, and the lead over the next best."""
    able = [t for t in tried if not t.refused]
    if not able:
        raise DataError(
            f"none of {', '.join(t.name for t in tried)} can rank these rows: {tried[0].refused}"
        )
    table = np.stack([t.precision for t in able], axis=1)  # rows × methods
    n, m = table.shape
    at, best, lead = 0, {t.name: float(t is able[0]) for t in able}, ""
    if m > 1 and n:
        means = table.mean(axis=0)

        def error(a: int, b: int) -> float:
            return float((table[:, a] - table[:, b]).std() / np.sqrt(n))

        top = int(np.argmax(np.round(means, 12)))
        at = top if means[top] - means[0] > error(top, 0) else 0
        draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), RESAMPLINGS)
        wins = (
            np.bincount(np.argmax(np.round(draws @ table / n, 12), axis=1), minlength=m)
            / RESAMPLINGS
        )
        best = {t.name: float(w) for t, w in zip(able, wins, strict=True)}
        second = int(np.argmax(np.where(np.arange(m) == at, -np.inf, means)))
        margin, next_ = float(means[at] - means[second]), able[second].name
        lead = (
            f", {abs(margin):.4f} ± {1.96 * error(at, second):.4f} "
            f"{'above' if margin >= 0 else 'below'} {next_}; best in "
            f"{100 * best[able[at].name]:.0f} % of {RESAMPLINGS} resamplings; its picks agree "
            f"between folds to {100 * able[at].stability:.0f} %"
        )
        if margin < 0:
            lead += f". It stands first and {next_} is not better by more than a standard error"
    lines = [
        {"method": t.name, "average_precision": t.mean, **t.by_judge, "best_in": best[t.name]}
        | {"stability": t.stability, "seconds": round(t.seconds, 3)}
        if not t.refused
        else {"method": t.name, "refused": t.refused}
        for t in tried
    ]
    out = [f"{t.name} ({t.refused})" for t in tried if t.refused]
    text = (
        f"{able[at].name}, of {m} tried: average precision {able[at].mean:.4f} of held-out rows "
        f"({len(inner.parts)} folds of {inner.rows} rows, {' and '.join(map(str, inner.sizes))} "
        f"features){lead}."
    )
    return {
        "chosen_method": able[at].name,
        "tried": lines,
        "verdict": text + (f" Not tried: {'; '.join(out)}." if out else ""),
    }
