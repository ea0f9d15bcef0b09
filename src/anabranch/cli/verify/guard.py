"""A fault of ours must not say "different": 1 is a verdict of these verbs."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from anabranch.errors import AnabranchError

COULD_NOT_TELL = 2
LEFT = 130
"""After Ctrl-C: the comparison goes on, and nothing is known of it yet."""


@contextmanager
def no_false_verdict() -> Iterator[None]:
    """Turn an unexpected exception into its traceback and exit code 2."""
    try:
        yield
    except (AnabranchError, typer.TyperException, typer.Exit, KeyboardInterrupt):
        raise
    except Exception:
        traceback.print_exc(file=sys.stderr)
        raise typer.Exit(COULD_NOT_TELL) from None
