"""Measures kernels and methods beside the bare NumPy/SciPy cost of the same arithmetic, in one run.

    spark-submit jobs/benchmark.py [--case
    planted|real|sparse|methods|graph|neighbours|regression|score ...] [--data DIR] [--rows 100000]
    [--repeat 3] [--output FILE]
    python jobs/benchmark.py --case scale [--quick] [--only mim-sparse ...] [--master
    local-cluster[2,1,2048]] [--corpora DIR] python jobs/benchmark.py --case peers [--quick]
    python jobs/benchmark.py --case laptop [--share 0.1] [--only small mim tenfold ridge texts]
    [--corpora DIR]
    python jobs/benchmark.py --case text [--share 0.1] [--only reuters training scoring]
    [--corpora DIR]
    python jobs/benchmark.py --case model [--limit 300] [--corpora DIR]
    python jobs/benchmark.py --case csv [--share 0.1] [--only local spark]
    python jobs/benchmark.py --case media [--share 0.1] [--corpora DIR]
    python jobs/benchmark.py --case memory [--only mlknn dense dense/jmi ...] [--limit 300]

For each case: wall and CPU seconds (driver, JVM and Python workers together), Spark jobs, scans,
peak memory of the driver process and of the largest worker; then the bare cost and the ratios.
Figures hold for the machine and the moment: read the ratios. Run it with nothing else running.

`scale` makes large corpora once (some 5 GB of disk at the whole size; `--quick`: a tenth of the
rows, without `warmed-up`) and writes a row for every job of notebooks/benchmarks.md; `peers` does
so beside other packages (`pip install 'spark_mlfs[peers]'`). These, `laptop` and `text` write that
file when they run at the whole size, or where `--markdown` says. `model` fits what `--dry-run` says
of seconds (`spark_mlfs/cli/costs.json`), methods for `--limit` seconds, and writes
notebooks/scale.md."""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
# select.py beside this file shadows the standard library's
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _folder]
sys.path.append(os.path.dirname(_folder))

import argparse  # noqa: E402
import json  # noqa: E402
import tempfile  # noqa: E402
from functools import partial  # noqa: E402
from importlib import metadata  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from jobs.benchmarks.meter import Meter, bare, machine, measured  # noqa: E402


def local(frame):
    """All rows of a frame in this process, and their profile: what the bare cost is measured on."""
    from spark_mlfs.blocks.block import Block, concatenate
    from spark_mlfs.blocks.pack import pack

    packed = pack(frame, row_id="id")
    # block by block: the whole set at once would be evicted on a small heap
    rows = packed.frame.where("block is not null").select("block").toLocalIterator()
    block = concatenate([Block.decode(bytes(r.block)) for r in rows])
    packed.release()
    return block, packed.profile


def three_way_cost(frame, picks, repeat):
    """Bare cost of the three-way tables N(f = v, s = w, label) of the picks: `np.bincount` per
    feature over (row, label) pairs, and the library's own kernel in one process without Spark."""
    from spark_mlfs.blocks.coding import code_block, plan_coding
    from spark_mlfs.statistics.contingency import TwoWay
    from spark_mlfs.statistics.targets import Crossed, Labels, groups_of

    block, profile = local(frame)
    coding = plan_coding(profile, 5, "width")
    coded = code_block(block, coding)
    target = Labels(profile.q)
    rows, groups = groups_of(coded, target)
    first_picks = picks[:5]
    if coding.sparse:
        y = sp.csr_matrix(
            (np.ones(len(rows), np.int32), (rows, groups)), shape=(coded.n, target.size)
        )

        def plain():
            for s in first_picks:
                hit = np.flatnonzero(coded.feature(coding, s) != coding.zero[s])
                coded.onehot[hit].T @ y[hit]

    else:
        codes = np.stack([coded.feature(coding, f) for f in range(len(coding.features))]).astype(
            np.int64
        )
        width = coding.width

        def plain():
            for s in first_picks:
                base = (codes[s][rows] * target.size + groups) * width
                for f in range(len(codes)):
                    np.bincount(codes[f][rows] + base, minlength=width * width * target.size)

    statistic = TwoWay(coding, target)
    two_way = statistic.finish(statistic.partial(coded, profile), profile)
    common = coding.zero.astype(int) if coding.sparse else two_way.commonest()

    def ours():
        for s in first_picks:
            TwoWay(coding, Crossed(target, coding, s, int(common[s]))).partial(coded, profile)

    scale = len(picks) / max(1, len(first_picks))
    return {
        "bare bincount cpu": round(bare(repeat, plain) * scale, 2),
        "own kernel cpu": round(bare(repeat, ours) * scale, 2),
    }


