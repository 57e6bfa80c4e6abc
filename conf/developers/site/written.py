"""What the reference pages say that the code knows: flags, keys, readers, methods, classes.
Markdown, made with the site.

A page names a text by a comment of its own line, ``<!-- written: flags -->``; `TEXTS` has them all.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Union, get_args, get_origin

import pages

from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.cli.command import COMMANDS, parser
from spark_mlfs.cli.config import RunConfig
from spark_mlfs.evaluate.families import LARGER_IS_BETTER, TITLES
from spark_mlfs.evaluate.plan import Comparison
from spark_mlfs.extract import EXTRACTORS
from spark_mlfs.formats import READERS
from spark_mlfs.params import REQUIRED, Parameter, camel_words
from spark_mlfs.sections import Section

# ---- the public names: what a user imports, by page ----

OWN = {
    "errors": "SparkMlfsError DataError ParameterError BudgetError WorkerBudgetError PlatformError "
    "NotInstalledError DataNotice",
    "formats": "Reader Names Distinct Texts Either",
    "params": "Parameter Integer Number Choice Flag Text Features NumberList Optional REQUIRED",
    "methods.base": "Method Scores",
    "statistics.base": "Statistic Budgets",
    "extract.base": "Extractor Linear",
    "classify.base": "Classifier Predictor",
    "testing": "check_method check_ranking example engine_of block_of frame_of rank_here values_of",
    "ml.persistence": "save_pipeline load_pipeline",
    "evaluate": "split",
    "evaluate.metrics": "evaluate evaluate_frame sums_of label_statistics",
    "evaluate.at_k": "at_k at_k_of_frame SumsAtK propensities",
    "evaluate.evaluator": "MultiLabelEvaluator",
    "evaluate.significance": "friedman Friedman ranks nemenyi_quantile bonferroni_dunn_quantile "
    "critical_difference cliques holm wilcoxon_holm",
    "evaluate.stability": "nogueira Stability indicator",
    "report.comparison_page": "ComparisonOutcome",
    "mlflow": "log_selection log_model log_tagger report_of requirements ALLOWLIST",
}
MODULES = (
    "errors",
    "evaluate",
    "pipeline",
    "read",
)  # of the names of the package those that are modules
FACES = ("spark_mlfs", "spark_mlfs.sklearn")
BASES = {  # what all classes of a face share is said of these
    "spark_mlfs": {
        "Selector": "ml.selectors.SelectorEstimator",
        "Extractor": "ml.learners.ExtractorEstimator",
        "Classifier": "ml.learners.ClassifierEstimator",
    },
    "spark_mlfs.sklearn": {
        "Selector": "sklearn.selectors.SelectorOfArrays",
        "Extractor": "sklearn.learners.ExtractorOfArrays",
        "Classifier": "sklearn.learners.ClassifierOfArrays",
    },
}

MEMBERS = (
    "fit transform fit_transform predict predict_proba decision_function score plot "
    "get_support get_feature_names_out"
).split()


def names_of(face: str) -> list[str]:
    """The public names of a package, without its modules."""
    return [name for name in import_module(face).__all__ if name not in MODULES]


def public() -> list[str]:
    """Every public name in full: what must be on a page, with a docstring."""
    out = [f"{face}.{name}" for face in FACES for name in names_of(face)]
    return out + [
        f"spark_mlfs.{module}.{name}" for module, names in OWN.items() for name in names.split()
    ]


def estimators(face: str, suffix: str) -> list[str]:
    """The names of a face that are the class of an entry."""
    package = import_module(face)
    names = [
        n
        for n in names_of(face)
        if n.endswith(suffix) and getattr(getattr(package, n), "entry", None) is not None
    ]
    return sorted(names, key=str.casefold)


def _auto(kind: str, name: str, *options: str) -> str:
    lines = [f".. auto{kind}:: {name}", *(f"   {option}" for option in options)]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


def described(name: str) -> str:
    """One public name."""
    home, _, last = name.rpartition(".")
    value = getattr(import_module(home), last)
    if inspect.isclass(value):
        options = () if issubclass(value, BaseException) else (":members:", ":show-inheritance:")
        return _auto(
            "class" if not issubclass(value, BaseException) else "exception", name, *options
        )
    return (
        _auto("function", name) if inspect.isfunction(value) else _auto("data", name, ":no-value:")
    )


def described_all(*modules: str) -> Callable[[], str]:
    """All public names of modules."""

    def text() -> str:
        parts = []
        for module in modules:
            names = [described(f"spark_mlfs.{module}.{name}") for name in OWN[module].split()]
            parts += [f"## `spark_mlfs.{module}`\n\n", "\n".join(names)]
        return "".join(parts)

    return text


def classes(face: str, suffix: str) -> Callable[[], str]:
    """The base of the estimator classes, the parameters that all have, then every class with its
    own."""

    def text() -> str:
        base = f"spark_mlfs.{BASES[face][suffix]}"
        home, _, last = base.rpartition(".")
        spelled = "camel" if face == "spark_mlfs" else "name"
        shared = getattr(import_module(home), last)
        ours = [
            m
            for m in MEMBERS
            if getattr(getattr(shared, m, None), "__module__", "").startswith("spark_mlfs.")
        ]
        head = _auto("class", base, *("\n   .. automethod:: " + m for m in ours))
        spelling = camel_words if face == "spark_mlfs" else str
        rows = [
            (f"`{getattr(p, spelled)}`", f"`{p.default}`", p.constraint, spelling(p.doc))
            for p in shared._common
        ]
        entries = "\n".join(_auto("class", f"{face}.{name}") for name in estimators(face, suffix))
        return (
            f"{head}\n## Parameters of "
            f"all\n\n{_table(('parameter', 'default', 'takes', 'meaning'), rows)}\n\n## The "
            "classes\n\nEach with the parameters of its own; those above go with every "
            f"one.\n\n{entries}"
        )

    return text


def other_names(face: str) -> Callable[[], str]:
    """The names of a package that are neither classes of entries nor modules."""

    def text() -> str:
        of_entries = {n for suffix in BASES[face] for n in estimators(face, suffix)}
        return "\n".join(
            described(f"{face}.{name}") for name in names_of(face) if name not in of_entries
        )

    return text


# ---- tables ----


def _cell(value: Any) -> str:
    text = " ".join(str(value).split())
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    # outside of code what Markdown or a browser would take for a mark
    parts = [
        part if part.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", part)
        for part in re.split(r"(`[^`]*`)", text)
    ]
    return "".join(parts).replace("|", "\\|")


def _table(heads: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    heads = list(heads)
    rows = [heads, ["---"] * len(heads), *(map(_cell, line) for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _default(p: Parameter) -> str:
    if p.default is REQUIRED or p.default is None:
        return "must be given" if p.default is REQUIRED else "none"
    return f"`{str(p.default).lower() if isinstance(p.default, bool) else p.default}`"


# ---- the command line ----


def flags() -> str:
    """Every command with every flag, as `--help` has them."""
    subs = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)).choices
    return "\n\n".join(
        _command(name.replace("_", "-"), subs[name.replace("_", "-")]) for name in COMMANDS
    )


def _command(name: str, command: argparse.ArgumentParser) -> str:
    parts = [f"({name})=\n## `spark-mlfs {name}`\n\n{command.description}\n"]
    for group in command._action_groups:
        rows = []
        for action in group._group_actions:
            if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
                continue
            value = action.metavar or ("" if action.nargs == 0 else (action.dest or "").upper())
            value = " ".join(value) if isinstance(value, tuple) else value
            called = ", ".join(action.option_strings) or action.dest
            shown = f"{called} {value}" if action.option_strings and action.nargs != 0 else called
            repeats = " …" if action.nargs in ("+", "*") else ""
            rows.append((f"`{shown}{repeats}`", (action.help or "").replace("%%", "%")))
        if rows:
            title = group.title or ""
            parts.append(
                f"### {title.capitalize()} of `{name}`\n\n{_table(('flag', 'meaning'), rows)}\n"
            )
    if command.epilog:
        parts.append(f"```text\n{command.epilog.rstrip()}\n```\n")
    return "\n".join(parts)


# ---- TOML ----


def _sections(section: type[Section], name: str, heading: str = "##") -> str:
    """A section's keys, then those of the sections in it."""
    rows, inner = [], []
    for key, p in section.fields.items():
        kinds = [p.constraint, *get_args(p.constraint)]
        other_names = next(
            (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Section)), None
        )
        if other_names is None:
            rows.append((f"`{key}`", _default(p), _kind(p.constraint), p.doc or ""))
        else:
            many = get_origin(p.constraint) is list
            full = f"{name}.{key}" if name else key
            inner.append(
                _sections(other_names, full, heading).replace(
                    f"`[{full}]`", f"`[[{full}]]`", 1 if many else 0
                )
            )
    table = ""
    if rows:
        title = f"{heading} `[{name}]`" if name else f"{heading} At the top"
        meaning = _marked((inspect.getdoc(section) or "").partition(". ")[0].rstrip(".") + ".")
        table = (
            f"{title}\n\n{meaning}\n\n{_table(('key', 'default', 'takes', 'meaning'), rows)}\n\n"
        )
    return table + "".join(inner)


