"""What a wave's access on the target comes to: what is done, and what a person should look at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.migration.access.diff import AccessDiff
from anabranch.migration.access.quotas import QuotaNotCarried, QuotasFound, carried_quotas
from anabranch.migration.access.rules import RuleNotCarried, RulesFound, carried, proposed
from anabranch.migration.access.scope import AccessScope
from anabranch.migration.access.users import lacking
from anabranch.migration.access.values import Access, QuotaKey
from anabranch.model.acls import Acl
from anabranch.model.counted import counted
from anabranch.model.quotas import entity_text
from anabranch.model.reasons import Reason, Severity

_SHOWN = 3
_BY_HAND = "look whether its applications need it there, and make it by hand"


@dataclass(frozen=True, slots=True)
class WantedAccess:
    """What the target is to have for a wave, and how the source's rules and quotas were taken.

    ``is_proposed``: the source keeps no rules, and these are what the principals that the wave names need.
    ``lacks`` are users whose passwords a person has to set there.
    """

    access: Access
    rules: RulesFound
    quotas: QuotasFound
    is_proposed: bool = False
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WaveAccess:
    """What is done for a wave; ``left`` are rules and quotas of the source that are not the wave's."""

    wave: str
    is_proposed: bool
    changes: AccessDiff
    refused: tuple[RuleNotCarried, ...]
    quotas_refused: tuple[QuotaNotCarried, ...]
    left: tuple[Acl, ...]
    quotas_left: tuple[QuotaKey, ...]
    lacks: tuple[str, ...]


def wanted_access(
    scope: AccessScope,
    rules: Sequence[Acl] | None,
    quotas: Mapping[QuotaKey, float],
    source_users: Collection[str],
    target_users: Collection[str],
    ids: Collection[str] = (),
) -> WantedAccess:
    """What the target is to have; ``rules`` are the source's, None where it has no authorizer.

    ``ids`` are the transactional ids that write to the wave's topics, for a proposal.
    """
    found = RulesFound(proposed(scope, ids)) if rules is None else carried(rules, scope)
    of_quotas = carried_quotas(quotas, scope, scope.users(rules or ()))
    access = Access(found.wanted, of_quotas.wanted)
    lacks = lacking(access, scope.principals, source_users, target_users)
    return WantedAccess(access, found, of_quotas, rules is None, lacks)


def wave_access(wave: str, wanted: WantedAccess, changes: AccessDiff) -> WaveAccess:
    """Both together."""
    rules, quotas = wanted.rules, wanted.quotas
    return WaveAccess(
        wave, wanted.is_proposed, changes, rules.refused, quotas.refused, rules.left, quotas.left, wanted.lacks
    )


def access_reasons(found: WaveAccess, source: str, target: str) -> Iterator[Reason]:
    """What is done, in numbers, and what a person should look at."""
    wave, changes = f"wave {found.wave}", found.changes
    rules, quotas = counted(len(changes.create), "access rule"), counted(len(changes.quotas), "quota")
    told = (
        f"{rules} to make on {target}, {len(changes.delete):,} to delete, {len(changes.there):,} there; "
        f"{quotas} to change, {len(changes.quotas_there):,} there; "
        f"{len(found.left) + len(found.quotas_left):,} of {source} are not the wave's"
    )
    yield Reason.found(Severity.INFO, f"{wave}: {told}")
    if found.is_proposed:
        yield _proposal(found, source)
    for why, which in _by_reason(found).items():
        number = "1 is" if len(which) == 1 else f"{len(which):,} are"
        yield _warning(f"{wave}: {number} not carried over from {source}, for {why}: {_some(which)}", _BY_HAND)
    for one in changes.conflicts:
        what = f"{one.name} of {entity_text(one.entity)} is {one.before:g} on {target}, and {one.value:g} on {source}"
        yield _warning(f"{wave}: quota {what}: somebody else set it, and it stays", "set the one that is to hold")
    if found.lacks:
        users = f"{counted(len(found.lacks), 'user')} ({_some(found.lacks)})"
        yield _warning(
            f"{wave}: {users} with a SCRAM password on {source} and none on {target}: passwords cannot be copied",
            "set them: kafka-configs --alter --entity-type users --add-config SCRAM-SHA-512=[password=...]",
        )


def _proposal(found: WaveAccess, source: str) -> Reason:
    number = len(found.changes.create) + len(found.changes.there)
    if not number:
        what = f"wave {found.wave}: {source} has no authorizer, and the wave names no principals: no rule is proposed"
        return _warning(what, "name whom its applications come as: principals")
    what = f"wave {found.wave}: {source} has no authorizer: {counted(number, 'access rule')} are a proposal"
    return _warning(f"{what}, for the principals that it names", "look at them: anabranch migrate access -f FILE")


def _by_reason(found: WaveAccess) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for rule in found.refused:
        reasons.setdefault(rule.why, []).append(str(rule.rule))
    for quota in found.quotas_refused:
        reasons.setdefault(quota.why, []).append(f"{quota.quota}: {quota.value:g}")
    return reasons


def _some(words: Sequence[str]) -> str:
    shown = "; ".join(words[:_SHOWN])
    return shown if len(words) <= _SHOWN else f"{shown} and {len(words) - _SHOWN:,} more"


def _warning(what: str, fix: str) -> Reason:
    return Reason.found(Severity.WARNING, what, fix)
