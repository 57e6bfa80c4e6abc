"""ARFF files of the multi-label repositories: Mulan (with a label XML) and MEKA (``-C n`` in the relation line).

What are the labels (argument `labels`, the first that applies):
    a path ending in ``.xml``   every ``<label name=...>`` at any depth whose name is an attribute
    an int n                    the first n attributes, or the last -n where n is negative (MEKA's convention)
    a list of names
    None                        the label XML beside the data file whose names are all attributes (of several that name
                                different sets, the one called like the data file); else ``-C n`` in the relation line
Label order is the attribute order of the ARFF file, never that of the XML or the list.

Features
    numeric, real, integer      one column
    nominal                     one column holding the 0-based number of the category in the declaration
                                (``nominal="index"``), or with ``nominal="onehot"`` one 0/1 column per category, named
                                ``attribute=category``; a nominal of two values stays one 0/1 column
    string, date, relational    refused unless named in `ignore`, which drops attributes of any kind
In a sparse row ``{i v, ...}`` an omitted attribute is 0, and for a nominal its first category, as Weka defines it.
Sparse rows become sparse vectors, dense rows dense vectors. Names are case-sensitive.

Labels must be 0/1 (numeric, or nominal whose categories are 0 and 1); ``binarize_labels=True`` takes value > 0 as
positive. ``?`` in a label is unknown (NaN); ``?`` in a feature follows `missing` (see `missing`).
"""

from __future__ import annotations

import io
import posixpath
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pyspark.sql import DataFrame, SparkSession

from ..errors import DataError, ParameterError
from ..schema import FEATURES, LABELS, with_names
from . import vectors
from .lines import Lines, TextFiles, beside, near, open_text, parse, small_text
from .missing import check_policy, impute, settle
from .tokens import Irregular, Tokens, number, numbers, table_of
from .vectors import Vectors

NUMERIC = ("numeric", "real", "integer")
_UNUSABLE = ("string", "date", "relational")


@dataclass
class Attribute:
    """One @attribute line: `categories` is None unless nominal; `kind` is numeric, nominal, string, date, relational."""

    name: str
    kind: str
    categories: list[str] | None
    line: int


@dataclass
class Header:
    relation: str
    attributes: list[Attribute]
    file: str

    def at(self, attribute: Attribute) -> str:
        return f"{self.file}:{attribute.line}: attribute {attribute.name!r}"


def arff(
    spark: SparkSession,
    path: str | Sequence[str],
    labels: str | int | Sequence[str] | None = None,
    nominal: str = "index",
    missing: str = "error",
    ignore: Sequence[str] = (),
    binarize_labels: bool = False,
) -> DataFrame:
    """Read ARFF files into the canonical frame ``id, features, labels``; see the module for what is a label or feature.

    `path` is one path, a list, a folder or a glob, plain, ``.gz`` or ``.bz2``, wherever Spark can read; several files
    need equal attribute declarations. ``id`` is the 0-based row number over the files in the given order. Only the
    header is read on the driver; rows are parsed when the frame is used.

    Raises `DataError` naming ``file:line`` and the remedy for whatever cannot be read (on an action, where it is a row),
    `ParameterError` for a wrong argument.
    """
    check_policy(missing)
    if nominal not in ("index", "onehot"):
        raise ParameterError(f"nominal={nominal!r} is not known: it is 'index' or 'onehot'")
    ignore = [ignore] if isinstance(ignore, str) else list(ignore)
    files = open_text(spark, path, comment="%", header=True)
    header = parse_header(files.header, files.names[0])
    names = [a.name for a in header.attributes]
    for name in ignore:
        if name not in names:
            raise ParameterError(f"ignore: {files.names[0]} has no attribute {name!r}: {near(name, names)}")
    chosen = _labels(spark, files, header, labels, ignore)
    plan = Plan(header, chosen, ignore, nominal, binarize_labels, missing)
    frame = parse(files, partial(_parse, plan=plan))
    frame = impute(frame, missing, plan.feature_names) if missing == "mean" else frame
    frame = with_names(frame, FEATURES, plan.feature_names)
    return with_names(frame, LABELS, plan.label_names)


# ---------------------------------------------------------------------------------------------------------------- header

