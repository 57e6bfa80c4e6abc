"""One run at a time into one place: a lock file beside the output, with its owner and its age.

The lock is the operating system's (`flock`), so that a run that was killed holds nothing. Where the
file system knows no locks, or another machine holds it, its age tells: the owner touches the file
every `BEAT` seconds, and after `STALE` seconds without it the lock is taken over (clocks agree
within a minute). Where only Spark reaches (``s3:``, ``hdfs:`` …) a row with the owner stands in the
output (`owned`): two runs that begin within a second may both take it; only its age tells that it
was killed."""

from __future__ import annotations

import getpass
import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import ParameterError, full_disk
from ..params import from_json

try:
    import fcntl
except ImportError:  # Windows: the age alone tells
    fcntl = None  # type: ignore[assignment]

BEAT = 20.0  # seconds
STALE = 120.0
# of an owner's row: each beat is a Spark job, which waits for those under way
ROW_BEAT = 60.0
ROW_STALE = 600.0
WAIT = 0.05  # seconds between two looks at a lock that another run holds
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # nor wait at a pipe
Entry = dict[str, Any]


class TakenError(ParameterError):
    """Another run writes the output."""


@contextmanager
def locked(path: Path, output: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path` of an output.

    `ParameterError` where another run holds it after so many seconds, with its owner and age."""
    handle = _acquire(path, output, time.monotonic() + patience)
    try:
        with _beating(BEAT, lambda: os.utime(handle), f"lock of {output}"):
            yield
    finally:
        if _same(handle, path):
            path.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def owned(
    get: Callable[[], Entry | None], put: Callable[[Entry], object], output: str
) -> Iterator[None]:
    """Hold a row that says who writes an output, and when its run was last seen.

    It is a lock as `locked`; `get` reads the row and `put` writes it anew."""

    def note(**facts: Any) -> None:
        put(
            {
                **entry,
                "seen": time.time(),
                **facts,
            }
        )

    other = get() or {}
    last_seen = other.get("seen")
    if not isinstance(last_seen, (int, float)):
        last_seen = 0.0
    is_young = time.time() - last_seen < ROW_STALE
    if not other.get("ended") and is_young and not _dead(other):
        raise _taken(output, other, ROW_STALE)
    entry = _entry() | {"ended": False}
    note()
    written = get() or {}
    if {**written, "seen": None} != {**entry, "seen": None}:
        # another began at the same moment: the last one has it
        raise _taken(output, get() or {}, ROW_STALE)
    try:
        with _beating(ROW_BEAT, note, f"owner of {output}"):
            yield
    finally:
        with suppress(Exception):  # of Spark, which is at its end; what ended the run is raised
            note(ended=True)


@contextmanager
def _beating(seconds: float, beat: Callable[[], object], name: str) -> Iterator[None]:
    """Call `beat` so often meanwhile, in a thread; where it fails the age tells."""
    stop = threading.Event()

    def beats() -> None:
        while not stop.wait(seconds):
            with suppress(Exception):
                beat()

    thread = threading.Thread(target=beats, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _dead(owner: Entry) -> bool:
    pid = owner.get("pid")
    if owner.get("host") != socket.gethostname() or not isinstance(pid, int) or os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _taken(output: str, owner: Entry, stale: float) -> TakenError:
    return TakenError(
        f"another run writes the output {output}: {owner.get('who', 'of unknown owner')}, started "
        f"{_ago(owner)}; wait for it to end, or give another --output (a lock whose owner is gone "
        f"frees itself within {stale:.0f} s)"
    )


def _entry() -> Entry:
    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a user without a name, as in containers
        user = "a user without a name"
    host = socket.gethostname()
    pid = os.getpid()
    return {
        "who": f"{user} on {host}, process {pid}",
        "host": host,
        "pid": pid,
        "started": time.time(),
    }


def _acquire(path: Path, output: str, deadline: float) -> int:
    """Return the open lock file, which is ours."""
    handle = None
    try:
        while handle is None:
            try:
                handle = _attempt(path, output)
            except TakenError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(WAIT)
        return handle
    except OSError as error:
        if path.is_symlink():
            raise ParameterError(
                f"{path} is a link, and a lock is a file of its own: delete it"
            ) from None
        reason = full_disk(str(error)) or error.strerror or error
        raise ParameterError(f"cannot write beside the output {output}: {reason}") from None


def _attempt(path: Path, output: str) -> int | None:
    """Return the open lock file; None where another run came between."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
    ours = False
    try:
        free = _flock(handle)
        if not _same(handle, path):  # its owner took it away between our opening and locking it
            return None
        status = os.fstat(handle)
        # a hard link is another's file, too
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise ParameterError(
                f"{path} is no lock (another kind of file, or linked from elsewhere): delete it"
            )
        owner = _owner(handle)
        is_young = time.time() - status.st_mtime < STALE
        # what `flock` says counts on this machine alone
        elsewhere = free is None or owner.get("host") != socket.gethostname()
        if free is False or (owner and is_young and elsewhere):
            raise _taken(output, owner, STALE)
        entry = _entry()
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps(entry).encode())
        if free is None:  # another may have written at the same moment: the last one has it
            time.sleep(0.2)
        ours = free is not None or _owner(handle) == entry
        return handle if ours else None
    finally:
        if not ours:
            os.close(handle)


def _flock(handle: int) -> bool | None:
    """Return whether the lock is ours; None where the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    except OSError:
        return None


def _same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        return False


def _owner(handle: int) -> Entry:
    """Return who wrote the lock; empty where it was only begun."""
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        owner = from_json(os.read(handle, 4096))
        return owner if isinstance(owner, dict) else {}
    except ValueError:
        return {}


def _ago(owner: Entry) -> str:
    started = owner.get("started")
    if not isinstance(started, (int, float)):
        return "just now"
    seconds = max(0, int(time.time() - started))
    for unit, size in {
        "days": 86400,
        "hours": 3600,
        "minutes": 60,
    }.items():
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} seconds ago"
