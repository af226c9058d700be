"""How a store of one tcprof becomes one of the next, by alembic."""
