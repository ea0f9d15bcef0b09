"""The service over HTTP, beside simulated clusters: who may ask for what, plans, operations, refusals."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from anabranch.config import maps_file
from anabranch.errors import InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.model.groups import Commit
from anabranch.operations.links import change
from anabranch.operations.links.change import PAUSE
from anabranch.service.problems import EXPECTED, problem_of
from anabranch.service.serving import bound
from qa.service import Answered, Served, until
from qa.timeouts import TIMEOUT_S
from tests.unit.cli.test_cli_exit_codes import CHECKPOINT
from tests.unit.link_lab import LINK, TO_A, A, Lab

pytestmark = pytest.mark.test

ON_LINK = {"target": "new", "link": LINK}
THE_LINK = f"/api/v1/clusters/new/links/{LINK}"


def planned(served: Served, verb: str, body: object, role: str = "operator") -> Any:
    """A plan that is shown."""
    found = served.ask("POST", f"/api/v1/{verb}/plan", body, role=role)
    assert found.status == 200, found.body
    return found.json


def applied(served: Served, plan: Any, role: str = "approver", hash_: str | None = None) -> Answered:
    """What is answered to an approval."""
    return served.ask("POST", f"/api/v1/plans/{plan['id']}/apply", {"hash": hash_ or plan["hash"]}, role=role)


def ended(served: Served, operation: str) -> Any:
    """An operation, once it has ended."""
    until(lambda: served.get(f"/api/v1/operations/{operation}")["state"] != "running")
    return served.get(f"/api/v1/operations/{operation}")


def kind(answer: Answered) -> tuple[int, str]:
    """The status and the kind of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.body
    return answer.status, answer.json["type"].rpartition(":")[2]


def test_a_plan_is_shown_applied_by_its_hash_and_audited(both: Lab, served: Served) -> None:
    """The operation is there at once, ends by itself, and tells what it did; the link is as the plan said."""
    plan = planned(served, "links/pause", ON_LINK)
    assert plan["command"] == f"anabranch link pause {LINK} --target new"
    assert plan["plan"]["after"]["paused"] is True
    assert not served.get(THE_LINK)["record"]["wanted"]["paused"]
    begun = applied(served, plan)
    assert begun.status == 202
    assert begun.headers["location"] == f"/api/v1/operations/{begun.json['id']}"
    done = ended(served, begun.json["id"])
    assert (done["state"], done["report"]["wanted"]["paused"]) == ("done", True)
    until(lambda: served.get(THE_LINK)["summary"]["paused"])
    until(lambda: len(served.get("/api/v1/audit")) == 2)
    entries = served.get("/api/v1/audit")
    assert [one["outcome"] for one in entries] == ["done", "started"]
    assert {one["account"] for one in entries} == {"approver"}
    assert {(one["verb"], one["subject"], one["hash"]) for one in entries} == {
        ("links.pause", f"link {LINK}", plan["hash"])
    }


def test_one_plan_is_applied_once_by_whoever_comes_first(served: Served) -> None:
    """Two people with one plan: the second is told who applied it, and as which operation."""
    plan = planned(served, "links/pause", ON_LINK)
    first = applied(served, plan, "approver")
    second = applied(served, plan, "admin")
    assert kind(second) == (409, "applied-plan")
    assert first.json["id"] in second.json["detail"]
    assert "approver" in second.json["detail"]


def test_a_plan_that_is_no_longer_true_changes_nothing(both: Lab, served: Served) -> None:
    """The link was changed by somebody else since: the operation is refused, and says which plan it would be now."""

    async def pause(cluster: Cluster) -> None:
        await change.apply(cluster, await change.plan(cluster, LINK, PAUSE))

    plan = planned(served, "links/delete", ON_LINK)
    both.on(both.target, pause)
    refused = ended(served, applied(served, plan).json["id"])
    assert (refused["state"], refused["problem"]["title"]) == ("failed", "plan changed")
    assert plan["hash"] in refused["problem"]["detail"]
    until(lambda: served.get("/api/v1/audit")[0]["outcome"] == "refused")
    assert served.get(THE_LINK)["summary"]["id"] == LINK


