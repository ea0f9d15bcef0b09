"""What was planned of a stream is looked at again before it is done: something else may run, or lie there, by now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from anabranch.model.plans import PlanChangedError
from anabranch.operations.streams import abandoning, changing, checkpointing
from anabranch.operations.streams.changing import StreamVerb
from anabranch.operations.streams.checkpointing import CheckpointVerb
from anabranch.service.stored import Stored
from anabranch.storage.saved_checkpoints import SavedCheckpoint, SavedQuery
from anabranch.store.streams import StoredStreams
from anabranch.streams.kept import NotLostError, StoredStream, StoredStreamRun
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion

pytestmark = pytest.mark.unit

NOW = 1_000_000
STREAM = StoredStream("counts", 1, "mei", "", NOW, 1, 0, StreamWanted.RUNNING, StreamState.STOPPED, "", NOW, 0, 0)
FIRST = StreamVersion(1, NOW, "mei", "", "SELECT 1", StreamSettings())
RUN = StoredStreamRun("run-1", "counts", 1, 0, "gone", 0, 0, "mei", "/d", NOW)


@pytest.fixture
def streams(stored: Stored) -> Iterator[StoredStreams]:
    """One stream that is to run."""
    stored.streams.add(STREAM, FIRST)
    return stored.streams


async def test_a_stream_of_which_another_run_has_begun_is_not_restarted(streams: StoredStreams) -> None:
    """Who asked for it has not seen that one; nobody has changed the stream."""
    planned = await changing.plan_run(streams, "counts", StreamVerb.RESTART)
    streams.begin(RUN, NOW)
    with pytest.raises(PlanChangedError, match="stream counts changed since plan"):
        await changing.run(streams, planned)
    assert streams.get("counts").revision == planned.revision
    now = await changing.plan_run(streams, "counts", StreamVerb.RESTART)
    assert (await changing.run(streams, now)).wanted == StreamWanted.RUNNING.value


async def test_a_run_is_not_given_up_once_its_machine_is_heard_of_or_something_else_would_follow(
    streams: StoredStreams,
) -> None:
    """A start follows where it is wanted, and none once somebody has asked it to stop."""
    streams.begin(RUN, NOW)
    given_up: list[str] = []

    async def abandon(run: StoredStreamRun, why: str) -> None:
        given_up.append(run.id)

    def silent(_: StoredStreamRun) -> int | None:
        return NOW

    def heard(_: StoredStreamRun) -> int | None:
        return None

    planned = await abandoning.plan(streams, "counts", silent)
    with pytest.raises(NotLostError, match="machine gone is heard of"):
        await abandoning.apply(streams, planned, heard, abandon, "mei")
    streams.want("counts", 1, StreamWanted.STOPPED, NOW)
    with pytest.raises(PlanChangedError, match="stream counts changed since plan"):
        await abandoning.apply(streams, planned, silent, abandon, "mei")
    assert given_up == []
    now = await abandoning.plan(streams, "counts", silent)
    assert (await abandoning.apply(streams, now, silent, abandon, "mei")).wanted == StreamWanted.STOPPED.value
    assert given_up == ["run-1"]


async def test_a_saved_checkpoint_of_the_same_name_that_is_another_one_is_not_deleted(
    streams: StoredStreams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has deleted the one that was shown, and saved another."""
    lies = SavedCheckpoint("friday", NOW, "mei", 1, "SELECT 1", (SavedQuery("q", 3, {}),))
    found, deleted = {"friday": lies}, list[str]()
    monkeypatch.setattr(checkpointing.saved_checkpoints, "saved_as", lambda _, __, name: found[name])
    monkeypatch.setattr(checkpointing.saved_checkpoints, "delete", lambda _, __, name: deleted.append(name))
    asked = "counts", CheckpointVerb.DELETE, "friday"
    planned = await checkpointing.plan(streams, "/place", *asked)
    found["friday"] = replace(lies, at_ms=NOW + 1, queries=(SavedQuery("q", 9, {}),))
    with pytest.raises(PlanChangedError, match="checkpoint 'friday' of stream counts changed since plan"):
        await checkpointing.apply(streams, "/place", planned, "mei")
    assert deleted == []
    await checkpointing.apply(streams, "/place", await checkpointing.plan(streams, "/place", *asked), "mei")
    assert deleted == ["friday"]
