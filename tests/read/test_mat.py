"""MATLAB files as SciPy writes them: which matrices, which sides are rows, what is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat
from test_xc import HERE, rows_here, rows_there

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_names
from spark_mlfs.read import load

RNG = np.random.default_rng(0)
X = np.where(RNG.random((30, 5)) < 0.6, np.round(RNG.normal(size=(30, 5)), 3), 0)
Y = (RNG.random((30, 4)) < 0.4).astype(float)


def saved(folder, name="a.mat", **variables):
    savemat(folder / name, variables)
    return str(folder / name)


@pytest.mark.parametrize(
    "variables",
    [
        {"X": X, "Y": Y},
        {"data": X, "target": Y.T},  # as sets of LAMDA are
        {"data": X.T, "target": Y.T},
        {"fea": X.T, "gnd": Y},
        {"train_data": sp.csc_matrix(X), "train_target": sp.csc_matrix(Y.T)},
        {"features": X, "labels": np.where(Y > 0, 1, -1).astype(np.int8)},
        {"x": X, "Labels": Y.astype(bool), "n": 3.0, "names": np.array(["a", "b"], object)},
    ],
)
def test_either_orientation_is_told_by_the_other_matrix(tmp_path, variables):
    path = saved(tmp_path, **variables)
    frame = load(HERE, path, "mat")
    ids, features, labels = rows_here(frame)
    assert ids.tolist() == [*range(30)]
    assert np.array_equal(features, X) and np.array_equal(labels, Y)
    assert attribute_names(frame, FEATURES) == ["f1", "f2", "f3", "f4", "f5"]
    assert attribute_names(frame, LABELS) == ["l1", "l2", "l3", "l4"]


def test_names_missing_values_packing_and_several_files(tmp_path):
    x = X.copy()
    x[3, 2] = np.nan
    y = Y.copy()
    y[4, 1] = np.nan
    path = saved(tmp_path, A=x, B=y, C=x[:2])
    options = {"features": "A", "labels": "B", "feature_names": [*"abcde"]}
    with pytest.raises(DataError, match=r"a.mat: row 4, feature 'c': the value is missing; pass"):
        rows_here(load(HERE, path, "mat", **options))
    frame = load(HERE, path, "mat", missing="mean", **options)
    _, features, labels = rows_here(frame)
    assert features[3, 2] == np.nanmean(x[:, 2]).round(15) or np.isclose(
        features[3, 2], np.nanmean(x[:, 2])
    )
    assert np.array_equal(labels, y, equal_nan=True)
    ids, features, _ = rows_here(load(HERE, path, "mat", missing="drop", **options))
    assert ids.tolist() == [k for k in range(30) if k != 3] and np.array_equal(
        features, np.delete(x, 3, axis=0)
    )
    packed = tmp_path / "b.mat.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.mat").read_bytes()))
    paths = [path, str(packed)]
    ids, _, _ = rows_here(load(HERE, paths, "mat", missing="zero", **options))
    assert ids.tolist() == [*range(60)]


def test_the_size_of_what_is_unpacked_is_reckoned(tmp_path):
    x = np.zeros((2000, 50))
    path = saved(tmp_path, X=x, Y=np.arange(2000)[:, None] % 2)
    (tmp_path / "a.mat.gz").write_bytes(gzip.compress((tmp_path / "a.mat").read_bytes()))
    for name in (path, f"{path}.gz"):
        assert load(HERE, name, "mat").bytes >= x.nbytes


SQUARE = np.eye(4)


@pytest.mark.parametrize(
    ("variables", "options", "error", "message"),
    [
        (
            {"X": SQUARE, "Y": SQUARE},
            {},
            ParameterError,
            "X is 4x4, Y is 4x4: which sides are the rows is not clear; give transposed",
        ),
        ({"X": X, "Y": Y[:9]}, {}, DataError, "X is 30x5, Y is 9x4: they have no number of rows"),
        (
            {"X_train": X, "X_test": X, "Y": Y},
            {},
            ParameterError,
            "X_train 30x5, X_test 30x5, Y 30x4: which holds the features is not clear; give feat",
        ),
        ({"A": X, "Y": Y}, {}, ParameterError, "A 30x5, Y 30x4: none is called as features are"),
        ({"X": X, "Y": Y}, {"labels": "Z"}, ParameterError, "labels='Z': no such matrix; .* has X"),
        ({"X": X, "Y": Y}, {"labels": "X"}, ParameterError, "'X' cannot be features and labels"),
        ({"X": X, "Y": Y + 2}, {}, DataError, "row 1, label 1 of 'Y' is [23]; labels are 0 and 1"),
        ({"X": X, "Y": Y - np.eye(30, 4)}, {}, DataError, "'Y' holds -1, 0 and 1, of which 0"),
        ({"X": X * 1j, "Y": Y}, {}, DataError, "'X' holds complex numbers; give real ones"),
        (
            {"X": np.where(np.eye(30, 5), np.inf, X), "Y": Y},
            {"missing": "zero"},
            DataError,
            "row 1, feature 'f1' is infinite; make it finite",
        ),
    ],
)
def test_what_is_refused(tmp_path, variables, options, error, message):
    with pytest.raises(error, match=message):
        rows_here(load(HERE, saved(tmp_path, **variables), "mat", **options))


def test_damaged_files_and_those_of_hdf5_are_a_line(tmp_path):
    whole = (tmp_path / saved(tmp_path, X=X, Y=Y)).read_bytes()
    contents = {
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(600): "a MATLAB 7.3 file .HDF5.; save it",
        whole[:150]: "damaged, or no MATLAB file",
        b"no such file, but text that is long enough for a header" * 9: "damaged, or no MATLAB",
        b"": "damaged, or no MATLAB file",
    }
    for content, message in contents.items():
        (tmp_path / "b.mat").write_bytes(content)
        with pytest.raises(DataError, match=f"b.mat: {message}"):
            rows_here(load(HERE, str(tmp_path / "b.mat"), "mat"))


@pytest.mark.slow
def test_spark_reads_the_same(spark, tmp_path):
    (tmp_path / "set").mkdir()
    saved(tmp_path / "set", "a.mat", data=X, target=Y.T)
    saved(tmp_path / "set", "b.mat", data=sp.csc_matrix(X[::-1]), target=np.where(Y > 0, 1, -1).T)
    path = str(tmp_path / "set")
    here = rows_here(load(HERE, path, "mat"))
    there = rows_there(load(spark, path, "mat"))
    for one, other in zip(here, there, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(here[1], np.vstack([X, X[::-1]]))
