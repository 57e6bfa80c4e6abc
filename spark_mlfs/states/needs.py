"""What methods and rules need of states: kinds of sums."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import params as spec
from ..blocks.coding import OCCURRENCE
from ..errors import ParameterError, setting, shown
from ..extract import EXTRACTORS
from ..methods import METHODS
from ..methods.counting import BINNING, NUM_BINS
from ..params import Integer, Parameter
from ..pipeline import Request
from ..select.modes import RULES, TESTS
from .kinds import PAIR_KINDS, bins_of, describe_kind, describe_kinds, name_of

EXTRACTING = ("mddm", "mlsi")  # which rank the features by the rows of their projections
ADDITIVE = (
    *("mim", "quota", "chi2", "enm", "gmm", "igmf", "fisher", "f-statistic", "spec"),
    *("ridge", "lasso", "elastic-net", "csfs", "mssl", "omfs", "fastcan", "forward"),
    *EXTRACTING,
)
LOSS = "cross-validation"
WITHOUT_GRADES = ("counts", "labelset counts")
PAIRED: dict[str, tuple[str, ...]] = {  # what is counted of pairs of the best features
    "jmi": ("pairs",),
    "d2f": ("pairs",),
    "mdmr": ("pairs",),
    "pmu": ("pairs", "label pairs"),
    "scls": ("plain pairs",),
    "lrfs": ("plain pairs", "label pairs"),
    "mrmr": ("plain pairs",),
    "fimf": ("label pairs",),
}
BINS = NUM_BINS, BINNING
# parameters that decide which sums a method takes, and their defaults
DECIDING = {
    "label_coding": "br",
    "relevance": "mi",
    "redundancy": "mi",
    "folds": 5,
}
PAIRS_OF = Parameter("pairs_of", 500, Integer(2), "how many features have their pairs counted")
FORS = (*ADDITIVE, *PAIRED, *TESTS, "stability", LOSS, "all-additive")


@dataclass(frozen=True)
class Need:
    """Kinds of sums that a method, or a rule, takes."""

    name: str
    kinds: tuple[str, ...]
    weighted: bool = True
    graded: bool = True
    optional: bool = False  # left out of rows that it does not take
    unlabelled: bool = False  # takes rows of unknown labels, too, which have no second moments


def need_of(name: str, parameters: Mapping[str, Any] | None = None) -> Need:
    """Return the sums that a method of these parameters takes, or a rule with its own bins.

    Raises `ParameterError` where sums are not all that it takes."""
    settings = dict(parameters or {})
    if name in (*TESTS, "stability", LOSS):
        return _need_of_rule(name, settings)
    if name in RULES:
        raise ParameterError(
            "knockoffs are made row by row once all rows are known: select by them from the rows"
        )
    if name in METHODS and name not in (*ADDITIVE, *PAIRED):
        others = (
            f"{', '.join(ADDITIVE)}; of states collected with pairs of features {', '.join(PAIRED)}"
        )
        raise ParameterError(
            f"{name} needs the rows, not sums over them: rank from the rows, or take {others}"
        )
    entry: Any = _entry(name)
    own_settings = {n: value for n, value in settings.items() if _has(entry, n)}
    checked = spec.check(entry.parameters, own_settings, f"{name!r}")
    if checked.get("label_sketch"):
        raise ParameterError(
            f"states hold sums by label, not of a sketch: leave {setting('label_sketch')} out"
        )
    if name in EXTRACTING:
        return Need(name, ("gram",), False, False)
    kinds_for = _kinds_of_pairs if name in PAIRED else _kinds_of_sums
    kinds = kinds_for(name, checked)
    mixed = (checked.get("relevance"), checked.get("redundancy")) == ("mi", "correlation")
    unlabelled = name == "csfs" or mixed
    graded = entry.takes_grades(checked)
    return Need(
        name,
        kinds,
        entry.weighted,
        graded,
        unlabelled=unlabelled,
    )


def _need_of_rule(name: str, settings: Mapping[str, Any]) -> Need:
    names = {bins.name for bins in BINS}
    own_settings = {n: value for n, value in settings.items() if n in names}
    checked = spec.check(BINS, own_settings, name)
    if name in TESTS:
        return Need(name, (f"counts {checked['num_bins']} {checked['binning']}",), False, False)
    return Need(name, ("groups",), name == LOSS)


def _kinds_of_pairs(name: str, checked: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds that a method of `PAIRED` takes."""
    if checked.get("label_coding") == "lp":
        raise ParameterError(
            f"{name} by labelset needs the rows: pairs are counted by label, leave "
            f"{setting('label_coding')} out"
        )
    relevance = checked.get("relevance", "mi")
    redundancy = checked.get("redundancy", "mi")
    counted: list[str] = []
    if "mi" in (relevance, redundancy):
        counted.append("counts")
        if redundancy == "mi":
            counted += PAIRED[name]
    kinds = [f"{kind} {checked['num_bins']} {checked['binning']}" for kind in counted]
    if (relevance, redundancy) != ("mi", "mi"):
        kinds.append("gram")
    return tuple(kinds)


