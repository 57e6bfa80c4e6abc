"""The header of an ARFF file: its attributes, and which of them are labels."""

from __future__ import annotations

import itertools
import posixpath
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import DataError, ParameterError, option, quantity
from ..frames.errors import notice
from ..frames.names import near
from ..lazy import SparkSession
from .lines import MAX_XML, TextFiles, beside, not_utf8, small_file

NUMERIC = ("numeric", "real", "integer")
UNUSABLE = ("string", "date", "relational")
HIERARCHICAL = "hierarchical"  # the type of Clus that is labels
MAX_NAME = 4096


@dataclass
class Attribute:
    """One @attribute line.

    `kind` is numeric, nominal, hierarchical, string, date or relational; `categories` are of a
    nominal its values, of a hierarchical its labels, else None."""

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
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
}


def unquote(text: str) -> str:
    """Return a name or value without its quotes, escapes resolved."""
    text = text.strip()
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1])
    return text


def after_space(line: str, start: int) -> int:
    """Return where the first character that is no space stands, from `start` on."""
    space = _SPACE.match(line, start)  # which matches nothing, too
    return start + len(space[0])  # type: ignore[index]


def next_piece(line: str, start: int, end: re.Pattern[str]) -> tuple[str, bool, int]:
    """Return the value at `start`, whether it is quoted, and the place of the mark behind it.

    An unquoted value goes up to what matches `end`. Linear time."""
    start = after_space(line, start)
    quoted = _QUOTED.match(line, start)
    if quoted:
        return unquote(quoted[0]), True, after_space(line, quoted.end())
    mark = end.search(line, start)
    stop = mark.start() if mark else len(line)
    return line[start:stop].rstrip(), False, stop


def parse_header(lines: Sequence[str], file: str) -> Header:
    """Return the relation and the attributes of a header given line by line."""
    relation = ""
    attributes: list[Attribute] = []
    line_of: dict[str, int] = {}  # of the attributes by name
    for number, raw in enumerate(lines, 1):
        line = raw.strip().lstrip("\ufeff").strip()
        if not line or line[0] == "%":
            continue
        word = line.split(None, 1)[0].lower()
        content = line[len(word) :].strip()
        if word == "@relation":
            relation = content
        elif word == "@attribute":
            attribute = _attribute(content, f"{file}:{number}", number)
            first = line_of.setdefault(attribute.name, number)
            if first < number:
                raise DataError(
                    f"{file}:{number}: attribute {attribute.name!r} is declared twice (first in "
                    f"line {first}); rename one"
                )
            attributes.append(attribute)
        elif word.startswith("@data"):
            break
        else:
            allowed = (
                "before @data there are only @relation, @attribute, comments (%) and blank lines"
            )
            raise DataError(
                f"{file}:{number}: the header line starts with {word[:20]!r}; {allowed}"
            )
    if not attributes:
        raise DataError(
            f"{file}:{max(len(lines), 1)}: no @attribute before @data; declare the attributes"
        )
    return Header(relation, attributes, file)


def _attribute(declaration: str, place: str, line: int) -> Attribute:
    """Return the attribute of a declaration, the text behind @attribute."""
    match = _NAME.match(declaration)
    if not match:
        raise DataError(
            f"{place}: no attribute name in {declaration[:40]!r}; write @attribute 'name' type"
        )
    name = unquote(match[1])
    kind = declaration[match.end() :]
    if not name.strip():
        raise DataError(f"{place}: an attribute without a name; write @attribute 'name' type")
    if len(name) > MAX_NAME:
        raise DataError(
            f"{place}: an attribute name of {len(name)} characters, {name[:20]!r} and on; give it "
            f"at most {MAX_NAME}"
        )
    subject = f"{place}: attribute {name!r}"
    if kind.startswith("{"):
        return Attribute(name, "nominal", _category_list(kind, subject), line)
    word = (kind.split(None, 1) or [""])[0].lower()
    if word in NUMERIC:
        _check_end(kind[len(word) :], subject, f"the type {word}")
        return Attribute(name, "numeric", None, line)
    if word in UNUSABLE:
        return Attribute(name, word, None, line)
    if word == HIERARCHICAL:
        listed = kind[len(word) :].partition("%")[0].split(",")
        paths = [path for path in map(unquote, listed) if path]
        if not paths:
            raise DataError(f"{subject} lists no label; write {HIERARCHICAL} 1,1/2,2")
        return Attribute(name, word, paths, line)
    raise DataError(
        f"{subject} has the unknown type {word[:20]!r}; use numeric or {{category, ...}}"
    )


