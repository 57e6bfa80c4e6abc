"""Naive oracles of the counting methods, from tables of joint counts. Never imported by the
package.

`rank_by_score` and `greedy` follow the ranking rules, one function per method gives (ranking,
scores, gains). `codes` is (n, d) of `discretise.discretise`; y is (n, q) of 0 and 1, for `mim`,
`jmi` and `chi2` (br) also NaN for unknown. `constant` masks the features that are constant before
binning; without it a feature with one code counts as constant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, entr


class Ranking(NamedTuple):
    ranking: np.ndarray  # feature indices, best first
    scores: np.ndarray  # per feature
    gains: (
        np.ndarray | None
    )  # greedy methods: the criterion of each pick, in the order of the picks


def varying_labels(y):
    """The labels (columns) that have several values; all where none has."""
    y = np.asarray(y)
    varies = [len(np.unique(label[~np.isnan(label)])) > 1 for label in y.T.astype(float)]
    return y[:, varies] if any(varies) else y


def nine_digits(value):
    return float(f"{value:.8e}")


def rank_by_score(scores, constant):
    """Decreasing score, compared at 9 significant digits, ties to the smaller index; constant ones
    last, by index."""
    scores, constant = np.array(scores, float), np.asarray(constant, bool)
    others = np.flatnonzero(~constant)
    scores[constant] = min([0.0, *scores[others]])
    order = sorted(others, key=lambda f: (-nine_digits(scores[f]), f))
    return Ranking(np.array([*order, *np.flatnonzero(constant)], int), scores, None)


def greedy(first, criterion, constant, num_features=None, stop_below=None):
    """Pick by `first`, then by `criterion(picked)`; within 1e-10·max(1, |best|) of the best the
    smaller index wins."""
    constant = np.asarray(constant, bool)
    d = len(constant)
    left = list(np.flatnonzero(~constant))
    wanted = len(left) if num_features is None else min(num_features, len(left))
    picked, gains = [], []
    while len(picked) < wanted:
        values = np.asarray(criterion(picked) if picked else first)
        best = max(values[f] for f in left)
        if stop_below is not None and best < stop_below:
            break
        chosen = min(f for f in left if values[f] >= best - 1e-10 * max(1.0, abs(best)))
        picked.append(chosen)
        gains.append(values[chosen])
        left.remove(chosen)
    rest = [f for f in rank_by_score(first, constant).ranking if f not in set(picked)]
    ranking = np.array(picked + rest, int)
    scores = np.zeros(d)
    for position, f in enumerate(ranking):
        scores[f] = 0.0 if constant[f] else d - position
    return Ranking(ranking, scores, np.array(gains))


# Entropies ----


def joint_entropy(*columns, miller_madow=False):
    """H of one or several integer code columns taken together, from the counts of the distinct
    rows."""
    counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)[1]
    return float(table_entropy(counts, (0,), miller_madow))


def mutual_information(a, b, miller_madow=False):
    """I(a; b) = H(a) + H(b) − H(a, b), in nats; a and b are one code column each or a list of
    columns."""
    a, b = _as_columns(a), _as_columns(b)
    value = joint_entropy(*a, miller_madow=miller_madow) + joint_entropy(
        *b, miller_madow=miller_madow
    )
    return _clipped(value - joint_entropy(*a, *b, miller_madow=miller_madow), miller_madow)


def conditional_mutual_information(a, b, given, miller_madow=False):
    """I(a; b | given) = H(a, given) + H(b, given) − H(a, b, given) − H(given)."""
    a, b, given = _as_columns(a), _as_columns(b), _as_columns(given)
    value = joint_entropy(*a, *given, miller_madow=miller_madow) + joint_entropy(
        *b, *given, miller_madow=miller_madow
    )
    value -= joint_entropy(*a, *b, *given, miller_madow=miller_madow) + joint_entropy(
        *given, miller_madow=miller_madow
    )
    return _clipped(value, miller_madow)


def _as_columns(codes):
    return list(codes) if isinstance(codes, (list, tuple)) else [codes]


def _clipped(value, miller_madow):
    """A plug-in estimate cannot be negative but for rounding; a corrected one can."""
    return value if miller_madow else np.maximum(value, 0.0)


def table_entropy(counts, axes, miller_madow=False):
    """Entropy of the cells along `axes` of a table of counts; the other axes are kept (each has its
    own total)."""
    total = counts.sum(axis=axes, keepdims=True)
    share = counts / np.maximum(total, 1)
    value = entr(share).sum(axis=axes)
    if miller_madow:
        occupied = np.maximum((counts > 0).sum(axis=axes), 1)  # no observation, no correction
        value = value + (occupied - 1) / (2 * np.maximum(total.reshape(value.shape), 1))
    return value


def table_information(counts, a, b, given=(), miller_madow=False):
    """I(a; b | given) from a table of joint counts; a, b, given are tuples of its axes, the other
    axes are kept."""

    def h(*keep):
        drop = tuple(x for x in (*a, *b, *given) if x not in keep)
        return table_entropy(counts.sum(axis=drop, keepdims=True), (*a, *b, *given), miller_madow)

    value = h(*a, *given) + h(*b, *given) - h(*a, *b, *given)
    if given:
        value = value - h(*given)
    return _clipped(value, miller_madow)


# Tables of joint counts ----


def indicators(codes):
    """(n, columns, values) of 0 and 1: one-hot codes; NaN (unknown) has no value."""
    values = int(np.nanmax(codes)) + 1 if codes.size else 1
    return (np.asarray(codes)[:, :, None] == np.arange(values)).astype(float)


def cross_counts(left, right):
    """N[f, v, g, w] of two families of indicators."""
    n, a, av = left.shape
    _, b, bv = right.shape
    return np.rint(left.reshape(n, -1).T @ right.reshape(n, -1)).reshape(a, av, b, bv)


def split_counts(left, right, by):
    """N[f, v, w, g, u]: `cross_counts` within each value w of the indicators `by` (n, values)."""
    return np.stack(
        [cross_counts(left * by[:, None, None, w], right) for w in range(by.shape[1])], axis=2
    )


def target_codes(y, label_coding="br"):
    """The target variables as columns: the labels, or the labelset (the empty one included) as one
    class."""
    if label_coding == "br":
        return np.asarray(y)
    return np.unique(y, axis=0, return_inverse=True)[1].reshape(-1, 1)


def _constant(codes, constant):
    return (codes == codes[0]).all(axis=0) if constant is None else np.asarray(constant, bool)


def per_target(codes, targets, miller_madow=False):
    """(d, targets) of I(f; target), each over the rows where the target is known."""
    return table_information(
        cross_counts(indicators(codes), indicators(targets)), (1,), (3,), miller_madow=miller_madow
    )


# Information criteria ----


def mim(codes, y, label_coding="br", constant=None, miller_madow=False):
    """Σ_t I(f; t)."""
    return rank_by_score(
        per_target(codes, target_codes(y, label_coding), miller_madow).sum(axis=1),
        _constant(codes, constant),
    )


def _accumulating(term, combine):
    """A criterion whose picked features each add one vector term(s); combine(sum, number of
    picks)."""
    kept = {}

    def criterion(picked):
        for s in picked:
            if s not in kept:
                kept[s] = term(s)
        return combine(sum(kept[s] for s in picked), len(picked))

    return criterion


def jmi(codes, y, label_coding="br", num_features=None, constant=None, miller_madow=False):
    """Σ_{s∈S} Σ_t I((f, s); t)."""
    feature, target = indicators(codes), indicators(target_codes(y, label_coding))

    def term(s):
        counts = split_counts(feature, target, feature[:, s])
        return table_information(counts, (1, 2), (4,), miller_madow=miller_madow).sum(axis=1)

    first = mim(codes, y, label_coding, np.zeros(codes.shape[1], bool), miller_madow).scores
    return greedy(
        first, _accumulating(term, lambda total, _: total), _constant(codes, constant), num_features
    )


def cmi(codes, y, label_coding="br", num_features=None, constant=None, miller_madow=False):
    """Σ_t I(f; t | X_S), S jointly; stops when every gain is below 1e-10, the rest follows by
    MIM."""
    targets = target_codes(y, label_coding).astype(np.int64)
    first = mim(codes, y, label_coding, np.zeros(codes.shape[1], bool), miller_madow).scores

    def criterion(picked):
        return conditional_on_set(codes, targets, codes[:, picked], miller_madow).sum(axis=1)

    return greedy(first, criterion, _constant(codes, constant), num_features, stop_below=1e-10)


def conditional_on_set(codes, targets, given, miller_madow=False):
    """(d, targets) of I(f; t | all columns of `given` jointly).

    A cell of `given` with a single row adds (h + h − h − h) = 0 to the four entropies and is left
    out."""
    n, d = codes.shape
    count_of_row, cell = _cells_of(given)
    rows = count_of_row > 1
    out = np.zeros((d, targets.shape[1]))
    if not rows.any():
        return out
    codes, cell = codes[rows], np.unique(cell[rows], return_inverse=True)[1].ravel()
    # pairs[:, t] is one code of (cell, t), numbered on from target to target
    pairs, size = np.zeros((len(codes), targets.shape[1]), np.int64), 0
    owner = []
    for t in range(targets.shape[1]):
        code = np.unique(np.column_stack([cell, targets[rows, t]]), axis=0, return_inverse=True)[
            1
        ].ravel()
        pairs[:, t] = size + code
        size += code.max() + 1
        owner += [t] * (code.max() + 1)
    owner = np.array(owner)
    share = entr(np.arange(n + 1) / n)
    if miller_madow:
        share[1:] += 1 / (
            2 * n
        )  # each occupied cell adds 1/2n; the four −1/2n of the constant cancel
    h_given = share[np.bincount(cell)].sum()
    h_target = np.bincount(owner, share[np.bincount(pairs.ravel(), minlength=size)])
    for f in range(d):
        values = codes[:, f].max() + 1
        h_feature = share[np.bincount(cell * values + codes[:, f])].sum()
        joint = np.bincount(
            (pairs * values + codes[:, f][:, None]).ravel(), minlength=size * values
        )
        h_joint = np.bincount(owner, share[joint].reshape(size, values).sum(axis=1))
        out[f] = _clipped(h_feature + h_target - h_joint - h_given, miller_madow)
    return out


def _cells_of(given):
    """For each row how many rows share its joint value, and the number of that value."""
    _, cell, counts = np.unique(given, axis=0, return_inverse=True, return_counts=True)
    cell = cell.ravel()
    return counts[cell], cell


# Chi-squared ----


def chi2(codes, y, label_coding="br", aggregate="sum", constant=None):
    """Σ (O − E)²/E over the cells with E > 0, per target that varies; sum, mean or max."""
    y = varying_labels(y)
    observed = cross_counts(indicators(codes), indicators(target_codes(y, label_coding)))
    rows, columns = observed.sum(axis=3, keepdims=True), observed.sum(axis=1, keepdims=True)
    expected = rows * columns / np.maximum(observed.sum(axis=(1, 3), keepdims=True), 1)
    each = np.divide(
        (observed - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0
    ).sum(axis=(1, 3))
    return rank_by_score(
        {"sum": each.sum, "mean": each.mean, "max": each.max}[aggregate](axis=1),
        _constant(codes, constant),
    )


# Pruned problem transformation ----


def pruned(y, min_count):
    """The rows whose labelset occurs at least min_count times, and their classes."""
    count, labelset = _cells_of(np.asarray(y))
    rows = count >= min_count
    return rows, np.unique(labelset[rows], return_inverse=True)[1].ravel()


def ppt_cmi(
    codes, y, min_count=6, criterion="cmi", num_features=None, constant=None, miller_madow=False
):
    """CMI or MIM on the pruned labelsets as one class; `codes` and `constant` come from all
    training rows."""
    constant = _constant(codes, constant)
    rows, classes = pruned(y, min_count)
    if criterion == "mim":
        return mim(codes[rows], classes[:, None], "br", constant, miller_madow)
    return cmi(codes[rows], classes[:, None], "br", num_features, constant, miller_madow)


def ppt_knn(x, y, min_count=6, criterion="cmi", k=6, num_features=None):
    """The kNN estimator: MIM by I(f; class), or greedily the largest I(X_S ∪ f; class), S jointly
    in the maximum norm.

    Features standardised over all training rows (population variance), distances rounded to 10
    decimals. No stop rule: the estimate of a joint set does not saturate."""
    x = np.asarray(x, float)
    constant = x.max(axis=0) == x.min(axis=0)
    scale = np.where(constant, 1.0, x.std(axis=0))
    rows, classes = pruned(y, min_count)
    z = ((x - x.mean(axis=0)) / scale)[rows]
    varying = np.flatnonzero(~constant)
    first = np.zeros(x.shape[1])
    for f in varying:
        first[f] = ross_estimate(distances(z[:, f]), classes, k)
    if criterion == "mim":
        return rank_by_score(first, constant)

    def joint(picked):
        held = np.max([distances(z[:, s]) for s in picked], axis=0)
        values = np.full(x.shape[1], -np.inf)
        for f in varying:
            if f not in picked:
                values[f] = ross_estimate(np.maximum(held, distances(z[:, f])), classes, k)
        return values

    return greedy(first, joint, constant, num_features)


def distances(column, decimals=10):
    apart = np.abs(column[:, None] - column[None, :])
    return apart if decimals is None else np.round(apart, decimals)


def ross_estimate(distance, classes, k=6):
    """Ross'14, max(0, ψ(n) + ⟨ψ(k_i)⟩ − ⟨ψ(n_x)⟩ − ⟨ψ(m_i)⟩) from an n × n distance matrix.

    Classes of one row dropped; k_i = min(k, n_x − 1); m_i counts self and the rows strictly nearer
    than the k_i-th nearest of the same class, or when that one lies at distance 0 all rows at
    distance 0 (scikit-learn's radius is nextafter(r, 0))."""
    sizes = np.bincount(classes)[classes]
    keep = sizes > 1
    distance, classes, sizes = distance[np.ix_(keep, keep)], classes[keep], sizes[keep]
    n = len(classes)
    if n == 0:
        return 0.0
    neighbours = np.minimum(k, sizes - 1)
    radius = np.zeros(n)
    for c in np.unique(classes):
        members = np.flatnonzero(classes == c)
        # position 0 of each sorted row is the row itself, at distance 0
        within = np.sort(distance[np.ix_(members, members)], axis=1)
        radius[members] = within[:, neighbours[members[0]]]
    nearer = (distance <= np.nextafter(radius, 0)[:, None]).sum(axis=1)
    value = digamma(n) + digamma(neighbours).mean() - digamma(sizes).mean() - digamma(nearer).mean()
    return max(0.0, float(value))


# Interaction filters ----


def co_with_picked(codes, y, s, miller_madow=False):
    """(d, q) of co(f, s, l) = I(f; s) − I(f; s | l)."""
    feature, label = indicators(codes), indicators(y)
    counts = split_counts(feature, label, feature[:, s])  # [f, v, w, l, u]
    known = table_information(counts.sum(axis=4), (1,), (2,), miller_madow=miller_madow)
    return known - table_information(counts, (1,), (2,), (4,), miller_madow)


def co_with_labels(codes, y, chosen, miller_madow=False):
    """(d,) of Σ over unordered pairs l < l' of the chosen labels of co(f, l, l') = I(f; l) − I(f; l
    | l')."""
    feature, label = indicators(codes), indicators(y)
    out = np.zeros(codes.shape[1])
    for place, a in enumerate(chosen):
        later = list(chosen[place + 1 :])
        if later:
            counts = split_counts(
                feature, label[:, later], label[:, a]
            )  # [f, v, value of a, later label, its value]
            known = table_information(counts.sum(axis=4), (1,), (2,), miller_madow=miller_madow)
            out += (known - table_information(counts, (1,), (2,), (4,), miller_madow)).sum(axis=1)
    return out


def label_conditional(codes, y, miller_madow=False):
    """(d,) of Σ over ordered pairs l ≠ l' of I(f; l' | l)."""
    feature, label = indicators(codes), indicators(y)
    out = np.zeros(codes.shape[1])
    for given in range(y.shape[1]):
        others = [t for t in range(y.shape[1]) if t != given]
        if others:
            counts = split_counts(feature, label[:, others], label[:, given])
            out += table_information(counts, (1,), (4,), (2,), miller_madow).sum(axis=1)
    return out


def with_feature(codes, s, miller_madow=False):
    """(d,) of I(f; s)."""
    return per_target(codes, codes[:, [s]], miller_madow)[:, 0]


def d2f(codes, y, num_features=None, constant=None, miller_madow=False):
    """R(f) − Σ_s Σ_l co(f, s, l)."""
    r = per_target(codes, y, miller_madow).sum(axis=1)
    criterion = _accumulating(
        lambda s: co_with_picked(codes, y, s, miller_madow).sum(axis=1), lambda z, _: r - z
    )
    return greedy(r, criterion, _constant(codes, constant), num_features)


def pmu(codes, y, num_features=None, constant=None, miller_madow=False):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l')."""
    own = per_target(codes, y, miller_madow).sum(axis=1) - co_with_labels(
        codes, y, list(range(y.shape[1])), miller_madow
    )
    criterion = _accumulating(
        lambda s: co_with_picked(codes, y, s, miller_madow).sum(axis=1), lambda z, _: own - z
    )
    return greedy(own, criterion, _constant(codes, constant), num_features)


def mdmr(codes, y, num_features=None, constant=None, miller_madow=False):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; l | s)]."""
    r = per_target(codes, y, miller_madow).sum(axis=1)
    feature, label = indicators(codes), indicators(y)

    def term(s):
        counts = split_counts(feature, label, feature[:, s])
        return with_feature(codes, s, miller_madow) - table_information(
            counts, (1,), (4,), (2,), miller_madow
        ).sum(axis=1)

    return greedy(
        r,
        _accumulating(term, lambda total, k: r - total / k),
        _constant(codes, constant),
        num_features,
    )


def scls(codes, y, num_features=None, constant=None, miller_madow=False):
    """R(f)·(1 − Σ_s I(f; s)/H(f)); a feature without entropy has 0."""
    r = per_target(codes, y, miller_madow).sum(axis=1)
    h = table_entropy(indicators(codes).sum(axis=0), (1,), miller_madow)

    def combine(total, _):
        return r * (1 - np.divide(total, h, out=np.zeros_like(h), where=h > 0))

    criterion = _accumulating(lambda s: with_feature(codes, s, miller_madow), combine)
    return greedy(r, criterion, _constant(codes, constant), num_features)


def lrfs(codes, y, num_features=None, constant=None, miller_madow=False):
    """Σ_{l≠l'} I(f; l' | l) − mean_s I(f; s), l, l' labels that vary; of one I(f; l) before it."""
    y = varying_labels(y)
    if y.shape[1] == 1:
        own = per_target(codes, y, miller_madow)[:, 0]
    else:
        own = label_conditional(codes, y, miller_madow)
    criterion = _accumulating(
        lambda s: with_feature(codes, s, miller_madow), lambda total, k: own - total / k
    )
    return greedy(own, criterion, _constant(codes, constant), num_features)


