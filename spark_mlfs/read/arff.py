"""ARFF files of the multi-label repositories: Mulan (with a label XML) and MEKA (``-C n`` in the
relation line).

What are the labels (argument `labels`, the first that applies):
    a path ending in ``.xml``   every ``<label name=...>`` at any depth whose name is an attribute
    an int n                    the first n attributes, or the last -n where n is negative (MEKA's
    convention)
    a list of names
    None                        the label XML beside the data file whose names are all attributes
                                (of several that name different sets, the one called like the data
                                file), with a notice where ``-C n`` says otherwise; else the option
                                ``-C n`` of the relation line, a word of its own as MEKA writes it
Label order is the attribute order of the ARFF file, never that of the XML or the list.

Features numeric, real, integer      one column nominal of two values       one 0/1 column, 1 for
    the second nominal of more             its 0-based number among the declared values
    (``"index"``); or by `categories`, as
                                `read.layout` has columns of texts, ``"onehot"`` one 0/1 column per
                                value, named ``attribute=value``, ``"codes"`` one feature of codes,
                                ``"auto"`` what suits the method
    string, date, relational    refused unless named in `ignore`, which drops attributes of any kind
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

from ..errors import DataError, ParameterError, option
from ..formats import Either, Names, Reader
from ..frames import vectors
from ..frames.errors import notice
from ..frames.names import near
from ..frames.schema import LABELS, with_names
from ..frames.vectors import Vectors
from ..kernels.categories import MAX_BINS, Categories
from ..lazy import DataFrame, SparkSession
from ..params import Choice, Flag, Integer, Optional, Parameter
from .arff_header import (
    UNUSABLE,
    Attribute,
    Header,
    after_space,
    chosen_labels,
    next_piece,
    parse_header,
)
from .cells import Irregular, finite, joined, known_cells, number, pairs
from .layout import Facts
from .lines import Lines, open_text, parse
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
    >>> written = file.write_text("@relation a\\n@attribute x numeric\\n@attribute y {0,1}\\n@data\\n1.5,1\\n")
    >>> spark_mlfs.read.arff(spark_mlfs.local_session(), str(file), labels=["y"]).first()["labels"]
    SparseVector(1, {0: 1.0})"""

    name, title, source = "arff", "ARFF files of Weka, Mulan and MEKA", "Weka's manual"
    local, endings = True, (".arff",)
    parameters = (
        Parameter(
            "labels", None, Optional(Either((Integer(), Names("a label XML or a list of attribute "
                "names")))),
            "a label XML, the number of attributes that come first (or -n: last), or names; None: "
            "as the files say",
        ),
        Parameter(
            "categories", "index", Either((Choice(("index", "auto", "onehot", "codes")), Facts())),
            "what a nominal of more than two values becomes: a number (index), 0/1 features "
            "(onehot), or one of its codes for methods that count (codes)",
        ),
        Parameter("nominal", None, Optional(Choice(("index", "onehot"))), "the same as categories, "
            "of these two"),
        MISSING_FEATURES,
        Parameter("ignore", (), Names("a list of attribute names", listed=True), "attributes to leave out"),
        Parameter("binarize_labels", False, Flag(), "a label is positive where its value is above "
            "0"),
    )  # fmt: skip

    def read(self, spark: SparkSession, path: Any, p: Mapping[str, Any]) -> DataFrame:
        files = open_text(spark, path, comment="%", header=True)
        header = parse_header(files.header, files.names[0])
        names = [a.name for a in header.attributes]
        for name in p["ignore"]:
            if name not in names:
                raise ParameterError(
                    f"ignore: {files.names[0]} has no attribute {name!r}: {near(name, names)}"
                )
        chosen = chosen_labels(spark, files, header, p["labels"], p["ignore"])
        plan_of = partial(Plan, header, chosen, p["ignore"], binarize=p["binarize_labels"])
        how = p["categories"]
        if p["nominal"] is not None and not isinstance(
            how, Mapping
        ):  # what a model knows comes first
            if how not in ("index", p["nominal"]):
                raise ParameterError(
                    f"{option('nominal')} and {option('categories')} say the same thing; give one "
                    "of them"
                )
            how = p["nominal"]
        plan = plan_of(how=how, missing=p["missing"])
        if plan.made.values and not (isinstance(how, Mapping) and "columns" in how):
            first, lacking = min(plan.made.values), list[str]()
            if p["missing"] in (
                "mean",
                "zero",
            ):  # a missing value is one of its own, where there is any
                slots = missing_slots(
                    parse(files, partial(_parse, plan=plan_of(how="index", missing="keep")))
                )
                lacking = [
                    name
                    for place, name in enumerate(plan.made.columns)
                    if place in slots and place in plan.made.values
                ]
                plan = plan_of(how=how, missing=p["missing"], lacking=lacking)
            such = f"{plan.made.columns[first]!r} of {len(plan.made.values[first])} values"
            notice(
                f"{files.names[0]}: nominal features that are categories: {len(plan.made.values)}, "
                f"such as {such}"
            )
        frame = parse(files, partial(_parse, plan=plan))
        frame = impute(
            frame,
            p["missing"],
            plan.feature_names,
            settled=True,
            categories=plan.made if plan.made.values else None,
        )
        return with_names(frame, LABELS, plan.label_names)


