"""alerts of links, by their target; functions that a version of a stream keeps; groups that a provider claims"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

KEYS = {"stream_alert_rules": ("stream", "target"), "stream_alerts": ("stream", "target", "kind", "query")}


def upgrade() -> None:
    """Make it so."""
    for table, key in KEYS.items():
        with op.batch_alter_table(table) as batch:
            batch.alter_column("stream", type_=sa.String(length=63), existing_type=sa.String(length=60))
            batch.add_column(sa.Column("target", sa.String(length=249), nullable=False, server_default=""))
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(f"pk_{table}", type_="primary")
            batch.create_primary_key(f"pk_{table}", list(key))
    with op.batch_alter_table("account_groups") as batch:
        batch.add_column(sa.Column("is_claimed", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("account_groups") as batch:
        batch.drop_constraint("pk_account_groups", type_="primary")
        batch.create_primary_key("pk_account_groups", ["group", "account", "is_claimed"])
    with op.batch_alter_table("stream_artifacts") as batch:
        batch.add_column(sa.Column("functions", sa.JSON(), nullable=False, server_default="[]"))
