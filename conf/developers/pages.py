"""A page for every method: what it computes, parameters, measured cost, when to take it, an
example; and their index.

The text comes of the docstrings and the registry, the words of advice of
``notebooks/methods/advice.toml``, the figures of ``notebooks/methods/costs.json``, which ``python
conf/developers/pages.py [METHOD ...]`` measures anew. `generate.py` writes the pages."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spark_mlfs.methods import DEFAULT_METHOD, METHODS
from spark_mlfs.params import Parameter

FOLDER = Path(__file__).resolve().parents[2] / "notebooks" / "methods"
SIZES = ((1000, 100), (4000, 200), (16000, 400))  # rows and features of the measurements
LABELS = 10
PICKS = 50  # features asked for
LONGEST = 2.5  # CPU seconds after which a larger size is left out
EXAMPLE = 5  # features that the example asks for
SECTIONS = ("Symbols", "Raises", "Source", "Deviations")


def own_methods() -> list[str]:
    """The package's own methods."""
    return [name for name in METHODS if METHODS[name].__module__.startswith("spark_mlfs.")]


def pages() -> dict[Path, str]:
    """Every page and its text."""
    costs, advice = json.loads((FOLDER / "costs.json").read_text()), _advice()
    out = {FOLDER / f"{name}.md": page(name, costs, advice[name]) for name in own_methods()}
    return {**out, FOLDER / "README.md": index(costs, advice)}


def _advice() -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    advice: dict[str, Any] = tomllib.loads((FOLDER / "advice.toml").read_text(encoding="utf-8"))
    missing = set(own_methods()) - set(advice)
    if missing:
        raise SystemExit(
            f"notebooks/methods/advice.toml: give [{min(missing)}] with `use` and `avoid`"
        )
    return advice


def documentation(name: str) -> str:
    """What a method's class, or its module, says of it."""
    return METHODS[name].documentation()


