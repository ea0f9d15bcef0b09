"""Which runs a person's request to stop is meant for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.kafka.cluster import Cluster
from anabranch.model.reports import EVERY_RUN, StopRequest
from anabranch.spark.link.survey import Survey
from anabranch.state.topics.control import Progress
from tests.unit.link_lab import LINK, Lab, lab

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters, for all tests of this file."""
    with lab() as made:
        yield made


def ask(both: Lab, *runs: str, at_ms: int) -> None:
    """A person asks these runs to stop."""

    async def put(cluster: Cluster) -> None:
        await Progress(cluster).stop(StopRequest(LINK, runs, at_ms))

    both.on(both.target, put)


def is_to_stop(survey: Survey) -> bool:
    """What a run's driver reads now."""
    survey.status()
    return survey.is_to_stop()


def test_a_run_obeys_its_name_and_what_is_asked_of_all_after_it_began(both: Lab) -> None:
    """A request that was there when it began was for those that ran then; its driver need not have a lane."""
    ask(both, EVERY_RUN, "run-0", at_ms=1_000)
    survey = Survey(LinkJob(LINK, "run-1", both.source, both.target, 300.0))
    try:
        assert not is_to_stop(survey), "it was asked of the runs before"
        ask(both, "run-2", at_ms=2_000)
        assert not is_to_stop(survey), "another one is meant"
        ask(both, EVERY_RUN, at_ms=3_000)
        assert is_to_stop(survey), "all are meant, and its name is not there yet"
        ask(both, "run-1", at_ms=1_000)
        assert is_to_stop(survey), "its name is there"
    finally:
        survey.close()
