"""Accounts, tokens and sessions at random, held against a model of who may do what; and approvals nearly right."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anabranch.model.accounts import Role
from anabranch.model.clock import now_ms
from anabranch.operations.links.show import show
from anabranch.service import identity, instance
from anabranch.service.identity import COOKIE
from qa.service import Answered, Served, serving, until
from tests.chance import seed
from tests.unit.link_lab import LINK, Lab, lab

pytestmark = pytest.mark.test

STEPS, APPROVALS = 400, 120
WANTED, REFUSALS = {"links.pause", "links.resume", "groups.baseline"}, (403, 404, 409, 415, 422)
NAMES = ("ada", "eve", "mei", "lou", "robot", "tool", "client", "viewer", "operator", "approver", "admin")
ANSWERS = {
    ("GET", "me"): {200, 401},
    ("POST", "accounts"): {201, 401, 403, 409, 422},
    ("PATCH", "accounts"): {200, 401, 403, 404, 422},
    ("POST", "tokens"): {201, 401, 403, 404, 409, 422},
    ("DELETE", "tokens"): {200, 401, 404},
}
"""Each must come, by what was asked: else something was always taken, or always refused for the same reason."""
NOTED = ("account.add", "account.set", "token.create", "token.revoke", "session.begin", "session.end")
WRONG = ("", " ", "a b", "\x00", "../x", "x" * 201, "é", None, 7, ["ada"], {"name": "ada"})
ON_LINK = {"target": "new", "link": LINK}


@pytest.fixture(autouse=True)
def _uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told to wait."""
    for module, rate, burst in ((instance, "REQUESTS_PER_S", "REQUESTS"), (identity, "_ATTEMPTS_PER_S", "_ATTEMPTS")):
        monkeypatch.setattr(module, rate, 1e9)
        monkeypatch.setattr(module, burst, 1_000_000_000)


@dataclass
class Known:
    """A token as the model has it; a session is one that a login began."""

    id: str
    account: str
    session: bool = False
    revoked: bool = False


