"""One answer, three forms: a table for people, JSON and YAML for programs.

Data goes to standard output and nothing else does; ids and keys are written as their texts.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
import yaml
from rich.console import Console, RenderableType

from anabranch.model.lane import LaneKey, LaneProgress
from anabranch.model.link import LinkSpec
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.reports import LinkStatus
from anabranch.model.secrets import SecretRef
from anabranch.model.topics import TopicId, TopicPartition
from anabranch.state.codecs.specs import spec_fields

_PIPE_WIDTH = 180


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


FormatOption = Annotated[Format, typer.Option("-o", "--output", help="How to write the answer.")]


def console() -> Console:
    """Standard output; wide in a pipe, so that tables do not wrap there."""
    return Console() if sys.stdout.isatty() else Console(width=_PIPE_WIDTH)


def emit(value: object, table: RenderableType, form: Format) -> None:
    """Write an answer in the form that was asked for; ``table`` is what people see."""
    if form is Format.JSON:
        typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))
    elif form is Format.YAML:
        typer.echo(yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True), nl=False)
    else:
        console().print(table)


def plain(value: object) -> Any:
    """A value of the model as JSON values; field names are those of the model, with what it derives added.

    What a plan has only for ``apply`` is left out.
    """
    if isinstance(value, LaneKey | TopicId | TopicPartition | SecretRef | UUID | Path):
        return str(value)
    if isinstance(value, LinkSpec):
        return spec_fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Reason):
        return _reason(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        told = [field.name for field in dataclasses.fields(value) if not field.metadata.get("request")]
        fields = {name: plain(getattr(value, name)) for name in told}
        if isinstance(value, LaneProgress):
            fields["lag_records"] = value.lag_records
            fields["knows_source"] = value.knows_source
        if isinstance(value, LinkStatus):
            fields["running"] = value.running
            fields["source_seen_ms"] = value.source_seen_ms
        return fields
    if isinstance(value, Mapping):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def _reason(reason: Reason) -> dict[str, str]:
    """A finding has its severity; what forbids has its kind and its location."""
    told = {"what": reason.what, "fix": reason.fix}
    if reason.why is ReasonKind.FINDING:
        return {"severity": reason.severity.value, **told}
    return {"why": reason.why.value, **told, "location": reason.location}
