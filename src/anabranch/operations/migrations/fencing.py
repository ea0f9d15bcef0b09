"""Fences of access rules: the cluster that is left denies writing to a wave's topics, or reading in its groups.

A rule that denies wins over all that allow, but not over a super user; that nobody writes, or reads, is proved after it
in each case.  What was denied before by somebody else stays denied when the fence is lifted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.acls import create_acls, delete_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.migration.fences import READING, WRITING, RuleFence, asked_of
from anabranch.migration.inherited import BEFORE, DENIED, MADE
from anabranch.migration.legs import Leg
from anabranch.migration.run import key_of
from anabranch.migration.spec import Wave
from anabranch.migration.steps import StepKind
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.operations.migrations.desk import Result, Scene

_ANYWHERE = "*"
_EVERYBODY = "User:*"
_DOES = {ResourceType.TOPIC: "writing to its topics", ResourceType.GROUP: "reading in its groups"}
_WHOSE = {ResourceType.TOPIC: "producers", ResourceType.GROUP: "consumers"}


@dataclass(eq=False)
class NobodyToDenyError(RefusedError):
    """No rule allows anybody to write to a wave's topics, or read in its groups: whoever does cannot be named."""

    wave: str
    cluster: str
    does: str = _DOES[ResourceType.TOPIC]
    whose: str = _WHOSE[ResourceType.TOPIC]

    _message = "wave {wave}: no access rule of {cluster} allows {does}, so nobody can be denied it"
    _hint = "name the principals of its {whose} (principals), or leave the fence out"


@dataclass(eq=False)
class EverybodyToDenyError(RefusedError):
    """A rule lets everybody read in a wave's groups: whoever commits for them would be denied it, too."""

    wave: str
    cluster: str
    group: str

    _message = "wave {wave}: a rule of {cluster} lets everybody read in group {group}: to deny that would deny it to us"
    _hint = "name the principals of its consumers (principals)"


def denials(
    wave: Wave, names: Iterable[str], rules: Iterable[Acl], own: str, fence: RuleFence = WRITING
) -> tuple[Acl, ...]:
    """The rules of a fence about such names: for the principals that the wave names, or else for whom rules allow it.

    ``own`` is the principal of the links, which brings records and commits back later.
    """
    every = list(rules)
    found = set()
    for name in names:
        named = set(wave.principals) or {rule.principal for rule in every if _allows(rule, name, fence)}
        found |= {_denial(name, principal, fence) for principal in named - {own}}
    return tuple(sorted(found))


def not_denied(leg: Leg, here: Cluster, rules: Iterable[Acl], fence: RuleFence = WRITING) -> dict[str, tuple[str, ...]]:
    """Whom rules allow it, and the wave, which names whom to deny, does not name; each with the topics, or groups."""
    every, named = list(rules), {*leg.wave.principals, here.transport.principal}
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(fence.here(leg)) if leg.wave.principals else ():
        for principal in sorted({rule.principal for rule in every if _allows(rule, name, fence)} - named):
            found[principal] = (*found.get(principal, ()), name)
    return found


def _allows(rule: Acl, name: str, fence: RuleFence) -> bool:
    allows = rule.permission is AclPermission.ALLOW and rule.operation in (fence.operation, AclOperation.ALL)
    return allows and rule.is_about(fence.resource, name)


def _denial(name: str, principal: str, fence: RuleFence) -> Acl:
    return Acl(
        fence.resource,
        name,
        PatternType.LITERAL,
        principal,
        _ANYWHERE,
        fence.operation,
        AclPermission.DENY,
    )


def _denials(scene: Scene, rules: Iterable[Acl], fence: RuleFence) -> tuple[Acl, ...]:
    return denied_by(scene.leg, scene.here, rules, fence)


def denied_by(leg: Leg, here: Cluster, rules: Iterable[Acl], fence: RuleFence = WRITING) -> tuple[Acl, ...]:
    """The rules of a fence on the cluster that a leg leaves."""
    return denials(leg.wave, fence.here(leg), rules, here.transport.principal, fence)


def check_named(wave: Wave, found: tuple[Acl, ...], here: Cluster, fence: RuleFence = WRITING) -> None:
    """Raise NobodyToDenyError for a fence without a rule, EverybodyToDenyError for one that nobody would read behind.

    Whoever names everybody has been told what that denies.
    """
    if not found:
        raise NobodyToDenyError(wave.name, here.name, _DOES[fence.resource], _WHOSE[fence.resource])
    everybody = [rule.resource_name for rule in found if rule.principal == _EVERYBODY]
    if fence is READING and everybody and not wave.principals:
        raise EverybodyToDenyError(wave.name, here.name, everybody[0])


