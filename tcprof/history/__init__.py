"""Runs in a database, by SQLAlchemy URL: what was measured at which commit, as series with intervals."""
