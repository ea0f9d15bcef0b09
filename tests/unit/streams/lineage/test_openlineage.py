"""Run events as OpenLineage 2-0-2 has them: each edge in the facet, each field as the specification says."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from anabranch.streams.lineage.edges import lineage_of_insert
from anabranch.streams.lineage.openlineage import LineageDataset, LineageRun, RunEventType, run_event
from tests.unit.streams.lineage.cases import DECLARED, cases, lineages, recorded

pytestmark = pytest.mark.unit

RUN = LineageRun(
    RunEventType.START, "2026-11-26T10:00:00Z", "6f1b2f6e-52f8-4d2c-9a55-0b9f0c3f3a11", "anabranch", "pv.out"
)
TEXT: dict[str, Any] = {"type": "string", "minLength": 1}


def thing(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """The schema of an object with these fields and no other."""
    found = {**required, **optional}
    return {"type": "object", "required": list(required), "properties": found, "additionalProperties": False}


def listed(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items, "minItems": least}


def facet(name: str, required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """The schema of a facet, which says who wrote it and by which definition."""
    url = f"https://openlineage.io/spec/facets/1-2-0/{name}.json#/$defs/{name}"
    return thing(
        {"_producer": {"type": "string", "format": "uri"}, "_schemaURL": {"const": url}, **required}, **optional
    )


KINDS = {
    "DIRECT": {"enum": ["IDENTITY", "TRANSFORMATION", "AGGREGATION"]},
    "INDIRECT": {"enum": ["JOIN", "GROUP_BY", "FILTER", "SORT", "WINDOW", "CONDITIONAL"]},
}
TRANSFORMATION = {
    "oneOf": [thing({"type": {"const": kind}, "subtype": names}, description=TEXT) for kind, names in KINDS.items()]
}
INPUT_FIELD = thing({"namespace": TEXT, "name": TEXT, "field": TEXT, "transformations": listed(TRANSFORMATION, 1)})
SCHEMA = facet(
    "SchemaDatasetFacet", {"fields": listed(thing({"name": TEXT}, type=TEXT, ordinal_position={"type": "integer"}))}
)
LINEAGE = facet(
    "ColumnLineageDatasetFacet",
    {"fields": {"type": "object", "additionalProperties": thing({"inputFields": listed(INPUT_FIELD, 1)})}},
    dataset=listed(INPUT_FIELD, 1),
)
EVENT = thing(
    {
        "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        "eventTime": {"type": "string", "format": "date-time"},
        "producer": {"type": "string", "format": "uri"},
        "schemaURL": {"const": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"},
        "run": thing({"runId": {"type": "string", "format": "uuid"}, "facets": thing({})}),
        "job": thing({"namespace": TEXT, "name": TEXT, "facets": thing({})}),
        "inputs": listed(thing({"namespace": TEXT, "name": TEXT, "facets": thing({"schema": SCHEMA})})),
        "outputs": listed(
            thing({"namespace": TEXT, "name": TEXT, "facets": thing({"schema": SCHEMA, "columnLineage": LINEAGE})}), 1
        ),
    }
)
VALIDATOR = jsonschema.Draft202012Validator(EVENT, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)


def test_the_event_of_every_script_has_the_fields_of_the_specification() -> None:
    """No field that is missing, none that is unknown."""
    for found in (one for case in cases() for one in lineages(case)):
        VALIDATOR.validate(run_event(RUN, found, {}))


def test_each_edge_is_one_transformation_of_the_event() -> None:
    """L12."""
    for found in (one for case in cases() for one in lineages(case)):
        facet = run_event(RUN, found, {})["outputs"][0]["facets"]["columnLineage"]
        inputs = [(name, one) for name, column in facet["fields"].items() for one in column["inputFields"]]
        inputs += [("*", one) for one in facet.get("dataset", [])]
        told = [
            f"{one['name']}.{one['field']} -> {found.target}.{name} {each.get('description', each['subtype'].lower())}"
            for name, one in inputs
            for each in one["transformations"]
        ]
        assert sorted(told) == sorted(str(edge) for edge in found.edges)


def test_a_table_has_the_name_that_the_world_knows_it_by() -> None:
    """A Kafka table is its cluster and topic; the types of its columns are in its schema."""
    one = recorded()["a column under another name"][0]
    found = lineage_of_insert(one.text, one.target, one.columns, DECLARED)
    known = {
        "visits": LineageDataset("kafka://prod", "web.visits", {"user": "STRING"}),
        "out": LineageDataset("file", "/out"),
    }
    event = run_event(RUN, found, known)
    VALIDATOR.validate(event)
    assert event["inputs"][0]["namespace"] == "kafka://prod"
    assert event["inputs"][0]["facets"]["schema"]["fields"][0] == {
        "name": "user",
        "ordinal_position": 1,
        "type": "STRING",
    }
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert fields["visitor"]["inputFields"][0] == {
        "namespace": "kafka://prod",
        "name": "web.visits",
        "field": "user",
        "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
    }
