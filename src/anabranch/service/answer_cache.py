"""Answers as they were written, until what they tell of is read again: many browsers ask the same at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from starlette.responses import JSONResponse, Response

MOST_BYTES = 16 << 20
"""Of all answers that are kept; with more the oldest go."""


class AnswerCache:
    """Answers of one ``version`` of what is known; of another none is kept.

    Invariant: an answer is the one that ``make`` would give now, since ``version`` changes with all that it tells of.
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._of = version()
        self._bodies: dict[Hashable, bytes] = {}
        self._bytes = 0

    def of(self, key: Hashable, make: Callable[[], JSONResponse]) -> Response:
        """The answer to a question, by ``key``; made where it is not there."""
        if (now := self._version()) != self._of:
            self._of, self._bodies, self._bytes = now, {}, 0
        body = self._bodies.get(key)
        if body is None:
            body = self._bodies[key] = bytes(make().body)
            self._bytes += len(body)
            while self._bytes > MOST_BYTES:
                self._bytes -= len(self._bodies.pop(next(iter(self._bodies))))
        return Response(body, media_type=JSONResponse.media_type)
