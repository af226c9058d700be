"""The first tables. Whoever changes one in a further revision writes out here what it was."""

from alembic import op

from tcprof.history.tables import METADATA

revision = "1"
down_revision = None


def upgrade() -> None:
    """Make them."""
    METADATA.create_all(op.get_bind(), checkfirst=False)
