"""Writes the estimator classes, and the public names of the package, into the source: ``python -m spark_mlfs.ml.generate``.

To be run when a method, extractor or classifier, its parameters or its docstring change; a test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

from .. import errors
from .classes import EstimatorClasses
from .classifiers import ESTIMATORS as CLASSIFIERS
from .extractors import ESTIMATORS as EXTRACTORS
from .params import FITTING
from .selectors import SCREENING, SELECTION, SELECTORS
from .source import HEAD, accessors, packed_lines

ROOM = Path(__file__).resolve().parent
TOP = ROOM.parent / "__init__.py"
SHARED = {
    "FittingAccessors": ("How any estimator runs.", FITTING),
    "SelectionAccessors": ("Which features are kept.", SELECTION),
    "ScreeningAccessors": ("What runs before the method.", SCREENING),
}
WRITTEN = {
    "selector_classes": ("selectors", SELECTORS, "A selector for every method.", "the methods"),
    "extractor_classes": ("extractors", EXTRACTORS, "An estimator for every extractor.", "the extractors"),
    "classifier_classes": ("classifiers", CLASSIFIERS, "An estimator for every classifier.", "the classifiers"),
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
    """The text of ``shared.py``: getters and setters of the params that many classes have."""
    head = HEAD.format(
        title="Params that many estimators have, with their getters and setters.",
        origin="the tables of parameters",
        imports=TYPING.format(more=", Params", imports=""),
    )
    classes = [f'class {name}(Params):\n    """{doc}"""\n\n{accessors(table)}\n' for name, (doc, table) in SHARED.items()]
    return head + "\n\n" + "\n\n".join(classes)


def written(module: str) -> str:
    """The text of a module of classes."""
    room, classes, title, origin = WRITTEN[module]
    registry = {"selectors": "SELECTORS"}.get(room, "ESTIMATORS")
    imports = f"from .{room} import {registry}, {classes.base}\n"
    keywords = "from .params import keyword_only\n"
    imports = "".join(sorted((imports, keywords))) + "\n"
    head = HEAD.format(title=title, origin=origin, imports=TYPING.format(more="", imports=imports))
    own = own_names(classes)
    bodies = [classes.source(name) for name in own]
    names = packed_lines([f'"{name}"' for name in sorted(classes.class_name(name) for name in own)], 4)
    return head + "\n\n" + "\n\n".join(bodies) + "\n" + OUTSIDE.format(names=names, classes=registry)


def own_names(classes: EstimatorClasses) -> list[str]:
    """The names whose classes are the package's own."""
    package = __package__.partition(".")[0]
    return [name for name in classes if classes.registry[name].__module__.partition(".")[0] == package]


def top() -> str:
    """The text of the package's ``__init__.py``, its lists of classes written anew."""
    text = TOP.read_text()
    names = {
        module: sorted(map(classes.class_name, own_names(classes)), key=str.casefold)
        for module, (_, classes, *_) in WRITTEN.items()
    }
    listed = "\n".join(f'    "{name}",' for each in names.values() for name in each)
    imports = "if TYPE_CHECKING:\n" + "\n".join(
        f"    from .ml.{module} import (\n" + "".join(f"        {name},\n" for name in each) + "    )"
        for module, each in sorted(names.items())
    )
    for what, body in (("imports", imports), ("names", listed)):
        pattern = rf"(?s)( *# {what} of the classes, written by ml.generate\n).*?( *# end of the {what})"
        if not re.search(pattern, text):
            raise errors.ParameterError(f"{TOP} has lost its marks of the {what} of the classes")
        text = re.sub(pattern, lambda match, body=body: f"{match[1]}{body}\n{match[2]}", text)
    return text


def files() -> dict[Path, str]:
    """Every generated file and its text."""
    return {
        ROOM / "shared.py": shared(),
        **{ROOM / f"{module}.py": written(module) for module in WRITTEN},
        TOP: top(),
    }


def main() -> None:
    for path, text in files().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
