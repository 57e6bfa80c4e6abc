"""How many features, or which: the modes of a selection as one table.

A mode keeps a number of the best, or it is a *rule* that keeps features with enough evidence
(`rules` says what each promises). A setting that no mode goes by goes with every mode:
`Cut.general` and `Request.general` hold its value.
The estimators' Params, the keys of [selection], the flags of ``spark-mlfs select`` and the report's
words are made from here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..params import Choice, Integer, Number, Parameter
from ..solvers.gtests import COMBINATIONS

DEFAULT, AUTO = "numTopFeatures", "auto"
_RATE = Number(0, 1, above=True)


@dataclass(frozen=True)
class Mode:
    """`name` in every face. `settings`: what it goes by, its level first. `level` where none is
    given, if not the setting's default. Of a rule: `evidence`, the column of the ranking it cuts
    by; `basis`, what that comes from; `verdict`, what the kept features do."""

    name: str
    settings: tuple[str, ...]
    level: float | None = None
    evidence: str | None = None
    basis: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Setting:
    """A setting that modes go by, or every selection.

    `parameter` as the estimators have it; `key` in [selection] and, with dashes, as a flag, None
    where the run sets it (the seed); `metavar` of the flag; `besides`, what else it means to an
    estimator; `of_models`, whether only saved models know it."""

    parameter: Parameter
    key: str | None
    metavar: str = "P"
    besides: str = ""
    of_models: bool = False

    @property
    def name(self) -> str:
        return self.parameter.name

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that go by it."""
        return tuple(mode.name for mode in MODES.values() if self.name in mode.settings)

    @property
    def of_rules(self) -> bool:
        """Whether rules alone go by it."""
        return bool(self.modes) and self.modes[0] in RULES

    @property
    def level_of(self) -> tuple[str, ...]:
        """The modes whose level it is."""
        return tuple(mode.name for mode in MODES.values() if self.name == mode.settings[0])

    @property
    def other_levels(self) -> dict[str, float]:
        """The modes whose level it is by another default than its own, and that."""
        levels = {name: MODES[name].level for name in self.level_of}
        return {name: level for name, level in levels.items() if level is not None}


_G_TESTS = "G-tests with every label"
_MODES = (
    Mode(DEFAULT, ("num_top_features",)),
    Mode("percentile", ("percentile",)),
    Mode(
        "fpr",
        ("fpr", "combination"),
        None,
        "p_value",
        _G_TESTS,
        "depend on a label by a G-test",
    ),
    Mode(
        "fdr",
        ("fdr", "combination"),
        None,
        "p_value",
        _G_TESTS,
        "depend on a label by G-tests at a false discovery rate",
    ),
    Mode(
        "fwe",
        ("fwe", "combination"),
        None,
        "p_value",
        _G_TESTS,
        "depend on a label by G-tests at a family-wise error",
    ),
    Mode(
        "knockoffs",
        ("fdr", "selection_seed"),
        0.1,
        "knockoff",
        "methods that finish on the Gram matrix",
        "stand out against their knockoffs",
    ),
    Mode(
        "stability",
        ("stability_threshold", "num_top_features", "selection_seed"),
        None,
        "frequency",
        "among the --num-top-features best in most half-samples",
        "are chosen in most half-samples",
    ),
)
MODES = {mode.name: mode for mode in _MODES}

