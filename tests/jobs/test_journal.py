"""What a run that was cut short says of going on."""

from __future__ import annotations

import pytest

from spark_mlfs.errors import DataError, WorkerBudgetError
from spark_mlfs.frames.frame import LocalSession, NeedsSpark
from spark_mlfs.output.journal import Journal


@pytest.mark.parametrize(
    ("error", "goes_on"), [(NeedsSpark, False), (WorkerBudgetError, False), (DataError, True)]
)
def test_who_is_told_that_the_same_command_goes_on(tmp_path, error, goes_on):
    """Not where it would end at the same place, or where Spark goes on by itself."""
    journal = Journal.beside(LocalSession(), str(tmp_path / "out"), "comparing", {})
    with pytest.raises(error, match="too much") as told, journal.running("trials"):
        journal.start()
        journal.put("trials", 0, {"rows": 1})
        journal.parts[0] = {"rows": 1}
        raise error("too much")
    assert ("the same command goes on" in str(told.value)) == goes_on
