"""``__anabranch_positions``: what concerns consumer groups.

``LINK/mark/GROUP`` where a group stood when copying began; ``LINK/round`` the last round of continuous sync;
``LINK/sync/GROUP`` how a group in continuous sync stands; ``/undo/ID/GROUP`` what a group had committed before it was
moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from anabranch.groups.baseline import Baseline, BaselinePartition, Coverage
from anabranch.groups.continuous_sync import SyncState
from anabranch.groups.freshness import GroupSyncStatus, SyncRound
from anabranch.groups.undo import UndoRecord
from anabranch.model.groups import Commit, GroupKind
from anabranch.model.topics import TopicPartition
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.fields import Fields, dump, load
from anabranch.state.codecs.topics import POSITIONS

VERSION = 1
_MARK, _ROUND, _SYNC, _UNDO = "mark", "round", "sync", "undo"


class _StoredState(StrEnum):
    """``SyncState`` in the words of the stored format, which are older than those of the code."""

    IN_SYNC = "in step"
    WAITING = "waiting"
    BLOCKED = "held"
    ACTIVE = "active"


class BaselineKey(NamedTuple):
    """The key of a baseline."""

    link: str
    group: str


class RoundKey(NamedTuple):
    """The key of a link's last round."""

    link: str


class SyncKey(NamedTuple):
    """The key of how a group in continuous sync stands."""

    link: str
    group: str


class UndoKey(NamedTuple):
    """The key of an undo record."""

    id: str
    group: str


Key = BaselineKey | RoundKey | SyncKey | UndoKey


def encode_key(key: Key) -> bytes:
    """The bytes of a key; a group's name stands last, for it may hold anything."""
    if isinstance(key, BaselineKey):
        text = f"{key.link}/{_MARK}/{key.group}"
    elif isinstance(key, RoundKey):
        text = f"{key.link}/{_ROUND}"
    elif isinstance(key, SyncKey):
        text = f"{key.link}/{_SYNC}/{key.group}"
    else:
        text = f"/{_UNDO}/{key.id}/{key.group}"
    return text.encode("utf-8")


def decode_key(key: bytes) -> Key:
    """What a key names; raises ``MalformedRecordError``."""
    try:
        text = key.decode("utf-8")
    except UnicodeDecodeError:
        raise MalformedRecordError(POSITIONS, f"the key {key!r} is not UTF-8") from None
    link, _, rest = text.partition("/")
    kind, slash, name = rest.partition("/")
    if link and kind == _ROUND and not slash:
        return RoundKey(link)
    if link and slash and kind == _MARK:
        return BaselineKey(link, name)
    if link and slash and kind == _SYNC:
        return SyncKey(link, name)
    if not link and slash and kind == _UNDO:
        id_, slash, group = name.partition("/")
        if id_ and slash:
            return UndoKey(id_, group)
    raise MalformedRecordError(POSITIONS, f"the key {text!r} is none of its kinds")


def encode_baseline(baseline: Baseline) -> bytes:
    """The value of a baseline; the key holds the rest."""
    return dump(
        VERSION,
        {
            "kind": baseline.kind.value,
            "marked_at_ms": baseline.taken_at_ms,
            "partitions": [
                {
                    **_place(one.source),
                    "offset": one.commit.offset,
                    "metadata": one.commit.metadata,
                    "begin": one.begin,
                    "verdict": one.coverage.value,
                }
                for one in baseline.partitions
            ],
        },
    )


def decode_baseline(key: bytes, value: bytes) -> Baseline:
    """A baseline; raises ``MalformedRecordError``, ``NewerFormatError``."""
    name = decode_key(key)
    if not isinstance(name, BaselineKey):
        raise MalformedRecordError(POSITIONS, "the key is not a mark's")
    with load(f"{POSITIONS} {name.link}/{_MARK}/{name.group}", VERSION, value) as fields:
        return Baseline(
            name.link,
            name.group,
            fields.enum("kind", GroupKind),
            tuple(
                BaselinePartition(
                    _read_place(one),
                    Commit(one.integer("offset"), one.text("metadata")),
                    one.optional_integer("begin"),
                    one.enum("verdict", Coverage),
                )
                for one in fields.each("partitions")
            ),
            fields.integer("marked_at_ms"),
        )


