"""ARFF files of the multi-label repositories: Mulan (with a label XML) and MEKA (``-C n``).

What are the labels (argument `labels`, the first that applies):
    a path ending in ``.xml``
        every ``<label name=...>`` at any depth whose name is an attribute
    an int n
        the first n attributes, or the last -n where n is negative (MEKA's convention)
    a list of names
    None
        the label XML beside the data file whose names are all attributes (of several that name
        different sets, the one called like the data file), with a notice where ``-C n`` says
        otherwise; else the option ``-C n`` of the relation line, a word of its own as MEKA writes
        it
Label order is the attribute order of the ARFF file, never that of the XML or the list.

Features:
    numeric, real, integer
        one column
    nominal of two values
        one 0/1 column, 1 for the second
    nominal of more
        its 0-based number among the declared values (``"index"``); or by `categories`, as
        `read.layout` has columns of texts, ``"onehot"`` one 0/1 column per value, named
        ``attribute=value``, ``"codes"`` one feature of codes, ``"auto"`` what suits the method
    hierarchical (of Clus)
        all labels of a row, as ``1/2@3`` (`read.hierarchy`); without `labels` it is what the labels
        are
    string, date, relational
        refused unless named in `ignore`, which drops attributes of any kind
In a sparse row ``{i v, ...}`` an omitted attribute is 0, and for a nominal its first category, as
Weka defines it. Weka takes a comma in a sparse row for white space; so ``{,3 1}`` is ``{3 1}``,
which a notice says.
Sparse rows become sparse vectors, dense rows dense vectors. Names are case-sensitive.

Files are UTF-8; a line that is none is read as Latin-1, which a notice says. A label XML is read by
its declared encoding.

Labels must be 0/1 (numeric, or nominal whose categories are 0 and 1); ``binarize_labels=True``
takes value > 0 as positive. ``?`` in a label is unknown (NaN); ``?`` in a feature follows `missing`
(see `missing`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray

from ..errors import DataError, ParameterError, option, quantity
from ..formats import Either, Names, Reader
from ..frames import vectors
from ..frames.errors import notice
from ..frames.names import near
from ..frames.schema import LABELS, with_names
from ..frames.vectors import Vectors
from ..kernels.categories import MAX_BINS, Categories
from ..lazy import DataFrame, SparkSession
from ..params import Choice, Flag, Integer, Optional, Parameter, Values
from .arff_header import (
    HIERARCHICAL,
    UNUSABLE,
    Attribute,
    Header,
    after_space,
    chosen_labels,
    next_piece,
    parse_header,
)
from .cells import Irregular, finite, joined, known_cells, number, pairs
from .hierarchy import Hierarchy
from .label_cells import truth_of
from .layout import Facts, is_from_training
from .lines import Lines, Parsed, open_text, parse
from .missing import MISSING_FEATURES, impute, missing_slots, settle


class Arff(Reader):
    """Read ARFF files into the canonical frame ``id, features, labels``; see the module for what is
    a label or feature.

    `path` is one path, a list, a folder or a glob, plain, ``.gz`` or ``.bz2``, wherever Spark can
    read; several files need equal attribute declarations. ``id`` is the 0-based row number over the
    files in the given order. Only the header is read on the driver; rows are parsed when the frame
    is used.

    Raises `DataError` naming ``file:line`` and the remedy for whatever cannot be read (on an
    action, where it is a row), `ParameterError` for a wrong argument.

    >>> import pathlib, spark_mlfs
    >>> file = pathlib.Path("a.arff").absolute()
    >>> header = "@relation a\\n@attribute x numeric\\n@attribute y {0,1}\\n"
    >>> written = file.write_text(header + "@data\\n1.5,1\\n")
    >>> spark_mlfs.read.arff(spark_mlfs.local_session(), str(file), labels=["y"]).first()["labels"]
    SparseVector(1, {0: 1.0})"""

    name = "arff"
    title = "ARFF files of Weka, Mulan and MEKA"
    source = "Weka's manual"
    local = True
    endings = (".arff",)
    parameters = (
        Parameter(
            "labels",
            None,
            Optional(Either((Integer(), Names("a label XML or a list of attribute names")))),
            "a label XML, the number of attributes that come first (or -n: last), or names; None: "
            "as the files say",
        ),
        Parameter(
            "categories",
            "index",
            Either((Choice(("index", "auto", "onehot", "codes")), Facts())),
            "what a nominal of more than two values becomes: a number (index), 0/1 features "
            "(onehot), or one of its codes for methods that count (codes)",
        ),
        Parameter(
            "nominal",
            None,
            Optional(Choice(("index", "onehot"))),
            "the same as categories, of these two",
        ),
        MISSING_FEATURES,
        Parameter(
            "ignore", (), Names("a list of attribute names", listed=True), "attributes to leave out"
        ),
        Parameter(
            "binarize_labels", False, Flag(), "a label is positive where its value is above 0"
        ),
    )

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        files = open_text(spark, path, comment="%", header=True)
        header = parse_header(files.header, files.names[0])
        names = [a.name for a in header.attributes]
        for name in p["ignore"]:
            if name not in names:
                raise ParameterError(
                    f"ignore: {files.names[0]} has no attribute {name!r}: {near(name, names)}"
                )
        chosen = chosen_labels(
            spark,
            files,
            header,
            p["labels"],
            p["ignore"],
        )
        missing = p["missing"]
        categories = _categories_option(p)
        plan_of = partial(
            Plan,
            header,
            chosen,
            p["ignore"],
            binarize=p["binarize_labels"],
        )
        plan = plan_of(categories=categories, missing=missing)
        if plan.made_of.values and not is_from_training(categories):
            if missing in ("mean", "zero"):  # a missing value is one of its own, where there is any
                as_numbers = plan_of(categories="index", missing="keep")
                slots = missing_slots(parse(files, partial(_parse, plan=as_numbers)))
                slots &= {*plan.made_of.values}
                lacking = [name for k, name in enumerate(plan.made_of.columns) if k in slots]
                plan = plan_of(categories=categories, missing=missing, lacking=lacking)
            values = plan.made_of.values
            first = min(values)
            notice(
                f"{files.names[0]}: nominal features that are categories: {len(values)}, "
                f"such as {plan.made_of.columns[first]!r} of {len(values[first])} values"
            )
        made_of = plan.made_of if plan.made_of.values else None
        frame = parse(files, partial(_parse, plan=plan))
        frame = impute(frame, missing, plan.feature_names, categories=made_of)
        return with_names(frame, LABELS, plan.label_names)


def _categories_option(p: Values) -> Any:
    """Return `categories`, or `nominal` in its place; `ParameterError` where both are given."""
    categories = p["categories"]
    nominal = p["nominal"]
    if nominal is None or isinstance(categories, Mapping):  # what a model knows comes first
        return categories
    if categories not in ("index", nominal):
        raise ParameterError(
            f"{option('nominal')} and {option('categories')} say the same thing; give one of them"
        )
    return nominal


# ---- plan ----


class Plan:
    """What each attribute becomes: everything a worker needs, as arrays over the attributes."""

    def __init__(
        self,
        header: Header,
        labels: set[str],
        ignore: Sequence[str],
        categories: Any,
        binarize: bool,
        missing: str,
        lacking: Sequence[str] = (),
    ):
        attributes = header.attributes
        used = {k: a for k, a in enumerate(attributes) if a.name not in ignore}
        self.hierarchy_at = -1
        self.hierarchy = None
        for k, a in used.items():
            if a.kind == HIERARCHICAL and a.name in labels:
                self.hierarchy_at = k
                self.hierarchy = Hierarchy.of(a.categories or (), header.place(a))
            elif a.kind in (HIERARCHICAL, *UNUSABLE):
                remedy = f"drop it with {option('ignore', a.name)} or encode it as numbers first"
                raise DataError(
                    f"{header.place(a)} is of type {a.kind}, which is neither a feature nor "
                    f"a label; {remedy}"
                )
        used.pop(self.hierarchy_at, None)
        self.attributes = attributes
        self.missing = missing
        self.binarize = binarize
        n = len(attributes)
        self.ignored = ~np.isin(np.arange(n), [*used])
        self.is_nominal = np.array([a.kind == "nominal" for a in attributes])
        self.num_categories = np.array([len(a.categories or ()) for a in attributes])
        self.label_at = np.array([k for k, a in used.items() if a.name in labels], int)
        self.label_of = np.full(n, -1)
        self.label_of[self.label_at] = np.arange(len(self.label_at))
        self.label_names = [attributes[k].name for k in self.label_at]
        if self.hierarchy is not None:
            self.label_names = self.hierarchy.names
        # Of labels and categories: what each declared value, then a missing one, is.
        codes_of: dict[int, list[float]] = {}
        for k in self.label_at.tolist():
            if self.is_nominal[k]:
                codes_of[k] = [*_label_values(used[k], header, binarize), np.nan]
        self._set_tables(used)
        self.feature_at = np.array([k for k, a in used.items() if a.name not in labels], int)
        features = [attributes[k] for k in self.feature_at]
        self.made_of = _categories(
            header,
            features,
            categories,
            missing,
            lacking,
        )
        self.feature_names = self.made_of.names
        self.feature_of = np.full(n, -1)  # the attribute's column, the first of them where one-hot
        self.feature_of[self.feature_at] = np.searchsorted(
            self.made_of.sources, np.arange(len(features))
        )
        for slot, values in self.made_of.values.items():
            k = int(self.feature_at[slot])
            code = {value: number for number, value in enumerate(values)}
            declared = [code.get(c, len(values)) for c in attributes[k].categories or ()]
            codes_of[k] = [*declared, self.made_of.lacking(slot)]
        self._set_codes(codes_of)

    def _set_tables(self, used: Mapping[int, Attribute]) -> None:
        """Set the declared values that are numbers.

        `keys` are an attribute and a value each, in order, as the parts of a complex number;
        `places` are those among the declared values."""
        n = len(self.attributes)
        tables = {k: _numbers(a.categories) for k, a in used.items() if a.categories is not None}
        keys = [complex(k, value) for k, values in tables.items() for value in values]
        places = [place for values in tables.values() for place in range(len(values))]
        order = np.argsort(np.array(keys, complex))
        self.keys = np.array(keys, complex)[order]
        self.places = np.array(places, np.float64)[order]
        self.numeric = np.array([bool(tables.get(k, True)) for k in range(n)])
        # declared as 0, 1, ...: values are their numbers
        plain = [k for k, values in tables.items() if values and values == [*range(len(values))]]
        self.plain = np.isin(np.arange(n), plain)

    def _set_codes(self, codes_of: Mapping[int, Sequence[float]]) -> None:
        """Set the codes of labels and categories, one attribute's after the other's."""
        n = len(self.attributes)
        self.width = np.zeros(n, int)
        self.width[self.feature_at] = self.made_of.counts
        self.code_at = np.zeros(n, int)
        codes: list[float] = []
        for k, values in codes_of.items():
            self.code_at[k] = len(codes)
            codes += values
        self.codes = np.array(codes)
        self.onehot = (self.width > 0) & (not self.made_of.codes)
        # An attribute omitted from a sparse row has its first category: not always a stored 0.
        self.is_coded = np.isin(np.arange(n), [*codes_of])
        first = self.onehot.copy()
        first[self.is_coded] |= self.codes[self.code_at[self.is_coded]] != 0
        self.omitted_one = np.flatnonzero(first)

    def coded(self, attribute: ndarray, raw: ndarray) -> ndarray:
        """Return what values are: of labels and categories the codes, in place of their numbers."""
        is_coded = self.is_coded[attribute]
        if not is_coded.any():
            return raw
        raw = raw.copy()
        owner = attribute[is_coded]
        value = raw[is_coded]
        number = np.where(np.isnan(value), self.num_categories[owner], value).astype(int)
        raw[is_coded] = self.codes[self.code_at[owner] + number]
        return raw

    def categories(self, attribute: ndarray | int, raw: ndarray) -> ndarray:
        """Return values with category numbers for nominal ones.

        They are of one attribute, or each of its own. Raises `Irregular` for a value that is not
        declared."""
        nominal = self.is_nominal[attribute] & ~np.isnan(raw)
        plain = nominal & self.plain[attribute]
        in_range = (raw >= 0) & (raw < self.num_categories[attribute])
        if not (in_range & (raw == np.floor(raw)))[plain].all():
            raise Irregular
        other = nominal & ~plain
        if not other.any():
            return raw
        if not len(self.keys):
            raise Irregular
        raw = raw.copy()
        key = np.broadcast_to(attribute, raw.shape)[other] + 1j * raw[other]
        position = np.searchsorted(self.keys, key).clip(max=len(self.keys) - 1)
        if not (self.keys[position] == key).all():
            raise Irregular
        raw[other] = self.places[position]
        return raw

    def labels(self, attribute: ndarray, raw: ndarray) -> ndarray:
        """Return label values of raw ones (numbers, or category numbers).

        Raises `Irregular` where one is not 0/1."""
        values = self.coded(attribute, raw)
        unknown = np.isnan(values)
        if self.binarize:
            return np.where(unknown, np.nan, values > 0)
        if not ((values == 0) | (values == 1) | unknown).all():
            raise Irregular
        return values


def _numbers(categories: list[str]) -> list[float]:
    """Return categories as numbers, none where some are no numbers or the same."""
    try:
        values = [*map(number, categories)]
    except ValueError:
        return []
    return values if len({*values}) == len(values) else []


def _categories(
    header: Header,
    features: Sequence[Attribute],
    categories: Any,
    missing: str,
    lacking: Sequence[str],
) -> Categories:
    """Return what the attributes that are features stand for.

    A missing value of those that are `lacking` some is a value of its own."""
    columns = [a.name for a in features]
    if is_from_training(categories):
        known = Categories.of_facts(categories, columns)
        for slot in known.values:
            a = features[slot]
            if a.categories is None:
                raise DataError(
                    f"{header.place(a)} is {a.kind} and held categories in training; declare it "
                    "as {value, ...}"
                )
        return known
    made_of = Categories(missing, categories not in ("auto", "onehot"), columns=columns)
    if categories == "index":
        return made_of
    for slot, a in enumerate(features):
        if a.categories is None or len(a.categories) <= 2:
            continue
        if len(a.categories) > MAX_BINS - (a.name in lacking):
            remedy = (
                f"a category has at most {MAX_BINS}: join the rare ones, ignore it, or "
                f"pass {option('categories', 'index')}"
            )
            raise DataError(
                f"{header.place(a)} has {len(a.categories)} values, and {remedy}, which takes "
                "their numbers as they are"
            )
        made_of.values[slot] = [*a.categories]
        if a.name in lacking:
            made_of.values[slot].append(None)
    return made_of


def _label_values(a: Attribute, header: Header, binarize: bool) -> ndarray:
    """Return the declared values of a label; `DataError` where they are not 0/1."""
    assert a.categories is not None
    listed = f"{{{','.join(a.categories)[:40]}}}"
    subject = f"{header.place(a)} is a label with the"
    truth = truth_of(a.categories, None, None)
    if truth is None:
        raise DataError(f"{subject} categories {listed}; rewrite them as 0 and 1")
    values = np.array([truth[category] for category in a.categories])
    if not binarize and not np.isin(values, (0, 1)).all():
        remedy = f"pass {option('binarize_labels', True)} to take value > 0 as positive"
        raise DataError(f"{subject} values {listed}, not 0 and 1 (a multi-target set); {remedy}")
    return (values > 0).astype(float) if binarize else values


# ---- rows ----

Pair = tuple[Vectors, Vectors]  # of rows: their features and their labels


def _parse(lines: Lines, plan: Plan) -> Parsed:
    """Return which rows are kept, and their features and labels."""
    n = len(lines.text)
    braced = np.asarray(pc.starts_with(lines.text, "{"))
    parts = []
    for is_sparse in (False, True):
        rows = np.flatnonzero(braced == is_sparse)
        if not len(rows):
            continue
        text = lines.text if len(rows) == n else lines.text.take(pa.array(rows))
        try:
            vectors_of = _sparse(text, plan) if is_sparse else _dense(text, plan)
        except Irregular:
            vectors_of = _slow(lines, rows, plan, is_sparse)
        parts.append((rows, *vectors_of))

    def cell_name(row: int, slot: int) -> str:
        return f"{lines.place(row)}: attribute {plan.feature_names[slot]!r}"

    positions, features, labels = zip(*parts, strict=True)
    merged = vectors.merge(positions, features)
    complete, settled = settle(merged, plan.missing, cell_name)
    return complete, settled, vectors.merge(positions, labels).take(complete)


_BETWEEN = bytes.maketrans(b",\t", b"\n ")


def _sparse(text: pa.Array, plan: Plan) -> Pair:
    """Return the vectors of rows ``{index value, ...}``, all at once."""
    n = len(text)
    width = len(plan.attributes)
    closed = pc.all(pc.ends_with(text, "}")).as_py()
    braces = pc.sum(pc.count_substring_regex(text, "[{}]")).as_py()
    if not closed or braces != 2 * n:
        raise Irregular
    row, attribute, raw = pairs(text, " ", _BETWEEN, b"{}")
    if len(attribute) and not 0 <= attribute.min() <= attribute.max() < width:
        raise Irregular
    if plan.ignored.any():
        used = ~plan.ignored[attribute]
        row = row[used]
        attribute = attribute[used]
        raw = raw[used]
    return _from_triples(
        n,
        row,
        attribute,
        plan.categories(attribute, raw),
        plan,
    )


def _from_triples(
    n: int,
    row: ndarray,
    attribute: ndarray,
    raw: ndarray,
    plan: Plan,
) -> Pair:
    """Return sparse vectors of attributes, `raw` being a number or a category number.

    An omitted attribute is category 0."""
    if len(plan.omitted_one):
        width = len(plan.attributes)
        needed = np.add.outer(width * np.arange(n), plan.omitted_one)
        omitted = np.setdiff1d(needed, width * row + attribute)
        row = np.concatenate([row, omitted // width])
        attribute = np.concatenate([attribute, omitted % width])
        raw = np.concatenate([raw, np.zeros(len(omitted))])
    is_label = plan.label_of[attribute] >= 0
    owner = attribute[is_label]
    value = plan.labels(owner, raw[is_label])
    labels = vectors.sparse(
        n,
        len(plan.label_names),
        row[is_label],
        plan.label_of[owner],
        value,
    )
    row, column, raw = _columns(row[~is_label], attribute[~is_label], raw[~is_label], plan)
    return vectors.sparse(
        n,
        len(plan.feature_names),
        row,
        column,
        raw,
    ), labels


def _columns(
    row: ndarray,
    attribute: ndarray,
    raw: ndarray,
    plan: Plan,
) -> tuple[ndarray, ndarray, ndarray]:
    """Return (row, column, value), one-hot where attributes are.

    Unknown is NaN in every column, what no training row had is 0."""
    raw = plan.coded(attribute, raw)
    if not plan.onehot[attribute].any():
        return row, plan.feature_of[attribute], raw
    in_training = ~(plan.onehot[attribute] & (raw >= plan.width[attribute]))
    row = row[in_training]
    attribute = attribute[in_training]
    raw = raw[in_training]
    onehot = plan.onehot[attribute]
    column = plan.feature_of[attribute]
    values = raw.copy()
    unknown = onehot & np.isnan(raw)
    known = onehot & ~unknown
    column[known] += raw[known].astype(int)
    values[known] = 1.0
    if unknown.any():
        width = plan.width[attribute[unknown]]
        start = np.repeat(column[unknown], width)
        added = start + vectors.within(width)
        row = np.concatenate([row[~unknown], np.repeat(row[unknown], width)])
        column = np.concatenate([column[~unknown], added])
        values = np.concatenate([values[~unknown], np.full(len(added), np.nan)])
    return row, column, values


def _dense(text: pa.Array, plan: Plan) -> Pair:
    """Return the vectors of comma-separated rows, all at once, by Arrow's CSV reader."""
    # A double quote, a brace or a comment inside a row is for the slow path; ' with \ escapes is
    # the reader's.
    data = joined(text)
    if any(mark in data for mark in b'"%\\') or not _quotes_in_place(np.frombuffer(data, np.uint8)):
        raise Irregular  # the CSV reader takes '1'2 for 12, and '?' for a missing value
    n = len(text)
    width = len(plan.attributes)
    as_numbers = plan.numeric & ~plan.ignored
    types = [pa.float64() if numeric else pa.string() for numeric in as_numbers.tolist()]
    table = known_cells(data, types, ",", "'")
    if table.num_rows != n:
        raise Irregular
    tags = None
    if plan.hierarchy is not None:
        tags = plan.hierarchy(table.column(plan.hierarchy_at).combine_chunks())
    matrix = np.zeros((width, n)).T  # filled column by column
    for k in np.flatnonzero(~plan.ignored).tolist():
        column = table.column(k)
        if not plan.numeric[k]:
            column = pc.utf8_trim_whitespace(column)
            code = pc.index_in(column, pa.array(plan.attributes[k].categories))
            undeclared = pc.and_(pc.is_null(code), pc.not_equal(column, "?"))
            if pc.any(undeclared).as_py():
                raise Irregular
            matrix[:, k] = code.to_numpy()
        elif plan.is_nominal[k]:
            matrix[:, k] = plan.categories(k, finite(column))
        else:
            matrix[:, k] = finite(column)
    features, labels = _from_matrix(matrix, plan)
    return features, tags or labels


