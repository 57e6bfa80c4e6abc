"""MLflow: a selection as a run (`log_selection`), a fitted pipeline as a model, with Spark
(`log_model`) and without (`log_tagger`).

``pip install 'spark_mlfs[mlflow]'`` brings it.

Autologging (``mlflow.pyspark.ml.autolog``) logs every fit's parameters by itself, but saves the
models of classes on its allowlist only: call
``mlflow.pyspark.ml.autolog(log_model_allowlist=spark_mlfs.mlflow.ALLOWLIST)``. A pipeline is saved
where all of its stages are on the list; add pyspark's own that it has."""

from __future__ import annotations

import math
import numbers
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import import_module, metadata
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..markup import render
from ..output.folder import csv_text
from ..output.manifest import as_json, installed

if TYPE_CHECKING:
    from ..ml.selectors import MultiLabelSelectorModel

ALLOWLIST = [
    "spark_mlfs.ml.*",
    "pyspark.ml.pipeline.PipelineModel",
    "pyspark.ml.tuning.CrossValidatorModel",
    "pyspark.ml.tuning.TrainValidationSplitModel",
]
PACKAGES = ("spark_mlfs", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "threadpoolctl")
LONGEST = 500  # characters of a parameter's value
FILES = ("report.html", "manifest.json", "ranking.csv", "ranking.parquet")  # of a run's folder


def _mlflow(part: str = "") -> Any:
    """Return MLflow, with its module `part` imported."""
    try:
        mlflow = import_module("mlflow")
    except ImportError:
        raise ParameterError("MLflow is not installed: pip install 'spark_mlfs[mlflow]'") from None
    if part:
        import_module(f"mlflow.{part}")
    return mlflow


def requirements(spark: bool = True) -> list[str]:
    """Return the packages a logged model needs, in the versions of this process.

    They are for ``pip_requirements``."""
    names = [*PACKAGES, "pyspark"] if spark else PACKAGES
    return [f"{name}=={version}" for name, version in installed(names).items()]


@contextmanager
def _run() -> Iterator[Any]:
    mlflow = _mlflow()
    active = mlflow.active_run()
    with mlflow.start_run() if active is None else nullcontext(active) as run:
        yield run


def log_selection(
    selection: MultiLabelSelectorModel | str | Path, artifact_path: str = "selection"
) -> str:
    """Log a fitted selection to the active run, or to one of its own; return the run's id.

    Parameters  method, the method's parameters as ``param.NAME``, the selection mode and what it
                goes by
    Metrics     rows, features, labels, selected, seconds, jobs, scans; of a greedy method ``gain``,
                a step a pick
    Artifacts   ``ranking.csv``, ``ranking.parquet``, ``report.html``, ``summary.json``; of a folder
                that ``spark-mlfs select`` wrote its own report and ``manifest.json``"""
    mlflow = _mlflow()
    model: Any = selection
    folder = None if hasattr(selection, "ranking") else Path(str(selection))
    if folder is not None:
        from ..ml.selectors import MultiLabelSelectorModel

        path = folder / "model" if (folder / "model").is_dir() else folder
        model = MultiLabelSelectorModel.load(str(path))
    parameters = {name: str(value)[:LONGEST] for name, value in _parameters(model).items()}
    metrics = _metrics(model)
    with _run() as run, tempfile.TemporaryDirectory() as scratch:
        mlflow.log_params(parameters)
        mlflow.log_metrics(metrics)
        for step, gain in enumerate(model.gains, 1):
            mlflow.log_metric("gain", float(gain), step=step)
        for path in _files(model, folder, Path(scratch)):
            mlflow.log_artifact(str(path), artifact_path)
        return str(run.info.run_id)


def _parameters(model: Any) -> dict[str, Any]:
    summary = model.summary
    parameters = {"method": summary["method"]}
    for name, value in summary["parameters"].items():
        parameters[f"param.{name}"] = value
    parameters["selectionMode"] = model.getSelectionMode()
    if model.getSelectionMode() != "numTopFeatures":
        parameters["level"] = model.level()
    parameters["fingerprint"] = summary.get("fingerprint")
    return parameters


