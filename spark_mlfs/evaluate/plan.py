"""The plan of a comparison: a TOML file, checked, and the trials it stands for.

    title, notes    the page's words
    published       a CSV of a paper's own numbers, to set beside ours
    [[data]]        name, path, test_path, format, options, rows, screen
    [[method]]      name, title, parameters, grid, screen, include, exclude; "all features" needs
                    no entry
    [[extractor]]   name, title, parameters
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
from ..formats import READERS, accept_options, format_of, no_format, with_text
from ..frames.frame import ENGINE, MEMORY
from ..frames.scratch import SCRATCH_DOC
from ..methods import METHODS
from ..params import Bytes, Integer, Number, by_name
from ..pipeline import Request
from ..sections import Data, Field, InvalidValue, Section, explain, read_toml
from ..select import Screen, constraints
from ..statistics.base import Budgets
from .families import FAMILIES
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
    title: str | None = Field(None, description="its title in tables; by default the name")
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
    metrics: list[Literal["standard", "msfs-2022", "at-k"]] = Field(["standard"])
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
    scratch: str | None = Field(None, description=SCRATCH_DOC)
    parallelism: int | None = Field(
        None, Integer(1), "trials at a time; as many as this machine has cores, at most 8"
    )
    driver_bytes: int = Field(
        Budgets.driver, Bytes(1 << 20), "largest statistic the driver takes, in bytes"
    )
    worker_bytes: int = Field(
        Budgets.worker, Bytes(1 << 20), "rows and statistics one worker process holds, in bytes"
    )
    figures: list[str] = Field([], description="formats of figures as files: pdf, svg, png")
    tables: list[str] = Field([], description="formats of tables as files: latex, latex:ranks")


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

    def checked(self, file: str | None = None) -> Comparison:
        """Return the comparison, every name, parameter and size of it checked.

        Raises `ParameterError` that says what is wrong, and in which `file`."""
        prefix = f"{file}: " if file else ""
        _check_titles(f"{prefix}two entries of [[data]]", [data.name for data in self.data])
        participants = [*self.method, *self.extractor]
        _check_titles(
            f"{prefix}two entries of [[method]]", [entry.called for entry in participants]
        )
        classifiers = [entry.called for entry in self.classifier]
        _check_titles(f"{prefix}two entries of [[classifier]]", classifiers)
        if not self.data:
            raise ParameterError(f"{prefix}[[data]] is missing: give a data set")
        for data in self.data:
            self._check_data(data, f"{prefix}[[data]] {data.name}")
        if self.protocol.folds != FILES:
            Protocol.of(self.protocol.folds)
        if not participants and not self.protocol.all_features:
            raise ParameterError(
                f"{prefix}nothing takes part: give a [[method]], or all_features = true"
            )
        if not self.protocol.sizes:
            raise ParameterError(
                f"{prefix}[protocol] sizes is empty; give some, such as ['10%', 50]"
            )
        for size in (*self.protocol.sizes, *self.protocol.choose.sizes):
            size_of(str(size), 1)
        self._check_metrics(prefix)
        published(self.published)
        self.candidates()
        self.design()
        return self

    def _check_metrics(self, prefix: str) -> None:
        if not self.protocol.metrics:
            kinds = ", ".join(FAMILIES)
            raise ParameterError(f"{prefix}[protocol] metrics is empty; give some of {kinds}")
        choose = self.protocol.choose
        if choose.metric not in FAMILIES[choose.metrics]:
            kind = next(kind for kind, names in FAMILIES.items() if choose.metric in names)
            raise ParameterError(
                f"{prefix}[protocol] choose.metric {choose.metric!r} is none of the metrics "
                f"{choose.metrics!r}: give choose.metrics = {kind!r}"
            )

    def _check_data(self, data: DataSet, entry: str) -> None:
        data.format, data.options = with_text(data.format or format_of(data.path), data.options)
        if data.format is None:
            raise no_format(f"{entry}: format")
        if data.format not in READERS:
            raise ParameterError(
                f"{entry}: format {data.format!r} is not one of {', '.join(READERS)}"
            )
        data.options = accept_options(data.format, data.options)
        if data.screen is not None:
            Screen.of(data.screen)
        if self.protocol.folds == FILES and data.test_path is None:
            raise ParameterError(f"{entry}: protocol files needs test_path")
        if self.protocol.folds != FILES and data.test_path is not None:
            raise ParameterError(f"{entry}: test_path needs [protocol] folds = 'files'")

    def candidates(self) -> list[Candidate]:
        """Return the methods, then the extractors, all features last."""
        candidates = []
        for method in self.method:
            requests = requests_of(method, self.protocol.seed)
            candidates.append(Candidate(method.called, tuple(requests)))
        candidates += [self._extractor(entry) for entry in self.extractor]
        if self.protocol.all_features:
            if any(candidate.title == ALL_FEATURES for candidate in candidates):
                raise ParameterError(f"[[method]]: the title {ALL_FEATURES!r} is taken")
            candidates.append(Candidate(ALL_FEATURES))
        return candidates

    def _extractor(self, entry: Participant) -> Candidate:
        if entry.name not in EXTRACTORS:
            raise ParameterError(
                f"there is no extractor {entry.name!r}; extractors are {', '.join(EXTRACTORS)}"
            )
        parameters = EXTRACTORS[entry.name].parameters
        values = params.seeded(parameters, entry.parameters, self.protocol.seed)
        checked = params.check(parameters, values, f"extractor {entry.name!r}")
        return Candidate(entry.called, extractor=(entry.name, checked))

    def design(self) -> Design:
        """Return the settings that the trials of every data set share."""
        classifiers = []
        for entry in self.classifier:
            classifier = CLASSIFIERS.create(entry.name)
            checked = params.check(
                classifier.parameters, entry.parameters, f"classifier {classifier.name!r}"
            )
            classifiers.append(ClassifierSpec(entry.called, classifier.name, checked))
        choose = self.protocol.choose
        sizes = tuple(dict.fromkeys(map(str, self.protocol.sizes)))
        if choose.size and not set(map(str, choose.sizes)) <= set(sizes):
            raise ParameterError(
                "[protocol] choose.sizes must be among sizes where the size is chosen, too"
            )
        return Design(
            sizes,
            tuple(classifiers),
            tuple(self.protocol.metrics),
            choose,
            self.protocol.seed,
        )


def _check_titles(entries: str, titles: list[str]) -> None:
    for title in titles:
        if titles.count(title) > 1:
            raise ParameterError(
                f"{entries} are both called {title!r}; give one of them another title"
            )


def published(path: str | None) -> pd.DataFrame | None:
    """Read a paper's own numbers: data, method, metrics, metric, value, spread (may be empty)."""
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
    """Return a request for every cell of a method's grid, the last parameter running fastest."""
    parameters = METHODS.create(entry.name).parameters
    values = params.seeded(parameters, entry.parameters, seed)
    names = {"include": entry.include or None, "exclude": entry.exclude or None}
    constrained = constraints.Constraints.of(names)
    requests = []
    for cell in params.grid_cells(entry.grid):
        settings = {**values, **cell}
        requests.append(
            Request.of(entry.name, settings, screen=entry.screen, constraints=constrained)
        )
    return requests


