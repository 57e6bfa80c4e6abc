"""A tiny independent reader of the real sets: ``load(name, data_dir)`` gives (X, Y, feature names,
label names).

X is a dense float array, or CSR for the three sets that would be large (``LARGE``); Y is an n × q
array of 0 and 1. Features and labels keep the order of the attributes in the file (not that of the
XML). A nominal feature is the index of its category."""

from __future__ import annotations

import gzip
import re
import xml.etree.ElementTree as tree
from pathlib import Path

import numpy as np
from scipy import sparse

FILES = {
    "emotions": ["emotions.arff.gz"],
    "scene": ["scene-train.arff.gz", "scene-test.arff.gz"],
    "yeast": ["yeast.arff.gz"],
    "enron": ["enron.arff.gz"],
    "flags": ["flags.arff.gz"],
    "birds": ["birds-train.arff.gz", "birds-test.arff.gz"],
    "corel5k": ["Corel5k-sparse.arff.gz"],
    "tmc2007-500": ["tmc2007-500.arff.gz"],
    "slashdot": ["SLASHDOT-F.arff.gz"],
    "imdb": ["Imdb.arff.gz"],
}
XML = {"corel5k": "Corel5k.xml"}
FIRST_LABELS = {"slashdot": 22, "imdb": 28}  # MEKA's -C: the first attributes are the labels
LARGE = {"tmc2007-500", "imdb", "rcv1sub1"}
ATTRIBUTE = re.compile(r"@attribute\s+('(?:\\.|[^'\\])*'|\S+)\s+(.*)", re.IGNORECASE)


def load(name, data_dir):
    folder = Path(data_dir) / name
    if name == "rcv1sub1":
        return _svmlight(folder)
    rows, columns, values, n = [], [], [], 0
    for file in FILES[name]:
        names, kinds, inside = [], [], False
        with gzip.open(folder / file, "rt", encoding="utf-8") as lines:
            for line in lines:
                line = line.strip()
                if not line or line.startswith("%"):
                    continue
                if inside:
                    for place, text in _cells(line):
                        value = _value(text, kinds[place])
                        if value:
                            rows.append(n)
                            columns.append(place)
                            values.append(value)
                    n += 1
                elif line.lower().startswith("@attribute"):
                    found = ATTRIBUTE.match(line)
                    names.append(_unquote(found[1]))
                    nominal = found[2].startswith("{")
                    kinds.append(
                        [_unquote(v.strip()) for v in found[2].strip("{} \t").split(",")]
                        if nominal
                        else None
                    )
                elif line.lower().startswith("@data"):
                    inside = True
    data = sparse.csr_matrix((values, (rows, columns)), shape=(n, len(names)))
    if name in FIRST_LABELS:
        label = np.arange(len(names)) < FIRST_LABELS[name]
    else:
        root = tree.parse(folder / XML.get(name, f"{name}.xml"))
        wanted = {node.get("name") for node in root.iter() if node.get("name")}
        label = np.array([n in wanted for n in names])
    x = data[:, np.flatnonzero(~label)]
    y = data[:, np.flatnonzero(label)].toarray().astype(int)
    return (
        x if name in LARGE else x.toarray(),
        y,
        [n for n, is_label in zip(names, label, strict=True) if not is_label],
        [n for n, is_label in zip(names, label, strict=True) if is_label],
    )


def _cells(line):
    """(attribute place, text) of one data line, dense or sparse."""
    if not line.startswith("{"):
        yield from enumerate(line.split(","))
        return
    for item in line.strip("{}").split(","):
        if item.strip():
            place, text = item.split()
            yield int(place), text


def _value(text, kind):
    text = text.strip()
    # {0,1} in any order is the number itself; any other nominal attribute is its category's index
    return float(text) if kind is None or set(kind) == {"0", "1"} else kind.index(_unquote(text))


def _unquote(text):
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] == "'" and text[-1:] == "'" else text


def _svmlight(folder):
    from sklearn.datasets import load_svmlight_file

    features = (folder / "features.txt").read_text().split("\n")
    labels = (folder / "labels.txt").read_text().split("\n")
    features, labels = [n for n in features if n], [n for n in labels if n]
    x, sets = load_svmlight_file(
        str(folder / "rcv1sub1.svm.gz"), n_features=len(features), multilabel=True, zero_based=False
    )
    y = np.zeros((x.shape[0], len(labels)), int)
    for i, positive in enumerate(sets):
        y[i, np.array(positive, int)] = 1
    return x.tocsr(), y, features, labels
