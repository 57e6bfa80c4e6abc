"""Write what readers and editors see of the estimator classes: their typed stubs, the public names
of the package, and the methods' pages: ``python conf/developers/generate.py``.

To be run when a method, extractor or classifier, its parameters or its docstring change. A class
works without: these are texts."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pages import pages

import spark_mlfs
from spark_mlfs import formats
from spark_mlfs.adapters.classes import EstimatorClasses
from spark_mlfs.adapters.docstrings import annotation, literal
from spark_mlfs.ml import encoders, selectors, shared
from spark_mlfs.ml import learners as spark_learners
from spark_mlfs.ml import texts as spark_texts
from spark_mlfs.ml.params import Checked
from spark_mlfs.params import REQUIRED, Optional, Parameter
from spark_mlfs.registry import LINE_LENGTH
from spark_mlfs.sklearn import encoders as array_encoders
from spark_mlfs.sklearn import learners, texts
from spark_mlfs.sklearn import selectors as array_selectors

PACKAGE = Path(spark_mlfs.__file__).resolve().parent
STUB = '''"""{about}: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
{imports}
'''
READ_STUB = '''"""Readers as functions, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

import pandas as pd
from pyspark.sql import DataFrame, SparkSession

from ..errors import DataNotice as DataNotice
from ..formats import READERS as READERS
from .samples import PlantedTruth as PlantedTruth
from .samples import planted_truth as planted_truth

Paths = str | PurePath | Sequence[str]
Tables = Paths | DataFrame | pd.DataFrame

def load(spark: SparkSession, path: Tables | None, format: str, **options: Any) -> DataFrame: ...
def __getattr__(name: str) -> Callable[..., DataFrame]: ...
'''
TITLES = {
    "selector": "A selector for every method",
    "extractor": "An estimator for every extractor",
    "classifier": "An estimator for every classifier",
    "encoder": "A transformer for every encoder of files",
    "text": "Texts as vectors",
}
ROOMS = {
    "ml": (
        selectors.SELECTORS,
        spark_learners.EXTRACTING,
        spark_learners.CLASSIFYING,
        encoders.ENCODING,
        spark_texts.TEXTS,
    ),
    "sklearn": (
        array_selectors.SELECTORS,
        learners.EXTRACTING,
        learners.CLASSIFYING,
        array_encoders.ENCODING,
        texts.TEXTS,
    ),
}


def classes_of(classes: EstimatorClasses) -> list[Any]:
    """Return the estimator classes of the package's own entries."""
    return [
        classes[name]
        for name in classes
        if classes.registry[name].__module__.startswith("spark_mlfs.")
    ]


def kind_of(classes: EstimatorClasses) -> str:
    """Return what the classes are: encoders have no ending of their own."""
    return classes.suffix.lower() or classes.registry.kind


def base(cls: Any) -> Any:
    return cls.__mro__[1]


# ---- stubs ----


def typed(parameters: Iterable[Parameter], spelled: Any) -> list[str]:
    return [f"{spelled(p)}: {annotation(p.constraint)} = {literal(p.default)}" for p in parameters]


def method(name: str, words: Sequence[str], returns: str) -> str:
    """Return the head of a method with keywords, as many to a line as go."""
    lines = [f"    def {name}({words[0]}"]
    for word in words[1:]:
        longer = f"{lines[-1]}, {word}"
        if len(longer) < LINE_LENGTH:
            lines[-1] = longer
        else:
            lines[-1] += ","
            lines.append(f"        {word}")
    return "\n".join(lines) + f") -> {returns}: ...\n"


def accessors(p: Parameter) -> str:
    """Return the Param, getter and setter of a parameter."""
    name, kind = p.camel, annotation(p.constraint)
    head = name[0].upper() + name[1:]
    lines = (
        f"{name}: Param[{kind}]",
        f"def get{head}(self) -> {kind}: ...",
        f"def set{head}(self, value: {kind}) -> Self: ...",
    )
    return "".join(f"    {line}\n" for line in lines)


