"""What the command line does with links and positions the service does, too, or the reference says why it does not.

The table says where what is called otherwise; an option that is not in it is a field of its own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer

from anabranch.cli.app import app
from anabranch.service.verbs import VERBS
from qa.openapi import openapi

pytestmark = pytest.mark.unit

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "serve.md").read_text("utf-8")
TITLE = "## What the service leaves to the command line\n"
NOUNS = ("link", "groups", "offsets", "verify", "checkpoint", "mm2")
LINK = "GET /api/v1/clusters/{target}/links/{link}"
EVENTS = "GET /api/v1/events"


@dataclass(frozen=True, slots=True)
class Needless:
    """An option that asks for nothing here, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Left:
    """What the service leaves to the command line; the reference says so in words like these."""

    why: str


@dataclass(frozen=True, slots=True)
class Address:
    """An option that is another address."""

    at: str


Place = str | Needless | Left | Address


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The verb or the addresses that do the same, and options whose fields have other names, or none."""

    at: str | tuple[str, ...]
    options: Mapping[str, Place]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it is asked for."""
        if isinstance(self.at, tuple):
            return self.at
        return (f"POST /api/v1/{self.at.replace('.', '/')}/plan",) if self.at in VERBS else (self.at,)


EVERYWHERE: Mapping[str, Place] = {
    "--output": Needless("answers are JSON"),
    "--execute": Address("POST /api/v1/plans/{plan_id}/apply"),
    "--plan": Address("POST /api/v1/plans/{plan_id}/apply"),
    "--watch": Address(EVENTS),
    "--detach": Needless("an operation goes on by itself"),
}
"""Options that mean the same wherever they are."""
EVERY_TARGET = Needless("what is of every cluster is answered at once")
SETTINGS = Left("of the service, for all jobs")
SPEC = Left("for spark-submit")
FILES = Left("files of the user's machine")
JOB: Mapping[str, Place] = {"--master": SETTINGS, "--conf": SETTINGS, "--spec": SPEC, "--directory": SETTINGS}
LEADING: Mapping[str, Place] = {"--link": "links", "--source": "sources", "--dynamic-cluster": "dynamic"}
REWRITE: Mapping[str, Place] = {**LEADING, "--drop-source": "drop"}
COUNTERPARTS: Mapping[str, Counterpart | Left] = {
    "link create": Counterpart(
        "links.create",
        {
            "--file": Needless("what is in it is the request's link"),
            "--source": "link.source",
            "--target": "link.target",
            "--id": "link.id",
            "--include": "link.filter.include",
            "--exclude": "link.filter.exclude",
            "--naming": "link.naming.kind",
            "--replication-factor": "link.replication_factor",
            "--start": "link.start",
            "--mode": "link.mode",
            "--rate-limit": "link.rate_limit",
            "--lease-seconds": "link.lease_seconds",
            "--sync-groups": "link.groups.include",
            "--sync-interval": "link.groups.interval",
            "--checkpoints": "link.groups.checkpoints",
            "--shared-topics": "link.shared_topics",
            "--back-of": "link.back_of",
        },
    ),
    "link list": Counterpart("GET /api/v1/links", {"--target": EVERY_TARGET}),
    "link show": Counterpart(LINK, {}),
    "link wait": Counterpart(
        "links.wait", {"--caught-up": Needless("nothing else is waited for"), "--timeout": "timeout_s"}
    ),
    "link run": Counterpart(
        "links.run",
        {
            **JOB,
            "--deploy-mode": SETTINGS,
            "--archive": SETTINGS,
            "--file": SETTINGS,
            "--lease-seconds": Left("a run of the service takes the link's own"),
            "--log-format": SETTINGS,
        },
    ),
    "link stop": Counterpart("links.stop", {"--wait": "wait_s"}),
    "link package": Left("made of the user's own installation"),
    "link pause": Counterpart("links.pause", {}),
    "link resume": Counterpart("links.resume", {}),
    "link set": Counterpart("links.set", {}),
    "link accept": Counterpart("links.accept", {}),
    "link abort-transaction": Counterpart("links.abort-transaction", {}),
    "link delete": Counterpart("links.delete", {}),
    "link metrics": Counterpart(
        "GET /metrics", {"--target": EVERY_TARGET, "--port": Needless("they are at the service's own")}
    ),
    "groups list": Counterpart(f"{LINK}/groups", {}),
    "groups show": Counterpart(f"{LINK}/group", {}),
    "groups baseline": Counterpart("groups.baseline", {}),
    "groups plan": Counterpart("groups.sync", {}),
    "groups sync": Counterpart("groups.sync", {}),
    "groups create": Counterpart("groups.create", {"--topic": "topics"}),
    "groups undo": Counterpart("groups.undo", {"ID": "undo"}),
    "offsets translate": Counterpart(
        ("POST /api/v1/clusters/{target}/links/{link}/translate", f"{LINK}/translate/group"),
        {"OFFSETS": "questions", "--file": FILES, "--out": FILES},
    ),
    "offsets ranges": Counterpart(f"{LINK}/ranges", {"--limit": Needless("all are answered")}),
    "offsets export": Counterpart(
        f"{LINK}/maps", {"--out": Needless("the answer is the file"), "--format": Address(f"{LINK}/maps.csv")}
    ),
    "offsets rebuild": Counterpart(
        "offsets.rebuild",
        {
            **JOB,
            "--topic": "topics",
            "--out": Needless("the report says where the service wrote it"),
            "--naming": Left("each topic is given with its copy"),
            "--verify-spec": SPEC,
        },
    ),
    "verify start": Counterpart("verify.start", JOB),
    "verify show": Counterpart(
        f"{LINK}/verification",
        {"--report": Needless("it is in the answer"), "--page": Address(f"{LINK}/verification/page")},
    ),
    "verify stop": Counterpart("verify.stop", {}),
    "verify resume": Counterpart("verify.resume", JOB),
    "checkpoint inspect": Counterpart("POST /api/v1/checkpoints/inspect", {}),
    "checkpoint advise": Counterpart(
        "POST /api/v1/checkpoints/advise",
        {
            **LEADING,
            "--downtime": "downtime_s",
            "--measure": "measure_s",
            "--out": FILES,
            "--all": Needless("every way has its steps"),
        },
    ),
    "checkpoint plan": Counterpart("checkpoints.rewrite", REWRITE),
    "checkpoint rewrite": Counterpart(
        "checkpoints.rewrite",
        {
            **REWRITE,
            "--finish-command": Left("a program of the user's machine"),
            "--finish-timeout": Left("a program of the user's machine"),
        },
    ),
    "checkpoint verify": Counterpart("POST /api/v1/checkpoints/verify", REWRITE),
    "checkpoint undo": Counterpart("checkpoints.undo", {}),
    "mm2 report": Counterpart("POST /api/v1/mirrormaker/report", {}),
    "mm2 translate": Counterpart("POST /api/v1/mirrormaker/translate", {"OFFSETS": "questions"}),
    "mm2 publish": Counterpart("mirrormaker.publish", {}),
}


