"""Places as people and engines write them: paths and URIs, and what may be shown of them."""

from __future__ import annotations

import re
from pathlib import Path

_URI = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]+):(?P<rest>/.*)", re.DOTALL)
_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY = re.compile(r"\?\S*")

#: What Hadoop calls a kind of storage, and what fsspec does.
_ALIASES = {"s3a": "s3", "s3n": "s3", "wasb": "abfs", "wasbs": "abfs", "abfss": "abfs", "local": "file"}

LOCAL = "file"


def split(place: str) -> tuple[str, str]:
    """(kind of storage, what follows it) of a place; a path without a kind is local, ``file:/a`` is as ``file:///a``."""
    found = _URI.fullmatch(place)
    if found is None:
        return LOCAL, place
    protocol = found["protocol"].lower()
    protocol = _ALIASES.get(protocol, protocol)
    rest = found["rest"]
    if protocol == LOCAL:
        return LOCAL, "/" + rest.lstrip("/")
    return protocol, rest.removeprefix("//")


def uri(place: str) -> str:
    """A place as a URI, without a slash at its end: for Hadoop a path without a kind is on whichever is its default."""
    protocol, rest = split(place)
    return (f"{LOCAL}://{Path(rest).absolute()}" if protocol == LOCAL else place).rstrip("/")


def shown(place: str) -> str:
    """A place without what may be a secret in it: a login before the host, and a query such as a token's."""
    if "://" not in place:
        return place
    return _QUERY.sub("", _LOGIN.sub("", place))


def beside(place: str, name: str) -> str:
    """A place next to another one."""
    head, slash, _ = place.rstrip("/").rpartition("/")
    return f"{head}{slash}{name}"


def within(path: str) -> bool:
    """Whether a relative path stays below its root by its name alone; ``""`` is the root."""
    if not path:
        return True
    return not (path.startswith("/") or "\0" in path) and all(part not in ("", ".", "..") for part in path.split("/"))
