"""``anabranch link metrics``: serve a target's links to Prometheus until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer

from anabranch.cli.options import TargetOption
from anabranch.cli.running import on_target, run


def metrics(
    ctx: typer.Context,
    target_name: TargetOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 chooses one.")] = 9464,
) -> None:
    """Serve all links of a target as Prometheus metrics at http://127.0.0.1:PORT/metrics until Ctrl-C.

    The metrics: docs/reference/metrics.md. How to use them: docs/how-to/watch-a-link.md.
    """
    run(_metrics(ctx, target_name, port))


async def _metrics(ctx: typer.Context, target_name: str | None, port: int) -> None:
    from anabranch.operations.links.metrics import LOOPBACK, serving

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with on_target(ctx, target_name) as target, serving(target, port) as chosen:
        typer.echo(f"serving http://{LOOPBACK}:{chosen}/metrics until Ctrl-C", err=True)
        await ended.wait()
