"""A link's exact positions beside MirrorMaker 2's, and in its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from anabranch.kafka.cluster import Cluster as Client
from anabranch.mirrormaker.report import Evidence
from anabranch.mirrormaker.wire import MirrorCheckpoint
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import SandboxCluster
from anabranch.state.topics.mirrormaker import beat, publish
from qa import mirror_answers
from tests.integration.links import groups
from tests.integration.links.lab import Link, link
from tests.integration.links.topics import create, fresh, transaction
from tests.integration.mm2.java import answers

pytestmark = pytest.mark.test

# Fifty records and their marker, fifty that are aborted and theirs, and fifty more.
EXACT = {20: 20, 50: 50, 70: 50, 101: 50, 130: 78, 153: 100}
NOT_YET = 10_000
OFF = 5


@pytest.mark.real
def test_the_clients_of_mirror_maker_get_a_links_exact_positions(old: SandboxCluster, new: SandboxCluster) -> None:
    """What is not exact is judged by the link's map, then written again, and Kafka's own client library reads it."""
    topic = create(old, fresh("mirrored"))
    for number, commit in enumerate((True, False, True)):
        transaction(old, topic, [b"record %d" % (number * 50 + n) for n in range(50)], commit)
    prefix = fresh("group")
    for position in (*EXACT, NOT_YET):
        groups.commit(old, f"{prefix}-{position}", {(topic, 0): (position, "")})
    naming = PluginSpec("prefix", {})
    with link(old, new, topic, naming=naming, mode=ModePolicy.MAPPED) as made, made.running():
        made.await_position(topic, 153)
        copy = TopicPartition(f"{made.spec.source.context}.{topic}", 0)
        mirror_makers = [
            MirrorCheckpoint(f"{prefix}-{at}", copy, at, max(0, exact - OFF)) for at, exact in EXACT.items()
        ]
        made.on_target(_stale(made, mirror_makers))
        told = mirror_answers.report(made.source, made.target, made.spec.source.context, link=made.id)
        rows = {row.committed: row for row in told.rows if row.group.startswith(prefix)}
        assert {at: row.exact for at, row in rows.items() if at in EXACT} == EXACT
        assert {rows[at].evidence for at in EXACT} == {Evidence.MAP}
        assert {rows[at].ours for at in EXACT} == {(copy, exact) for exact in EXACT.values()}
        assert {rows[at].most for at in EXACT} == {OFF}
        assert rows[NOT_YET].exact is None and not rows[NOT_YET].is_answered

        seen = mirror_answers.plan_publish(made.source, made.target, made.id)
        assert {one.group: one.downstream for one in seen.checkpoints if one.group.startswith(prefix)} == {
            f"{prefix}-{at}": exact for at, exact in EXACT.items()
        }
        assert [one.group for one in seen.left_out if one.group.startswith(prefix)] == [f"{prefix}-{NOT_YET}"]
        assert _positions(new, made, prefix) == {f"{prefix}-{at}": max(0, exact - OFF) for at, exact in EXACT.items()}
        mirror_answers.publish(made.source, made.target, made.id)
        assert _positions(new, made, prefix) == {f"{prefix}-{at}": exact for at, exact in EXACT.items()}


def _stale(made: Link, checkpoints: list[MirrorCheckpoint]) -> Callable[[Client], object]:
    """What a MirrorMaker 2 left behind."""

    async def write(client: Client) -> None:
        await beat(client, made.spec.source.context, made.spec.target.context)
        await publish(client, made.spec.source.context, checkpoints)

    return write


def _positions(new: SandboxCluster, made: Link, prefix: str) -> dict[str, int]:
    """What Kafka's own client says of these groups; other tests' are told beside them."""
    told = answers(new, made.spec.source.context, [])
    return {line[1]: int(line[3]) for line in told if line[0] == "all" and line[1].startswith(prefix)}
