"""Streams, versions and runs on each database: one run is open, fences rise, and of two who save one is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

from anabranch.store.database import Database
from anabranch.store.leases import InstanceLeases
from anabranch.store.streams import (
    NoStreamError,
    NoStreamVersionError,
    StoredStream,
    StoredStreamRun,
    StoredStreams,
    StreamChangedError,
    StreamExistsError,
    StreamRunsError,
    TooManyStreamsError,
)
from anabranch.streams.states import StreamState, StreamStateError, StreamWanted
from anabranch.streams.versions import StreamSettings, StreamVersion, diff

pytestmark = pytest.mark.test

NOW = 1_000_000
STREAM = StoredStream("counts", 1, "mei", "", NOW, 1, 0, StreamWanted.STOPPED, StreamState.DRAFT, "", NOW, 0, 0)
FIRST = StreamVersion(1, NOW, "mei", "", "SELECT 1", StreamSettings())
SECOND = StreamVersion(2, NOW + 1, "jo", "more", "SELECT 2", StreamSettings("5 seconds", 0))


def run(number: int, version: int = 1) -> StoredStreamRun:
    """A run that begins."""
    return StoredStreamRun(f"run-{number:012x}", "counts", version, 0, "host", 0, 0, "mei", "/d", NOW + number)


def wanted(store: StoredStreams, name: str = "counts") -> None:
    """Have it wanted to run."""
    store.change(name, store.get(name).revision, wanted=StreamWanted.RUNNING, asked_at=NOW)


def test_versions_are_added_and_of_two_who_save_one_is_refused(database: Database) -> None:
    """S17: what was saved stays as it was, and a publication names one that is there."""
    store = StoredStreams(database)
    with pytest.raises(NoStreamError):
        store.get("counts")
    store.add(STREAM, FIRST)
    with pytest.raises(StreamExistsError):
        store.add(STREAM, FIRST)
    store.save("counts", 1, SECOND)
    with pytest.raises(StreamChangedError):
        store.save("counts", 1, replace(SECOND, script="SELECT 3"))
    with pytest.raises(StreamChangedError):
        store.save("counts", 2, replace(SECOND, script="SELECT 3"))
    assert (store.version("counts", 1), store.version("counts", 2)) == (FIRST, SECOND)
    assert [one.number for one in store.versions("counts")] == [2, 1]
    assert (store.newest("counts"), store.newest("another")) == (2, 0)
    with pytest.raises(NoStreamVersionError):
        store.version("counts", 3)
    store.change("counts", store.get("counts").revision, published=2, former=1)
    assert (store.get("counts").published, store.get("counts").former) == (2, 1)
    assert "+-- trigger: 5 seconds" in diff(FIRST, SECOND)


def test_of_many_starts_at_once_one_begins(database: Database) -> None:
    """S15: all others are refused, and the fence was raised once."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    with pytest.raises(StreamChangedError):  # nobody wants it to run
        store.begin(run(0), NOW)
    wanted(store)

    def begin(number: int) -> StoredStreamRun | None:
        try:
            return store.begin(run(number), NOW)
        except (StreamRunsError, StreamStateError):
            return None

    with ThreadPoolExecutor(8) as pool:
        begun = [one for one in pool.map(begin, range(1, 9)) if one is not None]
    assert [one.fence for one in begun] == [1]
    assert store.open_run("counts") == begun[0]
    assert store.get("counts").fence == 1


def test_each_start_has_a_higher_fence_and_its_end_is_noted_once(database: Database) -> None:
    """S16: and what has failed since a person asked is what counts."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    wanted(store)
    for number in (1, 2, 3):
        begun = store.begin(run(number), NOW + number)
        assert begun.fence == number
        store.started(begun.id, 100 + number, NOW)
        store.tell("counts", StreamState.RUNNING, "", NOW + number)
        ended = begun.id, StreamState.DEGRADED, "why", 4
        assert store.close(*ended, failed=True, over=False, now_ms=NOW + 10 * number)
        assert not store.close(*ended, failed=True, over=False, now_ms=NOW + 99)
    assert [(one.fence, one.pid, one.exit_code, one.is_open) for one in store.runs_of("counts")] == [
        (3, 103, 4, False),
        (2, 102, 4, False),
        (1, 101, 4, False),
    ]
    (seen,) = store.supervised()
    assert (seen.run, seen.failures) == (None, (NOW + 10, NOW + 20, NOW + 30))
    store.change("counts", store.get("counts").revision, asked_at=NOW + 25)
    assert store.supervised()[0].failures == (NOW + 30,)


def test_a_run_begins_as_the_stream_was_read_or_not_at_all(database: Database) -> None:
    """S21: what a person has published, or has said of its next start, is never passed over."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    wanted(store)
    read = store.get("counts").revision
    begin = {"version": 1, "state": "refuse", "start": "earliest"}
    store.want("counts", read, StreamWanted.RUNNING, NOW + 1, begin=begin)
    with pytest.raises(StreamChangedError):
        store.begin(run(1), NOW + 2, read)
    assert (store.open_run("counts"), store.get("counts").fence) == (None, 0)
    assert store.begin(run(1), NOW + 2, read + 1).fence == 1


