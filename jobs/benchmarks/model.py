"""The case model: fits the coefficients by which ``--dry-run`` predicts what a run takes
(`spark_mlfs/cli/costs.json`), and writes the page notebooks/scale.md from them.

CPU seconds of this process on one thread are measured: of reading and packing by format, of each
method over data that differ in rows, features, labels and picks, and of whole commands.
Non-negative least squares of the relative errors give the seconds that each quantity of
`cli.dry_run` takes; what a method does not show in these runs has none. `check` compares with
larger commands."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.optimize
import scipy.sparse as sp

from .corpora import CORPORA, parts_of
from .laptop import ROOT, command
from .meter import Meter, machine, moment

COSTS, PAGE = ROOT / "spark_mlfs" / "cli" / "costs.json", ROOT / "notebooks" / "scale.md"
LIMIT = 5.0  # seconds of one run; larger ones of a method are left out behind one that takes longer
# rows, features, labels, picks, values a row (None: dense)
SMALL = (
    (2000, 50, 5, 10, None),
    (8000, 50, 5, 10, None),
    (2000, 150, 5, 10, None),
    (2000, 50, 20, 10, None),
    (2000, 50, 5, 30, None),
    (5000, 2000, 20, 10, 20),
    (20_000, 2000, 20, 10, 20),
    (5000, 2000, 80, 10, 20),
    (5000, 6000, 20, 30, 20),
)
Run = tuple[
    str, dict[str, float], float
]  # whether rows are sparse or dense, the quantities, CPU seconds
LARGE = (
    "mim",
    "ridge",
    "jmi",
    "forward",
)  # also over corpora of up to 1,000,000 sparse rows, 100,000 dense ones
WIDE = 1_000_000  # features of the command whose seconds a feature are fitted
SHARES = {
    "sparse of few words": (0.03,),
    "sparse": (0.01, 0.03, 0.1, 1.0),
    "dense": (0.005, 0.02, 0.1),
}


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """`TimeoutError` for what takes longer."""

    def late(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a piece of work, of processes of its own too, and what it gives."""
    from spark_mlfs.cli.trial_costs import cpu_seconds

    started = cpu_seconds()
    out = work()
    return cpu_seconds() - started, out


def fit(runs: list[Run]) -> dict[str, dict[str, float]]:
    """Seconds of each quantity of sparse and of dense rows: non-negative, least squares of the
    errors relative to the square root of what was measured, so that long runs count for more."""
    out = {}
    for kind in {kind for kind, *_ in runs}:
        measured = [
            (amounts, max(seconds, 1e-4)) for run_kind, amounts, seconds in runs if run_kind == kind
        ]
        terms, root = list(measured[0][0]), np.sqrt([seconds for _, seconds in measured])
        a = np.array([[amounts[term] for term in terms] for amounts, _ in measured]) / root[:, None]
        scale = np.maximum(a.max(axis=0), 1e-300)
        solution, _ = scipy.optimize.nnls(a / scale, root)
        out[kind] = {
            term: float(f"{value:.4g}")
            for term, value in zip(terms, solution / scale, strict=True)
            if value > 0
        }
    return out


