"""The service, which kills itself (SIGKILL) at one moment of the first switch that comes so far.

``python -m tests.integration.sdk.dying_service MOMENT --contexts FILE serve ...``
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from anabranch.cli.main import main
from anabranch.store.switches import Switches

MOMENTS = ("moving", "moved", "published")
"""The journal says that groups are about to be moved; they are, and nobody has noted it; the table is published."""


def die_at(moment: str) -> None:
    """Have this process be killed there."""
    keep, publish = Switches.keep, Switches.publish
    was_moving = False

    def kept(store: Switches, switch: str, revision: int, state: str, *rest: Any, **more: Any) -> None:
        nonlocal was_moving
        if moment == "moved" and was_moving and state == "moving":
            os.kill(os.getpid(), signal.SIGKILL)
        keep(store, switch, revision, state, *rest, **more)
        was_moving = was_moving or state == "moving"
        if moment == "moving" and state == "moving":
            os.kill(os.getpid(), signal.SIGKILL)

    def published(store: Switches, *rest: Any) -> None:
        publish(store, *rest)
        if moment == "published":
            os.kill(os.getpid(), signal.SIGKILL)

    Switches.keep = kept  # type: ignore[method-assign]
    Switches.publish = published  # type: ignore[method-assign]


if __name__ == "__main__":
    die_at(sys.argv.pop(1))
    main()
