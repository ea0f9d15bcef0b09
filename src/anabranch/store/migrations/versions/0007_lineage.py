"""the lineage of streams, by version"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make it."""
    op.create_table(
        "stream_lineages",
        sa.Column("stream", sa.String(length=60), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_stream_lineages_stream_streams")),
        sa.PrimaryKeyConstraint("stream", "version", name=op.f("pk_stream_lineages")),
    )
