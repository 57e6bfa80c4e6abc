"""The report's section on the picked features as a set: a verdict in words, a suggested number, each label's best features, and
which picks say the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from ..pipeline import Result
from ..select.portrait import HALVINGS, MOST_LABELS, MOST_ROWS, Portrait
from .figures import curve
from .tables import number

SHOWN_PICKS, SHOWN_LABELS, NAMES_TOLD = 30, 20, 4
NEAR_COPY, FAINT = 0.9, 0.1  # |r| from which a pick repeats another, below which it tells nothing of a label

STYLE = """
.verdict{margin:0;padding-left:20px}.verdict li{margin:5px 0}
.map table{width:auto;border-collapse:separate;border-spacing:1px}
.map td,.map th{border:0;padding:0}
.map td{width:17px;min-width:17px;height:17px;border-radius:2px;background:color-mix(in srgb,var(--accent) var(--h),var(--track))}
.map td.n{background:color-mix(in srgb,var(--warm) var(--h),var(--track))}
.map td:hover{outline:2px solid var(--ink)}
.map thead th{padding:0 0 3px;font-size:10px;font-weight:400;text-align:center}
.map tbody th{position:sticky;left:0;background:var(--card);padding-right:8px;font-size:12px;font-weight:400;white-space:nowrap;
  max-width:250px;overflow:hidden;text-overflow:ellipsis;z-index:1}
.map td.say{width:auto;height:auto;min-width:230px;background:none;outline:0;font-size:12px;line-height:1.25;padding-left:10px;
  color:var(--soft)}
@media (max-width:560px){.map tbody th{max-width:104px}}
.scale{display:flex;align-items:center;gap:8px;font-size:12px;color:var(--soft);margin-top:10px}
.scale i{width:150px;height:9px;border-radius:5px;background:linear-gradient(90deg,var(--warm),var(--track),var(--accent))}
"""


def _e(text: object) -> str:
    return escape(str(text), quote=True)


def verdict(result: Result, portrait: Portrait | None, kept: int) -> str:
    """In words, first of all: what was chosen and why, how many features would do, what is repeated, what is left without."""
    said = []
    if "verdict" in result.scores.details:
        said.append(_e(result.scores.details["verdict"]))
    if portrait is not None:
        names = _names(result, portrait)
        said += [_enough(portrait, kept), _repeated(portrait, names), _without(portrait, result.label_names, kept)]
    if result.scores.converged is False:
        said.append("The solver had not converged when its iterations ran out: allow more (max_iter) before trusting the order.")
    said = [line for line in said if line]
    lines = "".join(f"<li>{line}</li>" for line in said)
    return f"<section><h2>In short</h2><ul class=verdict>{lines}</ul></section>" if said else ""


def _names(result: Result, portrait: Portrait) -> list[str]:
    return [str(result.feature_names[i]) for i in portrait.picks]


def _enough(p: Portrait, kept: int) -> str:
    k, most = p.suggested, len(p.picks)
    share, whole = (f"{number(100 * max(0.0, float(p.explained[i])), 2)} %" for i in (k - 1, most - 1))
    if p.explained.max() <= 0:
        return "A linear model of the picked features explains nothing of the labels on rows it was not fitted on."
    shown = f"the {most}" if most == kept else f"the first {most} of the {number(kept)}"
    if k == most:
        more = "try more" if most == kept else "the further ones were not looked at"
        return f"Up to the last of {shown} features every one still adds ({whole} of the labels’ variance explained): {more}."
    rest = f"{shown} kept explain {whole}"
    return (
        f"<b>{k} features would do</b>: they explain {share} of the labels’ variance (linearly, on held-out halves of the rows); "
        + (f"{rest}, not more." if p.explained[most - 1] <= p.explained[k - 1] else f"{rest}, which is within the spread.")
    )


def _repeated(p: Portrait, names: Sequence[str]) -> str:
    close = np.tril(np.abs(p.redundancy) >= NEAR_COPY, -1)
    again = np.flatnonzero(close.any(axis=1))
    if not len(again):
        return f"No two of the first {len(names)} picks repeat each other (no |r| of {NEAR_COPY} or more)."
    pairs = [f"{_e(names[i])} ({_e(names[int(np.argmax(close[i]))])})" for i in again[:NAMES_TOLD]]
    more = f" and {len(again) - NAMES_TOLD} more" if len(again) > NAMES_TOLD else ""
    return (
        f"{len(again)} of the first {len(names)} picks nearly {'repeats' if len(again) == 1 else 'repeat'} an earlier one "
        f"(|r| ≥ {NEAR_COPY}): {', '.join(pairs)}{more}."
    )


def _without(p: Portrait, labels: Sequence[str], kept: int) -> str:
    faint = [labels[i] for i in p.labels[np.abs(p.strength[:, 0]) < FAINT]]
    if not faint:
        return ""
    more = f" and {len(faint) - NAMES_TOLD} more" if len(faint) > NAMES_TOLD else ""
    shown = ", ".join(_e(name) for name in faint[:NAMES_TOLD]) + more
    among = f" (of the {MOST_LABELS} commonest labels)" if len(p.labels) == MOST_LABELS < len(labels) else ""
    without = f"No single one of {_seen(p, kept)} goes with {shown}{among}"
    return f"{without}, every |r| below {FAINT}: such labels need several features, or others."


def _seen(p: Portrait, kept: int) -> str:
    """Among which features each label's best were sought."""
    return f"the first {p.seen} of the {number(kept)} picks" if p.seen < kept else f"all {number(kept)} picks"


