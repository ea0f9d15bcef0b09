"""Groups that a running link follows: only inactive ones, only forward, never past what was copied, and how fresh."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, TopicPartition

from anabranch.config.jobspec import LinkJob
from anabranch.groups.continuous_sync import SyncState
from anabranch.groups.report import GroupRow
from anabranch.kafka.cluster import Cluster as Client
from anabranch.model.link import GroupRules
from anabranch.operations.mirrormaker.flow import read_flow
from anabranch.sandbox import SandboxCluster
from anabranch.spark.link.group_sync import GroupSyncThread
from qa import groups as engine
from qa import links
from tests.chance import is_full
from tests.integration.links.groups import commit, committed, member, store
from tests.integration.links.lab import TIMEOUT_S, Link, link
from tests.integration.links.topics import create, ends, fresh, numbered, produce

pytestmark = pytest.mark.test


@contextmanager
def followed(made: Link) -> Iterator[None]:
    """The driver's thread, as the link's job runs it."""
    thread = GroupSyncThread(LinkJob(made.id, "run-test", made.source, made.target, 60.0), lambda _: None)
    thread.start()
    try:
        yield
    finally:
        thread.stop()
        thread.join(TIMEOUT_S)
    assert not thread.is_alive()


def await_(condition: Callable[[], bool], what: str) -> None:
    """Ask until it is so."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def row(made: Link, group: str) -> GroupRow:
    """One line of ``groups list``."""
    return next(one for one in engine.list_groups(made.source, made.target, made.id).groups if one.group == group)


@pytest.mark.real
def test_followed_groups_move_forward_only_and_their_freshness_is_shown(
    old: SandboxCluster, new: SandboxCluster
) -> None:
    """In step within rounds; held where it would go back; active where someone reads; others are not touched."""
    topic = create(old, fresh("followed"))
    group, left_out = f"{topic}-in", f"{topic}-out"
    produce(old, topic, numbered(20))
    for name in (group, left_out):
        commit(old, name, {(topic, 0): (5, "first")})
    place = (topic, 0)
    rules = GroupRules((".*-in",), interval_ms=1_000)
    with link(old, new, topic, groups=rules) as made, made.running():
        made.await_position(topic, 20)
        assert engine.freshness(made.target, made.id) is None
        with followed(made):
            await_(lambda: committed(new, group, [place])[place] == (5, "first"), "never in sync")
            commit(old, group, {place: (12, "second")})
            await_(lambda: committed(new, group, [place])[place] == (12, "second"), "never moved on")
            await_(lambda: _state(made, group) is SyncState.IN_SYNC, "never persisted")
            commit(old, group, {place: (3, "back")})
            await_(lambda: _state(made, group) is SyncState.BLOCKED, "never blocked")
            assert committed(new, group, [place])[place] == (12, "second")
            commit(old, group, {place: (20, "end")})
            await_(lambda: committed(new, group, [place])[place] == (20, "end"), "never at the end")
            with member(new, group, topic):
                commit(old, group, {place: (19, "")})
                await_(lambda: _state(made, group) is SyncState.ACTIVE, "never active")
            await_(lambda: _whole(made), "no round without an error")
            links.set_wanted(made.target, made.id, groups=None)
            await_(lambda: committed(new, left_out, [place])[place] is None, "was touched")
        fresh_round = engine.freshness(made.target, made.id)
        assert fresh_round is not None
        assert fresh_round.error == ""
        assert (fresh_round.age_ms(fresh_round.ended_at_ms) or 0) < TIMEOUT_S * 1000
        plan = links.plan_delete(made.target, made.id)
        assert plan.forget["__anabranch_positions"] >= 2


def test_a_group_at_the_logs_end_never_has_a_negative_lag(
    old: SandboxCluster, new: SandboxCluster, pytestconfig: pytest.Config
) -> None:
    """While it reads and commits under load, its position on the target follows and is never past the target's end."""
    often, seconds = (8, 12) if is_full(pytestconfig) else (5, 0)
    topic = create(old, fresh("busy"))
    group, place = f"{topic}-in", (topic, 0)
    produce(old, topic, numbered(10))
    over = threading.Event()
    seen: list[tuple[int, int]] = []
    rules = GroupRules((".*-in",), interval_ms=1_000, checkpoints=True)

    async def checkpoints(client: Client) -> set[tuple[str, int, int]]:
        flow = await read_flow(client, client, made.spec.source.context)
        return {(one.group, one.upstream, one.downstream) for one in flow.checkpoints}

    with link(old, new, topic, groups=rules) as made, made.running(), member(old, group, topic) as reader:
        made.await_position(topic, 10)
        load = threading.Thread(target=_load, args=(old, topic, reader, over), daemon=True)
        with followed(made):
            load.start()
            begun = time.monotonic()
            while len({at for at, _ in seen}) < often or time.monotonic() - begun < seconds:
                assert time.monotonic() - begun < TIMEOUT_S, seen
                at = committed(new, group, [place])[place]
                if at is not None:
                    seen.append((at[0], ends(new, topic)[1]))
                time.sleep(0.2)
            over.set()
            load.join(TIMEOUT_S)
            assert not load.is_alive()
            last = committed(old, group, [place])[place]
            assert last is not None
            await_(lambda: committed(new, group, [place])[place] == last, "did not catch up")
            wanted = (group, last[0], last[0])
            await_(lambda: wanted in made.on_target(checkpoints), "no checkpoint")
    positions = [at for at, _ in seen]
    assert positions == sorted(positions)
    assert all(at <= end for at, end in seen)


def _whole(made: Link) -> bool:
    told = engine.freshness(made.target, made.id)
    return told is not None and told.error == ""


def _state(made: Link, group: str) -> SyncState | None:
    since = row(made, group).sync
    return None if since is None else since.state


def _load(cluster: SandboxCluster, topic: str, reader: Consumer, over: threading.Event) -> None:
    first = 10
    while not over.is_set():
        produce(cluster, topic, numbered(20, first=first))
        first += 20
        last = None
        while (message := reader.poll(0.05)) is not None:
            assert message.error() is None
            last = message
        if last is not None:
            store(reader, [TopicPartition(topic, 0, last.offset() + 1)])