# ------------------------------------------------------------------------------------------------------------------
# plan


class Plan:
    """Plan for each attribute: everything a worker needs, as arrays over the attributes."""

    def __init__(
        self, header: Header, labels: set[str], ignore: Sequence[str], how: Any, binarize: bool, missing: str,
        lacking: Sequence[str] = (),
    ):  # fmt: skip
        attributes = header.attributes
        self.attributes, self.missing, self.binarize = attributes, missing, binarize
        n = len(attributes)
        self.is_nominal = np.array([a.kind == "nominal" for a in attributes])
        self.num_categories = np.array([len(a.categories or ()) for a in attributes])
        used = {k: a for k, a in enumerate(attributes) if a.name not in ignore}
        unusable = next((a for a in used.values() if a.kind in UNUSABLE), None)
        if unusable is not None:
            remedy = f"drop it with ignore=[{unusable.name!r}] or encode it as numbers first"
            raise DataError(
                f"{header.place(unusable)} is of type {unusable.kind}, which is neither a feature nor "
                f"a label; {remedy}"
            )
        self.label_at = np.array([k for k, a in used.items() if a.name in labels], int)
        self.label_of = np.full(n, -1)
        self.label_of[self.label_at] = np.arange(len(self.label_at))
        self.label_names = [attributes[k].name for k in self.label_at]
        # Of labels and categories: what each declared value, then a missing one, is.
        stands = {
            int(k): [*_label_values(used[k], header, binarize), np.nan]
            for k in self.label_at
            if self.is_nominal[k]
        }
        # Declared values that are numbers, by attribute and value: `keys` of both, in order, and
        # the `places` among the declared.
        tables = {k: _numbers(a.categories) for k, a in used.items() if a.categories is not None}
        listed = [
            (k, value, place) for k, values in tables.items() for place, value in enumerate(values)
        ]
        of, value, places = np.array(listed, np.float64).reshape(-1, 3).T
        self.values, rank = np.unique(value, return_inverse=True)
        order = np.argsort(keys := of.astype(int) * len(self.values) + rank)
        self.keys, self.places = keys[order], places[order]
        self.numeric = np.array([bool(tables.get(k, True)) for k in range(n)])
        self.plain = np.isin(
            np.arange(n),
            [k for k, values in tables.items() if values and values == [*range(len(values))]],
        )
        self.feature_at = np.array([k for k, a in used.items() if a.name not in labels], int)
        self.feature_of = np.full(n, -1)  # the attribute's column, the first of them where one-hot
        self.ignored = ~np.isin(np.arange(n), [*used])
        made = _categories(header, [attributes[k] for k in self.feature_at], how, missing, lacking)
        self.made, self.feature_names = made, made.names
        self.feature_of[self.feature_at] = np.searchsorted(
            made.sources, np.arange(len(self.feature_at))
        )
        for place, values in made.values.items():
            k, code = (
                int(self.feature_at[place]),
                {value: number for number, value in enumerate(values)},
            )
            stands[k] = [
                *(code.get(c, len(values)) for c in attributes[k].categories or ()),
                made.lacking(place),
            ]
        self.width, self.code_at, codes = np.zeros(n, int), np.zeros(n, int), list[float]()
        self.width[self.feature_at] = made.counts
        for k, stood in stands.items():
            self.code_at[k] = len(codes)
            codes += stood
        self.codes, self.onehot = np.array(codes), (self.width > 0) & (not made.codes)
        # An attribute omitted from a sparse row has its first category: not always a stored 0.
        self.is_coded = np.isin(np.arange(n), [*stands])
        first = self.onehot.copy()
        first[self.is_coded] |= self.codes[self.code_at[self.is_coded]] != 0
        self.omitted_one = np.flatnonzero(first)

    def coded(self, attribute: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Return what values are: of labels and categories the codes of declared values in place of
        their numbers."""
        here = self.is_coded[attribute]
        if not here.any():
            return raw
        raw, of, value = raw.copy(), attribute[here], raw[here]
        raw[here] = self.codes[
            self.code_at[of] + np.where(np.isnan(value), self.num_categories[of], value).astype(int)
        ]
        return raw

    def categories(self, attribute: np.ndarray | int, raw: np.ndarray) -> np.ndarray:
        """Return values, of one attribute or each of its own, with category numbers for nominal
        ones; or `Irregular`."""
        nominal = self.is_nominal[attribute] & ~np.isnan(raw)
        plain = nominal & self.plain[attribute]  # declared as 0, 1, ...: they are their numbers
        if not ((raw >= 0) & (raw < self.num_categories[attribute]) & (raw == np.floor(raw)))[
            plain
        ].all():
            raise Irregular
        other = nominal & ~plain
        if not other.any():
            return raw
        if not len(self.keys):
            raise Irregular
        raw, of, value = raw.copy(), np.broadcast_to(attribute, raw.shape)[other], raw[other]
        rank = np.searchsorted(self.values, value).clip(max=len(self.values) - 1)
        key = of * len(self.values) + rank
        at = np.searchsorted(self.keys, key).clip(max=len(self.keys) - 1)
        if not ((self.values[rank] == value) & (self.keys[at] == key)).all():
            raise Irregular
        raw[other] = self.places[at]
        return raw

    def labels(self, attribute: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Label values of raw ones (numbers, or category numbers); raises `Irregular` where one is
        not 0/1."""
        values = self.coded(attribute, raw)
        if self.binarize:
            return np.where(np.isnan(values), np.nan, values > 0)
        if not ((values == 0) | (values == 1) | np.isnan(values)).all():
            raise Irregular
        return values


def _numbers(categories: list[str]) -> list[float]:
    """Categories as numbers; none where they are not, or alike."""
    try:
        values = [*map(number, categories)]
    except ValueError:
        return []
    return values if len({*values}) == len(values) else []


def _categories(
    header: Header, features: Sequence[Attribute], how: Any, missing: str, lacking: Sequence[str]
) -> Categories:
    """What the attributes that are features stand for, `lacking` those of which a missing value is
    one of its own."""
    columns = [a.name for a in features]
    if isinstance(how, Mapping) and "columns" in how:
        made = Categories.of_facts(how, columns)
        other = next(
            (features[place] for place in made.values if features[place].categories is None), None
        )
        if other is not None:
            raise DataError(
                f"{header.place(other)} is {other.kind} and held categories in training; declare it "
                "as {value, ...}"
            )
        return made
    made = Categories(missing, how not in ("auto", "onehot"), columns=columns)
    for place, a in enumerate(features):
        if how != "index" and a.categories is not None and len(a.categories) > 2:
            if len(a.categories) > MAX_BINS - (a.name in lacking):
                most = (
                    f"a category has at most {MAX_BINS}: join the rare ones, ignore it, or "
                    f"pass {option('categories', 'index')}"
                )
                raise DataError(
                    f"{header.place(a)} has {len(a.categories)} values, and {most}, which takes their "
                    "numbers as they are"
                )
            made.values[place] = [*a.categories, *([None] if a.name in lacking else [])]
    return made


def _label_values(a: Attribute, header: Header, binarize: bool) -> np.ndarray:
    assert a.categories is not None
    listed, where = f"{{{','.join(a.categories)[:40]}}}", f"{header.place(a)} is a label with the"
    try:
        values = np.array([number(c) for c in a.categories])
    except ValueError:
        raise DataError(f"{where} categories {listed}; rewrite them as 0 and 1") from None
    if not binarize and not np.isin(values, (0, 1)).all():
        remedy = f"pass {option('binarize_labels', True)} to take value > 0 as positive"
        raise DataError(f"{where} values {listed}, not 0 and 1 (a multi-target set); {remedy}")
    return (values > 0).astype(float) if binarize else values


# ------------------------------------------------------------------------------------------------------------------
# rows


def _parse(lines: Lines, plan: Plan) -> tuple[np.ndarray, Vectors, Vectors]:
    """Features and labels of the rows, and which rows are kept."""
    n = len(lines.text)
    braced = np.asarray(pc.starts_with(lines.text, "{"))
    parts = []
    for is_sparse in (False, True):
        at = np.flatnonzero(braced == is_sparse)
        if not len(at):
            continue
        text = lines.text if len(at) == n else lines.text.take(pa.array(at))
        try:
            vectors_of = _sparse(text, plan) if is_sparse else _dense(text, plan)
        except Irregular:
            vectors_of = _slow(lines, at, plan, is_sparse)
        parts.append((at, *vectors_of))
    rows, features, labels = zip(*parts, strict=True)
    whole = vectors.merge(rows, features)
    kept, filled = settle(
        whole,
        plan.missing,
        lambda row, slot: f"{lines.place(row)}: attribute {plan.feature_names[slot]!r}",
    )
    return kept, filled, vectors.merge(rows, labels).take(kept)


_BETWEEN = bytes.maketrans(b",\t", b"\n ")


def _sparse(text: pa.Array, plan: Plan) -> tuple[Vectors, Vectors]:
    n, width = len(text), len(plan.attributes)
    if (
        not pc.all(pc.ends_with(text, "}")).as_py()
        or pc.sum(pc.count_substring_regex(text, "[{}]")).as_py() != 2 * n
    ):
        raise Irregular
    row, attribute, raw = pairs(text, " ", _BETWEEN, b"{}")
    if len(attribute) and not 0 <= attribute.min() <= attribute.max() < width:
        raise Irregular
    if plan.ignored.any():
        used = ~plan.ignored[attribute]
        row, attribute, raw = row[used], attribute[used], raw[used]
    return _from_triples(n, row, attribute, plan.categories(attribute, raw), plan)


def _from_triples(
    n: int, row: np.ndarray, attribute: np.ndarray, raw: np.ndarray, plan: Plan
) -> tuple[Vectors, Vectors]:
    """Sparse vectors of the given attributes, `raw` being a number or a category number; an omitted
    one is category 0."""
    if len(plan.omitted_one):
        width = len(plan.attributes)
        omitted = np.setdiff1d(
            np.add.outer(width * np.arange(n), plan.omitted_one), width * row + attribute
        )
        row, attribute = (
            np.concatenate([row, omitted // width]),
            np.concatenate([attribute, omitted % width]),
        )
        raw = np.concatenate([raw, np.zeros(len(omitted))])
    is_label = plan.label_of[attribute] >= 0
    label, value = (
        plan.label_of[attribute[is_label]],
        plan.labels(attribute[is_label], raw[is_label]),
    )
    labels = vectors.sparse(n, len(plan.label_names), row[is_label], label, value)
    row, column, raw = _columns(row[~is_label], attribute[~is_label], raw[~is_label], plan)
    return vectors.sparse(n, len(plan.feature_names), row, column, raw), labels


def _columns(
    row: np.ndarray, attribute: np.ndarray, raw: np.ndarray, plan: Plan
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, column, value), one-hot where attributes are: unknown is NaN in every column, what no
    training row had is 0."""
    raw = plan.coded(attribute, raw)
    if not plan.onehot[attribute].any():
        return row, plan.feature_of[attribute], raw
    some = ~(plan.onehot[attribute] & (raw >= plan.width[attribute]))
    row, attribute, raw = row[some], attribute[some], raw[some]
    hot, column = plan.onehot[attribute], plan.feature_of[attribute]
    values, unknown = raw.copy(), hot & np.isnan(raw)
    known = hot & ~unknown
    column[known] += raw[known].astype(int)
    values[known] = 1.0
    if unknown.any():
        width = plan.width[attribute[unknown]]
        start = np.repeat(column[unknown], width)
        extra = start + vectors.within(width)
        row = np.concatenate([row[~unknown], np.repeat(row[unknown], width)])
        column = np.concatenate([column[~unknown], extra])
        values = np.concatenate([values[~unknown], np.full(len(extra), np.nan)])
    return row, column, values


def _dense(text: pa.Array, plan: Plan) -> tuple[Vectors, Vectors]:
    """Comma-separated rows, all at once, by Arrow's CSV reader."""
    # A double quote, a brace or a comment inside a row is for the slow path; ' with \ escapes is
    # the reader's.
    data = joined(text)
    if any(mark in data for mark in b'"%\\') or not _quotes_in_place(np.frombuffer(data, np.uint8)):
        raise Irregular  # the CSV reader takes '1'2 for 12, and '?' for a missing value
    n, width = len(text), len(plan.attributes)
    types = [
        pa.float64() if plan.numeric[k] and not plan.ignored[k] else pa.string()
        for k in range(width)
    ]
    table = known_cells(data, types, ",", "'")
    if table.num_rows != n:
        raise Irregular
    matrix = np.zeros((width, n)).T  # filled column by column
    for k in np.flatnonzero(~plan.ignored).tolist():
        column = table.column(k)
        if not plan.numeric[k]:
            column = pc.utf8_trim_whitespace(column)
            known = pc.index_in(column, pa.array(plan.attributes[k].categories))
            if pc.any(pc.and_(pc.is_null(known), pc.not_equal(column, "?"))).as_py():
                raise Irregular
            matrix[:, k] = known.to_numpy()
        else:
            matrix[:, k] = (
                plan.categories(k, finite(column)) if plan.is_nominal[k] else finite(column)
            )
    return _from_matrix(matrix, plan)


def _quotes_in_place(raw: np.ndarray) -> bool:
    """Whether every ' of lines of comma-separated values opens or closes a whole value, and none
    quotes a lone ?."""
    at = np.flatnonzero(raw == 0x27)
    if len(at) % 2:
        return False
    opening, closing = at[0::2], at[1::2]
    before = np.where(opening > 0, raw[opening - 1], 0x2C)
    around = np.concatenate([before, raw[closing + 1]])  # every line ends with a newline
    lines = np.flatnonzero(raw == 0x0A)
    whole = np.searchsorted(lines, opening) == np.searchsorted(lines, closing)
    unknown = (closing == opening + 2) & (raw[opening + 1] == 0x3F)
    return bool(np.isin(around, [0x2C, 0x0A]).all() and whole.all() and not unknown.any())


def _from_matrix(matrix: np.ndarray, plan: Plan) -> tuple[Vectors, Vectors]:
    label_raw, raw = matrix[:, plan.label_at], matrix[:, plan.feature_at]
    attribute = np.broadcast_to(plan.label_at, label_raw.shape)
    labels = plan.labels(attribute.ravel(), label_raw.ravel()).reshape(label_raw.shape)
    features = plan.made.features(plan.coded(np.broadcast_to(plan.feature_at, raw.shape), raw))
    return vectors.dense(np.asarray(features)), vectors.sparse_from_matrix(labels)


# ------------------------------------------------------------------------------------------- line
# by line, with messages

_FIELD_END = re.compile(r"[,'\"%]|\Z")
_PAIR_END = re.compile(r"[,'\"}]|\Z")
_INDEX = re.compile(r"([^\s,'\"}]+)\s+")


def _slow(lines: Lines, at: np.ndarray, plan: Plan, is_sparse: bool) -> tuple[Vectors, Vectors]:
    """Rows one by one: quotes, comments, and the exact place of whatever is wrong."""
    found: list[tuple[int, int, float]] = []
    for position, source in enumerate(at):
        where = lines.place(source)
        values = _slow_row(lines.line(source), where, plan, is_sparse)
        found += [
            (position, k, _slow_value(k, *v, where, plan))
            for k, v in values.items()
            if not plan.ignored[k]
        ]
    row, attribute, raw = np.array(found, np.float64).reshape(-1, 3).T
    row, attribute = row.astype(np.int64), attribute.astype(np.int64)
    if is_sparse:
        return _from_triples(len(at), row, attribute, raw, plan)
    matrix = np.zeros((len(at), len(plan.attributes)))
    matrix[row, attribute] = raw
    return _from_matrix(matrix, plan)


def _slow_row(line: str, where: str, plan: Plan, is_sparse: bool) -> dict[int, tuple[str, bool]]:
    """The text of each attribute of a row, and whether it is quoted."""
    found: dict[int, tuple[str, bool]] = {}
    at, n = int(is_sparse), len(plan.attributes)
    end, marks = (_PAIR_END, (",", "}")) if is_sparse else (_FIELD_END, ("", ",", "%"))
    while True:
        start = at = after_space(line, at)
        k = len(found)
        if is_sparse:
            if line[at : at + 1] == ",":  # white space for Weka
                at += 1
                continue
            if line[at : at + 1] == "}":
                break
            match = _INDEX.match(line, at)
            if not match:
                raise _no_pair(line, start, where)
            k, at = _index(match[1], where, n), match.end()
            if k in found:
                raise DataError(f"{where}: index {k} is given twice; keep one")
        text, quoted, at = next_piece(line, at, end)
        mark = line[at : at + 1]
        if mark not in marks:
            if is_sparse:
                raise _no_pair(line, start, where)
            raise DataError(
                f"{where}: value {k + 1} cannot be read at {line[start : start + 20]!r}; close its "
                "quote"
            )
        found[k] = text, quoted
        if mark != ",":
            break
        at += 1
    rest = line[at + 1 :].strip()
    if is_sparse and rest and rest[0] != "%":
        raise DataError(f"{where}: {rest[:20]!r} after the closing brace; remove it")
    if not is_sparse and len(found) != n:
        raise DataError(
            f"{where}: {len(found)} values for {n} attributes; complete or remove the line"
        )
    return found


def _index(text: str, where: str, n: int) -> int:
    try:
        index = number(text)
    except ValueError:
        index = -1.0
    if int(index) != index or not 0 <= index < n:
        raise DataError(
            f"{where}: index {text[:40]!r} is none of 0..{n - 1}; correct or remove the line"
        )
    return int(index)


def _no_pair(line: str, at: int, where: str) -> DataError:
    if "}" not in line:
        return DataError(
            f"{where}: the sparse row has no closing brace; complete or remove the line"
        )
    return DataError(
        f"{where}: {line[at : at + 20]!r} is not 'index value'; write a sparse row as {{index "
        "value, ...}"
    )


def _slow_value(k: int, text: str, quoted: bool, where: str, plan: Plan) -> float:
    """One value as a number or category number, NaN where it is unknown."""
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
        told = f": {text[:40]!r} is not a finite number; correct it, or write ? for a missing value"
        if a.categories is not None:
            declared = near(text, a.categories)
            told = (
                f" has no category {text[:40]!r}; correct the value or declare it in the "
                f"header ({declared})"
            )
        raise DataError(f"{where}: attribute {a.name!r}{told}") from None
    if plan.label_of[k] >= 0:
        try:
            plan.labels(np.array([k]), np.array([value]))
        except Irregular:
            remedy = (
                f"correct it, or pass {option('binarize_labels', True)} to take value > 0 as "
                "positive"
            )
            raise DataError(
                f"{where}: label {a.name!r} is {text[:40]!r}, not 0 or 1; {remedy}"
            ) from None
    return value
