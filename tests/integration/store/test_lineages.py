"""The lineage of streams on each database: one a version, and that of the version that counts is the one of now."""

from __future__ import annotations

import pytest

from anabranch.store.database import Database
from anabranch.store.lineages import StoredLineages
from anabranch.store.streams import StoredStreams
from anabranch.streams.lineage.document import StoredLineage
from anabranch.streams.states import StreamState
from tests.integration.store.test_streams import FIRST, NOW, SECOND, STREAM, run, wanted

pytestmark = pytest.mark.test


def told(version: int, at: int = NOW) -> StoredLineage:
    """What a version tells."""
    return StoredLineage("counts", version, at, {"inserts": [], "datasets": {}})


def test_the_lineage_of_now_is_that_of_what_runs_else_of_what_is_published(database: Database) -> None:
    """S18, S19; it goes with its stream."""
    streams, lineages = StoredStreams(database), StoredLineages(database)
    assert not lineages.keep(told(1))  # nobody's
    streams.add(STREAM, FIRST)
    assert lineages.now() == {} and lineages.of("counts", 1) is None
    assert lineages.keep(told(1)) and lineages.keep(told(1, NOW + 5))
    assert lineages.now() == {"counts": told(1, NOW + 5)}
    streams.save("counts", 1, SECOND)
    assert lineages.keep(told(2))
    assert lineages.now()["counts"].version == 1
    wanted(streams)
    made = streams.begin(run(1, version=2), NOW)
    assert lineages.now()["counts"].version == 2
    assert streams.close(made.id, StreamState.STOPPED, "", 0, failed=False, over=True, now_ms=NOW)
    assert lineages.now()["counts"].version == 1
    streams.remove("counts", streams.get("counts").revision)
    assert lineages.now() == {}
