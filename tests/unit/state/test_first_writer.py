"""Two who change a link at once: every order of their steps, every compaction, and one of them dying anywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import control_samples as samples
import pytest

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import Headers, LogEntry
from anabranch.model.decisions import LaneDecision
from anabranch.model.link import LinkRecord
from anabranch.state.codecs import links as link_codec
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.topics.control import Links, OvertakenError

pytestmark = pytest.mark.unit

BASE = samples.LINK
LINK = BASE.wanted.spec.id
DECISION = replace(samples.DECISION, link=LINK)


@pytest.fixture(scope="module", autouse=True)
def _decoded_once() -> Iterator[None]:
    """A few records are read hundreds of thousands of times here: each is decoded once, to a value that is frozen."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("parse_key", "decode_link", "decode_decision"):
            patch.setattr(link_codec, name, functools.cache(getattr(link_codec, name)))
        yield


@dataclass
class Log:
    """The topic, as a broker has it: it appends whatever comes."""

    entries: list[LogEntry] = field(default_factory=list)
    end: int = 0

    def append(self, entries: list[tuple[bytes, bytes | None]], headers: Headers) -> int:
        base = self.end
        self.entries += [LogEntry(base + at, key, value, headers) for at, (key, value) in enumerate(entries)]
        self.end += len(entries)
        return base

    def compacted(self, below: int) -> Log:
        """As the cleaner leaves it that has come so far: the last record of each key."""
        last = {entry.key: entry.offset for entry in self.entries if entry.offset < below}
        kept = [one for one in self.entries if one.offset >= below or last[one.key] == one.offset]
        return Log(kept, self.end)


class Step(Awaitable[None]):
    """A request on its way: others may do something before it is carried out."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Reader:
    """A keyed log of one process, each of whose requests is a step of its own."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.position = -1

    async def append(self, entries: list[tuple[bytes, bytes | None]], _: int, headers: Headers = ()) -> int:
        await Step()
        return self.log.append(entries, headers)

    async def fold(self, take: Callable[[LogEntry], None]) -> None:
        await Step()
        for entry in self.log.entries:
            if entry.offset >= self.position:
                take(entry)
        self.position = self.log.end


def links(log: Log) -> Links:
    """What one process knows of the topic."""
    made = Links(cast("Cluster", None))
    made._log = cast("Any", Reader(log))
    return made


def at_once(what: Coroutine[Any, Any, None]) -> None:
    """Carried out without anybody else."""
    for _ in iter(lambda: step(what), False):
        pass


def step(what: Coroutine[Any, Any, None]) -> bool:
    """Up to its next request; False where it has ended."""
    try:
        what.send(None)
    except StopIteration:
        return False
    return True


def has_ended(what: Coroutine[Any, Any, None]) -> bool:
    """Whether it has no step left."""
    return inspect.getcoroutinestate(what) == inspect.CORO_CLOSED


Change = Callable[[Links, LinkRecord], Coroutine[Any, Any, None]]


def following(record: LinkRecord) -> LinkRecord:
    """The record with the next revision."""
    return replace(record, wanted=replace(record.wanted, revision=record.wanted.revision + 1))


async def pause(stored: Links, record: LinkRecord) -> None:
    """Pause, or resume."""
    await stored.put(replace(record, wanted=replace(following(record).wanted, paused=not record.wanted.paused)))


async def slow_down(stored: Links, record: LinkRecord) -> None:
    """Set a rate limit."""
    wanted = following(record).wanted
    await stored.put(replace(record, wanted=replace(wanted, spec=replace(wanted.spec, rate_limit=4_321))))


async def decide(stored: Links, record: LinkRecord) -> None:
    """Decide about a lane."""
    await stored.decide(following(record), [DECISION], [], [])


async def drop(stored: Links, record: LinkRecord) -> None:
    """Delete the link."""
    await stored.drop(record.wanted.spec.id)


async def create(stored: Links, record: LinkRecord) -> None:
    """Create it."""
    await stored.put(replace(record, created_at_ms=record.created_at_ms + 1))


async def create_another(stored: Links, record: LinkRecord) -> None:
    """Create another one of the name."""
    await stored.put(replace(record, created_at_ms=record.created_at_ms + 2))


@dataclass
class Writer:
    """Somebody who reads, changes what was read, and hears what came of it."""

    log: Log
    change: Change
    creates: bool
    read: LinkRecord | None = None
    answer: str = ""

    async def work(self) -> None:
        stored = links(self.log)
        await stored.sync()
        self.read = stored.links.get(LINK)
        if (self.read is None) is not self.creates:
            self.answer = "refused"
            return
        try:
            await self.change(stored, self.read or BASE)
            self.answer = "stored"
        except OvertakenError:
            self.answer = "overtaken"


