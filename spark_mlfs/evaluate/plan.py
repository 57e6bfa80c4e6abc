"""The plan of a comparison: a TOML file, checked, and the trials it stands for.

    title, notes, published                    the page's words, and a CSV of a paper's own numbers
    to set beside ours [[data]]        name, path, test_path, format, options, rows, screen
    [[method]]      name, title, parameters, grid, screen, include, exclude; "all features" needs no
    entry [[extractor]]   name, title, parameters
    [[classifier]]  name, title, parameters
    [protocol]      folds, sizes, metrics, choose, noise, seed, all_features
    [run]           output, overwrite, engine, memory_bytes, parallelism, driver_bytes,
    worker_bytes, figures, tables

`conf/runs/compare.toml` explains each key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from .. import params
from ..blocks.grades import SETTINGS as GRADING
from ..classify import CLASSIFIERS
from ..errors import ParameterError
from ..extract import EXTRACTORS
from ..formats import READERS, accept_options, format_of, no_format
from ..frames.frame import ENGINE, MEMORY
from ..methods import METHODS
from ..params import Integer, Number
from ..pipeline import Request
from ..read.sections import Data, Field, InvalidValue, Section, explain, read_toml
from ..select import Screen, constraints
from ..statistics.base import Budgets
from .protocol import Protocol
from .trials import ALL_FEATURES, Candidate, Choose, ClassifierSpec, Design, size_of

OF_METHODS = ("include", "exclude")  # of a selection's constraints, what a compared method may have
FILES = "files"  # the protocol of data that come as training and test files
SIZES = ("10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%", "100%")


class DataSet(Data):
    """A data set; with `test_path` it comes divided."""

    name: str = Field(description="what it is called in tables")
    test_path: str | list[str] | None = Field(
        None, description="test rows, where the data come divided; same format and options"
    )
    rows: int | None = Field(
        None, Integer(2), "so many rows at most, those of the smallest seeded hash of their ids"
    )
    screen: str | None = Field(
        None,
        description="filter in front of every method that has none of its own, such as chi2:1000",
    )


class Participant(Section):
    """A method, an extractor or a classifier that takes part."""

    name: str = Field(description="name of the entry")
    title: str | None = Field(
        None, description="what it is called in tables; the name if nothing is said"
    )
    parameters: dict[str, Any] = Field({})

    @property
    def called(self) -> str:
        return self.title or self.name


class MethodEntry(Participant):
    """A method that takes part."""

    grid: dict[str, list[Any]] = Field({}, description="values that the inner folds choose from")
    screen: str | None = Field(None, description="filter that runs first, such as chi2:10000")
    include: list[str | int] = Field([], description="features that rank first in every split")
    exclude: list[str | int] = Field([], description="features that the method does not see")


class ClassifierEntry(Participant):
    """A classifier that takes part."""

    name: str = Field("mlknn", description="name of a classifier")


class ProtocolEntry(Section):
    """How the rows are divided and what is measured."""

    folds: str = Field(
        "5-fold", description="5-fold, 10x5-fold, 30x50/50, stratified 5-fold, files"
    )
    sizes: list[int | str] = Field(
        [*SIZES], description="numbers of features, or shares such as 10%"
    )
    metrics: list[Literal["standard", "msfs-2022"]] = Field(["standard"])
    choose: Choose = Choose()
    noise: float = Field(
        0.0, Number(0, 100), "Gaussian noise, as a share of each feature's standard deviation"
    )
    seed: int = 0
    all_features: bool = True


class Run(Section):
    """Where the results go."""

    output: str | None = None
    overwrite: bool = False
    engine: str = Field(ENGINE.default, ENGINE.constraint, ENGINE.doc)
    memory_bytes: int | None = Field(MEMORY.default, MEMORY.constraint, MEMORY.doc)
    parallelism: int | None = Field(
        None, Integer(1), "trials at a time; as many as this machine has cores, at most 8"
    )
    driver_bytes: int = Field(
        Budgets.driver, Integer(1 << 20), "largest statistic the driver takes, in bytes"
    )
    worker_bytes: int = Field(
        Budgets.worker, Integer(1 << 20), "rows and statistics one worker process holds, in bytes"
    )
    figures: list[str] = Field([], description="formats of figures as files: pdf, svg, png")
    tables: list[str] = Field([], description="formats of tables as files: latex")


class Comparison(Section):
    """A whole comparison."""

    title: str = "Comparison"
    notes: str = Field(
        "", description="what the page says at the top, and paragraph by paragraph at the end"
    )
    published: str | None = Field(
        None, description="CSV with columns data, method, metrics, metric, value[, spread]"
    )
    data: list[DataSet] = Field([])
    method: list[MethodEntry] = Field([])
    extractor: list[Participant] = Field([])
    classifier: list[ClassifierEntry] = Field([ClassifierEntry()])
    protocol: ProtocolEntry = ProtocolEntry()
    run: Run = Run()

    def checked(self, where: str | None = None) -> Comparison:
        """The same with every name, parameter and size checked; `ParameterError` saying what is
        wrong."""
        at = f"{where}: " if where else ""
        methods = [*self.method, *self.extractor]
        for kind, entries in (
            ("data", self.data),
            ("method", methods),
            ("classifier", self.classifier),
        ):
            titles = [getattr(e, "title", None) or getattr(e, "name", "") for e in entries]
            if twice := next((t for t in titles if titles.count(t) > 1), None):
                raise ParameterError(
                    f"{at}two entries of [[{kind}]] are both called {twice!r}; give one of them "
                    "another title"
                )
        if not self.data:
            raise ParameterError(f"{at}[[data]] is missing: give a data set")
        for entry in self.data:
            entry.format = entry.format or format_of(entry.path)
            if entry.format is None:
                raise no_format(f"{at}[[data]] {entry.name}: format")
            if entry.format not in READERS:
                raise ParameterError(
                    f"{at}[[data]] {entry.name}: format {entry.format!r} is not one of "
                    f"{', '.join(READERS)}"
                )
            entry.options = accept_options(entry.format, entry.options)
            if entry.screen is not None:
                Screen.of(entry.screen)
            if (self.protocol.folds == FILES) != (entry.test_path is not None):
                told = (
                    "protocol files needs test_path",
                    "test_path needs [protocol] folds = 'files'",
                )
                raise ParameterError(
                    f"{at}[[data]] {entry.name}: {told[entry.test_path is not None]}"
                )
        if self.protocol.folds != FILES:
            Protocol.of(self.protocol.folds)
        if not self.method and not self.extractor and not self.protocol.all_features:
            raise ParameterError(
                f"{at}nothing takes part: give a [[method]], or all_features = true"
            )
        if not self.protocol.sizes:
            raise ParameterError(f"{at}[protocol] sizes is empty; give some, such as ['10%', 50]")
        for size in (*self.protocol.sizes, *self.protocol.choose.sizes):
            size_of(str(size), 1)
        published(self.published)
        self.candidates()
        self.design()
        return self

    def candidates(self) -> list[Candidate]:
        """The methods, then the extractors, all features last."""
        out = [Candidate(m.called, tuple(requests_of(m, self.protocol.seed))) for m in self.method]
        for made in self.extractor:
            if made.name not in EXTRACTORS:
                raise ParameterError(
                    f"there is no extractor {made.name!r}; extractors are {', '.join(EXTRACTORS)}"
                )
            known = EXTRACTORS[made.name].parameters
            values = params.seeded(known, made.parameters, self.protocol.seed)
            out.append(
                Candidate(
                    made.called,
                    extractor=(made.name, params.check(known, values, f"extractor {made.name!r}")),
                )
            )
        if self.protocol.all_features:
            if any(c.title == ALL_FEATURES for c in out):
                raise ParameterError(f"[[method]]: the title {ALL_FEATURES!r} is taken")
            out.append(Candidate(ALL_FEATURES))
        return out

    def design(self) -> Design:
        classifiers = []
        for entry in self.classifier:
            classifier = CLASSIFIERS.create(entry.name)
            checked = params.check(
                classifier.parameters, entry.parameters, f"classifier {classifier.name!r}"
            )
            classifiers.append(ClassifierSpec(entry.called, classifier.name, checked))
        how = self.protocol.choose
        sizes = tuple(dict.fromkeys(map(str, self.protocol.sizes)))
        if how.size and not set(map(str, how.sizes)) <= set(sizes):
            raise ParameterError(
                "[protocol] choose.sizes must be among sizes where the size is chosen, too"
            )
        return Design(
            sizes, tuple(classifiers), tuple(self.protocol.metrics), how, self.protocol.seed
        )


def published(path: str | None) -> pd.DataFrame | None:
    """A paper's own numbers: columns data, method, metrics, metric, value, spread (may be
    empty)."""
    if path is None:
        return None
    try:
        table = pd.read_csv(Path(path), comment="#")
    except (OSError, ValueError) as error:
        raise ParameterError(f"published = {path!r} cannot be read as CSV: {error}") from None
    missing = {"data", "method", "metrics", "metric", "value"} - set(table.columns)
    if missing:
        raise ParameterError(
            f"{path}: column {sorted(missing)[0]!r} is missing; it needs data, method, metrics, "
            "metric, value"
        )
    if "spread" not in table:
        table["spread"] = np.nan
    return table


def requests_of(entry: MethodEntry, seed: int) -> list[Request]:
    """A request for every cell of a method's grid, the last parameter running fastest."""
    parameters = METHODS.create(entry.name).parameters
    values, grid = params.seeded(parameters, entry.parameters, seed), entry.grid
    held_to = constraints.Constraints.of(
        {"include": entry.include or None, "exclude": entry.exclude or None}
    )
    cells = ({**values, **cell} for cell in params.grid_cells(grid))
    return [
        Request.of(entry.name, cell, screen=entry.screen, constraints=held_to) for cell in cells
    ]


