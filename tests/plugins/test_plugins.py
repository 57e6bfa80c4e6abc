"""A method of another package works everywhere: registry, estimator, command line, comparison,
conformance suite."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs import METHODS, ParameterError, pipeline
from spark_mlfs.registry import Registry
from spark_mlfs.testing import check_method, engine_of, example, frame_of, rank_here

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def installed(spark, tmp_path_factory):
    """The example as an installed distribution with an entry point, on the driver and, as with
    --py-files, on the workers."""
    site = tmp_path_factory.mktemp("site")
    (site / "mlfs_example.py").write_text((HERE / "mlfs_example.py").read_text())
    info = site / "mlfs_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mlfs-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[spark_mlfs.methods]\npresence = mlfs_example:Lift\n")
    sys.path.insert(0, str(site))
    spark.sparkContext.addPyFile(str(site / "mlfs_example.py"))
    METHODS.reload()
    yield import_module("mlfs_example").Lift
    sys.path.remove(str(site))
    METHODS.reload()
    assert "presence" not in METHODS


def test_an_entry_point_makes_it_known(installed):
    assert (
        METHODS["presence"] is installed
        and list(METHODS)[-1] == "presence"
        and len(METHODS) == len(list(METHODS))
    )
    assert METHODS.create("presence").title == installed.title
    with pytest.raises(ParameterError, match="did you mean 'presence'"):
        METHODS.create("presense")


def test_a_registered_class_may_have_an_entry_point_too(tmp_path, monkeypatch):
    """As on the page: whichever of both comes first, and under no other name."""
    page = (HERE.parents[1] / "notebooks" / "how-to" / "add-a-method.md").read_text()
    (tmp_path / "my_package.py").write_text(re.search("(?s)```python\n(.*?)```", page)[1])
    info = tmp_path / "my_package-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 0.1\n")
    points = re.search(r"(?s)(\[)project\.entry-points\.\"(.*?)\"\]\n(.*?)\n\n", page)
    (info / "entry_points.txt").write_text(f"[{points[2]}]\n" + points[3].replace('"', ""))
    monkeypatch.syspath_prepend(str(tmp_path))
    METHODS.reload()
    try:
        found = METHODS["variance"]
        assert found.__module__ == "my_package" and METHODS.register(found) is found
        other = type("Variance", (found,), {"__module__": "another"})
        with pytest.raises(ParameterError, match="already"):
            METHODS.register(other)
        x = np.random.default_rng(0).normal(size=(50, 3)) * [1, 3, 2]
        ranking = spark_mlfs.rank(x, x[:, 0] > 0, "variance", k=3)
        assert ranking["index"].tolist() == np.argsort(-x.var(axis=0)).tolist()
    finally:
        monkeypatch.undo()
        METHODS.forget("variance")
        METHODS.reload()


@pytest.mark.parametrize(
    "text", ["raise SystemExit(0)", "import nothing_of_that_name", "1 / 0", ""]
)
def test_a_package_that_cannot_be_imported_is_told(tmp_path, monkeypatch, text):
    """An entry point that ends the process would have ended the command with code 0, and nothing
    done."""
    (tmp_path / "mlfs_broken.py").write_text(text)
    (tmp_path / "mlfs_broken-1.dist-info").mkdir()
    (tmp_path / "mlfs_broken-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: mlfs-broken\nVersion: 1\n"
    )
    (tmp_path / "mlfs_broken-1.dist-info" / "entry_points.txt").write_text(
        "[spark_mlfs.extractors]\nbad = mlfs_broken:Bad\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    extractors = Registry("extractor", "spark_mlfs.extractors", {})
    assert "mlfs_broken" in extractors.packages()
    with pytest.raises(
        ParameterError,
        match=r"^the extractor 'bad' of the installed package mlfs_broken cannot be imported \(",
    ):
        extractors.create("bad")
    sys.modules.pop("mlfs_broken", None)


@pytest.mark.slow
def test_it_keeps_the_laws(installed, spark):
    check_method(installed, spark)


def test_a_value_that_another_parameter_rules_out_is_a_refusal():
    check_method(spark_mlfs.METHODS["lasso"])  # sketches go with group=True


def test_the_laws_are_told_where_they_are_broken(installed):
    """Each breach by what it is: a check that cannot fail would be none."""

    class Drawn(installed):
        def score(self, engine, p, count):
            scores = super().score(engine, p, count)
            scores.values = (
                scores.values + np.arange(engine.num_features) * engine.gathered().x[0, 0]
            )
            return scores

    class Silent(installed):
        parameters = (
            *installed.parameters,
            spark_mlfs.params.Parameter("odd", 1.0, spark_mlfs.params.Number(0), ""),
        )

    class Wrong(installed):
        def score(self, engine, p, count):
            scores = super().score(engine, p, count)
            scores.values[0] = np.inf
            return scores

    class Greedy(installed):
        greedy = True

    for method, message in (
        (Drawn, "copy of a column|permuted|order of the rows"),
        (Silent, "no meaning"),
        (Wrong, "not finite"),
        (Greedy, "path"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_method(method)


def test_estimator_and_pipeline(installed, spark):
    x, y = example()
    order = rank_here(engine_of(x, y), pipeline.Request.of("presence", {"power": 2.0}))[0]
    model = spark_mlfs.MultiLabelSelector(
        method="presence", power=2.0, numTopFeatures=3, idCol="id"
    ).fit(frame_of(spark, x, y))
    assert list(model.selectedFeatures) == list(order[:3])
    screened = pipeline.Request.of("mim", {}, 3, "presence:6")
    (result,) = pipeline.rank(
        frame_of(spark, x, y).repartition(3), [screened], row_id="id", small_bytes=0
    )
    assert set(result.ranking["index"][:6]) == set(order[:6])


def test_command_line(installed, spark, tmp_path, capsys):
    from spark_mlfs import cli

    assert cli.main(["methods", "presence"]) == 0
    assert "exponent of the change" in capsys.readouterr().out
    output = tmp_path / "run"
    data = [
        "--format",
        "planted",
        "--option",
        "num_rows=300",
        "--option",
        "num_features=20",
        "--option",
        "num_labels=3",
    ]
    command = ["select", *data, "--method", "presence", "--set", "power=2"]
    assert cli.main([*command, "--num-top-features", "5", "--output", str(output)]) == 0
    manifest = json.loads((output / "manifest.json").read_text())
    assert manifest["method"]["name"] == "presence" and manifest["method"]["parameters"] == {
        "power": 2.0
    }
    assert len(pd.read_csv(output / "ranking.csv")) == manifest["data"]["features"]


@pytest.mark.slow
def test_it_takes_part_in_comparisons(installed, spark):
    plan = {
        "data": [
            {
                "name": "planted",
                "format": "planted",
                "options": {"num_rows": 240, "num_features": 20, "num_labels": 3},
            }
        ],
        "method": [{"name": "presence", "grid": {"power": [1.0, 2.0]}}, {"name": "mim"}],
        "classifier": [{"name": "brknn"}],
        "protocol": {"folds": "3-fold", "sizes": [5]},
    }
    outcome = spark_mlfs.compare(spark, plan)
    assert not len(outcome.failed) and set(outcome.cells["method"]) >= {"presence", "mim"}


def test_register(installed):
    class Twice(installed):
        name = "presence-twice"

    assert spark_mlfs.register(Twice) is Twice
    try:
        assert METHODS["presence-twice"] is Twice
        assert pipeline.Request.of("presence-twice").implementation.name == "presence-twice"
        x, y = example()
        assert (
            len(rank_here(engine_of(x, y), pipeline.Request.of("presence-twice"))[0]) == x.shape[1]
        )
        spark_mlfs.register(Twice)  # once more is no fault

        class Other(installed):
            name = "presence-twice"

        with pytest.raises(ParameterError, match="already"):
            spark_mlfs.register(Other)
        with pytest.raises(ParameterError, match=r"no 'name'|is no method"):
            spark_mlfs.register(type("Nothing", (), {}))
    finally:
        METHODS.forget("presence-twice")
