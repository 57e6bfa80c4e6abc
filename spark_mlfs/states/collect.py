"""From rows to states, on the basis of the first ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import params as spec
from .. import pipeline
from ..adapters.arrays import in_arrays, memory_of
from ..blocks.arrays import pack_arrays, packed_chunks
from ..blocks.codec import State
from ..blocks.coding import OCCURRENCE
from ..blocks.dataset import Dataset, InMemoryDataset
from ..blocks.grades import SETTINGS as GRADING
from ..blocks.grades import Grades
from ..blocks.profile import Profile
from ..blocks.streams import as_frame, as_table, chunks_of
from ..blocks.table_labels import labels_of as labels_of_rows
from ..engine.base import Engine, one_thread
from ..engine.disk import engine_of
from ..errors import ParameterError, setting, spelled_by
from ..frames.scratch import Scratch
from ..kernels.missing import KEEP
from ..lazy import DataFrame
from ..methods.regression import MANY_LABELS
from ..output.manifest import now
from ..statistics.base import Budgets, Statistic
from ..statistics.contingency import TwoWay
from ..statistics.gram import FoldGrams, Gram
from ..statistics.labelsets import LabelsetCounts, Labelsets, LabelsetSums
from ..statistics.moments import GroupMoments, KnownRows
from ..statistics.targets import Classes
from ..typing import Column, Labels, Table
from .basis import AS_THEY_ARE, PAIRS_OPTION, TERMS, Basis, RowLayout
from .idf import TFIDF
from .kinds import PAIR_KINDS, bins_of, name_of
from .needs import PAIRED, PAIRS_OF, WITHOUT_GRADES, Need, needs_of
from .own_statistics import DeclaredLabels, Fingerprint, KeyedGrams, OutOfRangeCounts
from .pairs import check_bytes, pair_sums
from .states import CollectedPart, States, check_type, summed
from .sums import in_words, without_empty

TAGS = "_spark_mlfs_tags"  # the column of labels that are made of texts


@spelled_by(in_arrays)
def collect(  # noqa: PLR0913
    data: Table | DataFrame,
    labels: Labels | str | None = None,
    methods: str | Sequence[str] = "mim",
    like: States | None = None,
    *,
    name: str = "",
    pairs_of: int | None = None,
    method_params: Mapping[str, Any] | None = None,
    sample_weight: Column | str | None = None,
    row_ids: Column | str | None = None,
    label_delimiter: str | None = None,
    label_key: str | None = None,
    missing: str = "error",
    memory_bytes: int | None = None,
    **grading: Any,
) -> States:
    """Return the sums over these rows that `methods` need.

    Rules (fdr, fwe, fpr, stability) and ``"cross-validation"`` may be among the methods.

    Parameters
    ----------
    data, labels : a table and its labels as `spark_mlfs.rank` takes them, and likewise
        `sample_weight`, `row_ids`, `label_delimiter`, `label_key`, `graded_labels`, `grade_range`,
        `label_cuts`, `missing`; or a Spark frame, and the names of its columns of labels, of
        weights and of row ids, its features being in ``features``; None: the row ids are in
        ``id``, where there is such a column
    methods : names of methods and rules, or ``"all-additive"``
    like : states that were collected first: codes and grids are theirs, so that these can be merged
        with them
    name : what the rows are called, such as their day; the same rows are not merged twice, under
        another name either
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
    if like is not None:
        check_type(like, "give such an object as like")
    grades = Grades.of(spec.check(GRADING, grading, "collect"))
    budgets = Budgets(driver=memory_of(memory_bytes), worker=memory_of(memory_bytes))
    reading: dict[str, Any] = {
        "weights": sample_weight is not None,
        "graded": grades is not None and not grades.cuts,
        "missing": missing,
        "grade_range": grading.get("grade_range"),
        "label_cuts": grading.get("label_cuts"),
    }
    frame: Any = data
    if type(data).__module__.startswith("pyspark."):
        from ..blocks.pack import pack
        from ..frames.schema import FEATURES, ID, LABELS
        from ..read.columns import labels_of
        from ..read.texts import corpus_of

        corpus = corpus_of(frame)
        if corpus is not None:
            frame, reading[TERMS] = corpus.summable()
        label_column: Any = labels or LABELS
        if label_delimiter is not None or label_key is not None:
            options = {"label_delimiter": label_delimiter, "label_key": label_key}
            frame, label_column = labels_of(frame, {"labels": label_column, **options}, TAGS)
        row_id: Any = row_ids
        if row_ids is None and ID in frame.columns:
            row_id = ID
        weight: Any = sample_weight
        rows: Dataset = pack(
            frame,
            FEATURES,
            label_column,
            row_id,
            weight=weight,
            grades=grades,
            partial_rows=True,
        )
        budgets = Budgets()
    else:
        refuse_mean(missing)
        Y = as_frame(labels)
        chunks = None if like is None or missing == "drop" else chunks_of(data)
        if chunks is not None:
            labelled = labels_of_rows(Y, grades, label_delimiter, key=label_key)
            packed = packed_chunks(
                chunks,
                labelled,
                sample_weight,
                row_ids,
                grades,
                missing,
            )
            by_chunk = (
                _collected(rows, needs, like, name, reading, budgets, pairs_of) for rows in packed
            )
            return reduce(_as_one_part, by_chunk)
        rows, _ = pack_arrays(
            as_table(data),
            Y,
            sample_weight,
            grades,
            label_delimiter,
            missing,
            partial_rows=True,
            ids=row_ids,
            label_key=label_key,
            scratch=Scratch(budgets.worker),
        )
    with rows:
        return _collected(rows, needs, like, name, reading, budgets, pairs_of)


