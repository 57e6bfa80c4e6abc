"""Whether this process holds the rows of a frame, by what is known before they are read."""

from __future__ import annotations

from typing import Any

from ..errors import setting
from ..markup import size
from .frame import LocalFrame, LocalSession, NeedsSpark
from .schema import FEATURES, attribute_names

HELD = 2  # times the rows, while they are joined
# of each feature beside its values: its range, its places in scores and ranking, its name there
# (measured)
FEATURE_BYTES = 210


def check_memory(frame: Any, session: Any) -> None:
    """Raise `NeedsSpark` where a frame of this process is larger than its memory, and the disk."""
    if not (isinstance(frame, LocalFrame) and isinstance(session, LocalSession)):
        return
    rows = HELD * frame.bytes
    if rows > session.memory:
        lack = session.scratch.lack_of(frame.bytes)
        if lack is not None:
            raise NeedsSpark(lack)
        rows = 0
    _check(frame, session, rows)


def check_features(frame: Any, session: Any) -> None:
    """Raise `NeedsSpark` where the features alone are larger than the memory of this process."""
    if isinstance(frame, LocalFrame) and isinstance(session, LocalSession):
        _check(frame, session, 0)


def _check(frame: LocalFrame, session: LocalSession, rows: int) -> None:
    width = len(attribute_names(frame, FEATURES) or ()) if FEATURES in frame.kinds else 0
    needed = rows + FEATURE_BYTES * width
    if needed > session.memory:
        most = f"{setting('memory_bytes')} = {size(session.memory)}"
        subject = "the rows"
        remedy = ""
        if FEATURE_BYTES * width > needed // 2:
            subject = f"{width} features"
            remedy = f": raise {setting('memory_bytes')}, or give fewer features"
        raise NeedsSpark(
            f"{subject} take about {size(needed)} in this process, more than {most}{remedy}"
        )