def _category_list(text: str, subject: str) -> list[str]:
    """Return the categories of ``{a, b, ...}``, behind which only a comment may stand."""
    categories: list[str] = []
    mark = ""
    position = 1
    while mark != "}":
        value, quoted, position = next_piece(text, position, _LIST_END)
        mark = text[position : position + 1]
        if not mark:
            raise DataError(f"{subject}: the list of categories is not closed; end it with }}")
        if mark not in ",}":
            excerpt = text[position : position + 20]
            raise DataError(f"{subject}: {excerpt!r} after a quoted category; remove it")
        if not value and not quoted:
            fault = "lists an empty category"
            if mark == "}" and not categories:
                fault = "lists no category"
            raise DataError(f"{subject} {fault}; remove the comma, or write '' for an empty one")
        categories.append(value)
        position += 1
    _check_end(text[position:], subject, "the list of categories")
    if len(set(categories)) < len(categories):
        raise DataError(f"{subject} lists a category twice; remove one")
    return categories


_RANGE = re.compile(r"\[[^\]]*\]")  # Weka's range of a numeric attribute, as in: numeric [0,1]


def _check_end(text: str, subject: str, before: str) -> None:
    """Raise `DataError` where a declaration goes on but by a range or a comment."""
    text = text.strip()
    bounds = _RANGE.match(text)
    if bounds:
        text = text[bounds.end() :].strip()
    if text and text[0] != "%":
        raise DataError(
            f"{subject}: {text[:20]!r} after {before}; remove it, or put a % before a comment"
        )


def label_names_of_xml(content: bytes, source: str) -> tuple[list[str], list[str]]:
    """Return all label names of a Mulan label XML, at any depth, and those of its leaves.

    It is read by its declared encoding; messages call it `source`."""
    content = content.lstrip()
    if not content:
        raise DataError(
            f"{source}: the file is empty; give Mulan's label file (<labels><label "
            "name=.../></labels>)"
        )
    declaration = "<!ENTITY"
    if any(declaration.encode(code) in content for code in ("utf-8", "utf-16-le", "utf-16-be")):
        raise DataError(
            f"{source}: the XML declares entities, which no label file needs; remove them"
        )
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        marked = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        if b"encoding" not in content[:200] and not marked and not_utf8(content):
            begin = '<?xml version="1.0" encoding="ISO-8859-1"?>, or the encoding it has'
            raise DataError(
                f"{source}: not UTF-8 and without a declared encoding; begin it with {begin}"
            ) from None
        raise DataError(
            f"{source}: not well-formed XML ({error}); give Mulan's label file"
        ) from None
    nodes = [node for node in root.iter() if _is_label(node) and node.get("name") is not None]
    if any(not node.attrib["name"].strip() for node in nodes):
        raise DataError(
            f'{source}: a label without a name (name=""); name it as the attribute it stands for, '
            "or remove it"
        )
    leaves = [node for node in nodes if not any(map(_is_label, node))]
    return [node.attrib["name"] for node in nodes], [node.attrib["name"] for node in leaves]


def _is_label(node: ElementTree.Element) -> bool:
    return node.tag.rpartition("}")[2] == "label"


def labels_of_relation(relation: str) -> int | None:
    """Return n of MEKA's option ``-C n`` in the text of a relation line (``'name: -C n'``).

    The option is a word of its own."""
    quoted = _QUOTED.match(relation)
    text = unquote(quoted[0]) if quoted else relation.partition("%")[0]
    words = text.replace(":", ": ").split()
    number = next((b for a, b in itertools.pairwise(words) if a == "-C"), None)
    if number is None or not re.fullmatch(r"-?[0-9]{1,9}", number):
        return None
    return int(number)


def chosen_labels(
    spark: SparkSession,
    files: TextFiles,
    header: Header,
    labels: str | int | Sequence[str] | None,
    ignore: Sequence[str],
) -> set[str]:
    """Return the names of the label attributes."""
    names = [a.name for a in header.attributes]
    file = files.names[0]
    hierarchical = [a.name for a in header.attributes if a.kind == HIERARCHICAL]
    if labels is None:
        chosen = hierarchical or _labels_of_files(spark, file, header, names)
    elif isinstance(labels, str):
        is_type = labels in hierarchical
        chosen = [labels] if is_type else _labels_of_xml(spark, labels, file, names)
    elif isinstance(labels, int):
        chosen = _first_or_last(labels, names, option("labels", labels), ParameterError)
    else:
        chosen = list(labels)
        if not chosen:
            raise ParameterError(
                f"{option('labels', labels)}: give a label XML, n, -n, or a list of attribute names"
            )
        for name in chosen:
            if name not in names:
                raise ParameterError(
                    f"{option('labels')}: {file} has no attribute {name!r}: {near(name, names)}"
                )
    remaining = set(chosen) - set(ignore)
    _check_alone(remaining, hierarchical, file)
    if not remaining:
        raise ParameterError("every label is in ignore; keep one")
    if not set(names) - remaining - set(ignore):
        raise ParameterError(
            f"{file}: no feature is left beside {quantity(len(remaining), 'label')}; choose fewer "
            "labels"
        )
    return remaining