def stub(face: str, classes: EstimatorClasses) -> str:
    """Return the stub of the classes: what an entry brings is typed in its class, common parameters
    once."""
    estimators = classes_of(classes)
    spelled = base(estimators[0])._spelled
    common = "".join(
        f"    {spelled(p)}: {annotation(p.constraint)}\n" for p in estimators[0]._common
    )
    body = common or "    ...\n"
    parts = [f"class _Common(TypedDict, total=False):\n{body}\n"]
    mixins: dict[tuple[str, str], str] = {}
    bodies = []
    for cls in estimators:
        bases = [base(cls).__name__]
        if face == "ml":
            for p in cls.entry.parameters:
                same_name = sum(p.camel == name for name, _ in mixins)
                mixin = f"_{p.camel[0].upper()}{p.camel[1:]}" + "_" * same_name
                key = p.camel, annotation(p.constraint)
                if key not in mixins:
                    parts.append(f"class {mixin}:\n{accessors(p)}")
                bases.insert(-1, mixins.setdefault(key, mixin))
        doc = " ".join(
            (inspect.getdoc(cls.entry) or cls.entry.title).split("\n\n")[0].split()
        ).replace("\\", "\\\\")
        doc = textwrap.fill(
            f'"""{doc}"""', LINE_LENGTH, initial_indent="    ", subsequent_indent="    "
        )
        words = [
            "self",
            *(["*"] if cls.entry.parameters else []),
            *typed(cls.entry.parameters, spelled),
        ]
        words.append("**common: Unpack[_Common]")
        methods = [
            method("__init__", words, "None"),
            *([method("setParams", words, "Self")] if face == "ml" else []),
        ]
        entry = literal(cls.entry.name)
        bodies.append(
            f"class {cls.__name__}({', '.join(bases)}, entry={entry}):\n{doc}\n{''.join(methods)}"
        )
    text = "".join([*parts, "\n", *bodies])
    home = classes.base.__module__.rpartition(".")[2]
    imports = imported(
        text, f"from .{home} import {', '.join(sorted({base(c).__name__ for c in estimators}))}"
    )
    return STUB.format(about=f"{TITLES[kind_of(classes)]}, typed", imports=imports) + text


def imported(text: str, further_imports: str = "") -> str:
    """Return the imports of a stub."""
    typing_names = [name for name in ("Literal", "TypedDict") if name in text]
    lines = ["from collections.abc import Sequence\n"] if "Sequence[" in text else []
    lines += [f"from typing import {', '.join(typing_names)}\n"] if typing_names else []
    names = [name for name in ("Self", "Unpack") if re.search(rf"\b{name}\b", text)]
    third = ["from pyspark.ml.param import Param\n"] if "Param[" in text else []
    columns = sorted(set(re.findall(r"\bHas\w+", text)))
    third += [f"from pyspark.ml.param.shared import {', '.join(columns)}\n"] if columns else []
    third += [f"from typing_extensions import {', '.join(names)}\n"] if names else []
    return "\n".join(
        filter(None, ["".join(lines), "".join(third), further_imports and further_imports + "\n"])
    )


def shared_stub() -> str:
    """Return the stub of ``ml/shared.py``: its tables, and the Params, getters and setters of its
    classes."""
    tables = [
        name for name, value in vars(shared).items() if name.isupper() and isinstance(value, tuple)
    ]
    lines = "".join(f"{name}: tuple[Parameter, ...]\n" for name in tables) + "\n"
    for name, cls in vars(shared).items():
        if inspect.isclass(cls) and issubclass(cls, Checked) and cls is not Checked:
            bases = ", ".join(b.__name__ for b in cls.__bases__)
            lines += f"class {name}({bases}):\n" + "".join(map(accessors, vars(cls)["_declared"]))
    imports = "from ..params import Parameter\nfrom .params import Checked"
    return (
        STUB.format(
            about="Params that many estimators have, typed", imports=imported(lines, imports)
        )
        + lines
    )


# what a table is, and what comes of it
KINDS = {"ArrayTable": "pd.DataFrame", "PolarsTable": "pl.DataFrame", "ArrowTable": "pa.Table"}
ARRAYS_STUB = """from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, overload

import pandas as pd
import polars as pl
import pyarrow as pa

from ..typing import ArrayTable, ArrowTable, Column, Labels, PolarsTable
"""
STATES_STUB = """from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .states import States
"""


def function_stub(function: Any, table: str = "", returns: str = "pd.DataFrame") -> str:
    """Return the stub of a function; a setting that is a list or a mapping may be a frame or an
    array, too. `table` is the type of its X."""
    words = []
    for p in inspect.signature(function).parameters.values():
        kind = table if p.annotation == "Table" else p.annotation
        kind = "Any" if re.match(r"(list|dict|Sequence)\[.*\| None$", kind) else kind
        words += ["*"] if p.name == "method_params" else []
        words.append(
            f"{'**' * (p.kind is p.VAR_KEYWORD)}{p.name}: {kind}"
            + ("" if p.default is p.empty else f" = {literal(p.default)}")
        )
    return textwrap.dedent(method(function.__name__, words, returns))


