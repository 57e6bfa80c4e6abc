"""What `evaluate` and `compare` share: a plan is run trial by trial, and becomes tables and a page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ..errors import DataError, ParameterError
from .shared import OK, Stages, inputs, load_model, reader_options_of, session, set_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..evaluate.compare import Outcome
    from ..evaluate.plan import Comparison, DataSet
    from ..evaluate.trials import Candidate
    from ..ml.selectors import MultiLabelSelectorModel
    from ..output.folder import Place

TABLES = ("cells", "trials", "choices", "rankings", "labels", "data", "failed")


def run_arguments(group: Any) -> None:
    """The flags of [run], beside those of the output."""
    group.add_argument("--parallelism", metavar="N", help="trials at a time (default: the cores of this machine, at most 8)")
    group.add_argument("--driver-bytes", metavar="BYTES", help="largest statistic the driver takes (default 1 GiB)")
    group.add_argument("--worker-bytes", metavar="BYTES", help="rows and statistics one worker process holds (default 1 GiB)")


def run_section(args: argparse.Namespace) -> dict[str, Any]:
    """The [run] section as the flags give it."""
    return set_values(
        output=args.output,
        overwrite=args.overwrite or None,
        parallelism=args.parallelism,
        driver_bytes=args.driver_bytes,
        worker_bytes=args.worker_bytes,
    )


def run_plan(args: argparse.Namespace, plan: Comparison, file: str | None, model: str | None = None) -> int:
    """Runs the trials of a plan, those of an earlier run excepted, and writes the results; returns the exit code. The ranking
    saved at `model` takes part, too."""
    from ..evaluate.compare import run, settings_of
    from ..output.folder import Output, Place
    from ..output.journal import Journal, publish

    if plan.run.output is None:
        raise ParameterError(
            "where should the results go? give " + (f"[run] output in {file}, or " if file else "") + "--output DIR"
        )
    output = Output(plan.run.output, plan.run.overwrite)
    paths = [path for data in plan.data for source in (data.path, data.test_path) for path in inputs(source, data.format)]
    output.check([*paths, *([model] if model else [])])
    stages = Stages(args.verbose)
    candidates = plan.candidates()
    with session(stages, args.debug) as spark:
        output.check(spark=spark)
        saved = load_model(model)[0] if model else None
        if saved is not None:
            candidates = [_saved_ranking(spark, saved, plan), *candidates]
        journal = Journal.beside(spark, plan.run.output, "comparing", settings_of(plan, candidates))
        with journal.running("trials"):
            resumed = journal.open()
            if not resumed:
                journal.start()
            before = len(journal.parts)
            with stages.stage("trials"):
                outcome = run(spark, plan, journal, candidates, stages.report)
            if saved is not None:
                _note_training_rows(saved, outcome, plan)
            with stages.stage("tables and page"):
                target = Place(spark, journal.place, journal.folder, "overwrite")
                trials = {"trials": len(journal.parts), "trials_of_an_earlier_run": before, "failed": len(outcome.failed)}
                _write(target, args, outcome, plan, trials, stages)
                journal.clear()
                publish(plan.run.output, journal.folder, False)
    _print_summary(outcome, plan, before)
    return OK


def _saved_ranking(spark: SparkSession, model: MultiLabelSelectorModel, plan: Comparison) -> Candidate:
    """The saved ranking in terms of the data's own columns: its features are found by name where both sides have names, else
    the widths must agree. `DataError` for missing, further or differently many features."""
    import numpy as np

    from ..evaluate.compare import open_data
    from ..evaluate.trials import Candidate
    from ..ml.rows import unmatched
    from ..read.faults import reading
    from ..schema import FEATURES, attribute_names

    (data,) = plan.data
    data.options = reader_options_of(model, data.format or "", data.options)
    frame, _ = open_data(spark, data)
    slots = attribute_names(frame, FEATURES)
    order = model.ranking.sort_values("rank")["index"].to_numpy()
    if slots is None or not model.summary.get("named"):
        with reading():
            first = frame.select(FEATURES).first() if slots is None else None
        width = len(slots) if slots is not None else len(first[0]) if first is not None and first[0] is not None else None
        if width is not None and width != model.numFeatures:
            raise DataError(f"{_path_of(data)}: has {width} features, the selection was fitted on {model.numFeatures}")
        return Candidate("the saved ranking", order=tuple(int(i) for i in order))
    names = np.array(model.featureNames, object)
    problem = unmatched(names, order, slots)
    if problem is not None:
        raise DataError(f"{_path_of(data)}: {problem}")
    where = {name: index for index, name in enumerate(slots)}
    return Candidate("the saved ranking", order=tuple(where[names[i]] for i in order))


def _path_of(data: DataSet) -> str:
    path = data.path or data.name
    return path if isinstance(path, str) else path[0]


def _note_training_rows(model: MultiLabelSelectorModel, outcome: Outcome, plan: Comparison) -> None:
    """A note where a saved ranking was made from these rows."""
    fingerprint = model.summary.get("fingerprint")
    if fingerprint is not None and fingerprint in set(outcome.data["fingerprint"]):
        plan.notes += "\n\nThe saved ranking was made from these very rows, test rows included: what is measured is too good."


def _write(
    target: Place, args: argparse.Namespace, outcome: Outcome, plan: Comparison, trials: dict[str, int], stages: Stages
) -> None:
    """The tables, the page and the manifest."""
    from ..output.folder import MANIFEST
    from ..output.manifest import as_json, opening, versions
    from ..report.comparison_page import comparison_page

    for name in TABLES:
        table = getattr(outcome, name)
        if len(table):
            target.table(name, table)
    manifest = {
        **opening(args.command, args.argv),
        "plan": plan.as_dict(),
        **trials,
        "seconds": stages.seconds,
        "versions": versions(target.spark.version),
    }
    target.text("comparison.html", comparison_page(outcome, plan, manifest))
    target.text(MANIFEST, as_json(manifest))


def _print_summary(outcome: Outcome, plan: Comparison, before: int) -> None:
    """The main table on standard output."""
    from ..evaluate.summary import main_metric, summary

    kind, metric = main_metric(plan)
    judge = plan.design().judges[0].title
    means = summary(outcome.cells, kind, metric, judge, outcome.methods).mean
    print(f"{metric} by {judge}, mean over splits ({'chosen size' if plan.protocol.choose.size else 'mean over sizes'}):")
    print(means.map(lambda v: "–" if v != v else f"{v:.4f}").to_string())
    if len(outcome.failed):
        for line in outcome.failed.drop_duplicates(["data", "method"]).itertuples():
            print(f"not run: {line.method} on {line.data}: {line.error}")
    again = f", {before} of them in an earlier run" if before else ""
    print(
        f"{len(outcome.trials)} trials{again}; written to {plan.run.output}: comparison.html, cells.csv, manifest.json and more"
    )
