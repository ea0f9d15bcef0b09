"""The schedule of faults and the comparison, on values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.faults.cleaned import compare_cleaned
from qa.faults.ledger import Ledger
from qa.faults.schedule import FaultKind, schedule
from qa.logcompare import ComparedRecord, DiskBatch, batches_differ, compare

pytestmark = pytest.mark.unit
KINDS = list(FaultKind)
COSTLY = {FaultKind.DRIVER_KILL, FaultKind.SECOND_RUN, FaultKind.TARGET_UNCLEAN}


def _log(text: str) -> list[ComparedRecord]:
    return [ComparedRecord(at, letter.encode(), letter) for at, letter in enumerate(text)]


@given(st.integers(0, 1 << 32), st.floats(1, 500), st.floats(0.5, 10), st.floats(0, 1))
def test_a_schedule_is_a_function_of_its_seed(seed: int, seconds: float, gap: float, long_share: float) -> None:
    """Equal arguments give equal faults, in order of time, none of which outlasts the episode."""
    injections = schedule(seed, seconds, KINDS, gap, long_share)
    assert injections == schedule(seed, seconds, KINDS, gap, long_share)
    assert [injection.at for injection in injections] == sorted(injection.at for injection in injections)
    assert all(injection.hold >= 0 and injection.at + injection.hold <= seconds + 1e-6 for injection in injections)


@given(st.integers(0, 1 << 32), st.integers(1, 4))
def test_every_kind_strikes_in_every_round(seed: int, rounds: int) -> None:
    """No kind waits for chance; only those that take long come more rarely after the first round."""
    injections = schedule(seed, rounds * len(KINDS) * 1.8, KINDS, 1.0)
    counts = {kind: sum(injection.kind is kind for injection in injections) for kind in KINDS}
    cheap = [count for kind, count in counts.items() if kind not in COSTLY]
    assert max(cheap) - min(cheap) <= 1
    assert min(counts.values()) >= 1


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("abcdef", (0, 0, 0, 0, 0)),
        ("abdef", (1, 0, 0, 0, 0)),
        ("abccdef", (0, 1, 0, 0, 0)),
        ("abdcef", (0, 0, 1, 0, 0)),
        ("abXdef", (0, 0, 0, 1, 0)),
        ("abcdefX", (0, 0, 0, 0, 1)),
        ("", (6, 0, 0, 0, 0)),
    ],
)
def test_a_difference_is_called_by_its_name(target: str, expected: tuple[int, ...]) -> None:
    """Missing, repeated, reordered, altered and foreign records are counted apart."""
    found = compare(_log("abcdef"), _log(target))
    assert (found.missing, found.repeated, found.reordered, found.altered, found.foreign) == expected
    assert bool(found.samples) == bool(found.total)


def test_offsets_alone_are_no_difference() -> None:
    """A mapped lane's records lie at other offsets: only their order and contents count."""
    shifted = [entry._replace(offset=entry.offset + 7) for entry in _log("abc")]
    assert compare(_log("abc"), shifted).total == 0


@pytest.mark.parametrize("change", [{"size": 9}, {"codec": "zstd"}, {"max_timestamp": 6}, {"records": b"other"}])
def test_a_batch_that_was_cut_or_packed_anew_is_found(change: dict[str, object]) -> None:
    """Boundaries, codecs, times and stored bytes of batches are compared; markers and offsets are not."""
    batch = DiskBatch(0, 10, "lz4", 5, False, b"bytes")
    marker = DiskBatch(10, 1, "none", 9, True, b"marker")
    assert batches_differ([batch], [marker, batch._replace(base_offset=11)]) == ""
    assert batches_differ([batch], [batch._replace(**change)]) != ""  # type: ignore[arg-type]


# A compacted log that held a1 b1 a2 b- a3 at offsets 0 to 4, of which the cleaner left the last two.
_PLACE = ("balances", 0)
_HELD = [("a", "1"), ("b", "1"), ("a", "2"), ("b", ""), ("a", "3")]


def _cleaned(*offsets: int) -> list[ComparedRecord]:
    made = []
    for offset in offsets:
        key, value = _HELD[offset]
        made.append(ComparedRecord(offset, f"{offset}{key}{value}".encode(), key, key.encode(), not value))
    return made


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (_cleaned(0, 1, 2, 3, 4), (0, 0, 0, 0, 0)),
        (_cleaned(2, 3, 4), (0, 0, 0, 0, 0)),
        (_cleaned(3, 4), (0, 0, 0, 0, 0)),
        (_cleaned(0, 1, 2, 4), (1, 0, 0, 1, 0)),
        (_cleaned(0, 0, 3, 4), (0, 1, 0, 0, 0)),
        (_cleaned(3, 2, 4), (0, 0, 1, 0, 0)),
        (_cleaned(3, 4, 2), (0, 0, 1, 1, 0)),
        ([ComparedRecord(0, b"?", "", b"c"), *_cleaned(3, 4)], (0, 0, 0, 1, 1)),
    ],
)
def test_a_copy_of_a_compacted_log_may_hold_what_the_source_had(
    target: list[ComparedRecord], expected: tuple[int, ...]
) -> None:
    """Cleaned records may be there or not; survivors must, in order, once, and keys must end at the same values."""
    ledger = Ledger()
    for entry in _cleaned(0, 1, 2, 3, 4):
        ledger.note(_PLACE, entry.offset, entry.digest)
    found = compare_cleaned(_cleaned(3, 4), target, ledger, _PLACE)
    assert (found.missing, found.repeated, found.reordered, found.altered, found.foreign) == expected
    assert bool(found.samples) == bool(found.total)


def test_a_record_whose_offset_was_never_told_counts_as_held() -> None:
    """A repeat that the broker recognised is answered without an offset; its order cannot be checked then."""
    ledger = Ledger()
    ledger.note(_PLACE, -1, _cleaned(2)[0].digest)
    assert compare_cleaned(_cleaned(3, 4), _cleaned(2, 3, 4), ledger, _PLACE).total == 0
    assert ledger.held(_PLACE, 2, _cleaned(2)[0].digest)
    assert not ledger.held(_PLACE, 2, b"another")


def test_a_cleaned_copy_may_lack_what_a_later_record_of_the_key_stands_for() -> None:
    """Where both logs are cleaned, only the newest record of a key must be in both."""
    ledger = Ledger()
    for entry in _cleaned(0, 1, 2, 3, 4):
        ledger.note(_PLACE, entry.offset, entry.digest)
    source = _cleaned(2, 3, 4)
    assert compare_cleaned(source, _cleaned(3, 4), ledger, _PLACE, both=True).total == 0
    assert compare_cleaned(source, _cleaned(3, 4), ledger, _PLACE).missing == 1
    assert compare_cleaned(source, _cleaned(2, 3), ledger, _PLACE, both=True).missing == 1