@dataclass
class Model:
    """What must be so; ``noted`` counts what the audit must have, ``came`` what was answered to what."""

    served: Served
    draw: random.Random
    roles: dict[str, Role] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    tokens: dict[str, Known] = field(default_factory=dict)
    noted: Counter[str] = field(default_factory=Counter)
    came: Counter[tuple[str, str, int]] = field(default_factory=Counter)

    def begin(self) -> None:
        """As the service begins."""
        for role, text in self.served.tokens.items():
            self.roles[role] = Role.of(role)
            (kept,) = self.served.instance.stored.accounts.tokens(role)
            self.tokens[text] = Known(kept.id, role)

    def whose(self, text: str) -> str | None:
        """The account that a token is taken for."""
        found = self.tokens.get(text)
        return None if found is None or found.revoked or found.account in self.disabled else found.account

    def name(self) -> Any:
        """One that may be there, now and then one that cannot be."""
        return self.draw.choice(WRONG) if self.draw.random() < 0.1 else self.draw.choice(NAMES)

    def token(self) -> str:
        """One that was made, often an admin's that is taken, or nobody's."""
        admins = [one for one in self.tokens if (who := self.whose(one)) and self.roles[who] is Role.ADMIN]
        if admins and self.draw.random() < 0.4:
            return self.draw.choice(admins)
        return "anb_" + "x" * 43 if self.draw.random() < 0.05 else self.draw.choice(list(self.tokens))

    def ask(self, method: str, path: str, body: object = None) -> tuple[str | None, Answered]:
        """Ask with a token or its cookie; who that was, by the model, and the answer."""
        text = self.token()
        headers = {"Authorization": f"Bearer {text}"}
        if self.draw.random() < 0.3:
            headers = {"Cookie": f"{COOKIE}={text}", "Sec-Fetch-Site": "same-origin"}
        found = self.served.ask(method, path, body, role=None, headers=headers)
        if found.status >= 400:
            assert {"detail", "hint", "status", "type"} <= found.json.keys(), found.body
            assert found.json["detail"] and found.json["hint"], found.body
        self.came[method, path.split("/")[3], found.status] += 1
        return self.whose(text), found

    # -- steps -----------------------------------------------------------------------------------------

    def me(self) -> None:
        """Who has a token is who it was made for, with the role of now."""
        who, found = self.ask("GET", "/api/v1/me")
        assert found.status == (401 if who is None else 200)
        if who is not None:
            assert (found.json["account"], found.json["role"]) == (who, self.roles[who].word)

    def add(self) -> None:
        """Admins alone make accounts, once."""
        name, role = self.name(), self.draw.choice([*(one.word for one in Role), "boss", None])
        who, found = self.ask("POST", "/api/v1/accounts", {"name": name, "role": role})
        right = name in NAMES and role not in ("boss", None)
        wanted = self._refused(who, Role.ADMIN) or (422 if not right else 409 if name in self.roles else 201)
        assert found.status == wanted, (name, role, found.body)
        if wanted == 201:
            self.roles[name] = Role.of(role)
            self.noted["account.add"] += 1

    def change(self) -> None:
        """Admins alone change accounts, and one of them is left."""
        name: Any = self.draw.choice(NAMES)
        body: dict[str, Any] = {}
        if self.draw.random() < 0.6:
            body["role"] = self.draw.choice([*(one.word for one in Role), "boss"])
        if self.draw.random() < 0.5:
            body["disabled"] = self.draw.choice([True, False, False, 1, "yes"])
        who, found = self.ask("PATCH", f"/api/v1/accounts/{name}", body)
        wrong = not body or body.get("role") == "boss" or type(body.get("disabled", True)) is not bool
        after, away = dict(self.roles), set(self.disabled)
        if not wrong and name in after:
            after[name] = Role.of(body["role"]) if "role" in body else after[name]
            away = away - {name} | ({name} if body.get("disabled", name in away) else set())
        last = not [one for one, role in after.items() if role is Role.ADMIN and one not in away]
        missing = name not in self.roles
        wanted = self._refused(who, Role.ADMIN) or (422 if wrong else 404 if missing else 409 if last else 200)
        assert found.status == wanted, (name, body, found.body)
        if wanted == 200:
            self.roles, self.disabled = after, away
            self.noted["account.set"] += 1

    def issue(self) -> None:
        """Of one's own account, and by an admin of each."""
        account, name, days = (
            self.name(),
            self.draw.choice(["x", "y z", "browser", ""]),
            self.draw.choice([1, 9, 366, 0]),
        )
        who, found = self.ask("POST", "/api/v1/tokens", {"account": account, "name": name, "days": days})
        wanted = self._refused(who, Role.VIEWER)
        if not wanted:
            assert who is not None
            if account not in NAMES or not name or not days:
                wanted = 422
            elif account != who and self.roles[who] is not Role.ADMIN:
                wanted = 403
            else:
                wanted = 409 if name == "browser" else 404 if account not in self.roles else 201
        assert found.status == wanted, (who, account, name, days, found.body)
        if wanted == 201:
            self.tokens[found.json["token"]] = Known(found.json["id"], account)
            self.noted["token.create"] += 1

    def revoke(self) -> None:
        """One's own, and by an admin each."""
        token = self.draw.choice(list(self.tokens.values()))
        who, found = self.ask("DELETE", f"/api/v1/tokens/{token.id}")
        wanted = self._refused(who, Role.VIEWER)
        if not wanted:
            assert who is not None
            wanted = 200 if self.roles[who] is Role.ADMIN or token.account == who else 404
        assert found.status == wanted, (who, token, found.body)
        if wanted == 200:
            token.revoked = True
            self.noted["token.revoke"] += 1

    def log_in(self) -> None:
        """As after a provider's word."""
        name, now = self.draw.choice(list(self.roles)), now_ms()
        text, made = self.served.instance.stored.accounts.begin_session(name, now, now + 3_600_000)
        self.tokens[text] = Known(made.id, name, session=True)

    def sign_in(self) -> None:
        """With a token in a page."""
        text = self.token()
        found = self.served.ask("POST", "/api/v1/session", {"token": text}, role=None)
        assert found.status == (401 if self.whose(text) is None else 204)
        assert (f"{COOKIE}={text}" in found.headers.get("set-cookie", "")) == (found.status == 204)
        self.noted["session.begin"] += found.status == 204

    def sign_out(self) -> None:
        """A session ends, any other token does not; a page of another site ends nothing."""
        text, other = self.token(), self.draw.random() < 0.3
        headers = {"Cookie": f"{COOKIE}={text}", "Sec-Fetch-Site": "cross-site" if other else "same-origin"}
        found = self.served.ask("DELETE", "/api/v1/session", role=None, headers=headers)
        assert found.status == (403 if other else 401 if self.whose(text) is None else 204)
        if found.status == 204:
            self.noted["session.end"] += 1
            self.tokens[text].revoked |= self.tokens[text].session

    def _refused(self, who: str | None, role: Role) -> int:
        """What is answered to somebody who may not; 0 for who may."""
        return 401 if who is None else 403 if self.roles[who] < role else 0


