"""Catalogs that are Spark's own, beside the service's: attached by Spark's settings, judged by the same grants.

The service keeps no entry of what is in them: a grant is on the catalog, a database or a table by its name.

Invariants
    X1  a name in an attached catalog is one that a grant can be on: three parts in lower case.  Others, such as a
        path, a table's metadata or another spelling, are none of a script's.
    X2  no catalog is asked for a table before a grant has allowed that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from anabranch.errors import InvalidFieldError
from anabranch.streams.catalog.names import CATALOG, CatalogNameError, ObjectName, name_parts, object_name

_SETTING = re.compile(r"spark\.sql\.catalog\.(?P<name>[A-Za-z0-9_]+)")
WRITERS: Mapping[str, str] = MappingProxyType({"org.apache.iceberg.spark.SparkCatalog": "iceberg"})
"""The connector that writes into tables of a catalog, by its class; tables of other classes are only read."""
_DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
"""Hands what it is asked on to Spark's own catalog, which it has only in that one's place."""


def attached(settings: Mapping[str, str]) -> dict[str, str]:
    """The catalogs that Spark's settings attach: the connector that writes there, or empty, by name.

    ``spark_catalog`` is none: its names are those of the service's catalog.
    """
    found = {match["name"]: value for key, value in settings.items() if (match := _SETTING.fullmatch(key))}
    return {name: WRITERS.get(value.strip(), "") for name, value in sorted(found.items()) if name != CATALOG}


def check_attached(settings: Mapping[str, str], field: str) -> None:
    """Raise InvalidFieldError where some settings, in a field of the service's file, attach what cannot work."""
    for key, value in sorted(settings.items()):
        match = _SETTING.fullmatch(key)
        if match and match["name"] != CATALOG and value.strip() == _DELTA:
            problem = f"Delta's catalog works in the place of {CATALOG} alone, whose names are the service's"
            fix = "leave it out: scripts name tables of Delta by path, USING delta"
            raise InvalidFieldError("serve", f"{field}.{key}", problem, fix)


def attached_otherwise(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The catalogs that some settings attach, and others (``own``) not, or with other settings."""
    return {name: one for name, one in attached(settings).items() if _of(settings, name) != _of(own, name)}


def _of(settings: Mapping[str, str], name: str) -> dict[str, str]:
    key = f"spark.sql.catalog.{name}"
    return {one: value for one, value in settings.items() if one == key or one.startswith(f"{key}.")}


def attached_name(parts: Sequence[str], catalogs: Mapping[str, str]) -> ObjectName | None:
    """The table of a name in a script; None where the name is in no attached catalog.

    Raises CatalogNameError for a name in one that no grant can be on (X1).
    """
    if len(parts) < 2 or parts[0].lower() not in catalogs:
        return None
    text = ".".join(f"`{part}`" for part in parts)
    name = object_name(text)
    if len(parts) != 3 or tuple(parts) != name_parts(text):
        raise CatalogNameError(".".join(parts), f"in catalog {parts[0]} it is CATALOG.DATABASE.TABLE, in lower case")
    return name
