"""Data this library makes itself, for trying things on rows of any number.

They are the Number set of the MSFS paper, sets with planted relevant features, and tables as users
have them: documents with tags, embeddings with tags.

Every value of the sets is a function of (seed, row id, draw) by the SplitMix64 mixer and integer
arithmetic, so a row is the same under any partitioning and on any machine. Row i of a table depends
on (seed, i) alone, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy import ndarray

from ..errors import ParameterError, option
from ..formats import Reader
from ..frames import vectors
from ..frames.frame import Batches, Kind, LocalFrame, LocalSession
from ..frames.schema import FEATURES, LABELS, with_names
from ..frames.vectors import Vectors, canonical, canonical_batch
from ..kernels.hashing import GOLDEN, in_unit, mixed
from ..lazy import DataFrame, SparkSession
from ..params import REQUIRED, Integer, Number, Optional, Parameter, Values


def mix(counters: ndarray) -> ndarray:
    """Return SplitMix64's output of 64-bit counters, each multiplied by its increment."""
    state = np.array(counters, np.uint64)
    with np.errstate(over="ignore"):
        state *= np.uint64(GOLDEN)
    return mixed(state)


def keys(seed: int, stream: int, rows: ndarray) -> ndarray:
    """Return one 64-bit key per row: draw number k of the row is ``mix(key + k)``."""
    start = mix(np.array([seed & 0xFFFFFFFFFFFFFFFF], np.uint64))
    start = mix(start ^ np.uint64(stream))
    return mix(np.asarray(rows).astype(np.uint64) ^ start)


def _draws(key: ndarray, draws: ndarray) -> ndarray:
    with np.errstate(over="ignore"):
        numbers = np.asarray(draws).astype(np.uint64)
        return mix(key[:, None] + numbers[None, :])


def _below(bits: ndarray, n: int | ndarray) -> ndarray:
    """Return a draw from 0..n-1 out of the upper 32 bits."""
    upper = bits >> np.uint64(32)
    scaled = upper * np.asarray(n).astype(np.uint64)
    return (scaled >> np.uint64(32)).astype(np.int64)


_BELL_CENTRE = 2 * 65535
# standard deviation of the sum of four 16-bit numbers
_BELL_SCALE = float(np.sqrt(4 * (65536.0**2 - 1) / 12))


def _bell(bits: ndarray) -> ndarray:
    """Return an integer nearly normal about 0 with deviation `_BELL_SCALE`.

    It is the sum of the four 16-bit parts, centred."""
    low = np.uint64(0x0000FFFF0000FFFF)
    half = bits & low
    half += (bits >> np.uint64(16)) & low
    total = (half & np.uint64(0xFFFFFFFF)).view(np.int64)
    total += (half >> np.uint64(32)).view(np.int64)
    total -= _BELL_CENTRE
    return total


def _count_of(name: str) -> Parameter:
    return Parameter(f"num_{name}", REQUIRED, Integer(1, 1 << 53), f"how many {name}")


NUM_ROWS = _count_of("rows")
NUM_FEATURES = _count_of("features")
NUM_LABELS = _count_of("labels")
SEED = Parameter("seed", 0, Integer(), "of every draw")
NUM_PARTITIONS = Parameter(
    "num_partitions", None, Optional(Integer(1, 100_000)), "of the frame; None: as Spark has it"
)
PART_ROWS = 1 << 15  # that one core makes at a time in this process


# ---- Number set ----

CELLS = 5
SIDE = 9
NUMBER_CARDINALITY = 3.3265  # "ANL" of Number in the MSFS paper, table 1
# A cell holds a given digit with chance p/10 and 10·(1 − (1 − p/10)^5) is the expected number of
# distinct digits.
# 0.7769; blank otherwise, 0.2231
DIGIT_PROBABILITY = 10 * (1 - (1 - NUMBER_CARDINALITY / 10) ** (1 / CELLS))


