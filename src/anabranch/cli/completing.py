"""Shell completion: contexts of the file in use; links, topics and groups of their clusters; codes of the service.

A shell never waits long and gets no error text: whatever is not known within ``LONGEST_S`` after Python has started, or
fails, is not offered.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn, TypeVar

import typer

from anabranch.cli.located import contexts
from anabranch.model.cluster import ClusterContext

if TYPE_CHECKING:  # imported when a shell asks for names of a cluster
    from anabranch.cli.service_client import ServiceClient
    from anabranch.kafka.cluster import Cluster

T = TypeVar("T")
LONGEST_S = 2.5
LOOK_S = 2.0
"""For the requests to one cluster."""
ASKED = "_ANABRANCH_COMPLETE"


def completes() -> bool:
    """Whether this run was started by a shell that completes, and not by one that sources its script."""
    return os.environ.get(ASKED, "").startswith("complete")


def leave() -> NoReturn:
    """End at once: a request that still waits, also for a name server, must not delay the shell."""
    sys.stdout.flush()
    os._exit(0)


def context_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The contexts of the file in use."""
    return _offered(lambda: contexts(ctx).contexts, incomplete)


def link_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """The links of the target that was typed, or is the default."""
    return _offered(lambda: _asked(_target(ctx), lambda cluster: _naming().links(cluster)), incomplete)


def link_partitions(ctx: typer.Context, incomplete: str) -> list[str]:
    """The topics of the link that was typed, and their partitions."""
    return _offered(
        lambda: _asked(_target(ctx), lambda cluster: _naming().partitions(cluster, ctx.params["link"])), incomplete
    )


def source_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """The topics of the source that was typed, or of the typed link's."""
    return _offered(lambda: _asked(_source(ctx), lambda cluster: _naming().topics(cluster)), incomplete)


def target_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """The topics of the target."""
    return _offered(lambda: _asked(_target(ctx), lambda cluster: _naming().topics(cluster)), incomplete)


def source_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """The groups of the source that was typed, or of the typed link's."""
    return _offered(lambda: _asked(_source(ctx), lambda cluster: _naming().groups(cluster)), incomplete)


def cluster_codes(ctx: typer.Context, incomplete: str) -> list[str]:
    """The codes of the service's route table."""
    return _offered(lambda: _service(ctx).get("/routes")["table"].get("codes", {}), incomplete)


def switch_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """The last switches of the service."""
    return _offered(lambda: [one["id"] for one in _service(ctx).get("/switches")], incomplete)


def route_versions(ctx: typer.Context, incomplete: str) -> list[str]:
    """The newest versions of the route table."""
    return _offered(lambda: [str(one["version"]) for one in _service(ctx).get("/routes/versions")], incomplete)


def migration_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The migrations of the service."""
    return _offered(lambda: [one["name"] for one in _service(ctx).get("/migrations")], incomplete)


def stream_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The streams of the service."""
    return _offered(lambda: [one["name"] for one in _service(ctx).get("/streams")], incomplete)


def artifact_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The artifacts of the service."""
    return _offered(lambda: [one["name"] for one in _service(ctx).get("/artifacts")], incomplete)


def wave_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The waves of the migration that was typed."""
    return _offered(
        lambda: [one["name"] for one in _service(ctx).get(f"/migrations/{ctx.params['name']}")["migration"]["waves"]],
        incomplete,
    )


def _service(ctx: typer.Context) -> ServiceClient:
    from anabranch.cli.service_address import address_of, token_of
    from anabranch.cli.service_client import ServiceClient

    return ServiceClient(address_of(ctx, ctx.params.get("service")), token_of(os.environ), LOOK_S)


def _target(ctx: typer.Context) -> ClusterContext:
    typed = ctx.params
    return contexts(ctx).target_context(typed.get("target_name") or typed.get("target"), os.environ)


def _source(ctx: typer.Context) -> ClusterContext:
    typed = ctx.params
    name = typed.get("source") or typed.get("source_name") or typed.get("cluster")
    return contexts(ctx).get(name or _asked(_target(ctx), lambda cluster: _naming().source_of(cluster, typed["link"])))


def _naming() -> ModuleType:
    """Imported late, so that the import counts for ``LONGEST_S``."""
    from anabranch.operations.contexts import naming

    return naming


def _asked(context: ClusterContext, ask: Callable[[Cluster], Awaitable[T]]) -> T:
    """What a cluster answers within a short time; raises whatever it raises."""
    from anabranch.cli.running import on_context, run

    async def look() -> T:
        async with asyncio.timeout(LOOK_S), on_context(context) as cluster:
            return await ask(cluster)

    return run(look())


def _offered(look: Callable[[], Iterable[str]], incomplete: str) -> list[str]:
    """The names that begin with ``incomplete``; none where the request fails or takes too long."""
    logging.disable(logging.CRITICAL)
    found: list[str] = []

    def run() -> None:
        with suppress(Exception):  # its message would land in the line that is being typed
            found.extend(name for name in look() if name.startswith(incomplete))

    looking = threading.Thread(target=run, daemon=True)
    looking.start()
    looking.join(LONGEST_S)
    return list(found)