def without_start(coefficients: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """What is read once, whatever the rows, is in the seconds of a command already."""
    return {
        kind: {term: by for term, by in terms.items() if term != "run"}
        for kind, terms in coefficients.items()
    }


def generated(n: int, d: int, q: int, values: int | None) -> Any:
    """Rows of this process in which a few features drive each label."""
    from spark_mlfs.blocks.arrays import pack_arrays

    rng = np.random.default_rng([n, d, q])
    first = np.arange(q) % d
    second = (7 * np.arange(q) + 1) % d
    if values is None:
        x: Any = np.round(rng.normal(size=(n, d)), 2)
        drives = x[:, first] + x[:, second]
    else:
        x = sp.random(n, d, values / d, "csr", rng=rng, data_rvs=lambda size: np.ones(size))
        drives = np.asarray((x[:, first] + x[:, second]).todense()) + 0.01
    y = drives + rng.normal(size=(n, q)) > (1.5 if values is None else 1.9)
    y[np.arange(q), np.arange(q)] = True
    return pack_arrays(x, y.astype(np.int8))[0]


# ---- what is fitted ----


def rank_one(rows: Any, method: str, count: int, limit: float) -> Run | None:
    """Quantities and CPU seconds of a ranking with its portrait; None where it takes too long, or
    is refused."""
    from spark_mlfs import pipeline
    from spark_mlfs.cli.dry_run import quantities
    from spark_mlfs.errors import SparkMlfsError

    request = pipeline.Request.of(method, {}, count)

    def work() -> None:
        (result,) = pipeline.rank(rows, [request])
        pipeline.portrait(rows, result, count)

    try:
        with limited(limit):
            seconds, _ = cpu(work)
    except (TimeoutError, SparkMlfsError):
        return None
    amounts = quantities(rows.profile, request.implementation, request.parameters, count)
    return kind_of(rows), amounts, seconds


def kind_of(rows: Any) -> str:
    return "sparse" if rows.profile.sparse else "dense"


def methods(
    large: list[Any], budget: float, only: Collection[str] | None = None
) -> dict[str, dict[str, dict[str, float]]]:
    from spark_mlfs import METHODS

    names = [name for name in METHODS if name not in LARGE]
    names = [name for name in [*LARGE, *names] if only is None or name in only]
    sets = [(generated(n, d, q, values), count) for n, d, q, count, values in SMALL]
    for rows, _ in sets:
        rows.cores = 1
    runs: dict[str, list[Run]] = {}
    started = time.perf_counter()
    for name in names:  # of larger data only the first
        if time.perf_counter() - started > budget:
            print(f"no time left for {name} and those behind it", flush=True)
            break
        rank_one(sets[0][0], name, 5, LIMIT)  # what is imported once
        for rows, count in sets:
            run = rank_one(rows, name, count, LIMIT)
            runs.setdefault(name, []).extend([run] if run else [])
            if run is None and rows.profile.n < 5000:
                break
    for name in LARGE:
        for rows in large if name in names else ():
            run = rank_one(rows, name, 50, 8 * LIMIT)
            runs[name] += [run] if run else []
    out = {}
    for name, measured in runs.items():
        if len(measured) > 3:
            out[name] = fit(measured)
            off = [
                sum(by * amounts[term] for term, by in out[name][kind].items()) / max(s, 1e-4)
                for kind, amounts, s in measured
            ]
            ratios = f"{min(off):.2f} to {max(off):.2f}"
            print(f"{name}: {len(measured)} runs, predicted / measured {ratios}", flush=True)
    return out


CLASSIFIED = (
    (1000, 40, 5, 40, None),
    (4000, 40, 5, 40, None),
    (2000, 120, 5, 120, None),
    (2000, 40, 20, 40, None),
    (5000, 2000, 20, 100, 20),
    (20_000, 2000, 20, 100, 20),
    (5000, 2000, 60, 100, 20),
    (5000, 2000, 20, 400, 20),
)  # rows, features, labels, kept features, values a row
OF_TREES = (
    (2000, 1000, 30, 1000, 20),
    (8000, 1000, 30, 1000, 20),
    (4000, 2000, 300, 2000, 20),
    (16_000, 2000, 300, 2000, 20),
    (4000, 2000, 2000, 2000, 20),
    (8000, 8000, 2000, 8000, 40),
    (8000, 8000, 4000, 1000, 40),
)  # the same of label trees, each row with three labels
TERMS_OF_TREES = ("run", "row", "value", "row and label", "value and node")


def tagged(n: int, d: int, q: int, values: int) -> Any:
    """Rows of words of which a quarter go by three labels each."""
    from spark_mlfs.blocks.arrays import pack_arrays

    rng = np.random.default_rng([n, d, q])
    labels = rng.integers(0, q, (n, 3))
    quarter = values // 4
    own = (labels[:, rng.integers(0, 3, quarter)] * 7 + rng.integers(0, 5, quarter)) % d
    words = np.hstack([own, rng.integers(0, d, (n, values - quarter))])
    matrices = []
    for places, width in ((words, d), (labels, q)):
        rows = np.repeat(np.arange(n), places.shape[1])
        matrix = sp.csr_matrix((np.ones(places.size), (rows, places.ravel())), (n, width))
        matrix.data[:] = 1  # of a place that was drawn twice, too
        matrices.append(matrix)
    return pack_arrays(*matrices)[0]


def classifiers(
    budget: float, only: Collection[str] | None = None
) -> dict[str, dict[str, dict[str, float]]]:
    """The seconds of fitting each classifier on the features that a selection keeps."""
    from spark_mlfs import CLASSIFIERS

    flat = [(generated(n, d, q, values), count) for n, d, q, count, values in CLASSIFIED]
    out = {}
    started = time.perf_counter()
    names = [*CLASSIFIERS, *(name for name in only or () if name in CLASSIFIERS)]
    for name in [name for name in dict.fromkeys(names) if only is None or name in only]:
        if time.perf_counter() - started > budget:
            break
        sets, limit, terms = flat, 2 * LIMIT, None
        if name == "plt":
            sets = [(tagged(n, d, q, values), count) for n, d, q, count, values in OF_TREES]
            limit *= 4
            terms = TERMS_OF_TREES
        fit_one(sets[0][0], name, 5, limit)  # what is imported once
        runs = [fit_one(rows, name, count, limit) for rows, count in sets]
        measured = [run for run in runs if run is not None]
        if terms is not None:
            measured = [(kind, {t: by[t] for t in terms}, s) for kind, by, s in measured]
        if len(measured) > 3:
            out[name] = fit(measured)
            off = [
                sum(by * amounts[term] for term, by in out[name][kind].items()) / s
                for kind, amounts, s in measured
            ]
            ratios = f"predicted / measured {min(off):.2f} to {max(off):.2f}"
            print(f"{name}: {len(measured)} runs, {ratios}", flush=True)
    return out


def fit_one(rows: Any, name: str, count: int, limit: float) -> Run | None:
    """Quantities and CPU seconds of a fit on the fullest features; None where it takes too long."""
    from spark_mlfs.adapters.classes import Fit
    from spark_mlfs.blocks.arrays import pack_arrays
    from spark_mlfs.classify import CLASSIFIERS
    from spark_mlfs.cli.dry_run import fit_quantities
    from spark_mlfs.errors import SparkMlfsError
    from spark_mlfs.params import check
    from spark_mlfs.pipeline import compute

    fullest = np.sort(np.argsort(rows.profile.stored, kind="stable")[-count:])
    labels = rows.block.labels(rows.profile.q)
    kept = pack_arrays(rows.block.x[:, fullest], labels.astype(np.int8))[0]
    classifier = CLASSIFIERS.create(name)
    parameters = check(classifier.parameters, {}, name)
    try:
        with limited(limit):
            seconds, _ = cpu(lambda: compute(kept, Fit(classifier, parameters)))
    except (TimeoutError, SparkMlfsError):
        return None
    return kind_of(kept), fit_quantities(rows.profile, count), seconds


def tables(folder: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Files of each format (name, path and options), of two sizes and two widths."""
    import pandas as pd

    for n, d in ((500, 20), (10_000, 20), (2000, 100)):
        rng = np.random.default_rng(n + d)
        x = np.round(rng.normal(size=(n, d)), 3)
        y = (rng.random((n, 3)) < 0.4).astype(int)
        frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(d)]).assign(
            **{f"y{j}": y[:, j] for j in range(3)}
        )
        path = folder / f"{n}-{d}"
        named = {"features": "x*", "labels": ["y0", "y1", "y2"]}
        frame.to_csv(f"{path}.csv", index=False)
        yield "csv", f"{path}.csv", named
        frame.to_parquet(f"{path}.parquet")
        yield "parquet", f"{path}.parquet", named
        frame.to_json(f"{path}.json", orient="records", lines=True)
        yield "json", f"{path}.json", named
        cells = "\n".join(
            ",".join(map(str, [*row, *labels])) for row, labels in zip(x, y, strict=True)
        )
        declared = [f"@attribute x{j} numeric" for j in range(d)] + [
            f"@attribute y{j} {{0,1}}" for j in range(3)
        ]
        Path(f"{path}.arff").write_text("\n".join(["@relation r", *declared, "@data", cells, ""]))
        yield "arff", f"{path}.arff", {"labels": -3}
        lines = []
        for row, labels in zip(x, y, strict=True):
            tags = ",".join(map(str, np.flatnonzero(labels)))
            values = " ".join(f"{j + 1}:{value}" for j, value in enumerate(row))
            lines.append(f"{tags} {values}")
        Path(f"{path}.svm").write_text("\n".join(lines) + "\n")
        yield "libsvm", f"{path}.svm", {"num_labels": 3}
        lines = [line.replace(f" {d}:", " 0:") for line in lines]
        Path(f"{path}.xc").write_text("\n".join([f"{n} {d} 3", *lines]) + "\n")
        yield "xc", f"{path}.xc", {}
        scipy.io.savemat(f"{path}.mat", {"X": x, "Y": y})
        yield "mat", f"{path}.mat", {}
        words = rng.zipf(1.4, (n, d)) % 5000
        texts = [" ".join(f"w{word}" for word in row) for row in words]
        tagged = [
            " ".join(f"__label__{j}" for j in np.flatnonzero(labels)) or "__label__none"
            for labels in y
        ]
        Path(f"{path}.ft").write_text("\n".join(map(" ".join, zip(tagged, texts, strict=True))))
        yield "fasttext", f"{path}.ft", {"min_df": 1}
        bodies = pd.DataFrame({"body": texts}).assign(**{f"y{j}": y[:, j] for j in range(3)})
        bodies.to_csv(f"{path}-texts.csv", index=False)
        options = {"source": "csv", "text": "body", "labels": ["y0", "y1", "y2"], "min_df": 1}
        yield "text of csv", f"{path}-texts.csv", options
        yield "planted", None, {"num_rows": n, "num_features": d, "num_labels": 5}
        yield "numbers", None, {"num_rows": n // 4}


def readings(only: Collection[str] | None = None) -> dict[str, list[Run]]:
    """Figures of reading small files, by format."""
    reads: dict[str, list[Run]] = {}
    with tempfile.TemporaryDirectory() as place:
        for format, path, options in tables(Path(place)):
            if only is not None and format not in only:
                continue
            if format not in reads:
                packed(format, path, options)  # what is imported once
            reads.setdefault(format, []).append(packed(format, path, options)[0])
    return reads


def refit(only: Collection[str], budget: float) -> None:
    """Fit some methods, classifiers and formats by small runs, and keep what is known of others."""
    known = json.loads(COSTS.read_text())
    reads = {format: without_start(fit(runs)) for format, runs in readings(only).items()}
    print(json.dumps(reads), flush=True)
    known["read"] |= reads
    known["rank"] |= methods([], budget, only)
    known["fit"] = known.get("fit", {}) | classifiers(budget, only)
    _write(known)


def _write(costs: dict[str, Any]) -> None:
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(costs[name])}" for name in sorted(costs))
    COSTS.write_text("{\n" + lines + "\n}\n")


def packed(format: str, path: Any, options: dict[str, Any]) -> tuple[Run, Any]:
    """Figures of reading and packing, and the rows."""
    from spark_mlfs.blocks.pack import pack
    from spark_mlfs.cli.dry_run import read_quantities
    from spark_mlfs.frames.frame import LocalSession
    from spark_mlfs.read import load

    format = format.partition(" of ")[0]
    seconds, rows = cpu(
        lambda: pack(load(LocalSession(), path, format, **options), "features", "labels", "id")
    )
    rows.cores = 1
    return (kind_of(rows), read_quantities(rows.profile), seconds), rows


def of_corpus(name: str, share: float, folder: Path) -> tuple[str, Any, dict[str, Any]]:
    corpus = CORPORA[name.removesuffix(" of few words")].scaled(share)
    files = parts_of(corpus if name in CORPORA else replace(corpus, name="few", words=10), folder)
    if name == "texts":
        return "text", files, {"source": "parquet", "text": "body", "labels": "topics", "id": "doc"}
    return "parquet", files, {"features": "features", "labels": "tags", "id": "doc"}


def _ranked_by_mim(folder: Path, num_features: int) -> tuple[str, ...]:
    """Write a table of so many sparse features, each of two rows of 2,000 at least, and return the
    command that ranks them."""
    path = folder / f"wide-{num_features}.svm"
    with path.open("w") as file:
        for row in range(2_000):
            features = range(row % 1_000, num_features, 1_000)
            file.write(f"{row % 5} {' '.join(f'{feature + 1}:1' for feature in features)}\n")
    return ("select", "--data", str(path), "--format", "libsvm", "--method", "mim")


def run(folder: Path, budget: float, spark: bool = True) -> None:
    """Fit everything and write it; methods that `budget` seconds do not suffice for keep what was
    known of them."""
    known = json.loads(COSTS.read_text()) if COSTS.exists() else {}
    before = moment()
    # first: a child is told the memory of its parent as its own
    tiny = command(folder / "out", *_ranked_by_mim(folder, 20))
    wide = command(folder / "out", *_ranked_by_mim(folder, WIDE))
    reads = readings()
    large: list[Any] = []
    packed(*of_corpus("dense", SHARES["dense"][0], folder))
    for name, shares in (*SHARES.items(), ("texts", (0.002, 0.01, 0.03))):
        for share in shares:
            figures, rows = packed(*of_corpus(name, share, folder))
            reads.setdefault("text" if name == "texts" else "parquet", []).append(figures)
            large += [rows] if name in ("sparse", "dense") else []
    read = {format: without_start(fit(runs)) for format, runs in reads.items()}
    print(json.dumps(read), flush=True)
    ranks = {**known.get("rank", {}), **methods(large, budget)}
    fits = {**known.get("fit", {}), **classifiers(budget)}
    del large
    feature = max(0.0, wide["cpu"] - tiny["cpu"]) / (WIDE - 20)
    of_command = {
        "seconds": {"run": tiny["cpu"], "feature": float(f"{feature:.4g}")},
        "memory": int(tiny["MB"]) << 20,
    }
    out = {
        "measured": f"{machine('none')}; {before}",
        "command": of_command,
        "read": read,
        "rank": ranks,
        "fit": fits,
    }
    out["spark"] = known.get("spark") or {"session": 5.0, "times": 1.5}
    _write(out)
    if spark:
        out["spark"] = of_spark(folder)
        _write(out)


def of_spark(folder: Path) -> dict[str, float]:
    """Seconds until a session has run an empty job (half its CPU seconds: two cores share them),
    and how often the CPU seconds of this process Spark takes to read, pack and rank."""
    from spark_mlfs import local_session, pipeline, read
    from spark_mlfs.blocks.pack import pack

    with Meter() as start:
        session = local_session("model")
        session.range(10).mapInArrow(lambda batches: batches, "id long").count()
    theirs = ours = 0.0
    for name, method in (("sparse", "mim"), ("dense", "ridge")):
        format, files, options = of_corpus(name, 0.1, folder)
        pipeline.rank(
            read.load(session, files[:1], format, **options),
            [pipeline.Request.of(method)],
            row_id="id",
        )  # warm
        with Meter() as meter:
            rows = pack(read.load(session, files, format, **options), row_id="id")
            pipeline.rank(rows, [pipeline.Request.of(method)])
            rows.release()
        theirs += meter.cpu
        (*_, seconds), rows = packed(format, files, options)
        ours += (
            seconds
            + cpu(
                lambda rows=rows, method=method: pipeline.rank(rows, [pipeline.Request.of(method)])
            )[0]
        )
    session.stop()
    return {"session": round(start.cpu / 2, 2), "times": round(max(1.0, theirs / ours), 3)}


# ---- how good it is, and the page ----


def check(
    folder: Path,
    cases: tuple[tuple[str, str, float], ...] = (("mim", "sparse", 10.0), ("ridge", "dense", 1.0)),
) -> list[str]:
    """Lines of a table: what ``--dry-run`` says of a whole command beside what it then takes."""
    import subprocess
    import sys

    lines = []
    for method, name, share in cases:
        corpus = CORPORA[name].scaled(share)
        columns = (
            "--features",
            "features",
            "--labels-col",
            "tags",
            "--id",
            "doc",
            "--method",
            method,
        )
        arguments = ("select", "--data", *parts_of(corpus, folder), "--format", "parquet", *columns)
        dry = ("--engine", "local", "--dry-run", "--json", "--output", str(folder / "x"))
        dry = [sys.executable, "-m", "spark_mlfs.cli", *arguments, *dry]
        forecast = json.loads(
            subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        )
        measured = command(folder / "out", *arguments)
        foreseen, memory = forecast["cost"]["core_seconds"], forecast["memory_bytes"] >> 20
        lines.append(
            f"| {method} | {corpus.title} | {foreseen:.1f} | {measured['cpu']:.1f} | "
            f"{foreseen / measured['cpu']:.2f} | {memory:,} | {measured['MB']:,.0f} | {moment()} |"
        )
        print(lines[-1], flush=True)
    return lines


def of_words(n: int, d: int, q: int, words: int = 50, tags: int = 3) -> Any:
    """The profile of so many rows of words with power-law frequencies, and tags."""
    from spark_mlfs.blocks.profile import Profile

    share = np.arange(1, d + 1) ** -0.7
    stored = np.minimum(share / share.sum() * words, 1) * n
    often = np.arange(1, q + 1) ** -0.5
    labels = np.minimum(often / often.sum() * tags, 1) * n
    ones = {
        "low": np.zeros(d),
        "high": np.ones(d),
        "binary": np.ones(d, bool),
        "stored": np.ceil(stored).astype(np.int64),
    }
    counts = {"positive": np.ceil(labels).astype(np.int64), "unknown": np.zeros(q, np.int64)}
    most = {
        "widest": 4 * words,
        "most_labels": 8 * tags,
        "feature_label_pairs": n * words * tags,
        "declared_num_labels": q,
    }
    return Profile(
        n=n,
        d=d,
        q=q,
        nonzero=n * words,
        size=n * (5 * words + 8 * tags + 16),
        sparse=True,
        labelled=n,
        **ones,
        **counts,
        **most,
    )


def page(
    checked: list[str], n: int = 10**9, d: int = 10**6, q: int = 10**5, cores: int = 1000
) -> None:
    """Write the page: what such data take, and what ends first."""
    from spark_mlfs.cli.config import configure
    from spark_mlfs.cli.dry_run import fitted, forecast
    from spark_mlfs.cli.reckoning import Reckoning
    from spark_mlfs.frames.names import NumberedNames
    from spark_mlfs.markup import size

    fitted.cache_clear()
    profile = of_words(n, d, q)
    known = fitted()
    rows = []
    for method, screen in (
        ("mim", None),
        ("chi2", None),
        ("jmi", None),
        ("jmi", "mim:10000"),
        ("scls", "mim:10000"),
        ("forward", None),
        ("ridge", None),
        ("ridge", "chi2:10000"),
        ("fisher", None),
        ("relieff", "mim:10000"),
    ):
        settings = {
            "data": {
                "format": "parquet",
                "path": "/rows",
                "options": {"features": "x", "labels": "y"},
            },
            "method": {"name": method, **({"screen": screen} if screen else {})},
            "selection": {"num_top_features": 1000},
            "run": {"output": "/out", "cores": cores},
        }
        try:
            labels = [f"l{j}" for j in range(q)]
            names = NumberedNames("w", 0, d)
            config = configure(None, settings)
            facts = forecast(Reckoning(profile, n, labels, config, names=names), n)
        except Exception as error:
            rows.append(
                f"| {method} | {screen or '–'} | – | – | – | – | refused: "
                f"{' '.join(str(error).split())[:160]} |"
            )
            continue
        cost = facts["cost"]
        ends = [
            f"{process}: {size(facts[name]['needed'])} where {size(facts[name]['allowed'])} are "
            "allowed"
            for name, process in (("driver_bytes", "the driver"), ("worker_bytes", "a worker"))
            if facts[name]["needed"] > facts[name]["allowed"]
        ]
        if cost is None:
            continue
        wall, hours = f"{cost['seconds']:,.0f}", f"{cost['core_seconds'] / 3600:,.0f}"
        if ends:
            wall, hours = "refused", "–"
        rows.append(
            f"| {method} | {screen or '–'} | {wall} | {hours} | "
            f"{size(facts['shuffled_bytes'])} | {size(facts['collected_bytes'])} | "
            f"{'; '.join(ends) or 'no budget; the seconds'} |"
        )
    text = f"""# What larger data take

Written by `jobs/benchmark.py --case model`, which fits the seconds that rows, stored values, \
labels and picks take
(`spark_mlfs/cli/costs.json`) from runs of at most 1,000,000 rows on one machine; `spark-mlfs \
select --dry-run` says the same of
your data, `--cores N` on a cluster of so many. Measured on {known["measured"]}.

## {n:,} rows × {d:,} features × {q:,} labels on {cores:,} cores

Rows of 50 words and 3 labels with power-law frequencies, {size(profile.size)} packed
({size(profile.size // cores)} a core); 1,000 features are kept. These are extrapolations, by a \
thousand times
the rows that were measured: read them as orders of magnitude.
*to the driver* and *shuffled*: states of the first scan. *ends first*: the statistic beyond its \
budget (1 GiB for the driver and
for each worker unless `--driver-bytes` and `--worker-bytes` say otherwise).

| method | screen | seconds | core hours | shuffled | to the driver | ends first |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}

## Predicted and measured

Whole commands in one process, of more rows than were fitted: core seconds as predicted and as \
measured, memory as announced (an
upper bound) and as measured.

| method | data | predicted s | measured s | predicted / measured | announced MB | measured MB | \
measured when |
|---|---|---|---|---|---|---|---|
{chr(10).join(checked)}
"""
    PAGE.write_text(text)
