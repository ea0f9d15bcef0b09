"""Artifacts of a service: what is uploaded, saved, pinned and deleted, by its own store and files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.model.clock import DAY_MS, now_ms
from anabranch.model.plans import PlanChangedError
from anabranch.operations.artifacts import deleting, resolving, saving
from anabranch.operations.artifacts.desk import ArtifactDesk, ArtifactSettings, NotUploadedError
from anabranch.operations.artifacts.pinning import pins_of
from anabranch.operations.artifacts.saving import SaveArtifactPlan
from anabranch.service.stored import Stored
from anabranch.streams.artifacts.errors import (
    ArtifactInUseError,
    ArtifactKindError,
    NoArtifactError,
    NoArtifactVersionError,
    NotAnArtifactError,
    SameArtifactError,
    UnresolvedDependencyError,
)
from anabranch.streams.artifacts.values import ArtifactKind
from anabranch.streams.catalog.ddl import definitions
from anabranch.streams.catalog.functions import CatalogTexts
from anabranch.streams.catalog.objects import Function
from anabranch.streams.kept import StoredStream
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion

pytestmark = pytest.mark.test
FIRST, SECOND = b"def clean(x: str) -> str:\n    return x\n", b"def clean(x: str) -> str:\n    return x.strip()\n"
THIRD = b"def clean(x: str) -> str:\n    return x.lower()\n"
NOW = 1_000_000
STREAM = StoredStream("pv", 1, "mei", "", NOW, 1, 0, StreamWanted.STOPPED, StreamState.DRAFT, "", NOW, 0, 0)
USING = "CREATE FUNCTION {} AS 'text.clean' USING FILE 'artifact:{}'"
Make = Callable[..., ArtifactDesk]


@pytest.fixture
def desk(stored: Stored, tmp_path: Path) -> ArtifactDesk:
    """Nothing is brought from an index; an upload has at most 200 bytes."""
    return ArtifactDesk(stored.artifacts, ArtifactSettings(str(tmp_path / "files"), dependencies=False, most=200))


def planned(desk: ArtifactDesk, data: bytes, name: str = "text", note: str = "", **more: str) -> SaveArtifactPlan:
    """The plan of a version of uploaded bytes."""
    file, told = more.get("file", "text.py"), more.get("description")
    return asyncio.run(saving.plan(desk, name, file, desk.upload(data), told, note))


def save(desk: ArtifactDesk, data: bytes, name: str = "text", **more: str) -> int:
    """Save a version; its number."""
    return asyncio.run(saving.apply(desk, planned(desk, data, name, **more), "mei")).version


def function(name: str, artifact: str) -> Function:
    """A function of the catalog that comes from an artifact."""
    [found] = definitions(USING.format(name, artifact))
    assert isinstance(found.object, Function)
    return found.object


def names(desk: ArtifactDesk) -> set[str]:
    """The files that are kept."""
    return set(os.listdir(desk.settings.place))


def test_an_upload_becomes_the_next_version_of_its_artifact(desk: ArtifactDesk, stored: Stored) -> None:
    """With its functions; a description that is not given stays, who saved each version is kept."""
    first = planned(desk, FIRST, description="cleans", note="begin")
    assert (first.artifact, first.version, first.is_new, first.kind) == ("text", 1, True, ArtifactKind.PYTHON)
    assert (first.content.file, first.content.size, first.dependencies) == ("text.py", len(FIRST), ())
    assert [one.name for one in first.functions] == ["text.clean"]
    done = asyncio.run(saving.apply(desk, first, "mei"))
    assert (done.artifact, done.version, done.sha256) == ("text", 1, first.content.sha256)
    with pytest.raises(SameArtifactError, match="version 1 of artifact 'text' has these bytes already"):
        planned(desk, FIRST)
    second = planned(desk, SECOND)
    assert (second.version, second.is_new, second.description) == (2, False, "cleans")
    assert second.hash != planned(desk, SECOND, note="other").hash
    assert second.hash != planned(desk, SECOND, description="").hash
    asyncio.run(saving.apply(desk, second, "jo"))
    assert [(one.number, one.author, one.note) for one in stored.artifacts.versions("text")] == [
        (2, "jo", ""),
        (1, "mei", "begin"),
    ]
    assert (stored.artifacts.get("text").owner, stored.artifacts.get("text").newest) == ("mei", 2)
    with pytest.raises(SameArtifactError):
        asyncio.run(saving.apply(desk, second, "jo"))
    third = planned(desk, THIRD)
    save(desk, b"def other() -> None:\n    pass\n")
    with pytest.raises(PlanChangedError, match="artifact text changed since plan"):
        asyncio.run(saving.apply(desk, third, "jo"))
    assert stored.artifacts.get("text").newest == 3


def test_what_is_saved_was_uploaded_and_is_of_the_artifacts_kind(desk: ArtifactDesk, stored: Stored) -> None:
    """Also what was taken away between a plan and its end; too many bytes are refused before they are kept."""
    with pytest.raises(NotUploadedError, match=r"the bytes of text\.py with SHA-256 0f0f"):
        asyncio.run(saving.plan(desk, "text", "text.py", "0f" * 32, None, ""))
    going = planned(desk, FIRST)
    (Path(desk.settings.place) / going.content.sha256).unlink()
    with pytest.raises(NotUploadedError):
        asyncio.run(saving.apply(desk, going, "mei"))
    assert stored.artifacts.all() == []
    save(desk, FIRST)
    stored.artifacts.add(
        replace(stored.artifacts.get("text"), name="jar", kind=ArtifactKind.JAR),
        stored.artifacts.version("text", 1),
    )
    with pytest.raises(ArtifactKindError):
        planned(desk, SECOND, "jar")
    desk.check_size("text.py", 200)
    with pytest.raises(NotAnArtifactError, match="it has 201 bytes, more than 200"):
        desk.check_size("text.py", 201)


def test_versions_that_a_stream_or_a_function_needs_are_not_deleted(desk: ArtifactDesk, stored: Stored) -> None:
    """A function that names no version needs the last one; the artifact goes with its last version."""
    save(desk, FIRST)
    save(desk, SECOND)

    def plan(number: int | None, *functions: Function) -> deleting.DeleteArtifactPlan:
        return asyncio.run(deleting.plan(desk, "text", number, functions))

    with pytest.raises(NoArtifactVersionError):
        plan(3)
    with pytest.raises(NoArtifactError):
        asyncio.run(deleting.plan(desk, "other", None))
    pinned, floating = function("shop.a", "text@1"), function("shop.b", "text")
    other = function("shop.c", "other@1")
    with pytest.raises(ArtifactInUseError, match=r"function shop\.a"):
        plan(1, pinned)
    assert plan(1, floating, other).versions == (1,)
    assert plan(2, pinned, floating).versions == (2,)
    for one in (pinned, floating):
        with pytest.raises(ArtifactInUseError):
            plan(None, one)
    every = plan(None, other)
    assert (every.versions, every.is_last, plan(1).is_last) == ((1, 2), True, False)
    pins = pins_of(stored.artifacts, USING.format("f", "text@2"))
    stored.streams.add(STREAM, StreamVersion(1, NOW, "mei", "", "SELECT 1", StreamSettings(), artifacts=pins))
    for number in (2, None):
        with pytest.raises(ArtifactInUseError, match="stream pv version 1"):
            plan(number)
    first = plan(1)
    assert asyncio.run(deleting.apply(desk, first)).versions == (1,)
    assert [one.number for one in stored.artifacts.versions("text")] == [2]
    assert first.hash != every.hash
    with pytest.raises(NoArtifactVersionError):
        asyncio.run(deleting.apply(desk, first))


def test_what_came_since_a_deletion_was_planned_is_looked_at_again(desk: ArtifactDesk, stored: Stored) -> None:
    """A function that was defined from it keeps it, and another version is not left behind unseen."""
    save(desk, FIRST)
    every = asyncio.run(deleting.plan(desk, "text", None))
    with pytest.raises(ArtifactInUseError, match=r"function shop\.a"):
        asyncio.run(deleting.apply(desk, every, [function("shop.a", "text")]))
    save(desk, SECOND)
    with pytest.raises(PlanChangedError, match="artifact text changed since plan"):
        asyncio.run(deleting.apply(desk, every))
    assert [one.number for one in stored.artifacts.versions("text")] == [2, 1]


def test_files_that_nothing_has_are_swept_a_day_after_they_came(desk: ArtifactDesk) -> None:
    """What another version has stays, and so does what somebody may be about to save."""
    save(desk, FIRST)
    save(desk, SECOND)
    kept = names(desk)
    fresh, stale = desk.upload(b"fresh"), desk.upload(b"stale")
    for one in (*kept, stale):
        os.utime(Path(desk.settings.place) / one, (now_ms() / 1000, (now_ms() - DAY_MS - 60_000) / 1000))
    done = asyncio.run(deleting.apply(desk, asyncio.run(deleting.plan(desk, "text", 1))))
    assert done.swept == 2
    assert len(names(desk) & kept) == 1
    assert fresh in names(desk) and stale not in names(desk)


def test_a_script_is_pinned_to_the_versions_that_it_names_or_the_newest(desk: ArtifactDesk, stored: Stored) -> None:
    """Also by a function of the catalog that it calls, which is kept as it is now."""
    save(desk, FIRST)
    save(desk, SECOND)
    [newest] = pins_of(stored.artifacts, USING.format("f", "text"))
    [first] = pins_of(stored.artifacts, USING.format("f", "text@1"))
    assert (newest.number, first.number, first.kind, first.functions) == (2, 1, ArtifactKind.PYTHON, ())
    assert first.content.sha256 != newest.content.sha256
    texts = CatalogTexts((function("shop.tidy", "text@1").statement,))
    [called] = pins_of(stored.artifacts, "SELECT shop.tidy(name) FROM src", texts)
    assert (called.number, [one.name for one in called.functions]) == (1, ["shop.tidy"])
    assert pins_of(stored.artifacts, "SELECT other(name) FROM src", texts) == ()
    for artifact, error in (("other", NoArtifactError), ("text@3", NoArtifactVersionError)):
        with pytest.raises(error):
            pins_of(stored.artifacts, USING.format("f", artifact))


def test_what_every_job_has_is_not_brought_and_what_is_not_there_is_named(desk: ArtifactDesk) -> None:
    """An address is no requirement; another version of what every job has is refused with both."""

    def found(*requires: str) -> dict[str, bytes]:
        return dict(resolving.resolve("text.py", None, requires, reaches_index=False, most=1 << 20))

    assert found() == {} == found("pyspark", "pyarrow")
    with pytest.raises(UnresolvedDependencyError, match="there is no wheel for nothing-like-it") as none:
        found("nothing-like-it")
    assert "the service is set to bring none" in none.value.message
    with pytest.raises(UnresolvedDependencyError, match="names an address") as address:
        found("own @ https://localhost/own.whl")
    assert address.value.hint == "require it by its name and version, from a package index"
    with pytest.raises(UnresolvedDependencyError, match="every job has pyspark"):
        found("pyspark<2")
