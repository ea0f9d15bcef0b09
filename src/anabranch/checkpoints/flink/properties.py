"""What a checkpoint's properties tell: a Java object, kept as it is and only looked at for the names in it."""

from __future__ import annotations

_PACKAGE = b"org.apache.flink.runtime.checkpoint."
_SAVEPOINT = _PACKAGE + b"SavepointType"
_CHECKPOINT = _PACKAGE + b"CheckpointType"


def kind(properties: bytes) -> str:
    """``savepoint``, ``checkpoint``, or empty if not known (before metadata version 4, or by other writers)."""
    savepoint, checkpoint = _names(properties, _SAVEPOINT), _names(properties, _CHECKPOINT)
    if savepoint == checkpoint:
        return ""
    if checkpoint:
        return "checkpoint"
    native, canonical = _says(properties, b"NATIVE"), _says(properties, b"CANONICAL")
    if native == canonical:
        return "savepoint"
    return "native savepoint" if native else "canonical savepoint"


def stopped(properties: bytes) -> bool:
    """Whether the job was stopped with it: a savepoint says so since metadata version 4, by SUSPEND or TERMINATE."""
    return _names(properties, _SAVEPOINT) and (_says(properties, b"SUSPEND") or _says(properties, b"TERMINATE"))


def _names(properties: bytes, name: bytes) -> bool:
    """Whether a class of that name is described: 72, the name's length, the name."""
    return b"\x72" + len(name).to_bytes(2, "big") + name in properties


def _says(properties: bytes, text: bytes) -> bool:
    """Whether a string is there: 74, its length, the string."""
    return b"\x74" + len(text).to_bytes(2, "big") + text in properties
