"""Which of a source's access rules concern a wave: those of its topics, its groups, and of who may use these.

What a rule is about may be wider than the wave.  A prefix is kept, for names under one prefix are usually of one owner;
a rule about all names is narrowed to those of the wave: it would open everybody else's on the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.migration.legs import Leg
from anabranch.model import naming
from anabranch.model.acls import Acl, ResourceType

ALL = "*"
EVERYBODY = "User:*"


@dataclass(frozen=True, slots=True)
class AccessScope:
    """What belongs to a wave.

    ``topics`` are the target's names by the source's, ``renamed`` is the policy that made them.  ``elsewhere`` are
    groups of other waves.  ``principals`` are the new names of some; ``named`` are those that the wave names.
    ``own`` is as whom the source is asked, whose rules are for the links.  ``has_readers``: its topics are read in its
    groups, or by its jobs.  ``fences_groups``: a switch denies reading in them.
    """

    topics: Mapping[str, str] = field(hash=False)
    renamed: Callable[[str], str]
    groups: frozenset[str]
    elsewhere: frozenset[str]
    clients: frozenset[str]
    principals: Mapping[str, str] = field(hash=False)
    named: frozenset[str]
    own: str
    has_readers: bool
    fences_groups: bool = False

    def is_own(self, principal: str) -> bool:
        """Whether it is the links', and no application's that the file names."""
        return principal == self.own and principal not in self.named and principal not in self.principals

    def users(self, rules: Iterable[Acl]) -> frozenset[str]:
        """Whom rules about the wave's topics name, whom the wave itself names, and everybody."""
        found = {rule.principal for rule in rules if self.touched(rule) and not self.is_own(rule.principal)}
        return frozenset(found | self.named | {EVERYBODY})

    def touched(self, rule: Acl) -> list[str]:
        """The wave's topics that a rule is about."""
        return [topic for topic in self.topics if rule.is_about(ResourceType.TOPIC, topic)]

    def principal(self, former: str) -> str:
        """What somebody is called on the target."""
        return self.principals.get(former, former)


def access_scope(leg: Leg, own: str) -> AccessScope:
    """What belongs to the wave of a leg that leads to the target; raises UnknownPluginError, InvalidFieldError."""
    migration, wave = leg.migration, leg.wave
    policy = naming.load(migration.copy.naming, migration.source)
    return AccessScope(
        leg.topics,
        policy.renamed,
        frozenset(wave.groups),
        frozenset(group for other in migration.waves if other.name != wave.name for group in other.groups),
        frozenset(wave.clients),
        migration.access.principals,
        frozenset(wave.principals),
        own,
        bool(wave.groups or wave.jobs),
        wave.denies_readers,
    )