_QUOTED = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
_NAME = re.compile(rf"({_QUOTED}|[^\s{{'\"]\S*?(?=[\s{{]|$))\s*")
_VALUE = re.compile(rf"\s*({_QUOTED}|[^,}}]*)\s*([,}}])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(text: str) -> str:
    """A name or value without its quotes, escapes resolved; an unquoted one as it is."""
    text = text.strip()
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1])
    return text


def parse_header(lines: Sequence[str], file: str) -> Header:
    """The relation line and the attributes of a header given line by line."""
    relation, attributes, seen = "", [], {}
    for k, raw in enumerate(lines, 1):
        line = raw.strip().lstrip("\ufeff").strip()
        if not line or line[0] == "%":
            continue
        word = line.split(None, 1)[0].lower()
        rest = line[len(word) :].strip()
        if word == "@relation":
            relation = rest
        elif word == "@attribute":
            attribute = _attribute(rest, file, k)
            if attribute.name in seen:
                raise DataError(
                    f"{file}:{k}: attribute {attribute.name!r} is declared twice (first in line {seen[attribute.name]}); "
                    "rename one"
                )
            seen[attribute.name] = k
            attributes.append(attribute)
        elif word.startswith("@data"):
            break
        else:
            raise DataError(
                f"{file}:{k}: the header line starts with {word[:20]!r}; before @data there are only @relation, "
                "@attribute, comments (%) and blank lines"
            )
    if not attributes:
        raise DataError(f"{file}:{max(len(lines), 1)}: no @attribute before @data; declare the attributes")
    return Header(relation, attributes, file)


def _attribute(rest: str, file: str, line: int) -> Attribute:
    found = _NAME.match(rest)
    if not found:
        raise DataError(f"{file}:{line}: no attribute name in {rest[:40]!r}; write @attribute 'name' type")
    name, kind = unquote(found[1]), rest[found.end() :]
    if kind.startswith("{"):
        categories, at = [], 1
        while True:
            value = _VALUE.match(kind, at)
            if not value:
                raise DataError(f"{file}:{line}: attribute {name!r}: the list of categories is not closed; end it with }}")
            categories.append(unquote(value[1]))
            at = value.end()
            if value[2] == "}":
                break
        if len(set(categories)) < len(categories):
            raise DataError(f"{file}:{line}: attribute {name!r} lists a category twice; remove one")
        return Attribute(name, "nominal", categories, line)
    word = (kind.split() or [""])[0].lower()
    if word in NUMERIC:
        return Attribute(name, "numeric", None, line)
    if word in _UNUSABLE:
        return Attribute(name, word, None, line)
    raise DataError(f"{file}:{line}: attribute {name!r} has the unknown type {word[:20]!r}; use numeric or {{category, ...}}")


def label_names_of_xml(text: str, where: str) -> tuple[list[str], list[str]]:
    """All label names of a Mulan label XML at any depth, and those of its leaves."""
    try:
        root = ElementTree.fromstring(text.lstrip("\ufeff").strip().encode())
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise DataError(f"{where}: not well-formed XML ({error}); give Mulan's label file") from None
    nodes = [e for e in root.iter() if e.tag.rpartition("}")[2] == "label" and e.get("name") is not None]
    leaves = [e for e in nodes if not any(c.tag.rpartition("}")[2] == "label" for c in e)]
    return [e.get("name") for e in nodes], [e.get("name") for e in leaves]


