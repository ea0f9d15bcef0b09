"""One thing after the other, in an order that a seed draws: virtual time, processes, and threads that take turns.

A simulated process has event loops (:mod:`.loop`) and threads.  A thread is a real one that runs only while the
scheduler waits for it, so that at any moment one thing happens, and what happens next is drawn.

Invariants
    V1  time moves only where nothing can go on at the present time; it moves to the next event, by nothing else.
    V2  what belongs to a stopped process does not go on, and what belongs to a killed one never does.
    V3  two runs with one seed do the same in the same order.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

STEP_S = 1e-6
"""What one step costs of the virtual time, so that who polls without pause gets somewhere."""
WALL_MS = 1_700_000_000_000


class StuckError(AssertionError):
    """The simulation does not come to an end."""


class KilledError(BaseException):
    """Unwinds a thread of a process that was killed; what it does on the way has no effect."""


class State(Enum):
    """Whether a process goes on."""

    RUNNING = "running"
    STOPPED = "stopped"
    DEAD = "dead"


class Actor(Protocol):
    """Something of a process that can go on: a loop with handles that are due, or a thread that was woken.

    ``is_queued`` belongs to the scheduler: whether its turn will come.
    """

    process: Process
    is_queued: bool

    def step(self) -> bool:
        """Go on for one step; False where there is nothing more to do for now."""


class Timer:
    """An event to come."""

    __slots__ = ("what",)

    def __init__(self, what: Callable[[], None]) -> None:
        self.what: Callable[[], None] | None = what

    def cancel(self) -> None:
        """It will not happen."""
        self.what = None


class Process:
    """A simulated process: ``skew_ms`` is how much its wall clock is ahead of the others'."""

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.name = name
        self.state = State.RUNNING
        self.skew_ms = 0
        self.on_end: list[Callable[[], None]] = []
        self._scheduler = scheduler
        self._held: list[Actor] = []
        self.threads: list[Fiber] = []

    @property
    def is_dead(self) -> bool:
        """Whether it has ended, or was killed."""
        return self.state is State.DEAD

    def hold(self, actor: Actor) -> None:
        """Keep for later what cannot go on while the process is stopped."""
        if self.state is State.STOPPED:
            self._held.append(actor)

    def stop(self) -> None:
        """SIGSTOP."""
        if self.state is State.RUNNING:
            self.state = State.STOPPED

    def resume(self) -> None:
        """SIGCONT."""
        if self.state is State.STOPPED:
            self.state = State.RUNNING
            held, self._held = self._held, []
            for actor in held:
                self._scheduler.ready(actor)

    def kill(self) -> None:
        """SIGKILL."""
        self.end()
        for fiber in list(self.threads):  # each takes itself out of the list
            fiber.unwind()
        self.threads.clear()

    def end(self) -> None:
        """It is gone, and what the system did for it is over."""
        if self.state is State.DEAD:
            return
        self.state = State.DEAD
        self._held.clear()
        hooks, self.on_end = self.on_end, []
        for hook in hooks:
            hook()


def _baton() -> threading.Lock:
    """What one thread waits for and another hands over; a bare lock, since a semaphore costs ten times as much."""
    made = threading.Lock()
    made.acquire()
    return made


