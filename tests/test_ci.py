"""Shell steps of the GitHub action and the GitLab template, run as runners run them, with gh and curl replaced."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from builders import FIXTURES
from slow import first

ROOT = Path(__file__).parent.parent
BASE, NEW = FIXTURES / "mlp_tf32.sqlite", FIXTURES / "mlp_fp32.sqlite"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {each["name"]: each for each in ACTION["runs"]["steps"]}
TEMPLATE = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())[".tcprof-gate"]
MARK = "<!-- tcprof gate -->"
# Writes each call to a file, and prints what the service would.
FAKE = """#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case "$*" in *--paginate*|*per_page*) printf '%s' "$KNOWN" ;; esac
"""


@pytest.fixture
def job(tmp_path):
    """Runs a script in a folder of its own; returns its status, what it printed, and the calls of gh and curl."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("gh", "curl"):
        (programs / name).write_text(FAKE)
        (programs / name).chmod(0o755)
    (tmp_path / "gate.toml").write_text('fail-if = ["time > +5%"]\n')
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "run.sqlite").symlink_to(BASE)

    def execute(script: str, **variables: str) -> tuple[int, str, str]:
        calls = tmp_path / "calls"
        calls.write_text("")
        known = {
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "CALLS": str(calls),
            "KNOWN": "",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "GITHUB_OUTPUT": str(tmp_path / "outputs"),
            "BASE": "base",
            "NEW": str(NEW),
            "GATE": "gate.toml",
            "OUT": "out",
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            env={**known, **variables},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr, calls.read_text()

    return execute


def test_no_value_of_a_user_is_part_of_a_script():
    scripts = [each["run"] for each in STEPS.values() if "run" in each]
    assert len(scripts) == 5
    assert not any("${{" in script for script in scripts)
    used = [each["uses"] for each in STEPS.values() if "uses" in each]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", each) for each in used)
    inputs = set(re.findall(r"inputs\.(\w+)", (ROOT / "action.yml").read_text()))
    assert inputs == set(ACTION["inputs"])


def test_a_failed_gate_is_in_the_summary_the_files_and_the_status(job, tmp_path):
    status, printed, _ = job(STEPS["Compare"]["run"])
    assert (status, (tmp_path / "outputs").read_text()) == (0, "status=1\n"), printed
    verdict, gate = (tmp_path / "summary.md").read_text().split("\n\n")[:2]
    assert verdict.startswith("**new is slower: 2.")
    assert gate.startswith("**Gate failed")
    assert "<html" in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
    suite = ElementTree.parse(tmp_path / "out" / "gate.xml").find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"
    assert job(STEPS["Gate"]["run"], STATUS="1")[0] == 1


def test_without_a_baseline_it_passes_and_says_so(job, tmp_path):
    status, printed, _ = job(STEPS["Compare"]["run"], BASE="absent")
    assert (status, (tmp_path / "outputs").read_text()) == (0, "status=0\n")
    assert (
        printed
        == (tmp_path / "summary.md").read_text()
        == "No baseline yet: there is no absent, so nothing was compared.\n"
    )
    status, printed, _ = job(TEMPLATE["script"][0], BASE="absent")
    assert (status, printed) == (0, "No baseline yet: there is no absent, so nothing was compared.\n")


@pytest.mark.parametrize("script", first(1, [STEPS["Compare"]["run"], TEMPLATE["script"][0]]), ids=["github", "gitlab"])
def test_what_cannot_be_compared_fails_at_once(script, job, tmp_path):
    status, printed, _ = job(script, NEW="absent")
    assert (status, "absent" in printed) == (3, True)
    (tmp_path / "gate.toml").write_text('fail-if = ["tiem > +5%"]\n')
    status, printed, _ = job(script)
    assert (status, "there is no quantity 'tiem'" in printed) == (2, True)


@pytest.mark.parametrize(
    ("known", "call"),
    [("", "--method POST repos/me/it/issues/7/comments -F"), ("42\n43\n", "PATCH repos/me/it/issues/comments/42 -F")],
)
def test_the_comment_is_edited_in_place(known, call, job, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "comparison.md").write_text("verdict" * 20_000)
    status, printed, calls = job(
        STEPS["Comment"]["run"], KNOWN=known, GITHUB_REPOSITORY="me/it", PULL_REQUEST="7", GH_TOKEN="x"
    )
    assert status == 0, printed
    assert len(calls.splitlines()) == 2
    assert call in calls
    written = (tmp_path / "out" / "comment.md").read_text()
    assert written.startswith(f"{MARK}\nverdict")
    assert len(written) < 65_536


@pytest.mark.slow
def test_redacted_copies_alone_are_kept(job, tmp_path):
    """With a tcprof that copies a recording in place of making one."""
    stub = f"""#!/bin/sh
    [ "$1" = profile ] || exec {Path(sys.executable).parent}/tcprof "$@"
    printf '%s\\n' "$*" >> "$CALLS"
    for name in run-1 run-1-redacted run-2 run-2-redacted; do cp {NEW} "$(dirname "$6")/$name.sqlite"; done
    """
    (tmp_path / "bin" / "tcprof").write_text(stub)
    (tmp_path / "bin" / "tcprof").chmod(0o755)
    status, printed, calls = job(STEPS["Record"]["run"], NEW="new", RECORD="train.py --steps 50", REPEAT="2")
    assert status == 0, printed
    assert re.fullmatch(r"profile --repeat 2 --redact -o \S+/run train.py --steps 50\n", calls)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "run-1-redacted.sqlite",
        "run-2-redacted.sqlite",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "run-1-redacted.tcprof",
        "run-2-redacted.tcprof",
    ]


