"""What applications do in callbacks and from several threads, while they are moved between two real clusters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from anabranch.sdk import Consumer, Producer, SwitchingError, standing
from anabranch.sdk.aio import AIOProducer
from anabranch.sdk.orders import Phase
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.sdk.lab import commit, committed, count, read, stored, values, write
from tests.integration.sdk.scene import Scene

pytestmark = [pytest.mark.test, pytest.mark.real]


def fill(scene: Scene, topic: str, number: int = 6) -> None:
    """Write so many to both clusters."""
    for cluster, word in ((scene.new, "n"), (scene.old, "o")):
        scene.service.route = scene.route(cluster, 1)
        with Producer(scene.configured(client_id=word)) as producer:
            write(producer, topic, [f"{word}{at}" for at in range(number)])


def pause(scene: Scene, consumer: Consumer, switch: str = "s") -> None:
    """Have a consumer pause in its polls."""
    scene.prepare(switch)
    until(lambda: consumer._orders.switch == switch)
    until(lambda: consumer.poll(0.05) is None and scene.ready(switch))


def test_callbacks_that_write_in_a_thread_of_their_own_hold_no_switch_up(scene: Scene) -> None:
    """P3: one thread serves callbacks, another pauses; what a callback writes goes where its message went."""
    topic = scene.topic(1)
    stop = threading.Event()
    refused: list[Exception] = []
    with Producer(scene.configured(linger_ms=200)) as producer:
        write(producer, topic, ["warm"])

        def again(left: int) -> Any:
            def told(*_: Any) -> None:
                try:
                    if left:
                        producer.produce(topic, f"{left}", on_delivery=again(left - 1))
                except Exception as error:
                    refused.append(error)

            return told

        def serve() -> None:
            while not stop.is_set():
                producer.poll(10)

        thread = threading.Thread(target=serve)
        thread.start()
        for number in range(5):
            producer.produce(topic, f"first-{number}", on_delivery=again(3))
        scene.prepare("s")
        until(lambda: scene.ready("s"))
        at_ready = sorted(stored(scene.old, topic, 1)[0])
        assert at_ready == sorted(["warm", *(f"first-{n}" for n in range(5)), *"123" * 5]) and not refused, refused
        scene.go("s")
        stop.set()
        producer.produce(topic, "last", on_delivery=lambda *_: None)  # whose callback ends the thread's call
        thread.join()


def test_a_callback_of_no_message_is_held_back_as_any_call_is(scene: Scene) -> None:
    """Nobody waits for it: it began before the switch, and writes after all has been handed over.

    Statistics that come meanwhile count as outstanding (P4), and it keeps its own thread from serving them: another
    one that polls does, and pauses.
    """
    topic = scene.topic(1)
    armed, inside, told = threading.Event(), threading.Event(), list[str]()

    def counted(_: str) -> None:
        if not armed.is_set() or inside.is_set():
            return
        inside.set()
        until(lambda: scene.ready("s"))
        try:
            producer.produce(topic, "late")
        except SwitchingError as error:
            told.append(str(error))

    settings = {**scene.configured(statistics_interval_ms=50, route_block_max_ms=300), "stats_cb": counted}
    with Producer(settings) as producer:
        write(producer, topic, ["a"])
        armed.set()

        def served() -> bool:
            producer.poll(0.1)
            return bool(told)

        threads = [threading.Thread(target=until, args=(served,)) for _ in range(2)]
        threads[0].start()
        until(inside.is_set)
        until(lambda: len(producer))
        scene.prepare("s")
        threads[1].start()
        for thread in threads:
            thread.join()
        scene.service.cancel("s")
    assert told[0].startswith("held back for 0.3 s: switch s") and stored(scene.old, topic, 1) == [["a"]]


def test_a_thread_that_waits_for_callbacks_without_end_serves_those_of_the_new_cluster(scene: Scene) -> None:
    """As programs do that have a thread for it; it began to wait on the old one."""
    topic = scene.topic(1)
    told = threading.Event()
    with Producer(scene.configured()) as producer:
        write(producer, topic, ["a"])

        def serve() -> None:
            while not told.is_set():
                producer.poll()

        thread = threading.Thread(target=serve)
        thread.start()
        scene.prepare("s")
        until(lambda: scene.ready("s"))
        scene.go("s")
        until(lambda: producer.route is not None and producer.route.cluster == "new")
        producer.produce(topic, "b", on_delivery=lambda *_: told.set())
        until(told.is_set)
        thread.join()


def test_a_producer_may_be_closed_in_a_callback_and_while_it_is_held(scene: Scene) -> None:
    """What was handed over is delivered by who called back; who waits is told that it is closed."""
    topic = scene.topic(1)
    producer = Producer(scene.configured())
    producer.produce(topic, "a", on_delivery=lambda *_: producer.close())
    until(lambda: producer.poll(0.1))
    with pytest.raises(RuntimeError, match="closed"):
        producer.produce(topic, "b")
    held = Producer(scene.configured())
    write(held, topic, ["c"])
    scene.prepare("s")
    until(lambda: scene.ready("s"))
    told: list[BaseException] = []

    def wait() -> None:
        try:
            held.produce(topic, "d")
        except RuntimeError as error:
            told.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    held.close()
    thread.join()
    assert str(told[0]) == "Producer has been closed"
    assert stored(scene.old, topic, 1) == [["a", "c"]]


def test_a_switch_that_is_given_up_while_a_consumer_leaves_loses_it_nothing(scene: Scene) -> None:
    """The callback by which it is told that its partitions are taken away is where that happens."""
    topic = scene.topic(1)
    fill(scene, topic)
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:

        def revoked(*_: Any) -> None:
            if scene.service.hold == "s":
                scene.service.cancel("s")
                until(lambda: consumer._orders.phase is Phase.OPEN)

        consumer.subscribe([topic], on_revoke=revoked)
        found = read(consumer, count(3))
        consumer.commit(message=found[-1], asynchronous=False)
        scene.prepare("s")
        # It begins again at what was committed, after none, one or two of these were read.
        assert values(read(consumer, count(3))) in (["o3", "o4", "o5"], ["o3", "o3", "o4"], ["o3", "o4", "o3"])


def test_a_client_whose_callback_raises_as_it_is_closed_is_closed_and_off_the_list(scene: Scene) -> None:
    """The application hears of it; the service of the client's end."""
    topic = scene.topic(1)
    fill(scene, topic, 1)

    def fails(*_: Any) -> None:
        raise LookupError("of the application")

    consumer, producer = Consumer(scene.reading()), Producer(scene.configured())
    consumer.subscribe([topic], on_revoke=fails)
    read(consumer, count(1))
    producer.produce(topic, "a", on_delivery=fails)
    before = len(scene.service.bodies("DELETE"))
    for client in (consumer, producer):
        with pytest.raises(LookupError):
            client.close()
    assert len(scene.service.bodies("DELETE")) == before + 2
    with pytest.raises(RuntimeError, match="closed"):
        consumer.poll(0)


