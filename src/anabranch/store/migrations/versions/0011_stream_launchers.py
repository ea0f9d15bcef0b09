"""streams: which launcher a run was started by, and where its checkpoints are"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Make it so."""
    with op.batch_alter_table("stream_runs") as batch:
        batch.add_column(sa.Column("launcher", sa.String(60), nullable=False, server_default=""))
        batch.add_column(sa.Column("checkpoints", sa.String(2000), nullable=False, server_default=""))
