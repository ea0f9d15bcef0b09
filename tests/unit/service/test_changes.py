"""Changes and questions over HTTP beside simulated clusters: what is applied is done there, what is told is so."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.kafka.settling import until_led
from anabranch.kafka.simulated.cluster import SimulatedCluster
from anabranch.mirrormaker.store import OffsetSync
from anabranch.mirrormaker.wire import MirrorCheckpoint, decode_checkpoint, encode_sync
from anabranch.model.groups import Commit
from anabranch.model.plugins import PluginSpec
from anabranch.model.topics import TopicPartition
from anabranch.records.encode import encode
from anabranch.records.header import read_header
from anabranch.state.topics.control import Links, write
from qa.service import Answered, Served, until
from qa.timeouts import TIMEOUT_S
from tests.unit import asking
from tests.unit.link_lab import BLANK, LINK, SOURCE_END, TO_A, TO_B, A, B, Lab, append
from tests.unit.operations.checkpoints.world import copy, snapshot, starts

pytestmark = pytest.mark.test

ON_LINK = {"target": "new", "link": LINK}
THE_LINK = f"/api/v1/clusters/new/links/{LINK}"
FLIGHTS = "flights"
"""The topic of the golden query."""


def begun(served: Served, verb: str, body: object) -> str:
    """The address of an operation: that of a plan that was shown and is applied."""
    plan = served.ask("POST", f"/api/v1/{verb}/plan", body, role="operator")
    assert plan.status == 200, plan.body
    taken = served.ask("POST", f"/api/v1/plans/{plan.json['id']}/apply", {"hash": plan.json["hash"]}, role="approver")
    assert taken.status == 202, taken.body
    return taken.headers["location"]


def did(served: Served, verb: str, body: object, state: str = "done") -> Any:
    """The operation that came of a plan that was shown and applied, once it has ended."""
    return ended(served, begun(served, verb, body), state)


def ended(served: Served, where: str, state: str = "done") -> Any:
    """An operation, once it has ended."""
    until(lambda: served.get(where)["state"] != "running")
    found = served.get(where)
    assert found["state"] == state, found
    return found


def told(served: Served, path: str, body: object) -> Any:
    """What a viewer is answered."""
    found = served.ask("POST", f"/api/v1/{path}", body)
    assert found.status == 200, found.body
    return found.json


def test_a_baseline_is_stored_and_the_group_is_judged_by_it(both: Lab, served: Served) -> None:
    """What the group had committed on that day is kept on the target, and tells who would lose records."""
    both.commit(both.source, "shop", {A: Commit(15), B: Commit(4)})
    both.commit(both.source, "other", {A: Commit(15)})
    report = did(served, "groups/baseline", {**ON_LINK, "groups": ["shop"]})["report"]
    assert report["stored"] is True
    kept = both.stored().baselines
    assert {link: list(groups) for link, groups in kept.items()} == {LINK: ["shop"]}
    taken = kept[LINK]["shop"]
    assert {one.source: one.commit.offset for one in taken.partitions} == {A: 15, B: 4}
    (told_one,) = report["baselines"]
    assert {one["source"]: one["coverage"] for one in told_one["partitions"]} == {
        "orders-0": "covered",
        "orders-1": "before",
    }


def test_a_group_begins_where_it_was_told_to_and_not_twice(both: Lab, served: Served) -> None:
    """It has its commits before any of its consumers is started; where it has some, it is refused."""
    asked = {"target": "new", "group": "fresh", "topics": [TO_A.topic], "start": "latest"}
    report = did(served, "groups/create", asked)["report"]
    assert {at: one.offset for at, one in both.committed(both.target, "fresh").items()} == {TO_A: 15, TO_B: 15}
    assert report["undo"]
    again = did(served, "groups/create", {**asked, "start": "earliest"}, state="failed")
    assert again["problem"]["title"] == "group not made"
    assert both.committed(both.target, "fresh")[TO_A].offset == 15
    did(served, "groups/undo", {"target": "new", "undo": report["undo"]})
    assert both.committed(both.target, "fresh") == {}


def test_a_link_is_waited_for_until_it_has_copied_what_the_source_holds(both: Lab, served: Served) -> None:
    """As an operation that tells what is left, until its time is over or nothing is."""
    plan = served.ask("POST", "/api/v1/links/wait/plan", ON_LINK, role="operator").json
    left = f"{SOURCE_END} records of 1 lane left, 1 lane not begun, the link is not running"
    assert plan["plan"] | {"hash": ""} == {
        "link": LINK,
        "partitions": 3,
        "records": SOURCE_END,
        "left": left,
        "hash": "",
    }
    late = did(served, "links/wait", {**ON_LINK, "timeout_s": 0.001}, state="failed")
    assert late["problem"]["exit_code"] == 7
    where = begun(served, "links/wait", ON_LINK)
    until(lambda: (served.get(where)["progress"] or {}).get("stage") == "waiting")
    assert served.get(where)["progress"] == {"stage": "waiting", "records": SOURCE_END, "left": left}
    both.on(both.target, copy_nothing)
    report = ended(served, where)["report"]
    assert (report["link"], report["behind"]) == (LINK, 0)


async def copy_nothing(target: Cluster) -> None:
    """Have the link copy no topic: then nothing is waited for."""
    links = Links(target)
    await links.sync()
    record = links.links[LINK]
    spec = replace(record.wanted.spec, filter=PluginSpec("regex", {"include": ["nothing"]}))
    await links.put(replace(record, wanted=replace(record.wanted, spec=spec)))


def test_a_transaction_that_hangs_is_ended(both: Lab, served: Served) -> None:
    """It held the partition up; the plan names it, and the report says how far readers come now."""

    def open_one(simulated: SimulatedCluster) -> None:
        """As old bugs did: no coordinator knows of it."""
        partition = simulated.partition(A.topic, A.partition)
        batch = encode(asking.records(3), producer_id=9, producer_epoch=0, sequence=0, transactional=True)
        partition.led.log.append(batch, read_header(batch), partition.leader_epoch, 1_000)
        partition.advance()

    both.here.served.do(open_one)
    asked = {**ON_LINK, "where": str(A)}
    plan = served.ask("POST", "/api/v1/links/abort-transaction/plan", asked, role="operator").json
    assert (plan["plan"]["abort"], plan["plan"]["stable"], plan["plan"]["high_watermark"]) == (9, SOURCE_END, 35)
    assert plan["role"] == "approver"
    report = did(served, "links/abort-transaction", asked)["report"]
    assert (report["stable"], report["high_watermark"]) == (36, 36), "its records, and the marker of its end"
    nothing = served.ask("POST", "/api/v1/links/abort-transaction/plan", asked, role="operator")
    assert (nothing.status, nothing.json["title"]) == (409, "no open transaction")


def test_clients_of_mirror_maker_are_published_exact_positions(both: Lab, served: Served) -> None:
    """What the plan shows is in MirrorMaker's topic afterwards, and nothing of it was there before."""
    both.commit(both.source, "shop", {A: Commit(20, "noted"), BLANK: Commit(4)})
    report = did(served, "mirrormaker/publish", ON_LINK)["report"]
    stored = both.on(both.target, lambda cluster: KeyedLog(cluster, "old.checkpoints.internal").read())
    written = [decode_checkpoint(one.key, one.value or b"") for one in stored]
    assert written == [MirrorCheckpoint("shop", TO_A, 20, 10, "noted")]
    assert [(one["group"], one["upstream"], one["downstream"]) for one in report["checkpoints"]] == [("shop", 20, 10)]
    assert [(one["group"], one["source"]) for one in report["left_out"]] == [("shop", str(BLANK))]


