"""Why a sink cannot be opened or does not take a batch.  Nothing here repeats a secret or more than one row's key."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ClusterError, ConfigError, ProtocolError, RefusedError


@dataclass(eq=False)
class SinkOptionError(ConfigError):
    """An option of a sink is missing, unknown or holds what it may not."""

    table: str
    option: str
    problem: str
    fix: str

    _message = "{table}: option {option}: {problem}"
    _hint = "{fix}"


@dataclass(eq=False)
class NoSinkClientError(ConfigError):
    """The Python package that speaks with the sink's server is not installed."""

    table: str
    package: str

    _message = "{table}: the Python package {package} is not installed where the driver runs"
    _hint = "python -m pip install 'anabranch[streams]'"


@dataclass(eq=False)
class SinkSchemaError(ConfigError):
    """What the query writes does not fit what the sink has; every reason at once."""

    sink: str
    problems: tuple[str, ...]
    fix: str

    @property
    def message(self) -> str:
        return f"{self.sink}: {'; '.join(self.problems)}"

    _hint = "{fix}"


@dataclass(eq=False)
class SinkMissingError(ConfigError):
    """The table, index or database that is written into is not there."""

    sink: str
    what: str
    fix: str

    _message = "{sink}: there is no {what}"
    _hint = "{fix}"


@dataclass(eq=False)
class SinkDeniedError(ConfigError):
    """The server knows the user, or not, and does not let it do what a sink does."""

    sink: str
    why: str
    fix: str

    _message = "{sink}: not allowed: {why}"
    _hint = "{fix}"


@dataclass(eq=False)
class SinkAwayError(ClusterError):
    """The server does not answer as a sink is looked at, before its first batch."""

    sink: str
    why: str

    retryable = True
    _message = "{sink} cannot be looked at: {why}"
    _hint = "bring the server back, or correct where the table's options say that it is, and start again"


@dataclass(eq=False)
class SinkUnavailableError(ClusterError):
    """The server did not take a batch for as long as it was tried."""

    sink: str
    seconds: float
    attempts: int
    why: str

    retryable = True
    _message = "{sink} did not take the batch within {seconds:g} s (attempts: {attempts}): {why}"
    _hint = "bring the server back, or free what it is out of; option retry_seconds says how long a batch is tried"


@dataclass(eq=False)
class WriterFencedError(RefusedError):
    """A later start of the same job writes into the sink; this one is to end."""

    sink: str
    query: str
    fence: int
    seen: int

    _message = "{sink}: start {fence} of query {query} is fenced: start {seen} writes there"
    _hint = "end this process; the later start has all that this one would write"


@dataclass(eq=False)
class BranchGoneError(RefusedError):
    """The branch that a start appends to was taken away, which a later start of the same job does."""

    sink: str
    branch: str
    fence: int

    _message = "{sink}: branch {branch} of start {fence} is gone: a later start writes there"
    _hint = "end this process; the later start has all that this one would write"


@dataclass(eq=False)
class BatchBehindError(RefusedError):
    """The checkpoint asks for a batch before the last one that the sink has."""

    sink: str
    query: str
    batch: int
    seen: int

    _message = "{sink} has batch {seen} of query {query}, and batch {batch} of the same checkpoint shall be written"
    _hint = (
        "the checkpoint was set back: start the query with a checkpoint of another id, which counts its "
        "batches from 0, and rows are written again"
    )


@dataclass(eq=False)
class DuplicateKeysError(RefusedError):
    """Rows of a batch have one key, and nothing says which of them is the last."""

    sink: str
    key: tuple[str, ...]
    example: str
    ordered: bool

    @property
    def message(self) -> str:
        tie = ", and equal order columns" if self.ordered else ""
        return f"{self.sink}: rows of one batch have one key ({', '.join(self.key)}){tie}, such as {self.example}"

    @property
    def hint(self) -> str:
        if self.ordered:
            return "add a column to option order that tells them apart"
        return "add the option order, of which the greatest row stays, or group the query by the key"


@dataclass(eq=False)
class RowRefusedError(RefusedError):
    """A value cannot be written as it is."""

    sink: str
    why: str

    _message = "{sink} cannot take a row: {why}"
    _hint = "change the query, or the column of the sink, so that the value fits; the batch is not counted as written"


@dataclass(eq=False)
class SinkAnswerError(ProtocolError):
    """The server answered what it is not known to answer."""

    sink: str
    answer: str

    _message = "{sink} answered: {answer}"
    _hint = "read the server's log; the batch is tried again when the query starts again"
