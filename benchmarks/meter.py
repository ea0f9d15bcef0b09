"""Samples of a copy while it runs, and the figures between 10 % and 90 % of its bytes, as a pure function of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil

from benchmarks.logs import TopicLog

WINDOW = (0.1, 0.9)
_INTERVAL_S = 0.1
_FAMILY_S = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """At ``seconds`` since the start: what the target held, and the CPU seconds that the copier had used."""

    seconds: float
    records: int
    bytes: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Figures:
    """One copy.  Bytes are the source's stored (compressed) bytes; MB and GB are 10^6 and 10^9 of them.

    ``cpu_s_per_gb`` and ``memory_mb`` (the largest worker process at its largest, resident, in units of 2^20) are None
    where the copier is the broker itself.
    """

    mb_per_s: float
    records_per_s: float
    cpu_s_per_gb: float | None
    startup_s: float
    whole_s: float
    target_bytes: int
    memory_mb: float | None


def figures(samples: Sequence[Sample], source_bytes: int, has_copier: bool, memory_mb: float | None) -> Figures:
    """The figures of a finished copy.

    The window's ends are where the target held 10 % and 90 % of what it holds in the end, interpolated between samples;
    the rate is in bytes of the *source*, so that a copier that compresses again is not paid for what it makes larger.
    """
    last = samples[-1]
    start, end = (_crossing(samples, share * last.bytes) for share in WINDOW)
    share = WINDOW[1] - WINDOW[0]
    seconds = end.seconds - start.seconds
    megabytes = share * source_bytes / 1e6
    cpu = (end.cpu_seconds - start.cpu_seconds) / megabytes * 1000
    began = next(before for before, after in pairwise(samples) if after.bytes)
    return Figures(
        mb_per_s=megabytes / seconds,
        records_per_s=share * last.records / seconds,
        cpu_s_per_gb=cpu if has_copier else None,
        startup_s=began.seconds,
        whole_s=next(sample.seconds for sample in samples if sample.bytes == last.bytes),
        target_bytes=last.bytes,
        memory_mb=memory_mb,
    )


def _crossing(samples: Sequence[Sample], wanted: float) -> Sample:
    """The moment when the target held ``wanted`` bytes, on a straight line between the samples around it."""
    for before, after in pairwise(samples):
        if before.bytes < wanted <= after.bytes:
            part = (wanted - before.bytes) / (after.bytes - before.bytes)
            return Sample(
                before.seconds + part * (after.seconds - before.seconds),
                round(before.records + part * (after.records - before.records)),
                round(wanted),
                before.cpu_seconds + part * (after.cpu_seconds - before.cpu_seconds),
            )
    raise ValueError(f"no samples around {wanted:.0f} bytes")


class Family:
    """The CPU time of a process and all its descendants, counting those that have ended too.

    What a descendant used between the last look at it and its end (0.1 s at most) is lost.
    """

    def __init__(self) -> None:
        self._root: psutil.Process | None = None
        self._members: dict[int, psutil.Process] = {}
        self._seconds: dict[tuple[int, float], float] = {}
        self._looked = 0.0
        self._worker = ""
        self.peaks: dict[int, int] = {}

    def follow(self, pid: int, worker: str = "") -> None:
        """Count this process from its birth on; ``peaks`` is of those called ``worker``, or with it as an argument."""
        self._root = psutil.Process(pid)
        self._worker = worker

    @property
    def memory_mb(self) -> float | None:
        """The largest worker process at its largest, as seen once a second."""
        return max(self.peaks.values()) / 2**20 if self.peaks else None

    def cpu_seconds(self) -> float:
        """User and system seconds so far."""
        if self._root is None:
            return 0.0
        if time.monotonic() - self._looked > _FAMILY_S:
            self._looked = time.monotonic()
            try:
                found = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                found = []
            self._members = {process.pid: process for process in found}
            self._weigh()
        for process in self._members.values():
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            self._seconds[process.pid, process.create_time()] = times.user + times.system
        return sum(self._seconds.values())

    def _weigh(self) -> None:
        for process in self._members.values():
            try:
                if self._worker in (process.name(), *process.cmdline()):
                    self.peaks[process.pid] = max(self.peaks.get(process.pid, 0), process.memory_info().rss)
            except psutil.NoSuchProcess:
                continue


class Meter:
    """Samples a topic's log and a copier's CPU ten times a second, in a thread, from ``start`` until ``stop``."""

    def __init__(self, log: TopicLog) -> None:
        self.log = log
        self.family = Family()
        self.samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="meter", daemon=True)
        self._began = 0.0

    def start(self) -> None:
        """Begin; the copier's start-up counts from here."""
        self._began = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """End, and close the log's files."""
        self._stop.set()
        self._thread.join()
        self.log.close()

    def write(self, path: Path) -> None:
        """The samples as a CSV file, to see where a copy stood still."""
        lines = [f"{s.seconds:.2f},{s.records},{s.bytes},{s.cpu_seconds:.2f}\n" for s in self.samples]
        path.write_text("seconds,records,bytes,cpu_seconds\n" + "".join(lines))

    def wait(self, records: int, seconds: float) -> bool:
        """Wait until the target holds so many records; False when it does not within ``seconds`` or sampling failed."""
        deadline = time.monotonic() + seconds
        while not self.samples or self.samples[-1].records < records:
            if time.monotonic() > deadline or not self._thread.is_alive():
                return False
            time.sleep(_INTERVAL_S)
        return True

    def _run(self) -> None:
        while not self._stop.wait(_INTERVAL_S):
            cpu = self.family.cpu_seconds()
            self.log.look()
            self.samples.append(Sample(time.monotonic() - self._began, self.log.records, self.log.bytes, cpu))