def test_mirror_makers_answers_are_told_beside_the_exact_ones(both: Lab, served: Served) -> None:
    """A report of each group and partition, with a link's map where one is named; and single offsets."""
    both.commit(both.source, "shop", {A: Commit(20)})
    did(served, "mirrormaker/publish", ON_LINK)

    async def sync(cluster: Cluster) -> None:
        name = "mm2-offset-syncs.new.internal"
        await create_topic(cluster, name, 1, 1, {"cleanup.policy": "compact"})
        await until_led(cluster, [name])
        for one in (OffsetSync(17, 9), OffsetSync(19, 11)):
            await write(KeyedLog(cluster, name), [encode_sync(A, one)])

    both.on(both.source, sync)
    flow = {"source": "old", "target": "new"}
    (row,) = told(served, "mirrormaker/report", flow)["rows"]
    assert (row["group"], row["source"], row["committed"], row["downstream"]) == ("shop", str(A), 20, 10)
    assert (row["exact"], row["evidence"], row["least"], row["most"]) == (None, "none", 0, 2)
    (known,) = told(served, "mirrormaker/report", {**flow, "link": LINK})["rows"]
    assert (known["exact"], known["evidence"], known["most"]) == (10, "map", 0)
    questions = [{"topic": A.topic, "partition": 0, "offset": offset} for offset in (19, 20)]
    found = told(served, "mirrormaker/translate", {**flow, "questions": questions})
    assert (found["link"], found["cluster"]) == ("old->new", "new")
    assert [(one["kind"], one["to"], one["answer"], one["most_again"]) for one in found["answers"]] == [
        ("approximate", str(TO_A), 11, 0),
        ("approximate", str(TO_A), 12, 0),
    ]
    unknown = {**flow, "questions": [{"topic": "nothing", "partition": 0, "offset": 1}]}
    assert [one["kind"] for one in told(served, "mirrormaker/translate", unknown)["answers"]] == ["unknown"]
    nowhere = served.ask("POST", "/api/v1/mirrormaker/report", {**flow, "source": "nowhere"})
    assert (nowhere.status, nowhere.json["title"]) == (404, "unknown context")


