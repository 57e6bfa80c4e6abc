"""``spark-mlfs methods``: what there is to rank with, to extract and to classify with, and what
--set takes."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from ..classify import CLASSIFIERS
from ..errors import ParameterError
from ..extract import EXTRACTORS
from ..formats import READERS
from ..media import ENCODERS
from ..media.layers import layers_of
from ..media.model import OnnxModel
from ..methods import METHODS
from ..params import REQUIRED
from ..registry import Registry
from .terminal import print_result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the name of a method."""
    name = "one method, extractor, classifier or format: formula, when to take it, cost, parameters"
    parser.add_argument("name", nargs="?", help=name)
    parser.add_argument(
        "--model", metavar="FILE", help="with onnx: list the layers of a model that can be taken"
    )
    parser.add_argument("--json", action="store_true", help="as one JSON object on standard output")
    parser.set_defaults(quiet=False)


def run(args: argparse.Namespace) -> int:
    """Print the list, or all about an entry; return the exit code."""
    if args.model is not None:
        return _print_layers(args)
    registries: tuple[Registry[Any], ...] = (METHODS, EXTRACTORS, CLASSIFIERS, ENCODERS, READERS)
    try:
        import pyspark  # noqa: F401
    except ImportError:  # readers are of Spark
        if args.name not in READERS:
            registries = registries[:-1]
    if args.name:
        registry = next((r for r in registries if args.name in r), None)
        if registry is None:
            try:
                METHODS.create(args.name)
            except ParameterError as error:
                others = "; ".join(
                    f"{kind} {', '.join(entries)}" for kind, entries in _OTHERS.items()
                )
                raise error.reworded(lambda text: f"{text}; {others}") from None
        assert registry is not None  # or `create` has refused the name
        entry = registry[args.name]
        return print_result(args, as_text(registry.kind, entry), as_data(registry.kind, entry))
    lines = []
    entries = []
    for registry in registries:
        lines.append(f"{registry.kind}s")
        for entry in registry.values():
            lines.append(f"  {entry.name:<12} {entry.title}  [{entry.source}]")
            lines += parameter_lines(entry, 15)
            entries.append(as_data(registry.kind, entry))
    return print_result(args, "\n".join(lines), {"entries": entries})


def _print_layers(args: argparse.Namespace) -> int:
    if args.name != "onnx":
        raise ParameterError("--model goes with onnx: spark-mlfs methods onnx --model FILE")
    layers = layers_of(OnnxModel.read(args.model))
    title = f'{args.model}: take one with feature_options={{"layer": "NAME"}}; sizes of a row'
    lines = [title, *(f"  {layer}" for layer in layers)]
    data = [
        {"name": layer.name, "shape": layer.shape, "output": layer.is_output} for layer in layers
    ]
    return print_result(args, "\n".join(lines), {"layers": data})


_OTHERS: dict[str, Registry[Any]] = {
    "extractors": EXTRACTORS,
    "classifiers": CLASSIFIERS,
    "encoders": ENCODERS,
    "formats": READERS,
}
_FLAGS = {
    "method": ", for --set",
    "classifier": ", for --classifier-set",
    "format": ", for --option",
}


def as_data(kind: str, entry: Any) -> dict[str, Any]:
    """Return the description of an entry as data."""
    parameters = [
        {
            "name": p.name,
            "default": None if p.default is REQUIRED else p.default,
            "meaning": p.doc,
            "values": str(p.constraint),
        }
        for p in entry.parameters
    ]
    facts = {name: getattr(entry, name) for name in ("name", "title", "source", "when", "cost")}
    return {
        "kind": kind,
        **facts,
        "parameters": parameters,
        "documentation": entry.documentation(),
    }


def as_text(kind: str, entry: Any) -> str:
    """Return the description of an entry as text."""
    lines = [
        f"{entry.name}: {entry.title} ({kind})",
        f"  when   {entry.when or '-'}",
        f"  cost   {entry.cost or '-'}",
    ]
    if entry.parameters:
        lines += ["  parameters" + _FLAGS.get(kind, "")]
        lines += parameter_lines(entry, 4)
    return "\n".join([*lines, "", entry.documentation()])


def parameter_lines(entry: Any, indent: int) -> list[str]:
    """Return each parameter with its default, meaning and values, wrapped."""
    lines: list[str] = []
    first = " " * indent
    for p in entry.parameters:
        text = f"{p.name} = {p.default}: {p.doc}; {p.constraint}"
        lines += textwrap.wrap(text, 110, initial_indent=first, subsequent_indent=first + "  ")
    return lines
