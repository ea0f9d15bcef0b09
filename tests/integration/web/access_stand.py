"""``python -m tests.integration.web.access_stand``: the service beside clusters with access rules, and a migration.

Its wave is copied, as far as the store says; no link runs.  Prints one line of JSON as the other stands do.  The words
``rules`` and ``quotas`` on standard input are answered by what the target has, ``remove`` has the source forbid again
what it allowed.  The end of the input ends it all.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from anabranch.config.migration_file import migration_fields
from anabranch.migration.spec import AccessCarryOver
from anabranch.migration.standing import WaveVerb
from anabranch.sandbox import ClusterSpec, start_clusters
from anabranch.service.logs import log_plainly
from qa.brokers import STEADY
from qa.service import serving, until
from tests.integration.migrations import test_access as access
from tests.simulated import Simulated

MIGRATION = replace(access.MIGRATION, access=AccessCarryOver(False, {"User:alice": "User:shop"}, True))


def clusters(simulated: bool) -> Sequence[Any]:
    """Both keep rules."""
    specs = [
        ClusterSpec(name, security="SCRAM-SHA-512", authorizer=True, users=access.USERS, overrides=STEADY)
        for name in ("old", "new")
    ]
    return [Simulated(spec, seed) for seed, spec in enumerate(specs)] if simulated else start_clusters(specs)


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input ends."""
    log_plainly()  # on standard error: what stands on standard output is for who started this
    old, new = clusters("--simulated" in arguments)
    with tempfile.TemporaryDirectory() as name, old, new, ExitStack() as stack:
        os.environ.update(old.environment() | new.environment())
        guarded = access.Guarded(old, new)
        guarded.changed(old, access.HERE)
        guarded.changed(new, (access.FOREIGN,))
        guarded.quota(old, access.rate_of("alice"), 4096.0)
        known = {"old": old.context(), "new": new.context()}
        served = stack.enter_context(serving(str(Path(name) / "store.db"), known, Path(name)))
        until(lambda: served.instance.acting.acts and len(served.instance.board.seen) == len(known))
        stored = served.instance.stored
        stored.migrations.add(MIGRATION.name, migration_fields(MIGRATION), "mei", 0)
        access.end(stored, access.keep(stored, access.run_of(1, WaveVerb.START, ())))
        told = {"url": f"http://127.0.0.1:{served.port}", "tokens": served.tokens, "name": MIGRATION.name}
        print(json.dumps(told), flush=True)
        for line in sys.stdin:
            word, found = line.strip(), None
            if word == "rules":
                found = sorted(str(one) for one in guarded.rules())
            elif word == "quotas":
                found = [[key.entity[0][1], value] for key, value in guarded.quotas().items()]
            elif word == "remove":
                guarded.changed(old, remove=(access.HERE[1],))
            print(json.dumps({"done": word, "found": found}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
