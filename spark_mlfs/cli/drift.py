"""``spark-mlfs drift``: what changed between earlier and later rows. Writes drift.csv (a row a
feature), labels.csv (pairs whose relation changed), prevalence.csv (how common labels are),
stability.csv, report.html and manifest.json."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..engine.local import SizingEngine
from ..errors import ParameterError
from ..frames.errors import reading
from ..frames.frame import LocalSession, check_memory
from ..frames.schema import CATEGORIES, FEATURES, attribute_names, categories_of
from ..markup import size
from ..methods.counting import BINNING, NUM_BINS
from ..output.folder import MANIFEST, Output, csv_text
from ..pipeline import Request, check_rows
from ..read import load
from ..report.drift_page import DriftOutcome
from ..select.rules import DRIFT, DRIFT_METHOD
from ..states import files as states
from ..states.changes import AGAINST, Drift, compare_windows, settings_by_codes
from ..states.collect import refuse_mean
from ..states.windows import Window
from ..statistics.base import Budgets
from ..statistics.contingency import TwoWay
from ..statistics.targets import Labels
from .config import DataChoice, DriftConfig, RunSettings, configure, drift_settings
from .dry_run import SAMPLE, scaled
from .flags import Flags, data_flags, flag_values, pairs, set_values, single
from .terminal import print_forecast, print_result, some_of
from .work import Work, packed

EPILOG = """\
example (data this library makes itself, nothing to download):
  spark-mlfs drift --format numbers --after-option seed=1 --output runs/drift

more:
  spark-mlfs drift --before 2026-10.parquet --after 2026-11.parquet --format parquet --labels-col tags --output runs/november
  spark-mlfs drift --before old.csv --after new.csv --format csv --labels-col spam --num-bins 10 --binning quantile \\
      --output runs/spam

Of each feature: whether its distribution changed, and whether what it says about a label did, however common both became.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is read, how it is compared, where the results go."""
    said = "TOML file whose [data], [drift], [method] and [run] say the same as the flags below"
    parser.add_argument("--config", metavar="FILE", help=said)
    Flags.data(parser, weights=True, windows=True)
    comparison_flags(parser, "comparison")
    Flags.output(parser, dry_run="rows, features, tests, bytes").engine(budgets=True)


def comparison_flags(parser: argparse.ArgumentParser, title: str) -> Flags:
    """The flags of a comparison of windows, from rows and from states."""
    flags = Flags(parser, title)
    for p in DRIFT:
        flags.value(
            "--" + p.name.replace("_", "-"),
            p.name.upper(),
            f"{p.doc} ({p.constraint}; default {p.default})",
        )
    flags.value("--method", None, f"method whose rankings are compared (default {DRIFT_METHOD})")
    flags.repeated("--set", "NAME=VALUE", "a parameter of the method")
    return flags


def compared(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags of a comparison say of it."""
    return {p.name: getattr(args, p.name) for p in DRIFT}


def run(args: argparse.Namespace) -> int:
    """Compares rows; returns the exit code."""
    windows = set_values(before=single(args.before), after=single(args.after), **compared(args))
    options, own = pairs(args.after_option, "--after-option"), pairs(args.set, "--set")
    config: DriftConfig = configure(
        args.config,
        {
            "data": data_flags(args),
            "drift": {**windows, **({"after_options": options} if options else {})},
            "method": set_values(name=args.method, parameters=own or None),
            "run": flag_values(args, RunSettings),
        },
        DriftConfig,
    )
    how, sides, grades = config.comparison(), config.sides(), config.data.grades()
    request = Request.of(how["method"], how["method_params"])
    refuse_mean(config.data.options.get("missing"))
    check_rows([request], config.data.options.get("weight") is not None, False)
    if grades is not None and not grades.cuts:
        raise ParameterError("drift counts labels of 0 and 1, not grades: give --label-cuts")
    sources = [(side.path, side.format or "", side.options) for side in sides]
    work = Work(args, Output(config.run.output or "", config.run.overwrite), None, sources)
    work.check(options=True)
    return work.run_on_engine_for(
        _forecast if args.dry_run else _drift, config, sides, how, settings=config.run
    )


def _drift(
    work: Work, config: DriftConfig, sides: list[DataChoice], how: dict[str, Any], spark: Any
) -> int:
    stages, windows = work.stages, []
    with stages.stage("read"):
        frames = _frames(spark, sides)
    with ExitStack() as held:
        with stages.stage("prepare"):
            for name, frame in zip(("before", "after"), frames, strict=True):
                check_memory(frame, spark)
                budgets = Budgets(driver=config.run.driver_bytes, worker=config.run.worker_bytes)
                windows.append(
                    Window(
                        name,
                        held.enter_context(packed(frame, spark, config.data.grades())),
                        budgets,
                    )
                )
        with stages.stage("compare"):
            found = compare_windows(windows, progress=stages.report, **how)
    return written(work, found, spark, {"data": [side.as_dict() for side in sides]})


