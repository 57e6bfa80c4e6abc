"""``spark-mlfs score``: the arguments, and what is said of a run."""

from __future__ import annotations

import argparse
from html import escape
from typing import Any

from ..errors import ParameterError

EPILOG = """\
example (a corpus this library makes, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-features 40 --classifier mlknn --output runs/numbers
  spark-mlfs score --model runs/numbers --format numbers --option seed=1 --top-n 3 --output runs/numbers-scored

more:
  spark-mlfs score --model s3://bucket/selection --data s3://bucket/corpus --format parquet --id doc_id --output s3://bucket/tags
  spark-mlfs score --model runs/corpus --data new/*.parquet --format parquet --id doc_id --append --output runs/tags

An interrupted run goes on where it stopped when it is given again. `spark-submit jobs/score.py` takes the same arguments.
"""


def add_arguments(parser: Any, data_arguments: Any, output_arguments: Any) -> None:
    """The command's arguments; the groups common to all commands are given."""
    parser.add_argument(
        "--model", metavar="DIR", help="a saved pipeline (or the folder of a selection run with --classifier) or classifier"
    )
    data_arguments(parser)
    group = parser.add_argument_group("scores")
    group.add_argument("--keep", nargs="+", action="extend", default=[], metavar="COLUMN", help="further columns to take along")
    group.add_argument("--top-n", metavar="N", help="give every row its N best labels instead of the predicted ones")
    group.add_argument("--threshold", metavar="T", help="give every row the labels that score at least T")
    group.add_argument("--all-scores", action="store_true", help="also write every label's score, as the array rawPrediction")
    group.add_argument("--parts", metavar="N", help="parts that are scored, written and resumed one by one (default: one a file)")
    group.add_argument("--parallelism", metavar="N", help="parts at a time (default: one a core of this machine, at most 8)")
    run = output_arguments(parser)
    run.add_argument("--append", action="store_true", help="add the inputs that the output does not hold yet")


def _number(flag: str, text: str | None, kind: type, least: float | None = None) -> Any:
    if text is None:
        return None
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or (least is not None and value < least) or value != value:
        what = "a whole number" if kind is int else "a number"
        raise ParameterError(
            f"{flag} must be {what}" + (f", at least {least:g}" if least is not None else "") + f", not {text!r}"
        )
    return value


