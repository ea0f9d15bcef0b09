"""versions of the route table, registered clients, and switches"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make it so."""
    op.create_table(
        "route_clients",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.Column("instance", sa.String(length=200), nullable=False),
        sa.Column("group", sa.String(length=300), nullable=False),
        sa.Column("cluster", sa.String(length=300), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_route_clients")),
    )
    op.create_index(op.f("ix_route_clients_group"), "route_clients", ["group"], unique=False)
    op.create_index(op.f("ix_route_clients_until"), "route_clients", ["until"], unique=False)
    op.create_table(
        "route_versions",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=1000), nullable=False),
        sa.Column("table", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_route_versions")),
    )
    op.create_table(
        "route_switches",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("open", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("began", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.String(length=1000), nullable=False),
        sa.Column("table", sa.JSON(), nullable=False),
        sa.Column("journal", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_route_switches")),
        sa.UniqueConstraint("open", name=op.f("uq_route_switches_open")),
    )
    op.create_index(op.f("ix_route_switches_began"), "route_switches", ["began"], unique=False)
    op.create_table(
        "route_handovers",
        sa.Column("switch", sa.String(length=32), nullable=False),
        sa.Column("client", sa.String(length=32), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("switch", "client", name=op.f("pk_route_handovers")),
    )
