"""`spark_mlfs.compare`: a comparison from Python, its tables, and its page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from ..evaluate.compare import ForgetfulJournal, Outcome, run
from ..evaluate.plan import comparison, read_comparison
from ..output.manifest import now, versions
from ..pipeline import Progress
from .comparison_files import cd_diagram, check_formats, saved
from .comparison_page import comparison_page


class ComparisonOutcome(Outcome):
    """The tables of a comparison (`evaluate.compare.Outcome`), and their page."""

    def page(self) -> str:
        """The comparison as one HTML page."""
        assert self.plan is not None
        spent = {"trials": float(self.trials["wall_seconds"].sum())}
        about = {"finished": now(), "seconds": spent, "versions": versions(""), "command": [], "trials": len(self.trials)}
        return comparison_page(self, self.plan, about)

    def cd_diagram(self, path: str, classifier: str | None = None) -> None:
        """Write the critical difference diagram of the main metric by a classifier (the first) as .pdf, .svg or .png."""
        assert self.plan is not None
        suffix = Path(path).suffix[1:].lower()
        check_formats([suffix], [])
        Path(path).write_bytes(saved(cd_diagram(self, classifier or self.plan.design().judges[0].title), suffix))


def compare(spark: SparkSession, plan: Mapping[str, Any] | str, progress: Progress | None = None) -> ComparisonOutcome:
    """A comparison from Python: `plan` is the path of a TOML file, or a dict of its sections (`evaluate.plan`).

    Gives a `ComparisonOutcome`; raises `ParameterError` for whatever is wrong with the plan. Long ones are better run by
    ``spark-mlfs compare``, which takes up what was cut short.
    """
    checked = read_comparison(plan) if isinstance(plan, str) else comparison(plan)
    return ComparisonOutcome(**vars(run(spark, checked, ForgetfulJournal(), None, progress)))
