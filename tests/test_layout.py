"""The house in one picture: which room may use which, read off every import of the package, those
inside functions too."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from syntax import nodes_of

PACKAGE = Path(__file__).resolve().parents[1] / "spark_mlfs"
ORACLES = Path(__file__).with_name("oracles")

# a room uses the rooms before it, and none after
ROOMS = """
ground kernels solvers frames media texts read blocks statistics engine methods extract classify select
pipeline adapters sklearn ml testing output evaluate states scoring report mlflow session cli
""".split()
SMALL = (
    "kernels",
    "solvers",
)  # NumPy and SciPy alone: what runs in tasks, and what finishes on the driver
GROUND = (
    "errors",
    "interrupts",
    "lazy",
    "params",
    "registry",
    "formats",
    "markup",
    "sections",
    "typing",
    "version",
)
MOST_TOKENS = 5500  # of a file
# names of parameters and fields that users know
PUBLIC_WORDS = ("at", "given", "further", "kept", "like")
FUNCTION_WORDS = frozenset(
    "told said some each given made own here of at what one rest such how more every whole about "
    "also took seen held kept met done like there these those which whose where asked wanted found "
    "came further again alike alone together stands".split()
)
# readers that give way to one of Arrow batches
TO_BE_REPLACED = ("read/local_json.py",)
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}
TOP = (*GROUND, "pipeline", "testing", "__init__")  # the only files beside the rooms


def modules() -> dict[tuple[str, ...], Path]:
    """Every module by its path within the package, packages by their folder's."""
    out = {}
    for path in (
        *sorted(PACKAGE.rglob("*.pyi")),
        *sorted(PACKAGE.rglob("*.py")),
    ):  # of some there is a stub alone
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        out[parts[:-1] if parts[-1] == "__init__" else parts] = path
    return out


MODULES = modules()


