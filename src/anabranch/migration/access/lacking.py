"""Which access rules and quotas a target lacks of those by which a wave's applications come on the source.

It is for waves whose access nobody carries over: what is told is what their applications would meet there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.migration.access.quotas import carried_quotas
from anabranch.migration.access.rules import carried
from anabranch.migration.access.scope import ALL, EVERYBODY, AccessScope
from anabranch.migration.access.values import QuotaKey
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType
from anabranch.model.counted import counted
from anabranch.model.reasons import Reason, Severity

_SHOWN = 3
_FIX = "carry them over: `access: {sync: true}` in the file or `anabranch migrate access -f FILE`; or make them by hand"
_QUOTAS = "carry them over: `access: {sync: true, quotas: true}` in the file, or set them by hand"


@dataclass(frozen=True, slots=True)
class AccessOfBoth:
    """The rules of both clusters, None of one without an authorizer, and their quotas; by name what they are called."""

    source: str
    target: str
    rules: Collection[Acl] | None
    rules_there: Collection[Acl] | None
    quotas: Mapping[QuotaKey, float]
    quotas_there: Mapping[QuotaKey, float]


def lacking_reasons(scopes: Mapping[str, AccessScope], seen: AccessOfBoth) -> Iterator[Reason]:
    """What is worth a look of each wave, by its name, and of the whole."""
    if seen.rules is None and seen.rules_there is not None:
        what = f"{seen.source} has no authorizer and {seen.target} has one: applications need access rules there"
        fix = (
            "name the principals of each wave and set `access: {sync: true}`: rules are proposed; or make them by hand"
        )
        yield Reason.found(Severity.WARNING, what, fix)
    if seen.rules and seen.rules_there is None:
        what = f"{seen.source} has access rules, and {seen.target} has no authorizer: everybody may do everything there"
        yield Reason.found(Severity.WARNING, what, "set authorizer.class.name on its brokers where that is not meant")
    by_principal: dict[str, list[Acl]] = defaultdict(list)
    for rule in seen.rules_there or ():
        by_principal[rule.principal].append(rule)
    for wave, scope in scopes.items():
        if seen.rules is not None and seen.rules_there is not None:
            wanted = carried(seen.rules, scope).wanted
            missing = sorted(
                rule
                for rule in wanted
                if not any(_covers(one, rule) for whom in (rule.principal, EVERYBODY) for one in by_principal[whom])
            )
            if missing:
                rules = counted(len(missing), "access rule")
                what = f"wave {wave}: {seen.target} lacks {rules} that {seen.source} has: {_some(missing)}"
                yield Reason.found(Severity.WARNING, what, _FIX)
        quotas = carried_quotas(seen.quotas, scope, scope.users(seen.rules or ())).wanted
        others = sorted((key for key, value in quotas.items() if seen.quotas_there.get(key) != value), key=str)
        if others:
            number = counted(len(others), "quota")
            what = f"wave {wave}: {seen.target} lacks {number} that {seen.source} has, or has others: {_some(others)}"
            yield Reason.found(Severity.WARNING, what, _QUOTAS)


def _covers(there: Acl, wanted: Acl) -> bool:
    """Whether a rule does what another one is to do; of those that deny only the same one does."""
    if there == wanted:
        return True
    allows = {there.permission, wanted.permission} == {AclPermission.ALLOW}
    same_kind = there.resource_type is wanted.resource_type
    whom = there.principal in (wanted.principal, EVERYBODY) and there.host in (wanted.host, ALL)
    what = there.operation in (wanted.operation, AclOperation.ALL)
    return allows and same_kind and whom and what and _is_wider(there, wanted)


def _is_wider(there: Acl, wanted: Acl) -> bool:
    if there.pattern is PatternType.LITERAL:
        return there.resource_name == ALL or (
            wanted.pattern is PatternType.LITERAL and there.resource_name == wanted.resource_name
        )
    is_all = wanted.pattern is PatternType.LITERAL and wanted.resource_name == ALL
    return not is_all and wanted.resource_name.startswith(there.resource_name)


def _some(found: Sequence[object]) -> str:
    shown = "; ".join(str(one) for one in found[:_SHOWN])
    return shown if len(found) <= _SHOWN else f"{shown} and {len(found) - _SHOWN:,} more"
