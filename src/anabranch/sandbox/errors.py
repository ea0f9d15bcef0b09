"""Errors of the sandbox, each a subclass of one of the branches in ``anabranch.errors``."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import ClusterError, ConfigError, RefusedError


@dataclass(eq=False)
class SandboxProcessError(ClusterError):
    """A process of the sandbox ended when it should run, or did not do its work; carries its last lines."""

    process: str
    problem: str
    log_path: str
    tail: str

    @property
    def message(self) -> str:
        lines = f"\n{self.tail}" if self.tail else ""
        return f"{self.process} {self.problem}{lines}"

    _hint = "read {log_path}"


@dataclass(eq=False)
class NotReadyError(ClusterError):
    """A cluster did not answer in time; names the brokers that are missing and why."""

    cluster: str
    seconds: float
    missing: str
    log_path: str

    retryable = True

    _message = "cluster {cluster} was not ready after {seconds:g} s: {missing}"
    _hint = "read {log_path}; a busy machine may need a longer timeout"


@dataclass(eq=False)
class NoFreePortError(ClusterError):
    """Too few free ports are left on loopback in the sandbox's range."""

    wanted: int
    first: int
    last: int

    _message = "no {wanted} free ports between {first} and {last} on 127.0.0.1"
    _hint = "run: anabranch sandbox status; then: anabranch sandbox down"


@dataclass(eq=False)
class NotProxiedError(RefusedError):
    """A proxy was asked for in a cluster that was started without proxies, or for a node it does not have."""

    cluster: str
    node_id: int

    _message = "cluster {cluster} has no proxy before broker {node_id}"
    _hint = "start it proxied: anabranch sandbox up --proxied, or ClusterSpec(proxied=True)"


@dataclass(eq=False)
class UnknownSandboxError(ConfigError):
    """No sandbox cluster of that name has been brought up here."""

    name: str
    known: tuple[str, ...]

    _message = "there is no sandbox cluster {name!r} here"

    @property
    def hint(self) -> str:
        if self.known:
            return f"use one of {', '.join(self.known)}, or run: anabranch sandbox up --cluster {self.name}"
        return f"run: anabranch sandbox up --cluster {self.name}"


@dataclass(eq=False)
class AlreadyUpError(RefusedError):
    """A sandbox cluster of that name is running already."""

    name: str

    _message = "sandbox cluster {name!r} is up already"
    _hint = "run: anabranch sandbox down {name}"


@dataclass(eq=False)
class SandboxFailedError(ClusterError):
    """A background cluster could not be started; its supervisor says why."""

    name: str
    problem: str
    fix: str

    _message = "sandbox cluster {name!r} did not start: {problem}"
    _hint = "{fix}"
