"""What an information is by chance: E[n·I] over all tables with the same margins (Vinh, Epps &
Bailey, JMLR 11, 2010, Eq. 24a).

With codes of a rows and classes of p rows among n, a cell holds k rows, k hypergeometric with mean
μ = ap/n, and

    E[n·I] = Σ over codes and classes of E[D(k, μ)],    D(k, μ) = k log(k/μ) − k + μ ≥ 0:

the margins decide alone, so that a feature costs its distinct (a, p) only. Of a small deviation σ
the sum goes from the mode outwards by the ratio of neighbours, until they weigh nothing (some 20
steps where μ is small); of a large one it takes every ⌊σ/1.25⌋-th k, as exact for a curve as smooth
as that (the error is e^(−2π²·1.25²)), with Stirling's series for the weights. About 1 µs a pair:
10⁴ distinct counts × 500 labels take 5 to 10 s of one core, once a run. Every pair's bits are its
own, whatever is computed beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

SMALL = 12.0  # deviation up to which every k is visited
# pairs that are looked at together, so that what is made of them stays in the cache
AT_ONCE = 1 << 14
KEPT = 1 << 22  # numbers kept at most
LEAST_WEIGHT = 1e-20  # of a k, beside the mode's
STEPS = 13  # to each side: nearly ten deviations


def expected(
    n: float,
    a: ndarray,
    p: ndarray,
    both: bool = False,
) -> ndarray:
    """Return (k,) E[D] of the cells of a and p of n rows, pair by pair.

    With `both` that of the cells of a and n − p as well."""
    out = np.zeros(len(a))
    a = np.asarray(a, np.float64)
    p = np.asarray(p, np.float64)
    deviation = np.sqrt(a * (n - a) / n * (p * (n - p) / n) / max(n - 1, 1))
    order = np.argsort(deviation, kind="stable")
    order = order[deviation[order] > 0]
    for first in range(0, len(order), AT_ONCE):
        pairs = order[first : first + AT_ONCE]
        cut = np.searchsorted(deviation[pairs], SMALL, side="right")
        small = pairs[:cut]
        if len(small):
            out[small] = _by_steps(n, a[small], p[small], both)
        large = pairs[cut:]
        if len(large):
            out[large] = _by_lattice(
                n,
                a[large],
                p[large],
                deviation[large],
                both,
            )
    return out


def _divergence(k: ndarray, mean: ndarray) -> ndarray:
    """Return D(k, μ)."""
    return k * np.log(np.where(k > 0, k, mean) / mean) - k + mean


def _by_steps(
    n: float,
    a: ndarray,
    p: ndarray,
    both: bool,
) -> ndarray:
    """Return E[D] by every k from the mode outwards, until it weighs nothing."""
    mean = a * p / n
    other_mean = a * (n - p) / n
    mode = np.floor((a + 1) * (p + 1) / (n + 2))
    mode = np.clip(mode, np.maximum(0.0, a + p - n), np.minimum(a, p))

    def divergence(k: ndarray, pairs: ndarray | slice) -> ndarray:
        of_cell = _divergence(k, mean[pairs])
        return of_cell + (_divergence(a[pairs] - k, other_mean[pairs]) if both else 0.0)

    mass = np.ones(len(a))
    total = divergence(mode, slice(None))
    for upwards in (True, False):
        k = mode.copy()
        weight = np.ones(len(a))
        pairs = np.arange(len(a))  # those of which a further k has weight
        while len(pairs):
            x = a[pairs]
            y = p[pairs]
            if upwards:
                weight *= (x - k) * (y - k) / ((k + 1) * (n - x - y + k + 1))
                k += 1
            else:
                weight *= k * (n - x - y + k) / ((x - k + 1) * (y - k + 1))
                k -= 1
            matters = weight > LEAST_WEIGHT
            if not matters.all():
                k = k[matters]
                weight = weight[matters]
                pairs = pairs[matters]
            mass[pairs] += weight
            total[pairs] += weight * divergence(k, pairs)
    return total / mass


def _by_lattice(
    n: float,
    a: ndarray,
    p: ndarray,
    deviation: ndarray,
    both: bool,
) -> ndarray:
    """Return E[D] by k a step apart around the mean.

    Every cell holds rows there, so that Stirling's series serves its weight."""
    step = np.floor(deviation / 1.25)
    middle = np.rint(a * p / n)
    means = [a * p / n]
    if both:
        means.append(a * (n - p) / n)
    logs_of_means = [np.log(mean) for mean in means]
    mass = np.zeros(len(a))
    total = np.zeros(len(a))
    level_of_middle = np.zeros(0)
    for j in sorted(range(-STEPS, STEPS + 1), key=abs):
        k = middle + j * step
        cells = [k, a - k, p - k, n - a - p + k]
        logs = [np.log(cell) for cell in cells]
        series = zip(cells, logs, strict=True)
        level = sum((cell + 0.5) * log + 1 / (12 * cell) for cell, log in series)
        if j == 0:  # the first
            level_of_middle = level
        weight = np.exp(level_of_middle - level)
        mass += weight
        # the first two cells are those of the means
        for cell, log, mean, log_of_mean in zip(
            cells,
            logs,
            means,
            logs_of_means,
            strict=False,
        ):
            total += weight * (cell * (log - log_of_mean) - cell + mean)
    return total / mass


