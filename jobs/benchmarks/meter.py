"""Wall and CPU seconds, and the peak memory of every kind of process, of a piece of work; and the
machine it ran on."""

from __future__ import annotations

import os
import platform
import statistics
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from importlib import metadata
from typing import Any, ClassVar

import psutil

KINDS = ("driver", "jvm", "executor", "worker")


class Meter:
    """Wall and CPU seconds of this process and all its descendants, and the peak resident memory of
    the largest of each kind: the driver's Python, its JVM, the executors' JVMs (local-cluster), the
    Python workers.

    `root` measures another process (a command of its own) and its descendants instead. Processes in
    `ignored` (those that measure the bare cost) take no part."""

    ignored: ClassVar[set[int]] = set()

    def __init__(self, root: psutil.Process | None = None, interval: float = 0.1) -> None:
        self.me = root or psutil.Process()
        parent = None if root else self.me.parent()
        # spark-submit's JVM is this process' parent, a session's own JVM its child
        self.root = parent if parent is not None and "java" in parent.name() else self.me
        self.interval = interval
        self.java: dict[int, str] = {}
        self.peak: dict[str, int] = {}
        self.last: dict[
            int, float
        ] = {}  # what a process had used when it was last seen: some end before the work does

    def __enter__(self) -> Meter:
        self.stop = threading.Event()
        self._look()
        self.before = dict(self.last)
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.started = time.perf_counter()
        self.thread.start()
        return self

    def _kind(self, process: psutil.Process) -> str:
        """Asked anew until a process is Java: a launching shell becomes it."""
        if process.pid in self.java:
            return self.java[process.pid]
        if "java" in process.name() or "java" in next(
            iter(process.cmdline()), ""
        ):  # one of its threads, about to start another
            executor = any(
                "CoarseGrainedExecutorBackend" in argument for argument in process.cmdline()
            )
            return self.java.setdefault(process.pid, "executor" if executor else "jvm")
        if process.pid == self.me.pid:
            return "driver"
        # a command of its own may be a shell, then Java, then the driver's Python
        is_this_process = self.me.pid == os.getpid()
        return (
            "worker"
            if is_this_process or any("daemon" in argument for argument in process.cmdline())
            else "driver"
        )

    def _look(self) -> None:
        try:
            processes = [self.root, *self.root.children(recursive=True)]
        except psutil.Error:  # it has ended
            return
        for process in processes:
            if process.pid in self.ignored:
                continue
            try:
                with process.oneshot():
                    kind, times = self._kind(process), process.cpu_times()
                    self.last[process.pid] = times.user + times.system
                    self.peak[kind] = max(self.peak.get(kind, 0), process.memory_info().rss)
            except psutil.Error:
                continue

    def _watch(self) -> None:
        while not self.stop.wait(self.interval):
            self._look()

    def __exit__(self, *error: object) -> None:
        self.wall = time.perf_counter() - self.started
        self.stop.set()
        self.thread.join()
        self._look()
        self.cpu = sum(seconds - self.before.get(pid, 0.0) for pid, seconds in self.last.items())

    def figures(self) -> dict[str, Any]:
        return {
            "wall": round(self.wall, 3),
            "cpu": round(self.cpu, 2),
            **{f"{kind} MB": self.peak[kind] >> 20 for kind in KINDS if kind in self.peak},
        }


def metered(repeat: int, work: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    """The figures of the run of median wall time out of `repeat`, and the last result."""
    runs, result = [], None
    for _ in range(repeat):
        with Meter() as meter:
            result = work()
        runs.append(meter)
    return sorted(runs, key=lambda m: m.wall)[len(runs) // 2].figures(), result


def measured(repeat: int, work: Callable[[], Any]) -> tuple[dict[str, Any], Any]:
    """`metered`, after a run that is not counted."""
    work()
    return metered(repeat, work)


def bare(repeat: int, work: Callable[[], Any]) -> float:
    """CPU seconds of plain NumPy/SciPy work in this process, the median of `repeat` on one
    thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        seconds = []
        for _ in range(repeat):
            started = time.process_time()
            work()
            seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def machine(spark_version: str) -> str:
    """Cores, memory and versions, in one line."""
    memory = psutil.virtual_memory().total / 2**30
    values = [
        f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GB",
        f"Python {platform.python_version()}",
    ]
    values.append(f"Spark {spark_version}")
    for name, title in (
        ("numpy", "NumPy"),
        ("scipy", "SciPy"),
        ("scikit-learn", "scikit-learn"),
        ("pyarrow", "PyArrow"),
    ):
        values.append(f"{title} {metadata.version(name)}")
    return ", ".join(values)


def moment() -> str:
    """The day, and what else the machine does: the load average, and the cores that other processes
    take within a second."""
    own_pids = {p.pid for p in [psutil.Process(), *psutil.Process().children(recursive=True)]}
    parent = psutil.Process().parent()
    own_pids |= {parent.pid} if parent is not None else set()

    def used() -> dict[int, float]:
        out = {}
        for process in psutil.process_iter(["pid", "cpu_times"]):
            times = process.info["cpu_times"]
            if process.pid not in own_pids and times is not None:
                out[process.pid] = times.user + times.system
        return out

    before = used()
    time.sleep(1.0)
    others = sum(max(0.0, seconds - before.get(pid, seconds)) for pid, seconds in used().items())
    day = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return f"{day}, load {os.getloadavg()[0]:.1f}, others {others:.1f} cores"
