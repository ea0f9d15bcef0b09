"""Who is alive, by what was persisted."""

import pytest

from anabranch.model.lane import LaneKey
from anabranch.model.topics import TopicId
from anabranch.state.topics.owner_liveness import LANE_TIMEOUT_S, OwnerLiveness

pytestmark = pytest.mark.unit

ONE, OTHER = (LaneKey("l", TopicId.ZERO, partition) for partition in (0, 1))


def test_an_owner_lives_while_it_files_any_of_its_lanes() -> None:
    """A lane that stands still need not be persisted for its owner to be heard of."""
    heard = OwnerLiveness(lambda: 10.0)
    heard.note(ONE, "a", 1.0)
    heard.note(OTHER, "a", 9.0)
    assert heard.get(ONE) == ("a", 9.0)


def test_who_persisted_a_lane_last_counts_and_not_who_is_heard_of_last() -> None:
    """Another owner's persisting of another lane says nothing about this one."""
    heard = OwnerLiveness(lambda: 10.0)
    heard.note(ONE, "a", 1.0)
    heard.note(ONE, "b", 2.0)
    heard.note(OTHER, "a", 9.0)
    assert heard.get(ONE) == ("b", 2.0)


def test_a_lane_that_its_owner_files_no_more_is_given_up_in_the_end() -> None:
    """An owner that is alive may have left the lane without a word."""
    heard = OwnerLiveness(lambda: 2.0 + LANE_TIMEOUT_S)
    heard.note(ONE, "a", 1.0)
    heard.note(OTHER, "a", 31.0)
    assert heard.get(ONE) == ("a", 1.0)


def test_of_a_lane_that_was_never_persisted_or_forgotten_nobody_is_heard() -> None:
    """No news is None."""
    heard = OwnerLiveness()
    assert heard.get(ONE) is None
    heard.note(ONE, "a", 1.0)
    heard.forget(ONE)
    assert heard.get(ONE) is None


def test_owners_are_forgotten_once_they_are_many_and_silent() -> None:
    """Each worker process is an owner: what is remembered of them stays bounded, and their lanes stay known."""
    heard = OwnerLiveness(lambda: 5000.0)
    for number in range(2000):
        heard.note(LaneKey("l", TopicId.ZERO, number), f"o{number}", float(number))
    assert heard.get(LaneKey("l", TopicId.ZERO, 5)) == ("o5", 5.0)
    assert len(heard._owners) < 1100
