"""What the conformance suite shares: one small data set in many forms, and every method's result on
each form.

Every registered method runs on a form together, in one call (that is what the library promises to
be cheap); should the call fail, the methods run one by one, so that a failure is told of the method
that caused it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

from spark_mlfs import METHODS, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.block import Block, concatenate
from spark_mlfs.blocks.pack import pack
from spark_mlfs.frames.schema import with_names
from spark_mlfs.testing import COPY, COPY_OF, PICKS, example, rank_here, thin
from spark_mlfs.testing import FEATURES as D
from spark_mlfs.testing import ROWS as N

COUNT, FEW = PICKS, 3
NAMES = [f"x{j}" for j in range(D)]


# Counts, moments, neighbours, sums of products, folds: these run always, the others are slow.
FAMILIES = ("jmi", "fisher", "relieff", "ridge", "forward")


def pytest_generate_tests(metafunc):
    if "method" in metafunc.fixturenames and "name" not in metafunc.fixturenames:
        if "parts" in metafunc.fixturenames:
            some = [pytest.param(name, 5, marks=pytest.mark.slow) for name in METHODS]
            metafunc.parametrize(("method", "parts"), [*((name, 3) for name in FAMILIES), *some])
            return
        methods = [
            name if name in FAMILIES else pytest.param(name, marks=pytest.mark.slow)
            for name in METHODS
        ]
        metafunc.parametrize("method", methods)


@pytest.fixture(scope="session")
def methods(request):
    """{form: the methods that tests of this run look at on it}, beside those that run always."""
    asked = {"planted": set()}
    for item in request.session.items:
        params = getattr(item, "callspec", SimpleNamespace(params={})).params
        if item.path.name == "test_rankings.py" and "method" in params:
            forms = ["plain"]
            if "parts" in params:
                forms = ["few", f"parts {params['parts']}"]
            elif "form" in params:
                forms += [f"rows {params['form']}", "rows thin dense"]
            else:
                forms += ["columns", "labels tags", "planted"]
            for form in forms:
                asked.setdefault(form, set()).add(params["method"])
    return {
        form: [name for name in METHODS if name in FAMILIES or name in some]
        for form, some in asked.items()
    }


def vector(row, sparse):
    return (
        Vectors.sparse(len(row), [(int(j), float(row[j])) for j in np.flatnonzero(row)])
        if sparse
        else Vectors.dense(row)
    )


def schema_of(features=None, labels=None):
    """id, features, labels; the two are vectors unless a type is given."""
    return T.StructType(
        [
            T.StructField("id", T.LongType()),
            T.StructField("features", features or VectorUDT()),
            T.StructField("labels", labels or VectorUDT()),
        ]
    )


def frame_of(spark, x, y, sparse=lambda i: False, order=None):
    """Canonical frame; `sparse(i)` says whether row i is a sparse vector."""
    order = range(len(x)) if order is None else order
    rows = [(int(i), vector(x[i], sparse(i)), Vectors.dense(y[i])) for i in order]
    frame = spark.createDataFrame(rows, schema_of())
    return with_names(frame, "features", NAMES) if x.shape[1] == D else frame


def quick(name):
    """A method's defaults with few scans or epochs: nothing here depends on convergence, and a scan
    is a job in some forms. `auto` tries one method that picks one by one, and one that does not."""
    few = {
        "max_iter": (500, 10),
        "epochs": (100, 8),
    }  # above that a limit is of the driver's own iterations
    if name == "auto":
        return {"methods": "fastcan,fisher", "folds": 2}
    return {
        p.name: few[p.name][1]
        for p in METHODS[name].parameters
        if p.name in few and p.default <= few[p.name][0]
    }


def in_process(engine, method, count=COUNT, **parameters):
    """(ranking, scores over all features, what the method returned) without Spark."""
    return rank_here(engine, pipeline.Request.of(method, {**quick(method), **parameters}, count))


def rank_all(data, methods, count=COUNT, **options):
    """{method: result} of the methods in one call."""
    if not hasattr(data, "profile"):
        options.setdefault("row_id", "id")
    requests = [pipeline.Request.of(name, quick(name), count) for name in methods]
    try:
        return {r.request.method: r for r in pipeline.rank(data, requests, **options)}
    except Exception:
        out = {}
        for request in requests:
            try:
                (out[request.method],) = pipeline.rank(data, [request], **options)
            except Exception as error:
                out[request.method] = error
        return out


class Forms:
    """The methods' results on the forms of the example, each form computed when first asked for."""

    def __init__(self, spark, methods):
        self.spark, self.methods, self.kept, self.left = spark, methods, {}, {}
        x, y = self.x, self.y = example()
        self.order = np.random.default_rng(3).permutation(N)
        self.frame = frame_of(spark, x, y, order=self.order).cache()
        self.frame.count()
        self.packed = pack(self.frame, row_id="id")
        self.held = pack_arrays(x, y, ids=np.arange(N))[0]
        # the copy stays behind its original: of identical columns a coordinate solver gives the
        # first all
        columns = np.random.default_rng(1).permutation(D)
        a, b = np.flatnonzero(columns == COPY_OF)[0], np.flatnonzero(columns == COPY)[0]
        if a > b:
            columns[[a, b]] = columns[[b, a]]
        self.columns = columns

    def release(self):
        self.packed.release()
        self.frame.unpersist()

    def persisted(self):
        """What Spark keeps in memory now."""
        return set(self.spark.sparkContext._jsc.getPersistentRDDs().keySet())

    def get(self, form, method):
        if form not in self.kept:
            before = self.persisted()
            self.asked = self.methods.get(form, FAMILIES)
            self.kept[form] = getattr(self, "make_" + form.split()[0])(*form.split()[1:])
            self.left[form] = self.persisted() - before
        found = self.kept[form][method]
        if isinstance(found, Exception):
            raise found
        return found

    def make_plain(self):
        return rank_all(self.packed, self.asked)

    def make_few(self):
        """Fewer picks: over partitions each is a job."""
        return rank_all(self.packed, self.asked, FEW)

    def make_parts(self, parts):
        """The rows over so many partitions, job by job; of 5, two are empty."""
        return rank_all(self.spread(int(parts)), self.asked, FEW, small_bytes=0)

    def spread(self, parts):
        by = (self.frame.id % 3,) if parts == 5 else ()
        return self.frame.repartition(parts, *by)

    def make_columns(self):
        return rank_all(frame_of(self.spark, self.x[:, self.columns], self.y), self.asked)

    def make_rows(self, values, kind):
        """`values` "full" or "thin"; rows as "dense" or "sparse" vectors."""
        return rank_all(self.rows(values, kind), self.asked)

    def rows(self, values, kind):
        x = thin(self.x) if values == "thin" else self.x
        which = {"sparse": lambda i: True, "mixed": lambda i: i % 3 == 0}.get(kind, lambda i: False)
        if kind != "array":
            return frame_of(self.spark, x, self.y, which)
        rows = [(i, x[i].tolist(), Vectors.dense(self.y[i])) for i in range(N)]
        return self.spark.createDataFrame(rows, schema_of(T.ArrayType(T.DoubleType())))

    def make_labels(self, kind):
        return rank_all(self.labelled(kind), self.asked)

    def labelled(self, kind):
        """The labels as tags (their alphabetical order is not the labels'), label numbers, or 0/1
        arrays."""
        sets = [np.flatnonzero(row) for row in self.y]
        if kind == "tags":
            tag = ["wood", "apple", "Zinc", "mud"]
            cells, element = [[tag[c] for c in s] for s in sets], T.StringType()
        elif kind == "ids":
            cells, element = [[int(c) for c in s] for s in sets], T.IntegerType()
        else:
            make, element = {
                "boolean": (bool, T.BooleanType()),
                "tinyint": (int, T.ByteType()),
                "double": (float, T.DoubleType()),
            }[kind]
            cells = [[make(v) for v in row] for row in self.y]
        rows = [(i, Vectors.dense(self.x[i]), cells[i]) for i in range(N)]
        return self.spark.createDataFrame(rows, schema_of(labels=T.ArrayType(element)))


