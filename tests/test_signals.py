"""Commands that are ended by a signal: nothing stays behind, and the exit status tells which."""

import signal
import subprocess
import sys
from pathlib import Path

FIXTURE = Path(__file__).parent.parent / "fixtures" / "mnist_amp.sqlite"


def start(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_signal_to_a_command_removes_its_folders(tmp_path):
    """A command that waits while it writes, which only a signal ends."""
    script = f"""
import os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from tcprof import cli
from tcprof.cli import app
from tcprof.outputs import replace_file

cli.GROUPS["Record"]["wait"] = "tools"

@app.command()
def wait():
    with replace_file(Path({str(tmp_path / "target")!r})) as path:
        path.write_text("half")
        print("writing", flush=True)
        time.sleep(60)

sys.argv = ["tcprof", "wait"]
cli.main()
"""
    process = start(script)
    assert process.stdout.readline() == "writing\n"
    assert len(list(tmp_path.iterdir())) == 1
    for _ in range(2):  # as timeout(1) does
        process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in said


READS = """
import os, signal, sys, threading
from pathlib import Path
from tcprof.sources.nsys_sqlite import database
from tcprof.sources.nsys_sqlite.query import Query
from tcprof.nsys.schema import STRINGS

signal.signal(signal.SIGINT, signal.default_int_handler)
opened = database.Database(Path(sys.argv[1]))
database._sql = lambda statement: (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000000) SELECT sum(i) AS id FROM n"
)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    opened.read(Query(STRINGS, required=("id",)))
except KeyboardInterrupt:
    sys.exit(7)
"""


def test_ctrl_c_while_rows_are_read_is_no_damage():
    """ADBC takes SIGINT in the main thread while SQLite works, and raises an error of its own."""
    done = subprocess.run([sys.executable, "-c", READS, FIXTURE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 7, done.stderr
