"""What keeping streams costs the service: ``python -m benchmarks.streams``.

200 streams are registered and 20 of them run, as stand-ins that tell a progress each second and need no Spark.  Prints
the CPU that the service's own process uses in a minute, its memory, and how long a list of all streams takes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import psutil

from qa.service import until
from qa.stream_lab import StandInService, stand_ins

STREAMS, RUNNING = 200, 20
SECONDS, ASKED = 60.0, 50
SCRIPT = "-- run 1\nINSERT INTO out SELECT 1"


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.streams", description=__doc__)
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--running", type=int, default=RUNNING)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, stand_ins(Path(directory)) as lab:
        service = lab.serve(str(Path(directory) / "store.db"))
        process = psutil.Process(service.process.pid)
        empty = _share(process, 10.0), process.memory_info().rss
        names = [f"stream-{number:03}" for number in range(options.streams)]
        for name in names:
            service.done("create", stream=name, script=SCRIPT)
        registered = _share(process, 10.0), process.memory_info().rss
        for name in names[: options.running]:
            service.done("start", stream=name)
        until(lambda: _running(service) == options.running)
        running = _share(process, options.seconds), process.memory_info().rss
        lists = []
        for _ in range(ASKED):
            began = time.perf_counter()
            service.get("/api/v1/streams")
            lists.append(time.perf_counter() - began)
    for what, (share, memory) in (
        ("no stream", empty),
        (f"{options.streams} registered", registered),
        (f"{options.running} of them running", running),
    ):
        print(f"{what}: {share:.1%} of a core, {memory / 2**20:,.0f} MiB")
    print(f"a list of all streams: {statistics.median(lists) * 1000:.1f} ms")


def _running(service: StandInService) -> int:
    return sum(one["state"] == "running" for one in service.get("/api/v1/streams"))


def _share(process: psutil.Process, seconds: float) -> float:
    """Of one core that the process uses, by itself, in so many seconds."""
    before, began = process.cpu_times(), time.perf_counter()
    time.sleep(seconds)
    after, ended = process.cpu_times(), time.perf_counter()
    return (after.user + after.system - before.user - before.system) / (ended - began)


if __name__ == "__main__":
    main()
