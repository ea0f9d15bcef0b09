"""Cluster contexts for sandbox clusters of every kind of security."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from anabranch.config.context_file import read_context
from anabranch.kafka.cluster import Cluster as Client
from anabranch.kafka.security import open_cluster
from anabranch.model.cluster import ClusterContext, PasswordLogin
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sandbox import SandboxCluster

T = TypeVar("T")


def context_of(cluster: SandboxCluster, user: str = "admin") -> ClusterContext:
    """How ``user`` reaches the cluster; its secret comes from the environment variable that the sandbox set."""
    return read_context(cluster.spec.name, cluster.context(user), "the sandbox")


def with_password(context: ClusterContext, variable: str) -> ClusterContext:
    """The same context with the password from another environment variable."""
    login = context.security.login
    assert isinstance(login, PasswordLogin)
    changed = replace(login, password=SecretRef(SecretKind.ENV, variable))
    return replace(context, security=replace(context.security, login=changed))


def ask(context: ClusterContext, question: Callable[[Client], Awaitable[T]]) -> T:
    """Open the cluster, ask, and close it."""

    async def run() -> T:
        async with open_cluster(context) as client:
            return await question(client)

    return asyncio.run(run())
