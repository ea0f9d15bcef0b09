"""The thread of a link's driver that keeps consumer groups in sync, so that copying is never held up by them."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable

from anabranch.config.jobspec import LinkJob
from anabranch.copier.groupsync import GroupSync
from anabranch.errors import AnabranchError
from anabranch.kafka.errors import passing
from anabranch.kafka.security import open_cluster
from anabranch.model.runevents import RunEvent, RunEventKind
from anabranch.state.maps.reading import read_maps
from anabranch.state.topics.mirrormaker import publish

_AGAIN_S = 2.0
_REFUSED_S = 30.0
_JOIN_S = 10.0


class GroupSyncThread(threading.Thread):
    """Runs rounds until ``stop``; an error ends no link: it is persisted, said once, and the round is tried again."""

    def __init__(self, job: LinkJob, tell: Callable[[RunEvent], None]) -> None:
        super().__init__(name=f"groups of {job.link}", daemon=True)
        self._job = job
        self._tell = tell
        self._over = threading.Event()

    def stop(self) -> None:
        """End after the round that runs now, and wait for that for ten seconds."""
        self._over.set()
        if self.is_alive():
            self.join(_JOIN_S)

    def run(self) -> None:
        """The thread's life."""
        asyncio.run(self._rounds())

    async def _rounds(self) -> None:
        said = ""
        async with open_cluster(self._job.source) as source, open_cluster(self._job.target) as target:
            groups = GroupSync(source, target, self._job.link, self._job.run, read_maps, publish)
            while not self._over.is_set():
                try:
                    pause, problem = await groups.once(), ""
                except AnabranchError as error:
                    pause, problem = (_AGAIN_S if passing(error) else _REFUSED_S), error.message
                except Exception as error:  # a fault in here must not end what nobody would begin again
                    traceback.print_exc()
                    pause, problem = _REFUSED_S, f"a fault of Anabranch itself: {error!r}"
                if problem and problem != said:
                    self._tell(RunEvent(RunEventKind.GROUPS, f"groups are not followed: {problem}"))
                said = problem
                while pause > 0 and not self._over.is_set():
                    await asyncio.sleep(min(pause, 0.2))
                    pause -= 0.2