def _quotes_in_place(raw: ndarray) -> bool:
    """Return whether every ' of lines of comma-separated values opens or closes a whole value.

    Not so where one quotes a lone ?."""
    quotes = np.flatnonzero(raw == 0x27)
    if len(quotes) % 2:
        return False
    opening = quotes[0::2]
    closing = quotes[1::2]
    before = np.where(opening > 0, raw[opening - 1], 0x2C)
    after = raw[closing + 1]  # every line ends with a newline
    at_limits = np.isin(np.concatenate([before, after]), [0x2C, 0x0A])
    lines = np.flatnonzero(raw == 0x0A)
    in_a_line = np.searchsorted(lines, opening) == np.searchsorted(lines, closing)
    unknown = (closing == opening + 2) & (raw[opening + 1] == 0x3F)
    return bool(at_limits.all() and in_a_line.all() and not unknown.any())


def _from_matrix(matrix: ndarray, plan: Plan) -> Pair:
    label_raw = matrix[:, plan.label_at]
    raw = matrix[:, plan.feature_at]
    attribute = np.broadcast_to(plan.label_at, label_raw.shape)
    labels = plan.labels(attribute.ravel(), label_raw.ravel()).reshape(label_raw.shape)
    values = plan.coded(np.broadcast_to(plan.feature_at, raw.shape), raw)
    features = np.asarray(plan.made_of.features(values))
    return vectors.dense(features), vectors.sparse_from_matrix(labels)


