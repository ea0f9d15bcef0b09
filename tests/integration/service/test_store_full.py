"""A store without room: what would be kept is refused, what is there is shown, and nothing is half done."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection, event

from qa.service import serving, until
from tests.unit.link_lab import LINK, lab

pytestmark = pytest.mark.test

MOST, PLANS = 2_000, 100
"""Plans, each some kilobytes, before a full store must have refused one; and those that are applied then."""


def test_a_full_store_refuses_and_goes_on_once_there_is_room(tmp_path: Path) -> None:
    """SQLite's own error of a full disk: its file may not grow."""
    with (
        lab() as both,
        serving(
            str(tmp_path / "store.db"), {"old": both.here.context(), "new": both.there.context()}, tmp_path
        ) as served,
    ):
        until(lambda: served.instance.acting.acts)
        until(lambda: served.ask("GET", f"/api/v1/clusters/new/links/{LINK}").status == 200)
        engine = served.instance.stored.database._engine

        def no_room(connection: Connection) -> None:
            connection.exec_driver_sql("PRAGMA max_page_count = 1")  # which is as many as there are

        def room(connection: Connection) -> None:
            connection.exec_driver_sql("PRAGMA max_page_count = 1000000000")

        on_link = {"target": "new", "link": LINK}
        plans = [served.ask("POST", "/api/v1/links/pause/plan", on_link, role="operator").json for _ in range(PLANS)]
        event.listen(engine, "begin", no_room)
        for _ in range(MOST):
            asked = served.ask("POST", "/api/v1/links/pause/plan", on_link, role="operator")
            if asked.status != 200:
                break
        assert (asked.status, asked.json["title"], asked.json["hint"] != "") == (507, "store full", True)
        assert served.ask("GET", "/healthz").status == 200
        assert served.get("/api/v1/links")["links"][0]["id"] == LINK, "what needs no room is answered"
        begun_before = 0
        for plan in plans:
            where, approval = f"/api/v1/plans/{plan['id']}", {"hash": plan["hash"]}
            begun = served.ask("POST", f"{where}/apply", approval, role="operator")
            if begun.status == 507:
                break
            begun_before += 1
        assert begun.status == 507, begun.body
        assert served.get(where)["operation"] is None
        assert len(served.get("/api/v1/operations")) == begun_before, "one that could not be kept does not run"
        event.remove(engine, "begin", no_room)
        event.listen(engine, "begin", room)
        begun = served.ask("POST", f"{where}/apply", approval, role="operator")
        assert begun.status == 202, begun.body
        until(lambda: all(one["state"] != "running" for one in served.get("/api/v1/operations")))
        assert len(served.get("/api/v1/operations")) == begun_before + 1
        until(lambda: served.get(f"/api/v1/clusters/new/links/{LINK}")["summary"]["paused"])
