"""JSON to an address that the service's file names, by POST."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        """What is sent, and a secret with it, goes to the address that was named, and to no other."""


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> None:
    """Post it; any answer of 2xx has taken it.

    Raises urllib's HTTPError for another one, OSError, HTTPException, and ValueError for an address that is none.
    """
    told = {"Content-Type": "application/json", "User-Agent": "anabranch", **headers}
    request = urllib.request.Request(url, body, told, method="POST")
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_s) as answer:
        answer.read(1)
