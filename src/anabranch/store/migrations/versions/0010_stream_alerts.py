"""alerts of streams: what was changed of their rules, how they stand, who was told"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make it so."""
    op.create_table(
        "stream_alert_rules",
        sa.Column("stream", sa.String(length=60), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("stream", name=op.f("pk_stream_alert_rules")),
    )
    op.create_table(
        "stream_alerts",
        sa.Column("stream", sa.String(length=60), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("query", sa.String(length=300), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("words", sa.String(length=2000), nullable=False),
        sa.Column("told", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("stream", "kind", "query", name=op.f("pk_stream_alerts")),
    )
