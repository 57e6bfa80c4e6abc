"""Labels in a hierarchy, as Clus writes them: ``1/2@3`` is 1/2 and 3, and 1, the parent of 1/2.

Labels are paths, of which each implies those above; they are listed in the header, and what a
path implies is a label, too. Where the list begins at ``root/``, it is the edges parent/child of a
graph: labels are then its nodes but the root, and imply all nodes above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..errors import DataError
from ..frames import vectors
from ..frames.names import near
from ..frames.vectors import Vectors
from .cells import Irregular

ROOT = "root"


@dataclass(frozen=True)
class Hierarchy:
    """Labels, and of each the places of what it implies, itself among them."""

    names: list[str]
    implied: dict[str, tuple[int, ...]]

    @classmethod
    def of(cls, listed: Sequence[str], place: str) -> Hierarchy:
        """Return the hierarchy of the labels, or edges, that a header lists."""
        edges = [path.partition("/") for path in listed]
        is_graph = all(child and "/" not in child for _, _, child in edges)
        parents: dict[str, dict[str, None]] = {}  # in order
        if is_graph and any(parent == ROOT for parent, _, _ in edges):
            for parent, _, child in edges:
                for name in (parent, child):
                    if name != ROOT:
                        parents.setdefault(name, {})
                if parent != ROOT:
                    parents[child][parent] = None
        else:
            for path in listed:
                pieces = path.split("/")
                if not all(pieces):
                    raise DataError(f"{place}: {path[:40]!r} is no path of labels; write it as 1/2")
                above = ""
                for k in range(1, len(pieces) + 1):
                    label = "/".join(pieces[:k])
                    parents.setdefault(label, {above: None} if above else {})
                    above = label
        names = [*parents]
        number = {name: k for k, name in enumerate(names)}
        implied = {name: tuple(sorted(number[n] for n in _above(name, parents))) for name in names}
        return cls(names, implied)

    def __call__(self, cells: pa.Array) -> Vectors:
        """Return the labels of each cell, all unknown where it is null.

        Raises `Irregular` where a label is none of the hierarchy."""
        coded = cells.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        try:
            places = [self.places(text) for text in texts]
        except KeyError:
            raise Irregular from None
        places.append([*range(len(self.names))])
        labels = pa.array(places, pa.list_(pa.int64()))
        labels = labels.take(coded.indices.fill_null(len(texts)))
        lengths = vectors.lengths_of(labels)
        values = np.where(np.asarray(cells.is_null()), np.nan, 1.0)
        return vectors.sparse(
            len(cells),
            len(self.names),
            np.repeat(np.arange(len(cells)), lengths),
            labels.flatten().to_numpy(),
            np.repeat(values, lengths),
        )

    def places(self, text: str) -> list[int]:
        """Return the labels of a cell, and what they imply. Raises `KeyError` for another name."""
        places: set[int] = set()
        for path in filter(None, map(str.strip, text.split("@"))):
            if path != ROOT:
                places.update(self.implied[path])
        return sorted(places)

    def check(self, text: str | None, place: str) -> None:
        """Raise `DataError` where a cell holds what is no label."""
        try:
            self.places(text or "")
        except KeyError as error:
            label = str(error.args[0])
            raise DataError(
                f"{place}: {label[:40]!r} is none of the labels in the header; correct it, or "
                f"list it ({near(label, self.names)})"
            ) from None


def _above(name: str, parents: dict[str, dict[str, None]]) -> set[str]:
    """Return a label and all that are above it."""
    labels = {name}
    waiting = [name]
    while waiting:
        for parent in parents[waiting.pop()]:
            if parent not in labels:
                labels.add(parent)
                waiting.append(parent)
    return labels
