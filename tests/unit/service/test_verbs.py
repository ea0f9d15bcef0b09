"""What the service offers: requests hold nothing that is not meant, and each is a command line too."""

from __future__ import annotations

import asyncio
import json
import pickle
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import ValidationError
from typer.testing import CliRunner

from anabranch.cli.app import app
from anabranch.cli.checkpoints.options import RewriteFlags
from anabranch.cli.checkpoints.options import rewrite_spec as typed_spec
from anabranch.config import link_file, offsets_file
from anabranch.migration.run import WaveRun
from anabranch.migration.standing import WaveVerb
from anabranch.migration.steps import Part
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.documents import Schemas, plain
from anabranch.operations.migrations.waves import WaveRefusedError, WaveRunPlan
from anabranch.service.verb import Verb
from anabranch.service.verbs import VERBS, asked
from anabranch.service.verbs.links import CreateRequest
from anabranch.service.verbs.rewrite_request import RewritePositions, files, rewrite_spec, words
from anabranch.store.works import PlanNote

pytestmark = pytest.mark.unit

LINK = {"target": "new", "link": "old-new"}
WAVE = {"migration": "move", "wave": "orders"}
MIGRATION = {
    "name": "move",
    "source": "old",
    "target": "new",
    "waves": [
        {"name": "orders", "topics": ["a b", "c"], "groups": ["shop"], "fences": ["acl"], "principals": ["User:shop"]},
        {"name": "clicks", "topics": ["clicks"]},
    ],
}
REQUESTS: dict[str, list[dict[str, Any]]] = {
    "links.create": [
        {"link": {"source": "old", "target": "new"}, "adopt": "/maps/old new.json"},
        {
            "link": {
                "source": "old",
                "target": "new",
                "id": "some",
                "filter": {"include": ["a b", "c.*"], "exclude": ["c.x"]},
                "naming": {"kind": "template", "template": "{source}-{topic}"},
                "replication_factor": 2,
                "start": {"offsets": {"a b": {"0": 7, "1": 9}, "c-1": {"2": 11}}},
                "mode": "mapped",
                "rate_limit": "5MB/s",
                "lease_seconds": 60,
                "groups": {"include": ["g.*"], "interval": "20s", "checkpoints": True},
                "shared_topics": True,
            }
        },
        {"link": {"source": "old", "target": "new", "filter": {"exclude": ["x"]}, "naming": {"kind": "prefix"}}},
        {"link": {"source": "old", "target": "new", "start": "2026-11-23T01:00:00+00:00", "rate_limit": 5000}},
        {"link": {"source": "old", "target": "new", "start": 1763860000000, "groups": {"include": ["none"]}}},
        {"link": {"source": "old", "target": "new", "naming": {"kind": "prefix", "separator": "-"}}},
        {"link": {"source": "old", "target": "new", "filter": {"include": ["a"], "exclude": []}}},
        {"link": {"source": "old", "target": "new", "configs": {"allow": ["retention.*"]}, "start": "group:a b"}},
        {"link": {"source": "old", "target": "new", "groups": {"include": ["g"], "exclude": ["g.x"]}}},
        {"link": {"source": "old", "target": "new", "start": {"offsets": {"t": {str(at): at for at in range(60)}}}}},
    ],
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
    "links.stop": [LINK, {**LINK, "wait_s": 0.5}],
    "links.wait": [LINK, {**LINK, "lag": 5, "timeout_s": 0.5}],
    "links.delete": [LINK],
    "groups.baseline": [LINK, {**LINK, "groups": ["a b", "c.*"], "exclude": ["x"], "topics": ["t", "u v"]}],
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
    "mirrormaker.publish": [LINK, {**LINK, "source_alias": "it's"}, {**LINK, "separator": "-"}],
    "verify.start": [
        LINK,
        {**LINK, "reader": "batches", "levels": "committed", "samples": 3, "show_values": True},
        {**LINK, "fresh": True},
    ],
    "verify.resume": [LINK],
    "verify.stop": [LINK],
    "streams.create": [
        {"stream": "pv-uv", "script": "SELECT 1"},
        {"stream": "pv-uv", "script": "def main(job): pass", "kind": "pyspark"},
        {
            "stream": "pv-uv",
            "script": "SELECT 1;",
            "description": "a b",
            "note": "it's new",
            "trigger": "5 seconds",
            "restarts": 3,
            "launcher": "default",
        },
    ],
    "streams.edit": [
        {"stream": "pv-uv", "script": "SELECT 2", "note": "two"},
        {"stream": "pv-uv", "trigger": "availableNow", "restarts": 7},
        {"stream": "pv-uv", "launcher": "default"},
    ],
    "streams.publish": [{"stream": "pv-uv", "version": 2}],
    "streams.rollback": [{"stream": "pv-uv"}],
    "streams.start": [
        {"stream": "pv-uv"},
        {"stream": "pv-uv", "state": "keep"},
        {"stream": "pv-uv", "start": "0"},
        {"stream": "pv-uv", "checkpoint": "friday"},
    ],
    "streams.stop": [{"stream": "pv-uv"}, {"stream": "old-new", "target": "new"}],
    "streams.restart": [
        {"stream": "pv-uv"},
        {"stream": "old-new", "target": "new"},
        {"stream": "pv-uv", "state": "new"},
    ],
    "streams.checkpoint": [{"stream": "pv-uv", "save": "friday"}, {"stream": "pv-uv", "delete": "friday"}],
    "streams.delete": [{"stream": "pv-uv"}],
    "streams.abandon": [{"stream": "pv-uv"}],
    "streams.alerts": [
        {"stream": "pv-uv", "settings": ["lag=5", "slow=off"]},
        {"stream": "pv-uv", "receivers": ["all"]},
        {"stream": "old-new", "target": "new", "settings": ["restarts=0"]},
    ],
    "artifacts.save": [
        {"artifact": "text-lib", "file": "text.py", "sha256": "0f" * 32},
        {"artifact": "text", "file": "t-1-py3-none-any.whl", "sha256": "0f" * 32, "description": "a b", "note": "it's"},
    ],
    "artifacts.delete": [{"artifact": "text-lib"}, {"artifact": "text-lib", "version": 2}],
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
    "routes.apply": [
        {"table": {"codes": {"orders": {"cluster": "old"}}}, "reason": "it's the first"},
        {
            "table": {
                "codes": {"orders": {"cluster": "old", "description": "ask team shop"}, "shop": {"code": "orders"}},
                "rules": [
                    {
                        "name": "job-1234",
                        "priority": 100,
                        "match": {"role": "consumer", "topic": "pay*", "parameters": {"job_id": "1234"}},
                        "to": {"cluster": "new", "topics": "old.{topic}"},
                    }
                ],
                "clusters": {"new": {"bootstrap": ["new.example.com:9093"]}},
            },
            "reason": "the consumer of job 1234 alone",
        },
    ],
    "routes.cancel": [{"switch": "0f" * 16, "reason": "not today"}],
    "routes.rollback": [{"version": 3, "reason": "pilot failed"}],
    "migrations.start": [
        {"migration": MIGRATION},
        {"migration": {**MIGRATION, "copy": {"start": "latest"}}, "waves": ["orders", "clicks"]},
    ],
    "migrations.verify": [WAVE],
    "migrations.switch": [
        WAVE,
        {**WAVE, "source_lost": True},
        {**WAVE, "source_lost": True, "unknown_groups": "latest"},
    ],
    "migrations.reconcile": [WAVE, {**WAVE, "tail": "keep"}, {**WAVE, "tail": "append"}],
    "migrations.reverse": [
        WAVE,
        {**WAVE, "target_lost": True},
        {**WAVE, "target_lost": True, "unknown_groups": "earliest"},
    ],
    "migrations.complete": [WAVE],
    "migrations.cancel": [WAVE, {**WAVE, "purge": True}],
    "migrations.rehearse": [{"migration": MIGRATION, "wave": "orders"}],
    "migrations.give-up": [
        {**WAVE, "reason": "not tonight"},
        {**WAVE, "reason": "not tonight", "source_lost": True},
        {**WAVE, "reason": "not tonight", "target_lost": True},
    ],
    "migrations.hold": [{"migration": "move", "reason": "it's Friday"}, {**WAVE, "reason": "month's end"}],
    "migrations.release": [{"migration": "move"}, WAVE],
    "migrations.throttle": [
        {"migration": "move", "rate": "10MB/s"},
        {"migration": "move", "pause": True},
        {"migration": "move", "wave": "orders", "pause": True},
    ],
    "migrations.resume": [{"migration": "move"}, {"migration": "move", "wave": "orders"}],
    "migrations.access": [{"migration": MIGRATION}],
    "migrations.set": [{"migration": {**MIGRATION, "limits": {"quiet": "5000ms"}, "approvers": ["mei", "jo"]}}],
    "catalog.create": [
        {"definitions": {"sql": "CREATE DATABASE shop"}},
        {
            "definitions": {"sql": "CREATE DATABASE shop"},
            "create_topics": True,
            "partitions": 6,
            "replication_factor": 2,
            "retention": "168h",
            "accept_breaking": True,
        },
    ],
    "catalog.drop": [{"name": "shop.orders", "topic": True}, {"name": "shop", "kind": "database"}],
    "catalog.grant": [
        {"privilege": "read", "name": "shop.orders", "principal": "group:shop"},
        {"privilege": "manage", "name": "shop", "principal": "user:it's me", "on": "database"},
    ],
    "catalog.revoke": [{"privilege": "write", "name": "spark_catalog", "principal": "user:mei", "on": "catalog"}],
    "catalog.import": [{"topics": ["a b", "c"], "cluster": "main", "database": "shop", "samples": 9}],
    "catalog.set": [
        {"name": "shop.orders", "owner": "mei"},
        {"name": "shop", "kind": "database", "description": "it's the shop"},
    ],
    "catalog.group": [{"group": "shop", "add": ["mei", "jo"], "remove": ["eve"]}],
}
FLAGS = {("streams.start", "state"): "--{}-state", ("streams.restart", "state"): "--{}-state"}
"""Fields of a few values, each of which is a flag of its own."""
TYPED = {"migrations.give-up": "cancel", "artifacts.save": "upload"}
"""Verbs that the command line has under another word: what is under way is taken back, or both steps are one."""
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


