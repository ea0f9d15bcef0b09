"""``python -m tests.integration.web.sandbox_stand``: the service beside real clusters, with Spark and a provider.

Prints one line of JSON as the other stand does, with what people sign in with.  Words on standard input, each answered
by a line: ``produce`` adds records to the topic, ``commit GROUP TOPIC OFFSET ...`` has a group stand there,
``committed GROUP TOPIC PARTITIONS`` says where a group stands on the target, ``delete-target`` deletes the topic there.
Beside it stands a topic that is long enough for a comparison to be stopped in it: ``hang`` leaves a transaction open in
it, ``stable`` tells up to where its records may be read, and where it ends.  ``kept TOPIC`` tells what stands in
partition 0 of a topic of the target, as text.  The end of the input ends it all, also jobs that were started.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, IsolationLevel, TopicPartition
from confluent_kafka.admin import OffsetSpec

from anabranch.model.accounts import Role
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.service.logs import log_plainly
from anabranch.service.settings import OidcSettings
from qa.keycloak import CLIENT, SECRET, keycloak
from qa.service import Served, serving, until
from qa.timeouts import TIMEOUT_S
from tests.integration.links.groups import commit, committed
from tests.integration.links.topics import admin, create, drop, newest_offset, numbered, produce
from tests.integration.links.writers import killed_in_a_transaction

TOPIC, PARTITIONS, RECORDS = "orders", 3, 500
LONG, LONG_RECORDS = "flights", 70_000
"""More than a comparison reads in a round."""
WRITER = "flights-writer"
USERS = {"mei": ["kafka-oncall"], "vis": ["visitors"]}
ROLES = {"kafka-oncall": Role.APPROVER}
PROVIDER = "the platform"
_SECRET = "ANABRANCH_CLIENT_SECRET"


def add(old: SandboxCluster, first: int) -> None:
    """As many records again, in each partition."""
    for partition in range(PARTITIONS):
        produce(old, TOPIC, numbered(RECORDS, first=first, partition=partition), batch=50)


def stable(old: SandboxCluster) -> list[int]:
    """Up to where the long topic's records may be read, and where it ends, as the client library is told."""
    where = TopicPartition(LONG, 0)
    committed_only = {"isolation_level": IsolationLevel.READ_COMMITTED}
    found = admin(old).list_offsets({where: OffsetSpec.latest()}, **committed_only)[where].result(TIMEOUT_S)
    return [found.offset, newest_offset(old, LONG)]


def kept(cluster: SandboxCluster, topic: str) -> list[list[str]]:
    """Keys and values of a topic's partition 0; bytes that are no text are left out."""
    end = newest_offset(cluster, topic)
    consumer = Consumer(
        {"bootstrap.servers": cluster.internal_bootstrap, "group.id": "kept", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[list[str]] = []
    try:
        while end and (message := consumer.poll(TIMEOUT_S)) is not None and message.error() is None:
            found.append([(part or b"").decode(errors="ignore") for part in (message.key(), message.value())])
        return found
    finally:
        consumer.close()


class Obeying:
    """What is done for each word."""

    def __init__(self, old: SandboxCluster, new: SandboxCluster) -> None:
        self._old, self._new = old, new
        self._first = RECORDS

    def do(self, word: str, *told: str) -> Any:
        """What it found; None where nothing was asked."""
        match word, told:
            case "produce", ():
                add(self._old, self._first)
                self._first += RECORDS
            case "commit", (group, topic, *offsets):
                commit(self._old, group, {(topic, at): (int(offset), "noted") for at, offset in enumerate(offsets)})
            case "committed", (group, topic, partitions):
                places = [(topic, partition) for partition in range(int(partitions))]
                found = committed(self._new, group, places)
                return [found[place] for place in places]
            case "delete-target", ():
                drop(self._new, TOPIC)
            case "hang", ():
                with killed_in_a_transaction(self._old, LONG, WRITER, ["a", "b", "c"]):
                    pass
            case "stable", ():
                return stable(self._old)
            case "kept", (topic,):
                return kept(self._new, topic)
            case _:
                raise ValueError(f"no such word: {word} {told}")
        return None

    def until_the_end(self) -> None:
        """What standard input says, until its end."""
        for line in sys.stdin:
            word, *told = line.split()
            print(json.dumps({"done": word, "found": self.do(word, *told)}), flush=True)


def end_jobs(served: Served) -> None:
    """The processes that the service started and that still run."""
    for run in served.instance.stored.runs.alive(os.uname().nodename):
        if psutil.pid_exists(run.pid):
            for process in [*psutil.Process(run.pid).children(recursive=True), psutil.Process(run.pid)]:
                process.kill()


def main() -> None:
    """Serve until standard input ends."""
    log_plainly()  # on standard error: what stands on standard output is for who started this
    os.environ[_SECRET] = SECRET
    old, new = start_clusters([ClusterSpec(name="old"), ClusterSpec(name="new")])
    with tempfile.TemporaryDirectory() as name, old, new:
        directory = Path(name)
        create(old, TOPIC, PARTITIONS)
        add(old, 0)
        create(old, LONG)
        produce(old, LONG, numbered(LONG_RECORDS), batch=5_000)
        known = {"old": old.context(), "new": new.context()}
        (directory / "provider").mkdir()
        with keycloak(directory / "provider", USERS) as provider:
            secret = SecretRef(SecretKind.ENV, _SECRET)
            oidc = OidcSettings(provider.issuer, CLIENT, secret, PROVIDER, "groups", ROLES)
            with serving(str(directory / "store.db"), known, directory, oidc=oidc) as served:
                until(lambda: served.instance.acting.acts and len(served.instance.board.seen) == len(known))
                told = {
                    "url": f"http://127.0.0.1:{served.port}",
                    "tokens": served.tokens,
                    "provider": PROVIDER,
                    "topic": TOPIC,
                    "records": RECORDS * PARTITIONS,
                    "long": {"topic": LONG, "records": LONG_RECORDS, "writer": WRITER},
                }
                print(json.dumps(told), flush=True)
                try:
                    Obeying(old, new).until_the_end()
                finally:
                    end_jobs(served)


if __name__ == "__main__":
    main()
