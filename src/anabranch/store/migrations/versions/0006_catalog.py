"""the catalog: entries, schema versions, grants, groups of accounts"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make it so."""
    op.create_table(
        "catalog_entries",
        sa.Column("name", sa.String(length=310), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=2000), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_catalog_entries")),
    )
    op.create_table(
        "catalog_versions",
        sa.Column("name", sa.String(length=310), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", "number", name=op.f("pk_catalog_versions")),
    )
    op.create_table(
        "catalog_grants",
        sa.Column("securable", sa.String(length=310), nullable=False),
        sa.Column("principal", sa.String(length=210), nullable=False),
        sa.Column("privilege", sa.String(length=20), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("securable", "principal", "privilege", name=op.f("pk_catalog_grants")),
    )
    op.create_table(
        "account_groups",
        sa.Column("group", sa.String(length=200), nullable=False),
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("group", "account", name=op.f("pk_account_groups")),
    )
    op.create_index(op.f("ix_account_groups_account"), "account_groups", ["account"], unique=False)
