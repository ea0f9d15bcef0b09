"""``anabranch catalog create`` and ``import``: objects from SQL, and tables from topics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from anabranch.cli.applying import check_flags
from anabranch.cli.catalog import render
from anabranch.cli.catalog.changing import CatalogVerb, change
from anabranch.cli.dryrun import ExecuteOption, PlanOption
from anabranch.cli.hints import quoted
from anabranch.cli.output import Format, FormatOption
from anabranch.cli.service_options import ServiceOption, repeated_service, service_of
from anabranch.config.yaml_file import UnreadableFileError
from anabranch.streams.inference import SAMPLES


def create(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="CREATE DATABASE, TABLE, VIEW, FUNCTION.", show_default=False)],
    create_topics: Annotated[
        bool, typer.Option("--create-topics", help="Make Kafka topics that tables name and that are not there.")
    ] = False,
    partitions: Annotated[int, typer.Option(min=1, help="Of topics that are made.")] = 1,
    replication_factor: Annotated[
        int, typer.Option("--replication-factor", min=1, help="Of topics that are made.")
    ] = 1,
    retention: Annotated[
        str | None, typer.Option(help="Of topics that are made, as 168h; default: the cluster's.", show_default=False)
    ] = None,
    accept_breaking: Annotated[
        bool, typer.Option("--accept-breaking", help="Also where readers of a table break.")
    ] = False,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Define what a file of SQL says: databases, tables, views and functions.

    Shows what is made and what is changed, and refuses a change of schema that breaks readers. CREATE OR REPLACE
    changes what is there, IF NOT EXISTS leaves it. See docs/reference/catalog.md.
    """
    options = ["--create-topics", f"--partitions {partitions}"] if create_topics else []
    options += [f"--replication-factor {replication_factor}"] if create_topics else []
    options += [f"--retention {quoted(retention)}"] if create_topics and retention else []
    options += ["--accept-breaking"] if accept_breaking else []
    typed = " ".join(["anabranch catalog create", quoted(str(file)), *options]) + repeated_service(service)
    check_flags(typed, execute, plan)
    request: dict[str, Any] = {"definitions": {"sql": _text(file)}}
    if create_topics:
        request |= {"create_topics": True, "partitions": partitions, "replication_factor": replication_factor}
        request |= {"retention": retention} if retention else {}
    if accept_breaking:
        request["accept_breaking"] = True
    verb = CatalogVerb(
        *("create", request, typed, "the catalog", "anabranch catalog list"), render.defining, render.defined
    )
    change(service_of(ctx, service), verb, execute=execute, wanted=plan, output=output)


def import_topics(
    ctx: typer.Context,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="Kafka topics.", show_default=False)],
    cluster: Annotated[str, typer.Option("--cluster", metavar="CODE", help="Their cluster code.", show_default=False)],
    database: Annotated[str, typer.Option("--database", help="Where the tables are made.")] = "default",
    samples: Annotated[
        int, typer.Option(min=1, max=10_000, help="Newest records of each that are looked at.")
    ] = SAMPLES,
    execute: ExecuteOption = False,
    plan: PlanOption = None,
    service: ServiceOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Make tables of topics that are there, with columns inferred from samples of their JSON records."""
    typed = " ".join(["anabranch catalog import", *map(quoted, topics), f"--cluster {quoted(cluster)}"])
    typed += f" --database {quoted(database)} --samples {samples}{repeated_service(service)}"
    check_flags(typed, execute, plan)
    request = {"topics": topics, "cluster": cluster, "database": database, "samples": samples}
    verb = CatalogVerb(
        *("import", request, typed, "the catalog", f"anabranch catalog list {quoted(database)}"),
        render.importing,
        render.defined,
    )
    change(service_of(ctx, service), verb, execute=execute, wanted=plan, output=output)


def _text(file: Path) -> str:
    """What a file says; raises UnreadableFileError."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UnreadableFileError(str(file), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UnreadableFileError(str(file), "it is no UTF-8 text") from error