def sections(result: Result, portrait: Portrait | None, kept: int) -> str:
    """How many would do, each label's best features, and the redundancy of the picks."""
    if portrait is None:
        return ""
    return _growth(portrait, result.profile.n, kept) + _by_label(result, portrait, kept) + _alike(result, portrait, kept)


def _growth(p: Portrait, rows: int, kept: int) -> str:
    if len(p.picks) < 3:
        return ""
    values, spread = 100 * p.explained, 100 * p.spread
    band = (list(values - spread), list(values + spread))
    shown = curve(list(values), "picks", "% of the labels’ variance explained", p.suggested, f"{p.suggested} would do", band=band)
    text = (
        f"What a linear model of the first picks explains of the labels on the half of the rows it was not fitted on: mean and "
        f"standard deviation over {HALVINGS} random halvings. The line is where no larger number is better by more than the "
        "deviation of the difference. The picks themselves were made of all rows; a nonlinear model may use more of them."
    )
    if rows > MOST_ROWS:
        text += f" All of this page’s correlations and shares are of about {number(MOST_ROWS)} rows, drawn at random."
    if len(p.picks) < kept:
        text += f" The first {len(p.picks)} picks are shown."
    return f"<section><h2>How many would do?</h2><p class=soft>{text}</p>{shown}</section>"


def _by_label(result: Result, p: Portrait, kept: int) -> str:
    names, count = _names(result, p)[:SHOWN_PICKS], min(SHOWN_PICKS, len(p.picks))
    top = float(np.abs(p.relevance[:count]).max()) or 1.0
    lines = []
    for at, label in enumerate(p.labels[:SHOWN_LABELS]):
        r = p.relevance[:count, at]
        best = zip(p.best[at], p.strength[at], strict=True)
        told = ", ".join(f"{_e(result.feature_names[i])}\u00a0{number(round(float(v), 2))}" for i, v in best if abs(v) >= 0.005)
        name = _e(result.label_names[label])
        lines.append(f"<tr><th title='{name}'>{name}</th>{_cells(r, names, top)}<td class=say>{told or 'none'}</td></tr>")
    ranks = range(1, count + 1)
    more = len(result.label_names) - SHOWN_LABELS
    some = "each pick" if count == kept else f"the first {count} picks"
    text = f"Correlation of {some} (across, by rank) with each label; beside it the label’s two best of {_seen(p, kept)}."
    if more > 0:
        text += f" The {SHOWN_LABELS} commonest labels of {number(len(result.label_names))}."
    return f"<section><h2>Each label’s best features</h2><p class=soft>{text}</p>{_map(ranks, lines, top)}</section>"


def _alike(result: Result, p: Portrait, kept: int) -> str:
    count = min(SHOWN_PICKS, len(p.picks))
    if count < 3:
        return ""
    r = p.redundancy[:count, :count]
    order = clustered(r)
    names = [_names(result, p)[i] for i in order]
    lines = [
        f"<tr><th title='{_e(name)}'>{at + 1} {_e(name)}</th>{_cells(r[at, order], names)}</tr>"
        for at, name in zip(order, names, strict=True)
    ]
    text = (
        f"Correlation of the {f'first {count} ' if count < kept else ''}picks with each other, like beside like. A block of "
        "strong colour is one thing said several times: of such a block one or two features would do."
    )
    return f"<section><h2>Which picks say the same?</h2><p class=soft>{text}</p>{_map(order + 1, lines)}</section>"


def clustered(r: np.ndarray) -> np.ndarray:
    """An order of the features that puts like beside like: leaves of average linkage on 1 − |r|."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = np.clip(1 - np.abs((r + r.T) / 2), 0, None)
    np.fill_diagonal(distance, 0)
    return np.asarray(leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True)))


def _cells(r: np.ndarray, names: Sequence[str], top: float = 1.0) -> str:
    """A cell for each correlation, in full colour where it is ±`top`."""
    return "".join(
        f"<td{' class=n' if v < 0 else ''} style=--h:{100 * abs(v) / top:.0f}% title='{_e(name)} {v:.2f}'></td>"
        for v, name in zip(r, names, strict=True)
    )


def _map(ranks: Iterable[int], lines: Sequence[str], top: float = 1.0) -> str:
    heads = "".join(f"<th>{rank}</th>" for rank in ranks)
    table = f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    scale = f"<div class=scale>r = −{number(round(top, 2))}<i></i>{number(round(top, 2))}</div>"
    return f"<p class=hint>the map scrolls sideways →</p><div class='wide map'>{table}</div>{scale}"
