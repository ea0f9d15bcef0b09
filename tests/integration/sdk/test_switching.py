"""A coordinated switch as clients live through it, on real clusters; the service here only says what it is told to.

What moves groups and copies records is not here: a client is told where to begin.
"""

from __future__ import annotations

import sys
import threading
import uuid
from itertools import chain
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from anabranch.sandbox import SandboxCluster
from anabranch.sdk import Consumer, Producer, StaleMessageError, SwitchingError
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.sdk.lab import commit, committed, count, read, stored, values, write
from tests.integration.sdk.scene import Scene

pytestmark = [pytest.mark.test, pytest.mark.real]


def ends(cluster: SandboxCluster, topic: str, partitions: int = 2) -> list[int]:
    """The ends of a topic's partitions."""
    return [len(one) for one in stored(cluster, topic, partitions)]


def test_nothing_is_appended_after_ready_and_order_per_key_is_kept(scene: Scene) -> None:
    """P1 and P2: three threads write as fast as they can through prepare and go; nothing is lost and nothing twice."""
    topic, stop = scene.topic(), threading.Event()
    written = dict.fromkeys("abc", 0)
    refused: list[Any] = []
    with Producer(scene.configured(linger_ms=1)) as producer:

        def told(error: Any, _: Any) -> None:
            if error is not None:
                refused.append(error)

        def run(key: str) -> None:
            while not stop.is_set():
                try:
                    producer.produce(topic, str(written[key]), key, on_delivery=told)
                except BufferError:  # the broker is slower than they are
                    producer.poll(0.1)
                    continue
                written[key] += 1
                producer.poll(0)

        threads = [threading.Thread(target=run, args=(key,)) for key in written]
        for thread in threads:
            thread.start()
        until(lambda: min(written.values()) > 500)
        scene.prepare("s")
        until(lambda: scene.ready("s"))
        before = ends(scene.old, topic)
        held = dict(written)
        assert len(producer) == 0
        assert ends(scene.old, topic) == before and dict(written) == held
        scene.go("s")
        until(lambda: min(written.values()) > max(held.values()) + 500)
        stop.set()
        for thread in threads:
            thread.join()
        assert producer.flush(TIMEOUT_S) == 0
        assert producer.figures().records == sum(written.values())
    assert refused == []
    assert ends(scene.old, topic) == before
    on_old, on_new = (sorted(map(int, chain(*stored(one, topic)))) for one in (scene.old, scene.new))
    assert sorted([*on_old, *on_new]) == sorted(chain(*(range(number) for number in written.values())))
    for part in stored(scene.new, topic):
        assert not part or int(part[0]) > 0
    # Each partition holds each key's numbers in their order, and the new cluster goes on where the old one ends.
    assert len(on_old) + len(on_new) == sum(written.values())


def test_a_switch_that_is_given_up_leaves_a_producer_where_it_was(scene: Scene) -> None:
    """What waited is written there, in its order."""
    topic = scene.topic(1)
    with Producer(scene.configured()) as producer:
        write(producer, topic, ["a"])
        scene.prepare("s")
        until(lambda: scene.ready("s"))
        waiting = threading.Thread(target=lambda: write(producer, topic, ["b", "c"]))
        waiting.start()
        scene.service.cancel("s")
        waiting.join()
    assert stored(scene.old, topic, 1) == [["a", "b", "c"]]


def test_a_call_that_is_held_back_for_too_long_says_so_as_a_full_queue_does(scene: Scene) -> None:
    """After route.block.max.ms; nothing of it was sent, and it may be tried again."""
    topic = scene.topic(1)
    with Producer(scene.configured(route_block_max_ms=200)) as producer:
        write(producer, topic, ["a"])
        scene.prepare("s")
        until(lambda: scene.ready("s"))
        with pytest.raises(SwitchingError, match="switch s is under way"):
            producer.produce(topic, "b")
        assert producer.poll(0) == 0 and producer.flush(0.1) == 0
        scene.go("s")
        until(lambda: not producer.is_switching)
        write(producer, topic, ["b"])
    assert (stored(scene.old, topic, 1), stored(scene.new, topic, 1)) == ([["a"]], [["b"]])


def test_a_producer_that_was_held_from_the_beginning_says_so_for_its_transactions_as_well(scene: Scene) -> None:
    """With how long it has waited, which is what was asked for."""
    scene.service.hold = "s"
    with Producer(scene.configured(transactional_id=scene.group, route_block_max_ms=60_000)) as producer:
        for call in (producer.init_transactions, producer.commit_transaction, producer.abort_transaction):
            with pytest.raises(SwitchingError) as told:
                call(0.2)
            assert told.value.waited_s == 0.2
        scene.service.hold = None


