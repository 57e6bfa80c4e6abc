"""Params that many estimators have, with their getters and setters.

Written by ``python -m spark_mlfs.ml.generate``: change the tables of parameters, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pyspark.ml.param import Param, Params

if TYPE_CHECKING:
    from typing_extensions import Self


class FittingAccessors(Params):
    """How any estimator runs."""

    labelsForm: Param[Literal["auto", "tags", "ids", "multihot"]]
    def getLabelsForm(self) -> Literal["auto", "tags", "ids", "multihot"]: return self.getOrDefault(self.labelsForm)
    def setLabelsForm(self, value: Literal["auto", "tags", "ids", "multihot"]) -> Self: return self._set(labelsForm=value)
    driverBytes: Param[int]
    def getDriverBytes(self) -> int: return self.getOrDefault(self.driverBytes)
    def setDriverBytes(self, value: int) -> Self: return self._set(driverBytes=value)
    workerBytes: Param[int]
    def getWorkerBytes(self) -> int: return self.getOrDefault(self.workerBytes)
    def setWorkerBytes(self, value: int) -> Self: return self._set(workerBytes=value)


class SelectionAccessors(Params):
    """Which features are kept."""

    selectionMode: Param[Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"]]
    def getSelectionMode(self) -> Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"]: return self.getOrDefault(self.selectionMode)
    def setSelectionMode(self, value: Literal["numTopFeatures", "percentile", "fpr", "fdr", "fwe", "knockoffs", "stability"]) -> Self: return self._set(selectionMode=value)
    numTopFeatures: Param[int]
    def getNumTopFeatures(self) -> int: return self.getOrDefault(self.numTopFeatures)
    def setNumTopFeatures(self, value: int) -> Self: return self._set(numTopFeatures=value)
    percentile: Param[float]
    def getPercentile(self) -> float: return self.getOrDefault(self.percentile)
    def setPercentile(self, value: float) -> Self: return self._set(percentile=value)
    fpr: Param[float]
    def getFpr(self) -> float: return self.getOrDefault(self.fpr)
    def setFpr(self, value: float) -> Self: return self._set(fpr=value)
    fdr: Param[float]
    def getFdr(self) -> float: return self.getOrDefault(self.fdr)
    def setFdr(self, value: float) -> Self: return self._set(fdr=value)
    fwe: Param[float]
    def getFwe(self) -> float: return self.getOrDefault(self.fwe)
    def setFwe(self, value: float) -> Self: return self._set(fwe=value)
    combination: Param[Literal["cauchy", "bonferroni"]]
    def getCombination(self) -> Literal["cauchy", "bonferroni"]: return self.getOrDefault(self.combination)
    def setCombination(self, value: Literal["cauchy", "bonferroni"]) -> Self: return self._set(combination=value)
    stabilityThreshold: Param[float]
    def getStabilityThreshold(self) -> float: return self.getOrDefault(self.stabilityThreshold)
    def setStabilityThreshold(self, value: float) -> Self: return self._set(stabilityThreshold=value)
    selectionSeed: Param[int]
    def getSelectionSeed(self) -> int: return self.getOrDefault(self.selectionSeed)
    def setSelectionSeed(self, value: int) -> Self: return self._set(selectionSeed=value)
    order: Param[Literal["rank", "index"]]
    def getOrder(self) -> Literal["rank", "index"]: return self.getOrDefault(self.order)
    def setOrder(self, value: Literal["rank", "index"]) -> Self: return self._set(order=value)


class ScreeningAccessors(Params):
    """What runs before the method."""

    screen: Param[str | None]
    def getScreen(self) -> str | None: return self.getOrDefault(self.screen)
    def setScreen(self, value: str | None) -> Self: return self._set(screen=value)


class ConstraintAccessors(Params):
    """What a selection is held to."""

    include: Param[list[str | int] | None]
    def getInclude(self) -> list[str | int] | None: return self.getOrDefault(self.include)
    def setInclude(self, value: list[str | int] | None) -> Self: return self._set(include=value)
    exclude: Param[list[str | int] | None]
    def getExclude(self) -> list[str | int] | None: return self.getOrDefault(self.exclude)
    def setExclude(self, value: list[str | int] | None) -> Self: return self._set(exclude=value)
    groups: Param[dict[str, list[str | int]] | None]
    def getGroups(self) -> dict[str, list[str | int]] | None: return self.getOrDefault(self.groups)
    def setGroups(self, value: dict[str, list[str | int]] | None) -> Self: return self._set(groups=value)
    costs: Param[dict[str, float] | list[float] | None]
    def getCosts(self) -> dict[str, float] | list[float] | None: return self.getOrDefault(self.costs)
    def setCosts(self, value: dict[str, float] | list[float] | None) -> Self: return self._set(costs=value)
    budget: Param[float | None]
    def getBudget(self) -> float | None: return self.getOrDefault(self.budget)
    def setBudget(self, value: float | None) -> Self: return self._set(budget=value)


class WeightingAccessors(Params):
    """How much rows count."""

    weightCol: Param[str | None]
    def getWeightCol(self) -> str | None: return self.getOrDefault(self.weightCol)
    def setWeightCol(self, value: str | None) -> Self: return self._set(weightCol=value)


class GradingAccessors(Params):
    """What labels that are grades mean."""

    gradedLabels: Param[bool]
    def getGradedLabels(self) -> bool: return self.getOrDefault(self.gradedLabels)
    def setGradedLabels(self, value: bool) -> Self: return self._set(gradedLabels=value)
    gradeRange: Param[Sequence[float] | None]
    def getGradeRange(self) -> Sequence[float] | None: return self.getOrDefault(self.gradeRange)
    def setGradeRange(self, value: Sequence[float] | None) -> Self: return self._set(gradeRange=value)
    labelCuts: Param[Sequence[float] | None]
    def getLabelCuts(self) -> Sequence[float] | None: return self.getOrDefault(self.labelCuts)
    def setLabelCuts(self, value: Sequence[float] | None) -> Self: return self._set(labelCuts=value)
