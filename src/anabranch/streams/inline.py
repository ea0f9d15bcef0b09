"""What a script may use without the catalog: its own tables, by the policy of a service.

Invariants
    L1  a topic that a table of the catalog has is no way around its grants: the script's own table needs what that
        table needs.
    L2  what no rule allows is denied, with its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from anabranch.streams.catalog.names import object_name
from anabranch.streams.catalog.objects import topic_of
from anabranch.streams.declared import reaches
from anabranch.streams.grants import LET_CATALOG, DeniedError, Privilege
from anabranch.streams.needed import PlanNeeds, Registered, needed
from anabranch.streams.tables import TableDeclaration

BY_ADDRESS = frozenset(
    {
        *("rate", "rate-micro-batch", "console", "noop", "jdbc", "postgresql", "mysql", "mariadb"),
        *("redis", "opensearch", "elasticsearch"),
    }
)
"""Providers whose tables a script may declare itself: they name a server, and bring what opens it."""
_REACHING_NOTHING = frozenset({"rate", "rate-micro-batch", "console", "noop"})


@dataclass(frozen=True, slots=True)
class InlinePolicy:
    """``free_topics`` says whether a script may use a topic that no table of the catalog has.

    ``is_open`` is for who manages the whole catalog: tables of any provider, with files and secrets.
    """

    free_topics: bool = True
    providers: frozenset[str] = BY_ADDRESS
    is_open: bool = False


CATALOG_ALONE = InlinePolicy(free_topics=False, providers=_REACHING_NOTHING)
"""Of an author whom nobody vouches for: what holds data is a table, or the topic of a table, of the catalog."""


@dataclass(frozen=True, slots=True)
class TableAccess:
    """What an account may do, by full name of the object, or in an attached catalog of what it is in.

    ``account`` is told in refusals.

    ``topics`` are the tables of each topic as ``cluster/topic``; ``leads`` is the cluster of each code that is led to
    one of another name.
    """

    account: str
    may: Mapping[str, tuple[Privilege, ...]] = field(default_factory=dict)
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leads: Mapping[str, str] = field(default_factory=dict)
    policy: InlinePolicy = field(default_factory=InlinePolicy)

    def allows(self, name: str, privilege: Privilege) -> bool:
        """Whether it is allowed on an object."""
        parts = name.split(".")
        above = (".".join(parts[:count]) for count in range(1, len(parts) + 1))
        return any(privilege in self.may.get(one, ()) for one in above)


def denied(needs: PlanNeeds, inline: Mapping[str, TableDeclaration], access: TableAccess) -> tuple[str, ...]:
    """What is needed and not allowed, each as ``read shop.orders``; none where all is allowed (L2)."""
    found = [
        f"{need.privilege} {need.name.short}"
        for need in needs.tables
        if not access.allows(str(need.name), need.privilege)
    ]
    declared = {name.lower(): one for name, one in inline.items()}
    found += [
        f"{privilege} {name}: {why}"
        for name, privilege in needs.inline
        if (why := why_not_own(declared.get(name), privilege, access))
    ]
    found += [f"look into what has no name in the catalog ({kind})" for kind in needs.sources]
    return (*found, *needs.calls)


def check_plans(
    plans: Iterable[tuple[str, str]],
    registered: Registered,
    inline: Mapping[str, TableDeclaration],
    access: TableAccess,
) -> None:
    """Raise DeniedError with all that some plans need and that is not allowed.

    A plan is Spark's JSON and the name of the table that it is written to, empty where it is only shown; ``inline`` are
    the script's own tables.  Raises PlanTextError, CatalogNameError too.
    """
    needs = PlanNeeds()
    for plan, target in plans:
        needs += needed(plan, target, registered)
    if found := denied(needs, inline, access):
        raise DeniedError(access.account, found)


def why_not_own(declaration: TableDeclaration | None, privilege: Privilege | None, access: TableAccess) -> str:
    """Why a table of the script is not allowed, or with no privilege why it may not be declared; empty where it is."""
    if declaration is None:
        return "the script does not declare it"
    provider, policy = declaration.provider.lower(), access.policy
    if not policy.is_open:
        if provider != "kafka" and provider not in policy.providers:
            return f"a script may not declare a table of provider {declaration.provider}: {LET_CATALOG} it"
        if why := reaches(declaration):
            return f"{why}: {LET_CATALOG} the table"
    if provider != "kafka" or privilege is None:
        return ""
    topic = topic_of(declaration)
    if topic is None:
        return "it names no topic of a cluster code"
    code, names = topic
    found = (_why_not_topic(code, one.strip(), privilege, access) for one in names.split(",") if one.strip())
    return next((why for why in found if why), "")


def _why_not_topic(code: str, topic: str, privilege: Privilege, access: TableAccess) -> str:
    tables = access.topics.get(f"{access.leads.get(code, code)}/{topic}", ())
    if not tables:
        why = f"no table of the catalog has topic {topic} of cluster {code}: {LET_CATALOG} one"
        return "" if access.policy.free_topics else why
    if any(access.allows(table, privilege) for table in tables):
        return ""
    shown = ", ".join(object_name(table).short for table in tables)
    return f"topic {topic} of cluster {code} is that of {shown}"