def _kinds_of_sums(name: str, checked: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds that a method of `ADDITIVE` takes."""
    by_labelset = name == "igmf" or checked.get("label_coding") == "lp"
    if "num_bins" in checked:
        by_values = OCCURRENCE if name == "quota" else ""
        counts = "labelset counts" if by_labelset else "counts"
        return (f"{counts} {checked['num_bins']} {checked['binning']}{by_values}",)
    if name == "spec" or by_labelset:
        return ("labelset sums",)
    if name in ("fisher", "f-statistic"):
        return ("moments",)
    if name == "omfs":
        return ("gram", "labelset sums")
    if name == "forward":
        return (f"folds {checked['folds']}",)
    return ("gram",)


def _entry(name: str) -> Any:
    return (EXTRACTORS if name in EXTRACTING else METHODS).create(name)


def _has(entry: Any, name: str) -> bool:
    return any(name in (p.name, p.camel) for p in entry.parameters)


def needs_of_request(request: Request) -> list[Need]:
    """Return what a request takes: its method, its screen, its rule."""
    needs = [need_of(request.method, request.parameters)]
    if request.screen is not None:
        needs.append(need_of(request.screen.method))
    for extra in request.extras:
        name = getattr(extra, "mode", LOSS)
        if name != LOSS or request.implementation.takes_grams():  # others predict nothing
            needs.append(need_of(name, request.parameters))
    return needs


def kinds_of(request: Request) -> set[str]:
    """Return the kinds of sums that a request takes."""
    return {kind for need in needs_of_request(request) for kind in need.kinds}


def finer(kind: str) -> str:
    """Return the kind of sums that a kind is made of where it is not there itself; else itself."""
    return "groups" if kind == "gram" else kind.removeprefix("plain ")


def check_available(sums: Collection[str], unknown: bool, request: Request) -> None:
    """Raise `ParameterError` where states with these kinds of sums lack what a request takes.

    Whether some of their labels are `unknown`."""
    for need in needs_of_request(request):
        parameters = request.parameters if need.name == request.method else {}
        chosen = {
            n: value for n, value in parameters.items() if n in DECIDING and value != DECIDING[n]
        }
        if unknown and need.unlabelled:
            settings = "".join(f" with {setting(n, value)}" for n, value in chosen.items())
            remedy = "rank from the rows"
            if settings:
                remedy += f", or leave it out and collect with --pairs-of {PAIRS_OF.default}"
            raise ParameterError(
                f"{need.name}{settings} takes the rows of unknown labels, too, which have no "
                f"second moments in states: {remedy}"
            )
        lacking = [kind for kind in need.kinds if kind not in sums and finer(kind) not in sums]
        if lacking:
            available = describe_kinds(sums) or "nothing"
            raise ParameterError(
                f"the states hold {available}, not the {describe_kind(lacking[0])} that "
                f"{need.name} takes: collect them with {_collect_command(need, chosen)}"
            )


def _collect_command(need: Need, chosen: Mapping[str, Any]) -> str:
    """Return the command that collects what a need takes, with its `chosen` parameters."""
    flags = []
    paired = [kind for kind in need.kinds if name_of(kind) in PAIR_KINDS]
    coded = [kind for kind in need.kinds if "counts" in kind or kind in paired]
    if coded:
        num_bins, binning = bins_of(coded[0])
        binning = binning.removesuffix(OCCURRENCE)
        flags += [f"--set num_bins={num_bins}", f"--set binning={binning}"]
    flags += [f"--set {name}={value}" for name, value in chosen.items()]
    if paired:
        flags.append(f"--pairs-of {PAIRS_OF.default}")
    return " ".join(["spark-mlfs collect --for", need.name, *flags])


def of_pairs(requests: Sequence[Request]) -> bool:
    """Return whether some of the requests take the counts of pairs."""
    return any(name_of(kind) in PAIR_KINDS for request in requests for kind in kinds_of(request))


def needs_of(
    methods: str | Sequence[str], parameters: Mapping[str, Any] | None = None
) -> list[Need]:
    """Return what several methods and rules take; of ``"all-additive"`` all of them that can.

    A parameter goes to those that have it."""
    names = [methods] if isinstance(methods, str) else methods
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(f"methods are one or several names, not {shown(methods)}")
    names = list(names)
    parameters = spec.by_name(parameters, "method_params")
    if not names:
        raise ParameterError(f"for which methods? give one or several of {', '.join(FORS)}")
    ranking = [name for name in names if name in (*METHODS, *EXTRACTING)]
    if "all-additive" in names:
        ranking += ADDITIVE
    for parameter in parameters:
        if not any(_has(_entry(name), parameter) for name in ranking):
            raise ParameterError(f"none of {', '.join(names)} has a parameter {parameter!r}")
    needs = {name: need_of(name, parameters) for name in names if name != "all-additive"}
    if "all-additive" in names:
        additive = [replace(need_of(name, parameters), optional=True) for name in ADDITIVE]
        needs = dict(zip(ADDITIVE, additive, strict=True)) | needs
    return [*needs.values()]