class Numbers(Reader):
    """The Number set of the MSFS paper, rebuilt: five pictures a row, labels the digits in them.

    The paper (section 5.1, table 1) says: 2000 rows, 405 features, 10 labels, each row five
    pictures of 81 pixels, some without a number; 3.3265 labels a row, 98.25 % of the rows with two
    or more. Its data were never published. Here a picture is one of scikit-learn's 1797 bundled 8×8
    digits (0..16) at one of the four places of a 9×9 cell, with probability 0.7769 (which gives
    3.3265 labels expected, and two or more in 98.0 % of the rows), or blank. Rows 0..999 are the
    paper's training half, the rest its test half.

    `noise`: the standard deviation of a bell-shaped noise on every pixel, as a share of 16 (the
    paper adds 15 % noise to each of its sets: 0.15). Features are ``cell0_r0_c0`` ..
    ``cell4_r8_c8``, labels ``0`` .. ``9``.

    >>> import spark_mlfs
    >>> frame = spark_mlfs.read.numbers(spark_mlfs.local_session(), num_rows=4)
    >>> frame.first()["features"].size, frame.first()["labels"]
    (405, SparseVector(10, {2: 1.0, 4: 1.0, 7: 1.0}))"""

    name = "numbers"
    title = "the Number set of the MSFS paper, rebuilt"
    source = "MSFS"
    local = True
    takes_path = False
    parameters = (
        SEED,
        replace(NUM_ROWS, default=2000),
        Parameter(
            "noise",
            0.0,
            Number(0, 100),
            "deviation of the noise on every pixel, a share of the brightest",
        ),
        NUM_PARTITIONS,
    )

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        images, target = _digits()
        images = images[np.argsort(target, kind="stable")]
        counts = np.bincount(target, minlength=10)
        rows = partial(
            _number_rows,
            seed=p["seed"],
            images=images,
            counts=counts,
            noise=p["noise"],
        )
        frame = canonical(ids_of(spark, p["num_rows"], p["num_partitions"]), rows)
        pixels = np.ndindex(CELLS, SIDE, SIDE)
        names = [f"cell{k}_r{r}_c{c}" for k, r, c in pixels]
        digits = [str(digit) for digit in range(10)]
        return with_names(with_names(frame, FEATURES, names), LABELS, digits)


def _digits() -> tuple[ndarray, ndarray]:
    """Return scikit-learn's digits: images (1797, 8, 8) uint8 and the digit of each.

    Its `load_digits` takes a second of imports."""
    spec = find_spec("sklearn")
    if spec is None or not spec.submodule_search_locations:
        raise ParameterError(
            "format 'numbers' is made of scikit-learn's digits: pip install scikit-learn"
        )
    package = spec.submodule_search_locations[0]
    file = Path(package, "datasets", "data", "digits.csv.gz")
    table = np.loadtxt(file, np.uint8, delimiter=",")
    images = table[:, :-1].reshape(-1, 8, 8)
    return images, table[:, -1].astype(np.int64)


def ids_of(spark: SparkSession, num_rows: int, num_partitions: int | None) -> DataFrame:
    """Return the ids 0 to `num_rows` - 1 as a frame of the session."""
    if isinstance(spark, LocalSession):
        parts = [
            partial(_range, a, min(num_rows, a + PART_ROWS)) for a in range(0, num_rows, PART_ROWS)
        ]
        return LocalFrame(parts, {"id": Kind("bigint")}, num_rows=num_rows)
    return spark.range(0, num_rows, 1, num_partitions)


def _range(first: int, end: int) -> Batches:
    yield pa.RecordBatch.from_pydict({"id": np.arange(first, end)})


def _number_rows(
    batches: Batches,
    seed: int,
    images: ndarray,
    counts: ndarray,
    noise: float,
) -> Batches:
    first = np.cumsum(counts) - counts
    for ids in _pieces(batches, 2048):
        n = len(ids)
        bits = _draws(keys(seed, 1, ids), np.arange(4 * CELLS)).reshape(n, CELLS, 4)
        shown = in_unit(bits[..., 0]) < DIGIT_PROBABILITY
        digit = _below(bits[..., 1], 10)
        image = first[digit] + _below(bits[..., 2], counts[digit])
        corner = _below(bits[..., 3], 4)
        cells = np.zeros((n, CELLS, SIDE, SIDE))
        for place in range(4):
            row, cell = np.nonzero(shown & (corner == place))
            r, c = divmod(place, 2)
            cells[row, cell, r : r + 8, c : c + 8] = images[image[row, cell]]
        features = cells.reshape(n, -1)
        if noise:
            error = _bell(_draws(keys(seed, 2, ids), np.arange(features.shape[1])))
            features += error * (16 * noise / _BELL_SCALE)
        labels = np.zeros((n, 10))
        row, cell = np.nonzero(shown)
        labels[row, digit[row, cell]] = 1
        label_cells = vectors.sparse_from_matrix(labels)
        yield canonical_batch(ids, vectors.dense(features), label_cells)


