"""Grants, owners, descriptions and groups: who may do what with the catalog."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from anabranch.errors import ConfigError, RefusedError
from anabranch.model.clock import now_ms
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.operations.catalog.desk import CatalogDesk, KnownCatalog, known
from anabranch.streams.catalog.kept import EntryChange, NoEntryError, StoredGrant
from anabranch.streams.catalog.names import CATALOG, DATABASE, catalog_name, database_name, object_name
from anabranch.streams.grants import DeniedError, Grant, Privilege, check_principal


@dataclass(frozen=True, slots=True)
class GrantPlan:
    """A grant that is given or taken back; ``changes`` is False where it is so already."""

    grant: Grant
    give: bool
    changes: bool
    hash: str
    attached: Collection[str] = field(default=(), metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class Granted:
    """How it is now, and whether that was a change."""

    grant: Grant
    given: bool
    changed: bool
    hash: str


@dataclass(frozen=True, slots=True)
class EntrySetPlan:
    """An entry's new owner and description; what is None stays."""

    name: str
    owner: str | None
    description: str | None
    revision: int
    hash: str


@dataclass(frozen=True, slots=True)
class EntrySet:
    """An entry as it is now."""

    name: str
    owner: str
    description: str
    hash: str


@dataclass(frozen=True, slots=True)
class MembersPlan:
    """Accounts that come into a group or leave it; the hash covers who is in it."""

    group: str
    members: tuple[str, ...]
    add: tuple[str, ...]
    remove: tuple[str, ...]
    hash: str


@dataclass(frozen=True, slots=True)
class MembersSet:
    """A group as it is now."""

    group: str
    members: tuple[str, ...]
    hash: str


@dataclass(eq=False)
class GrantTargetError(ConfigError):
    """A grant names no catalog, no database and no object."""

    level: str

    _message = "{level!r} is nothing that a grant can be on"
    _hint = "say on what it is: catalog, database or object"


@dataclass(eq=False)
class NotAdminError(RefusedError):
    """Only an admin of the service may do that."""

    account: str
    what: str

    _message = "{account} is no admin of the service, and may not {what}"
    _hint = "ask an admin"


@dataclass(eq=False)
class ClaimedMemberError(RefusedError):
    """Accounts are in a group by the word of their provider alone, which an admin cannot take back here."""

    group: str
    accounts: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"{', '.join(self.accounts)} came into group {self.group} by the provider that vouches for them"

    _hint = "take them out of it there: it counts from their next login on; or revoke the group's grants"


def securable(level: str, name: str) -> str:
    """What a grant is on, by its full name; ``level`` is catalog, database or object.

    Raises CatalogNameError, GrantTargetError.
    """
    if level == "catalog":
        return catalog_name(name)
    if level == "database":
        return database_name(name)
    if level == "object":
        return str(object_name(name))
    raise GrantTargetError(level)


async def plan_grant(
    desk: CatalogDesk,
    on: str,
    principal: str,
    privilege: Privilege,
    *,
    give: bool,
    attached: Collection[str] = (),
) -> GrantPlan:
    """Give or take a grant on a securable's full name; raises PrincipalError, NoEntryError, DeniedError, StoreError.

    What is in one of the ``attached`` catalogs is not known here, and need not be there.
    """
    found = await known(desk)
    check_principal(principal)
    if on.partition(".")[0] not in attached:
        _check_there(found, on)
    parts = on.split(".")
    found.need(Privilege.MANAGE, *(".".join(parts[:count]) for count in range(1, len(parts) + 1)))
    grant = Grant(on, principal, privilege)
    changes = (grant in found.authority.grants) != give
    hash_ = plan_hash(on, principal, privilege.value, give, changes)
    return GrantPlan(grant, give, changes, hash_, frozenset(attached))


async def apply_grant(desk: CatalogDesk, planned: GrantPlan) -> Granted:
    """Give it or take it back; raises PlanChangedError where somebody has done so since, and what planning raises."""
    one = planned.grant
    now = await plan_grant(
        desk, one.securable, one.principal, one.privilege, give=planned.give, attached=planned.attached
    )
    check_holds(f"{one.privilege.value} on {one.securable} for {one.principal}", planned, now)
    kept = StoredGrant(one.securable, one.principal, one.privilege.value, now_ms(), desk.account)
    changed = await (desk.grant if planned.give else desk.revoke)(kept)
    return Granted(one, planned.give, changed, planned.hash)


async def plan_set(desk: CatalogDesk, name: str, owner: str | None, description: str | None) -> EntrySetPlan:
    """Change who owns an entry, or what is said of it; raises NoEntryError, DeniedError, StoreError."""
    found = await known(desk)
    entry = found.visible(name)
    parts = name.split(".")
    found.need(Privilege.MANAGE, *(".".join(parts[:count]) for count in range(1, len(parts) + 1)))
    return EntrySetPlan(name, owner, description, entry.revision, plan_hash(name, owner, description, entry.revision))


async def apply_set(desk: CatalogDesk, planned: EntrySetPlan) -> EntrySet:
    """Do it; raises PlanChangedError where it was changed since, and what planning raises.

    Raises EntryChangedError where somebody changes it at the same time.
    """
    now = await plan_set(desk, planned.name, planned.owner, planned.description)
    check_holds(planned.name, planned, now, f"anabranch catalog show {planned.name}")
    entry = (await known(desk)).visible(planned.name)
    after = replace(
        entry,
        owner=entry.owner if planned.owner is None else planned.owner,
        description=entry.description if planned.description is None else planned.description,
        changed=now_ms(),
        author=desk.account,
    )
    await desk.change([EntryChange(planned.name, planned.revision, after)])
    return EntrySet(after.name, after.owner, after.description, planned.hash)


async def plan_group(desk: CatalogDesk, group: str, add: Sequence[str], remove: Sequence[str]) -> MembersPlan:
    """Have accounts in a group, and others not.

    Raises NotAdminError, PrincipalError, ClaimedMemberError, StoreError.
    """
    check_principal(f"group:{group}")
    if desk.account not in await desk.admins():
        raise NotAdminError(desk.account, "change groups")
    members, assigned = (await desk.groups()).get(group, ()), (await desk.assigned()).get(group, ())
    new = tuple(sorted({*add} - {*assigned}))
    gone = tuple(sorted({*remove} & {*assigned}))
    if claimed := tuple(sorted(({*remove} & {*members}) - {*assigned})):
        raise ClaimedMemberError(group, claimed)
    return MembersPlan(group, members, new, gone, plan_hash(group, list(members), new, gone))


async def apply_group(desk: CatalogDesk, planned: MembersPlan) -> MembersSet:
    """Do it; raises PlanChangedError where others are in the group by now, and what planning raises."""
    now = await plan_group(desk, planned.group, planned.add, planned.remove)
    check_holds(f"group {planned.group}", planned, now)
    await desk.set_members(planned.group, planned.add, planned.remove)
    return MembersSet(planned.group, (await desk.groups()).get(planned.group, ()), planned.hash)


def _check_there(found: KnownCatalog, on: str) -> None:
    """Raise NoEntryError for a grant on what is not there, DeniedError without telling whether it is."""
    if "." not in on or on == f"{CATALOG}.{DATABASE}" or on in found.entries:
        return
    if not found.authority.has(_above(on), Privilege.MANAGE):
        raise DeniedError(found.authority.account, (f"manage {on}",))
    raise NoEntryError(on)


def _above(on: str) -> list[str]:
    parts = on.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]
