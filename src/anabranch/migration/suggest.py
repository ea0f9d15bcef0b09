"""A first migration from what a cluster was seen to hold: what belongs together is one wave.

Topics belong together where one group reads them, or one producer id writes to them in transactions: such an
application cannot be on two clusters.  Each person who knows the applications better changes the file.

Invariant: ``check`` finds no topic and no group of what is suggested in two waves (M1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from anabranch.migration.access.scope import EVERYBODY
from anabranch.migration.inventory import GroupInventory, Inventory
from anabranch.migration.legs import NAME, same_links
from anabranch.migration.spec import AccessCarryOver, FenceKind, Migration, Wave, WaveOrder
from anabranch.model.acls import Acl, AclOperation, AclPermission, ResourceType
from anabranch.model.filters import RegexFilter, select

_LONGEST = 20
_MOVED = RegexFilter()


@dataclass(frozen=True, slots=True)
class SeenAccess:
    """The source's access rules, none where it keeps none; ``own`` is as whom it is asked."""

    rules: Sequence[Acl] = ()
    own: str = ""

    def writers(self, topic: str) -> frozenset[str]:
        """Whom rules let write to a topic."""
        writes = (AclOperation.WRITE, AclOperation.ALL)
        return frozenset(
            rule.principal
            for rule in self.rules
            if rule.permission is AclPermission.ALLOW
            and rule.operation in writes
            and rule.is_about(ResourceType.TOPIC, topic)
        )


NO_ACCESS, NOTHING_CARRIED = SeenAccess(), AccessCarryOver()


def everybody_writes(topics: Iterable[str], access: SeenAccess) -> list[str]:
    """The topics to which a rule lets everybody write."""
    return [topic for topic in topics if EVERYBODY in access.writers(topic)]


def suggest(
    name: str,
    target: str,
    target_id: str,
    seen: Inventory,
    fences: Sequence[FenceKind],
    carried: AccessCarryOver = NOTHING_CARRIED,
    access: SeenAccess = NO_ACCESS,
) -> Migration:
    """The migration of everything that the source holds, with the fences that it has a use for.

    A wave names principals only where everybody may write: else the fence denies it to whomever rules allow it.
    """
    topics = select(_MOVED, seen.topics)
    waves: list[Wave] = []
    taken: set[str] = set()
    for together in _components(topics, _ties(seen)):
        groups = seen.readers(together)
        wave_name = _named(together, taken)
        taken.add(wave_name)
        clients = sorted({member.client_id for group in groups for member in group.members if member.client_id})
        movable = tuple(group.name for group in groups if group.kind.is_movable)
        waves.append(
            Wave(
                wave_name,
                together,
                movable,
                clients=tuple(clients),
                principals=_principals(together, access) if FenceKind.ACL in fences else (),
                order=WaveOrder.TOGETHER,
                fences=tuple(fences),
            )
        )
    return Migration(name, seen.context, target, tuple(waves), seen.cluster_id, target_id, access=carried)


def _principals(topics: Sequence[str], access: SeenAccess) -> tuple[str, ...]:
    """Who else is named, where a rule lets everybody write."""
    if not everybody_writes(topics, access):
        return ()
    named = frozenset[str]().union(*(access.writers(topic) for topic in topics))
    return tuple(sorted(named - {EVERYBODY, access.own}))


def is_moved(topic: str) -> bool:
    """Whether a topic is an application's, not one of a cluster's own or of MirrorMaker 2."""
    return bool(select(_MOVED, [topic]))


def _ties(seen: Inventory) -> list[Iterable[str]]:
    groups: list[GroupInventory] = list(seen.groups.values())
    transactional = [writer for writer in seen.writers or () if writer.transactional_id]
    return [*(group.topics for group in groups), *(writer.topics for writer in transactional)]


def _components(topics: Sequence[str], ties: Iterable[Iterable[str]]) -> list[tuple[str, ...]]:
    """The topics in sets of what is tied together, each sorted, the sets by their first."""
    leads = {topic: topic for topic in topics}

    def root(topic: str) -> str:
        while leads[topic] != topic:
            leads[topic] = leads[leads[topic]]
            topic = leads[topic]
        return topic

    for tie in ties:
        tied = sorted(topic for topic in tie if topic in leads)
        for other in tied[1:]:
            first, second = sorted((root(tied[0]), root(other)))
            leads[second] = first
    found: dict[str, list[str]] = {}
    for topic in topics:
        found.setdefault(root(topic), []).append(topic)
    return [tuple(sorted(members)) for _, members in sorted(found.items())]


def _named(topics: Sequence[str], taken: set[str]) -> str:
    """A name that is not taken, of what the topics' names have in common, or of the first one.

    It is no name of another wave's links either."""
    columns = zip(*topics, strict=False)
    common = "".join(letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, columns))
    text = re.sub(r"[^a-z0-9_-]+", "-", common.lower()).strip("-_")[:_LONGEST]
    if len(text) < 3 or not NAME.fullmatch(text):
        text = re.sub(r"[^a-z0-9_-]+", "-", topics[0].lower()).strip("-_")[:_LONGEST] or "wave"
    name, number = text, 2
    while name in taken or any(name in pair for pair in same_links({*taken, name})):
        name, number = f"{text}_{number}", number + 1
    return name
