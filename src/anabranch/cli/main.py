"""The console script: the one place where errors become text and exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _ended_by_ctrl_c() -> Iterator[None]:
    """Ctrl-C ends the process at once: while modules are imported it would be a traceback, or be lost.

    Where somebody else handles it, or it is ignored, that stays.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def main() -> None:
    """Run the verb that was typed."""
    with _ended_by_ctrl_c():
        from anabranch.cli import completing
        from anabranch.cli.app import app
        from anabranch.cli.jobs import report
        from anabranch.errors import AnabranchError
    try:
        app()
    except BaseException as error:
        if completing.completes():
            completing.leave()
        if not isinstance(error, AnabranchError):
            raise
        sys.exit(report(error))


if __name__ == "__main__":
    main()
