"""Lines of fastText, ``__label__a __label__b words``: counts of their words, and their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..formats import Reader
from .tables import FILE_OPTIONS
from .tagged_lines import TAGS, TEXT
from .texts import TextTable

_COLUMNS = {"text": TEXT, "labels": TAGS}


class FastText(TextTable):
    """Read lines of fastText: counts of their words, as `read.text` has them, and labels.

    `path` is one path, a list, a folder or a glob; plain, ``.gz`` or ``.bz2``. As a table the lines
    have the columns ``text`` and ``labels``.

    >>> import pathlib, spark_mlfs
    >>> file = pathlib.Path("train.ft").absolute()
    >>> written = file.write_text("__label__a __label__b red fish\\n__label__b blue fish\\n")
    >>> spark_mlfs.read.fasttext(spark_mlfs.local_session(), str(file), min_df=1).first()["labels"]
    ['a', 'b']"""

    name = "fasttext"
    title = "lines of fastText: __label__a __label__b words"
    tabular = True
    endings = (".ft", ".ft.txt")
    parameters = tuple(
        replace(p, default=_COLUMNS.get(p.name, p.default))
        for p in TextTable.parameters
        if p.name not in ("source", "label_delimiter", "label_key", *FILE_OPTIONS)
    )

    @classmethod
    def documentation(cls) -> str:
        """Return what lines of fastText become."""
        return (
            "Lines of fastText: words that begin with `__label__` are labels, the others are "
            "counted, as `text` counts them. To `score` and `check` they are a table of the "
            "columns `text` and `labels`."
        )

    def check(self, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        p = Reader.check(self, path, options)
        others = {"label_delimiter": None, "label_key": None, "reader_options": None}
        return {**p, **others, "source": self.name}
