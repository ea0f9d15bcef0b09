"""``anabranch link metrics``: serve a target's links to Prometheus until Ctrl-C."""

from __future__ import annotations

import signal
import time
from typing import Annotated

import typer

from anabranch.cli import port as engine
from anabranch.cli.options import TargetOption, target

_LOOK_S = 0.1


def metrics(
    ctx: typer.Context,
    target_name: TargetOption = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on loopback; 0 chooses one.")] = 9464,
) -> None:
    """Serve all links of a target as Prometheus metrics at http://127.0.0.1:PORT/metrics."""
    from anabranch.operations.links.metrics import LOOPBACK, served

    cluster = target(ctx, target_name)
    links = engine.links()
    links.list_links(cluster)  # an unknown address or a wrong password is said now, not in a scrape
    ended: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        # Nothing that takes a lock, as an event does: the handler may interrupt its holder.
        signal.signal(number, lambda got, _frame: ended.append(got))
    with served(lambda: links.list_links(cluster), port) as chosen:
        typer.echo(f"serving http://{LOOPBACK}:{chosen}/metrics until Ctrl-C", err=True)
        while not ended:
            time.sleep(_LOOK_S)
