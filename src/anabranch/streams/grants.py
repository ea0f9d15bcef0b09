"""Who may do what with what is in the catalog.

Invariants
    R1  nothing is allowed without a grant: who has none, and owns nothing, is denied everything.
    R2  a grant more never takes anything away.
    R3  a grant on a catalog holds for its databases, one on a database for its tables, views and functions.
    R4  MANAGE includes READ and WRITE, and these do not include each other; an owner has MANAGE.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from anabranch.errors import ConfigError, RefusedError
from anabranch.streams.catalog.names import ObjectName


class Privilege(StrEnum):
    """What a grant allows (R4)."""

    READ = "read"
    WRITE = "write"
    MANAGE = "manage"


class PrincipalKind(StrEnum):
    """Whom a grant is for."""

    USER = "user"
    GROUP = "group"


@dataclass(eq=False)
class PrincipalError(ConfigError):
    """A text that names nobody."""

    text: str

    _message = "{text!r} names nobody"
    _hint = "write user:NAME or group:NAME"


_GRANTED = frozenset({*Privilege, "define", "use"})
"""First words of what a grant would allow; nobody is granted to ``call``, ``set`` or ``make`` what is closed."""
LET_CATALOG = "let the catalog have"
"""In what is denied to a script's own table, and allowed to one of the catalog."""


@dataclass(eq=False)
class DeniedError(RefusedError):
    """Something was asked for that no grant allows; of what is denied only the names are told."""

    who: str
    denied: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"{self.who} may not {'; may not '.join(self.denied)}"

    @property
    def hint(self) -> str:
        own = [one for one in self.denied if LET_CATALOG in one]
        if any(one.split(" ", 1)[0] in _GRANTED for one in self.denied if one not in own):
            fix = "`anabranch catalog grant PRIVILEGE NAME PRINCIPAL --execute`"
            return f"ask an owner, or an admin, for a grant: {fix}"
        if own:
            return "who manages a database of the catalog defines tables in it: `anabranch catalog create FILE`"
        return "no grant allows it: leave it out"


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """``securable`` is a catalog, ``catalog.database`` or ``catalog.database.name``; ``principal`` as user:NAME."""

    securable: str
    principal: str
    privilege: Privilege


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """A privilege that something needs on an object of the catalog."""

    name: ObjectName
    privilege: Privilege


@dataclass(frozen=True, slots=True)
class Allowed:
    """Every need is met."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The needs that are not met: names, and nothing else of what they name."""

    needs: tuple[Need, ...]


Decision = Allowed | Denied


@dataclass(frozen=True, slots=True)
class Authority:
    """Who asks: an account with its groups, the grants of all, and who owns what by securable.

    ``is_admin`` is the role of the service that manages everything.
    """

    account: str
    groups: frozenset[str] = frozenset()
    grants: frozenset[Grant] = frozenset()
    owners: Mapping[str, str] = field(default_factory=dict)
    is_admin: bool = False

    @property
    def principals(self) -> frozenset[str]:
        """Who it is, as grants name that: the account and its groups."""
        return frozenset({user(self.account), *(group(one) for one in self.groups)})

    def has(self, securables: Iterable[str], privilege: Privilege) -> bool:
        """Whether a grant on one of them, or owning one, gives the privilege."""
        if self.is_admin:
            return True
        named = tuple(securables)
        if any(self.owners.get(one) == self.account for one in named):
            return True
        giving = (privilege, Privilege.MANAGE)
        return any(Grant(*one) in self.grants for one in itertools.product(named, self.principals, giving))

    def may(self, name: ObjectName, privilege: Privilege) -> bool:
        """Whether it is allowed on an object, or above it (R3)."""
        return self.has((*name.parents, str(name)), privilege)

    def may_see(self, name: ObjectName) -> bool:
        """Whether what an object is may be shown: whoever may do anything with it."""
        return any(self.may(name, one) for one in Privilege)


def user(account: str) -> str:
    """An account, as grants name it."""
    return f"{PrincipalKind.USER}:{account}"


def group(name: str) -> str:
    """A group, as grants name it."""
    return f"{PrincipalKind.GROUP}:{name}"


def check_principal(text: str) -> str:
    """A principal as it is kept; raises PrincipalError."""
    kind, _, name = text.partition(":")
    if kind not in set(PrincipalKind) or not name or len(text) > 200 or not name.isprintable():
        raise PrincipalError(text)
    return text


def is_group(name: str) -> bool:
    """Whether grants can name a group so."""
    try:
        check_principal(group(name))
    except PrincipalError:
        return False
    return True


def decide(authority: Authority, needs: Collection[Need]) -> Decision:
    """Whether all is allowed; else every need that is not, so that one answer names them all."""
    denied = sorted({one for one in needs if not authority.may(one.name, one.privilege)})
    return Denied(tuple(denied)) if denied else Allowed()