# ---- line by line, with messages ----

_FIELD_END = re.compile(r"[,'\"%]|\Z")
_PAIR_END = re.compile(r"[,'\"}]|\Z")
_INDEX = re.compile(r"([^\s,'\"}]+)\s+")


def _slow(
    lines: Lines,
    rows: ndarray,
    plan: Plan,
    is_sparse: bool,
) -> Pair:
    """Return the vectors of rows one by one, with the exact place of whatever is wrong.

    They may have quotes and comments."""
    entries: list[tuple[int, int, float]] = []
    paths: list[str | None] = []
    for position, source in enumerate(rows):
        place = lines.place(source)
        values = _slow_row(lines.line(source), place, plan, is_sparse)
        if plan.hierarchy is not None:
            cell, quoted = values.get(plan.hierarchy_at, ("", False))
            paths.append(None if cell == "?" and not quoted else cell)
            plan.hierarchy.check(paths[-1], place)
        for k, (text, quoted) in values.items():
            if not plan.ignored[k]:
                entries.append(
                    (
                        position,
                        k,
                        _slow_value(
                            k,
                            text,
                            quoted,
                            place,
                            plan,
                        ),
                    )
                )
    row, attribute, raw = np.array(entries, np.float64).reshape(-1, 3).T
    row = row.astype(np.int64)
    attribute = attribute.astype(np.int64)
    if is_sparse:
        features, labels = _from_triples(
            len(rows),
            row,
            attribute,
            raw,
            plan,
        )
    else:
        matrix = np.zeros((len(rows), len(plan.attributes)))
        matrix[row, attribute] = raw
        features, labels = _from_matrix(matrix, plan)
    if plan.hierarchy is not None:
        labels = plan.hierarchy(pa.array(paths, pa.string()))
    return features, labels


