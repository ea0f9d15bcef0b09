"""``make demo UI=1``: the service stays up beside the demo's clusters, with the link running and records arriving."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from anabranch.model.clock import DAY_MS, now_ms
from anabranch.sandbox.process import SupervisedProcess
from anabranch.service.serving import FIRST_ADMIN
from anabranch.store.accounts import Accounts
from anabranch.store.database import open_database

PORT = 8420


def is_wanted() -> bool:
    """Whether the pages are to stay up when the demo is over."""
    return os.environ.get("UI") == "1"


def token(scratch: Path) -> str:
    """The token of an admin, for a day, in a store of the demo's own."""
    database = open_database(str(_store(scratch)))
    try:
        accounts, now = Accounts(database), now_ms()
        accounts.first(FIRST_ADMIN, now)
        return accounts.issue(FIRST_ADMIN, "demo", now, now + DAY_MS)[0]
    finally:
        database.close()


def serve(scratch: Path, contexts: Mapping[str, Any], port: int = PORT) -> SupervisedProcess:
    """Start the service; it ends with the demo."""
    file = scratch / "contexts.yaml"
    file.write_text(yaml.safe_dump({"version": 1, "target": "new", "contexts": dict(contexts)}), encoding="utf-8")
    command = [sys.executable, "-m", "anabranch", "--contexts", str(file), "serve", "--store", str(_store(scratch))]
    command += ["--port", str(port), "--master", "local[2,8]"]
    environment = {**os.environ, "XDG_STATE_HOME": str(scratch / "state")}
    return SupervisedProcess.spawn("the service", command, scratch / "serve.log", environment)


def _store(scratch: Path) -> Path:
    return scratch / "service.db"