@pytest.mark.parametrize(
    ("visible", "gpu"), [({}, "3"), ({"CUDA_VISIBLE_DEVICES": "7"}, "7"), ({"CUDA_VISIBLE_DEVICES": "4,5,6,7"}, "7")]
)
@pytest.mark.parametrize(
    "launcher",
    [("SLURM_PROCID", "SLURM_LOCALID"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"), ("RANK", "LOCAL_RANK")],
)
def test_the_script_for_slurm_samples_each_ranks_gpu(launcher, visible, gpu, tmp_path):
    script = re.search(
        r"```bash\n(#!/bin/sh\n# Records one rank.*?)```", (ROOT / "docs" / "slurm.md").read_text(), re.DOTALL
    )
    for name, text in {
        "tcprof": '#!/bin/sh\nprintf "%s " "$@"',
        "nvidia-smi": "#!/bin/sh\necho GPU 0: a; echo GPU 1: b",
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        **dict(zip(launcher, ("11", "3"), strict=True)),
        **visible,
    }
    command = ["sh", "-c", script[1], "rank.sh", "--delay", "60", "train.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["profile", "--gpus", gpu, "-o", "run_11", "--delay", "60", "train.py"]


@pytest.mark.parametrize("end", [0, signal.SIGINT, signal.SIGTERM], ids=["failed", "cancelled", "ended"])
def test_no_report_stays_where_recording_fails_or_is_cancelled(end, job, tmp_path):
    """With a tcprof that has begun a report, and still writes it when it is ended."""
    stub = """#!/bin/bash
    trap 'echo token > "$(dirname "$6")/run.nsys-rep"; exit 1' TERM
    echo token > "$(dirname "$6")/run-1.nsys-rep"
    mktemp > /dev/null
    [ "$END" != 0 ] || exit 4
    echo begun > "$CALLS"
    sleep 30 & wait
    """
    (tmp_path / "bin" / "tcprof").write_text(stub)
    (tmp_path / "bin" / "tcprof").chmod(0o755)
    (tmp_path / "temporary").mkdir()
    # The runner signals the shell alone.
    script = f"""( until [ -s "$CALLS" ]; do sleep 0.05; done; kill -{end} $$ ) & {STEPS["Record"]["run"]}"""
    status, printed, _ = job(
        script if end else STEPS["Record"]["run"],
        NEW="new",
        RECORD="train.py",
        REPEAT="2",
        END=str(end),
        TMPDIR=str(tmp_path / "temporary"),
    )
    assert status == (128 + end if end else 4), printed
    assert not [*(tmp_path / "temporary").iterdir(), *(tmp_path / "new").iterdir()]


SERVICE = {"CI_API_V4_URL": "https://git.test/api/v4", "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "7"}
NOTES = "https://git.test/api/v4/projects/3/merge_requests/7/notes"


@pytest.mark.slow
def test_gitlab_has_the_note_the_files_and_the_status(job, tmp_path):
    status, printed, calls = job(TEMPLATE["script"][0], KNOWN="[]", TCPROF_TOKEN="secret", **SERVICE)
    assert status == 1, printed
    assert "Gate failed" in printed
    assert re.search(f"--request POST .*{NOTES}$", calls)
    assert (tmp_path / "out" / "note.md").read_text().startswith(MARK)
    assert TEMPLATE["artifacts"]["reports"]["junit"] == "$OUT/gate.xml"
    assert (tmp_path / "out" / "gate.xml").is_file()


def test_the_note_of_gitlab_is_edited_in_place(job, tmp_path):
    """With a tcprof whose gate fails."""
    (tmp_path / "bin" / "tcprof").write_text("#!/bin/sh\necho Gate failed\nexit 1\n")
    (tmp_path / "bin" / "tcprof").chmod(0o755)
    notes = json.dumps([{"id": 5, "body": "x"}, {"id": 9, "body": MARK}])
    status, _, calls = job(TEMPLATE["script"][0], KNOWN=notes, TCPROF_TOKEN="secret", **SERVICE)
    assert status == 1
    assert re.search(f"--request PUT .*{NOTES}/9$", calls)
    assert job(TEMPLATE["script"][0])[2] == ""  # without a merge request nobody is told
