"""The route service as a process, with tokens: for the tests and the benchmark of the client SDK."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from anabranch.model.accounts import Role
from anabranch.model.clock import DAY_MS, now_ms
from anabranch.sandbox.ports import lease_ports
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database
from qa.service import Answered, until
from qa.timeouts import TIMEOUT_S


class RouteProcess:
    """``anabranch serve`` on a port of its own; it may be killed and started again, with the same store.

    ``tokens`` are by role; an application has that of ``client``.  ``environment`` is its own and that of its jobs.
    ``contexts`` and ``store`` are for another instance beside it; ``beside`` is whether it is that other one, which
    acts only once the first is gone.  ``program`` is the module that is started, with what it is told first.
    """

    def __init__(
        self,
        directory: Path,
        contexts: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        store: str = "",
        beside: bool = False,
    ) -> None:
        self._environment = environment
        self._directory = directory
        self.contexts = directory / "contexts.yaml"
        self.contexts.write_text(yaml.safe_dump({"version": 1, "contexts": json.loads(json.dumps(contexts))}))
        self.store = store or str(directory / "routes.db")
        self.beside = beside
        self.program: tuple[str, ...] = ("anabranch",)
        self._process: subprocess.Popen[bytes] | None = None
        self.log = directory / "serve.log"
        self.tokens: dict[str, str] = {}

    def __enter__(self) -> Self:
        (self._lease,) = lease_ports(1)
        database = open_database(self.store)
        try:
            accounts, now = Accounts(database), now_ms()
            for role in Role:
                if role.word not in {one.name for one in accounts.all()}:
                    accounts.add(role.word, role, now)
                self.tokens[role.word] = accounts.issue(role.word, "qa", now, now + DAY_MS)[0]
        finally:
            database.close()
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._lease.release()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._lease.port}"

    def start(self) -> None:
        """Start it, and return when it acts, or answers where it is beside another one."""
        command = [sys.executable, "-m", *self.program, "--contexts", str(self.contexts), "serve"]
        command += ["--store", self.store, "--port", str(self._lease.port)]
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self._environment
            )
        until(lambda: not self.runs or self.acts() or (self.beside and self._answers()))
        assert self.runs, self.log.read_text(encoding="utf-8")

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """SIGTERM."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(TIMEOUT_S)
            self._process = None

    def publish(self, table: Mapping[str, Any], reason: str = "a test") -> None:
        """Have a route table apply, as an approver plans and does it; each client goes over as it hears of it.

        A plan that no longer holds, since a group's clients have come meanwhile, is made again.
        """
        body = {"table": {"version": 1, **table}, "reason": reason, "at_once": True}
        ended: dict[str, Any] = {}

        def is_done() -> bool:
            nonlocal ended
            ended = self._published(body)
            return "plan-changed" not in str(ended["problem"])

        until(is_done)
        assert ended["state"] == "done", ended

    def _published(self, body: Mapping[str, Any]) -> dict[str, Any]:
        plan = self.ask("POST", "/routes/apply/plan", body, role="approver")
        assert plan.status == 200, plan.body
        begun = self.ask("POST", f"/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="approver")
        assert begun.status == 202, begun.body
        where = begun.headers["location"].removeprefix("/api/v1")
        until(lambda: self.ask("GET", where).json["state"] != "running")
        return dict(self.ask("GET", where).json)

    def give_up(self, switch: str, reason: str) -> Answered:
        """Have a switch given up, as an approver plans and does it; it is, once the answer has the status 202."""
        asked = self.ask("POST", "/routes/cancel/plan", {"switch": switch, "reason": reason}, role="approver")
        if asked.status != 200:
            return asked
        path = f"/plans/{asked.json['id']}/apply"
        begun = self.ask("POST", path, {"hash": asked.json["hash"]}, role="approver")
        if begun.status == 202:
            until(lambda: self._is_decided(switch))
        return begun

    def _is_decided(self, switch: str) -> bool:
        found = self.ask("GET", f"/switches/{switch}").json["switch"]
        return found["why"] != "" or found["state"] in {"published", "done"}

    def clients(self, **query: str) -> list[Any]:
        """Who is registered."""
        words = "&".join(f"{name}={value}" for name, value in query.items())
        return list(self.ask("GET", f"/clients?{words}").json["clients"])

    def forget(self) -> None:
        """Give up the switches that are under way, and forget who is registered."""
        for one in self.ask("GET", "/switches").json:
            if one["state"] not in {"done", "cancelled"}:
                self.give_up(one["id"], "a test is over")
        for one in self.clients():
            forgotten = self.ask("DELETE", f"/clients/{one['id']}", role="admin")
            assert forgotten.status in (204, 404), forgotten.body

    def ask(self, method: str, path: str, body: object = None, role: str = "viewer") -> Answered:
        """Ask it as an account of a role; raises OSError."""
        connection = http.client.HTTPConnection("127.0.0.1", self._lease.port, timeout=TIMEOUT_S)
        try:
            headers = {"Authorization": f"Bearer {self.tokens[role]}", "Content-Type": "application/json"}
            sent = None if body is None else json.dumps(body)
            connection.request(method, f"/api/v1{path}", sent, headers)
            answer = connection.getresponse()
            return Answered(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    @property
    def runs(self) -> bool:
        """Whether it does."""
        return self._process is not None and self._process.poll() is None

    def _answers(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return self.ask("GET", "/me").status == 200
        return False

    def acts(self) -> bool:
        """Whether it is the one that goes on with what is under way."""
        try:
            return bool(self.ask("GET", "/me").json["acts"])
        except (OSError, http.client.HTTPException, KeyError):
            return False