def _collected(
    rows: Dataset,
    needs: Sequence[Need],
    like: States | None,
    name: str,
    reading: Mapping[str, Any],
    budgets: Budgets,
    pairs_of: int | None,
) -> States:
    """Return the states of packed rows of this process that are called `name`."""
    part = CollectedPart(
        name,
        now(),
        "",
        [],
        [],
        rows.profile,
    )
    return collected(
        rows,
        needs,
        like,
        part,
        reading,
        budgets,
        pairs_of,
    )


def _as_one_part(states: States, following: States) -> States:
    """Return the states of rows, and of those behind them, as they are of all at once."""
    total = summed((states, following))
    part = replace(
        total.parts[0],
        features=total.features[len(total.basis.features) :],
        labels=total.labels[len(total.basis.labels) :],
        profile=total.profile,
        known=total.known() if total.has_unknown else None,
    )
    return replace(total, parts=(part,))


def refuse_mean(missing: Any) -> None:
    """Raise `ParameterError` for what each window of rows would fill otherwise."""
    if missing in ("mean", KEEP):
        raise ParameterError(
            f"missing={missing!r} fills rows of each time with another number: fill them first, or "
            "give zero or drop"
        )


def collected(
    rows: Dataset,
    needs: Sequence[Need],
    like: States | None,
    part: CollectedPart,
    reading: Mapping[str, Any],
    budgets: Budgets,
    pairs_of: int | None = None,
) -> States:
    """Return the states of packed rows.

    `part` has what is known of where they come from, `reading` how they were read."""
    weighted = bool(reading["weights"])
    graded = bool(reading["graded"])
    needs = _applicable(needs, weighted, graded)
    kinds = tuple(dict.fromkeys(kind for need in needs for kind in need.kinds))
    paired = [kind for kind in kinds if name_of(kind) in PAIR_KINDS]
    unpaired = [kind for kind in kinds if kind not in paired]
    options = _options_of(reading)
    if rows.profile.terms:
        options.setdefault(TERMS, [AS_THEY_ARE])
    if any(name_of(kind) in ("groups", "folds") for kind in kinds):
        options["row ids"] = rows.profile.named_ids
    if like is None:
        edges = quantile_edges(rows, kinds, budgets)
        by_occurrence = any(kind.endswith(OCCURRENCE) for kind in kinds)
        basis = Basis.of(rows, options, edges, by_occurrence)
    else:
        basis = like.basis
        _check_like(basis, options, kinds)
    first_basis = None if like is None else basis
    count = _number_of_paired(paired, needs, first_basis, pairs_of)
    layout, new, new_labels = RowLayout.of(rows, basis, weighted)
    profile = layout.profile(_comparable(rows.profile, weighted, graded))
    basis.check(profile, basis.features + new)
    _check_number_of_labels(profile, kinds)
    part = replace(part, features=new, labels=new_labels, profile=profile)
    grid = basis.grid(profile).only(np.arange(profile.d))
    with _engine_of(rows, layout, grid, budgets) as engine:
        if paired:  # refused before anything is counted
            coding = basis.coding(np.arange(len(basis.features)), *bins_of(paired[0]))
            most = np.sort(coding.bins)[-count:]  # whichever features will be the best
            bins = coding.bins[basis.paired] if len(basis.paired) else most
            check_bytes(
                paired,
                bins,
                coding,
                profile,
                *engine.state_budget,
            )
        if not layout.in_place:  # the hashes are those of other columns
            (fingerprint,) = engine.run(Fingerprint())
            part = replace(part, profile=replace(part.profile, fingerprint=fingerprint))
        if profile.has_unknown:
            part = replace(part, known=engine.run(KnownRows())[0])
        sums = _sums(engine, basis, unpaired, profile)
    if not paired:
        return States(basis, (part,), sums)
    if not len(basis.paired):
        bins_settings = {"num_bins": coding.num_bins, "binning": coding.binning}
        best = _best_by_mim(States(basis, (part,), sums), bins_settings)
        basis = replace(basis, options=basis.options | {PAIRS_OPTION: best[:count]})
    grid = basis.grid(profile).only(basis.paired)
    with _engine_of(rows, layout, grid, budgets) as engine, one_thread():
        for kind in paired:
            coding = basis.coding(basis.paired, *bins_of(kind))
            sums[kind] = in_words(pair_sums(engine, kind, coding, engine.state_budget[0]))
    return States(basis, (part,), sums)