def _check_alone(chosen: set[str], hierarchical: Sequence[str], file: str) -> None:
    if len(chosen) > 1 and not chosen.isdisjoint(hierarchical):
        raise ParameterError(
            f"{option('labels')}: {hierarchical[0]!r} of {file} holds all labels of a row; give it "
            "alone"
        )


def _labels_of_files(
    spark: SparkSession,
    file: str,
    header: Header,
    names: list[str],
) -> list[str]:
    """Return the labels that a label XML beside the data names, or else the relation line."""
    xml, chosen, damage = _from_xml_beside(spark, header, set(names))
    n = labels_of_relation(header.relation)
    if chosen is None:
        if n is None:
            reason = f"{damage or 'no label XML beside it'}, no -C in @relation"
            remedy = (
                f"{option('labels', 'labels.xml')}, n for the first n attributes, -n for "
                "the last n, or a list of names"
            )
            raise DataError(
                f"{file}: nothing says which attributes are labels ({reason}); pass {remedy}"
            )
        chosen = _first_or_last(n, names, f"{file}: -C {n} in @relation", DataError)
        if damage:
            notice(f"{damage}; the labels of {file} are those of -C {n} in @relation")
    elif n is not None:
        by_relation = names[:n] if n > 0 else names[n:]
        if set(chosen) != set(by_relation):
            notice(
                f"{file}: the labels are those of {posixpath.basename(xml)} beside it, not the "
                f"-C {n} of @relation; pass {option('labels', n)} for those"
            )
    return chosen


def _labels_of_xml(
    spark: SparkSession,
    path: str,
    file: str,
    names: list[str],
) -> list[str]:
    """Return the labels of an XML whose path the user gave."""
    if not path.lower().endswith((".xml", ".xml.gz")):
        raise ParameterError(
            f"{option('labels', path)}: a string is the path of a label XML; give one name "
            "as a list"
        )
    content = small_file(spark, path, "label XML", MAX_XML)
    in_xml, leaves = label_names_of_xml(content, path)
    attributes = set(names)
    absent = [name for name in leaves if name not in attributes]
    if absent:
        raise DataError(
            f"{path}: label {absent[0]!r} is no attribute of {file}: {near(absent[0], names)}"
        )
    chosen = [name for name in in_xml if name in attributes]
    if not chosen:
        raise DataError(f"{path}: it names no label; give Mulan's label file")
    return chosen


def _first_or_last(
    n: int,
    names: list[str],
    subject: str,
    error: type[Exception],
) -> list[str]:
    if n == 0 or abs(n) >= len(names):
        raise error(
            f"{subject}: the file has {quantity(len(names), 'attribute')}; n is from 1 to "
            f"{len(names) - 1}, or negative for the last"
        )
    return names[:n] if n > 0 else names[n:]


def _from_xml_beside(
    spark: SparkSession, header: Header, known: set[str]
) -> tuple[str, list[str] | None, str]:
    """Return the label XML beside the data file, its labels, and what is wrong with one.

    Without such an XML the labels are None; the fault is of an XML that is called like the data."""
    stem = posixpath.basename(header.file).split(".")[0]
    fitting: dict[str, list[str]] = {}
    damage = ""

    def same_name(path: str) -> bool:
        return posixpath.basename(path).rpartition(".")[0] == stem

    for path, content in beside(spark, header.file, "*.xml"):
        try:
            names, leaves = label_names_of_xml(content, path)
        except DataError as error:
            if same_name(path):
                damage = str(error).partition(";")[0]
            continue  # some other XML
        if leaves and known.issuperset(leaves):
            fitting[path] = [name for name in names if name in known]
        elif same_name(path):
            absent = next((repr(name) for name in leaves if name not in known), None)
            damage = f"{path} names no label"
            if absent:
                damage = f"{path} names the label {absent}, which is no attribute"
    if len({frozenset(names) for names in fitting.values()}) > 1:
        fitting = {path: names for path, names in fitting.items() if same_name(path)} or fitting
        if not any(map(same_name, fitting)):
            files = ", ".join(map(posixpath.basename, fitting))
            raise DataError(
                f"{header.file}: {len(fitting)} label XML files beside it fit and differ "
                f"({files}); pass {option('labels')} with the path of one"
            )
    xml, chosen = next(iter(fitting.items()), ("", None))
    return xml, chosen, damage
