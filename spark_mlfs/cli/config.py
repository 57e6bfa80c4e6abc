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
from ..formats import READERS, accept_options, format_of, no_format, tabular, with_text
from ..frames.frame import ENGINE, MEMORY
from ..frames.schema import CATEGORIES
from ..frames.scratch import SCRATCH_DOC
from ..methods import DEFAULT_METHOD, METHODS, TEXT_METHOD
from ..params import Bytes, Choice, Integer, Optional, Parameter
from ..pipeline import Request
from ..sections import Data, Field, InvalidValue, Section, explain, read_toml
from ..select import Constraints, CrossValidation, Cut
from ..select.modes import KEYS, RATES, RULES, Setting, either
from ..select.rules import DRIFT, DRIFT_METHOD
from ..statistics.base import Budgets
from .feature_files import read_mapping, read_names

STATES = "states"  # stands for a format where a run has sums in the place of rows
_COUNTED_MODES = KEYS["num_top_features"].modes


class DataChoice(Data, further=GRADING):
    """Data to read, and whether its labels are grades."""

    graded_labels: bool
    grade_range: list[float] | None
    label_cuts: list[float] | None

    def grades(self) -> Grades | None:
        """Return how labels that are grades are read.

        `ParameterError` where that makes no sense, or the format has none."""
        grades = Grades.of({p.name: getattr(self, p.name) for p in GRADING})
        if grades is not None and not tabular(self.format):
            tables = ", ".join(filter(tabular, READERS))
            raise ParameterError(
                f"graded labels are read of tables ({tables}), not of format {self.format!r}: "
                f"convert the data, or leave {setting('graded_labels')} out"
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
        """Add the features that files hold, and folders of selections.

        Of these only once `selected` gives the names that one keeps."""
        for key in ("include", "exclude"):
            file_key = f"{key}_from"
            path = getattr(self, file_key)
            names = read_names(path, file_key) if path else None
            if path and names is None and selected is not None:
                names = selected(path)
            if names is not None:
                setattr(self, key, [*(getattr(self, key) or ()), *names])
                setattr(self, file_key, None)
        columns = {
            "groups": "group",
            "costs": "cost",
            "penalties": "penalty",
        }
        for key, column in columns.items():
            file_key = f"{key}_from"
            path = getattr(self, file_key)
            if path:
                in_file = read_mapping(path, file_key, column)
                setattr(self, key, {**in_file, **(getattr(self, key) or {})})
                setattr(self, file_key, None)


class ClassifierChoice(Section):
    """Classifier of the selected features; none: no pipeline is fitted."""

    name: str | None = Field(None, description="name of a classifier")
    parameters: dict[str, Any] = Field({}, description="the classifier's own parameters")

    def checked(self) -> dict[str, Any]:
        classifier = CLASSIFIERS.create(self.name or "")
        return params.check(
            classifier.parameters, self.parameters, f"classifier {classifier.name!r}"
        )


def _key(setting: Setting) -> Parameter:
    """Return a setting as a key of [selection]; None where the file and the flags leave it out."""
    p = setting.parameter
    doc = f"{p.doc} (mode {either(setting.modes)})" if setting.of_rules else p.doc
    return replace(p, name=setting.key or p.name, default=None, doc=doc)


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
        return Cut.of(
            {
                **self.as_dict(),
                "selection_mode": mode,
                "selection_seed": seed,
            }
        )


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
    scratch: str | None = Field(None, description=SCRATCH_DOC)
    driver_bytes: int = Field(
        Budgets.driver, Bytes(1 << 20), "largest statistic the driver takes, in bytes"
    )
    worker_bytes: int = Field(
        Budgets.worker, Bytes(1 << 20), "rows and statistics one worker process holds, in bytes"
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
        """Return the checked method and parameters.

        The run's seed goes to a method that takes one and has none of its own."""
        known = METHODS.create(self.method.name).parameters
        return Request.of(
            self.method.name,
            params.seeded(known, self.method.parameters, self.run.seed),
            screen=self.method.screen,
            constraints=Constraints.of(self.constraints.as_dict()),
            cut=self.selection.cut(self.run.seed),
        )

    @property
    def counted(self) -> bool:
        """Return whether all that looks at the features counts values.

        A column of texts may then be one feature of codes."""
        return not self.classifier.name and all(request.takes_codes for request in self.requests())

    def reader_options(self) -> dict[str, Any]:
        """Return the options of the reader, with the coding of text columns where it is auto."""
        defaults = {p.name: p.default for p in READERS[self.data.format or ""].parameters}
        auto = {**defaults, **self.data.options}.get(CATEGORIES) == "auto"
        if auto and self.counted:
            return {**self.data.options, CATEGORIES: {"codes": True}}
        return self.data.options

    def requests(self) -> list[Request]:
        """Return a request for every cell of the grid, the last parameter running fastest.

        Without a grid this is the only one."""
        base = self.request()
        if not self.method.grid:
            return [base]
        extras = (CrossValidation(self.method.folds),) if self.method.folds else ()
        settings: dict[str, Any] = {
            "screen": base.screen,
            "extras": extras,
            "constraints": base.constraints,
            "cut": base.cut,
        }
        return [
            Request.of(base.method, {**base.parameters, **cell}, **settings)
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
        """Return the data of both times; `ParameterError` where they are not given."""
        if self.data.path is not None:
            raise ParameterError("[data] path says one place of two: give [drift] before and after")
        before = self._side("before", {})
        return [before, self._side("after", self.drift.after_options)]

    def _side(self, flag: str, own_options: dict[str, Any]) -> DataChoice:
        path = getattr(self.drift, flag)
        if path is None and READERS.create(self.data.format or "").takes_path:
            raise ParameterError(f"drift needs --{flag}: the rows of that time")
        options = accept_options(self.data.format, {**self.data.options, **own_options})
        settings = self.data.as_dict(only_given=True)
        return DataChoice(
            **{
                **settings,
                "path": path,
                "options": options,
            }
        )

    def comparison(self) -> dict[str, Any]:
        """Return how they are compared; what is left out is left to the comparison."""
        method = self.method.name if "name" in self.method.given else None
        return drift_settings(method, self.method.parameters, vars(self.drift))


def drift_settings(
    method: str | None, parameters: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the given settings of a comparison of windows, checked.

    The method whose rankings are compared is among them."""
    settings = {p.name: values[p.name] for p in DRIFT if values[p.name] is not None}
    checked = params.check(DRIFT, settings, "drift")
    return {
        "method": method or DRIFT_METHOD,
        "method_params": dict(parameters),
        **{name: checked[name] for name in settings},
    }


def configure(
    file: str | None, flags: Mapping[str, Mapping[str, Any]], kind: type[RunConfig] = RunConfig
) -> Any:
    """Return the configuration of `file` (or the defaults) with the sections of `flags` over it.

    It is of the class `kind`, complete and checked."""
    below = _validated(read_toml(file), file, kind) if file else {}
    above = _validated(flags, None, kind)
    merged = {
        section: laid_over(section, below.get(section, {}), above.get(section, {}))
        for section in kind.fields
    }
    merged["selection"] = _selection(below.get("selection", {}), above.get("selection", {}), file)
    config = kind(**merged)
    data = config.data
    data.format, data.options = with_text(data.format or format_of(data.path), data.options)
    if config.data.format is None:
        key = f"[data] format in {file}" if file else "--format"
        raise no_format(key)
    if kind is RunConfig and not (below.get("method") or above.get("method")):
        config.method.name = _method_of(config)
    if config.run.output is None:
        key = f"[run] output in {file}, or --output DIR" if file else "--output DIR"
        raise ParameterError(f"where should the results go? give {key}")
    if config.classifier.parameters and not config.classifier.name:
        if below.get("classifier", {}).get("parameters"):
            raise ParameterError(f"{file}: [classifier] parameters need a name, too")
        raise ParameterError("--classifier-set needs a --classifier to belong to")
    if config.data.format == STATES:
        return config
    if config.data.grades() is not None:
        config.data.options["graded"] = True
    config.data.options = accept_options(config.data.format, config.data.options)
    return config


def _method_of(config: RunConfig) -> str:
    """Return the method where none is named: of texts, whose words are many, one of counts.

    Rules, "auto" and groups of rows go by what the default method of all other data gives."""
    options = config.data.options
    selection = config.selection
    plain = selection.mode is None and selection.num_top_features != "auto"
    of_texts = config.data.format == "text" and not {"group", "graded"} & {*options}
    return TEXT_METHOD if of_texts and plain else DEFAULT_METHOD


def laid_over(section: str, below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section with the keys of the flags over those of the file.

    Another format or name replaces it whole."""
    kind = {
        "data": "format",
        "method": "name",
        "classifier": "name",
    }.get(section)
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
        keys = f"{file}: [selection]" if file else "--num-top-features and --percentile"
        raise ParameterError(f"{keys}: give num_top_features or percentile, not both")
    return values


def _selection(
    below: Mapping[str, Any], above: Mapping[str, Any], file: str | None
) -> dict[str, Any]:
    """Lay the flags' selection over the file's.

    A rate without a mode means the mode of its name; flags that mean another way of selecting than
    the file's replace its whole section."""
    mode_below = _mode(below)
    mode = _mode(above, mode_below)
    counted = "percentile" in above or ("num_top_features" in above and mode is None)
    merged = dict(above) if counted or mode != mode_below else {**below, **above}
    merged["mode"] = mode
    of_all_modes = {
        key: below[key] for key, setting in KEYS.items() if key in below and not setting.modes
    }
    merged = of_all_modes | merged
    origin = None if above else file
    _check_selection(merged, mode, origin)
    return merged


def _mode(layer: Mapping[str, Any], default: str | None = None) -> str | None:
    """Return the mode that the keys of a layer mean, over the `default` of the layer below."""
    if layer.get("mode") is not None:
        return cast(str, layer["mode"])
    for rate, modes in RATES.items():
        if layer.get(rate) is not None:
            return default if default in modes else modes[0]
    if layer.get("percentile") is not None:
        return None
    if layer.get("num_top_features") is not None and default not in _COUNTED_MODES:
        return None
    return default


def _check_selection(selection: Mapping[str, Any], mode: str | None, file: str | None) -> None:
    """Refuse keys that do not go together, spelled as in `file`, or as flags (None)."""
    prefix = f"{file}: [selection] " if file else ""
    mode_is = "mode " if file else "--selection-mode "

    def spelled(key: str) -> str:
        return key if file else "--" + key.replace("_", "-")

    way = f"{mode_is}{mode}" if mode else "a number of features"
    for key, modes in {**RATES, "combination": KEYS["combination"].modes}.items():
        if selection.get(key) is not None and mode not in modes:
            raise ParameterError(
                f"{prefix}{spelled(key)} goes with {mode_is}{either(modes)}, not {way}"
            )
    if mode is not None and selection.get("percentile") is not None:
        raise ParameterError(f"{prefix}give {spelled('percentile')} or {way}, not both")
    if mode not in (None, *_COUNTED_MODES) and selection.get("num_top_features") is not None:
        raise ParameterError(
            f"{prefix}{way} says itself how many features are kept; leave "
            f"{spelled('num_top_features')} out"
        )
