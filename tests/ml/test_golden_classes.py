"""What users see of the estimator classes is what they saw when each class was written out in full:
signatures, Params, public names, docstrings. More may be added; ``python
tests/ml/test_golden_classes.py`` writes the golden files anew."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import spark_mlfs
import spark_mlfs.sklearn

HERE = Path(__file__).parent
FACES = {"ml": spark_mlfs, "sklearn": spark_mlfs.sklearn}
THEIRS = ("pyspark", "sklearn", "builtins")  # whose names depend on the version that is installed


def classes(face: str) -> dict[str, type]:
    names = (
        name
        for name in FACES[face].__all__
        if name.endswith(("Selector", "Extractor", "Classifier"))
    )
    return {name: getattr(FACES[face], name) for name in names}


def owner(cls: type, name: str) -> str:
    """The package of the class that brings a name."""
    return next(base.__module__ for base in cls.__mro__ if name in vars(base)).partition(".")[0]


def public_names(cls: type) -> list[str]:
    out = []
    for name in dir(cls):
        if not name.startswith("_") and owner(cls, name) not in THEIRS:
            value = getattr(cls, name)
            written = inspect.isfunction(value) and not name.endswith(
                "_request"
            )  # which scikit-learn makes
            out.append(f"{name}{inspect.signature(value)}" if written else name)
    return out


def keywords(function: Any) -> list[str]:
    return list(map(str, inspect.signature(function).parameters.values()))


def described(doc: str) -> list[str]:
    """Paragraphs and entries of a docstring, a line each."""
    paragraphs, _, entries = doc.partition("\nParameters\n----------\n")
    entries, _, after = entries.partition("\n\n")
    blocks = [*paragraphs.split("\n\n"), *re.split(r"\n(?=\S)", entries), *after.split("\n\n")]
    return [" ".join(block.split()) for block in blocks if block.strip()]


def params(cls: type) -> list[str]:
    """`explainParams` of a new estimator, without what depends on the instance."""
    if not hasattr(cls, "explainParams"):
        return [f"{name} = {value!r}" for name, value in cls().get_params().items()]
    made = cls()
    return made.explainParams().replace(made.uid, "<uid>").split("\n")


def seen(cls: type) -> dict[str, list[str]]:
    out = {
        "signature": keywords(cls),
        "init": keywords(cls.__init__),
        "params": params(cls),
        "names": public_names(cls),
        "doc": described(inspect.getdoc(cls)),
    }
    return {**out, "setParams": keywords(cls.setParams)} if hasattr(cls, "setParams") else out


def golden(face: str) -> dict[str, dict[str, list[str]]]:
    """The golden file, in which every line stands once and classes have their numbers."""
    if not (HERE / f"golden_{face}.json").exists():
        return {}
    data = json.loads((HERE / f"golden_{face}.json").read_text(encoding="utf-8"))
    return {
        name: {what: [data["lines"][i] for i in numbers] for what, numbers in parts.items()}
        for name, parts in data["classes"].items()
    }


GOLDEN = {(face, name): parts for face in FACES for name, parts in golden(face).items()}


@pytest.mark.parametrize(("face", "name"), GOLDEN)
def test_users_see_what_they_saw(face, name):
    cls = classes(face)[name]
    assert cls.__name__ == cls.__qualname__ == name and cls.__module__.startswith(
        f"spark_mlfs.{face}."
    )
    now = seen(cls)
    for what, lines in GOLDEN[face, name].items():
        kept = [line for line in now[what] if line in set(lines)]
        assert kept == lines, f"{name}: {what}"  # nothing is gone, and the order is the same


@pytest.mark.parametrize(("face", "name"), GOLDEN)
def test_a_docstring_names_every_parameter(face, name):
    """With its default and what it means."""
    cls = classes(face)[name]
    if name == "MultiLabelSelector":
        return
    doc = inspect.getdoc(cls)
    for parameter in list(inspect.signature(cls).parameters.values()):
        default = (
            json.dumps(parameter.default, ensure_ascii=False)
            if isinstance(parameter.default, str)
            else parameter.default
        )
        (entry,) = re.findall(rf"^{parameter.name} : .+, default (.+)\n    \S", doc, re.M)
        assert entry == str(default)


def write() -> None:
    for face in FACES:
        lines: dict[str, int] = {}
        found = {
            name: {
                what: [lines.setdefault(line, len(lines)) for line in texts]
                for what, texts in seen(cls).items()
            }
            for name, cls in classes(face).items()
        }
        listed = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        numbers = ",\n".join(
            f"{json.dumps(name)}: {json.dumps(parts, separators=(',', ':'))}"
            for name, parts in found.items()
        )
        text = f'{{"lines": [\n{listed}\n],\n"classes": {{\n{numbers}\n}}}}\n'
        (HERE / f"golden_{face}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(write())
