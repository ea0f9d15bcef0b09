"""The routes files of the how-tos: without faults, as the pages have them, and leading clients where the pages say."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from anabranch.config import routes_file
from anabranch.config.routes_file import RoutesShape, table_fields, table_of
from anabranch.config.yaml_file import check as check_shape
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import Severity
from anabranch.model.routing import Client, ClientFacts, ClientRole, RouteQuery
from anabranch.routes.check import check
from anabranch.routes.impact import Impact, impact
from anabranch.routes.resolve import TopicRoute, resolve
from anabranch.routes.routing import router
from anabranch.routes.table import RouteTable
from anabranch.sdk import config as sdk_config

pytestmark = pytest.mark.unit

TOP = Path(__file__).parents[3]
EXAMPLES = TOP / "examples" / "routes"
FILES = sorted(EXAMPLES.glob("*.yaml"))
PAGES = sorted((TOP / "docs" / "how-to").glob("route-*.md"))
REFERENCE = TOP / "docs" / "reference" / "routes.md"
NAMES = ("old", "new", "north", "south", "primary", "replica", "cluster_a", "cluster_a1")
CONTEXTS = {name: ClusterContext(name, (f"{name}:9092",)) for name in NAMES}
CONSUMER, PRODUCER = ClientRole.CONSUMER, ClientRole.PRODUCER


def example(name: str) -> RouteTable:
    """An example by its name."""
    return routes_file.load(EXAMPLES / f"{name}.yaml")


def led(name: str, role: ClientRole = CONSUMER, code: str = "orders", topic: str = "sales", **more: Any) -> TopicRoute:
    """Where a client of one topic is led by an example."""
    (way,) = resolve(example(name), RouteQuery(code, role, (topic,), **more))
    return way


def client(role: ClientRole, group: str = "", code: str = "orders", number: int = 0, **own: str) -> Client:
    """A registered client."""
    name = f"{role.value}-{group}-{code}-{number}"
    query = RouteQuery(code, role, ("sales",), group, name, own)
    return Client(name, ClientFacts("shop", "host-1", "10.0.0.1", 42, "0.1"), query, 0, 0, 1)


def change(before: str, after: str, *clients: Client) -> Impact:
    """What it does to clients that one example takes the place of another."""
    return impact(router(example(before), 1, CONTEXTS), router(example(after), 2, CONTEXTS), clients)


def moves(found: Impact) -> set[tuple[str, str, str]]:
    """Who moves, from where, to where."""
    return {
        (move.client.id, move.before.cluster, move.after.cluster)
        for move in found.moves
        if move.before is not None and move.after is not None
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_has_no_fault_and_no_warning(file: Path) -> None:
    """And is read back from how it is stored."""
    table = routes_file.load(file)
    assert [one.what for one in check(table, frozenset(CONTEXTS)) if one.severity is not Severity.INFO] == []
    assert table_of(table_fields(table), "stored") == table


def test_pages_have_the_examples_as_they_are() -> None:
    """Each that a page links stands in it, and each is linked by a page."""
    linked: set[str] = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        names = re.findall(r"\(\.\./\.\./examples/routes/([\w-]+\.yaml)\)", text)
        shown = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
        assert names, page.name
        assert shown == [yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8")) for name in names], page.name
        linked.update(names)
        for name in names:
            assert f"docs/how-to/{page.name}" in (EXAMPLES / name).read_text(encoding="utf-8").partition("\n")[0]
    assert linked == {file.name for file in FILES}


def test_links_of_the_pages_lead_somewhere() -> None:
    """Files, and headings in them."""
    for page in (*PAGES, REFERENCE):
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            there = (page.parent / target).resolve() if target else page
            assert there.is_file(), f"{page.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), re.MULTILINE)
                anchors = {re.sub(r"[^\w\- ]", "", one).strip().lower().replace(" ", "-") for one in headings}
                assert anchor in anchors, f"{page.name}: {target}#{anchor}"


def test_the_file_of_the_reference_is_one() -> None:
    """All fields that there are, and none that is not."""
    (text,) = re.findall(r"```yaml\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    table = table_of(check_shape(RoutesShape, yaml.safe_load(text), "page").model_dump(exclude_unset=True), "page")
    assert check(table, frozenset({"old"})) == ()
    (rule,) = table.rules
    assert set(rule.match.patterns()) == {
        "code", "topic", "group", "client_id", "parameters.job_id", "parameters.site"
    }  # fmt: skip


def test_applications_are_led_to_the_cluster_of_their_code() -> None:
    """route-applications.md."""
    assert led("applications").cluster == "old" == led("applications", PRODUCER).cluster


def test_the_line_that_an_application_changes_is_one_that_the_sdk_takes() -> None:
    """Its configuration, and the parameter of the page on one application: names and forms."""
    page = (TOP / "docs" / "how-to" / "route-applications.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (call,) = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    given = ast.literal_eval(call.args[0])
    apart = (TOP / "docs" / "how-to" / "route-isolate-an-application.md").read_text(encoding="utf-8")
    (parameter,) = re.findall(r"`(\"route\.parameters\": \{[^`]*\})`", apart)
    environ = {"ANABRANCH_SERVICE": "https://anabranch.example.com"}
    ours, theirs = sdk_config.split({**given, **ast.literal_eval(f"{{{parameter}}}")}, environ)
    assert (ours.code, ours.service, dict(ours.parameters)) == ("orders", *environ.values(), {"job_id": "1234"})
    assert theirs == {"group.id": "billing", "auto.offset.reset": "earliest"}


def test_a_migration_moves_one_group_then_all_readers_then_producers() -> None:
    """route-migration.md: at each step nobody but those that it names, and no group is split."""
    pilot, other = client(CONSUMER, "billing-reports"), client(CONSUMER, "billing")
    writer = client(PRODUCER)
    first = change("applications", "migration-pilot", pilot, other, writer)
    assert moves(first) == {(pilot.id, "old", "new")} and not first.forbids and first.staying == 2
    second = change("migration-pilot", "migration-readers", pilot, other, writer)
    assert moves(second) == {(other.id, "old", "new")} and not second.forbids
    last = change("migration-readers", "migration-done", pilot, other, writer)
    assert moves(last) == {(writer.id, "old", "new")} and not last.reasons
    assert moves(change("migration-pilot", "applications", pilot)) == {(pilot.id, "new", "old")}, "and back again"


def test_one_line_moves_a_site() -> None:
    """route-disaster-recovery.md: products that follow it go, others stay; the way has both steps."""
    assert [hop.code for hop in led("disaster-recovery").hops] == ["orders", "site-north"]
    north = [
        client(role, group, code)
        for role, group in ((CONSUMER, "g"), (PRODUCER, ""))
        for code in ("orders", "payments")
    ]
    south = client(CONSUMER, "h", "flights")
    found = change("disaster-recovery", "disaster-recovery-north-lost", *north, south)
    assert moves(found) == {(one.id, "north", "south") for one in north} and not found.forbids
    assert led("disaster-recovery-north-lost", code="flights").cluster == "south"
    texts = [(EXAMPLES / f"{name}.yaml").read_text("utf-8").splitlines()[1:] for name in
             ("disaster-recovery", "disaster-recovery-north-lost")]  # fmt: skip
    assert sum(one != other for one, other in zip(*texts, strict=True)) == 1


def test_reports_read_the_copy_and_nobody_writes_there() -> None:
    """route-read-write-split.md."""
    report = led("read-write-split", group="report-sales")
    assert (report.cluster, report.topic_there, report.may_read, report.may_write) == (
        "replica", "primary.sales", True, False
    )  # fmt: skip
    for way in (led("read-write-split", group="billing"), led("read-write-split", PRODUCER)):
        assert (way.cluster, way.topic_there, way.may_read, way.may_write) == ("primary", "sales", True, True)


def test_the_consumer_of_job_1234_goes_to_a_cluster_of_its_own() -> None:
    """route-isolate-an-application.md: neither another job, nor what the job writes."""
    job = {"job_id": "1234"}
    way = led("isolate-an-application", group="enrich-1234", parameters=job)
    assert (way.cluster, way.rule) == ("cluster_a1", "job-1234")
    other = led("isolate-an-application", group="enrich-1235", parameters={"job_id": "1235"})
    assert (other.cluster, other.rule) == ("cluster_a", "")
    assert other.hops[0].considered[0].misses == (
        "its group is 'enrich-1235', not enrich-1234",
        "its parameters.job_id is '1235', not 1234",
    )
    assert led("isolate-an-application", PRODUCER, parameters=job).cluster == "cluster_a"
