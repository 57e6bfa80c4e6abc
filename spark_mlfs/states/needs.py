"""What methods and rules need of states: kinds of sums."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import params as spec
from ..errors import ParameterError, setting
from ..extract import EXTRACTORS
from ..methods import METHODS
from ..methods.counting import BINNING, NUM_BINS
from ..params import Integer, Parameter
from ..pipeline import Request
from ..select.modes import RULES, TESTS
from .sums import PAIR_KINDS, describe_kind, describe_kinds, name_of

EXTRACTING = ("mddm", "mlsi")  # which rank the features by the rows of their projections
ADDITIVE = (
    "mim", "chi2", "enm", "gmm", "igmf", "fisher", "f-statistic", "spec", "ridge", "lasso", "elastic-net", "csfs", "mssl", "omfs",
    "fastcan", "forward", *EXTRACTING,
)  # fmt: skip
LOSS = "cross-validation"
WITHOUT_GRADES = ("counts", "labelset counts")
PAIRED: dict[str, tuple[str, ...]] = {  # what is counted of the features that are kept
    "jmi": ("pairs",), "d2f": ("pairs",), "mdmr": ("pairs",), "pmu": ("pairs", "label pairs"), "scls": ("plain pairs",),
    "lrfs": ("plain pairs", "label pairs"), "mrmr": ("plain pairs",), "fimf": ("label pairs",),
}  # fmt: skip
BINS = NUM_BINS, BINNING
DECIDING = {
    "label_coding": "br",
    "relevance": "mi",
    "redundancy": "mi",
    "folds": 5,
}  # which sums a method takes, by default
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
    unlabelled: bool = (
        False  # takes rows of unknown labels, too, of which there are no second moments
    )


def need_of(name: str, parameters: Mapping[str, Any] | None = None) -> Need:
    """The sums that a method of these parameters takes, or a rule with its own bins.
    `ParameterError` where sums are not all."""
    given = dict(parameters or {})
    if name in (*TESTS, "stability", LOSS):
        p = spec.check(BINS, {n: v for n, v in given.items() if n in {b.name for b in BINS}}, name)
        counts = f"counts {p['num_bins']} {p['binning']}"
        return (
            Need(name, (counts,), False, False)
            if name in TESTS
            else Need(name, ("groups",), name == LOSS)
        )
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
    p = spec.check(
        entry.parameters, {n: v for n, v in given.items() if _has(entry, n)}, f"{name!r}"
    )
    if p.get("label_sketch"):
        raise ParameterError(
            f"states hold sums by label, not of a sketch: leave {setting('label_sketch')} out"
        )
    if name in EXTRACTING:
        return Need(name, ("gram",), False, False)
    by_labelset = name == "igmf" or p.get("label_coding") == "lp"
    kinds: tuple[str, ...]
    if name in PAIRED:
        if by_labelset:
            raise ParameterError(
                f"{name} by labelset needs the rows: pairs are counted by label, leave "
                f"{setting('label_coding')} out"
            )
        mutual = {p.get("relevance", "mi"), p.get("redundancy", "mi")}
        wanted = (
            ("counts", *(PAIRED[name] if p.get("redundancy", "mi") == "mi" else ()))
            if "mi" in mutual
            else ()
        )
        kinds = (
            *(f"{kind} {p['num_bins']} {p['binning']}" for kind in wanted),
            *(("gram",) if mutual != {"mi"} else ()),
        )
    elif "num_bins" in p:
        kinds = (f"{'labelset ' if by_labelset else ''}counts {p['num_bins']} {p['binning']}",)
    elif name == "spec" or by_labelset:
        kinds = ("labelset sums",)
    else:
        known = {
            "fisher": ("moments",),
            "f-statistic": ("moments",),
            "omfs": ("gram", "labelset sums"),
        }
        kinds = (f"folds {p['folds']}",) if name == "forward" else known.get(name, ("gram",))
    unlabelled = name == "csfs" or (p.get("relevance"), p.get("redundancy")) == (
        "mi",
        "correlation",
    )
    return Need(name, kinds, entry.weighted, entry.takes_grades(p), unlabelled=unlabelled)


def _entry(name: str) -> Any:
    return (EXTRACTORS if name in EXTRACTING else METHODS).create(name)


def _has(entry: Any, name: str) -> bool:
    return any(name in (p.name, p.camel) for p in entry.parameters)


def needs_of_request(request: Request) -> list[Need]:
    """What a request takes: its method, its screen, its rule."""
    asked = [need_of(request.method, request.parameters)]
    if request.screen is not None:
        asked.append(need_of(request.screen.method))
    for extra in request.extras:
        name = getattr(extra, "mode", LOSS)
        if name != LOSS or request.implementation.takes_grams():  # others predict nothing
            asked.append(need_of(name, request.parameters))
    return asked


def kinds_of(request: Request) -> set[str]:
    """The kinds of sums that a request takes."""
    return {kind for need in needs_of_request(request) for kind in need.kinds}


def finer(kind: str) -> str:
    """The kind of sums that a kind is made of where it is not there itself; else itself."""
    return "groups" if kind == "gram" else kind.removeprefix("plain ")


def check_available(sums: Collection[str], unknown: bool, request: Request) -> None:
    """`ParameterError` where states with these kinds of sums, of which some labels are `unknown` or
    none, lack what a request takes."""
    for need in needs_of_request(request):
        own = request.parameters if need.name == request.method else {}
        chosen = {n: v for n, v in own.items() if n in DECIDING and v != DECIDING[n]}
        if unknown and need.unlabelled:
            how = "".join(f" with {setting(n, v)}" for n, v in chosen.items())
            raise ParameterError(
                f"{need.name}{how} takes the rows of unknown labels, too, which have no second moments in states: rank from the "
                f"rows{f', or leave it out and collect with --pairs-of {PAIRS_OF.default}' if how else ''}"
            )
        lacking = [kind for kind in need.kinds if kind not in sums and finer(kind) not in sums]
        if lacking:
            coded = next(
                (
                    kind.split()[-2:]
                    for kind in need.kinds
                    if "counts" in kind or name_of(kind) in PAIR_KINDS
                ),
                (),
            )
            sets = [
                f"--set {n}={v}"
                for n, v in (*zip(("num_bins", "binning"), coded, strict=False), *chosen.items())
            ]
            sets += [f"--pairs-of {PAIRS_OF.default}"] * any(
                name_of(kind) in PAIR_KINDS for kind in need.kinds
            )
            held, remedy = (
                describe_kinds(sums) or "nothing",
                " ".join(["spark-mlfs collect --for", need.name, *sets]),
            )
            told = f"the states hold {held}, not the {describe_kind(lacking[0])} that {need.name} takes"
            raise ParameterError(f"{told}: collect them with {remedy}")


def of_pairs(requests: Sequence[Request]) -> bool:
    """Whether some of the requests take the counts of pairs."""
    return any(name_of(kind) in PAIR_KINDS for request in requests for kind in kinds_of(request))


def needs_of(
    methods: str | Sequence[str], parameters: Mapping[str, Any] | None = None
) -> list[Need]:
    """What several methods and rules take; ``"all-additive"``: all of them, whatever they are. A
    parameter goes to those that have it."""
    names = [methods] if isinstance(methods, str) else list(methods)
    if not names:
        raise ParameterError(f"for which methods? give one or several of {', '.join(FORS)}")
    known = [name for name in names if name in (*METHODS, *EXTRACTING)] + [*ADDITIVE] * (
        "all-additive" in names
    )
    for one in parameters or {}:
        if not any(_has(_entry(name), one) for name in known):
            raise ParameterError(f"none of {', '.join(names)} has a parameter {one!r}")
    needs = {name: need_of(name, parameters) for name in names if name != "all-additive"}
    if "all-additive" in names:
        needs = {
            name: replace(need_of(name, parameters), optional=True) for name in ADDITIVE
        } | needs
    return [*needs.values()]
