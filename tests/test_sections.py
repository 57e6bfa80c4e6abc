"""Sections of a configuration: which values a key takes, and what is said of the others."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from spark_mlfs.params import Integer, Number, Parameter
from spark_mlfs.sections import Field, InvalidValue, Section

LARGE = f"must be a whole number from 2 to 30, not '{'9' * 117}…'"


class Inner(Section):
    folds: int = Field(3, Integer(2, 30))
    sizes: list[int | str] = Field([])


class Outer(Section):
    name: str
    share: float | None = Field(None, Number(0, 1, above=True))
    path: str | list[str] | None = None
    loud: bool = False
    mode: Literal["a", "b", "3"] | None = None
    grid: dict[str, list[Any]] = Field({})
    inner: Inner = Inner()
    several: list[Inner] = Field([])


@pytest.mark.parametrize(
    ("key", "given", "taken"),
    [
        ("share", "0.25", 0.25), ("share", 0.5, 0.5), ("share", None, None),
        ("path", "x", "x"), ("path", ["x", "y"], ["x", "y"]),
        ("loud", "TRUE", True), ("loud", False, False),
        ("mode", "b", "b"), ("mode", "3", "3"),
        ("grid", {"c": (1, "2")}, {"c": [1, "2"]}),
        ("inner", {"folds": "7"}, Inner(folds=7)), ("inner", {"folds": 4.0}, Inner(folds=4)),
        ("inner", {"sizes": [5, "10%"]}, Inner(sizes=[5, "10%"])),
        ("several", [{}, {"folds": 2}], [Inner(), Inner(folds=2)]),
    ],
)  # fmt: skip
def test_what_a_key_takes(key, given, taken):
    value = getattr(Outer(name="n", **{key: given}), key)
    assert value == taken and type(value) is type(taken)


@pytest.mark.parametrize(
    ("values", "path", "words"),
    [
        ({}, ("name",), "is missing"),
        ({"name": 3}, ("name",), "must be a text, not 3"),
        ({"name": None}, ("name",), "must be a text, not None"),
        ({"name": "n", "share": "x"}, ("share",), "must be a number from above 0 to 1, not 'x'"),
        ({"name": "n", "share": True}, ("share",), "must be a number from above 0 to 1, not True"),
        ({"name": "n", "share": 0}, ("share",), "must be a number from above 0 to 1, not 0"),
        (
            {"name": "n", "share": float("nan")},
            ("share",),
            "must be a number from above 0 to 1, not nan",
        ),
        ({"name": "n", "loud": "yes"}, ("loud",), "must be true or false, not 'yes'"),
        ({"name": "n", "mode": 3}, ("mode",), "must be one of 'a', 'b', '3', not 3"),
        ({"name": "n", "mode": True}, ("mode",), "must be one of 'a', 'b', '3', not True"),
        ({"name": "n", "grid": {"c": 1}}, ("grid", "c"), "must be a list, not 1"),
        ({"name": "n", "inner": 3}, ("inner",), "must be a section (a table of keys), not 3"),
        (
            {"name": "n", "inner": {"folds": "1"}},
            ("inner", "folds"),
            "must be a whole number from 2 to 30, not '1'",
        ),
        (
            {"name": "n", "inner": {"folds": 2.5}},
            ("inner", "folds"),
            "must be a whole number from 2 to 30, not 2.5",
        ),
        ({"name": "n", "inner": {"folds": "9" * 5000}}, ("inner", "folds"), LARGE),
        ({"name": "n", "inner": {"fold": 1}}, ("inner", "fold"), "unknown key"),
        (
            {"name": "n", "several": [{}, {"folds": 31}]},
            ("several", 1, "folds"),
            "must be a whole number from 2 to 30, not 31",
        ),
        ({"name": "n", "path": [1]}, ("path", 0), "must be a text, not 1"),
    ],
)
def test_what_is_said_of_others(values, path, words):
    with pytest.raises(InvalidValue) as error:
        Outer.of(values)
    assert (error.value.path, error.value.words) == (path, words)


def test_values_as_a_dict():
    section = Outer.of({"name": "n", "inner": {"folds": 5}})
    assert section.as_dict(only_given=True) == {"name": "n", "inner": {"folds": 5}}
    assert section.as_dict(only_set=True)["inner"] == {
        "folds": 5,
        "sizes": [],
    } and "share" not in section.as_dict(only_set=True)
    assert Outer.of(section.as_dict()) == section
    assert Outer(name="m").several is not Outer(name="m").several  # a default is made anew


def test_keys_are_inherited_and_added():
    class More(Inner, further=[Parameter("extra", None, Integer(1), "more")]):
        title: str = "t"

    assert list(More.fields) == ["folds", "sizes", "title", "extra"] and list(Inner.fields) == [
        "folds",
        "sizes",
    ]
    assert More(extra="2").extra == 2 and More(extra=None).extra is None and More().folds == 3