def test_another_hash_is_refused(served: Served) -> None:
    """Nobody approves what was not shown."""
    plan = planned(served, "links/pause", ON_LINK)
    assert kind(applied(served, plan, hash_="0" * 16)) == (409, "another-hash")
    assert served.get("/api/v1/operations") == []


@pytest.mark.parametrize(
    ("role", "plans", "applies_pause", "applies_delete"),
    [
        ("viewer", 403, 403, 403),
        ("operator", 200, 202, 403),
        ("approver", 200, 202, 202),
        ("admin", 200, 202, 202),
    ],
)
def test_what_a_role_may_do(served: Served, role: str, plans: int, applies_pause: int, applies_delete: int) -> None:
    """A viewer looks, an operator does what the same noun undoes, an approver the rest."""
    assert served.ask("GET", THE_LINK, role=role).status == 200
    assert served.ask("POST", "/api/v1/links/pause/plan", ON_LINK, role=role).status == plans
    pause, delete = (planned(served, f"links/{verb}", ON_LINK) for verb in ("pause", "delete"))
    deleted = applied(served, delete, role)
    assert deleted.status == applies_delete
    if deleted.status == 202:
        ended(served, deleted.json["id"])
    assert applied(served, pause, role).status == applies_pause


def test_groups_move_as_their_plan_says_and_back(both: Lab, served: Served) -> None:
    """An approved move commits on the target exactly what was shown; its undo takes it away."""
    both.commit(both.source, "shop", {A: Commit(27)})
    plan = planned(served, "groups/sync", {**ON_LINK, "groups": ["shop"]})
    done = ended(served, applied(served, plan).json["id"])
    assert done["state"] == "done", done
    assert both.committed(both.target, "shop")[TO_A].offset == 12
    undo = done["report"]["undo"]
    groups = served.get(f"{THE_LINK}/groups")["groups"]
    assert [row["group"] for row in groups] == ["shop"]
    back = planned(served, "groups/undo", {"target": "new", "undo": undo})
    assert ended(served, applied(served, back).json["id"])["state"] == "done"


def test_positions_are_told_exactly_or_refused(served: Served) -> None:
    """Single and many, there and back; what is not in the link says so."""

    def asked(offsets: list[int], **more: Any) -> Answered:
        questions = [{"topic": more.pop("topic", "orders"), "partition": 0, "offset": one} for one in offsets]
        return served.ask("POST", f"{THE_LINK}/translate", {"questions": questions, **more})

    answers = asked([10, 19, 22, 25, 1_000]).json["answers"]
    assert [one["answer"] for one in answers] == [0, 9, 10, 10, None], answers
    assert served.get(f"{THE_LINK}/ranges?where=orders-0")[0]["target_end"] == 15
    assert kind(asked([1], topic="nothing")) == (422, "topic-not-in-link")


def test_all_maps_are_given_as_the_command_line_writes_them(served: Served, tmp_path: Path) -> None:
    """The maps file translates as the link does; its runs are lines; a link without a comparison has no page of it."""
    found = served.ask("GET", f"{THE_LINK}/maps")
    assert found.headers["content-disposition"].startswith("attachment; filename=")
    (tmp_path / "maps.json").write_bytes(found.body)
    maps = {str(one.source): one.ranges for one in maps_file.load(tmp_path / "maps.json")}
    assert [run.length for run in maps["orders-0"]] == [
        one["length"] for one in served.get(f"{THE_LINK}/ranges?where=orders-0")[0]["ranges"]
    ]
    head, *lines = served.ask("GET", f"{THE_LINK}/maps.csv").body.decode().splitlines()
    assert head.startswith("source_topic,source_partition,") and len(lines) == sum(len(one) for one in maps.values())
    assert kind(served.ask("GET", f"{THE_LINK}/verification/page")) == (409, "never-verified")


def test_lanes_are_filtered_and_sorted_here(served: Served) -> None:
    """A page of them, how many match, and how many there are."""

    def page(query: str) -> Any:
        return served.get(f"{THE_LINK}/lanes?{query}")

    every = page("")
    assert (every["total"], every["matching"]) == (2, 2)
    assert [one["source"] for one in every["lanes"]] == ["orders-0", "orders-1"]
    assert [one["source"] for one in page("descending=true")["lanes"]] == ["orders-1", "orders-0"]
    assert [one["source"] for one in page("text=ers-1")["lanes"]] == ["orders-1"]
    assert [one["source"] for one in page("limit=1&offset=1")["lanes"]] == ["orders-1"]
    assert page("state=stopped")["matching"] == 0
    assert page("mode=mapped")["matching"] == 2


