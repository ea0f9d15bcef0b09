"""The fences of access rules, which a switch leaves on the cluster that is left: what each denies, and by which steps.

Their rules are written down with the step that makes them, so that exactly these are taken away again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.migration.legs import Leg
from anabranch.migration.run import key_of
from anabranch.migration.spec import FenceKind, Wave
from anabranch.migration.steps import MigrationStep, Part, StepKind
from anabranch.model.acls import AclOperation, ResourceType

BY_RULES = FenceKind.ACL.value
"""The subject of a step that denies something."""


@dataclass(frozen=True, slots=True)
class RuleFence:
    """One of them: ``called`` is what asks for it in a file.

    ``fence`` is the step that makes its rules, and ``lift`` the one that takes them away where a later leg leads;
    ``denied`` is under which name a look notes what somebody else had denied before.  A switch of the part ``without``
    it leaves none of its rules.
    """

    called: str
    resource: ResourceType
    operation: AclOperation
    fence: StepKind
    lift: StepKind
    denied: str
    without: Part

    @property
    def key(self) -> str:
        """The name of what the step has written down that makes its rules."""
        return key_of(self.fence, BY_RULES)

    def lift_key(self, wave: str) -> str:
        """The name of what a run begins with that takes its rules away."""
        return key_of(self.lift, wave)

    def is_asked(self, wave: Wave) -> bool:
        """Whether a wave has it."""
        if self.resource is ResourceType.GROUP:
            return wave.denies_readers
        return FenceKind.ACL in wave.fences

    def is_in(self, steps: Iterable[MigrationStep]) -> bool:
        """Whether one of these steps makes its rules."""
        return any((step.kind, step.subject) == (self.fence, BY_RULES) for step in steps)

    def here(self, leg: Leg) -> tuple[str, ...]:
        """What it is about on the cluster that is left; raises UnknownPluginError, InvalidFieldError."""
        return leg.wave.groups if self.resource is ResourceType.GROUP else tuple(leg.topics)

    def there(self, leg: Leg) -> tuple[str, ...]:
        """What it is about on the cluster that is moved to; raises UnknownPluginError, InvalidFieldError."""
        return leg.wave.groups if self.resource is ResourceType.GROUP else tuple(leg.topics.values())


WRITING = RuleFence(
    "fence acl",
    ResourceType.TOPIC,
    AclOperation.WRITE,
    StepKind.FENCE,
    StepKind.LIFT_FENCE,
    "denied",
    Part.CONSUMERS,
)
READING = RuleFence(
    "readers deny",
    ResourceType.GROUP,
    AclOperation.READ,
    StepKind.FENCE_GROUPS,
    StepKind.LIFT_GROUPS,
    "groups denied",
    Part.PRODUCERS,
)


def asked_of(wave: Wave) -> tuple[RuleFence, ...]:
    """Those that a wave has."""
    return tuple(fence for fence in (WRITING, READING) if fence.is_asked(wave))
