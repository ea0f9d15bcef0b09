"""The shape of a routes file (``anabranch route apply -f routes.yaml``), which is also how a route table is stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from anabranch.config.context_file import ContextShape, context_fields, context_of
from anabranch.config.yaml_file import FileShape, check, read, refuse_secrets
from anabranch.errors import InvalidFieldError
from anabranch.model.routing import ClientRole
from anabranch.routes.pattern import Pattern
from anabranch.routes.table import SAME_NAMES, Code, Destination, Match, RouteTable, Rule

MOST_RULES = 2_000
PRIORITY = 0
"""Of a rule that names none."""


class DestinationShape(FileShape):
    """Where clients are led: to a cluster, or to another code."""

    cluster: str | None = Field(default=None, description="A cluster, by the name of its context or in clusters.")
    code: str | None = Field(default=None, description="Another code, whose rules then decide.")
    topics: str = Field(default=SAME_NAMES, description="What topics are called there, with {topic} once: old.{topic}.")
    read: bool = Field(default=True, description="Whether clients may read there.")
    write: bool = Field(default=True, description="Whether clients may write there.")


class CodeShape(DestinationShape):
    """A cluster code, which applications name, and where it leads clients that no rule matches."""

    description: str = Field(default="", description="For people.")


class MatchShape(FileShape):
    """Which clients a rule is for: all that is named must match. A star stands for any text, \\* for a star itself."""

    code: str | None = Field(default=None, description="Cluster code; default any.")
    role: Literal["producer", "consumer"] | None = Field(default=None, description="What the client does; default any.")
    topic: str | None = Field(default=None, description="A topic that it reads or writes.")
    group: str | None = Field(default=None, description="Its consumer group.")
    client_id: str | None = Field(default=None, description="Its client.id.")
    parameters: dict[str, str] = Field(
        default_factory=dict, description="Its own parameters, such as application, job_id, site."
    )


class RuleShape(FileShape):
    """Of the rules that match a client the one with the highest priority decides."""

    name: str = Field(description="Names the rule; each has a name of its own.")
    priority: int = Field(default=PRIORITY, ge=-1_000_000, le=1_000_000, description="The highest decides; default 0.")
    match: MatchShape = Field(default_factory=MatchShape, description="Which clients it is for.")
    to: DestinationShape = Field(description="Where it leads them.")


class RoutesShape(FileShape):
    """Cluster codes, and rules that lead some of their clients elsewhere."""

    version: Literal[1] = Field(default=1, description="Version of this file's format.")
    clusters: dict[str, ContextShape] = Field(
        default_factory=dict,
        description="How applications reach a cluster, where that is not as the service does; paths are theirs.",
    )
    codes: dict[str, CodeShape] = Field(description="Cluster codes, by name; those that are not in it are removed.")
    rules: list[RuleShape] = Field(default_factory=list, max_length=MOST_RULES, description="Rules, in any order.")


def load(path: Path) -> RouteTable:
    """A file's table; raises ``ConfigError`` naming file and field."""
    return table_of(read(path), str(path))


def table_of(fields: Mapping[str, Any], where: str) -> RouteTable:
    """The table of a mapping; raises ``ConfigError`` naming the field."""
    refuse_secrets(where, fields, "")
    return of_shape(check(RoutesShape, fields, where), where)


def of_shape(shape: RoutesShape, where: str) -> RouteTable:
    """The table of a shape; raises ``InvalidFieldError``."""
    clusters = {
        name: context_of(name, context, f"{where}: clusters.{name}", None) for name, context in shape.clusters.items()
    }
    codes = {name: Code(name, _destination(code), code.description) for name, code in shape.codes.items()}
    rules = [_rule(rule, f"{where}: rules.{number}") for number, rule in enumerate(shape.rules)]
    return RouteTable(codes, tuple(rules), clusters)


def _destination(shape: DestinationShape) -> Destination:
    return Destination(shape.cluster or "", shape.code or "", shape.topics, shape.read, shape.write)


def _rule(shape: RuleShape, where: str) -> Rule:
    match = shape.match
    made = Match(
        _pattern(match.code, where, "code"),
        None if match.role is None else ClientRole(match.role),
        _pattern(match.topic, where, "topic"),
        _pattern(match.group, where, "group"),
        _pattern(match.client_id, where, "client_id"),
        {name: _wanted(text, where, f"parameters.{name}") for name, text in match.parameters.items()},
    )
    return Rule(shape.name, shape.priority, made, _destination(shape.to))


def _pattern(text: str | None, where: str, field: str) -> Pattern | None:
    return None if text is None else _wanted(text, where, field)


def _wanted(text: str, where: str, field: str) -> Pattern:
    try:
        return Pattern(text)
    except InvalidFieldError as error:
        raise InvalidFieldError(where, f"match.{field}", error.problem, error.fix) from None


def table_fields(table: RouteTable) -> dict[str, Any]:
    """The mapping that ``table_of`` reads as this table; what is as by default is left out."""
    return {
        "version": 1,
        **({"clusters": {n: context_fields(c) for n, c in sorted(table.clusters.items())}} if table.clusters else {}),
        "codes": {name: _code_fields(code) for name, code in sorted(table.codes.items())},
        "rules": [_rule_fields(rule) for rule in table.rules],
    }


def _code_fields(code: Code) -> dict[str, Any]:
    described = {"description": code.description} if code.description else {}
    return {**_destination_fields(code.destination), **described}


def _destination_fields(destination: Destination) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in ("cluster", "code"):
        if value := getattr(destination, name):
            fields[name] = value
    if destination.topics != SAME_NAMES:
        fields["topics"] = destination.topics
    return {
        **fields,
        **({} if destination.may_read else {"read": False}),
        **({} if destination.may_write else {"write": False}),
    }


def _rule_fields(rule: Rule) -> dict[str, Any]:
    match: dict[str, Any] = {}
    for name in ("code", "topic", "group", "client_id"):
        pattern: Pattern | None = getattr(rule.match, name)
        if pattern is not None:
            match[name] = pattern.text
    if rule.match.role is not None:
        match["role"] = rule.match.role.value
    if rule.match.parameters:
        match["parameters"] = {name: pattern.text for name, pattern in sorted(rule.match.parameters.items())}
    return {
        "name": rule.name,
        **({"priority": rule.priority} if rule.priority != PRIORITY else {}),
        "match": match,
        "to": _destination_fields(rule.destination),
    }
