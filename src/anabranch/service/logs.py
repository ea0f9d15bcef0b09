"""What the service prints of itself: a line for each thing, on standard error."""

from __future__ import annotations

import sys

import structlog


def log_plainly() -> None:
    """Have errors that nobody foresaw print where they were, and no values.

    structlog by itself prints every local variable of every frame, where it can: those hold tokens and passwords.
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        # The standard error of the time, not of this moment: who replaces it in between may close the other one, and a
        # line that cannot be printed would end the task that has something to say.
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
