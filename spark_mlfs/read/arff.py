"""ARFF files of the multi-label repositories: Mulan (with a label XML) and MEKA (``-C n`` in the relation line).

What are the labels (argument `labels`, the first that applies):
    a path ending in ``.xml``   every ``<label name=...>`` at any depth whose name is an attribute
    an int n                    the first n attributes, or the last -n where n is negative (MEKA's convention)
    a list of names
    None                        the label XML beside the data file whose names are all attributes (of several that name
                                different sets, the one called like the data file), with a notice where ``-C n`` says
                                otherwise; else the option ``-C n`` of the relation line, a word of its own as MEKA writes it
Label order is the attribute order of the ARFF file, never that of the XML or the list.

Features
    numeric, real, integer      one column
    nominal                     one column holding the 0-based number of the category in the declaration
                                (``nominal="index"``), or with ``nominal="onehot"`` one 0/1 column per category, named
                                ``attribute=category``; a nominal of two values stays one 0/1 column
    string, date, relational    refused unless named in `ignore`, which drops attributes of any kind
In a sparse row ``{i v, ...}`` an omitted attribute is 0, and for a nominal its first category, as Weka defines it.
Weka takes a comma in a sparse row for white space; so ``{,3 1}`` is ``{3 1}``, which a notice says.
Sparse rows become sparse vectors, dense rows dense vectors. Names are case-sensitive.

Files are UTF-8; a line that is none is read as Latin-1, which a notice says. A label XML is read by its declared encoding.

Labels must be 0/1 (numeric, or nominal whose categories are 0 and 1); ``binarize_labels=True`` takes value > 0 as
positive. ``?`` in a label is unknown (NaN); ``?`` in a feature follows `missing` (see `missing`).
"""

from __future__ import annotations

import itertools
import posixpath
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from ..errors import DataError, ParameterError, option
from ..formats import Either, Names, Reader
from ..params import Choice, Flag, Integer, Optional, Parameter
from ..schema import LABELS, with_names
from . import vectors
from .errors import notice
from .lines import MAX_XML, Lines, TextFiles, beside, near, open_text, parse, small_file
from .missing import MISSING_FEATURES, impute, settle
from .tokens import Irregular, cells, finite, joined, number, pairs
from .vectors import Vectors

NUMERIC = ("numeric", "real", "integer")
_UNUSABLE = ("string", "date", "relational")
MAX_NAME = 4096


@dataclass
class Attribute:
    """One @attribute line: `categories` is None unless nominal; `kind` is numeric, nominal, string, date, relational."""

    name: str
    kind: str
    categories: list[str] | None
    line: int


@dataclass
class Header:
    """The header of a file, up to @data."""

    relation: str
    attributes: list[Attribute]
    file: str

    def at(self, attribute: Attribute) -> str:
        return f"{self.file}:{attribute.line}: attribute {attribute.name!r}"


class Arff(Reader):
    """Read ARFF files into the canonical frame ``id, features, labels``; see the module for what is a label or feature.

    `path` is one path, a list, a folder or a glob, plain, ``.gz`` or ``.bz2``, wherever Spark can read; several files
    need equal attribute declarations. ``id`` is the 0-based row number over the files in the given order. Only the
    header is read on the driver; rows are parsed when the frame is used.

    Raises `DataError` naming ``file:line`` and the remedy for whatever cannot be read (on an action, where it is a row),
    `ParameterError` for a wrong argument.
    """

    name, title, source = "arff", "ARFF files of Weka, Mulan and MEKA", "Weka's manual"
    parameters = (
        Parameter(
            "labels", None, Optional(Either((Integer(), Names("a label XML or a list of attribute names")))),
            "a label XML, the number of attributes that come first (or -n: last), or names; None: as the files say",
        ),
        Parameter("nominal", "index", Choice(("index", "onehot")), "a nominal feature as category numbers or 0/1 columns"),
        MISSING_FEATURES,
        Parameter("ignore", (), Names("a list of attribute names", listed=True), "attributes to leave out"),
        Parameter("binarize_labels", False, Flag(), "a label is positive where its value is above 0"),
    )  # fmt: skip

    def read(self, spark: SparkSession, path: Any, p: Mapping[str, Any]) -> DataFrame:
        files = open_text(spark, path, comment="%", header=True)
        header = parse_header(files.header, files.names[0])
        names = [a.name for a in header.attributes]
        for name in p["ignore"]:
            if name not in names:
                raise ParameterError(f"ignore: {files.names[0]} has no attribute {name!r}: {near(name, names)}")
        chosen = _labels(spark, files, header, p["labels"], p["ignore"])
        plan = Plan(header, chosen, p["ignore"], p["nominal"], p["binarize_labels"], p["missing"])
        frame = parse(files, partial(_parse, plan=plan))
        frame = impute(frame, p["missing"], plan.feature_names, settled=True)
        return with_names(frame, LABELS, plan.label_names)


