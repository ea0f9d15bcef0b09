"""The service in a thread of this process, for tests and benchmarks that ask it over HTTP as anyone would."""

from __future__ import annotations

import http.client
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from fastapi import FastAPI

from anabranch.model.accounts import Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.service import instance as parts
from anabranch.service.app import make_app
from anabranch.service.instance import Instance
from anabranch.service.job_settings import JobSettings
from anabranch.service.serving import Server, addresses_of, bound, config_of
from anabranch.service.settings import ServeSettings
from anabranch.service.stored import Stored
from anabranch.service.trial_process import Starter
from anabranch.service.trials import Trials
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database
from qa.timeouts import TIMEOUT_S
from qa.trial_stand_in import start_stand_in


@dataclass(frozen=True)
class Answered:
    """An answer: its status, headers by lower-case names, and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


@dataclass
class Served:
    """An instance that runs, and tokens by role."""

    port: int
    instance: Instance
    app: FastAPI
    tokens: dict[str, str] = field(default_factory=dict)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        role: str | None = "viewer",
        headers: Mapping[str, str] | None = None,
    ) -> Answered:
        """Ask as an account of a role, or as nobody; a body of bytes is sent as it is."""
        sent = dict(headers or {})
        if role is not None:
            sent.setdefault("Authorization", f"Bearer {self.tokens[role]}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answered(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, role: str | None = "viewer") -> Any:
        """What is answered, which must be what was asked for."""
        found = self.ask("GET", path, role=role)
        assert found.status == 200, found.body
        return found.json


def until(condition: Callable[[], object], patience_s: float = TIMEOUT_S) -> None:
    """Wait for a condition; raises AssertionError, which says who waited, where it never holds."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() >= deadline:
            callers = reversed(traceback.extract_stack(limit=3)[:-1])
            waited = " < ".join(f"{Path(one.filename).name}:{one.lineno}: {one.line}" for one in callers)
            raise AssertionError(f"it never held: {waited}")
        time.sleep(0.01)


@contextmanager
def serving(
    store: str,
    contexts: Mapping[str, Any],
    directory: Path,
    *,
    roots: tuple[str, ...] = (),
    name: str = "",
    port: int = 0,
    tries: Starter = start_stand_in,
    jobs: JobSettings | None = None,
    **settings: Any,
) -> Iterator[Served]:
    """An instance on a free port of the loopback, with an account and a token for each role.

    ``tries`` starts the processes that try scripts: by default stand-ins, without Spark.
    """
    file = directory / "contexts.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "contexts": dict(contexts)}), encoding="utf-8")
    database = open_database(store)
    try:
        with bound("127.0.0.1", port) as listening:
            port = listening.getsockname()[1]
            jobs = jobs or JobSettings("local[2,8]", "local[2]", directory / "jobs")
            made = ServeSettings("127.0.0.1", port, store, file, jobs, roots, **settings)
            addresses = addresses_of(made, "http", port)
            with patch.object(parts, "Trials", partial(Trials, start=tries)):
                instance = Instance(made, Stored(database), name or f"here:{port}", addresses)
            app = make_app(instance)
            server = Server(config_of(app, made), instance)
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            try:
                until(lambda: server.started or not thread.is_alive())  # it acts before it listens
                assert thread.is_alive()
                yield Served(port, instance, app, _tokens(Accounts(database)))
            finally:
                server.should_exit = True
                thread.join(TIMEOUT_S)
                assert not thread.is_alive()
    finally:
        database.close()


def _tokens(accounts: Accounts) -> dict[str, str]:
    now = now_ms()
    known = {one.name for one in accounts.all()}
    for role in Role:
        if role.word not in known:
            accounts.add(role.word, role, now)
    return {role.word: accounts.issue(role.word, "test", now, now + DAY_MS)[0] for role in Role}