def comparison(layer: Mapping[str, Any], file: str | None = None) -> Comparison:
    """A checked comparison of what a file or flags give; `ParameterError` with the file and key for
    whatever is wrong, and for settings of a selection that no comparison takes, saying what to do
    instead."""
    constrained = (
        "compared methods rank feature by feature; leave it out, or give a [[method]] what it "
        "includes and excludes, such as exclude = ['leak_*']"
    )
    graded = "classifiers are judged on labels of 0 and 1; cut the grades before, or leave it out"
    refused = dict.fromkeys(["constraints", *(p.name for p in constraints.PARAMETERS)], constrained)
    refused |= dict.fromkeys([p.name for p in GRADING], graded)
    for section, entries in layer.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            for key in [section, *(entry if isinstance(entry, Mapping) else ())]:
                if key in refused and not (section == "method" and key in OF_METHODS):
                    at = f"{file}: " if file else ""
                    raise ParameterError(f"{at}{key} is for spark-mlfs select: {refused[key]}")
    try:
        plan = Comparison.of(layer)
    except InvalidValue as error:
        raise ParameterError(explain(error, file, Comparison)) from None
    return plan.checked(file)


def read_comparison(file: str, over: Mapping[str, Any] | None = None) -> Comparison:
    """The comparison a TOML file describes; `over` lays keys of [run], from flags, over the
    file's."""
    layer = read_toml(file)
    if over:
        try:
            Run.of(over)
        except InvalidValue as error:
            raise ParameterError(explain(error.within("run"), None, Comparison)) from None
        layer = {**layer, "run": {**layer.get("run", {}), **over}}
    if isinstance(layer.get("published"), str):
        layer = {**layer, "published": str(Path(file).parent / layer["published"])}
    return comparison(layer, file)
