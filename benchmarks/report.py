"""The tables and the JSON file; medians over the rounds."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from anabranch.sandbox.jars import java_program
from benchmarks.meter import Figures


@dataclass(frozen=True, slots=True)
class Result:
    """One system in one row; medians.  Ratios are of MB/s, ``cpu_ratio_to_mm2`` of CPU-seconds per GB."""

    row: str
    system: str
    mb_per_s: float
    records_per_s: float
    cpu_s_per_gb: float | None
    memory_mb: float | None
    ratio_to_mm2: float | None
    ratio_to_follower: float | None
    cpu_ratio_to_mm2: float | None
    startup_s: float
    rounds_mb_per_s: tuple[float, ...]


def results(row: str, runs: Mapping[str, Sequence[Figures]], mm2: str, follower: str) -> list[Result]:
    """A result for each system, in the order given."""

    def median(system: str, figure: Callable[[Figures], float | None]) -> float | None:
        values = [value for value in map(figure, runs.get(system, ())) if value is not None]
        return statistics.median(values) if values else None

    def rate(system: str) -> float | None:
        return median(system, lambda f: f.mb_per_s)

    def cpu(system: str) -> float | None:
        return median(system, lambda f: f.cpu_s_per_gb)

    return [
        Result(
            row=row,
            system=system,
            mb_per_s=_round(rate(system), 1) or 0.0,
            records_per_s=_round(median(system, lambda f: f.records_per_s), 0) or 0.0,
            cpu_s_per_gb=_round(cpu(system), 2),
            memory_mb=_round(median(system, lambda f: f.memory_mb), 0),
            ratio_to_mm2=_ratio(rate(system), rate(mm2)),
            ratio_to_follower=_ratio(rate(system), rate(follower)),
            cpu_ratio_to_mm2=_ratio(cpu(system), cpu(mm2)),
            startup_s=_round(median(system, lambda f: f.startup_s), 1) or 0.0,
            rounds_mb_per_s=tuple(round(f.mb_per_s, 1) for f in taken),
        )
        for system, taken in runs.items()
        if taken
    ]


def table(found: Sequence[Result]) -> str:
    """The results as text."""
    ratios = ("x MM2", "x follower", "CPU x MM2")
    head = ("row", "system", "MB/s", "records/s", "CPU-s/GB", "memory MB", *ratios, "start-up s")
    lines: list[tuple[str, ...]] = [head]
    for one in found:
        numbers = (
            one.cpu_s_per_gb,
            one.memory_mb,
            one.ratio_to_mm2,
            one.ratio_to_follower,
            one.cpu_ratio_to_mm2,
        )
        shown = tuple("n/a" if value is None else f"{value:.3g}" for value in numbers)
        rates = (f"{one.mb_per_s:,.1f}", f"{one.records_per_s:,.0f}")
        lines.append((one.row, one.system, *rates, *shown, f"{one.startup_s:.1f}"))
    return columns(lines, left=2)


def columns(lines: Sequence[Sequence[str]], left: int) -> str:
    """Lines of cells under each other, the first line as a head; the first ``left`` columns are words."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = [
        "  ".join(line[n].ljust(width) if n < left else line[n].rjust(width) for n, width in enumerate(widths))
        for line in lines
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def line(found: Figures) -> str:
    """One copy in one line."""
    cpu = "" if found.cpu_s_per_gb is None else f", {found.cpu_s_per_gb:.2f} CPU-s/GB"
    memory = "" if found.memory_mb is None else f", {found.memory_mb:.0f} MB"
    times = f"start-up {found.startup_s:.1f} s, whole {found.whole_s:.1f} s"
    rate = f"{found.mb_per_s:7.1f} MB/s, {found.records_per_s:,.0f} records/s"
    return f"{rate}{cpu}{memory}; {times}, target {found.target_bytes / 1e9:.2f} GB"


def write(section: str, found: Any, path: Path) -> None:
    """Put one section into the JSON file and leave its others; creates file and directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text()) if path.exists() else {}
    kept = before if isinstance(before, dict) else {}
    path.write_text(json.dumps(kept | {section: found}, indent=2) + "\n")


def machine(kafka: str) -> list[str]:
    """What the figures were taken on."""
    java = subprocess.run([java_program(), "-version"], capture_output=True, text=True, check=True).stderr
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        f"{cores} cores ({_processor()}), {memory:.0f} GiB, {platform.system()} {platform.release()}",
        f"{java.splitlines()[0]}; Kafka and MirrorMaker 2 {kafka}; Spark {version('pyspark')}; "
        f"Python {platform.python_version()}",
        f"load before: {os.getloadavg()[0]:.2f}",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else round(value / base, 3)