def test_all_that_a_group_committed_is_told_on_the_other_side(both: Lab, served: Served) -> None:
    """There and back; a group that is nobody's is named."""
    both.commit(both.source, "shop", {A: Commit(20), B: Commit(27)})
    both.commit(both.target, "shop", {TO_A: Commit(3)})

    def answers(query: str) -> list[tuple[str, int]]:
        return [(one["to"], one["answer"]) for one in served.get(f"{THE_LINK}/translate/group?{query}")["answers"]]

    assert answers("group=shop") == [(str(TO_A), 10), (str(TO_B), 12)]
    assert answers("group=shop&reverse=true") == [(str(A), 13)]
    nobody = served.ask("GET", f"{THE_LINK}/translate/group?group=nobody")
    assert (nobody.status, nobody.json["title"]) == (409, "group unknown")


def test_a_rewrite_is_made_proven_and_taken_back(both: Lab, served: Served, tmp_path: Path) -> None:
    """In place, by given offsets: the proof holds, fails for a result that is one record off, and undo is exact."""

    async def fill(cluster: Cluster) -> None:
        await create_topic(cluster, FLIGHTS, 3, 1, {})
        await until_led(cluster, [FLIGHTS])
        for partition in range(3):
            await append(cluster, TopicPartition(FLIGHTS, partition), 40)

    both.on(both.target, fill)
    place = copy("rocksdb", tmp_path / "checkpoints" / "query")
    before = snapshot(place, hidden=True)
    asked = {"path": str(place), "target": "new", "offsets": {FLIGHTS: {"0": 5, "1": 6, "2": 7}}}
    report = did(served, "checkpoints/rewrite", asked)["report"]
    assert starts(place) == {"flights-0": 5, "flights-1": 6, "flights-2": 7}
    assert report["undo"]
    proof = told(served, "checkpoints/verify", asked)
    assert (proof["problems"], [one["problem"] for one in proof["proofs"]]) == ([], [""] * 3)
    assert {one["new"]["partition"]: one["new"]["offset"] for one in proof["proofs"]} == starts(place)
    other = told(served, "checkpoints/verify", {**asked, "offsets": {FLIGHTS: {"0": 5, "1": 6, "2": 8}}})
    assert other["problems"] or any(one["problem"] for one in other["proofs"])
    did(served, "checkpoints/undo", {"path": str(place)})
    assert snapshot(place, hidden=True) == before


