"""What a worker keeps in memory of a source that is read faster than the target takes it."""

from __future__ import annotations

import random

import pytest

from anabranch.copier.source.fetcher import Fetcher
from anabranch.records.encode import body_of, seal
from anabranch.records.header import Codec, read_header
from anabranch.records.record import Record, TimestampType
from qa.faults.topics import LoadTopic
from tests.chance import seed
from tests.simulation.watched import TOPIC, watched

pytestmark = pytest.mark.test
LANES, MB = 70, 1 << 20


@pytest.mark.parametrize(("brokers", "more"), [(1, 8), (3, 16), (6, 16)])
def test_a_worker_keeps_forty_megabytes_of_answers_and_one_more_of_each_broker(
    brokers: int, more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seventy lanes with two megabytes each, of which nothing may be sent: what is read is bounded, and not idle."""
    fetchers: list[Fetcher] = []
    start = Fetcher.add

    def add(self: Fetcher, *lanes: object) -> None:
        fetchers.append(self)
        start(self, *lanes)  # type: ignore[arg-type]

    monkeypatch.setattr(Fetcher, "add", add)
    value = random.Random(seed(1)).randbytes(500_000)
    record = Record(0, 1_700_000_000_000, TimestampType.CREATE_TIME, b"k", value, ())
    with watched(seed(1), topic=LoadTopic(TOPIC, LANES, old=False), brokers=brokers) as link:
        link.life.load.stop()
        source = link.world.clusters["source"]
        for index in range(LANES):
            partition = source.partition(TOPIC, index)
            for _ in range(4):
                batch = seal(
                    body_of([record], range(1)),
                    count=1,
                    last_offset_delta=0,
                    timestamps=(record.timestamp, record.timestamp),
                    attributes=int(Codec.NONE),
                    producer=(-1, -1, -1),
                )
                log = partition.led.log
                log.append(batch, read_header(batch), partition.leader_epoch, source.timers.wall_ms())
                source.appended(partition)
        link.change(rate_limit=1)
        run = link.run()
        most = 0
        for _ in range(300):
            link.pass_(0.1)
            most = max([most, *(one._in_memory() for one in fetchers)])
        assert 30 * MB < most <= (40 + more) * MB, most / MB
        run.kill()