def test_a_run_that_is_restarted_as_it_is_noted_to_have_read_all_is_still_wanted(database: Database) -> None:
    """Whoever looked at it had not seen the request."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    wanted(store)
    begun = store.begin(run(1), NOW)
    store.want("counts", store.get("counts").revision, StreamWanted.RUNNING, NOW + 1, begun.id)
    store.close(begun.id, StreamState.STOPPED, "it has read all", 0, failed=False, over=True, now_ms=NOW + 2)
    assert (store.get("counts").wanted, store.get("counts").state) == (StreamWanted.RUNNING, StreamState.STOPPED)


def test_how_a_start_is_to_begin_has_a_higher_number_each_time(database: Database) -> None:
    """S22: a checkpoint that is made for it is called by that, and is not taken for one that was made before."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    numbers = []
    for revision, now in enumerate((NOW, NOW, NOW - 500, NOW + 9), 1):
        store.want("counts", revision, StreamWanted.RUNNING, now, begin={"version": 1, "start": "earliest"})
        assert store.get("counts").asked_at == now
        numbers.append(store.get("counts").begin_number)
    assert numbers == [NOW, NOW + 1, NOW + 2, NOW + 9]
    store.change("counts", 5, begin={"version": 1, "start": "earliest"})
    assert store.get("counts").begin_number == NOW + 9


def test_a_run_that_was_asked_to_end_is_stopping_and_one_that_is_over_is_wanted_no_more(database: Database) -> None:
    """A second request to end changes nothing."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    wanted(store)
    begun = store.begin(run(1), NOW)
    store.stopping(begun.id, "counts", NOW + 5)
    store.stopping(begun.id, "counts", NOW + 9)
    assert store.runs_of("counts")[0].stopping_at == NOW + 5
    assert store.get("counts").state is StreamState.STOPPING
    store.close(begun.id, StreamState.STOPPED, "", 0, failed=False, over=False, now_ms=NOW + 9)
    begun = store.begin(run(2), NOW + 9)
    store.close(begun.id, StreamState.STOPPED, "", 0, failed=False, over=True, now_ms=NOW + 10)
    found = store.get("counts")
    assert (found.state, found.wanted, found.since) == (StreamState.STOPPED, StreamWanted.STOPPED, NOW + 10)
    assert store.supervised() == []


def test_a_restart_and_a_start_after_a_failure_are_written_at_once_or_not_at_all(database: Database) -> None:
    """The run is asked to end with what is wanted, and a failed one can begin; a revision that is over changes none."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    wanted(store)
    begun = store.begin(run(1), NOW)
    revision = store.get("counts").revision
    with pytest.raises(StreamChangedError):
        store.want("counts", revision - 1, StreamWanted.RUNNING, NOW + 1, begun.id)
    assert store.runs_of("counts")[0].stopping_at is None
    store.want("counts", revision, StreamWanted.RUNNING, NOW + 2, begun.id)
    found = store.get("counts")
    assert (found.state, found.asked_at, store.runs_of("counts")[0].stopping_at) == (
        *(StreamState.STOPPING, NOW + 2, NOW + 2),
    )
    store.close(begun.id, StreamState.STOPPED, "", 0, failed=False, over=False, now_ms=NOW + 3)
    second = store.begin(run(2), NOW + 3)
    store.close(second.id, StreamState.FAILED, "it failed", 4, failed=True, over=False, now_ms=NOW + 3)
    store.want("counts", store.get("counts").revision, StreamWanted.STOPPED, NOW + 4)
    assert store.get("counts").state is StreamState.FAILED
    store.want("counts", store.get("counts").revision, StreamWanted.RUNNING, NOW + 5)
    assert store.get("counts").state is StreamState.STOPPED


