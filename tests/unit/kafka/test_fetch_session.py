"""Fetch sessions against a broker that keeps them as KIP-227 says, whatever happens to requests on their way."""

import uuid
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.kafka.fetch import PartitionFetch
from anabranch.kafka.session import FIRST, FetchSession, Key, SessionRequest

pytestmark = pytest.mark.unit

TOPIC = uuid.UUID(int=7)


def wanted(offsets: dict[int, int]) -> dict[Key, PartitionFetch]:
    """Partitions at offsets."""
    return {(TOPIC, part): PartitionFetch("t", TOPIC, part, 0, offset, -1, 100) for part, offset in offsets.items()}


@dataclass
class Broker:
    """What a broker remembers; grants a session only with room for it."""

    room: bool = True
    sessions: dict[int, tuple[int, dict[int, int]]] = field(default_factory=dict)
    given: int = 0

    def serve(self, asked: SessionRequest) -> tuple[int, int, dict[int, int]]:
        """(code, session id, which partitions were read at which offsets)."""
        told = {one.partition: one.offset for one in asked.wanted}
        if asked.epoch <= FIRST:
            self.sessions.pop(asked.session, None)
            if asked.epoch < FIRST or not self.room:
                return 0, 0, told
            self.given += 1
            self.sessions[self.given] = (1, told)
            return 0, self.given, told
        if asked.session not in self.sessions:
            return 70, 0, {}
        epoch, held = self.sessions[asked.session]
        if epoch != asked.epoch:
            return 71, 0, {}
        held = {**held, **told}
        for one in asked.forgotten:
            del held[one.partition]
        self.sessions[asked.session] = (epoch + 1, held)
        return 0, asked.session, held


steps = st.tuples(
    st.dictionaries(st.integers(0, 4), st.integers(0, 3)),
    st.sampled_from(["well", "request lost", "answer lost", "evicted", "refused"]),
    st.booleans(),
)


@given(st.lists(steps, max_size=20))
def test_the_broker_reads_exactly_what_is_wanted_whatever_is_lost(
    plan: list[tuple[dict[int, int], str, bool]],
) -> None:
    """Every answer that counts was made of the partitions and offsets of its request, with or without a session."""
    broker, session = Broker(), FetchSession()
    for offsets, fate, room in plan:
        broker.room = room
        asked = session.next_request(wanted(offsets))
        if fate == "evicted":
            broker.sessions.clear()
        if fate == "request lost":
            session.lost()
            continue
        code, given, read = broker.serve(asked)
        if fate == "answer lost":
            session.lost()
        elif session.answered(6 if fate == "refused" else code, given) and not code and fate != "refused":
            assert read == offsets
    if (last := session.close()) is not None:
        broker.serve(last)
        assert session.close() is None


def test_what_did_not_change_is_not_told_again() -> None:
    """The point of it all."""
    broker, session = Broker(), FetchSession()
    session.answered(*broker.serve(session.next_request(wanted({0: 1, 1: 1, 2: 1})))[:2])
    assert session.next_request(wanted({0: 1, 1: 1, 2: 1})) == SessionRequest(1, 1, [], [])
    session.answered(0, 1)
    asked = session.next_request(wanted({0: 1, 1: 2, 3: 0}))
    assert ([one.partition for one in asked.wanted], [one.partition for one in asked.forgotten]) == ([1, 3], [2])


def test_without_a_session_everything_is_asked_each_time() -> None:
    """A full cache costs what a fetch without sessions costs, and a session is asked for each time."""
    broker, session = Broker(room=False), FetchSession()
    for _ in range(3):
        asked = session.next_request(wanted({0: 1, 1: 1}))
        assert (asked.session, asked.epoch, len(asked.wanted)) == (0, FIRST, 2)
        assert session.answered(*broker.serve(asked)[:2])


def test_the_epoch_wraps_to_one() -> None:
    """Zero would begin a new session."""
    session = FetchSession()
    session.next_request({})
    session.answered(0, 5)
    session.epoch = 2**31 - 1
    session.answered(0, 5)
    assert session.epoch == 1