class Fiber:
    """A thread that runs only while the scheduler waits for it."""

    def __init__(self, process: Process, scheduler: Scheduler, what: Callable[[], Any], name: str) -> None:
        self.process = process
        self.failure: BaseException | None = None
        self.is_over = False
        self.is_queued = False
        self.joiners: list[Fiber] = []
        self._scheduler = scheduler
        self._what = what
        self._turn = _baton()
        self._begun = False
        self._thread = threading.Thread(target=self._main, name=f"simulated {name}", daemon=True)
        process.threads.append(self)

    @property
    def is_current(self) -> bool:
        """Whether it is the thread that asks."""
        return threading.current_thread() is self._thread

    def start(self) -> None:
        """Begin at the next turn."""
        self._scheduler.ready(self)

    def step(self) -> bool:
        """Let it run until it waits; a fiber is made ready by what it waits for."""
        self._scheduler.fiber = self
        if not self._begun:
            self._begun = True
            self._thread.start()
        else:
            self._turn.release()
        self._scheduler.baton.acquire()
        self._scheduler.fiber = None
        return False

    def park(self) -> None:
        """Wait until somebody makes it ready; raises KilledError where the process is dead."""
        if self.process.is_dead:
            raise KilledError
        self._scheduler.baton.release()
        self._turn.acquire()
        if self.process.is_dead:
            raise KilledError

    def unwind(self) -> None:
        """Have it run to its end, with KilledError wherever it waits."""
        if self._begun and not self.is_over and self._scheduler.fiber is not self:
            before = self._scheduler.fiber
            self.step()
            self._scheduler.fiber = before

    def join(self) -> None:
        """Wait, as another fiber, until this one is over."""
        me = self._scheduler.fiber
        assert me is not None
        while not self.is_over:
            self.joiners.append(me)
            me.park()

    def _main(self) -> None:
        try:
            self._what()
        except KilledError:
            pass
        except BaseException as error:
            self.failure = error
            self._scheduler.failed(self, error)
        finally:
            self.is_over = True
            for one in self.joiners:
                self._scheduler.ready(one)
            if self in self.process.threads:
                self.process.threads.remove(self)
            self._scheduler.baton.release()


class Scheduler:
    """Draws what happens next; implements the clock of simulated clusters."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 0.0
        self.leapt_ms = 0
        self.steps = 0
        self.fiber: Fiber | None = None
        self.current: Process | None = None
        self.baton = _baton()
        self.failures: list[tuple[str, BaseException]] = []
        self.trace: Callable[[str], None] | None = None
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()
        self._ready: list[Actor] = []

    # -- the clock -------------------------------------------------------------------------------------

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return self.now

    def wall_ms(self) -> int:
        """Milliseconds since 1970, as brokers have it."""
        return WALL_MS + self.leapt_ms + int(self.now * 1000)

    def leap(self, seconds: float) -> None:
        """Hours in which nothing happened have gone by on every wall clock; what waits, waits no longer for it."""
        self.leapt_ms += int(seconds * 1000)

    def call_later(self, seconds: float, what: Callable[[], None]) -> Timer:
        """Have something happen."""
        timer = Timer(what)
        when = self.now + seconds if seconds > 0.0 else self.now
        heapq.heappush(self._heap, (when, next(self._numbers), timer))
        return timer

    def call_at(self, when: float, what: Callable[[], None]) -> Timer:
        """Have something happen at a time."""
        return self.call_later(when - self.now, what)

    # -- what goes on ----------------------------------------------------------------------------------

    def ready(self, actor: Actor) -> None:
        """Something can go on."""
        if not actor.is_queued and actor.process.state is not State.DEAD:
            actor.is_queued = True
            self._ready.append(actor)

    def failed(self, fiber: Fiber, error: BaseException) -> None:
        """A thread ended by an error that nobody caught."""
        self.failures.append((fiber.process.name, error))

    def run(self, until: Callable[[], bool], seconds: float, steps: int = 3_000_000) -> bool:
        """Go on until it is so, for some virtual seconds at most; returns whether it is so.

        Raises StuckError where it takes more steps than that.
        """
        deadline, most = self.now + seconds, self.steps + steps
        ready, heap = self._ready, self._heap
        while not until():
            if ready:
                if self.steps >= most:
                    raise StuckError(f"{steps} steps within {seconds - (deadline - self.now):.1f} virtual seconds")
                self._step()
                continue
            if not heap or heap[0][0] > deadline:
                self.now = deadline
                return until()
            when, _, timer = heapq.heappop(heap)
            self.now = max(self.now, when)
            if timer.what is not None:
                timer.what()
        return True

    def _step(self) -> None:
        self.steps += 1
        self.now += STEP_S
        ready = self._ready
        actor = ready.pop()
        if ready:
            at = self.chance.randrange(len(ready) + 1)
            if at < len(ready):
                actor, ready[at] = ready[at], actor
        actor.is_queued = False
        process = actor.process
        if process.state is not State.RUNNING:
            process.hold(actor)
            return
        self.current = process
        if actor.step():
            self.ready(actor)
        self.current = None
