"""What a link's Spark job is told, as versioned JSON: no Spark session and no secret is in it."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from anabranch.config.contexts import context_fields, read_context
from anabranch.errors import AnabranchError, ProtocolError
from anabranch.model.cluster import ClusterContext

VERSION = 2
T = TypeVar("T")


@dataclass(eq=False)
class JobSpecError(ProtocolError):
    """A job specification that this version cannot read."""

    problem: str

    @property
    def message(self) -> str:
        return f"the job specification cannot be read: {self.problem}"

    @property
    def hint(self) -> str:
        return "start the job with the same version of Anabranch that wrote it"


@dataclass(frozen=True, slots=True)
class LinkJob:
    """Run one link: its id, both clusters, the name of this run, and the length of a lease in seconds.

    ``run`` is empty in a specification that may be started more than once: whoever starts it draws a name.
    """

    link: str
    run: str
    source: ClusterContext
    target: ClusterContext
    lease_seconds: float

    def named(self) -> LinkJob:
        """With a name of its own for the run, where it has none: two drivers that share one would share claims."""
        return self if self.run else replace(self, run=f"run-{uuid.uuid4().hex[:12]}")

    def to_json(self) -> str:
        """The versioned text."""
        return json.dumps(
            {
                "v": VERSION,
                "job": "link",
                "link": self.link,
                "run": self.run,
                "source": entry_of(self.source),
                "target": entry_of(self.target),
                "lease_seconds": self.lease_seconds,
            },
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> LinkJob:
        """Read the text; raises JobSpecError."""
        return read_spec(
            text,
            "link",
            VERSION,
            lambda fields: cls(
                fields["link"],
                fields.get("run", ""),
                context_of(fields["source"]),
                context_of(fields["target"]),
                float(fields["lease_seconds"]),
            ),
        )


def read_spec(text: str, job: str, version: int, build: Callable[[Mapping[str, Any]], T]) -> T:
    """What ``build`` makes of the fields of a job's specification; raises JobSpecError for all that it cannot read."""
    try:
        fields = json.loads(text)
        if fields["v"] != version or fields["job"] != job:
            raise JobSpecError(f"version {fields['v']} of job {fields['job']!r}")
        return build(fields)
    except JobSpecError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, AnabranchError) as error:
        raise JobSpecError(repr(error)) from error


def write_spec(path: Path, text: str) -> None:
    """Write a job's specification, for nobody else to read; raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def entry_of(context: ClusterContext) -> dict[str, Any]:
    """A cluster context in a specification; it holds references to secrets and no secret."""
    return {"name": context.name, **context_fields(context)}


def context_of(entry: Mapping[str, Any]) -> ClusterContext:
    """The context that ``entry_of`` wrote."""
    rest = dict(entry)
    return read_context(str(rest.pop("name")), rest, "job specification")