def fimf(codes, y, num_labels=10, constant=None, miller_madow=False):
    """R(f) − Σ over the pairs of the labels of highest entropy of co(f, l, l')."""
    y = varying_labels(y)
    h = [
        nine_digits(joint_entropy(y[:, label], miller_madow=miller_madow))
        for label in range(y.shape[1])
    ]
    chosen = sorted(sorted(range(y.shape[1]), key=lambda label: (-h[label], label))[:num_labels])
    own = per_target(codes, y, miller_madow).sum(axis=1) - co_with_labels(
        codes, y, chosen, miller_madow
    )
    return rank_by_score(own, _constant(codes, constant))


def enm(codes, y, constant=None, miller_madow=False):
    """Euclidean norm of the vector of I(f; l)."""
    return rank_by_score(
        np.sqrt((per_target(codes, y, miller_madow) ** 2).sum(axis=1)), _constant(codes, constant)
    )


def gmm(codes, y, constant=None, miller_madow=False):
    """Geometric mean over the labels with both values of max(I(f; l), 1e-12)."""
    both = [label for label in range(y.shape[1]) if len(np.unique(y[:, label])) > 1]
    if not both:
        return rank_by_score(np.zeros(codes.shape[1]), _constant(codes, constant))
    # Σ p log(p / (p p)): a difference of entropies would leave nothing of an information near the
    # floor
    counts = cross_counts(indicators(codes), indicators(y[:, both]))
    rows, columns = counts.sum(axis=3, keepdims=True), counts.sum(axis=1, keepdims=True)
    n = counts.sum(axis=(1, 3), keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(
            counts > 0, counts / n * np.log1p((counts * n - rows * columns) / (rows * columns)), 0
        ).sum(axis=(1, 3))
    if miller_madow:
        filled = (
            ((rows > 0).sum(axis=(1, 3)) - 1)
            + ((columns > 0).sum(axis=(1, 3)) - 1)
            - ((counts > 0).sum(axis=(1, 3)) - 1)
        )
        each = each + filled / (2 * n[:, 0, :, 0])
    return rank_by_score(
        np.exp(np.log(np.maximum(each, 1e-12)).mean(axis=1)), _constant(codes, constant)
    )