def comparison(layer: Mapping[str, Any], file: str | None = None) -> Comparison:
    """Check the comparison that a file or flags give.

    Raises `ParameterError` with the file and key for whatever is wrong, and for settings of a
    selection that no comparison takes, saying what to do instead."""
    layer = by_name(layer, file or "the comparison")
    _refuse_settings_of_selections(layer, file)
    try:
        plan = Comparison.of(layer)
    except InvalidValue as error:
        raise ParameterError(explain(error, file, Comparison)) from None
    return plan.checked(file)


def _refuse_settings_of_selections(layer: Mapping[str, Any], file: str | None) -> None:
    constrained = (
        "compared methods rank feature by feature; leave it out, or give a [[method]] what it "
        "includes and excludes, such as exclude = ['leak_*']"
    )
    graded = "classifiers are judged on labels of 0 and 1; cut the grades before, or leave it out"
    refused = {"constraints": constrained}
    refused.update({parameter.name: constrained for parameter in constraints.PARAMETERS})
    refused.update({parameter.name: graded for parameter in GRADING})
    for section, value in layer.items():
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            keys = [section, *entry] if isinstance(entry, Mapping) else [section]
            for key in keys:
                if key in refused and not (section == "method" and key in OF_METHODS):
                    prefix = f"{file}: " if file else ""
                    raise ParameterError(f"{prefix}{key} is for spark-mlfs select: {refused[key]}")


def read_comparison(file: str, over: Mapping[str, Any] | None = None) -> Comparison:
    """Read the comparison that a TOML file describes.

    `over` lays keys of [run], from flags, over the file's."""
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