def _pieces(batches: Batches, size: int) -> Iterator[ndarray]:
    for batch in batches:
        ids = np.asarray(batch.column(0))
        yield from (ids[start : start + size] for start in range(0, len(ids), size))


# ---- planted features ----


@dataclass
class PlantedTruth:
    """Where `planted` put what; `weights` are relevant × labels.

    ``redundant[k]`` is made from ``redundant_of[k]``.

    >>> truth = planted_truth(num_features=10, num_labels=2)
    >>> truth.redundant.tolist(), truth.redundant_of.tolist()
    ([8], [5])"""

    relevant: ndarray
    redundant: ndarray
    redundant_of: ndarray
    noise: ndarray
    names: list[str]
    weights: ndarray = field(repr=False)


def planted_truth(
    num_features: int,
    num_labels: int,
    num_relevant: int | None = None,
    num_redundant: int | None = None,
    seed: int = 0,
) -> PlantedTruth:
    """Return the places of the relevant, redundant and noise features of `planted`.

    The arguments are the same.

    >>> truth = planted_truth(num_features=10, num_labels=2)
    >>> truth.relevant.tolist(), truth.names[5]
    ([5, 9], 'relevant_0')"""
    options = {
        "num_rows": 1,
        "num_features": num_features,
        "num_labels": num_labels,
        "num_relevant": num_relevant,
        "num_redundant": num_redundant,
        "seed": seed,
    }
    return _truth(Planted().check(None, options))


