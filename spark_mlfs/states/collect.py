"""Collecting: the sums that methods and rules need of some rows, on the basis of the first ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import params as spec
from ..adapters.arrays import in_arrays, memory_of
from ..blocks.arrays import hold
from ..blocks.codec import State
from ..blocks.coding import Coding
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.grades import SETTINGS as GRADING
from ..blocks.grades import Grades
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..engine.local import LocalEngine
from ..errors import ParameterError, setting, spelled_by
from ..methods.regression import MANY_LABELS
from ..output.manifest import now
from ..pipeline import Request
from ..pipeline import rank as pipeline_rank
from ..statistics.base import Budgets, Statistic
from ..statistics.labelsets import LabelsetCounts, Labelsets
from ..statistics.moments import KnownRows
from .basis import KEPT, Basis, Fit
from .needs import PAIRED, PAIRS_OF, WITHOUT_GRADES, Need, needs_of
from .pairs import PAIR_KINDS, check_bytes, pair_sums
from .states import Part, States
from .sums import Outside, bins_of, in_words, kept, name_of, statistic_of, without_empty


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
    """The sums over these rows that `methods` need, among them rules (fdr, fwe, fpr, stability) and ``"cross-validation"``.

    Parameters
    ----------
    data, labels : a table and its labels as `spark_mlfs.rank` takes them, and likewise `sample_weight`, `graded_labels`,
        `grade_range`, `label_cuts`, `missing`; or a Spark frame, the names of its columns of labels and of weights, its features
        being in ``features`` and its row ids, where there is such a column, in ``id``
    methods : names of methods and rules, or ``"all-additive"``
    like : states that were collected first: codes and grids are theirs, so that these can be merged with them
    name : what the rows are called, such as their day; rows of one name and content are not merged twice
    pairs_of : for jmi, d2f, mdmr, pmu, scls, lrfs, mrmr, fimf: the pairs of so many features are counted, the best by mim of the
        first state; later ones count the same
    method_params : parameters of the methods, ``{"num_bins": 10}``, for those that have them

    Raises `DataError` for what is wrong with the data, `ParameterError` for methods that need rows, or where `like` was
    collected otherwise, `BudgetError` where the counts of pairs may be larger than the memory.

    >>> first = collect([[0, 1], [0, 0], [1, 1], [1, 0]], [["a"], ["a"], ["b"], ["b"]], "mim")
    >>> first.rows
    4
    """
    needs = needs_of(methods, method_params)
    grades = Grades.of(spec.check(GRADING, grading, "collect"))
    budgets = Budgets(driver=memory_of(memory_bytes), worker=memory_of(memory_bytes))
    told: dict[str, Any] = {"weights": sample_weight is not None, "graded": grades is not None and not grades.cuts}
    told |= {"missing": missing, "grade_range": grading.get("grade_range"), "label_cuts": grading.get("label_cuts")}
    if type(data).__module__.startswith("pyspark."):
        from ..blocks.pack import pack
        from ..schema import FEATURES, ID, LABELS

        columns = FEATURES, labels or LABELS, ID if ID in data.columns else None
        rows: Dataset = pack(data, *columns, weight=sample_weight, grades=grades, some=True)
        budgets = Budgets()
    else:
        no_mean(missing)
        rows, _ = hold(data, labels, sample_weight, grades, None, missing, some=True)
    try:
        return collected(rows, needs, like, Part(name, now(), "", [], [], rows.profile), told, budgets, pairs_of)
    finally:
        rows.release()


def no_mean(missing: Any) -> None:
    """Raise `ParameterError` for what each window of rows would fill otherwise."""
    if missing == "mean":
        raise ParameterError("missing='mean' fills rows of each time with another number: fill them first, or give zero or drop")


def collected(
    rows: Dataset,
    needs: Sequence[Need],
    like: States | None,
    part: Part,
    told: Mapping[str, Any],
    budgets: Budgets,
    pairs_of: int | None = None,
) -> States:
    """The states of packed rows; `part` has what is known of where they come from, `told` how they were read."""
    profile = rows.profile
    needs = _taking(needs, bool(told["weights"]), bool(told["graded"]))
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
    exponent = 0 if told["weights"] and not profile.weighted else profile.weight_exponent
    alike = Profile(weight_exponent=exponent, graded=bool(told["graded"]))
    profile = profile._comparable(alike)  # where all weights or grades are 1 they are there all the same
    fit, new, new_labels = Fit.of(rows, basis, bool(told["weights"]))
    own = fit.profile(profile)
    names = basis.features + new
    basis.check(own, names)
    if own.q > MANY_LABELS and any(name_of(kind) in ("gram", "folds", "groups") for kind in kinds):
        raise ParameterError(f"second moments are kept of at most {MANY_LABELS} labels, the data have {own.q}: take mim or chi2")
    part = replace(part, features=new, labels=new_labels, profile=own)
    engine, release = _engine_of(rows, fit, basis.grid(own).only(np.arange(own.d)), budgets)
    kept = basis.kept
    try:
        if paired:  # refused before anything is counted
            coding = basis.coding(np.arange(len(basis.features)), *bins_of(paired[0]))
            bins = coding.bins[kept] if len(kept) else np.sort(coding.bins)[-count:]
            check_bytes(paired, bins, coding, own, *engine_budget(engine))
        if own.has_unknown:
            part = replace(part, known=engine.run(KnownRows())[0])
        sums = _sums(engine, basis, [kind for kind in kinds if kind not in paired], own)
    finally:
        release()
    if not paired:
        return States(basis, (part,), sums)
    if not len(kept):
        by = {"num_bins": coding.num_bins, "binning": coding.binning}
        (best,) = pipeline_rank(States(basis, (part,), sums).dataset(), [Request.of("mim", by)])
        basis = replace(basis, options=basis.options | {KEPT: best.ranking["name"].tolist()[:count]})
        kept = basis.kept
    engine, release = _engine_of(rows, fit, basis.grid(own).only(kept), budgets)
    try:
        with one_thread():
            for kind in paired:
                sums[kind] = in_words(pair_sums(engine, kind, basis.coding(kept, *bins_of(kind)), engine_budget(engine)[0]))
    finally:
        release()
    return States(basis, (part,), sums)


def engine_budget(engine: Engine) -> tuple[int, str]:
    """The bytes that a state of an engine may take, and the setting."""
    if engine.in_one_process:
        return engine.budgets.worker, engine.budgets.worker_setting
    return engine.budgets.driver, "driver_bytes"


def _pairs_asked(paired: Sequence[str], needs: Sequence[Need], like: Basis | None, pairs_of: int | None) -> int:
    """How many features have their pairs counted; `ParameterError` where nothing says so, or the first state differs."""
    asked = None if pairs_of is None else int(PAIRS_OF.constraint.accept(pairs_of))
    if not paired:
        if asked is not None:
            raise ParameterError(f"{setting('pairs_of')} goes with {', '.join(PAIRED)}: collect for one of them, or leave it out")
        return 0
    name = next(need.name for need in needs if paired[0] in need.kinds)
    if like is None:
        if asked is None:
            raise ParameterError(f"{name} needs the rows, or the pairs of the best features: give {setting('pairs_of', 500)}")
        return asked
    before = len(like.kept)
    if not before:
        raise ParameterError(f"the first state counts no pairs of features, which {name} takes: collect it for {name}, too")
    if asked is not None and min(asked, len(like.features)) != before:
        raise ParameterError(f"the first state counts the pairs of {before} features: leave {setting('pairs_of')} out")
    return before


def _sums(engine: Engine, basis: Basis, kinds: Sequence[str], own: Profile) -> dict[str, State]:
    every, sets = np.arange(own.d), None
    if any(name_of(kind) == "labelset counts" for kind in kinds):
        (sets,) = engine.run(LabelsetCounts())
        if not len(sets.counts):  # one labelset, of no rows
            sets = Labelsets(np.zeros(1, np.uint64), np.zeros(1, np.int64), np.zeros(2, np.int64), sets.indices)
    statistics: dict[str, Statistic] = {}
    for kind in kinds:
        name = name_of(kind)
        coding: Coding | None = None
        if name in WITHOUT_GRADES:
            coding = basis.coding(every, *bins_of(kind))
        statistics[kind] = statistic_of(kind, coding, own, basis.thin, sets if name == "labelset counts" else None)
    known = len(basis.features)
    if any(name in WITHOUT_GRADES for name in map(name_of, kinds)) and _outside(basis, own):
        coding = basis.coding(every, 2, "width")
        low, high = np.where(every < known, coding.low, -np.inf), np.where(every < known, coding.high, np.inf)
        statistics["outside"] = Outside(low, high, (every < known) & coding.binary)
    with one_thread():
        states = engine.states(*statistics.values())
    out = {}
    for kind, state in zip(statistics, states, strict=True):
        out[kind] = without_empty(kept(kind, state, own.q, sets if name_of(kind) == "labelset counts" else None))
    return out


def _outside(basis: Basis, own: Profile) -> bool:
    d = len(basis.features)
    out = (own.low[:d] < basis.low) | (own.high[:d] > basis.high) | (basis.binary & ~own.binary[:d])
    return bool(out.any())


def _engine_of(rows: Dataset, fit: Fit, profile: Profile, budgets: Budgets) -> tuple[Engine, Any]:
    """An engine over the rows as the basis has them, and what gives its memory back."""
    if isinstance(rows, InMemoryDataset):
        if rows.memory is not None:
            budgets = Budgets(driver=rows.memory, worker=rows.memory, worker_setting="memory_bytes")
        return LocalEngine(profile, [fit(block) for block in rows.blocks], budgets, rows.cores), lambda: None
    from ..blocks.pack import Packed, persist
    from ..engine.spark import SparkEngine

    assert isinstance(rows, Packed)
    frame = rows.blocks().mapInArrow(fit.batches, "block binary")
    persisted = persist(frame)
    engine = SparkEngine(replace(rows, frame=frame, profile=profile, persisted=persisted, memo=[]), budgets)

    def release() -> None:
        engine.release()
        if persisted:
            frame.unpersist()

    return engine, release


def quantile_edges(rows: Dataset, kinds: Sequence[str], budgets: Budgets) -> dict[int, np.ndarray]:
    """Inner quantiles of all features, (d, b − 1), by the numbers of bins of the kinds that go by them."""
    wanted = {int(kind.split()[-2]) for kind in kinds if kind.endswith(" quantile")}
    if not wanted:
        return {}
    same = Fit(np.arange(rows.profile.d), np.arange(rows.profile.q), rows.profile.d, rows.profile.q, rows.profile.d, True, False)
    engine, release = _engine_of(rows, same, rows.profile, budgets)
    out = {}
    try:
        for bins in wanted:
            edges = engine.coding(bins, "quantile").edges
            assert edges is not None
            out[bins] = np.full((rows.profile.d, bins - 1), np.inf)
            out[bins][rows.profile.varying] = edges
            still = rows.profile.low[rows.profile.low == rows.profile.high]  # a constant's codes: below, it, above
            ends = np.stack([np.nextafter(still, -np.inf), still], axis=1)[:, 2 - min(2, bins - 1) :]
            out[bins][rows.profile.low == rows.profile.high, : ends.shape[1]] = ends
    finally:
        release()
    return out


def _taking(needs: Sequence[Need], weighted: bool, graded: bool) -> list[Need]:
    """The needs, of rows that are `weighted` or `graded`; `ParameterError` for the first that takes no such rows, if asked for
    by its name."""
    out = []
    for need in needs:
        what = "row weights" if weighted and not need.weighted else "grades" if graded and not need.graded else None
        if what is None:
            out.append(need)
        elif not need.optional:
            raise ParameterError(f"{need.name} takes no {what}: leave them out, or choose another method")
    return out


def _like(basis: Basis, options: Mapping[str, Any], kinds: Sequence[str]) -> None:
    """`ParameterError` where rows were read otherwise than the first ones, or asked for codes that these have not."""
    for name in sorted(basis.options.keys() | options.keys()):
        mine, theirs = options.get(name), basis.options.get(name)
        if mine != theirs and (name not in ("row ids", KEPT) or name in options):
            raise ParameterError(f"the first state has {name} {theirs!r}, these rows {mine!r}: read them alike")
    lacking = [kind for kind in kinds if kind.endswith(" quantile") and int(kind.split()[-2]) not in basis.edges]
    if lacking:
        raise ParameterError(f"the first state has no edges of {lacking[0].split()[-2]} quantile bins: collect it for them, too")
