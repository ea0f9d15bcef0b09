"""Given start offsets that no lane could begin at: each is an error that names the place, the reason and what to do."""

from __future__ import annotations

import pytest

from anabranch.kafka.start import OutsideLogError
from anabranch.model.reasons import Severity
from anabranch.model.reports import TopicPlan
from anabranch.model.topics import TopicPartition
from anabranch.operations.links.explicit_offsets import outside_log, unused_offsets

pytestmark = pytest.mark.unit

TOPICS = (TopicPlan("orders", "old.orders", 2, exists=False), TopicPlan("bills", "old.bills", 1, exists=True))
THERE = frozenset({"orders", "bills", "secrets"})


@pytest.mark.parametrize(
    ("partition", "what", "fix"),
    [
        (TopicPartition("oders", 0), "old has no topic oders that User:a may see", "correct the name"),
        (TopicPartition("secrets", 0), "topic secrets is not among those that the link copies", "--include"),
        (
            TopicPartition("orders", 2),
            "topic orders of old has 2 partitions, from 0 on",
            "correct the partition's number",
        ),
        (TopicPartition("bills", 1), "topic bills of old has 1 partition, from 0 on", "leave bills-1 out of --start"),
    ],
)
def test_an_offset_for_what_no_lane_reads_is_an_error(partition: TopicPartition, what: str, fix: str) -> None:
    """A slip of the topic, the filter or the number is said, and not passed over."""
    found = unused_offsets([TopicPartition("orders", 1), partition], TOPICS, THERE, "old", "User:a")
    assert list(found) == [partition]
    assert found[partition].severity is Severity.ERROR
    assert found[partition].what == f"a start offset is given for {partition}: {what}"
    assert fix in found[partition].fix


def test_every_offset_outside_of_its_log_is_an_error_with_the_range() -> None:
    """Beyond the end and below the start alike, all at once."""
    orders, bills = TopicPartition("orders", 0), TopicPartition("bills", 0)
    found = outside_log(OutsideLogError("old", {orders: (99999, 0, 1186), bills: (3, 4, 20)}))
    assert found[orders].what == "start offset 99,999 of orders-0 is outside of the log of old, 0 to 1,186"
    assert found[bills].what == "start offset 3 of bills-0 is outside of the log of old, 4 to 20"
    assert "give an offset from 4 to 20" in found[bills].fix
    assert {one.severity for one in found.values()} == {Severity.ERROR}
