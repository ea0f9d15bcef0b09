"""streams, with their versions and their runs"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "streams",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=1000), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("published", sa.Integer(), nullable=False),
        sa.Column("former", sa.Integer(), nullable=False),
        sa.Column("wanted", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("why", sa.String(length=2000), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_streams")),
    )
    op.create_table(
        "stream_versions",
        sa.Column("stream", sa.String(length=60), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("note", sa.String(length=1000), nullable=False),
        sa.Column("script", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_stream_versions_stream_streams")),
        sa.PrimaryKeyConstraint("stream", "number", name=op.f("pk_stream_versions")),
    )
    op.create_table(
        "stream_runs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("stream", sa.String(length=60), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("open", sa.String(length=60), nullable=True),
        sa.Column("host", sa.String(length=200), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("account", sa.String(length=200), nullable=False),
        sa.Column("directory", sa.String(length=1000), nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.Column("stopping_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("why", sa.String(length=2000), nullable=False),
        sa.ForeignKeyConstraint(["stream"], ["streams.name"], name=op.f("fk_stream_runs_stream_streams")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stream_runs")),
        sa.UniqueConstraint("open", name=op.f("uq_stream_runs_open")),
    )
    op.create_index(op.f("ix_stream_runs_stream_began_at"), "stream_runs", ["stream", "began_at"], unique=False)
