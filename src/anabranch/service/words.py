"""A request as the command line that does the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def command(*words: str, options: Iterable[tuple[str, object]] = ()) -> str:
    """``anabranch`` with these words and options, quoted for a shell.

    An option of None or False is left out, one of True has no value, one of several is repeated.
    """
    found = ["anabranch", *words]
    for name, value in options:
        if value is None or value is False:
            continue
        if value is True:
            found.append(name)
        elif isinstance(value, list | tuple):
            for one in value:
                found += [name, str(one)]
        else:
            found += [name, str(value)]
    return shlex.join(found)
