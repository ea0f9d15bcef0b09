"""Programs of confluent-kafka with one changed line, led by the real service to real clusters."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from anabranch.sdk import (
    Consumer,
    MayNotError,
    NoRouteError,
    Producer,
    RouteProblemError,
    StaleMessageError,
    StaleOffsetError,
)
from anabranch.sdk.aio import AIOConsumer, AIOProducer
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.sdk.lab import Lab, commit, committed, count, read, stored, values, write

pytestmark = [pytest.mark.test, pytest.mark.real]
PROGRAM = """
import sys
from {package} import Consumer, Producer

topic, where = sys.argv[1:]
p = Producer({{{where}}})


def delivery_callback(err, msg):
    sys.stderr.write('%% Message failed delivery: %s\\n' % err if err else '')


for line in ["one", "two", "three"]:
    try:
        p.produce(topic, line, callback=delivery_callback)
    except BufferError:
        sys.stderr.write('%% Local producer queue is full\\n')
    p.poll(0)
p.flush()

c = Consumer({{{where}, 'group.id': 'g-' + topic, 'session.timeout.ms': 6000,
              'auto.offset.reset': 'earliest', 'enable.auto.offset.store': False}})


def print_assignment(consumer, partitions):
    print('Assignment:', sorted((one.topic, one.partition) for one in partitions))


c.subscribe([topic], on_assign=print_assignment)
seen = []
try:
    while len(seen) < 3:
        msg = c.poll(timeout=1.0)
        if msg is None:
            continue
        if msg.error():
            raise SystemExit(msg.error())
        seen.append(msg.value().decode())
        c.store_offsets(msg)
finally:
    c.close()
print(sorted(seen))
"""


def test_one_changed_line_runs_a_program_as_before(lab: Lab, tmp_path: Path) -> None:
    """As confluent-kafka's examples are written: the same output, and the group's commits where the route leads."""
    told = []
    for package, where in (
        ("confluent_kafka", f"'bootstrap.servers': '{lab.old.bootstrap}'"),
        ("anabranch.sdk", f"'cluster.code': 'orders', 'route.cache.dir': '{tmp_path}'"),
    ):
        topic = lab.topic()
        program = PROGRAM.format(package=package, where=where)
        done = subprocess.run([sys.executable, "-c", program, topic, "-"], capture_output=True, text=True, check=True)
        told.append(done.stdout.replace(topic, "TOPIC"))
        assert sum(max(0, at) for at in committed(lab.old, f"g-{topic}", topic)) >= 3
    assert told[0] == told[1]
    assert "['one', 'three', 'two']" in told[0]


def test_a_published_table_moves_a_producer_and_a_group(lab: Lab) -> None:
    """Nothing is restarted: what is written after it is on the new cluster, all before it on the old, none twice."""
    topic = lab.topic()
    with Producer(lab.configured()) as producer, Consumer(lab.reading()) as consumer:
        consumer.subscribe([topic])
        write(producer, topic, [f"old-{n}" for n in range(50)])
        first = read(consumer, count(50))
        lab.lead("new")
        until(lambda: producer.route is not None and producer.route.cluster == "new")
        write(producer, topic, [f"new-{n}" for n in range(50)])
        second = read(consumer, count(50))
        assert sorted(values(second)) == sorted(f"new-{n}" for n in range(50))
        found = [max(0, at) for at in committed(lab.old, lab.group, topic)]  # all may be in one partition
        assert sum(found) == 50, "what was read was committed before it left"
        with pytest.raises(StaleMessageError, match="of before the switch"):
            consumer.commit(message=first[-1])
        with pytest.raises(StaleMessageError):
            consumer.store_offsets(first[0])
        with pytest.raises(StaleOffsetError):
            consumer.commit(offsets=[TopicPartition(topic, 0, 10_000)])
        last = second[-1]
        (done,) = consumer.commit(message=last, asynchronous=False)
        assert (done.topic, done.partition, done.offset) == (topic, last.partition(), last.offset() + 1)
        until(
            lambda: (
                {(one["query"]["role"], one["cluster"]) for one in lab.service.clients(code="orders")}
                == {
                    ("producer", "new"),
                    ("consumer", "new"),
                }
            )
        )
    on_old, on_new = (stored(cluster, topic) for cluster in (lab.old, lab.new))
    assert sorted(chain(*on_old)) == sorted(f"old-{n}" for n in range(50))
    assert sorted(chain(*on_new)) == sorted(f"new-{n}" for n in range(50))


def test_a_group_goes_on_where_it_has_committed_on_the_new_cluster(lab: Lab) -> None:
    """U1: the move of its positions counts, and not where it was."""
    topic = lab.topic(1)
    with Producer(lab.configured()) as one:
        write(one, topic, ["a", "b", "c"])
        lab.lead("new")
        until(lambda: one.route is not None and one.route.cluster == "new")
        write(one, topic, ["x", "y", "z"])
    lab.lead("old")
    with Consumer(lab.reading()) as consumer:
        consumer.subscribe([topic])
        assert values(read(consumer, count(3))) == ["a", "b", "c"]
        commit(lab.new, lab.group, [(topic, 0, 2)])
        lab.lead("new")
        assert values(read(consumer, count(1))) == ["z"]


def test_a_topic_that_the_route_renames_keeps_its_name_for_the_application(lab: Lab) -> None:
    """Messages, callbacks, assignments and commits have the application's name; the cluster has the other."""
    topic = lab.topic(1, "v2.{}")
    assigned: list[Any] = []
    lab.lead("old", topics="v2.{topic}")
    with Producer(lab.configured()) as producer, Consumer(lab.reading(enable_auto_commit=False)) as consumer:
        assert consumer.list_topics(timeout=TIMEOUT_S), "it is connected before it names a topic"
        consumer.subscribe([topic], on_assign=lambda _, partitions: assigned.extend(partitions))
        write(producer, topic, ["a", "b"])
        messages = read(consumer, count(2))
        assert [message.topic() for message in messages] == [topic, topic]
        assert [(one.topic, one.partition) for one in assigned] == [(topic, 0)]
        assert [(one.topic, one.partition) for one in consumer.assignment()] == [(topic, 0)]
        (done,) = consumer.commit(message=messages[0], asynchronous=False)
        assert (done.topic, done.offset) == (topic, 1)
        assert consumer.committed([TopicPartition(topic, 0)])[0].offset == 1
    assert stored(lab.old, f"v2.{topic}", 1) == [["a", "b"]]
    assert committed(lab.old, lab.group, f"v2.{topic}", 1) == [1]