def functions_stub(*functions: Any, imports: str) -> str:
    """Return the stub of functions, one of tables for each kind of them; the text stands at the
    first."""
    parts = []
    for function in functions:
        doc = textwrap.indent(f'"""{inspect.getdoc(function)}"""', " " * 4)
        ending = f":\n{doc}\n"
        if inspect.signature(function).return_annotation == "Any":
            kinds = [f"@overload\n{function_stub(function, *kind)}" for kind in KINDS.items()]
        else:
            kinds = [function_stub(function)]
        kinds[0] = kinds[0].replace(": ...\n", ending)
        parts += kinds
    names = " and ".join(f"`{function.__name__}`" for function in functions)
    return STUB.format(about=f"{names}, typed", imports=imports) + "".join(parts)


def option_type(constraint: Any) -> str:
    """Return the type of what an option of a reader takes."""
    if isinstance(constraint, formats.Texts):
        return "Mapping[str, str]"
    if isinstance(constraint, formats.Either):
        return " | ".join(map(option_type, constraint.alternatives))
    return (
        f"{option_type(constraint.inner)} | None"
        if isinstance(constraint, Optional)
        else annotation(constraint)
    )


def reader_stub() -> str:
    """Return the stub of ``read``: the readers as functions."""
    functions = ""
    for name, reader in formats.READERS.items():
        if not reader.__module__.startswith("spark_mlfs."):
            continue
        path = "path: Tables" if reader.tabular or name == "text" else "path: Paths"
        words = ["spark: SparkSession", path] if reader.takes_path else ["spark: SparkSession"]
        for p in sorted(reader.parameters, key=lambda p: p.default is not REQUIRED):
            if (
                name in ("table", "text")
                and p.default is not REQUIRED
                and 'format: str = "table"' not in words
            ):
                words += ['format: str = "table"', "*"]
            default = "" if p.default is REQUIRED else f" = {literal(p.default)}"
            if p.name != "source":  # the format of the table, which the function calls so
                words.append(f"{p.name}: {option_type(p.constraint)}{default}")
        first_paragraph = (inspect.getdoc(reader) or "").partition("\n\n")[0]
        doc = f'    """{" ".join(first_paragraph.split())}"""\n'
        functions += textwrap.dedent(method(name, words, "DataFrame")).replace(
            ": ...\n", f":\n{doc}\n"
        )
    return READ_STUB + functions.rstrip("\n") + "\n"


# ---- the lists of public names ----


def with_names(path: Path, face: str) -> str:
    """Return the text of an ``__init__.py`` that names the classes of a face, its list of them
    written anew."""
    names = [
        m.__name__
        for classes in ROOMS[face]
        for m in sorted(classes_of(classes), key=lambda m: m.__name__.casefold())
    ]
    lines = "".join(f"    {json.dumps(name)},\n" for name in names)
    pattern = r"(?s)(\[  # the classes, written by conf/developers/generate.py\n).*?(\]\n)"
    text, count = re.subn(pattern, lambda match: f"{match[1]}{lines}{match[2]}", path.read_text())
    if not count:
        raise SystemExit(f"{path} has lost its marks of the names of the classes")
    return text


def files() -> dict[Path, str]:
    """Return every generated file and its text."""
    out = {
        PACKAGE / "adapters" / "typed.pyi": functions_stub(
            spark_mlfs.rank, spark_mlfs.by_label, imports=ARRAYS_STUB
        ),
        PACKAGE / "states" / "typed.pyi": functions_stub(
            spark_mlfs.states.rank, imports=STATES_STUB
        ),
    }
    out |= {
        PACKAGE / "ml" / "shared.pyi": shared_stub(),
        PACKAGE / "read" / "__init__.pyi": reader_stub(),
    }
    for face, rooms in ROOMS.items():
        for classes in rooms:
            name = classes.module.__name__.rpartition(".")[2]
            out[PACKAGE / face / f"{name}.pyi"] = stub(face, classes)
    tops = {PACKAGE / "__init__.py": "ml", PACKAGE / "sklearn" / "__init__.py": "sklearn"}
    return {**out, **{path: with_names(path, face) for path, face in tops.items()}, **pages()}


def main() -> None:
    for path, text in files().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
