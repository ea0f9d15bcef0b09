"""Run the demo: exit code 0 only if nothing was lost, repeated, reordered or altered."""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from anabranch.errors import AnabranchError
from examples.demo.screen import Screen
from examples.demo.stage import Stage
from examples.demo.story import Story


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main() -> int:
    """Tell the story; whatever ends it, no process is left."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
    screen = Screen()
    try:
        with tempfile.TemporaryDirectory(prefix="anabranch-demo-") as scratch, Stage(Path(scratch)) as stage:
            return 0 if Story(screen, stage).tell() else 1
    except AnabranchError as error:
        print(f"error: {error.message}", f"hint: {error.hint}", sep="\n", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; the clusters, the service, applications and jobs are ended", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
