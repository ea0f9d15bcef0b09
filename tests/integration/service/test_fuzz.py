"""Whatever is sent: an answer that the OpenAPI describes, no 500, and nothing changed without a plan."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from pydantic import ValidationError
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from anabranch.operations.links.show import show
from anabranch.service import identity, instance
from anabranch.service.app import make_app
from anabranch.service.instance import Instance
from anabranch.service.verb import Verb
from anabranch.service.verbs import VERBS
from qa.service import Served, serving, until
from qa.timeouts import LONG_TIMEOUT_S, TIMEOUT_S
from qa.trial_stand_in import start_nothing
from tests.chance import is_full, seed
from tests.unit.link_lab import LINK, Lab, lab

pytestmark = pytest.mark.test

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
ENDLESS = {"/api/v1/events", "/api/v1/clients/{client_id}/watch", "/api/v1/trials/{trial_id}/events"}
"""What is never answered to its end."""
FEW = 3
"""Requests of each kind to an operation, where not everything is asked for; and how many at random must be right."""
PLANNED = {
    *("links.delete", "links.pause", "links.resume", "links.run", "links.stop", "links.wait"),
    *("mirrormaker.publish", "verify.start"),
}
"""What can be planned of the link as it is, if it is asked for rightly: nothing of the group, which is not there."""
SHARE = 10
"""Of the addresses, CI has the edges of each field tried at one in so many, always the same."""


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """Two simulated clusters."""
    with lab() as made:
        yield made


@pytest.fixture(scope="module")
def served(both: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service beside them, which counts nobody's requests."""
    directory = tmp_path_factory.mktemp("served")
    contexts = {"old": both.here.context(), "new": both.there.context()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instance, "REQUESTS_PER_S", 1e9)
        patch.setattr(instance, "REQUESTS", 1_000_000_000)
        with serving(str(directory / "store.db"), contexts, directory, roots=(str(directory),)) as made:
            until(lambda: made.instance.acting.acts and len(made.instance.board.seen) == 2)
            yield made


@pytest.fixture(scope="module")
def schema(served: Served) -> Any:
    """What it says that it answers."""
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{served.port}/api/v1/openapi.json")


@cache
def operations() -> tuple[tuple[str, str], ...]:
    """Every method and path that the service offers."""
    paths = make_app(cast(Instance, None)).openapi()["paths"]
    return tuple((method.upper(), path) for path in paths for method in paths[path] if path not in ENDLESS)


@pytest.mark.parametrize(("method", "path"), operations(), ids=lambda part: part)
def test_schemathesis_finds_nothing(
    served: Served, schema: Any, pytestconfig: pytest.Config, method: str, path: str
) -> None:
    """Requests as the OpenAPI describes them, and such as it forbids, with an admin's token."""
    fewer = {} if is_full(pytestconfig) else {"max_examples": FEW}
    headers = {"Authorization": f"Bearer {served.tokens['admin']}"}
    operation = schema[path][method]
    has_input = bool(operation.definition.raw.get("parameters") or operation.definition.raw.get("requestBody"))
    for mode in GenerationMode if has_input else [GenerationMode.POSITIVE]:

        @settings(deadline=None, suppress_health_check=list(HealthCheck), **fewer)
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Any) -> None:
            case.call_and_validate(headers=headers, checks=list(CHECKS), timeout=TIMEOUT_S)

        ask()


_HOOKS = """
import os
import schemathesis
from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database

ACCOUNTS = Accounts(open_database(os.environ["FUZZED_STORE"]))

@schemathesis.auth(refresh_interval=None)
class Admin:
    def get(self, case, context):
        now = now_ms()
        ACCOUNTS.set("admin", now, role=Role.ADMIN, disabled=False)
        return ACCOUNTS.issue("admin", "fuzzer", now, now + 3_600_000)[0]

    def set(self, case, data, context):
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}
"""
"""An admin's token for each request: what is fuzzed revokes tokens and disables accounts."""
_CONFIG = f"""
[parameters]
target = "new"
link = "{LINK}"
"path.where" = "orders-0"
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""
"""413: with more rules than a route table may have, a request is larger than any may be."""
BOUND_S = 60
"""In the tier `full`: whatever sequence is not tried by then is not."""


@pytest.mark.timeout(600)
def test_schemathesis_finds_nothing_in_what_belongs_together(
    both: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """All of its checks, at the edges of each field and, in the tier `full`, in sequences: tokens that are needed, data
    that is refused, methods that an address has not, what was made and is gone; on what is really there.
    """
    everything = is_full(pytestconfig)
    paths = list(dict.fromkeys(path for _, path in operations()))[:: 1 if everything else SHARE]
    asked = [one for one in operations() if one[1] in paths]
    for module, rate, burst in ((instance, "REQUESTS_PER_S", "REQUESTS"), (identity, "_ATTEMPTS_PER_S", "_ATTEMPTS")):
        monkeypatch.setattr(module, rate, 1e9)
        monkeypatch.setattr(module, burst, 1_000_000_000)
    (tmp_path / "fuzzing_hooks.py").write_text(_HOOKS)
    (tmp_path / "schemathesis.toml").write_text(_CONFIG)
    store = str(tmp_path / "store.db")
    contexts = {"old": both.here.context(), "new": both.there.context()}
    # No script is looked at: each would take a process, and what is asked within a minute would be less.
    with serving(store, contexts, tmp_path, roots=(str(tmp_path / "checkpoints"),), tries=start_nothing) as made:
        until(lambda: made.instance.acting.acts and len(made.instance.board.seen) == 2)
        command = [str(Path(sys.executable).parent / "schemathesis"), "run"]
        command += [f"http://127.0.0.1:{made.port}/api/v1/openapi.json", "--phases"]
        command += ["coverage,stateful" if everything else "coverage"]
        for path in paths:
            command += ["--include-path", path]
        # What is right by its shape may name a link that is not there.
        command += ["--exclude-checks", "positive_data_acceptance", "--continue-on-failure", "--no-color"]
        command += ["--seed", str(seed(1)), "--max-examples", "20"]
        command += ["--max-time", str(BOUND_S)] if everything else []
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "fuzzing_hooks", "FUZZED_STORE": store}
        environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, [environment.get("PYTHONPATH")])])
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LONG_TIMEOUT_S, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Tested: (\d+)", done.stdout)[1] == str(len(asked)), done.stdout


_WORDS = ("", "new", "old", LINK, "nobody", "\x00", "../..", "a" * 300, "%00", "orders-0", "'; DROP TABLE plans; --")
_VALUES = (None, True, -1, 0, 1, 2**31, 2**63, 1.5, "", "new", LINK, "x" * 3000, "\ud800", [], ["a"], {}, {"a": 1})


def _mutated(draw: random.Random, value: Any) -> Any:
    """A request with something of it replaced, left out, added or nested."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        made = dict(value)
        key = draw.choice(list(made))
        what = draw.random()
        if what < 0.2:
            del made[key]
        elif what < 0.3:
            made[draw.choice(_WORDS)] = draw.choice(_VALUES)
        else:
            made[key] = _mutated(draw, made[key])
        return made
    return draw.choice(_VALUES)


