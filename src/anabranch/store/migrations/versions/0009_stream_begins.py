"""streams: how the last start that a person asked for goes on from its checkpoints"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make it so."""
    with op.batch_alter_table("streams") as batch:
        batch.add_column(sa.Column("begin", sa.JSON(), nullable=False, server_default="{}"))
