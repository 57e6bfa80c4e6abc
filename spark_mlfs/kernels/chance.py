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

SMALL = 12.0  # deviation up to which every k is visited
AT_ONCE = (
    1 << 14
)  # pairs that are looked at together, so that what is made of them stays in the cache
KEPT = 1 << 22  # numbers kept at most


def expected(n: float, a: np.ndarray, p: np.ndarray, both: bool = False) -> np.ndarray:
    """(k,) E[D] of the cells of a and p of n rows, pair by pair; with `both` that of the cells of a
    and n − p as well."""
    out = np.zeros(len(a))
    a, p = np.asarray(a, np.float64), np.asarray(p, np.float64)
    deviation = np.sqrt(a * (n - a) / n * (p * (n - p) / n) / max(n - 1, 1))
    order = np.argsort(deviation, kind="stable")
    order = order[deviation[order] > 0]
    for at in range(0, len(order), AT_ONCE):
        some = order[at : at + AT_ONCE]
        cut = np.searchsorted(deviation[some], SMALL, side="right")
        for part, by in ((some[:cut], _by_steps), (some[cut:], _by_lattice)):
            if len(part):
                out[part] = by(n, a[part], p[part], deviation[part], both)
    return out


def _divergence(k: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return k * np.log(np.where(k > 0, k, mean) / mean) - k + mean


def _by_steps(n: float, a: np.ndarray, p: np.ndarray, _: np.ndarray, both: bool) -> np.ndarray:
    mean, rest = a * p / n, a * (n - p) / n
    mode = np.clip(
        np.floor((a + 1) * (p + 1) / (n + 2)), np.maximum(0.0, a + p - n), np.minimum(a, p)
    )

    def of(k: np.ndarray, at: np.ndarray | slice) -> np.ndarray:
        return _divergence(k, mean[at]) + (_divergence(a[at] - k, rest[at]) if both else 0.0)

    mass, total = np.ones(len(a)), of(mode, slice(None))
    for up in (True, False):
        k, weight, at = mode.copy(), np.ones(len(a)), np.arange(len(a))
        while len(at):
            x, y = a[at], p[at]
            if up:
                weight *= (x - k) * (y - k) / ((k + 1) * (n - x - y + k + 1))
                k += 1
            else:
                weight *= k * (n - x - y + k) / ((x - k + 1) * (y - k + 1))
                k -= 1
            on = weight > 1e-20
            if not on.all():
                k, weight, at = k[on], weight[on], at[on]
            mass[at] += weight
            total[at] += weight * of(k, at)
    return total / mass


def _by_lattice(
    n: float, a: np.ndarray, p: np.ndarray, deviation: np.ndarray, both: bool
) -> np.ndarray:
    step, middle = np.floor(deviation / 1.25), np.rint(a * p / n)
    means = (a * p / n, a * (n - p) / n)[: 1 + both]
    logarithms = [np.log(mean) for mean in means]
    mass, total, first = np.zeros(len(a)), np.zeros(len(a)), np.zeros(0)
    for j in sorted(
        range(-13, 14), key=abs
    ):  # nearly ten deviations: every cell still holds rows there
        k = middle + j * step
        cells = (k, a - k, p - k, n - a - p + k)
        logs = [np.log(c) for c in cells]
        level = sum((c + 0.5) * log + 1 / (12 * c) for c, log in zip(cells, logs, strict=True))
        first = first if j else level
        weight = np.exp(first - level)
        mass += weight
        for c, log, mean, of_mean in zip(cells, logs, means, logarithms, strict=False):
            total += weight * (c * (log - of_mean) - c + mean)
    return total / mass


class Chance:
    """Fixed-point E[n·I], in units of 1/`scale`; that of an a is kept with what it was asked
    for."""

    def __init__(self, scale: float) -> None:
        self.scale, self._size = scale, 0
        self._known: dict[Any, tuple[np.ndarray, np.ndarray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"scale": self.scale, "_size": 0, "_known": {}}

    def summed(self, a: np.ndarray, rows: np.ndarray, n: int | None = None) -> np.ndarray:
        """(…,) of codes of `a` rows, summed over classes of these `rows`, or over labels of these
        rows among n."""
        both, n = n is not None, int(rows.sum() if n is None else n)
        p, times = np.unique(
            np.minimum(rows, n - rows) if both else rows, return_counts=True
        )  # a label ties with its complement
        wanted, place = np.unique(a, return_inverse=True)
        key, none = (n, both, p.tobytes(), times.tobytes()), np.zeros(0, np.int64)
        known, values = self._known.get(key, (none, none))
        new = np.setdiff1d(wanted, known, assume_unique=True)
        if len(new):
            known, parts, step = np.concatenate([known, new]), [values], 1 + 16 * AT_ONCE // len(p)
            for some in (new[at : at + step] for at in range(0, len(new), step)):
                each = expected(n, np.repeat(some, len(p)), np.tile(p, len(some)), both).reshape(
                    len(some), -1
                )
                parts.append(np.rint(each * self.scale).astype(np.int64) @ times)
            order, kept = np.argsort(known), self._size <= KEPT
            known, values = known[order], np.concatenate(parts)[order]
            self._known = {**(self._known if kept else {}), key: (known, values)}
            self._size = self._size * kept + len(new)
        return values[np.searchsorted(known, wanted)][place.reshape(a.shape)]

    def by_label(self, counts: np.ndarray, q: int, unknown: np.ndarray | None) -> np.ndarray:
        """(F, q) of the informations of `information.label_information`, each over the rows where
        the label is known."""
        out, codes = np.zeros((len(counts), q), np.int64), counts[:, :, 0]
        for at in range(q if len(counts) else 0):
            known = codes if unknown is None else codes - unknown[:, :, at]
            out[:, at] = self.summed(known, counts[:1, :, 1 + at].sum(axis=1), known[0].sum()).sum(
                axis=1
            )
        return out
