"""Saved states that are damaged: no ranking but the right one, and one line otherwise."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_mlfs import states
from spark_mlfs.adapters.saved import checksum
from spark_mlfs.errors import DataError, ParameterError, SparkMlfsError
from spark_mlfs.states.whole import FILES

COUNT = 500 if os.environ.get("MLFS_SLOW") == "all" else 25  # damages of each target
FUZZ = settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
METHODS = ("mim", "lasso", "jmi")
NAMES = (*FILES, "manifest.json")


def rows(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    r = np.random.default_rng(seed)
    X = pd.DataFrame(r.normal(size=(80, 6)), columns=list("abcdef")).clip(-3, 3)
    return X, pd.DataFrame({f"t{j}": (X.iloc[:, j] + r.normal(size=80) > 0) * 1 for j in range(3)})


def collected(seed: int, like: states.States | None = None) -> states.States:
    named = {"name": f"day {seed}", "pairs_of": None if like else 4}
    return states.collect(*rows(seed), METHODS, like=like, **named)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two days, ``a`` and ``b``, and ``old`` as the package wrote them without checksums."""
    folder = tmp_path_factory.mktemp("states")
    first = collected(1)
    states.save(first, str(folder / "a"))
    states.save(collected(2, first), str(folder / "b"))
    shutil.copytree(folder / "a", folder / "old")
    manifest = json.loads((folder / "old/manifest.json").read_text())
    del manifest["files"], manifest["checksum"]
    (folder / "old/manifest.json").write_text(json.dumps({**manifest, "format": 2}))
    return folder


@pytest.fixture(scope="module")
def right(home):
    return rankings(home / "a")


def rankings(folder: Path) -> list[pd.DataFrame]:
    loaded = states.load(str(folder))
    return [states.rank(loaded, method) for method in METHODS]


def outcome(folder: Path) -> list[pd.DataFrame] | None:
    """The rankings of damaged states, or None: then what was raised is one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rankings(folder)
    except SparkMlfsError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        assert str(folder) in str(error) or isinstance(error, ParameterError)
        return None


# ---- damages ----


def flipped(data, folder, _):
    """Some bits are others."""
    path = folder / data.draw(st.sampled_from(NAMES))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)


def cut(data, folder, _):
    path = folder / data.draw(st.sampled_from(NAMES))
    content = path.read_bytes()
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])


def exchanged(data, folder, other):
    """A file of another day, or another file of this one, has its place."""
    path = folder / data.draw(st.sampled_from(NAMES))
    source = data.draw(st.sampled_from([other, folder])) / data.draw(st.sampled_from(NAMES))
    if source != path:
        shutil.copy(source, path)


def gone(data, folder, _):
    path = folder / data.draw(st.sampled_from(NAMES))
    path.unlink()
    if data.draw(st.booleans()):
        path.mkdir()


VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(-3, 1 << 70), st.floats(), st.text(max_size=5)),
    *(st.lists(st.integers(), max_size=2), st.just({}), st.just({"a": [None]})),
)


def edited(data, folder, _):
    """A value of the manifest, however deep, is another one, of any type, or gone."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    inside = manifest
    while True:
        keys = [*inside] if isinstance(inside, dict) else [*range(len(inside))]
        key = data.draw(st.sampled_from(keys))
        deeper = inside[key]
        if not isinstance(deeper, (dict, list)) or not deeper or data.draw(st.booleans()):
            break
        inside = deeper
    if data.draw(st.integers(0, 3)):
        inside[key] = data.draw(VALUES)
    else:
        del inside[key]
    path.write_text(json.dumps(manifest))


DAMAGES = (flipped, cut, exchanged, gone, edited)


@FUZZ
@given(st.data(), st.sampled_from(DAMAGES))
def test_damaged_states_rank_as_they_did_or_not_at_all(home, right, tmp_path_factory, data, damage):
    folder = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home / "a", folder)
    damage(data, folder, home / "b")
    ranked = outcome(folder)
    if ranked is not None:
        for one, other in zip(ranked, right, strict=True):
            pd.testing.assert_frame_equal(one, other, check_exact=True)


@FUZZ
@given(st.data(), st.sampled_from(DAMAGES))
def test_damaged_states_without_checksums_are_one_line(home, tmp_path_factory, data, damage):
    folder = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home / "old", folder)
    damage(data, folder, home / "b")
    outcome(folder)


