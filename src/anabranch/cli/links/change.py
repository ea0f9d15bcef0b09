"""``anabranch link set``, ``pause``, ``resume``: change a link; its workers obey within two seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.completing import source_topics
from anabranch.cli.hints import repeated
from anabranch.cli.links.follow import SyncGroupsOption, SyncIntervalOption
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.running import on_target, run
from anabranch.config.group_rules import changed
from anabranch.config.units import parse_rate
from anabranch.errors import InvalidFieldError

if TYPE_CHECKING:  # imported when a verb runs
    from anabranch.kafka.cluster import Cluster
    from anabranch.operations.links.change import ChangeLinkPlan, WantedChanges


def set_(
    ctx: typer.Context,
    link: LinkArgument,
    target_name: TargetOption = None,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Topics to copy: regular expression, repeatable.", autocompletion=source_topics),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Topics to leave out; wins over --include.", autocompletion=source_topics)
    ] = None,
    rate_limit: Annotated[str | None, typer.Option(help="Bytes a second, such as 50MB/s, or none.")] = None,
    sync_groups: SyncGroupsOption = None,
    sync_interval: SyncIntervalOption = None,
    checkpoints: Annotated[
        bool | None,
        typer.Option(
            "--checkpoints/--no-checkpoints", help="Publish synced positions as MirrorMaker 2 does, or stop that."
        ),
    ] = None,
) -> None:
    """Change a link's filter, rate limit or continuous sync of groups; a list that is not given stays.

    Workers obey within two seconds. A list that is given replaces the old one. See
    docs/how-to/change-a-running-link.md.
    """
    changes: dict[str, Any] = {}
    if rate_limit is not None:
        changes["rate_limit"] = None if rate_limit == "none" else parse_rate(rate_limit)
    refilters, follows = bool(include or exclude), bool(sync_groups or sync_interval) or checkpoints is not None
    if not (changes or refilters or follows):
        fix = f"anabranch link set {link} --rate-limit 50MB/s"
        raise InvalidFieldError("link set", "flags", "nothing to change was given", fix)

    async def change() -> ChangeLinkPlan:
        from anabranch.operations.links.change import WantedChanges, refiltered
        from anabranch.operations.links.show import show

        async with on_target(ctx, target_name) as cluster:
            if refilters or follows:
                before = (await show(cluster, link)).spec
                if refilters:
                    changes["filter"] = refiltered(link, before.filter, include, exclude)
                if follows:
                    changes["groups"] = changed(link, before.groups, sync_groups, sync_interval, checkpoints)
            return await _apply(cluster, link, WantedChanges(**changes))

    planned = run(change())
    before, after = planned.before.spec, planned.after.spec
    others = [name.replace("_", " ") for name in changes if getattr(before, name) != getattr(after, name)]
    typer.echo(f"link {link}: {' and '.join(others)} changed" if others else f"link {link} is so already")


def pause(ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None) -> None:
    """Pause a link: its workers stop reading within two seconds and keep their lanes."""
    run(_pause(ctx, link, target_name))
    typer.echo(f"link {link} is paused; go on with: anabranch link resume {link}{repeated(target_name)}")


async def _pause(ctx: typer.Context, link: str, target_name: str | None) -> None:
    from anabranch.operations.links.change import PAUSE

    async with on_target(ctx, target_name) as target:
        await _apply(target, link, PAUSE)


def resume(ctx: typer.Context, link: LinkArgument, target_name: TargetOption = None) -> None:
    """Resume a paused link, and lanes of it that had stopped."""
    run(_resume(ctx, link, target_name))
    typer.echo(f"link {link} is resumed")


async def _resume(ctx: typer.Context, link: str, target_name: str | None) -> None:
    from anabranch.operations.links.change import RESUME

    async with on_target(ctx, target_name) as target:
        await _apply(target, link, RESUME)


async def _apply(target: Cluster, link: str, changes: WantedChanges) -> ChangeLinkPlan:
    """At once: what was before is set by the same verb."""
    from anabranch.operations.links import change

    planned = await change.plan(target, link, changes)
    await change.apply(target, planned)
    return planned
