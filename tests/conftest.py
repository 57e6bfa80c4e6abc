"""Fixtures every test shares: the real data sets and one Spark session."""

from __future__ import annotations

import datetime
import os
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import settings

# Sessions that live for seconds do not repay the optimising compiler, and a background thread of it takes a core from the work.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# The test processes share the cores already: a second thread of BLAS waits for its core by spinning, and small products take
# forty times as long. Read when NumPy is imported, which must not be earlier.
for _variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Interpreted plans: most run once, and compiling one takes longer. No UI: it costs seconds.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("conf")))

REPOSITORY = Path(__file__).resolve().parents[1]

# The tests start hundreds of processes: without byte code each compiles the libraries anew, which takes longer than a command.
sys.dont_write_bytecode, sys.pycache_prefix = False, str(REPOSITORY / ".pytest_cache" / "bytecode")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
DATA = Path(os.environ.get("MLFS_DATA", REPOSITORY.parent / "shared" / "data"))


# Files of more than half a minute, by what they took (`--durations=0`); Spark 3.5 waits for its environment meanwhile.
LONGEST = """
faults/test_faults conformance/test_estimators conformance/test_rankings connect/test_connect methods/test_regression_methods
runtimes/test_spark35 classify/test_classifiers conformance/test_repeated_rows statistics/test_laws tracking/test_mlflow
notebooks/test_notebooks jobs/test_score input/test_bad_input jobs/test_cli input/test_saved_models
notebooks/test_site test_checks jobs/test_local_apply read/test_local_text jobs/test_benchmark media/test_files
methods/test_counting_methods read/test_arff extract/test_extractors evaluate/test_experiment methods/test_graph_methods
jobs/test_submit methods/test_mrmr_fastcan_igmf statistics/test_budgets statistics/test_sharded read/test_packing
""".split()


# Whole commands, pages and rows on Spark of more than three seconds, whose parts others test every day, and checks of many cases,
# which take turns one by one: on one day in three.
TURNS = set(
    """
classify/test_classifiers::test_a_training_set_joined_by_blocks_gives_the_same
classify/test_classifiers::test_before_arrow_functions_rows_pass_through_pandas
classify/test_classifiers::test_vectors_from_a_parquet_file evaluate/test_local_engine::test_training_and_test_files
conformance/test_engines::test_every_method_ranks_alike
conformance/test_estimators::test_a_pipeline_of_them
conformance/test_rankings::test_unknown_labels_through_spark
conformance/test_repeated_rows::test_repeated_rows_rank_as_rows_with_ids_of_their_own
evaluate/test_local_engine::test_data_sets_with_stratified_folds
evaluate/test_protocol::test_noise_is_a_share_of_the_spread faults/test_read_again::test_profiles_merged_on_executors
input/test_bad_input::test_a_java_that_cannot_write_is_told_in_a_line
input/test_bad_input::test_score_finds_dotted_columns
input/test_fuzz::test_label_xml input/test_fuzz::test_values_of_the_command_line
input/test_saved_models::test_a_command_tells_which_file_is_damaged
input/test_saved_models::test_evaluate_refuses_other_features_before_anything_runs
input/test_saved_models::test_score_of_libsvm_parts_that_do_not_reach_the_last_feature
jobs/test_benchmark::test_peers_are_compared_on_the_same_rows
jobs/test_check::test_a_gate_is_an_exit_code_and_a_line
jobs/test_check::test_many_rows_without_a_tag_are_told_with_what_helps
jobs/test_check::test_scoring_rows_that_carry_the_columns_of_the_training
jobs/test_check::test_the_driver_takes_few_histograms_however_many_tasks_there_are
jobs/test_cli::test_a_rule_that_nothing_passes jobs/test_cli::test_same_ranking_as_the_python_api
jobs/test_cli::test_transform_to_columns jobs/test_compare::test_figures_and_tables_as_files
jobs/test_compare::test_the_page_is_whole_light_and_self_contained
jobs/test_engine::test_rows_whose_counts_are_beyond_the_memory_go_to_spark_unread
jobs/test_local_apply::test_one_engine_goes_on_where_the_other_stopped
jobs/test_output_table::test_the_ranking_is_a_table jobs/test_output_table::test_transform_into_a_table
jobs/test_score::test_a_catalog_table_in_hash_parts
media/test_files::test_new_files_are_known_by_their_names_and_a_check_of_them_asks_for_labels
methods/test_counting_methods::test_whole_rankings_of_enron
methods/test_counting_methods::test_whole_rankings_of_yeast
methods/test_graph_methods::test_spec
methods/test_groups_and_costs::test_saved_models_and_the_same_answer_job_by_job
methods/test_joint_groups::test_on_spark_in_one_task_and_job_by_job
methods/test_mrmr_fastcan_igmf::test_mrmr_rankings methods/test_mrmr_fastcan_igmf::test_fastcan_rankings
methods/test_penalties::test_a_spark_frame_a_saved_model_and_the_same_answer_job_by_job
ml/test_order::test_transform_writes_columns_under_their_names
ml/test_pipelines::test_without_the_jvm_commands_save_and_load read/test_tables::test_text
notebooks/test_site::test_the_site_builds_strictly notebooks/test_site::test_what_a_page_shows_runs
read/test_local::test_a_large_file_in_parts_has_the_same_numbers
read/test_local::test_several_files_and_packed_ones_are_numbered_as_spark_does
read/test_tables::test_file_formats read/test_tables::test_means_do_not_depend_on_partitioning
states/test_states::test_any_cut_any_order_some_taken_away states/test_states_pairs::test_pairs_rank_as_rows_do
statistics/test_laws::test_laws_of_weighted_rows
statistics/test_statistics::test_the_tree_merge_gives_the_same_bits
""".split()
)