def _truth(p: Values) -> PlantedTruth:
    d = p["num_features"]
    q = p["num_labels"]
    r = p["num_relevant"]
    s = p["num_redundant"]
    seed = p["seed"]
    if r is None:
        r = min(d, max(1, min(20, d // 5)))
    if s is None:
        s = min(r // 2, max(d - r, 0))
    if r + s > d:
        raise ParameterError(
            f"{option('num_relevant', r)} and {option('num_redundant', s)} exceed "
            f"{option('num_features', d)}; lower one or raise it"
        )
    draws = mix(np.arange(d).astype(np.uint64) + keys(seed, 3, np.array([0])))
    order = np.argsort(draws, kind="stable")
    relevant = order[:r]
    redundant = order[r : r + s]
    noise = np.sort(order[r + s :])
    source = np.arange(s) % r
    names_by_kind = [f"relevant_{k}" for k in range(r)]
    names_by_kind += [f"redundant_{k}_of_{base}" for k, base in enumerate(source)]
    names_by_kind += [f"noise_{k}" for k in range(len(noise))]
    place = np.argsort(np.concatenate([relevant, redundant, noise]))
    names = [names_by_kind[k] for k in place]
    # Each relevant feature drives label k mod q, and each label about three: whole weights ±4..±8
    # keep sums exact.
    bits = _draws(keys(seed, 4, np.arange(r)), np.arange(q))
    size = 4 + _below(bits, 5)
    sign = np.where(bits & np.uint64(1), 1, -1)
    extra = _below(bits << np.uint64(20), max(r, 3)) < 2
    main_label = np.arange(r) % q
    used = extra | (main_label[:, None] == np.arange(q)[None, :])
    for label in np.flatnonzero(~used.any(axis=0)):
        used[label % r, label] = True
    weights = np.where(used, size * sign, 0).astype(np.float64)
    return PlantedTruth(
        relevant,
        redundant,
        relevant[source],
        noise,
        names,
        weights,
    )


class Planted(Reader):
    """A data set whose relevant, redundant and noise features are known.

    Row i depends on (arguments, seed, i) only.

    Dense (``density=None``): a feature is nearly normal with mean 0 and variance 1 (sum of four
    16-bit draws). Sparse: a feature is 0 with probability 1 − density, else uniform on (0.5, 1.5);
    the relevant and redundant ones have density ``max(density, 0.1)``, so that they can be found in
    very sparse data.

    Label l is 1 where Σ_r w_rl x_r + noise·σ_l·ε exceeds a threshold; w whole numbers ±4..±8 for
    the features of that label (each label has at least one, about three; each relevant feature
    drives at least one label), ε nearly normal, σ_l the deviation of the sum. The threshold is the
    quantile that makes every label positive in a share ``cardinality / num_labels`` of a reference
    sample; `cardinality` defaults to a quarter of the labels, at most 2.5. Redundant features: a
    noisy copy (deviation 0.3) of a relevant one, or its cube (monotone) plus that noise, in turn.
    In sparse data the redundant one is stored where its source is, with factor 0.8..1.2.

    Defaults: num_relevant a fifth of the features, at most 20; num_redundant half of that. Names
    tell the kind: ``relevant_3``, ``redundant_2_of_3``, ``noise_17``; positions are shuffled by the
    seed (see `planted_truth`).

    >>> import spark_mlfs
    >>> sizes = {"num_rows": 3, "num_features": 6, "num_labels": 2}
    >>> frame = spark_mlfs.read.planted(spark_mlfs.local_session(), **sizes)
    >>> frame.count(), frame.first()["labels"]
    (3, SparseVector(2, {1: 1.0}))"""

    name = "planted"
    title = "made rows whose relevant, redundant and noise features are known"
    local = True
    takes_path = False
    parameters = (
        NUM_ROWS,
        NUM_FEATURES,
        NUM_LABELS,
        Parameter(
            "num_relevant", None, Optional(Integer(1)), "None: a fifth of the features, at most 20"
        ),
        Parameter("num_redundant", None, Optional(Integer(0)), "None: half of num_relevant"),
        Parameter(
            "density",
            None,
            Optional(Number(0, 1, above=True)),
            "share of a feature's values that are not 0; None: dense",
        ),
        Parameter(
            "noise", 0.5, Number(0), "deviation of the noise of a label's sum, a share of its own"
        ),
        Parameter(
            "cardinality",
            None,
            Optional(Number(0, above=True)),
            "labels a row; None: a quarter of them, at most 2.5",
        ),
        SEED,
        NUM_PARTITIONS,
    )

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        q = p["num_labels"]
        density = p["density"]
        cardinality = p["cardinality"]
        if density == 1:
            raise ParameterError(
                f"{option('density', density)}: it is between 0 and 1, or None for dense data"
            )
        if cardinality is None:
            cardinality = min(0.25 * q, 2.5)
        if not cardinality < q:
            raise ParameterError(
                f"{option('cardinality', cardinality)}: it is between 0 and "
                f"{option('num_labels', q)}"
            )
        truth = _truth(p)
        plan = _Planted(
            truth,
            p["num_features"],
            q,
            density,
            p["noise"],
            cardinality / q,
            p["seed"],
        )
        ids = ids_of(spark, p["num_rows"], p["num_partitions"])
        frame = canonical(ids, partial(_planted_rows, plan=plan))
        labels = [f"label_{k}" for k in range(q)]
        return with_names(with_names(frame, FEATURES, truth.names), LABELS, labels)


class _Planted:
    """The rule of one planted set.

    Scores are sums of whole numbers below 2^53, exact in any order of addition."""

    def __init__(
        self,
        truth: PlantedTruth,
        d: int,
        q: int,
        density: float | None,
        noise: float,
        prevalence: float,
        seed: int,
    ):
        self.d = d
        self.q = q
        self.density = density
        self.seed = seed
        self.relevant = truth.relevant
        self.redundant = truth.redundant
        self.weights = truth.weights
        position_of = {int(f): k for k, f in enumerate(truth.relevant)}
        self.source = np.array([position_of[int(f)] for f in truth.redundant_of], np.int64)
        # So many draws with replacement that the expected number of distinct positions is
        # density·d.
        self.draws = 1.0
        if density is not None and d > 1:
            self.draws = float(np.log1p(-density) / np.log1p(-1 / d))
        # Reference rows have ids no data row has; the quantile of their scores is the threshold.
        reference = np.arange(8192) + (1 << 62)
        quantile = round((1 - prevalence) * (len(reference) - 1))
        self.noise_scale = np.zeros(q)
        self.threshold = np.zeros(q)
        values = self.relevant_values(reference)
        for part in self._label_blocks(len(reference)):
            deviation = (values @ self.weights[:, part]).std(axis=0)
            self.noise_scale[part] = np.rint(noise * deviation / _BELL_SCALE * 1024)
            score = self._scores(reference, values, part)
            self.threshold[part] = np.partition(score, quantile, axis=0)[quantile]

    def relevant_values(self, ids: ndarray) -> ndarray:
        """Return relevant features as whole numbers.

        Units are 1/`_BELL_SCALE` (dense) or 2^-16 (sparse)."""
        if self.density is None:
            return _bell(_draws(keys(self.seed, 5, ids), self.relevant)).astype(np.float64)
        bits = _draws(keys(self.seed, 6, ids), self.relevant)
        stored = (bits >> np.uint64(32)) * 2.0**-32 < max(self.density, 0.1)
        low = (bits & np.uint64(0xFFFF)).astype(np.int64)
        return np.where(stored, 32768 + low, 0).astype(np.float64)

    def _scores(self, ids: ndarray, values: ndarray, part: slice) -> ndarray:
        labels = np.arange(self.q)[part]
        error = _bell(_draws(keys(self.seed, 7, ids), labels)).astype(np.float64)
        return (values @ self.weights[:, part]) * 1024 + error * self.noise_scale[part]

    def labels(self, ids: ndarray, values: ndarray) -> Vectors:
        rows = []
        columns = []
        for part in self._label_blocks(len(ids)):
            positive = self._scores(ids, values, part) > self.threshold[part]
            row, column = np.nonzero(positive)
            rows.append(row)
            columns.append(column + part.start)
        row = np.concatenate(rows)
        column = np.concatenate(columns)
        return vectors.sparse(
            len(ids),
            self.q,
            row,
            column,
            np.ones(len(row)),
        )

    def _label_blocks(self, rows: int) -> Iterator[slice]:
        block = max(1, (1 << 22) // rows)
        return (slice(start, min(self.q, start + block)) for start in range(0, self.q, block))

    def dense_rows(self, ids: ndarray) -> tuple[Vectors, Vectors]:
        units = _bell(_draws(keys(self.seed, 5, ids), np.arange(self.d)))
        values = units[:, self.relevant].astype(np.float64)
        features = units * (1 / _BELL_SCALE)
        if len(self.redundant):
            base = values[:, self.source] * (1 / _BELL_SCALE)
            odd = base[:, 1::2]
            base[:, 1::2] = odd * odd * odd
            features[:, self.redundant] = base + 0.3 * features[:, self.redundant]
        return vectors.dense(features), self.labels(ids, values)

    def sparse_rows(self, ids: ndarray) -> tuple[Vectors, Vectors]:
        n = len(ids)
        values = self.relevant_values(ids)
        draws = self.draws
        key = keys(self.seed, 8, ids)
        most = int(np.floor(draws)) + 1
        bits = _draws(key, np.arange(most + 1))
        count = np.floor(draws) + (in_unit(bits[:, most]) < draws - np.floor(draws))
        position = _below(bits[:, :most], self.d)
        position[np.arange(most)[None, :] >= count[:, None]] = self.d  # not drawn
        position.sort(axis=1)
        drawn = position < self.d
        changes = position[:, 1:] != position[:, :-1]
        drawn[:, 1:] &= changes
        special = np.zeros(self.d + 1, bool)
        special[self.relevant] = special[self.redundant] = True
        drawn &= ~special[position]
        row, draw = np.nonzero(drawn)
        column = position[row, draw]
        with np.errstate(over="ignore"):
            bits = mix(keys(self.seed, 9, ids)[row] + column.astype(np.uint64))
        value = (bits & np.uint64(0xFFFF)).astype(np.int64)
        rows = [row]
        columns = [column]
        entries = [0.5 + value * 2.0**-16]
        row, k = np.nonzero(values)
        rows.append(row)
        columns.append(self.relevant[k])
        entries.append(values[row, k] * 2.0**-16)
        if len(self.redundant):
            row, k = np.nonzero(values[:, self.source])
            bits = _draws(keys(self.seed, 10, ids), np.arange(len(self.redundant)))
            bits &= np.uint64(0xFFFF)
            factor = 0.8 + bits[row, k].astype(np.int64) * (0.4 * 2.0**-16)
            rows.append(row)
            columns.append(self.redundant[k])
            entries.append(values[row, self.source[k]] * 2.0**-16 * factor)
        features = vectors.sparse(
            n,
            self.d,
            np.concatenate(rows),
            np.concatenate(columns),
            np.concatenate(entries),
        )
        return features, self.labels(ids, values)


def _planted_rows(batches: Batches, plan: _Planted) -> Batches:
    stored = plan.d
    if plan.density is not None:
        stored = max(1, int(2 * plan.d * plan.density))
    # Pieces of about 2^18 cells stay in the processor's cache while they are mixed.
    size = int(np.clip((1 << 18) // stored, 16, 8192))
    rows_of = plan.dense_rows if plan.density is None else plan.sparse_rows
    for ids in _pieces(batches, size):
        yield canonical_batch(ids, *rows_of(ids))


# ---- tables of documents and of embeddings ----

TOPICS = (
    "astronomy",
    "baking",
    "chess",
    "cycling",
    "gardening",
    "history",
    "law",
    "music",
    "photography",
    "sailing",
)
WORDS_OF_A_TOPIC = 30
COMMON_WORDS = 800
WIDTH = 64
_SYLLABLES = "ba de fi go ku la me no pi ra se ti vo wa zu lin tor mar sel dan".split()


def _word(number: int) -> str:
    out = ""
    while True:
        number, digit = divmod(number, len(_SYLLABLES))
        out += _SYLLABLES[digit]
        if not number:
            return out + "a"


Value = Callable[[np.random.Generator, ndarray], Any]  # of a row of some topics


def _generated(
    task: Any,
    column: str,
    spark: SparkSession,
    num_rows: int,
    seed: int = 0,
    num_partitions: int | None = None,
) -> DataFrame:
    num_rows = NUM_ROWS.accept(num_rows)
    if not num_partitions:
        num_partitions = max(1, min(64, num_rows // 5000))
    ids = ids_of(spark, num_rows, num_partitions)
    return ids.mapInArrow(partial(task, seed), f"doc bigint, {column}, tags array<string>")


def _tagged(
    column: str,
    kind: pa.DataType,
    values: Callable[[int], Value],
    seed: int,
    batches: Batches,
) -> Batches:
    value = values(seed)
    for batch in batches:
        cells = []
        tags = []
        for i in batch.column(0).to_pylist():
            rng = np.random.default_rng([seed, i])
            count = 1 + rng.binomial(2, 0.3)
            topics = np.sort(rng.choice(len(TOPICS), size=count, replace=False))
            cells.append(value(rng, topics))
            tags.append([TOPICS[t] for t in topics])
        columns = {
            "doc": batch.column(0),
            column: pa.array(cells, kind),
            "tags": pa.array(tags, pa.list_(pa.string())),
        }
        yield pa.RecordBatch.from_pydict(columns)


def _bodies(seed: int) -> Value:
    common = [_word(i) for i in range(COMMON_WORDS)]
    words_of: list[list[str]] = []  # by topic
    for t, name in enumerate(TOPICS):
        first = COMMON_WORDS + t * WORDS_OF_A_TOPIC
        words_of.append([name, *map(_word, range(first, first + WORDS_OF_A_TOPIC))])

    def body(rng: np.random.Generator, topics: ndarray) -> str:
        length = int(rng.integers(20, 61))
        topical = rng.random(length) < 0.25
        topic = topics[rng.integers(0, len(topics), length)]
        rank = np.minimum(rng.geometric(0.02, length) - 1, COMMON_WORDS - 1)
        number = rng.integers(0, 1 << 30, length)
        words = []
        for k in range(length):
            if topical[k]:
                words.append(words_of[topic[k]][int(number[k]) % (WORDS_OF_A_TOPIC + 1)])
            else:
                words.append(common[int(rank[k])])
        return " ".join(words).capitalize() + "."

    return body


def _directions(seed: int) -> Value:
    direction = np.random.default_rng([seed, 1 << 40]).normal(size=(len(TOPICS), WIDTH))
    direction[:, WIDTH // 2 :] = 0  # half of the numbers tell nothing

    def embedding(rng: np.random.Generator, topics: ndarray) -> ndarray:
        noise = 1.5 * rng.normal(size=WIDTH)
        return (direction[topics].sum(axis=0) + noise).astype(np.float32)

    return embedding


GENERATED: dict[str, Callable[..., DataFrame]] = {  # of a session, rows and a seed
    # texts of 20 to 60 words, some from the vocabularies of one to three of ten topics, the rest
    # common ones
    "documents": partial(_generated, partial(_tagged, "body", pa.string(), _bodies), "body string"),
    # 64 numbers: a direction for each topic, and noise
    "embeddings": partial(
        _generated,
        partial(_tagged, "embedding", pa.list_(pa.float32()), _directions),
        "embedding array<float>",
    ),
}