@cache
def imports(parts: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The modules of the package that a module imports, wherever in its text."""
    path, out = MODULES[parts], set()
    package = parts if path.name == "__init__.py" else parts[:-1]
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1] + tuple(
                    (node.module or "").split(".") if node.module else ()
                )
            elif (node.module or "").split(".")[0] == PACKAGE.name:
                base = tuple(node.module.split(".")[1:])
            else:
                continue
            for alias in node.names:  # a module of a package, or a name of a module
                out.add((*base, alias.name) if (*base, alias.name) in MODULES else base)
        elif isinstance(node, ast.Import):
            out |= {
                tuple(a.name.split(".")[1:])
                for a in node.names
                if a.name.split(".")[0] == PACKAGE.name
            }
    return out - {parts}


def outside(path: Path) -> set[str]:
    """The first names of what a file imports from elsewhere."""
    nodes = nodes_of(path)
    names = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    return {name.split(".")[0] for name in names}


def room(parts: tuple[str, ...]) -> str:
    return "ground" if parts[0] in GROUND else parts[0]


def test_every_file_stands_in_a_room():
    assert {parts[0] for parts in MODULES if parts} <= {*ROOMS, *GROUND}
    assert {path.stem for path in PACKAGE.glob("*.py")} <= set(TOP)


def test_no_import_climbs():
    climbing = [
        (".".join(parts), ".".join(to))
        for parts in MODULES
        for to in imports(parts)
        if parts and to and room(to) != room(parts)
        if ROOMS.index(room(to)) >= ROOMS.index(room(parts))
    ]
    assert climbing == []
    assert [parts for parts in MODULES if parts and () in imports(parts)] == []


def test_no_circle_of_imports():
    edges = {parts: {to for to in imports(parts) if to} for parts in MODULES if parts}
    done: set = set()

    def visit(parts, path):
        assert parts not in path, " -> ".join(
            ".".join(p) for p in (*path[path.index(parts) :], parts)
        )
        if parts not in done:
            for to in edges[parts]:
                visit(to, [*path, parts])
            done.add(parts)

    for parts in edges:
        visit(parts, [])


def rooms_used(name: str) -> set[str]:
    """The rooms that the modules of a room import."""
    return {room(to) for parts in MODULES if parts[:1] == (name,) for to in imports(parts) if to}


@pytest.mark.parametrize("name", SMALL)
def test_kernels_and_solvers_know_no_spark(name):
    assert not [p for p in MODULES if p[:1] == (name,) and "pyspark" in outside(MODULES[p])]
    assert rooms_used(name) <= {"ground", *SMALL}


def test_statistics_know_no_method_and_no_solver():
    assert rooms_used("statistics") <= {"ground", "kernels", "blocks", "statistics"}


def test_oracles_know_nothing_of_the_package():
    assert not [path for path in ORACLES.rglob("*.py") if PACKAGE.name in outside(path)]


def test_spark_is_asked_by_its_portable_names():
    """DataFrames and Arrow alone: no RDD, no JVM, nothing of the context."""
    closed = {"rdd", "sparkContext", "_jvm", "_sc", "broadcast", "accumulator"}
    reached = {
        (str(path), node.attr)
        for path in PACKAGE.rglob("*.py")
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute) and node.attr in closed
    }
    assert reached == set()


def test_the_sketch_of_the_house_is_the_house():
    """The rooms as the page about the design names them."""
    text = (PACKAGE.parent / "notebooks" / "why" / "design.md").read_text()
    sketch = text[text.index("<!-- rooms -->") : text.index("<!-- end of rooms -->")]
    named = {
        line.split("/")[0].strip()
        for line in sketch.splitlines()
        if line.strip().split(" ")[0].endswith("/")
    }
    assert named == {
        path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()
    }


def test_workers_find_the_package_by_its_parent():
    """Rooms have names of the standard library's modules (select): the package's own folder must
    never be on a path."""
    from spark_mlfs.session.class_archive import PACKAGE as folder

    assert folder == PACKAGE


def docstring_lines(path: Path) -> set[int]:
    """The lines of a file that docstrings take."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines: set[int] = set()
    for node in nodes_of(path):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def words_and_signs(path: Path) -> int:
    """Return no fewer than the tokens of a file: the words and signs of its lines of code.

    A token has one at least. Python's own tokenizer takes twenty times as long."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    skipped = docstring_lines(path)
    code = "\n".join(line for number, line in lines if number not in skipped)
    return len(re.findall(r"\w+|[^\w\s]", code))


def code_tokens(path: Path) -> list[tokenize.TokenInfo]:
    """The tokens of a file without comments, docstrings and layout."""
    source = path.read_text(encoding="utf-8")
    skipped = docstring_lines(path)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [t for t in tokens if t.type not in LAYOUT and t.start[0] not in skipped]


def test_no_file_is_long():
    """At most so many tokens of code, so that a file is read at a sitting."""
    large = [path for path in PACKAGE.rglob("*.py") if words_and_signs(path) > MOST_TOKENS]
    sizes = {str(path): len(code_tokens(path)) for path in large}
    assert {path: size for path, size in sizes.items() if size > MOST_TOKENS} == {}


def test_words_and_signs_are_no_fewer_than_tokens():
    for path in sorted(PACKAGE.glob("*.py")):
        assert words_and_signs(path) >= len(code_tokens(path))


def expressions_by_line(path: Path) -> Counter[int]:
    """How many expressions begin on each line; names and constants do not count."""
    simple = (ast.Name, ast.Constant)
    return Counter(
        n.lineno for n in nodes_of(path) if isinstance(n, ast.expr) and not isinstance(n, simple)
    )


def test_no_line_says_a_dozen_things():
    """Fewer than twelve expressions a line, but for formulas of kernels and solvers."""
    long_lines = [
        f"{path}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path.parent.name not in SMALL
        and path.relative_to(PACKAGE).as_posix() not in TO_BE_REPLACED
        for line, count in expressions_by_line(path).items()
        if count >= 12
    ]
    assert long_lines == []


def is_named(node: ast.expr, module: str, name: str) -> bool:
    """Return whether an expression is `module.name`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == module
    )


def test_names_of_columns_are_quoted():
    """Spark reads a dot within a name as a field, so that names come to it by `column_named`."""
    raw = []
    for path in MODULES.values():
        if path.suffix == ".pyi" or str(path.relative_to(PACKAGE)) in TO_BE_REPLACED:
            continue
        for node in nodes_of(path):
            if not isinstance(node, ast.Call) or not is_named(node.func, "F", "col"):
                continue
            (name,) = node.args
            constant = isinstance(name, ast.Constant | ast.JoinedStr)
            constant |= isinstance(name, ast.Name) and name.id.isupper()
            is_quoted = isinstance(name, ast.Call) and ast.unparse(name.func) == "quoted"
            if not constant and not is_quoted and path.name != "names.py":
                raw.append(f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert not raw, "\n".join(raw)


def test_names_are_nouns_of_the_field():
    """No local variable and no parameter is a function word, which says nothing."""
    vague = []
    for path in PACKAGE.rglob("*.py"):
        for node in nodes_of(path):
            name = node.arg if isinstance(node, ast.arg) else None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            if name is not None and name.strip("_") in FUNCTION_WORDS and name not in PUBLIC_WORDS:
                vague.append(f"{path}:{node.lineno}: {name}")
    assert vague == []


def test_batches_are_made_as_the_oldest_pyarrow_makes_them():
    """`pa.record_batch` takes no dict there."""
    assert not [
        path
        for path in PACKAGE.rglob("*.py")
        if "pa.record_batch(" in path.read_text(encoding="utf-8")
    ]
