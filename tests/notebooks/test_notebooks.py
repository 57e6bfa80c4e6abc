"""The notebooks run from top to bottom, hold what running them gave, and nothing of the machine
they ran on."""

from __future__ import annotations

import ast
import base64
import contextlib
import importlib.util
import io
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
    assert len(BOOKS) == 10


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


@pytest.mark.parametrize(
    "path", [*BOOKS, *sorted(FOLDER.glob("figures/*.py"))], ids=lambda p: p.stem
)
def test_what_is_imported_exists(path):
    """The slow ones run in no quick suite: their names of the package are looked up at least."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join(source(c) for c in cells(path) if c["cell_type"] == "code")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spark_mlfs"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.util.find_spec(
                    f"{node.module}.{alias.name}"
                ), alias.name


# the comparisons take longest, and what they call has tests of its own
RUN = [pytest.param(p, marks=[pytest.mark.slow] if p.stem[0] in "234589" else []) for p in BOOKS]


# of the three tasks what takes seconds at full size
SMALL = {
    "5-documents-in-a-csv": ("ROWS = 10_000", "ROWS = 400"),
    "6-a-pandas-frame": ("ROWS = 5_000", "ROWS = 300"),
    "7-embeddings": ("ROWS, WIDTH = 50_000, 256", "ROWS, WIDTH = 500, 64"),
    "9-a-folder-of-pictures": ("ROWS = 2_000", "ROWS = 300"),
    "10-long-texts": ("ROWS = 1_500", "ROWS = 450"),
}


# a comparison on Spark runs in the second, commands on Spark have tests of both engines
# (jobs/test_local_apply): what they give is the same in this process
HERE = "from spark_mlfs.frames.frame import LocalSession\nspark = LocalSession()"
WITHOUT = {"4-reading-a-comparison": ("spark = spark_mlfs.local_session()", HERE)}


PASSING = [  # what differs from run to run
    (re.compile(r"(?<=[a-zA-Z])_[0-9a-f]{12}\b"), "_UID"),
    (re.compile(r"\b0x[0-9a-f]+"), "0xADDRESS"),
    (re.compile(r"\d+(\.\d+)? (s|ms|seconds)\b"), "TIME"),
    (re.compile(r"\d+ KB\b"), "SIZE"),
]


def executed(cell: str, names: dict) -> tuple[str, object]:
    """Run a cell; what it printed, and the value of its last expression."""
    tree, value, said = ast.parse(cell), None, io.StringIO()
    last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last), "cell", "eval"), names)
    return said.getvalue(), None if cell.rstrip().endswith(";") else value


def lasting(text: str) -> str:
    timed = (
        [(re.compile(r"\b0\.\d{3}\b"), "TIME")] if "_seconds" in text else []
    )  # a column of a table
    for pattern, name in PASSING + timed:
        text = pattern.sub(name, text)
    return text.strip()


def stored(cell: dict) -> list[str]:
    """The text that a cell is stored with: printed, and of its value."""
    out = ["", ""]
    for each in cell["outputs"]:
        if each["output_type"] == "stream" and each["name"] == "stdout":
            out[0] += "".join(each["text"])
        elif each["output_type"] == "execute_result":
            out[1] += "".join(each["data"]["text/plain"])
    return out


def rendered(path: Path) -> None:
    """Store what a notebook gives now: ``python tests/notebooks/test_notebooks.py
    notebooks/1-quickstart.ipynb``."""
    import matplotlib.pyplot as plt

    book, names = json.loads(path.read_text(encoding="utf-8")), {"__name__": "notebook"}
    for number, cell in enumerate((c for c in book["cells"] if c["cell_type"] == "code"), 1):
        said, value = executed(source(cell), names)
        outputs = (
            [{"output_type": "stream", "name": "stdout", "text": said.splitlines(True)}]
            if said
            else []
        )
        if value is not None and not isinstance(value, plt.Axes):
            data = {"text/plain": repr(value).splitlines(True)}
            if html := getattr(value, "_repr_html_", lambda: None)():
                data["text/html"] = html.splitlines(True)
            outputs.append(
                {
                    "output_type": "execute_result",
                    "execution_count": number,
                    "data": data,
                    "metadata": {},
                }
            )
        for figure in map(plt.figure, plt.get_fignums()):
            image, text = (
                io.BytesIO(),
                "<Figure size "
                f"{'x'.join(str(int(v)) for v in figure.get_size_inches() * figure.dpi)} with",
            )
            figure.savefig(image, format="png", bbox_inches="tight")
            data = {
                "image/png": base64.b64encode(image.getvalue()).decode() + "\n",
                "text/plain": [f"{text} {len(figure.axes)} Axes>"],
            }
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        plt.close("all")
        cell["outputs"], cell["execution_count"] = outputs, number
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", RUN, ids=[p.stem for p in BOOKS])
def test_runs_from_top_to_bottom(spark, path, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    if path.stem == "5-documents-in-a-csv":
        monkeypatch.setattr("spark_mlfs.cli.work.of_our_own", lambda: True)
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "notebook"}
    for cell in cells(path):
        if cell["cell_type"] == "code":
            before, small = (SMALL | WITHOUT).get(path.stem, ("", ""))
            said, value = executed(
                source(cell).replace(before, small) if before else source(cell), names
            )
            if path.stem not in SMALL:  # at full size: what is stored is what it gives
                printed, result = stored(cell)
                assert lasting(said) == lasting(printed)
                if result:
                    assert lasting(repr(value)) == lasting(result)
    import matplotlib.pyplot as plt

    plt.close("all")
    in_memory = (
        "6-a-pandas-frame",
        "8-a-growing-corpus",
        "9-a-folder-of-pictures",
        "10-long-texts",
    )  # which need none
    assert ("spark" in names) is (path.stem not in in_memory)
    if path.stem in SMALL:
        assert names["ROWS"] <= 500


if __name__ == "__main__":
    import sys

    for book in sys.argv[1:]:
        rendered(Path(book))
