"""``spark-mlfs drift``: what changed between earlier and later rows. Writes drift.csv (a row a
feature), labels.csv (pairs whose relation changed), prevalence.csv (how common labels are),
stability.csv, report.html and manifest.json."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..engine.local import SizingEngine
from ..errors import ParameterError
from ..formats import counts_words
from ..frames.errors import reading
from ..frames.frame import LocalSession
from ..frames.memory import check_memory
from ..frames.schema import CATEGORIES, FEATURES, attribute_names, categories_of
from ..markup import size
from ..methods.counting import BINNING, NUM_BINS
from ..output.folder import MANIFEST, Output, csv_text
from ..pipeline import Request, check_rows
from ..read import load
from ..report.drift_page import DriftOutcome
from ..select.rules import DRIFT, DRIFT_METHOD
from ..states import files as states
from ..states.changes import AGAINST, Change, Drift, compare_windows, settings_by_codes
from ..states.collect import refuse_mean
from ..states.windows import Window
from ..statistics.base import Budgets
from ..statistics.contingency import TwoWay
from ..statistics.targets import Labels
from .conditions import Condition, exit_code, texts, unmet
from .config import DataChoice, DriftConfig, RunSettings, configure, drift_settings
from .flags import Flags, data_flags, flag_values, pairs, set_values, single
from .reckoning import SAMPLE, scaled
from .terminal import print_forecast, print_result, some_of
from .work import Work, packed

EPILOG = """\
example (data this library makes itself, nothing to download):
  spark-mlfs drift --format numbers --after-option seed=1 --output runs/drift

more:
  spark-mlfs drift --before 2026-10.parquet --after 2026-11.parquet --format parquet \\
      --labels-col tags --output runs/november
  spark-mlfs drift --before old.csv --after new.csv --format csv --labels-col spam --num-bins 10 \\
      --binning quantile --output runs/spam

Of each feature: whether its distribution changed, and whether what it says about a label did,
however common both became.
"""


EXAMPLES = "'changed<=2' or 'psi<=0.25'"


def _largest(values: Any) -> float:
    known = values.dropna()
    return float(known.max()) if len(known) else 0.0


# numbers of a later window that --require knows
ALARMS: dict[str, Callable[[Change], float]] = {
    "changed": lambda change: change.facts["changed"],  # features, in what they say about a label
    "shifted": lambda change: change.facts["shifted"],  # features, in their own distribution
    "psi": lambda change: _largest(change.features["psi"]),
    # the largest change of a label's share of rows
    "prevalence": lambda change: _largest(
        (change.labels["share_after"] - change.labels["share_before"]).abs()
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is read, how it is compared, where the results go."""
    file = "TOML file whose [data], [drift], [method] and [run] say the same as the flags below"
    parser.add_argument("--config", metavar="FILE", help=file)
    Flags.data(parser, weights=True, windows=True)
    comparison_flags(parser, "comparison")
    Flags.output(parser, dry_run="rows, features, tests, bytes").engine(budgets=True)


def comparison_flags(parser: argparse.ArgumentParser, title: str) -> Flags:
    """Add the flags of a comparison of windows, from rows and from states."""
    flags = Flags(parser, title)
    for p in DRIFT:
        flags.value(
            "--" + p.name.replace("_", "-"),
            p.name.upper(),
            f"{p.doc} ({p.constraint}; default {p.default})",
        )
    flags.value("--method", None, f"method whose rankings are compared (default {DRIFT_METHOD})")
    flags.repeated("--set", "NAME=VALUE", "a parameter of the method")
    required = f"what must hold of every later window, such as {EXAMPLES}, else the exit code is 3"
    flags.repeated("--require", "NUMBER<=X", f"{required}; numbers: {', '.join(ALARMS)}")
    return flags


def conditions_of(args: argparse.Namespace) -> list[Condition]:
    """Return the conditions of ``--require``."""
    return [Condition.parse(text, [*ALARMS], EXAMPLES) for text in args.require]


