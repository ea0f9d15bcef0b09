"""For how long a migration holds applications up: ``python -m benchmarks.migrating``.

A wave of 50 partitions, 20 groups and the checkpoints of 3 Spark queries is switched by the service, led back and
switched again, while a process writes 500 records a second to it until the fence, an operator's hook, ends it.  Then
the same is done by hand: the writer is ended, and `anabranch link wait`, `groups sync` and three `checkpoint rewrite`
follow each other at once.  The service's pause is from the fence to the last of what applications need to go on, with
its parts; by hand it is until the last command is done.  Prints both, their ratio, and whether
each pause was under 3 s, and writes the section ``migrating`` of ``build/bench.json``.  Takes three minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from anabranch.kafka.groups import commit
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext
from anabranch.model.groups import Commit
from anabranch.model.topics import TopicPartition
from anabranch.sandbox import SandboxCluster
from benchmarks import report
from benchmarks.checkpoints import write_checkpoint
from benchmarks.clusters import KAFKA, clusters
from benchmarks.run import OUTPUT
from qa.brokers import create_topics
from qa.service import Served, serving, until

NAME, WAVE, HOOK = "bench", "all", "stop"
TOPICS, PARTITIONS = 5, 10
RECORDS, RATE = 1_000, 500
"""Records of each partition before anything begins, and how many a second are written in all from then on."""
OLD_S = 3600
WANTED_S = 3.0
"""A pause is to be shorter."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One switch: ``pause_s`` from the fence on, ``parts`` seconds of each step that it lasted."""

    verb: str
    pause_s: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Lab:
    """A migration that is started, and what a turn needs."""

    served: Served
    old: SandboxCluster
    new: SandboxCluster
    scratch: Path

    def command(self, *words: str) -> str:
        """What a verb prints; ends the benchmark where it fails."""
        settings = {
            "ANABRANCH_SERVICE": f"http://127.0.0.1:{self.served.port}",
            "ANABRANCH_TOKEN": self.served.tokens["approver"],
            "ANABRANCH_CONTEXTS": str(self.scratch / "contexts.yaml"),
        }
        typed = [sys.executable, "-m", "anabranch", *words]
        done = subprocess.run(typed, capture_output=True, text=True, env={**os.environ, **settings}, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stderr or done.stdout}")
        return done.stdout

    def write_to(self, cluster: SandboxCluster) -> None:
        """Have the writer go on, on a cluster."""
        for name in ("stop", "stopped"):
            (self.scratch / name).unlink(missing_ok=True)
        (self.scratch / "go.new").write_text(cluster.bootstrap)
        (self.scratch / "go.new").rename(self.scratch / "go")

    def turn(self, verb: str, to: SandboxCluster) -> Turn:
        """Switch the wave while it is written to, and have it written to where it was led."""
        settle(self.scratch)
        link = self.served.get(f"/api/v1/migrations/{NAME}")["migration"]["waves"][0]["link"]
        self.command("link", "wait", link, "--caught-up", "--target", to.spec.name)
        done = json.loads(self.command("migrate", verb, NAME, "--execute", "-o", "json"))
        self.write_to(to)
        runs = self.served.get(f"/api/v1/migrations/{NAME}")["runs"]
        run = next(one for one in runs if one["run"]["id"] == done["run"])
        return Turn(verb, done["pause_ms"] / 1000, parts(run))

    def by_hand(self) -> Turn:
        """The same by commands that follow each other at once; the last link of the wave copies to the target."""
        settle(self.scratch)
        link = self.served.get(f"/api/v1/migrations/{NAME}")["migration"]["waves"][0]["link"]
        begun, seconds = time.monotonic(), {}
        (self.scratch / "stop").touch()
        until((self.scratch / "stopped").exists)
        to = self.new.spec.name
        commands = {
            "wait": ("link", "wait", link, "--caught-up", "--target", to),
            "groups": ("groups", "sync", link, "--target", to, "--execute"),
            **{
                job: ("checkpoint", "rewrite", str(self.scratch / job), "--link", link, "--target", to, "--execute")
                for job in jobs()
            },
        }
        for name, words in commands.items():
            at = time.monotonic()
            self.command(*words)
            seconds[name] = round(time.monotonic() - at, 3)
        return Turn("by hand", round(time.monotonic() - begun, 3), seconds)


