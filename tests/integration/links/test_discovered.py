"""What a first migration file is written from, on brokers' processes in CI as well."""

from __future__ import annotations

import pytest

from anabranch.migration.spec import FenceKind
from anabranch.operations.migrations.discover import discover
from anabranch.sandbox import SandboxCluster
from qa.blocking import between
from tests.integration.kafka.security import context_of
from tests.integration.links.groups import commit
from tests.integration.links.topics import create, fresh, numbered, produce

pytestmark = [pytest.mark.test, pytest.mark.real]


def test_what_a_source_holds_is_a_wave_with_whoever_reads_it(old: SandboxCluster, new: SandboxCluster) -> None:
    """Topics, records, groups; without access rules nothing is denied, and that is said."""
    topic = create(old, fresh("held"))
    group = f"g-{topic}"
    produce(old, topic, numbered(20))
    commit(old, group, {(topic, 0): (5, "")})
    found = between(context_of(old), context_of(new), lambda here, there: discover(here, there, "move", watch_s=0.2))
    wave = next(wave for wave in found.migration.waves if topic in wave.topics)
    assert group in wave.groups and wave.fences == (FenceKind.OBSERVE,)
    assert found.source.topics[topic].records == 20
    assert found.migration.target == new.spec.name
    assert any("fence acl is left out" in one.what for one in found.reasons)