def _labels(
    spark: SparkSession, files: TextFiles, header: Header, labels: str | int | Sequence[str] | None, ignore: list[str]
) -> set[str]:
    """Names of the label attributes."""
    names = [a.name for a in header.attributes]
    known = set(names)
    file = files.names[0]
    if labels is None:
        chosen = _from_xml_beside(spark, header, known)
        if chosen is None:
            found = re.search(r"-[Cc]\s*[:=]?\s*(-?\d+)", header.relation)
            if not found:
                raise DataError(
                    f"{file}: nothing says which attributes are labels (no label XML beside it, no -C in @relation); pass "
                    "labels='labels.xml', labels=n for the first n attributes, labels=-n for the last n, or a list of names"
                )
            chosen = _first_or_last(int(found[1]), names, f"{file}: -C {found[1]} in @relation", DataError)
    elif isinstance(labels, str):
        if not labels.lower().endswith((".xml", ".xml.gz")):
            raise ParameterError(f"labels={labels!r}: a string is the path of a label XML; give one name as a list")
        every, leaves = label_names_of_xml(small_text(spark, labels, "label XML"), labels)
        absent = [n for n in leaves if n not in known]
        if absent:
            raise DataError(f"{labels}: label {absent[0]!r} is no attribute of {file}: {near(absent[0], names)}")
        chosen = [n for n in every if n in known]
        if not chosen:
            raise DataError(f"{labels}: it names no label; give Mulan's label file")
    elif isinstance(labels, (int, np.integer)) and not isinstance(labels, bool):
        chosen = _first_or_last(int(labels), names, f"labels={labels}", ParameterError)
    elif isinstance(labels, (list, tuple, set)) and labels and all(isinstance(n, str) for n in labels):
        chosen = list(labels)
        for name in chosen:
            if name not in known:
                raise ParameterError(f"labels: {file} has no attribute {name!r}: {near(name, names)}")
    else:
        raise ParameterError(f"labels={labels!r}: give a label XML, an int n or -n, or a list of attribute names")
    chosen = set(chosen) - set(ignore)
    if not chosen:
        raise ParameterError("every label is in ignore; keep one")
    if not known - chosen - set(ignore):
        raise ParameterError(f"{file}: no feature is left beside the {len(chosen)} labels; choose fewer labels")
    return chosen


def _first_or_last(n: int, names: list[str], what: str, error: type[Exception]) -> list[str]:
    if n == 0 or abs(n) >= len(names):
        raise error(f"{what}: the file has {len(names)} attributes; n is from 1 to {len(names) - 1}, or negative for the last")
    return names[:n] if n > 0 else names[n:]


def _from_xml_beside(spark: SparkSession, header: Header, known: set[str]) -> list[str] | None:
    fitting: dict[str, list[str]] = {}
    for path, text in beside(spark, header.file, "*.xml"):
        try:
            every, leaves = label_names_of_xml(text, path)
        except DataError:
            continue  # some other XML
        if leaves and known.issuperset(leaves):
            fitting[path] = [n for n in every if n in known]
    if len({frozenset(names) for names in fitting.values()}) > 1:
        stem = posixpath.basename(header.file).split(".")[0]
        own = [p for p in fitting if posixpath.basename(p).rpartition(".")[0] == stem]
        if not own:
            raise DataError(
                f"{header.file}: {len(fitting)} label XML files beside it fit and differ "
                f"({', '.join(posixpath.basename(p) for p in fitting)}); pass labels= with the path of one"
            )
        return fitting[own[0]]
    return next(iter(fitting.values()), None)


# ------------------------------------------------------------------------------------------------------------------ plan


