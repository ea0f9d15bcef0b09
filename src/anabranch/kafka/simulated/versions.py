"""What brokers of each version offer, and how they differ; read from real ones (ApiVersions, DescribeConfigs)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Range = tuple[int, int]
"""The oldest and the newest version of an API."""


def _apis(table: str) -> Mapping[int, Range]:
    found = {}
    for row in table.split():
        key, _, (low, _, high) = (*row.partition(":")[:2], row.partition(":")[2].partition("-"))
        found[int(key)] = (int(low), int(high))
    return found


_4_3_1 = _apis("""
    0:0-13 1:4-18 2:1-11 3:0-13 8:2-10 9:1-10 10:0-6 11:0-9 12:0-4 13:0-5 14:0-5 15:0-6 16:0-5 17:0-1 18:0-4 19:2-7
    20:1-6 21:0-2 22:0-5 23:2-4 24:0-5 25:0-4 26:0-5 27:1-2 28:0-5 29:1-3 30:1-3 31:1-3 32:1-4 33:0-2 34:1-2 35:1-5
    36:0-2 37:0-3 38:1-3 39:1-2 40:1-2 41:1-3 42:0-2 43:0-2 44:0-1 45:0-1 46:0-0 47:0-0 48:0-1 49:0-1 50:0-0 51:0-0
    55:0-2 57:0-2 60:0-2 61:0-0 64:0-0 65:0-0 66:0-2 68:0-1 69:0-1 74:0-1 75:0-0 76:1-1 77:1-1 78:1-2 79:1-2 80:0-1
    81:0-0 83:0-0 84:0-0 85:0-1 86:0-0 87:0-1 88:0-0 89:0-0 90:0-1 91:0-0 92:0-0
""")
_4_0_0 = _apis("""
    0:0-12 1:4-17 2:1-10 3:0-13 8:2-9 9:1-9 10:0-6 11:2-9 12:0-4 13:0-5 14:0-5 15:0-6 16:0-5 17:0-1 18:0-4 19:2-7
    20:1-6 21:0-2 22:0-5 23:2-4 24:0-5 25:0-4 26:0-5 27:1-1 28:0-5 29:1-3 30:1-3 31:1-3 32:1-4 33:0-2 34:1-2 35:1-4
    36:0-2 37:0-3 38:1-3 39:1-2 40:1-2 41:1-3 42:0-2 43:0-2 44:0-1 45:0-0 46:0-0 47:0-0 48:0-1 49:0-1 50:0-0 51:0-0
    55:0-2 57:0-2 60:0-2 61:0-0 64:0-0 65:0-0 66:0-1 68:0-1 69:0-1 74:0-0 75:0-0 80:0-0 81:0-0
""")
_3_9_1 = _apis("""
    0:0-11 1:0-17 2:0-9 3:0-12 8:0-9 9:0-9 10:0-6 11:0-9 12:0-4 13:0-5 14:0-5 15:0-5 16:0-5 17:0-1 18:0-4 19:0-7
    20:0-6 21:0-2 22:0-5 23:0-4 24:0-5 25:0-4 26:0-4 27:0-1 28:0-4 29:0-3 30:0-3 31:0-3 32:0-4 33:0-2 34:0-2 35:0-4
    36:0-2 37:0-3 38:0-3 39:0-2 40:0-2 41:0-3 42:0-2 43:0-2 44:0-1 45:0-0 46:0-0 47:0-0 48:0-1 49:0-1 50:0-0 51:0-0
    55:0-2 57:0-1 60:0-1 61:0-0 64:0-0 65:0-0 66:0-1 68:0-0 69:0-0 74:0-0 75:0-0 80:0-0 81:0-0
""")
_2_8_2 = _apis("""
    0:0-9 1:0-12 2:0-6 3:0-11 4:0-5 5:0-3 6:0-7 7:0-3 8:0-8 9:0-7 10:0-3 11:0-7 12:0-4 13:0-4 14:0-5 15:0-5 16:0-4
    17:0-1 18:0-3 19:0-7 20:0-6 21:0-2 22:0-4 23:0-4 24:0-3 25:0-3 26:0-3 27:0-1 28:0-3 29:0-2 30:0-2 31:0-2 32:0-4
    33:0-2 34:0-2 35:0-2 36:0-2 37:0-3 38:0-2 39:0-2 40:0-2 41:0-2 42:0-2 43:0-2 44:0-1 45:0-0 46:0-0 47:0-0 48:0-1
    49:0-1 50:0-0 51:0-0 56:0-0 57:0-0 60:0-0 61:0-0
""")


@dataclass(frozen=True, slots=True)
class BrokerVersion:
    """One version: its APIs by their keys, and what it does otherwise than the newest.

    ``after_max_ms`` is the default of ``message.timestamp.after.max.ms``; ``epoch_rises`` says whether a partition gets
    a new leader epoch where its only replica was restarted; ``keeps_groups`` whether a group without members is still
    there when its last commit was deleted.  ``newest_operation`` and ``newest_resource`` are the highest numbers of an
    access rule's operation and resource type that it knows; ``takes_no_quota`` says whether a quota may be 0.
    ``least_segment_bytes`` is the smallest ``segment.bytes``; ``keeps_eligible`` says whether a new cluster
    keeps replicas that may still lead (KIP-966), and takes no ``min.insync.replicas`` of one broker.
    """

    name: str
    apis: Mapping[int, Range]
    after_max_ms: int = 3_600_000
    epoch_rises: bool = True
    keeps_groups: bool = True
    newest_operation: int = 15
    newest_resource: int = 7
    takes_no_quota: bool = False
    least_segment_bytes: int = 1 << 20
    keeps_eligible: bool = False


_NEVER = 9_223_372_036_854_775_807
VERSIONS: Mapping[str, BrokerVersion] = {
    "4.3.1": BrokerVersion("4.3.1", _4_3_1, keeps_eligible=True),
    "4.0.0": BrokerVersion("4.0.0", _4_0_0, newest_operation=14, least_segment_bytes=14),
    "3.9.1": BrokerVersion(
        "3.9.1",
        _3_9_1,
        _NEVER,
        epoch_rises=False,
        keeps_groups=False,
        newest_operation=14,
        least_segment_bytes=14,
    ),
    "2.8.2": BrokerVersion(
        "2.8.2",
        _2_8_2,
        _NEVER,
        epoch_rises=False,
        keeps_groups=False,
        newest_operation=12,
        newest_resource=6,
        takes_no_quota=True,
        least_segment_bytes=14,
    ),
}