@pytest.mark.parametrize("how", ["position", "incremental_assign", "commit"])
def test_a_call_in_a_callback_leaves_no_cluster_in_the_middle_of_it(scene: Scene, how: str) -> None:
    """The order to pause comes while partitions are being assigned; it is obeyed by the next poll."""
    topic = scene.topic(1)
    fill(scene, topic)
    settings = {"partition_assignment_strategy": "cooperative-sticky", "enable_auto_commit": False}
    with Consumer(scene.reading(**settings)) as consumer:

        def assigned(_: Any, partitions: list[Any]) -> None:
            if scene.service.switch is not None:
                return
            scene.prepare("s")
            until(lambda: consumer._orders.phase is Phase.PAUSING)
            if how == "incremental_assign":
                consumer.incremental_assign(partitions)
            elif how == "position":
                consumer.position(partitions)
            else:
                partitions[0].offset = 2
                consumer.commit(offsets=partitions, asynchronous=False)

        consumer.subscribe([topic], on_assign=assigned)
        until(lambda: consumer.poll(0.1) is None and scene.ready("s"))
        assert committed(scene.old, scene.group, topic, 1) == [2 if how == "commit" else -1001]
        scene.go("s", {f"{topic}-0": 4})
        assert values(read(consumer, count(2))) == ["n4", "n5"]


def test_who_is_told_that_its_partitions_are_taken_away_reads_again_what_it_has_not_committed(scene: Scene) -> None:
    """Such a program lets go of it then, as for any rebalance; and may commit there what it has done."""
    topic = scene.topic(1)
    fill(scene, topic)
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:
        found: list[Any] = []

        def revoked(*_: Any) -> None:
            if found:
                consumer.commit(message=found[1], asynchronous=False)

        consumer.subscribe([topic], on_revoke=revoked)
        found += read(consumer, count(4))
        pause(scene, consumer)
        scene.service.cancel("s")
        assert values(read(consumer, count(4))) == ["o2", "o3", "o4", "o5"]
        found.clear()


def test_a_commit_of_another_thread_as_it_leaves_makes_nothing_be_read_twice(scene: Scene) -> None:
    """U2: what the group has committed meanwhile of what was given out is no other one's doing."""
    topic = scene.topic(1)
    fill(scene, topic)
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        read(consumer, count(4))
        pause(scene, consumer)
        commit(scene.old, scene.group, [(topic, 0, 2)])
        scene.service.cancel("s")
        assert values(read(consumer, count(2))) == ["o4", "o5"]


def test_a_consumer_that_did_not_come_to_connect_answers_the_next_switch(scene: Scene) -> None:
    """It has been told to go on and has not polled since; given up, it goes where it had been told to."""
    topic = scene.topic(1)
    fill(scene, topic)
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        read(consumer, count(3))
        pause(scene, consumer)
        scene.go("s", {f"{topic}-0": 1})
        until(lambda: consumer._orders.phase is Phase.GOING)
        scene.prepare("t")
        until(lambda: scene.ready("t"))
        assert scene.ready("t")[0]["positions"] == {f"{topic}-0": 1}, "where it was to begin there"
        scene.service.cancel("t")
        assert values(read(consumer, count(5))) == ["n1", "n2", "n3", "n4", "n5"]


