"""``spark-mlfs sample``: tables and files this library makes, to try the jobs on."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import ParameterError
from ..frames.frame import LocalFrame, LocalSession
from ..media.generate import FILES, write_files
from ..output.folder import MANIFEST, Output
from ..output.parquet import write_rows
from ..params import Integer
from ..read.samples import GENERATED
from .flags import COUNT, Flags, flag_type
from .terminal import print_result
from .work import Work

EPILOG = """\
example, from raw text to a scored corpus:
  spark-mlfs sample documents --output data/documents
  spark-mlfs select --config conf/runs/text-tags.toml
  spark-mlfs sample documents --rows 50000 --seed 1 --without-tags --output data/new-documents
  spark-mlfs score --model runs/text-tags --data data/new-documents --format parquet --id doc \\
      --output data/new-tags
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the kind of table and its size."""
    parser.add_argument(
        "kind",
        nargs="?",
        help="documents (text and tags), embeddings (arrays and tags), images or sounds",
    )
    parser.add_argument(
        "--rows",
        metavar="N",
        type=COUNT,
        default=10000,
        help="rows or files (default 10000)",
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=flag_type(Integer(0)),
        default=0,
        help="seed (default 0)",
    )
    parser.add_argument(
        "--without-tags", action="store_true", help="leave the tags out, as in a corpus to score"
    )
    Flags.output(parser).engine()


def run(args: argparse.Namespace) -> int:
    """Write the table; return the exit code."""
    kinds = [*GENERATED, *FILES]
    if args.kind not in kinds or args.output is None:
        raise ParameterError(
            f"sample needs a kind, one of {', '.join(kinds)}, and --output; see spark-mlfs sample "
            "--help"
        )
    work = Work(args, Output(args.output, args.overwrite))
    work.check()
    return _write(work, LocalSession()) if args.kind in FILES else work.run_on_engine_for(_write)


def _write(work: Work, spark: Any) -> int:
    args = work.args
    output = work.output
    frame = None if args.kind in FILES else GENERATED[args.kind](spark, args.rows, args.seed)
    if frame is not None and args.without_tags:
        frame = frame.select(*(name for name in frame.columns if name != "tags"))
    assert output is not None
    with work.stages.stage("make and write"), output.writing(spark) as target:
        if isinstance(frame, LocalFrame):
            write_rows(frame, target.folder)
        elif frame is not None:
            # a local folder set aside exists already
            mode = "append" if target.folder is not None else target.mode
            frame.write.mode(mode).parquet(target.path)
            target.require_data()
        elif target.folder is None:
            raise ParameterError(
                f"{args.output} is not on this machine: {args.kind} are written here; copy them "
                "there"
            )
        else:
            write_files(
                args.kind,
                target.folder,
                args.rows,
                args.seed,
                not args.without_tags,
            )
        columns = {} if frame is None else {"columns": frame.columns}
        facts = {
            "kind": args.kind,
            "rows": args.rows,
            "seed": args.seed,
            **columns,
        }
        manifest = work.manifest(spark, facts)
        target.json("_" + MANIFEST, manifest)
    tags = "" if args.without_tags else ", labels.csv (path, tags)"
    text = f"{args.rows} {args.kind} written to {args.output}: files/{tags}"
    if frame is not None:
        text = (
            f"{args.rows} rows of {args.kind} ({', '.join(frame.columns)}) written to "
            f"{args.output} (parquet)"
        )
    return print_result(args, text, {**manifest, "output": args.output})
