"""``spark-mlfs compare``: data sets × methods × classifiers of one file; a plan is run trial by
trial, as by `evaluate`, too."""

from __future__ import annotations

import argparse
from typing import Any

from ..adapters.selection import Selected
from ..errors import DataError, ParameterError
from ..evaluate import compare as trials
from ..evaluate.data import open_data
from ..evaluate.outcome import Outcome
from ..evaluate.plan import FILES, Comparison, Run, read_comparison
from ..evaluate.protocol import Protocol
from ..evaluate.summary import main_metric, summary
from ..evaluate.trials import Candidate
from ..frames.errors import reading
from ..frames.schema import FEATURES, attribute_names
from ..output.folder import MANIFEST, Output, OutputTarget
from ..output.journal import Journal
from ..report.comparison_page import check_formats, comparison_page, files
from .flags import Flags, given
from .terminal import print_forecast, print_result
from .work import Work, load_model, reader_options_of

SAME_ROWS = (
    "The saved ranking was made from these very rows, test rows included: what is "
    "measured is too good."
)
TABLES = ("cells", "trials", "choices", "rankings", "labels", "data", "failed")
EPILOG = """\
example:
  spark-mlfs compare --config conf/runs/compare.toml

The file lists data sets, methods, classifiers and sizes; conf/runs/compare.toml explains each key, conf/runs/papers/*.toml are
the experiments of papers. A run that was cut short goes on where it stopped when it is given again.
`spark-submit jobs/compare.py` takes the same arguments.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and where the results go."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="TOML file with the comparison (conf/runs/compare.toml explains it)",
    )
    run_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Runs a comparison; returns the exit code."""
    if args.config is None:
        raise ParameterError(
            "compare needs --config FILE; conf/runs/compare.toml is one to start from"
        )
    return run_plan(args, read_comparison(args.config, run_section(args)), args.config)


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags of [run]."""
    flags = Flags.output(parser, dry_run="trials, rankings, fits of classifiers")
    flags.one(
        "--parallelism", "N", "trials at a time (default: the cores of this machine, at most 8)"
    )
    flags.engine(budgets=True)
    flags.one("--figures", "FORMATS", "write the figures as files, too: pdf,svg,png")
    flags.one("--tables", "FORMAT", "write the tables as files, too: latex")


def run_section(args: argparse.Namespace) -> dict[str, Any]:
    """The [run] section as the flags give it."""
    section = given(args, Run)
    return section | {
        name: section[name].split(",") for name in ("figures", "tables") if name in section
    }


def run_plan(
    args: argparse.Namespace, plan: Comparison, file: str | None, model: str | None = None
) -> int:
    """Runs the trials that are not done yet, with the ranking saved at `model`, and writes the
    results; returns the exit code."""
    if plan.run.output is None:
        in_file = f"[run] output in {file}, or " if file else ""
        raise ParameterError(f"where should the results go? give {in_file}--output DIR")
    output = Output(plan.run.output, plan.run.overwrite)
    check_formats(plan.run.figures, plan.run.tables)
    if (plan.run.figures or plan.run.tables) and output.local is None:
        remedy = "give a local --output, or leave them out"
        raise ParameterError(
            f"figures and tables as files need an output on this machine: {remedy}"
        )
    tests = [each for each in plan.data if each.test_path]
    read = [(each.path, each) for each in plan.data] + [(each.test_path, each) for each in tests]
    work = Work(
        args, output, None, [(path, data.format or "", data.options) for path, data in read]
    )
    work.check(
        [model] if model else [],
        "saved selection",
        "give the folder that spark-mlfs select wrote",
        options=True,
    )
    work.sources.append((model, "", {}))
    if args.dry_run:
        return _forecast(args, plan, plan.candidates(), model)
    return work.run_on_engine_for(_run, plan, model, settings=plan.run)


def _run(work: Work, plan: Comparison, model: str | None, spark: Any) -> int:
    args, stages, candidates = work.args, work.stages, plan.candidates()
    assert plan.run.output is not None
    saved = load_model(model, spark)[0] if model else None
    if saved is not None:
        candidates = [_saved_ranking(spark, saved, plan), *candidates]
    journal = Journal.beside(
        spark, plan.run.output, "comparing", trials.settings_of(plan, candidates)
    )
    with journal.running("trials"):
        resumed = journal.open()
        if not resumed:
            journal.start()
        before = sum("error" not in entry for entry in journal.parts.values())
        with stages.stage("trials"):
            outcome = trials.run(spark, plan, journal, candidates, stages.report)
        if saved is not None and saved.summary.get("fingerprint") in {
            *outcome.data["fingerprint"]
        } - {None}:
            plan.notes += f"\n\n{SAME_ROWS}"
        with stages.stage("tables and page"):
            target = OutputTarget(spark, journal.place, journal.folder, "overwrite")
            counts = {
                "trials": len(journal.parts),
                "trials_of_an_earlier_run": before,
                "failed": len(outcome.failed),
            }
            manifest = _write(target, work, outcome, plan, counts)
            journal.clear()
            journal.publish()
    text, means = _summary(outcome, plan, before)
    return print_result(args, text, {**manifest, "output": plan.run.output, "means": means})


def _forecast(
    args: argparse.Namespace, plan: Comparison, candidates: list[Candidate], model: str | None
) -> int:
    """Says how many trials, rankings and fits of classifiers a plan stands for; no session is
    started, nothing is read."""
    folds = plan.protocol.folds
    splits = 1 if folds == FILES else Protocol.of(folds).count
    design = plan.design()
    titles = [*(["the saved ranking"] if model else []), *(c.title for c in candidates)]
    sizes = sum(len(design.sizes) if c.requests else 1 for c in candidates) + (
        len(design.sizes) if model else 0
    )
    inner = sum(
        len(c.requests) * plan.protocol.choose.folds for c in candidates if len(c.requests) > 1
    )
    found = {
        "data": [d.name for d in plan.data],
        "methods": titles,
        "classifiers": [j.title for j in design.classifiers],
        "protocol": folds,
        "splits": splits,
        "sizes": list(design.sizes),
        "trials": len(plan.data) * splits * len(titles),
        "rankings_of_inner_folds": len(plan.data) * splits * inner,
        "classifier_fits": len(plan.data) * splits * len(design.classifiers) * sizes,
        "output": plan.run.output,
    }
    lines = {
        "trials": f"{len(plan.data)} data sets x {splits} splits ({folds}) x {len(titles)} methods "
        f"= {found['trials']} trials",
        "fits": f"{found['classifier_fits']}, at {len(design.sizes)} sizes by {len(design.classifiers)} "
        "classifiers",
        "chosen": f"parameters, by {found['rankings_of_inner_folds']} rankings of inner folds"
        if inner
        else None,
        "output": f"{plan.run.output}: nothing was written",
    }
    return print_forecast(args, lines, found)


def _saved_ranking(spark: Any, model: Selected, plan: Comparison) -> Candidate:
    """The saved ranking in terms of the data's own columns: its features are found by name where
    both sides have names, else the widths must agree. `DataError` for missing, further or
    differently many features."""
    (data,) = plan.data
    path = data.path or data.name
    path = path if isinstance(path, str) else path[0]
    data.options = reader_options_of(model, data.format or "", data.options)
    frame, _ = open_data(spark, data)
    slots = attribute_names(frame, FEATURES)
    if slots is None:
        with reading():
            rows = frame.limit(1).collect()
        first = rows[0][FEATURES] if rows else range(model.numFeatures)
        if isinstance(first, dict):  # a vector in this process
            first = first["values"] if first["size"] is None else range(first["size"])
        if len(first) != model.numFeatures:
            raise DataError(
                f"{path}: has {len(first)} features, the selection was fitted on "
                f"{model.numFeatures}"
            )
    order = model.ranking.sort_values("rank")["index"].to_numpy()
    return Candidate(
        "the saved ranking", order=tuple(model.find(order, slots, f"{path}:").tolist())
    )


def _write(
    target: OutputTarget, work: Work, outcome: Outcome, plan: Comparison, counts: dict[str, int]
) -> dict[str, Any]:
    """The tables, the page and the manifest, which is returned."""
    for name in TABLES:
        table = getattr(outcome, name)
        if len(table):
            target.table(name, table)
    manifest = work.manifest(target.spark, {"plan": plan.as_dict(), **counts})
    target.text("comparison.html", comparison_page(outcome, plan, manifest))
    for name, content in files(outcome, plan.run.figures, plan.run.tables):
        assert target.folder is not None
        (target.folder / name).parent.mkdir(exist_ok=True)
        (target.folder / name).write_bytes(content)
    target.json(MANIFEST, manifest)
    return manifest


def _summary(outcome: Outcome, plan: Comparison, before: int) -> tuple[str, dict[str, Any]]:
    kind, metric = main_metric(plan)
    judge = plan.design().classifiers[0].title
    means = summary(outcome.cells, kind, metric, judge, outcome.methods).mean
    lines = [
        f"{metric} by {judge}, mean over splits "
        f"({'chosen size' if plan.protocol.choose.size else 'mean over sizes'}):",
        means.T.map(lambda v: "–" if v != v else f"{v:.4f}").to_string(),
    ]
    if len(outcome.failed):
        failed = outcome.failed.drop_duplicates(["data", "method"]).itertuples()
        lines += [f"not run: {line.method} on {line.data}: {line.error}" for line in failed]
    again = f", {before} of them in an earlier run" if before else ""
    written = f"written to {plan.run.output}: comparison.html, cells.csv, manifest.json and more"
    lines.append(f"{len(outcome.trials)} trials{again}; {written}")
    table = {
        str(data): {str(k): float(v) for k, v in row.items()} for data, row in means.iterrows()
    }
    return "\n".join(lines), {"metric": metric, "classifier": judge, "by_data": table}
