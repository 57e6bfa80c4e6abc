"""Fixtures every test shares: the real data sets and one Spark session."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# Sessions that live for seconds do not repay the optimising compiler, and a background thread of it
# takes a core from the work. Without it Java has room for 48 MB of code, which a session of minutes
# fills: it then compiles again what it has thrown away. By default Java also verifies each class of
# Spark's archives as it reads it, and collects all garbage once classes take 21 MB: a tenth of the
# CPU seconds of a short session.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC "
    "-XX:MetaspaceSize=256m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
)

# The test processes share the cores already: a second thread of BLAS waits for its core by
# spinning, and small products take forty times as long. Read when NumPy is imported, which must not
# be earlier.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Interpreted plans: most run once, and compiling one takes longer. No UI: it costs seconds.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("conf")))

REPOSITORY = Path(__file__).resolve().parents[1]

# The tests start hundreds of processes: without byte code each compiles the libraries anew, which
# takes longer than a command.
sys.dont_write_bytecode, sys.pycache_prefix = False, str(REPOSITORY / ".pytest_cache" / "bytecode")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
DATA = Path(os.environ.get("MLFS_DATA", REPOSITORY.parent / "shared" / "data"))


# Files of more than half a minute, by what they took (`--durations=0`); Spark 3.5 waits for its
# environment meanwhile.
LONGEST = """
faults/test_faults conformance/test_estimators conformance/test_rankings connect/test_connect
connect/test_server_lost methods/test_regression_methods runtimes/test_spark35 runtimes/test_packages notebooks/test_site
conformance/test_repeated_rows classify/test_classifiers read/test_local statistics/test_laws
notebooks/test_notebooks jobs/test_score read/test_refused_tables
jobs/test_missing_values jobs/test_cli jobs/test_scored_rows input/test_saved_models test_checks
jobs/test_local_apply read/test_local_json jobs/test_benchmark media/test_files
methods/test_counting_methods read/test_arff extract/test_extractors evaluate/test_experiment
methods/test_graph_methods methods/test_forward ml/test_names_of_columns read/test_categories
methods/test_mrmr_fastcan_igmf statistics/test_statistics statistics/test_budgets
statistics/test_sharded read/test_packing
""".split()


# The same examples in each run, so that a change is judged by what it changed; others:
# HYPOTHESIS_PROFILE=search
settings.register_profile("same", derandomize=True, database=None)
settings.register_profile("search")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


# Which tests run. The test processes inherit it, and so do modules of tests, imported after it is set.
SLOW = os.environ.setdefault("MLFS_SLOW", "none")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Two processes share the files where pytest-xdist is there; tests start without it, too."""
    chosen = config.option
    if not config.pluginmanager.hasplugin("xdist") or hasattr(config, "workerinput"):
        return
    if chosen.numprocesses is None and chosen.dist == "no":
        chosen.numprocesses = 0 if chosen.usepdb else 2
    if chosen.numprocesses and chosen.dist == "no":
        chosen.dist, chosen.loadscopereorder = "loadfile", False


# what is imported takes Spark: pyspark itself, or one of its estimators
OF_SPARK = re.compile(
    r"^(?:from|import) pyspark|^from spark_mlfs\.engine import [^\n]*\bspark\b"
    r"|^(?:from|import) spark_mlfs\.(?:engine\.spark|ml)\b"
    r"|^from spark_mlfs import (?:\([^)]*?|[^(\n]*?)\b\w+(?:Selector|Extractor|Classifier|Features|Encoder|Model)\b",
    re.MULTILINE,
)
IMPORTED = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)


def takes_spark(path, above=()):
    """Return whether a file of the tests, or one that it imports, takes Spark."""
    text = path.read_text(encoding="utf-8")
    if OF_SPARK.search(text):
        return True
    places = [name.replace(".", "/") + ".py" for name in IMPORTED.findall(text)]
    files = [folder / place for place in places for folder in (path.parent, REPOSITORY / "tests")]
    return any(
        takes_spark(file, (*above, path)) for file in files if file.is_file() and file not in above
    )


if not find_spec("pyspark"):

    def pytest_ignore_collect(collection_path):
        """Leave out the files that take Spark, where it is not installed."""
        if not re.fullmatch(r"(test_|conftest).*\.py", collection_path.name):
            return None
        return True if takes_spark(collection_path) else None


def pytest_configure(config):
    os.environ["MLFS_SLOW"] = config.getoption("--slow")


def pytest_addoption(parser):
    parser.addoption(
        "--slow",
        default=SLOW,
        choices=("none", "only", "all"),
        help="slow tests: none of them; only they, without the losses of executors; all tests",
    )


def runs(item, which: str) -> bool:
    """Return whether a test runs, by its marks alone: a commit has one verdict."""
    if which == "all":
        return True
    if item.get_closest_marker("losses"):
        return False
    return (item.get_closest_marker("slow") is not None) == (which == "only")


def pytest_collection_modifyitems(config, items):
    """Leave out what `--slow` does not name, and put the longest files first.

    The processes take a file at a time: so they end together."""
    which = config.getoption("--slow")
    selected = [item for item in items if runs(item, which)]
    config.hook.pytest_deselected(items=[item for item in items if not runs(item, which)])
    items[:] = selected
    folder = Path(__file__).parent
    rank = {folder / f"{name}.py": number for number, name in enumerate(LONGEST)}
    assert all(path.exists() for path in rank), "LONGEST names files that are not there"
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def asks_for_spark(item) -> bool:
    """Return whether a test takes the session of the tests; with `engine` it does when it runs."""
    on_any_engine = "engine" in item.fixturenames and not item.get_closest_marker("local")
    return "spark" in item.fixturenames or on_any_engine


def no_session_there() -> bool:
    """Return, as `of_our_own` does, whether nobody chose a session, whatever is active."""
    from spark_mlfs.session.local import _CHOSEN_BY

    return not _CHOSEN_BY & set(os.environ)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Commands go to a session that is there: for a test that asks for none there is none, whatever
    ran before it in its process."""
    with pytest.MonkeyPatch.context() as patch:
        if not asks_for_spark(item):
            patch.setattr("spark_mlfs.cli.work.of_our_own", no_session_there)
        return (yield)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets (``MLFS_DATA``, or ``../shared/data`` beside the repository)."""
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}; set MLFS_DATA")
    return DATA


def remember_names_of_java() -> None:
    """Have py4j ask Java once what a name is.

    It asks at every use, and Java looks into each of 250 archives for a class of a package's name:
    a seventh of all that Java does in tests."""
    from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView

    def remembered(look_up):
        def attribute(self, name):
            value = look_up(self, name)
            if isinstance(value, (JavaClass, JavaMember, JavaPackage)):  # no field, which changes
                vars(self)[name] = value
            return value

        return attribute

    for kind in (JavaClass, JavaPackage, JVMView):
        kind.__getattr__ = remembered(kind.__getattr__)


@pytest.fixture(scope="session")
def spark():
    """One local session for a test process: few shuffle partitions, and what `conf` says."""
    pytest.importorskip("pyspark")
    from spark_mlfs.session.local import local_session

    remember_names_of_java()
    session = local_session(
        "tests", {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"}
    )
    yield session
    session.stop()
