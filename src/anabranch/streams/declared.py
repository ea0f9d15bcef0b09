"""What a table that is declared reaches beside its rows: files, secrets, and code that its options name.

Invariant
    L3  an option of Kafka's client that is not known to be harmless is not: most that are not name files or classes.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

from anabranch.streams.tables import TableDeclaration

_FILES = ("avro.schema.file", "protobuf.descriptor", "tls_ca")
_REFERENCE = re.compile(r"(env|file):.")
_KAFKA = re.compile(
    r"kafka\.(acks|batch\.size|buffer\.memory|compression\.type|linger\.ms|retries|delivery\.timeout\.ms|client\.rack"
    r"|fetch\.(min|max)\.(bytes|wait\.ms)|max\.(partition\.fetch\.bytes|poll\.(records|interval\.ms)|request\.size)"
    r"|(request|default\.api)\.timeout\.ms|(reconnect|retry)\.backoff(\.max)?\.ms|connections\.max\.idle\.ms"
    r"|(send|receive)\.buffer\.bytes|metadata\.max\.age\.ms|transaction\.timeout\.ms)"
)
_JDBC = ("jdbc:postgresql://", "jdbc:mysql://", "jdbc:mariadb://")
_JDBC_PARAMETERS = frozenset({"ssl", "sslmode", "connecttimeout", "sockettimeout", "currentschema", "applicationname"})
_JDBC_CODE = ("driver", "sessioninitstatement", "connectionprovider", "keytab", "principal", "preparequery")


def reaches(table: TableDeclaration) -> str:
    """What it reaches that is not its rows; empty where it reaches nothing else (L3)."""
    is_kafka = table.provider.lower() == "kafka"
    for name, value in table.options.items():
        lower = name.lower()
        if lower in _FILES:
            return f"option {name} names a file of the driver's machine"
        if _REFERENCE.match(value):
            return f"option {name} names a secret of the job's machine"
        if is_kafka and lower.startswith("kafka.") and not _KAFKA.fullmatch(lower):
            return f"option {name} is none of those that a script may hand on to Kafka's client"
    return _jdbc(table) if table.provider.lower() == "jdbc" else ""


def _jdbc(table: TableDeclaration) -> str:
    """Drivers run statements and load classes that a URL names."""
    options = {name.lower(): (name, value) for name, value in table.options.items()}
    for lower in _JDBC_CODE:
        if lower in options:
            return f"option {options[lower][0]} names code, or a file, of the job's machine"
    url = options.get("url", ("url", ""))[1]
    if not url.lower().startswith(_JDBC):
        return f"its url is none of {', '.join(_JDBC)}"
    try:
        found = urlsplit(url.removeprefix("jdbc:"))
    except ValueError:
        return "its url cannot be read"
    if ";" in url or "(" in found.netloc or "&" in found.path:
        return "its url is written in another way than scheme://HOST:PORT/DATABASE"
    unknown = [name for name, _ in parse_qsl(found.query, True) if name.lower() not in _JDBC_PARAMETERS]
    return f"its url has the parameter {unknown[0]}" if unknown else ""
