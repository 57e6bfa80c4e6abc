"""The command line: ``spark-mlfs select | transform | score | evaluate | compare | sample | methods | java-home``, and what
``jobs/*.py`` call.

`main(argv)` returns the exit code: 0 done; 2 the user's error, told in one line on standard error; 130 interrupted; 1 anything
else, with its traceback. Nothing is written unless all of it is (see `output.folder`).

A selection run writes into its output folder ``ranking.csv`` and ``ranking.parquet`` (rank, index, name, score of every
feature), ``model/`` (a saved `MultiLabelSelectorModel`), ``manifest.json`` and ``report.html``. A transform run writes a data
set that Spark reads as it is, with its manifest inside as ``_manifest.json``.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import DataError, ParameterError, SparkMlfsError, from_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..ml.selectors import MultiLabelSelectorModel
    from ..pipeline import Result
    from .config import RunConfig


OK, FAILED, USER_ERROR, INTERRUPTED = 0, 1, 2, 130
SECONDS_BETWEEN_LINES = 20  # of progress within a stage, where there is no terminal
OUTPUT_FORMATS = ("parquet", "csv", "json", "delta")
_EXAMPLE = """\
example (data this library makes itself, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-features 50 --output runs/numbers
"""
_SELECT = f"""\
{_EXAMPLE}
more:
  spark-mlfs select --config conf/runs/quickstart.toml --num-features 20 --output runs/twenty
  spark-mlfs select --data scene.arff --format arff --option labels=scene.xml --method jmi --set labels=lp --output runs/scene
  spark-mlfs select --data s3://bucket/corpus --format parquet --features embedding --labels-col tags --id doc_id \\
      --method mim --percentile 0.05 --output s3://bucket/selection
  spark-mlfs select --config conf/runs/quickstart.toml --selection fdr --fdr 0.01 --output runs/worth-keeping

`spark-submit jobs/select.py` takes the same arguments. `spark-mlfs methods` lists the methods and what --set takes.
"""
_TRANSFORM = """\
example:
  spark-mlfs transform --model runs/numbers/model --format numbers --output runs/numbers-reduced

Formats and options are those of `spark-mlfs select`. A table (parquet, delta, csv, json, table) may be without labels: leave the
option labels out. `spark-submit jobs/transform.py` takes the same arguments.
"""
_SAMPLE = """\
example, from raw text to a scored corpus:
  spark-mlfs sample documents --output data/documents
  spark-mlfs select --config conf/runs/text-tags.toml
  spark-mlfs sample documents --rows 50000 --seed 1 --without-tags --output data/new-documents
  spark-mlfs score --model runs/text-tags --data data/new-documents --format parquet --id doc --output data/new-tags
"""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours: one line, with the near flag for an unknown one."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            unknown = message.removeprefix("unrecognized arguments: ").split()[0]
            near = get_close_matches(unknown.split("=")[0], list(self._option_string_actions), n=1)
            message = f"unknown argument {unknown}" + (f"; did you mean {near[0]}?" if near else f"; see {self.prog} --help")
        raise ParameterError(message)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            chosen = getattr(found, "parser", self)
            chosen.error("unrecognized arguments: " + " ".join(rest))
        return found


def _parser() -> _Parser:
    from .. import __version__

    parser = _Parser(
        prog="spark-mlfs",
        description="Multi-label feature selection on Apache Spark.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"spark-mlfs {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")

    def command(name: str, summary: str, epilog: str | None, run: Callable[[argparse.Namespace], int]) -> Any:
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        sub.set_defaults(run=run, parser=sub)
        return sub

    select = command("select", "rank the features of a data set and keep the best", _SELECT, _select)
    select.add_argument(
        "--config", metavar="FILE", help="TOML file with the whole run (conf/runs/quickstart.toml explains it); flags override it"
    )
    _data_arguments(select)
    method = select.add_argument_group("method")
    method.add_argument("--method", help="name of the method (default jmi); another than the file's drops the file's parameters")
    method.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method; repeat for more"
    )
    method.add_argument(
        "--screen", metavar="METHOD:K", help="run this filter first, the method on its K best, such as chi2:10000"
    )
    method.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=V1,V2",
        help="values of a parameter to try; repeat for more: every cell is ranked from one scan, the best by cross-validated "
        "loss is kept (where the method predicts), all are written to grid/",
    )
    method.add_argument("--folds", metavar="N", help="folds of that cross-validation (default 5, a divisor of 60; 0: none)")
    method.add_argument("--num-features", metavar="K", help="features to keep (default 50, at most all)")
    method.add_argument(
        "--percentile", metavar="P", help="share of the features to keep, above 0 up to 1, instead of --num-features"
    )
    method.add_argument(
        "--selection",
        metavar="RULE",
        help="keep the features worth keeping instead of a number: fpr, fdr, fwe (G-tests with every label), knockoffs (methods "
        "that finish on the Gram matrix), stability (among the --num-features best in most half-samples)",
    )
    method.add_argument("--fpr", metavar="P", help="largest p-value with --selection fpr (default 0.05)")
    method.add_argument(
        "--fdr", metavar="P", help="share of false features with --selection fdr (default 0.05) or knockoffs (default 0.1)"
    )
    method.add_argument("--fwe", metavar="P", help="probability of any false feature with --selection fwe (default 0.05)")
    method.add_argument(
        "--combination", metavar="HOW", help="how a feature's p-values with each label become one: cauchy (default), bonferroni"
    )
    method.add_argument(
        "--stability-threshold", metavar="P", help="share of the half-samples with --selection stability, above 0.5 (default 0.6)"
    )
    method.add_argument("--seed", help="seed of a method that draws at random (default 0)")
    after = select.add_argument_group("classifier")
    after.add_argument(
        "--classifier", metavar="NAME", help="fit it on the selected features and save both as pipeline/, for spark-mlfs score"
    )
    after.add_argument(
        "--classifier-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the classifier; repeat for more",
    )
    run = _output_arguments(select)
    run.add_argument("--no-report", action="store_true", help="write no report.html")
    run.add_argument("--driver-bytes", metavar="BYTES", help="largest statistic the driver takes (default 1 GiB)")
    run.add_argument("--worker-bytes", metavar="BYTES", help="rows and statistics one worker process holds (default 1 GiB)")

    transform = command("transform", "cut a data set down to the features of a saved selection", _TRANSFORM, _transform)
    transform.add_argument(
        "--model", required=False, metavar="DIR", help="the model/ folder a selection run wrote (or that run's folder)"
    )
    _data_arguments(transform)
    transform.add_argument("--num-features", metavar="K", help="keep the K best instead of as many as the model was told")
    run = _output_arguments(transform)
    run.add_argument(
        "--output-format", default="parquet", choices=OUTPUT_FORMATS, help="format of the data set (default parquet)"
    )
    run.add_argument(
        "--as",
        dest="form",
        choices=("vector", "columns"),
        help="one vector column with the names in its metadata, or one column per feature and label under its name "
        "(default: vector for parquet and delta, columns for csv and json)",
    )

    from . import score as cli_score

    scored = command("score", "give every row of a corpus its labels, by a saved pipeline", cli_score.EPILOG, cli_score.run)
    cli_score.add_arguments(scored, _data_arguments, _output_arguments)

    from . import compare as cli_compare

    judged = command(
        "evaluate",
        "measure how good a selection is, by classifiers on rows it has not seen",
        cli_compare.EVALUATE,
        cli_compare.evaluate,
    )
    cli_compare.add_evaluate(judged, _data_arguments, _output_arguments)
    compared = command(
        "compare", "compare methods on data sets, as a table, curves and tests", cli_compare.COMPARE, cli_compare.compare
    )
    cli_compare.add_compare(compared, _output_arguments)

    made = command("sample", "write a generated table to try the jobs on, as Parquet", _SAMPLE, _sample)
    made.add_argument("kind", nargs="?", help="documents (text and tags) or embeddings (arrays and tags)")
    made.add_argument("--rows", metavar="N", default="10000", help="rows (default 10000)")
    made.add_argument("--seed", metavar="S", default="0", help="seed (default 0)")
    made.add_argument("--without-tags", action="store_true", help="leave the tags out, as in a corpus to score")
    _output_arguments(made)

    methods = command("methods", "list the methods and their parameters", None, _methods)
    methods.add_argument("name", nargs="?", help="one method, in full")
    command("java-home", "print the JAVA_HOME a local Spark uses", None, _java_home)
    return parser


def _data_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data",
        nargs="+",
        action="extend",
        metavar="PATH",
        help="file, folder, glob or several; a table's name; nothing for the samples",
    )
    group.add_argument(
        "--format", metavar="NAME", help="arff, libsvm, parquet, delta, csv, json, table, text; samples: numbers, planted"
    )
    group.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the reader, such as labels=scene.xml, labels=-6, missing=mean, num_labels=101; repeat for more, "
        "or with the same name for a list",
    )
    group.add_argument(
        "--features",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="feature column or columns of a table; same as --option features=",
    )
    group.add_argument(
        "--labels-col", nargs="+", action="extend", metavar="COLUMN", help="label column or columns; same as --option labels="
    )
    group.add_argument("--id", metavar="COLUMN", help="row id column; same as --option id=")


def _output_arguments(parser: argparse.ArgumentParser) -> Any:
    group = parser.add_argument_group("output")
    group.add_argument("--output", metavar="DIR", help="folder to write; without a scheme it is on this machine")
    group.add_argument(
        "--overwrite", action="store_true", help="replace the output of an earlier run, once the new one is complete"
    )
    group.add_argument(
        "--verbose", action="store_true", help="a line per stage on standard error, also where that is no terminal"
    )
    group.add_argument("--debug", action="store_true", help="show Spark's log and the traceback of every error")
    return group


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in argv
    try:
        parser = _parser()
        if not argv:
            parser.print_help(sys.stderr)
            return USER_ERROR
        args = parser.parse_args(argv)
        if args.command in ("select", "transform", "score", "evaluate", "compare") and len(argv) == 1:
            args.parser.print_help(sys.stderr)
            return USER_ERROR
        args.argv = argv
        return args.run(args)
    except SystemExit as done:  # --help, --version
        return int(done.code or 0)
    except KeyboardInterrupt:
        print("spark-mlfs: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        own = _user_error(error)
        if own is None or debug:
            traceback.print_exc()
        if own is None:
            return FAILED
        print("spark-mlfs: error: " + " ".join(str(own).split()), file=sys.stderr)
        return USER_ERROR


def job() -> None:
    """`main` for a scheduler that calls a function and takes no exit code (a Databricks wheel task): an error ends it."""
    code = main()
    if code != OK:
        raise SystemExit(code)


def _user_error(error: BaseException) -> Exception | None:
    """What the user can put right: our own errors, also out of a worker, and paths that are not there or not ours; else None."""
    own = from_worker(error)
    if own is not None:
        return own
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return DataError(f"{error.filename}: {(error.strerror or text)[:200].lower()}")
    if "DATA_SOURCE_NOT_FOUND" in text:
        return DataError(
            "this Spark session does not have the output format; for delta start it with delta-spark and its extensions"
        )
    if "[PATH_NOT_FOUND]" in text:
        return DataError(text.split("[PATH_NOT_FOUND]", 1)[1].split("SQLSTATE")[0].strip())
    if "No FileSystem for scheme" in text or "UNSUPPORTED_FILE_SYSTEM" in text:
        scheme = text.split("scheme", 1)[-1].split('"')[1] if '"' in text else "of the path"
        return DataError(f"this Spark has no file system {scheme}; add its connector with --packages, or use a path it knows")
    return None


# ------------------------------------------------------------------------------------------------------------------- progress


class Stages:
    """Names and times the stages; on a terminal it shows them as they run."""

    def __init__(self, verbose: bool) -> None:
        self.seconds: dict[str, float] = {}
        self.terminal = sys.stderr.isatty()
        # spark-submit takes our standard error for its standard output, so that it never is a terminal
        self.lines = verbose or self.terminal or "PYSPARK_GATEWAY_PORT" in os.environ
        self.told = time.perf_counter()
        self.bar: Any = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        from tqdm import tqdm

        shape = "{desc} |{bar}| {n_fmt}/{total_fmt} {elapsed}" if self.terminal else None
        started = time.perf_counter()
        self.bar = tqdm(total=1, desc=name, leave=False, file=sys.stderr, disable=not self.terminal, bar_format=shape)
        try:
            yield
        finally:
            self.bar.close()
        self.seconds[name] = round(time.perf_counter() - started, 4)
        if self.lines:
            print(f"spark-mlfs: {name:<24} {self.seconds[name]:8.2f} s", file=sys.stderr, flush=True)

    def report(self, what: str, done: int, total: int) -> None:
        """The pipeline's progress."""
        if self.terminal and self.bar is not None:
            self.bar.total, self.bar.n = total, done
            self.bar.set_description_str(what)
        elif self.lines and done < total and time.perf_counter() - self.told > SECONDS_BETWEEN_LINES:
            self.told = time.perf_counter()
            print(f"spark-mlfs: {what} {done} of {total}", file=sys.stderr, flush=True)


@contextmanager
def _session(stages: Stages, debug: bool) -> Iterator[SparkSession]:
    """The session there is, or one of our own, which is stopped at the end. Its log is off: what goes wrong is told by us."""
    from pyspark.sql import SparkSession

    from ..session.local import local_session

    if not debug and not logging.root.handlers:
        logging.root.addHandler(logging.NullHandler())  # py4j logs an interrupt with two tracebacks
    had = SparkSession.getActiveSession() is not None or "DATABRICKS_RUNTIME_VERSION" in os.environ
    with stages.stage("session"):
        spark = local_session("spark-mlfs", {"spark.log.level": "WARN" if debug else "FATAL"})
    try:
        yield spark
    finally:
        if not had:
            spark.stop()


# --------------------------------------------------------------------------------------------------------------------- select


def _data_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The [data] section as the flags give it."""
    from .config import pairs

    options = pairs(args.option, "--option")
    for name, flag, value in (
        ("features", "--features", args.features),
        ("labels", "--labels-col", args.labels_col),
        ("id", "--id", args.id),
    ):
        if value is None:
            continue
        if name in options:
            raise ParameterError(f"{flag} and --option {name}= say the same thing; give one of them")
        options[name] = value[0] if isinstance(value, list) and len(value) == 1 else value
    data: dict[str, Any] = {}
    if args.data is not None:
        data["path"] = args.data[0] if len(args.data) == 1 else args.data
    if args.format is not None:
        data["format"] = args.format
    if options:
        data["options"] = options
    return data


def _given(**values: Any) -> dict[str, Any]:
    return {k: v for k, v in values.items() if v is not None}


def _select_config(args: argparse.Namespace) -> RunConfig:
    from .config import configure, pairs

    flags = {
        "data": _data_flags(args),
        "method": _given(
            name=args.method,
            parameters=pairs(args.set, "--set") or None,
            screen=args.screen,
            grid={k: str(v).split(",") for k, v in pairs(args.grid, "--grid").items()} or None,
            folds=None if args.folds is None else int(args.folds) if args.folds.isdigit() else args.folds,
        ),
        "selection": _given(
            mode=args.selection,
            num_features=args.num_features,
            percentile=args.percentile,
            fpr=args.fpr,
            fdr=args.fdr,
            fwe=args.fwe,
            combination=args.combination,
            stability_threshold=args.stability_threshold,
        ),
        "classifier": _given(name=args.classifier, parameters=pairs(args.classifier_set, "--classifier-set") or None),
        "run": _given(
            output=args.output,
            overwrite=args.overwrite or None,
            seed=args.seed,
            report=False if args.no_report else None,
            driver_bytes=args.driver_bytes,
            worker_bytes=args.worker_bytes,
        ),
    }
    return configure(args.config, flags)


def _inputs(path: str | list[str] | None, format: str | None) -> list[str]:
    """The paths a run reads (a table's name is none)."""
    if path is None or format == "table":
        return []
    return [path] if isinstance(path, str) else list(path)


def _select(args: argparse.Namespace) -> int:
    from ..output.folder import Output

    config = _select_config(args)
    config.requests()  # a wrong parameter is told before Spark starts
    if config.classifier.name:
        config.classifier.checked()
    output = Output(config.run.output or "", config.run.overwrite)
    output.check(_inputs(config.data.path, config.data.format))
    stages = Stages(args.verbose)
    with _session(stages, args.debug) as spark:
        output.check(spark=spark)
        result, kept, jobs, frame, cells = _rank(spark, config, stages)
        if config.classifier.name and result.evidence is not None and not kept:
            raise DataError(f"{result.evidence.why_none()}; there is nothing to fit the classifier on")
        model = _selection(result, kept)
        pipeline = None
        if config.classifier.name:
            with stages.stage("classifier"):
                pipeline = _fit_pipeline(spark, config, model, frame, stages)
        with stages.stage("write"), output.writing(spark) as place:
            command = ["spark-mlfs", *args.argv]
            manifest = _write_selection(place, config, result, kept, model, pipeline, stages, jobs, command, cells)
    _say_selection(result, kept, manifest, config)
    return OK


def _selection(result: Result, kept: int) -> MultiLabelSelectorModel:
    """The model that keeps the `kept` best features, or those that the rule keeps."""
    from ..ml.selectors import MultiLabelSelectorModel

    model = MultiLabelSelectorModel.of(result)
    model._set(numTopFeatures=max(1, kept), outputCol="selected")
    if result.evidence is not None:
        rule = result.evidence.rule
        rate = {"knockoffs": "fdr", "stability": "stabilityThreshold"}.get(rule.mode, rule.mode)
        model._set(selectionMode=rule.mode, combination=rule.combination, selectionSeed=rule.seed, **{rate: rule.level})
    return model


def _fit_pipeline(
    spark: SparkSession, config: RunConfig, model: MultiLabelSelectorModel, frame: DataFrame, stages: Stages
) -> Any:
    """The selection and a classifier fitted behind it, applicable to the user's own table."""
    from ..read.tables import FORMATS, open_table
    from ..scoring.fit import fit_pipeline

    data, source = config.data, None
    if data.format in (*FORMATS, "text"):
        kind = data.options.get("source", "table") if data.format == "text" else data.format
        source = open_table(spark, data.path, kind, data.options.get("reader_options"))
    chosen = config.classifier
    return fit_pipeline(frame, model, chosen.name or "", chosen.checked(), source, data.format or "", data.options, stages.report)


def _rank(spark: SparkSession, config: RunConfig, stages: Stages) -> tuple[Result, int, dict[str, int], DataFrame, list[Result]]:
    """Read, prepare, rank; the result, how many features are kept, the Spark jobs of each stage, the frame, and all cells of the
    grid. The result is the cell of the smallest cross-validated loss, or the first where nothing is predicted."""
    from .. import pipeline, read
    from ..blocks.pack import pack
    from ..schema import FEATURES, ID, LABELS

    requests = config.requests()
    with stages.stage("read"):
        frame = read.load(spark, config.data.path, config.data.format or "", **config.data.options)
    with stages.stage("prepare"):
        packed = pack(frame, FEATURES, LABELS, ID)
    try:
        kept = config.selection.count(packed.profile.d)
        rule = config.selection.rule(packed.profile.d, config.run.seed)
        requests = [request.keeping(kept, rule) for request in requests]
        with stages.stage("statistics and solve"):
            budgets = {"driver_bytes": config.run.driver_bytes, "worker_bytes": config.run.worker_bytes}
            cells = pipeline.rank(packed, requests, progress=stages.report, **budgets)
    finally:
        packed.release()
    result = min(cells, key=lambda cell: cell.scores.details.get("cv_loss", 0.0))
    if result.evidence is not None:
        kept = result.evidence.kept
    return result, kept, {"prepare": packed.jobs, "statistics": result.jobs - packed.jobs}, frame, cells


def _write_selection(
    place: Any,
    config: RunConfig,
    result: Result,
    kept: int,
    model: MultiLabelSelectorModel,
    pipeline: Any,
    stages: Stages,
    jobs: dict[str, int],
    command: list[str],
    cells: list[Result],
) -> dict[str, Any]:
    """All files of a run; the manifest last."""
    from ..output.folder import MANIFEST
    from ..output.manifest import as_json, selection_manifest
    from ..report.page import page

    started = time.perf_counter()
    for name, saved in (("model", model), ("pipeline", pipeline)):
        if saved is not None:
            writer = saved.write()
            (writer.overwrite() if place.mode == "overwrite" else writer).save(f"{place.path}/{name}")
    place.require_data("model/data")
    place.table("ranking", result.ranking)
    seconds = {**stages.seconds, "write": round(time.perf_counter() - started, 4)}
    manifest = selection_manifest(config, result, kept, place.spark.version, seconds, jobs, command)
    if config.method.screen:
        manifest["method"]["screen"] = config.method.screen
    if config.method.grid:
        manifest["grid"] = _write_grid(place, config, cells, result)
    if pipeline is not None:
        manifest["classifier"] = pipeline.stages[-1].summary
    if config.run.report:
        place.text("report.html", page(result, manifest, kept))
    place.text(MANIFEST, as_json(manifest))
    return manifest


def _write_grid(place: Any, config: RunConfig, cells: list[Result], best: Result) -> list[dict[str, Any]]:
    """grid.csv: a line a cell, its parameters, loss and iterations; and every cell's ranking, grid-0.csv and on."""
    import pandas as pd

    lines = []
    for number, cell in enumerate(cells):
        place.text(f"grid-{number}.csv", cell.ranking.to_csv(index=False, lineterminator="\n"))
        lines.append(
            {
                "cell": number,
                **{name: cell.request.parameters[name] for name in config.method.grid},
                "cv_loss": cell.scores.details.get("cv_loss"),
                "converged": cell.scores.converged,
                "seconds": round(cell.seconds["of it the method"], 4),
                "chosen": cell is best,
            }
        )
    place.text("grid.csv", pd.DataFrame(lines).to_csv(index=False, lineterminator="\n"))
    return lines


def _say_selection(result: Result, kept: int, manifest: dict[str, Any], config: RunConfig) -> None:
    from ..report.tables import feature_rows

    data, cost = manifest["data"], manifest["cost"]
    print(
        f"{result.request.method}: {data['rows']} rows x {data['features']} features x {data['labels']} labels; kept {kept}; "
        f"{sum(cost['seconds'].values()):.1f} s, {cost['spark_jobs']['all']} Spark jobs"
    )
    if result.evidence is not None and not kept:
        print(result.evidence.why_none())
    for row in feature_rows(result, min(kept, 10)):
        print(f"{row.rank:4d}  {row.score if row.gain is None else row.gain:<12.6g} {row.name}")
    if kept > 10:
        print(f"      and {kept - 10} more")
    files = "ranking.csv, ranking.parquet, model/, manifest.json" + (", report.html" if config.run.report else "")
    files += ", pipeline/" if config.classifier.name else ""
    print(f"written to {config.run.output}: {files}")


# ------------------------------------------------------------------------------------------------------------------ transform


def _transform(args: argparse.Namespace) -> int:
    from ..output.folder import MANIFEST, Output
    from ..output.manifest import as_json, now, versions
    from ..read import READERS
    from ..read.toml import reader_option

    for flag, value in (("--model", args.model), ("--output", args.output), ("--format", args.format)):
        if value is None:
            raise ParameterError(f"transform needs {flag}; see spark-mlfs transform --help")
    form = args.form or ("columns" if args.output_format in ("csv", "json") else "vector")
    if form == "vector" and args.output_format in ("csv", "json"):
        raise ParameterError(f"{args.output_format} holds no vectors: give --as columns, or --output-format parquet")
    data = _data_flags(args)
    path, format = data.get("path"), args.format
    options = {k: reader_option(format, k, v) for k, v in data.get("options", {}).items()}
    keep = None
    if args.num_features is not None:
        if not str(args.num_features).isdigit() or int(args.num_features) < 1:
            raise ParameterError(f"--num-features must be a whole number, at least 1, not {args.num_features!r}")
        keep = int(args.num_features)
    if format not in READERS:
        near = get_close_matches(format, READERS, n=1)
        raise ParameterError(
            f"--format {format!r} is not known; "
            + (f"did you mean {near[0]!r}? " if near else "")
            + f"formats are {', '.join(READERS)}"
        )
    output = Output(args.output, args.overwrite)
    output.check([*_inputs(path, format), args.model])
    stages = Stages(args.verbose)
    with _session(stages, args.debug) as spark:
        output.check(spark=spark)
        with stages.stage("model"):
            model, where = _load_model(args.model)
            if keep is not None:
                if keep > model.numFeatures:
                    raise ParameterError(
                        f"--num-features {keep} but the selection ranks {model.numFeatures} features; give at most that"
                    )
                model._set(selectionMode="numTopFeatures", numTopFeatures=keep)
        with stages.stage("read"):
            frame, labelled = _load_corpus(spark, path, format, options, model)
            reduced = _reduce(frame, model, labelled, form, args.output_format)
        with stages.stage("transform and write"), output.writing(spark) as place:
            writer = reduced.write.format(args.output_format)
            if args.output_format == "csv":
                writer = writer.option("header", "true")
            # the folder set aside exists already: appending to nothing is writing
            writer.mode("append" if place.folder is not None else place.mode).save(place.path)
            place.require_data()
            reader = spark.read.format(args.output_format)
            written = (reader.option("header", "true") if args.output_format == "csv" else reader).schema(reduced.schema)
            rows = (reader if args.output_format == "delta" else written).load(place.path).count()
            manifest = {
                "tool": "spark_mlfs",
                "job": "transform",
                "finished": now(),
                "command": ["spark-mlfs", *args.argv],
                "model": {"path": where, **{k: model.summary.get(k) for k in ("method", "parameters", "fingerprint")}},
                "data": {"path": path, "format": format, "options": options},
                "rows": rows,
                "columns": reduced.columns if len(reduced.columns) <= 10_000 else len(reduced.columns),
                "output_format": args.output_format,
                "form": form,
                "features": model.selectedFeatureNames,
                "seconds": stages.seconds,
                "versions": versions(spark.version),
            }
            place.text("_" + MANIFEST, as_json(manifest))
    print(
        f"{rows} rows x {len(model.selectedFeatures)} of {model.numFeatures} features written to {args.output} "
        f"({args.output_format}, {form})"
    )
    return OK


def _load_model(path: str) -> tuple[MultiLabelSelectorModel, str]:
    """The model at `path`, or at ``path/model``, and where it was."""
    from ..ml.selectors import MultiLabelSelectorModel

    for where in (path.rstrip("/"), path.rstrip("/") + "/model"):
        try:
            return MultiLabelSelectorModel.load(where), where
        except SparkMlfsError:
            raise
        except Exception as error:
            if "PATH_NOT_FOUND" not in str(error) and "does not exist" not in str(error):
                raise
    raise ParameterError(f"no saved selection at {path}; give the model/ folder that spark-mlfs select wrote")


def _load_corpus(
    spark: SparkSession, path: str | list[str] | None, format: str, options: dict[str, Any], model: MultiLabelSelectorModel
) -> tuple[DataFrame, bool]:
    """The canonical frame of a corpus, and whether it has labels: a table may come without."""
    from pyspark.sql import functions as F

    from .. import read
    from ..read.tables import FORMATS, open_table

    if format == "libsvm" and not {"num_features", "feature_names"} & set(options):
        options["num_features"] = model.numFeatures  # a small corpus need not reach the last feature
    further = dict(options)
    content = "features"
    if format == "text":
        content = "text"
        if "vocabulary" not in further:  # the corpus has words of its own: count the ones the selection was made among
            further["vocabulary"] = list(model.ranking.sort_values("index")["name"])
    elif format not in FORMATS:
        content = ""
    if content not in options or "labels" in options or path is None:
        return read.load(spark, path, format, **further), True
    source = further.pop("source", "table") if format == "text" else format
    table = open_table(spark, path, source, further.pop("reader_options", None))
    nothing = "_" * (1 + max(map(len, table.columns), default=0))
    table = table.withColumn(nothing, F.array().cast("array<string>"))
    # a pattern must not catch the column that stands in for the labels: the reader leaves label columns out
    return read.load(spark, table, format if format == "text" else "table", labels=nothing, **further), False


def _reduce(frame: DataFrame, model: MultiLabelSelectorModel, labelled: bool, form: str, format: str) -> DataFrame:
    """id, the selected features and the labels of the canonical frame, as vectors or as a column each."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql import functions as F

    from ..schema import FEATURES, ID, LABELS, attribute_names, with_names

    model.setFeaturesCol(FEATURES).setOutputCol("_selected")
    label_names = attribute_names(frame, LABELS) if labelled else None
    hot = labelled and isinstance(frame.schema[LABELS].dataType, VectorUDT)
    kept = [str(model.ranking.set_index("index")["name"][i]) for i in sorted(model.selectedFeatures)]
    cut = model.transform(frame)
    if form == "vector":
        columns = [F.col(ID), F.col("_selected").alias(FEATURES)] + ([F.col(LABELS)] if labelled else [])
        out = cut.select(*columns)
        if model.summary.get("named"):
            out = with_names(out, FEATURES, kept)
        return with_names(out, LABELS, label_names) if label_names else out
    names = [ID, *kept]
    arrays = cut.withColumn("_x", vector_to_array("_selected"))
    columns = [F.col(ID)] + [F.col("_x")[i].alias(name) for i, name in enumerate(kept)]
    if hot:
        if label_names is None:
            raise ParameterError("the labels have no names to make columns of; give --as vector")
        arrays = arrays.withColumn("_y", vector_to_array(LABELS))
        known = [F.when(~F.isnan(F.col("_y")[j]), F.col("_y")[j].cast("int")) for j in range(len(label_names))]
        columns += [value.alias(name) for value, name in zip(known, label_names, strict=True)]
        names += label_names
    elif labelled:
        tags = F.col(LABELS)
        columns.append((F.concat_ws(";", tags.cast("array<string>")) if format == "csv" else tags).alias(LABELS))
        names.append(LABELS)
    seen: dict[str, str] = {}
    for name in names:  # Spark's column names differ by more than case
        if name.lower() in seen:
            raise DataError(f"columns {seen[name.lower()]!r} and {name!r} would have one name for Spark; give --as vector")
        seen[name.lower()] = name
    return arrays.select(*columns)


# ------------------------------------------------------------------------------------------------------------------ sample


def _sample(args: argparse.Namespace) -> int:
    from ..output.folder import MANIFEST, Output
    from ..output.manifest import as_json, now
    from ..read.made import MADE

    if args.kind not in MADE or args.output is None:
        raise ParameterError(f"sample needs a kind, one of {', '.join(MADE)}, and --output; see spark-mlfs sample --help")
    for flag, text in (("--rows", args.rows), ("--seed", args.seed)):
        if not text.isdigit() or (flag == "--rows" and int(text) < 1):
            raise ParameterError(f"{flag} must be a whole number, not {text!r}")
    output = Output(args.output, args.overwrite)
    output.check()
    stages = Stages(args.verbose)
    with _session(stages, args.debug) as spark:
        output.check(spark=spark)
        frame = MADE[args.kind](spark, int(args.rows), int(args.seed))
        frame = frame.drop("tags") if args.without_tags else frame
        with stages.stage("make and write"), output.writing(spark) as place:
            frame.write.mode("append" if place.folder is not None else place.mode).parquet(place.path)
            place.require_data()
            manifest = {
                "tool": "spark_mlfs",
                "job": "sample",
                "finished": now(),
                "kind": args.kind,
                "rows": int(args.rows),
                "seed": int(args.seed),
                "columns": frame.columns,
            }
            place.text("_" + MANIFEST, as_json(manifest))
    print(f"{args.rows} rows of {args.kind} ({', '.join(frame.columns)}) written to {args.output} (parquet)")
    return OK


# ---------------------------------------------------------------------------------------------------------- methods, java-home


def _methods(args: argparse.Namespace) -> int:
    from ..methods import METHODS

    chosen = [METHODS.create(args.name)] if args.name else [made() for made in METHODS.values()]
    for found in chosen:
        print(f"{found.name:<12} {found.title}  [{found.source}]")
        for parameter in found.parameters:
            print(f"{'':<14}{parameter.name} = {parameter.default}: {parameter.doc}; {parameter.constraint}")
    if args.name:
        print("\n" + (sys.modules[type(chosen[0]).__module__].__doc__ or "").strip())
    return OK


def _java_home(args: argparse.Namespace) -> int:
    from ..session.java import java_home

    print(java_home())
    return OK


if __name__ == "__main__":
    sys.exit(main())
