"""The page's own JavaScript, by node's test runner. Skipped aloud where node is absent."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "js"
FILES = sorted(path.name for path in FOLDER.iterdir() if ".test." in path.name)


@pytest.mark.parametrize("name", FILES)
def test_scripts_of_the_page(name):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is absent: install Node.js 20 or newer")
    command = [node, "--test", "--test-reporter", "tap", name]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n# pass 0\n" not in done.stdout, "a file without tests proves nothing"