def test_a_callback_that_writes_again_is_acknowledged_before_ready(scene: Scene) -> None:
    """Programs retry in delivery callbacks: what they write then belongs to what was handed over before."""
    topic = scene.topic(1)
    with Producer(scene.configured(linger_ms=300)) as producer:
        write(producer, topic, ["warm"])

        def again(error: Any, message: Any) -> None:
            producer.produce(topic, "again")

        scene.prepare("s")

        def is_held() -> bool:
            if not producer.is_switching:
                producer.produce(topic, "first", on_delivery=again)
            return producer.is_switching

        until(is_held)
        until(lambda: scene.ready("s") or producer.poll(0.1))
        assert len(producer) == 0
        at_ready = stored(scene.old, topic, 1)[0]
        assert at_ready.count("first") == at_ready.count("again")
        scene.go("s")


def waits(thread: threading.Thread) -> bool:
    """Whether it waits for something that another thread tells."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is threading.Condition.wait.__code__


def test_a_transaction_ends_where_it_was_begun(scene: Scene) -> None:
    """It is ready only then; the next one is begun on the new cluster, which is initialised by itself."""
    topic = scene.topic(1)
    with Producer(scene.configured(transactional_id=f"x-{uuid.uuid4().hex[:6]}")) as producer:
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(topic, "a")
        scene.prepare("s")
        until(lambda: producer._orders.switch == "s")
        producer.produce(topic, "b")
        assert not scene.ready("s")
        producer.commit_transaction(TIMEOUT_S)
        until(lambda: scene.ready("s"))
        began = threading.Event()

        def next_one() -> None:
            producer.begin_transaction()
            began.set()
            producer.produce(topic, "c")
            producer.commit_transaction(TIMEOUT_S)

        thread = threading.Thread(target=next_one)
        thread.start()
        until(lambda: waits(thread))
        assert not began.is_set()
        scene.go("s")
        thread.join()
    assert (stored(scene.old, topic, 1), stored(scene.new, topic, 1)) == ([["a", "b"]], [["c"]])


def test_a_group_hands_over_its_positions_and_begins_where_it_is_told(scene: Scene) -> None:
    """U1: where the group has committed there, and at the start where it has not."""
    topic = scene.topic(2)
    for cluster, word in ((scene.old, "o"), (scene.new, "n")):
        scene.service.route = scene.route(cluster, 1)
        with Producer(scene.configured(client_id=word)) as producer:
            for part in range(2):
                for number in range(6):
                    producer.produce(topic, f"{word}{part}{number}", partition=part)
    scene.service.route = scene.route(scene.old, 1)
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        found = read(consumer, count(12))
        consumer.commit(offsets=[TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 5)], asynchronous=False)
        scene.prepare("s")
        until(lambda: consumer.poll(0.1) is None and scene.ready("s"))
        (handed,) = scene.ready("s")
        assert handed["positions"] == {f"{topic}-0": 6, f"{topic}-1": 6}
        assert consumer.assignment() == [] and consumer.poll(0) is None
        assert committed(scene.old, scene.group, topic) == [4, 5]
        with pytest.raises(StaleMessageError):
            consumer.commit(message=found[-1])
        commit(scene.new, scene.group, [(topic, 0, 4)])
        scene.go("s", {f"{topic}-0": 0, f"{topic}-1": 2})
        assert sorted(values(read(consumer, count(6)))) == ["n04", "n05", "n12", "n13", "n14", "n15"]


def test_a_group_whose_switch_is_given_up_goes_on_after_the_last_message(scene: Scene) -> None:
    """U2, though nothing was committed: nothing is read twice, and what it holds may still be committed."""
    topic = scene.topic(1)
    with Producer(scene.configured()) as producer:
        write(producer, topic, [str(n) for n in range(6)])
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        first = read(consumer, count(3))
        scene.prepare("s")
        until(lambda: consumer._orders.switch == "s")
        until(lambda: consumer.poll(0.05) is None and scene.ready("s"))
        scene.service.cancel("s")
        assert values(read(consumer, count(3))) == ["3", "4", "5"]
        consumer.commit(message=first[-1], asynchronous=False)
    assert committed(scene.old, scene.group, topic, 1) == [3]


def test_what_was_delivered_in_a_poll_before_prepare_is_committed_by_an_application_that_commits_by_itself(
    scene: Scene,
) -> None:
    """With automatic commits all that was given out is committed as it pauses: the new cluster repeats nothing."""
    topic = scene.topic(1)
    with Producer(scene.configured()) as producer:
        write(producer, topic, [str(n) for n in range(4)])
    with Consumer(scene.reading(auto_commit_interval_ms=3_600_000)) as consumer:
        consumer.subscribe([topic])
        read(consumer, count(4))
        scene.prepare("s")
        until(lambda: consumer.poll(0.05) is None and scene.ready("s"))
        assert committed(scene.old, scene.group, topic, 1) == [4]


@pytest.mark.parametrize("end", ["go", "cancel"])
def test_who_begins_during_a_switch_connects_nowhere_before_it_ends(scene: Scene, end: str) -> None:
    """O1: producer and consumer wait; then both are where the switch has led, or has not."""
    topic = scene.topic(1)
    scene.service.hold = "s"
    with Producer(scene.configured(route_block_max_ms=100)) as producer, Consumer(scene.reading()) as consumer:
        with pytest.raises(SwitchingError):
            producer.produce(topic, "early")
        consumer.subscribe([topic])
        until(lambda: consumer.poll(0.1) is None and scene.service.watching == 2 and len(scene.ready("s")) >= 1)
        assert (producer._inner, consumer._inner) == (None, None)
        if end == "go":
            scene.go("s")
        else:
            scene.service.cancel("s")
        until(lambda: not producer.is_switching)
        write(producer, topic, ["a"])
        assert values(read(consumer, count(1))) == ["a"]
    there = scene.new if end == "go" else scene.old
    assert stored(there, topic, 1) == [["a"]]


def test_a_switch_whose_end_was_not_heard_ends_with_the_next_connection(scene: Scene) -> None:
    """O5: the service ended while they were paused, and the next one knows of no switch."""
    topic = scene.topic(1)
    with Producer(scene.configured()) as producer:
        write(producer, topic, ["a"])
        scene.prepare("s")
        until(lambda: scene.ready("s"))
        port = scene.service.port
        scene.service.stop()
        scene.service.route, scene.service.hold = scene.route(scene.new, 2), None
        scene.service.start(port)
        write(producer, topic, ["b"])
    assert (stored(scene.old, topic, 1), stored(scene.new, topic, 1)) == ([["a"]], [["b"]])


def test_reading_and_writing_in_transactions_pauses_in_step(scene: Scene) -> None:
    """What was read before the switch is written before it: the producer is ready only after its consumer."""
    source, target = scene.topic(1), scene.topic(1)
    with Producer(scene.configured()) as producer:
        write(producer, source, [str(n) for n in range(200)])
    done: list[str] = []
    paused = threading.Event()
    settings = {"enable_auto_commit": False, "isolation_level": "read_committed"}
    with (
        Consumer(scene.reading(**settings)) as consumer,
        Producer(scene.configured(transactional_id=f"x-{scene.group}", route_block_max_ms=3_600_000)) as producer,
    ):
        consumer.subscribe([source])
        producer.init_transactions(TIMEOUT_S)

        def run() -> None:
            while not paused.is_set():
                message = consumer.poll(0.1)
                if message is None:
                    continue
                producer.begin_transaction()
                producer.produce(target, message.value())
                where = consumer.position(consumer.assignment())
                producer.send_offsets_to_transaction(where, consumer.consumer_group_metadata(), 60)
                producer.commit_transaction(TIMEOUT_S)
                done.append(message.value().decode())

        thread = threading.Thread(target=run)
        thread.start()
        until(lambda: len(done) > 20)
        scene.prepare("s", 2)
        until(lambda: len(scene.ready("s")) == 2)
        paused.set()
        thread.join()
        handed = {tuple(one["positions"].values()) for one in scene.ready("s")}
        assert handed == {(), (len(done),)}
        scene.go("s")
    assert committed(scene.old, scene.group, source, 1) == [len(done)]
    assert stored(scene.old, target, 1) == [done]


def test_a_go_that_was_not_heard_is_heard_with_the_next_registration(scene: Scene) -> None:
    """H3: with the starts, where its group has committed nothing; it reads nothing twice."""
    topic = scene.topic(1)
    for cluster, word in ((scene.new, "n"), (scene.old, "o")):
        scene.service.route = scene.route(cluster, 1)
        with Producer(scene.configured(client_id=word)) as producer:
            write(producer, topic, [f"{word}{number}" for number in range(4)])
    with Consumer(scene.reading(enable_auto_commit=False)) as consumer:
        consumer.subscribe([topic])
        read(consumer, count(4))
        scene.prepare("s")
        until(lambda: consumer.poll(0.05) is None and scene.ready("s"))
        port = scene.service.port
        scene.service.stop()
        scene.go("s", {f"{topic}-0": 2})
        scene.service.start(port)
        assert values(read(consumer, count(2))) == ["n2", "n3"]
