"""Whose passwords the target lacks: they cannot be read on the source, so a person makes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from anabranch.migration.access.scope import EVERYBODY
from anabranch.migration.access.values import Access
from anabranch.model.quotas import USER

_USER = "User:"


def named_users(wanted: Access) -> frozenset[str]:
    """The users that rules or quotas name."""
    of_rules = {
        rule.principal.removeprefix(_USER)
        for rule in wanted.rules
        if rule.principal.startswith(_USER) and rule.principal != EVERYBODY
    }
    of_quotas = {name for key in wanted.quotas for kind, name in key.entity if kind == USER and name is not None}
    return frozenset(of_rules | of_quotas)


def lacking(
    wanted: Access, principals: Mapping[str, str], source: Collection[str], target: Collection[str]
) -> tuple[str, ...]:
    """The named users that have SCRAM credentials on the source, there under their former names, and none here."""
    former: dict[str, set[str]] = {}
    for old, new in principals.items():
        former.setdefault(new.removeprefix(_USER), set()).add(old.removeprefix(_USER))
    found = [
        user
        for user in named_users(wanted)
        if user not in target and not ({user} | former.get(user, set())).isdisjoint(source)
    ]
    return tuple(sorted(found))
