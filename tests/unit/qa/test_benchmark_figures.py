"""The figures of the benchmarks: the window, the rate in source bytes, and the reading of log files."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from benchmarks.latency import Latency, verdict
from benchmarks.logs import HEADER_SIZE, TopicLog
from benchmarks.meter import Figures, Sample, figures
from benchmarks.report import results

pytestmark = pytest.mark.unit


def batch(records: int, body: int, attributes: int = 0) -> bytes:
    """A batch's header and as many bytes as a body would have."""
    length = HEADER_SIZE - 12 + body
    return (
        struct.pack(">qiibIhiqqqhii", 0, length, 0, 2, 0, attributes, records - 1, 0, 0, 1, 0, 0, records) + b"x" * body
    )


def steady(seconds: int, bytes_each: int, cpu_each: float, idle: int = 0) -> list[Sample]:
    """A copy that starts after ``idle`` samples and then is even, a sample each second."""
    waiting = [Sample(float(n), 0, 0, 9.0) for n in range(idle)]
    return waiting + [Sample(float(idle + n), n * 10, n * bytes_each, 9.0 + n * cpu_each) for n in range(seconds + 1)]


def test_start_up_is_told_apart_and_does_not_change_the_rate() -> None:
    """An even copy of 100 MB a second has that rate, however long it took to begin and whatever that cost."""
    found = figures(steady(20, 100_000_000, 0.5, idle=7), 2_000_000_000, has_copier=True, memory_mb=None)
    assert found.mb_per_s == pytest.approx(100)
    assert found.records_per_s == pytest.approx(10)
    assert found.cpu_s_per_gb == pytest.approx(5)
    assert found.startup_s == 7


def test_a_slow_first_and_last_tenth_are_left_out() -> None:
    """Only what lies between 10 % and 90 % of the bytes counts."""
    sizes = [(0, 0), (50, 100), (51, 500), (52, 900), (152, 1000)]
    found = figures(
        [Sample(float(t), size, size * 10**6, 0.0) for t, size in sizes], 10**9, has_copier=False, memory_mb=None
    )
    assert found.mb_per_s == pytest.approx(400)
    assert found.cpu_s_per_gb is None


def test_the_rate_is_in_bytes_of_the_source() -> None:
    """A copier that makes the data twice as large is not twice as fast."""
    found = figures(steady(10, 200_000_000, 0.0), 1_000_000_000, has_copier=True, memory_mb=None)
    assert found.mb_per_s == pytest.approx(100)


def test_a_log_is_read_as_it_grows_without_markers_and_half_batches(tmp_path: Path) -> None:
    """Control batches are no data, and a batch that is still being written waits for the next look."""
    folder = tmp_path / "flights-0"
    folder.mkdir()
    (tmp_path / "flights-0.abc-delete").mkdir()
    segment = folder / "00000000000000000000.log"
    late = batch(30, 400)
    segment.write_bytes(batch(10, 200) + batch(1, 20, attributes=0x30) + late[:100])
    log = TopicLog(tmp_path, "flights")
    log.look()
    assert (log.records, log.bytes, log.batches) == (10, 261, 1)
    with segment.open("ab") as file:
        file.write(late[100:])
    log.look()
    log.close()
    assert (log.records, log.bytes, log.batches) == (40, 261 + 461, 2)
    assert log.by_partition == {0: 722}


def test_rows_hold_medians_and_ratios() -> None:
    """The ratios are those of the medians; CPU has none where the copier is the broker."""

    def run(rate: float, cpu: float | None) -> Figures:
        return Figures(rate, rate * 1000, cpu, 5.0, 60.0, 1, None)

    runs = {"mm2": [run(50, 20), run(40, 30), run(60, 10)], "link": [run(300, 2.0)], "follower": [run(600, None)]}
    mm2, link, follower = results("w", runs, "mm2", "follower")
    assert (mm2.mb_per_s, mm2.cpu_s_per_gb, mm2.ratio_to_mm2) == (50, 20, 1)
    assert (link.ratio_to_mm2, link.ratio_to_follower, link.cpu_ratio_to_mm2) == (6, 0.5, 0.1)
    assert (follower.cpu_s_per_gb, follower.cpu_ratio_to_mm2) == (None, None)


@pytest.mark.parametrize(
    ("systems", "found"),
    [
        ({"link": (25.5, 0), "mirrormaker2": (16.8, 0)}, "missed: 25.5 ms beside 16.8 ms"),
        ({"link": (16.8, 0), "mirrormaker2": (16.8, 0)}, "met: 16.8 ms beside 16.8 ms"),
        ({"link": (9.0, 3), "mirrormaker2": (16.8, 0)}, "missed: 9.0 ms beside 16.8 ms, 3 records lost"),
        ({"link": (9.0, 0)}, "not judged, as both are not measured"),
    ],
)
def test_latency_is_judged_by_mirror_makers_in_the_same_run(systems: dict[str, tuple[float, int]], found: str) -> None:
    """In words, as other benchmarks say of what they want."""
    rows = [Latency(name, 9, lost, 1.0, 2.0, p99, 99.0, 99.0, ()) for name, (p99, lost) in systems.items()]
    assert verdict(rows).endswith(f"; {found}")
