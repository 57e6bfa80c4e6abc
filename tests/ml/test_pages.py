"""The pages of the methods are what the docstrings, the advice and the measurements say."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

import spark_mlfs
from spark_mlfs.methods import METHODS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conf" / "developers"))
import pages

COSTS = json.loads((pages.FOLDER / "costs.json").read_text())


def test_every_page_is_up_to_date_and_none_is_left_over():
    want = pages.pages()
    assert {path.name for path in want} == {f"{name}.md" for name in pages.own_methods()} | {
        "README.md"
    }
    assert {path.name for path in pages.FOLDER.glob("*.md")} == {path.name for path in want}
    for path, text in want.items():
        assert path.read_text(encoding="utf-8") == text, (
            f"{path.name}: run python conf/developers/generate.py"
        )


@pytest.mark.parametrize("name", pages.own_methods())
def test_a_page_holds_all_that_is_asked_of_it(name):
    text = (pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for heading in (
        "What it computes",
        "Symbols",
        "Raises",
        "Source",
        "Deviations",
        "Parameters",
        "Cost",
        "Example",
    ):
        assert re.search(rf"^##+ {heading}$", text, re.M), heading
    for parameter in METHODS[name].parameters:
        assert f"| `{parameter.name}` | `{parameter.default}` |" in text
    assert "``" not in text.replace("```", "") and not re.search(r"\n{3,}", text)
    formulas = [line for line in pages.documentation(name).splitlines() if line.startswith("    ")]
    assert formulas and all(line.replace("``", "`") in text for line in formulas)


def test_the_index_leads_to_every_page_by_what_one_has():
    index = (pages.FOLDER / "README.md").read_text(encoding="utf-8")
    above = index[: index.index("## All")]
    for name in pages.own_methods():
        assert f"({name}.md)" in above and index.count(f"({name}.md)") >= 2


def test_measured_at_every_size_with_the_scans_of_the_engine():
    for name in pages.own_methods():
        lines = COSTS["methods"][name]["sizes"]
        assert len(lines) == len(pages.SIZES) and all(
            line["scans"] >= 1 and line["seconds"] > 0 for line in lines if line
        )
    assert (
        COSTS["methods"]["fisher"]["sizes"][0]["scans"]
        == COSTS["methods"]["fisher"]["sizes"][2]["scans"]
    )


@pytest.mark.parametrize("name", ["mim", "mrmr", "fisher", "ridge", "f-statistic", "fastcan"])
def test_examples_give_what_the_pages_say(name):
    digits, digit = load_digits(return_X_y=True, as_frame=True)
    assert (
        list(spark_mlfs.rank(digits, digit, method=name, k=pages.EXAMPLE)["name"])
        == COSTS["methods"][name]["example"]
    )
