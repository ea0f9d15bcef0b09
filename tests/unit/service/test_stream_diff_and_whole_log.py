"""What differs between two versions, and the whole log of a run, over REST."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from anabranch.service.rest.streams import CHUNK_BYTES, LOG_BYTES
from anabranch.streams.artifacts.values import ArtifactFile, ArtifactKind, ArtifactPin, ArtifactVersion, StoredArtifact
from anabranch.streams.kept import StoredStream, StoredStreamRun
from anabranch.streams.states import StreamState, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion
from qa.service import Served, serving, until

pytestmark = pytest.mark.unit
NAME, RUN = "pv", "run-0123456789ab"


def keep(served: Served, directory: Path) -> None:
    """A stream of two versions, and a run that has its log in a directory."""
    streams = served.instance.stored.streams
    states = StreamWanted.RUNNING, StreamState.STARTING
    made = StoredStream(NAME, 1, "mei", "", 1, 1, 0, *states, "", 1, 0, 0)
    first = StreamVersion(1, 1, "mei", "", "SELECT 1\n", StreamSettings())
    file = ArtifactFile("pages.py", "ab" * 32, 7)
    library = StoredArtifact("pages", ArtifactKind.PYTHON, "mei", "", 1, 1)
    served.instance.stored.artifacts.add(library, ArtifactVersion(1, 1, "mei", "", file))
    streams.add(made, first)
    pins = (ArtifactPin("pages", 1, ArtifactKind.PYTHON, file),)
    streams.save(NAME, 1, StreamVersion(2, 2, "mei", "", "SELECT 2\n", StreamSettings(restarts=0), pins))
    streams.begin(StoredStreamRun(RUN, NAME, 1, 0, "here", 0, 0, "mei", str(directory), 1), 1)


def test_versions_are_compared_and_a_log_is_read_from_its_first_line(migrated: Path, tmp_path: Path) -> None:
    """The diff has settings and artifacts; the file is what was written, also of a log that is longer than is shown."""
    with serving(str(shutil.copy(migrated, tmp_path)), {}, tmp_path) as served:
        until(lambda: served.instance.acting.acts)
        keep(served, tmp_path)
        shown = served.get(f"/api/v1/streams/{NAME}/diff?before=1")
        assert (shown["stream"], shown["before"], shown["after"]) == (NAME, 1, 2)
        assert {"+-- restarts: 0", f"+-- artifact pages@1: SHA-256 {'ab' * 32}", "-SELECT 1", "+SELECT 2"} <= {
            *shown["lines"]
        }
        assert served.get(f"/api/v1/streams/{NAME}/diff?before=2&after=2")["lines"] == []
        assert served.ask("GET", f"/api/v1/streams/{NAME}/diff?before=3").status == 404
        assert served.ask("GET", "/api/v1/streams/nobody/diff?before=1").json["title"] == "no stream"

        whole = f"/api/v1/streams/{NAME}/runs/{RUN}/log/whole"
        assert served.ask("GET", whole).json["title"] == "no stream log"
        written = b"the first line\n" + b"one more line\n" * ((LOG_BYTES + CHUNK_BYTES) // 14)
        (tmp_path / f"{RUN}.log").write_bytes(written)
        told = served.ask("GET", whole)
        assert (told.status, told.body) == (200, written)
        assert told.headers["content-type"] == "text/plain; charset=utf-8"
        assert told.headers["content-disposition"] == f'attachment; filename="{NAME}-{RUN}.log"'
        assert served.get(f"/api/v1/streams/{NAME}/runs/{RUN}/log")["is_cut"]
        assert served.ask("GET", whole, role=None).status == 401