def _marked(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))


def _kind(kind: Any) -> str:
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    if kind in words:
        return words[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        return "a list"
    if origin is dict:
        return "a table"
    if origin is Union or type(kind).__name__ == "UnionType":
        return ", or ".join(
            _kind(inner_kind) for inner_kind in inner if inner_kind is not type(None)
        )
    return "anything" if kind is Any else str(kind)


def keys_of_a_run() -> str:
    """The keys of a selection's file."""
    return _sections(RunConfig, "", "###")


def keys_of_a_comparison() -> str:
    """The keys of a comparison's file."""
    return _sections(Comparison, "", "###")


# ---- readers, classifiers, extractors ----


def readers() -> str:
    """Every reader with its options."""
    parts = []
    for name in READERS:
        reader = READERS[name]
        rows = [(f"`{p.name}`", _default(p), p.constraint, p.doc) for p in reader.parameters]
        table = (
            _table(("option", "default", "takes", "meaning"), rows)
            if rows
            else "It has no options."
        )
        text = pages._paragraphs(re.split(r"Raises `|>>> ", inspect.getdoc(reader) or "")[0])
        parts.append(f"(format-{name})=\n## `{name}`: {reader.title}\n\n{text}\n\n{table}\n")
    return "\n".join(parts)


def entries(registry: Any) -> Callable[[], str]:
    """Every entry of a registry: formula, parameters, when to take it, cost."""

    def text() -> str:
        parts = []
        for name in registry:
            entry = registry[name]
            body = pages._paragraphs(entry.documentation().partition("\n\n")[2]).replace(
                "\n### ", "\n#### "
            )
            rows = [
                (f"`{p.name}`", f"`{p.default}`", p.constraint, p.doc) for p in entry.parameters
            ]
            table = (
                _table(("parameter", "default", "takes", "meaning"), rows)
                if rows
                else "It has no parameters."
            )
            parts.append(
                f"({registry.kind}-{name})=\n## `{name}`: {entry.title}\n\nSource: "
                f"{entry.source.rstrip('.')}.\n\n**When.** {entry.when}\n\n**Cost.** "
                f"{entry.cost}\n\n{body}\n\n{table}\n"
            )
        return "\n".join(parts)

    return text


def metrics() -> str:
    """The metrics, and which way is better."""
    rows = [
        (f"`{name}`", TITLES[name], "larger" if larger else "smaller")
        for name, larger in LARGER_IS_BETTER.items()
    ]
    return _table(("name", "title", "better is"), rows)


TEXTS: dict[str, Callable[[], str]] = {
    "flags": flags,
    "keys of a run": keys_of_a_run,
    "keys of a comparison": keys_of_a_comparison,
    "readers": readers,
    "classifiers": entries(CLASSIFIERS),
    "extractors": entries(EXTRACTORS),
    "metrics": metrics,
    **{f"names of {face}": other_names(face) for face in FACES},
    "errors": described_all("errors"),
    "judging": described_all(
        "evaluate",
        "evaluate.metrics",
        "evaluate.at_k",
        "evaluate.evaluator",
        "evaluate.significance",
        "evaluate.stability",
        "report.comparison_page",
    ),
    "extending": described_all(
        "methods.base",
        "statistics.base",
        "extract.base",
        "classify.base",
        "formats",
        "params",
        "testing",
    ),
    "serving": described_all("ml.persistence", "mlflow"),
    **{
        f"{suffix.lower()} classes of {face}": classes(face, suffix)
        for face in FACES
        for suffix in ("Selector", "Extractor", "Classifier")
    },
}
