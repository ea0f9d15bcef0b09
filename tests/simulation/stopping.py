"""How each stop of a lane is brought about in a simulated world, and what corrects it where something can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

from anabranch.kafka.security import open_cluster
from anabranch.kafka.simulated import SimulatedCluster
from anabranch.kafka.simulated.access import READ, TOPIC, WRITE
from anabranch.kafka.simulated.apis import produce
from anabranch.kafka.simulated.partition import SimulatedPartition
from anabranch.model.acls import AclOperation
from anabranch.protocol.endings import Stop
from anabranch.records.header import Codec
from anabranch.records.record import Record, TimestampType
from anabranch.state.codecs import topics
from anabranch.state.topics.control import Progress
from qa.simulation.life import LINK
from qa.simulation.load import entries
from qa.simulation.run import Run
from tests.simulation.watched import LIVE, Watched
from tests.simulation.watched import TOPIC as NAME

BAD = b"bad"
POLICY_VIOLATION = 44
BATCH = 3
HOUR_S = 3600.0


@dataclass(slots=True)
class Scene:
    """A link of one lane; nothing is written but by ``write``.

    ``written`` are digests of what its source has, or had, by offset; ``held`` those that its target is to hold when
    the lane has stopped, ``deleted`` what it has copied and deleted.  ``mend`` corrects what stopped it.
    """

    link: Watched
    run: Run
    written: dict[int, bytes] = field(default_factory=dict)
    held: list[bytes] = field(default_factory=list)
    deleted: list[bytes] = field(default_factory=list)
    mend: Callable[[], Any] = lambda: None
    patches: ExitStack = field(default_factory=ExitStack)

    @property
    def source(self) -> SimulatedCluster:
        """What is copied."""
        return self.link.world.clusters["source"]

    @property
    def target(self) -> SimulatedCluster:
        """What it is copied to."""
        return self.link.world.clusters["target"]

    def log(self, cluster: SimulatedCluster) -> SimulatedPartition:
        """The lane's partition there."""
        return cluster.partition(NAME, 0)

    def write(self, batches: int = 1, *, key: bytes = b"k", value: bytes = b"", later_ms: int = 0) -> int:
        """Write batches of ``BATCH`` records, one after the other; returns where the source ends then."""
        load, log = self.link.life.load, self.log(self.source)
        for _ in range(batches):
            load.records += BATCH
            time = self.source.timers.wall_ms() + later_ms
            of_one = [b"%d %s" % (load.records + at, value) for at in range(BATCH)]
            none = None if value == BAD else key
            records = [Record(0, time, TimestampType.CREATE_TIME, none, one, ()) for one in of_one]
            load._append(LIVE, log, records, Codec.NONE, 1_000_000, 0, transactional=False)
            self.written |= {one.offset: one.digest for one in entries(log, committed=True, newest=1)}
            self.link.pass_(0.2)
        return log.led.log.end

    def kill(self) -> None:
        """The run's processes are killed: its claim stays."""
        self.run.kill()
        for one in self.run.workers:
            one.process.kill()
        self.link.pass_(5.0)

    def begin(self) -> None:
        """Another run."""
        self.run = self.link.run(lease_seconds=600.0)

    def deny(self, cluster: SimulatedCluster, what: AclOperation) -> None:
        """The link may not do this with the topic, until that is mended."""
        usual = cluster.access.allows

        def allows(principal: str, host: str, operation: AclOperation, kind: Any, name: str) -> bool:
            return (operation, kind, name) != (what, TOPIC, NAME) and usual(principal, host, operation, kind, name)

        denied = self.patches.enter_context(ExitStack())
        denied.enter_context(patch.object(cluster.access, "allows", allows))
        self.mend = denied.close

    def set_target(self, name: str, value: str) -> None:
        """Give the target topic a setting, until that is mended."""
        own = self.target.topics[NAME].settings.own
        before = own.get(name)

        def mend() -> None:
            own.pop(name)
            if before is not None:
                own[name] = before

        own[name] = value
        self.mend = mend


def _too_large(scene: Scene) -> None:
    scene.set_target("max.message.bytes", "1000")
    scene.write(value=b"x" * 1000)


def _without_key(scene: Scene) -> None:
    scene.set_target("cleanup.policy", "compact")
    scene.write(value=BAD)


def _early(scene: Scene) -> None:
    scene.set_target("message.timestamp.after.max.ms", "60000")
    scene.write(later_ms=3_000_000)


def _may_not_write(scene: Scene) -> None:
    scene.deny(scene.target, WRITE)
    scene.write()


def _violation(scene: Scene) -> None:
    usual = produce.append

    def append(session: Any, partition: SimulatedPartition, data: bytes, name: str | None) -> tuple[int, int, int]:
        if partition.topic == NAME and BAD in data:
            return POLICY_VIOLATION, -1, -1
        return usual(session, partition, data, name)

    policy = scene.patches.enter_context(ExitStack())
    policy.enter_context(patch.object(produce, "append", append))
    scene.mend = policy.close
    scene.write(value=BAD)


