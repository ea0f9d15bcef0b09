"""``python -m tests.integration.web.sandbox_stand``: the service beside real clusters, with Spark and a provider.

Prints one line of JSON as the other stand does, with what people sign in with.  Words on standard input: ``produce``
adds records to the topic, ``commit`` has a group stand in it, ``committed`` says where that group stands on the target,
``delete-target`` deletes the topic there; each is answered by a line.  The end of the input ends it all, also jobs that
were started.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import psutil

from anabranch.model.accounts import Role
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from anabranch.service.logs import log_plainly
from anabranch.service.settings import OidcSettings
from qa.keycloak import CLIENT, SECRET, keycloak
from qa.service import Served, serving, until
from tests.integration.links.groups import commit, committed
from tests.integration.links.topics import create, drop, numbered, produce

TOPIC, PARTITIONS, RECORDS = "orders", 3, 500
GROUP, PLACES = "shop", [(TOPIC, partition) for partition in range(PARTITIONS)]
USERS = {"mei": ["kafka-oncall"], "vis": ["visitors"]}
ROLES = {"kafka-oncall": Role.APPROVER}
PROVIDER = "the platform"
_SECRET = "ANABRANCH_CLIENT_SECRET"


def add(old: SandboxCluster, first: int) -> None:
    """As many records again, in each partition."""
    for partition in range(PARTITIONS):
        produce(old, TOPIC, numbered(RECORDS, first=first, partition=partition), batch=50)


def obey(old: SandboxCluster, new: SandboxCluster) -> None:
    """What standard input says, until its end."""
    first = RECORDS
    for line in sys.stdin:
        word, found = line.strip(), None
        if word == "produce":
            add(old, first)
            first += RECORDS
        elif word == "commit":
            commit(old, GROUP, {place: (100 * (place[1] + 1), "noted") for place in PLACES})
        elif word == "committed":
            found = [committed(new, GROUP, PLACES)[place] for place in PLACES]
        elif word == "delete-target":
            drop(new, TOPIC)
        print(json.dumps({"done": word, "found": found}), flush=True)


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
                }
                print(json.dumps(told), flush=True)
                try:
                    obey(old, new)
                finally:
                    end_jobs(served)


if __name__ == "__main__":
    main()
