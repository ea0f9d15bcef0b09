"""What a table that is declared reaches beside its rows: files, secrets, and code that its options name.

Invariant
    L3  an option of Kafka's client, and a parameter of an address, that is not known to be harmless is not: most that
        are not name files or classes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from anabranch.streams.connectors import option
from anabranch.streams.tables import TableDeclaration

_FILES = ("avro.schema.file", "protobuf.descriptor", "tls_ca")
_REFERENCE = re.compile(r"(env|file):.")
_HOST = re.compile(r"(\[[^\]/%@]+\]|[^/%:@]+)(:\d*)?")
_KAFKA = re.compile(
    r"kafka\.(acks|batch\.size|buffer\.memory|compression\.type|linger\.ms|retries|delivery\.timeout\.ms|client\.rack"
    r"|fetch\.(min|max)\.(bytes|wait\.ms)|max\.(partition\.fetch\.bytes|poll\.(records|interval\.ms)|request\.size)"
    r"|(request|default\.api)\.timeout\.ms|(reconnect|retry)\.backoff(\.max)?\.ms|connections\.max\.idle\.ms"
    r"|(send|receive)\.buffer\.bytes|metadata\.max\.age\.ms|transaction\.timeout\.ms)"
)
_JDBC = ("jdbc:postgresql://", "jdbc:mysql://", "jdbc:mariadb://")
_JDBC_PARAMETERS = frozenset({"ssl", "sslmode", "connecttimeout", "sockettimeout", "currentschema", "applicationname"})
_LIBPQ_PARAMETERS = frozenset(
    {
        *("sslmode", "sslnegotiation", "channel_binding", "gssencmode", "connect_timeout", "application_name"),
        *("target_session_attrs", "load_balance_hosts", "keepalives", "keepalives_idle", "keepalives_interval"),
        "keepalives_count",
    }
)
_JDBC_CODE = ("driver", "sessioninitstatement", "connectionprovider", "keytab", "principal", "preparequery")


def reaches(table: TableDeclaration) -> str:
    """What it reaches that is not its rows; empty where it reaches nothing else (L3)."""
    is_kafka = table.provider.lower() == "kafka"
    for name, value in table.options.items():
        lower = name.lower()
        if lower in _FILES:
            return f"option {name} names a file of the driver's machine"
        if _REFERENCE.match(value.strip()):  # as a sink reads it
            return f"option {name} names a secret of the job's machine"
        if is_kafka and lower.startswith("kafka.") and not _KAFKA.fullmatch(lower):
            return f"option {name} is none of those that a script may hand on to Kafka's client"
    if table.provider.lower() == "postgresql":
        return _libpq(option(table, "url").strip())
    return _jdbc(table) if table.provider.lower() == "jdbc" else ""


def _jdbc(table: TableDeclaration) -> str:
    """Drivers run statements and load classes that a URL names."""
    options = {name.lower(): (name, value) for name, value in table.options.items()}
    for lower in _JDBC_CODE:
        if lower in options:
            return f"option {options[lower][0]} names code, or a file, of the job's machine"
    url = options.get("url", ("url", ""))[1]
    if not url.startswith(_JDBC):
        return f"its url is none of {', '.join(_JDBC)}"
    return _address(url.removeprefix("jdbc:"), _JDBC_PARAMETERS)


def _libpq(url: str) -> str:
    """Its parameters name files of secrets and keys, and a server that is none is a socket of the job's machine."""
    if why := _address(url, _LIBPQ_PARAMETERS):
        return why
    hosts = urlsplit(url).netloc.split(",")
    return "" if all(_HOST.fullmatch(one) for one in hosts) else "its url names no server"


def _address(url: str, known: Collection[str]) -> str:
    """What an address has beside server and database that is not known to be harmless; a ``#`` is none to a driver."""
    try:
        found = urlsplit(url)
    except ValueError:
        return "its url cannot be read"
    if re.search(r"[;#\s]", url) or "(" in found.netloc or "&" in found.path:
        return "its url is written in another way than scheme://HOST:PORT/DATABASE"
    unknown = [name for name, _ in parse_qsl(found.query, True) if name.lower() not in known]
    return f"its url has the parameter {unknown[0]}" if unknown else ""