def _right(verb: Verb) -> dict[str, Any]:
    """As much of a request of this verb as is known here."""
    known = {"target": "new", "link": LINK, "groups": ["shop"], "path": "/etc", "start": "earliest"}
    return {name: value for name, value in known.items() if name in verb.request.model_fields}


def _is_whole(verb: Verb) -> bool:
    """Whether that is a whole request."""
    try:
        verb.request.model_validate(_right(verb))
    except ValidationError:
        return False
    return True


def _planned(served: Served, name: str, role: str) -> int:
    """What is answered to a request of this verb that nothing is wrong with."""
    verb = VERBS[name]
    return served.ask("POST", f"/api/v1/{verb.noun}/{verb.word}/plan", _right(verb), role=role).status


@pytest.mark.parametrize("fixed", [0, 1, *(pytest.param(one, marks=pytest.mark.full) for one in (2, 3))])
def test_requests_that_are_nearly_right_change_nothing(both: Lab, served: Served, fixed: int) -> None:
    """Each is planned or refused as a problem; nobody applied anything, so the link is as it was and nothing runs."""
    before = both.on(both.target, lambda cluster: show(cluster, LINK)).record
    draw, came = random.Random(seed(fixed)), Counter[int]()
    whole = [name for name, verb in sorted(VERBS.items()) if _is_whole(verb)]
    for _ in range(150):
        verb = VERBS[draw.choice(whole if draw.random() < 0.5 else sorted(VERBS))]
        body: Any = _right(verb)
        if draw.random() < 0.6:
            body = _mutated(draw, body)
        text = json.dumps(body).encode()
        if draw.random() < 0.1:
            cut = draw.randrange(len(text))
            text = text[:cut] + bytes([draw.randrange(256)]) + text[cut + 1 :]
        found = served.ask(
            "POST",
            f"/api/v1/{verb.noun}/{verb.word}/plan",
            text,
            role=draw.choice(["operator", "approver", "viewer"]),
            headers={"Content-Type": "application/json"},
        )
        came[found.status] += 1
        assert found.status < 500 or found.status == 502, (verb.name, text, found.body)
        if found.status != 200:
            assert {"detail", "hint", "status", "type"} <= found.json.keys(), found.body
            assert found.json["detail"] and found.json["hint"], found.body
    assert came[200] >= FEW and min(came[403], came[422]) >= 10 * FEW, came
    assert {name for name in whole if _planned(served, name, "approver") == 200} == PLANNED
    assert {_planned(served, name, "viewer") for name in whole} == {403}
    assert served.get("/api/v1/operations") == []
    assert both.on(both.target, lambda cluster: show(cluster, LINK)).record == before


@pytest.mark.parametrize("fixed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_addresses_that_nobody_meant_are_problems(served: Served, fixed: int) -> None:
    """Paths, methods and queries at random: a problem as JSON, never a 500."""
    draw, came = random.Random(seed(fixed)), Counter[int]()
    for _ in range(200):
        path = draw.choice([path for _, path in operations()])
        for part in (
            "{target}",
            "{link}",
            "{plan_id}",
            "{work_id}",
            "{name}",
            "{token_id}",
            "{client_id}",
            "{trial_id}",
        ):
            word = draw.choice([*_WORDS, "0" * 32])
            path = path.replace(part, urllib.parse.quote(word, safe=draw.choice(["", "/."])))
        query = "&".join(
            f"{draw.choice(['offset', 'limit', 'sort', 'state', 'where', 'group', 'before'])}="
            f"{urllib.parse.quote(str(draw.choice(_VALUES)).encode('utf-8', 'surrogatepass'))}"
            for _ in range(draw.randrange(3))
        )
        method = draw.choice(["GET", "GET", "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
        found = served.ask(method, path + (f"?{query}" if query else ""), role=draw.choice(["viewer", "operator"]))
        came[found.status] += 1
        assert found.status < 500 or found.status in (502, 503), (method, path, query, found.body)
        if found.status >= 400:
            assert found.headers["content-type"] == "application/problem+json", (method, path, found.body)
            assert method == "HEAD" or (found.json["detail"] and found.json["hint"]), (method, path, found.body)
    assert min(came[status] for status in (200, 403, 404, 405, 422)) >= FEW, came