DATED = {"link": {"source": "old", "target": "new", "configs": {"deny": []}, "start": "2026-11-23T01:00:00+02:00"}}
"""Whose time has another form in a file."""


def leaves(value: Any) -> Iterator[str]:
    """Every name and value of a request, however deep; ``True`` and the version of a file say nothing."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    elif value is not True:
        yield str(value)


FIELDS = {
    *("filter", "include", "exclude", "naming", "kind", "template", "offsets", "start", "groups", "interval"),
    *("source", "target", "id", "replication_factor", "mode", "rate_limit", "lease_seconds", "checkpoints", "topics"),
    *("copy", "waves", "fences", "limits", "quiet", "approvers", "principals"),
    *("shared_topics", "name", "bootstrap", "configs", "allow", "separator"),
}
"""Names of fields within others, whose places are options of another name."""
SECONDS = {"wait_s", "timeout_s"}
"""Fields that the command line has as a length of time."""
TEXTS = {"script"}
"""Fields that are whole files, of several lines."""


@pytest.mark.parametrize(("name", "fields"), EVERY)
def test_a_request_is_a_command_line_that_does_the_same(
    name: str, fields: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its options and its files are there, with all that the request says, and no file that nobody has."""
    monkeypatch.chdir(tmp_path)
    verb: Verb[Any, Any] = VERBS[name]
    request = verb.request.model_validate_json(json.dumps(fields))
    words = shlex.split(verb.typed(request))
    assert words[0] == "anabranch"
    typed, parameters = parsed(words[1:])
    assert typed.split()[-1] == TYPED.get(name, verb.word)
    given = [str(value) if isinstance(value, Path) else value for value in parameters.values() if value]
    files = verb.files(request)
    for field, value in fields.items():
        if field in TEXTS:
            assert value in files.values()
        elif (name, field) in FLAGS:
            assert FLAGS[name, field].format(value) in words
        elif isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], list)) or field in SECONDS:
            text = "\n".join([*words, *files.values()])
            for leaf in leaves(value):
                assert leaf in text or leaf in FIELDS, (leaf, text)
        else:
            assert value in given or (isinstance(value, list) and tuple(value) in given), (value, given)
    read = {str(value) for of, value in parameters.items() if isinstance(value, Path) and of not in ("out", "uploaded")}
    assert read == files.keys() | {value for value in fields.values() if isinstance(value, str) and value in read}
    assert bool(parameters.get("execute")) == ("--execute" in verb.execute and verb.is_shown_first(request))
    at_once = name in ACTS_AT_ONCE and not fields.keys() & ACTS_AT_ONCE[name]
    assert at_once or parameters.get("execute") is not False, "the command line would show this, and change nothing"


