"""What the fine print asks of a target, held against its settings: a line only where something is to be said."""

from __future__ import annotations

import pytest

from anabranch.model.preconditions import (
    COMPRESSION,
    IDLE,
    IN_SYNC,
    PRODUCER_IDS,
    TRANSACTIONAL_IDS,
    UNCLEAN,
    TargetTopic,
    changed,
    of_brokers,
    of_topics,
)
from anabranch.model.reasons import Severity

pytestmark = pytest.mark.unit

HOUR = 3_600_000
DAY = 24 * HOUR


def test_of_brokers_as_they_are_by_default_nothing_is_said() -> None:
    """It would be in the way of what is to be done."""
    assert of_brokers([{}, {}], 60) == []


def test_brokers_that_tell_nothing_are_not_taken_for_right() -> None:
    """That is said for the record: it is so for good where a principal may not ask."""
    (found,) = of_brokers([], 60)
    assert found.severity is Severity.INFO
    assert PRODUCER_IDS in found.what and TRANSACTIONAL_IDS in found.what and "not checked" in found.what
    assert "DescribeConfigs" in found.fix


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({PRODUCER_IDS: "600000"}, f"{PRODUCER_IDS}=600,000, which must be more than 660,000"),
        ({PRODUCER_IDS: str(HOUR), IDLE: str(HOUR)}, f"{PRODUCER_IDS}=3,600,000, which must be more than 3,660,000"),
        ({TRANSACTIONAL_IDS: str(DAY)}, f"{TRANSACTIONAL_IDS}=86,400,000, which must be more than 259,200,000"),
        ({IDLE: "-1"}, f"{IDLE}=-1: connections of fenced owners are never closed"),
    ],
)
def test_an_expiration_must_outlive_a_late_request(settings: dict[str, str | None], said: str) -> None:
    """Idle time and a lease; where a coordinator fences, three days; one broker of several is enough."""
    (found,) = of_brokers([{}, settings], 60)
    assert said in found.what
    # Brokers take only this one while they run.
    assert ("kafka-configs --alter" in found.fix) == (PRODUCER_IDS in said)
    assert of_brokers([{PRODUCER_IDS: "661000"}], 60) == []


def test_connections_that_are_never_closed_hide_no_expiration() -> None:
    """Each is held against what is right once they are closed."""
    found = of_brokers([{IDLE: "-1", PRODUCER_IDS: "600000", TRANSACTIONAL_IDS: str(DAY)}, {}], 60)
    assert [one.what.split()[3].partition("=")[0] for one in found] == [f"{IDLE}", PRODUCER_IDS, TRANSACTIONAL_IDS]
    assert "which must be more than 660,000" in found[1].what
    assert f"{IDLE} of 600,000" in found[1].what


def test_a_shorter_expiration_is_noticed_and_a_longer_one_is_not() -> None:
    """What was claimed under the longer one relies on it."""
    (found,) = changed(DAY, HOUR)
    assert "was 86,400,000 when the run began and is 3,600,000 now" in found.what
    assert changed(HOUR, DAY) == changed(DAY, DAY) == []


def topic(name: str, replicas: int, **configs: str) -> TargetTopic:
    """A target topic."""
    named = {"in_sync": IN_SYNC, "unclean": UNCLEAN, "compression": COMPRESSION}
    return TargetTopic.of(name, replicas, {named[key]: value for key, value in configs.items()})


def test_replication_that_loses_what_was_acknowledged_is_named_by_kind() -> None:
    """Each kind once with its topics; one replica alone is as it was made."""
    assert of_topics([topic("a", 1), topic("b", 3, in_sync="2"), topic("c", 1, unclean="true"), topic("d", 2)]) == []
    many = [topic(f"t{number}", 3) for number in range(6)]
    found = of_topics([*many, topic("x", 2, in_sync="3"), topic("y", 2, unclean="true")])
    assert [one.what.partition(":")[0] for one in found] == [
        "target topic x",
        "target topics t0, t1, t2, t3 and 2 more",
        "target topic y",
    ]
    assert "nothing can be appended" in found[0].what
    assert "what one broker took is lost with it" in found[1].what
    assert UNCLEAN in found[2].what


def test_a_compression_that_is_not_the_producers_is_told_for_the_record() -> None:
    """Each codec once with its topics, after what may lose records; a record stays as it was, so nothing is at risk."""
    topics = [topic("b", 1, compression="zstd"), topic("a", 1, compression="zstd"), topic("c", 1, compression="gzip")]
    found = of_topics([*topics, topic("d", 1, compression="producer"), topic("e", 1), topic("f", 2, unclean="true")])
    assert [(one.severity, one.what.split(": ")[0]) for one in found] == [
        (Severity.WARNING, "target topic f"),
        (Severity.INFO, "target topic c"),
        (Severity.INFO, "target topics a, b"),
    ]
    assert f"{COMPRESSION}=zstd" in found[2].what and "compress batches again" in found[2].what
    assert found[2].fix == f"kafka-configs --alter --topic a --add-config {COMPRESSION}=producer"
