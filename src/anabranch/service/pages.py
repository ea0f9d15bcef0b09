"""The pages: one file that shows all of them, and its assets, as ``make web`` has built them beside this module.

Every address that is not the service's own for programs answers the same file: the page that it names is found in the
browser, so that an address can be sent to somebody.
"""

from __future__ import annotations

import mimetypes
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

BUILT = Path(__file__).parent / "static"
_PROGRAMS = ("api", "metrics", "healthz", "readyz")
"""First parts of addresses that never answer a page."""
_ASSETS = "assets"
_KEPT = {"Cache-Control": "public, max-age=31536000, immutable"}
_ASKED_AGAIN = {"Cache-Control": "no-store"}
NOT_BUILT = """The pages of Anabranch are not built.

In a copy of the repository `make web` builds them (Node 20 and npm are needed); a released wheel has them inside.
Everything else works: /api/v1/openapi.json describes what can be asked.
"""


class PagesRoute(Route):
    """Every address but those for programs, which keep their own refusals."""

    def __init__(self, built: Path = BUILT) -> None:
        super().__init__("/{path:path}", self._answer, methods=["GET"], name="pages", include_in_schema=False)
        self._built = built.resolve()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and scope["path"].strip("/").partition("/")[0] in _PROGRAMS:
            return Match.NONE, {}
        return super().matches(scope)

    async def _answer(self, request: Request) -> Response:
        path: str = request.path_params["path"]
        index = self._built / "index.html"
        if not index.is_file():
            return PlainTextResponse(NOT_BUILT, 503 if path == "" else 404, _ASKED_AGAIN)
        file = self._file(path)
        if file is None:
            if path.partition("/")[0] == _ASSETS:
                raise HTTPException(404)
            return FileResponse(index, headers=_ASKED_AGAIN, media_type="text/html")
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        headers = _KEPT if file.parent.name == _ASSETS else _ASKED_AGAIN
        return FileResponse(file, headers=headers, media_type="text/javascript" if file.suffix == ".js" else kind)

    def _file(self, path: str) -> Path | None:
        """A file of the build; None for an address that only the browser knows."""
        if path == "" or "\x00" in path:
            return None
        found = (self._built / path).resolve()
        return found if found.is_relative_to(self._built) and found.is_file() else None
