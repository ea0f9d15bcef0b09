"""``__anabranch_access``: the access rules and quotas of the target that were made for waves of migrations.

``MIGRATION/WAVE/rule/RULE`` an access rule; ``MIGRATION/WAVE/quota/QUOTA`` a quota, with the values that it was given.
Rule and quota are JSON lists of what identifies them.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from anabranch.migration.access.values import QuotaKey, WaveName
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.quotas import QuotaEntity
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import dump, load
from anabranch.state.codecs.topics import ACCESS

VERSION = 1
_RULE, _QUOTA = "rule", "quota"


class AccessKey(NamedTuple):
    """The key of what was made for a wave: a rule, or a value of a quota."""

    owner: WaveName
    what: Acl | QuotaKey


def encode_key(key: AccessKey) -> bytes:
    """The bytes of a key."""
    (migration, wave), what = key
    if isinstance(what, Acl):
        resource = [what.resource_type.value, what.resource_name, what.pattern.value]
        rule = [*resource, what.principal, what.host, what.operation.value, what.permission.value]
        return f"{migration}/{wave}/{_RULE}/{_text(rule)}".encode()
    return f"{migration}/{wave}/{_QUOTA}/{_text([[list(part) for part in what.entity], what.name])}".encode()


def _text(parts: list[Any]) -> str:
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=False)


def decode_key(key: bytes) -> AccessKey:
    """What a key names; raises ``MalformedRecordError``."""
    try:
        migration, wave, kind, text = key.decode("utf-8").split("/", 3)
        parts = json.loads(text)
        owner = WaveName(migration, wave)
        if kind == _RULE:
            return AccessKey(owner, _rule(*parts))
        if kind == _QUOTA:
            entity, name = parts
            return AccessKey(owner, QuotaKey(_entity(entity), _word(name)))
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedRecordError(ACCESS, f"the key {key!r} is not one of its kinds: {error}") from None
    raise MalformedRecordError(ACCESS, f"the key {key!r} is none of its kinds")


def _rule(kind: str, name: str, pattern: str, principal: str, host: str, operation: str, permission: str) -> Acl:
    about = ResourceType(kind), _word(name), PatternType(pattern)
    return Acl(*about, _word(principal), _word(host), AclOperation(operation), AclPermission(permission))


def _entity(parts: list[list[Any]]) -> QuotaEntity:
    return tuple((_word(kind), None if name is None else _word(name)) for kind, name in parts)


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def encode_rule() -> bytes:
    """The value of a rule; the key holds all of it."""
    return dump(VERSION, {})


def decode_rule(value: bytes) -> None:
    """See that it is one; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with load(f"{ACCESS} {_RULE}", VERSION, value):
        pass


def encode_quota(values: frozenset[float]) -> bytes:
    """The value of a quota; the key holds the rest."""
    return dump(VERSION, {"values": [{"value": value} for value in sorted(values)]})


def decode_quota(value: bytes) -> frozenset[float]:
    """The values that a quota was given; raises ``MalformedRecordError``, ``NewerFormatError``."""
    with load(f"{ACCESS} {_QUOTA}", VERSION, value) as fields:
        return frozenset(one.number("value") for one in fields.each("values"))