# ---- one by one ----


def test_states_without_checksums_are_read(home, right):
    for one, other in zip(rankings(home / "old"), right, strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.parametrize("name", FILES[2:])
def test_the_file_of_another_day_is_refused(home, tmp_path, name):
    shutil.copytree(home / "a", tmp_path / "mixed")
    shutil.copy(home / "b" / name, tmp_path / "mixed" / name)
    with pytest.raises(DataError, match=f"mixed: the states are damaged .{name} is not the file"):
        states.load(str(tmp_path / "mixed"))


@pytest.mark.parametrize("lost", [("checksum",), ("files",), ("checksum", "files")])
def test_checksums_cannot_be_left_out(home, tmp_path, lost):
    shutil.copytree(home / "a", tmp_path / "bare")
    path = tmp_path / "bare/manifest.json"
    manifest = json.loads(path.read_text())
    for name in lost:
        del manifest[name]
    if "checksum" not in lost:
        manifest["checksum"] = checksum(manifest)
    path.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="bare: the states are damaged"):
        states.load(str(tmp_path / "bare"))


HAND_MADE = (
    "[]",
    "null",
    '{"format": 1}',
    '{"format": "1", "basis": "b"}',
    '{"format": true, "basis": "b"}',
    '{"format": 0, "basis": "b"}',
    '{"format": 1, "basis": 7, "options": {}, "sparse": true, "thin": true, "kinds": ["gram"]}',
    '{"format": 1, "basis": "b", "options": [], "sparse": true, "thin": true, "kinds": ["gram"]}',
    '{"format": 1, "basis": "b", "options": {}, "sparse": 1, "thin": null, "kinds": ["gram"]}',
    '{"format": 1, "basis": "b", "options": {}, "sparse": true, "thin": true, "kinds": "gram"}',
    '{"format": 1, "basis": "b", "options": {}, "sparse": true, "thin": true, "kinds": [7]}',
    '{"format": 2, "basis": "b", "options": {"pairs of": 7}, "sparse": true, "thin": true}',
    '{"format": 9, "basis": "b"}',
    '{"format": 1e999, "basis": "b"}',
    "[" * 9999,
)


@pytest.mark.parametrize("text", HAND_MADE)
def test_manifests_made_by_hand(home, tmp_path, text):
    shutil.copytree(home / "old", tmp_path / "hand")
    (tmp_path / "hand/manifest.json").write_text(text)
    assert outcome(tmp_path / "hand") is None


@pytest.mark.parametrize("kinds", [["no kind"], [], ["gram", "gram"], ["counts"], ["counts 5 no"]])
def test_kinds_made_by_hand(home, tmp_path, kinds):
    shutil.copytree(home / "old", tmp_path / "hand")
    path = tmp_path / "hand/manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "kinds": kinds}))
    assert outcome(tmp_path / "hand") is None


def test_the_same_rows_under_another_name_are_not_merged(home):
    first = states.load(str(home / "a"))
    again = states.collect(*rows(1), METHODS, like=first, name="another")
    with pytest.raises(ParameterError, match="another has the rows of day 1, under another name"):
        states.merge(first, again)


@pytest.mark.parametrize("name", ["day 1", "another"])
@pytest.mark.parametrize("sparse", [False, True])
def test_nor_with_their_columns_in_another_order(name, sparse):
    """Nor with a label, or a feature of sparse rows, that the first state has not."""
    X, Y = rows(1)
    first_X, first_Y = rows(3)
    if sparse:
        X, first_X = ((table.where(table > 0.5, 0.0)) for table in (X, first_X))
        X = X.assign(new=(X.a > 1).astype(float)).astype(pd.SparseDtype(float, 0.0))
        first_X = first_X.astype(pd.SparseDtype(float, 0.0))
    Y = Y.assign(new=1 - Y.t0)
    first = states.collect(first_X, first_Y, "mim", name="first")
    day = states.collect(X, Y, "mim", like=first, name="day 1")
    again = states.collect(X[X.columns[::-1]], Y[Y.columns[::-1]], "mim", like=first, name=name)
    states.merge(first, day)
    with pytest.raises(ParameterError, match="twice"):
        states.merge(first, day, again)
    other = states.collect(X[X.columns[::-1]].iloc[1:], Y.iloc[1:], "mim", like=first, name="b")
    assert states.merge(first, day, other).rows == 239
