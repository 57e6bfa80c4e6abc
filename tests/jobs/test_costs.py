"""What a dry run says of seconds, memory and bytes: the model of costs, its coefficients, and the
job that fits them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jobs.benchmarks import model
from spark_mlfs import CLASSIFIERS, METHODS, pipeline
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.cli import dry_run
from spark_mlfs.statistics.contingency import TwoWay
from spark_mlfs.statistics.targets import Labels

MADE = (
    "--format",
    "planted",
    "--option",
    "num_rows=3000",
    "--option",
    "num_features=12",
    "--option",
    "num_labels=3",
)


def test_coefficients_are_of_every_method_and_of_known_quantities():
    known = dry_run.fitted()
    held = model.generated(60, 6, 3, None)
    amounts = dry_run.quantities(held.profile, METHODS.create("mim"), {}, 5)
    assert set(known["rank"]) >= {"mim", "jmi", "ridge"} and set(known["rank"]) <= set(METHODS)
    for by_kind in known["rank"].values():
        assert set(by_kind) <= {"dense", "sparse"}
        assert all(
            set(terms) <= set(amounts) and all(by > 0 for by in terms.values())
            for terms in by_kind.values()
        )
    for by_kind in known["read"].values():
        assert all(
            set(terms) <= set(dry_run.read_quantities(held.profile)) for terms in by_kind.values()
        )
    formats = {"parquet", "csv", "json", "arff", "libsvm", "text", "xc", "fasttext", "mat"}
    assert formats | {"text of csv"} <= set(known["read"])
    fitted = dry_run.fit_quantities(held.profile, 5)
    assert {*CLASSIFIERS, "plt"} <= set(known["fit"])
    for by_kind in known["fit"].values():
        assert all(set(terms) <= set(fitted) for terms in by_kind.values())
    assert {*dry_run.SERIAL, *dry_run.COUNTS} <= {*amounts, "feature"} and 0 < known["command"][
        "seconds"
    ]["run"] < 10


def test_rows_on_disk_have_seconds_of_their_own():
    """A million rows of words on disk took 35.9 CPU seconds, of 190 MB that were allowed."""
    profile = model.of_words(10**6, 10**5, 500)
    amounts = dry_run.quantities(profile, METHODS.create("mim"), {}, 50)
    known = dry_run.fitted()["on disk"]
    assert {term for by in known.values() for terms in by.values() for term in terms} <= {*amounts}
    here, there = (
        dry_run.seconds("parquet", profile, [("mim", amounts)], 2, False, on_disk=on_disk)
        for on_disk in (False, True)
    )
    assert here["core_seconds"] < there["core_seconds"] == pytest.approx(35.9, rel=0.25)


def test_quantities_are_those_of_the_data():
    held = model.generated(300, 40, 5, 4)
    x, y = held.block.csr(), held.block.labels(5)
    n, d, q, labels = 300, 40, 5, y.sum() / 300
    request = pipeline.Request.of("jmi", {}, 7)
    found = dry_run.quantities(held.profile, request.implementation, request.parameters, 7)
    assert found["row"] == n and found["value"] == x.nnz and found["feature and label"] == d * q
    assert found["label of a value"] == pytest.approx(x.nnz * max(1, labels))
    assert (
        found["product of values"] == found["cubed feature"] == 0
        and found["pick of a value"] == 7 * x.nnz
    )
    ridge = dry_run.quantities(
        held.profile, METHODS.create("ridge"), {}, 7
    )  # of those that take Gram matrices
    assert (
        ridge["product of values"] == pytest.approx(x.nnz**2 / n)
        and ridge["cubed feature"] == 40**3
    )
    assert dry_run.quantities(held.profile, METHODS.create("mim"), {}, 7)["pick of a value"] == 0
    relieff = pipeline.Request.of("relieff")
    assert (
        dry_run.quantities(held.profile, relieff.implementation, relieff.parameters, 7)[
            "pair of values"
        ]
        > 0
    )


@pytest.mark.parametrize(("n", "words", "q"), [(60_000, 20, 30), (4000, 20, 400), (400, 5, 3)])
def test_cells_that_a_table_of_counts_stores_are_foreseen(n, words, q):
    """Against the stored entries of X'Y of rows of power-law words, of all rows and of rows that
    are like a tenth of them."""
    rng = np.random.default_rng(7)
    share, often = np.arange(1, 3001) ** -0.7, np.arange(1, q + 1) ** -0.5
    x, y = (
        sp.csr_matrix(
            (
                np.ones(n * k),
                rng.choice(len(by), n * k, p=by / by.sum()),
                np.arange(0, n * k + 1, k),
            ),
            shape=(n, len(by)),
        )
        for k, by in ((words, share), (2, often))
    )
    for each in (x, y):
        each.sum_duplicates()
        each.data[:] = 1
    met = (x.T @ y).nnz
    profiles = [profile_of(x[:rows], y[:rows], q) for rows in (n, n // 10)]
    assert dry_run.cells_met(profiles[0]) == pytest.approx(met, rel=0.03)
    assert n < 1000 or dry_run.cells_met(dry_run.scaled(profiles[1], n)) == pytest.approx(
        met, rel=0.1
    )
    dense = profile_of(x[:300, :40].toarray(), y[:300], q)
    dense.positive = np.full(q, 300)
    assert dry_run.cells_met(dense) == pytest.approx(40 * q)


def profile_of(x, y, q):
    return profile_block(Block(x, np.arange(x.shape[0]), y.indptr, y.indices), q)


@pytest.fixture
def plain(monkeypatch):
    """Coefficients to reckon with by hand."""
    known = {
        "command": {"seconds": {"run": 2.0, "feature": 0.5}, "memory": 1 << 20},
        "read": {
            "csv": {"dense": {"row": 0.01}},
            "parquet": {"sparse": {"value": 1.0}, "dense": {"value": 0.001}},
        },
        "rank": {"mim": {"dense": {"row": 0.1, "feature and label": 1.0}}},
        "spark": {"session": 5.0, "times": 3.0},
    }
    monkeypatch.setattr(dry_run, "fitted", lambda: known)


def test_seconds_by_hand(plain):
    profile = model.generated(100, 4, 3, None).profile
    amounts = dry_run.quantities(profile, METHODS.create("mim"), {}, 4)
    alone, shared = 2 + 0.5 * 4 + 1.0 * 4 * 3, 0.001 * 100 * 4 + 0.1 * 100
    here = dry_run.seconds("parquet", profile, [("mim", amounts)], 2, False)
    assert here["seconds"] == pytest.approx(alone + shared / 2) and here[
        "core_seconds"
    ] == pytest.approx(alone + shared)
    there = dry_run.seconds(
        "libsvm", profile, [("mim", amounts)] * 2, 100, True
    )  # a format that was not measured is read as CSV
    alone, shared = (
        2 + 0.5 * 4 + 5,
        3 * (0.01 * 100 + 2 * (0.1 * 100 + 12)),
    )  # tasks finish the counts
    assert there["seconds"] == pytest.approx(alone + shared / 100) and there[
        "of_it_alone"
    ] == pytest.approx(alone)
    assert dry_run.seconds("csv", profile, [("jmi", amounts)], 1, False) is None


def test_the_seconds_of_a_classifier_are_those_of_reading_again_and_of_its_fit(plain, monkeypatch):
    known = dry_run.fitted() | {"fit": {"mlknn": {"dense": {"row and label": 0.25, "value": 2.0}}}}
    monkeypatch.setattr(dry_run, "fitted", lambda: known)
    profile = model.generated(100, 4, 3, None).profile
    amounts = dry_run.quantities(profile, METHODS.create("mim"), {}, 2)
    ranked = [("mim", amounts)]
    without = dry_run.seconds("parquet", profile, ranked, 1, False)["core_seconds"]
    found = dry_run.seconds("parquet", profile, ranked, 1, False, ("mlknn", 2))["core_seconds"]
    assert found - without == pytest.approx(0.001 * 100 * 4 + 0.25 * 100 * 3 + 2.0 * 100 * 2)
    assert dry_run.seconds("parquet", profile, ranked, 1, False, ("cc", 2)) is None
    sparse = model.generated(300, 40, 5, 4)
    fullest = np.sort(sparse.profile.stored)[-7:].sum()
    assert dry_run.fit_quantities(sparse.profile, 7)["value"] == fullest


def test_a_label_tree_costs_its_nodes_and_one_thread(plain, monkeypatch):
    known = dry_run.fitted() | {"fit": {"plt": {"sparse": {"value and node": 0.5, "row": 1.0}}}}
    monkeypatch.setattr(dry_run, "fitted", lambda: known)
    profile = model.tagged(200, 50, 400, 8).profile
    labels = profile.positive.sum() / 200
    amounts = dry_run.fit_quantities(profile, 50)
    nodes = labels * (100 + 2 * np.log2(400 / 100))  # siblings of the leaf, and of two nodes above
    assert amounts["value and node"] == pytest.approx(amounts["value"] * nodes)
    few = dry_run.fit_quantities(model.tagged(200, 50, 30, 8).profile, 50)
    assert few["value and node"] == few["value"] * 30  # a tree has no more nodes than labels then
    one, two = (
        dry_run.seconds("parquet", profile, [], cores, False, ("plt", 50)) for cores in (1, 2)
    )
    of_fit = 0.5 * amounts["value and node"] + 200
    assert one["core_seconds"] == two["core_seconds"] and two["of_it_alone"] > of_fit
    assert two["seconds"] == pytest.approx(two["of_it_alone"] + 2 * profile.nonzero / 2)


def test_processes_of_its_own_are_counted():
    work = "sum(range(20_000_000))"
    seconds, _ = model.cpu(lambda: subprocess.run([sys.executable, "-c", work], check=True))
    assert seconds > 0.1


@pytest.mark.local
def test_a_dry_run_says_the_seconds_of_a_label_tree(run, tmp_path):
    flags = ("select", *MADE, "--method", "mim", "--output", tmp_path / "x", "--dry-run", "--json")
    with_tree = json.loads(run(*flags, "--classifier", "plt")[1])["cost"]
    assert with_tree["of_it_alone"] > json.loads(run(*flags)[1])["cost"]["of_it_alone"]


def test_bytes_that_spark_moves(monkeypatch):
    profile = model.generated(100, 4, 3, None).profile
    from spark_mlfs.engine.local import SizingEngine

    statistic = TwoWay(SizingEngine(profile).coding(5), Labels(3))
    assert dry_run.traffic(profile, [statistic], [1000], 8) == {
        "shuffled_bytes": 0,
        "collected_bytes": 8000,
    }
    monkeypatch.setattr(dry_run, "DIRECT_BYTES", 5000)
    assert dry_run.traffic(profile, [statistic], [1000], 8) == {
        "shuffled_bytes": 8000,
        "collected_bytes": 1000,
    }


@pytest.mark.slow
def test_a_dry_run_says_what_it_will_cost(run, tmp_path):
    base = ("select", *MADE, "--method", "mim", "--output", tmp_path / "x", "--dry-run")
    here = json.loads(run(*base, "--engine", "local", "--json")[1])
    assert here["engine"] == "local" and here["shuffled_bytes"] == here["collected_bytes"] == 0
    assert (
        here["cost"]["seconds"] <= here["cost"]["core_seconds"]
        and here["memory_bytes"] > here["packed_bytes"]
    )
    many = json.loads(run(*base, "--cores", 1000, "--json")[1])
    assert many["engine"] == "spark" and many["cost"]["cores"] == 1000
    text = run(*base, "--cores", 1000)[1]
    assert "on 1000 cores of Spark" in text and "shuffled" in text and "in a worker" in text
    text = run(*base, "--engine", "local", "--cores", 1)[1]
    assert (
        "on 1 cores of this machine" in text
        and "in this process (--memory-bytes)" in text
        and "refused" not in text
    )
    assert "of Python and its libraries" in text
    text = run(*base, "--engine", "local", "--memory-bytes", 1 << 27)[1]
    assert " of 128 MB in this process (--memory-bytes)" in text and "refused" not in text
    # whose sums of products are more than that wherever the rows are
    wider = [{"num_features=12": "num_features=600", "mim": "ridge"}.get(f, f) for f in base]
    text = run(*wider, "--engine", "local", "--memory-bytes", 1 << 20)[1]
    assert " of 1.0 MB in this process (--memory-bytes); the run is refused where it" in text
    config = tmp_path / "run.toml"
    config.write_text(
        '[data]\nformat = "planted"\noptions = {num_rows = 300, num_features = 9, num_labels = 2}\n'
        f'[method]\nname = "mim"\n[run]\noutput = "{tmp_path / "out"}"\ncores = 64\n'
    )
    assert (
        json.loads(run("select", "--config", config, "--dry-run", "--json")[1])["cost"]["cores"]
        == 64
    )
    assert "cores" in run("select", *MADE, "--output", tmp_path / "x", "--cores", 0)[2]


def test_the_fit_finds_what_took_the_time():
    rng = np.random.default_rng(0)
    runs = []
    for kind, by in (
        ("dense", {"row": 2e-6, "product of values": 1e-9}),
        ("sparse", {"value": 3e-7, "run": 0.1}),
    ):
        for _ in range(12):
            n, values, d = 10 ** rng.uniform(3, 5), 10 ** rng.uniform(4, 6), rng.integers(10, 400)
            amounts = {
                "run": 1.0,
                "row": n,
                "value": values,
                "product of values": values * d,
                "cubed feature": float(d) ** 3,
            }
            runs.append((kind, amounts, sum(amounts[term] * c for term, c in by.items())))
    found = model.fit(runs)
    assert found["dense"]["row"] == pytest.approx(2e-6, rel=1e-2)
    assert found["dense"]["product of values"] == pytest.approx(1e-9, rel=1e-2)
    assert found["sparse"]["value"] == pytest.approx(3e-7, rel=1e-2)
    assert "run" in found["sparse"] and "run" not in model.without_start(found)["sparse"]


def test_the_page_is_made_of_the_model(monkeypatch, tmp_path):
    monkeypatch.setattr(model, "PAGE", tmp_path / "scale.md")
    model.page(["| mim | 10 | 1.0 |"], n=10**6, d=10**5, q=100, cores=10)
    text = (tmp_path / "scale.md").read_text()
    assert (
        "1,000,000 rows × 100,000 features × 100 labels on 10 cores" in text
        and "| mim | 10 | 1.0 |" in text
    )
    assert "| ridge | – |" in text and ("refused" in text or "the driver:" in text)


def test_one_run_of_a_method_is_measured():
    held = model.generated(200, 10, 3, None)
    kind, amounts, seconds = model.rank_one(held, "mim", 3, 20.0)
    assert kind == "dense" and amounts["value"] == 2000 and seconds > 0
    assert model.rank_one(held, "relieff", 3, 1e-4) is None
