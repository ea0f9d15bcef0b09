"""streams: which launcher a run was started by, where its checkpoints are, and whether its queries ran"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make it so."""
    with op.batch_alter_table("stream_runs") as batch:
        batch.add_column(sa.Column("launcher", sa.String(60), nullable=False, server_default=""))
        batch.add_column(sa.Column("checkpoints", sa.String(2000), nullable=False, server_default=""))
        batch.add_column(sa.Column("ran", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE stream_runs SET ran = 1 WHERE failed = 0")