def _slow_row(  # noqa: C901
    line: str,
    place: str,
    plan: Plan,
    is_sparse: bool,
) -> dict[int, tuple[str, bool]]:
    """Return the text of each attribute of a row, and whether it is quoted."""
    values: dict[int, tuple[str, bool]] = {}
    n = len(plan.attributes)
    position = int(is_sparse)
    end = _PAIR_END if is_sparse else _FIELD_END
    marks = (",", "}") if is_sparse else ("", ",", "%")
    while True:
        start = position = after_space(line, position)
        k = len(values)
        if is_sparse:
            if line[position : position + 1] == ",":  # white space for Weka
                position += 1
                continue
            if line[position : position + 1] == "}":
                break
            match = _INDEX.match(line, position)
            if not match:
                raise _no_pair(line, start, place)
            k = _index(match[1], place, n)
            position = match.end()
            if k in values:
                raise DataError(f"{place}: index {k} is given twice; keep one")
        text, quoted, position = next_piece(line, position, end)
        mark = line[position : position + 1]
        if mark not in marks:
            if is_sparse:
                raise _no_pair(line, start, place)
            raise DataError(
                f"{place}: value {k + 1} cannot be read at {line[start : start + 20]!r}; close its "
                "quote"
            )
        values[k] = (text, quoted)
        if mark != ",":
            break
        position += 1
    remaining = line[position + 1 :].strip()
    if is_sparse and remaining and remaining[0] != "%":
        raise DataError(f"{place}: {remaining[:20]!r} after the closing brace; remove it")
    if not is_sparse and len(values) != n:
        raise DataError(
            f"{place}: {quantity(len(values), 'value')} for {quantity(n, 'attribute')}; complete "
            "or remove the line"
        )
    return values


