"""What the service refuses of trials, and of scripts that it has tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anabranch.errors import ConfigError, RefusedError
from anabranch.streams.trials import ScriptProblem


@dataclass(eq=False)
class NoTrialError(RefusedError):
    """No trial of an id, of which this account may know."""

    id: str

    _message = "there is no trial {id} here"
    _hint = "ask again: POST /api/v1/trials; a trial is known to its instance alone, for ten minutes after its end"


@dataclass(eq=False)
class PreviewsOffError(RefusedError):
    """The service was told to run no previews."""

    _message = "this service runs no previews"
    _hint = "set `previews` in its file to how many may run at once; or preview a file: anabranch stream preview FILE"


@dataclass(eq=False)
class TooManyTrialsError(RefusedError):
    """As many trials wait as may."""

    retryable: ClassVar[bool] = True
    waiting: int

    _message = "{waiting} trials of scripts wait already"
    _hint = "ask again in a minute"


class _AsFound:
    """An error that says what a trial has found."""

    found: ScriptProblem

    @property
    def message(self) -> str:
        return self.found.message

    @property
    def hint(self) -> str:
        return self.found.hint


@dataclass(eq=False)
class ScriptRefusedError(_AsFound, ConfigError):
    """Spark refuses a script that was to be saved."""

    found: ScriptProblem


@dataclass(eq=False)
class ScriptDeniedError(_AsFound, RefusedError):
    """A script that was to be saved uses what no grant allows."""

    found: ScriptProblem


@dataclass(eq=False)
class NotValidatedError(RefusedError):
    """A script could not be tried, so that it is not known whether it can be run."""

    retryable: ClassVar[bool] = True
    why: str
    fix: str = ""

    _message = "the script could not be validated: {why}"
    _hint = "{fix}"
