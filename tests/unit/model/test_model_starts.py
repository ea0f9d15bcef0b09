"""Start positions as people write them: the same five everywhere."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.model.start import LaneStart, StartKind, StartPosition, parse_offset
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit


def test_a_group_is_named() -> None:
    """Whatever its name holds, colons too; it must be looked up before a lane can begin there."""
    start = StartPosition.parse("group:billing:v2")
    assert (start.kind, start.group, str(start)) == (StartKind.GROUP, "billing:v2", "group:billing:v2")
    with pytest.raises(InvalidFieldError, match="an offset that a group committed"):
        start.for_lane(TopicPartition("orders", 0))
    with pytest.raises(InvalidFieldError):
        LaneStart(StartKind.GROUP, 5)


def test_offsets_are_given_by_partition() -> None:
    """Topics may have dashes and dots; a partition that is not named begins at its earliest record."""
    start = StartPosition.parse("my-orders.v2-0:17, my-orders.v2-11:0")
    assert start.offsets == {TopicPartition("my-orders.v2", 0): 17, TopicPartition("my-orders.v2", 11): 0}
    assert start.for_lane(TopicPartition("my-orders.v2", 0)) == LaneStart(StartKind.OFFSETS, 17)
    assert start.for_lane(TopicPartition("my-orders.v2", 1)) == LaneStart()


def test_a_time_is_not_taken_for_an_offset() -> None:
    """One with a zone of whole hours ends as an offset does."""
    assert StartPosition.parse("2013-01-01T00:00:00-05:00").kind is StartKind.TIMESTAMP
    assert StartPosition.parse("20130101T000000-05:00").kind is StartKind.TIMESTAMP


@pytest.mark.parametrize(
    "text",
    ["group:", "orders:5", "orders-0", "orders-0:", "orders-0:-1", "orders-0:5,", "-0:5", "orders-0:1,orders-0:2"],
)
def test_what_is_no_position_is_refused(text: str) -> None:
    """With all forms named in the fix."""
    with pytest.raises(InvalidFieldError) as caught:
        StartPosition.parse(text)
    for form in ("earliest", "latest", "2013-01-01T00:00:00Z", "group:NAME", "TOPIC-PARTITION:OFFSET", "@FILE"):
        assert form in caught.value.fix


@pytest.mark.parametrize("text", ["orders-0:1a", "orders-٣:1", "orders-0:1:2", "", "orders-0:99999999999999999999"])
def test_what_is_no_offset_of_a_partition_is_refused(text: str) -> None:
    """Not a number, digits of other scripts, too many of them."""
    with pytest.raises(InvalidFieldError, match="TOPIC-PARTITION:OFFSET"):
        parse_offset(text)


@pytest.mark.parametrize("group", [None, ""])
def test_a_groups_start_names_it(group: str | None) -> None:
    """And no other start does."""
    with pytest.raises(InvalidFieldError):
        StartPosition(StartKind.GROUP, group=group)
    with pytest.raises(InvalidFieldError):
        StartPosition(StartKind.LATEST, group="billing")


@pytest.mark.parametrize(
    "text",
    [
        "1969-12-31T23:59:59.999Z",  # as -1 ms it would ask for the log's end
        "1960-01-01T00:00:00+01:00",
        "9223372036854775808",
        "1" * 5000,
        "99999999999999999999",
    ],
)
def test_a_time_that_kafka_cannot_be_asked_for_is_refused(text: str) -> None:
    """Before 1970, where the numbers mean something else, and past the largest number."""
    with pytest.raises(InvalidFieldError, match="1970"):
        StartPosition.parse(text)
    assert StartPosition.parse("1970-01-01T00:00:00Z").timestamp_ms == 0
    assert StartPosition.parse(str((1 << 63) - 1)).timestamp_ms == (1 << 63) - 1


@pytest.mark.parametrize("text", ["orders-0:9223372036854775808", "orders-2147483648:1"])
def test_an_offset_or_a_partition_that_no_broker_has_is_refused(text: str) -> None:
    """It would not fit into a request."""
    with pytest.raises(InvalidFieldError):
        parse_offset(text)
    with pytest.raises(InvalidFieldError):
        StartPosition.parse(text)
    with pytest.raises(InvalidFieldError, match="larger than any offset"):
        StartPosition(StartKind.OFFSETS, offsets={TopicPartition("orders", 0): 1 << 63})