def test_a_cluster_that_does_not_say_what_is_committed_is_asked_until_it_does(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No partition begins where its application's default is before."""
    topic = scene.topic(1)
    fill(scene, topic)
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        read(consumer, count(3))
        pause(scene, consumer)
        monkeypatch.setattr(standing, "ASK_S", 0.0001)
        scene.go("s", {f"{topic}-0": 4})
        until(lambda: consumer.poll(0.1) or "does not say what is committed" in caplog.text)
        assert "does not say what is committed" in caplog.text
        monkeypatch.undo()
        assert values(read(consumer, count(2))) == ["n4", "n5"]


MEMBERS: Mapping[str, dict[str, Any]] = {
    "consumer": {"group_protocol": "consumer"},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "static": {"group_instance_id": "one", "session_timeout_ms": 6000},
}
CI_HAS = {("poll", "consumer"), ("consume", "cooperative"), ("poll", "static")}
"""Each kind of member, and both ways to read."""


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        pytest.param(how, kind, marks=[] if (how, kind) in CI_HAS else [pytest.mark.full])
        for how in ("poll", "consume")
        for kind in MEMBERS
    ],
)
def test_every_kind_of_member_goes_on_at_the_next_record(scene: Scene, how: str, kind: str) -> None:
    """Given up and then made: U2 and U1."""
    settings = MEMBERS[kind]
    topic = scene.topic(1)
    fill(scene, topic, 8)
    with Consumer(scene.reading(enable_auto_commit=False, **settings)) as consumer:

        def some(number: int) -> list[str]:
            if how == "poll":
                return values(read(consumer, count(number)))
            found: list[Any] = []

            def took() -> bool:
                found.extend(consumer.consume(number - len(found), 0.2))
                return len(found) == number

            until(took)
            return values(found)

        consumer.subscribe([topic])
        assert some(3) == ["o0", "o1", "o2"]
        pause(scene, consumer)
        scene.service.cancel("s")
        assert some(2) == ["o3", "o4"]
        pause(scene, consumer, "t")
        scene.go("t", {f"{topic}-0": 5})
        assert some(3) == ["n5", "n6", "n7"]


def test_two_threads_that_read_are_moved_as_one(scene: Scene) -> None:
    """One leaves and connects, the other one notices."""
    topic = scene.topic(4)
    for cluster, word in ((scene.new, "n"), (scene.old, "o")):
        scene.service.route = scene.route(cluster, 1)
        with Producer(scene.configured(client_id=word)) as producer:
            for part in range(4):
                for number in range(200):
                    producer.produce(topic, f"{word}{number}", partition=part)
    found: list[str] = []
    failed: list[Exception] = []
    stop = threading.Event()
    with Consumer(scene.reading()) as consumer:
        consumer.subscribe([topic])

        def run() -> None:
            try:
                while not stop.is_set():
                    found.extend(values(consumer.consume(7, 0.05)))
                    message = consumer.poll(0.05)
                    if message is not None:
                        found.extend(values([message]))
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        until(lambda: failed or len(found) >= 800)
        scene.prepare("s")
        until(lambda: failed or scene.ready("s"))
        scene.go("s", {f"{topic}-{part}": 100 for part in range(4)})
        until(lambda: failed or len(found) >= 1200)
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed[0]
    expected = [f"o{number}" for number in range(200)] * 4 + [f"n{number}" for number in range(100, 200)] * 4
    assert sorted(found) == sorted(expected)


async def test_a_call_for_asyncio_that_is_cancelled_in_its_wait_hands_nothing_over(scene: Scene) -> None:
    """A3; what others hand over is still told to them."""
    topic = await asyncio.to_thread(scene.topic, 1)
    scene.service.hold = "s"
    async with AIOProducer(scene.configured()) as producer:
        waiting = [asyncio.ensure_future(producer.produce(topic, text)) for text in "ab"]
        async with asyncio.timeout(TIMEOUT_S):
            while not (producer._open == 2 and producer._in_turn.locked()):  # one waits, the other for its turn
                await asyncio.sleep(0.01)
        for one in waiting:
            one.cancel()
        assert [type(one) for one in await asyncio.gather(*waiting, return_exceptions=True)] == [
            asyncio.CancelledError
        ] * 2
        assert producer._open == 0
        await asyncio.to_thread(until, lambda: scene.service.watching == 1)
        await asyncio.to_thread(scene.go, "s")
        told = [await producer.produce(topic, text) for text in "cd"]
        assert [(await one).value() for one in told] == [b"c", b"d"]
    assert await asyncio.to_thread(stored, scene.new, topic, 1) == [["c", "d"]]


async def test_a_call_for_asyncio_that_is_held_back_for_too_long_says_so(scene: Scene) -> None:
    """As the plain one."""
    topic = await asyncio.to_thread(scene.topic, 1)
    scene.service.hold = "s"
    async with AIOProducer(scene.configured(route_block_max_ms=300)) as producer:
        with pytest.raises(SwitchingError, match=r"held back for 0\.3 s: switch s"):
            await producer.produce(topic, "a")
        assert producer._open == 0
