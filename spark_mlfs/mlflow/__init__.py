"""MLflow (``pip install 'spark_mlfs[mlflow]'``): a selection as a run (`log_selection`), a fitted
pipeline as a model, with Spark (`log_model`) and without (`log_tagger`).

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
    """MLflow, its module `part` imported, too."""
    try:
        mlflow = import_module("mlflow")
    except ImportError:
        raise ParameterError("MLflow is not installed: pip install 'spark_mlfs[mlflow]'") from None
    if part:
        import_module(f"mlflow.{part}")
    return mlflow


def requirements(spark: bool = True) -> list[str]:
    """The packages a logged model needs, in the versions of this process, for
    ``pip_requirements``."""
    names = (*PACKAGES, *(("pyspark",) if spark else ()))
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
    """Logs a fitted selection to the active run, or to one of its own; returns the run's id.

    Parameters  method, the method's parameters as ``param.NAME``, the selection mode and what it
    goes by
    Metrics     rows, features, labels, selected, seconds, jobs, scans; of a greedy method ``gain``,
    a step a pick Artifacts   ``ranking.csv``, ``ranking.parquet``, ``report.html``,
    ``summary.json``; of a folder that ``spark-mlfs select``
                wrote its own report and ``manifest.json``"""
    mlflow = _mlflow()
    model: Any = selection
    folder = None if hasattr(selection, "ranking") else Path(str(selection))
    if folder is not None:
        from ..ml.selectors import MultiLabelSelectorModel

        model = MultiLabelSelectorModel.load(
            str(folder / "model" if (folder / "model").is_dir() else folder)
        )
    summary = model.summary
    parameters = {
        "method": summary["method"],
        **{f"param.{name}": value for name, value in summary["parameters"].items()},
        "selectionMode": model.getSelectionMode(),
        **({"level": model.level()} if model.getSelectionMode() != "numTopFeatures" else {}),
        "fingerprint": summary.get("fingerprint"),
    }
    labels, seconds = summary["labels"], summary.get("seconds")
    if isinstance(seconds, Mapping):  # of the stages
        seconds = float(
            sum(value for name, value in seconds.items() if not name.startswith("of it"))
        )
    counts = {
        **{name: summary.get(name) for name in ("rows", "features", "jobs", "scans")},
        "labels": labels if isinstance(labels, int) else len(labels),
        "selected": len(model.selectedFeatures),
        "seconds": seconds,
    }
    with _run() as run, tempfile.TemporaryDirectory() as scratch:
        mlflow.log_params({name: str(value)[:LONGEST] for name, value in parameters.items()})
        mlflow.log_metrics(
            {
                k: float(v)
                for k, v in counts.items()
                if isinstance(v, numbers.Real) and math.isfinite(v)
            }
        )
        for step, gain in enumerate(model.gains, 1):
            mlflow.log_metric("gain", float(gain), step=step)
        for path in _files(model, folder, Path(scratch)):
            mlflow.log_artifact(str(path), artifact_path)
        return str(run.info.run_id)


def _files(model: Any, folder: Path | None, scratch: Path) -> list[Path]:
    """The artifacts: a run's own files where there are, else written into `scratch`."""
    found = (
        [folder / name for name in FILES if (folder / name).is_file()] if folder is not None else []
    )
    held, ranking = {path.name for path in found}, model.ranking
    texts = {
        "summary.json": as_json(model.summary),
        "ranking.csv": csv_text(ranking),
        "report.html": report_of(model),
    }
    for name, text in texts.items():
        if name not in held:
            (scratch / name).write_text(text, encoding="utf-8")
    if "ranking.parquet" not in held:
        ranking.to_parquet(scratch / "ranking.parquet", index=False)
    return [*found, *sorted(scratch.iterdir())]


def report_of(model: Any, most: int = 200) -> str:
    """The selected features of a model as a page: what ``report.html`` of a run says needs the
    run."""
    shown, kept = (
        model.ranking.head(min(len(model.selectedFeatures), most)),
        len(model.selectedFeatures),
    )
    rows, columns = list(shown.itertuples(index=False)), [str(name) for name in shown.columns]
    return render(
        "model.html.j2",
        summary=model.summary,
        kept=kept,
        features=model.numFeatures,
        columns=columns,
        rows=rows,
    )


def log_model(model: Any, artifact_path: str = "model", **options: Any) -> Any:
    """``mlflow.spark.log_model`` of a fitted selector, extractor, classifier or PipelineModel, with
    `requirements()` as its ``pip_requirements`` (MLflow would fit an environment of its own to find
    them); `options` are MLflow's.

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
    """Logs a fitted selection and classifier (a PipelineModel, or its stages) as ``mlflow.pyfunc``,
    which needs no Spark.

    ``mlflow.pyfunc.load_model(uri).predict(table)`` takes a pandas frame with the pipeline's
    columns by name (further ones are left aside, and those that are not selected may be absent), or
    the features as an array, dense or sparse; it gives a frame of ``tags`` and ``scores``, best
    first: the predicted labels, the `top_n` best, or those that score at least `threshold` (also as
    ``params`` of a call). The same bits as `tagged` on Spark. `ParameterError` for a pipeline with
    stages that are not this library's, such as the words of a text."""
    mlflow = _mlflow("pyfunc")
    from .function import Tagger
    from .tagger import Steps

    function = Tagger(Steps.of(pipeline), top_n, threshold)
    types = import_module(
        "mlflow.types"
    )  # what predict takes as params: without a schema MLflow keeps them from the function
    taken = types.ParamSchema(
        [types.ParamSpec("top_n", "long", None), types.ParamSpec("threshold", "double", None)]
    )
    options.setdefault("signature", mlflow.models.ModelSignature(params=taken))
    options.setdefault(
        "pip_requirements",
        [*requirements(spark=False), f"mlflow-skinny=={metadata.version('mlflow-skinny')}"],
    )
    with _run():
        where = (
            "name" if "name" in signature(mlflow.pyfunc.log_model).parameters else "artifact_path"
        )  # before MLflow 3
        return mlflow.pyfunc.log_model(**{where: artifact_path}, python_model=function, **options)


__all__ = ["ALLOWLIST", "log_model", "log_selection", "log_tagger", "report_of", "requirements"]
