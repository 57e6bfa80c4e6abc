"""``spark-mlfs select``: rank the features of a data set, keep the best, and fit a classifier on
them if one is named.

A run writes ``ranking.csv`` and ``ranking.parquet`` (rank, index, name, score, relevance of every
feature), ``model/`` (a saved `MultiLabelSelectorModel`), ``manifest.json`` and ``report.html``;
with a grid every cell's ranking; with a classifier ``pipeline/``."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .. import pipeline
from ..adapters.saved import DATA_HERE
from ..adapters.selection import LocalSelection, Selected, facts_of
from ..errors import DataError, ParameterError
from ..frames.errors import notice
from ..frames.frame import LocalFrame, LocalSession
from ..frames.schema import FEATURES, fill_of, rejected_of
from ..output.folder import MANIFEST, Output, OutputTarget, csv_text
from ..output.manifest import selection_manifest
from ..pipeline import Result
from ..read.texts import let_go_of_counts
from ..report.page import feature_rows, page, smaller_index
from ..scoring.local import fit_here
from ..select.modes import AUTO, GENERAL, KEYS, flag_help, level_setting, rules_help
from ..select.portrait import Portrait
from ..states.files import load
from ..statistics.base import Budgets
from .config import STATES, ConstraintChoice, RunConfig, RunSettings, Selection, configure
from .dry_run import dry_run
from .flags import Flags, data_flags, flag_values, method_flags, pairs, set_values
from .reckoning import (
    check_beforehand,
    check_classifier,
    check_packed,
    is_large,
    open_rows,
)
from .terminal import Stages, print_result
from .work import Work, load_model, output_table, packed

EPILOG = """\
example (data this library makes itself, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-top-features 50 --output runs/numbers

more:
  spark-mlfs select --config conf/runs/quickstart.toml --num-top-features 20 --output runs/twenty
  spark-mlfs select --data scene.arff --format arff --option labels=scene.xml --method jmi \\
      --set label_coding=lp --output runs/scene
  spark-mlfs select --data s3://bucket/corpus --format parquet --features embedding \\
      --labels-col tags --id doc_id --method mim --percentile 0.05 --output s3://bucket/selection
  spark-mlfs select --config conf/runs/quickstart.toml --selection-mode fdr --fdr 0.01 \\
      --output runs/worth-keeping

`spark-submit jobs/select.py` takes the same arguments. `spark-mlfs methods` lists the methods and
what --set takes.
"""
SHOWN = 10  # features on standard output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the whole run as flags, or a file with flags over it."""
    file = "TOML file with the whole run (conf/runs/quickstart.toml explains it); flags override it"
    parser.add_argument("--config", metavar="FILE", help=file)
    Flags.data(parser, weights=True, groups=True)
    states = (
        "folders that spark-mlfs collect wrote, or patterns, in the place of --data: their "
        "rows together"
    )
    parser.add_argument(
        "--states",
        metavar="DIR",
        nargs="+",
        action="extend",
        help=states,
    )
    flags = Flags(parser, "method")
    best = (
        "the best by cross-validated loss is kept (where the method predicts), all are written "
        "to grid/"
    )
    flags.method(f"values of a parameter to try: every cell is ranked from one scan, {best}")
    flags.value(
        "--folds", "N", "folds of that cross-validation (default 5, a divisor of 60; 0: none)"
    )
    flags.value("--seed", None, "seed of a method that draws at random (default 0)")
    flags = Flags(parser, "selection")
    flags.value(
        "--selection-mode",
        "RULE",
        f"keep the features worth keeping instead of a number: {rules_help()}",
    )
    for key, setting in KEYS.items():
        flags.value("--" + key.replace("_", "-"), setting.metavar, flag_help(setting))
    _constraint_arguments(Flags(parser, "constraints"))
    flags = Flags(parser, "classifier")
    flags.value(
        "--classifier",
        "NAME",
        "fit it on the selected features and save both as pipeline/, for spark-mlfs score",
    )
    flags.repeated("--classifier-set", "NAME=VALUE", "a parameter of the classifier")
    flags = Flags.output(
        parser, "the ranking", "sizes, passes over the data, seconds, memory, bytes that are moved"
    )
    flags.switch("--no-report", "write no report.html")
    flags.value(
        "--cores",
        "N",
        "cores that --dry-run reckons with (default: those of this machine; more are Spark's)",
    )
    flags.engine(budgets=True)


def _constraint_arguments(flags: Flags) -> None:
    include = (
        "features picked and ranked first; what a greedy method picks then, it picks given these"
    )
    patterns = "names, or patterns such as 'title_*'"
    file = (
        "the same from a file: a name a line, or the column name of a .csv; or those that the "
        "selection in a folder keeps"
    )
    flags.values("--include", "NAME", f"{include}: {patterns}")
    flags.value("--include-from", "PATH", file)
    flags.values("--exclude", "NAME", f"features that are never picked: {patterns}")
    flags.value("--exclude-from", "PATH", file)
    groups = "a .toml or .json of lists by group, or a .csv with columns name and group"
    flags.value(
        "--groups", "FILE", f"features picked or left together: {groups}", dest="groups_from"
    )
    costs = (
        "a .toml or .json of costs by name or pattern ('*' for all others), or a .csv with "
        "columns name and cost"
    )
    flags.value(
        "--costs",
        "FILE",
        f"what features cost, picked by gain per cost: {costs}",
        dest="costs_from",
    )
    penalties = (
        "a .toml or .json of numbers by name or pattern, 1 by default, or a "
        ".csv with columns name and penalty"
    )
    factors = (
        "what features' penalties are multiplied by (ridge, lasso, elastic-net, mssl, "
        "forward), 0: never shrunk away"
    )
    flags.value("--penalties", "FILE", f"{factors}: {penalties}", dest="penalties_from")
    flags.value("--budget", "B", "what the selection may cost; --num-top-features bounds it, too")


def configuration(args: argparse.Namespace) -> RunConfig:
    """Return the file's run with the flags over it, complete and checked."""
    parameters = pairs(args.classifier_set, "--classifier-set") or None
    flags = {
        "data": {"path": args.states, "format": STATES} if args.states else data_flags(args),
        "method": method_flags(args, folds=args.folds),
        "selection": {**flag_values(args, Selection), **set_values(mode=args.selection_mode)},
        "constraints": flag_values(args, ConstraintChoice),
        "classifier": set_values(name=args.classifier, parameters=parameters),
        "run": {**flag_values(args, RunSettings), **({"report": False} if args.no_report else {})},
    }
    config: RunConfig = configure(args.config, flags)
    return config


@dataclass
class Ranked:
    """Outcome of ranking: the chosen `result`, of the grid's `cells`; Spark `jobs` by stage; the
    report's `portrait`; what the kept features say `by_label`."""

    result: Result
    count: int
    jobs: dict[str, int]
    frame: Any
    cells: list[Result]
    portrait: Portrait | None
    by_label: pd.DataFrame | None = None


def run(args: argparse.Namespace) -> int:
    """Select features; return the exit code."""
    config = configuration(args)
    from_states = config.data.format == STATES
    if from_states:
        _check_takes_states(args, config)
    config.constraints.complete()
    requests = config.requests()  # a wrong parameter is refused before Spark starts
    weighted = config.data.options.get("weight") is not None
    grades = config.data.grades()
    pipeline.check_rows(
        requests,
        weighted,
        grades is not None and not grades.cuts,
        config.data.options.get("group") is not None,
    )
    if config.classifier.name:
        if weighted or grades is not None:
            takes = "no row weights" if weighted else "labels of 0 and 1, not grades"
            remedy = "select with them, then fit it on what is selected (spark-mlfs transform)"
            raise ParameterError(f"classifier {config.classifier.name} takes {takes}: {remedy}")
        config.classifier.checked()
    data = config.data
    settings = config.run
    output = Output(settings.output or "", settings.overwrite)
    table = output_table(settings.output_table, settings.table_format, settings.overwrite)
    work = Work(args, output, table, [(data.path, data.format or "", data.options)])
    work.check(options=not from_states)
    if from_states:
        work.sources = []  # of states none is Spark's
    command = dry_run if args.dry_run else _select
    return work.run_on_engine_for(command, config, settings=settings, ahead=("ml.selectors",))


def _check_takes_states(args: argparse.Namespace, config: RunConfig) -> None:
    of_rows = args.data or args.format or args.dry_run
    if of_rows or config.classifier.name or config.run.output_table:
        raise ParameterError(
            "--states are sums, in the place of rows: leave --data, --format, --dry-run, "
            "--classifier and --output-table out"
        )


def _select(work: Work, config: RunConfig, spark: Any) -> int:
    args = work.args
    stages = work.stages
    output = work.output
    table = work.table
    assert output is not None
    config.constraints.complete(lambda path: load_model(path, spark)[0].selectedFeatureNames)
    ranked = _rank(spark, config, stages)
    reason = ranked.result.why_none
    if config.classifier.name and reason is not None:
        raise DataError(f"{reason}; there is nothing to fit the classifier on")
    model = _model(ranked)
    fitted = None
    if config.classifier.name:
        with stages.stage("classifier"):
            fitted = _fit_pipeline(
                spark,
                work,
                config,
                model,
                ranked.frame,
            )
    with stages.stage("write"), output.writing(spark) as target:
        if not args.json:  # a ranking that cannot be written has been seen
            print_result(args, ranking_text(ranked, stages), {})
        manifest = _write(
            target,
            work,
            config,
            ranked,
            model,
            fitted,
        )
        if table is not None:
            table.write(pipeline.ranking_frame(spark, ranked.result.ranking))
    text = f"written to {config.run.output}: ranking.csv, ranking.parquet, model/, manifest.json"
    text += ", labels.csv" if ranked.by_label is not None else ""
    text += ", report.html" if config.run.report else ""
    text += ", pipeline/" if config.classifier.name else ""
    text += ", rejected.csv" if "files" in manifest["data"] else ""
    rejected = None if ranked.frame is None else rejected_of(ranked.frame)
    if rejected is not None:
        rejected.release()
    if table is not None:
        text += f"\nthe ranking is in the table {table.name} ({table.format})"
    best = [row._asdict() for row in feature_rows(ranked.result, ranked.count)]
    return print_result(
        args,
        text,
        {
            **manifest,
            "output": config.run.output,
            "selected": best,
        },
    )


def _rank(spark: Any, config: RunConfig, stages: Stages) -> Ranked:
    """Read, prepare, rank; or rank by the sums of states, without their rows.

    The result is the cell of the smallest cross-validated loss, the first where nothing is
    predicted."""
    requests = config.requests()
    driver = config.run.driver_bytes
    worker = config.run.worker_bytes
    frame = None
    if config.data.format == STATES:
        solving = "solve"
        with stages.stage("read"):
            rows = load(*(config.data.path or ()), requests=requests).dataset(requests=requests)
        driver = worker = getattr(spark, "memory", worker)
    else:
        solving = "statistics and solve"
        with stages.stage("read"):
            frame, requests = open_rows(spark, config)
            check_beforehand(spark, frame, config)
        with stages.stage("prepare"):
            rows = packed(frame, spark, config.data.grades(), counted=config.counted)
            if not config.classifier.name:
                let_go_of_counts(frame)
            if not is_large(frame):
                check_packed(spark, rows, config)
            check_classifier(spark, rows, config)
    jobs: dict[str, int] = {}
    portrait = None
    with rows:
        with stages.stage(solving):
            cells = pipeline.rank(
                rows,
                requests,
                progress=stages.report,
                driver_bytes=driver,
                worker_bytes=worker,
            )
        result = min(cells, key=lambda cell: cell.scores.details.get("cv_loss", 0.0))
        count = len(result.kept)
        budgets = Budgets(driver=driver, worker=worker)
        if frame is not None:
            jobs = {"prepare": rows.jobs, "statistics": result.jobs - rows.jobs}
        if frame is not None and config.run.report:
            with stages.stage("portrait of the picks"):
                looked_at = pipeline.portrait_and_sets(rows, result, count, budgets)
            portrait, by_label, cost = looked_at
        else:
            with stages.stage("sets by label"):
                by_label, cost = pipeline.by_label(rows, result, budgets)
        if frame is not None:
            jobs["portrait"] = cost.jobs
            looks_at_labels = result.request.parameters.get("label_coding") != "lp"
            if by_label is None and count and looks_at_labels and not rows.profile.graded:
                notice(
                    "labels.csv is not written: what the kept features say of each label exceeds "
                    "the memory allowed; keep fewer features, or raise --memory-bytes (on Spark "
                    "--driver-bytes)"
                )
    return Ranked(
        result,
        count,
        jobs,
        frame,
        cells,
        portrait,
        by_label,
    )


def _model(ranked: Ranked) -> Selected:
    """Return the model that keeps the best features, or those that the rule keeps."""
    result = ranked.result
    count = AUTO if result.request.auto else max(1, result.kept_count)
    values: dict[str, Any] = {"numTopFeatures": count, "outputCol": "selected"}
    values |= {GENERAL[name].camel: value for name, value in result.request.general.items()}
    if result.evidence is not None:
        rule = result.evidence.rule
        values |= {
            "selectionMode": rule.mode,
            "combination": rule.combination,
            "selectionSeed": rule.seed,
        }
        values[level_setting(rule.mode).parameter.camel] = rule.level
    fill = {} if ranked.frame is None else fill_of(ranked.frame, FEATURES)
    if ranked.frame is None or isinstance(ranked.frame, LocalFrame):
        return LocalSelection(result.ranking, {**facts_of(result), **fill}, values)
    from ..ml.selectors import MultiLabelSelectorModel

    model = MultiLabelSelectorModel.of(result)
    model._set(**values)
    model._extra |= fill
    return model


def _fit_pipeline(
    spark: Any,
    work: Work,
    config: RunConfig,
    model: Any,
    frame: Any,
) -> Any:
    classifier = config.classifier
    arguments = (frame, model, classifier.name or "", classifier.checked(), work.table_read(spark))
    if isinstance(spark, LocalSession):
        return fit_here(
            *arguments,
            work.format,
            work.options,
            spark.scratch,
            work.stages.report,
        )
    from ..scoring.stages import fit_pipeline

    return fit_pipeline(*arguments, work.format, work.options, work.stages.report)


def _write(
    target: OutputTarget,
    work: Work,
    config: RunConfig,
    ranked: Ranked,
    model: Any,
    fitted: Any,
) -> dict[str, Any]:
    started = time.perf_counter()
    result = ranked.result
    target.model("model", model)
    if fitted is not None:
        target.model("pipeline", fitted)
    saved = None
    if target.folder is not None and isinstance(model, LocalSelection):
        saved = target.folder / "model" / DATA_HERE
    target.table("ranking", result.ranking, saved)
    if ranked.by_label is not None:
        target.text("labels.csv", csv_text(ranked.by_label))
    seconds = {**work.stages.seconds, "write": round(time.perf_counter() - started, 4)}
    manifest = selection_manifest(
        config,
        result,
        ranked.count,
        target.spark.version,
        seconds,
        ranked.jobs,
        work.args.argv,
    )
    if config.method.screen:
        manifest["method"]["screen"] = config.method.screen
    if config.method.grid:
        manifest["grid"] = _write_grid(target, list(config.method.grid), ranked)
    if fitted is not None:
        manifest["classifier"] = fitted.stages[-1].summary
    rejected = None if ranked.frame is None else rejected_of(ranked.frame)
    if rejected is not None:
        manifest["data"]["files"] = rejected.summary()
        target.text("rejected.csv", csv_text(rejected.table()))
    if config.run.report:
        gallery = None if rejected is None else rejected.gallery
        html = page(
            result,
            manifest,
            ranked.count,
            ranked.portrait,
            gallery,
            ranked.by_label,
        )
        target.text("report.html", html)
    work.files.check()
    target.json(MANIFEST, manifest)
    return manifest


def _write_grid(target: OutputTarget, names: list[str], ranked: Ranked) -> list[dict[str, Any]]:
    """Write grid.csv, a line a cell, and every cell's ranking, grid-0.csv and on.

    A line has a cell's parameters, loss and seconds."""
    lines = []
    for number, cell in enumerate(ranked.cells):
        target.text(f"grid-{number}.csv", csv_text(cell.ranking))
        parameters = {name: cell.request.parameters[name] for name in names}
        facts = {
            "cv_loss": cell.scores.details.get("cv_loss"),
            "converged": cell.scores.converged,
            "seconds": round(cell.seconds["of it the method"], 4),
            "chosen": cell is ranked.result,
        }
        lines.append(
            {
                "cell": number,
                **parameters,
                **facts,
            }
        )
    target.text("grid.csv", csv_text(pd.DataFrame(lines)))
    return lines


def ranking_text(ranked: Ranked, stages: Stages) -> str:
    """Return the best features under their headings, and what these mean."""
    result = ranked.result
    count = ranked.count
    profile = result.profile
    if ranked.frame is None or isinstance(ranked.frame, LocalFrame):
        engine = "in this process"
    else:
        engine = f"{sum(ranked.jobs.values())} Spark jobs"
    shape = f"{profile.n} rows x {profile.d} features x {profile.q} labels"
    seconds = sum(stages.seconds.values())
    untagged = ""
    without = profile.n - profile.labelled - profile.unlabelled
    if ranked.frame is not None and (without or profile.unlabelled):
        untagged = f"; {without:,} rows without labels, {profile.unlabelled:,} unknown"
    first = f"{result.request.method}: {shape}; kept {count}; {seconds:.1f} s, {engine}{untagged}"
    lines = [first]
    if "verdict" in result.scores.details:  # of auto: what was chosen, and how sure that is
        lines.append(result.scores.details["verdict"])
    lines += map(str, result.notices)
    if result.why_none is not None:
        return "\n".join(lines)
    if ranked.frame is not None and rejected_of(ranked.frame) is not None:
        lines.append(smaller_index(result, count))
    lines.append("rank  score        relevance    name")
    for row in feature_rows(result, min(count, SHOWN)):
        score = "" if row.score != row.score else f"{row.score:.6g}"
        rank = f"{row.rank:4d}"
        relevance = f"{row.relevance:.6g}"
        lines.append(f"{rank}  {score:<12} {relevance:<12} {row.name}")
    if count > SHOWN:
        lines.append(f"      and {count - SHOWN} more")
    return "\n".join([*lines, pipeline.meaning(result.scores.path is not None)])