def test_a_cluster_that_is_away_is_shown_as_it_was_with_the_reason(both: Lab, served: Served) -> None:
    """What was read stays, dated; what needs the cluster is refused by its error; others are shown as ever."""
    until(lambda: served.get("/api/v1/links")["links"])
    for broker in both.there.brokers:
        broker.kill()
    until(lambda: served.get("/api/v1/links")["unread"])
    shown = served.get("/api/v1/links")
    assert [one["name"] for one in shown["unread"]] == ["new"]
    assert shown["links"][0]["problem"]["detail"]
    lanes = served.get(f"{THE_LINK}/lanes")
    assert lanes["problem"]["detail"] and lanes["total"] == 2
    refused = served.ask("POST", "/api/v1/links/pause/plan", ON_LINK, role="operator")
    assert refused.status == 502, refused.body
    assert b'anabranch_cluster_up{cluster="new"} 0.0' in served.ask("GET", "/metrics").body
    for broker in both.there.brokers:
        broker.start()
    until(lambda: not served.get("/api/v1/links")["unread"])


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        ({}, (401, "not-signed-in")),
        ({"Authorization": "Bearer anb_nobody"}, (401, "not-signed-in")),
        ({"Authorization": "Basic YTpi"}, (401, "not-signed-in")),
        ({"Authorization": "Bearer " + "x" * 5000}, (401, "not-signed-in")),
        ({"Host": "elsewhere.example"}, (421, "wrong-host")),
    ],
)
def test_who_is_nobody_is_told_so(unchanged: Served, headers: dict[str, str], answer: tuple[int, str]) -> None:
    """Whatever is wrong with the token, and a page of another name."""
    assert kind(unchanged.ask("GET", "/api/v1/me", role=None, headers=headers)) == answer


def test_a_token_ends_at_once(alone: Served) -> None:
    """Revoked, expired, or its account disabled."""
    made = alone.ask("POST", "/api/v1/tokens", {"account": "viewer", "name": "mine", "days": 1}, role="viewer").json
    mine = {"Authorization": f"Bearer {made['token']}"}
    assert alone.ask("GET", "/api/v1/me", role=None, headers=mine).json["account"] == "viewer"
    assert alone.ask("DELETE", f"/api/v1/tokens/{made['id']}", role="operator").status == 404
    assert alone.ask("DELETE", f"/api/v1/tokens/{made['id']}", role="viewer").status == 200
    assert kind(alone.ask("GET", "/api/v1/me", role=None, headers=mine)) == (401, "not-signed-in")
    assert alone.ask("PATCH", "/api/v1/accounts/viewer", {"disabled": True}, role="admin").status == 200
    assert kind(alone.ask("GET", "/api/v1/me", role="viewer")) == (401, "not-signed-in")
    assert kind(alone.ask("PATCH", "/api/v1/accounts/admin", {"disabled": True}, role="admin")) == (409, "last-admin")


def test_no_answer_holds_the_text_of_a_token(alone: Served) -> None:
    """But the one that made it."""
    made = alone.ask("POST", "/api/v1/tokens", {"account": "viewer", "name": "mine"}, role="admin").json
    for path in ("accounts", "tokens", "audit", "operations", "me"):
        told = alone.ask("GET", f"/api/v1/{path}", role="admin").body.decode()
        assert made["token"] not in told
        assert "digest" not in told


class Browser:
    """Keeps a cookie, and says which page asks."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.cookie = ""

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answered:
        """Ask with the cookie."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        found = self.served.ask(method, path, body, role=None, headers={**sent, "Cookie": self.cookie})
        if "set-cookie" in found.headers:
            self.cookie = found.headers["set-cookie"].partition(";")[0]
        return found


