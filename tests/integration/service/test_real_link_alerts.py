"""A link on real clusters whose job is killed: who is told, and that it is over once the link goes on."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

import pytest

from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.sandbox import SandboxCluster
from anabranch.service.alert_sending import Webhook
from qa.service import serving, until
from tests.integration.links.topics import create, numbered, produce
from tests.integration.service.test_alerts import KEY, Hook, hook
from tests.integration.service.test_links import did, pair

__all__ = ["hook", "pair"]

pytestmark = [pytest.mark.full, pytest.mark.real]


def test_a_link_that_is_killed_is_told_and_over_once_it_goes_on(
    pair: tuple[SandboxCluster, SandboxCluster], hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its target, with why; a link that a person stops is no alert."""
    monkeypatch.setenv("ALERT_KEY", KEY)
    old, new = pair
    link = f"alerted-{uuid.uuid4().hex[:6]}"
    produce(old, create(old, f"{link}-a", 1), numbered(20), batch=9)
    contexts = {"old": old.context(), "new": new.context()}
    told = {"ops": Webhook(f"http://127.0.0.1:{hook.server_address[1]}/", SecretRef(SecretKind.ENV, "ALERT_KEY"))}
    with serving(str(tmp_path / "store.db"), contexts, tmp_path, receivers=told) as served:
        until(lambda: served.instance.acting.acts)
        asked = {"id": link, "source": "old", "target": "new", "filter": {"include": [f"{link}-.*"]}}
        did(served, "links/create", {"link": asked})
        until(lambda: served.ask("GET", f"/api/v1/streams/{link}").status == 200)
        did(served, "streams/alerts", {"stream": link, "settings": ["alive.for=0s", "restarts=0"]})
        did(served, "streams/start", {"stream": link})
        until(lambda: served.get(f"/api/v1/streams/{link}")["stream"]["state"] == "running")
        pid = int(served.get(f"/api/v1/streams/{link}")["runs"][0]["pid"])
        os.killpg(pid, signal.SIGKILL)

        def seen() -> set[tuple[str, str]]:
            return {(one["alert"], one["state"]) for one in hook.taken if one["stream"] == link}

        until(lambda: ("restarts", "firing") in seen() and any("is failed" in one["words"] for one in hook.taken))
        alive = next(one for one in hook.taken if "is failed" in one["words"])
        assert (alive["alert"], alive["target"], alive["owner"]) == ("alive", "new", "")
        assert "its run has ended without being asked" in alive["words"]
        fires = f'anabranch_stream_alert{{alert="alive",query="",stream="{link}",target="new"}} 1.0'
        assert fires in served.ask("GET", "/metrics").body.decode()
        did(served, "streams/start", {"stream": link})
        until(lambda: hook.taken[-1]["alert"] == "alive" and hook.taken[-1]["state"] == "over")
        did(served, "streams/stop", {"stream": link})
        until(lambda: served.get(f"/api/v1/streams/{link}")["stream"]["state"] == "stopped")
        standing = {one["kind"]: one["state"] for one in served.get(f"/api/v1/streams/{link}/alerts")["alerts"]}
        assert standing["alive"] == "over" and standing["restarts"] == "firing"
