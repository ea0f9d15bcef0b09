"""Transactions that a sink has written and not committed: only the cluster that has them can commit them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from anabranch.checkpoints.errors import DamagedCheckpointError
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata
from anabranch.checkpoints.flink.source import label
from anabranch.checkpoints.flink.stored import StateStore
from anabranch.checkpoints.plan import PendingTransactions
from anabranch.errors import ConfigError, RefusedError
from anabranch.model.reasons import Reason, ReasonKind

COMMITTER_STATE = "streaming_committer_raw_states"
WRITER_STATE = "writer_raw_states"
_OLD_HINTS = ("next-transactional-id-hint", "next-transactional-id-hint-v2")
_COMMITTABLE = struct.Struct(">hqH")
_VERSION_ONE = re.compile(rb"(?=\x00\x00\x00\x01(....))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TransactionalSink:
    """An operator with transactions; ``ids`` are those that wait to be committed, None where that was not readable.

    ``old`` is the sink of Flink up to 1.20, FlinkKafkaProducer, whose state is not taken apart.
    """

    operator: Operator
    ids: tuple[str, ...] | None
    old: bool = False

    @property
    def pending(self) -> bool:
        """Whether a transaction may wait in it."""
        return self.old or self.ids is None or bool(self.ids)

    @property
    def text(self) -> str:
        """The sink in words."""
        name = label(self.operator)
        if self.old:
            return f"{name}: FlinkKafkaProducer, exactly once; its transactions are on the old cluster"
        if self.ids is None:
            return f"{name}: a sink with a committer whose state cannot be read"
        if not self.ids:
            return f"{name}: a sink with a committer, no Kafka transaction waits in it"
        waits = "1 transaction waits" if len(self.ids) == 1 else f"{len(self.ids):,} transactions wait"
        return f"{name}: exactly-once KafkaSink, {waits} to be committed: {self._ids()}"

    def _ids(self) -> str:
        ids = self.ids or ()
        return ", ".join(ids[:4]) + (" and more" if len(ids) > 4 else "")


def find_sinks(metadata: SavepointMetadata, store: StateStore) -> tuple[TransactionalSink, ...]:
    """All operators that keep a committer's or an old producer's state, in the order of the file."""
    sinks = []
    for operator in metadata.operators:
        if any(_count(operator, name) for name in _OLD_HINTS):
            sinks.append(TransactionalSink(operator, None, old=True))
        elif _count(operator, COMMITTER_STATE):
            sinks.append(TransactionalSink(operator, _pending(operator, store)))
    return tuple(sinks)


def refuse(sinks: tuple[TransactionalSink, ...], rewrite_spec: PendingTransactions) -> Iterator[Reason]:
    """Why a job with these sinks cannot go on elsewhere, as it is wished."""
    for sink in sinks:
        if not sink.pending or rewrite_spec is PendingTransactions.KEEP:
            continue
        if rewrite_spec is PendingTransactions.REFUSE:
            yield Reason(
                ReasonKind.PENDING_TRANSACTIONS,
                f"{sink.text}; another cluster does not know them, the job would fail at its start",
                "take the savepoint with `flink stop`, which commits them, and say --transactions discard; "
                "or --transactions keep where the sink's cluster stays the same",
                label(sink.operator),
            )
        elif sink.ids is None and not sink.old:
            yield Reason(
                ReasonKind.UNKNOWN,
                f"{sink.text}; it may hold what is not of Kafka, and is not emptied unread",
                "give the sink another uid and start the job with --allowNonRestoredState",
                label(sink.operator),
            )
        elif sink.old:
            yield Reason(
                ReasonKind.UNSUPPORTED,
                f"{sink.text}; this state cannot be emptied alone",
                "give the sink another uid and start the job with --allowNonRestoredState",
                label(sink.operator),
            )


def discard(operator: Operator) -> Operator:
    """The operator with an empty committer."""
    subtasks = tuple(
        replace(subtask, managed=subtask.managed.emptied(COMMITTER_STATE)) if subtask.managed is not None else subtask
        for subtask in operator.subtasks or ()
    )
    return replace(operator, subtasks=subtasks)


def _count(operator: Operator, name: str) -> int:
    handles = (subtask.managed for subtask in operator.subtasks or () if subtask.managed is not None)
    entries = (handle.state(name) for handle in handles)
    return sum(len(entry.offsets) for entry in entries if entry is not None)


def _pending(operator: Operator, store: StateStore) -> tuple[str, ...] | None:
    ids: list[str] = []
    for subtask in operator.subtasks or ():
        entry = subtask.managed.state(COMMITTER_STATE) if subtask.managed is not None else None
        if subtask.managed is None or entry is None or not entry.offsets:
            continue
        name = f"{COMMITTER_STATE} of {label(operator)}, subtask {subtask.index}"
        try:
            state = store.operator_state(subtask.managed, name)
        except (DamagedCheckpointError, RefusedError, ConfigError):
            return None
        for offset in entry.offsets:
            ids += _transactions(state.elements[offset])
    return tuple(ids)


def _transactions(element: bytes) -> Iterator[str]:
    """Ids of the transactions in an element, whatever wraps them in this version of Flink.

    A ``KafkaCommittable`` is a version 1 and a length, then epoch, producer id and transactional id, which fill it.
    """
    for match in _VERSION_ONE.finditer(element):
        start, size = match.start() + 8, int.from_bytes(match[1], "big")
        if size <= _COMMITTABLE.size or start + size > len(element):
            continue
        epoch, producer, length = _COMMITTABLE.unpack_from(element, start)
        if epoch < 0 or producer < 0 or length != size - _COMMITTABLE.size:
            continue
        text = element[start + _COMMITTABLE.size : start + size].decode("utf-8", "replace")
        if text.isprintable():
            yield text
