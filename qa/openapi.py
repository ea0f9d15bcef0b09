"""``python -m qa.openapi`` prints the OpenAPI of the service, from which the types of ``web/src/api`` are made."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from anabranch.service.app import make_app
from anabranch.service.instance import Instance
from anabranch.service.job_settings import JobSettings
from anabranch.service.serving import addresses_of
from anabranch.service.settings import ServeSettings
from anabranch.service.stored import Stored
from anabranch.store.database import open_database


def openapi() -> dict[str, Any]:
    """What ``/api/v1/openapi.json`` answers, without a server; the version is left out, which changes no type."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        store = str(directory / "store.db")
        jobs = JobSettings("local[2]", "local[2]", directory)
        settings = ServeSettings("127.0.0.1", 0, store, directory / "contexts.yaml", jobs)
        database = open_database(store)
        try:
            instance = Instance(settings, Stored(database), "here", addresses_of(settings, "http", 0))
            found = dict(make_app(instance).openapi())
        finally:
            database.close()
    return {**found, "info": {**found["info"], "version": "1"}}


if __name__ == "__main__":
    print(json.dumps(openapi(), indent=1, sort_keys=True))
