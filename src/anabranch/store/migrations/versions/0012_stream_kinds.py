"""streams: what a version is made of, SQL or a file of PySpark"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make it so."""
    with op.batch_alter_table("stream_versions") as batch:
        batch.add_column(sa.Column("kind", sa.String(length=20), nullable=False, server_default="sql"))
