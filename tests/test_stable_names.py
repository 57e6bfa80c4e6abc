"""The names that a library may depend on are those of the page that lists them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import spark_mlfs
from spark_mlfs import formats, read, sklearn, states, typing
from spark_mlfs.cli.command import COMMANDS

PAGE = Path(__file__).resolve().parents[1] / "notebooks" / "reference" / "stable-names.md"
SECTIONS = {
    title.strip("`"): re.findall(r"`([^`]+)`", text)
    for title, text in re.findall(
        r"^## (.+)\n\n((?:`.*\n)+)", PAGE.read_text("utf-8"), re.MULTILINE
    )
}
RANKED = spark_mlfs.rank([[0, 1], [1, 0]], [0, 1], "mim")


def own(registry) -> list[str]:
    """The names of the package's own entries: plug-ins have others."""
    return [name for name in registry if registry[name].__module__.startswith("spark_mlfs.")]


@pytest.mark.parametrize(
    ("title", "names"),
    [
        *(("spark_mlfs" + tail, face.__all__) for tail, face in (
            ("", spark_mlfs), (".sklearn", sklearn), (".states", states), (".read", read), (".typing", typing)
        )),
        ("Arguments of `spark_mlfs.rank", [*inspect.signature(spark_mlfs.rank).parameters][:-1]),
        ("Columns of a ranking", RANKED.columns),
        ("Methods", own(spark_mlfs.METHODS)),
        ("Extractors", own(spark_mlfs.EXTRACTORS)),
        ("Classifiers", own(spark_mlfs.CLASSIFIERS)),
        ("Encoders", own(spark_mlfs.ENCODERS)),
        ("Formats", own(formats.READERS)),
        ("Commands", [name.replace("_", "-") for name in COMMANDS]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_the_page_lists_them(title, names):
    """A name that is gone breaks what depends on it; a new one is listed before others rely on it."""
    assert sorted(SECTIONS[title]) == sorted(names)
