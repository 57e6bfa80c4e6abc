"""From rows to states, on the basis of the first ones, and from states to rankings.

Of pairs of some features, and of each of them with pairs of labels, the sums are joint counts: what
greedy methods ask for. Slots are the codes of these features but one of each: the code of 0 where
rows are sparse, else code 0. ``joint`` (P, g) has, of each pair of slots a ≤ b, row by row of the
upper triangle, the rows of each group that have both; all else is what these leave of the two-way
counts. ``both`` (slots, L) and ``single`` (slots, k) are of rows whose labels are all known, by
pairs of labels and by label, of all codes where rows are dense; ``allboth``, ``allsingle`` the rows
of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import params as spec
from .. import pipeline
from ..adapters.arrays import in_arrays, memory_of
from ..blocks.arrays import pack_arrays
from ..blocks.codec import State
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.grades import SETTINGS as GRADING
from ..blocks.grades import Grades
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..engine.local import LocalEngine
from ..errors import ParameterError, setting, spelled_by
from ..methods.regression import MANY_LABELS
from ..output.manifest import now
from ..statistics.base import Budgets, Statistic
from ..statistics.contingency import TwoWay
from ..statistics.gram import FoldGrams, Gram
from ..statistics.labelsets import LabelsetCounts, Labelsets, LabelsetSums
from ..statistics.moments import GroupMoments, KnownRows
from ..statistics.targets import Classes
from .basis import PAIRS_OPTION, Basis, RowLayout
from .needs import PAIRED, PAIRS_OF, WITHOUT_GRADES, Need, needs_of
from .own_statistics import DeclaredLabels, KeyedGrams, OutOfRangeCounts
from .pairs import check_bytes, pair_sums
from .states import CollectedPart, States
from .sums import PAIR_KINDS, bins_of, in_words, name_of, without_empty


@spelled_by(in_arrays)
def collect(
    data: Any,
    labels: Any = None,
    methods: str | Sequence[str] = "mim",
    like: States | None = None,
    *,
    name: str = "",
    pairs_of: int | None = None,
    method_params: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
    missing: str = "error",
    memory_bytes: int | None = None,
    **grading: Any,
) -> States:
    """The sums over these rows that `methods` need, among them rules (fdr, fwe, fpr, stability) and
    ``"cross-validation"``.

    Parameters
    ----------
    data, labels : a table and its labels as `spark_mlfs.rank` takes them, and likewise
        `sample_weight`, `graded_labels`, `grade_range`, `label_cuts`, `missing`; or a Spark frame,
        the names of its columns of labels and of weights, its features being in ``features`` and
        its row ids, where there is such a column, in ``id``
    methods : names of methods and rules, or ``"all-additive"``
    like : states that were collected first: codes and grids are theirs, so that these can be merged
        with them
    name : what the rows are called, such as their day; rows of one name and content are not merged
        twice
    pairs_of : for jmi, d2f, mdmr, pmu, scls, lrfs, mrmr, fimf: the pairs of so many features are
        counted, the best by mim of the first state; later ones count the same
    method_params : parameters of the methods, ``{"num_bins": 10}``, for those that have them

    Raises `DataError` for what is wrong with the data, `ParameterError` for methods that need rows,
    or where `like` was collected otherwise, `BudgetError` where the counts of pairs may be larger
    than the memory.

    >>> first = collect([[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]], "mim")
    >>> first.rows
    4
    """
    needs = needs_of(methods, method_params)
    grades = Grades.of(spec.check(GRADING, grading, "collect"))
    budgets = Budgets(driver=memory_of(memory_bytes), worker=memory_of(memory_bytes))
    told: dict[str, Any] = {
        "weights": sample_weight is not None,
        "graded": grades is not None and not grades.cuts,
    }
    told |= {
        "missing": missing,
        "grade_range": grading.get("grade_range"),
        "label_cuts": grading.get("label_cuts"),
    }
    if type(data).__module__.startswith("pyspark."):
        from ..blocks.pack import pack
        from ..frames.schema import FEATURES, ID, LABELS

        columns = FEATURES, labels or LABELS, ID if ID in data.columns else None
        rows: Dataset = pack(data, *columns, weight=sample_weight, grades=grades, some=True)
        budgets = Budgets()
    else:
        refuse_mean(missing)
        rows, _ = pack_arrays(data, labels, sample_weight, grades, None, missing, some=True)
    with rows:
        return collected(
            rows,
            needs,
            like,
            CollectedPart(name, now(), "", [], [], rows.profile),
            told,
            budgets,
            pairs_of,
        )


def refuse_mean(missing: Any) -> None:
    """Raise `ParameterError` for what each window of rows would fill otherwise."""
    if missing == "mean":
        raise ParameterError(
            "missing='mean' fills rows of each time with another number: fill them first, or give "
            "zero or drop"
        )


def collected(
    rows: Dataset,
    needs: Sequence[Need],
    like: States | None,
    part: CollectedPart,
    told: Mapping[str, Any],
    budgets: Budgets,
    pairs_of: int | None = None,
) -> States:
    """The states of packed rows; `part` has what is known of where they come from, `told` how they
    were read."""
    profile, weighted, graded = rows.profile, bool(told["weights"]), bool(told["graded"])
    needs = _taking(needs, weighted, graded)
    kinds = tuple(dict.fromkeys(kind for need in needs for kind in need.kinds))
    given = {n: [*v] if isinstance(v, tuple) else v for n, v in told.items()}  # as JSON has it
    options = {n: v for n, v in given.items() if v is not None and v != "error"}
    paired = [kind for kind in kinds if name_of(kind) in PAIR_KINDS]
    if any(name_of(kind) in ("groups", "folds") for kind in kinds):
        options["row ids"] = profile.named_ids
    if like is None:
        basis = Basis.of(rows, options, quantile_edges(rows, kinds, budgets))
    else:
        basis = like.basis
        _like(basis, options, kinds)
    count = _pairs_asked(paired, needs, None if like is None else basis, pairs_of)
    alike = Profile(
        weight_exponent=0 if weighted and not profile.weighted else profile.weight_exponent,
        graded=graded,
    )
    profile = profile._comparable(
        alike
    )  # where all weights or grades are 1 they are there all the same
    fit, new, new_labels = RowLayout.of(rows, basis, weighted)
    own = fit.profile(profile)
    basis.check(own, basis.features + new)
    if own.q > MANY_LABELS and any(name_of(kind) in ("gram", "folds", "groups") for kind in kinds):
        raise ParameterError(
            f"second moments are kept of at most {MANY_LABELS} labels, the data have {own.q}: take "
            "mim or chi2"
        )
    part = replace(part, features=new, labels=new_labels, profile=own)
    with _engine_of(rows, fit, basis.grid(own).only(np.arange(own.d)), budgets) as engine:
        if paired:  # refused before anything is counted
            coding = basis.coding(np.arange(len(basis.features)), *bins_of(paired[0]))
            bins = coding.bins[basis.paired] if len(basis.paired) else np.sort(coding.bins)[-count:]
            check_bytes(paired, bins, coding, own, *engine.state_budget)
        if own.has_unknown:
            part = replace(part, known=engine.run(KnownRows())[0])
        sums = _sums(engine, basis, [kind for kind in kinds if kind not in paired], own)
    if not paired:
        return States(basis, (part,), sums)
    if not len(basis.paired):
        by = {"num_bins": coding.num_bins, "binning": coding.binning}
        (best,) = pipeline.rank(
            States(basis, (part,), sums).dataset(), [pipeline.Request.of("mim", by)]
        )
        basis = replace(
            basis, options=basis.options | {PAIRS_OPTION: best.ranking["name"].tolist()[:count]}
        )
    with _engine_of(rows, fit, basis.grid(own).only(basis.paired), budgets) as engine, one_thread():
        for kind in paired:
            coding = basis.coding(basis.paired, *bins_of(kind))
            sums[kind] = in_words(pair_sums(engine, kind, coding, engine.state_budget[0]))
    return States(basis, (part,), sums)


def _pairs_asked(
    paired: Sequence[str], needs: Sequence[Need], like: Basis | None, pairs_of: int | None
) -> int:
    """How many features have their pairs counted; `ParameterError` where nothing says so, or the
    first state differs."""
    asked = None if pairs_of is None else int(PAIRS_OF.constraint.accept(pairs_of))
    if not paired:
        if asked is not None:
            raise ParameterError(
                f"{setting('pairs_of')} goes with {', '.join(PAIRED)}: collect for one of them, or "
                "leave it out"
            )
        return 0
    name = next(need.name for need in needs if paired[0] in need.kinds)
    if like is None:
        if asked is None:
            raise ParameterError(
                f"{name} needs the rows, or the pairs of the best features: give "
                f"{setting('pairs_of', 500)}"
            )
        return asked
    before = len(like.paired)
    if not before:
        raise ParameterError(
            f"the first state counts no pairs of features, which {name} takes: collect it for "
            f"{name}, too"
        )
    if asked is not None and min(asked, len(like.features)) != before:
        raise ParameterError(
            f"the first state counts the pairs of {before} features: leave {setting('pairs_of')} "
            "out"
        )
    return before


def _sums(engine: Engine, basis: Basis, kinds: Sequence[str], own: Profile) -> dict[str, State]:
    """The sums of these kinds as they are kept, and in how many rows features are outside the
    edges, if some are."""
    every, by, labels = (
        np.arange(own.d),
        "grades" if own.graded else "labels",
        DeclaredLabels(own.q, undeclared=own.has_unknown),
    )
    sets: Any = None
    if any(name_of(kind) == "labelset counts" for kind in kinds):
        (sets,) = engine.run(LabelsetCounts())
        if not len(sets.counts):  # one labelset, of no rows
            sets = Labelsets(
                np.zeros(1, np.uint64), np.zeros(1, np.int64), np.zeros(2, np.int64), sets.indices
            )
    of_kind: dict[str, Callable[[str], Statistic]] = {
        "counts": lambda kind: TwoWay(basis.coding(every, *bins_of(kind)), labels),
        "labelset counts": lambda kind: TwoWay(
            basis.coding(every, *bins_of(kind)), Classes(sets.hashes, sets.counts)
        ),
        "labelsets": lambda _: LabelsetCounts(by),
        "labelset sums": lambda _: LabelsetSums(by, squares=True),
        "moments": lambda _: GroupMoments(labels, basis.thin),
        "gram": lambda _: Gram(),
        "groups": lambda _: KeyedGrams(),
        "folds": lambda kind: FoldGrams(int(kind.split()[-1])),
    }
    statistics = {kind: of_kind[name_of(kind)](kind) for kind in kinds}
    d = len(basis.features)
    outside = (
        (own.low[:d] < basis.low) | (own.high[:d] > basis.high) | (basis.binary & ~own.binary[:d])
    )
    if outside.any() and any(name_of(kind) in WITHOUT_GRADES for kind in kinds):
        coding = basis.coding(every, 2, "width")
        low, high = (
            np.where(every < d, coding.low, -np.inf),
            np.where(every < d, coding.high, np.inf),
        )
        statistics["outside"] = OutOfRangeCounts(low, high, (every < d) & coding.binary)
    with one_thread():
        states = engine.states(*statistics.values())
    return {
        kind: without_empty(_kept(kind, raw, own.q, sets))
        for kind, raw in zip(statistics, states, strict=True)
    }


def _kept(kind: str, raw: State, q: int, sets: Labelsets | None) -> State:
    """The state of a statistic as its kind is kept; `sets` of labelsets that were counted
    beforehand."""
    name, out = name_of(kind), dict(raw)
    if name in WITHOUT_GRADES:
        table = raw["table"]
        out = {"table": table.T.tocsr() if sp.issparse(table) else table}
    if name.startswith("labelset"):
        if name != "labelset counts" or sets is None:
            sets = Labelsets(
                **{
                    part: out.pop(part, None)
                    for part in ("hashes", "counts", "indptr", "indices", "grades")
                }
            )
        values = np.ones(len(sets.indices), np.int64) if sets.grades is None else sets.grades
        shape = len(sets.counts), q
        out |= {
            "sets": sp.csr_matrix((values, sets.indices, sets.indptr), shape),
            "counts": sets.counts,
        }
    if name in ("labelset sums", "moments"):
        out = {n: v.T if isinstance(v, np.ndarray) and v.ndim == 2 else v for n, v in out.items()}
    return in_words(out)


@contextmanager
def _engine_of(
    rows: Dataset, fit: RowLayout, profile: Profile, budgets: Budgets
) -> Iterator[Engine]:
    """An engine over the rows as the basis has them; its memory is given back in the end."""
    if isinstance(rows, InMemoryDataset):
        if rows.memory is not None:
            budgets = Budgets(driver=rows.memory, worker=rows.memory, worker_setting="memory_bytes")
        yield LocalEngine(profile, [fit(block) for block in rows.blocks], budgets, rows.cores)
        return
    from ..blocks.pack import Packed, persist
    from ..engine.spark import SparkEngine

    assert isinstance(rows, Packed)
    frame = rows.blocks().mapInArrow(fit.batches, "block binary")
    fitted = replace(rows, frame=frame, profile=profile, persisted=persist(frame), memo=[])
    with fitted, SparkEngine(fitted, budgets) as engine:
        yield engine


def quantile_edges(rows: Dataset, kinds: Sequence[str], budgets: Budgets) -> dict[int, np.ndarray]:
    """Inner quantiles of all features, (d, b − 1), by the numbers of bins of the kinds that go by
    them."""
    wanted, p = {bins_of(kind)[0] for kind in kinds if kind.endswith(" quantile")}, rows.profile
    if not wanted:
        return {}
    same = RowLayout(np.arange(p.d), np.arange(p.q), p.d, p.q, p.d, True, False)
    out, constant = {}, p.low == p.high
    with _engine_of(rows, same, p, budgets) as engine:
        for bins in wanted:
            out[bins] = np.full((p.d, bins - 1), np.inf)
            out[bins][p.varying] = engine.coding(bins, "quantile").edges
            still = p.low[constant]  # its codes: below, it, above
            ends = np.stack([np.nextafter(still, -np.inf), still], axis=1)[
                :, 2 - min(2, bins - 1) :
            ]
            out[bins][constant, : ends.shape[1]] = ends
    return out


def _taking(needs: Sequence[Need], weighted: bool, graded: bool) -> list[Need]:
    """The needs, of rows that are `weighted` or `graded`; `ParameterError` for the first that takes
    no such rows, if asked for by its name."""
    out = []
    for need in needs:
        what = (
            "row weights"
            if weighted and not need.weighted
            else "grades"
            if graded and not need.graded
            else None
        )
        if what is None:
            out.append(need)
        elif not need.optional:
            raise ParameterError(
                f"{need.name} takes no {what}: leave them out, or choose another method"
            )
    return out


def _like(basis: Basis, options: Mapping[str, Any], kinds: Sequence[str]) -> None:
    """`ParameterError` where rows were read otherwise than the first ones, or asked for codes that
    these have not."""
    for name in sorted(basis.options.keys() | options.keys()):
        mine, theirs = options.get(name), basis.options.get(name)
        if mine != theirs and (name not in ("row ids", PAIRS_OPTION) or name in options):
            raise ParameterError(
                f"the first state has {name} {theirs!r}, these rows {mine!r}: read them alike"
            )
    for bins, binning in (bins_of(kind) for kind in kinds if kind.endswith(" quantile")):
        if bins not in basis.edges:
            raise ParameterError(
                f"the first state has no edges of {bins} {binning} bins: collect it for them, too"
            )


# ---- pairs of features, and of labels ----


# ---- rankings ----
