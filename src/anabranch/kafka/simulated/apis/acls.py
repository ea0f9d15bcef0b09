"""The rules of the authorizer: told, added, taken away.

Source: ``AclApis``, ``AclControlManager`` and ``StandardAuthorizerData``, KIP-140, KIP-290.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka.protocol.admin import (
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

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
from anabranch.kafka.simulated.access import ALTER, CLUSTER, CLUSTER_NAME, DESCRIBE
from anabranch.kafka.simulated.apis.common import may
from anabranch.kafka.simulated.broker import ClientSession, Handler
from anabranch.model.acls import Acl, AclOperation

ANY, MATCH = 1, 2
INVALID_REQUEST, SECURITY_DISABLED = 42, 54
_NOBODY_ASKS = "No Authorizer is configured."
_Reply = Callable[[Any], None]


def _refusal(session: ClientSession, operation: AclOperation) -> tuple[int, str | None]:
    """The code and the words for who may not do this on the cluster, and where there is no authorizer."""
    code = may(session, operation, CLUSTER, CLUSTER_NAME)
    if not code and not session.broker.cluster.access.authorizer:
        return SECURITY_DISABLED, _NOBODY_ASKS
    return code, "Request is refused." if code else None


def create(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """CreateAcls: each rule by itself; one that is there stays."""
    rules = session.broker.cluster.access.rules
    refused, words = _refusal(session, ALTER)
    rows = []
    for creation in request.creations:
        code, message = refused, words
        if not code:
            made = _made(session, creation)
            if isinstance(made, str):
                code, message = INVALID_REQUEST, made
            elif made not in rules:
                rules.append(made)
        rows.append(CreateAclsResponse.AclCreationResult(error_code=code, error_message=message))
    reply(CreateAclsResponse(throttle_time_ms=0, results=rows))


def _made(session: ClientSession, creation: Any) -> Acl | str:
    """The rule that a request describes, or why there can be none such."""
    version = session.broker.cluster.version
    name, principal = creation.resource_name, creation.principal
    kind = RESOURCE_TYPES.get(creation.resource_type) if creation.resource_type <= version.newest_resource else None
    operation = OPERATIONS.get(creation.operation) if creation.operation <= version.newest_operation else None
    pattern, permission = PATTERNS.get(creation.resource_pattern_type), PERMISSIONS.get(creation.permission_type)
    if kind is CLUSTER and name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not name:
        return "Invalid empty resource name"
    if kind is None:
        return "Invalid resourceType UNKNOWN"
    if pattern is None:
        return "Invalid patternType UNKNOWN"
    if operation is None:
        return "Invalid operation UNKNOWN"
    if permission is None:
        return "Invalid permissionType UNKNOWN"
    if ":" not in principal:
        return (
            f"Could not parse principal from `{principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    return Acl(kind, name, pattern, principal, creation.host, operation, permission)


def _fits(rule: Acl, wanted: Any) -> bool:
    """Whether a filter means a rule."""
    name, pattern = wanted.resource_name_filter, wanted.pattern_type_filter
    matches = pattern == MATCH and rule.is_about(rule.resource_type, name or "")
    return (
        wanted.resource_type_filter in {ANY, NUMBER_OF_TYPE[rule.resource_type]}
        and (name in {None, rule.resource_name} or matches)
        and pattern in {ANY, MATCH, NUMBER_OF_PATTERN[rule.pattern]}
        and wanted.principal_filter in {None, rule.principal}
        and wanted.host_filter in {None, rule.host}
        and wanted.operation in {ANY, NUMBER_OF_OPERATION[rule.operation]}
        and wanted.permission_type in {ANY, NUMBER_OF_PERMISSION[rule.permission]}
    )


def delete(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DeleteAcls: each filter by itself, with the rules that it meant."""
    access, newest = session.broker.cluster.access, session.broker.cluster.version
    refused, words = _refusal(session, ALTER)
    rows = []
    row = DeleteAclsResponse.DeleteAclsFilterResult
    for wanted in request.filters:
        code, message, gone = refused, words, list[Acl]()
        if not code and wanted.resource_type_filter > newest.newest_resource:
            code, message = INVALID_REQUEST, "Unknown patternFilter."
        elif not code and wanted.operation > newest.newest_operation:
            code, message = INVALID_REQUEST, "Unknown entryFilter."
        elif not code:
            gone = [rule for rule in access.rules if _fits(rule, wanted)]
            access.rules = [rule for rule in access.rules if rule not in gone]
        matching = [
            row.DeleteAclsMatchingAcl(
                error_code=0,
                error_message=None,
                resource_type=NUMBER_OF_TYPE[rule.resource_type],
                resource_name=rule.resource_name,
                pattern_type=NUMBER_OF_PATTERN[rule.pattern],
                principal=rule.principal,
                host=rule.host,
                operation=NUMBER_OF_OPERATION[rule.operation],
                permission_type=NUMBER_OF_PERMISSION[rule.permission],
            )
            for rule in gone
        ]
        rows.append(row(error_code=code, error_message=message, matching_acls=matching))
    reply(DeleteAclsResponse(throttle_time_ms=0, filter_results=rows))


def describe(session: ClientSession, request: Any, version: int, reply: _Reply) -> None:
    """DescribeAcls: the rules that a filter means, by resource."""
    code, message = _refusal(session, DESCRIBE)
    found: dict[tuple[int, str, int], list[Acl]] = {}
    for rule in session.broker.cluster.access.rules:
        if not code and _fits(rule, request):
            key = (NUMBER_OF_TYPE[rule.resource_type], rule.resource_name, NUMBER_OF_PATTERN[rule.pattern])
            found.setdefault(key, []).append(rule)
    row = DescribeAclsResponse.DescribeAclsResource
    resources = [
        row(
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern,
            acls=[
                row.AclDescription(
                    principal=rule.principal,
                    host=rule.host,
                    operation=NUMBER_OF_OPERATION[rule.operation],
                    permission_type=NUMBER_OF_PERMISSION[rule.permission],
                )
                for rule in rules
            ],
        )
        for (kind, name, pattern), rules in found.items()
    ]
    reply(DescribeAclsResponse(throttle_time_ms=0, error_code=code, error_message=message, resources=resources))


APIS = (
    Handler(CreateAclsRequest, create),
    Handler(DeleteAclsRequest, delete),
    Handler(DescribeAclsRequest, describe),
)
