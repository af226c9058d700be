"""What a recording is of: aliases for names, read from files that anyone may have written, and kept in copies."""

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from builders import TraceBuilder
from slow import one_of_each
from test_redact import SECRETS, recording, recording_with_secrets, texts_in
from test_redact_canaries import CANARY

import tcprof
from tcprof.identity import Identity, Rank, alias_of, identify_launch
from tcprof.nsys import schema
from tcprof.redaction.redact import redact
from tcprof.sources.nsys_sqlite.export import NsysExport, write_identity
from tcprof.sources.saved import ABOUT

UUID = "da169147-ab12-6528-f15a-7efd8bb7efbe"
WHOLE = Identity(
    run="0123456789abcdef",
    job=alias_of("job", "SLURM_JOB_ID=77"),
    host=alias_of("host", "node-3"),
    program="train_gpt",
    annotation="modules",
    tcprof_version="0.1.0",
    torch_version="2.9.0a0+cu128.nv25",
    gpus={0: alias_of("gpu", UUID), 3: alias_of("gpu", "other")},
    ranks=(Rank(2, 8, 0, 4711), Rank(10, 16)),
)


def write_rows(path: Path, rows: list[tuple[object, object]]) -> None:
    """What tcprof writes of a run, by whoever likes to."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE TCPROF_RUN (name TEXT, value TEXT)")
        connection.executemany("INSERT INTO TCPROF_RUN VALUES (?, ?)", rows)


@pytest.mark.parametrize("identity", [WHOLE, Identity(), Identity(ranks=(Rank(0, 1),))])
def test_what_is_written_down_is_read_again(identity, tmp_path):
    assert Identity.from_facts(identity.facts()) == identity
    path = recording().write(tmp_path)
    write_identity(path, identity)
    assert NsysExport(path).recording().identity == identity
    tcprof.read(path).save(tmp_path / "run.tcprof")
    assert tcprof.read(tmp_path / "run.tcprof").recording.identity == identity


LAUNCHES: dict[str, tuple[dict[str, str], Rank | None]] = {
    "torchrun": ({"RANK": "9", "LOCAL_RANK": "1", "WORLD_SIZE": "16"}, Rank(9, 16, 1)),
    "torchrun in a step of Slurm": (
        {"RANK": "9", "WORLD_SIZE": "16", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
        Rank(9, 16),
    ),
    "Open MPI": (
        {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"},
        Rank(3, 4, 3),
    ),
    "srun": ({"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "1"}, Rank(0, 1, 0)),
    "a batch script of Slurm": ({"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "8"}, None),
    "no number of ranks": ({"RANK": "3"}, None),
    "a rank beyond the last": ({"RANK": "8", "WORLD_SIZE": "8"}, None),
    "no numbers": ({"RANK": "first", "WORLD_SIZE": "-1"}, None),
    "other digits": ({"RANK": "\u0663", "WORLD_SIZE": "8"}, None),
    "Hydra": ({"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"}, Rank(3, 4, 1)),
    "PALS": (
        {"PMI_RANK": "5", "PMI_SIZE": "8", "PMI_LOCAL_RANK": "1", "PALS_RANKID": "5", "PBS_JOBID": ""},
        Rank(5, 8, 1),
    ),
    "no local number": ({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "x"}, Rank(1, 2)),
    "nothing": ({}, None),
}


@pytest.mark.parametrize("case", LAUNCHES)
def test_a_rank_is_what_its_launcher_set(case):
    variables, rank = LAUNCHES[case]
    assert identify_launch({None: variables}, ["python", "/srv/train.py"]).rank == rank


def test_jobs_have_one_alias_on_all_hosts_and_no_job_has_none():
    names = [{"TORCHELASTIC_RUN_ID": "none", "SLURM_JOB_ID": "77"}, {"SLURM_JOB_ID": "77", "HOSTNAME": "other"}]
    jobs = [identify_launch({None: variables}).job for variables in (*names, {"SLURM_JOB_ID": "78"}, names[0], {})]
    assert jobs == [WHOLE.job, WHOLE.job, alias_of("job", "SLURM_JOB_ID=78"), WHOLE.job, ""]
    assert identify_launch({None: {"TORCHELASTIC_RUN_ID": "none"}}).job == ""


def test_ranks_are_those_of_the_processes_and_not_of_what_inherits_or_starts_them():
    step = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}
    ranks = {12: "1", 11: "0", 13: "1"}
    processes: dict[int | None, dict[str, str]] = {10: step}
    processes |= {process: {**step, "RANK": rank, "WORLD_SIZE": "4"} for process, rank in ranks.items()}
    identity = identify_launch(processes)
    assert identity.ranks == (Rank(0, 4, None, 11), Rank(1, 4, None, 12))
    assert identity.rank is None


def test_a_recording_without_tcprof_has_what_nsys_wrote_down(tmp_path):
    builder = recording().system("Hostname", "node-3").row(schema.GPUS, id=1, name="x", uuid=UUID)
    for variable in ('RANK="3"', 'WORLD_SIZE="8"', 'LOCAL_RANK="1"', 'SLURM_JOB_ID="77"', 'TOKEN="hunter2"'):
        builder.captured("PROCESS_0:ENVIRONMENT_VARIABLE", variable)
    builder.captured("PROCESS_0:COMMAND", "python").captured("PROCESS_0:ARGUMENT_0", "train.py")
    identity = NsysExport(builder.write(tmp_path)).recording().identity
    expected = Identity(host=WHOLE.host, job=WHOLE.job, gpus={1: WHOLE.gpus[0]}, ranks=(Rank(3, 8, 1),))
    assert identity == expected


def test_ranks_that_the_processes_have_replace_that_of_their_launcher(tmp_path):
    builder = recording()
    for variable in ('SLURM_PROCID="1"', 'SLURM_STEP_NUM_TASKS="2"'):
        builder.captured("PROCESS_0:ENVIRONMENT_VARIABLE", variable)
    path = builder.write(tmp_path)
    write_identity(path, Identity(ranks=WHOLE.ranks))
    assert NsysExport(path).recording().identity.ranks == WHOLE.ranks


HOSTILE: list[tuple[object, object]] = [
    ("run", "/home/alice"),
    ("run", None),
    ("host", "node-3"),
    ("host", 7),
    ("program", "train.py --password hunter2"),
    ("program", "\x1b[31mred"),
    ("program", "x" * 81),
    ("program", "a/b"),
    ("torch_version", "1" * 41),
    ("annotation", "everything"),
    ("gpu_0", "GPU-5d1e"),
    ("gpu_1e9", WHOLE.host),
    ("rank_1", "of 2 local hunter2"),
    ("rank_-1", "of 2"),
    ("unknown", "x"),
    (b"run", b"\xff\xfe"),
]


@pytest.mark.slow
@pytest.mark.parametrize("row", HOSTILE, ids=range(len(HOSTILE)))
def test_what_has_not_its_form_is_not_known(row, tmp_path, run):
    path = recording().write(tmp_path, "run.sqlite")
    write_rows(path, [row])
    assert tcprof.read(path).recording.identity == Identity()
    assert run("show", path).status == 0
    assert run("redact", path, "-o", tmp_path / "copy.sqlite").status == 0
    assert "hunter2" not in "".join(texts_in(tmp_path / "copy.sqlite"))
    assert Identity.from_facts(dict([row])) == Identity()


FREE = [
    *(("program", secret, secret) for secret in ("Zq7xCanary", "hunter2", "AKIA4711QQ", "acme_merger", "x.4155551234")),
    *(("torch_version", f"{before}{CANARY}", CANARY) for before in ("", "2.9.1+", "2.9.1.", "2.9.0a0+145a3a7bda.")),
    *(("tcprof_version", f"0.2.0{between}{CANARY}", CANARY) for between in ("+", ".", "-", "")),
    *(("groups_2", text, CANARY) for text in (f"{CANARY} 0-7", f"dp 0,2;my_pipe.{CANARY} 2-3")),
]


@one_of_each(0)(("name", "value", "secret"), FREE)
def test_a_copy_has_no_free_text_of_a_run(name, value, secret, tmp_path):
    path, saved = recording().write(tmp_path, "run.sqlite"), tmp_path / "run.tcprof"
    write_rows(path, [(name, value), ("rank_2", "of 8")])
    redact(path, tmp_path / "copy.sqlite")
    tcprof.read(path).save(saved)
    with zipfile.ZipFile(saved) as archive:
        about = "" if name == "program" else archive.read(ABOUT).decode()
    assert not [text for text in (*texts_in(tmp_path / "copy.sqlite"), about) if secret in text]


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        *(("program", each, each) for each in ("train.py", "pretrain_gpt2.py", "resnet50_v1.5.py", "0123456789abcdef")),
        ("program", "acme.py", alias_of("program", "acme.py")),
        *(("torch_version", each, each) for each in ("2.9.1+cu128", "2.8.0.dev20250611+rocm6.4", "2.4.0", "2.7.0+cpu")),
        ("torch_version", "2.9.0a0+145a3a7bda.nv25.10", "2.9.0a0+nv25.10"),
        ("groups_2", "dp_shard 0-6/2;acme 0-1;acme_pipe 2", "dp_shard 0-6/2;group 0-1;pipeline 2"),
    ],
)
def test_what_a_copy_has_of_a_run(name, value, kept, tmp_path):
    path = recording().write(tmp_path, "run.sqlite")
    write_rows(path, [(name, value)])
    redact(path, tmp_path / "copy.sqlite")
    redact(tmp_path / "copy.sqlite", tmp_path / "again.sqlite")
    for copy in ("copy.sqlite", "again.sqlite"):
        with closing(sqlite3.connect(tmp_path / copy)) as connection:
            assert connection.execute("select value from TCPROF_RUN").fetchall() == [(kept,)]


@pytest.mark.parametrize(
    ("version", "known"),
    [
        *((each, True) for each in ("2025.3.2.0", "2024.5.1.113-245134619542v0", "2021.3.3.2-b99c4d6")),
        ("hunter2", False),
    ],
)
def test_a_version_of_nsys_is_shown_and_copied_where_it_is_one(version, known, tmp_path):
    path = recording().write(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        name = "EXPORT_PRODUCT_VERSION"
        connection.execute("update META_DATA_EXPORT set value = ? where name = ?", (version, name))
    redact(path, tmp_path / "copy.sqlite")
    found = {NsysExport(file).recording().nsys_version for file in (path, tmp_path / "copy.sqlite")}
    assert found == {version if known else ""}


def test_a_copy_that_is_safe_to_share_has_it_and_names_nothing(tmp_path):
    builder = recording_with_secrets().row(schema.GPUS, id=1, uuid="GPU-5d1e").system("Hostname", "build-host-7")
    builder.captured("PROCESS_0:ENVIRONMENT_VARIABLE", 'SLURM_JOB_ID="AKIA"')
    path = builder.write(tmp_path, "run.sqlite")
    observed = NsysExport(path).recording().identity
    assert (set(observed.gpus), bool(observed.host), bool(observed.job)) == ({1}, True, True)
    for number, identity in enumerate((Identity(), WHOLE)):
        copy, saved = tmp_path / f"{number}.sqlite", tmp_path / f"{number}.tcprof"
        write_identity(path, identity)
        redact(path, copy)
        tcprof.read(path).save(saved)
        expected = identity.or_else(observed)
        assert NsysExport(copy).recording().identity == tcprof.read(saved).recording.identity == expected
        with zipfile.ZipFile(saved) as archive:
            texts = {*texts_in(copy), *(archive.read(name).decode("latin-1") for name in archive.namelist())}
        assert [secret for secret in SECRETS for text in texts if secret in text] == []


@pytest.mark.parametrize(
    ("variable", "lost"),
    [
        ('PYTORCH_VERSION="2.9.0a0+cu128.nv25"', "torch_version"),
        ('PROJECT="train_gpt"', "program"),
        ('USER="train"', "program"),
        ('GROUP="rank_10"', None),
        ('TOOL="tcprof"', None),
    ],
)
def test_what_is_private_elsewhere_is_left_out_and_the_copy_is_made(variable, lost, tmp_path):
    path = recording().captured("PROCESS_0:ENVIRONMENT_VARIABLE", variable).write(tmp_path, "run.sqlite")
    write_identity(path, WHOLE)
    redact(path, tmp_path / "copy.sqlite")
    copied = NsysExport(tmp_path / "copy.sqlite").recording().identity.facts()
    assert set(WHOLE.facts()) - set(copied) == {*filter(None, [lost])}
    assert not lost or WHOLE.facts()[lost] not in "".join(texts_in(tmp_path / "copy.sqlite"))


def test_the_driver_s_cuda_is_known(tmp_path):
    for number, version in (("13010", "13.1"), ("9020", "9.2"), ("x", ""), ("130100", "")):
        path = TraceBuilder().gpu().system("CudaDriverVersion", number).write(tmp_path, f"{number}.sqlite")
        assert NsysExport(path).recording().cuda_version == version
