"""Every error that Anabranch raises.

    AnabranchError
    ├── ConfigError          a file, flag or environment variable is wrong; nothing was done   (exit 2)
    ├── RefusedError         the request is understood and will not be carried out             (exit 3)
    ├── ClusterError         a cluster could not be reached, or refused                         (exit 4)
    └── ProtocolError        bytes or answers that break the wire format or an invariant        (exit 5)

A subclass is a dataclass: its fields make the message, so that programs read fields and people read sentences.
``_message`` and ``_hint`` are templates of its fields; where a sentence needs more than that, a subclass overrides
``message`` or ``hint``. ``hint`` names the next command or the fix. ``retryable`` is a fact of the class: whether
the same call may succeed later without a change by a person. Errors cross process boundaries inside Spark, so they
pickle whole. A package may add subclasses of the four branches beside the code that raises them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

E = TypeVar("E", bound="AnabranchError")


def _rebuild(cls: type[E], state: dict[str, Any]) -> E:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    return error


@dataclass(eq=False)
class AnabranchError(Exception):
    """The base of all errors here; subclasses say what happened in ``message`` and what to do in ``hint``."""

    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1
    _message: ClassVar[str] = ""
    _hint: ClassVar[str] = ""

    @property
    def message(self) -> str:
        """One sentence made of the error's fields."""
        return self._message.format_map(vars(self)) or type(self).__name__

    @property
    def hint(self) -> str:
        """The next command to run or the thing to change; empty where there is none."""
        return self._hint.format_map(vars(self))

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), dict(self.__dict__))


class ConfigError(AnabranchError):
    """Something that the user wrote is wrong; nothing was done."""

    exit_code = 2


class RefusedError(AnabranchError):
    """The request is understood and is refused for a stated reason."""

    exit_code = 3


class ClusterError(AnabranchError):
    """A cluster could not be reached, or answered with a refusal."""

    exit_code = 4


class ProtocolError(AnabranchError):
    """Bytes or answers that break the wire format, a stored format or an invariant."""

    exit_code = 5


@dataclass(eq=False)
class InvalidFieldError(ConfigError):
    """A field of a file or a flag holds what it may not; names the place, the field and the fix."""

    where: str
    field: str
    problem: str
    fix: str = ""

    _hint = "{fix}"

    @property
    def message(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.problem) if part)