def parts(run: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of each step from the fence on, by its kind."""
    found: dict[str, float] = {}
    before: int | None = None
    for step in run["steps"]:
        if before is not None and step["ended_ms"] is not None and (found or step["kind"] == "fence producers"):
            seconds = (step["ended_ms"] - before) / 1000
            found[step["kind"]] = round(found.get(step["kind"], 0.0) + seconds, 3)
        before = step["ended_ms"]
    return found


def jobs() -> list[str]:
    """The names of the queries, which are those of their checkpoints."""
    return [f"query-{number}" for number in range(3)]


def settle(scratch: Path) -> None:
    """Have no query have written just now: none runs here."""
    at = time.time() - OLD_S
    for name in jobs():
        for path in (scratch / name).rglob("*"):
            os.utime(path, (at, at))


def write(directory: str, topics: int, partitions: int) -> None:
    """The writer's process: it writes where ``go`` says, until ``stop`` is there, and tells by ``stopped``."""
    place, number = Path(directory), 0
    while True:
        while not (place / "go").exists():
            time.sleep(0.01)
        to = (place / "go").read_text()
        (place / "go").unlink()
        producer = Producer({"bootstrap.servers": to, "linger.ms": 5, "enable.idempotence": True})
        while not (place / "stop").exists():
            for _ in range(RATE // 100):
                number += 1
                producer.produce(f"bench-{number % topics}", b"%d" % number, partition=number // topics % partitions)
            producer.poll(0.01)
        producer.flush()
        (place / "stopped").touch()


@contextmanager
def lab(scratch: Path, groups: int, quiet: str) -> Iterator[Lab]:
    """A migration whose wave copies, and is written to."""
    hook = f"touch {scratch}/stop; while [ ! -e {scratch}/stopped ]; do sleep 0.01; done"
    with clusters(scratch) as (old, new):
        names = [f"bench-{number}" for number in range(TOPICS)]
        create_topics(old, [NewTopic(name, PARTITIONS, 1) for name in names])
        fill(old, names)
        source = ClusterContext(old.spec.name, tuple(old.bootstrap.split(",")))
        asyncio.run(committed(source, names, groups))
        for name in jobs():
            write_checkpoint(scratch / name, {topic: dict.fromkeys(range(PARTITIONS), RECORDS) for topic in names})
        file = scratch / "move.yaml"
        file.write_text(yaml.safe_dump(migration(names, groups, quiet, scratch)))
        contexts = {"source": old.context(), "target": new.context()}
        directory = (str(scratch), TOPICS, PARTITIONS)
        writer = multiprocessing.get_context("spawn").Process(target=write, args=directory, daemon=True)
        with serving(
            str(scratch / "store.db"), contexts, scratch, roots=(str(scratch),), hooks={HOOK: ("/bin/sh", "-c", hook)}
        ) as served:
            until(lambda: served.instance.acting.acts)
            writer.start()
            made = Lab(served, old, new, scratch)
            try:
                made.write_to(old)
                made.command("migrate", "start", "-f", str(file), "--execute")
                yield made
            finally:
                writer.terminate()
                for one in served.get("/api/v1/links")["links"]:
                    made.command("link", "stop", one["id"], "--target", one["target"])


def migration(topics: list[str], groups: int, quiet: str, scratch: Path) -> Mapping[str, Any]:
    """The file."""
    wave = {
        "name": WAVE,
        "topics": topics,
        "groups": [f"group-{number}" for number in range(groups)],
        "jobs": [{"name": name, "kind": "spark", "checkpoint": str(scratch / name)} for name in jobs()],
        "fences": ["hook"],
        "hooks": {"fence": HOOK},
    }
    limits = {"quiet": quiet, "longest_pause": "60s"}
    copy = {"mode": "mapped"}
    return {"name": NAME, "source": "source", "target": "target", "limits": limits, "copy": copy, "waves": [wave]}


def fill(cluster: SandboxCluster, topics: list[str]) -> None:
    """Records, whose first transaction's marker shifts all that follows."""
    for topic in topics:
        shift = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": topic})
        shift.init_transactions()
        shift.begin_transaction()
        for partition in range(PARTITIONS):
            shift.produce(topic, b"paid", partition=partition)
        shift.commit_transaction()
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 50})
    for number in range(RECORDS):
        for topic in topics:
            for partition in range(PARTITIONS):
                producer.produce(topic, b"%d" % number, partition=partition)
        producer.poll(0)
    producer.flush()


async def committed(context: ClusterContext, topics: list[str], groups: int) -> None:
    """Each group has read a part of one topic."""
    async with open_cluster(context) as cluster:
        for number in range(groups):
            topic = topics[number % len(topics)]
            wanted = {TopicPartition(topic, at): Commit(100 + number, "") for at in range(PARTITIONS)}
            await commit(cluster, f"group-{number}", wanted)


def main() -> int:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2, help="there and back, so often, and by hand at the end")
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--quiet", default="500ms", help="for how long nobody may have written: part of each pause")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--keep", type=Path, help="keep logs and data in this empty directory")
    options = parser.parse_args()
    print(*report.machine(KAFKA), sep="\n", flush=True)
    turns: list[Turn] = []
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary,
        lab(options.keep or Path(temporary), options.groups, options.quiet) as made,
    ):
        for _ in range(options.rounds):
            turns += [made.turn("switch", made.new), made.turn("reverse", made.old)]
            for one in turns[-2:]:
                print(line(one), flush=True)
        turns.append(made.by_hand())
        print(line(turns[-1]), flush=True)
    pauses = [one.pause_s for one in turns[:-1]]
    ratio = turns[-1].pause_s / statistics.median(pauses)
    shape = f"{TOPICS * PARTITIONS} partitions, {options.groups} groups, {len(jobs())} checkpoints"
    print(f"{shape}: median {statistics.median(pauses):.2f} s, longest {max(pauses):.2f} s; by hand {ratio:.1f} x")
    print(f"wanted: under {WANTED_S:g} s; {'met' if max(pauses) < WANTED_S else 'missed'}")
    found = [{"verb": one.verb, "pause_s": one.pause_s, "parts": dict(one.parts)} for one in turns]
    report.write("migrating", {"groups": options.groups, "quiet": options.quiet, "turns": found}, options.output)
    return 0


def line(one: Turn) -> str:
    """One turn in words."""
    return f"{one.verb}: {one.pause_s:.2f} s: " + ", ".join(f"{name} {took:.2f}" for name, took in one.parts.items())


if __name__ == "__main__":
    sys.exit(main())
