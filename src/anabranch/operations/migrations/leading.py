"""The route table in which the codes of a wave lead to the end of a leg.

Each code leads its consumers somewhere and its producers somewhere, to the source or to the target.  Where both are
led to one cluster the code itself says so; where they are apart the code stays, and one rule leads those that went.

Invariants
    M9   a leg and then its way back, for the same parts, give the table that was before.
    M10  the order in which the parts of a wave are led makes no difference to the table, and twice is as once.
    M11  a client whose code is none of the wave's, and leads to none of them, is led as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.errors import AnabranchError, RefusedError
from anabranch.migration.legs import Leg
from anabranch.migration.steps import Part
from anabranch.model import naming
from anabranch.model.naming import TemplateNaming
from anabranch.model.routing import ClientRole
from anabranch.routes.check import shared_client
from anabranch.routes.pattern import Pattern
from anabranch.routes.table import SAME_NAMES, Code, Destination, Match, RouteTable, Rule

_ROLES: Mapping[Part, tuple[ClientRole, ...]] = {
    Part.ALL: (ClientRole.CONSUMER, ClientRole.PRODUCER),
    Part.CONSUMERS: (ClientRole.CONSUMER,),
    Part.PRODUCERS: (ClientRole.PRODUCER,),
}
HIGHEST = 1_000_000
"""The highest priority that a rule may have."""


@dataclass(eq=False)
class CodeGoneError(RefusedError):
    """A wave names a cluster code that the route table does not have."""

    wave: str
    code: str

    _message = "wave {wave}: the route table has no code {code!r}"
    _hint = "add it: `anabranch route apply -f FILE`, or leave it out of the wave"


@dataclass(eq=False)
class CodeElsewhereError(RefusedError):
    """A code of a wave leads to another code, or to a cluster that is none of the migration's."""

    wave: str
    code: str
    where: str

    _message = "wave {wave}: code {code!r} leads to {where}, so it is not known where its applications are to go"
    _hint = "have the code itself lead to the cluster that its applications leave, or name the other code in the wave"


@dataclass(eq=False)
class RuleInTheWayError(RefusedError):
    """A rule of the route table leads some clients of a wave's code by itself."""

    wave: str
    code: str
    rule: str
    client: str

    _message = "wave {wave}: rule {rule!r} leads {client} of code {code!r} by itself, and would part them from the rest"
    _hint = "take the rule out, or give the clients that it is for a code of their own"


@dataclass(eq=False)
class NamesNotSaidError(RefusedError):
    """What topics are called on the other cluster cannot be said in a route table."""

    wave: str
    code: str
    topics: str
    why: str

    _message = "wave {wave}: code {code!r} calls topics {topics!r}, and what they are called then cannot be said: {why}"
    _hint = "choose a naming policy that puts text before or after a topic's name, or none"


def led(table: RouteTable, leg: Leg, part: Part) -> RouteTable:
    """The table in which a part of the wave's applications is led to the end of a leg.

    Raises CodeGoneError, CodeElsewhereError, RuleInTheWayError, NamesNotSaidError, UnknownPluginError.
    """
    after, faults = _led(table, leg, part)
    if faults:
        raise faults[0]
    return after


def faults_of(table: RouteTable, leg: Leg, part: Part) -> tuple[RefusedError, ...]:
    """All that `led` refuses; raises UnknownPluginError."""
    return _led(table, leg, part)[1]


