"""Configuration of a run: a TOML file, flags laid over it, and one line for whatever is wrong with
either.

`RunConfig` has the sections, `conf/runs/quickstart.toml` explains each key. A flag that names
another format or another method than the file's replaces that whole section, since the options and
parameters of one are not those of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from .. import params
from ..blocks.grades import SETTINGS as GRADING
from ..blocks.grades import Grades
from ..classify import CLASSIFIERS
from ..errors import ParameterError, setting
from ..formats import READERS, accept_options, format_of, no_format, tabular
from ..frames.frame import ENGINE, MEMORY
from ..frames.names import first_repeated
from ..frames.schema import CATEGORIES
from ..methods import DEFAULT_METHOD, METHODS
from ..params import Choice, Integer, Optional, Parameter
from ..pipeline import Request
from ..read.sections import Data, Field, InvalidValue, Section, explain, read_toml
from ..select import Constraints, CrossValidation, Cut
from ..select.modes import KEYS, RATES, RULES, Setting, either
from ..select.rules import DRIFT, DRIFT_METHOD
from ..statistics.base import Budgets
from .feature_files import read_mapping, read_names

STATES = "states"  # stands for a format where a run has sums in the place of rows


class DataChoice(Data, further=GRADING):
    """Data to read, and whether its labels are grades."""

    graded_labels: bool
    grade_range: list[float] | None
    label_cuts: list[float] | None

    def grades(self) -> Grades | None:
        """How labels that are grades are read; `ParameterError` where that makes no sense, or the
        format has none."""
        grades = Grades.of({p.name: getattr(self, p.name) for p in GRADING})
        if grades is not None and not tabular(self.format):
            tables, out = (
                ", ".join(filter(tabular, READERS)),
                f"leave {setting('graded_labels')} out",
            )
            raise ParameterError(
                f"graded labels are read of tables ({tables}), not of format {self.format!r}: "
                f"convert the data, or {out}"
            )
        return grades


class _Divisor:
    """A number of folds."""

    def accept(self, value: Any) -> int:
        folds: int = Integer(0, 60).accept(value)
        if folds == 1 or (folds and 60 % folds):
            raise ValueError
        return folds

    def __str__(self) -> str:
        return "0 or a divisor of 60 from 2"


class MethodChoice(Section):
    """Method to rank with."""

    name: str = Field(DEFAULT_METHOD, description="name of a method")
    parameters: dict[str, Any] = Field({}, description="the method's own parameters")
    screen: str | None = Field(None, description="filter that runs first, such as chi2:10000")
    grid: dict[str, list[Any]] = Field({}, description="values of the method's parameters to try")
    folds: int = Field(5, _Divisor(), "folds that the grid is judged by")


class ConstraintChoice(Section):
    """Constraints of the selection."""

    include: list[str | int] | None = Field(
        None, description="features picked first: names, patterns, places"
    )
    include_from: str | None = Field(
        None, description="file with their names, or folder of a selection"
    )
    exclude: list[str | int] | None = Field(None, description="features that are never picked")
    exclude_from: str | None = Field(
        None, description="file with their names, or folder of a selection"
    )
    groups: dict[str, list[str | int]] | None = Field(
        None, description="features that are picked or left together"
    )
    groups_from: str | None = Field(None, description="file with them")
    costs: dict[str, float] | None = Field(
        None, description="what features cost, by name or pattern"
    )
    costs_from: str | None = Field(None, description="file with them")
    budget: float | None = Field(None, description="what the selection may cost")
    penalties: dict[str, float] | None = Field(
        None, description="what features' penalties are multiplied by, by name or pattern"
    )
    penalties_from: str | None = Field(None, description="file with them")

    def complete(self, selected: Callable[[str], list[str]] | None = None) -> None:
        """Adds the features that files hold, and folders of selections, once `selected` gives the
        names that one keeps."""
        for what in ("include", "exclude"):
            path = getattr(self, f"{what}_from")
            names = read_names(path, f"{what}_from") if path else None
            if path and names is None and selected is not None:
                names = selected(path)
            if names is not None:
                setattr(self, what, [*(getattr(self, what) or ()), *names])
                setattr(self, f"{what}_from", None)
        for what, column in (("groups", "group"), ("costs", "cost"), ("penalties", "penalty")):
            path = getattr(self, f"{what}_from")
            if path:
                setattr(
                    self,
                    what,
                    {**read_mapping(path, f"{what}_from", column), **(getattr(self, what) or {})},
                )
                setattr(self, f"{what}_from", None)


class ClassifierChoice(Section):
    """Classifier of the selected features; none: no pipeline is fitted."""

    name: str | None = Field(None, description="name of a classifier")
    parameters: dict[str, Any] = Field({}, description="the classifier's own parameters")

    def checked(self) -> dict[str, Any]:
        classifier = CLASSIFIERS.create(self.name or "")
        return params.check(
            classifier.parameters, self.parameters, f"classifier {classifier.name!r}"
        )


def _key(one: Setting) -> Parameter:
    """A setting as a key of [selection]; None where the file and the flags leave it out."""
    p = one.parameter
    doc = f"{p.doc} (mode {either(one.modes)})" if one.of_rules else p.doc
    return replace(p, name=one.key or p.name, default=None, doc=doc)


_SELECTION = (
    Parameter("mode", None, Choice(RULES), "rule instead of a number"),
    *map(_key, KEYS.values()),
)


class Selection(Section, further=_SELECTION):
    """A number of features to keep, or a share, or the rule `mode`; the keys are those of
    `select.modes.KEYS`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def cut(self, seed: int) -> Cut:
        """Return the cut of the ranking; `seed` is that of a rule that draws."""
        mode = self.mode or ("percentile" if self.percentile is not None else None)
        return Cut.of({**self.as_dict(), "selection_mode": mode, "selection_seed": seed})


