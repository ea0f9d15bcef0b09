"""Ctrl-C before a command has begun to do anything."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.test

PROGRAM = """
import builtins, os, signal, sys
signal.signal(signal.SIGINT, {before})
import anabranch.cli.main as cli
imported = builtins.__import__
def importing(name, *rest):
    if name == "anabranch.cli.app":
        os.kill(os.getpid(), signal.SIGINT)
    return imported(name, *rest)
builtins.__import__ = importing
sys.argv = ["anabranch", "--version"]
try:
    cli.main()
finally:
    print(signal.getsignal(signal.SIGINT) is {before})
"""


def ended(before: str) -> subprocess.CompletedProcess[str]:
    """The command line, which is interrupted as it imports its verbs, with this handler."""
    program = PROGRAM.format(before=before)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_ctrl_c_while_modules_are_imported_ends_at_once_and_without_a_traceback() -> None:
    """A shell shows 130."""
    done = ended("signal.default_int_handler")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_it_stays_ignored_where_it_was() -> None:
    """As in the background of a script."""
    done = ended("signal.SIG_IGN")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("anabranch ") and done.stdout.endswith("True\n")