class Chance:
    """Fixed-point E[n·I], in units of 1/`scale`; that of an a is kept with its margins."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self._size = 0
        self._known: dict[Any, tuple[ndarray, ndarray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "_size": 0,
            "_known": {},
        }

    def summed(self, a: ndarray, rows: ndarray, n: int | None = None) -> ndarray:
        """Return E[n·I] (…,) of codes of `a` rows, summed over classes of these `rows`.

        With n they are labels of these rows among n."""
        both = n is not None
        n = int(rows.sum() if n is None else n)
        # a label ties with its complement
        margins = np.minimum(rows, n - rows) if both else rows
        p, times = np.unique(margins, return_counts=True)
        distinct, place = np.unique(a, return_inverse=True)
        key = (n, both, p.tobytes(), times.tobytes())
        empty = np.zeros(0, np.int64)
        known, values = self._known.get(key, (empty, empty))
        new = np.setdiff1d(distinct, known, assume_unique=True)
        if len(new):
            known = np.concatenate([known, new])
            values = np.concatenate(
                [
                    values,
                    *self._sums(
                        n,
                        new,
                        p,
                        times,
                        both,
                    ),
                ]
            )
            order = np.argsort(known)
            known = known[order]
            values = values[order]
            if self._size > KEPT:
                self._known = {}
                self._size = 0
            self._known = {**self._known, key: (known, values)}
            self._size += len(new)
        return values[np.searchsorted(known, distinct)][place.reshape(a.shape)]

    def _sums(
        self,
        n: int,
        a: ndarray,
        p: ndarray,
        times: ndarray,
        both: bool,
    ) -> list[ndarray]:
        """Return Σ over the margins p, each so many `times`, of E[D] of the a, in parts."""
        parts = []
        step = 1 + 16 * AT_ONCE // len(p)
        for first in range(0, len(a), step):
            part = a[first : first + step]
            cells = expected(n, np.repeat(part, len(p)), np.tile(p, len(part)), both)
            cells = cells.reshape(len(part), -1)
            parts.append(np.rint(cells * self.scale).astype(np.int64) @ times)
        return parts

    def by_label(self, counts: ndarray, q: int, unknown: ndarray | None) -> ndarray:
        """Return (F, q) of the informations of `information.label_information`.

        Each is over the rows where the label is known."""
        out = np.zeros((len(counts), q), np.int64)
        if not len(counts):
            return out
        codes = counts[:, :, 0]
        for label in range(q):
            known = codes if unknown is None else codes - unknown[:, :, label]
            rows = counts[:1, :, 1 + label].sum(axis=1)
            out[:, label] = self.summed(known, rows, known[0].sum()).sum(axis=1)
        return out
