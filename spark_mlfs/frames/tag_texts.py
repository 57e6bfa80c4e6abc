r"""Tags that a program wrote as one text: lists of Python, NumPy, JSON and R, ``<a><b>``,
``{a,b}``.

A text is a list where its first and its last character say so; any other is left to the caller.
Blanks around a tag go, those without width, too, and so do empty tags and missing ones (``None``,
``null``, ``nan``).

>>> parse_tag_text("['a', \"O'Brien\"]"), parse_tag_text("['a' 'b']"), parse_tag_text("[]")
(['a', "O'Brien"], ['a', 'b'], [])
>>> parse_tag_text("<jazz><folk>"), parse_tag_text('{a,"b c",NULL}'), parse_tag_text("[7, 2020]")
(['jazz', 'folk'], ['a', 'b c'], ['7', '2020'])
>>> parse_tag_text('[{"id": 28, "name": "Action"}]', "name")
['Action']
>>> parse_tag_text('c("a", "b c")'), parse_tag_text("character(0)"), parse_tag_text("c(a)")
(['a', 'b c'], [], None)
>>> parse_tag_text("jazz, folk") is parse_tag_text("(0, 10]") is parse_tag_text("<=50K") is None
True"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
import warnings
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, option, shown

PAIRS = {"[": "]", "{": "}", "(": ")"}
MISSING_WORDS = frozenset({"", "None", "none", "null", "NULL", "nan", "NaN", "<NA>"})
ANGLES = re.compile(r"(?:<[^<>]+>\s*)+")
ANGLE = re.compile(r"<([^<>]+)>")
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
INTERVAL = re.compile(rf"[\[(]\s*(?:{NUMBER}|-inf)\s*,\s*(?:{NUMBER}|\+?inf)\s*[\])]")
NUMBERS_APART = re.compile(rf"{NUMBER}(?:\s+{NUMBER})+")  # as NumPy writes them
WHOLE = re.compile(r"([-+]?\d+)\.0*")
CALL = re.compile(r"(?:set|frozenset|list|tuple|array)\((.*?)(?:,\s*dtype=[^()\[\]]*)?\)", re.S)
# of R, whose elements are texts in quotes or missing
R_CALL = re.compile(
    r"""(?:c|list)\((\s*(?:["'].*|NA(?:_character_)?\s*(?:,.*)?))\)|character\(0\)""", re.S
)
R_MISSING = ("NA", "NA_character_")
SCALAR = re.compile(r"np\.\w+\((.*)\)", re.S)
BLANKS = re.compile(r"\s*")
# blanks of Unicode, and marks without width that programs leave at the ends of texts
AROUND = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u180e" + "".join(
    map(chr, range(0x2000, 0x200C))
)
AROUND += "\u200e\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
# a text in quotes, as Python (b'a', too), JSON, NumPy (np.str_('a')) or SQL ('O''Brien') has it
QUOTED = re.compile(
    r"""(?:np\.str_\(|[ub])?('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")\)?""",
    re.S,
)
# a whole text in quotes that it does not hold
IN_QUOTES = re.compile(
    "'([^']*)'|\"([^\"]*)\"|`([^`]*)`|\u201c([^\u201d]*)\u201d|\u2018([^\u2019]*)\u2019", re.S
)
QUOTES = "['\"`\u201c\u2018]"
BARE = re.compile(r"[^,\[\]{}]*")
FIRST_FIELD = re.compile(rf"\{{\s*(?:{QUOTED.pattern}|\d+)\s*:", re.S)
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)", re.S)
CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def parse_tag_text(text: str, key: str | None = None) -> list[str] | None:
    """Return the tags of a text that is a list; None where it is none.

    `key` names the field of objects that holds the tag. `DataError` for a text that opens like a
    list and cannot be read as one; it names no row."""
    text = text.strip(AROUND)
    if text.startswith("<"):
        return _without_missing(ANGLE.findall(text)) if ANGLES.fullmatch(text) else None
    call = CALL.fullmatch(text)
    if call is not None and call[1][:1] in ("", *PAIRS):
        return parse_tag_text(call[1] or "[]", key)
    of_r = R_CALL.fullmatch(text)
    if of_r is not None:
        elements = _without_missing(_elements(f"[{of_r[1] or ''}]"))
        return [tag for tag in elements if tag not in R_MISSING]
    if text[:1] not in PAIRS or _is_plain(text):
        return None
    if text[-1] != PAIRS[text[0]] or len(text) == 1:
        raise _not_read(text, f"it has no {PAIRS[text[0]]} at its end")
    if FIRST_FIELD.match(text) or FIRST_FIELD.match(text[1:].lstrip()):
        return _tags_of_objects(text, key)
    return _without_missing(_elements(text))


def parted(text: str, delimiter: str) -> list[str]:
    """Return the tags of a text with a delimiter between them.

    Quotes go that stand around the text, or around a tag.

    >>> parted("'a; b'", ";"), parted('"a"; "b"', ";"), parted("rock 'n' roll; 'n'", ";")
    (['a', 'b'], ['a', 'b'], ["rock 'n' roll", 'n'])"""
    tags = [_without_quotes(part) for part in _without_quotes(text).split(delimiter)]
    return [tag for tag in tags if tag]


def _without_quotes(text: str) -> str:
    text = text.strip(AROUND)
    quoted = IN_QUOTES.fullmatch(text)
    return text if quoted is None else text[1:-1].strip(AROUND)


def _is_plain(text: str) -> bool:
    """Return whether brackets are part of a name: ``[0, 10)``, ``(other)``.

    A tuple's elements are in quotes."""
    if text[0] == "(":
        return text != "()" and QUOTED.match(text, 1) is None
    other_end = text[-1] != PAIRS[text[0]]
    return other_end and INTERVAL.fullmatch(text) is not None


def _not_read(text: str, reason: str) -> DataError:
    return DataError(
        f"{shown(text)} opens like a list of tags and cannot be read as one ({reason}); write "
        "\"['a', 'b']\", or tags with a delimiter between them"
    )


def _without_missing(values: list[str]) -> list[str]:
    tags = [value.strip(AROUND) for value in values]
    return [tag for tag in tags if tag]


def _elements(text: str) -> list[str]:
    """Return the elements between the brackets of `text`."""
    end = len(text) - 1
    elements: list[str] = []
    place = 1
    apart = True  # whether a comma or a blank stands before this place
    while True:
        start = place
        place = BLANKS.match(text, place).end()  # type: ignore[union-attr]
        if place >= end:
            return elements
        if text[place] == ",":
            place += 1
            apart = True
            continue
        if not apart and place == start:
            raise _not_read(text, f"no comma before {shown(text[place:end][:20])}")
        quoted = QUOTED.match(text, place, end)
        if quoted is not None:
            elements.append(_unescaped(quoted[1]))
            place = quoted.end()
        else:
            bare = BARE.match(text, place, end)
            assert bare is not None  # it matches nothing, too
            place = bare.end()
            if place < end and text[place] != ",":
                raise _not_read(text, "a list within a list")
            elements += _bare_elements(text, bare[0].strip())
        apart = False


def _bare_elements(text: str, element: str) -> list[str]:
    """Return what an element without quotes stands for: a name, a number or several, or none."""
    if element.startswith("..."):
        raise _not_read(text, "it was cut short")
    if element.startswith(("'", '"')):
        raise _not_read(text, "a quote is open")
    scalar = SCALAR.fullmatch(element)
    element = scalar[1] if scalar is not None else element
    if element in MISSING_WORDS:
        return []
    parts = element.split() if NUMBERS_APART.fullmatch(element) else [element]
    return [WHOLE.sub(r"\1", part) if WHOLE.fullmatch(part) else part for part in parts]


def _unescaped(quoted: str) -> str:
    quote = quoted[0]
    inner = quoted[1:-1]
    if quote * 2 in inner:
        inner = inner.replace(quote * 2, quote)
    if "\\" not in inner:
        return inner
    plain = ESCAPE.sub(lambda escape: _character(escape[1]), inner)
    # JSON writes characters beyond 16 bits as two
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: str) -> str:
    if len(escape) == 1:
        return CONTROLS.get(escape, escape)
    number = int(escape[1:], 16)
    return chr(number) if number < 0x110000 else "\ufffd"