def test_no_start_brings_more_streams_than_may_run_at_once(database: Database) -> None:
    """S20: of many who start at once as many as there is room for; a restart of one that runs is none more."""
    store, names = StoredStreams(database), [f"counts-{number}" for number in range(6)]
    for name in names:
        store.add(replace(STREAM, name=name), FIRST)

    def start(name: str) -> bool:
        try:
            store.want(name, 1, StreamWanted.RUNNING, NOW, most=2)
        except TooManyStreamsError:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        started = dict(zip(names, pool.map(start, names), strict=True))
    assert sum(started.values()) == 2
    (first, second), waits = [name for name in names if started[name]], next(n for n in names if not started[n])
    store.check_room(first, 2)
    store.want(first, 2, StreamWanted.RUNNING, NOW, most=1)
    begun = store.begin(replace(run(1), stream=second), NOW)
    store.want(second, 2, StreamWanted.STOPPED, NOW, most=2)
    with pytest.raises(TooManyStreamsError):
        store.check_room(waits, 2)  # it is stopping, and has its process still
    store.close(begun.id, StreamState.FAILED, "", 1, failed=True, over=False, now_ms=NOW)
    assert start(waits)
    failing = store.begin(replace(run(2), stream=waits), NOW)
    with pytest.raises(TooManyStreamsError):
        store.check_room(second, 2)
    store.close(failing.id, StreamState.FAILED, "", 1, failed=True, over=False, now_ms=NOW)
    store.check_room(second, 2)  # it is wanted to run, and failed for good


def test_a_stream_that_runs_is_not_forgotten(database: Database) -> None:
    """One that does not is, with all that was noted of it, and no other."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    store.add(replace(STREAM, name="other"), FIRST)
    wanted(store)
    begun = store.begin(run(1), NOW)
    with pytest.raises(StreamChangedError):
        store.remove("counts", store.get("counts").revision)
    store.close(begun.id, StreamState.STOPPED, "", 0, failed=False, over=True, now_ms=NOW)
    store.remove("counts", store.get("counts").revision)
    assert [one.name for one in store.all()] == ["other"]
    assert (store.runs_of("counts"), store.versions("counts")) == ([], [])
    assert store.versions("other") == [FIRST]


def test_places_of_checkpoints_are_told_once_each_the_newest_runs_first(database: Database) -> None:
    """Also of runs that are over, and of those that began before places were kept."""
    store = StoredStreams(database)
    store.add(STREAM, FIRST)
    assert (list(store.places("counts")), store.has_run("counts")) == ([], False)
    for number, place in enumerate(("", "/a", "s3a://b/x", "/a"), 1):
        wanted(store)
        made = store.begin(replace(run(number), checkpoints=place, launcher="big"), NOW + number)
        assert (made.checkpoints, made.launcher) == (place, "big")
        store.close(made.id, StreamState.STOPPED, "", 0, failed=False, over=True, now_ms=NOW + number)
    assert not store.has_run("counts")
    store.ran(made.id)
    assert store.has_run("counts")
    assert list(store.places("counts")) == ["/a", "s3a://b/x", ""]
    assert store.runs_of("counts")[0] == replace(
        run(4), fence=4, checkpoints="/a", launcher="big", ran=True, ended_at=NOW + 4, exit_code=0, is_open=False
    )


def test_a_run_is_given_up_only_while_its_machine_is_silent(database: Database) -> None:
    """S23: a machine that vouched in time keeps its run; of a silent one that comes back one of both waits."""
    store, leases = StoredStreams(database), InstanceLeases(database)
    store.add(STREAM, FIRST)
    wanted(store)
    begun = store.begin(run(1), NOW)
    store.tell("counts", StreamState.LOST, "it is silent", NOW)
    assert leases.vouch("host", NOW) is None
    with pytest.raises(StreamChangedError):
        store.abandon(begun, "given up", NOW + 59_999, 60_000)
    later, ended = NOW + 60_000, []

    def give_up() -> None:
        with suppress(StreamChangedError):
            store.abandon(begun, "given up", later, 60_000)
            ended.append(begun.id)

    with ThreadPoolExecutor(2) as pool:
        giving, vouching = pool.submit(give_up), pool.submit(leases.vouch, "host", later)
        giving.result()
    assert vouching.result() == NOW and leases.machines() == {"host": later}
    assert [one.id for one in store.unseen_ends(5)] == ended
    assert (store.open_run("counts") is None) is bool(ended)
    assert store.get("counts").wanted is StreamWanted.RUNNING
    with pytest.raises(StreamChangedError):
        store.abandon(begun, "given up", later, 60_000)
