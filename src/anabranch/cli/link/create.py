"""``anabranch link create``: probe both clusters, say what is missing, and store the link on the target."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.cli import port, render
from anabranch.cli.options import TargetOption, contexts
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.config import link_file
from anabranch.config.yaml_file import check
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.reports import ProbeReport, Severity


@dataclass(eq=False)
class LinkRefusedError(RefusedError):
    """The probe found what forbids the link; its report says what."""

    link: str
    errors: int

    @property
    def message(self) -> str:
        found = "1 error was found" if self.errors == 1 else f"{self.errors} errors were found"
        return f"link {self.link!r} was not created: {found}"

    @property
    def hint(self) -> str:
        return "mend what the report names, then run the same command again"


def create(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Link file (YAML) instead of the flags.")] = None,
    source: Annotated[str | None, typer.Option(help="Context of the source.", show_default=False)] = None,
    target: TargetOption = None,
    id_: Annotated[str | None, typer.Option("--id", help="Default: SOURCE-TARGET.", show_default=False)] = None,
    include: Annotated[list[str] | None, typer.Option(help="Topics to copy: regular expression, repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Topics to leave out; wins over --include.")] = None,
    naming: Annotated[
        str | None, typer.Option(help="identity, prefix, or a template such as '{source}-{topic}'.")
    ] = None,
    replication_factor: Annotated[int | None, typer.Option(help="Of target topics; default the brokers'.")] = None,
    start: Annotated[str | None, typer.Option(help="earliest, latest, or a time such as 2013-01-01T00:00:00Z.")] = None,
    mode: Annotated[str | None, typer.Option(help="auto or mapped.")] = None,
    rate_limit: Annotated[str | None, typer.Option(help="Bytes a second over all lanes, such as 50MB/s.")] = None,
    lease_seconds: Annotated[int | None, typer.Option(help="How long workers keep their lanes.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only probe; store nothing.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Create a link from a file or from flags; it starts to copy with `link run`."""
    known = contexts(ctx)
    flags = {
        "source": source,
        "id": id_,
        "filter": {"include": include, "exclude": exclude} if include or exclude else None,
        "naming": _naming(naming) if naming else None,
        "replication_factor": replication_factor,
        "start": start,
        "mode": mode,
        "rate_limit": rate_limit,
        "lease_seconds": lease_seconds,
    }
    given: dict[str, Any] = {name: value for name, value in flags.items() if value is not None}
    if file is not None:
        if given or target is not None:
            first = next(iter(given), "target")
            raise InvalidFieldError("link create", f"--{first}", "a link file is given too", f"write {first} in {file}")
        spec = link_file.load(file)
    else:
        if source is None:
            raise InvalidFieldError("link create", "--source", "missing", "name a context, or a link file with -f")
        given["target"] = known.target_context(target, os.environ).name
        spec = link_file.spec_of(check(link_file.LinkShape, given, "link create"), "link create")
    report = port.links().create(known.get(spec.source.context), known.get(spec.target.context), spec, execute=not plan)
    emit(report, render.probe(report), output)
    if not report.ok:
        raise LinkRefusedError(spec.id, _errors(report))


def _naming(text: str) -> dict[str, str]:
    return {"kind": "template", "template": text} if "{" in text else {"kind": text}


def _errors(report: ProbeReport) -> int:
    return sum(finding.severity is Severity.ERROR for finding in report.findings)
