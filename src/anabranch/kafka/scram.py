"""Which users of a cluster have SCRAM credentials (KIP-554).  Their secrets cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kafka.protocol.admin import DescribeUserScramCredentialsRequest

from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import UnsupportedApiError
from anabranch.model.cluster import SaslMechanism

_MECHANISMS: Mapping[int, SaslMechanism] = {1: SaslMechanism.SCRAM_SHA_256, 2: SaslMechanism.SCRAM_SHA_512}
_UNSUPPORTED_VERSION = 35


class ScramCredential(NamedTuple):
    """One mechanism with which a user may log in; a password has as many rounds of hashing as ``iterations``."""

    mechanism: SaslMechanism
    iterations: int


@dataclass(eq=False)
class ScramUsersUnknownError(RefusedError):
    """A cluster does not tell its SCRAM users, or not all of them: old brokers, or users that are kept elsewhere."""

    cluster: str
    reason: str

    _message = "cluster {cluster} does not tell which users have SCRAM credentials: {reason}"
    _hint = "make the users on the other cluster where they are kept, or with kafka-configs --entity-type users"


async def scram_users(cluster: Cluster) -> dict[str, tuple[ScramCredential, ...]]:
    """The SCRAM credentials of every user that has one, by name; needs DESCRIBE on the cluster.

    Raises ScramUsersUnknownError.
    """
    request = DescribeUserScramCredentialsRequest(users=[])  # of no list a broker that has to refuse tells nothing
    try:
        response = await cluster.call(request, cap=0)
    except UnsupportedApiError as error:
        raise ScramUsersUnknownError(cluster.name, error.message) from error
    if response.error_code == _UNSUPPORTED_VERSION:
        raise ScramUsersUnknownError(cluster.name, response.error_message or "its brokers do not know the request")
    cluster.check(response.error_code, "Describe", "cluster", response.error_message)
    found = {}
    for user in sorted(response.results, key=lambda one: str(one.user)):
        cluster.check(user.error_code, "DescribeUserScramCredentials", f"user {user.user}", user.error_message)
        unknown = [info.mechanism for info in user.credential_infos if info.mechanism not in _MECHANISMS]
        if unknown:
            raise ScramUsersUnknownError(cluster.name, f"mechanism {unknown[0]} of user {user.user} is not known")
        infos = sorted((_MECHANISMS[info.mechanism], info.iterations) for info in user.credential_infos)
        found[user.user] = tuple(ScramCredential(*info) for info in infos)
    return found