def _options_of(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return how rows were read as a manifest has it: what is not the default, tuples as lists."""
    options = {}
    for name, value in reading.items():
        value = list(value) if isinstance(value, tuple) else value
        if value is not None and value != "error":
            options[name] = value
    return options


def _comparable(profile: Profile, weighted: bool, graded: bool) -> Profile:
    """Return the profile of rows that have weights and grades even where all are 1."""
    exponent = profile.weight_exponent
    if weighted and not profile.weighted:
        exponent = 0
    return profile._comparable(Profile(weight_exponent=exponent, graded=graded))


def _check_number_of_labels(profile: Profile, kinds: Sequence[str]) -> None:
    has_moments = any(name_of(kind) in ("gram", "folds", "groups") for kind in kinds)
    if has_moments and profile.q > MANY_LABELS:
        raise ParameterError(
            f"second moments are kept of at most {MANY_LABELS} labels, the data have {profile.q}: "
            "take mim or chi2"
        )


def _best_by_mim(states: States, settings: Mapping[str, Any]) -> list[str]:
    """Return the names of all features, the best first."""
    request = pipeline.Request.of("mim", settings)
    (best,) = pipeline.rank(states.dataset(), [request])
    names: list[str] = best.ranking["name"].tolist()
    return names


def _number_of_paired(
    paired: Sequence[str],
    needs: Sequence[Need],
    first_basis: Basis | None,
    pairs_of: int | None,
) -> int:
    """Return how many features have their pairs counted.

    Raises `ParameterError` where no number is given, or the first state has another."""
    count = None if pairs_of is None else int(PAIRS_OF.constraint.accept(pairs_of))
    if not paired:
        if count is not None:
            raise ParameterError(
                f"{setting('pairs_of')} goes with {', '.join(PAIRED)}: collect for one of them, or "
                "leave it out"
            )
        return 0
    name = next(need.name for need in needs if paired[0] in need.kinds)
    if first_basis is None:
        if count is None:
            raise ParameterError(
                f"{name} needs the rows, or the pairs of the best features: give "
                f"{setting('pairs_of', 500)}"
            )
        return count
    before = len(first_basis.paired)
    if not before:
        raise ParameterError(
            f"the first state counts no pairs of features, which {name} takes: collect it for "
            f"{name}, too"
        )
    if count is not None and min(count, len(first_basis.features)) != before:
        raise ParameterError(
            f"the first state counts the pairs of {before} features: leave {setting('pairs_of')} "
            "out"
        )
    return before


def _applicable(needs: Sequence[Need], weighted: bool, graded: bool) -> list[Need]:
    """Return the needs that rows which are `weighted` or `graded` can meet.

    Raises `ParameterError` for the first that takes no such rows, where it is not optional."""
    out = []
    for need in needs:
        if weighted and not need.weighted:
            obstacle = "row weights"
        elif graded and not need.graded:
            obstacle = "grades"
        else:
            out.append(need)
            continue
        if not need.optional:
            raise ParameterError(
                f"{need.name} takes no {obstacle}: leave them out, or choose another method"
            )
    return out


def _check_like(basis: Basis, options: Mapping[str, Any], kinds: Sequence[str]) -> None:
    """Raise `ParameterError` where rows were read otherwise than the first ones.

    Also where they need codes that these have not."""
    for name in sorted(basis.options.keys() | options.keys()):
        mine = options.get(name)
        theirs = basis.options.get(name)
        if name == TERMS and theirs is None and TFIDF not in (mine or ()):
            continue  # states of earlier versions do not tell
        optional = name in ("row ids", PAIRS_OPTION) and name not in options
        if mine != theirs and not optional:
            raise ParameterError(
                f"the first state has {name} {theirs!r}, these rows {mine!r}: read them alike"
            )
    for kind in kinds:
        if kind.endswith(OCCURRENCE) and basis.rules is None:
            raise ParameterError(
                "the first state was not collected for quota: collect it for that, too"
            )
        if " quantile" not in kind:
            continue
        bins, binning = bins_of(kind)
        if bins not in basis.edges:
            raise ParameterError(
                f"the first state has no edges of {bins} {binning} bins: collect it for them, too"
            )


# ---- sums ----


def _sums(
    engine: Engine,
    basis: Basis,
    kinds: Sequence[str],
    profile: Profile,
) -> dict[str, State]:
    """Return the sums of these kinds as they are kept.

    With them in how many rows features are outside the edges, if some are."""
    sets: Labelsets | None = None
    if any(name_of(kind) == "labelset counts" for kind in kinds):
        sets = _labelsets(engine)
    statistics = {kind: _statistic_of(kind, basis, profile, sets) for kind in kinds}
    if any(name_of(kind) in WITHOUT_GRADES for kind in kinds):
        outside = _out_of_range(basis, profile)
        if outside is not None:
            statistics["outside"] = outside
    with one_thread():
        states = engine.states(*statistics.values())
    sums = {}
    for kind, raw in zip(statistics, states, strict=True):
        sums[kind] = without_empty(_as_held(kind, raw, profile.q, sets))
    return sums


def _labelsets(engine: Engine) -> Labelsets:
    """Return the labelsets of the rows; one labelset, of no rows, where there are none."""
    sets: Labelsets = engine.run(LabelsetCounts())[0]
    if len(sets.counts):
        return sets
    no_hash = np.zeros(1, np.uint64)
    no_rows = np.zeros(1, np.int64)
    return Labelsets(no_hash, no_rows, np.zeros(2, np.int64), sets.indices)


def _statistic_of(
    kind: str,
    basis: Basis,
    profile: Profile,
    sets: Labelsets | None,
) -> Statistic:
    """Return the statistic whose state a kind keeps; `sets` are those of counts by labelset."""
    name = name_of(kind)
    by = "grades" if profile.graded else "labels"
    labels = DeclaredLabels(profile.q, undeclared=profile.has_unknown)
    if name == "counts":
        return TwoWay(basis.coding(np.arange(profile.d), *bins_of(kind)), labels)
    if name == "labelset counts":
        assert sets is not None
        classes = Classes(sets.hashes, sets.counts)
        return TwoWay(basis.coding(np.arange(profile.d), *bins_of(kind)), classes)
    if name == "labelsets":
        return LabelsetCounts(by)
    if name == "labelset sums":
        return LabelsetSums(by, squares=True)
    if name == "moments":
        return GroupMoments(labels, basis.thin)
    if name == "gram":
        return Gram()
    if name == "groups":
        return KeyedGrams()
    return FoldGrams(int(kind.split()[-1]))


def _out_of_range(basis: Basis, profile: Profile) -> OutOfRangeCounts | None:
    """Return the counts of rows outside the edges, None where the profile excludes that."""
    d = len(basis.features)
    if profile.terms:  # they occur or do not
        return None
    below = profile.low[:d] < basis.low
    above = profile.high[:d] > basis.high
    third_value = basis.binary & ~profile.binary[:d]
    if not (below | above | third_value).any():
        return None
    features = np.arange(profile.d)
    coding = basis.coding(features, 2, "width")
    known = features < d  # new features have no edges yet
    low = np.where(known, coding.low, -np.inf)
    high = np.where(known, coding.high, np.inf)
    return OutOfRangeCounts(low, high, known & coding.binary)


def _as_held(
    kind: str,
    raw: State,
    q: int,
    sets: Labelsets | None,
) -> State:
    """Return the state of a statistic as its kind is kept.

    `sets` are the labelsets that were counted beforehand."""
    name = name_of(kind)
    out = dict(raw)
    if name in WITHOUT_GRADES:
        table = raw["table"]
        out = {"table": table.T.tocsr() if sp.issparse(table) else table}
    if name.startswith("labelset"):
        if name != "labelset counts" or sets is None:
            fields = ("hashes", "counts", "indptr", "indices", "grades")
            sets = Labelsets(**{field: out.pop(field, None) for field in fields})
        values = np.ones(len(sets.indices), np.int64) if sets.grades is None else sets.grades
        cells = (values, sets.indices, sets.indptr)
        out["sets"] = sp.csr_matrix(cells, (len(sets.counts), q))
        out["counts"] = sets.counts
    if name in ("labelset sums", "moments"):
        for key, value in out.items():
            if isinstance(value, np.ndarray) and value.ndim == 2:
                out[key] = value.T
    return in_words(out)


@contextmanager
def _engine_of(
    rows: Dataset,
    layout: RowLayout,
    profile: Profile,
    budgets: Budgets,
) -> Iterator[Engine]:
    """Yield an engine over the rows as the basis has them; its memory is given back in the end."""
    if isinstance(rows, InMemoryDataset):
        if rows.memory is not None:
            budgets = Budgets(driver=rows.memory, worker=rows.memory, worker_setting="memory_bytes")
        with engine_of(replace(rows, profile=profile), budgets) as engine:
            engine.map_blocks(layout)
            yield engine
        return
    from ..blocks.pack import Packed, persist
    from ..engine.spark import SparkEngine

    assert isinstance(rows, Packed)
    frame = rows.blocks().mapInArrow(layout.batches, "block binary")
    fitted = replace(
        rows,
        frame=frame,
        profile=profile,
        persisted=persist(frame),
        memo=[],
        relabelled=[],
    )
    with fitted, SparkEngine(fitted, budgets) as engine:
        yield engine


def quantile_edges(rows: Dataset, kinds: Sequence[str], budgets: Budgets) -> dict[int, np.ndarray]:
    """Return inner quantiles of all features, (d, b − 1), by the numbers of bins of the `kinds`."""
    num_bins = {bins_of(kind)[0] for kind in kinds if " quantile" in kind}
    if not num_bins:
        return {}
    profile = rows.profile
    d = profile.d
    q = profile.q
    unchanged = RowLayout(
        np.arange(d),
        np.arange(q),
        d,
        q,
        d,
        True,
        False,
    )
    constant = profile.low == profile.high
    value = profile.low[constant]  # its codes: below, it, above
    constant_edges = np.stack([np.nextafter(value, -np.inf), value], axis=1)
    out = {}
    with _engine_of(rows, unchanged, profile, budgets) as engine:
        for bins in num_bins:
            edges = np.full((d, bins - 1), np.inf)
            edges[profile.varying] = engine.coding(bins, "quantile").edges
            width = min(2, bins - 1)
            edges[constant, :width] = constant_edges[:, 2 - width :]
            out[bins] = edges
    return out
