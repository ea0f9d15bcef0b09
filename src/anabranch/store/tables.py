"""The store's tables.  Times are milliseconds since 1970, UTC; documents are JSON texts.

What is here is what the newest migration makes: a test compares them.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    false,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

ACCOUNTS = Table(
    "accounts",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("issuer", String(300), nullable=False, default=""),
    Column("created_at", BigInteger, nullable=False),
    Column("disabled_at", BigInteger),
)
"""People and programs; ``issuer`` is who vouches for them, empty where only a token does."""

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account", ForeignKey("accounts.id"), nullable=False),
    Column("name", String(200), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("used_at", BigInteger),
    Column("revoked_at", BigInteger),
    Index(None, "account"),
)
"""``digest`` is the SHA-256 of a token, which itself is kept nowhere."""

PLANS = Table(
    "plans",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("verb", String(60), nullable=False),
    Column("request", JSON, nullable=False),
    Column("hash", String(16), nullable=False),
    Column("document", JSON, nullable=False),
    Column("account", String(200), nullable=False),
    Column("planned_at", BigInteger, nullable=False),
    Column("applied_at", BigInteger),
    Column("operation", String(32)),
    Index(None, "planned_at"),
)
"""Plans as they were shown.  ``operation`` is set once, by whoever applies it first."""

OPERATIONS = Table(
    "operations",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("verb", String(60), nullable=False),
    Column("request", JSON, nullable=False),
    Column("plan", String(32)),
    Column("hash", String(16)),
    Column("account", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("progress", JSON),
    Column("report", JSON),
    Column("problem", JSON),
    Column("instance", String(200), nullable=False),
    Column("began_at", BigInteger, nullable=False),
    Column("told_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Index(None, "began_at"),
    Index(None, "state"),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("account", String(200), nullable=False),
    Column("role", String(20), nullable=False),
    Column("address", String(100), nullable=False),
    Column("verb", String(60), nullable=False),
    Column("subject", String(300), nullable=False),
    Column("plan", String(32)),
    Column("hash", String(16)),
    Column("operation", String(32)),
    Column("outcome", String(20), nullable=False),
    Column("detail", String(2000), nullable=False, default=""),
    Index(None, "at"),
    Index(None, "account", "at"),
)
"""Who asked for what and how it went.  Rows are added and never changed."""

LEASES = Table(
    "leases",
    METADATA,
    Column("name", String(200), primary_key=True),
    Column("holder", String(200), nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
)
"""Which instance acts.  ``fence`` rises with each new holder."""

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("target", String(200), nullable=False),
    Column("link", String(200), nullable=False),
    Column("host", String(200), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("log", String(1000), nullable=False),
    Column("account", String(200), nullable=False),
    Column("began_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("exit_code", Integer),
    Index(None, "link", "began_at"),
)
"""Processes that the service started.  ``created`` is when the system says that the process began, in milliseconds:
a process id alone may be another's by now."""

ROUTE_VERSIONS = Table(
    "route_versions",
    METADATA,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
    Column("reason", String(1000), nullable=False),
    Column("table", JSON, nullable=False),
)
"""Route tables as they were published; rows are added and never changed."""

