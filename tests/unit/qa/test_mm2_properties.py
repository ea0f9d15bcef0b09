"""The properties file that MirrorMaker 2 is started with."""

from __future__ import annotations

import pytest

from anabranch.errors import InvalidFieldError
from qa.mm2 import MirrorSpec, mirror_properties

pytestmark = pytest.mark.unit

SPEC = MirrorSpec("old", "127.0.0.1:1", "new", "127.0.0.1:2", "flights", tasks=3)


def test_only_the_wanted_direction_is_enabled() -> None:
    """Nothing flows back to the source, not even heartbeats."""
    lines = mirror_properties(SPEC)
    assert lines["old->new.enabled"] == "true"
    assert lines["new->old.enabled"] == "false"
    assert lines["new->old.emit.heartbeats.enabled"] == "false"
    assert lines["old->new.tasks.max"] == "3"


def test_given_settings_win() -> None:
    """A benchmark's tuning replaces the defaults here."""
    spec = MirrorSpec("old", "127.0.0.1:1", "new", "127.0.0.1:2", "flights", settings={"replication.factor": "2"})
    assert mirror_properties(spec)["replication.factor"] == "2"


def test_names_follow_mirror_makers_default_policy() -> None:
    """Copied topics carry the source's alias; offset syncs live on the source, checkpoints on the target."""
    assert SPEC.target_topic("flights") == "old.flights"
    assert SPEC.offset_syncs_topic == "mm2-offset-syncs.new.internal"
    assert SPEC.checkpoints_topic == "old.checkpoints.internal"


def test_one_alias_for_both_clusters_is_refused() -> None:
    """MirrorMaker 2 would start and copy nothing."""
    with pytest.raises(InvalidFieldError, match="source_alias"):
        MirrorSpec("old", "127.0.0.1:1", "old", "127.0.0.1:2", "flights")