def _led(table: RouteTable, leg: Leg, part: Part) -> tuple[RouteTable, tuple[RefusedError, ...]]:
    """The table, without the codes of the faults that are found."""
    codes = dict(table.codes)
    own = {role_rule for code in leg.wave.codes for role_rule in _own(leg, code).values()}
    rules = [rule for rule in table.rules if (rule.name, rule.match) not in own]
    faults: list[RefusedError] = []
    for name in leg.wave.codes:
        if name not in codes:
            faults.append(CodeGoneError(leg.wave.name, name))
            continue
        code = codes[name]
        try:
            where = {role: _where(table, leg, code, role) for role in ClientRole}
            where |= dict.fromkeys(_ROLES[part], leg.there)
            _check_rules(rules, leg, code, part)
            home = code.destination.cluster
            if len(set(where.values())) == 1:
                codes[name] = replace(code, destination=_destination(leg, code, where[ClientRole.CONSUMER]))
                continue
            (role,) = (role for role, cluster in where.items() if cluster != home)
            above = 1 + max((rule.priority for rule in rules if _is_for(rule, name)), default=0)
            destination = _destination(leg, code, where[role])
        except (CodeElsewhereError, RuleInTheWayError, NamesNotSaidError) as error:
            faults.append(error)
            continue
        called, match = _own(leg, name)[role]
        rules.append(Rule(called, min(above, HIGHEST), match, destination))
    return RouteTable(codes, tuple(rules), table.clusters), tuple(faults)


def _own(leg: Leg, code: str) -> dict[ClientRole, tuple[str, Match]]:
    """What the rules of a code are called, ``MIGRATION.WAVE.c1`` as no other wave's are, and for whom they are."""
    number = leg.wave.codes.index(code) + 1
    called = f"{leg.migration.name}.{leg.wave.name}"
    return {role: (f"{called}.{role.value[0]}{number}", Match(Pattern(code), role)) for role in ClientRole}


def _where(table: RouteTable, leg: Leg, code: Code, role: ClientRole) -> str:
    """To which of the two clusters those of a role are led now."""
    own = _own(leg, code.name)[role]
    destination = next((rule.destination for rule in table.rules if (rule.name, rule.match) == own), code.destination)
    for one in (destination, code.destination):
        if one.code or one.cluster not in (leg.here, leg.there):
            where = f"code {one.code!r}" if one.code else f"cluster {one.cluster}"
            raise CodeElsewhereError(leg.wave.name, code.name, where)
    return destination.cluster


def _is_for(rule: Rule, code: str) -> bool:
    return rule.match.code is None or rule.match.code.matches(code)


def _check_rules(rules: list[Rule], leg: Leg, code: Code, part: Part) -> None:
    """Raise RuleInTheWayError for a rule whose clients would stay, or go over and come back.

    One that leads to a third cluster is in nobody's way as long as no rule is put above it.
    """
    for rule in rules:
        parts_them = part is not Part.ALL or rule.destination.code or rule.destination.cluster in (leg.here, leg.there)
        client = shared_client(rule.match, Match(Pattern(code.name)))
        if parts_them and client is not None:
            raise RuleInTheWayError(leg.wave.name, code.name, rule.name, client)


def _destination(leg: Leg, code: Code, cluster: str) -> Destination:
    """Where a code leads on a cluster, with what its topics are called there."""
    now = code.destination
    if now.cluster == cluster:
        return now
    template = _template(leg, code)
    if cluster == leg.migration.target:
        topics: str | None = TemplateNaming("", template).renamed(now.topics)
    else:
        topics = TemplateNaming("", template).original(now.topics)
    if topics is None or topics.count(SAME_NAMES) != 1:
        why = f"on {now.cluster} they would be called {template!r}"
        raise NamesNotSaidError(leg.wave.name, code.name, now.topics, why)
    return replace(now, cluster=cluster, topics=topics)


def _template(leg: Leg, code: Code) -> str:
    """What the migration calls topics of the source on the target, with ``{topic}`` once; held against its topics."""
    rules = leg.migration.copy.naming
    policy = naming.load(rules, leg.migration.source)
    try:
        template = policy.renamed(SAME_NAMES)
        said = TemplateNaming("", template)
        other = next((topic for topic in leg.wave.topics if said.renamed(topic) != policy.renamed(topic)), "")
    except AnabranchError as error:
        raise NamesNotSaidError(leg.wave.name, code.name, code.destination.topics, error.message) from error
    if other:
        why = f"policy {rules.kind} calls {other} {policy.renamed(other)}, which is not {template!r}"
        raise NamesNotSaidError(leg.wave.name, code.name, code.destination.topics, why)
    return template