def encode_round(done: SyncRound) -> bytes:
    """The value of a link's last round; the key holds the rest."""
    return dump(
        VERSION,
        {
            "owner": done.owner,
            "ended_at_ms": done.ended_at_ms,
            "read_at_ms": done.read_at_ms,
            "took_ms": done.took_ms,
            "interval_ms": done.interval_ms,
            "moved": done.moved,
            "groups": {_StoredState[state.name].value: number for state, number in done.groups.items()},
            "error": done.error,
        },
    )


def decode_round(key: bytes, value: bytes) -> SyncRound:
    """A link's last round; raises ``MalformedRecordError``, ``NewerFormatError``."""
    name = decode_key(key)
    if not isinstance(name, RoundKey):
        raise MalformedRecordError(POSITIONS, "the key is not a round's")
    with load(f"{POSITIONS} {name.link}/{_ROUND}", VERSION, value) as fields:
        owner, ended = fields.text("owner"), fields.integer("ended_at_ms")
        with fields.nested("groups") as counts:
            groups = {SyncState[one.name]: counts.integer(one.value) for one in _StoredState if counts.has(one.value)}
        return SyncRound(
            name.link,
            owner,
            ended,
            fields.optional_integer("read_at_ms"),
            fields.integer("took_ms"),
            fields.integer("interval_ms"),
            fields.integer("moved"),
            groups,
            fields.text("error"),
        )


def encode_since(one: GroupSyncStatus) -> bytes:
    """The value of how a group in continuous sync stands; the key holds the rest."""
    return dump(VERSION, {"state": _StoredState[one.state.name].value, "since_ms": one.since_ms, "why": one.why})


def decode_since(key: bytes, value: bytes) -> GroupSyncStatus:
    """How a group in continuous sync stands; raises ``MalformedRecordError``, ``NewerFormatError``."""
    name = decode_key(key)
    if not isinstance(name, SyncKey):
        raise MalformedRecordError(POSITIONS, "the key is not one of a group in continuous sync")
    with load(f"{POSITIONS} {name.link}/{_SYNC}/{name.group}", VERSION, value) as fields:
        return GroupSyncStatus(
            name.link,
            name.group,
            SyncState[fields.enum("state", _StoredState).name],
            fields.integer("since_ms"),
            fields.text("why"),
        )


def encode_undo(record: UndoRecord) -> bytes:
    """The value of an undo record; the key holds the rest."""
    return dump(
        VERSION,
        {
            "existed": record.existed,
            "made_at_ms": record.made_at_ms,
            "undone_at_ms": record.undone_at_ms,
            "what": record.what,
            "partitions": [
                {**_place(at), "former": _commit(record.former[at]), "wrote": _commit(record.wrote[at])}
                for at in sorted(record.wrote)
            ],
        },
    )


def decode_undo(key: bytes, value: bytes) -> UndoRecord:
    """An undo record; raises ``MalformedRecordError``, ``NewerFormatError``."""
    name = decode_key(key)
    if not isinstance(name, UndoKey):
        raise MalformedRecordError(POSITIONS, "the key is not an undo record's")
    with load(f"{POSITIONS} /{_UNDO}/{name.id}/{name.group}", VERSION, value) as fields:
        former: dict[TopicPartition, Commit | None] = {}
        wrote: dict[TopicPartition, Commit] = {}
        for one in fields.each("partitions"):
            at = _read_place(one)
            former[at] = None if one.is_null("former") else _read_commit(one, "former")
            wrote[at] = _read_commit(one, "wrote")
        return UndoRecord(
            name.id,
            name.group,
            fields.flag("existed"),
            former,
            wrote,
            fields.integer("made_at_ms"),
            fields.text("what"),
            fields.optional_integer("undone_at_ms"),
        )


def _place(at: TopicPartition) -> dict[str, Any]:
    return {"topic": at.topic, "partition": at.partition}


def _read_place(fields: Fields) -> TopicPartition:
    return TopicPartition(fields.text("topic"), fields.integer("partition"))


def _commit(commit: Commit | None) -> Mapping[str, Any] | None:
    if commit is None:
        return None
    return {"offset": commit.offset, "metadata": commit.metadata, "leader_epoch": commit.leader_epoch}


def _read_commit(fields: Fields, name: str) -> Commit:
    with fields.nested(name) as inner:
        return Commit(inner.integer("offset"), inner.text("metadata"), inner.integer("leader_epoch"))
