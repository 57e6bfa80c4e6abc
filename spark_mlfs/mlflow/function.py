"""The Python function that MLflow saves and calls."""

from __future__ import annotations

from typing import Any

from mlflow.pyfunc import PythonModel

from .tagger import Steps, tags


class Tagger(PythonModel):
    """A function whose ``predict`` gives ``tags`` and ``scores`` of the rows of a table.

    ``params`` may hold another top_n or threshold."""

    def __init__(
        self, steps: Steps, top_n: int | None = None, threshold: float | None = None
    ) -> None:
        self.steps = steps
        self.top_n = top_n
        self.threshold = threshold

    def predict(  # type: ignore[no-untyped-def]
        self, context, model_input, params: dict[str, Any] | None = None
    ):
        params = params or {}
        top_n = params.get("top_n")
        threshold = params.get("threshold")
        if top_n is None and threshold is None:  # MLflow gives those that a call leaves out as None
            top_n = self.top_n
            threshold = self.threshold
        return tags(self.steps, model_input, top_n, threshold)