ACTS_AT_ONCE = {
    "streams.start": {"state", "start", "checkpoint"},
    "streams.restart": {"state", "start", "checkpoint"},
    "streams.checkpoint": {"delete"},
    "verify.start": {"fresh"},
}
"""Verbs that the same verb can undo, unless it is asked for one of these."""


@pytest.mark.parametrize("fields", [*REQUESTS["links.create"], DATED])
def test_a_link_that_is_created_is_the_same_on_its_command_line(
    fields: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the command would store, typed as it was shown beside the files that were shown."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "contexts.yaml").write_text(
        "version: 1\ncontexts: {old: {bootstrap: ['a:1']}, new: {bootstrap: ['b:1']}}\n", encoding="utf-8"
    )
    request = CreateRequest.model_validate_json(json.dumps(fields))
    for name, text in VERBS["links.create"].files(request).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    stored: list[Any] = []

    async def create(_: Any, __: Any, spec: Any, *more: Any) -> None:
        stored.append((spec, more[0]))

    monkeypatch.setattr(import_module("anabranch.cli.links.create"), "_create", create)
    monkeypatch.setattr("anabranch.config.maps_file.load", lambda path: (str(path),))
    words = shlex.split(VERBS["links.create"].command(request))[1:]
    done = CliRunner().invoke(app, words, env={"ANABRANCH_CONTEXTS": str(tmp_path / "contexts.yaml")})
    assert done.exit_code == 0, done.output
    meant = link_file.spec_of(request.link, "here")
    assert stored == [(meant, () if request.adopt is None else (request.adopt,))]
    assert stored[0][0].start.offsets == meant.start.offsets, "not compared by the values themselves"
    assert plain(stored[0][0]) == plain(meant)


