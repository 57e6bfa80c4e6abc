"""The environment of Spark 3.5 is installed while other tests run."""

from __future__ import annotations

import os
from pathlib import Path

import environment
import pytest


def shared(factory: pytest.TempPathFactory) -> Path:
    """The folder of the environment, one for all test processes."""
    base = factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "spark35"


@pytest.fixture(scope="session")
def of_spark35(tmp_path_factory) -> Path:
    return shared(tmp_path_factory)


def pytest_collection_finish(session):
    here = Path(__file__).with_name("test_spark35.py")  # not what that runs in the environment
    if not session.config.option.collectonly and any(item.path == here for item in session.items):
        environment.begin(shared(session.config._tmp_path_factory))