class PackedRows:
    """All that packing makes of a frame, in the order of the row ids: what every method is
    given."""

    def __init__(self, frame):
        packed = pack(frame, row_id="id")
        cells = packed.frame.where("block is not null").select("block").collect()
        block = concatenate([Block.decode(bytes(row.block)) for row in cells])
        block = block.take(np.argsort(block.ids, kind="stable"))
        self.ids, self.x, self.y = (
            block.ids,
            block.dense().astype(float),
            block.labels(packed.profile.q).toarray(),
        )
        self.profile, self.unknown = packed.profile, block.complete
        packed.release()

    def equals(self, other, labels=slice(None)):
        for name in ("ids", "x"):
            assert getattr(self, name).tobytes() == getattr(other, name).tobytes(), name
        assert np.array_equal(self.y, other.y[:, labels]) and self.unknown is other.unknown is None
        for name in ("low", "high", "binary", "positive"):
            one, two = getattr(self.profile, name), getattr(other.profile, name)
            assert np.array_equal(one, two[labels] if name == "positive" else two), name
        for name in ("n", "d", "q", "nonzero", "unlabelled", "labelled", "problem"):
            assert getattr(self.profile, name) == getattr(other.profile, name), name


@pytest.fixture(scope="package")
def forms(spark, methods):
    made = Forms(spark, methods)
    yield made
    made.release()


@pytest.fixture(scope="package")
def kit():
    """The helpers above, for the test modules."""
    return SimpleNamespace(**{k: v for k, v in globals().items() if not k.startswith("_")})