def _paragraphs(text: str) -> str:
    """A docstring as Markdown: its sections as headings, double backquotes as single ones, lists
    apart from their sentence."""
    text = re.sub(rf"^({'|'.join(SECTIONS)}):[ \n]*", r"\n### \1\n\n", text, flags=re.M)
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r"^(?! {4}|\n|#|- )(.*)\n( {4})", r"\1\n\n\2", text, flags=re.M)
    text = re.sub(r"^( {4}.*)\n(?! {4}|\n)", r"\1\n\n", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def _table(heads: Iterable[str], lines: Iterable[Iterable[Any]]) -> str:
    heads = list(heads)
    rows = [
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
        for line in (heads, ["---"] * len(heads), *lines)
    ]
    return "\n".join(rows)


def _parameters(parameters: Iterable[Parameter]) -> str:
    lines = [(f"`{p.name}`", f"`{p.default}`", p.constraint, p.doc) for p in parameters]
    return (
        _table(("parameter", "default", "takes", "meaning"), lines) if lines else "None of its own."
    )


def seconds(value: float | None) -> str:
    """Seconds as a table shows them."""
    if value is None:
        return "not run"
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def page(name: str, costs: Mapping[str, Any], advice: Mapping[str, Any]) -> str:
    """The page of a method."""
    method, measured = METHODS[name], costs["methods"][name]
    text = documentation(name).partition("\n\n")[2]
    summary = " ".join(method.summary().split()).rstrip(".")
    order = "picks one by one" if method.greedy else "ranks all features at once"
    cost = [
        (
            f"{n:,} × {d} × {LABELS}".replace(",", " "),
            line["scans"] if line else "–",
            seconds(line and line["seconds"]),
        )
        for (n, d), line in zip(SIZES, measured["sizes"], strict=True)
    ]
    set_one = next(
        (f" --set {p.name}={p.default}" for p in method.parameters if p.name != "seed"), ""
    )
    return f"""# `{name}`: {method.title}

{summary} ({method.source}); {order}.

**Take it for.** {advice["use"]}

**Leave it for.** {advice["avoid"]}

## What it computes

{_paragraphs(text)}

## Parameters

{_parameters(method.parameters)}

## Cost

Passes over the data and seconds of one thread, {PICKS} features asked for, rows in memory \
({costs["about"]}).

{_table(("rows × features × labels", "scans", "seconds"), cost)}

## Example

```python
from sklearn.datasets import load_digits
import spark_mlfs

X, digit = load_digits(return_X_y=True, as_frame=True)
best = spark_mlfs.rank(X, digit, method="{name}", k={EXAMPLE})
best["name"]  # {", ".join(measured["example"])}
```

On Spark `spark_mlfs.MultiLabelSelector(method="{name}")`; on the command line

```sh
spark-mlfs select --data data/corpus.parquet --format parquet --features embedding --labels-col \
tags \\
  --method {name}{set_one} --num-top-features {EXAMPLE} --output runs/{name}
```

[All methods](README.md). Written by `python conf/developers/generate.py`.
"""


def index(costs: Mapping[str, Any], advice: Mapping[str, Any]) -> str:
    """The index: by what one has, then every method with its cost."""
    names = own_methods()
    parts = [
        "# The methods\n\nA page each: what it computes, parameters, cost, when to take it. "
        "Which does best on real data: [the evidence](../which-method.md).\n\nThe default is "
        f"`{DEFAULT_METHOD}`: what `MultiLabelSelector`, `rank` and the commands take.\n\n## By "
        "what you have\n"
    ]
    for key, title in advice["have"].items():
        lines = [
            f"- [`{n}`]({n}.md): {advice[n]['use'][:1].lower()}{advice[n]['use'][1:]}"
            for n in names
            if key in advice[n]["have"]
        ]
        parts.append(f"\n### {title}\n\n" + "\n".join(lines) + "\n")
    lines = []
    for name in names:
        sizes = [seconds(line and line["seconds"]) for line in costs["methods"][name]["sizes"]]
        lines.append(
            (
                f"[`{name}`]({name}.md)",
                METHODS[name].title,
                METHODS[name].source,
                METHODS[name].cost,
                *sizes,
            )
        )
    heads = (
        "method",
        "what it is",
        "source",
        "one fit needs",
        *(f"{n:,}".replace(",", " ") + f" × {d}, s" for n, d in SIZES),
    )
    parts.append(
        f"\n## All\n\nSeconds of one thread for {PICKS} features of rows in memory under {LABELS} "
        f"labels ({costs['about']}).\n\n"
        + _table(heads, lines)
        + "\n\nWritten by `python conf/developers/generate.py`.\n"
    )
    return "".join(parts)


# ---- measuring ----


def measure(names: Iterable[str]) -> dict[str, Any]:
    """The costs of methods on rows of this process, and what each gives in the example."""
    import platform

    from sklearn.datasets import load_digits

    from spark_mlfs.adapters.arrays import rank
    from spark_mlfs.blocks.arrays import pack_arrays
    from spark_mlfs.engine.base import one_thread
    from spark_mlfs.pipeline import Request
    from spark_mlfs.pipeline import rank as ranked

    digits, digit = load_digits(return_X_y=True, as_frame=True)
    data = [pack_arrays(*planted(n, d))[0] for n, d in SIZES]
    rank(*planted(200, 20), method="mim", k=5)  # what is imported when first needed
    out = {}
    for name in names:
        lines: list[dict[str, float] | None] = []
        for rows in data:
            line = None
            if not lines or (lines[-1] is not None and lines[-1]["seconds"] < LONGEST):
                started = time.process_time()
                with one_thread():
                    (result,) = ranked(rows, [Request.of(name, {}, PICKS)])
                line = {"scans": result.scans, "seconds": round(time.process_time() - started, 3)}
            lines.append(line)
        out[name] = {
            "sizes": lines,
            "example": list(rank(digits, digit, method=name, k=EXAMPLE)["name"]),
        }
        print(name, lines, flush=True)
    machine = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return {"about": machine, "methods": out}


def planted(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """(x, y): labels of two features each and noise, a tenth of the features noisy copies of
    others."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    copies = d // 10
    noise = 0.3 * rng.normal(size=(n, copies))
    x[:, -copies:] = x[:, :copies] + noise
    drives = x[:, :LABELS] + x[:, LABELS : 2 * LABELS]
    y = drives + rng.normal(size=(n, LABELS)) > 1.2
    return x, y.astype(float)


if __name__ == "__main__":
    measured = measure(sys.argv[1:] or own_methods())
    file = FOLDER / "costs.json"
    known = json.loads(file.read_text())["methods"] if sys.argv[1:] else {}
    file.write_text(
        json.dumps({**measured, "methods": {**known, **measured["methods"]}}, indent=1) + "\n"
    )