def _index(text: str, place: str, n: int) -> int:
    """Return the index of a sparse value; `DataError` for one that is none of 0..n - 1."""
    try:
        index = number(text)
    except ValueError:
        index = -1.0
    if int(index) != index or not 0 <= index < n:
        raise DataError(
            f"{place}: index {text[:40]!r} is none of 0..{n - 1}; correct or remove the line"
        )
    return int(index)


def _no_pair(line: str, start: int, place: str) -> DataError:
    if "}" not in line:
        return DataError(
            f"{place}: the sparse row has no closing brace; complete or remove the line"
        )
    excerpt = line[start : start + 20]
    return DataError(
        f"{place}: {excerpt!r} is not 'index value'; write a sparse row as {{index value, ...}}"
    )


def _slow_value(
    k: int,
    text: str,
    quoted: bool,
    place: str,
    plan: Plan,
) -> float:
    """Return one value as a number or category number, NaN where it is unknown."""
    a = plan.attributes[k]
    if text == "?" and not quoted:
        return np.nan
    try:
        if a.categories is None:
            value = number(text)
        elif text in a.categories:
            value = float(a.categories.index(text))
        else:
            value = float(plan.categories(k, np.array([number(text)]))[0])
    except (ValueError, Irregular):
        if a.categories is None:
            fault = (
                f": {text[:40]!r} is not a finite number; correct it, or write ? for a missing "
                "value"
            )
        else:
            fault = (
                f" has no category {text[:40]!r}; correct the value or declare it in the "
                f"header ({near(text, a.categories)})"
            )
        raise DataError(f"{place}: attribute {a.name!r}{fault}") from None
    if plan.label_of[k] >= 0:
        try:
            plan.labels(np.array([k]), np.array([value]))
        except Irregular:
            flag = option("binarize_labels", True)
            raise DataError(
                f"{place}: label {a.name!r} is {text[:40]!r}, not 0 or 1; correct it, or pass "
                f"{flag} to take value > 0 as positive"
            ) from None
    return value