class RunSettings(Section):
    """Where the results go, and how."""

    output: str | None = Field(None, description="folder to write")
    output_table: str | None = Field(
        None, description="table of the catalog for the ranking, beside the folder"
    )
    table_format: str | None = Field(
        None, description="format of that table; that of the session's tables"
    )
    overwrite: bool = Field(False, description="replace the output of an earlier run")
    seed: int = Field(0, description="seed of a method that draws at random")
    report: bool = Field(True, description="write report.html")
    engine: str = Field(ENGINE.default, ENGINE.constraint, ENGINE.doc)
    cores: int | None = Field(
        None, Optional(Integer(1)), "cores that --dry-run reckons with; those of this machine"
    )
    memory_bytes: int | None = Field(MEMORY.default, MEMORY.constraint, MEMORY.doc)
    driver_bytes: int = Field(
        Budgets.driver, Integer(1 << 20), "largest statistic the driver takes, in bytes"
    )
    worker_bytes: int = Field(
        Budgets.worker, Integer(1 << 20), "rows and statistics one worker process holds, in bytes"
    )


class RunConfig(Section):
    """A run of `select`."""

    data: DataChoice = DataChoice()
    method: MethodChoice = MethodChoice()
    selection: Selection = Selection()
    constraints: ConstraintChoice = ConstraintChoice()
    classifier: ClassifierChoice = ClassifierChoice()
    run: RunSettings = RunSettings()

    def request(self) -> Request:
        """The checked method and parameters; the run's seed goes to a method that takes one and has
        none of its own."""
        values = params.seeded(
            METHODS.create(self.method.name).parameters, self.method.parameters, self.run.seed
        )
        held_to, cut = Constraints.of(self.constraints.as_dict()), self.selection.cut(self.run.seed)
        return Request.of(
            self.method.name, values, screen=self.method.screen, constraints=held_to, cut=cut
        )

    @property
    def counted(self) -> bool:
        """Whether all that looks at the features counts values: a column of texts may then be one
        feature of codes."""
        return not self.classifier.name and all(request.takes_codes for request in self.requests())

    def reader_options(self) -> dict[str, Any]:
        """The options of the reader, with what becomes of columns of texts where they do not say
        it."""
        known = {p.name: p.default for p in READERS[self.data.format or ""].parameters}
        auto = {**known, **self.data.options}.get(CATEGORIES) == "auto"
        return (
            {**self.data.options, CATEGORIES: {"codes": True}}
            if auto and self.counted
            else self.data.options
        )

    def requests(self) -> list[Request]:
        """One request for every cell of the grid, the last parameter running fastest; without a
        grid the one there is."""
        base = self.request()
        if not self.method.grid:
            return [base]
        extras = (CrossValidation(self.method.folds),) if self.method.folds else ()
        asked: dict[str, Any] = {
            "screen": base.screen,
            "extras": extras,
            "constraints": base.constraints,
            "cut": base.cut,
        }
        return [
            Request.of(base.method, {**base.parameters, **cell}, **asked)
            for cell in params.grid_cells(self.method.grid)
        ]


class DriftChoice(Section, further=tuple(replace(p, default=None) for p in DRIFT)):
    """What is compared by `drift`, and how."""

    before: str | list[str] | None = Field(
        None, description="earlier rows: file, folder, glob, list of them, or table name"
    )
    after: str | list[str] | None = Field(None, description="later rows")
    after_options: dict[str, Any] = Field(
        {}, description="options of the reader for the later rows"
    )


class DriftConfig(RunConfig):
    """A run of `drift`: the rows of both times are read as [data] says."""

    drift: DriftChoice = DriftChoice()

    def sides(self) -> list[DataChoice]:
        """The data of both times; `ParameterError` where they are not said."""
        if self.data.path is not None:
            raise ParameterError("[data] path says one place of two: give [drift] before and after")
        out, given = [], self.data.as_dict(only_given=True)
        for flag, further in (("before", {}), ("after", self.drift.after_options)):
            path, options = getattr(self.drift, flag), {**self.data.options, **further}
            if path is None and READERS.create(self.data.format or "").takes_path:
                raise ParameterError(f"drift needs --{flag}: the rows of that time")
            out.append(
                DataChoice(
                    **{**given, "path": path, "options": accept_options(self.data.format, options)}
                )
            )
        return out

    def comparison(self) -> dict[str, Any]:
        """How they are compared; what is left out is left to the comparison."""
        return drift_settings(
            self.method.name if "name" in self.method.given else None,
            self.method.parameters,
            vars(self.drift),
        )


