"""Migrations and the journals of their waves as a store keeps them, and why it refuses; known without a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.errors import RefusedError

OPERATOR, SEEN = "operator", "seen"
"""The parts of a migration's throttle."""


@dataclass(frozen=True, slots=True)
class StoredMigration:
    """A migration as it is kept: ``document`` is the mapping of its file.

    ``holds`` says why the switches of a wave wait, by its name, and of all at the empty one; ``throttle`` is how its
    copying is slowed down, empty where nobody has looked.  ``access`` is what the last rounds came to that carried
    access rules over, by wave.
    """

    name: str
    revision: int
    created: int
    author: str
    document: Mapping[str, Any]
    holds: Mapping[str, str] = field(default_factory=dict)
    throttle: Mapping[str, Any] = field(default_factory=dict)
    access: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it is kept: ``journal`` as values, ``cancelled`` why a person wants it given up, or empty.

    ``waits`` is what it waited for when it was last told, which is no part of its journal.
    """

    id: str
    migration: str
    wave: str
    is_open: bool
    state: str
    revision: int
    began: int
    author: str
    cancelled: str
    journal: Mapping[str, Any]
    waits: str = ""


@dataclass(eq=False)
class MigrationExistsError(RefusedError):
    """There is a migration of that name."""

    name: str

    _message = "there is a migration {name!r} already"
    _hint = "look at it: `anabranch migrate show {name}`; give the new one another name"


@dataclass(eq=False)
class NoMigrationError(RefusedError):
    """There is no migration of that name."""

    name: str

    _message = "there is no migration {name!r}"
    _hint = "list them: `anabranch migrate status`"


@dataclass(eq=False)
class MigrationChangedError(RefusedError):
    """Somebody has changed a migration since."""

    name: str

    _message = "somebody has changed migration {name!r} since it was read"
    _hint = "look at it again: `anabranch migrate show {name}`"


@dataclass(eq=False)
class WaveBusyError(RefusedError):
    """Something is under way for a wave, and until that has ended nothing else begins."""

    migration: str
    wave: str
    run: str

    _message = "run {run} of wave {wave} is under way"
    _hint = (
        "wait for it: `anabranch migrate show {migration} --wave {wave} --wait`; or, before its point of no return, "
        "give it up: `anabranch migrate cancel {migration} --wave {wave} --reason WHY --execute`"
    )


@dataclass(eq=False)
class WaveMovedError(RefusedError):
    """Something was done for a wave since what is to begin was planned: it may stand somewhere else by now."""

    migration: str
    wave: str

    _message = "something was done for wave {wave} of migration {migration} since this was planned"
    _hint = "see where it stands: `anabranch migrate status {migration}`; then ask again"


@dataclass(eq=False)
class RunTakenError(RefusedError):
    """Another engine has gone on with a run since."""

    run: str

    _message = "another engine goes on with run {run}"
    _hint = "look at it: `anabranch migrate status`"


@dataclass(eq=False)
class NoRunError(RefusedError):
    """There is no such run."""

    run: str

    _message = "there is no run {run}"
    _hint = "list them: `anabranch migrate status`"
