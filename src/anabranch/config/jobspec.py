"""What a link's Spark job is told, as versioned JSON: no Spark session and no secret is in it."""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import PlainSerializer, PlainValidator, TypeAdapter, ValidationError

from anabranch.config.contexts import context_fields, read_context
from anabranch.config.yaml_file import check_replaceable, not_writable
from anabranch.errors import AnabranchError, ProtocolError
from anabranch.model.cluster import ClusterContext

VERSION = 2
T = TypeVar("T")


@dataclass(eq=False)
class JobSpecError(ProtocolError):
    """A job specification that this version cannot read."""

    problem: str

    _message = "the job specification cannot be read: {problem}"
    _hint = "start the job with the same version of Anabranch that wrote it"


def entry_of(context: ClusterContext) -> dict[str, Any]:
    """A cluster context in a specification; it holds references to secrets and no secret."""
    return {"name": context.name, **context_fields(context)}


def context_of(entry: Mapping[str, Any]) -> ClusterContext:
    """The context that ``entry_of`` wrote."""
    rest = dict(entry)
    return read_context(str(rest.pop("name")), rest, "job specification")


Context = Annotated[ClusterContext, PlainValidator(context_of), PlainSerializer(entry_of)]
"""A cluster context as a field of a specification."""


@dataclass(frozen=True, slots=True)
class JobFormat(Generic[T]):
    """How the specification of one kind of job is stored: JSON with its kind, its version and no unknown field."""

    job: str
    version: int
    adapter: TypeAdapter[T]

    def dump(self, spec: T) -> str:
        """The text of a specification."""
        fields = self.adapter.dump_python(spec, mode="json", by_alias=True)
        return json.dumps({"v": self.version, "job": self.job, **fields}, sort_keys=True)

    def load(self, text: str) -> T:
        """The specification of a text; raises JobSpecError for all that it cannot read."""
        try:
            fields = json.loads(text)
            found = fields.pop("v"), fields.pop("job")
            if found != (self.version, self.job):
                raise JobSpecError(f"version {found[0]} of job {found[1]!r}")
            return self.adapter.validate_json(json.dumps(fields), strict=True, extra="forbid")
        except JobSpecError:
            raise
        except ValidationError as error:
            raise JobSpecError(_first_problem(error)) from error
        except AnabranchError as error:
            raise JobSpecError(error.message) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise JobSpecError(repr(error)) from error


def _first_problem(error: ValidationError) -> str:
    """The first field that pydantic refuses, and why."""
    first = error.errors()[0]
    return f"{'.'.join(str(one) for one in first['loc'])}: {first['msg']}"


@dataclass(frozen=True, slots=True)
class LinkJob:
    """Run one link: its id, both clusters, the name of this run, and the length of a lease in seconds.

    ``run`` is empty in a specification that may be started more than once: whoever starts it draws a name.
    """

    link: str
    run: str
    source: Context
    target: Context
    lease_seconds: float

    def named(self) -> LinkJob:
        """With a name of its own for the run, where it has none: two drivers that share one would share claims."""
        return self if self.run else replace(self, run=f"run-{uuid.uuid4().hex[:12]}")

    def to_json(self) -> str:
        """The versioned text."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, text: str) -> LinkJob:
        """Read the text; raises JobSpecError."""
        return _FORMAT.load(text)


def check_spec_path(path: Path) -> None:
    """Raise UnreadableFileError where ``write_spec`` would; what is there and is no directory may be a device."""
    if not path.exists() or path.is_dir():
        check_replaceable(path)
    elif not os.access(path, os.W_OK):
        raise not_writable(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def write_spec(path: Path, text: str) -> None:
    """Write a job's specification, for nobody else to read; raises ``UnreadableFileError``."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
    except OSError as error:
        raise not_writable(path, error) from error


_FORMAT = JobFormat("link", VERSION, TypeAdapter(LinkJob))
