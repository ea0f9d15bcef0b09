"""Finding the Kafka sources in the bytes: every length, name, number and set must fit, or an operator is not one.

Other sources keep their state under the same name. What is partly a Kafka source, one half whole and the other not
understood, is given with its problems and refused later: to pass over it would restart it from the beginning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.checkpoints.errors import DamagedCheckpointError, MissingFileError, UnknownVersionError
from anabranch.checkpoints.flink import elements, hybrid, old_consumer, properties
from anabranch.checkpoints.flink.coordinator import Coordinator, read_coordinator
from anabranch.checkpoints.flink.dynamic import DynamicState, read_dynamic_element, read_dynamic_state
from anabranch.checkpoints.flink.elements import Element, read_kafka_element
from anabranch.checkpoints.flink.enumerator import EnumeratorState, read_enumerator
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata
from anabranch.checkpoints.flink.old_consumer import read_old_element
from anabranch.checkpoints.flink.operator_state import OperatorState
from anabranch.checkpoints.flink.reader import ByteReader
from anabranch.checkpoints.flink.source import Source, SourceKind, StoredSplit, label
from anabranch.checkpoints.flink.stored import StateStore
from anabranch.errors import ConfigError, RefusedError
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

T = TypeVar("T")
_FIX = "take the savepoint again, or leave this source out: name those to move with --source"


@dataclass(slots=True)
class _Gathered:
    """Elements of one state of an operator, not understood yet."""

    found: list[tuple[int, int, ByteReader]] = field(default_factory=list)
    states: dict[int, OperatorState] = field(default_factory=dict)
    problem: str = ""
    fix: str = ""


def find_sources(metadata: SavepointMetadata, store: StateStore) -> tuple[Source, ...]:
    """All Kafka sources, in the order of the file. Reads the operator state of operators that may be one."""
    stopped = properties.stopped(metadata.properties)
    found = (_source(operator, store, stopped) for operator in metadata.operators)
    return tuple(source for source in found if source is not None)


def _source(operator: Operator, store: StateStore, stopped: bool) -> Source | None:
    if _has(operator, old_consumer.STATE):
        return _old(operator, store, stopped)
    if operator.coordinator is None and not _has(operator, elements.STATE):
        return None
    return _new(operator, store)


def _has(operator: Operator, name: str) -> bool:
    handles = (subtask.managed for subtask in operator.subtasks or ())
    return any(handle is not None and handle.state(name) is not None for handle in handles)


def _old(operator: Operator, store: StateStore, stopped: bool) -> Source:
    gathered = _gather(operator, old_consumer.STATE, store)
    stored, problem = _parse(gathered, read_old_element)
    problems, stale = _problems(operator, problem, _twice(stored), fix=gathered.fix), None
    if not gathered.found and not gathered.problem:
        what = "no position is stored; a restart reads from the beginning"
        problems = (*problems, Reason(ReasonKind.UNKNOWN, what, old_consumer.INSTEAD, label(operator)))
    elif stopped:  # its state is then what the job's last checkpoint left in it
        stale = Reason(ReasonKind.UNKNOWN, old_consumer.STALE, old_consumer.ANYWAY, label(operator))
    return Source(
        operator, SourceKind.OLD, old_consumer.STATE, stored, states=gathered.states, problems=problems, stale=stale
    )


def _new(operator: Operator, store: StateStore) -> Source | None:
    root = store.files.root
    name = f"coordinator of {label(operator)}"
    data = operator.coordinator.data if operator.coordinator else b""
    coordinator, trouble = _try(lambda: read_coordinator(ByteReader(data, root, name)))

    def enumerator(read: Callable[[ByteReader, int], T]) -> tuple[T | None, str]:
        if coordinator is None:
            return None, "its enumerator's state is missing" if operator.coordinator is None else trouble
        return _try(lambda: read(ByteReader(coordinator.state, root, name), coordinator.version))

    gathered = _gather(operator, elements.STATE, store)
    plain, dynamic = enumerator(read_enumerator), enumerator(read_dynamic_state)
    stored, problem = _parse(gathered, read_kafka_element)
    dynamic_stored, dynamic_problem = _parse(gathered, read_dynamic_element)
    plain_found = plain[0] is not None and bool(plain[0].assignments)
    dynamic_found = dynamic[0] is not None and any(one.assignments for one in dynamic[0].enumerators.values())
    if stored or (plain_found and not dynamic_stored):
        return _whole(operator, SourceKind.KAFKA, gathered, stored, problem, coordinator, plain)
    if dynamic_stored or dynamic_found:
        return _whole(operator, SourceKind.DYNAMIC, gathered, dynamic_stored, dynamic_problem, coordinator, dynamic)
    if hybrid.reads_kafka([reader for _, _, reader in gathered.found], coordinator, root, name):
        refusal = Reason(
            ReasonKind.UNSUPPORTED,
            "a HybridSource that reads Kafka; its state is not rewritten",
            "leave it out with --source; once it has read what is before Kafka, make it a KafkaSource with another "
            "uid, at committed offsets: `anabranch checkpoint advise` shows how to begin its group",
            label(operator),
        )
        return Source(operator, SourceKind.HYBRID, elements.STATE, problems=(refusal,))
    return None


def _whole(
    operator: Operator,
    kind: SourceKind,
    gathered: _Gathered,
    stored: tuple[StoredSplit, ...],
    problem: str,
    coordinator: Coordinator | None,
    enumerator: tuple[EnumeratorState | DynamicState | None, str],
) -> Source:
    state, trouble = enumerator
    source = Source(operator, kind, elements.STATE, stored, coordinator, state, gathered.states)
    assigned = {(cluster, one) for cluster, found in source.enumerators.items() for one in found.assigned}
    beyond = sorted({one.key for one in stored} - assigned) if state is not None else []
    lost = f"partitions are read that its enumerator did not hand out: {_names(beyond)}" if beyond else ""
    emitted = state is None or (coordinator is not None and state.emit() == coordinator.state)
    altered = "" if emitted else "its enumerator's state would not be written again as it is"
    problems = _problems(operator, problem, trouble, lost, altered, _twice(stored), fix=gathered.fix)
    return Source(operator, kind, elements.STATE, stored, coordinator, state, gathered.states, problems)


def _gather(operator: Operator, state_name: str, store: StateStore) -> _Gathered:
    gathered = _Gathered()
    for at, subtask in enumerate(operator.subtasks or ()):
        handle = subtask.managed
        entry = handle.state(state_name) if handle is not None else None
        if handle is None or entry is None or not entry.offsets:
            continue
        name = f"{state_name} of {label(operator)}, subtask {subtask.index}"
        all_offsets = Counter(offset for state in handle.states for offset in state.offsets)
        try:
            state = store.operator_state(handle, name)
        except MissingFileError as error:
            gathered.problem, gathered.fix = gathered.problem or error.message, gathered.fix or _elsewhere(error)
            continue
        except (DamagedCheckpointError, RefusedError, ConfigError) as error:
            gathered.problem = gathered.problem or error.message
            continue
        if any(all_offsets[offset] > 1 for offset in entry.offsets):
            gathered.problem = gathered.problem or f"{name}: elements are at one and the same place"
            continue
        gathered.states[at] = state
        for offset in entry.offsets:
            gathered.found.append((at, offset, ByteReader(state.elements[offset], store.files.root, name)))
    return gathered


def _parse(gathered: _Gathered, read: Callable[[ByteReader], Element]) -> tuple[tuple[StoredSplit, ...], str]:
    """All elements, or none and the first that is not understood."""
    stored = []
    for subtask, offset, reader in gathered.found:
        element, problem = _try(lambda: read(ByteReader(reader.data, reader.path, reader.name)))  # noqa: B023
        if element is None:
            return (), gathered.problem or problem
        stored.append(StoredSplit(subtask, offset, element))
    return tuple(stored), gathered.problem


def _try(read: Callable[[], T]) -> tuple[T | None, str]:
    try:
        return read(), ""
    except (DamagedCheckpointError, UnknownVersionError) as error:
        return None, error.message


def _twice(stored: tuple[StoredSplit, ...]) -> str:
    twice = sorted(key for key, count in Counter(one.key for one in stored).items() if count > 1)
    return f"partitions are stored twice: {_names(twice)}" if twice else ""


def _problems(operator: Operator, *problems: str, fix: str) -> tuple[Reason, ...]:
    """A refusal for each; ``fix`` is the way out where state could not be reached, and may be all right."""
    return tuple(Reason(ReasonKind.UNKNOWN, problem, fix or _FIX, label(operator)) for problem in problems if problem)


def _elsewhere(error: MissingFileError) -> str:
    """A file that is absent here is most often on a volume that only the job's machines have."""
    directory = error.name.rpartition("/")[0] or error.path
    return f"run this where {directory} is mounted, or bring the file back; the checkpoint itself may be sound"


def _names(keys: list[tuple[str, TopicPartition]]) -> str:
    return ", ".join(str(partition) for _, partition in keys[:8]) + (" and more" if len(keys) > 8 else "")
