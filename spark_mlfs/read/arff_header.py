"""The header of an ARFF file: its attributes, and which of them are labels."""

from __future__ import annotations

import itertools
import posixpath
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import DataError, ParameterError, option
from ..frames.errors import notice
from ..frames.names import near
from ..lazy import SparkSession
from .lines import MAX_XML, TextFiles, beside, not_utf8, small_file

NUMERIC = ("numeric", "real", "integer")
UNUSABLE = ("string", "date", "relational")
MAX_NAME = 4096


@dataclass
class Attribute:
    """One @attribute line: `categories` is None unless nominal; `kind` is numeric, nominal, string,
    date, relational."""

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

    def place(self, attribute: Attribute) -> str:
        return f"{self.file}:{attribute.line}: attribute {attribute.name!r}"


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


def after_space(line: str, at: int) -> int:
    """Return where the first character that is no space stands, from `at` on."""
    return at + len(_SPACE.match(line, at)[0])  # type: ignore[index]  # it matches nothing, too


def next_piece(line: str, at: int, end: re.Pattern[str]) -> tuple[str, bool, int]:
    """The value at `at`, quoted or up to what matches `end`; whether it is quoted; the mark's place
    behind it, in linear time."""
    at = after_space(line, at)
    quoted = _QUOTED.match(line, at)
    if quoted:
        return unquote(quoted[0]), True, after_space(line, quoted.end())
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
            attribute = _attribute(rest, f"{file}:{k}", k)
            first = seen.setdefault(attribute.name, k)
            if first < k:
                raise DataError(
                    f"{file}:{k}: attribute {attribute.name!r} is declared twice (first in line "
                    f"{first}); rename one"
                )
            attributes.append(attribute)
        elif word.startswith("@data"):
            break
        else:
            allowed = (
                "before @data there are only @relation, @attribute, comments (%) and blank lines"
            )
            raise DataError(f"{file}:{k}: the header line starts with {word[:20]!r}; {allowed}")
    if not attributes:
        raise DataError(
            f"{file}:{max(len(lines), 1)}: no @attribute before @data; declare the attributes"
        )
    return Header(relation, attributes, file)


def _attribute(rest: str, place: str, line: int) -> Attribute:
    match = _NAME.match(rest)
    if not match:
        raise DataError(
            f"{place}: no attribute name in {rest[:40]!r}; write @attribute 'name' type"
        )
    name, kind = unquote(match[1]), rest[match.end() :]
    if not name.strip():
        raise DataError(f"{place}: an attribute without a name; write @attribute 'name' type")
    if len(name) > MAX_NAME:
        raise DataError(
            f"{place}: an attribute name of {len(name)} characters, {name[:20]!r} and on; give it "
            f"at most {MAX_NAME}"
        )
    where = f"{place}: attribute {name!r}"
    if kind.startswith("{"):
        categories, at = list[str](), 1
        while True:
            value, quoted, at = next_piece(kind, at, _LIST_END)
            mark = kind[at : at + 1]
            if not mark:
                raise DataError(f"{where}: the list of categories is not closed; end it with }}")
            if mark not in ",}":
                raise DataError(
                    f"{where}: {kind[at : at + 20]!r} after a quoted category; remove it"
                )
            if not value and not quoted:
                what = (
                    "lists no category"
                    if mark == "}" and not categories
                    else "lists an empty category"
                )
                raise DataError(f"{where} {what}; remove the comma, or write '' for an empty one")
            categories.append(value)
            at += 1
            if mark == "}":
                break
        _nothing_more(kind[at:], where, "the list of categories")
        if len(set(categories)) < len(categories):
            raise DataError(f"{where} lists a category twice; remove one")
        return Attribute(name, "nominal", categories, line)
    word = (kind.split(None, 1) or [""])[0].lower()
    if word in NUMERIC:
        _nothing_more(kind[len(word) :], where, f"the type {word}")
        return Attribute(name, "numeric", None, line)
    if word in UNUSABLE:
        return Attribute(name, word, None, line)
    raise DataError(f"{where} has the unknown type {word[:20]!r}; use numeric or {{category, ...}}")


_RANGE = re.compile(r"\[[^\]]*\]")  # Weka's range of a numeric attribute, as in: numeric [0,1]


def _nothing_more(rest: str, where: str, what: str) -> None:
    rest = rest.strip()
    found = _RANGE.match(rest)
    rest = rest[found.end() :].strip() if found else rest
    if rest and rest[0] != "%":
        raise DataError(
            f"{where}: {rest[:20]!r} after {what}; remove it, or put a % before a comment"
        )


def label_names_of_xml(content: bytes, where: str) -> tuple[list[str], list[str]]:
    """All label names of a Mulan label XML at any depth, and those of its leaves; read by its
    declared encoding."""
    content = content.lstrip()
    if not content:
        raise DataError(
            f"{where}: the file is empty; give Mulan's label file (<labels><label "
            "name=.../></labels>)"
        )
    if (
        b"<!ENTITY" in content
        or "<!ENTITY".encode("utf-16-le") in content
        or "<!ENTITY".encode("utf-16-be") in content
    ):
        raise DataError(
            f"{where}: the XML declares entities, which no label file needs; remove them"
        )
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        known = b"encoding" in content[:200] or content[:2] in (b"\xff\xfe", b"\xfe\xff")
        if not known and not_utf8(content):
            begin = '<?xml version="1.0" encoding="ISO-8859-1"?>, or the encoding it has'
            raise DataError(
                f"{where}: not UTF-8 and without a declared encoding; begin it with {begin}"
            ) from None
        raise DataError(
            f"{where}: not well-formed XML ({error}); give Mulan's label file"
        ) from None
    nodes = [
        e for e in root.iter() if e.tag.rpartition("}")[2] == "label" and e.get("name") is not None
    ]
    if any(not e.attrib["name"].strip() for e in nodes):
        raise DataError(
            f'{where}: a label without a name (name=""); name it as the attribute it stands for, '
            "or remove it"
        )
    leaves = [e for e in nodes if not any(c.tag.rpartition("}")[2] == "label" for c in e)]
    return [e.attrib["name"] for e in nodes], [e.attrib["name"] for e in leaves]