def test_a_browser_signs_in_and_out_and_other_sites_cannot_use_it(alone: Served) -> None:
    """The cookie is for the service's own pages: what changes something says which page asks."""
    browser, own = Browser(alone), f"http://127.0.0.1:{alone.port}"
    token = alone.tokens["admin"]
    signed = browser.ask("POST", "/api/v1/session", {"token": token}, Origin=own)
    assert signed.status == 204
    assert {"HttpOnly", "SameSite=strict"} <= set(signed.headers["set-cookie"].split("; "))
    assert browser.ask("GET", "/api/v1/me").json["account"] == "admin"
    new = {"name": "eve", "role": "viewer"}
    assert kind(browser.ask("POST", "/api/v1/accounts", new)) == (403, "cross-site")
    assert kind(browser.ask("POST", "/api/v1/accounts", new, Origin="https://evil.example")) == (403, "cross-site")
    assert kind(browser.ask("POST", "/api/v1/accounts", new, Sec_Fetch_Site="cross-site")) == (403, "cross-site")
    assert browser.ask("POST", "/api/v1/accounts", new, Origin=own, Sec_Fetch_Site="same-origin").status == 201
    assert browser.ask("DELETE", "/api/v1/session", Origin=own).status == 204
    assert browser.ask("GET", "/api/v1/me").status == 401


def test_whoever_guesses_tokens_is_slowed_down(alone: Served) -> None:
    """By where they come from; it says when to ask again, and who has a token is not held up."""
    wrong = {"Authorization": "Bearer anb_guess"}
    answers = [alone.ask("GET", "/api/v1/me", role=None, headers=wrong) for _ in range(25)]
    assert kind(answers[-1]) == (429, "too-many-requests")
    assert int(answers[-1].headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("body", "headers", "answer"),
    [
        (b"{", {"Content-Type": "application/json"}, (422, "invalid-field")),
        (b"{}", {"Content-Type": "application/json"}, (422, "invalid-field")),
        (b"[]", {"Content-Type": "application/json"}, (422, "invalid-field")),
        (b"\xff\xfe", {"Content-Type": "application/json"}, (422, "invalid-field")),
        (b'{"target":"a","link":"b","more":1}', {"Content-Type": "application/json"}, (422, "invalid-field")),
        (b'{"target":"a\\u0000","link":"b"}', {"Content-Type": "application/json"}, (422, "invalid-field")),
        (b'{"target":"a","link":"b"}', {"Content-Type": "text/plain"}, (415, "not-json")),
        (b" " * ((1 << 20) + 1), {"Content-Type": "application/json"}, (413, "too-large")),
        (b'{"target":"nowhere","link":"b"}', {"Content-Type": "application/json"}, (404, "unknown-context")),
    ],
)
def test_bad_input_is_named(unchanged: Served, body: bytes, headers: dict[str, str], answer: tuple[int, str]) -> None:
    """Every body that is not meant is refused with what is wrong, and nothing is planned."""
    assert kind(unchanged.ask("POST", "/api/v1/links/pause/plan", body, role="operator", headers=headers)) == answer


@pytest.mark.parametrize("word", ["zzz", "0" * 31, "0" * 33, "%00", "0" * 32])
@pytest.mark.parametrize(("noun", "hint"), [("plans", "plan again"), ("operations", "list them")])
def test_an_address_that_was_cut_leads_to_no_plan_and_no_operation(
    unchanged: Served, noun: str, hint: str, word: str
) -> None:
    """It is told as one that is not there, with what to do, not as a fault of the address."""
    found = unchanged.ask("GET", f"/api/v1/{noun}/{word}")
    assert kind(found) == (404, f"no-{noun.removesuffix('s')}")
    assert hint in found.json["hint"]


def test_what_is_wrong_with_a_request_always_comes_with_a_hint(unchanged: Served) -> None:
    """Also where the error itself has none: then it is what the interface expects."""
    unchanged.ask("POST", "/api/v1/accounts", {"name": "hinted", "role": "viewer"}, role="admin")
    found = unchanged.ask("PATCH", "/api/v1/accounts/hinted", {}, role="admin")
    assert (found.status, found.json["hint"]) == (422, "give role or disabled")
    assert problem_of(InvalidFieldError("lane", "key", "is none")).hint == EXPECTED


def test_what_was_too_long_does_not_come_back_whole(unchanged: Served) -> None:
    """A problem names the beginning of a value, and how long it was."""
    ends = {"source": {"context": "old"}, "target": {"context": "new"}}
    for body in ({"id": "x" * 900_000, **ends}, {"x" * 900_000: 1}, {"id": "x y " * 200_000, **ends}):
        found = unchanged.ask("POST", "/api/v1/links/create/plan", body, role="operator")
        assert 400 <= found.status < 500
        assert len(found.body) < 200_000, found.body[:1000]
        assert "characters)" in found.json["detail"] or len(found.body) < 2_000


