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
    """Return the versions of packages that are installed.

    Those that are run from a clone, or are the cluster's own, are left out."""
    known = {}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            known[name] = metadata.version(name)
    return known


def versions(spark_version: str | None) -> dict[str, str]:
    """Return those of Python, Spark and the libraries that take part in the numbers."""
    ours = {"spark_mlfs": __version__, "platform": platform.platform()}
    spark = {} if spark_version is None else {"spark": spark_version}
    return {
        "python": platform.python_version(),
        **spark,
        **installed(LIBRARIES),
        **ours,
    }


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
    count: int,
    spark_version: str | None,
    seconds: Mapping[str, float],
    jobs: Mapping[str, int],
    arguments: Sequence[str],
) -> dict[str, Any]:
    """Return the manifest of a selection run, which keeps `count` features.

    `seconds` and `jobs` are per stage."""
    selection = {**config.selection.as_dict(only_set=True), "kept": count}
    if result.evidence is not None:
        rule = result.evidence.rule
        selection |= {
            "level": rule.level,
            "seed": rule.seed,
            **result.evidence.facts,
        }
    manifest = {
        **opening("select", arguments),
        "data": _data_facts(config.data, result),
        "method": {"name": result.request.method, "parameters": dict(result.request.parameters)},
        "selection": selection,
    }
    resolved = result.request.resolved
    if resolved is not None:
        manifest["constraints"] = {**resolved.named(result.feature_names)}
        if resolved.costs is not None:
            manifest["constraints"]["cost"] = float(result.kept["cost"].sum())
    manifest |= {
        "seed": config.run.seed,
        "notices": [str(notice) for notice in result.notices],
        "solution": _solution(result.scores),
        "cost": {
            "seconds": dict(seconds),
            "spark_jobs": {**jobs, "all": sum(jobs.values())},
            "scans": result.scans,
            "driver_bytes": result.driver_bytes,
            "distributed": result.distributed,
        },
        "versions": versions(spark_version),
    }
    return manifest


def _data_facts(data: Any, result: Result) -> dict[str, Any]:
    profile = result.profile
    facts = {
        "path": data.path,
        "format": data.format,
        "options": data.options,
        "rows": profile.n,
        "features": profile.d,
        "features_that_vary": int((profile.high > profile.low).sum()),
        "labels": profile.q,
        "label_cardinality": float(profile.positive.sum() / profile.n),
    }
    if data.graded_labels:
        facts |= {"grade_range": data.grade_range, "label_cuts": data.label_cuts}
    if profile.graded:
        mean_grades = profile.label_mass / np.maximum(profile.observed_total, 1)
        facts["mean_grades"] = mean_grades.tolist()
    if profile.weighted:
        facts["weight"] = profile.total * profile.weight_unit
    facts |= {
        "unknown_labels": int(profile.unknown.sum() + profile.unlabelled * profile.q),
        "density": profile.density,
        "stored_as": "sparse" if profile.sparse else "dense",
        "packed_bytes": profile.size,
        "fingerprint": f"{profile.fingerprint:016x}",
    }
    return facts


def _solution(scores: Any) -> dict[str, Any]:
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
        entries = np.size(value)
        solution[name] = value if entries <= LARGEST_ARRAY else f"{entries} entries, not kept"
    return solution


def as_json(manifest: Mapping[str, Any]) -> str:
    """Return strict JSON: NumPy values as plain ones, a number that is not finite as null."""
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