class Plan:
    """What becomes of each attribute: everything a worker needs, as arrays over the attributes."""

    def __init__(self, header: Header, labels: set[str], ignore: list[str], nominal: str, binarize: bool, missing: str):
        attributes = header.attributes
        self.attributes, self.missing, self.binarize = attributes, missing, binarize
        n = len(attributes)
        self.label_of = np.full(n, -1)
        self.feature_of = np.full(n, -1)  # the attribute's column, the first of them where one-hot
        self.is_nominal = np.array([a.kind == "nominal" for a in attributes])
        self.num_categories = np.array([len(a.categories or ()) for a in attributes])
        self.onehot = np.zeros(n, bool)
        self.label_names: list[str] = []
        self.feature_names: list[str] = []
        # Per nominal label: the label value of each category (NaN: none).
        self.label_values: dict[int, np.ndarray] = {}
        # Categories that are the numbers 0..k-1 in order need no lookup; other numbers are looked up by value.
        self.identity = np.zeros(n, bool)
        self.by_value: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for k, a in enumerate(attributes):
            if a.name in ignore:
                continue
            if a.kind in _UNUSABLE:
                raise DataError(
                    f"{header.at(a)} is of type {a.kind}, which is neither a feature nor a label; drop it with "
                    f"ignore=[{a.name!r}] or encode it as numbers first"
                )
            if a.name in labels:
                self.label_of[k] = len(self.label_names)
                self.label_names.append(a.name)
                if a.kind == "nominal":
                    self.label_values[k] = _label_values(a, header, binarize)
            else:
                self.feature_of[k] = len(self.feature_names)
                if nominal == "onehot" and a.kind == "nominal" and len(a.categories) > 2:
                    self.onehot[k] = True
                    self.feature_names += [f"{a.name}={c}" for c in a.categories]
                else:
                    self.feature_names.append(a.name)
            if a.kind == "nominal":
                self._number_categories(k, a.categories)
        self.ignored = (self.label_of < 0) & (self.feature_of < 0)
        self.label_at = np.flatnonzero(self.label_of >= 0)
        self.feature_at = np.flatnonzero(self.feature_of >= 0)
        # An attribute omitted from a sparse row has its first category: not always a stored 0.
        self.omitted_one = np.flatnonzero(
            self.onehot | np.array([k in self.label_values and self.label_values[k][0] != 0 for k in range(n)])
        )

    def _number_categories(self, k: int, categories: list[str]) -> None:
        if categories == [str(v) for v in range(len(categories))]:
            self.identity[k] = True
            return
        try:
            values = np.array([number(c) for c in categories])
        except ValueError:
            return
        if len(set(values.tolist())) == len(values):
            order = np.argsort(values)
            self.by_value[k] = values[order], order

    def category(self, k: int, values: np.ndarray) -> np.ndarray:
        """Category numbers of a nominal attribute written as numbers; raises `Irregular` where one is none of them."""
        known = ~np.isnan(values)
        if self.identity[k]:
            ok = (values >= 0) & (values < self.num_categories[k]) & (values == np.floor(values))
            if not ok[known].all():
                raise Irregular
            return values
        if k not in self.by_value:
            raise Irregular
        ordered, numbers_ = self.by_value[k]
        at = np.searchsorted(ordered, values[known]).clip(max=len(ordered) - 1)
        if (ordered[at] != values[known]).any():
            raise Irregular
        found = np.full(len(values), np.nan)
        found[known] = numbers_[at]
        return found

    def labels(self, attribute: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Label values of raw ones (numbers, or category numbers); raises `Irregular` where one is not 0/1."""
        values = raw.astype(np.float64, copy=True)
        for k, table in self.label_values.items():
            if self.identity[k] and np.array_equal(table, np.arange(len(table))):
                continue
            here = (attribute == k) & ~np.isnan(raw)
            values[here] = table[raw[here].astype(int)]
        if self.binarize:
            return np.where(np.isnan(values), np.nan, values > 0)
        if not ((values == 0) | (values == 1) | np.isnan(values)).all():
            raise Irregular
        return values


def _label_values(a: Attribute, header: Header, binarize: bool) -> np.ndarray:
    try:
        values = np.array([number(c) for c in a.categories])
    except ValueError:
        raise DataError(
            f"{header.at(a)} is a label with the categories {{{','.join(a.categories)[:40]}}}; rewrite them as 0 and 1"
        ) from None
    if not binarize and not np.isin(values, (0, 1)).all():
        raise DataError(
            f"{header.at(a)} is a label with the values {{{','.join(a.categories)[:40]}}}, not 0 and 1 (a multi-target "
            "set); pass binarize_labels=True to take value > 0 as positive"
        )
    return (values > 0).astype(float) if binarize else values


# ------------------------------------------------------------------------------------------------------------------ rows


def _parse(lines: Lines, plan: Plan) -> tuple[np.ndarray, Vectors, Vectors]:
    """Features and labels of the rows, and which rows are kept."""
    n = len(lines.text)
    braced = np.asarray(pc.starts_with(lines.text, "{"))
    features, labels = [], []
    for is_sparse in (False, True):
        at = np.flatnonzero(braced == is_sparse)
        if not len(at):
            continue
        text = lines.text if len(at) == n else lines.text.take(pa.array(at))
        try:
            found = _sparse(text, plan) if is_sparse else _dense(text, plan)
        except Irregular:
            found = _slow(lines, at, plan, is_sparse)
        features.append((at, found[0]))
        labels.append((at, found[1]))
    kept, filled = settle(
        vectors.merge(features),
        plan.missing,
        where=lambda row, slot: f"{lines.at(row)}: attribute {plan.feature_names[slot]!r}",
    )
    both = vectors.merge(labels)
    return kept, filled, both if len(kept) == n else both.take(np.isin(np.arange(n), kept))


_SPARSE_SEPARATORS = table_of(b" \t\r\n,{}")
_NO_QUOTES = np.frombuffer(b"'\"%", np.uint8)


def _sparse(text: pa.Array, plan: Plan) -> tuple[Vectors, Vectors]:
    """Rows ``{i v, i v}`` of numbers, all at once."""
    tokens = Tokens(text, _SPARSE_SEPARATORS)
    data, offsets = tokens.data, tokens.offsets
    special = (data == 0x2C) | (data == 0x7B) | (data == 0x7D)  # , { }
    if (data == 0x27).any() or (data == 0x22).any() or (data == 0x25).any():  # ' " %
        raise Irregular
    at = np.flatnonzero(special)
    # Between one mark and the next in a row there are two tokens, in an empty row none, and outside the braces none.
    kind = data[at]
    opening, closing = kind == 0x7B, kind == 0x7D
    row_of_mark = np.searchsorted(offsets, at, side="right") - 1
    n = len(text)
    if opening.sum() != n or closing.sum() != n:
        raise Irregular
    if not np.array_equal(at[opening], offsets[:-1]) or not np.array_equal(at[closing], offsets[1:] - 2):
        raise Irregular
    before = np.searchsorted(tokens.starts, at)
    between = np.diff(before)
    inner = row_of_mark[1:] == row_of_mark[:-1]
    empty = inner & opening[:-1] & closing[1:] & (between == 0)
    if not (between[inner & ~empty] == 2).all():
        raise Irregular
    strings = tokens.strings()
    index = numbers(strings.take(pa.array(np.arange(0, len(strings), 2))))
    attribute = index.astype(np.int64) if np.isfinite(index).all() else None
    if attribute is None or not (attribute == index).all():
        raise Irregular
    if len(attribute) and (attribute.min() < 0 or attribute.max() >= len(plan.attributes)):
        raise Irregular
    raw = numbers(strings.take(pa.array(np.arange(1, len(strings), 2))))
    row = tokens.row[0::2]
    key = row * len(plan.attributes) + attribute
    if len(key) > 1 and not (key[1:] > key[:-1]).all():
        order = np.argsort(key, kind="stable")
        row, attribute, raw, key = row[order], attribute[order], raw[order], key[order]
        if (key[1:] == key[:-1]).any():
            raise Irregular
    if plan.ignored.any():
        used = ~plan.ignored[attribute]
        row, attribute, raw = row[used], attribute[used], raw[used]
    nominal = plan.is_nominal[attribute]
    if nominal.any():
        plain = nominal & plan.identity[attribute]
        values, known = raw[plain], ~np.isnan(raw[plain])
        ok = (values >= 0) & (values < plan.num_categories[attribute[plain]]) & (values == np.floor(values))
        if not ok[known].all():
            raise Irregular
        other = nominal & ~plain
        for k in np.unique(attribute[other]):
            here = other & (attribute == k)
            raw[here] = plan.category(k, raw[here])
    return _from_triples(n, row, attribute, raw, plan)


def _from_triples(n: int, row: np.ndarray, attribute: np.ndarray, raw: np.ndarray, plan: Plan) -> tuple[Vectors, Vectors]:
    """Sparse vectors of the given attributes, `raw` being a number or a category number; an omitted one is category 0."""
    if len(plan.omitted_one):
        place = np.full(len(plan.attributes), -1)
        place[plan.omitted_one] = np.arange(len(plan.omitted_one))
        omitted = np.ones((n, len(plan.omitted_one)), bool)
        given = place[attribute] >= 0
        omitted[row[given], place[attribute[given]]] = False
        more_rows, more = np.nonzero(omitted)
        row = np.concatenate([row, more_rows])
        attribute = np.concatenate([attribute, plan.omitted_one[more]])
        raw = np.concatenate([raw, np.zeros(len(more))])
    is_label = plan.label_of[attribute] >= 0
    labels = vectors.sparse(
        n,
        len(plan.label_names),
        row[is_label],
        plan.label_of[attribute[is_label]],
        plan.labels(attribute[is_label], raw[is_label]),
    )
    row, attribute, raw = row[~is_label], attribute[~is_label], raw[~is_label]
    column = plan.feature_of[attribute]
    if plan.onehot.any():
        row, column, raw = _one_hot(row, attribute, raw, plan)
    return vectors.sparse(n, len(plan.feature_names), row, column, raw), labels


def _one_hot(row: np.ndarray, attribute: np.ndarray, raw: np.ndarray, plan: Plan) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, column, value) with one-hot columns for the attributes that have them; unknown is NaN in every column."""
    hot = plan.onehot[attribute]
    column = plan.feature_of[attribute].copy()
    values = raw.copy()
    unknown = hot & np.isnan(raw)
    known = hot & ~unknown
    column[known] += raw[known].astype(int)
    values[known] = 1.0
    if unknown.any():
        width = plan.num_categories[attribute[unknown]]
        start = np.repeat(column[unknown], width)
        extra = start + np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
        row = np.concatenate([row[~unknown], np.repeat(row[unknown], width)])
        column = np.concatenate([column[~unknown], extra])
        values = np.concatenate([values[~unknown], np.full(len(extra), np.nan)])
    return row, column, values


def _dense(text: pa.Array, plan: Plan) -> tuple[Vectors, Vectors]:
    """Comma-separated rows, all at once, by Arrow's CSV reader."""
    # A double quote, a brace or a comment inside a row is for the slow path; ' with \ escapes is the reader's.
    data = pc.binary_join_element_wise(text, pa.scalar(""), pa.scalar("\n"))
    _, offsets, buffer = data.buffers()
    raw = np.frombuffer(buffer, np.uint8)
    for byte in (0x22, 0x25, 0x5C):  # " % \
        if (raw == byte).any():
            raise Irregular
    n, width = len(text), len(plan.attributes)
    names = [str(k) for k in range(width)]
    words = {
        str(k) for k in range(width) if plan.is_nominal[k] and not (plan.identity[k] or k in plan.by_value) or plan.ignored[k]
    }
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(buffer),
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=max(len(raw), 1) + 1, column_names=names),
            parse_options=pyarrow.csv.ParseOptions(quote_char="'", ignore_empty_lines=False),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={k: pa.string() if k in words else pa.float64() for k in names},
                null_values=["?"],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        raise Irregular from None
    if table.num_rows != n:
        raise Irregular
    matrix = np.zeros((width, n)).T  # filled column by column
    for k in range(width):
        if plan.ignored[k]:
            continue
        column = table.column(k).combine_chunks()
        if str(k) in words:
            column = pc.utf8_trim_whitespace(column)
            found = pc.index_in(column, pa.array(plan.attributes[k].categories))
            bad = pc.and_(pc.is_null(found), pc.not_equal(column, "?"))
            if pc.any(bad).as_py():
                raise Irregular
            matrix[:, k] = found.to_numpy(zero_copy_only=False)
            continue
        values = column.to_numpy(zero_copy_only=False)
        if column.null_count == 0:
            if not np.isfinite(values).all():
                raise Irregular
        elif not np.isfinite(values[np.asarray(column.is_valid())]).all():
            raise Irregular
        matrix[:, k] = plan.category(k, values) if plan.is_nominal[k] else values
    return _from_matrix(matrix, plan)


