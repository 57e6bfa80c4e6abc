"""``spark-mlfs evaluate`` and ``spark-mlfs compare``: how good selections are, one at a time or all against each other."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, ParameterError

if TYPE_CHECKING:
    from ..evaluate.compare import Outcome
    from ..evaluate.plan import Comparison
    from ..evaluate.trials import Candidate


COMPARE = """\
example:
  spark-mlfs compare --config conf/runs/compare.toml

The file lists data sets, methods, classifiers and sizes; conf/runs/compare.toml explains each key, conf/runs/paper-*.toml are the
experiments of papers. A run that was cut short goes on where it stopped when it is given again.
`spark-submit jobs/compare.py` takes the same arguments.
"""
EVALUATE = """\
examples:
  spark-mlfs evaluate --format numbers --method jmi --sizes 5% 10% 20% --output runs/jmi-quality
  spark-mlfs evaluate --data scene-train.arff --test-data scene-test.arff --format arff --option labels=scene.xml \\
      --method msfs --grid alpha=0.1,1,10 --classifier mlknn --classifier br-svm --output runs/msfs-quality
  spark-mlfs evaluate --model runs/scene --data scene-test.arff --format arff --option labels=scene.xml --output runs/check

Ranks on the training rows of each split, fits the classifiers on the best features, measures on the test rows. With --model the
ranking is the saved one. `spark-submit jobs/evaluate.py` takes the same arguments.
"""


def add_compare(parser: argparse.ArgumentParser, output_arguments: Any) -> None:
    """The arguments of `compare`."""
    parser.add_argument("--config", metavar="FILE", help="TOML file with the comparison (conf/runs/compare.toml explains it)")
    _run_arguments(output_arguments(parser))


def add_evaluate(parser: argparse.ArgumentParser, data_arguments: Any, output_arguments: Any) -> None:
    """The arguments of `evaluate`."""
    data_arguments(parser)
    group = parser.add_argument_group("ranking")
    group.add_argument("--method", help="name of the method (default jmi)")
    group.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the method; repeat for more"
    )
    group.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=V1,V2",
        help="values that inner folds of the training rows choose from; repeat for more",
    )
    group.add_argument("--screen", metavar="METHOD:K", help="run this filter first, such as chi2:10000")
    group.add_argument("--model", metavar="DIR", help="use the ranking of a saved selection instead")
    group = parser.add_argument_group("protocol")
    group.add_argument("--protocol", metavar="P", help="5-fold (default), 10x5-fold, 30x50/50, 'stratified 5-fold'")
    group.add_argument("--test-data", nargs="+", metavar="PATH", help="test rows in files of their own, instead of --protocol")
    group.add_argument(
        "--sizes", nargs="+", metavar="K", help="numbers of features, or shares such as 10%% (default 10%% to 100%%)"
    )
    group.add_argument("--metrics", nargs="+", metavar="KIND", help="standard (default), msfs-2022")
    group.add_argument("--noise", metavar="SHARE", help="Gaussian noise on the features, a share of their standard deviation")
    group.add_argument("--seed", metavar="S", help="of the folds and of methods that draw (default 0)")
    group.add_argument("--no-all-features", action="store_true", help="leave out the line of all features")
    group = parser.add_argument_group("classifiers")
    group.add_argument(
        "--classifier", action="append", default=[], metavar="NAME", help="mlknn (default), brknn, br-svm, cc; repeat for more"
    )
    group.add_argument(
        "--classifier-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the one classifier; repeat for more",
    )
    _run_arguments(output_arguments(parser))


def _run_arguments(group: Any) -> None:
    group.add_argument("--parallelism", metavar="N", help="trials at a time (default: the cores of this machine, at most 8)")
    group.add_argument("--driver-bytes", metavar="BYTES", help="largest statistic the driver takes (default 1 GiB)")


def _run_section(args: argparse.Namespace) -> dict[str, Any]:
    given = {"output": args.output, "overwrite": args.overwrite or None}
    given |= {"parallelism": args.parallelism, "driver_bytes": args.driver_bytes}
    return {k: v for k, v in given.items() if v is not None}


def compare(args: argparse.Namespace) -> int:
    """Runs a comparison; returns the exit code."""
    from ..evaluate.plan import read_comparison

    if args.config is None:
        raise ParameterError("compare needs --config FILE; conf/runs/compare.toml is one to start from")
    return _run(args, read_comparison(args.config, _run_section(args)), args.config)


def evaluate(args: argparse.Namespace) -> int:
    """Judges one ranking; returns the exit code."""
    from ..evaluate.plan import FILES, comparison
    from .commands import _data_flags
    from .config import pairs

    if args.format is None:
        raise ParameterError("which format do the data have? give --format; see spark-mlfs evaluate --help")
    if args.model and (args.method or args.set or args.grid or args.screen):
        raise ParameterError("give --model, or --method with its --set, --grid and --screen, not both")
    if args.test_data and args.protocol:
        raise ParameterError("give --test-data or --protocol, not both")
    if args.classifier_set and len(args.classifier) > 1:
        raise ParameterError(
            "--classifier-set needs one --classifier to belong to; for several, write a file for spark-mlfs compare"
        )
    name = args.method or "jmi"
    source = args.data[0] if args.data else args.format
    data: dict[str, Any] = {"name": Path(source).name.split(".")[0], **_data_flags(args)}
    if args.test_data:
        data["test_path"] = args.test_data[0] if len(args.test_data) == 1 else args.test_data
    protocol: dict[str, Any] = {"all_features": not args.no_all_features}
    protocol |= {
        k: v for k, v in (("sizes", args.sizes), ("metrics", args.metrics), ("noise", args.noise), ("seed", args.seed)) if v
    }
    protocol |= {"folds": FILES} if args.test_data else {"folds": args.protocol} if args.protocol else {}
    method = {
        "name": name,
        "parameters": pairs(args.set, "--set"),
        "grid": {k: str(v).split(",") for k, v in pairs(args.grid, "--grid").items()},
        "screen": args.screen,
    }
    classifiers = [{"name": c} for c in args.classifier or ["mlknn"]]
    if args.classifier_set:
        classifiers[0]["parameters"] = pairs(args.classifier_set, "--classifier-set")
    layer = {
        "title": f"{'a saved ranking' if args.model else name} on {data['name']}",
        "data": [data],
        "method": [] if args.model else [method],
        "classifier": classifiers,
        "protocol": protocol,
        "run": _run_section(args),
    }
    return _run(args, comparison(layer), None, args.model)


def _run(args: argparse.Namespace, plan: Comparison, file: str | None, model: str | None = None) -> int:
    from ..evaluate.compare import run, settings_of
    from ..output.folder import MANIFEST, Output, Place
    from ..output.journal import Journal, publish
    from ..output.manifest import as_json, now, versions
    from ..report.comparison_page import comparison_page
    from .commands import Stages, _inputs, _load_model, _session

    if plan.run.output is None:
        raise ParameterError(
            "where should the results go? give " + (f"[run] output in {file}, or " if file else "") + "--output DIR"
        )
    output = Output(plan.run.output, plan.run.overwrite)
    inputs = [p for data in plan.data for given in (data.path, data.test_path) for p in _inputs(given, data.format)]
    output.check([*inputs, *([model] if model else [])])
    stages = Stages(args.verbose)
    candidates = plan.candidates()
    with _session(stages, args.debug) as spark:
        output.check(spark=spark)
        seen = None
        if model:
            found, _ = _load_model(model)
            seen = found.summary.get("fingerprint")
            candidates = [_given(found), *candidates]
        journal = Journal.beside(spark, plan.run.output, "comparing", settings_of(plan, candidates))
        resumed = journal.open()
        if not resumed:
            journal.start()
        before = len(journal.parts)
        with stages.stage("trials"):
            outcome = run(spark, plan, journal, candidates, stages.report)
        if model and (outcome.data["features"] != found.numFeatures).any():
            raise DataError(
                f"the saved ranking has {found.numFeatures} features, the data {int(outcome.data['features'].iloc[0])}"
            )
        if seen is not None and seen in set(outcome.data["fingerprint"]):
            plan.notes += "\n\nThe saved ranking was made from these very rows, test rows included: what is measured is too good."
        with stages.stage("tables and page"):
            place = Place(spark, journal.place, journal.folder, "overwrite")
            for name in ("cells", "trials", "choices", "rankings", "labels", "data", "failed"):
                table = getattr(outcome, name)
                if len(table):
                    place.table(name, table)
            manifest = {
                "tool": "spark_mlfs",
                "job": args.command,
                "finished": now(),
                "command": ["spark-mlfs", *args.argv],
                "plan": plan.model_dump(mode="json"),
                "trials": len(journal.parts),
                "trials_of_an_earlier_run": before,
                "failed": len(outcome.failed),
                "seconds": stages.seconds,
                "versions": versions(spark.version),
            }
            place.text("comparison.html", comparison_page(outcome, plan, manifest))
            place.text(MANIFEST, as_json(manifest))
            journal.clear()
            publish(plan.run.output, journal.folder, False)
    _say(outcome, plan, before)
    return 0


def _given(model: Any) -> Candidate:
    from ..evaluate.trials import Candidate

    ranking = model.ranking.sort_values("rank")
    return Candidate("the saved ranking", order=tuple(int(i) for i in ranking["index"]))


def _say(outcome: Outcome, plan: Comparison, before: int) -> None:
    """The main table on standard output."""
    from ..evaluate.summary import main_metric, summary

    kind, metric = main_metric(plan)
    judge = plan.design().judges[0].title
    found = summary(outcome.cells, kind, metric, judge, outcome.methods)
    print(f"{metric} by {judge}, mean over splits ({'chosen size' if plan.protocol.choose.size else 'mean over sizes'}):")
    text = found.mean.map(lambda v: "–" if v != v else f"{v:.4f}")
    print(text.to_string())
    if len(outcome.failed):
        for line in outcome.failed.drop_duplicates(["data", "method"]).itertuples():
            print(f"not run: {line.method} on {line.data}: {line.error}")
    again = f", {before} of them in an earlier run" if before else ""
    print(
        f"{len(outcome.trials)} trials{again}; written to {plan.run.output}: comparison.html, cells.csv, manifest.json and more"
    )
