"""The commands of docs/how-to/run-on-yarn.md, as that page has them, with a test's names in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "run-on-yarn.md"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")


def documented(begins: str, names: Mapping[str, str], *, has: str = "") -> list[str]:
    """The words of the only command that begins and goes on so, with its names replaced.

    A name that is not in it is none: then the page was changed, and the test has to be.
    """
    (command,) = {one for one in _commands() if one.startswith(begins) and has in one}
    words = shlex.split(command)
    unknown = set(names) - set(words)
    assert not unknown, f"{command!r} has no {unknown}"
    return [names.get(word, word) for word in words]


def _commands() -> list[str]:
    """The lines of blocks, with what they are continued by, and what stands between backticks in a text."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = "".join(_BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    spans = [" ".join(span.split()) for span in _SPAN.findall(_BLOCK.sub("", text))]
    return [" ".join(line.split()) for line in blocks] + spans
