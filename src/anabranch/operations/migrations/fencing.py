"""The fence of access rules: the source denies writing to whoever may write to a wave's topics.

A rule that denies wins over all that allow, but not over a super user; that nobody writes is proved after it in each
case.  What was denied before by somebody else stays denied when the fence is lifted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.errors import RefusedError
from anabranch.kafka.acls import create_acls, delete_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.migration.inherited import BEFORE, DENIED, MADE
from anabranch.migration.legs import Leg
from anabranch.migration.spec import FenceKind, Wave
from anabranch.migration.steps import StepKind
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.operations.migrations.desk import Result, Scene

_ANYWHERE = "*"
_WRITES = {AclOperation.WRITE, AclOperation.ALL}


@dataclass(eq=False)
class NobodyToDenyError(RefusedError):
    """No rule allows anybody to write to a wave's topics, so whoever writes there cannot be named."""

    wave: str
    cluster: str

    _message = "wave {wave}: no access rule of {cluster} allows writing to its topics, so nobody can be denied it"
    _hint = "name the principals of its producers (principals), or take another fence"


def denials(wave: Wave, topics: Iterable[str], rules: Iterable[Acl], own: str) -> tuple[Acl, ...]:
    """The rules that fence topics: for the principals that the wave names, or else for whom rules allow writing.

    ``own`` is the principal of the links, which brings records back later.
    """
    every = list(rules)
    found = set()
    for topic in topics:
        named = set(wave.principals) or {rule.principal for rule in every if _allows(rule, topic)}
        found |= {_denial(topic, principal) for principal in named - {own}}
    return tuple(sorted(found))


def not_denied(leg: Leg, here: Cluster, rules: Iterable[Acl]) -> dict[str, tuple[str, ...]]:
    """Whom rules let write to topics, and the wave, which names whom to deny, does not name; each with the topics."""
    every, named = list(rules), {*leg.wave.principals, here.transport.principal}
    found: dict[str, tuple[str, ...]] = {}
    for topic in sorted(leg.topics) if leg.wave.principals else ():
        for principal in sorted({rule.principal for rule in every if _allows(rule, topic)} - named):
            found[principal] = (*found.get(principal, ()), topic)
    return found


def _allows(rule: Acl, topic: str) -> bool:
    allows = rule.permission is AclPermission.ALLOW and rule.operation in _WRITES
    return allows and rule.is_about(ResourceType.TOPIC, topic)


def _denial(topic: str, principal: str) -> Acl:
    return Acl(
        ResourceType.TOPIC,
        topic,
        PatternType.LITERAL,
        principal,
        _ANYWHERE,
        AclOperation.WRITE,
        AclPermission.DENY,
    )


def _denials(scene: Scene, rules: Iterable[Acl]) -> tuple[Acl, ...]:
    return denied_by(scene.leg, scene.here, rules)


def denied_by(leg: Leg, here: Cluster, rules: Iterable[Acl]) -> tuple[Acl, ...]:
    """The rules of the fence on the cluster that a leg leaves."""
    return denials(leg.wave, leg.topics, rules, here.transport.principal)


def check_named(wave: Wave, found: tuple[Acl, ...], here: Cluster) -> None:
    """Raise NobodyToDenyError for a fence without a rule."""
    if not found:
        raise NobodyToDenyError(wave.name, here.name)


async def already_denied(scene: Scene) -> Result:
    """Which rules of the fence are there before the switch, and are somebody else's.

    Where a fence was left behind there those are what was so before that one.
    """
    rules = await describe_acls(scene.here)
    there = set(rules)
    if BEFORE in scene.run.result(StepKind.FENCE, FenceKind.ACL.value):
        there &= _noted(scene, StepKind.FENCE, BEFORE, FenceKind.ACL)
    return {DENIED: _told(rule for rule in _denials(scene, rules) if rule in there)}


async def planned(scene: Scene) -> tuple[Acl, ...]:
    """The rules of the fence; raises NobodyToDenyError, NoAuthorizerError."""
    found = _denials(scene, await describe_acls(scene.here))
    check_named(scene.wave, found, scene.here)
    return found


async def deny(scene: Scene) -> Result:
    """Deny writing; raises NobodyToDenyError, NoAuthorizerError, AclsRefusedError."""
    wanted, kept = await planned(scene), _before(scene)
    await create_acls(scene.here, wanted)
    return {MADE: _told(rule for rule in wanted if rule not in kept)}


async def lift(scene: Scene) -> None:
    """Take the rules of the fence away again, but for those that were there before.

    Where the step did not come to write down which it made they are looked for; else whatever is denied beside them is
    somebody else's, who may have denied it since.  So is all where another run's fence is put back that was lifted by
    one after it, which was taken back.
    """
    is_own = any(one.kind is StepKind.FENCE for one in scene.run.steps)
    if not is_own and BEFORE not in scene.run.result(StepKind.FENCE, FenceKind.ACL.value):
        return
    made = _noted(scene, StepKind.FENCE, MADE, FenceKind.ACL)
    if not _is_noted(scene):
        made |= set(_denials(scene, await describe_acls(scene.here)))
    await delete_acls(scene.here, made - _before(scene))


async def open_there(scene: Scene) -> None:
    """Take the fence away on the cluster that is moved to, which an earlier switch left behind there.

    The run began with what that one had written down.  What else is denied there is somebody else's, and stays.
    """
    rules = set(await describe_acls(scene.there))
    if MADE in scene.run.result(StepKind.LIFT_FENCE, scene.wave.name):
        made = _noted(scene, StepKind.LIFT_FENCE, MADE)
    else:  # of a version that did not write it down
        topics, own = scene.leg.topics.values(), scene.there.transport.principal
        made = set(denials(scene.wave, topics, rules, own)) - _noted(scene, StepKind.LIFT_FENCE, DENIED)
    await delete_acls(scene.there, made & rules)


def _is_noted(scene: Scene) -> bool:
    """Whether all that a fence has made is written down: by this run, or by the one that left it behind.

    A run may have begun with what an earlier one had made, and older versions wrote nothing down.
    """
    acl = FenceKind.ACL.value
    fences = [at for at, one in enumerate(scene.run.steps) if (one.kind, one.subject) == (StepKind.FENCE, acl)]
    is_finished = not fences or fences[0] < len(scene.run.times)
    return is_finished and MADE in scene.run.result(StepKind.FENCE, acl)


def _before(scene: Scene) -> set[Acl]:
    """What somebody else had denied before the fence was."""
    looks = StepKind.PREFLIGHT, StepKind.PROVE_FOUND
    denied = {rule for kind in looks for rule in _noted(scene, kind, DENIED)}
    return denied | _noted(scene, StepKind.FENCE, BEFORE, FenceKind.ACL)


def _told(rules: Iterable[Acl]) -> list[list[str]]:
    return [[rule.resource_name, rule.principal] for rule in rules]


def _noted(scene: Scene, kind: StepKind, name: str, subject: str = "") -> set[Acl]:
    """Rules of a fence that are written down under a step."""
    found = scene.run.result(kind, subject or scene.wave.name).get(name, [])
    return {_denial(topic, principal) for topic, principal in found}
