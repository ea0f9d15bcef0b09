"""Calls that wait for a cluster, in a thread that is kept for them."""

from __future__ import annotations

import gc
import threading

import pytest
from confluent_kafka import KafkaException

from anabranch.sdk.waiting import Waiting
from qa.service import until

pytestmark = pytest.mark.unit


def threads() -> set[threading.Thread]:
    """Those that make such calls."""
    return {one for one in threading.enumerate() if one.name == "anabranch-commit"}


def test_a_cluster_that_is_lost_is_waited_for_no_longer() -> None:
    """The call goes on in its own thread; those after it have another, and what was answered in time counts."""
    before, ends, lost = threads(), threading.Event(), False
    waiting = Waiting(lambda: lost)
    assert waiting.answer(lambda: 1) == 1
    lost = True
    assert waiting.answer(lambda: 2) == 2
    assert len(threads() - before) == 1
    with pytest.raises(KafkaException, match="does not answer"):
        waiting.answer(ends.wait)
    assert waiting.answer(lambda: 3) == 3
    assert len(threads() - before) == 2
    ends.set()
    until(lambda: len(threads() - before) == 1)
    del waiting
    gc.collect()
    until(lambda: threads() <= before)


def test_what_a_call_raises_is_raised_and_the_next_one_is_made() -> None:
    """Whatever it is."""

    def fails() -> None:
        raise LookupError

    waiting = Waiting(lambda: False)
    with pytest.raises(LookupError):
        waiting.answer(fails)
    assert waiting.answer(lambda: 4) == 4