def _from_matrix(matrix: np.ndarray, plan: Plan) -> tuple[Vectors, Vectors]:
    """Dense features and sparse labels of raw rows."""
    n = len(matrix)
    label_raw = matrix[:, plan.label_at]
    attribute = np.broadcast_to(plan.label_at, label_raw.shape)
    labels = plan.labels(attribute.ravel(), label_raw.ravel()).reshape(label_raw.shape)
    if not plan.onehot.any():
        features = matrix[:, plan.feature_at]
    else:
        features = np.zeros((n, len(plan.feature_names)))
        row, column, values = _one_hot(
            np.repeat(np.arange(n), len(plan.feature_at)),
            np.tile(plan.feature_at, n),
            matrix[:, plan.feature_at].ravel(),
            plan,
        )
        features[row, column] = values
    return vectors.dense(features), vectors.sparse_from_matrix(labels)


# ------------------------------------------------------------------------------------------- line by line, with messages

_FIELD = re.compile(rf"\s*(?:({_QUOTED})|([^,'\"%]*?))\s*(,|$|%.*$)")
_PAIR = re.compile(rf"\s*([^\s,'\"}}]+)\s+(?:({_QUOTED})|([^,'\"}}]*?))\s*([,}}])")


def _slow(lines: Lines, at: np.ndarray, plan: Plan, is_sparse: bool) -> tuple[Vectors, Vectors]:
    """Rows one by one: quotes, comments, and the exact place of whatever is wrong."""
    rows, attributes, raw = [], [], []
    for position, source in enumerate(at):
        where = lines.at(source)
        pairs = (_slow_sparse if is_sparse else _slow_dense)(lines.line(source), where, plan)
        for k, value in pairs:
            rows.append(position)
            attributes.append(k)
            raw.append(value)
    row, attribute, values = np.array(rows, np.int64), np.array(attributes, np.int64), np.array(raw, np.float64)
    if is_sparse:
        return _from_triples(len(at), row, attribute, values, plan)
    matrix = np.zeros((len(at), len(plan.attributes)))
    matrix[row, attribute] = values
    return _from_matrix(matrix, plan)


