"""Which machines of a store are heard of, and this one's place among them.

The instances of a machine vouch for it together, for as long as one of them is there and the store answers.  Others
tell nothing of its processes: once it is silent for too long its runs are lost, and a person may give them up.

Invariants
    M1  a machine that comes back ends what was given up meanwhile, before it looks after anything else.
    M2  a process of this machine is looked after here, also where the machine had another name as it was started.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from anabranch.model.clock import now_ms
from anabranch.service.processes import started_with
from anabranch.service.stored import Stored
from anabranch.store.leases import MACHINE_MS
from anabranch.store.streams import StoredStreamRun
from anabranch.streams.supervising import LOST_MS

VOUCH_S = MACHINE_MS / 3000
NEVER_HEARD_MS = 600_000
"""How long a machine is waited for that never vouched for itself: its service may be of an earlier version."""
_LOOKS = 2
"""How often it is looked for what was given up: a run that is given up at this moment is ended at the second look."""
_MOST_ENDED = 500

log = structlog.get_logger()


class Machines:
    """The machines of one store, seen from one of them."""

    def __init__(self, stored: Stored, host: str) -> None:
        self._stored = stored
        self._host = host
        self._began = now_ms()
        self._heard: Mapping[str, int] = {}
        self._next = 0.0
        self._looks = 0

    def look(self) -> None:
        """Vouch for this machine at times, and see which others do; blocks.  Raises StoreError."""
        if time.monotonic() < self._next:
            return
        before = self._stored.leases.vouch(self._host, now_ms())
        if before is None or now_ms() - before >= LOST_MS:
            self._looks = _LOOKS
            self._adopt()
        if self._looks:
            self._looks -= 1
            self._end_given_up()
        self._heard = self._stored.leases.machines()
        self._next = time.monotonic() + VOUCH_S

    def silent_since(self, host: str, now: int) -> int | None:
        """Since when nothing is heard of a machine (ms), None where that is not for too long."""
        heard = self._heard.get(host)
        if heard is None:
            return self._began if now - self._began >= NEVER_HEARD_MS else None
        return heard if now - heard >= LOST_MS else None

    def _adopt(self) -> None:
        """Look after open runs whose processes are here and that were started under another name (M2)."""
        others = [one for one in self._stored.streams.open_runs().values() if one.host != self._host]
        runs = {_spec_of(one): one for one in others}
        for (pid, created), spec in started_with(runs).items():
            run = runs[spec]
            log.warning("a run is one of this machine, which had another name", run=run.id, before=run.host)
            self._stored.streams.found(run.id, self._host, pid, created)

    def _end_given_up(self) -> None:
        """End processes of runs that were noted as ended while nobody heard of this machine (M1)."""
        runs = {_spec_of(one): one for one in self._stored.streams.unseen_ends(_MOST_ENDED)}
        for (pid, _), spec in started_with(runs).items():
            log.warning("a run that was given up is ended", run=runs[spec].id, stream=runs[spec].stream)
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # asked to end it would do its micro-batch, which may be another's now


def _spec_of(run: StoredStreamRun) -> str:
    return str(Path(run.directory) / f"{run.id}.json")
