"""What a Spark answers, as plain values and as saved models, for another Spark to compare and to
load.

`pytest answers.py` with the folders in `PLACES` leaves answers.json, quickstart/ and saved/ in the
first, and in its loaded.json what the models in the second give. No name of a test file: it runs
where it is asked for only."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest

PLACES = "SPARK_MLFS_ANSWERS"  # variable of the environment
CONF = Path(__file__).resolve().parents[2] / "conf" / "runs"
# what takes longer than a second on the digits by its defaults; nothing here depends on convergence
FEW = {
    "auto": {"methods": "fisher,mim"},
    "deepfs": {"epochs": 4},
    "rfs": {"max_iter": 4},
    "gmba": {"mode": "closed"},
}
BY_JOBS = ("jmi", "ridge", "relieff")  # counts, products, neighbours
COUNTED = (
    "mim",
    "jmi",
    "cmi",
    "chi2",
    "ppt-cmi",
    "pmu",
    "d2f",
    "mdmr",
    "scls",
    "lrfs",
    "fimf",
    "igmf",
    "mrmr",
)
DOCUMENTS, ROWS = 150, 20
TEXT = (
    "--option",
    "source=parquet",
    "--option",
    "text=body",
    "--option",
    "labels=tags",
    "--option",
    "stop_words=english",
)


def values(ranking) -> dict[str, list]:
    """The order and the numbers of a ranking, these to the last bit."""
    return {
        "order": [int(i) for i in ranking["index"]],
        "numbers": [float(v).hex() for name in ("score", "relevance") for v in ranking[name]],
    }


def of_arrays() -> dict[str, dict]:
    """Every method on the digits, a tag or two a row, without Spark."""
    from sklearn.datasets import load_digits

    import spark_mlfs

    x, digit = load_digits(return_X_y=True)
    x, digit = x[:500], digit[:500]
    tags = [
        ["even"] if d % 2 == 0 else ["odd", "prime"] if d in (3, 5, 7) else ["odd"] for d in digit
    ]
    return {name: values(spark_mlfs.rank(x, tags, name, k=None if name in COUNTED else 8, **FEW.get(name, {})))
            for name in spark_mlfs.METHODS}  # fmt: skip


def of_jobs(spark) -> dict[str, dict]:
    """Some methods on made rows, job by job over the blocks."""
    import spark_mlfs
    from spark_mlfs.pipeline import Request, rank

    frame = spark_mlfs.read.planted(spark, 400, 15, 4, seed=1, num_partitions=3)
    found = rank(frame, [Request.of(name, {}, 6) for name in BY_JOBS], row_id="id", small_bytes=0)
    assert all(result.distributed for result in found)
    return {result.request.method: values(result.ranking) for result in found}


def corpora(spark):
    """The rows that saved models are fitted on and asked about: numbers, and documents."""
    import spark_mlfs
    from spark_mlfs.read.samples import GENERATED

    return spark_mlfs.read.planted(spark, 200, 12, 3, seed=2, num_partitions=2), GENERATED[
        "documents"
    ](spark, DOCUMENTS)


def save(spark, folder: Path) -> None:
    """Models of every kind into `folder`."""
    from pyspark.ml import Pipeline

    import spark_mlfs
    from spark_mlfs import cli

    numbers, documents = corpora(spark)
    stages = [
        spark_mlfs.JMISelector(numTopFeatures=6, outputCol="kept", idCol="id"),
        spark_mlfs.MDDMExtractor(featuresCol="kept", outputCol="mddm", idCol="id", dim=2),
        spark_mlfs.MLkNNClassifier(featuresCol="kept", idCol="id", k=5),
    ]
    Pipeline(stages=stages).fit(numbers).write().overwrite().save(f"file://{folder}/pipeline")
    documents.write.parquet(f"file://{folder}/documents")
    flags = (
        "--id",
        "doc",
        "--method",
        "mim",
        "--num-top-features",
        "30",
        "--classifier",
        "br-svm",
        "--no-report",
        "--quiet",
    )
    command = [
        "select",
        "--data",
        f"{folder}/documents",
        "--format",
        "text",
        *TEXT,
        *flags,
        "--output",
        f"{folder}/topics",
    ]
    assert cli.main(command) == 0


def answers_of(spark, folder: Path) -> dict[str, list]:
    """What the models that were saved in `folder` give the first rows."""
    from pyspark.ml import PipelineModel

    from spark_mlfs.scoring.stages import load_scorer

    numbers, documents = corpora(spark)
    pipeline = PipelineModel.load(f"file://{folder}/pipeline")
    out: dict[str, list] = {
        "ranking": [float(v).hex() for v in pipeline.stages[0].ranking["score"]]
    }
    rows = pipeline.transform(numbers).orderBy("id").limit(ROWS).collect()
    out["pipeline"] = [[float(v).hex() for v in (*row.mddm, *row.rawPrediction)] for row in rows]
    rows = (
        load_scorer(spark, f"file://{folder}/topics")
        .tagged(documents, ["doc"])
        .orderBy("doc")
        .limit(ROWS)
        .collect()
    )
    out["topics"] = [[row.tags, [float(v).hex() for v in row.scores]] for row in rows]
    return out


def everything(spark, folder: Path) -> dict:
    """All that a Spark answers; its quickstart and its saved models are left in `folder`."""
    import spark_mlfs
    from spark_mlfs import cli

    assert (
        cli.main(
            [
                "select",
                "--config",
                str(CONF / "quickstart.toml"),
                "--quiet",
                "--output",
                str(folder / "quickstart"),
            ]
        )
        == 0
    )
    save(spark, folder / "saved")
    found = {
        "arrays": of_arrays(),
        "jobs": of_jobs(spark),
        "saved": answers_of(spark, folder / "saved"),
    }
    found["package"] = spark_mlfs.__file__
    found["versions"] = {
        name: version(name)
        for name in ("pyspark", "numpy", "pandas", "pyarrow", "scipy", "scikit-learn")
    }
    (folder / "answers.json").write_text(json.dumps(found))
    return found


@pytest.mark.spark35
def test_what_it_answers(spark):
    mine, other = map(Path, os.environ[PLACES].split(os.pathsep))
    everything(spark, mine)
    (mine / "loaded.json").write_text(json.dumps(answers_of(spark, other / "saved")))
