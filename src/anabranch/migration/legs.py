"""The ways of a wave: from where its applications are to where they are led, there and back and there again.

The first leg is that of the forward link; each later one is the way back of the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from anabranch.migration.ends import End
from anabranch.migration.spec import Migration, Wave
from anabranch.model import naming
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.plugins import PluginSpec

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_BACK = "-back"


@dataclass(frozen=True, slots=True)
class Leg:
    """One way of a wave; ``number`` counts from 0, and is even where it leads from the source to the target."""

    migration: Migration
    wave: Wave
    number: int = 0

    @property
    def leads_back(self) -> bool:
        """Whether it leads from the target to the source."""
        return self.number % 2 == 1

    @property
    def here(self) -> str:
        """The context of the cluster that is left."""
        return self.migration.at(self.begins_at)

    @property
    def there(self) -> str:
        """The context of the cluster that is moved to."""
        return self.migration.at(self.ends_at)

    @property
    def begins_at(self) -> End:
        """Which of the two is left."""
        return End.TARGET if self.leads_back else End.SOURCE

    @property
    def ends_at(self) -> End:
        """Which of the two is moved to."""
        return End.SOURCE if self.leads_back else End.TARGET

    @property
    def link(self) -> str:
        """The link that copies from here to there: ``NAME-WAVE``, ``NAME-WAVE-back``, ``NAME-WAVE-2``, and so on."""
        again = f"-{self.number // 2 + 1}" if self.number > 1 else ""
        return f"{self.migration.name}-{self.wave.name}{again}{_BACK if self.leads_back else ''}"

    @property
    def next(self) -> Leg:
        """The way back of this one."""
        return self.at(self.number + 1)

    def at(self, number: int) -> Leg:
        """Another leg of the same wave."""
        return replace(self, number=number)

    def of_link(self, link: str) -> Leg | None:
        """The leg of a link: this one, or one before it; None for any other link."""
        legs = (self.at(number) for number in range(self.number + 1))
        return next((one for one in legs if one.link == link), None)

    @property
    def topics(self) -> dict[str, str]:
        """What each topic is called here, and there; raises UnknownPluginError, InvalidFieldError."""
        policy = naming.load(self.migration.copy.naming, self.migration.source)
        names = {topic: policy.renamed(topic) for topic in self.wave.topics}
        return {there: here for here, there in names.items()} if self.leads_back else names

    def spec(self, source_id: str = "", target_id: str = "") -> LinkSpec:
        """The link; raises InvalidFieldError."""
        rules = self.migration.copy
        here, there = ClusterRef(self.here, source_id), ClusterRef(self.there, target_id)
        if self.number:
            before = self.at(self.number - 1)
            return LinkSpec(self.link, here, there, configs=rules.configs, back_of=before.link)
        return LinkSpec(
            self.link,
            here,
            there,
            filter=PluginSpec("regex", {"include": [re.escape(topic) for topic in self.wave.topics], "exclude": []}),
            naming=rules.naming,
            replication_factor=rules.replication_factor,
            start=rules.start,
            mode=rules.mode,
            configs=rules.configs,
            rate_limit=self._first_rate,
        )

    @property
    def _first_rate(self) -> int | None:
        """An equal part of the budget: whichever other waves' links run, they have no more of it together."""
        budget = self.migration.limits.source_rate
        return None if budget is None else max(1, budget // max(1, len(self.migration.waves)))


TURNS = 99
"""So many times a wave goes there and back by names that are checked before it is started."""
LONGEST_LINK = 63
"""How many characters a link's name has at most."""
_LATER = re.compile(r"(-([2-9]|[1-9][0-9]+))?(-back)?")


def longest_link(migration: Migration) -> str:
    """The longest name of a link that a wave makes in `TURNS` turns, empty where it has no wave."""
    return max((Leg(migration, wave, 2 * TURNS - 1).link for wave in migration.waves), key=len, default="")


def same_links(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of waves of which the first would make links by the names of the second's, such as ``a`` and ``a-2``."""
    found = sorted(set(names))
    return tuple((one, other) for one in found for other in found if one != other and _makes(one, other))


def _makes(wave: str, other: str) -> bool:
    return other.startswith(wave) and _LATER.fullmatch(other.removeprefix(wave)) is not None