def run(args: argparse.Namespace) -> int:
    """Scores a corpus; returns the exit code."""
    from ..output.folder import MANIFEST, Output, Place
    from ..output.journal import publish
    from ..output.manifest import as_json, now, versions
    from ..read import READERS
    from ..read.toml import reader_option
    from ..scoring.corpus import score
    from ..scoring.scorer import load_scorer
    from .commands import Stages, _data_flags, _inputs, _session

    for flag, value in (("--model", args.model), ("--output", args.output), ("--format", args.format)):
        if value is None:
            raise ParameterError(f"score needs {flag}; see spark-mlfs score --help")
    if args.append and args.overwrite:
        raise ParameterError("give --append or --overwrite, not both")
    if args.format not in READERS or args.format == "text":
        known = ", ".join(name for name in READERS if name != "text")
        hint = " (a pipeline of a text corpus counts the words itself: name the table's format)" if args.format == "text" else ""
        raise ParameterError(f"--format {args.format!r} is not one of {known}{hint}")
    if args.features or args.labels_col:
        raise ParameterError("score takes no --features and no --labels-col: the saved pipeline knows its columns")
    how = {
        "top_n": _number("--top-n", args.top_n, int, 1),
        "threshold": _number("--threshold", args.threshold, float),
        "all_scores": args.all_scores,
    }
    if how["top_n"] is not None and how["threshold"] is not None:
        raise ParameterError("give --top-n or --threshold, not both")
    parts, at_once = _number("--parts", args.parts, int, 1), _number("--parallelism", args.parallelism, int, 1)
    identity, args.id = args.id, None
    data = _data_flags(args)
    path, options = data.get("path"), data.get("options", {})
    options = {k: reader_option(args.format, k, v) for k, v in options.items()}
    output = Output(args.output, args.overwrite or args.append)
    output.check([*_inputs(path, args.format), args.model])
    stages = Stages(args.verbose)
    with _session(stages, args.debug) as spark:
        with stages.stage("model"):
            scorer = load_scorer(spark, args.model)
        with stages.stage("score and write"):
            found = score(
                spark, scorer, path, args.format, args.output, options, identity, args.keep, parts=parts, append=args.append,
                parallelism=at_once, progress=stages.report, **how,
            )  # fmt: skip
            manifest = {
                "tool": "spark_mlfs",
                "job": "score",
                "finished": now(),
                "command": ["spark-mlfs", *args.argv],
                "model": {"path": scorer.path, **scorer.classifier.summary},
                "data": {"path": path, "format": args.format, "options": options},
                **{k: v for k, v in found.items() if k not in ("folder", "place")},
                "seconds": stages.seconds,
                "versions": versions(spark.version),
            }
            place = Place(spark, found["place"], found["folder"], "overwrite")
            place.text("_report.html", report(manifest))
            place.text("_" + MANIFEST, as_json(manifest))
            publish(args.output, found["folder"], args.append)
    rate = found["scored_now"] / max(found["seconds_now"], 1e-9)
    again = ", the rest of an interrupted run" if found["resumed"] else ""
    print(f"{found['scored_now']} rows scored in {found['seconds_now']:.1f} s ({rate:,.0f} a second){again}")
    for tag, count in list(found["tags"].items())[:10]:
        print(f"{count:10d}  {tag}")
    if len(found["tags"]) > 10:
        print(f"            and {len(found['tags']) - 10} more labels")
    print(f"{found['rows']} rows in {found['parts']} parts at {args.output}: data/ (Parquet), _manifest.json, _report.html")
    return 0


def report(manifest: dict[str, Any]) -> str:
    """The run as one small page."""
    from ..report.figures import bar
    from ..report.page import document
    from ..report.tables import number, seconds

    tags, rows = manifest["tags"], manifest["rows"]
    top = max(tags.values(), default=1)
    given = sum(tags.values())
    tiles = [
        (number(rows), "rows"),
        (number(manifest["parts"]), "parts"),
        (number(given / max(rows, 1), 3), "tags a row"),
        (number(len(tags)), "labels given"),
        (seconds(manifest["seconds_now"]), "this run"),
    ]
    lines = "".join(
        f"<tr><td class=name>{escape(tag)}</td><td class=r>{number(count)}</td>"
        f"<td class=r>{100 * count / max(rows, 1):.1f} %</td>"
        f"<td class=barcell>{bar(count / top, 'warm')}</td></tr>"
        for tag, count in list(tags.items())[:200]
    )
    more = f"<p class=soft>The 200 commonest of {len(tags)} are shown.</p>" if len(tags) > 200 else ""
    table = (
        "<section><h2>Labels given</h2><p class=soft>How many rows were given each label.</p><div class=wide><table>"
        f"<thead><tr><th>label</th><th class=r>rows</th><th class=r>share</th><th></th></tr></thead>"
        f"<tbody>{lines}</tbody></table></div>"
        f"{more}</section>"
    )
    model = manifest["model"]
    lead = (
        f"{number(rows)} rows scored by {escape(str(model.get('classifier')))}, fitted on {number(model.get('rows', 0))} rows. "
        f"{escape(manifest['finished'][:16].replace('T', ' '))} UTC."
    )
    head = f"<h1>Scored corpus</h1><p class=lead>{lead}</p><div class=tiles>"
    head += "".join(f"<div><b>{value}</b><span>{name}</span></div>" for value, name in tiles) + "</div>"
    return document("Scored corpus", head + table)
