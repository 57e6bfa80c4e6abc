"""manifest.json: what a run did, with what, and what it cost, so that it can be checked and
repeated."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from ..version import __version__

if TYPE_CHECKING:
    from ..pipeline import Result

LIBRARIES = ("spark_mlfs", "pyspark", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn")
LARGEST_ARRAY = 10_000  # entries of a method's further results that the manifest holds


def installed(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages, but of those that are run from a clone, or are the cluster's
    own."""
    out = {}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            out[name] = metadata.version(name)
    return out


def versions(spark_version: str | None) -> dict[str, str]:
    """Python, Spark and the libraries that take part in the numbers."""
    ours = {"spark_mlfs": __version__, "platform": platform.platform()}
    spark = {} if spark_version is None else {"spark": spark_version}
    return {"python": platform.python_version(), **spark, **installed(LIBRARIES), **ours}


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def opening(job: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the beginning of every manifest; `arguments` are those of the command line."""
    return {
        "tool": "spark_mlfs",
        "job": job,
        "finished": now(),
        "command": ["spark-mlfs", *arguments],
    }


def selection_manifest(
    config: Any,
    result: Result,
    kept: int,
    spark_version: str | None,
    seconds: Mapping[str, float],
    jobs: Mapping[str, int],
    arguments: Sequence[str],
) -> dict[str, Any]:
    """The manifest of a selection run. `seconds` and `jobs` are per stage."""
    profile, scores = result.profile, result.scores
    solution: dict[str, Any] = {}
    if scores.path is not None:
        solution |= {
            "gains": scores.path.gains,
            "tables_counted": scores.path.requested,
            "tables_used": scores.path.used,
        }
    if scores.objective:
        solution |= {"objective": scores.objective, "converged": scores.converged}
    for name, value in scores.details.items():
        solution[name] = (
            value if np.size(value) <= LARGEST_ARRAY else f"{np.size(value)} entries, not kept"
        )
    data, rule = config.data, {}
    if result.evidence is not None:
        rule = {
            "level": result.evidence.rule.level,
            "seed": result.evidence.rule.seed,
            **result.evidence.facts,
        }
    held = result.request.resolved
    cost = {} if held is None or held.costs is None else {"cost": float(result.kept["cost"].sum())}
    return {
        **opening("select", arguments),
        "data": {
            **{name: getattr(data, name) for name in ("path", "format", "options")},
            "rows": profile.n,
            "features": profile.d,
            "features_that_vary": int((profile.high > profile.low).sum()),
            "labels": profile.q,
            "label_cardinality": float(profile.positive.sum() / profile.n),
            **(
                {"grade_range": data.grade_range, "label_cuts": data.label_cuts}
                if data.graded_labels
                else {}
            ),
            **(
                {
                    "mean_grades": (
                        profile.label_mass / np.maximum(profile.observed_total, 1)
                    ).tolist()
                }
                if profile.graded
                else {}
            ),
            **({"weight": profile.total * profile.weight_unit} if profile.weighted else {}),
            "unknown_labels": int(profile.unknown.sum() + profile.unlabelled * profile.q),
            "density": profile.density,
            "stored_as": "sparse" if profile.sparse else "dense",
            "packed_bytes": profile.size,
            "fingerprint": f"{profile.fingerprint:016x}",
        },
        "method": {"name": result.request.method, "parameters": dict(result.request.parameters)},
        "selection": {**config.selection.as_dict(only_set=True), "kept": kept, **rule},
        **({} if held is None else {"constraints": {**held.named(result.feature_names), **cost}}),
        "seed": config.run.seed,
        "solution": solution,
        "cost": {
            "seconds": dict(seconds),
            "spark_jobs": {**jobs, "all": sum(jobs.values())},
            "scans": result.scans,
            "driver_bytes": result.driver_bytes,
            "distributed": result.distributed,
        },
        "versions": versions(spark_version),
    }


def as_json(manifest: Mapping[str, Any]) -> str:
    """Strict JSON: NumPy values as plain ones, a number that is not finite as null."""
    return json.dumps(_plain(manifest), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return str(value)