# ---------------------------------------------------------------------------------------------------------------- header

_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_NAME = re.compile(rf"({_QUOTED.pattern}|[^\s{{'\"][^\s{{]*)\s*")
_SPACE = re.compile(r"\s*")
_LIST_END = re.compile(r"[,}]|\Z")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(text: str) -> str:
    """A name or value without its quotes, escapes resolved; an unquoted one as it is."""
    text = text.strip()
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1])
    return text


def _after_space(line: str, at: int) -> int:
    found = _SPACE.match(line, at)
    return found.end() if found else at


def _piece(line: str, at: int, end: re.Pattern[str]) -> tuple[str, bool, int]:
    """The value at `at`, quoted or up to what matches `end`; whether it is quoted; and the place of the mark behind it.

    Every character is looked at once, so that a line is read in linear time whatever it holds.
    """
    at = _after_space(line, at)
    quoted = _QUOTED.match(line, at)
    if quoted:
        return unquote(quoted[0]), True, _after_space(line, quoted.end())
    found = end.search(line, at)
    stop = found.start() if found else len(line)
    return line[at:stop].rstrip(), False, stop


def parse_header(lines: Sequence[str], file: str) -> Header:
    """The relation line and the attributes of a header given line by line."""
    relation, attributes, seen = "", list[Attribute](), dict[str, int]()
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
    match = _NAME.match(rest)
    if not match:
        raise DataError(f"{file}:{line}: no attribute name in {rest[:40]!r}; write @attribute 'name' type")
    name, kind = unquote(match[1]), rest[match.end() :]
    if not name.strip():
        raise DataError(f"{file}:{line}: an attribute without a name; write @attribute 'name' type")
    if len(name) > MAX_NAME:
        what = f"an attribute name of {len(name)} characters, {name[:20]!r} and on"
        raise DataError(f"{file}:{line}: {what}; give it at most {MAX_NAME}")
    if kind.startswith("{"):
        categories, at = list[str](), 1
        while True:
            value, quoted, at = _piece(kind, at, _LIST_END)
            mark = kind[at : at + 1]
            if not mark:
                raise DataError(f"{file}:{line}: attribute {name!r}: the list of categories is not closed; end it with }}")
            if mark not in ",}":
                raise DataError(f"{file}:{line}: attribute {name!r}: {kind[at : at + 20]!r} after a quoted category; remove it")
            if not value and not quoted:
                what = "lists no category" if mark == "}" and not categories else "lists an empty category"
                raise DataError(f"{file}:{line}: attribute {name!r} {what}; remove the comma, or write '' for an empty one")
            categories.append(value)
            at += 1
            if mark == "}":
                break
        _nothing_more(kind[at:], f"{file}:{line}: attribute {name!r}", "the list of categories")
        if len(set(categories)) < len(categories):
            raise DataError(f"{file}:{line}: attribute {name!r} lists a category twice; remove one")
        return Attribute(name, "nominal", categories, line)
    word = (kind.split(None, 1) or [""])[0].lower()
    if word in NUMERIC:
        _nothing_more(kind[len(word) :], f"{file}:{line}: attribute {name!r}", f"the type {word}")
        return Attribute(name, "numeric", None, line)
    if word in _UNUSABLE:
        return Attribute(name, word, None, line)
    raise DataError(f"{file}:{line}: attribute {name!r} has the unknown type {word[:20]!r}; use numeric or {{category, ...}}")


