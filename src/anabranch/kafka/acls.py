"""The access rules of a cluster: told, added, taken away (KIP-140).

Brokers of a KRaft cluster follow the controller's log: one that is asked right after a change may tell, and go by, the
rules of before for a moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

from anabranch.errors import RefusedError
from anabranch.kafka.acl_numbers import (
    NUMBER_OF_OPERATION,
    NUMBER_OF_PATTERN,
    NUMBER_OF_PERMISSION,
    NUMBER_OF_TYPE,
    OPERATIONS,
    PATTERNS,
    PERMISSIONS,
    RESOURCE_TYPES,
)
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import AUTHORIZATION_CODES, refusal
from anabranch.model.acls import Acl

T = TypeVar("T")
_ANY = 1  # in a filter: of any resource type, pattern, operation, permission
_SECURITY_DISABLED = 54
_VERSION = 3  # from version 3 on there are rules about users (KIP-373)
_CHUNK = 500


@dataclass(eq=False)
class NoAuthorizerError(RefusedError):
    """The cluster's brokers have no authorizer: there are no rules, and everybody may do everything."""

    cluster: str

    _message = "cluster {cluster} has no authorizer: it keeps no access rules"
    _hint = "set authorizer.class.name on its brokers, or leave the access rules out"


@dataclass(eq=False)
class UnknownAclsError(RefusedError):
    """Brokers newer than this version told access rules of kinds that it does not know."""

    cluster: str
    unknown: tuple[str, ...]

    _hint = "see them with kafka-acls --list; install an Anabranch that knows the version of these brokers"

    @property
    def message(self) -> str:
        return f"cluster {self.cluster} has access rules of unknown kinds: " + "; ".join(self.unknown)


@dataclass(eq=False)
class AclsRefusedError(RefusedError):
    """A cluster refused some access rules of a change (``refused``: why) and did the others (``done``)."""

    cluster: str
    refused: Mapping[Acl, str]
    done: tuple[Acl, ...]

    @property
    def message(self) -> str:
        named = "; ".join(f"{acl}: {why}" for acl, why in self.refused.items())
        total = len(self.refused) + len(self.done)
        return f"cluster {self.cluster} refused {len(self.refused):,} of {total:,} access rules: {named}"


async def describe_acls(cluster: Cluster) -> tuple[Acl, ...]:
    """Every access rule of a cluster, sorted; needs DESCRIBE on the cluster.

    Raises NoAuthorizerError, and UnknownAclsError where not all of them can be told.
    """
    request = DescribeAclsRequest(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )
    response = await cluster.call(request, cap=_VERSION)
    _check(cluster, response.error_code, "Describe", response.error_message)
    found, unknown = [], []
    for resource in response.resources:
        for rule in resource.acls:
            numbers = (resource.resource_type, resource.pattern_type, rule.operation, rule.permission_type)
            acl = _acl(resource, rule, numbers)
            if acl is None:
                unknown.append(_unknown(resource.resource_name, rule.principal, numbers))
            else:
                found.append(acl)
    if unknown:
        raise UnknownAclsError(cluster.name, tuple(unknown))
    return tuple(sorted(found))


def _acl(resource: Any, rule: Any, numbers: tuple[int, int, int, int]) -> Acl | None:
    kind, pattern = RESOURCE_TYPES.get(numbers[0]), PATTERNS.get(numbers[1])
    operation, permission = OPERATIONS.get(numbers[2]), PERMISSIONS.get(numbers[3])
    if kind is None or pattern is None or operation is None or permission is None:
        return None
    return Acl(kind, resource.resource_name, pattern, rule.principal, rule.host, operation, permission)


def _unknown(name: str, principal: str, numbers: tuple[int, int, int, int]) -> str:
    tables: tuple[tuple[str, Mapping[int, str]], ...] = (
        ("resource type", RESOURCE_TYPES),
        ("pattern", PATTERNS),
        ("operation", OPERATIONS),
        ("permission", PERMISSIONS),
    )
    parts = [f"{what} {number}" for (what, table), number in zip(tables, numbers, strict=True) if number not in table]
    return f"{' and '.join(parts)} on {name} for {principal}"


async def create_acls(cluster: Cluster, acls: Iterable[Acl]) -> None:
    """Add access rules; those that are there stay.  Needs ALTER on the cluster.

    Raises NoAuthorizerError, and AclsRefusedError once every rule was tried.
    """
    creation = CreateAclsRequest.AclCreation
    refused: dict[Acl, str] = {}
    done: list[Acl] = []
    for chunk in _chunks(sorted(set(acls))):
        request = CreateAclsRequest(
            creations=[
                creation(
                    resource_type=NUMBER_OF_TYPE[acl.resource_type],
                    resource_name=acl.resource_name,
                    resource_pattern_type=NUMBER_OF_PATTERN[acl.pattern],
                    principal=acl.principal,
                    host=acl.host,
                    operation=NUMBER_OF_OPERATION[acl.operation],
                    permission_type=NUMBER_OF_PERMISSION[acl.permission],
                )
                for acl in chunk
            ]
        )
        response = await cluster.call_controller(request, cap=_VERSION)
        for acl, result in zip(chunk, response.results, strict=True):
            if (why := _refusal(cluster, result)) is None:
                done.append(acl)
            else:
                refused[acl] = why
    if refused:
        raise AclsRefusedError(cluster.name, refused, tuple(done))


async def delete_acls(cluster: Cluster, acls: Iterable[Acl]) -> tuple[Acl, ...]:
    """Take exactly these access rules away; returns those that were there, sorted.  Needs ALTER on the cluster.

    Raises NoAuthorizerError, and AclsRefusedError once every rule was tried.
    """
    wanted = DeleteAclsRequest.DeleteAclsFilter
    refused: dict[Acl, str] = {}
    gone: list[Acl] = []
    for chunk in _chunks(sorted(set(acls))):
        request = DeleteAclsRequest(
            filters=[
                wanted(
                    resource_type_filter=NUMBER_OF_TYPE[acl.resource_type],
                    resource_name_filter=acl.resource_name,
                    pattern_type_filter=NUMBER_OF_PATTERN[acl.pattern],
                    principal_filter=acl.principal,
                    host_filter=acl.host,
                    operation=NUMBER_OF_OPERATION[acl.operation],
                    permission_type=NUMBER_OF_PERMISSION[acl.permission],
                )
                for acl in chunk
            ]
        )
        response = await cluster.call_controller(request, cap=_VERSION)
        for acl, result in zip(chunk, response.filter_results, strict=True):
            reasons = [why for one in (result, *result.matching_acls) if (why := _refusal(cluster, one)) is not None]
            if reasons:
                refused[acl] = "; ".join(reasons)
            elif result.matching_acls:
                gone.append(acl)
    if refused:
        raise AclsRefusedError(cluster.name, refused, tuple(gone))
    return tuple(gone)


def _chunks(acls: list[T]) -> Iterator[list[T]]:
    return (acls[at : at + _CHUNK] for at in range(0, len(acls), _CHUNK))


def _refusal(cluster: Cluster, result: Any) -> str | None:
    """Why one rule was refused; None where it was not.  Raises for what concerns all of them."""
    code, detail = result.error_code, result.error_message
    if code in AUTHORIZATION_CODES or code == _SECURITY_DISABLED:
        _check(cluster, code, "Alter", detail)
    return refusal(code, detail) if code else None


def _check(cluster: Cluster, code: int, operation: str, detail: str | None) -> None:
    if code == _SECURITY_DISABLED:
        raise NoAuthorizerError(cluster.name)
    cluster.check(code, operation, "cluster", detail)
