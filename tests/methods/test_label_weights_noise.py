"""How much each label counts, and counts of labels that are wrong now and then."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs import METHODS, ParameterError
from spark_mlfs.engine.base import Engine
from spark_mlfs.evaluate.trials import Candidate
from spark_mlfs.pipeline import Request
from spark_mlfs.sklearn import JMISelector
from spark_mlfs.statistics.targets import Labels
from spark_mlfs.testing import example, thin

WEIGHTED = sorted(
    name for name in METHODS if any(p.name == "label_weights" for p in METHODS[name].parameters)
)
NOISY = sorted(
    name for name in METHODS if any(p.name == "label_noise" for p in METHODS[name].parameters)
)


def scores(x, y, method, **parameters):
    return (
        spark_mlfs.rank(x, y, method, k=None, **parameters).sort_values("index")["score"].to_numpy()
    )


def test_what_has_them():
    assert set(WEIGHTED) == set(
        "chi2 csfs d2f elastic-net enm fisher forward jmi lasso mdmr mim mssl quota ridge scls".split()
    )
    assert set(NOISY) == set("chi2 d2f enm jmi mdmr mim quota scls".split())


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in WEIGHTED if name != "quota"])
def test_a_label_of_weight_w_is_w_labels(method):
    """Weight 0 is a label less, 2 a label twice; dense and sparse rows, known and unknown
    labels."""
    x, y = example()
    group = (
        {"group": True} if method in ("lasso", "elastic-net") else {}
    )  # row norms, which a sum over labels is in
    unknown = y.copy()
    unknown[np.random.default_rng(0).random(y.shape) < 0.03] = np.nan
    for rows, labels in (
        (x, y),
        (sp.csr_matrix(thin(x)), y),
        *([] if method == "csfs" else [(x, unknown)]),
    ):
        found = scores(rows, labels, method, label_weights=[0, 2, 1, 1], **group)
        rest = labels[:, [1, 1, 2, 3]]
        if np.isnan(labels).any() and method in (
            "ridge",
            "lasso",
            "elastic-net",
            "mssl",
            "forward",
        ):
            rest = np.where(
                np.isnan(labels[:, :1]), np.nan, rest
            )  # rows in use are those with every label known
        np.testing.assert_allclose(found, scores(rows, rest, method, **group), rtol=1e-6, atol=1e-9)
        even = scores(rows, labels, method, label_weights=np.ones(4), **group)
        np.testing.assert_allclose(
            even, scores(rows, labels, method, **group), rtol=1e-9, atol=1e-12
        )


def test_weights_by_entropy_and_by_number():
    x, y = example()
    share = y.mean(axis=0)
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    one = np.stack([scores(x, y[:, [label]], "mim") for label in range(4)])
    np.testing.assert_allclose(
        scores(x, y, "mim", label_weights="entropy"),
        (one / entropy[:, None]).sum(axis=0),
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        scores(x, y, "mim", label_weights="size"), one.mean(axis=0), rtol=1e-9
    )
    constant = np.column_stack([y, np.zeros(len(y))])
    np.testing.assert_allclose(
        scores(x, constant, "mim", label_weights="entropy"),
        scores(x, y, "mim", label_weights="entropy"),
        rtol=1e-9,
    )


def test_weights_by_the_names_of_labels():
    """The others have 1; a frame's names, the default ones, a text as on the command line, a saved
    one as JSON."""
    x, y = example()
    labels = pd.DataFrame(y, columns=["a.b", "c", "d", "e=f"])
    listed = scores(x, labels, "mim", label_weights=[2, 1, 0, 0.5])
    for given in (
        {"a.b": 2.0, "d": 0, "e=f": np.float64(0.5)},
        "a.b=2,d=0,e=f=0.5",
        '{"a.b": 2, "d": 0, "e=f": 0.5}',
    ):
        assert scores(x, labels, "mim", label_weights=given).tobytes() == listed.tobytes()
    for method in WEIGHTED:
        by_name = scores(x, y, method, label_weights={"y2": 3})
        assert by_name.tobytes() == scores(x, y, method, label_weights=[1, 1, 3, 1]).tobytes()
    for given, told in (
        ({"a.c": 2}, r"label_weights: there is no label 'a.c'; did you mean 'a.b'\?"),
        ({"zzzz": 2}, r"there is no label 'zzzz'; the labels are a.b, c, d, e=f"),
        ({name: 0 for name in labels}, "are all 0"),
        ({"c": -1}, "label_weights must be"),
        ({}, "label_weights must be"),
        ("c=1,c=2", "label_weights must be"),
        ("c=much", "label_weights must be"),
    ):
        with pytest.raises(ParameterError, match=told):
            scores(x, labels, "mim", label_weights=given)


def test_weights_by_name_in_an_estimator_and_a_comparison():
    x, y = example()
    labels = pd.DataFrame(y, columns=["a.b", "c", "d", "e"])
    named, listed = (
        JMISelector(num_top_features=4, label_weights=w).fit(x, labels)
        for w in ({"c": 5}, [1, 5, 1, 1])
    )
    pd.testing.assert_frame_equal(named.ranking_, listed.ranking_, check_exact=True)
    entry = Candidate("mim", (Request.of("mim", {"label_weights": {"c": 5}}), Request.of("jmi")))
    placed = [r.parameters["label_weights"] for r in entry.for_names(["a", "c"], []).requests]
    assert placed == [[1.0, 5.0], "uniform"]
    with pytest.raises(ParameterError, match="there is no label 'c'; the labels are a"):
        entry.for_names(["a"], [])


def test_where_counts_are_too_many_for_one_process(monkeypatch):
    """Counts that are finished where they are counted, range by range: the same bits, of weighted
    rows, too."""
    x, y = example()
    w = np.random.default_rng(0).choice([0, 1, 2.5, 0.125], len(x))
    for method in ("mim", "jmi", "chi2"):
        for rows in (x, sp.csr_matrix(thin(x))):
            for more in ({}, {"label_noise": (0.1, 0.2)}, {"label_weights": "entropy"}):
                wanted = spark_mlfs.rank(rows, y, method, sample_weight=w, **more)
                with monkeypatch.context() as narrow:
                    narrow.setattr(
                        Engine, "collects_whole_states", lambda engine, statistic, beside=0: False
                    )
                    found = spark_mlfs.rank(rows, y, method, sample_weight=w, **more)
                assert found.equals(wanted), (method, more)


def test_what_makes_no_sense_is_refused():
    x, y = example()
    for method, more, told in (
        ("mim", {"label_weights": [1, 2]}, "has 2 numbers, the data have 4 labels"),
        ("mim", {"label_weights": [0, 0, 0, 0]}, "are all 0"),
        ("mim", {"label_weights": [1, -1, 0, 0]}, "label_weights must be"),
        (
            "mim",
            {"label_weights": "entropy", "label_coding": "lp"},
            "label_weights goes with label_coding='br'",
        ),
        (
            "chi2",
            {"label_noise": (0.1, 0.1), "label_coding": "lp"},
            "label_noise goes with label_coding='br'",
        ),
        (
            "fisher",
            {"label_weights": "size", "label_coding": "overlap"},
            "label_weights goes with label_coding='br'",
        ),
        (
            "ridge",
            {"label_weights": "entropy", "label_sketch": 2},
            "label_sketch = 2 has no labels to weigh",
        ),
        ("mim", {"label_noise": (0.5, 0.5)}, "add up to 1 or more"),
        ("mim", {"label_noise": (0.1,)}, "label_noise must be"),
        (
            "mim",
            {"label_noise": (0.1, 0.1), "bias_correction": "miller-madow"},
            "bias_correction='none'",
        ),
        ("pmu", {"label_noise": (0.1, 0.1)}, "no parameter 'label_noise'"),
    ):
        with pytest.raises(ParameterError, match=told):
            spark_mlfs.rank(x, y, method, **more)


def test_corrected_counts_are_unbiased():
    """Flips planted in tables of known labels: the mean of the corrected counts over many draws is
    the true count, within four of its standard errors; that of the reported ones is not."""
    rng = np.random.default_rng(4)
    fp, fn, q, draws = 0.1, 0.3, 3, 4000
    cells = rng.integers(300, 600, (1, 4, 1))  # rows of one feature's codes
    true = rng.binomial(cells, [0.2, 0.5, 0.7])
    reported = rng.binomial(true, 1 - fn, (draws, 4, q)) + rng.binomial(
        cells - true, fp, (draws, 4, q)
    )
    counts = np.concatenate([np.broadcast_to(cells, (draws, 4, 1)), reported], axis=2)
    labels = Labels(q).with_noise((fp, fn), 1 << 20)
    found = labels.denoised_counts(counts)[..., 1:] / 2.0**labels.noise_bits
    error = found.std(axis=0) / np.sqrt(draws)
    assert (np.abs(found.mean(axis=0) - true[0]) < 4 * error).all()
    assert (np.abs(reported.mean(axis=0) - true[0]) > 4 * error).mean() > 0.8


def information(table):
    """I of a table of counts, (codes, 2)."""
    p = table / table.sum()
    independent = np.outer(p.sum(axis=1), p.sum(axis=0))
    return (p[p > 0] * np.log(p[p > 0] / independent[p > 0])).sum()


def chi_square(table):
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return ((table - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()


@pytest.mark.parametrize("sparse", [False, True])
def test_corrected_counts_of_few_rows(sparse):
    """The inverse of the table of flips times the counts, clipped, in doubles; as precise for
    weights of any scale as without, and the same for the rows twice at half the weight."""
    rng = np.random.default_rng(0)
    for fp, fn in ((0.1, 0.3), (0.0, 0.2), (0.45, 0.5)):
        n = int(rng.integers(12, 40))
        x = rng.integers(0, 3, (n, 3)).astype(float)
        y = rng.integers(0, 2, (n, 2))

        def table(feature, label, x=x, y=y, fp=fp, fn=fn):
            rows = np.bincount(x[:, feature].astype(int), minlength=3)
            seen = np.bincount(x[:, feature].astype(int), y[:, label], 3)
            with_label = np.clip((seen - fp * rows) / (1 - fp - fn), 0, rows)
            return np.stack([rows - with_label, with_label], axis=1)

        tables = [[table(feature, label) for label in range(2)] for feature in range(3)]
        informations = np.array([[information(t) for t in of_labels] for of_labels in tables])
        wanted = {
            "mim": informations.sum(axis=1),
            "enm": np.sqrt((informations**2).sum(axis=1)),
            "chi2": np.array([sum(chi_square(t) for t in of_labels) for of_labels in tables]),
        }
        for method, expected in wanted.items():
            tolerance = 1e-11 * expected.max()
            for unit in (1.0, 2.0**30, 2.0**-900):
                weights = None if unit == 1 else np.full(n, 3 * unit)
                parameters = {"label_noise": (fp, fn), "num_bins": 3, "sample_weight": weights}
                rows = sp.csr_matrix(x) if sparse else x
                found = scores(rows, y, method, **parameters)
                size = unit * 3 if method == "chi2" and unit != 1 else 1.0
                np.testing.assert_allclose(found / size, expected, rtol=0, atol=tolerance)
            rows = np.vstack([x, x])
            parameters["sample_weight"] = np.full(2 * n, 0.5)
            found = scores(rows, np.vstack([y, y]), method, **parameters)
            np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("method", NOISY)
@pytest.mark.parametrize("sparse", [False, True])
def test_planted_flips_of_scores(method, sparse):
    """With the flips of the labels known, scores come nearer to those of the true labels; without
    flips they are those."""
    rng = np.random.default_rng(1)
    n, fp, fn = 4000, 0.05, 0.4
    x = rng.integers(0, 3, (n, 8)).astype(float)
    if sparse:
        x[rng.random(x.shape) < 0.8] = 0
    y = (rng.random((n, 3)) < 0.1 + 0.25 * x[:, :3]).astype(float)
    rows = sp.csr_matrix(x) if sparse else x
    first = {"jmi": "mim", "d2f": "mim", "mdmr": "mim", "scls": "mim"}.get(
        method, method
    )  # ranks are their scores
    np.testing.assert_allclose(
        scores(rows, y, method, label_noise=(0, 1e-13)),
        scores(rows, y, method),
        rtol=1e-6,
        atol=1e-9,
    )
    far, near = [], []
    # quotas order what says nothing of any label at random: their scores are places
    part = slice(3) if method == "quota" else slice(None)
    for seed in range(3):
        draw = np.random.default_rng(seed).random(y.shape)
        flipped = np.where(y == 1, draw >= fn, draw < fp).astype(float)
        true = scores(rows, y, first)
        corrected = scores(rows, flipped, first, label_noise=(fp, fn))
        far.append(np.abs(scores(rows, flipped, first) - true)[part].sum())
        near.append(np.abs(corrected - true)[part].sum())
        gains = spark_mlfs.rank(rows, flipped, method, k=3, label_noise=(fp, fn))
        assert set(gains["index"]) == {0, 1, 2}
    assert np.mean(near) < 0.5 * np.mean(far)


def test_the_links_of_corrected_counts():
    """What a greedy method adds up over pairs, from a table of corrected shares: I(f; Y | s) summed
    over the values of s."""
    rng = np.random.default_rng(2)
    n, fp, fn = 3000, 0.1, 0.2
    x = rng.integers(0, 2, (n, 3)).astype(float)
    y = (rng.random((n, 1)) < 0.2 + 0.4 * x[:, :1] + 0.2 * x[:, 1:2]).astype(float)
    counts = np.array([[[[((x[:, 0] == a) & (x[:, f] == b) & (y[:, 0] == v)).sum() for v in (0, 1)] for b in (0, 1)]
                        for a in (0, 1)] for f in (1, 2)]).astype(float)  # fmt: skip
    positive = (counts[..., 1] - fp * counts.sum(-1)) / (1 - fp - fn)
    table = np.stack([counts.sum(-1) - positive, positive], axis=-1) / n
    info = np.zeros(2)
    for f in range(2):
        for a in (0, 1):
            p = table[f, a]
            independent = np.outer(p.sum(1), p.sum(0)) / p.sum()
            info[f] += (p * np.log(p / independent)).sum()
    result = spark_mlfs.pipeline.rank(
        spark_mlfs.adapters.arrays.pack_arrays(x, y)[0],
        [spark_mlfs.pipeline.Request.of("jmi", {"label_noise": (fp, fn)}, 3)],
    )[0]
    picks, gains = result.scores.path.picks, result.scores.path.gains
    assert picks[:2] == [0, 1]
    assert gains[1] == pytest.approx(result.scores.values[0] + info.max(), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("fp", "fn"), [(0, 0.2), (0.3, 0.3), (0.05, 0.1)])
def test_jmi_of_corrected_counts_is_that_of_the_joint_value(fp, fn, sparse):
    """Few rows, so that corrected counts of joint cells are clipped: I((f, s); Y_l) from scratch,
    cell by cell."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 4, (60, 6)).astype(float)
    if sparse:
        x[rng.random(x.shape) < 0.9] = 0
    y = (((x[:, :2] > 1.5) | (rng.random((60, 2)) < 0.1)) & (rng.random((60, 2)) < 0.9)).astype(
        float
    )

    def t(count):
        return count * np.log(count) if count > 0 else 0.0

    def information(value):
        total = 0.0
        for label in y.T:
            cells = [(value == v) for v in np.unique(value)]
            rows = [int(cell.sum()) for cell in cells]
            found = [
                (label[c].sum() - fp * n) / (1 - fp - fn) for c, n in zip(cells, rows, strict=True)
            ]
            found = [float(np.clip(p, 0, n)) for p, n in zip(found, rows, strict=True)]
            each = sum(t(p) + t(n - p) - t(n) for p, n in zip(found, rows, strict=True))
            total += max(0.0, each - t(sum(found)) - t(60 - sum(found)) + t(60)) / 60
        return total

    got = spark_mlfs.rank(
        sp.csr_matrix(x) if sparse else x, y, "jmi", None, label_noise=(fp, fn), num_bins=4
    )
    picks = got["index"].tolist()
    for at in range(1, 6):
        values = {
            f: sum(information(10 * x[:, f] + x[:, s]) for s in picks[:at]) for f in picks[at:]
        }
        assert got["score"][at] == pytest.approx(max(values.values()), abs=1e-11)
        assert values[picks[at]] == pytest.approx(max(values.values()), abs=1e-11)
