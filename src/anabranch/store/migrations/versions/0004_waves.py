"""what each wave of a migration is held for, how copying is slowed down, and what a run waits for"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make it so; no migration was kept before this revision, since no verb made one."""
    op.drop_table("migrations")
    op.create_table(
        "migrations",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("holds", sa.JSON(), nullable=False),
        sa.Column("throttle", sa.JSON(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_migrations")),
    )
    op.add_column("migration_runs", sa.Column("waits", sa.String(length=1000), nullable=False, server_default=""))
