"""The revisions of the store's tables, in order; Alembic applies what is missing."""

from __future__ import annotations

from alembic.migration import MigrationContext
from sqlalchemy import Connection


def revision_of(connection: Connection) -> str | None:
    """The revision that a database is at; None for an empty one."""
    return MigrationContext.configure(connection).get_current_revision()
