"""Artifacts on each database: versions are numbered once, and what a stream was saved with is not deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.store.artifacts import StoredArtifacts
from anabranch.store.database import Database
from anabranch.store.streams import StoredStreams, StreamChangedError
from anabranch.streams.artifacts.errors import (
    ArtifactChangedError,
    ArtifactInUseError,
    NoArtifactError,
    NoArtifactVersionError,
)
from anabranch.streams.artifacts.values import (
    ArtifactArgument,
    ArtifactFile,
    ArtifactFunction,
    ArtifactKind,
    ArtifactPin,
    ArtifactVersion,
    StoredArtifact,
)
from anabranch.streams.kept import StoredStream
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion, diff

pytestmark = pytest.mark.test

LIBRARY = StoredArtifact("text", ArtifactKind.PYTHON, "mei", "texts", 1, 1)
FUNCTION = ArtifactFunction("text.clean", (ArtifactArgument("value", "STRING", True),), "STRING")
FIRST = ArtifactVersion(
    1, 1, "mei", "", ArtifactFile("text.py", "a" * 64, 7), (FUNCTION,), (ArtifactFile("b.whl", "b" * 64, 9),)
)
SECOND = ArtifactVersion(2, 2, "jo", "more", ArtifactFile("text.py", "c" * 64, 8))
PIN = ArtifactPin("text", 1, ArtifactKind.PYTHON, FIRST.content, FIRST.dependencies)
STREAM = StoredStream("counts", 1, "mei", "", 1, 1, 0, StreamWanted.STOPPED, StreamState.DRAFT, "", 1, 0, 0)
SCRIPT = StreamVersion(1, 1, "mei", "", "SELECT 1", StreamSettings(), (PIN,))


def test_versions_are_added_in_order_and_of_two_who_upload_one_is_refused(database: Database) -> None:
    """S19: the number of one that was deleted is not given again."""
    store = StoredArtifacts(database)
    with pytest.raises(NoArtifactError):
        store.version("text", None)
    store.add(LIBRARY, FIRST)
    for again in (FIRST, replace(SECOND, number=3)):
        with pytest.raises(ArtifactChangedError):
            store.add(LIBRARY, again)
    store.add(replace(LIBRARY, description="all texts"), SECOND)
    assert (store.versions("text"), store.version("text", None)) == ([SECOND, FIRST], SECOND)
    assert store.get("text") == replace(LIBRARY, description="all texts", newest=2)
    with pytest.raises(NoArtifactVersionError):
        store.version("text", 3)
    store.remove("text", [2])
    assert (store.get("text").newest, store.version("text", None)) == (2, FIRST)
    with pytest.raises(ArtifactChangedError):
        store.add(LIBRARY, SECOND)
    assert store.contents() == {"a" * 64, "b" * 64}
    store.remove("text", [1])
    assert store.all() == []


def test_what_a_stream_was_saved_with_stays_until_the_stream_is_forgotten(database: Database) -> None:
    """S20: whatever is uploaded later, a version of a stream has what it was saved with."""
    artifacts, streams = StoredArtifacts(database), StoredStreams(database)
    with pytest.raises(StreamChangedError):  # its artifact is gone
        streams.add(STREAM, SCRIPT)
    artifacts.add(LIBRARY, FIRST)
    streams.add(STREAM, SCRIPT)
    artifacts.add(LIBRARY, SECOND)
    streams.save("counts", 1, replace(SCRIPT, number=2, artifacts=()))
    assert [one.artifacts for one in streams.versions("counts")] == [(), (PIN,)]
    assert streams.version("counts", 1) == SCRIPT
    assert f"--- artifact text@1: SHA-256 {'a' * 64}" in diff(SCRIPT, replace(SCRIPT, artifacts=()))
    with pytest.raises(ArtifactInUseError) as refused:
        artifacts.remove("text", [1, 2])
    assert refused.value.uses == ("stream counts version 1",)
    assert len(artifacts.versions("text")) == 2
    streams.remove("counts", 2)
    artifacts.remove("text", [1, 2])
    with pytest.raises(NoArtifactError):
        artifacts.get("text")
