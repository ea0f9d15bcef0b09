"""Which open transaction may be ended by hand."""

from __future__ import annotations

import pytest

from anabranch.model.topics import TopicPartition
from anabranch.model.transactions import CoordinatedTransaction, OpenTransaction, SourceTransaction, choose, span

pytestmark = pytest.mark.unit

HERE = TopicPartition("orders", 3)
NOW = 10_000_000
TIMEOUT = 900_000


def known(
    state: str = "Ongoing", age: int = 60_000, partition: int = 3, producer_id: int = 7
) -> CoordinatedTransaction:
    """What a coordinator tells of a transaction that began so many ms ago."""
    return CoordinatedTransaction(
        "writer", state, TIMEOUT, NOW - age, producer_id, 0, (TopicPartition("orders", partition),)
    )


def opened(
    producer_id: int = 7, age: int = 60_000, tells: CoordinatedTransaction | None = None, unavailable: str = ""
) -> SourceTransaction:
    """An open transaction that was written to so many ms ago."""
    return SourceTransaction(OpenTransaction(producer_id, 2, 5, 17, NOW - age), NOW - age, tells, unavailable)


@pytest.mark.parametrize(
    ("transaction", "ended"),
    [
        (opened(tells=known()), False),
        (opened(tells=known("PrepareAbort")), False),
        (opened(tells=known(age=TIMEOUT + 1)), True),
        (opened(tells=known("CompleteAbort")), True),
        (opened(tells=known(partition=4)), True),
        (opened(), False),
        (opened(unavailable="a broker is away"), False),
        (opened(age=TIMEOUT), True),
        (opened(age=TIMEOUT, unavailable="a broker is away"), True),
    ],
)
def test_only_what_nobody_would_end_is_ended_unnamed(transaction: SourceTransaction, ended: bool) -> None:
    """Neither one that its coordinator still has under way, nor one that may be hidden from us, unless it is named."""
    chosen, kept = choose([transaction], HERE, None, NOW, TIMEOUT)
    assert (chosen, len(kept)) == ((7, 0) if ended else (None, 1))
    assert choose([transaction], HERE, 7, NOW, TIMEOUT) == (7, ())
    assert choose([transaction], HERE, 8, NOW, TIMEOUT) == (None, ())


def test_the_first_that_hangs_is_ended_and_the_others_are_told() -> None:
    """Each of the others with its reason."""
    found = [opened(1, tells=known(producer_id=1)), opened(2, age=TIMEOUT), opened(3, age=TIMEOUT)]
    chosen, kept = choose(found, HERE, None, NOW, TIMEOUT)
    assert chosen == 2
    assert "producer id 1 is left alone" in kept[0]
    assert "aborts it by itself in 14 min" in kept[0]


def test_the_sentence_names_who_since_when_and_where() -> None:
    """What a waiting lane shows."""
    told = opened(age=180_000, tells=known()).sentence(NOW)
    assert "producer id 7 (writer) since 1970-01-01 02:43:40 UTC (age 3 min) begins at offset 17" in told
    assert [span(ms) for ms in (-5, 119_000, 7_200_000, 259_200_000)] == ["0 s", "119 s", "2 h", "3 d"]
