"""Which versions of Flink and of its connector can have written what was found."""

from __future__ import annotations

from anabranch.checkpoints.flink import dynamic, enumerator
from anabranch.checkpoints.flink.dynamic import DynamicState
from anabranch.checkpoints.flink.enumerator import EnumeratorState
from anabranch.checkpoints.flink.handles import EmptySegment, FileSegment
from anabranch.checkpoints.flink.metadata import SavepointMetadata
from anabranch.checkpoints.flink.source import Source

_BY_METADATA = {3: ("1.11", "1.15"), 4: ("1.16", "1.20"), 5: ("2.0", "2.0"), 6: ("2.1", "2.3")}
_BY_ENUMERATOR = {0: ("1.12", "1.12"), 1: ("1.13", "1.15")}
"""Connectors were a part of Flink then: 1.12 wrote version 0, and 1.13 began to write version 1."""
_ORDER = ("1.11", "1.12", "1.13", "1.14", "1.15", "1.16", "1.17", "1.18", "1.20", "2.0", "2.1", "2.3")


def engine(metadata: SavepointMetadata, sources: tuple[Source, ...]) -> str:
    """The range of Flink versions, as narrow as metadata, enumerators, operator state and merged files make it."""
    first, last = _BY_METADATA[metadata.version]
    proxies = {state.proxy for source in sources for state in source.states.values()}
    if proxies == {6}:
        first = _later(first, "1.18")
    elif proxies == {5} and last == "1.20":
        last = "1.17"
    for source in sources if metadata.version == 3 else ():
        if source.coordinator is not None and isinstance(source.enumerator, EnumeratorState):
            earliest, latest = _BY_ENUMERATOR.get(source.enumerator.version, (first, last))
            first, last = _later(first, earliest), min(last, latest, key=_ORDER.index)
    if _finished(metadata):
        first = _later(first, "1.14")
    if _merged(metadata):
        first = _later(first, "1.20")
    return f"Flink {first}" if first == last else f"Flink {first} to {last}"


def formats(metadata: SavepointMetadata, sources: tuple[Source, ...]) -> dict[str, str]:
    """Each format version by where it is."""
    out = {"_metadata": str(metadata.version)}
    for source in sources:
        proxies = sorted({state.proxy for state in source.states.values()})
        if proxies:
            packed = ", compressed" if any(state.compressed for state in source.states.values()) else ""
            out[f"operator state of {source.label}"] = ", ".join(map(str, proxies)) + packed
        if source.coordinator is not None and source.enumerator is not None:
            version = source.coordinator.version
            known = dynamic.CONNECTORS if isinstance(source.enumerator, DynamicState) else enumerator.CONNECTORS
            out[f"enumerator of {source.label}"] = f"{version} ({known[version]})"
    return out


def _later(one: str, other: str) -> str:
    return max(one, other, key=_ORDER.index)


def _finished(metadata: SavepointMetadata) -> bool:
    return any(
        operator.subtasks is None or any(subtask.finished for subtask in operator.subtasks)
        for operator in metadata.operators
    )


def _merged(metadata: SavepointMetadata) -> bool:
    for operator in metadata.operators:
        for subtask in operator.subtasks or ():
            if any(span.merged for span in (*subtask.keyed, *subtask.channels)):
                return True
            for handle in (subtask.managed, subtask.raw):
                if handle is not None and isinstance(handle.delegate, (FileSegment, EmptySegment)):
                    return True
    return False
