"""Texts that hold several tags, against the lists that programs wrote them from."""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pyarrow as pa
import pytest

from spark_mlfs.blocks.label_cells import tags_of_texts
from spark_mlfs.errors import DataError
from spark_mlfs.frames import tag_texts
from spark_mlfs.frames.tag_texts import composed_texts, parse_tag_text, parted
from spark_mlfs.read.label_cells import Tags
from spark_mlfs.texts.words import Splitting

NAMES = ["a", "O'Brien", 'say "x"', "back\\slash", "line\nend", "é", "😀", "[x]", "a, b", "7"]


@pytest.mark.parametrize("seed", range(40))
def test_what_programs_write_of_lists_is_read_as_the_lists(seed: int) -> None:
    draw = np.random.default_rng(seed)
    tags = [str(tag) for tag in draw.permutation(NAMES)[: draw.integers(0, 6)]]
    for text in (
        repr(tags),
        repr(tuple(tags)),
        json.dumps(tags),
        json.dumps(tags, ensure_ascii=False),
        json.dumps(tags, indent=1),
        str(np.array(tags, object)),
        repr(list(map(np.str_, tags))),
        f" {tags!r} ",
    ):
        assert parse_tag_text(text) == tags, text
    assert sorted(parse_tag_text(repr(set(tags))) or []) == sorted(tags)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("<jazz><folk>", ["jazz", "folk"]),
        ('{a,"b,c",NULL}', ["a", "b,c"]),
        ("{}", []),
        ("set()", []),
        ("[rock, science fiction]", ["rock", "science fiction"]),
        ("['O''Brien']", ["O'Brien"]),
        ("[7, 8.0, nan]", ["7", "8"]),
        ("[1 0\n 1]", ["1", "0", "1"]),
        ("[' a ', '', None]", ["a"]),
        ("""c("a, b", 'c', NA, "say \\"hi\\"")""", ["a, b", "c", 'say "hi"']),
        ('list("a")', ["a"]),
        ("c(NA)", []),
        ("character(0)", []),
        ("{genre:rock,genre:folk}", ["genre:rock", "genre:folk"]),
    ],
)
def test_lists_of_other_programs(text: str, tags: list[str]) -> None:
    assert parse_tag_text(text) == tags


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a, b",
        "(a)",
        "(0, 10]",
        "[0.5, 1.0)",
        "(-inf, 3.0]",
        "<=50K",
        "<5",
        "<p>x</p>",
        "c(a)",
        "c(b, 'c')",
    ],
)
def test_a_name_with_brackets_is_no_list(text: str) -> None:
    assert parse_tag_text(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("['a', 'b", "it has no ] at its end"),
        ("[", "it has no ]"),
        ("[['a'], ['b']]", "a list within a list"),
        ("['a'], ['b']", "no comma before"),
        ("['a' 'b' ... 'z']", "cut short"),
        ("['a', 'b]", "a quote is open"),
        ("['O'Brien', 'x']", "no comma before"),
        ('{"a": [1, }', "neither JSON nor Python"),
        ('[{"a": 1}, 3]', "no list of objects"),
        ('[{"id": 1, "name": "A"}]', "name the field that is the tag"),
        ("[" * 50_000 + "]", "a list within a list"),
        ('[{"a":' + "[" * 50_000 + "]", "neither JSON nor Python"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason) as raised:
        parse_tag_text(text)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


def test_objects_give_the_field_that_is_named() -> None:
    films = [{"id": 28, "name": "Action"}, {"id": 12, "name": "Adventure"}, {"name": None}]
    for text in (json.dumps(films), repr(films)):
        assert parse_tag_text(text, "name") == ["Action", "Adventure"]
    assert parse_tag_text('{"name": ["a", "b"]}', "name") == ["a", "b"]
    with pytest.raises(DataError, match="without the field 'nam'; there are 'id', 'name'"):
        parse_tag_text(json.dumps(films), "nam")


@pytest.mark.spark35
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("arrow_composes", [None, False])  # Arrow 14 decomposes
def test_texts_are_composed_by_any_arrow(monkeypatch, kind, arrow_composes):
    if arrow_composes is not None:
        monkeypatch.setattr(tag_texts, "_arrow_composes", lambda: arrow_composes)
    texts = ["größe", unicodedata.normalize("NFD", "größe é"), None, "", "\ufb01 мир й"]
    found = composed_texts(pa.array(texts, kind))
    assert found.type == kind
    assert found.to_pylist() == [t and unicodedata.normalize("NFC", t) for t in texts]
    decomposed = pa.array([unicodedata.normalize("NFD", "Größe, МИР ελλάς")])
    assert Splitting().terms(decomposed)[0].to_pylist() == ["größe", "мир", "ελλάς"]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("'a;b'", ["a", "b"]),
        ("'a'; 'b'", ["a", "b"]),
        ('"a b";"c"', ["a b", "c"]),
        ("`a;b`", ["a", "b"]),
        (" \u201ca\u201d; \u2018b\u2019 ", ["a", "b"]),
        ("O'Brien;'n'", ["O'Brien", "n"]),
        ("rock 'n' roll;'t is", ["rock 'n' roll", "'t is"]),
        ("'';b", ["b"]),
    ],
)
def test_quotes_around_tags_go(text: str, tags: list[str]) -> None:
    assert parted(text, ";") == tags
    cells = pa.array([text, "z", None])
    assert Tags("t", ";")(cells).to_pylist() == [tags, ["z"], None]
    assert tags_of_texts([text, "z"], ";") == [tags, ["z"]]
