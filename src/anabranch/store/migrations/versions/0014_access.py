"""what became of the access rules of a migration's waves as they were carried over last"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Make it so."""
    with op.batch_alter_table("migrations") as batch:
        batch.add_column(sa.Column("access", sa.JSON(), nullable=False, server_default="{}"))
