"""Which instance of the service acts: a name is held by one at a time, until it is renewed no more.

Invariants
    S1  the fence of a name rises with each change of its holder, and at no other time.
    S2  a name has one holder: it is taken only where it is free, or its time is over by the database's writer's clock.

Instances compare their own clocks with a time that another one wrote, so their clocks may differ by no more than
``SKEW_MS``: a holder acts for that much less, and who takes a name waits for that much more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from anabranch.store.database import Database
from anabranch.store.tables import LEASES

SKEW_MS = 2_000
MACHINE_MS = 15_000


@dataclass(frozen=True, slots=True)
class Held:
    """Who has a name, and until when (ms); ``fence`` counts its holders."""

    name: str
    holder: str
    fence: int
    until: int

    def holds(self, holder: str, now_ms: int) -> bool:
        """Whether this holder may still act."""
        return self.holder == holder and now_ms < self.until - SKEW_MS


class InstanceLeases:
    """The names of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, name: str, holder: str, now_ms: int, length_ms: int) -> Held:
        """Take a name, or renew it; the answer says who has it now, which may be another."""
        try:
            with self._database.begin() as connection:
                row = connection.execute(select(LEASES).where(LEASES.c.name == name).with_for_update()).first()
                if row is None:
                    made = Held(name, holder, 1, now_ms + length_ms)
                    connection.execute(
                        insert(LEASES).values(name=name, holder=holder, fence=made.fence, until=made.until)
                    )
                    return made
                found = Held(row.name, row.holder, row.fence, row.until)
                if found.holder != holder and now_ms < found.until + SKEW_MS:
                    return found
                fence = found.fence if found.holder == holder else found.fence + 1
                made = Held(name, holder, fence, max(now_ms + length_ms, found.until if found.holder == holder else 0))
                connection.execute(
                    update(LEASES)
                    .where(LEASES.c.name == name)
                    .values(holder=made.holder, fence=made.fence, until=made.until)
                )
                return made
        except IntegrityError:  # two were the first
            return self.take(name, holder, now_ms, length_ms)

    def give_back(self, name: str, holder: str) -> None:
        """Let the next one take it at once; its fence is kept."""
        with self._database.begin() as connection:
            connection.execute(update(LEASES).where(LEASES.c.name == name, LEASES.c.holder == holder).values(until=0))

    def get(self, name: str) -> Held | None:
        """Who had it last; a store that cannot be written does not answer."""
        with self._database.begin() as connection:
            row = connection.execute(select(LEASES).where(LEASES.c.name == name)).first()
            return None if row is None else Held(row.name, row.holder, row.fence, row.until)

    def vouch(self, machine: str, now_ms: int) -> int | None:
        """Say that a machine is there; when that was said last (ms), None for never."""
        before = self.get(of_machine(machine))
        self.take(of_machine(machine), machine, now_ms, MACHINE_MS)
        return None if before is None else before.until - MACHINE_MS

    def machines(self) -> Mapping[str, int]:
        """When each machine was heard of last (ms)."""
        asked = select(LEASES.c.holder, LEASES.c.until).where(LEASES.c.name.startswith(_MACHINE))
        with self._database.read() as connection:
            return {row.holder: row.until - MACHINE_MS for row in connection.execute(asked)}

    def alive(self, now_ms: int) -> Sequence[str]:
        """The instances that have renewed their own names in time; see `of_instance`."""
        asked = select(LEASES.c.holder).where(LEASES.c.name.startswith(_INSTANCE), LEASES.c.until > now_ms - SKEW_MS)
        with self._database.read() as connection:
            return list(connection.execute(asked.order_by(LEASES.c.holder)).scalars())


_INSTANCE = "instance "
_MACHINE = "machine "


def of_instance(instance: str) -> str:
    """The name that an instance holds for as long as it is there."""
    return _INSTANCE + instance


def of_machine(machine: str) -> str:
    """The name that the instances of a machine hold for as long as one of them is there."""
    return _MACHINE + machine