async def already_denied(scene: Scene) -> Result:
    """Which rules of the wave's fences are there before the switch, and are somebody else's.

    Where a fence was left behind there those are what was so before that one.
    """
    fences = asked_of(scene.wave)
    if not fences:
        return None
    rules = await describe_acls(scene.here)
    found = {}
    for fence in fences:
        there = set(rules)
        if BEFORE in scene.run.results.get(fence.key, {}):
            there &= _noted(scene, fence.key, BEFORE, fence)
        found[fence.denied] = _told(rule for rule in _denials(scene, rules, fence) if rule in there)
    return found


async def planned(scene: Scene, fence: RuleFence = WRITING) -> tuple[Acl, ...]:
    """The rules of a fence; raises NobodyToDenyError, EverybodyToDenyError, NoAuthorizerError."""
    found = _denials(scene, await describe_acls(scene.here), fence)
    check_named(scene.wave, found, scene.here, fence)
    return found


async def deny(scene: Scene, fence: RuleFence = WRITING) -> Result:
    """Deny it; raises NobodyToDenyError, EverybodyToDenyError, NoAuthorizerError, AclsRefusedError."""
    wanted, kept = await planned(scene, fence), _before(scene, fence)
    await create_acls(scene.here, wanted)
    return {MADE: _told(rule for rule in wanted if rule not in kept)}


async def lift(scene: Scene, fence: RuleFence = WRITING) -> None:
    """Take the rules of a fence away again, but for those that were there before.

    Where the step did not come to write down which it made they are looked for; else whatever is denied beside them is
    somebody else's, who may have denied it since.  So is all where another run's fence is put back that was lifted by
    one after it, which was taken back.
    """
    is_own = any(one.kind is fence.fence for one in scene.run.steps)
    if not is_own and BEFORE not in scene.run.results.get(fence.key, {}):
        return
    made = _noted(scene, fence.key, MADE, fence)
    if not _is_noted(scene, fence):
        made |= set(_denials(scene, await describe_acls(scene.here), fence))
    await delete_acls(scene.here, made - _before(scene, fence))


async def open_there(scene: Scene, fence: RuleFence = WRITING) -> None:
    """Take a fence away on the cluster that is moved to, which an earlier switch left behind there.

    The run began with what that one had written down.  What else is denied there is somebody else's, and stays.
    """
    rules = set(await describe_acls(scene.there))
    key = fence.lift_key(scene.wave.name)
    if MADE in scene.run.results.get(key, {}):
        made = _noted(scene, key, MADE, fence)
    elif fence is WRITING:  # of a version that did not write it down
        own = scene.there.transport.principal
        made = set(denials(scene.wave, fence.there(scene.leg), rules, own)) - _noted(scene, key, DENIED, fence)
    else:
        made = set()
    await delete_acls(scene.there, made & rules)


def _is_noted(scene: Scene, fence: RuleFence) -> bool:
    """Whether all that a fence has made is written down: by this run, or by the one that left it behind.

    A run may have begun with what an earlier one had made, and older versions wrote nothing down.
    """
    fences = [at for at, one in enumerate(scene.run.steps) if key_of(one.kind, one.subject) == fence.key]
    is_finished = not fences or fences[0] < len(scene.run.times)
    return is_finished and MADE in scene.run.results.get(fence.key, {})


def _before(scene: Scene, fence: RuleFence) -> set[Acl]:
    """What somebody else had denied before the fence was."""
    looks = [key_of(kind, scene.wave.name) for kind in (StepKind.PREFLIGHT, StepKind.PROVE_FOUND)]
    denied = {rule for key in looks for rule in _noted(scene, key, fence.denied, fence)}
    return denied | _noted(scene, fence.key, BEFORE, fence)


def _told(rules: Iterable[Acl]) -> list[list[str]]:
    return [[rule.resource_name, rule.principal] for rule in rules]


def _noted(scene: Scene, key: str, name: str, fence: RuleFence) -> set[Acl]:
    """Rules of a fence that are written down under a step."""
    found = scene.run.results.get(key, {}).get(name, [])
    return {_denial(one, principal, fence) for one, principal in found}
