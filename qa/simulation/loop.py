"""An event loop of a simulated process: the scheduler says when its handles run, the network is the simulated one."""

from __future__ import annotations

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from qa.simulation.scheduler import Fiber, KilledError, Process, Scheduler, State

if TYPE_CHECKING:
    from qa.simulation.network import Network


class Handle:
    """A call that is due, or will be, without asyncio's own debugging, which costs more than the rest."""

    __slots__ = ("args", "callback", "context", "is_cancelled", "loop")

    def __init__(
        self, loop: SimulatedLoop, callback: Callable[..., object], args: Any, context: Context | None
    ) -> None:
        self.loop = loop
        self.callback = callback
        self.args = args
        self.context = copy_context() if context is None else context
        self.is_cancelled = False

    def cancel(self) -> None:
        """It will not happen."""
        self.is_cancelled = True

    def cancelled(self) -> bool:
        """Whether it will not happen."""
        return self.is_cancelled

    def due(self) -> None:
        """Its time has come."""
        if not self.is_cancelled and not self.loop.is_closed():
            self.loop.push(self)

    def run(self) -> None:
        """Call it, and report what it raises."""
        try:
            self.context.run(self.callback, *self.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.loop.call_exception_handler({"message": f"in {self.callback!r}", "exception": error})


class SimulatedLoop(asyncio.AbstractEventLoop):
    """As much of an event loop as asyncio's own tasks, timeouts and locks, and connections, need."""

    def __init__(self, scheduler: Scheduler, process: Process, network: Network) -> None:
        self.process = process
        self.is_queued = False
        self._scheduler = scheduler
        self._network = network
        self._handles: deque[Handle] = deque()
        self._driver: Fiber | None = None
        self._wanted: asyncio.Future[Any] | None = None
        self._closed = False
        self._tasks: dict[asyncio.Task[Any], None] = {}
        network.loops.append(self)

    # -- the scheduler's side --------------------------------------------------------------------------

    def step(self) -> bool:
        """Run one handle; True where there are more to run now."""
        if self._driver is None or not self._handles:
            return False
        handle = self._handles.popleft()
        if not handle.is_cancelled:
            events._set_running_loop(self)
            try:
                handle.run()
            finally:
                events._set_running_loop(None)
        if self._wanted is not None and self._wanted.done():
            driver, self._driver, self._wanted = self._driver, None, None
            self._scheduler.ready(driver)
            return False
        return bool(self._handles)

    def push(self, handle: Handle) -> None:
        """Run it behind whatever is due."""
        self._handles.append(handle)
        if self._driver is not None:
            self._scheduler.ready(self)

    # -- running ---------------------------------------------------------------------------------------

    def run_until_complete(self, future: Any) -> Any:
        """Let the scheduler run this loop until the future is done; called by a thread of the process."""
        fiber = self._scheduler.fiber
        if self.process.state is State.DEAD:
            if asyncio.iscoroutine(future):
                future.close()
            raise KilledError
        assert fiber is not None and fiber.process is self.process and self._driver is None
        task = asyncio.ensure_future(future, loop=self)
        if not task.done():
            self._driver, self._wanted = fiber, task
            if self._handles:
                self._scheduler.ready(self)
            while not task.done():  # who else makes the thread ready does not know what it waits for
                fiber.park()
        return task.result()

    def is_running(self) -> bool:
        """Whether somebody lets it run."""
        return self._driver is not None

    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Run nothing any more."""
        self._closed = True
        self._handles.clear()

    def stop(self) -> None:
        """Only ``run_until_complete`` runs this loop."""
        raise NotImplementedError

    async def shutdown_asyncgens(self) -> None:
        """None is kept track of."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""

    # -- handles ---------------------------------------------------------------------------------------

    def time(self) -> float:
        """Virtual seconds."""
        return self._scheduler.now

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> Handle:  # type: ignore[override]
        """Behind whatever is due."""
        handle = Handle(self, callback, args, context)
        self.push(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Handle:
        """After some virtual seconds."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Handle:
        """At a virtual time; one that is cancelled finds that out when it is due."""
        handle = Handle(self, callback, args, context)
        self._scheduler.call_at(when, handle.due)
        return handle

    # -- futures and tasks -----------------------------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        """A task of this loop; the tasks of a killed process stay as they are until ``clear``."""
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)

    def clear(self) -> None:
        """Close the coroutines that a killed process left behind; what they do on their way out has no effect."""
        for task in list(self._tasks):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with suppress(BaseException):
                task.get_coro().close()
        self._tasks.clear()
        self._handles.clear()

    def get_debug(self) -> bool:
        """Never."""
        return False

    def get_task_factory(self) -> Any:
        """None."""
        return None

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what nobody retrieved: it is a failure of the run."""
        error = context.get("exception") or RuntimeError(context.get("message", "?"))
        self._scheduler.failures.append((self.process.name, error))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """The same."""
        if self.process.state is not State.DEAD and not isinstance(context.get("exception"), KilledError):
            self.default_exception_handler(context)

    # -- the network -----------------------------------------------------------------------------------

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        """A connection over the simulated network; raises OSError where nobody listens."""
        return await self._network.connect(self, protocol_factory, host, port)