ROUTE_CLIENTS = Table(
    "route_clients",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("account", String(200), nullable=False),
    Column("instance", String(200), nullable=False),
    Column("group", String(300), nullable=False),
    Column("cluster", String(300), nullable=False),
    Column("seen", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("document", JSON, nullable=False),
    Index(None, "group"),
    Index(None, "until"),
)
"""Registered clients, written behind by the instance that they last registered with."""

ROUTE_SWITCHES = Table(
    "route_switches",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("open", Integer, unique=True),
    Column("state", String(20), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("began", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
    Column("reason", String(1000), nullable=False),
    Column("table", JSON, nullable=False),
    Column("journal", JSON, nullable=False),
    Index(None, "began"),
)
"""Switches; ``open`` is 1 for the one that has still to end, and nothing for all others."""

ROUTE_HANDOVERS = Table(
    "route_handovers",
    METADATA,
    Column("switch", String(32), primary_key=True),
    Column("client", String(32), primary_key=True),
    Column("document", JSON, nullable=False),
)
"""What clients handed over as they paused for a switch; rows are added and never changed."""

MIGRATIONS = Table(
    "migrations",
    METADATA,
    Column("name", String(60), primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
    Column("holds", JSON, nullable=False),
    Column("throttle", JSON, nullable=False),
    Column("document", JSON, nullable=False),
    Column("access", JSON, nullable=False, server_default="{}"),
)
"""Migrations; ``document`` is the mapping of the file, ``holds`` and ``access`` are by wave."""

MIGRATION_RUNS = Table(
    "migration_runs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("migration", String(60), nullable=False),
    Column("wave", String(60), nullable=False),
    Column("open", String(121), unique=True),
    Column("state", String(20), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("began", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
    Column("cancelled", String(1000), nullable=False),
    Column("journal", JSON, nullable=False),
    Column("waits", String(1000), nullable=False, server_default=""),
    Index(None, "migration"),
)
"""What is done for waves; ``open`` names the wave while it has still to end, and is nothing for all others."""

STREAMS = Table(
    "streams",
    METADATA,
    Column("name", String(60), primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("owner", String(200), nullable=False),
    Column("description", String(1000), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("published", Integer, nullable=False),
    Column("former", Integer, nullable=False),
    Column("wanted", String(20), nullable=False),
    Column("state", String(20), nullable=False),
    Column("why", String(2000), nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("asked_at", BigInteger, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("begin", JSON, nullable=False),
)
"""SQL jobs; ``published`` is the version that the next start runs, ``former`` the one that did before, 0 for none."""

STREAM_ALERT_RULES = Table(
    "stream_alert_rules",
    METADATA,
    Column("stream", String(63), primary_key=True),
    Column("target", String(249), primary_key=True, server_default=""),
    Column("revision", Integer, nullable=False),
    Column("author", String(200), nullable=False),
    Column("rules", JSON, nullable=False),
)
"""What the owner of a stream has changed of its alerts; with a target it is the link of that name to it."""

STREAM_ALERTS = Table(
    "stream_alerts",
    METADATA,
    Column("stream", String(63), primary_key=True),
    Column("target", String(249), primary_key=True, server_default=""),
    Column("kind", String(20), primary_key=True),
    Column("query", String(300), primary_key=True),
    Column("state", String(20), nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("words", String(2000), nullable=False),
    Column("told", JSON, nullable=False),
)
"""How the alerts of streams stand, and who was told of what; ``query`` is empty where it is of the stream."""

STREAM_VERSIONS = Table(
    "stream_versions",
    METADATA,
    Column("stream", ForeignKey("streams.name"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
    Column("note", String(1000), nullable=False),
    Column("script", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("kind", String(20), nullable=False, server_default="sql"),
)
"""What was saved of streams; rows are added and never changed."""

STREAM_RUNS = Table(
    "stream_runs",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("stream", ForeignKey("streams.name"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("open", String(60), unique=True),
    Column("host", String(200), nullable=False),
    Column("pid", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("account", String(200), nullable=False),
    Column("directory", String(1000), nullable=False),
    Column("began_at", BigInteger, nullable=False),
    Column("stopping_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("exit_code", Integer),
    Column("failed", Integer, nullable=False),
    Column("why", String(2000), nullable=False),
    Column("launcher", String(60), nullable=False, server_default=""),
    Column("checkpoints", String(2000), nullable=False, server_default=""),
    Column("ran", Integer, nullable=False, server_default="0"),
    Index(None, "stream", "began_at"),
)
"""Starts of streams; ``open`` is the stream's name while one has not ended; ``pid`` is 0 until its process is known.

``launcher`` and ``checkpoints``, where it ran and where its checkpoints are, are empty for what began before they were
kept.  ``ran`` is 1 once its queries have run: it has left checkpoints."""

STREAM_LINEAGES = Table(
    "stream_lineages",
    METADATA,
    Column("stream", ForeignKey("streams.name"), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("document", JSON, nullable=False),
)
"""What makes what, as the job of a version told it last; ``document`` has the edges."""

CATALOG_ENTRIES = Table(
    "catalog_entries",
    METADATA,
    Column("name", String(310), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("owner", String(200), nullable=False),
    Column("description", String(2000), nullable=False),
    Column("document", JSON, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("changed", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
)
"""Databases, tables, views and functions by their full names; ``document`` is what each says."""

CATALOG_VERSIONS = Table(
    "catalog_versions",
    METADATA,
    Column("name", String(310), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
    Column("columns", JSON, nullable=False),
)
"""The columns that a table had from then on; rows are added, and go with their table."""

CATALOG_GRANTS = Table(
    "catalog_grants",
    METADATA,
    Column("securable", String(310), primary_key=True),
    Column("principal", String(210), primary_key=True),
    Column("privilege", String(20), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
)
"""``securable`` is a catalog, a database or an entry by its full name."""

ACCOUNT_GROUPS = Table(
    "account_groups",
    METADATA,
    Column("group", String(200), primary_key=True),
    Column("account", String(200), primary_key=True),
    Column("is_claimed", Boolean, primary_key=True, server_default=false()),
    Index(None, "account"),
)
"""Which accounts are in which groups: by an admin's word, or as claimed by the account's provider at its last login."""

ARTIFACTS = Table(
    "artifacts",
    METADATA,
    Column("name", String(60), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("owner", String(200), nullable=False),
    Column("description", String(1000), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("newest", Integer, nullable=False),
)
"""Jars, wheels and files of Python; ``newest`` is the number of the last upload, also where that was deleted."""

ARTIFACT_VERSIONS = Table(
    "artifact_versions",
    METADATA,
    Column("artifact", ForeignKey("artifacts.name"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("author", String(200), nullable=False),
    Column("note", String(1000), nullable=False),
    Column("file", String(200), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("functions", JSON, nullable=False),
    Column("dependencies", JSON, nullable=False),
)
"""What was uploaded, whose bytes lie elsewhere by their hash; rows are added, deleted, and never changed."""

STREAM_ARTIFACTS = Table(
    "stream_artifacts",
    METADATA,
    Column("stream", String(60), primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("artifact", String(60), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("functions", JSON, nullable=False, server_default="[]"),
    ForeignKeyConstraint(["stream", "version"], ["stream_versions.stream", "stream_versions.number"]),
    ForeignKeyConstraint(["artifact", "number"], ["artifact_versions.artifact", "artifact_versions.number"]),
    Index(None, "artifact", "number"),
)
"""What each version of a stream runs with; the database keeps what is in it from being deleted.  ``functions`` are
those of the catalog that come from it, as they were when the version was saved."""
