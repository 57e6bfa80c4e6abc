"""``spark-mlfs evaluate``: how good one selection is, by classifiers on rows it has not seen."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..evaluate.plan import FILES, comparison
from ..formats import no_format
from ..methods import DEFAULT_METHOD
from ..sections import read_toml
from .compare import run_arguments, run_plan, run_section
from .config import laid_over
from .flags import Flags, data_flags, method_flags, pairs, set_values, single

EPILOG = """\
examples:
  spark-mlfs evaluate --format numbers --method jmi --sizes 5% 10% 20% --output runs/jmi-quality
  spark-mlfs evaluate --data scene-train.arff --test-data scene-test.arff --format arff \\
      --option labels=scene.xml --method msfs --grid alpha=0.1,1,10 --classifier mlknn \\
      --classifier br-svm --output runs/msfs-quality
  spark-mlfs evaluate --config conf/runs/evaluate.toml --output runs/numbers-quality
  spark-mlfs evaluate --model runs/scene --data scene-test.arff --format arff \\
      --option labels=scene.xml --output runs/check

Ranks on the training rows of each split, fits the classifiers on the best features, measures on the
test rows. With --model the ranking is the saved one. `spark-submit jobs/evaluate.py` takes the same
arguments.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the data, what ranks them, how the rows are split, and the classifiers."""
    config = (
        "TOML file with [data], [method], [classifier], [protocol] and [run], keys as for "
        "compare; flags override it"
    )
    parser.add_argument("--config", metavar="FILE", help=config)
    Flags.data(parser, groups=True)
    flags = Flags(parser, "ranking")
    flags.method("values that inner folds of the training rows choose from")
    flags.value("--model", "DIR", "use the ranking of a saved selection instead")
    flags = Flags(parser, "protocol")
    flags.value("--protocol", "P", "5-fold (default), 10x5-fold, 30x50/50, 'stratified 5-fold'")
    flags.value(
        "--test-data", "PATH", "test rows in files of their own, instead of --protocol", nargs="+"
    )
    flags.value(
        "--sizes",
        "K",
        "numbers of features, or shares such as 10%% (default 10%% to 100%%)",
        nargs="+",
    )
    flags.value("--metrics", "KIND", "standard (default), msfs-2022, at-k", nargs="+")
    flags.value(
        "--noise", "SHARE", "Gaussian noise on the features, a share of their standard deviation"
    )
    flags.value("--seed", "S", "of the folds and of methods that draw (default 0)")
    flags.switch("--no-all-features", "leave out the line of all features")
    flags = Flags(parser, "classifiers")
    flags.repeated("--classifier", "NAME", "mlknn (default), brknn, br-svm, cc")
    flags.repeated("--classifier-set", "NAME=VALUE", "a parameter of the one classifier")
    run_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate one ranking; return the exit code."""
    below = _read_sections(args.config) if args.config else {}
    _check(args, below)
    data = laid_over("data", below.get("data", {}), data_flags(args))
    source = data.get("path") or data["format"]
    first = source if isinstance(source, str) else source[0]
    data.setdefault("name", Path(first).name.split(".")[0])
    if args.test_data:
        data["test_path"] = single(args.test_data)
    method = laid_over("method", below.get("method", {}), method_flags(args))
    method = {"name": DEFAULT_METHOD, **method}
    classifiers: list[dict[str, Any]] = (
        [{"name": c} for c in args.classifier] or below.get("classifier") or [{"name": "mlknn"}]
    )
    if args.classifier_set:
        parameters = pairs(args.classifier_set, "--classifier-set")
        classifiers[0] = laid_over("classifier", classifiers[0], {"parameters": parameters})
    protocol = {**below.get("protocol", {}), **_protocol_flags(args)}
    if args.protocol:
        data.pop("test_path", None)
    elif data.get("test_path"):
        protocol["folds"] = FILES
    layer = {
        "title": f"{'a saved ranking' if args.model else method['name']} on {data['name']}",
        "data": [data],
        "method": [] if args.model else [method],
        "classifier": classifiers,
        "protocol": protocol,
        "run": {**below.get("run", {}), **run_section(args)},
    }
    return run_plan(args, comparison(layer, args.config), args.config, args.model)


def _protocol_flags(args: argparse.Namespace) -> dict[str, Any]:
    all_features = False if args.no_all_features else None
    folds = FILES if args.test_data else args.protocol or None
    return set_values(
        all_features=all_features,
        sizes=args.sizes,
        metrics=args.metrics,
        noise=args.noise or None,
        seed=args.seed or None,
        folds=folds,
    )


def _read_sections(file: str) -> dict[str, Any]:
    """Return the sections of a configuration: those of a comparison, each there once.

    Only of [[classifier]] there may be several."""
    below = read_toml(file)
    known = ("data", "method", "classifier", "protocol", "run")
    for name in ("data", "method", "protocol", "run"):
        if not isinstance(below.get(name, {}), dict):
            raise ParameterError(
                f"{file}: give one [{name}], a section; spark-mlfs compare takes several"
            )
    unknown = next((name for name in below if name not in known), None)
    if unknown is not None:
        hint = ""
        if unknown == "selection":
            hint = "; spark-mlfs evaluate takes --sizes, or [protocol] sizes"
        raise ParameterError(
            f"{file}: there is no section [{unknown}] here{hint}; the sections are "
            f"{', '.join(known)}"
        )
    classifiers = below.get("classifier")
    return {**below, "classifier": [classifiers] if isinstance(classifiers, dict) else classifiers}


def _check(args: argparse.Namespace, below: dict[str, Any]) -> None:
    if args.format is None and "format" not in below.get("data", {}):
        raise no_format("--format")
    if args.model and (args.method or args.set or args.grid or args.screen):
        raise ParameterError(
            "give --model, or --method with its --set, --grid and --screen, not both"
        )
    if args.test_data and args.protocol:
        raise ParameterError("give --test-data or --protocol, not both")
    if args.classifier_set and len(args.classifier) > 1:
        several = "for several, write a file for spark-mlfs compare"
        raise ParameterError(f"--classifier-set needs one --classifier to belong to; {several}")
