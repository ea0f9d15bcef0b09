"""One worker process: the leases it is given one after the other, and what it copies between two of them.

A lease is one task of a micro-batch, and Spark needs some tenths of a second from one to the next.  So the rule is:

    A worker copies in a task, and after it for at most ``GRACE_S`` seconds, in the expectation of the next lease.
    It ends everything, and gives its claims back, when nobody has come by then; at once when the link is deleted,
    the run is told to end, the parent process is gone, or the lease ended by an error or by its caller.

Between two leases a thread drives the event loop; within one the caller's does.  There is never more than one of
them: the next lease joins the thread before it touches anything.  Nothing is less guarded between leases than
within one: every write is preceded by a look at the gate, which only a fresh reading of the control topics keeps
open, and a claim, never a lease, is what keeps a second owner out.  Everything a worker knows can be read again
from the target, so it may die at any instant.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from anabranch.copier.leases.runner import PERSIST_S, LeaseRunner
from anabranch.copier.ownership.handover import owner_name
from anabranch.copier.planning.lease import Lease, LeaseFigures
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext

DRAIN_S = 10.0
QUICK_DRAIN_S = 1.0
GRACE_S = 10.0


class Worker:
    """Runs leases of one link between two clusters, with an event loop of its own; called by one thread at a time."""

    def __init__(self, source: ClusterContext, target: ClusterContext, run: str, alive: Callable[[], bool]) -> None:
        self.owner = owner_name(run, uuid.uuid4().hex[:8])
        self.loop = asyncio.new_event_loop()
        # The driver reads both clusters before any worker begins.
        self._clusters = (open_cluster(source, was_let_in=True), open_cluster(target, was_let_in=True))
        self._runner = LeaseRunner(self.owner, *self._clusters, alive)
        self._halt = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._keeps_modules = False

    def run(self, lease: Lease) -> Iterator[LeaseFigures]:
        """Copy the lease's lanes and yield figures about once a second; returns when the lease is over.

        The last figures come while the worker copies on.  Closing the iterator before them ends everything, quickly.
        A cluster that is away for a while is waited for, with the gate shut; what a person must fix (permissions,
        formats) is raised, also where it came up after the lease before.
        """
        self._take_loop()
        goes_on = False
        drain = QUICK_DRAIN_S
        try:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            self._do(self._runner.begin(lease))
            while not self._runner.over:
                self._do(self._runner.work(PERSIST_S))
                yield self._runner.figures()
            drain = DRAIN_S
            goes_on = not self._runner.is_final
        finally:
            if not goes_on:
                self._do(self._runner.end(drain))
        last = self._runner.figures()
        if goes_on:
            self._keep_modules()
            self._copy_on()
        yield last

    def close(self) -> None:
        """Give everything back, and end the connections and the loop."""
        self._take_loop()
        self._do(self._runner.end(QUICK_DRAIN_S))
        for cluster in self._clusters:
            cluster.close()
        self._do(asyncio.sleep(0))
        self.loop.close()

    # -- who drives the loop ---------------------------------------------------------------------------

    def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(work)

    def _keep_modules(self) -> None:
        """Once: what a first lease has imported is no garbage.

        Spark has every task's garbage collected, which would hold up what is copied meanwhile for as long as it takes
        to look at all that pandas and pyarrow consist of.
        """
        if not self._keeps_modules:
            self._keeps_modules = True
            gc.freeze()

    def _copy_on(self) -> None:
        self._halt.clear()
        self._thread = threading.Thread(target=self._drive, name="between leases", daemon=True)
        self._thread.start()

    def _take_loop(self) -> None:
        """Have the loop for this thread; whatever is copied meanwhile is copied on."""
        if self._thread is not None:
            self.loop.call_soon_threadsafe(self._halt.set)
            self._thread.join()
            self._thread = None

    def _drive(self) -> None:
        halted = False
        drain = QUICK_DRAIN_S
        try:
            self.loop.run_until_complete(self._runner.copy_on(self._halt, GRACE_S))
            halted = self._halt.is_set()
            drain = DRAIN_S
        except BaseException as error:
            self._failure = error  # nobody is there to raise it to: the next lease's caller is
        finally:
            if not halted:
                self.loop.run_until_complete(self._runner.end(drain))