@dataclass(frozen=True)
class Case:
    """Two changes at once, of a link that is there or of one that is not."""

    one: Change
    other: Change
    creates: bool = False

    def begin(self) -> tuple[Log, list[Writer]]:
        log = Log()
        if not self.creates:
            log.append([(link_codec.link_key(LINK), link_codec.encode_link(BASE))], ())
        return log, [Writer(log, change, self.creates) for change in (self.one, self.other)]


CASES = {
    "pause, slow down": Case(pause, slow_down),
    "pause, accept": Case(pause, decide),
    "accept, accept": Case(decide, decide),
    "pause, delete": Case(pause, drop),
    "accept, delete": Case(decide, drop),
    "delete, delete": Case(drop, drop),
    "create, create": Case(create, create_another, creates=True),
}

State = tuple[LinkRecord | None, LaneDecision | None]


def state(log: Log) -> State:
    """What a new reader takes from the topic."""
    return _state(tuple(log.entries), log.end)


@functools.cache
def _state(entries: tuple[LogEntry, ...], end: int) -> State:
    stored = links(Log(list(entries), end))
    at_once(stored.sync())
    return stored.links.get(LINK), stored.decisions[LINK].get(DECISION.place)


def expected(case: Case, writers: list[Writer]) -> list[State]:
    """What the changes that were stored make of the link, one after the other in any order that fits."""
    found: list[State] = []
    done = [writer for writer in writers if writer.answer == "stored"]
    for order in (done, done[::-1]):
        log, _ = case.begin()
        for writer in order:
            again = Writer(log, writer.change, case.creates)
            at_once(again.work())
            if again.read != writer.read or again.answer != "stored":
                break
        else:
            found.append(state(log))
    return found


def orders(case: Case) -> Iterator[tuple[list[int], list[Writer], Log]]:
    """Every order of the steps of two writers, each carried out to its end."""
    todo: list[list[int]] = [[]]
    while todo:
        prefix = todo.pop()
        log, writers = case.begin()
        works = [writer.work() for writer in writers]
        for number in prefix:
            step(works[number])
        running = [number for number in (0, 1) if not has_ended(works[number])]
        if running:
            todo += [[*prefix, number] for number in running]
            for work in works:
                work.close()
        else:
            yield prefix, writers, log


@functools.cache
def lists_of_steps(name: str) -> tuple[tuple[int, ...], ...]:
    """The orders alone, which stay the same whoever dies in them."""
    return tuple(tuple(order) for order, _, _ in orders(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_of_two_changes_that_rest_on_the_same_state_one_is_stored(name: str) -> None:
    """Whatever is answered is so: what was stored is there, what was not is not, and no compaction changes that."""
    case, overtaken, count = CASES[name], 0, 0
    for order, writers, log in orders(case):
        now = state(log)
        assert now in expected(case, writers), (order, [writer.answer for writer in writers])
        assert "stored" in [writer.answer for writer in writers]
        for below in range(log.end + 1):
            assert state(log.compacted(below)) == now, (order, below)
        count += 1
        overtaken += "overtaken" in [writer.answer for writer in writers]
    assert 0 < overtaken < count


@pytest.mark.test
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dies", [0, 1])
def test_a_writer_that_dies_anywhere_leaves_what_the_next_one_finishes(name: str, dies: int) -> None:
    """The next plan or change settles it: then all readers agree, and what the other writer was told still holds."""
    case, left = CASES[name], 0
    for order in lists_of_steps(name):
        for lived in range(1, order.count(dies)):
            log, writers = case.begin()
            works, steps = [writer.work() for writer in writers], 0
            for number in order:
                steps += number == dies
                if not has_ended(works[number]) and (number != dies or steps <= lived):
                    step(works[number])
            if not has_ended(works[1 - dies]):
                at_once(works[1 - dies])
            works[dies].close()
            now = state(log)
            writers[dies].answer = "dead"
            possible = expected(case, writers)
            writers[dies].answer = "stored"
            assert now in [*possible, *expected(case, writers)], (order, lived)
            left += any(state(log.compacted(below)) != now for below in range(log.end + 1))
            planner = links(log)
            at_once(planner.sync())
            at_once(planner.settle(LINK))
            assert state(log) == now, (order, lived)
            for below in range(log.end + 1):
                assert state(log.compacted(below)) == now, (order, lived, below)
    assert left > 0 or case.one is case.other is drop


def test_a_record_of_an_older_version_counts_and_a_header_that_is_no_number_does_not_pass() -> None:
    """Without the header nobody can tell what its writer had read."""
    log, _ = CASES["pause, slow down"].begin()
    value = link_codec.encode_link(following(BASE))
    log.append([(link_codec.link_key(LINK), value)], ())
    assert state(log)[0] == following(BASE)
    log.append([(link_codec.link_key(LINK), value)], (("read", b"x"),))
    with pytest.raises(MalformedRecordError):
        state(log)
