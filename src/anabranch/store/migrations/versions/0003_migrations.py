"""migrations, and the journals of their runs"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make it so."""
    op.create_table(
        "migrations",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("held", sa.String(length=1000), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_migrations")),
    )
    op.create_table(
        "migration_runs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("migration", sa.String(length=60), nullable=False),
        sa.Column("wave", sa.String(length=60), nullable=False),
        sa.Column("open", sa.String(length=121), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("began", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("cancelled", sa.String(length=1000), nullable=False),
        sa.Column("journal", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_migration_runs")),
        sa.UniqueConstraint("open", name=op.f("uq_migration_runs_open")),
    )
    op.create_index(op.f("ix_migration_runs_migration"), "migration_runs", ["migration"], unique=False)
