"""``anabranch link set``, ``pause``, ``resume``: change what a running link's workers obey, within two seconds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from anabranch.cli import port
from anabranch.cli.options import LinkArgument, TargetOption, target
from anabranch.config.units import parse_rate
from anabranch.errors import InvalidFieldError
from anabranch.model import filters
from anabranch.model.plugins import PluginSpec


def set_(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    include: Annotated[list[str] | None, typer.Option(help="Topics to copy: regular expression, repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Topics to leave out; wins over --include.")] = None,
    rate_limit: Annotated[str | None, typer.Option(help="Bytes a second, such as 50MB/s, or none.")] = None,
) -> None:
    """Change a link's filter or rate limit; a new filter replaces the old one as a whole."""
    changes: dict[str, Any] = {}
    if include or exclude:
        options = {"include": include, "exclude": exclude}
        changes["filter"] = PluginSpec("regex", {name: list(value) for name, value in options.items() if value})
        filters.load(changes["filter"])
    if rate_limit is not None:
        changes["rate_limit"] = None if rate_limit == "none" else parse_rate(rate_limit)
    if not changes:
        fix = f"anabranch link set {link} --rate-limit 50MB/s"
        raise InvalidFieldError("link set", "flags", "nothing to change was given", fix)
    port.links().set_wanted(target(ctx, target_name), link, **changes)
    typer.echo(f"link {link}: {' and '.join(name.replace('_', ' ') for name in changes)} changed")


def pause(ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None) -> None:
    """Pause a link: its workers stop reading and keep their lanes."""
    port.links().pause(target(ctx, target_name), link)
    typer.echo(f"link {link} is paused; go on with: anabranch link resume {link}")


def resume(ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None) -> None:
    """Resume a paused link, and lanes of it that had stopped."""
    port.links().resume(target(ctx, target_name), link)
    typer.echo(f"link {link} is resumed")