OF_WAVES = ("switch", "reverse", "reconcile", "complete", "cancel")


@pytest.mark.parametrize(("name", "fields"), [one for one in EVERY if one[0] in {f"migrations.{v}" for v in OF_WAVES}])
def test_a_wave_that_is_refused_says_the_command_that_shows_its_plan(name: str, fields: dict[str, Any]) -> None:
    """With each option that was asked for: what forbids a switch without its source is no fault of one with it."""
    verb = VERBS[name]
    request = verb.request.model_validate(fields)
    run = WaveRun("r", "move", "orders", name.removeprefix("migrations."), (), 0)
    reasons = (Reason.found(Severity.ERROR, "it cannot"),)
    what = WaveVerb(run.what)
    refused = WaveRunPlan("move", "orders", what, Part.ALL, 0, "old", "new", (), reasons, "0", run)
    nobody: Any = None  # it is refused before anything is asked
    with pytest.raises(WaveRefusedError) as found:
        asyncio.run(verb.apply(nobody, request, refused))
    assert found.value.hint == f"see each step: `{verb.command(request)}`"
    assert pickle.loads(pickle.dumps(found.value)).hint == found.value.hint


@pytest.mark.parametrize(("name", "fields"), EVERY)
def test_a_request_that_was_kept_is_read_as_it_was_asked(name: str, fields: dict[str, Any]) -> None:
    """Partitions are keys, which are texts in what was kept."""
    request = VERBS[name].request.model_validate_json(json.dumps(fields))
    kept = json.loads(json.dumps(request.model_dump(mode="json", by_alias=True)))
    shown = PlanNote("0" * 32, name, kept, "", "mei", 0, None, None)
    assert asked(shown) == (VERBS[name], request)


def test_given_offsets_of_a_rewrite_are_a_file_that_the_command_reads(tmp_path: Path) -> None:
    """Its text holds exactly them."""
    fields = {"path": "/c/p", "target": "new", "offsets": {"t": {"0": 7, "12": 9}, "u-1": {"3": 2**63 - 1}}}
    request = RewritePositions.model_validate(fields)
    ((name, text),) = files(request).items()
    assert f"--offsets {name}" in words(request)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert {str(at): offset for at, offset in offsets_file.load(tmp_path / name).items()} == {
        "t-0": 7,
        "t-12": 9,
        "u-1-3": 2**63 - 1,
    }
    assert offsets_file.cluster_of(tmp_path / name) == "new"


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
        if isinstance(value, str) and field not in TEXTS:
            with pytest.raises(ValidationError, match=field):
                request.model_validate({**fields, field: f"{value}\n"})


def test_plans_and_reports_have_schemas() -> None:
    """Each by one name."""
    schemas = Schemas()
    for verb in VERBS.values():
        schemas.of(verb.planned)
        schemas.of(verb.report)
    assert {verb.planned.__name__ for verb in VERBS.values()} <= schemas.named.keys()