_RANGE = re.compile(r"\[[^\]]*\]")  # Weka's range of a numeric attribute, as in: numeric [0,1]


def _nothing_more(rest: str, where: str, what: str) -> None:
    rest = rest.strip()
    found = _RANGE.match(rest)
    rest = rest[found.end() :].strip() if found else rest
    if rest and rest[0] != "%":
        raise DataError(f"{where}: {rest[:20]!r} after {what}; remove it, or put a % before a comment")


def label_names_of_xml(content: bytes, where: str) -> tuple[list[str], list[str]]:
    """All label names of a Mulan label XML at any depth, and those of its leaves; read by its declared encoding."""
    content = content.lstrip()
    if not content:
        raise DataError(f"{where}: the file is empty; give Mulan's label file (<labels><label name=.../></labels>)")
    if b"<!ENTITY" in content or "<!ENTITY".encode("utf-16-le") in content or "<!ENTITY".encode("utf-16-be") in content:
        raise DataError(f"{where}: the XML declares entities, which no label file needs; remove them")
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        known = b"encoding" in content[:200] or content[:2] in (b"\xff\xfe", b"\xfe\xff")
        if not known and not _is_utf8(content):
            raise DataError(
                f"{where}: not UTF-8 and without a declared encoding; begin it with "
                '<?xml version="1.0" encoding="ISO-8859-1"?>, or the encoding it has'
            ) from None
        raise DataError(f"{where}: not well-formed XML ({error}); give Mulan's label file") from None
    nodes = [e for e in root.iter() if e.tag.rpartition("}")[2] == "label" and e.get("name") is not None]
    if any(not e.attrib["name"].strip() for e in nodes):
        raise DataError(f'{where}: a label without a name (name=""); name it as the attribute it stands for, or remove it')
    leaves = [e for e in nodes if not any(c.tag.rpartition("}")[2] == "label" for c in e)]
    return [e.attrib["name"] for e in nodes], [e.attrib["name"] for e in leaves]


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
        return True
    except UnicodeDecodeError:
        return False


def labels_of_relation(relation: str) -> int | None:
    """n of MEKA's option ``-C n`` in the text of a relation line (``'name: -C n'``), where it is a word of its own."""
    quoted = _QUOTED.match(relation)
    words = (unquote(quoted[0]) if quoted else relation.partition("%")[0]).replace(":", ": ").split()
    after = next((b for a, b in itertools.pairwise(words) if a == "-C"), None)
    return int(after) if after is not None and re.fullmatch(r"-?[0-9]{1,9}", after) else None


def _labels(
    spark: SparkSession, files: TextFiles, header: Header, labels: str | int | Sequence[str] | None, ignore: Sequence[str]
) -> set[str]:
    """Names of the label attributes."""
    names = [a.name for a in header.attributes]
    known = set(names)
    file = files.names[0]
    if labels is None:
        beside_it, chosen, broken = _from_xml_beside(spark, header, known)
        n = labels_of_relation(header.relation)
        if chosen is None:
            if n is None:
                raise DataError(
                    f"{file}: nothing says which attributes are labels ({broken or 'no label XML beside it'}, no -C in "
                    f"@relation); pass {option('labels', 'labels.xml')}, n for the first n attributes, -n for the last n, or a "
                    "list of names"
                )
            chosen = _first_or_last(n, names, f"{file}: -C {n} in @relation", DataError)
            if broken:
                notice(f"{broken}; the labels of {file} are those of -C {n} in @relation")
        elif n is not None and set(chosen) != set(names[:n] if n > 0 else names[n:]):
            notice(
                f"{file}: the labels are those of {posixpath.basename(beside_it)} beside it, not the -C {n} of @relation; pass "
                f"labels={n} for those"
            )
    elif isinstance(labels, str):
        if not labels.lower().endswith((".xml", ".xml.gz")):
            raise ParameterError(f"{option('labels', labels)}: a string is the path of a label XML; give one name as a list")
        every, leaves = label_names_of_xml(small_file(spark, labels, "label XML", MAX_XML), labels)
        absent = [n for n in leaves if n not in known]
        if absent:
            raise DataError(f"{labels}: label {absent[0]!r} is no attribute of {file}: {near(absent[0], names)}")
        chosen = [n for n in every if n in known]
        if not chosen:
            raise DataError(f"{labels}: it names no label; give Mulan's label file")
    elif isinstance(labels, int):
        chosen = _first_or_last(labels, names, option("labels", labels), ParameterError)
    else:
        chosen = list(labels)
        if not chosen:
            raise ParameterError(f"{option('labels', labels)}: give a label XML, n, -n, or a list of attribute names")
        for name in chosen:
            if name not in known:
                raise ParameterError(f"{option('labels')}: {file} has no attribute {name!r}: {near(name, names)}")
    kept = set(chosen) - set(ignore)
    if not kept:
        raise ParameterError("every label is in ignore; keep one")
    if not known - kept - set(ignore):
        raise ParameterError(f"{file}: no feature is left beside the {len(kept)} labels; choose fewer labels")
    return kept


