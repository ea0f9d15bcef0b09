"""What many consumer groups cost: ``python -m benchmarks.groups``.

4,000 groups, each with commits for the 10 partitions of a topic that a link copies, are planned, moved, planned again
and taken back, with metadata and by the verbs' own functions.  A plan holds two seconds in which it waits to see
whether the source's groups are still.  Prints the times and writes the section ``groups`` of ``build/bench.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from anabranch.groups.plan import GroupStep
from anabranch.groups.select import GroupSelection
from anabranch.kafka.groups import commit
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Commit
from anabranch.model.link import ClusterRef, LinkSpec, ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicPartition
from anabranch.operations.jobs.launcher import start_link
from anabranch.operations.jobs.submission import Submission
from anabranch.sandbox import SandboxCluster
from benchmarks import report
from benchmarks.clusters import clusters
from benchmarks.run import OUTPUT
from qa import groups as engine
from qa import links

TOPIC = "orders"
RECORDS = 1000
LIMIT_S = 30.0
START_S = 120.0


def main() -> int:
    """Run it; 1 where a plan takes longer than the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=4000)
    parser.add_argument("--partitions", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as scratch:
        figures = _run(Path(scratch), options.groups, options.partitions)
    print(json.dumps(figures, indent=2))
    report.write("groups", figures, OUTPUT)
    return int(max(figures["plan_s"], figures["plan_again_s"]) > LIMIT_S)


def _run(scratch: Path, number: int, partitions: int) -> dict[str, float]:
    figures: dict[str, float] = {"groups": number, "partitions": partitions}
    chosen = GroupSelection(("bench-.*",))
    with clusters(scratch) as (old, new):
        source, target = (ClusterContext(one.spec.name, tuple(one.bootstrap.split(","))) for one in (old, new))
        _fill(old, partitions)
        spec = LinkSpec(
            "bench",
            ClusterRef("source", ""),
            ClusterRef("target", ""),
            filter=PluginSpec("regex", {"include": [TOPIC]}),
            naming=PluginSpec("prefix"),
            mode=ModePolicy.MAPPED,
        )
        links.create(source, target, spec)
        job = start_link(target, source, "bench", Submission("local[1]"), 60.0, scratch)
        try:
            _await_copied(target, partitions)
        finally:
            asyncio.run(job.stop())
        figures["commit_s"] = asyncio.run(_commit(source, number, partitions))
        begun, used = time.monotonic(), time.process_time()
        seen = engine.plan_sync(source, target, "bench", chosen)
        figures["plan_s"] = _since(begun)
        figures["plan_cpu_s"] = round(time.process_time() - used, 1)
        assert len(seen.of(GroupStep.MOVE)) == number, seen.groups[0].reasons
        begun = time.monotonic()
        done = engine.sync(source, target, "bench", chosen, seen)
        figures["sync_s"] = _since(begun)
        assert len(done.of(GroupStep.MOVED)) == number
        begun, used = time.monotonic(), time.process_time()
        again = engine.plan_sync(source, target, "bench", chosen)
        figures["plan_again_s"] = _since(begun)
        figures["plan_again_cpu_s"] = round(time.process_time() - used, 1)
        assert len(again.of(GroupStep.IN_SYNC)) == number
        begun = time.monotonic()
        taken = engine.undo(target, done.undo)
        figures["undo_s"] = _since(begun)
        assert all(group.done for group in taken.groups)
    return figures


def _fill(cluster: SandboxCluster, partitions: int) -> None:
    where = {"bootstrap.servers": cluster.bootstrap}
    client = AdminClient(where)  # kept: one that is collected takes the answers of its requests with it
    client.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result(30)
    producer = Producer({**where, "linger.ms": 20})
    for at in range(partitions):
        for value in range(RECORDS):
            producer.produce(TOPIC, b"%d" % value, partition=at)
    assert producer.flush(60) == 0


def _await_copied(target: ClusterContext, partitions: int) -> None:
    deadline = time.monotonic() + START_S
    while sum(lane.position == RECORDS for lane in links.show(target, "bench").lanes) < partitions:
        if time.monotonic() > deadline:
            raise TimeoutError("the link copied too little in two minutes")
        time.sleep(0.5)
    time.sleep(2)


async def _commit(source: ClusterContext, number: int, partitions: int) -> float:
    begun = time.monotonic()
    chance = random.Random(7)
    async with open_cluster(source) as cluster:
        for first in range(0, number, 64):
            await asyncio.gather(
                *(
                    commit(
                        cluster,
                        f"bench-{name}",
                        {
                            TopicPartition(TOPIC, at): Commit(chance.randrange(RECORDS), f"note {name}")
                            for at in range(partitions)
                        },
                    )
                    for name in range(first, min(number, first + 64))
                )
            )
    return _since(begun)


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 1)


if __name__ == "__main__":
    sys.exit(main())