def labels_of_relation(relation: str) -> int | None:
    """n of MEKA's option ``-C n`` in the text of a relation line (``'name: -C n'``), where it is a
    word of its own."""
    quoted = _QUOTED.match(relation)
    words = (
        (unquote(quoted[0]) if quoted else relation.partition("%")[0]).replace(":", ": ").split()
    )
    after = next((b for a, b in itertools.pairwise(words) if a == "-C"), None)
    return int(after) if after is not None and re.fullmatch(r"-?[0-9]{1,9}", after) else None


def chosen_labels(
    spark: SparkSession,
    files: TextFiles,
    header: Header,
    labels: str | int | Sequence[str] | None,
    ignore: Sequence[str],
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
                why = f"{broken or 'no label XML beside it'}, no -C in @relation"
                remedy = (
                    f"{option('labels', 'labels.xml')}, n for the first n attributes, -n for "
                    "the last n, or a list of names"
                )
                raise DataError(
                    f"{file}: nothing says which attributes are labels ({why}); pass {remedy}"
                )
            chosen = _first_or_last(n, names, f"{file}: -C {n} in @relation", DataError)
            if broken:
                notice(f"{broken}; the labels of {file} are those of -C {n} in @relation")
        elif n is not None and set(chosen) != set(names[:n] if n > 0 else names[n:]):
            told = (
                f"the labels are those of {posixpath.basename(beside_it)} beside it, not the "
                f"-C {n} of @relation"
            )
            notice(f"{file}: {told}; pass labels={n} for those")
    elif isinstance(labels, str):
        if not labels.lower().endswith((".xml", ".xml.gz")):
            raise ParameterError(
                f"{option('labels', labels)}: a string is the path of a label XML; give one name "
                "as a list"
            )
        every, leaves = label_names_of_xml(small_file(spark, labels, "label XML", MAX_XML), labels)
        absent = [n for n in leaves if n not in known]
        if absent:
            raise DataError(
                f"{labels}: label {absent[0]!r} is no attribute of {file}: {near(absent[0], names)}"
            )
        chosen = [n for n in every if n in known]
        if not chosen:
            raise DataError(f"{labels}: it names no label; give Mulan's label file")
    elif isinstance(labels, int):
        chosen = _first_or_last(labels, names, option("labels", labels), ParameterError)
    else:
        chosen = list(labels)
        if not chosen:
            raise ParameterError(
                f"{option('labels', labels)}: give a label XML, n, -n, or a list of attribute names"
            )
        for name in chosen:
            if name not in known:
                raise ParameterError(
                    f"{option('labels')}: {file} has no attribute {name!r}: {near(name, names)}"
                )
    kept = set(chosen) - set(ignore)
    if not kept:
        raise ParameterError("every label is in ignore; keep one")
    if not known - kept - set(ignore):
        raise ParameterError(
            f"{file}: no feature is left beside the {len(kept)} labels; choose fewer labels"
        )
    return kept


def _first_or_last(n: int, names: list[str], what: str, error: type[Exception]) -> list[str]:
    if n == 0 or abs(n) >= len(names):
        raise error(
            f"{what}: the file has {len(names)} attributes; n is from 1 to {len(names) - 1}, or "
            "negative for the last"
        )
    return names[:n] if n > 0 else names[n:]


def _from_xml_beside(
    spark: SparkSession, header: Header, known: set[str]
) -> tuple[str, list[str] | None, str]:
    """The label XML beside the data file, its labels (None: there is none), and one called like the
    data that is damaged."""
    fitting: dict[str, list[str]] = {}
    broken = ""

    def own(path: str) -> bool:
        return (
            posixpath.basename(path).rpartition(".")[0]
            == posixpath.basename(header.file).split(".")[0]
        )

    for path, content in beside(spark, header.file, "*.xml"):
        try:
            every, leaves = label_names_of_xml(content, path)
        except DataError as error:
            broken = str(error).partition(";")[0] if own(path) else broken
            continue  # some other XML
        if leaves and known.issuperset(leaves):
            fitting[path] = [n for n in every if n in known]
        elif own(path):
            absent = next((repr(n) for n in leaves if n not in known), None)
            broken = (
                f"{path} names the label {absent}, which is no attribute"
                if absent
                else f"{path} names no label"
            )
    if len({frozenset(names) for names in fitting.values()}) > 1:
        fitting = {p: names for p, names in fitting.items() if own(p)} or fitting
        if not any(map(own, fitting)):
            told = (
                f"{len(fitting)} label XML files beside it fit and differ "
                f"({', '.join(map(posixpath.basename, fitting))})"
            )
            raise DataError(f"{header.file}: {told}; pass {option('labels')} with the path of one")
    return *next(iter(fitting.items()), ("", None)), broken
