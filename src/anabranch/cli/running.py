"""The one place where a verb's coroutine is run, and the clusters that it is handed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from anabranch.cli.located import contexts, target
from anabranch.model.cluster import ClusterContext

if TYPE_CHECKING:  # imported when a verb runs, so that ``--help`` and completion stay quick
    from anabranch.kafka.cluster import Cluster

T = TypeVar("T")


def run(verb: Coroutine[Any, Any, T]) -> T:
    """Run a verb to its end."""
    return asyncio.run(verb)


@asynccontextmanager
async def on_target(ctx: typer.Context, target_name: str | None) -> AsyncIterator[Cluster]:
    """The target that was typed, or is the default; raises ``ConfigError``."""
    async with on_context(target(ctx, target_name)) as cluster:
        yield cluster


@asynccontextmanager
async def on_context(context: ClusterContext) -> AsyncIterator[Cluster]:
    """A context's cluster."""
    from anabranch.kafka.security import open_cluster

    async with open_cluster(context) as cluster:
        yield cluster


@asynccontextmanager
async def on_both(ctx: typer.Context, link: str, target_name: str | None) -> AsyncIterator[tuple[Cluster, Cluster]]:
    """(source, target) of a link; raises ``ConfigError``, ``UnknownLinkError``."""
    from anabranch.operations.links import show

    async with on_target(ctx, target_name) as there:
        spec = (await show.show(there, link)).spec
        async with on_context(contexts(ctx).get(spec.source.context)) as here:
            yield here, there
