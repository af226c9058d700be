"""A PostgreSQL that tests start themselves: in a temporary folder, without a network, as a user who is not root."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEBIANS = Path("/usr/lib/postgresql")  # where it has the programs of each version in a folder of their own


def find_programs() -> Path | None:
    """The folder with ``initdb`` and ``postgres`` of the newest version; None where there is none."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(DEBIANS.glob("*/bin"), key=lambda folder: int(folder.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists() and (folder / "initdb").exists()), None)


class Server:
    def __init__(self, programs: Path, folder: Path, user: dict[str, Any]) -> None:
        self.programs, self.folder, self._user = programs, folder, user
        self._count = 0

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self._control("start", "-w", "-o", options, "-l", str(self.folder / "log"))

    def stop(self) -> None:
        """End it at once, with whatever it is doing."""
        self._control("stop", "-m", "immediate")

    def new_database(self) -> str:
        import psycopg

        self._count += 1
        name = f"test_{self._count}"
        with psycopg.connect(f"host={self.folder} user=tester dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://tester@/{name}?host={self.folder}"

    def _control(self, *words: str) -> None:
        self._run(self.programs / "pg_ctl", "-D", str(self.folder / "data"), *words)

    def _run(self, *words: object) -> None:
        subprocess.run([*map(str, words)], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, **self._user)


@contextmanager
def serve() -> Iterator[Server]:
    """A new server, which ends with the block; there must be ``find_programs``."""
    programs = find_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="tcprof-pg-", dir="/tmp"))  # a socket's path must be short
    user: dict[str, Any] = {}
    if os.getuid() == 0:  # which PostgreSQL refuses
        account = pwd.getpwnam("nobody")
        os.chown(folder, account.pw_uid, account.pw_gid)
        user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    server = Server(programs, folder, user)
    server._run(programs / "initdb", "-D", str(folder / "data"), "-U", "tester", "-A", "trust", "-N", "-E", "UTF8")
    server.start()
    try:
        yield server
    finally:
        subprocess.run(
            [programs / "pg_ctl", "-D", folder / "data", "stop", "-m", "immediate"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user,
        )  # fmt: skip
        shutil.rmtree(folder)
