"""How long claims were held, by the records of the journal that lie in a simulated target's log."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.kafka.simulated import SimulatedCluster
from anabranch.protocol.claims import ClaimKey, ClaimState
from anabranch.records.decode import decode
from anabranch.records.header import read_header
from anabranch.state.codecs import claims as codec
from anabranch.state.codecs.topics import CLAIMS


def longest_held_s(target: SimulatedCluster) -> float:
    """The longest time from a claim to when its owner gave it back, in seconds of the wall clock; 0 where none did."""
    return max(_held_s(target), default=0.0)


def _held_s(target: SimulatedCluster) -> Iterator[float]:
    for partition in target.topics[CLAIMS].partitions if CLAIMS in target.topics else ():
        for stored in partition.led.log.batches:
            if stored.header.is_control:
                continue
            view = memoryview(stored.data)
            for one in decode(view, 0, read_header(view)):
                if not one.key or not one.value or not isinstance(codec.decode_key(one.key), ClaimKey):
                    continue
                claim = codec.decode(one.key, one.value)
                if claim.state is ClaimState.RELEASED:
                    yield (one.timestamp - claim.claimed_at_ms) / 1000
