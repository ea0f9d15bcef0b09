"""artifacts with their versions, and which of them versions of streams run with"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "artifacts",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=1000), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("newest", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_artifacts")),
    )
    op.create_table(
        "artifact_versions",
        sa.Column("artifact", sa.String(length=60), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=False),
        sa.Column("note", sa.String(length=1000), nullable=False),
        sa.Column("file", sa.String(length=200), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("functions", sa.JSON(), nullable=False),
        sa.Column("dependencies", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["artifact"], ["artifacts.name"], name=op.f("fk_artifact_versions_artifact_artifacts")),
        sa.PrimaryKeyConstraint("artifact", "number", name=op.f("pk_artifact_versions")),
    )
    op.create_table(
        "stream_artifacts",
        sa.Column("stream", sa.String(length=60), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("artifact", sa.String(length=60), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["artifact", "number"],
            ["artifact_versions.artifact", "artifact_versions.number"],
            name=op.f("fk_stream_artifacts_artifact_artifact_versions"),
        ),
        sa.ForeignKeyConstraint(
            ["stream", "version"],
            ["stream_versions.stream", "stream_versions.number"],
            name=op.f("fk_stream_artifacts_stream_stream_versions"),
        ),
        sa.PrimaryKeyConstraint("stream", "version", "artifact", name=op.f("pk_stream_artifacts")),
    )
    op.create_index(
        op.f("ix_stream_artifacts_artifact_number"), "stream_artifacts", ["artifact", "number"], unique=False
    )