def _first_or_last(n: int, names: list[str], what: str, error: type[Exception]) -> list[str]:
    if n == 0 or abs(n) >= len(names):
        raise error(f"{what}: the file has {len(names)} attributes; n is from 1 to {len(names) - 1}, or negative for the last")
    return names[:n] if n > 0 else names[n:]


def _from_xml_beside(spark: SparkSession, header: Header, known: set[str]) -> tuple[str, list[str] | None, str]:
    """The label XML beside the data file, its labels (None: there is none), and one called like the data that is damaged."""
    fitting: dict[str, list[str]] = {}
    stem = posixpath.basename(header.file).split(".")[0]
    broken = ""
    for path, content in beside(spark, header.file, "*.xml"):
        try:
            every, leaves = label_names_of_xml(content, path)
        except DataError as error:
            if posixpath.basename(path).rpartition(".")[0] == stem:
                broken = str(error).partition(";")[0]
            continue  # some other XML
        if leaves and known.issuperset(leaves):
            fitting[path] = [n for n in every if n in known]
        elif posixpath.basename(path).rpartition(".")[0] == stem:
            absent = next((repr(n) for n in leaves if n not in known), None)
            broken = f"{path} names the label {absent}, which is no attribute" if absent else f"{path} names no label"
    if len({frozenset(names) for names in fitting.values()}) > 1:
        own = [p for p in fitting if posixpath.basename(p).rpartition(".")[0] == stem]
        if not own:
            raise DataError(
                f"{header.file}: {len(fitting)} label XML files beside it fit and differ "
                f"({', '.join(posixpath.basename(p) for p in fitting)}); pass {option('labels')} with the path of one"
            )
        return own[0], fitting[own[0]], broken
    return *next(iter(fitting.items()), ("", None)), broken


# ------------------------------------------------------------------------------------------------------------------ plan


