"""What a recording is of: run, host, GPUs and ranks, so that they can be distinguished without their names."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import PurePath
from typing import Any

# Rank, number of ranks, and local rank under one name or another, as launchers set them for a process; the first rank
# with its number of ranks counts. Of Slurm, the tasks of the step: a batch script outside of one has a rank, too.
# PMI is that of Hydra (MPICH, Intel MPI: MPI_LOCALRANKID), of Cray's PALS, and of Slurm's plugin cray_shasta.
# tcprof.annotate has the same names.
RANK_VARIABLES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)
JOB_VARIABLES = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
_NO_JOB = ("", "none")  # what torchrun calls a job without a name
_LAUNCHERS = re.compile(
    r"torchrun|mpi(run|exec)(\.\w+)?|srun|accelerate|deepspeed|horovodrun|torch\.distributed\.(run|launch)"
)
GROUPS = "process_groups"  # what a process calls its groups where it writes down its variables
_GROUP_WORD = (
    "[dtpces]p|[fh]sdp|ddp|pg|data|tensor|model|pipe(?:line)?|expert|context|sequence|parallel|group|world|mesh|default|"
    "shard(?:ed)?|replicate|replica|embedding|intra|inter|node|dim|local|global|undefined"
)
_GROUP_NAME = re.compile(rf"(?i)(?:(?:{_GROUP_WORD})?\d{{0,3}}(?:[_.-]|$))+")
_PIPELINE = re.compile(r"(?i)(^|[^a-z])(pp|pipe)([^a-z]|$)|pipeline")
MOST_RANKS = 4096  # in one recording: the processes of one host

# Versions of nsys, of its exports and of drivers: 2025.3.2.0, 2024.5.1.113-245134619542v0, 2021.3.3.2-b99c4d6
VERSION = r"[0-9]{1,8}(\.[0-9]{1,6}){0,4}(-[0-9]{1,16}v[0-9]{1,2}|-[0-9a-f]{7})?"

_ALIAS = r"[0-9a-f]{16}"
_PUBLIC_VERSION = r"\d{1,4}(?:\.\d{1,4}){0,3}(?:(?:a|b|rc)\d{1,3})?(?:\.post\d{1,3})?(?:\.dev\d{1,8})?"
_VERSION = rf"{_PUBLIC_VERSION}(?:\+[\w.]{{1,60}})?"
# What PyTorch and NVIDIA write into it, without commits: whoever builds it can write anything there.
_LOCAL_VERSION = re.compile(
    r"(?<![^.])(?:cu\d{2,3}|cpu|xpu|rocm\d{1,2}(?:\.\d{1,2}){0,2}|nv\d\d(?:\.\d\d)?)(?![^.])", re.ASCII
)
_VERSIONS = ("tcprof_version", "torch_version")
_TEXTS = {
    "run": _ALIAS,
    "job": _ALIAS,
    "host": _ALIAS,
    "program": r"[\w.+-]{1,80}",
    "annotation": "off|modules|ops|shapes",
    "tcprof_version": _VERSION,
    "torch_version": _VERSION,
}
_GROUP = r"[A-Za-z0-9_.-]{1,40} \d{1,7}(?:-\d{1,7}(?:/\d{1,7})?)?(?:,\d{1,7}(?:-\d{1,7}(?:/\d{1,7})?)?)*"
_GROUPS = rf"(?=.{{1,4000}}$){_GROUP}(?:;{_GROUP})*"
_GPU, _RANK, _OF_RANK = r"gpu_(\d{1,3})", r"rank_(\d{1,7})", r"groups_(\d{1,7})"
_RANK_FACT = r"of (\d{1,7})(?: local (\d{1,7}))?(?: process (\d{1,10}))?"
# What may be written down: a name's form, and that of its value.
FACTS = {**_TEXTS, _GPU: _ALIAS, _RANK: _RANK_FACT, _OF_RANK: _GROUPS}


@dataclass(frozen=True)
class Rank:
    """A process of a job."""

    rank: int
    world_size: int  # 0 where not known
    local_rank: int | None = None  # None where not known
    process: int | None = None  # its number on its host; None where not known: the whole recording is of this rank
    groups: str = ""  # process groups that it is in, such as "dp 0-6/2;tp 0-1": ranks, in order, as first-last/stride

    @property
    def stage(self) -> int | None:
        """Return its position in its smallest process group for a pipeline; None where unknown, or for none."""
        named = (group.partition(" ") for group in self.groups.split(";"))
        pipelines = [_read_group(ranks) for name, _, ranks in named if _PIPELINE.search(name)]
        own_groups = [group for group in pipelines if any(self.rank in ranks for ranks in group)]
        if not own_groups:
            return None
        smallest = min(own_groups, key=lambda group: sum(map(len, group)))
        number = next(number for number, ranks in enumerate(smallest) if self.rank in ranks)
        return sum(map(len, smallest[:number])) + smallest[number].index(self.rank)


@dataclass(frozen=True)
class Identity:
    """What a recording is of; empty where unknown. Hosts, GPUs and jobs are aliases: equal hashes for the same one."""

    run: str = ""  # one call of ``tcprof profile``, whatever it recorded: processes, ranks, repetitions
    job: str = ""  # what a launcher or scheduler started together
    host: str = ""
    program: str = ""  # name of the script or module
    annotation: str = ""  # level, as of ``tcprof profile --annotate``
    tcprof_version: str = ""  # of the tcprof that recorded
    torch_version: str = ""
    gpus: Mapping[int, str] = field(default_factory=dict)  # by their numbers in the recording
    ranks: tuple[Rank, ...] = ()  # in order

    @property
    def rank(self) -> Rank | None:
        """Return the rank that all of the recording is of; None where unknown, or of several."""
        return self.ranks[0] if len(self.ranks) == 1 else None

    def facts(self) -> dict[str, str]:
        """List all that is known as names and texts, see ``FACTS``."""
        gpus = {f"gpu_{gpu}": alias for gpu, alias in self.gpus.items()}
        ranks = {f"rank_{rank.rank}": _describe_rank(rank) for rank in self.ranks}
        ranks |= {f"groups_{rank.rank}": rank.groups for rank in self.ranks if rank.groups}
        return {name: getattr(self, name) for name in _TEXTS if getattr(self, name)} | gpus | ranks

    @classmethod
    def from_facts(cls, facts: Mapping[Any, Any]) -> "Identity":
        """Read facts from a file that anyone may have written: what has another form is unknown."""
        texts_by_name = {
            name: value for name, value in facts.items() if isinstance(name, str) and isinstance(value, str)
        }
        fitting = {
            name: value for name, form in _TEXTS.items() if re.fullmatch(form, value := texts_by_name.get(name, ""))
        }
        plain = {name: plain_fact(name, value) for name, value in fitting.items()}
        numbered = ((re.fullmatch(_GPU, name), value) for name, value in texts_by_name.items())
        gpus = {int(name[1]): alias for name, alias in numbered if name and re.fullmatch(_ALIAS, alias)}
        matches = (
            (re.fullmatch(_RANK, name), re.fullmatch(_RANK_FACT, value)) for name, value in texts_by_name.items()
        )
        ranks = (
            _rank(
                name[1], fact[1], fact[2], int(fact[3]) if fact[3] else None, texts_by_name.get(f"groups_{name[1]}", "")
            )
            for name, fact in matches
            if name and fact
        )
        return cls(**plain, gpus=dict(sorted(gpus.items())), ranks=_in_order(ranks))

    def or_else(self, other: "Identity") -> "Identity":
        """Fill in what is unknown from another identity."""
        return Identity(
            **{
                attribute.name: getattr(self, attribute.name) or getattr(other, attribute.name)
                for attribute in fields(self)
            }
        )

    def data(self) -> dict[str, Any]:
        """Convert to JSON; unknown is None."""
        rank = {name: getattr(self.rank, name, None) for name in ("rank", "world_size", "local_rank")}
        rank["world_size"] = rank["world_size"] or None
        texts = {name: getattr(self, name) or None for name in _TEXTS}
        gpus = {str(gpu): alias for gpu, alias in self.gpus.items()}
        return {
            **texts,
            "gpus": gpus,
            **rank,
            "ranks": [asdict(process) | {"world_size": process.world_size or None} for process in self.ranks],
        }


def identify_launch(processes: Mapping[int | None, Mapping[str, str]], command: Iterable[str] = ()) -> Identity:
    """Identify which ranks of which job some processes are, by their environment variables.

    Args:
        processes: The variables of each by its number, oldest first: of those that claim one rank, the oldest is it,
            since compilers and loaders of data inherit the environment.
        command: A command and its arguments, if the variables are its own: a launcher is none of the ranks it starts.
    """
    job_variables = [
        (name, variables[name]) for name in JOB_VARIABLES for variables in processes.values() if name in variables
    ]
    job = next((f"{name}={value}" for name, value in job_variables if value not in _NO_JOB), "")
    alias = alias_of("job", job) if job else ""
    if any(_LAUNCHERS.fullmatch(PurePath(word).name) for word in command):
        return Identity(job=alias)
    for rank, size, *local in RANK_VARIABLES:  # where torchrun itself is a task of Slurm, its processes say more
        claimed = (
            _rank(
                variables.get(rank, ""),
                variables.get(size, ""),
                next((variables[name] for name in local if name in variables), None),
                process,
                variables.get(GROUPS, ""),
            )
            for process, variables in processes.items()
        )
        if ranks := _in_order(claimed):
            return Identity(job=alias, ranks=ranks)
    return Identity(job=alias)


def plain_fact(name: str, value: str) -> str:
    """Remove from a fact what anybody may have put into it: parts of versions, names of groups."""
    if name in _VERSIONS:
        public, _, local = value.partition("+")
        return "+".join(filter(None, (public, ".".join(_LOCAL_VERSION.findall(local)))))
    if not re.fullmatch(_OF_RANK, name):
        return value
    named = (group_text.partition(" ") for group_text in value.split(";"))
    return ";".join(f"{_plain_group(group)} {ranks}" for group, _, ranks in named)


def _plain_group(name: str) -> str:
    if _GROUP_NAME.fullmatch(name):
        return name
    return "pipeline" if _PIPELINE.search(name) else "group"


def alias_of(kind: str, name: str) -> str:
    """Make an alias in place of a name: the same for the same name, wherever it is recorded."""
    return hashlib.sha256(f"tcprof {kind} {name.strip().lower()}".encode(errors="replace")).hexdigest()[:16]


def _in_order(ranks: Iterable[Rank | None]) -> tuple[Rank, ...]:
    """Sort the ranks, and keep the first of each."""
    first: dict[int, Rank] = {}
    for rank in filter(None, ranks):
        first.setdefault(rank.rank, rank)
    return tuple(first[number] for number in sorted(first)[:MOST_RANKS])


def _rank(rank: str, size: str, local: str | None, process: int | None, groups: str) -> Rank | None:
    if not (_is_number(rank) and _is_number(size) and (int(rank) < int(size) or not int(size))):
        return None
    where = int(local) if local and _is_number(local) else None
    return Rank(
        int(rank),
        int(size),
        where,
        process,
        plain_fact(f"groups_{rank}", groups) if re.fullmatch(_GROUPS, groups) else "",
    )


def _read_group(text: str) -> list[range]:
    """Read the ranks of a group, such as 0-6/2, as ranges, since a file may claim any number of them."""
    group = []
    for part in text.split(","):
        ends, _, stride = part.partition("/")
        first, _, last = ends.partition("-")
        group.append(range(int(first), int(last or first) + 1, max(1, int(stride or 1))))
    return group


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,10}", text) is not None


def _describe_rank(rank: Rank) -> str:
    local = "" if rank.local_rank is None else f" local {rank.local_rank}"
    return f"of {rank.world_size}{local}" + ("" if rank.process is None else f" process {rank.process}")
