"""Numbers in sentences have their thousands set apart as those in tables: in refusals, stops, notes and errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.checkpoints.position import SymbolicOffset, offset_text
from anabranch.copier.source.truncation_check import truncated
from anabranch.groups.plan import plan
from anabranch.groups.snapshot import PartitionMapping
from anabranch.groups.translation import translate_commit
from anabranch.kafka.log import LogShrunkError
from anabranch.kafka.start import OutsideLogError
from anabranch.model.groups import Commit
from anabranch.model.reasons import Reason
from anabranch.offsets.errors import RangeOrderError
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.operations.links.map_recovery import words
from anabranch.protocol.endings import LaneStopped, Stop, refusal
from anabranch.records.errors import CorruptBatchError, OldFormatError
from tests.unit.cli.test_cli_numbers import assert_set_apart
from tests.unit.groups.positions_samples import TO_A, A, group, snapshot

pytestmark = pytest.mark.unit

LONG = OffsetMap.of([MappedRange(12_000, 70_000, 5000)], 12_000, 70_000).advance(18_000, 75_000)
WHERE = PartitionMapping(TO_A, LONG, 10_000, 70_000, 75_000)


def refused(offset: int, route: PartitionMapping = WHERE) -> str:
    """Why a committed offset has no answer."""
    found = translate_commit(route, Commit(offset), "old-new")
    assert isinstance(found, Reason)
    return f"{found.what}; {found.fix}"


def backwards() -> str:
    """Why a group does not move that has committed more on the target."""
    found = plan(snapshot(group({A: Commit(13_000)}), group({TO_A: Commit(72_345)}), mappings={A: WHERE}), ["g"])
    return " ".join(one.what for one in found.groups[0].reasons)


SENTENCES = {
    "a stop": lambda: refusal("l/t/0/0", 10, 1_234_567).message,
    "a stop with its detail": lambda: LaneStopped("l/t/0/0", Stop.SOURCE_TRUNCATED, 12_345).message,
    "a truncated source": lambda: truncated("l/t/0/0", 23_456, 34_567).why,
    "not copied yet": lambda: refused(20_000),
    "before the link": lambda: refused(11_000),
    "expired on the target": lambda: refused(12_000, replace(WHERE, source_start=0, target_start=72_000)),
    "behind the target": lambda: refused(16_000, replace(WHERE, target_end=72_000)),
    "backwards": backwards,
    "a corrupt batch": lambda: CorruptBatchError(12_345, "torn").message,
    "an old format": lambda: OldFormatError(12_345, 1).message,
    "outside of a log": lambda: OutsideLogError("old", {A: (12_345, 23_456, 34_567)}).message,
    "a control topic that was cut": lambda: LogShrunkError("new", "t", 23_456, 12_345).message,
    "runs out of order": lambda: RangeOrderError("source", 12_345, 23_456).message,
    "a range of offsets": lambda: words((12_345, 23_456)),
    "a stored position": lambda: offset_text(12_345),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentences_set_thousands_apart(sentence: str) -> None:
    """By the same rule as tables."""
    assert_set_apart(SENTENCES[sentence]())


def test_what_is_stored_in_place_of_an_offset_has_a_word() -> None:
    """None would be a word of Python."""
    assert (offset_text(None), offset_text(SymbolicOffset.LATEST), offset_text(7)) == ("no offset", "latest", "7")
