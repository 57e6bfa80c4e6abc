"""Shared by methods that add up over labels: how much each label counts, and how often labels are
wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import ParameterError, quantity, setting
from ..params import Number, NumberList, Optional, Parameter, Values
from ..statistics.targets import Labels

LABEL_WEIGHTS = Parameter(
    "label_weights",
    "uniform",
    NumberList(
        Number(0),
        "one number of 0 or more for each label, in their order, or {label: number}, others 1",
        words=("uniform", "entropy", "size"),
        named=True,
    ),
    "how much each label counts in the sum over them: 1, 1/H(l) (0 for a label with one value), "
    "1/q, or as given",
)


LABEL_NOISE = Parameter(
    "label_noise",
    None,
    Optional(NumberList(Number(0, 1), "two probabilities fp, fn below 1 together", 2)),
    "probability that an absent label is reported, and that a present one is missed: counts are "
    "corrected for it",
)


def by_place(p: Values, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the parameters with ``label_weights`` by name as a list.

    Labels that are not named have 1. `ParameterError` for an unknown name."""
    weights = p.get(LABEL_WEIGHTS.name)
    if not isinstance(weights, Mapping):
        return p
    for name in weights:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            if near:
                hint = f"did you mean {near[0]!r}?"
            else:
                hint = f"the labels are {', '.join(names[:10])}{', …' * (len(names) > 10)}"
            raise ParameterError(
                f"{setting(LABEL_WEIGHTS.name)}: there is no label {name!r}; {hint}"
            )
    return {**p, LABEL_WEIGHTS.name: [float(weights.get(name, 1.0)) for name in names]}


def label_weights(profile: Profile, p: Values) -> np.ndarray | None:
    """Return (q,) the weights that the parameter ``label_weights`` comes to.

    None: every label counts once. H(l) is the entropy, in nats, of label l over its known rows, of
    a graded one that of its mean grade. `ParameterError` where there is a wrong number of them, or
    all are 0."""
    weights = p.get("label_weights", "uniform")
    q = profile.q
    if weights == "uniform":
        return None
    if weights == "size":
        return np.full(q, 1 / q)
    if weights == "entropy":
        share = profile.label_mass / np.maximum(profile.observed_total, 1)
        shares = np.stack([share, 1 - share])
        entropy = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=0)
        return np.divide(1, entropy, out=np.zeros(q), where=entropy > 0)
    if isinstance(weights, Mapping):
        raise ParameterError(
            f"{setting(LABEL_WEIGHTS.name)} by name need the labels' names, which are not known "
            "here; give a list in their order"
        )
    num_labels = q + len(profile.left_out)
    if len(weights) != num_labels:
        raise ParameterError(
            f"{setting(LABEL_WEIGHTS.name)} has {quantity(len(weights), 'number')}, the data have "
            f"{num_labels} labels; give every label one"
        )
    weights = np.delete(np.array(weights, np.float64), profile.left_out)
    if not weights.any():
        raise ParameterError(
            f"{setting(LABEL_WEIGHTS.name)} are all 0; give some label that varies a weight"
        )
    return weights


def label_scale(profile: Profile, p: Values) -> np.ndarray | None:
    """Return (q,) the roots of the label weights, factors of the labels in squared errors."""
    weights = label_weights(profile, p)
    return None if weights is None else np.sqrt(weights)


def labels_of(engine: Engine, p: Values) -> Labels:
    """Return the labels with the parameters ``label_weights`` and ``label_noise``.

    `ParameterError` where these make no sense."""
    weights = label_weights(engine.profile, p)
    noise = p.get("label_noise")
    if noise is not None and sum(noise) >= 1:
        raise ParameterError(
            f"{setting(LABEL_NOISE.name, list(noise))} add up to 1 or more: such labels tell "
            "nothing, or the opposite; give the probabilities that an absent label is "
            "reported and that a present one is missed"
        )
    labels = engine.labels()
    if weights is not None:
        labels = replace(labels, weights=tuple(float(w) for w in weights))
    if noise and any(noise):
        labels = labels.with_noise((noise[0], noise[1]), engine.profile.total)
    return labels


def refuse_with_labelsets(p: Values) -> None:
    """Raise `ParameterError` for weights or noise of labels beside labelsets as one class.

    Single labels are no longer told apart then, so that none can be weighed or corrected."""
    for parameter in (LABEL_WEIGHTS, LABEL_NOISE):
        if p.get(parameter.name, parameter.default) != parameter.default:
            raise ParameterError(
                f"{setting(parameter.name)} goes with {setting('label_coding', 'br')}, which looks "
                "at each label; leave one out"
            )
