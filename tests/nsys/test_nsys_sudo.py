"""nsys as root, the program as the user."""

import getpass
import os
from pathlib import Path

import pytest

from tcprof.errors import MachineError
from tcprof.nsys.capabilities import Capabilities
from tcprof.nsys.locate import Nsys
from tcprof.nsys.report import ReportFiles
from tcprof.record.command import RecordOptions, build_profile_command
from tcprof.record.recording import become_root, give_back


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user who is not root, on a machine with a sudo that notes what it is told."""
    sudo = tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" > {tmp_path}/told\n')
    sudo.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/some/lib")
    monkeypatch.delenv("PYTHONHOME", raising=False)
    return tmp_path


def test_nsys_is_root_and_the_program_is_the_user(user):
    nsys = Nsys(Path("/opt/nsys"), (2025, 3, 2), become_root())
    options = RecordOptions()
    capabilities = Capabilities("", metric_set_files=False, gpus=())
    command = build_profile_command(
        nsys, capabilities, options, ["/venv/bin/python", "train.py"], ReportFiles(Path("run"))
    )
    assert command[:3] == ["sudo", "--preserve-env", "env"]
    assert {f"PATH={user}", "LD_LIBRARY_PATH=/some/lib"} < set(command)
    assert not any(word.startswith("PYTHONHOME") for word in command)
    position = command.index("/opt/nsys")
    assert command[position + 1] == "profile"
    assert f"--run-as={getpass.getuser()}" in command[position:]
    assert command[-2:] == ["/venv/bin/python", "train.py"]


def test_values_of_other_variables_do_not_stand_on_the_command_line(user, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "hunter2")
    assert "hunter2" not in " ".join(become_root())


def test_root_needs_no_sudo(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert become_root() == ()


def test_no_sudo(user):
    (user / "sudo").unlink()
    with pytest.raises(MachineError, match="no sudo"):
        become_root()


def test_sudo_that_refuses(user):
    (user / "sudo").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(MachineError, match="sudo refused"):
        become_root()


def test_a_report_of_root_is_given_back(user, monkeypatch):
    report = user / "run.nsys-rep"
    report.touch()
    give_back(report)
    assert not (user / "told").exists()
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    give_back(report)
    assert (user / "told").read_text() == f"-n chown 4321:{os.getgid()} {report}\n"
