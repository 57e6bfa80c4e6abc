"""``spark-mlfs compare``: data sets × methods × classifiers of one file; a plan is run trial by
trial, as by `evaluate`, too."""

from __future__ import annotations

import argparse
from typing import Any

from ..adapters.selection import Selected
from ..errors import DataError, ParameterError, quantity
from ..evaluate import compare as trials
from ..evaluate.data import open_data
from ..evaluate.outcome import Outcome, leakage_line
from ..evaluate.plan import FILES, Comparison, Run, read_comparison
from ..evaluate.protocol import Protocol
from ..evaluate.summary import main_metric, summary
from ..evaluate.trials import Candidate
from ..frames.errors import reading
from ..frames.frame import MEMORY
from ..frames.schema import FEATURES, attribute_names
from ..output.folder import MANIFEST, Output, OutputTarget
from ..output.journal import Journal
from ..report.comparison_page import comparison_page
from ..report.paper_files import check_formats, files
from .flags import Flags, flag_values
from .terminal import print_forecast, print_result
from .trial_costs import costs_of, lines_of
from .work import Work, load_model, reader_options_of

SAME_ROWS = (
    "The saved ranking was made from these very rows, test rows included: what is "
    "measured is too good."
)
TABLES = ("cells", "trials", "choices", "rankings", "labels", "data", "failed")
EPILOG = """\
example:
  spark-mlfs compare --config conf/runs/compare.toml

The file lists data sets, methods, classifiers and sizes; conf/runs/compare.toml explains each key,
conf/runs/papers/*.toml are the experiments of papers. A run that was cut short goes on where it
stopped when it is given again. `spark-submit jobs/compare.py` takes the same arguments.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags: the file, and where the results go."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="TOML file with the comparison (conf/runs/compare.toml explains it)",
    )
    run_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run a comparison; return the exit code."""
    if args.config is None:
        raise ParameterError(
            "compare needs --config FILE; conf/runs/compare.toml is one to start from"
        )
    return run_plan(args, read_comparison(args.config, run_section(args)), args.config)


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of [run]."""
    flags = Flags.output(parser, dry_run="trials, rankings, fits of classifiers")
    flags.value(
        "--parallelism", "N", "trials at a time (default: the cores of this machine, at most 8)"
    )
    flags.engine(budgets=True)
    flags.values("--figures", "FORMAT", "write the figures as files, too: pdf, svg, png")
    flags.values(
        "--tables", "FORMAT", "write the tables as files, too: latex, latex:ranks (mean ranks)"
    )


def run_section(args: argparse.Namespace) -> dict[str, Any]:
    """Return the [run] section as the flags give it."""
    section = flag_values(args, Run)
    for name in ("figures", "tables"):
        if name in section:
            section[name] = ",".join(section[name]).split(",")  # pdf svg, or pdf,svg
    return section


def run_plan(
    args: argparse.Namespace,
    plan: Comparison,
    file: str | None,
    model: str | None = None,
) -> int:
    """Run the trials that are not done yet and write the results; return the exit code.

    The ranking saved at `model` is a candidate, too."""
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
    train = [(data.path, data) for data in plan.data]
    test = [(data.test_path, data) for data in plan.data if data.test_path]
    sources = [(path, data.format or "", data.options) for path, data in train + test]
    work = Work(args, output, None, sources)
    models = [model] if model else []
    remedy = "give the folder that spark-mlfs select wrote"
    work.check(models, "saved selection", remedy, options=True)
    work.sources.append((model, "", {}))
    if args.dry_run:
        return _forecast(work, plan, plan.candidates(), model)
    return work.run_on_engine_for(_run, plan, model, settings=plan.run)


def _run(
    work: Work,
    plan: Comparison,
    model: str | None,
    spark: Any,
) -> int:
    stages = work.stages
    candidates = plan.candidates()
    assert plan.run.output is not None
    saved = load_model(model, spark)[0] if model else None
    if saved is not None:
        candidates = [_saved_ranking(spark, saved, plan), *candidates]
    settings = trials.settings_of(plan, candidates)
    journal = Journal.beside(spark, plan.run.output, "comparing", settings)
    with journal.running("trials"):
        resumed = journal.open()
        if not resumed:
            journal.start()
        before = sum("error" not in entry for entry in journal.parts.values())
        with stages.stage("trials"):
            outcome = trials.run(
                spark,
                plan,
                journal,
                candidates,
                stages.report,
                spelling=work.spelling,
            )
        fingerprints = {*outcome.data["fingerprint"]} - {None}
        if saved is not None and saved.summary.get("fingerprint") in fingerprints:
            plan.notes += f"\n\n{SAME_ROWS}"
        with stages.stage("tables and page"):
            target = OutputTarget(spark, journal.place, journal.folder, "overwrite")
            counts = {
                "trials": len(journal.parts),
                "trials_of_an_earlier_run": before,
                "failed": len(outcome.failed),
            }
            manifest = _write(
                target,
                work,
                outcome,
                plan,
                counts,
            )
            journal.clear()
            journal.publish()
    text, means = _summary(outcome, plan, before)
    return print_result(
        work.args,
        text,
        {
            **manifest,
            "output": plan.run.output,
            "means": means,
        },
    )


def _forecast(
    work: Work,
    plan: Comparison,
    candidates: list[Candidate],
    model: str | None,
) -> int:
    """Print how many trials, rankings and fits of classifiers a plan stands for, and their cost.

    No session of Spark is started; a sample of what this process reads is looked at."""
    folds = plan.protocol.folds
    splits = 1 if folds == FILES else Protocol.of(folds).count
    design = plan.design()
    titles = [*(["the saved ranking"] if model else []), *(c.title for c in candidates)]
    sizes = sum(len(design.sizes) if c.requests else 1 for c in candidates)
    sizes += len(design.sizes) if model else 0
    cells = sum(len(c.requests) for c in candidates if len(c.requests) > 1)
    inner = cells * plan.protocol.choose.folds
    runs = len(plan.data) * splits
    facts = {
        "data": [d.name for d in plan.data],
        "methods": titles,
        "classifiers": [j.title for j in design.classifiers],
        "protocol": folds,
        "splits": splits,
        "sizes": list(design.sizes),
        "trials": runs * len(titles),
        "rankings_of_inner_folds": runs * inner,
        "classifier_fits": runs * len(design.classifiers) * sizes,
        "output": plan.run.output,
    }
    costs = None
    if work.is_here(plan.run):
        saved = [Candidate(titles[0], order=())] if model else []
        costs = costs_of(plan, [*saved, *candidates], MEMORY.accept(plan.run.memory_bytes))
    facts["cost"] = costs
    chosen = f"parameters, by {facts['rankings_of_inner_folds']} rankings of inner folds"
    lines = {
        "trials": f"{len(plan.data)} data sets x {splits} splits ({folds}) x {len(titles)} methods "
        f"= {facts['trials']} trials",
        "fits": f"{facts['classifier_fits']}, at {len(design.sizes)} sizes by "
        f"{len(design.classifiers)} classifiers",
        "chosen": chosen if inner else None,
        **lines_of(costs),
        "output": f"{plan.run.output}: nothing was written",
    }
    return print_forecast(work.args, lines, facts)


def _saved_ranking(spark: Any, model: Selected, plan: Comparison) -> Candidate:
    """Return the saved ranking in terms of the data's own columns.

    Its features are found by name where both sides have names, else the widths must agree.
    `DataError` for missing, further or differently many features."""
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
    indices = model.find(order, slots, f"{path}:").tolist()
    return Candidate("the saved ranking", order=tuple(indices))


def _write(
    target: OutputTarget,
    work: Work,
    outcome: Outcome,
    plan: Comparison,
    counts: dict[str, int],
) -> dict[str, Any]:
    """Write the tables, the page and the manifest; return the manifest."""
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
    means = summary(
        outcome.cells,
        kind,
        metric,
        judge,
        outcome.methods,
    ).mean
    sizes = "chosen size" if plan.protocol.choose.size else "mean over sizes"
    apart = leakage_line(plan, outcome.data)
    lines = [
        f"{metric} by {judge}, mean over splits ({sizes}):",
        means.T.map(lambda v: "–" if v != v else f"{v:.4f}").to_string(),
        apart,
    ]
    if len(outcome.failed):
        failed = outcome.failed.drop_duplicates(["data", "method"]).itertuples()
        lines += [f"not run: {line.method} on {line.data}: {line.error}" for line in failed]
    earlier = f", {before} of them in an earlier run" if before else ""
    written = f"written to {plan.run.output}: comparison.html, cells.csv, manifest.json and more"
    lines.append(f"{quantity(len(outcome.trials), 'trial')}{earlier}; {written}")
    table = {
        str(data): {str(k): float(v) for k, v in row.items()} for data, row in means.iterrows()
    }
    return "\n".join(lines), {
        "metric": metric,
        "classifier": judge,
        "by_data": table,
        "apart": apart,
    }
