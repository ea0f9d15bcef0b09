"""What the service offers: requests hold nothing that is not meant, and each is a command line too."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import ValidationError

from anabranch.cli.checkpoints.options import RewriteFlags
from anabranch.cli.checkpoints.options import rewrite_spec as typed_spec
from anabranch.cli.main import app
from anabranch.operations.documents import Schemas
from anabranch.service.verb import Verb
from anabranch.service.verbs import VERBS
from anabranch.service.verbs.rewrite_request import RewritePositions, rewrite_spec, words

pytestmark = pytest.mark.unit

LINK = {"target": "new", "link": "old-new"}
REQUESTS: dict[str, list[dict[str, Any]]] = {
    "links.create": [{"link": {"source": "old", "target": "new"}, "adopt": "/maps/old new.json"}],
    "links.pause": [LINK],
    "links.resume": [LINK],
    "links.accept": [LINK, {**LINK, "where": "flights-2", "at": 17}],
    "links.abort-transaction": [{**LINK, "where": "flights-2", "producer_id": 9}],
    "links.set": [
        {**LINK, "rate_limit": "5MB/s"},
        {**LINK, "include": ["a.*"], "exclude": ["b c"]},
        {**LINK, "sync_groups": ["g.*", "h i"], "sync_interval": "20s", "checkpoints": True},
        {**LINK, "sync_groups": ["none"]},
    ],
    "links.run": [LINK],
    "links.stop": [LINK],
    "links.delete": [LINK],
    "groups.baseline": [LINK, {**LINK, "groups": ["a b", "c.*"], "exclude": ["x"]}],
    "groups.sync": [LINK, {**LINK, "groups": ["a b", "c.*"], "exclude": ["x", "y"], "topics": ["t"]}],
    "groups.create": [{"target": "new", "group": "a b", "topics": ["t", "u"], "start": "latest"}],
    "groups.undo": [{"target": "new", "undo": "20261123T101112-1a2b"}],
    "offsets.rebuild": [
        {
            "source": "old",
            "target": "new",
            "link": "maps",
            "topics": {"a b": "old.a b", "c": "c"},
            "ignore": ["headers"],
        }
    ],
    "mirrormaker.publish": [LINK, {**LINK, "source_alias": "it's"}],
    "verify.start": [LINK, {**LINK, "reader": "batches", "levels": "committed", "samples": 3, "show_values": True}],
    "verify.resume": [LINK],
    "verify.stop": [LINK],
    "checkpoints.rewrite": [
        {"path": "/c/p t", "target": "new", "links": ["old-new", "other"], "to": "/c/q", "stopped": True},
        {
            "path": "/c/p",
            "target": "new",
            "start": "latest",
            "stay": ["t"],
            "sources": ["0"],
            "uncommitted": "translate",
        },
        {"path": "/c/p", "target": "new", "maps": "/maps/a b.json", "merge": [["0", "1"]], "drop": ["2"]},
        {
            "path": "/c/p",
            "target": "new",
            "offsets": {"t": {"0": 7}},
            "rename": {"t": "u"},
            "split": {"0": [{"topics": ["t", "v"], "name": "a"}, {"topics": ["w"], "name": "b"}]},
            "dynamic": {"old": {"id": "new", "bootstrap": "h:9092"}},
        },
    ],
    "checkpoints.undo": [{"path": "/c/p"}],
}
EVERY = [(name, fields) for name, requests in REQUESTS.items() for fields in requests]


def parsed(words: list[str]) -> tuple[str, dict[str, Any]]:
    """The verb of the command line that would run, and its parameters; raises what the command line would tell."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("anabranch", [], resilient_parsing=True)
    name = ""
    while hasattr(command, "get_command"):
        word, words = words[0], words[1:]
        found = command.get_command(context, word)
        assert found is not None, word
        command, name = found, f"{name} {word}".strip()
    return name, command.make_context(name, words).params


def test_each_verb_is_tried_here() -> None:
    """A new one needs a request."""
    assert REQUESTS.keys() == VERBS.keys()


@pytest.mark.parametrize(("name", "fields"), EVERY)
def test_a_request_is_a_command_line_that_does_the_same(name: str, fields: dict[str, Any]) -> None:
    """Its options are there, with the values of the request."""
    verb: Verb[Any, Any] = VERBS[name]
    request = verb.request.model_validate(fields)
    words = shlex.split(verb.command(request))
    assert words[0] == "anabranch"
    typed, parameters = parsed([*words[1:], *verb.execute.split()])
    assert typed.split()[-1] == verb.word
    given = [str(value) if isinstance(value, Path) else value for value in parameters.values() if value]
    for value in fields.values():
        if not (isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], list))):
            assert value in given or (isinstance(value, list) and tuple(value) in given), (value, given)
    assert bool(parameters.get("execute")) == bool(verb.execute)


@pytest.mark.parametrize("fields", REQUESTS["checkpoints.rewrite"])
def test_a_rewrite_means_the_same_as_its_command_line(fields: dict[str, Any]) -> None:
    """Sources that are split, merged and dropped, and clusters with a new id."""
    request = RewritePositions.model_validate(fields)
    _, typed = parsed(shlex.split(words(request))[1:])
    flags = RewriteFlags(
        typed["source"],
        typed["split"],
        typed["merge"],
        typed["drop"],
        typed["uncommitted"],
        typed["transactions"],
        typed["dynamic"],
        typed["stop_savepoint"],
    )
    meant = rewrite_spec(request)
    assert meant == typed_spec(flags)
    assert meant.renamed_clusters == typed_spec(flags).renamed_clusters, "not compared by the values themselves"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "give one of links"),
        ({"links": ["a"], "start": "latest"}, "give one of links"),
        ({"links": ["a"], "rename": {"t": "u"}}, "tell the new names"),
        ({"start": "@/etc/passwd"}, "start"),
        ({"start": "latest", "split": {"0": [{"topics": ["t"]}]}}, "split"),
        ({"start": "latest", "split": {"0": [{"topics": ["t"]}, {"topics": ["t"]}]}}, "is in two parts"),
        ({"start": "latest", "split": {"0": [{"topics": ["t"], "name": "a"}, {"topics": ["u"]}]}}, "name all parts"),
        ({"start": "latest", "merge": [["0", "0"]]}, "named twice"),
        ({"offsets": {"t": {"-1": 7}}}, "offsets"),
    ],
)
def test_a_rewrite_that_contradicts_itself_is_refused(more: dict[str, Any], why: str) -> None:
    """By its field."""
    with pytest.raises(ValidationError, match=why):
        RewritePositions.model_validate({"path": "/c/p", "target": "new", **more})


@pytest.mark.parametrize(("name", "fields"), EVERY)
def test_a_request_holds_nothing_that_is_not_meant(name: str, fields: dict[str, Any]) -> None:
    """A field that nobody knows, or a name with a line's end in it, is refused by its place."""
    request = VERBS[name].request
    with pytest.raises(ValidationError, match="and_more"):
        request.model_validate({**fields, "and_more": 1})
    for field, value in fields.items():
        if isinstance(value, str):
            with pytest.raises(ValidationError, match=field):
                request.model_validate({**fields, field: f"{value}\n"})


def test_plans_and_reports_have_schemas() -> None:
    """Each by one name."""
    schemas = Schemas()
    for verb in VERBS.values():
        schemas.of(verb.planned)
        schemas.of(verb.report)
    assert {verb.planned.__name__ for verb in VERBS.values()} <= schemas.named.keys()
