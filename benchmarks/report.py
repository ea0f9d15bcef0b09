"""The table and the JSON file of a session; medians over its rounds."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from anabranch.sandbox.jars import java_program
from benchmarks.meter import Figures


@dataclass(frozen=True, slots=True)
class Row:
    """One system under one workload; medians.  Ratios are of MB/s, ``cpu_ratio_to_mm2`` of CPU-seconds per GB."""

    workload: str
    system: str
    mb_per_s: float
    records_per_s: float
    cpu_s_per_gb: float | None
    ratio_to_mm2: float | None
    ratio_to_follower: float | None
    cpu_ratio_to_mm2: float | None
    startup_s: float
    rounds_mb_per_s: tuple[float, ...]


def rows(workload: str, runs: Mapping[str, Sequence[Figures]], mm2: str, follower: str) -> list[Row]:
    """A row for each system, in the order given."""

    def median(system: str, figure: Callable[[Figures], float | None]) -> float | None:
        values = [value for value in map(figure, runs.get(system, ())) if value is not None]
        return statistics.median(values) if values else None

    def rate(system: str) -> float | None:
        return median(system, lambda f: f.mb_per_s)

    def cpu(system: str) -> float | None:
        return median(system, lambda f: f.cpu_s_per_gb)

    return [
        Row(
            workload=workload,
            system=system,
            mb_per_s=_round(rate(system), 1) or 0.0,
            records_per_s=_round(median(system, lambda f: f.records_per_s), 0) or 0.0,
            cpu_s_per_gb=_round(cpu(system), 2),
            ratio_to_mm2=_ratio(rate(system), rate(mm2)),
            ratio_to_follower=_ratio(rate(system), rate(follower)),
            cpu_ratio_to_mm2=_ratio(cpu(system), cpu(mm2)),
            startup_s=_round(median(system, lambda f: f.startup_s), 1) or 0.0,
            rounds_mb_per_s=tuple(round(f.mb_per_s, 1) for f in taken),
        )
        for system, taken in runs.items()
        if taken
    ]


def table(found: Sequence[Row]) -> str:
    """The rows as text."""
    head = ("workload", "system", "MB/s", "records/s", "CPU-s/GB", "x MM2", "x follower", "CPU x MM2", "start-up s")
    lines: list[tuple[str, ...]] = [head]
    for row in found:
        shown = (row.cpu_s_per_gb, row.ratio_to_mm2, row.ratio_to_follower, row.cpu_ratio_to_mm2)
        ratios = tuple("n/a" if value is None else f"{value:.3g}" for value in shown)
        rates = (f"{row.mb_per_s:,.1f}", f"{row.records_per_s:,.0f}")
        lines.append((row.workload, row.system, *rates, *ratios, f"{row.startup_s:.1f}"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = ["  ".join(_aligned(line[n], width, n) for n, width in enumerate(widths)) for line in lines]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def line(found: Figures) -> str:
    """One copy in one line."""
    cpu = "" if found.cpu_s_per_gb is None else f", {found.cpu_s_per_gb:.2f} CPU-s/GB"
    times = f"start-up {found.startup_s:.1f} s, whole {found.whole_s:.1f} s"
    return f"{found.mb_per_s:7.1f} MB/s{cpu}; {times}, target {found.target_bytes / 1e9:.2f} GB"


def write(found: Sequence[Row], path: Path) -> None:
    """Write the rows as a JSON list; creates the directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n")


def machine(kafka: str) -> list[str]:
    """What the figures were taken on."""
    java = subprocess.run([java_program(), "-version"], capture_output=True, text=True, check=True).stderr
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        f"{cores} cores ({_processor()}), {memory:.0f} GiB, {platform.system()} {platform.release()}",
        f"{java.splitlines()[0]}; Kafka and MirrorMaker 2 {kafka}; Spark {version('pyspark')}; "
        f"Python {platform.python_version()}",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column < 2 else cell.rjust(width)


def _round(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else round(value / base, 3)