def _tags_of_objects(text: str, key: str | None) -> list[str]:
    """Return the field `key` of an object, or of each in a list."""
    value = _literal(text)
    objects = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, dict) for item in objects):
        raise _not_read(text, "it is no list of objects")
    fields = list(dict.fromkeys(str(name) for item in objects for name in item))
    if key is None:
        raise DataError(
            f"{shown(text)} holds objects: name the field that is the tag "
            f"({option('label_key', _likely(fields))}), or give lists"
        )
    tags: list[str] = []
    for item in objects:
        if key not in item:
            raise DataError(
                f"{shown(text)} has an object without the field {key!r}; there are "
                f"{', '.join(map(repr, fields[:12]))}"
            )
        values = item[key] if isinstance(item[key], list | tuple) else [item[key]]
        tags += [str(tag) for tag in values if tag is not None and tag == tag]
    return _without_missing(tags)


def _likely(fields: list[str]) -> str:
    """Return the field that most programs call the name of a thing, else the last."""
    likely = ("name", "label", "tag", "title", "value", "text")
    return next((field for field in likely if field in fields), fields[-1])


def _literal(text: str) -> Any:
    """Return the value of a text of JSON or of a literal of Python."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise _not_read(text, "it is neither JSON nor Python") from None


def composed_text(tag: Any) -> Any:
    """Return a tag that is a text in Unicode's composed form, others as they are."""
    return unicodedata.normalize("NFC", tag) if isinstance(tag, str) else tag


@cache
def _arrow_composes() -> bool:
    """Return whether Arrow gives the composed form; that of 14 decomposes whatever it is asked."""
    return bool(pc.utf8_normalize(pa.array(["\u00e9"]), form="NFC")[0].as_py() == "\u00e9")


def composed_texts(texts: pa.Array) -> pa.Array:
    """Return the same of an array of texts."""
    if _arrow_composes():
        return pc.utf8_normalize(texts, form="NFC")
    return pa.array(map(composed_text, texts.to_pylist()), texts.type)


def tidy_text(tag: Any) -> Any:
    """Return a tag that is a text in its composed form without blanks around it, others as they
    are."""
    return composed_text(tag).strip(AROUND) if isinstance(tag, str) else tag


def tidied(tags: pa.Array) -> pa.Array:
    """Return the same of an array of texts."""
    if pc.all(pc.string_is_ascii(tags)).as_py() is False:
        return pc.utf8_trim(composed_texts(tags), AROUND)
    return pc.ascii_trim_whitespace(tags)