def test_no_file_of_the_services_machine_is_named_by_a_request(served: Served) -> None:
    """Neither as a link's start, nor as a checkpoint outside of what the service was given, nor to put a copy there."""
    link = {"source": "old", "target": "new", "id": "mine", "start": "@/etc/passwd"}
    assert kind(served.ask("POST", "/api/v1/links/create/plan", {"link": link}, role="operator"))[0] == 422
    for path in ("/etc", "/etc/../etc", "{root}/../..", "memory://x"):
        place = path.replace("{root}", served.instance.reach.roots[0])
        undo = served.ask("POST", "/api/v1/checkpoints/undo/plan", {"path": place}, role="operator")
        assert kind(undo) == (403, "path-not-open"), place
    for place in ("/etc", served.instance.reach.roots[0]):
        wave = {"name": "orders", "topics": ["orders"], "jobs": [{"name": "a", "kind": "spark", "checkpoint": place}]}
        asked = {"migration": {"name": "move", "source": "old", "target": "new", "waves": [wave]}, "wave": "orders"}
        rehearsal = served.ask("POST", "/api/v1/migrations/rehearse/plan", asked, role="approver")
        assert kind(rehearsal) == (403, "path-not-open"), place


def test_events_tell_what_happens(served: Served) -> None:
    """A listener hears of the operation and of its audit, in order."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=TIMEOUT_S)
    connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {served.tokens['viewer']}"})
    stream = connection.getresponse()
    assert stream.getheader("content-type", "").startswith("text/event-stream")
    begun = applied(served, planned(served, "links/pause", ON_LINK)).json["id"]
    states: list[str] = []
    stages: list[str | None] = []
    name = ""
    while states[-1:] != ["done"]:
        line = stream.readline().decode().strip()
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: ") and name == "operation":
            told = json.loads(line.removeprefix("data: "))
            assert told["id"] == begun
            assert "report" not in told
            states.append(told["state"])
            stages.append((told["progress"] or {}).get("stage"))
    assert states == ["running", "running", "running", "done"]
    assert stages == [None, "planning again", "applying", "applying"]
    connection.close()


def test_openapi_names_every_answer(unchanged: Served) -> None:
    """Every operation has the schema of its answer or none at all, and every reference leads somewhere."""
    told = unchanged.get("/api/v1/openapi.json", role=None)
    known = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
    text = json.dumps(told)
    named = {part.partition('"')[0] for part in text.split('"$ref": "')[1:]}
    assert named <= known
    assert len(told["paths"]) > 40


def test_a_checkpoint_below_the_services_directories_is_read(served: Served, tmp_path: Path) -> None:
    """Where its positions are; what a rewrite would do is a plan with its refusals; another place is not opened."""
    place = tmp_path / "checkpoints" / "query"
    shutil.copytree(CHECKPOINT, place)
    found = served.ask("POST", "/api/v1/checkpoints/inspect", {"path": str(place)})
    assert found.status == 200, found.body
    assert found.json["path"] == str(place)
    assert found.json["page"]
    (tmp_path / "checkpoints" / "out").symlink_to("/etc")
    outside = served.ask("POST", "/api/v1/checkpoints/inspect", {"path": str(place.parent / "out")})
    assert kind(outside) == (403, "path-not-open")
    plan = planned(served, "checkpoints/rewrite", {"path": str(place), "target": "new", "links": [LINK]})
    assert plan["plan"]["refusals"], "its topics are not the link's"
    refused = ended(served, applied(served, plan).json["id"])
    assert (refused["state"], refused["problem"]["title"]) == ("failed", "plan refused")


def test_an_answer_is_sent_at_once() -> None:
    """What the service listens with is known as TCP: else its connections wait for acknowledgements between writes."""

    async def is_set() -> int:
        accepted = asyncio.get_running_loop().create_future()

        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = bound("127.0.0.1", 0)
        async with await asyncio.start_server(connected, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            found: int = await accepted
            writer.close()
            return found

    assert asyncio.run(is_set()) != 0
