"""What Alembic runs: over the connection that it is given, inside that one's transaction."""

from alembic import context

from anabranch.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