def jmi(spark, name, frame, repeat, count=50):
    from spark_mlfs import pipeline

    frame = frame.cache()
    frame.count()
    figures, (result,) = measured(
        repeat, lambda: pipeline.rank(frame, [pipeline.Request.of("jmi", {}, count)], row_id="id")
    )
    path = result.scores.path
    cost = three_way_cost(frame, path.picks[:-1], max(1, repeat - 1))
    out = {
        "case": f"jmi br K={count} {name}",
        **figures,
        "jobs": result.jobs,
        "scans": result.scans,
        "tables used/counted": f"{path.used}/{path.requested}",
        "prepare wall": round(result.seconds["prepare"], 2),
        **cost,
        "cpu / bare": round(figures["cpu"] / max(cost["bare bincount cpu"], 1e-9), 2),
        "wall / bare": round(figures["wall"] / max(cost["bare bincount cpu"], 1e-9), 2),
    }
    frame.unpersist()
    return out


def empty_job(spark, frame, repeat):
    frame = frame.select("id")
    return measured(repeat, lambda: frame.mapInArrow(lambda batches: batches, "id long").count())[
        0
    ]["wall"]


def mim_sparse(spark, name, frame, repeat):
    from spark_mlfs import pipeline
    from spark_mlfs.blocks.pack import pack

    frame = frame.cache()
    frame.count()
    request = [pipeline.Request.of("mim")]
    seconds, _ = measured(repeat, lambda: pipeline.rank(frame, request, row_id="id"))
    packed = pack(frame, row_id="id")
    figures, (result,) = measured(repeat, lambda: pipeline.rank(packed, request))
    packed.release()
    block, profile = local(frame)
    x, y = block.csr().astype(np.float64), block.labels(profile.q)
    product = bare(max(3, repeat), lambda: x.T @ y)
    empty = empty_job(spark, frame, repeat)
    frame.unpersist()
    return {
        "case": f"mim {name}, packed",
        **figures,
        "jobs": result.jobs,
        "whole fit wall": seconds["wall"],
        "one SciPy pass": round(product, 4),
        "empty job": round(empty, 3),
        "wall / (3 passes + job)": round(figures["wall"] / (3 * product + empty), 2),
    }


def every_method(spark, name, frame, repeat):
    from spark_mlfs import METHODS, pipeline

    frame = frame.cache()
    frame.count()
    rows = []
    for method in METHODS:
        figures, (result,) = measured(
            repeat,
            lambda method=method: pipeline.rank(
                frame, [pipeline.Request.of(method, {}, 50)], row_id="id"
            ),
        )
        rows.append(
            {"case": f"{method} K=50 {name}", **figures, "jobs": result.jobs, "scans": result.scans}
        )
        show(rows[-1])
    frame.unpersist()
    return rows


def one_method(name, packed, method, parameters, repeat):
    """A method over packed data."""
    from spark_mlfs import pipeline

    request = [pipeline.Request.of(method, parameters, 50)]
    figures, (result,) = measured(repeat, lambda: pipeline.rank(packed, request))
    title = " ".join([method, *(f"{k}={v}" for k, v in parameters.items()), name])
    columns = {
        k: v
        for k, v in result.scores.details.items()
        if k in ("anchors", "passes", "iterations", "scans")
    }
    return {
        "case": title,
        **figures,
        "jobs": result.jobs - packed.jobs,
        **columns,
        "converged": result.scores.converged,
    }