def commands() -> Mapping[str, tuple[str, ...]]:
    """The options of each command by their long names, and its arguments."""
    nouns: Any = typer.main.get_command(app)
    return {
        f"{noun} {name}": tuple(
            max(one.opts, key=len) if one.opts[0].startswith("-") else one.name.rstrip("_").upper()
            for one in command.params
        )
        for noun in NOUNS
        for name, command in nouns.commands[noun].commands.items()
    }


COMMANDS = commands()


@pytest.fixture(scope="module")
def described() -> Mapping[str, Any]:
    """What the service says of itself."""
    return openapi()


def fields(described: Mapping[str, Any], address: str) -> Iterator[Mapping[str, Any]]:
    """The fields by which an address is asked: those of its path and query, and those of its body."""
    method, _, path = address.partition(" ")
    asked = described["paths"][path][method.lower()]
    yield {one["name"]: one["schema"] for one in asked.get("parameters", ())}
    if "requestBody" in asked:
        schema = asked["requestBody"]["content"]["application/json"]["schema"]
        yield from (shape["properties"] for shape in shapes(described, schema))


def shapes(described: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The objects that a value may be."""
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for one in schema.get("anyOf", ()):
        yield from shapes(described, one)
    if "properties" in schema:
        yield schema


def has(described: Mapping[str, Any], found: Mapping[str, Any], path: str) -> bool:
    """Whether these fields have this one, which may be within another."""
    name, _, within = path.partition(".")
    if name not in found or not within:
        return name in found
    return any(has(described, shape["properties"], within) for shape in shapes(described, found[name]))


def test_every_command_has_a_counterpart_or_a_reason() -> None:
    """And nothing is named that there is no more."""
    assert COUNTERPARTS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", [name for name, found in COUNTERPARTS.items() if isinstance(found, Counterpart)])
def test_every_option_is_a_field_or_has_a_reason(command: str, described: Mapping[str, Any]) -> None:
    """Of an address that is there; the table names no option that the command has not."""
    found = COUNTERPARTS[command]
    assert isinstance(found, Counterpart)
    asked = [one for address in found.addresses for one in fields(described, address)]
    assert found.options.keys() - JOB.keys() <= set(COMMANDS[command])
    for option in COMMANDS[command]:
        own = option.lstrip("-").replace("-", "_").lower()
        place = found.options.get(option, EVERYWHERE.get(option, own))
        if isinstance(place, Address):
            method, _, path = place.at.partition(" ")
            assert method.lower() in described["paths"][path], place
        elif isinstance(place, str):
            assert any(has(described, one, place) for one in asked), f"{option}: the service has no field {place}"


def test_the_reference_names_what_is_left_to_the_command_line() -> None:
    """Each command and option, and no other of these nouns."""
    left = {(name, "") for name, found in COUNTERPARTS.items() if isinstance(found, Left)}
    for name, found in COUNTERPARTS.items():
        if isinstance(found, Counterpart):
            left |= {(name, one) for one in COMMANDS[name] if isinstance(found.options.get(one), Left)}
    rows = re.findall(r"^\| (`.*`) \| (.*?) ?\| .* \|$", PAGE.partition(TITLE)[2].partition("\n## ")[0], re.MULTILINE)
    quoted = re.compile("`([^`]+)`")
    told = [pair for names, options in rows for pair in product(quoted.findall(names), quoted.findall(options) or [""])]
    assert sorted(told) == sorted(left)
