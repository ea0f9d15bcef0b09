"""What a broker takes as a topic's settings, and which refusal it tells of several.

Source: ``LogConfig`` and ``ConfigDef``; held beside real brokers by random requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from anabranch.kafka.simulated.versions import BrokerVersion

Check = Callable[[str, str], str]
"""The value as it is kept, of a setting's name and what was sent.  Raises SettingRefusedError."""
_WHOLE = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")
_REPLICAS = re.compile(r"[0-9]+:[0-9]+")
_INT, _LONG = (1 << 31) - 1, (1 << 63) - 1


class SettingRefusedError(Exception):
    """A broker refuses a setting, and says this."""


def _refused(name: str, value: str, why: str) -> SettingRefusedError:
    return SettingRefusedError(f"Invalid value {value} for configuration {name}: {why}")


def _whole(least: int, most: int | None = None, *, limit: int = _LONG) -> Check:
    """A number of a Java type; at least, and at most."""
    kind = "INT" if limit == _INT else "LONG"

    def check(name: str, value: str) -> str:
        told = value.strip()
        if not _WHOLE.fullmatch(told) or not -limit - 1 <= int(told) <= limit:
            raise _refused(name, value, f"Not a number of type {kind}")
        number = int(told)
        if number < least:
            raise _refused(name, str(number), f"Value must be at least {least}")
        if most is not None and number > most:
            raise _refused(name, str(number), f"Value must be no more than {most}")
        return str(number)

    return check


def _gzip(name: str, value: str) -> str:
    told = _whole(-_INT - 1, limit=_INT)(name, value)
    if not (1 <= int(told) <= 9 or told == "-1"):
        raise _refused(name, told, "Value must be between 1 and 9 or equal to -1")
    return told


def _ratio(name: str, value: str) -> str:
    told = value.strip()
    if not _FRACTION.fullmatch(told):
        raise _refused(name, value, "Not a number of type DOUBLE")
    number = float(told.rstrip("fFdD"))
    if number < 0:
        raise _refused(name, _java(number), "Value must be at least 0")
    if number > 1:
        raise _refused(name, _java(number), "Value must be no more than 1")
    return _java(number)


def _java(number: float) -> str:
    """A number as Java writes it."""
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    told = "".join(map(str, digits))
    return f"{'-' * sign}{told[0]}.{told[1:] or '0'}E{len(told) - 1 + int(exponent)}"


def _switch(name: str, value: str) -> str:
    told = value.strip().lower()
    if told not in {"true", "false"}:
        raise _refused(name, value, "Expected value to be either true or false")
    return told


def _word(*words: str) -> Check:
    def check(name: str, value: str) -> str:
        told = value.strip()
        if told not in words:
            raise _refused(name, told, f"String must be one of: {', '.join(words)}")
        return told

    return check


def parts(value: str) -> list[str]:
    """A list as it is written: an empty text is an empty one."""
    return re.split(r"\s*,\s*", value.strip()) if value.strip() else []


def _policy(name: str, value: str) -> str:
    told = parts(value)
    for one in told:
        _word("compact", "delete")(name, one)
    return ",".join(told)


def _throttled(name: str, value: str) -> str:
    told = parts(value)
    if told and told != ["*"] and not all(_REPLICAS.fullmatch(one) for one in told):
        why = (
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
        )
        raise _refused(name, f"[{', '.join(told)}]", why)
    return ",".join(told)


_CHECKS: Mapping[str, Check] = {
    "segment.bytes": _whole(1 << 20, limit=_INT),
    "segment.ms": _whole(1),
    "segment.jitter.ms": _whole(0),
    "segment.index.bytes": _whole(4, limit=_INT),
    "flush.messages": _whole(1),
    "flush.ms": _whole(0),
    "retention.bytes": _whole(-_LONG - 1),
    "retention.ms": _whole(-1),
    "max.message.bytes": _whole(0, limit=_INT),
    "index.interval.bytes": _whole(0, limit=_INT),
    "delete.retention.ms": _whole(0),
    "min.compaction.lag.ms": _whole(0),
    "max.compaction.lag.ms": _whole(1),
    "file.delete.delay.ms": _whole(0),
    "min.cleanable.dirty.ratio": _ratio,
    "cleanup.policy": _policy,
    "unclean.leader.election.enable": _switch,
    "min.insync.replicas": _whole(1, limit=_INT),
    "compression.type": _word("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.gzip.level": _gzip,
    "compression.lz4.level": _whole(1, 17, limit=_INT),
    "compression.zstd.level": _whole(-131_072, 22, limit=_INT),
    "preallocate": _switch,
    "message.timestamp.type": _word("CreateTime", "LogAppendTime"),
    "message.timestamp.before.max.ms": _whole(0),
    "message.timestamp.after.max.ms": _whole(0),
    "leader.replication.throttled.replicas": _throttled,
    "follower.replication.throttled.replicas": _throttled,
    "remote.storage.enable": _switch,
    "local.retention.ms": _whole(-2),
    "local.retention.bytes": _whole(-2),
    "remote.log.copy.disable": _switch,
    "remote.log.delete.on.disable": _switch,
}
"""In the order in which a broker looks at them: of several faults it tells the first."""
LISTS = frozenset(
    {"cleanup.policy", "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
)
"""Settings that may be appended to, and subtracted from."""


def checked(version: BrokerVersion, configs: Mapping[str, str]) -> dict[str, str]:
    """All of a topic's own settings, as they are kept.  Raises SettingRefusedError for the first that is refused."""
    for name in configs:
        if name not in _CHECKS:
            raise SettingRefusedError(f"Unknown topic config name: {name}")
    kept = {}
    segments = _whole(version.least_segment_bytes, limit=_INT)
    for name, check in {**_CHECKS, "segment.bytes": segments}.items():
        if name in configs:
            kept[name] = check(name, configs[name])
    least, most = int(kept.get("min.compaction.lag.ms", 0)), int(kept.get("max.compaction.lag.ms", _LONG))
    if least > most:
        raise SettingRefusedError(
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )
    if kept.get("remote.storage.enable") == "true":
        raise SettingRefusedError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    return kept