# The same examples in each run, so that a change is judged by what it changed; others: HYPOTHESIS_PROFILE=search
settings.register_profile("same", derandomize=True, database=None)
settings.register_profile("search")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


# The day whose slow tests run, "all" of them, or "none". The test processes inherit it.
SLOW = os.environ.setdefault("MLFS_SLOW", str(datetime.date.today().toordinal()))


def pytest_addoption(parser):
    parser.addoption(
        "--slow", default=SLOW, metavar="all|none|DAY", help="which slow tests run: those of a day (today), all, none"
    )


def wanted(item, which: str) -> bool:
    """Whether a test runs: every one that is not slow, and of the slow ones each on one day in ten, or in `every` (of two marks
    the rarer). Tests that share an expensive set-up, by ``together="file"`` or the value of the parameter it names, run on one
    day."""
    marks = [*item.iter_markers("slow"), *([pytest.mark.slow(every=3).mark] if _called(item) in TURNS else [])]
    slow = max(marks, key=lambda mark: mark.kwargs.get("every", 10), default=None)
    if slow is None or which in ("all", "none"):
        return slow is None or which == "all"
    together = slow.kwargs.get("together")
    key = item.nodeid.removeprefix("tests/")
    if together is not None:
        key = item.path.name if together == "file" else f"{item.path.name} {together} {item.callspec.params[together]!r}"
    return (zlib.crc32(key.encode()) - int(which)) % slow.kwargs.get("every", 10) == 0


def _called(item) -> str:
    """The file and the function of a test, as in `TURNS`."""
    return item.nodeid.partition("[")[0].removeprefix("tests/").replace(".py::", "::")


def pytest_collection_modifyitems(config, items):
    """Slow tests take turns by the day. The longest files go first, so that the processes, which take a file at a time, end
    together."""
    which = config.getoption("--slow")
    gone = TURNS - {_called(item) for item in items}
    assert len(items) < 5000 or not gone, f"TURNS names tests that are not there: {gone}"  # all files are run
    turn = [item for item in items if wanted(item, which)]
    if len(turn) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if not wanted(item, which)])
        items[:] = turn
    here = Path(__file__).parent
    rank = {here / f"{name}.py": number for number, name in enumerate(LONGEST)}
    assert all(path.exists() for path in rank), "LONGEST names files that are not there"
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets (``MLFS_DATA``, or ``../shared/data`` beside the repository)."""
    if not DATA.is_dir():
        pytest.skip(f"the real data sets are not at {DATA}; set MLFS_DATA")
    return DATA


@pytest.fixture(scope="session")
def spark():
    """One local session for a test process: few shuffle partitions, and what `conf` says."""
    from spark_mlfs.session.local import local_session

    session = local_session("tests", {"spark.driver.memory": "2g", "spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()
