"""The notebooks run from top to bottom, hold what running them gave, and nothing of the machine they ran on."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def test_there_are_notebooks():
    assert len(BOOKS) == 7


@pytest.mark.parametrize("path", BOOKS, ids=lambda p: p.stem)
def test_rendered_whole_and_of_no_machine(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["nbformat"] == 4 and book["metadata"]["language_info"]["name"] == "python"
    code = [c for c in book["cells"] if c["cell_type"] == "code"]
    assert [c["execution_count"] for c in code] == list(range(1, len(code) + 1))
    assert not any(o["output_type"] == "error" for c in code for o in c["outputs"])
    assert sum(bool(c["outputs"]) for c in code) >= len(code) // 2
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"/(tmp|home|root|work|Users)/", text) and len(text) < 200_000


@pytest.mark.parametrize("path", [*BOOKS, *sorted(FOLDER.glob("figures/*.py"))], ids=lambda p: p.stem)
def test_what_is_imported_exists(path):
    """The slow ones run in no quick suite: their names of the package are looked up at least."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join(source(c) for c in cells(path) if c["cell_type"] == "code")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spark_mlfs"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.util.find_spec(f"{node.module}.{alias.name}"), alias.name


# the comparisons take longest, and what they call has tests of its own
RUN = [pytest.param(p, marks=[pytest.mark.slow] if p.stem[0] in "24" else []) for p in BOOKS]


# of the three tasks what takes seconds at full size
SMALL = {
    "5-documents-in-a-csv": ("ROWS = 10_000", "ROWS = 400"),
    "6-a-pandas-frame": ("ROWS = 5_000", "ROWS = 300"),
    "7-embeddings": ("ROWS, WIDTH = 50_000, 256", "ROWS, WIDTH = 500, 64"),
}


@pytest.mark.parametrize("path", RUN, ids=[p.stem for p in BOOKS])
def test_runs_from_top_to_bottom(spark, path, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "notebook"}
    for cell in cells(path):
        if cell["cell_type"] == "code":
            before, small = SMALL.get(path.stem, ("", ""))
            tree = ast.parse(source(cell).replace(before, small) if before else source(cell))
            exec(compile(tree, path.name, "exec"), names)
    import matplotlib.pyplot as plt

    plt.close("all")
    assert ("spark" in names) is (path.stem != "6-a-pandas-frame")  # a table in memory needs none
    if path.stem in SMALL:
        assert names["ROWS"] <= 500