def _damaged(scene: Scene, change: Callable[[bytearray], bytearray]) -> None:
    """What is written next lies in the source's log with other bytes, until its replica is made again."""
    scene.link.end(scene.run)
    scene.write()
    log = scene.log(scene.source).led.log
    at, whole = len(log.batches) - 1, log.batches[-1]
    log.batches[at] = whole._replace(data=bytes(change(bytearray(whole.data))))

    def mend() -> None:
        log.batches[at] = whole

    scene.mend = mend
    scene.begin()


def _flipped(data: bytearray) -> bytearray:
    data[-1] ^= 0xFF
    return data


def _of_format_v1(data: bytearray) -> bytearray:
    data[16] = 1
    return data


def _expired(scene: Scene) -> None:
    scene.link.end(scene.run)
    scene.write(3)
    log = scene.log(scene.source).led.log
    log.delete_before(log.end - BATCH)
    scene.begin()


def _truncated(scene: Scene) -> None:
    log, keep = scene.log(scene.source), len(scene.written) - 2 * BATCH
    log.led.log.truncate(keep)
    log.lead(log.leader, scene.link.now, unclean=True)
    scene.written = {offset: digest for offset, digest in scene.written.items() if offset < keep}
    scene.write(4)


def _source_gone(scene: Scene) -> None:
    scene.source.delete(NAME)

    def mend() -> None:
        scene.source.create(NAME, 1, 1, LIVE.configs)
        scene.written = {}
        scene.link.pass_(1.0)
        scene.write(3)

    scene.mend = mend


def _source_made_again(scene: Scene) -> None:
    _source_gone(scene)
    scene.mend()


def _target_made_again(scene: Scene) -> None:
    scene.target.delete(NAME)
    scene.target.create(NAME, 1, 1, LIVE.configs)
    scene.held = []
    scene.write()


def _position_lost(scene: Scene) -> None:
    """Nothing is known of the lane's progress, and the target has deleted what was copied."""

    async def forget() -> None:
        async with open_cluster(scene.link.life.context("target")) as target:
            progress = Progress(target)
            await progress.sync()
            await progress.forget(LINK)

    scene.link.end(scene.run)
    scene.link.world.ask(lambda: asyncio.run(forget()))
    log = scene.log(scene.target).led.log
    log.delete_before(log.end)
    scene.held, scene.deleted = [], scene.held
    scene.begin()


def _claims_lost(scene: Scene) -> None:
    """All of them are deleted by age."""
    scene.link.end(scene.run)
    for partition in scene.target.topics[topics.CLAIMS].partitions:
        partition.led.log.delete_before(partition.led.log.end)
    scene.begin()


def _owner_forgotten(scene: Scene) -> None:
    """The coordinator has forgotten the owner, who was killed."""
    scene.kill()
    scene.target.transactions.known.clear()
    scene.mend = lambda: scene.link.world.scheduler.leap(49 * HOUR_S)
    scene.begin()


def _diverged(scene: Scene) -> None:
    """A leader that was lost takes a batch past a gap, and leads again."""
    scene.kill()
    partition = scene.log(scene.target)
    log = partition.led.log
    last, cut = log.batches[-1], log.batches[-2].header.base_offset
    log.truncate(cut)
    log.append(last.data, last.header, partition.leader_epoch, scene.target.timers.wall_ms())
    partition.led.high_watermark = log.end
    del scene.held[-2 * BATCH : -BATCH]
    scene.begin()


CAUSES: Mapping[Stop, Callable[[Scene], None]] = MappingProxyType(
    {
        Stop.TOO_LARGE: _too_large,
        Stop.NOT_ALLOWED: _may_not_write,
        Stop.INVALID_RECORD: _without_key,
        Stop.INVALID_TIMESTAMP: _early,
        Stop.REFUSED: _violation,
        Stop.OLD_FORMAT: lambda scene: _damaged(scene, _of_format_v1),
        Stop.CORRUPT: lambda scene: _damaged(scene, _flipped),
        Stop.SOURCE_EXPIRED: _expired,
        Stop.SOURCE_TRUNCATED: _truncated,
        Stop.SOURCE_MADE_AGAIN: _source_made_again,
        Stop.TARGET_MADE_AGAIN: _target_made_again,
        Stop.SOURCE_GONE: _source_gone,
        Stop.SOURCE_NOT_ALLOWED: lambda scene: scene.deny(scene.source, READ),
        Stop.POSITION_LOST: _position_lost,
        Stop.CLAIMS_LOST: _claims_lost,
        Stop.OWNER_FORGOTTEN: _owner_forgotten,
        Stop.DIVERGED: _diverged,
    }
)