def comparison_values(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a comparison as the flags give them."""
    return {p.name: getattr(args, p.name) for p in DRIFT}


def run(args: argparse.Namespace) -> int:
    """Compare rows; return the exit code."""
    windows = set_values(
        before=single(args.before), after=single(args.after), **comparison_values(args)
    )
    after_options = pairs(args.after_option, "--after-option")
    if after_options:
        windows["after_options"] = after_options
    parameters = pairs(args.set, "--set") or None
    flags = {
        "data": data_flags(args),
        "drift": windows,
        "method": set_values(name=args.method, parameters=parameters),
        "run": flag_values(args, RunSettings),
    }
    config: DriftConfig = configure(args.config, flags, DriftConfig)
    comparison = config.comparison()
    sides = config.sides()
    grades = config.data.grades()
    request = Request.of(comparison["method"], comparison["method_params"])
    refuse_mean(config.data.options.get("missing"))
    check_rows([request], config.data.options.get("weight") is not None, False)
    if grades is not None and not grades.cuts:
        raise ParameterError("drift counts labels of 0 and 1, not grades: give --label-cuts")
    sources = [(side.path, side.format or "", side.options) for side in sides]
    work = Work(args, Output(config.run.output or "", config.run.overwrite), None, sources)
    work.check(options=True)
    conditions_of(args)
    command = _forecast if args.dry_run else _drift
    return work.run_on_engine_for(
        command,
        config,
        sides,
        comparison,
        settings=config.run,
    )


def _drift(
    work: Work,
    config: DriftConfig,
    sides: list[DataChoice],
    comparison: dict[str, Any],
    spark: Any,
) -> int:
    stages = work.stages
    with stages.stage("read"):
        frames = _frames(spark, sides)
    windows = []
    with ExitStack() as open_rows:
        with stages.stage("prepare"):
            for name, frame in zip(("before", "after"), frames, strict=True):
                check_memory(frame, spark)
                budgets = Budgets(driver=config.run.driver_bytes, worker=config.run.worker_bytes)
                rows = open_rows.enter_context(packed(frame, spark, config.data.grades()))
                windows.append(Window(name, rows, budgets))
        with stages.stage("compare"):
            drift = compare_windows(windows, progress=stages.report, **comparison)
    data = {"data": [side.as_dict() for side in sides]}
    return write_drift(work, drift, spark, data)


def _forecast(
    work: Work,
    config: DriftConfig,
    sides: list[DataChoice],
    comparison: dict[str, Any],
    spark: Any,
) -> int:
    """Print what would be compared, from a count of the rows and a sample of them."""
    with work.stages.stage("read"):
        frames = _frames(spark, sides)
        with reading():
            rows = [frame.count() for frame in frames]
    bins = {p.name: comparison.get(p.name, p.default) for p in (NUM_BINS, BINNING)}
    lines = {}
    windows = []
    for name, frame, count in zip(("before", "after"), frames, rows, strict=True):
        with packed(frame.limit(SAMPLE), spark, config.data.grades()) as sample:
            profile = scaled(sample.profile, count)
        d = profile.d
        q = profile.q
        coding = SizingEngine(profile).coding(**bins)
        needed = TwoWay(coding, Labels(q)).state_bytes(profile)
        windows.append(
            {
                "rows": count,
                "features": d,
                "labels": q,
                "counts_bytes": needed,
            }
        )
        shape = f"{count} rows x {d} features x {q} labels"
        lines[name] = f"{shape}; counts of at most {size(needed)}"
    method = comparison["method"]
    tests = max(w["features"] for w in windows) * max(w["labels"] for w in windows)
    lines["tests"] = f"at most {tests}, of a feature and a label each"
    lines["method"] = f"rankings by {method}"
    lines["output"] = f"{config.run.output}: nothing was written"
    facts = {
        "windows": windows,
        "tests": tests,
        "method": method,
        "output": config.run.output,
    }
    return print_forecast(work.args, lines, facts)


def _frames(spark: Any, sides: list[DataChoice]) -> list[Any]:
    """Return the rows of both times; of texts both count the words of either."""

    def read(side: DataChoice, **options: Any) -> Any:
        return load(spark, side.path, side.format or "", **{**side.options, **options})

    before, after = sides
    frame = read(before)
    facts = categories_of(frame, FEATURES)  # the values of later rows may be others
    same_values = {CATEGORIES: facts} if facts else {}
    frames = [frame, read(after, **same_values)]
    if not counts_words(before.format) or "vocabulary" in before.options:
        return frames
    words: dict[str, None] = {}
    for frame in frames:
        words |= dict.fromkeys(attribute_names(frame, FEATURES) or ())
    return [read(side, vocabulary=list(words)) for side in sides]


def compare_states(args: argparse.Namespace) -> int:
    """Compare saved states; return the exit code."""
    comparison = drift_settings(args.method, pairs(args.set, "--set"), comparison_values(args))
    against = AGAINST.accept(args.against or AGAINST.default)
    conditions_of(args)
    paths = states.folders(args.states)
    output = Output(args.output, args.overwrite)
    output.check(paths)
    work = Work(args, output)
    folder_names = [Path(path).name for path in paths]
    names = paths if len(set(folder_names)) < len(paths) else folder_names
    method = comparison["method"]
    with work.stages.stage("read"):
        sums = states.head(paths[0]).sums
        requests = settings_by_codes(sums, method, comparison["method_params"], comparison)[1:]
        windows = [
            Window(name, states.load(path, requests=requests).dataset())
            for name, path in zip(names, paths, strict=True)
        ]
    with work.stages.stage("compare"):
        progress = work.stages.report
        drift = compare_windows(windows, against=against, progress=progress, **comparison)
    return write_drift(work, drift, LocalSession(), {"states": paths})


def write_drift(
    work: Work,
    drift: Drift,
    spark: Any,
    data: dict[str, Any],
) -> int:
    """Write and print what changed; return the exit code."""
    output = work.output
    assert output is not None
    conditions = conditions_of(work.args)
    numbers = [
        {name: number(change) for name, number in ALARMS.items()} for change in drift.changes
    ]
    failed = unmet(conditions, numbers)
    with work.stages.stage("write"), output.writing(spark) as target:
        manifest = work.manifest(spark, {**data, **drift.facts})
        if conditions:
            manifest |= {"required": work.args.require, "not_met": texts(failed)}
        for name, table in _tables(drift).items():
            target.text(f"{name}.csv", csv_text(table))
        target.text("report.html", DriftOutcome(**vars(drift)).page(manifest))
        target.json(MANIFEST, manifest)
    changed = drift.features[drift.features["changed"]].head(50)
    rows = [row._asdict() for row in changed.itertuples(index=False)]
    result = {
        **manifest,
        "output": output.path,
        "changed": rows,
    }
    print_result(work.args, _text(drift, output.path), result)
    return exit_code(failed)


def _tables(drift: Drift) -> dict[str, Any]:
    tables = {
        "drift": drift.features,
        "labels": drift.pairs,
        "prevalence": drift.labels,
    }
    if len(drift.stability):
        tables["stability"] = drift.stability
    return tables


def _text(drift: Drift, output: str) -> str:
    lines = []
    several = len(drift.changes) > 1
    for change in drift.changes:
        facts = change.facts
        changed = change.features[change.features["changed"]]
        names = changed.sort_values("p_value")["feature"].astype(str).tolist()
        before, after = facts["rows"]
        title = f"{change.before} → {change.after}, {before} and {after} rows:"
        relations = (
            f"{facts['changed']} of {facts['features_tested']} features changed in what they "
            "say about a label"
        )
        if names:
            relations += f": {some_of(names)}"
        untested = f"; {facts['features_with_too_few_rows']} have too few rows to tell"
        shifted = f"{facts['shifted']} changed in their own distribution"
        if several:
            lines.append(f"{title} {relations}; {shifted}")
        else:
            lines += [title, f"  {relations}{untested}", f"  {shifted}"]
    if not several:
        for _, k, share, _ in drift.stability.itertuples(index=False):
            percent = f"{100 * share:.0f} %"
            lines.append(f"  of the {k} best by {drift.method} {percent} stay")
    files = ", ".join(f"{name}.csv" for name in _tables(drift))
    return "\n".join([*lines, f"written to {output}: {files}, report.html, manifest.json"])