def test_a_route_that_does_not_allow_it_refuses_by_its_rule(lab: Lab) -> None:
    """Where applications expect an error of Kafka; a producer that is told so while it runs is refused as well."""
    topic = lab.topic()
    rule = {"name": "read-only", "match": {"role": "producer"}, "to": {"cluster": "old", "write": False}}
    with Producer(lab.configured()) as running:
        write(running, topic, ["a"])
        lab.lead("old", rule)
        until(lambda: running.route is not None and not running.route.may_write)
        for producer in (running, Producer(lab.configured())):
            with pytest.raises(MayNotError, match="rule read-only") as told:
                producer.produce(topic, "b")
            assert told.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    lab.lead("old", read=False)
    with pytest.raises(MayNotError), Consumer(lab.reading()) as consumer:
        consumer.subscribe([topic])


def test_an_unknown_code_and_a_wrong_token_are_refused_even_with_a_route_on_disk(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N1: who is refused does not go on by an old answer."""
    with Producer(lab.configured()):
        pass
    with pytest.raises(RouteProblemError, match="there is no cluster code 'nothing'"):
        Producer({**lab.configured(), "cluster.code": "nothing"})
    monkeypatch.setenv("ANABRANCH_TOKEN", "anabranch_wrong")
    with pytest.raises(RouteProblemError) as told:
        Producer(lab.configured())
    assert told.value.status == 401


def test_with_the_service_down_clients_go_on_by_the_route_on_disk_and_say_its_age(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """Those that run do not notice; those that begin take the last route; what was never told is not made up."""
    topic = lab.topic()
    running = Producer(lab.configured(route_topics=[topic]))
    reader = Consumer(lab.reading())
    reader.subscribe([topic])
    write(running, topic, ["a"])
    read(reader, count(1))
    lab.service.kill()
    write(running, topic, ["b"])
    assert values(read(reader, count(1))) == ["b"]
    reader.close()
    known = lab.configured(route_topics=[topic])
    with caplog.at_level(logging.WARNING, "anabranch.sdk"), Producer(known) as producer:
        with Consumer(lab.reading()) as consumer:
            consumer.subscribe([topic])
            write(producer, topic, ["c"])
            assert values(read(consumer, count(1))) == ["c"]
        assert producer.route_age_s > 0
        with pytest.raises(NoRouteError, match="no earlier route"):
            producer.produce("never-told", "d")
    assert "by a route that is" in caplog.text
    with pytest.raises(NoRouteError):
        Producer(lab.configured(client_id="another"))
    lab.service.start()
    until(lambda: lab.service.clients(code="orders"))
    lab.lead("new")
    until(lambda: running.route is not None and running.route.cluster == "new")
    running.close()


@pytest.mark.parametrize("end", ["kill", pytest.param("stop", marks=pytest.mark.full)])
def test_a_service_that_was_killed_and_started_again_has_its_clients_back(lab: Lab, end: str) -> None:
    """They register again by themselves, with the counts of before, and follow what is published then."""
    topic = lab.topic()
    with Producer(lab.configured()) as producer, Consumer(lab.reading()) as consumer:
        consumer.subscribe([topic])
        write(producer, topic, [str(n) for n in range(10)])
        read(consumer, count(10))
        getattr(lab.service, end)()
        lab.service.start()
        lab.lead("new")
        write(producer, topic, ["early"])
        until(lambda: producer.route is not None and producer.route.cluster == "new")
        write(producer, topic, ["late"])
        assert values(read(consumer, lambda found: "late" in values(found)))[-1] == "late"


def test_no_secret_is_in_the_cache_or_in_the_log(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the token nor anything else that a reference stands for."""
    topic = lab.topic()
    with caplog.at_level(logging.DEBUG):
        with Producer(lab.configured()) as producer:
            write(producer, topic, ["a"])
        lab.service.kill()
        with Producer(lab.configured()):
            pass
    texts = [caplog.text, *(file.read_text() for file in lab.cache.iterdir())]
    assert len(texts) > 1
    assert not [text for text in texts if lab.service.tokens["client"] in text]


def test_reports_tell_what_was_done_across_a_move(lab: Lab) -> None:
    """Counts go on; the version is the one that is followed."""
    topic = lab.topic()
    with Producer(lab.configured()) as producer, Consumer(lab.reading()) as consumer:
        consumer.subscribe([topic])
        write(producer, topic, [f"{n:03}" for n in range(10)])
        read(consumer, count(10))
        lab.lead("new")
        until(lambda: producer.route is not None and producer.route.cluster == "new")
        write(producer, topic, [f"{n:03}" for n in range(5)])
        read(consumer, count(5))
        assert producer.figures().records == 15
        found = consumer.figures()
        assert (found.records, found.bytes, found.errors) == (15, 45, 0)


async def test_the_pair_for_asyncio_is_moved_as_well(lab: Lab) -> None:
    """In one event loop, with callbacks that are coroutines."""
    topic = await asyncio.to_thread(lab.topic, 1)
    assigned: list[int] = []

    async def on_assign(consumer: AIOConsumer, partitions: list[Any]) -> None:
        assigned.append(len(partitions))
        await consumer.assign(partitions)

    async def wrote(producer: AIOProducer, texts: list[str]) -> None:
        futures = [await producer.produce(topic, text) for text in texts]
        await producer.flush()
        for one in futures:
            await one

    async def told(consumer: AIOConsumer, number: int) -> list[str]:
        found: list[Any] = []
        while len(found) < number:
            found += [message for message in await consumer.consume(10, timeout=0.5) if message.error() is None]
        return values(found)

    async with AIOProducer(lab.configured()) as producer, AIOConsumer(lab.reading()) as consumer:
        await consumer.subscribe([topic], on_assign=on_assign)
        await wrote(producer, ["a", "b"])
        assert await told(consumer, 2) == ["a", "b"]
        await asyncio.to_thread(lab.lead, "new")
        await wrote(producer, ["c"])
        while {one["cluster"] for one in await asyncio.to_thread(lab.service.clients, code="orders")} != {"new"}:
            await asyncio.sleep(0.05)
        await wrote(producer, ["d"])
        found: list[str] = []
        while "d" not in found:
            found += await told(consumer, 1)
        assert assigned[0] == 1 and len(assigned) >= 2