class Plan:
    """Plan for each attribute: everything a worker needs, as arrays over the attributes."""

    def __init__(self, header: Header, labels: set[str], ignore: Sequence[str], nominal: str, binarize: bool, missing: str):
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
                if nominal == "onehot" and a.categories is not None and len(a.categories) > 2:
                    self.onehot[k] = True
                    self.feature_names += [f"{a.name}={c}" for c in a.categories]
                else:
                    self.feature_names.append(a.name)
            if a.categories is not None:
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

    def categories(self, attribute: np.ndarray | int, raw: np.ndarray) -> np.ndarray:
        """Return values with category numbers in place of those of nominal attributes; `Irregular` where one is none of them.
        `attribute` is that of each value, or of all."""
        nominal = self.is_nominal[attribute] & ~np.isnan(raw)
        plain = nominal & self.identity[attribute]
        values, count = raw[plain], self.num_categories[attribute if isinstance(attribute, int) else attribute[plain]]
        if not ((values >= 0) & (values < count) & (values == np.floor(values))).all():
            raise Irregular
        other = nominal & ~plain
        if not other.any():
            return raw
        raw = raw.copy()
        for k in [attribute] if isinstance(attribute, int) else np.unique(attribute[other]):
            if k not in self.by_value:
                raise Irregular
            here = other if isinstance(attribute, int) else other & (attribute == k)
            ordered, numbers = self.by_value[k]
            values = raw[here]
            at = np.searchsorted(ordered, values).clip(max=len(ordered) - 1)
            if (ordered[at] != values).any():
                raise Irregular
            raw[here] = numbers[at]
        return raw

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
    assert a.categories is not None
    try:
        values = np.array([number(c) for c in a.categories])
    except ValueError:
        raise DataError(
            f"{header.at(a)} is a label with the categories {{{','.join(a.categories)[:40]}}}; rewrite them as 0 and 1"
        ) from None
    if not binarize and not np.isin(values, (0, 1)).all():
        raise DataError(
            f"{header.at(a)} is a label with the values {{{','.join(a.categories)[:40]}}}, not 0 and 1 (a multi-target "
            f"set); pass {option('binarize_labels', True)} to take value > 0 as positive"
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
            vectors_of = _sparse(text, plan) if is_sparse else _dense(text, plan)
        except Irregular:
            vectors_of = _slow(lines, at, plan, is_sparse)
        features.append((at, vectors_of[0]))
        labels.append((at, vectors_of[1]))
    kept, filled = settle(
        vectors.merge(features),
        plan.missing,
        where=lambda row, slot: f"{lines.at(row)}: attribute {plan.feature_names[slot]!r}",
    )
    both = vectors.merge(labels)
    return kept, filled, both if len(kept) == n else both.take(np.isin(np.arange(n), kept))


_BETWEEN = bytes.maketrans(b",\t", b"\n ")


def _sparse(text: pa.Array, plan: Plan) -> tuple[Vectors, Vectors]:
    """Rows ``{i v, i v}`` of numbers, all at once."""
    n, width = len(text), len(plan.attributes)
    if not pc.all(pc.ends_with(text, "}")).as_py() or pc.sum(pc.count_substring_regex(text, "[{}]")).as_py() != 2 * n:
        raise Irregular
    row, attribute, raw = pairs(text, " ", _BETWEEN, b"{}")
    if len(attribute) and not 0 <= attribute.min() <= attribute.max() < width:
        raise Irregular
    key = row * width + attribute
    if not (key[1:] > key[:-1]).all() and len(np.unique(key)) < len(key):
        raise Irregular
    if plan.ignored.any():
        used = ~plan.ignored[attribute]
        row, attribute, raw = row[used], attribute[used], raw[used]
    return _from_triples(n, row, attribute, plan.categories(attribute, raw), plan)


def _from_triples(n: int, row: np.ndarray, attribute: np.ndarray, raw: np.ndarray, plan: Plan) -> tuple[Vectors, Vectors]:
    """Sparse vectors of the given attributes, `raw` being a number or a category number; an omitted one is category 0."""
    if len(plan.omitted_one):
        position = np.full(len(plan.attributes), -1)
        position[plan.omitted_one] = np.arange(len(plan.omitted_one))
        omitted = np.ones((n, len(plan.omitted_one)), bool)
        is_listed = position[attribute] >= 0
        omitted[row[is_listed], position[attribute[is_listed]]] = False
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
    data = joined(text)
    if any(mark in data for mark in b'"%\\') or not _quotes_in_place(np.frombuffer(data, np.uint8)):
        raise Irregular  # the CSV reader takes '1'2 for 12, and '?' for a missing value
    n, width = len(text), len(plan.attributes)
    numeric = [k in plan.by_value or not plan.is_nominal[k] or plan.identity[k] for k in range(width)]
    types = [pa.float64() if numeric[k] and not plan.ignored[k] else pa.string() for k in range(width)]
    table = cells(data, types, ",", "'")
    if table.num_rows != n:
        raise Irregular
    matrix = np.zeros((width, n)).T  # filled column by column
    for k in np.flatnonzero(~plan.ignored).tolist():
        column = table.column(k)
        if not numeric[k]:
            column = pc.utf8_trim_whitespace(column)
            known = pc.index_in(column, pa.array(plan.attributes[k].categories))
            if pc.any(pc.and_(pc.is_null(known), pc.not_equal(column, "?"))).as_py():
                raise Irregular
            matrix[:, k] = known.to_numpy()
        else:
            matrix[:, k] = plan.categories(k, finite(column)) if plan.is_nominal[k] else finite(column)
    return _from_matrix(matrix, plan)


def _quotes_in_place(raw: np.ndarray) -> bool:
    """Whether every ' of lines of comma-separated values opens or closes a whole value, and none quotes a lone ?."""
    at = np.flatnonzero(raw == 0x27)
    if not len(at):
        return True
    if len(at) % 2:
        return False
    opening, closing = at[0::2], at[1::2]
    before = np.where(opening > 0, raw[opening - 1], 0x2C)
    after = raw[closing + 1]  # every line ends with a newline
    marks = [0x2C, 0x0A]
    if not (np.isin(before, marks).all() and np.isin(after, marks).all()):
        return False
    lines = np.flatnonzero(raw == 0x0A)
    whole = np.searchsorted(lines, opening) == np.searchsorted(lines, closing)
    return bool(whole.all()) and not ((closing == opening + 2) & (raw[opening + 1] == 0x3F)).any()


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

_FIELD_END = re.compile(r"[,'\"%]|\Z")
_PAIR_END = re.compile(r"[,'\"}]|\Z")
_INDEX = re.compile(r"([^\s,'\"}]+)\s+")


def _slow(lines: Lines, at: np.ndarray, plan: Plan, is_sparse: bool) -> tuple[Vectors, Vectors]:
    """Rows one by one: quotes, comments, and the exact place of whatever is wrong."""
    found: list[tuple[int, int, float]] = []
    for position, source in enumerate(at):
        where = lines.at(source)
        values = _slow_row(lines.line(source), where, plan, is_sparse)
        found += [(position, k, _slow_value(k, *v, where, plan)) for k, v in values.items() if not plan.ignored[k]]
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
        start = at = _after_space(line, at)
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
        text, quoted, at = _piece(line, at, end)
        mark = line[at : at + 1]
        if mark not in marks:
            if is_sparse:
                raise _no_pair(line, start, where)
            raise DataError(f"{where}: value {k + 1} cannot be read at {line[start : start + 20]!r}; close its quote")
        found[k] = text, quoted
        if mark != ",":
            break
        at += 1
    rest = line[at + 1 :].strip()
    if is_sparse and rest and rest[0] != "%":
        raise DataError(f"{where}: {rest[:20]!r} after the closing brace; remove it")
    if not is_sparse and len(found) != n:
        raise DataError(f"{where}: {len(found)} values for {n} attributes; complete or remove the line")
    return found


def _index(text: str, where: str, n: int) -> int:
    try:
        index = number(text)
    except ValueError:
        index = -1.0
    if int(index) != index or not 0 <= index < n:
        raise DataError(f"{where}: index {text[:40]!r} is none of 0..{n - 1}; correct or remove the line")
    return int(index)


def _no_pair(line: str, at: int, where: str) -> DataError:
    if "}" not in line:
        return DataError(f"{where}: the sparse row has no closing brace; complete or remove the line")
    return DataError(f"{where}: {line[at : at + 20]!r} is not 'index value'; write a sparse row as {{index value, ...}}")


def _slow_value(k: int, text: str, quoted: bool, where: str, plan: Plan) -> float:
    """One value as a number or category number, NaN where it is unknown."""
    a = plan.attributes[k]
    if text == "?" and not quoted:
        return np.nan
    if a.categories is not None:
        if text in a.categories:
            value = float(a.categories.index(text))
        else:
            try:
                value = float(plan.categories(k, np.array([number(text)]))[0])
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
                f"{where}: label {a.name!r} is {text[:40]!r}, not 0 or 1; correct it, or pass {option('binarize_labels', True)} "
                "to take value > 0 as positive"
            ) from None
    return value
