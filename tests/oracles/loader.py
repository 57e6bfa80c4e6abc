"""A tiny independent reader of the ARFF sets: (X, Y, feature names, label names), labels in the order of the file."""

from __future__ import annotations

import gzip
import re
import xml.etree.ElementTree as tree
from pathlib import Path

import numpy as np

FILES = {
    "emotions": ["emotions.arff.gz"],
    "scene": ["scene-train.arff.gz", "scene-test.arff.gz"],
    "yeast": ["yeast.arff.gz"],
    "enron": ["enron.arff.gz"],
    "flags": ["flags.arff.gz"],
    "birds": ["birds-train.arff.gz", "birds-test.arff.gz"],
}


def load(name, data_dir):
    folder = Path(data_dir) / name
    wanted = {node.get("name") for node in tree.parse(folder / f"{name}.xml").iter() if node.get("name")}
    rows = []
    for file in FILES[name]:
        names, kinds, inside = [], [], False
        for line in gzip.open(folder / file, "rt", encoding="utf-8"):
            line = line.strip()
            if not line or line.startswith("%"):
                continue
            if inside:
                row = np.zeros(len(names))
                if line.startswith("{"):
                    for item in filter(None, line.strip("{}").split(",")):
                        place, value = item.split()
                        row[int(place)] = _value(value, kinds[int(place)])
                else:
                    row[:] = [_value(v, k) for v, k in zip(line.split(","), kinds, strict=True)]
                rows.append(row)
            elif line.lower().startswith("@attribute"):
                found = re.match(r"@attribute\s+('(?:\\.|[^'])*'|\S+)\s+(.*)", line, re.I)
                names.append(found[1].strip("'").replace("\\'", "'"))
                kinds.append([v.strip() for v in found[2].strip("{} ").split(",")] if found[2].startswith("{") else None)
            elif line.lower().startswith("@data"):
                inside = True
    data = np.array(rows)
    label = np.array([n in wanted or n.replace("\\", "") in wanted for n in names])
    pick = lambda mask: [n for n, m in zip(names, mask, strict=True) if m]  # noqa: E731
    return data[:, ~label], data[:, label].astype(int), pick(~label), pick(label)


def _value(text, kind):
    text = text.strip()
    if kind is None or text in ("0", "1") and set(kind) <= {"0", "1"}:
        return float(text)
    return kind.index(text)
