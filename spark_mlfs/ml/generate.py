"""Writes the estimator classes of both faces, the public names of the package and the methods' pages:
``python -m spark_mlfs.ml.generate``.

To be run when a method, extractor or classifier, its parameters or its docstring change; a test compares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .. import errors
from ..faces.classes import EstimatorClasses
from ..faces.source import HEAD, accessors, packed_lines
from ..sklearn.classifiers import ESTIMATORS as ARRAY_CLASSIFIERS
from ..sklearn.extractors import ESTIMATORS as ARRAY_EXTRACTORS
from ..sklearn.selectors import SELECTORS as ARRAY_SELECTORS
from .classifiers import ESTIMATORS as CLASSIFIERS
from .extractors import ESTIMATORS as EXTRACTORS
from .pages import FOLDER, pages
from .params import FITTING
from .selectors import CONSTRAINTS, GRADING, SCREENING, SELECTION, SELECTORS, WEIGHTING

PACKAGE = Path(__file__).resolve().parents[1]
TOP = PACKAGE / "__init__.py"
SHARED = {
    "FittingAccessors": ("How any estimator runs.", FITTING),
    "SelectionAccessors": ("Which features are kept.", SELECTION),
    "ScreeningAccessors": ("What runs before the method.", SCREENING),
    "ConstraintAccessors": ("What a selection is held to.", CONSTRAINTS),
    "WeightingAccessors": ("How much rows count.", WEIGHTING),
    "GradingAccessors": ("What labels that are grades mean.", GRADING),
}


@dataclass(frozen=True)
class Written:
    """A module of classes: `room` where their base class is, `registry` and `classes` the name and the classes there."""

    room: str
    registry: str
    classes: EstimatorClasses
    title: str
    origin: str


# by room and module
WRITTEN = {
    ("ml", "selector_classes"): Written("selectors", "SELECTORS", SELECTORS, "A selector for every method.", "the methods"),
    ("ml", "extractor_classes"): Written(
        "extractors", "ESTIMATORS", EXTRACTORS, "An estimator for every extractor.", "the extractors"
    ),
    ("ml", "classifier_classes"): Written(
        "classifiers", "ESTIMATORS", CLASSIFIERS, "An estimator for every classifier.", "the classifiers"
    ),
    ("sklearn", "selector_classes"): Written(
        "selectors", "SELECTORS", ARRAY_SELECTORS, "A selector of features of arrays for every method.", "the methods"
    ),
    ("sklearn", "extractor_classes"): Written(
        "extractors", "ESTIMATORS", ARRAY_EXTRACTORS, "An estimator on arrays for every extractor.", "the extractors"
    ),
    ("sklearn", "classifier_classes"): Written(
        "classifiers", "ESTIMATORS", ARRAY_CLASSIFIERS, "An estimator on arrays for every classifier.", "the classifiers"
    ),
}

TYPING = """from typing import TYPE_CHECKING, Literal

from pyspark.ml.param import Param{more}

{imports}if TYPE_CHECKING:
    from typing_extensions import Self"""

OUTSIDE = '''
__all__ = [
{names}
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type:
        """The class of an entry from outside, made when it is first asked for."""
        return {classes}.named(name)
'''


def shared() -> str:
    """The text of ``ml/shared.py``: getters and setters of the params that many classes have."""
    head = HEAD.format(
        title="Params that many estimators have, with their getters and setters.",
        origin="the tables of parameters",
        imports="from collections.abc import Sequence\n" + TYPING.format(more=", Params", imports=""),
    )
    classes = [f'class {name}(Params):\n    """{doc}"""\n\n{accessors(table)}\n' for name, (doc, table) in SHARED.items()]
    return head + "\n\n" + "\n\n".join(classes)


def written(face: str, module: str) -> str:
    """The text of a module of classes."""
    w = WRITTEN[face, module]
    own = own_names(w.classes)
    bodies = [w.classes.source(name) for name in own]
    abstract = "from collections.abc import Sequence\n" if any("Sequence[" in body for body in bodies) else ""
    bases = {w.classes.base_of(name) for name in own}
    imports = f"from .{w.room} import {', '.join(sorted((w.registry, *bases), key=_as_sorted))}\n"
    if face == "ml":
        lines = TYPING.format(more="", imports="".join(sorted((imports, "from .params import keyword_only\n"))) + "\n")
    else:
        lines = "from typing import TYPE_CHECKING, Literal\n\n" + imports.rstrip()
    head = HEAD.format(title=w.title, origin=w.origin, imports=abstract + lines)
    names = packed_lines([f'"{name}"' for name in sorted(w.classes.class_name(name) for name in own)], 4)
    return head + "\n\n" + "\n\n".join(bodies) + "\n" + OUTSIDE.format(names=names, classes=w.registry)


def _as_sorted(name: str) -> tuple[bool, str]:
    """Constants come first, as the linter sorts imports."""
    return not name.isupper(), name


def own_names(classes: EstimatorClasses) -> list[str]:
    """The names whose classes are the package's own."""
    package = __package__.partition(".")[0]
    return [name for name in classes if classes.registry[name].__module__.partition(".")[0] == package]


def listed(path: Path, face: str, prefix: str) -> str:
    """The text of an ``__init__.py`` that names the classes of a face, its lists of them written anew."""
    text = path.read_text()
    names = {
        module: sorted(map(w.classes.class_name, own_names(w.classes)), key=str.casefold)
        for (room, module), w in WRITTEN.items()
        if room == face
    }
    lines = "\n".join(f'    "{name}",' for each in names.values() for name in each)
    imports = "if TYPE_CHECKING:\n" + "\n".join(
        f"    from {prefix}{module} import (\n" + "".join(f"        {name},\n" for name in each) + "    )"
        for module, each in sorted(names.items())
    )
    for what, body in (("imports", imports), ("names", lines)):
        pattern = rf"(?s)( *# {what} of the classes, written by ml.generate\n).*?( *# end of the {what})"
        if not re.search(pattern, text):
            raise errors.ParameterError(f"{path} has lost its marks of the {what} of the classes")
        text = re.sub(pattern, lambda match, body=body: f"{match[1]}{body}\n{match[2]}", text)
    return text


def files() -> dict[Path, str]:
    """Every generated file and its text."""
    arrays_top = PACKAGE / "sklearn" / "__init__.py"
    return {
        PACKAGE / "ml" / "shared.py": shared(),
        **{PACKAGE / face / f"{module}.py": written(face, module) for face, module in WRITTEN},
        TOP: listed(TOP, "ml", ".ml."),
        arrays_top: listed(arrays_top, "sklearn", "."),
        **(pages() if FOLDER.exists() else {}),  # not where the package is installed
    }


def main() -> None:
    for path, text in files().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