def _metrics(model: Any) -> dict[str, float]:
    """Return the counts and seconds of a selection that are known numbers."""
    summary = model.summary
    metrics = {name: summary.get(name) for name in ("rows", "features", "jobs", "scans")}
    labels = summary["labels"]
    metrics["labels"] = labels if isinstance(labels, int) else len(labels)
    metrics["selected"] = len(model.selectedFeatures)
    seconds = summary.get("seconds")
    if isinstance(seconds, Mapping):  # of the stages
        stages = [value for name, value in seconds.items() if not name.startswith("of it")]
        seconds = float(sum(stages))
    metrics["seconds"] = seconds
    return {
        name: float(value)
        for name, value in metrics.items()
        if isinstance(value, numbers.Real) and math.isfinite(value)
    }


def _files(model: Any, folder: Path | None, scratch: Path) -> list[Path]:
    """Return the artifacts: a run's own files where there are, else written into `scratch`."""
    files = []
    if folder is not None:
        files = [folder / name for name in FILES if (folder / name).is_file()]
    names = {path.name for path in files}
    ranking = model.ranking
    texts = {
        "summary.json": as_json(model.summary),
        "ranking.csv": csv_text(ranking),
        "report.html": report_of(model),
    }
    for name, text in texts.items():
        if name not in names:
            (scratch / name).write_text(text, encoding="utf-8")
    if "ranking.parquet" not in names:
        ranking.to_parquet(scratch / "ranking.parquet", index=False)
    return [*files, *sorted(scratch.iterdir())]


def report_of(model: Any, most: int = 200) -> str:
    """Return the selected features of a model as a page.

    What ``report.html`` of a run says needs the run."""
    num_kept = len(model.selectedFeatures)
    table = model.ranking.head(min(num_kept, most))
    return render(
        "model.html.j2",
        summary=model.summary,
        kept=num_kept,
        features=model.numFeatures,
        columns=[str(name) for name in table.columns],
        rows=list(table.itertuples(index=False)),
    )


def log_model(model: Any, artifact_path: str = "model", **options: Any) -> Any:
    """Log a fitted selector, extractor, classifier or PipelineModel by ``mlflow.spark.log_model``.

    Its ``pip_requirements`` are `requirements()` (MLflow would fit an environment of its own to
    find them); `options` are MLflow's.

    ``mlflow.spark.load_model(uri)`` in another process gives the PipelineModel. Start its session
    with `spark_mlfs.local_session()`, or set PYSPARK_PYTHON to the interpreter that has the
    package."""
    mlflow = _mlflow("spark")
    options.setdefault("pip_requirements", requirements())
    with _run():
        return mlflow.spark.log_model(model, artifact_path, **options)


def log_tagger(
    pipeline: Any,
    artifact_path: str = "tagger",
    top_n: int | None = None,
    threshold: float | None = None,
    **options: Any,
) -> Any:
    """Log a fitted selection and classifier as ``mlflow.pyfunc``, which needs no Spark.

    They are a PipelineModel, or its stages. ``mlflow.pyfunc.load_model(uri).predict(table)`` takes
    a pandas frame with the pipeline's columns by name (further ones are left aside, and those that
    are not selected may be absent), or the features as an array, dense or sparse; it gives a frame
    of ``tags`` and ``scores``, best first: the predicted labels, the `top_n` best, or those that
    score at least `threshold` (also as ``params`` of a call). The same bits as `tagged` on Spark.
    `ParameterError` for a pipeline with stages that are not this library's, such as the words of a
    text."""
    mlflow = _mlflow("pyfunc")
    from .function import Tagger
    from .tagger import Steps

    function = Tagger(Steps.of(pipeline), top_n, threshold)
    # params of predict: without a schema MLflow keeps them from the function
    types = import_module("mlflow.types")
    top_n_spec = types.ParamSpec("top_n", "long", None)
    threshold_spec = types.ParamSpec("threshold", "double", None)
    params = types.ParamSchema([top_n_spec, threshold_spec])
    options.setdefault("signature", mlflow.models.ModelSignature(params=params))
    skinny = f"mlflow-skinny=={metadata.version('mlflow-skinny')}"
    options.setdefault("pip_requirements", [*requirements(spark=False), skinny])
    with _run():
        known = signature(mlflow.pyfunc.log_model).parameters
        path = "name" if "name" in known else "artifact_path"  # before MLflow 3
        return mlflow.pyfunc.log_model(**{path: artifact_path}, python_model=function, **options)


__all__ = ["ALLOWLIST", "log_model", "log_selection", "log_tagger", "report_of", "requirements"]
