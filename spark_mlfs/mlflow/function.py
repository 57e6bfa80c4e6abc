"""The Python function that MLflow saves and calls."""

from __future__ import annotations

from typing import Any

from mlflow.pyfunc import PythonModel

from .tagger import Steps, tags


class Tagger(PythonModel):
    """``predict`` gives ``tags`` and ``scores`` of the rows of a table; ``params`` may hold another
    top_n or threshold."""

    def __init__(
        self, steps: Steps, top_n: int | None = None, threshold: float | None = None
    ) -> None:
        self.steps, self.top_n, self.threshold = steps, top_n, threshold

    def predict(self, context, model_input, params: dict[str, Any] | None = None):  # type: ignore[no-untyped-def]
        given = {name: (params or {}).get(name) for name in ("top_n", "threshold")}
        if set(given.values()) == {None}:  # MLflow gives those that a call leaves out as None
            given = {"top_n": self.top_n, "threshold": self.threshold}
        return tags(self.steps, model_input, **given)