def _forecast(
    work: Work, config: DriftConfig, sides: list[DataChoice], how: dict[str, Any], spark: Any
) -> int:
    """Says what would be compared, from a count of the rows and a sample of them; returns the exit
    code."""
    with work.stages.stage("read"):
        frames = _frames(spark, sides)
        with reading():
            rows = [frame.count() for frame in frames]
    bins = {p.name: how.get(p.name, p.default) for p in (NUM_BINS, BINNING)}
    lines, found = {}, []
    for name, frame, count in zip(("before", "after"), frames, rows, strict=True):
        with packed(frame.limit(SAMPLE), spark, config.data.grades()) as looked:
            profile = scaled(looked.profile, count)
        coding = SizingEngine(profile).coding(**bins)
        needed = TwoWay(coding, Labels(profile.q)).state_bytes(profile)
        found.append(
            {"rows": count, "features": profile.d, "labels": profile.q, "counts_bytes": needed}
        )
        lines[name] = (
            f"{count} rows x {profile.d} features x {profile.q} labels; counts of at most "
            f"{size(needed)}"
        )
    tests = max(f["features"] for f in found) * max(f["labels"] for f in found)
    lines["tests"] = f"at most {tests}, of a feature and a label each"
    lines |= {
        "method": f"rankings by {how['method']}",
        "output": f"{config.run.output}: nothing was written",
    }
    facts = {"windows": found, "tests": tests, "method": how["method"], "output": config.run.output}
    return print_forecast(work.args, lines, facts)


def _frames(spark: Any, sides: list[DataChoice]) -> list[Any]:
    """The rows of both times; of texts both count the words of either."""

    def read(side: DataChoice, **more: Any) -> Any:
        return load(spark, side.path, side.format or "", **{**side.options, **more})

    frames = [read(sides[0])]
    facts = categories_of(frames[0], FEATURES)  # the values of later rows may be others
    frames.append(read(sides[1], **({CATEGORIES: facts} if facts else {})))
    if sides[0].format != "text" or "vocabulary" in sides[0].options:
        return frames
    words = dict.fromkeys(
        word for frame in frames for word in attribute_names(frame, FEATURES) or ()
    )
    return [read(side, vocabulary=list(words)) for side in sides]


def compare_states(args: argparse.Namespace) -> int:
    """Compares saved states; returns the exit code."""
    how = drift_settings(args.method, pairs(args.set, "--set"), compared(args))
    against = AGAINST.accept(args.against or AGAINST.default)
    paths, output = states.folders(args.states), Output(args.output, args.overwrite)
    output.check(paths)
    work = Work(args, output)
    last = [Path(path).name for path in paths]
    names = paths if len(set(last)) < len(last) else last
    with work.stages.stage("read"):
        requests = settings_by_codes(
            states.head(paths[0]).sums, how["method"], how["method_params"], how
        )[1:]
        windows = [
            Window(name, states.load(path, requests=requests).dataset())
            for name, path in zip(names, paths, strict=True)
        ]
    with work.stages.stage("compare"):
        found = compare_windows(windows, against=against, progress=work.stages.report, **how)
    return written(work, found, LocalSession(), {"states": paths})


def written(work: Work, found: Drift, spark: Any, about: dict[str, Any]) -> int:
    """Writes what changed, and says it; returns the exit code."""
    output = work.output
    assert output is not None
    with work.stages.stage("write"), output.writing(spark) as target:
        manifest = work.manifest(spark, {**about, **found.facts})
        for name, table in _tables(found):
            target.text(f"{name}.csv", csv_text(table))
        target.text("report.html", DriftOutcome(**vars(found)).page(manifest))
        target.json(MANIFEST, manifest)
    changed = [
        row._asdict()
        for row in found.features[found.features["changed"]].head(50).itertuples(index=False)
    ]
    return print_result(
        work.args,
        _in_words(found, output.path),
        {**manifest, "output": output.path, "changed": changed},
    )


def _tables(found: Drift) -> Sequence[tuple[str, Any]]:
    tables = [
        ("drift", found.features),
        ("labels", found.pairs),
        ("prevalence", found.labels),
        ("stability", found.stability),
    ]
    return [(name, table) for name, table in tables if name != "stability" or len(table)]


def _in_words(found: Drift, output: str) -> str:
    lines, several = [], len(found.changes) > 1
    for change in found.changes:
        facts, table = change.facts, change.features
        names = table[table["changed"]].sort_values("p_value")["feature"].astype(str).tolist()
        told = (
            f"{facts['changed']} of {facts['features_tested']} features changed in what they "
            "say about a label"
        )
        which, few = (
            f": {some_of(names)}" if names else "",
            f"; {facts['features_with_too_few_rows']} have too few rows to tell",
        )
        shifted = f"{facts['shifted']} changed in their own distribution"
        head = f"{change.before} → {change.after}, {facts['rows'][0]} and {facts['rows'][1]} rows:"
        lines += (
            [f"{head} {told}{which}; {shifted}"]
            if several
            else [head, f"  {told}{which}{few}", f"  {shifted}"]
        )
    kept = [] if several else found.stability.itertuples(index=False)
    lines += [
        f"  of the {k} best by {found.method} {100 * share:.0f} % stay" for _, k, share, _ in kept
    ]
    files = ", ".join(f"{name}.csv" for name, _ in _tables(found))
    return "\n".join([*lines, f"written to {output}: {files}, report.html, manifest.json"])