def test_of_people_who_apply_one_plan_at_once_one_does_and_all_are_told_who(both: Lab, served: Served) -> None:
    """The operation is one; the others have its id and whose it is, in their answer, in the plan and in the audit."""
    plan = served.ask("POST", "/api/v1/links/pause/plan", ON_LINK, role="operator").json
    where, approval = f"/api/v1/plans/{plan['id']}", {"hash": plan["hash"]}
    people = ["operator", "approver", "admin"] * 3
    gate = threading.Barrier(len(people))

    def apply(role: str) -> tuple[str, Answered]:
        gate.wait(TIMEOUT_S)
        return role, served.ask("POST", f"{where}/apply", approval, role=role)

    with ThreadPoolExecutor(len(people)) as pool:
        answers = list(pool.map(apply, people))
    ((winner, begun),) = [(role, one) for role, one in answers if one.status == 202]
    late = [(role, one) for role, one in answers if one.status != 202]
    operation = begun.json["id"]
    assert (begun.json["account"], begun.headers["location"]) == (winner, f"/api/v1/operations/{operation}")
    for _, one in late:
        assert (one.status, one.json["title"], one.json["retryable"]) == (409, "applied plan", False)
        assert f"by {winner}: operation {operation}" in one.json["detail"]
        assert "plan again" in one.json["hint"]
    until(lambda: served.get(f"/api/v1/operations/{operation}")["state"] == "done")
    assert [one["id"] for one in served.get("/api/v1/operations")] == [operation]
    for role in ("viewer", "operator", "approver"):
        assert served.get(where, role)["operation"] == operation
    until(lambda: len(served.get("/api/v1/audit")) == len(people) + 1)
    entries = served.get("/api/v1/audit")
    assert {one["plan"] for one in entries} == {plan["id"]}
    told_of = sorted((one["account"], one["outcome"]) for one in entries)
    assert told_of == sorted([(winner, "started"), (winner, "done"), *((role, "refused") for role, _ in late)])
    assert all(operation in one["detail"] for one in entries if one["outcome"] == "refused")


def test_who_may_not_apply_a_plan_takes_it_from_nobody(both: Lab, served: Served) -> None:
    """An operator sends it to an approver: the refusal names the role, and the approver's is the first one."""
    plan = served.ask("POST", "/api/v1/links/delete/plan", ON_LINK, role="operator").json
    where, approval = f"/api/v1/plans/{plan['id']}", {"hash": plan["hash"]}
    refused = served.ask("POST", f"{where}/apply", approval, role="operator")
    assert (refused.status, refused.json["title"]) == (403, "not permitted")
    assert "needs approver" in refused.json["detail"]
    assert served.ask("POST", f"{where}/apply", {"hash": "0" * 16}, role="approver").status == 409
    assert served.get(where)["operation"] is None
    assert served.ask("POST", f"{where}/apply", approval, role="approver").status == 202
    until(lambda: served.ask("GET", THE_LINK).status == 404)


def test_the_services_own_metrics_are_of_now(both: Lab, served: Served) -> None:
    """Which clusters were just read, that it acts, who listens, and its answers by their status; beside each link's."""
    assert served.ask("GET", "/api/v1/me", role=None).status == 401
    told = served.ask("GET", "/metrics").body.decode()
    for line in (
        'anabranch_cluster_up{cluster="new"} 1.0',
        'anabranch_cluster_up{cluster="old"} 1.0',
        "anabranch_service_acts 1.0",
        "anabranch_service_listeners 0.0",
        'anabranch_service_requests_total{status="401"} 1.0',
        f'anabranch_link_paused{{link="{LINK}",source="old",target="new"}} 0.0',
    ):
        assert f"\n{line}\n" in told, line
    assert served.ask("GET", "/metrics", role=None).status == 401
