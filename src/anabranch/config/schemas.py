"""The published JSON Schemas, generated from the models that read the files.

``python -m anabranch.config.schemas DIRECTORY`` writes them; a test holds that the stored ones are fresh.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from anabranch.config.context_file import ContextsShape
from anabranch.config.link_file import LinkShape
from anabranch.config.maps_file import MapsShape
from anabranch.config.migration_file import MigrationShape
from anabranch.config.offsets_file import OffsetsShape
from anabranch.config.routes_file import RoutesShape
from anabranch.config.serve_file import ServeShape
from anabranch.config.verify_report import ReportShape
from anabranch.config.yaml_file import FileShape

SCHEMAS: dict[str, tuple[str, type[FileShape]]] = {
    "contexts.schema.json": ("Anabranch contexts file", ContextsShape),
    "link.schema.json": ("Anabranch link file", LinkShape),
    "maps.schema.json": ("Anabranch maps file", MapsShape),
    "migration.schema.json": ("Anabranch migration file", MigrationShape),
    "offsets.schema.json": ("Anabranch offsets file", OffsetsShape),
    "routes.schema.json": ("Anabranch routes file", RoutesShape),
    "serve.schema.json": ("Anabranch service file", ServeShape),
    "verify-report.schema.json": ("Anabranch verify report", ReportShape),
}


def render(name: str) -> str:
    """The text of a published schema (JSON Schema draft 2020-12)."""
    title, shape = SCHEMAS[name]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **shape.model_json_schema(), "title": title}
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main(directory: Path) -> None:
    """Write all schemas into a directory."""
    for name in SCHEMAS:
        (directory / name).write_text(render(name), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