_SETTINGS = (
    Setting(
        Parameter(
            "num_top_features",
            50,
            Integer(1, word=AUTO),
            "features to keep; auto: as few as forward finds enough",
        ),
        "num_top_features",
        "K",
        "; K of stability, there fewer than 50 of few features unless set; most picks of a greedy "
        "method; at most all",
    ),
    Setting(Parameter("percentile", 0.1, _RATE, "share of the features to keep"), "percentile"),
    Setting(Parameter("fpr", 0.05, _RATE, "largest p-value of a kept feature"), "fpr"),
    Setting(
        Parameter("fdr", 0.05, _RATE, "expected share of false features among the kept"), "fdr"
    ),
    Setting(Parameter("fwe", 0.05, _RATE, "probability of keeping any false feature"), "fwe"),
    Setting(
        Parameter(
            "combination",
            "cauchy",
            Choice(COMBINATIONS),
            "how a feature's p-values with each label become one",
        ),
        "combination",
        "HOW",
    ),
    Setting(
        Parameter(
            "stability_threshold",
            0.6,
            Number(0.5, 1, above=True),
            "share of the half-samples that must choose a kept feature",
        ),
        "stability_threshold",
    ),
    Setting(
        Parameter(
            "selection_seed",
            0,
            Integer(0, 2**31 - 1),
            "seed of the knockoffs and of the half-samples",
        ),
        None,
    ),
    Setting(
        Parameter(
            "order",
            "rank",
            Choice(("rank", "index")),
            "order of the kept features: as ranked, or as in the data",
        ),
        "order",
        "ORDER",
        of_models=True,
    ),
)
SETTINGS = {setting.name: setting for setting in _SETTINGS}

GENERAL = {name: setting.parameter for name, setting in SETTINGS.items() if not setting.modes}
GENERAL_DEFAULTS = {name: parameter.default for name, parameter in GENERAL.items()}
RULES = tuple(name for name, mode in MODES.items() if mode.evidence is not None)
TESTS = tuple(name for name in RULES if MODES[name].evidence == "p_value")
COLUMNS = {mode.name: mode.evidence for mode in _MODES if mode.evidence is not None}
KEYS = {setting.key: setting for setting in SETTINGS.values() if setting.key is not None}
_RULES_OF_KEYS = {
    key: tuple(mode for mode in setting.level_of if mode in RULES) for key, setting in KEYS.items()
}
RATES = {key: rules for key, rules in _RULES_OF_KEYS.items() if rules}


def level_setting(mode: str) -> Setting:
    """Return the setting that is a mode's level."""
    return SETTINGS[MODES[mode].settings[0]]


LEVELS = {
    name: level_setting(name).other_levels.get(name, level_setting(name).parameter.default)
    for name in RULES
}


def parameters() -> tuple[Parameter, ...]:
    """Return `selection_mode` and every setting, for the estimators.

    The documentation of each names the modes it goes with."""
    out = [Parameter("selection_mode", DEFAULT, Choice(tuple(MODES)), "how many features to keep")]
    for setting in SETTINGS.values():
        p = setting.parameter
        doc = p.doc
        if setting.level_of:
            modes = [MODES[m].settings[0] if m == DEFAULT else m for m in setting.level_of]
            doc += f", with selection_mode {either(modes)}"
        for level in setting.other_levels.values():
            doc += f" (there {level:g} unless set)"
        out.append(Parameter(p.name, p.default, p.constraint, doc + setting.besides))
    return tuple(out)


def flag_help(setting: Setting) -> str:
    """Return the line of a setting's flag. Without a rule K has a default, a percentile none."""
    p = setting.parameter
    rules = f", with --selection-mode {either(setting.modes)}" if setting.of_rules else ""
    others = "".join(f", {mode} {level:g}" for mode, level in setting.other_levels.items())
    default = "" if setting.modes == ("percentile",) else f"; default {p.default}{others}"
    return f"{p.doc}{rules} ({p.constraint}{default})"


def rules_help() -> str:
    """List the rules for a flag's line, those of one basis together.

    Such as "fpr, fdr, fwe (G-tests with every label), ..."."""
    by_basis: dict[str, list[str]] = {}
    for name in RULES:
        by_basis.setdefault(MODES[name].basis, []).append(name)
    return ", ".join(f"{', '.join(names)} ({basis})" for basis, names in by_basis.items())


def either(words: Sequence[str]) -> str:
    """Join words as in "fpr, fdr or fwe"."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
