"""Which topic configs a target topic takes from its source, and which are held open while the link runs.

Only what the source has set explicitly on the topic is copied, so a target keeps its own cluster's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.model.patterns import patterns

LONG_MAX = str(2**63 - 1)

#: Configs that stay the target's own whatever the lists say, and why.
TARGET_OWN: Mapping[str, str] = {
    "message.timestamp.type": "records keep the timestamps they have; LogAppendTime would rewrite them",
    "compression.type": "batches are stored as the source compressed them; another codec would decode each one",
}

#: Configs that are not copied unless the user gives a deny list, and why.
DEFAULT_DENY: Mapping[str, str] = {
    r"min\.insync\.replicas": "goes with the replication factor, which is the target's",
    r"unclean\.leader\.election\.enable": "a decision about the brokers, not about the data",
    r"(leader|follower)\.replication\.throttled\.replicas": "names broker ids of the source",
    r"(local\.retention|remote\.(storage|log))\..*": "tiered storage is a property of the cluster",
    r"segment\..*|segment\.bytes": "how logs are cut is tuned to the brokers' disks",
    r"flush\..*|file\.delete\.delay\.ms|index\.interval\.bytes|preallocate": "tuned to the brokers' disks",
    r"message\.format\.version|message\.downconversion\.enable|message\.timestamp\.difference\.max\.ms": (
        "Kafka 4 refuses them"
    ),
}

#: What a target topic is held at while its link runs, and why it would lose or refuse records otherwise.
HELD_OPEN: Mapping[str, str] = {
    "retention.ms": "-1",  # retention counts from record timestamps: old records would vanish at once
    "retention.bytes": "-1",  # the oldest records would vanish before the copy is verified
    "message.timestamp.before.max.ms": LONG_MAX,  # the broker would refuse old timestamps
    "message.timestamp.after.max.ms": LONG_MAX,  # and those ahead of its clock
    "message.timestamp.type": "CreateTime",  # it would put its own clock's times over the records'
}


@dataclass(frozen=True, slots=True)
class ConfigRules:
    """Allow and deny lists of regular expressions that match whole config names; deny wins."""

    allow: tuple[str, ...] = (".*",)
    deny: tuple[str, ...] = tuple(DEFAULT_DENY)

    def __post_init__(self) -> None:
        for field, of in (("allow", self.allow), ("deny", self.deny)):
            patterns("configs", field, of)

    def copies(self, name: str) -> bool:
        """Whether a config of that name is copied; raises SlowPatternError."""
        if name in TARGET_OWN:
            return False
        allowed = patterns("configs", "allow", self.allow).match(name)
        return allowed and not patterns("configs", "deny", self.deny).match(name)


def wanted_configs(explicit: Mapping[str, str], rules: ConfigRules) -> dict[str, str]:
    """What the target topic is to have once the link is complete, of what the source has set on its topic."""
    return {name: explicit[name] for name in sorted(explicit) if rules.copies(name)}


def held_configs(wanted: Mapping[str, str]) -> dict[str, str]:
    """What the target topic has while the link runs: the wanted configs, with retention and timestamp limits
    open.

    ``cleanup.policy`` is kept: what the target compacts leaves offsets where they are.
    """
    return {**wanted, **HELD_OPEN}


def unheld_configs(explicit: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """What a topic would have set if no link held it open: ``wanted`` is what the link that fills it holds back."""
    own = {name: value for name, value in explicit.items() if name not in HELD_OPEN}
    return {**own, **{name: value for name, value in wanted.items() if name in HELD_OPEN}}


def restored_configs(wanted: Mapping[str, str]) -> dict[str, str | None]:
    """What completion sets for the held names: the wanted value, or None to delete the topic's override."""
    return {name: wanted.get(name) for name in HELD_OPEN}


def drift(actual: Mapping[str, str], desired: Mapping[str, str], rules: ConfigRules) -> dict[str, str | None]:
    """Changes that turn a topic's explicit configs into the desired ones: a value to set, None to delete.

    Names that the rules don't copy are left alone, so that what an operator set on the target stays.
    """
    changes: dict[str, str | None] = {n: v for n, v in desired.items() if actual.get(n) != v}
    changes.update({n: None for n in actual if n not in desired and n not in HELD_OPEN and rules.copies(n)})
    return dict(sorted(changes.items()))