def products_cost(packed, anchors, repeat):
    """CPU seconds of the bare matrix products behind an all-pairs pass: anchors × rows × features,
    once, in blocks of 512 × 2048."""
    from spark_mlfs.blocks.block import Block, concatenate

    rows = packed.frame.where("block is not null").select("block").toLocalIterator()
    block = concatenate([Block.decode(bytes(r.block)) for r in rows])
    x = block.x[:, packed.profile.varying]
    x = x.astype(np.float64)
    count = min(anchors, x.shape[0], 4096)

    def products():
        for a in range(0, count, 512):
            for b in range(0, x.shape[0], 2048):
                _ = x[a : a + 512] @ x[b : b + 2048].T

    return round(bare(max(1, repeat - 1), products) * min(anchors, x.shape[0]) / count, 2)


def graph(arff, imdb, repeat):
    from spark_mlfs.blocks.pack import pack

    data = {"scene": ("scene-train.arff.gz", "scene-test.arff.gz"), "yeast": ("yeast.arff.gz",)}
    for name, files in data.items():
        packed = pack(arff(name, *files), row_id="id")
        cost = products_cost(packed, packed.profile.n, repeat)
        for method, parameters in (
            ("spec", {}),
            ("gmba", {"mode": "paper"}),
            ("gmba", {"mode": "closed"}),
            ("gmba", {}),
            ("relieff", {}),
        ):
            yield one_method(name, packed, method, parameters, repeat) | {"bare products cpu": cost}
        packed.release()
    packed = pack(imdb(), row_id="id")
    for anchors in (500, 2000):
        cost = products_cost(packed, anchors, repeat)
        yield one_method("imdb", packed, "gmba", {"num_anchors": anchors}, 1) | {
            "bare products cpu": cost
        }
    packed.release()


def neighbours(spark, arff, imdb, repeat):
    """Ten neighbours by our kernel, without Spark, beside the bare products and scikit-learn's
    brute force, all on one thread: CPU seconds. The queries are the first rows by id."""
    from sklearn.neighbors import NearestNeighbors

    from spark_mlfs import read
    from spark_mlfs.kernels.knn import Rows
    from spark_mlfs.kernels.nearest import nearest

    for name, frame in (
        ("planted 20,000 x 300", read.planted(spark, 20_000, 300, 10, seed=1)),
        ("tmc2007-500", arff("tmc2007-500", "tmc2007-500.arff.gz")),
        ("imdb", imdb()),
    ):
        block, profile = local(frame)
        x = block.x[:, profile.varying].astype(np.float64)
        if sp.issparse(x):
            scale = np.sqrt(
                np.asarray(x.multiply(x).mean(axis=0)).ravel()
                - np.asarray(x.mean(axis=0)).ravel() ** 2
            )
            x = sp.csr_matrix(x.multiply(1 / scale))
        else:
            x = (x - x.mean(axis=0)) / x.std(axis=0)
        queries = x[np.argsort(block.ids)[:4096]]
        reference = Rows(x, np.arange(x.shape[0]))
        query = Rows(queries, -1 - np.arange(4096))
        library = NearestNeighbors(n_neighbors=10, algorithm="brute", n_jobs=1).fit(x)

        def products(queries=queries, x=x):
            for a in range(0, 4096, 512):
                for b in range(0, x.shape[0], 1024):
                    _ = queries[a : a + 512] @ x[b : b + 1024].T

        ours = bare(repeat, lambda query=query, reference=reference: nearest(query, reference, 10))
        plain = bare(repeat, products)
        theirs = bare(
            max(1, repeat - 1), lambda library=library, queries=queries: library.kneighbors(queries)
        )
        distances = library.kneighbors(queries[:256])[0]
        our_distances = np.sqrt(nearest(query.take(slice(0, 256)), reference, 10).squares)
        yield {
            "case": f"10 neighbours of 4096 rows, {name}",
            "cpu": round(ours, 2),
            "ns a pair": round(ours / 4096 / x.shape[0] * 1e9, 1),
            "bare products cpu": round(plain, 2),
            "scikit-learn cpu": round(theirs, 2),
            "ours / products": round(ours / plain, 2),
            "ours / scikit-learn": round(ours / theirs, 2),
            "farthest apart": float(f"{np.abs(our_distances - distances).max():.1e}"),
        }


