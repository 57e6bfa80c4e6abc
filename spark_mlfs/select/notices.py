"""Notices: what the reader of a ranking must know of it, a sentence each.

They are warnings in Python, lines of the command, and a section of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from ..blocks.profile import Profile
from ..errors import DataNotice, option, setting
from ..methods.base import Scores
from ..statistics.stretched import Far, Stretched
from ..texts.stop_words import FIRST, stop_words_first
from .request import Request
from .rules import Evidence

SHOWN = 3  # features of a notice
ROUNDING = 2e-12  # of scores without unit: what is no more is 0
LEFT = 1e-8  # weights of features of which none is larger are what a solver leaves of 0
WITHOUT_UNIT = ("uniform", "entropy", "size")  # weights of labels, by no number of the user's


def notices_of(
    request: Request,
    scores: Scores,
    profile: Profile,
    ranking: pd.DataFrame,
    kept: pd.DataFrame,
    evidence: Evidence | None,
    names: Sequence[str],
) -> list[DataNotice]:
    """Return the notices of a ranking, of which a part is `kept`, by `evidence` or by number."""
    texts: list[str | None] = [*_stretched(request, scores.stretched, names)]
    if evidence is not None:
        texts.append(evidence.remark(names))
    else:
        texts.append(_scores_of_zero(request, scores, profile, ranking, kept))
    texts += [*scores.remarks, _stop_words(profile, kept, names)]
    notices = [DataNotice(text) for text in texts if text]
    limit = request.parameters.get("max_iter")
    if scores.converged is False and limit is not None:  # what is trained for a time has none
        notices.append(stopped_early(request.method, f"raise {setting('max_iter', limit)}"))
    if scores.details.get("factorisation_converged") is False:
        remedy = f"give {setting('factorizer', 'svd')}"
        notices.append(stopped_early("the factorisation of the labels", remedy))
    return notices


def _stop_words(profile: Profile, kept: pd.DataFrame, names: Sequence[str]) -> str | None:
    """Return the notice of words that any text has among the best features; None where few are."""
    first = stop_words_first(kept["index"].to_numpy(), names, profile.stored)
    if first is None:
        return None
    language, words = first
    count = min(len(kept), FIRST)
    listed = ", ".join(map(repr, words[:SHOWN]))
    return (
        f"{len(words)} of the best {count} features are stop words ({listed}, …), which any text "
        f"in {language.capitalize()} has: give {option('stop_words', language)} where the words "
        "are counted"
    )


@cache
def _convergence_notice() -> type[DataNotice]:
    """Return the class of notices that are scikit-learn's ConvergenceWarning, too."""
    from sklearn.exceptions import ConvergenceWarning

    return type("ConvergenceNotice", (DataNotice, ConvergenceWarning), {})


def __getattr__(name: str) -> Any:
    """Return the class by its name: warnings travel between processes by it."""
    if name == "ConvergenceNotice":
        return _convergence_notice()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def stopped_early(subject: str, remedy: str) -> DataNotice:
    """Return the notice of a solver that stopped before it converged."""
    text = f"{subject} stopped before it converged, and more iterations may change the result"
    return _convergence_notice()(f"{text}: {remedy}")


def _stretched(request: Request, stretched: Stretched, names: Sequence[str]) -> Iterator[str]:
    """Yield the notice of features that one value stretches, by counts and by moments."""
    if stretched.by_counts:
        share = _percent(min(share for _, share in stretched.by_counts.values()))
        far = _far(stretched.by_counts, names)
        quantiles = ""
        if "binning" in request.parameters:
            quantiles = f"give {setting('binning', 'quantile')}, or "
        yield (
            f"{far} so far from the others that {share} % of the rows share one of "
            f"{stretched.num_bins} bins: {quantiles}clip or recode it"
        )
    if stretched.by_moments:
        share = _percent(min(share for _, share in stretched.by_moments.values()))
        far = _far(stretched.by_moments, names)
        yield (
            f"{far} so far from the others that it has {share} % of the variance: clip or recode "
            "it, or give ranks or logarithms"
        )


def _far(features: Mapping[int, Far], names: Sequence[str]) -> str:
    """Return the beginning of the sentence on values far from the others."""
    listed = [f"{names[f]!r} ({value:g})" for f, (value, _) in features.items()]
    if len(listed) == 1:
        return f"feature {listed[0]}: this value is"
    further = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return f"features {', '.join(listed[:SHOWN])}{further}: this value of each is"


def _percent(share: float) -> str:
    return f"{min(np.floor(1000 * share) / 10, 99.9):g}"


def _scores_of_zero(
    request: Request,
    scores: Scores,
    profile: Profile,
    ranking: pd.DataFrame,
    kept: pd.DataFrame,
) -> str | None:
    """Return the notice of kept features that no score puts before others; None where none is.

    Where nothing is cut it tells only that no feature has a score."""
    num_included = 0 if request.resolved is None else len(request.resolved.include)
    rounding = _rounding(request, profile)
    largest = float(ranking["relevance"].abs().max())
    if rounding and request.implementation.shrinks and rounding < largest <= LEFT:
        return (
            f"no feature has a weight: the scores, {largest:.0e} at most, are what the solver "
            "leaves of 0; give a smaller penalty"
        )
    zero = _are_zero(ranking, rounding)
    count = int(zero[num_included : len(kept)].sum())
    all_are_kept = len(kept) == len(ranking)
    if not count or (all_are_kept and not zero[num_included:].all()):
        return None
    verbs = ("has", "stands") if count == 1 else ("have", "stand")
    text = f"{count} of {len(kept)} kept features {verbs[0]} score 0 and {verbs[1]} in column order"
    if count < len(kept) and scores.path is None:
        text += f": keep {len(kept) - count} at most"
    return text


def _are_zero(ranking: pd.DataFrame, rounding: float) -> ndarray:
    """Return which features of a ranking have neither a relevance nor a gain, with their groups."""
    relevance = ranking["relevance"].to_numpy(float)
    score = ranking["score"].to_numpy(float)
    zero = (np.abs(relevance) <= rounding) & ~(np.abs(score) > rounding)
    if "group" in ranking:
        group = ranking["group"].fillna("").to_numpy(str)
        of_features = pd.Series(zero)
        of_groups = of_features.groupby(group).transform("all")
        zero = of_features.where(group == "", of_groups).to_numpy(bool)
    return zero


def _rounding(request: Request, profile: Profile) -> float:
    """Return what no score exceeds that is 0 but for rounding: 0 where scores have a unit."""
    weights = request.parameters.get("label_weights", "uniform")
    if request.parameters.get("scaling") == "none" or weights not in WITHOUT_UNIT:
        return 0.0
    return ROUNDING * min(1.0, profile.total * profile.weight_unit)
