"""What alembic runs: the revisions, on the connection and in the transaction of ``tcprof.history.database``."""

from alembic import context

from tcprof.history.tables import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