def regression(arff, repeat):
    from spark_mlfs.blocks.pack import pack

    packed = pack(arff("scene", "scene-train.arff.gz", "scene-test.arff.gz"), row_id="id")
    for method, parameters in (
        ("ridge", {}),
        ("lasso", {}),
        ("elastic-net", {"group": True}),
        ("csfs", {}),
        ("mssl", {}),
        ("omfs", {}),
        ("rfs", {}),
        ("mifs", {}),
        ("msfs", {"walk": "expected"}),
        ("msfs", {}),
    ):
        yield one_method("scene", packed, method, parameters, repeat)
    packed.release()


def scoring(spark, rows, repeat):
    """A corpus of `rows` generated rows in 16 files, scored by a saved pipeline; memory at a tenth
    of the rows beside it."""
    import tempfile

    from spark_mlfs import BRSVMClassifier, MLkNNClassifier, read
    from spark_mlfs.scoring.corpus import Scoring
    from spark_mlfs.scoring.stages import Scorer

    with tempfile.TemporaryDirectory() as folder:
        training = read.planted(spark, 10_000, 50, 10, seed=1)
        models = [
            ("mlknn 10,000 x 50", MLkNNClassifier()),
            ("br-svm 10,000 x 50", BRSVMClassifier()),
        ]
        fitted = [(name, estimator.setIdCol("id").fit(training)) for name, estimator in models]
        for n in (rows // 10, rows):
            corpus = f"file://{folder}/corpus-{n}"
            read.planted(spark, n, 50, 10, seed=1, num_partitions=16).drop("labels").write.parquet(
                corpus
            )
            for name, model in fitted:
                output = f"{folder}/{name.split()[0]}-{n}"
                with Meter() as meter:
                    scored = Scoring(
                        spark, Scorer("", [model]), corpus, "parquet", output, id="id"
                    ).run()
                rows_here = read.planted(spark, 4096, 50, 10, seed=2).select("features").collect()
                x = np.array([row.features.toArray() for row in rows_here])
                predictor = model.predictor()
                predictor.predict(x)
                cost = (
                    bare(max(1, repeat - 1), lambda predictor=predictor, x=x: predictor.predict(x))
                    * n
                    / len(x)
                )
                figures = meter.figures()
                yield {
                    "case": f"score {name}, {n} rows",
                    **figures,
                    "rows a second": round(n / figures["wall"]),
                    "own NumPy cpu": round(cost, 2),
                    "rows": scored["rows"],
                    "parts": scored["parts"],
                }


CASES = (
    "planted real sparse methods graph neighbours regression score scale peers laptop model media "
    "memory text disk csv"
).split()
WITH_ROWS = ("laptop", "model", "memory", "text", "disk", "csv")  # whose rows they know themselves


def show(row):
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)


def chosen_rows(case, only, master, quick=False):
    """The names of a case's rows in their order: all, or those asked for; some need a master, some
    are no quick ones."""
    from jobs.benchmarks import peers, scale

    names = [*(scale.ROWS if case == "scale" else peers.ROWS)]
    names = [name for name in names if master or case != "scale" or name not in scale.WITH_MASTER]
    if only:
        return [name for name in names if name in only]
    return [name for name in names if not quick or case != "scale" or name not in scale.NOT_QUICK]


