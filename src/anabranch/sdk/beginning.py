"""Where partitions begin on the cluster to which a client goes on.

Invariants
    U1  it goes on at what the group has committed there; where nothing is, at the start that it was told.
    U2  after a switch that was given up it goes on at the message after the last one that it gave to the application,
        unless the group's offset in that partition was moved meanwhile past that, or back.
"""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import OFFSET_INVALID

from anabranch.sdk.names import Place


def beginnings(
    now: Mapping[Place, int], before: Mapping[Place, int], resumed: Mapping[Place, int], started: Mapping[Place, int]
) -> dict[Place, int]:
    """Where partitions begin; those that are not in it, where the group has committed, or else by the client's default.

    ``now`` is what is committed (below 0: nothing), ``before`` what was as the client left this cluster.  ``resumed``
    is the message after the last one that it gave out here, ``started`` what it was told, for partitions of which there
    is such a thing.
    """
    found: dict[Place, int] = {}
    for place, committed in now.items():
        if place in resumed and before.get(place, OFFSET_INVALID) <= committed <= resumed[place]:
            found[place] = resumed[place]
        elif committed < 0 and place in started:
            found[place] = started[place]
    return found
