"""A server that is asked in JSON over HTTP, on one connection that is kept."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult

from anabranch.model.secrets import SecretRef
from anabranch.spark.streams.sinks.errors import SinkDeniedError
from anabranch.spark.streams.sinks.retrying import PassingError

_ANSWER_SECONDS = 60
_PASSING = (429, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """Where it is, and who asks."""

    sink: str
    url: SplitResult
    tls_ca: str
    user: str
    password: SecretRef | None


class HttpServer:
    """Answers as JSON with their status; raises ``PassingError`` and ``SinkDeniedError``."""

    def __init__(self, target: HttpTarget) -> None:
        self._target = target
        url = target.url
        host = url.hostname or ""
        self._connection: http.client.HTTPConnection
        if url.scheme == "https":
            context = ssl.create_default_context(cafile=target.tls_ca or None)
            self._connection = http.client.HTTPSConnection(host, url.port, timeout=_ANSWER_SECONDS, context=context)
        else:
            self._connection = http.client.HTTPConnection(host, url.port, timeout=_ANSWER_SECONDS)
        self._headers = {}
        if target.user:
            secret = target.password.resolve().reveal() if target.password else ""
            self._headers["Authorization"] = f"Basic {base64.b64encode(f'{target.user}:{secret}'.encode()).decode()}"

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and answer; ``body`` is JSON, or bytes that are lines of it."""
        lines = isinstance(body, bytes)
        headers = {**self._headers, "Content-Type": f"application/{'x-ndjson' if lines else 'json'}"}
        data = body if lines or body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, self._target.url.path.rstrip("/") + path, data, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except ssl.SSLCertVerificationError as error:
            self._connection.close()
            fix = "name the file of the authority that signed the server's certificate in option tls_ca"
            raise SinkDeniedError(self._target.sink, str(error), fix) from error
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise PassingError(str(error) or type(error).__name__) from error
        said = text.decode("utf-8", "replace")
        if answer.status in _PASSING or "cluster_block_exception" in said[:500]:
            raise PassingError(f"status {answer.status}: {said[:300]}")
        if answer.status in (401, 403):
            fix = "check options user and password, and what the user may do"
            raise SinkDeniedError(self._target.sink, f"status {answer.status}: {said[:300]}", fix)
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, {"error": said[:300]}

    def close(self) -> None:
        """End the connection."""
        self._connection.close()