def _slow_dense(line: str, where: str, plan: Plan) -> list[tuple[int, float]]:
    values, at = [], 0
    while True:
        found = _FIELD.match(line, at)
        if not found:
            raise DataError(f"{where}: value {len(values) + 1} cannot be read at {line[at : at + 20]!r}; close its quote")
        values.append((unquote(found[1]), True) if found[1] is not None else (found[2], False))
        at = found.end()
        if found[3] != ",":
            break
    if len(values) != len(plan.attributes):
        raise DataError(f"{where}: {len(values)} values for {len(plan.attributes)} attributes; complete or remove the line")
    return [(k, _slow_value(k, *v, where, plan)) for k, v in enumerate(values) if not plan.ignored[k]]


def _slow_sparse(line: str, where: str, plan: Plan) -> list[tuple[int, float]]:
    pairs, at, seen = [], 1, set()
    if re.match(r"\s*\}\s*(%.*)?$", line[1:]):
        return pairs
    while True:
        found = _PAIR.match(line, at)
        if not found:
            if "}" not in line:
                raise DataError(f"{where}: the sparse row has no closing brace; complete or remove the line")
            raise DataError(f"{where}: {line[at : at + 20]!r} is not 'index value'; write a sparse row as {{index value, ...}}")
        try:
            index = number(found[1])
        except ValueError:
            index = -1.0
        k = int(index)
        if k != index or not 0 <= k < len(plan.attributes):
            raise DataError(f"{where}: index {found[1]!r} is none of 0..{len(plan.attributes) - 1}; correct or remove the line")
        if k in seen:
            raise DataError(f"{where}: index {k} is given twice; keep one")
        seen.add(k)
        text, quoted = (unquote(found[2]), True) if found[2] is not None else (found[3], False)
        if not plan.ignored[k]:
            pairs.append((k, _slow_value(k, text, quoted, where, plan)))
        at = found.end()
        if found[4] == "}":
            break
    if not re.match(r"\s*(%.*)?$", line[at:]):
        raise DataError(f"{where}: {line[at : at + 20]!r} after the closing brace; remove it")
    return pairs


def _slow_value(k: int, text: str, quoted: bool, where: str, plan: Plan) -> float:
    """One value as a number or category number, NaN where it is unknown."""
    a = plan.attributes[k]
    if text == "?" and not quoted:
        return np.nan
    if a.kind == "nominal":
        if text in a.categories:
            value = float(a.categories.index(text))
        else:
            try:
                value = float(plan.category(k, np.array([number(text)]))[0])
            except (ValueError, Irregular):
                raise DataError(
                    f"{where}: attribute {a.name!r} has no category {text[:40]!r}; correct the value or declare it in the "
                    f"header ({near(text, a.categories)})"
                ) from None
    else:
        try:
            value = number(text)
        except ValueError:
            raise DataError(
                f"{where}: attribute {a.name!r}: {text[:40]!r} is not a finite number; correct it, or write ? for a missing value"
            ) from None
    if plan.label_of[k] >= 0:
        try:
            plan.labels(np.array([k]), np.array([value]))
        except Irregular:
            raise DataError(
                f"{where}: label {a.name!r} is {text[:40]!r}, not 0 or 1; correct it, or pass binarize_labels=True to take "
                "value > 0 as positive"
            ) from None
    return value
