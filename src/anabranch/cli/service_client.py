"""A running service, asked over HTTP: its problems become errors with its words, its hint and its exit code."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.parse
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from anabranch.cli.service_address import ELSEWHERE, NEW_TOKEN, ServiceAddress
from anabranch.cli.words import printable
from anabranch.errors import AnabranchError, ClusterError, ConfigError, ProtocolError, RefusedError

ANSWER_S = 60.0
_JSON, _BYTES = "application/json", "application/octet-stream"


@dataclass(eq=False)
class ServiceAwayError(ClusterError):
    """Nobody answers at the service's address; nothing was asked."""

    retryable: ClassVar[bool] = True
    url: str
    why: str

    _message = "the service at {url} cannot be reached: {why}"
    _hint = f"start it with `anabranch serve`, {ELSEWHERE}"


@dataclass(eq=False)
class ServiceLostError(ClusterError):
    """The connection ended before the answer came: the service may have done what it was asked."""

    retryable: ClassVar[bool] = True
    url: str
    why: str

    _message = "the service at {url} was asked and has not answered: {why}"
    _hint = "look before you ask again: `anabranch route versions`"


@dataclass(eq=False)
class ServiceCertificateError(ClusterError):
    """TLS with the service fails."""

    url: str
    why: str

    _message = "no TLS with {url}: {why}"
    _hint = "name its authority: export SSL_CERT_FILE=ca.pem; a service without a certificate is http://"


@dataclass(eq=False)
class NotAServiceError(ProtocolError):
    """What answers is not the service."""

    url: str
    status: int

    _message = "what answers at {url} is not the service: status {status}, and no JSON of it"
    _hint = f"correct the address, {ELSEWHERE}"


@dataclass(eq=False)
class ServiceProblemError(AnabranchError):
    """What the service refused, or failed at, in its own words; subclasses have the exit codes."""

    detail: str
    fix: str = ""
    excerpt: str = ""

    @property
    def message(self) -> str:
        return "\n    ".join([self.detail, *self.excerpt.splitlines()])

    _hint = "{fix}"


class ServiceConfigError(ServiceProblemError, ConfigError):
    """The service says that something in the request is wrong."""


class ServiceRefusedError(ServiceProblemError, RefusedError):
    """The service refuses it."""


class ServiceClusterError(ServiceProblemError, ClusterError):
    """The service could not reach what it needs."""


class ServiceProtocolError(ServiceProblemError, ProtocolError):
    """The service found something that breaks a format."""


_BY_EXIT_CODE: Mapping[int, type[ServiceProblemError]] = {
    one.exit_code: one for one in (ServiceConfigError, ServiceRefusedError, ServiceClusterError, ServiceProtocolError)
}


def problem_error(problem: Mapping[str, Any], fix: str = "") -> ServiceProblemError:
    """The error of a problem document; ``fix`` takes the place of its hint."""
    kind = _BY_EXIT_CODE.get(problem.get("exit_code", 0), ServiceProblemError)
    place = problem.get("place") or {}
    excerpt = "\n".join(printable(line) for line in str(place.get("excerpt") or "").splitlines())
    detail = "\n  ".join(printable(line.strip()) for line in str(problem.get("detail", "")).splitlines())
    return kind(detail, fix or printable(str(problem.get("hint") or "")), excerpt)


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """The service of an address, asked in the name of whoever has the token; each request has its own connection."""

    address: ServiceAddress
    token: str
    timeout_s: float = ANSWER_S

    def get(self, path: str, **query: str | int | None) -> Any:
        """What is answered, as JSON; raises ServiceAwayError, ServiceLostError, ServiceProblemError."""
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return self._asked("GET", f"{path}?{urllib.parse.urlencode(given)}" if given else path, None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What is answered, as JSON; raises what ``get`` raises."""
        return self._asked("POST", path, json.dumps(body).encode())

    def delete(self, path: str) -> Any:
        """What is answered, as JSON; raises what ``get`` raises."""
        return self._asked("DELETE", path, None)

    def upload(self, path: str, body: bytes, **query: str) -> Any:
        """What is answered to the bytes of a file, as JSON; raises what ``get`` raises."""
        return self._asked("POST", f"{path}?{urllib.parse.urlencode(query)}", body, _BYTES)

    def download(self, path: str) -> bytes:
        """The bytes that are answered; raises what ``get`` raises."""
        status, found = self._answer("GET", path, None, _JSON)
        if status != http.HTTPStatus.OK:
            self._read(status, found)
        return found

    def _asked(self, method: str, path: str, body: bytes | None, kind: str = _JSON) -> Any:
        return self._read(*self._answer(method, path, body, kind))

    def _answer(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "*/*"}
        if body is not None:
            headers["Content-Type"] = kind
        connection = self._connected()
        try:
            with suppress(BrokenPipeError):  # it has answered before it had read all: that answer says why
                connection.request(method, f"{self.address.path}/api/v1{path}", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServiceLostError(self.address.url, _why(error)) from error
        finally:
            connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        at = self.address
        connection: http.client.HTTPConnection
        if at.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(at.host, at.port, timeout=self.timeout_s, context=context)
        else:
            connection = http.client.HTTPConnection(at.host, at.port, timeout=self.timeout_s)
        try:
            connection.connect()
        except ssl.SSLError as error:
            connection.close()
            raise ServiceCertificateError(at.url, _why(error)) from error
        except OSError as error:
            raise ServiceAwayError(at.url, _why(error)) from error
        return connection

    def _read(self, status: int, text: bytes) -> Any:
        try:
            value = json.loads(text) if text else None
        except ValueError:
            raise NotAServiceError(self.address.url, status) from None
        if 200 <= status < 300:
            return value
        if not isinstance(value, dict) or "exit_code" not in value:
            raise NotAServiceError(self.address.url, status)
        raise problem_error(value, NEW_TOKEN if status == http.HTTPStatus.UNAUTHORIZED else "")


def _why(error: OSError | http.client.HTTPException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, TimeoutError):
        return "it takes too long"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
