"""What a run takes in this process, and where it runs therefore.

``--dry-run`` says what a `Reckoning` says, and a run does it: both look at the same rows, before
all of a large frame are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import read
from ..blocks.held import ROWS_SHARE
from ..blocks.labels import vocabulary_of
from ..blocks.profile import Profile
from ..classify import CLASSIFIERS
from ..engine.base import ROW_COPIES
from ..engine.local import SizingEngine
from ..errors import ONE_WORKER, beyond
from ..frames.errors import notice
from ..frames.frame import LocalFrame, LocalSession, NeedsSpark
from ..frames.memory import FEATURE_BYTES, check_features
from ..frames.schema import (
    FEATURES,
    LABELS,
    attribute_metadata,
    attribute_names,
    packed_from,
)
from ..frames.scratch import Scratch
from ..lazy import cached_property
from ..pipeline import Request, Solve
from ..read.texts import corpus_of
from ..select import Screen
from ..statistics.base import Budgets, FeatureShardedStatistic, Statistic
from ..statistics.gram import Gram
from .config import RunConfig
from .work import packed

TERMS_OF_A_MATRIX = 5000  # of a text, that go into a matrix of all pairs unless told otherwise
SAMPLE = 2000  # rows that are looked at
LEAST = 50  # of them, however wide
SAMPLE_BYTES = 64 << 20  # that they take, about
PLACES = 8  # of the data that they are from
LABEL_BYTES = 32  # of a row's id and its labels, about
SURELY = 1.2  # times the memory: what is foreseen of it is no exact figure
MARGIN = 1.1  # of rows that are told by some
WHOLE_BYTES = 32 << 20  # of a frame of which all rows are looked at
# what of a profile grows with the rows
COUNTED: tuple[str, ...] = (
    "nonzero",
    "positive",
    "unknown",
    "unlabelled",
    "labelled",
    "size",
    "stored",
    "feature_label_pairs",
)
COUNTED += ("feature_unknown_pairs", "unlabelled_stored")


def open_rows(spark: Any, config: RunConfig) -> tuple[Any, list[Request]]:
    """Return the frame of a run, and its requests.

    Terms of texts have the values that the methods take, and a filter in front where they are too
    many for a matrix."""
    data = config.data
    requests = config.requests()
    frame = read.load(spark, data.path, data.format or "", **config.reader_options())
    corpus = corpus_of(frame)
    if corpus is not None:
        frame = corpus.ranked(all(r.implementation.takes_codes(r.parameters) for r in requests))
    check_features(frame, spark)
    names = attribute_names(frame, FEATURES)
    if names is not None:  # too many features are refused before the rows are read
        requests[0].for_features(names)
    return frame, _screened(requests, len(names or ()), corpus is not None, config)


def _screened(
    requests: list[Request],
    count: int,
    terms: bool,
    config: RunConfig,
) -> list[Request]:
    matrix = any(
        issubclass(kind, Gram) for request in requests for kind in request.implementation.statistics
    )
    if not matrix or config.method.screen or count <= TERMS_OF_A_MATRIX or not terms:
        return requests
    most = max([TERMS_OF_A_MATRIX, *(r.count for r in requests if isinstance(r.count, int))])
    config.method.screen = f"f-statistic:{most}"
    notice(
        f"{config.method.name} works on a matrix of all pairs of features: of the {count} "
        f"terms the {most} best by f-statistic go on (--screen says which)"
    )
    return config.requests()


@dataclass
class Holding:
    """What a run takes in one process, of rows in memory or on disk.

    `statistics` are those that are known beforehand, which share a scan, `sizes` the bytes of their
    states at most, `needed` those of all of it."""

    statistics: list[Statistic]
    sizes: list[int]
    needed: int


@dataclass
class Reckoning:
    """The bytes that `rows` like those of a `sample` take with what is counted of them.

    `scratch`: the memory of this process, and where rows go that exceed it; None on Spark. Bytes
    are upper bounds as far as the sample is like the rest."""

    sample: Profile
    rows: int
    labels: list[str]
    config: RunConfig
    scratch: Scratch | None = None
    names: Sequence[str] = ()

    @property
    def memory(self) -> int | None:
        return None if self.scratch is None else self.scratch.memory

    @cached_property
    def profile(self) -> Profile:
        """Return the profile of all rows."""
        return self.sample if self.rows == self.sample.n else scaled(self.sample, self.rows)

    @cached_property
    def requests(self) -> list[Request]:
        """Return what is ranked first: the screen, or else the methods."""
        requests = [request.for_labels(self.labels) for request in self.config.requests()]
        screen = screen_of(self.config)
        return [Request.of_filter(screen, requests[0].extras)] if screen else requests

    @cached_property
    def _in_memory(self) -> Holding:
        return _holding(self, on_disk=False)

    @cached_property
    def _on_disk(self) -> Holding:
        return _holding(self, on_disk=True)

    @cached_property
    def place(self) -> str:
        """Return where it runs: in this process, the rows in "memory" or on "disk"; on "spark"."""
        memory = self.memory
        if memory is None:
            return "spark"
        fits = self._in_memory.needed <= memory
        if fits and self.profile.size <= memory // ROWS_SHARE:
            return "memory"
        return "disk" if self._on_disk.needed <= memory else "spark"

    @property
    def held(self) -> Holding:
        """Return what is taken where it runs; on Spark what one process would take."""
        return self._on_disk if self.place == "disk" else self._in_memory

    def check(self) -> None:
        """Raise `NeedsSpark` where it does not fit, but where this process was chosen.

        What a sample foresees is no bound."""
        if self.scratch is None or self.config.run.engine != "auto":
            return
        if self.place == "spark":
            needed = self._on_disk.needed
            taken = beyond(needed, "memory_bytes", self.scratch.memory, "in this process")
            raise NeedsSpark(f"rows and statistics take about {taken}")
        lack = self.scratch.lack_of(self.profile.size) if self.place == "disk" else None
        if lack is not None:
            raise NeedsSpark(lack)

    @cached_property
    def count(self) -> int | None:
        """Return how many features are kept, None where the data decide."""
        return self.config.request().for_features(self.names).count


def _holding(reckoning: Reckoning, on_disk: bool) -> Holding:
    profile = reckoning.profile
    sizing = SizingEngine(profile, Budgets(worker=reckoning.memory or Budgets.worker))
    sizing.kept_bytes = FEATURE_BYTES * profile.d
    sizing.on_disk = on_disk
    needs = Solve(tuple(reckoning.requests)).needs(sizing)
    statistics = [*sizing.to_compute(needs).values()]
    sizes = [sizing.bytes_at_once(s) for s in statistics]
    states = [
        s.state_bytes(profile) for s in statistics if not isinstance(s, FeatureShardedStatistic)
    ]
    follow_up = [s for r in reckoning.requests for s in r.implementation.later(sizing, r.settings)]
    later = [
        sum(states) + sizing.bytes_in_one_process([s], [sizing.bytes_at_once(s)])
        for s in sizing.to_compute(follow_up).values()
    ]
    first = sizing.bytes_in_one_process(statistics, sizes)
    needed = max([first, *later, _classifier_bytes(reckoning)])
    if profile is not reckoning.sample:
        needed = int(MARGIN * needed)
    return Holding(statistics, sizes, needed)


def _classifier_bytes(reckoning: Reckoning) -> int:
    """Return the bytes of fitting the classifier, if there is one, on what is kept."""
    classifier = reckoning.config.classifier
    if not classifier.name:
        return 0
    profile = fullest(reckoning.profile, reckoning.count or reckoning.profile.d)
    beside = CLASSIFIERS.create(classifier.name).bytes_beside(profile, classifier.checked())
    return ROW_COPIES * profile.size + beside


def fullest(profile: Profile, count: int) -> Profile:
    """Return the profile of the same rows with the `count` features that are rarely empty.

    They stand for those that are kept: what says most of labels is often there."""
    features = np.sort(np.argsort(profile.stored, kind="stable")[-count:])
    stored = int(profile.stored[features].sum())
    all_values = max(1, int(profile.stored.sum()))
    facts = {name: getattr(profile, name)[features] for name in ("low", "high", "binary", "stored")}
    return dataclasses.replace(
        profile,
        **facts,
        d=len(features),
        nonzero=stored,
        size=int(profile.size * stored / all_values) + LABEL_BYTES * profile.n,
    )


def screen_of(config: RunConfig) -> Screen | None:
    """Return the filter in front, None where there is none."""
    return Screen.of(config.method.screen) if config.method.screen else None


def is_large(frame: Any) -> bool:
    """Return whether a few rows of a frame of this process tell of all, before these are read."""
    if not isinstance(frame, LocalFrame):
        return False
    if frame.bytes:
        return frame.bytes > WHOLE_BYTES
    return (frame.num_rows or 0) > SAMPLE  # rows that are made


def looked_at(frame: Any, spark: Any, config: RunConfig) -> Any:
    """Return the rows of a frame that are looked at, packed: all of a small one of this process.

    Of a large one they are from several places, with the labels of all."""
    if not isinstance(frame, LocalFrame):
        frame = frame.limit(SAMPLE)
    elif is_large(frame):
        width = max(1, frame.bytes // max(1, frame.num_rows or 1))
        rows = frame.spread(min(SAMPLE, max(LEAST, SAMPLE_BYTES // width)), PLACES)
        element = frame.kinds[LABELS].element
        if element is not None and element.text and attribute_names(frame, LABELS) is None:
            original: Any = frame
            tags = vocabulary_of(packed_from(original) or original, LABELS)
            rows = rows.withMetadata(LABELS, attribute_metadata(tags))
        frame = rows
    return packed(frame, spark, config.data.grades(), counted=config.counted)


def rows_about(frame: Any, sample: Profile) -> int:
    """Return about how many rows a frame of this process has, by its files and a `sample` of it."""
    if not is_large(frame):
        return sample.n
    rows: int | None = frame.num_rows
    size: int = frame.bytes
    if rows is not None:
        return max(sample.n, rows)
    return sample.n * size // max(1, sample.size)


def reckoned(
    frame: Any,
    sample: Any,
    config: RunConfig,
    spark: Any,
    counted: int = 0,
) -> Reckoning:
    """Return what the rows of a frame take in this process, by those `looked_at`.

    On Spark, where they were `counted`."""
    is_local = isinstance(spark, LocalSession)
    return Reckoning(
        sample.profile,
        rows_about(frame, sample.profile) if is_local else counted,
        sample.label_names,
        config,
        spark.scratch if is_local else None,
        sample.feature_names,
    )


def check_beforehand(spark: Any, frame: Any, config: RunConfig) -> None:
    """Raise `NeedsSpark` for a large frame whose rows and statistics exceed this process."""
    if isinstance(spark, LocalSession) and config.run.engine == "auto" and is_large(frame):
        with looked_at(frame, spark, config) as sample:
            reckoned(frame, sample, config, spark).check()


def check_packed(spark: Any, rows: Any, config: RunConfig) -> None:
    """Raise `NeedsSpark` for packed rows that exceed this process with their statistics."""
    if isinstance(spark, LocalSession):
        profile = rows.profile
        reckoning = Reckoning(
            profile,
            profile.n,
            rows.label_names,
            config,
            spark.scratch,
            rows.feature_names,
        )
        reckoning.check()


def check_classifier(spark: Any, rows: Any, config: RunConfig) -> None:
    """Raise `BudgetError` where the classifier surely exceeds this process, before it ranks.

    Of dense rows: what sparse ones take depends on the features that are kept."""
    name = config.classifier.name
    count = config.request().for_features(rows.feature_names).count
    if not (name and count and isinstance(spark, LocalSession)) or rows.profile.sparse:
        return
    profile = fullest(rows.profile, count)
    beside = CLASSIFIERS.create(name).bytes_beside(profile, config.classifier.checked())
    memory = spark.scratch.memory
    if ROW_COPIES * profile.size + beside > SURELY * memory:
        sizing = SizingEngine(profile, Budgets(worker=memory, worker_setting="memory_bytes"))
        sizing.must_hold_rows(beside, *sizing.state_budget, ONE_WORKER)


def scaled(sample: Profile, rows: int) -> Profile:
    """Return the profile of so many rows that are like those of a sample.

    Sparse features that the sample lacks are there in other rows: they are like those that it sees
    once at most."""
    times = rows / max(1, sample.n)

    def scale(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.ceil(value * times).astype(np.int64)
        return int(np.ceil(value * times))

    facts = {name: getattr(sample, name) for name in COUNTED}
    lacking = sample.stored == 0
    if sample.sparse and times > 1 and lacking.any() and not lacking.all():
        stored = sample.stored.astype(np.float64)
        rare = stored <= 1
        stored[rare] = stored[rare].mean()
        facts["stored"] = stored
        facts["high"] = np.where(lacking, sample.high[~lacking].max(), sample.high)
        facts["binary"] = np.where(lacking, sample.binary[~lacking].all(), sample.binary)
    counts = {name: scale(facts[name]) for name in COUNTED}
    return dataclasses.replace(sample, n=rows, labelsets=0, **{**facts, **counts})