def drift_settings(
    method: str | None, parameters: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """The settings of a comparison of windows that are given, checked, and the method whose
    rankings are compared."""
    given = {p.name: values[p.name] for p in DRIFT if values[p.name] is not None}
    found = params.check(DRIFT, given, "drift")
    return {
        "method": method or DRIFT_METHOD,
        "method_params": dict(parameters),
        **{name: found[name] for name in given},
    }


def configure(
    file: str | None, flags: Mapping[str, Mapping[str, Any]], kind: type[RunConfig] = RunConfig
) -> Any:
    """The configuration, of a `kind`, of `file` (or the defaults) with the sections of `flags` over
    it, complete and checked."""
    below = _validated(read_toml(file), file, kind) if file else {}
    above = _validated(flags, None, kind)
    merged = {
        section: laid_over(section, below.get(section, {}), above.get(section, {}))
        for section in kind.fields
    }
    merged["selection"] = _selection(below.get("selection", {}), above.get("selection", {}), file)
    config = kind(**merged)
    config.data.format = config.data.format or format_of(config.data.path)
    if config.data.format is None:
        where = f"[data] format in {file}" if file else "--format"
        raise no_format(where)
    if config.run.output is None:
        where = f"[run] output in {file}, or --output DIR" if file else "--output DIR"
        raise ParameterError(f"where should the results go? give {where}")
    if config.classifier.parameters and not config.classifier.name:
        in_file = below.get("classifier", {}).get("parameters")
        in_flag = "--classifier-set needs a --classifier to belong to"
        raise ParameterError(
            f"{file}: [classifier] parameters need a name, too" if in_file else in_flag
        )
    if config.data.format == STATES:
        return config
    if config.data.grades() is not None:
        config.data.options["graded"] = True
    config.data.options = accept_options(config.data.format, config.data.options)
    return config


def laid_over(section: str, below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A section with the keys of the flags over those of the file; another format or name replaces
    it whole."""
    kind = {"data": "format", "method": "name", "classifier": "name"}.get(section)
    if kind and kind in above and above[kind] != below.get(kind, above[kind]):
        return dict(above)
    merged = {**below, **above}
    for inner in ("options", "parameters", "after_options"):
        if inner in below and inner in above:
            merged[inner] = {**below[inner], **above[inner]}
    return merged


def _validated(layer: Mapping[str, Any], file: str | None, kind: type[RunConfig]) -> dict[str, Any]:
    try:
        values = kind.of(layer).as_dict(only_given=True)
    except InvalidValue as error:
        raise ParameterError(explain(error, file, kind)) from None
    selection = values.get("selection", {})
    if selection.get("num_top_features") is not None and selection.get("percentile") is not None:
        where = f"{file}: [selection]" if file else "--num-top-features and --percentile"
        raise ParameterError(f"{where}: give num_top_features or percentile, not both")
    return values


def _selection(
    below: Mapping[str, Any], above: Mapping[str, Any], file: str | None
) -> dict[str, Any]:
    """The flags' selection laid over the file's. A rate without a mode means the mode of its name;
    flags that mean another way of selecting than the file's replace its whole section."""

    counted_modes = KEYS["num_top_features"].modes

    def mode(layer: Mapping[str, Any], default: str | None = None) -> str | None:
        if layer.get("mode") is not None:
            return cast(str, layer["mode"])
        for rate, modes in RATES.items():
            if layer.get(rate) is not None:
                return default if default in modes else modes[0]
        if layer.get("percentile") is not None or (
            layer.get("num_top_features") is not None and default not in counted_modes
        ):
            return None
        return default

    first = mode(below)
    chosen = mode(above, first)
    counted = "percentile" in above or ("num_top_features" in above and chosen is None)
    merged = dict(above) if counted or chosen != first else {**below, **above}
    merged["mode"] = chosen
    merged = {
        key: below[key] for key, one in KEYS.items() if key in below and not one.modes
    } | merged
    in_file = bool(file and not above)
    at, mode_is = (f"{file}: [selection] ", "mode ") if in_file else ("", "--selection-mode ")

    def named(key: str) -> str:
        return key if in_file else "--" + key.replace("_", "-")

    other = f"{mode_is}{chosen}" if chosen else "a number of features"
    for key, modes in {**RATES, "combination": KEYS["combination"].modes}.items():
        if merged.get(key) is not None and chosen not in modes:
            raise ParameterError(
                f"{at}{named(key)} goes with {mode_is}{either(modes)}, not {other}"
            )
    if chosen is not None and merged.get("percentile") is not None:
        raise ParameterError(f"{at}give {named('percentile')} or {other}, not both")
    if chosen not in (None, *counted_modes) and merged.get("num_top_features") is not None:
        raise ParameterError(
            f"{at}{other} says itself how many features are kept; leave "
            f"{named('num_top_features')} out"
        )
    return merged