@pytest.mark.parametrize("fixed", [0, *(pytest.param(one, marks=pytest.mark.full) for one in (1, 2))])
def test_who_may_do_what_is_as_the_model_says(tmp_path: Path, fixed: int) -> None:
    """Whatever is done before: each answer, and in the end accounts, tokens and the audit."""
    with serving(str(tmp_path / "store.db"), {}, tmp_path) as served:
        until(lambda: served.instance.acting.acts)
        model = Model(served, random.Random(seed(fixed)))
        model.begin()
        steps = [model.me, model.add, model.change, model.issue, model.revoke]
        steps += [model.log_in, model.sign_in, model.sign_out, model.me, model.issue]
        for at in range(STEPS):
            model.draw.choice(steps)()
            if at % 40 == 39:  # else all tokens are nobody's in the end
                admin = next(n for n, r in model.roles.items() if r is Role.ADMIN and n not in model.disabled)
                text, made = served.instance.stored.accounts.issue(admin, "again", now_ms(), None)
                model.tokens[text] = Known(made.id, admin)
        accounts = served.instance.stored.accounts
        kept = {one.name: (one.role, one.disabled_at is not None) for one in accounts.all()}
        assert kept == {name: (role, name in model.disabled) for name, role in model.roles.items()}
        assert {one.id: one.revoked_at is not None for one in accounts.tokens()} == {
            one.id: one.revoked for one in model.tokens.values()
        }
        for text in model.tokens:
            found = served.ask("GET", "/api/v1/me", role=None, headers={"Authorization": f"Bearer {text}"})
            assert found.status == (401 if model.whose(text) is None else 200)
        entries = served.instance.stored.audit.entries(10_000)
        assert Counter(one.verb for one in entries) == +model.noted
        for asked, answers in ANSWERS.items():
            assert all(model.came[(*asked, status)] for status in answers), (asked, model.came)
        assert all(model.noted[verb] > 1 for verb in NOTED), model.noted


@pytest.fixture
def both() -> Iterator[Lab]:
    """Two simulated clusters."""
    with lab() as made:
        yield made


@pytest.mark.parametrize("fixed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_approvals_that_are_nearly_right_apply_nothing(both: Lab, tmp_path: Path, fixed: int) -> None:
    """Of all that is sent what is applied are plans by their hashes, once each, by who may; and each is audited."""
    contexts = {"old": both.here.context(), "new": both.there.context()}
    with serving(str(tmp_path / "store.db"), contexts, tmp_path) as served:
        until(lambda: served.instance.acting.acts)
        draw, plans, begun = random.Random(seed(fixed)), [], {}
        came = Counter[int]()
        for number in itertools.count():
            verbs = {plan["verb"] for plan in plans if plan["id"] in begun}
            # Whatever is drawn, each kind of answer is to be among it.
            if number >= APPROVALS and len(begun) > 5 and verbs == WANTED and all(came[one] for one in REFUSALS):
                break
            assert number < 10 * APPROVALS, (came, verbs)
            verb = draw.choice(["links/pause", "links/resume", "groups/baseline", "links/delete"])
            if not plans or draw.random() < 0.4:
                made = served.ask("POST", f"/api/v1/{verb}/plan", ON_LINK, role="operator")
                assert made.status == 200, made.body
                plans.append(made.json)
            plan = draw.choice(plans)
            other = draw.choice(plans)
            id_ = draw.choice([plan["id"]] * 8 + ["0" * 32, plan["id"][:-1], plan["id"].upper(), "..", other["hash"]])
            body: Any = draw.choice(
                [{"hash": plan["hash"]}] * 6
                + [{"hash": other["hash"]}, {"hash": "0" * 16}, {"hash": plan["hash"].upper()}, {"hash": None}, {}, []]
                + [{"hash": plan["hash"], "force": True}, plan["hash"], {"hash": [plan["hash"]]}, None]
            )
            role = draw.choice(["viewer", "operator", "operator", "approver"])
            if plan["verb"] == "links.delete" and role == "approver":
                role = "operator"  # else nothing would be left
            found = served.ask("POST", f"/api/v1/plans/{id_}/apply", body, role=role)
            came[found.status] += 1
            may = role == "approver" or (role == "operator" and plan["role"] == "operator")
            is_meant = id_ == plan["id"] and body == {"hash": plan["hash"]} and may
            assert (found.status == 202) == (is_meant and plan["id"] not in begun), (id_, body, role, found.body)
            if found.status == 202:
                begun[plan["id"]] = found.json["id"]
                until(lambda where=found.headers["location"]: served.get(where)["state"] != "running")
            else:
                assert 400 <= found.status < 500, found.body
                assert found.headers["content-type"] == "application/problem+json"
        operations = served.get("/api/v1/operations?limit=500")
        assert {one["plan"]: one["id"] for one in operations} == begun
        assert {one["verb"] for one in operations} == WANTED
        until(lambda: _outcomes(served)["started"] == sum(_outcomes(served)[one] for one in ("done", "ended")))
        audited = served.instance.stored.audit.entries(10_000)
        assert {one.operation for one in audited if one.outcome == "started"} == set(begun.values())
        both.on(both.target, lambda cluster: show(cluster, LINK))  # it is still there


def _outcomes(served: Served) -> Counter[str]:
    """How operations that began have ended, by the audit: ``ended`` where it was refused or failed."""
    entries = [one for one in served.instance.stored.audit.entries(10_000) if one.operation is not None]
    return Counter("ended" if one.outcome in ("refused", "failed") else one.outcome.value for one in entries)
