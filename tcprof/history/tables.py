"""The tables of a store. Their names begin with tcprof, so that a team's database may hold other tables."""

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()
_TEXTS = ("added_utc", "recorded_utc", "commit", "commit_utc", "branch", "label", "program", "gpu_name", "config",
          "rank", "driver_version", "cuda_version", "torch_version", "tcprof_version", "file")  # fmt: skip

VERSION = Table("tcprof_version", METADATA, Column("version_num", String(32), primary_key=True))  # its one row
RUN = Table(
    "tcprof_run",
    METADATA,
    Column("run_id", Integer, primary_key=True),
    Column("content", String(64), nullable=False, unique=True),
    Column("marks", LargeBinary, nullable=False),  # see ``tcprof.analysis.observed.take_fingerprint``
    *(Column(name, Text, nullable=False) for name in _TEXTS),
    Column("gpu_count", Integer, nullable=False),
    Column("power_limit_w", Float(53)),
    Column("clock_hz", Float(53)),
    sqlite_autoincrement=True,  # no number is given twice, even after its run was removed
)
MARK = Table(  # the first marks of each run, by which copies of it are found
    "tcprof_mark",
    METADATA,
    Column("mark", BigInteger, primary_key=True, autoincrement=False),
    Column("run_id", ForeignKey(RUN.c.run_id), primary_key=True),
    sqlite_with_rowid=False,
)
SERIES = Table(
    "tcprof_series",
    METADATA,
    Column("series_id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),  # hash of all that follows
    *(Column(name, Text, nullable=False) for name in ("metric", "scope", "subject", "unit", "fingerprint")),
    Column("gpu", Integer, nullable=False),
)
POINT = Table(
    "tcprof_point",
    METADATA,
    Column("series_id", ForeignKey(SERIES.c.series_id), primary_key=True),
    Column("run_id", ForeignKey(RUN.c.run_id), primary_key=True, index=True),
    Column("value", Float(53), nullable=False),
    Column("low", Float(53)),
    Column("high", Float(53)),
    Column("n", Integer, nullable=False),
    sqlite_with_rowid=False,  # what lies together on the disk are the points of a series
)
BLOB = Table(
    "tcprof_blob",
    METADATA,
    Column("run_id", ForeignKey(RUN.c.run_id), primary_key=True),
    Column("saved", LargeBinary, nullable=False),
)
ACCEPTED = Table(
    "tcprof_accepted",
    METADATA,
    Column("accepted_id", Integer, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("commit", "why", "added_utc")),
)