def tables(spark, case, names, args, share):
    """Rows of the case scale or peers; each is written as soon as it is there."""
    from jobs.benchmarks import peers, scale, table
    from jobs.benchmarks.bare import Bare

    markdown = args.markdown or (
        Path(_folder).parent / "notebooks" / "benchmarks.md" if share == 1 else None
    )
    module = scale if case == "scale" else peers
    flag = ""
    if share != 1:
        flag = " --quick" if args.quick else f" --share {share}"
    preface = module.PREFACE.format(options=flag, machine=machine(spark.version))

    def written(row):
        if markdown:
            cells = scale.cells(row) if case == "scale" else row
            table.write(markdown, case, preface, module.COLUMNS, [*module.ROWS], [cells])
        return row

    if case == "peers":
        d, K, narrow = (100, 20, 20) if share >= 0.1 else (25, 8, 6)
        size = {"n": max(200, round(20_000 * share)), "d": d, "K": K, "narrow": narrow}
        yield from map(
            written, peers.run(peers.Data(spark, repeat=args.repeat or 1, **size), names)
        )
        return
    places = {"folder": args.corpora} if args.corpora else {}
    places |= {"master": args.master} if args.master else {}
    with Bare() as bare_process:
        bench = scale.Bench(
            spark, bare_process, share, args.repeat or 1, limit=args.limit, **places
        )
        yield from map(written, scale.run(bench, names))


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs="+", default=CASES[:3], choices=CASES)
    parser.add_argument(
        "--data",
        default=str(Path(_folder).parents[1] / "shared" / "data"),
        help="folder of the real data sets",
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--labels", type=int, default=10)
    parser.add_argument("--scored", type=int, default=1_000_000, help="rows of the case score")
    parser.add_argument(
        "--repeat", type=int, help="runs of which the median counts (default 3; scale and peers: 1)"
    )
    parser.add_argument("--output", help="write the figures as JSON lines")
    parser.add_argument("--quick", action="store_true", help="scale, peers: a tenth of the rows")
    parser.add_argument(
        "--share", type=float, help="scale, peers: this share of the rows, for trials"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="ROW",
        help="scale, peers, laptop, disk: these rows; model: fit, page, or these methods, "
        "classifiers and formats",
    )
    parser.add_argument(
        "--corpora",
        type=Path,
        help="folder of the generated corpora (default: in the temporary one)",
    )
    parser.add_argument(
        "--limit", type=float, default=900, help="seconds of a row (scale), of all methods (model)"
    )
    parser.add_argument(
        "--master",
        help="scale: also run on executors of their own, such as local-cluster[2,1,2048]",
    )
    parser.add_argument(
        "--markdown", type=Path, help="scale, peers, laptop: the file that gets the tables"
    )
    args = parser.parse_args(arguments)
    repeat = args.repeat or 3
    share = args.share or (0.1 if args.quick else 1.0)
    chosen = {
        case: chosen_rows(case, args.only, args.master, args.quick)
        for case in ("scale", "peers")
        if case in args.case
    }
    if args.only and args.case not in [[case] for case in WITH_ROWS]:
        known = {name for names in chosen.values() for name in names}
        unknown = [name for name in args.only if name not in known]
        if unknown:
            known_rows = {name for case in chosen for name in chosen_rows(case, None, "any")}
            parser.error(
                f"--only {unknown[0]!r} is no row of these cases; the rows are "
                f"{', '.join(sorted(known_rows))}"
            )

    data = Path(args.data)
    # whole commands, without a session beside them
    if args.case in (["laptop"], ["model"], ["text"]):
        from jobs.benchmarks import laptop, model, table, texts

        folder = args.corpora or Path(tempfile.gettempdir(), "spark_mlfs-corpora")
        if args.case == ["model"]:
            if args.only and not {"fit", "page"} & {*args.only}:
                model.refit(args.only, args.limit)
                return
            if not args.only or "fit" in args.only:
                model.run(folder, args.limit)
            model.page(model.check(folder))
            return
        markdown = args.markdown or (
            Path(_folder).parent / "notebooks" / "benchmarks.md" if share == 1 else None
        )
        flag = "" if share == 1 else f" --share {share}"
        (case,) = args.case
        module = texts if case == "text" else laptop
        for row in module.run(folder, data, share, args.only):
            show(row)
            if markdown:
                preface = module.PREFACE.format(options=flag, machine=machine("none"))
                table.write(markdown, case, preface, module.COLUMNS, module.ORDER, [row])
        return
    if args.case == ["memory"]:
        from jobs.benchmarks import memory, table

        folder = args.corpora or Path(tempfile.gettempdir(), "spark_mlfs-corpora")
        for row in memory.run(folder, args.only, args.limit):
            show(row)
            if args.markdown:
                preface = memory.PREFACE.format(
                    options="", machine=machine("none"), limit=args.limit
                )
                table.write(args.markdown, "memory", preface, [*row], memory.entries(), [row])
        return
    if args.case in (["disk"], ["csv"]):
        from jobs.benchmarks import csv_files, disk, table

        folder = args.corpora or Path(tempfile.gettempdir(), "spark_mlfs-corpora")
        markdown = args.markdown or (
            Path(_folder).parent / "notebooks" / "benchmarks.md" if share == 1 else None
        )
        flag = "" if share == 1 else f" --share {share}"
        (case,) = args.case
        module = disk if case == "disk" else csv_files
        spark_version = "none" if case == "disk" else metadata.version("pyspark")
        for row in module.run(folder, share, args.only):
            show(row)
            if markdown:
                preface = module.PREFACE.format(options=flag, machine=machine(spark_version))
                table.write(markdown, case, preface, module.COLUMNS, module.ORDER, [row])
        return
    if args.case == ["media"]:
        from jobs.benchmarks import media

        for row in media.run(
            args.corpora or Path(tempfile.gettempdir(), "spark_mlfs-corpora"), share
        ):
            show(row)
        return
    from spark_mlfs import local_session, read

    spark = local_session("benchmark")
    print(machine(spark.version))

    def arff(name, *files):
        return read.arff(
            spark, [str(data / name / f) for f in files], labels=str(data / name / f"{name}.xml")
        ).coalesce(1)

    def imdb():
        return read.arff(spark, str(data / "imdb" / "Imdb.arff.gz"))

    rows = []

    def add(row):
        show(row)
        rows.append(row)

    if "planted" in args.case:
        for n in (args.rows // 10, args.rows):
            frame = read.planted(
                spark, n, args.features, args.labels, seed=1, num_partitions=os.cpu_count()
            )
            add(jmi(spark, f"planted {n} x {args.features} x {args.labels}", frame, repeat))
    if "real" in args.case:
        add(jmi(spark, "scene", arff("scene", "scene-train.arff.gz", "scene-test.arff.gz"), repeat))
        add(jmi(spark, "yeast", arff("yeast", "yeast.arff.gz"), repeat))
    if "sparse" in args.case:
        add(jmi(spark, "imdb", imdb(), repeat))
        rcv1 = data / "rcv1sub1"
        add(
            mim_sparse(
                spark,
                "rcv1sub1",
                read.libsvm(spark, str(rcv1 / "rcv1sub1.svm.gz"), num_labels=101),
                repeat,
            )
        )
    if "methods" in args.case:
        rows += every_method(
            spark, "scene", arff("scene", "scene-train.arff.gz", "scene-test.arff.gz"), repeat
        )
    cases = {
        "graph": lambda: graph(arff, imdb, repeat),
        "neighbours": lambda: neighbours(spark, arff, imdb, repeat),
        "regression": lambda: regression(arff, repeat),
        "score": lambda: scoring(spark, args.scored, repeat),
    }
    cases |= {
        case: partial(tables, spark, case, names, args, share) for case, names in chosen.items()
    }
    for case, work in cases.items():
        for row in work() if case in args.case else ():
            add(row)
    if args.output:
        Path(args.output).write_text("".join(json.dumps(row) + "\n" for row in rows))
    spark.stop()


if __name__ == "__main__":
    main()
